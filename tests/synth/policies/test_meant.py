"""Sentences of more domains, each with the rule that it means: read so, or refused.

`meant/*.txt` has `SENTENCE | RULE`; `?` stands for a sentence with two meanings, or none in the language.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.errors import BadInput
from synth.policies.action_forms import PARTICLES
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

FILES = sorted((Path(__file__).parent / "meant").glob("*.txt"))


def domain(file: Path) -> tuple[Names, list[tuple[str, str]]]:
    lines = [line for line in file.read_text().splitlines() if line and line[0] != "#"]
    actions = dict(line.split(" = ") for line in lines if " | " not in line)
    said = [(sentence, rule) for sentence, rule in (line.split(" | ") for line in lines if " | " in line)]
    return Names({phrase: Tools(phrase, (tool,)) for phrase, tool in actions.items()}), said


def read(sentence: str, names: Names) -> str | None:
    try:
        return demands_of(read_rule(sentence, names, OURS))
    except BadInput:
        return None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_sentence_is_read_as_it_is_meant_or_refused(file: Path) -> None:
    names, said = domain(file)
    found = [(sentence, rule, read(sentence, names)) for sentence, rule in said]
    wrong = [
        (sentence, got)
        for sentence, rule, got in found
        if got is not None and got != (None if rule == "?" else read(rule, names))
    ]
    assert not wrong
    meant = [(sentence, got) for sentence, rule, got in found if rule != "?"]
    lacking = [sentence for sentence, got in meant if got is None]
    assert len(meant) > 20
    assert 1 - len(lacking) / len(meant) >= 0.85, lacking


def with_article(phrase: str, article: str) -> str:
    """`issue a refund` of `issue refund`; a phrase without an object stays as it is."""
    verb, *rest = phrase.split()
    up = [rest.pop(0)] if rest[1:] and rest[0] in PARTICLES else []
    if phrase == "any tool" or not rest or rest[0] in ("to", "of", "for", "from", "on", "at", "with", "by"):
        return phrase
    return " ".join([verb, *up, article, *rest])


@pytest.mark.parametrize("article", ["a", "the"])
def test_an_article_in_the_name_of_an_action_changes_nothing(article: str) -> None:
    found = []
    for file in FILES[article == "a" :: 5]:
        names, said = domain(file)
        phrases = {with_article(phrase, article): tools.names for phrase, tools in names.actions.items()}
        others = Names({phrase: Tools(phrase, tools) for phrase, tools in phrases.items()})
        found += [(sentence, read(sentence, names), read(sentence, others)) for sentence, _ in said[::2]]
    assert len(found) > 60
    assert not [one for one in found if one[1] not in (None, one[2])]


def test_a_phrase_that_stands_as_in_the_file_counts_all_calls() -> None:
    names = Names({"dispense a drug": Tools("dispense a drug", ("dispense",))})
    assert read("Dispense a drug at most 8 times.", names) == read(
        "Dispense a drug must happen at most 8 times.", names
    )
    hourly = read("Dispense a drug must happen at most 8 times within 1 hour.", names)
    assert hourly is not None
    assert read("Do not dispense a drug more than 8 times within an hour.", names) == hourly
    assert read("A drug may be dispensed at most 8 times.", names) is None

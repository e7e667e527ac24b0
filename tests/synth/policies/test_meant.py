"""Sentences of more domains, each with the rule that it means: read so, or refused.

`meant/*.txt` has `SENTENCE | RULE`; `?` stands for a sentence with two meanings, or none in the language.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.errors import BadInput
from synth.policies.meanings import reading_of
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
        return reading_of(read_rule(sentence, names, OURS))
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

"""Frames of sentences, each with the rule that it means; and what sounds like one of them and is no rule.

`frames/*.txt` has `SENTENCE | RULE`; `?` stands for a sentence that must not be read at all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

FILES = sorted((Path(__file__).parent / "frames").glob("*.txt"))


def read(sentence: str, names: Names) -> str | None:
    try:
        return demands_of(read_rule(sentence, names, OURS))
    except BadInput:
        return None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_sentence_is_read_as_it_is_meant_and_its_contrary_is_not(file: Path) -> None:
    lines = [line for line in file.read_text().splitlines() if line]
    actions = dict(line.split(" = ") for line in lines if " | " not in line)
    names = Names({phrase: Tools(phrase, (tool,)) for phrase, tool in actions.items()} | {
        "any tool": Tools("any tool", ("*",))
    })  # fmt: skip
    wrong = []
    for sentence, rule in (line.split(" | ") for line in lines if " | " in line):
        known = names.with_alternatives(rule.replace('"', "")) or names
        meant = None if rule == "?" else read(rule if known is names else rule.replace('"', ""), known)
        if (found := read(sentence, names)) != meant or (rule != "?" and meant is None):
            wrong.append((sentence, found))
    assert not wrong

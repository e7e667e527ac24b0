"""What sentences say by readings that share nothing with our parser: kept data, and a small program."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from synth.cases.generate import Options, generate
from synth.formal.constraints import Before, Constraint, EndsBy, StartsFrom, clock
from synth.language.parse import parse
from synth.simulated_model.reader import Said, read
from tests.support.soak import new_seed, tell, tries

NAMES = ("audit", "baking", "cutting", "dusting", "editing", "filming", "gilding", "hiking")
ACTIONS = [{"id": name[0], "phrase": name, "tool": name} for name in NAMES]
READINGS = [
    line.split("\t")
    for line in Path(__file__).with_name("readings.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]

Fact = tuple[str, str, str]
"""(action, `<` or `>`, action or clock time)."""


def kept_reading(reading: str) -> set[Fact]:
    facts = set()
    for said in reading.split():
        who, sign, what = re.split("([<>])", said)
        others = [what] if ":" in what else list(what)
        facts |= {(one, sign, other) for one in who for other in others}
    return facts


def by_parser(constraints: Iterable[Constraint]) -> set[Fact]:
    facts: set[Fact] = set()
    for constraint in constraints:
        match constraint:
            case Before(first, then):
                facts.add((first, "<", then))
            case EndsBy(action, minutes):
                facts.add((action, "<", clock(minutes)))
            case StartsFrom(action, minutes):
                facts.add((action, ">", clock(minutes)))
    return facts


def by_program(text: str, names: Mapping[str, str]) -> set[Fact]:
    return {fact for said in read(text, names, heads="list") for fact in facts_of(said)}


def facts_of(said: Said) -> Iterable[Fact]:
    for one, other in itertools.product(said.who, said.what):
        if ":" in other:
            yield one, "<" if said.before else ">", other
        else:
            yield (one, "<", other) if said.before else (other, "<", one)


def test_there_are_three_hundred_sentences_of_every_shape() -> None:
    texts = [text for _, text in READINGS]
    assert len(set(texts)) == 300
    assert sum(", which" in text for text in texts) >= 100
    assert sum(", which have to" in text or ", which need to" in text for text in texts) >= 30
    assert (
        sum(text.lower().startswith(("before", "after", "once", "prior", "at some")) for text in texts) >= 50
    )


def test_our_parser_reads_them_as_they_were_read_without_it() -> None:
    differ = {
        text: (by_parser(parse(text, ACTIONS).constraints), kept_reading(reading))
        for reading, text in READINGS
        if by_parser(parse(text, ACTIONS).constraints) != kept_reading(reading)
    }
    assert differ == {}


def test_a_small_program_reads_them_alike() -> None:
    names = {action["phrase"]: action["id"] for action in ACTIONS}
    assert {t: r for r, t in READINGS if by_program(t, names) != kept_reading(r)} == {}


@pytest.mark.parametrize("mode", ["order", "timed"])
def test_paragraphs_are_read_alike_by_a_small_program(mode: str) -> None:
    seed, count = new_seed(), tries(1_500)
    for case in generate(count, seed, Options(actions=(3, 8), mode=mode), confirm=False):  # type: ignore[arg-type]
        names = {action.phrase: action.id for action in case.actions}
        stated = by_parser(case.constraints)
        assert by_program(case.paragraph, names) == stated, f"{case.paragraph} PDOCTOR_SEED={seed}"
    tell(f"paragraphs read by a small program, {mode}", Counter(cases=count, other=0))

"""Minimal conflicts of contradictory sentence sets."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from synth.formal.conflict import conflict
from synth.formal.model import Spec
from synth.formal.solver import satisfiable
from synth.judge import judge
from tests.support.building import case, run


def spec(*rules: str, **durations: int) -> Spec:
    return case(*rules, durations=durations or None, extra=" ".join(durations)).spec


@pytest.mark.parametrize(
    ("made", "sentences"),
    [
        (spec("a<b", "b<c"), None),
        (spec("a<b", "b<c", "c<a"), (0, 1, 2)),
        (spec("a<b", "b<c", "c<a", "c<b"), (1, 3)),
        (spec("a<a"), (0,)),
        (spec("a<=600", a=60), None),
        (spec("a<=599", "b>=600", a=60, b=30), (0,)),
        (spec("a<b", "b<=630", "a>=560", a=60, b=30), (0, 1, 2)),
        (spec("a<b", "b<a", "a<=0", a=1, b=1), (0, 1)),
        (spec(a=300, b=300), ()),
        (spec("a<b", "b<a", a=300, b=300), ()),
        (spec("a<b", "b<a", a=30, b=30), (0, 1)),
        (spec("a<b", "b<a", "c<a", "b<c"), (0, 1)),
    ],
)
def test_a_conflict_is_named_by_sentence(made: Spec, sentences: tuple[int, ...] | None) -> None:
    found = conflict(made)
    assert (None if found is None else found.sentences) == sentences


def test_the_words_are_those_of_the_paragraph() -> None:
    found = conflict(spec("a<b", "b<a"))
    assert found is not None
    assert (
        found.in_one_line({"a": "lunch", "b": "dinner"}.__getitem__)
        == "The order goes in a circle: lunch before dinner and dinner before lunch."
    )


def test_conflicts_are_minimal() -> None:
    r = random.Random(4)
    found_some = 0
    for _ in range(60):
        names = "abcd"
        rules = [f"{a}<{b}" for a, b in (r.sample(names, 2) for _ in range(3))]
        rules += [f"{r.choice(names)}<={r.choice((570, 600, 630))}" for _ in range(2)]
        durations = dict.fromkeys(names, 30)
        made = spec(*rules, **durations)
        found = conflict(made)
        assert (found is None) is bool(satisfiable(made))
        if found is None:
            continue
        found_some += 1
        own = [rules[i] for i in found.sentences]
        assert satisfiable(spec(*own, **durations)) is False
        for fewer in itertools.combinations(own, len(own) - 1):
            assert satisfiable(spec(*fewer, **durations)) is True
    assert found_some > 15


def of_sentences(said: Sequence[Sequence[str]], **durations: int) -> Spec:
    """A spec of which each sentence states several rules."""
    numbers = [number for number, rules in enumerate(said) for _ in rules]
    made = spec(*(rule for rules in said for rule in rules), **durations)
    numbered = (replace(c, sentence=number) for c, number in zip(made.constraints, numbers, strict=True))
    return replace(made, constraints=tuple(numbered))


@pytest.mark.parametrize("timed", [False, True])
def test_a_sentence_that_contradicts_itself_is_named_alone(timed: bool) -> None:
    durations = {"a": 30, "b": 30} if timed else {}
    for said, named in (([["a<b"], ["b<a", "a<b"]], (1,)), ([["b<a", "a<b"], ["a<b"]], (0,))):
        found = conflict(of_sentences(said, **durations))
        assert found is not None
        assert found.sentences == named


def test_a_sentence_that_does_not_fit_the_day_is_named_without_the_circle_it_is_in() -> None:
    found = conflict(of_sentences([["a<b"], ["b<a", "a<=560"]], a=30, b=30))
    assert found is not None
    assert (found.sentences, found.circle) == ((1,), ())


@pytest.mark.parametrize("timed", [False, True])
def test_no_sentence_of_a_conflict_can_be_left_out(timed: bool) -> None:
    r = random.Random(11)
    durations = dict.fromkeys("abcd", 60) if timed else {}
    sizes: Counter[int] = Counter()
    for _ in range(120):
        said = [[some_rule(r, timed) for _ in range(r.randint(1, 2))] for _ in range(r.randint(2, 5))]
        found = conflict(of_sentences(said, **durations))
        assert (found is None) is bool(satisfiable(of_sentences(said, **durations)))
        if found is None:
            continue
        sizes[len(found.sentences)] += 1
        own = [said[i] for i in found.sentences]
        assert satisfiable(of_sentences(own, **durations)) is False
        for fewer in itertools.combinations(own, len(own) - 1):
            assert satisfiable(of_sentences(fewer, **durations)) is True, (said, found)
    assert sizes[1] > 5
    assert sizes[2] > 20
    assert sizes[3] > 2


def some_rule(r: random.Random, timed: bool) -> str:
    a, b = r.sample("abcd", 2)
    return f"{a}<={r.choice((600, 660, 720))}" if timed and r.random() < 0.4 else f"{a}<{b}"


def test_a_run_of_a_contradictory_case_fails_and_is_told_why() -> None:
    verdict = judge(case("a<b", "b<a"), run("a b"))
    assert (verdict.outcome, verdict.dead_at, verdict.repair) == ("fail", 0, None)
    assert verdict.findings[-1].code == "contradictory"

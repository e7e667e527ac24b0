"""Behaviour specifications: against their definition, word by word; shipped ones on example runs."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import product
from typing import Any

import pytest

from synth.errors import BadInput
from synth.formal.monitor import SHIPPED, Expression, monitor_of, parse_expression, shipped


def holds(expression: Expression, word: tuple[str, ...]) -> bool:
    """The definition on a whole finite word, by recursion on its parts."""

    @lru_cache(None)
    def is_in(e: Any, i: int, j: int) -> bool:
        if isinstance(e, str):
            return j - i == 1 and word[i] == e
        if e[0] == "or":
            return any(is_in(part, i, j) for part in e[1:])
        if e[0] == "next":
            if len(e) == 2:
                return is_in(e[1], i, j)
            return any(is_in(e[1], i, k) and is_in(("next", *e[2:]), k, j) for k in range(i + 1, j))
        return is_in(e[2], i, j) or any(is_in(e[1], i, k) and is_in(e, k, j) for k in range(i + 1, j))

    return is_in(expression, 0, len(word))


def written(e: Expression) -> str:
    return e if isinstance(e, str) else f"({' '.join(map(written, e))})"


def random_expression(r: random.Random, depth: int) -> Expression:
    if depth == 0 or r.random() < 0.25:
        return r.choice("abc")
    head = r.choice(("or", "next", "until"))
    return (
        head,
        *(random_expression(r, depth - 1) for _ in range(2 if head == "until" else r.randint(1, 3))),
    )


WORDS = [word for size in range(1, 6) for word in product("abc", repeat=size)]


@pytest.mark.parametrize("seed", range(40))
def test_a_monitor_accepts_exactly_the_words_of_its_definition(seed: int) -> None:
    expression = random_expression(random.Random(seed), 3)
    assert parse_expression(written(expression)) == expression
    monitor = monitor_of(written(expression))
    language = {word for word in WORDS if holds(expression, word)}
    prefixes = {word[:k] for word in language for k in range(6)}
    for word in WORDS:
        course = monitor.follow(word)
        assert course.complete is (word in language)
        if course.violated_at is not None:
            assert word[: course.violated_at + 1] not in prefixes


def test_verdicts_after_each_event() -> None:
    course = monitor_of("(next a (until b c))").follow(["a", "b", "c", "c", "a"])
    assert course.verdicts == ("pending", "pending", "satisfied", "violated", "violated")
    assert (course.violated_at, course.allowed, course.outcome) == (3, (), "violated")
    assert monitor_of("(until a a)").follow(["a"]).verdicts == ("accepting",)
    assert monitor_of("(next a b)").follow(["a"]).outcome == "incomplete"
    assert monitor_of("a").follow([]).outcome == "incomplete"
    assert monitor_of("(next a (or b c))").follow(["a"]).allowed == ("b", "c")


def test_monitors_are_minimal() -> None:
    assert len(monitor_of("(or (next a c) (next b c))").transitions) == 3


REACT, PLAN = "Tht Act Act-Inp Obs", "Plan Act-Lbl Act Act-Inp"
ROUND = f"{REACT} Final-Tht Prop-Ans Eval Ref"
WORDS_OF: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "react": (
        (
            "Ques Final-Tht Ans",
            f"Ques {REACT} Final-Tht Ans",
            f"Ques {REACT} {REACT} Final-Tht Ans",
            f"Ques {REACT} {REACT} {REACT} {REACT} Final-Tht Ans",
        ),
        (
            "Ques Ans",
            f"Ques {REACT} Ans",
            "Ques Tht Act Act-Inp Final-Tht Ans",
            "Ques Act Act-Inp Obs Final-Tht Ans",
            "Ques Tht Act Act-Inp Act Act-Inp Obs Final-Tht Ans",
            f"Ques {REACT} Final-Tht Ans Ans",
            f"{REACT} Final-Tht Ans",
        ),
    ),
    "rewoo": (
        (
            "Ques Solver",
            f"Ques {PLAN} Solver",
            f"Ques {PLAN} {PLAN} Solver",
            f"Ques {PLAN} {PLAN} {PLAN} {PLAN} Solver",
        ),
        (
            "Ques Plan Act Act-Inp Solver",
            f"Ques {PLAN}",
            "Ques Act-Lbl Act Act-Inp Solver",
            f"Ques {PLAN} Act-Lbl Act Act-Inp Solver",
            f"Ques {PLAN} Solver {PLAN} Solver",
        ),
    ),
    "reflexion": (
        (
            "Ques Ans",
            "Ques Final-Tht Prop-Ans Eval Ref Ans",
            f"Ques {ROUND} Ans",
            f"Ques {ROUND} {ROUND} Ans",
            f"Ques {REACT} {ROUND} Final-Tht Prop-Ans Eval Ref Ans",
        ),
        (
            f"Ques {REACT} Final-Tht Prop-Ans Ans",
            f"Ques {REACT} Final-Tht Prop-Ans Eval Ans",
            f"Ques {REACT} Prop-Ans Eval Ref Ans",
            f"Ques {REACT} Ans",
            f"Ques {ROUND}",
        ),
    ),
    "pass": (
        (
            "Ques Final-Tht Ans",
            "Ques Plan Act Act-Inp Sum Final-Tht Ans",
            "Ques Plan Act Act-Inp Act Act-Inp Sum Final-Tht Ans",
            "Ques Plan Act Act-Inp Act Act-Inp Act Act-Inp Sum Plan Act Act-Inp Sum Final-Tht Ans",
            "Ques Plan Sum Final-Tht Ans",
        ),
        (
            "Ques Plan Act Act-Inp Final-Tht Ans",
            "Ques Act Act-Inp Sum Final-Tht Ans",
            "Ques Plan Act Act Sum Final-Tht Ans",
            "Ques Plan Act Act-Inp Sum Act Act-Inp Sum Final-Tht Ans",
            "Ques Plan Act Act-Inp Sum Ans",
        ),
    ),
    "chain_of_thought": (
        ("Ques Tht Ans",),
        ("Ques Ans", "Tht Ans", "Ques Tht", "Ques Tht Tht Ans", "Ques Act Tht Ans", "Tht Ques Ans", "Tht"),
    ),
    "direct": (
        ("Ques Ans",),
        ("Ques", "Ans", "Ans Ques", "Ques Tht Ans", "Ques Ques Ans", "Ques Ans Ans", "Ques Act Act-Inp Ans"),
    ),
}  # fmt: skip
WORDS_OF["pass_raw"] = WORDS_OF["pass"]
"""Specification -> the words that it accepts, and some that it does not."""


def test_every_shipped_specification_has_eight_words() -> None:
    assert set(WORDS_OF) == set(SHIPPED)
    assert all(len(good) + len(bad) >= 8 for good, bad in WORDS_OF.values())


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_specifications_accept_the_transcripts_of_the_paper(name: str) -> None:
    accepted, refused = WORDS_OF[name]
    assert {word: shipped(name).follow(word.split()).outcome for word in accepted} == dict.fromkeys(
        accepted, "satisfied"
    )
    assert not any(shipped(name).follow(word.split()).complete for word in refused)


def test_shipped_specifications_are_those_of_the_paper() -> None:
    assert [(s.name, s.prompt, s.env_input) for s in shipped("pass").specification.states] == [
        ("Ques", "[Question]", False),
        ("Plan", "[Thought]", False),
        ("Act", "[Action]", False),
        ("Act-Inp", "[Action Input]", False),
        ("Sum", "[Summary]", True),
        ("Final-Tht", "[Final Thought]", False),
        ("Ans", "[Answer]", False),
    ]
    given = {name: [s.name for s in shipped(name).specification.states if s.env_input] for name in SHIPPED}
    assert given == {
        "react": ["Obs"], "rewoo": ["Solver"], "reflexion": ["Obs", "Eval"], "pass": ["Sum"],
        "pass_raw": ["Sum"], "chain_of_thought": [], "direct": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("; nothing", "empty"),
        ("(next a", "never closed"),
        ("a)", "text after the end|without an opening"),
        (")", "without an opening"),
        ("a b", "text after the end"),
        ("(until a)", "until takes two parts, got 1"),
        ("(until a b c)", "until takes two parts, got 3"),
        ("(and a b)", "expected one of or, next, until"),
        ("()", "expected one of or, next, until"),
        ("(or)", "needs at least one part"),
        ("(next " * 300 + "a" + ")" * 300, "nested deeper"),
        ("(next (until (or a b) a) " + "(or a b) " * 20 + ")", "more than 10000 states"),
        ("a" * 300_000, "at most 200000"),
    ],
)
def test_bad_specifications_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        monitor_of(text)


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(BadInput, match="react, rewoo"):
        shipped("nothing")

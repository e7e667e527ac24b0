"""Automata against derivatives, which know none, and minimal by a refinement of their own."""

from __future__ import annotations

import random
from itertools import combinations, product

import pytest

from synth.errors import BadInput
from synth.formal.automata import Expression, automaton_of
from synth.formal.monitor import Monitor
from tests.support.derivatives import after, has_empty, is_empty, language
from tests.support.soak import tries

LETTERS = "abc"


def random_formula(r: random.Random, depth: int) -> Expression:
    if depth == 0 or r.random() < 0.2:
        return r.choice(LETTERS)
    head = r.choice(("or", "next", "next", "until", "implies", "always"))
    parts = {"until": 2, "implies": 2, "always": 1}.get(head, r.randint(1, 3))
    return (head, *(random_formula(r, depth - 1) for _ in range(parts)))


def random_word(r: random.Random, monitor: Monitor) -> list[str]:
    """Mostly what may come next, so that long words are followed, too."""
    word: list[str] = []
    state: int | None = 0
    for _ in range(r.randint(1, 9)):
        allowed = monitor.allowed(state)
        letter = r.choice(allowed) if allowed and r.random() < 0.85 else r.choice(LETTERS)
        word.append(letter)
        state = monitor.after(state, letter)
    return word


def agrees(seed: int) -> None:
    """One formula and one word: the same answers, the same allowed next states."""
    r = random.Random(seed)
    formula = random_formula(r, 3)
    monitor = Monitor("", *automaton_of(formula, LETTERS))
    words, state = language(formula), 0
    for letter in (None, *random_word(r, monitor)):
        if letter is not None:
            words, state = after(words, letter), monitor.after(state, letter)  # type: ignore[assignment]
        assert (monitor.verdict(state) in ("accepting", "satisfied")) is has_empty(words), formula
        following = tuple(one for one in LETTERS if not is_empty(after(words, one), LETTERS))
        assert monitor.allowed(state) == following, formula
    assert_minimal(monitor)


def assert_minimal(monitor: Monitor) -> None:
    """Every state can be reached and left for good; for any two there is a word that only one accepts.

    By filling the table of pairs that differ, from the last letter backwards.
    """
    rows, accepting = monitor.transitions, monitor.accepting
    sink = len(rows)
    step = [[row.get(letter, sink) for letter in LETTERS] for row in rows] + [[sink] * len(LETTERS)]
    accepts = [*accepting, False]
    pairs = list(combinations(range(sink + 1), 2))
    differ = {pair for pair in pairs if accepts[pair[0]] is not accepts[pair[1]]}
    while more := [
        (p, q)
        for p, q in pairs
        if (p, q) not in differ
        and any(tuple(sorted(ends)) in differ for ends in zip(step[p], step[q], strict=True))
    ]:
        differ.update(more)
    assert len(differ) == len(pairs)
    reached, queue = {0}, [0]
    while queue:
        fresh = set(rows[queue.pop()].values()) - reached
        reached |= fresh
        queue += fresh
    assert reached == set(range(sink))


@pytest.mark.parametrize("block", range(4))
def test_automata_say_what_derivatives_say(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        agrees(seed)


@pytest.mark.heavy
@pytest.mark.parametrize("block", range(2))
def test_automata_say_what_derivatives_say_of_many(block: int) -> None:
    many = tries(100_000)
    for seed in range(1_000 + block * many, 1_000 + (block + 1) * many):
        agrees(seed)


def accepted(formula: Expression, size: int, letters: str = LETTERS) -> set[str]:
    monitor = Monitor("", *automaton_of(formula, letters))
    words = ("".join(word) for k in range(size + 1) for word in product(letters, repeat=k))
    return {word for word in words if monitor.follow(word).complete}


def test_what_implies_and_always_mean() -> None:
    assert accepted(("always", ("next", "a", "b")), 5) == {"ab", "abab"}
    assert accepted(("implies", "a", ("next", "b", "b")), 2, "ab") == {"b", "aa", "ab", "ba", "bb"}
    assert accepted(("implies", ("always", ("or", "a", "b")), "a"), 3, "ab") == {"a"}
    assert accepted(("next", "a", ("implies", ("always", "a"), "a")), 3, "ab") == {
        "aa", "ab", "aab", "aba", "abb",
    }  # fmt: skip


def test_implies_speaks_of_all_declared_states() -> None:
    assert "c" in accepted(("implies", "a", "b"), 1, "abc")
    assert "c" not in accepted(("implies", "a", "b"), 1, "ab")


def test_a_long_chain_has_a_state_for_each_place() -> None:
    monitor = Monitor("", *automaton_of(("next", *["a"] * 2_000)))
    assert len(monitor.transitions) == 2_001
    assert monitor.accepting.index(True) == 2_000


def test_too_large_an_implication_is_refused() -> None:
    either = ("or", "a", "b")
    large = ("next", ("until", either, "a"), *[either] * 11)
    with pytest.raises(BadInput, match="left side of an implies needs over 200000"):
        automaton_of(("implies", large, "a"), [f"s{k}" for k in range(100)])

"""One of two: what needs one of several tools before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from synth.policies.kinds.precedence import Precedence
from synth.policies.mining.mined import Mined, Named, bits, moved, shuffled
from synth.policies.mining.seen import Seen
from synth.policies.names import Tools

FEWEST_EACH = 10
"""Runs in which only the one, and only the other, came before: fewer are one task that was done often."""


def alternatives(seen: Sequence[Seen], tools: Sequence[str]) -> Iterator[Mined | None]:
    """Before a tool there is always one of two, and neither of them always."""
    with_: dict[str, set[int]] = {tool: set() for tool in tools}
    before: dict[str, Mapping[str, set[int]]] = {tool: defaultdict(set) for tool in tools}
    """tool -> earlier tool -> runs in which a success of that came first."""
    for number, one in enumerate(seen):
        first = {tool: one.rank(done[0]) for tool, done in one.successes.items()}
        for then, calls in one.attempts.items():
            if then in with_:
                with_[then].add(number)
                begun = one.rank(calls[0])
                for tool, place in first.items():
                    if place < begun and tool in with_:
                        before[then][tool].add(number)
    for then in tools:
        whole, earlier = with_[then], before[then]
        pairs = (len(tools) - 1) * (len(tools) - 2) // 2
        some = [tool for tool in earlier if FEWEST_EACH <= len(earlier[tool]) < len(whole)]
        found = [_either(a, b, then, whole, seen) for a, b in combinations(sorted(some), 2)
                 if _needed(earlier[a], earlier[b], whole)]  # fmt: skip
        yield from [None] * (pairs - min(len(found), 1))
        if found:
            yield max(found, key=lambda one: one.surprise)


def _needed(a: set[int], b: set[int], whole: set[int]) -> bool:
    """Do the two together cover all, each of them what the other does not?"""
    return (
        len(a) + len(b) >= len(whole) and whole <= a | b
        and min(len(a - b), len(b - a)) >= FEWEST_EACH
    )  # fmt: skip


def _either(a: str, b: str, then: str, whole: set[int], seen: Sequence[Seen]) -> Mined:
    present = sum(a in one.attempts or b in one.attempts for one in seen)
    usual, surprise = (present + 1) / (len(seen) + 2), 0.0
    for number in whole:
        one = seen[number]
        first = len(one.successes.get(a, ())) + len(one.successes.get(b, ()))
        surprise += bits(first / (first + len(one.attempts[then]))) + bits(usual)

    def both(named: Named) -> Tools:
        return Tools(f"{named(a).phrase} or {named(b).phrase}", (a, b), either=True)

    return Mined(
        "either_before", (a, b, then), len(whole), surprise,
        lambda named: Precedence(((both(named), named(then)),)),
        "{0} or {1} must happen before {2}.", "{0} or {1} before {2}", shuffled, little=moved,
    )  # fmt: skip

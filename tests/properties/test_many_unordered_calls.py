"""Rules about calls whose instants are bounds: the fast ways give the answer of going through every pair."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from synth.formal.constraints import Bounded, Fixed
from synth.observed.run import Run, ToolCall
from synth.policies import Rules, load_policies
from synth.policies.evidence import Evidence
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.response import Response
from synth.policies.kinds.sweeps import is_swept

OFF = Rules(z3="off")
TIME = 3
"""ns of every rule that has a time."""
Answer = bool | None


def rule(sentence: str) -> PolicyKind:
    text = f"actions: {{A: a, B: b, C: c}}\npolicies:\n  - {{id: P, rule: {sentence!r}}}\n"
    read = load_policies(text).policies[0].rule
    if isinstance(read, Response | Gap):
        return replace(read, **{n: TIME for n in ("within", "least") if getattr(read, n, None)})
    return read


def some(answers: Iterable[Answer]) -> Answer:
    every = list(answers)
    return True if True in every else (None if None in every else False)


def every(answers: Iterable[Answer]) -> Answer:
    return no(some(no(answer) for answer in answers))


def no(answer: Answer) -> Answer:
    return None if answer is None else not answer


class Calls:
    """The calls of a run and what is asked of pairs of them, three-valued."""

    def __init__(self, seen: Evidence) -> None:
        self.seen, self.t = seen, seen.times

    def tried(self, tool: str) -> list[int]:
        calls = self.seen.calls
        return [i for i in self.seen.order if calls[i].executed and tool in ("*", calls[i].tool)]

    def good(self, tool: str) -> list[int]:
        return [i for i in self.tried(tool) if self.seen.calls[i].succeeded]

    def over(self, i: int, j: int) -> Any:
        """Did i end before j started?"""
        return self.t.end(i) <= self.t.start(j)

    def soon(self, i: int, j: int, by: int = TIME) -> Any:
        """Did j start at most so long after the end of i?"""
        return self.t.start(j) <= self.t.later(self.t.end(i), by)

    def near(self, i: int, j: int) -> Any:
        """Did i start at most so long after the start of j?"""
        return self.t.start(i) <= self.t.later(self.t.start(j), TIME)


Definition = Callable[[Calls], dict[int, Answer]]


def precedence(c: Calls) -> dict[int, Answer]:
    return {j: some(c.over(i, j) for i in c.good("a") if i != j) for j in c.tried("b")}


def response(c: Calls) -> dict[int, Answer]:
    return {i: some(c.over(i, j) for j in c.good("b") if i != j) for i in c.good("a")}


def response_within(c: Calls) -> dict[int, Answer]:
    return {i: some(every((c.over(i, j), c.soon(i, j))) for j in c.good("b") if i != j) for i in c.good("a")}


def chain_within(c: Calls) -> dict[int, Answer]:
    return {i: some(every((c.over(i, j), c.soon(i, j))) for j in c.good("a") if i != j) for i in c.good("a")}


def absence(c: Calls) -> dict[int, Answer]:
    return {j: no(some(c.over(i, j) for i in c.good("a") if i != j)) for j in c.tried("b")}


def silence(c: Calls) -> dict[int, Answer]:
    return {j: no(some(c.over(i, j) for i in c.good("a") if i != j)) for j in c.tried("*")}


def adjacency(c: Calls) -> dict[int, Answer]:
    def direct(i: int, j: int) -> Answer:
        others = (k for k in c.tried("*") if k not in (i, j))
        t = c.t
        outside = (some((t.start(k) <= t.start(i), t.start(j) <= t.start(k))) for k in others)
        return every((c.over(i, j), *outside))

    return {j: some(direct(i, j) for i in c.good("a") if i != j) for j in c.tried("b")}


def next_call(c: Calls) -> dict[int, Answer]:
    def direct(i: int, j: int) -> Answer:
        t = c.t
        others = (k for k in c.tried("*") if k != i and k not in c.tried("b"))
        outside = (some((no(c.over(i, k)), t.start(j) <= t.start(k))) for k in others)
        return every((c.over(i, j), *outside))

    return {i: some(direct(i, j) for j in c.good("b") if i != j) for i in c.good("a")}


def gap_within(c: Calls) -> dict[int, Answer]:
    return {j: some(every((c.over(i, j), c.soon(i, j))) for i in c.good("a") if i != j) for j in c.tried("b")}


def gap_at_least(c: Calls) -> dict[int, Answer]:
    def kept(j: int) -> Answer:
        earlier = [i for i in c.good("a") if i != j]
        one = some(c.over(i, j) for i in earlier)
        return every((one, *(no(every((c.over(i, j), c.soon(i, j, TIME - 1)))) for i in earlier)))

    return {j: kept(j) for j in c.tried("b")}


def gap_before(c: Calls) -> dict[int, Answer]:
    t = c.t
    return {
        j: some(every((t.start(j) <= t.start(i), c.near(i, j))) for i in c.good("a") if i != j)
        for j in c.tried("b")
    }


def gap_of(c: Calls) -> dict[int, Answer]:
    return {j: some(every((c.near(i, j), c.soon(i, j))) for i in c.good("a") if i != j) for j in c.tried("b")}


def overlap_of(one: str, other: str) -> Definition:
    def definition(c: Calls) -> dict[int, Answer]:
        rank = c.seen.rank
        found: dict[int, Answer] = {}
        for earlier, later in {(one, other), (other, one)}:
            for j in c.tried(later):
                before = (i for i in c.tried(earlier) if rank[i] < rank[j])
                kept = every(some((c.over(i, j), c.over(j, i))) for i in before)
                found[j] = every((found.get(j, True), kept))
        return found

    return definition


KINDS: dict[str, tuple[str, Definition]] = {
    "precedence": ("A must happen before B.", precedence),
    "response": ("A must be followed by B.", response),
    "response within": ("A must be followed by B within 3 seconds.", response_within),
    "chain within": ("A must be followed by A within 3 seconds.", chain_within),
    "absence": ("B must never happen after A.", absence),
    "silence": ("Call any tool must never happen after A.", silence),
    "adjacency": ("A must happen immediately before B.", adjacency),
    "next call": ("A must be immediately followed by B.", next_call),
    "gap within": ("B must start within 3 seconds after A.", gap_within),
    "gap at least": ("B must start at least 3 seconds after A.", gap_at_least),
    "gap before": ("B must start within 3 seconds before A.", gap_before),
    "gap of": ("B must start within 3 seconds of A.", gap_of),
    "overlap": ("A must not overlap B.", overlap_of("a", "b")),
    "overlap itself": ("A must not overlap each other.", overlap_of("a", "a")),
}


def blurred(r: random.Random, most: int) -> tuple[int, int]:
    at, blur = r.randint(0, most), r.choice((0, 0, 1, 2, 5, 12))
    return at, at + blur


def random_run(r: random.Random, clocks: int) -> Run:
    """Calls with exact and blurred instants, of one message or of many, some of which never ended."""
    calls = []
    message = blurred(r, 12), None
    for _ in range(r.randint(2, 14)):
        start = blurred(r, 14) if r.random() < 0.7 else message[0]
        took = r.choice((0, 0, 1, 3, 8))
        end = (start[0] + took, start[1] + took) if r.random() < 0.6 else (start[0], start[1] + took)
        finished = r.random() < 0.85
        calls.append(
            ToolCall(
                None,
                r.choice("aaabbc"),
                {},
                error=r.choice((None, None, None, "no")),
                start=start,
                end=end if finished else None,
                finished=finished,
                executed=r.random() < 0.95,
                extra={"clock": str(r.randrange(clocks))},
            )
        )
    return Run("run", tuple(calls))


def brief(answers: dict[int, Answer]) -> tuple[str, list[int]]:
    broken = sorted(call for call, answer in answers.items() if answer is False)
    if broken:
        return "violated", broken
    return ("undecided" if None in answers.values() else "ok"), []


@pytest.mark.parametrize("clocks", [1, 3])
@pytest.mark.parametrize("name", KINDS)
def test_the_answer_is_that_of_every_pair(name: str, clocks: int) -> None:
    sentence, definition = KINDS[name]
    the_rule, r = rule(sentence), random.Random(f"pairs {name} {clocks}")
    verdicts = {"violated": 0, "undecided": 0, "ok": 0}
    for _ in range(400):
        seen = Evidence(random_run(r, clocks), skew_ns=2)
        assert is_swept(seen) == (isinstance(seen.times, Bounded) and clocks == 1) or clocks > 1
        found = the_rule.judge(seen, OFF)
        if found.verdict == "not_applicable":
            continue
        assert (found.verdict, list(found.violations)) == brief(definition(Calls(seen))), seen.run
        verdicts[found.verdict] += not isinstance(seen.times, Fixed)
    assert min(verdicts["violated"], verdicts["undecided"]) > 20, verdicts

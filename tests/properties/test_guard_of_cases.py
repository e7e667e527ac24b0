"""A guard refuses a call of a case exactly when, that call succeeding, no continuation is a right answer."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from synth.cases.case import Case
from synth.formal.constraints import outline_of
from synth.judge import Rules, judge
from synth.judge.subject import subject_of
from synth.judge.timed_mode import known_durations
from synth.observed.instants import declared_start
from synth.observed.run import Run, ToolCall
from synth.policies.cased import rules_of
from synth.policies.online import Prefix
from tests.support.building import case
from tests.support.soak import seeded, tell, tries

OFF = Rules(z3="off", repair=False)
SECOND = 10**9
FIRST = 10**18


def some_order(r: random.Random) -> Case:
    names = "abcde"[: r.randint(1, 5)]
    rules = {f"{a}<{b}" for a, b in ((r.choice(names), r.choice(names)) for _ in range(r.randint(0, 6)))}
    return case(*sorted(rule for rule in rules if rule[0] < rule[2]), extra=" ".join(names))


def some_day(r: random.Random) -> Case:
    names = "abcd"[: r.randint(1, 4)]
    durations = {name: r.choice((15, 30, 45)) for name in names}
    rules = [f"{a}<{b}" for a, b in ((r.choice(names), r.choice(names)) for _ in range(2)) if a < b]
    rules += [f"{r.choice(names)}<={r.choice((600, 630, 660))}" for _ in range(r.randint(0, 2))]
    rules += [f"{r.choice(names)}>={r.choice((540, 570, 600))}" for _ in range(r.randint(0, 1))]
    return case(*rules, durations=durations, horizon=(540, 690))


class Story:
    """A run under the guard of a case: what is refused is not made."""

    def __init__(self, r: random.Random, about: Case, parallel: bool) -> None:
        self.r, self.case, self.parallel = r, about, parallel
        self.tools = (*(action.tool for action in about.actions), "look")
        self.prefix = Prefix(rules_of(about), tools=self.tools)
        self.at, self.clock = FIRST, 540
        self.running: list[int] = []

    def proposals(self, number: int) -> Iterator[tuple[ToolCall, bool, bool]]:
        """(the call as one that succeeded, was it refused?, was all lost already?)"""
        r = self.r
        for _ in range(number):
            while self.running and (not self.parallel or r.random() < 0.5):
                self.end(self.running.pop(r.randrange(len(self.running))))
            self.at += SECOND
            made = self.some_call()
            lost = self.prefix.standings(self.at)[self.case.id] == "broken for good"
            decision, place = self.prefix.propose(made, self.at)
            yield succeeded(replace(made, start=(self.at, self.at))), decision.refused, lost
            if place is not None:
                self.running.append(place)

    def some_call(self) -> ToolCall:
        r, tool = self.r, self.r.choice(self.tools if self.r.random() < 0.95 else ("other",))
        start = self.clock + r.choice((0, 0, 0, 15, 30, -15))
        return ToolCall(None, tool, {"start_time": f"{start // 60:02d}:{start % 60:02d}"})

    def end(self, place: int) -> None:
        self.at += SECOND
        call, error = self.prefix.calls[place], self.r.choice((None, None, None, "no"))
        took, start = self.took(call), declared_start(call)
        if error is None and isinstance(start, int):
            self.clock = max(self.clock, start + took)
        self.prefix.ended(place, {"duration_minutes": took} if error is None else None, error, self.at)

    def took(self, call: ToolCall) -> int:
        known = (self.case.durations or {}).get(call.tool.removeprefix("do_"), 15)
        return known if self.r.random() < 0.9 else known + self.r.choice((-15, 15, 30))

    def so_far(self, made: ToolCall) -> list[ToolCall]:
        """What was begun before the proposed call, as if it had succeeded, then that call."""
        at = made.start
        calls = [call for call in self.prefix.calls if call.start != at]
        return [*(succeeded(call) for call in calls), made]


def succeeded(call: ToolCall) -> ToolCall:
    return call if call.finished and call.end else replace(call, finished=True, end=call.start)


def a_way_on(about: Case, calls: Sequence[ToolCall], tools: tuple[str, ...]) -> bool:
    """Is there a continuation that the judge passes? Wherever a plan may have begun, all orders are tried."""
    actions = {action.tool: action.id for action in about.actions}
    done = [call for call in calls if call.succeeded and call.tool in actions]
    for first in range(len(done)) if about.mode == "timed" and done else (0,):
        plan = done[first:]
        left = {*actions.values()} - {actions[call.tool] for call in plan}
        for order in permutations(sorted(left)):
            rest = completed(about, order, calls, plan)
            run = Run("r", (*calls, *rest), tools=tools)
            if judge(about, run, rules=OFF).outcome == "pass":
                return True
    return False


def completed(
    about: Case, order: Sequence[str], calls: Sequence[ToolCall], plan: Sequence[ToolCall]
) -> Iterator[ToolCall]:
    """The actions in this order, each as early as can be after the plan so far."""
    spec, subject = about.spec, subject_of(about)
    outline = outline_of(spec.actions, spec.constraints, spec.horizon or (0, 0))
    minutes = known_durations(subject, calls)
    ends = [start_of(call) + minutes.get(subject.actions[call.tool], 0) for call in plan]
    at, now = max((call.end[1] for call in calls if call.end), default=FIRST), max(ends, default=540)
    for action in order:
        at += SECOND
        start = max(now, outline.earliest[outline.position[action]])
        now = start + minutes.get(action, 0)
        begin = {"start_time": f"{start // 60:02d}:{start % 60:02d}"}
        yield ToolCall(None, f"do_{action}", begin, start=(at, at), end=(at, at))


def start_of(call: ToolCall) -> int:
    start = declared_start(call)
    assert isinstance(start, int)
    return start


def agree(make: Callable[[random.Random], Case], prefixes: int, r: random.Random) -> Counter[str]:
    seen: Counter[str] = Counter()
    while seen["prefixes"] < prefixes:
        about = make(r)
        if not a_way_on(about, [], ()):
            continue
        story = Story(r, about, parallel=about.mode == "order" and r.random() < 0.5)
        for made, refused, lost in story.proposals(r.randint(1, 8)):
            seen["prefixes"] += 1
            found = a_way_on(about, story.so_far(made), story.tools)
            seen["refused" if refused else "allowed"] += 1
            if refused:
                assert not found, (about, story.prefix.calls, made)
            elif not lost:
                assert found, (
                    about.constraints,
                    about.durations,
                    [(c.tool, c.arguments, c.result, c.error) for c in story.so_far(made)],
                )
    return seen


@pytest.mark.parametrize("make", [some_order, some_day])
def test_a_call_is_refused_exactly_where_there_is_no_way_on(make: Callable[[random.Random], Case]) -> None:
    seen = agree(make, 150, random.Random(f"guard of {make.__name__}"))
    assert seen["refused"] > 20
    assert seen["allowed"] > 20


@pytest.mark.heavy
@pytest.mark.parametrize("make", [some_order, some_day])
def test_many_prefixes(make: Callable[[random.Random], Case]) -> None:
    with seeded() as r:
        tell(f"guard of {make.__name__}", agree(make, tries(20_000), r))

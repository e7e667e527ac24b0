"""Where an agent's planning ability ends: success over the number of actions (paper, RQ2, Fig. 8 and 9).

For each size n from 2 upward, 20 * C(n, 2) cases, 300 at most, until fewer than 20 % succeed; the
limit is the last size before that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import ceil, comb
from random import Random
from typing import Any

from synth.cases.case import Case
from synth.experiments.campaign import Budget, Journal, Meter, RunTrials, run_campaign
from synth.experiments.rates import Rate
from synth.experiments.trial import Result, Trial

FIRST = 2
LARGEST = 20
"""Where measuring ends even if the agent still succeeds: a topic has 20 activities."""
SUCCESS_LIMIT = 0.2

MakeCases = Callable[[int, int], Iterable[Case]]
"""(number of actions, number of cases) -> cases, the same whenever asked."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many cases per size."""

    per_pair: int = 20
    cap: int = 300
    smallest_batch: int = 20
    """Early stop looks at the results after every batch of this size."""
    early_stop: bool = False
    """Leave a size as soon as its 95 % interval lies on one side of the success limit."""

    def count(self, actions: int) -> int:
        return min(self.cap, self.per_pair * comb(actions, 2))


@dataclass(frozen=True, slots=True)
class Point:
    """Success at one size."""

    actions: int
    rate: Rate
    """Over decided runs."""
    unsettled: int
    errors: int = 0
    """Runs in which the agent was not tested."""

    def to_json(self) -> dict[str, Any]:
        low, high = self.rate.interval
        counts = {"runs": self.rate.trials, "passed": self.rate.hits, "unsettled": self.unsettled}
        rate = {"success_rate": self.rate.value, "low": low, "high": high}
        return {"actions": self.actions, **counts, "errors": self.errors, **rate}


@dataclass(frozen=True, slots=True)
class Curve:
    """Success over size for one agent and model."""

    agent: str
    model: str
    points: tuple[Point, ...]

    @property
    def measured(self) -> tuple[Point, ...]:
        """The sizes up to the first of which nothing is known."""
        return tuple(takewhile(lambda point: point.rate.trials, self.points))

    @property
    def limit(self) -> int:
        """The last size with at least 20 % success before the first one below; 1 if there is none."""
        succeeding = takewhile(lambda point: (point.rate.value or 0.0) >= SUCCESS_LIMIT, self.points)
        return max((point.actions for point in succeeding), default=FIRST - 1)

    @property
    def errors(self) -> int:
        return sum(point.errors for point in self.points)

    def to_json(self) -> dict[str, Any]:
        points = [point.to_json() for point in self.points]
        return {"agent": self.agent, "model": self.model, "limit": self.limit, "points": points}


def measure(
    run: RunTrials,
    agent: str,
    model: str,
    make_cases: MakeCases,
    journal: Journal[Result],
    sampling: Sampling | None = None,
    budget: Budget | Meter | None = None,
    largest: int = LARGEST,
    on_result: Callable[[Result], None] = lambda result: None,
    first: int = FIRST,
    fixed: bool = False,
) -> Curve:
    """Run size after size until success falls below the limit; results go to the journal.

    With `fixed` every size is run, as for curves that are to be compared over one range.
    """
    sampling = sampling or Sampling()
    meter = budget if isinstance(budget, Meter) else Meter(budget, journal.records)
    stopped = None
    for actions in range(first, largest + 1):
        point = _point(actions, ())
        for batch in _batches(sampling, actions, make_cases):
            trials = [Trial(agent, model, case=case) for case in batch]
            stopped = run_campaign(run, trials, journal, meter, on_result)
            point = _point(actions, _of(journal.records, agent, model, actions))
            if stopped or (sampling.early_stop and _decided(point)):
                break
        if stopped or (not fixed and (point.rate.value or 0.0) < SUCCESS_LIMIT):
            break
    return curve(agent, model, journal.records)


def _batches(sampling: Sampling, actions: int, make_cases: MakeCases) -> Iterator[Sequence[Case]]:
    cases = list(make_cases(actions, sampling.count(actions)))
    size = sampling.smallest_batch if sampling.early_stop else max(1, len(cases))
    for number in range(ceil(len(cases) / size)):
        yield cases[number * size : (number + 1) * size]


def _decided(point: Point) -> bool:
    low, high = point.rate.interval
    return low > SUCCESS_LIMIT or high < SUCCESS_LIMIT


def curve(agent: str, model: str, results: Iterable[Result]) -> Curve:
    """The curve that results show."""
    by_size: dict[int, list[Result]] = defaultdict(list)
    for result in results:
        if (result.agent, result.model) == (agent, model):
            by_size[result.actions].append(result)
    return Curve(agent, model, tuple(_point(size, by_size[size]) for size in sorted(by_size)))


def _of(results: Iterable[Result], agent: str, model: str, actions: int) -> list[Result]:
    wanted = (agent, model, actions)
    return [result for result in results if (result.agent, result.model, result.actions) == wanted]


def _point(actions: int, results: Sequence[Result]) -> Point:
    outcomes = Counter(result.outcome for result in results)
    decided, errors = outcomes["pass"] + outcomes["fail"], outcomes["error"]
    return Point(actions, Rate(outcomes["pass"], decided), len(results) - decided - errors, errors)


def errors_within(
    results: Iterable[Result], limit: int, count: int | None = 100, seed: int = 0
) -> list[Result]:
    """At most `count` (None: all) failing results up to the capability limit, drawn evenly (paper: 100)."""
    failed = [result for result in results if result.outcome == "fail" and result.actions <= limit]
    failed.sort(key=lambda result: (result.actions, result.key))  # whatever order they were made in
    if count is None or len(failed) <= count:
        return failed
    chosen = sorted(Random(seed).sample(range(len(failed)), count))
    return [failed[position] for position in chosen]

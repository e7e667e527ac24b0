"""A release gate: is the agent worse than it was on the same cases, by more than chance?

Cases are paired: a case counts as worse where fewer of its runs pass than before, as better where more do,
and the exact one-sided McNemar test asks whether so many worse ones are chance. Its power says how small a
drop these cases could have shown at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from math import ceil, comb, exp, lgamma, log, sqrt
from statistics import NormalDist
from typing import Any

from synth.experiments.rates import Rate, wilson
from synth.experiments.trial import Result

Subject = tuple[str, str]
"""(agent, model)."""

ALPHA = 0.05
POWER = 0.8
"""A drop that is found so often counts as one that the cases can show."""
POINTS = 0.05
"""The drop of which is told how many cases would show it."""
EXACT_UP_TO = 300
"""Cases up to which power is exact; beyond it a normal approximation."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One agent on one model beside its baseline."""

    agent: str
    model: str
    model_before: str
    cases: int
    """Those that both decided."""
    before: float
    """Mean pass rate of these cases."""
    after: float
    better: int
    worse: int
    p_value: float
    """That so many cases are worse by chance."""
    alpha: float = ALPHA
    max_drop: float = 0.0

    @property
    def drop(self) -> float:
        return self.before - self.after

    @property
    def failed(self) -> bool:
        """The test supports a drop, and it is larger than what is allowed."""
        return self.p_value <= self.alpha and self.drop > self.max_drop

    @property
    def by_chance(self) -> float:
        """Share of cases that change for the better, and as many for the worse, by chance alone: that of the
        rarer kind, since the other one also has what the agent gained or lost."""
        return min(self.better, self.worse) / self.cases

    @property
    def smallest_drop(self) -> float | None:
        """The smallest drop, in whole points, that these cases show 4 times in 5; None: none at all."""
        return smallest_drop(self.cases, self.by_chance, self.alpha)

    @property
    def cases_needed(self) -> int:
        """So many cases would show a drop of 5 points 4 times in 5."""
        return cases_needed(POINTS, self.by_chance, self.alpha)

    def to_json(self) -> dict[str, Any]:
        told = {"drop": self.drop, "failed": self.failed}
        shown = {"smallest_drop": self.smallest_drop, "cases_needed_for_5_points": self.cases_needed}
        return {**asdict(self), **told, **shown}

    @property
    def text(self) -> str:
        least = self.smallest_drop
        could = "no drop at all" if least is None else f"a drop of {100 * least:.0f} points"
        by_luck = worse_by_chance(better=self.worse, worse=self.better)
        verdict = "worse" if self.failed else "not shown to be worse"
        if by_luck <= self.alpha:
            verdict = f"better (by chance: p = {by_luck:.3f})"
        other = "" if self.model == self.model_before else f" (before: {self.model_before})"
        return (
            f"{self.agent} on {self.model}{other}: {self.before:.1%} before, {self.after:.1%} after on "
            f"{self.cases} shared cases ({self.worse} worse, {self.better} better, p = {self.p_value:.3f}): "
            f"{verdict}.\n"
            f"  These cases show {could} 4 times in 5; 5 points would take {self.cases_needed} cases."
        )


def gates(
    before: Iterable[Result], after: Iterable[Result], max_drop: float = 0.0, alpha: float = ALPHA
) -> tuple[Gate, ...]:
    """A gate for each agent and model that has decided cases in both.

    Where an agent has one model in each, another one may stand beside it: a model and what it was tuned to.
    """
    old, new = case_rates(before), case_rates(after)
    pairs = ((_earlier(subject, old, new), subject) for subject in new)
    return tuple(
        _gate(subject, earlier[1], old[earlier], new[subject], max_drop, alpha)
        for earlier, subject in pairs
        if earlier is not None and old[earlier].keys() & new[subject].keys()
    )


def _earlier(subject: Subject, old: Iterable[Subject], new: Iterable[Subject]) -> Subject | None:
    """What a subject stands beside: itself, or its agent on another model where there is no choice."""
    known, others = ([one for one in subjects if one[0] == subject[0]] for subjects in (old, new))
    if subject in known:
        return subject
    return known[0] if len(known) == len(others) == 1 else None


def _gate(
    subject: Subject,
    model_before: str,
    old: Mapping[str, Rate],
    new: Mapping[str, Rate],
    max_drop: float,
    alpha: float,
) -> Gate:
    shared = [(share(old[case]), share(new[case])) for case in old if case in new]
    better = sum(was < now for was, now in shared)
    worse = sum(was > now for was, now in shared)
    before, after = (sum(rates) / len(shared) for rates in zip(*shared, strict=True))
    p_value = worse_by_chance(better, worse)
    rates = before, after, better, worse
    return Gate(*subject, model_before, len(shared), *rates, p_value, alpha, max_drop)


def case_rates(results: Iterable[Result]) -> dict[Subject, dict[str, Rate]]:
    """Passes and decided runs of each case, by agent and model."""
    found: dict[Subject, dict[str, Rate]] = defaultdict(dict)
    for result in results:
        if result.outcome in ("pass", "fail") and result.case_id is not None:
            rates = found[result.agent, result.model]
            old = rates.get(result.case_id, Rate(0, 0))
            rates[result.case_id] = Rate(old.hits + (result.outcome == "pass"), old.trials + 1)
    return dict(found)


def share(rate: Rate) -> float:
    return rate.hits / rate.trials


# ---------------------------------------------------------------- the test and its power


def worse_by_chance(better: int, worse: int) -> float:
    """One-sided p-value of the exact McNemar test: as many worse pairs or more, if both were as likely."""
    changed = better + worse
    return float(sum(comb(changed, k) for k in range(worse, changed + 1)) / (1 << changed))


def power(cases: int, drop: float, by_chance: float = 0.0, alpha: float = ALPHA) -> float:
    """How often the test finds a drop in so many cases, of which `by_chance` change each way anyhow."""
    by_chance = min(by_chance, (1 - drop) / 2)
    changed = 2 * by_chance + drop
    if changed <= 0:
        return 0.0
    worse = (by_chance + drop) / changed
    if cases > EXACT_UP_TO:
        return _power_of_many(cases, drop, changed, alpha)
    return sum(
        _binomial(cases, pairs, changed) * sum(_binomial(pairs, k, worse) for k in range(least, pairs + 1))
        for pairs in range(1, cases + 1)
        if (least := _critical(pairs, alpha)) <= pairs and _binomial(cases, pairs, changed) > 1e-9
    )


def smallest_drop(cases: int, by_chance: float, alpha: float = ALPHA) -> float | None:
    points = range(1, 101)
    low, high = 0, len(points)
    while low < high:
        middle = (low + high) // 2
        found = power(cases, points[middle] / 100, by_chance, alpha) >= POWER
        low, high = (low, middle) if found else (middle + 1, high)
    return None if low == len(points) else points[low] / 100


def cases_needed(drop: float, by_chance: float, alpha: float = ALPHA) -> int:
    """Connor's formula for paired shares."""
    changed = 2 * by_chance + drop
    normal = NormalDist()
    here, there = normal.inv_cdf(1 - alpha), normal.inv_cdf(POWER)
    return ceil(((here * sqrt(changed) + there * sqrt(max(0.0, changed - drop**2))) / drop) ** 2)


def _power_of_many(cases: int, drop: float, changed: float, alpha: float) -> float:
    normal = NormalDist()
    spread = sqrt(max(1e-12, changed - drop**2))
    return normal.cdf((drop * sqrt(cases) - normal.inv_cdf(1 - alpha) * sqrt(changed)) / spread)


@cache
def _critical(pairs: int, alpha: float) -> int:
    """The fewest worse pairs among so many that the test takes for no chance."""
    tail, worse = 0, pairs + 1
    while worse and (tail + comb(pairs, worse - 1)) <= alpha * (1 << pairs):
        worse -= 1
        tail += comb(pairs, worse)
    return worse


def _binomial(trials: int, hits: int, share: float) -> float:
    if share <= 0 or share >= 1:
        return float(hits == (trials if share >= 1 else 0))
    ways = lgamma(trials + 1) - lgamma(hits + 1) - lgamma(trials - hits + 1)
    return exp(ways + hits * log(share) + (trials - hits) * log(1 - share))


# ---------------------------------------------------------------- runs of the same case


@dataclass(frozen=True, slots=True)
class AtK:
    """How an agent does in k runs of a case: all pass (`pass^k`), at least one does (`pass@k`)."""

    agent: str
    model: str
    k: int
    cases: int
    """Those with k decided runs or more."""
    every: float
    some: float

    @property
    def intervals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """95 % of both, over cases."""
        return wilson(self.every, self.cases), wilson(self.some, self.cases)

    def to_json(self) -> dict[str, Any]:
        every, some = self.intervals
        head = {"agent": self.agent, "model": self.model, "k": self.k, "cases": self.cases}
        return {**head, "pass^k": self.every, "pass^k_95": every, "pass@k": self.some, "pass@k_95": some}


def at_k(results: Iterable[Result]) -> tuple[AtK, ...]:
    """For each agent and model that ran cases more than once, and each k up to the most decided runs.

    Without bias: over all choices of k among a case's runs.
    """
    found = []
    for (agent, model), rates in case_rates(results).items():
        most = max(rate.trials for rate in rates.values())
        for k in range(1, most + 1) if most > 1 else ():
            enough = [rate for rate in rates.values() if rate.trials >= k]
            every = sum(comb(r.hits, k) / comb(r.trials, k) for r in enough) / len(enough)
            some = sum(1 - comb(r.trials - r.hits, k) / comb(r.trials, k) for r in enough) / len(enough)
            found.append(AtK(agent, model, k, len(enough), every, some))
    return tuple(found)

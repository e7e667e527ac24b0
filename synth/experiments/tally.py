"""What results add up to: the table of a test, its most telling findings, and how well faults are found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from synth.counted import counted
from synth.experiments.money import Prices
from synth.experiments.trial import UNGUARDED, Result
from synth.formal.model import ERROR_TYPES
from synth.formal.trouble import Trouble


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: an agent on a model."""

    agent: str
    model: str
    runs: int
    passed: int
    failed: Mapping[str, int]
    """Runs by primary error type."""
    unsettled: int
    """Open or undecided: left out of the success rate."""
    errors: int = 0
    """The agent was not tested: left out as well."""
    tokens: int = 0
    cost: float | None = None
    """None where the price is not known, or what a run took."""

    @property
    def success_rate(self) -> float | None:
        """Share of passes among the decided runs, None where nothing was decided."""
        decided = self.runs - self.unsettled - self.errors
        return self.passed / decided if decided else None

    def to_json(self) -> dict[str, Any]:
        failed = {type: self.failed[type] for type in ERROR_TYPES if self.failed.get(type)}
        head = {"agent": self.agent, "model": self.model, "runs": self.runs, "pass": self.passed}
        left = {"error": self.errors, "unsettled": self.unsettled}
        rate = {"success_rate": self.success_rate}
        return {**head, "fail": failed, **left, **rate, "tokens": self.tokens, "cost": self.cost}


def tally(results: Iterable[Result], prices: Prices | None = None) -> tuple[Row, ...]:
    """A row per agent and model, in the order in which they first occur."""
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.agent, result.model].append(result)
    return tuple(row_of(agent, model, group, prices) for (agent, model), group in groups.items())


def row_of(agent: str, model: str, group: Sequence[Result], prices: Prices | None = None) -> Row:
    """All these results as one line."""
    costs = [] if prices is None else [prices.cost(one.model, one.usage) for one in group]
    cost = None if not costs or None in costs else sum(filter(None, costs))
    outcomes = Counter(result.outcome for result in group)
    failed = Counter(str(result.error_type) for result in group if result.outcome == "fail")
    unsettled = len(group) - outcomes["pass"] - outcomes["fail"] - outcomes["error"]
    return Row(
        agent, model, len(group), outcomes["pass"], dict(failed), unsettled, outcomes["error"],
        sum(one.tokens for one in group), cost,
    )  # fmt: skip


def errors_of(results: Iterable[Result], agent: str, model: str) -> int:
    """Runs in which an agent was not tested on a model."""
    return sum(r.outcome == "error" for r in results if (r.agent, r.model) == (agent, model))


MOST_TOLD = 5
"""Different troubles that are told."""


def untested(results: Iterable[Result]) -> tuple[str, ...]:
    """What kept agents from being tested, the provider's own words first, each with its number of runs."""
    found = Counter(in_words(result.trouble) for result in results if result.trouble is not None)
    told = found.most_common(MOST_TOLD)
    rest = found.total() - sum(count for _, count in told)
    if rest:
        told.append(("other trouble", rest))
    return tuple(f"{words}: planning was not tested in {counted(count, 'run')}" for words, count in told)


def in_words(trouble: Trouble) -> str:
    """`Rate limit reached (endpoint 429)`."""
    where = trouble.kind.replace("_", " ")
    where = where if trouble.status is None else f"{where} {trouble.status}"
    return f"{trouble.message} ({where})" if trouble.message else where


# ---------------------------------------------------------------- findings


@dataclass(frozen=True, slots=True)
class Telling:
    """A finding worth reading, with the run it is about."""

    result: Result
    finding: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        result = self.result
        run = {"agent": result.agent, "model": result.model, "case_id": result.case_id}
        return {**run, "run_id": result.trace_id, "text": self.text, "finding": dict(self.finding)}

    @property
    def text(self) -> str:
        return f"{self.result.agent} on {self.result.model}: {self.finding['explanation']}"


def most_telling(results: Iterable[Result], count: int = 3) -> tuple[Telling, ...]:
    """At most `count` findings, each of another error type first, then of another agent.

    Findings that name a sentence of the query come before those that do not.
    """
    ranked = sorted(_all_findings(results), key=_least_telling)
    chosen: list[Telling] = []
    while ranked and len(chosen) < count:
        best = min(ranked, key=lambda telling: _repeats(telling, chosen))
        ranked.remove(best)
        chosen.append(best)
    return tuple(chosen)


def _all_findings(results: Iterable[Result]) -> list[Telling]:
    failed = (result for result in results if result.outcome == "fail" and result.verdict is not None)
    return [
        Telling(result, finding)
        for result in failed
        for finding in (result.verdict or {})["findings"]
        if finding["type"] == result.error_type
    ]


def _least_telling(telling: Telling) -> tuple[bool, int]:
    return telling.finding["sentence"] is None, len(telling.finding["explanation"])


def _repeats(telling: Telling, chosen: Sequence[Telling]) -> tuple[int, int, int, int]:
    """How often the very finding, its error type, the run and the agent have been shown already."""
    return (
        sum(telling.finding["explanation"] == other.finding["explanation"] for other in chosen),
        sum(telling.finding["type"] == other.finding["type"] for other in chosen),
        sum(telling.result.trace_id == other.result.trace_id for other in chosen),
        sum(telling.result.agent == other.result.agent for other in chosen),
    )


# ---------------------------------------------------------------- detection of planted faults


@dataclass(frozen=True, slots=True)
class Detection:
    """How one simulated planner's faults were judged."""

    model: str
    runs: int
    planted: int
    """Runs with a fault in the plan."""
    found: int
    """Planted and judged with the right error type."""
    missed: int
    """Planted and judged otherwise."""
    false_alarms: int
    """Nothing planted, judged as a failure."""
    unsettled: int
    """Neither passed nor failed, whatever was planted."""
    errors: int = 0
    """Not tested, whatever was to be planted."""

    @property
    def exact(self) -> bool:
        """Every planted fault and nothing else was found."""
        return not (self.missed or self.false_alarms or self.unsettled or self.errors)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "exact": self.exact}


def detection(results: Iterable[Result]) -> tuple[Detection, ...]:
    """A row per simulated model; runs of other models, recorded runs, and those under a guard, which may
    stop a fault before there is one to find, are left out."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.planted is not None and result.guard in (None, UNGUARDED):
            groups[result.model].append(result)
    return tuple(_detection(model, group) for model, group in groups.items())


def _detection(model: str, group: Sequence[Result]) -> Detection:
    judged = Counter(judgement(result) for result in group)
    return Detection(
        model=model,
        runs=len(group),
        planted=sum(fault_of(result) is not None for result in group),
        found=judged["found"],
        missed=judged["missed"],
        false_alarms=judged["false_alarm"],
        unsettled=judged["unsettled"],
        errors=judged["error"],
    )


def judgement(result: Result) -> str:
    """`found`, `missed`, `right` (nothing planted, passed), `false_alarm`, `unsettled` or `error`."""
    if result.outcome not in ("pass", "fail"):
        return "error" if result.outcome == "error" else "unsettled"
    fault = fault_of(result)
    if fault is not None:
        return "found" if result.error_type == fault["type"] else "missed"
    return "right" if result.outcome == "pass" else "false_alarm"


def fault_of(result: Result) -> Mapping[str, Any] | None:
    """What was planted, None where nothing was."""
    return None if result.planted is None else result.planted["fault"]

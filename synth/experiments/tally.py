"""What results add up to: the table of a test, its most telling findings, and how well faults are found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.experiments.trial import Result
from synth.formal.model import ERROR_TYPES


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

    @property
    def success_rate(self) -> float | None:
        """Share of passes among the decided runs, None where nothing was decided."""
        decided = self.runs - self.unsettled
        return self.passed / decided if decided else None

    def to_json(self) -> dict[str, Any]:
        failed = {type: self.failed[type] for type in ERROR_TYPES if self.failed.get(type)}
        head = {"agent": self.agent, "model": self.model, "runs": self.runs, "pass": self.passed}
        return {**head, "fail": failed, "unsettled": self.unsettled, "success_rate": self.success_rate}


def tally(results: Iterable[Result]) -> tuple[Row, ...]:
    """A row per agent and model, in the order in which they first occur."""
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.agent, result.model].append(result)
    return tuple(row_of(agent, model, group) for (agent, model), group in groups.items())


def row_of(agent: str, model: str, group: Sequence[Result]) -> Row:
    """All these results as one line."""
    outcomes = Counter(result.outcome for result in group)
    failed = Counter(str(result.error_type) for result in group if result.outcome == "fail")
    unsettled = len(group) - outcomes["pass"] - outcomes["fail"]
    return Row(agent, model, len(group), outcomes["pass"], dict(failed), unsettled)


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
    """Nothing planted, not judged as a pass either."""

    @property
    def exact(self) -> bool:
        """Every planted fault and nothing else was found."""
        return not (self.missed or self.false_alarms or self.unsettled)

    def to_json(self) -> dict[str, Any]:
        names = ("model", "runs", "planted", "found", "missed", "false_alarms", "unsettled", "exact")
        return {name: getattr(self, name) for name in names}


def detection(results: Iterable[Result]) -> tuple[Detection, ...]:
    """A row per simulated model; runs of other models, and recorded runs, are left out."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.planted is not None:
            groups[result.model].append(result)
    return tuple(_detection(model, group) for model, group in groups.items())


def _detection(model: str, group: Sequence[Result]) -> Detection:
    judged = Counter(judgement(result) for result in group)
    return Detection(
        model=model,
        runs=len(group),
        planted=judged["found"] + judged["missed"],
        found=judged["found"],
        missed=judged["missed"],
        false_alarms=judged["false_alarm"],
        unsettled=judged["unsettled"],
    )


def judgement(result: Result) -> str:
    """`found`, `missed`, `right` (nothing planted, passed), `false_alarm` or `unsettled`."""
    fault = None if result.planted is None else result.planted["fault"]
    if fault is not None:
        return "found" if result.error_type == fault["type"] else "missed"
    return {"pass": "right", "fail": "false_alarm"}.get(result.outcome, "unsettled")

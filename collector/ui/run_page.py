"""What the page of one run shows: calls on a time axis, findings pinned to calls and to words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from collector.model import Rebuilt
from collector.ui.words import lasting

AXIS = 1000.0
"""Width of the time axis in its own units; the page stretches it."""
NARROWEST = 4.0
"""A bar is never narrower, so that instant calls stay visible."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the query's text."""

    text: str
    findings: tuple[int, ...] = ()
    """Numbers of the findings whose words these are."""
    ending: tuple[int, ...] = ()
    """Those whose words end here."""


@dataclass(frozen=True, slots=True)
class Row:
    """One call."""

    index: int
    call: Mapping[str, Any]
    state: str
    """`ok`, `error` or `missing` (requested, never run)."""
    findings: tuple[int, ...]
    bar: tuple[float, float] | None
    """(x, width) on the axis."""
    inferred: bool
    start: str
    """After the start of the run."""
    duration: str
    is_dead_end: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, numbered as on the page."""

    number: int
    type: str
    explanation: str
    calls: tuple[int, ...]
    rule: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The observed order beside the nearest right one."""

    observed: tuple[tuple[str, bool], ...]
    """(name, was moved) each."""
    repaired: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Page:
    query: tuple[Piece, ...]
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    plan: Plan | None
    dead_x: float | None
    """Where on the axis the plan became hopeless."""
    span_of_axis: str
    ticks: tuple[tuple[float, str], ...]


def run_page(detail: Mapping[str, Any], rebuilt: Rebuilt, case: Mapping[str, Any] | None) -> Page:
    """Everything the template needs; `case` is the stored case, if the run is bound to one."""
    problems = tuple(_problems(detail))
    verdict = detail["verdict"] or {}
    dead_at = verdict.get("dead_at")
    axis = Axis.of(rebuilt)
    rows = tuple(_rows(detail, rebuilt, problems, axis, dead_at))
    return Page(
        query=tuple(_query(detail, case, problems)),
        rows=rows,
        problems=problems,
        notes=tuple(f["explanation"] for f in verdict.get("findings", ()) if f["type"] == "note"),
        plan=_plan(detail, verdict.get("repair"), case),
        dead_x=_end_of(rows, dead_at),
        span_of_axis=lasting(axis.length / 1e6),
        ticks=tuple((x, lasting(x / AXIS * axis.length / 1e6)) for x in (0.0, 250.0, 500.0, 750.0, AXIS)),
    )


@dataclass(frozen=True, slots=True)
class Axis:
    """Wall-clock nanoseconds to a position on the page."""

    start: int
    length: int

    @classmethod
    def of(cls, rebuilt: Rebuilt) -> Axis:
        """From the first to the last instant of the calls (a run's own span may wait long before them)."""
        starts = [call.start[0] for call in rebuilt.run.calls if call.start]
        ends = [call.end[1] for call in rebuilt.run.calls if call.end]
        start = min(starts, default=0)
        return cls(start, max(max(ends, default=start) - start, 1))

    def place(self, at: int) -> float:
        return (at - self.start) / self.length * AXIS


def _problems(detail: Mapping[str, Any]) -> Iterable[Problem]:
    verdict = detail["verdict"] or {"findings": ()}
    found = [f for f in verdict["findings"] if f["type"] != "note"]
    for number, finding in enumerate(found, 1):
        calls = tuple(finding["calls"])
        yield Problem(number, finding["type"], finding["explanation"], calls, finding["code"])
    violated = [result for result in detail["policies"] if result["verdict"] == "violated"]
    for number, result in enumerate(violated, len(found) + 1):
        yield Problem(number, "policy", result["explanation"], tuple(result["violations"]), result["policy"])


def _rows(
    detail: Mapping[str, Any],
    rebuilt: Rebuilt,
    problems: Sequence[Problem],
    axis: Axis,
    dead_at: int | None,
) -> Iterable[Row]:
    for index, (call, shown) in enumerate(zip(rebuilt.run.calls, detail["calls"], strict=True)):
        bar = None
        duration = start = "-"
        if call.start and call.end:
            left = axis.place(call.start[0])
            width = max(axis.place(call.end[1]) - left, NARROWEST)
            bar = (min(left, AXIS - NARROWEST), min(width, AXIS - min(left, AXIS - NARROWEST)))
            start = f"+{lasting((call.start[0] - axis.start) / 1e6)}"
            duration = lasting((call.end[1] - call.start[0]) / 1e6)
        inferred = bool(call.start and call.start[0] != call.start[1])
        yield Row(
            index=index,
            call=shown,
            state="missing" if not call.executed else "error" if call.error is not None else "ok",
            findings=tuple(p.number for p in problems if index in p.calls),
            bar=bar,
            inferred=inferred,
            start=start,
            duration=f"≤ {duration}" if inferred else duration,
            is_dead_end=index == dead_at,
        )


def _end_of(rows: Sequence[Row], index: int | None) -> float | None:
    if index is None or index >= len(rows):
        return None
    bar = rows[index].bar
    return None if bar is None else bar[0] + bar[1]


def _query(
    detail: Mapping[str, Any], case: Mapping[str, Any] | None, problems: Sequence[Problem]
) -> Iterable[Piece]:
    """The query cut where the words of violated constraints begin and end."""
    text = case["query"] if case else detail["query"]
    if not text:
        return
    base = text.find(case["paragraph"]) if case else -1
    spans = []
    if base >= 0:
        found = [f for f in (detail["verdict"] or {"findings": ()})["findings"] if f["type"] != "note"]
        spans = [
            (base + f["span"][0], base + f["span"][1], number)
            for number, f in enumerate(found, 1)
            if f["span"]
        ]
    cuts = sorted({0, len(text), *(at for start, end, _ in spans for at in (start, end))})
    for left, right in pairwise(cuts):
        numbers = tuple(number for start, end, number in spans if start <= left and right <= end)
        yield Piece(text[left:right], numbers, tuple(n for _, end, n in spans if end == right))


def _plan(
    detail: Mapping[str, Any], repair: Mapping[str, Any] | None, case: Mapping[str, Any] | None
) -> Plan | None:
    if not repair or not case:
        return None
    names = {action["id"]: action["phrase"] for action in case["actions"]}
    by_tool = {action["tool"]: action["id"] for action in case["actions"]}
    moved = set(repair["moved"])
    seen = [by_tool[call["name"]] for call in detail["calls"] if call["name"] in by_tool]
    return Plan(
        observed=tuple((names[action], action in moved) for action in dict.fromkeys(seen)),
        repaired=tuple((names.get(action, action), action in moved) for action in repair["order"]),
    )

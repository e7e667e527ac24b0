"""What the page of one run shows: calls on a time axis, findings pinned to calls and to words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from collector.api.views import tells_no_time
from collector.model import Rebuilt, ToolCall
from collector.ui.words import lasting, short
from synth.policies import Step, steps_of

AXIS = 1000.0
"""Width of the time axis in its own units; the page stretches it."""
LONG_PLAN = 40
"""Calls of the two sides together: more are shown when they are asked for."""
SHOWN = 200
"""Calls on one page, and steps of one plan; links to calls of one finding are a quarter of it."""
MOST_TOOLS = 12
"""That the rest is summed up by."""
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
    """`ok`, `error`, `missing` (requested, never run) or `unknown` (requested, maybe run)."""
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
    """All of them."""
    rule: str
    words: tuple[tuple[str, bool], ...] = ()
    """The sentence of a policy cut where the words that were broken begin and end: (text, broken) each."""
    text: str | None = None
    """What the policy is called, where the sentence does not say it."""
    file: str | None = None
    """Where the policy stands."""

    @property
    def linked(self) -> tuple[int, ...]:
        return self.calls[: SHOWN // 4]


@dataclass(frozen=True, slots=True)
class Plan:
    """The observed order beside the nearest right one."""

    observed: tuple[tuple[str, str], ...]
    """(name, `moved`, `left out` or empty) each."""
    repaired: tuple[tuple[str, str], ...]
    """(name, `moved`, `new` or empty) each."""
    rules: tuple[str, ...] = ()
    """The policies that the plan is for; of a case: all that it demands."""
    keeps: tuple[str, ...] = ()
    """Other policies that it was judged to keep."""

    @property
    def is_long(self) -> bool:
        return len(self.observed) + len(self.repaired) > LONG_PLAN


@dataclass(frozen=True, slots=True)
class Rates:
    """Progress and repetition after each call, as lines on a grid of 1000 by 100."""

    calls: int
    lines: tuple[tuple[str, str, float], ...]
    """(name, points of the line, the last value) of what is known."""
    repeated: tuple[int, ...] = ()
    """Calls that were made before."""

    @property
    def marks(self) -> str:
        """A path with a square of 1 by 1 for each repeated call (AgentQuest, Figure 3)."""
        return "".join(f"M{call} 0h1v1h-1z" for call in self.repeated)

    @classmethod
    def of(cls, progress: Mapping[str, Sequence[float] | None]) -> Rates | None:
        """None for runs of fewer than two calls."""
        known = [(name, rates) for name, rates in progress.items() if rates is not None and len(rates) > 1]
        if not known:
            return None
        calls = len(known[0][1])
        lines = tuple(
            (
                name,
                " ".join(
                    f"{x * AXIS / (calls - 1):.1f},{100 - 100 * rate:.1f}" for x, rate in enumerate(rates)
                ),
                rates[-1],
            )
            for name, rates in known
        )
        repetition = progress.get("repetition") or ()
        again = tuple(call for call, (rate, later) in enumerate(pairwise(repetition), 1) if later > rate)
        return cls(calls, lines, again)


@dataclass(frozen=True, slots=True)
class Window:
    """Which calls of a run are shown, and what the others are."""

    first: int
    end: int
    total: int
    rest: tuple[tuple[str, int, int], ...]
    """(tool, calls, failed ones) of those that are not shown, the most frequent first."""
    more: int
    """Tools that are not among them."""

    @classmethod
    def of(cls, rebuilt: Rebuilt, first: int) -> Window:
        calls = rebuilt.run.calls
        first = min(first, max(len(calls) - 1, 0)) // SHOWN * SHOWN
        end = min(first + SHOWN, len(calls))
        rest = (*calls[:first], *calls[end:])
        counts = Counter(call.tool for call in rest)
        failed = Counter(call.tool for call in rest if call.error is not None)
        most = tuple((name, count, failed[name]) for name, count in counts.most_common(MOST_TOOLS))
        return cls(first, end, len(calls), most, len(counts) - len(most))

    @property
    def before(self) -> int | None:
        return self.first - SHOWN if self.first else None

    @property
    def after(self) -> int | None:
        return self.end if self.end < self.total else None

    def link(self, call: int) -> str:
        """Where a call is shown."""
        inside = self.first <= call < self.end
        return f"#call-{call}" if inside else f"?calls={call // SHOWN * SHOWN}#call-{call}"


@dataclass(frozen=True, slots=True)
class Page:
    query: tuple[Piece, ...]
    rows: tuple[Row, ...]
    """Of the calls that are shown."""
    calls: Window
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    plans: tuple[Plan, ...]
    dead_x: float | None
    """Where on the axis the plan became hopeless."""
    span_of_axis: str
    """Empty where nobody knows when calls were made."""
    ticks: tuple[tuple[float, str], ...]
    rates: Rates | None


def run_page(
    detail: Mapping[str, Any], rebuilt: Rebuilt, case: Mapping[str, Any] | None, calls: Window
) -> Page:
    """Everything the template needs; `case` is the stored case, if the run is bound to one.

    `detail` has the calls of the window.
    """
    problems = tuple(_problems(detail))
    verdict = detail["verdict"] or {}
    dead_at = verdict.get("dead_at")
    axis = Axis.of(rebuilt)
    rows = tuple(_rows(detail, rebuilt, problems, axis, dead_at, calls.first))
    return Page(
        query=tuple(_query(detail, case, problems)),
        rows=rows,
        calls=calls,
        problems=problems,
        notes=tuple(f["explanation"] for f in verdict.get("findings", ()) if f["type"] == "note"),
        plans=(*_plan(rebuilt, verdict.get("repair"), case), *_policy_plans(detail, rebuilt)),
        dead_x=_end_of(rebuilt, axis, dead_at),
        span_of_axis=lasting(axis.length / 1e6) if any(call.start for call in rebuilt.run.calls) else "",
        rates=Rates.of(detail["progress"]),
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
        starts = [call.start[0] for call in rebuilt.run.calls if call.start and not tells_no_time(call.start)]
        ends = [call.end[1] for call in rebuilt.run.calls if call.end and not tells_no_time(call.end)]
        start = min(starts, default=0)
        return cls(start, max(max(ends, default=start) - start, 1))

    def place(self, at: int) -> float:
        return (at - self.start) / self.length * AXIS

    def bar(self, call: ToolCall) -> tuple[float, float] | None:
        """(x, width) of a call; None where no clock tells."""
        if not call.start or not call.end or tells_no_time(call.start) or tells_no_time(call.end):
            return None
        left = self.place(call.start[0])
        width = max(self.place(call.end[1]) - left, NARROWEST)
        return min(left, AXIS - NARROWEST), min(width, AXIS - min(left, AXIS - NARROWEST))


def _problems(detail: Mapping[str, Any]) -> Iterable[Problem]:
    verdict = detail["verdict"] or {"findings": ()}
    found = [f for f in verdict["findings"] if f["type"] != "note"]
    for number, finding in enumerate(found, 1):
        calls = tuple(finding["calls"])
        yield Problem(number, finding["type"], finding["explanation"], calls, finding["code"])
    violated = [result for result in detail["policies"] if result["verdict"] == "violated"]
    for number, result in enumerate(violated, len(found) + 1):
        yield Problem(
            number,
            "policy",
            result["explanation"],
            calls=tuple(result["violations"]),
            rule=result["policy"],
            words=_words(result),
            text=result["text"] if result["text"] != result["sentence"] else None,
            file=_file(result),
        )


def _words(result: Mapping[str, Any]) -> tuple[tuple[str, bool], ...]:
    sentence = result["sentence"] or ""
    start, end = result["span"] or (0, 0)
    parts = ((sentence[:start], False), (sentence[start:end], True), (sentence[end:], False))
    return tuple((text, broken) for text, broken in parts if text)


def _file(result: Mapping[str, Any]) -> str | None:
    version = result["version"]
    return result["file"] if version is None else f"{result['file']}, version {version}"


def _rows(
    detail: Mapping[str, Any],
    rebuilt: Rebuilt,
    problems: Sequence[Problem],
    axis: Axis,
    dead_at: int | None,
    first: int,
) -> Iterable[Row]:
    wrong: dict[int, list[int]] = {}
    for problem in problems:
        for index in problem.calls:
            wrong.setdefault(index, []).append(problem.number)
    for index, shown in enumerate(detail["calls"], first):
        call = rebuilt.run.calls[index]
        bar = axis.bar(call)
        duration = start = "-"
        if bar and call.start and call.end:
            start = f"+{lasting((call.start[0] - axis.start) / 1e6)}"
            duration = lasting((call.end[1] - call.start[0]) / 1e6)
        inferred = bool(bar and call.start and call.start[0] != call.start[1])
        yield Row(
            index=index,
            call=shown,
            state=_state(call),
            findings=tuple(wrong.get(index, ())),
            bar=bar,
            inferred=inferred,
            start=start,
            duration=f"≤ {duration}" if inferred else duration,
            is_dead_end=index == dead_at,
        )


def _state(call: ToolCall) -> str:
    if call.executed is None:
        return "unknown"
    return "missing" if not call.executed else "error" if call.error is not None else "ok"


def _end_of(rebuilt: Rebuilt, axis: Axis, index: int | None) -> float | None:
    if index is None or index >= len(rebuilt.run.calls):
        return None
    bar = axis.bar(rebuilt.run.calls[index])
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
    rebuilt: Rebuilt, repair: Mapping[str, Any] | None, case: Mapping[str, Any] | None
) -> Iterable[Plan]:
    """What would have kept the case."""
    if not repair or not case:
        return
    names = {action["id"]: action["phrase"] for action in case["actions"]}
    by_tool = {action["tool"]: action["id"] for action in case["actions"]}
    how = dict.fromkeys(repair["moved"], "moved")
    seen = [by_tool[call.tool] for call in rebuilt.run.calls if call.tool in by_tool]
    yield Plan(
        observed=tuple((names[action], how.get(action, "")) for action in dict.fromkeys(seen)),
        repaired=tuple((names.get(action, action), how.get(action, "")) for action in repair["order"]),
    )


def _policy_plans(detail: Mapping[str, Any], rebuilt: Rebuilt) -> Iterable[Plan]:
    """What would have kept the policies: one plan for those that it is the same for."""
    plans: dict[Plan, list[Mapping[str, Any]]] = {}
    for result in detail["policies"]:
        if result["repair"]:
            plans.setdefault(_policy_plan(rebuilt, result["repair"]), []).append(result)
    for plan, results in plans.items():
        rules = tuple(result["policy"] for result in results)
        keeps = (policy for result in results for policy in result["repair"]["proved"] if policy not in rules)
        yield replace(plan, rules=rules, keeps=tuple(dict.fromkeys(keeps)))


def _policy_plan(rebuilt: Rebuilt, repair: Mapping[str, Any]) -> Plan:
    steps = steps_of(repair)
    how = {**dict.fromkeys(repair["moved"], "moved"), **dict.fromkeys(repair["dropped"], "left out")}
    shown = sorted({*repair["dropped"], *(step.call for step in steps if step.call is not None)})
    return Plan(
        observed=tuple((f"{rebuilt.run.calls[at].tool} (call {at})", how.get(at, "")) for at in shown),
        repaired=tuple((_named(step), step.how) for step in steps),
    )


def _named(step: Step) -> str:
    if step.call is not None:
        return f"{step.tool} (call {step.call})"
    given = ", ".join(f"{name} = {short(value, 40)}" for name, value in step.arguments.items())
    return f"{step.tool} with {given}" if given else step.tool

"""What the page of one run shows: calls on a time axis, findings pinned to calls and to words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import orjson

from collector.model import Rebuilt, Span
from collector.rebuild import Told
from collector.rebuild.nesting import nested
from collector.ui.call_rows import SHOWN, Axis, Row, Window, folded, rows_of, times
from collector.ui.words import short
from synth.pictures import Edge, Line, Picture, graph, lines
from synth.policies import Step, steps_of

LONG_PLAN = 40
"""Calls of the two sides together: more are shown when they are asked for."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the query's text."""

    text: str
    findings: tuple[int, ...] = ()
    """Numbers of the findings whose words these are."""
    ending: tuple[int, ...] = ()
    """Those whose words end here."""


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
    page: str | None = None
    """The file that a collector keeps it in."""

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
    """Progress and repetition after each call (AgentQuest, Figures 2 and 3)."""

    picture: Picture | None
    """None where all of it stays at nothing."""
    last: tuple[tuple[str, float], ...]
    """(name, the last value) of what is known."""
    repeated: tuple[int, ...] = ()
    """Calls that were made before."""

    @classmethod
    def of(cls, progress: Mapping[str, Sequence[float] | None]) -> Rates | None:
        """None for runs of fewer than two calls."""
        known = [(name, rates) for name, rates in progress.items() if rates is not None and len(rates) > 1]
        if not known:
            return None
        repetition = progress.get("repetition") or ()
        again = tuple(call for call, (rate, later) in enumerate(pairwise(repetition), 1) if later > rate)
        drawn = [Line(name, name.capitalize(), rates) for name, rates in known]
        told = ", ".join(f"{name} {rates[-1]:.0%}" for name, rates in known)
        title = f"{told} after {len(known[0][1])} calls"
        picture = lines(title, drawn, again) if any(max(rates) > 0 for _, rates in known) else None
        return cls(picture, tuple((name, rates[-1]) for name, rates in known), again)


@dataclass(frozen=True, slots=True)
class Page:
    query: tuple[Piece, ...]
    rows: tuple[Row, ...]
    calls: Window
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    plans: tuple[Plan, ...]
    graph: Picture | None
    """What the case says must come before what, with the orders that were broken."""
    axis: Axis | None
    """None where nobody knows when calls were made."""
    zoomed: bool
    rates: Rates | None
    talk: tuple[Mapping[str, Any], ...]
    """What was said, where no line of a model call says it."""


def run_page(
    detail: Mapping[str, Any], told: Told, spans: Sequence[Span], case: Mapping[str, Any] | None = None, *,
    call: int | None = None, part: int | None = None, within: tuple[float, float] | None = None,
) -> Page:  # fmt: skip
    """Everything the template needs; `case` is the stored case, if the run is bound to one.

    Of a long run the part is shown that is asked for, else the one with the `call`; of the time axis what is
    `within` so many ms after the start of the run.
    """
    rebuilt, problems = told.run, tuple(_problems(detail))
    calls, verdict = rebuilt.run.calls, detail["verdict"] or {}
    wrong: dict[int, list[int]] = {}
    for problem in problems:
        for index in problem.calls:
            wrong.setdefault(index, []).append(problem.number)
    dead_at = verdict.get("dead_at")
    nodes, axis = nested(told, spans), Axis.of(rebuilt, within)
    window = Window.of(folded(nodes, calls, {*wrong, dead_at}, call), calls, call, part)
    findings = verdict.get("findings", ())
    return Page(
        query=tuple(_query(detail, case, problems)),
        rows=tuple(rows_of(window, nodes, rebuilt, axis, wrong, dead_at)),
        calls=window,
        problems=problems,
        notes=tuple(f["explanation"] for f in findings if f["type"] == "note"),
        plans=(*_plan(rebuilt, verdict.get("repair"), case), *_policy_plans(detail, rebuilt)),
        graph=graph_of(case, [f for f in findings if f["type"] != "note"]) if case else None,
        axis=axis if any(map(times, calls)) else None,
        zoomed=within is not None,
        rates=Rates.of(detail["progress"]),
        talk=() if any(model.given or model.said for model in told.models) else _talk(rebuilt),
    )


def _talk(rebuilt: Rebuilt) -> tuple[Mapping[str, Any], ...]:
    """The messages of a run; none where that is its request alone."""
    messages = [said for said in rebuilt.run.extra.get("messages") or () if said.get("content")]
    only = len(messages) == 1 and messages[0]["content"] == rebuilt.run.query
    return () if only else tuple(messages[:SHOWN])


def graph_of(case: Any, findings: Any) -> Picture | None:
    """What must come before what, with the orders that the findings of a run break."""
    names = {action["id"]: action.get("phrase") or action["id"] for action in case.get("actions") or ()}
    broken = {
        key: number
        for number, found in enumerate(findings, 1)
        if (key := orjson.dumps(found.get("constraint"), option=orjson.OPT_SORT_KEYS)) != b"null"
    }
    edges = []
    for said in case.get("constraints") or ():
        if {"first", "then"} <= said.keys() and said["first"] in names and said["then"] in names:
            plain = {name: value for name, value in said.items() if name not in ("sentence", "span")}
            number = broken.get(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)) or broken.get(
                orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)
            )
            edges.append(Edge(said["first"], said["then"], number is not None, number))
    return graph("What must come before what", names, edges) if edges else None


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
            page=result["file"] if result["version"] is not None else None,
        )


def _words(result: Mapping[str, Any]) -> tuple[tuple[str, bool], ...]:
    sentence = result["sentence"] or ""
    start, end = result["span"] or (0, 0)
    parts = ((sentence[:start], False), (sentence[start:end], True), (sentence[end:], False))
    return tuple((text, broken) for text, broken in parts if text)


def _file(result: Mapping[str, Any]) -> str | None:
    version = result["version"]
    return result["file"] if version is None else f"{result['file']}, version {version}"


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

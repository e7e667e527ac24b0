"""The paper's tables from results and dissections: plain data, which CLI, HTML and tests read alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from synth.agents import AGENTS
from synth.experiments.capability import Curve
from synth.experiments.causes import CAUSES, LAYERS
from synth.experiments.dissect import Dissection, top_topics
from synth.experiments.rates import Rate, fisher_test, sign_test
from synth.experiments.tally import detection, errors_of, tally
from synth.experiments.trial import Result
from synth.formal.constraints import clock
from synth.formal.model import ERROR_TYPES
from synth.observed.instants import START_TIME
from synth.simulated_model import Cause

Subject = tuple[str, str]
"""(agent, model)"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it is printed; every cell is text."""

    name: str
    """Short, for file names and links: `table2`."""
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        rows = [dict(zip(self.headers, row, strict=True)) for row in self.rows]
        return {"name": self.name, "title": self.title, "rows": rows, "note": self.note}


def agents_table() -> Table:
    """Who talks how to model and tools (paper, Table 1)."""
    rows = tuple((a.name, a.loop, a.model, a.tools, a.adjustable) for a in AGENTS)
    headers = ("agent", "who drives", "model by", "tools by", "adjustable")
    return Table("table1", "Table 1: agents under test", headers, rows)


def overview_table(results: Sequence[Result], name: str, title: str) -> Table:
    """Queries, where the time went, and errors found (paper, Table 2)."""
    headers = ("agent", "model", "queries", "synthesis s", "Z3 s", "agent s", "failures", "success", "error")
    rows = tuple(_overview_row(subject, group) for subject, group in by_subject(results).items())
    note = f"Times are sums over all queries; agents ran in parallel. {NOT_TESTED}"
    return Table(name, title, headers, rows, note)


NOT_TESTED = "Error: runs in which the agent's planning was not tested; they count in no rate."


def _overview_row(subject: Subject, group: Sequence[Result]) -> tuple[str, ...]:
    (row,) = tally(group)
    return (
        *subject,
        str(len(group)),
        f"{sum(result.synthesis_seconds for result in group):.2f}",
        f"{sum(result.z3_seconds for result in group):.2f}",
        f"{sum(result.wall_seconds for result in group):.2f}",
        str(sum(row.failed.values())),
        _percent(row.success_rate),
        str(row.errors),
    )


WITHIN = "Failures within the capability limit, each by its primary type."


def error_table(
    failures: Iterable[Result], results: Sequence[Result], name: str, title: str, note: str = WITHIN
) -> Table:
    """Shares of error types among failures (paper, Tables 3 and 6); `results` are those of all runs."""
    headers = ("agent", "model", "failures", *ERROR_TYPES, "error")
    rows = []
    for subject, group in by_subject(failures).items():
        found = Counter(result.error_type for result in group)
        shares = [_percent(found[type] / len(group)) for type in ERROR_TYPES]
        rows.append((*subject, str(len(group)), *shares, str(errors_of(results, *subject))))
    return Table(name, title, headers, tuple(rows), f"{note} {NOT_TESTED}")


PAPER_CAUSES = tuple(cause for cause in CAUSES if cause != "difficulty")
"""The paper knows no failure that chance explains but one that a repeat does not show."""
BY_PAPER = "The paper's rule: the first mutant that passes names the cause, also where chance explains it."
BY_CONTRAST = (
    "A cause is named only where mutants of its layer pass more often than chance explains (Fisher's exact "
    "test); difficulty: size and luck explain the failure."
)


def cause_table(
    dissections: Iterable[Dissection], failures: Iterable[Result], name: str, title: str,
    causes: Sequence[Cause] = PAPER_CAUSES, note: str = BY_PAPER,
) -> Table:  # fmt: skip
    """Shares of root causes (paper, Tables 4 and 7) among the failures that were to be looked into."""
    wanted = Counter((failure.agent, failure.model) for failure in failures)
    groups: dict[Subject, list[Dissection]] = defaultdict(list)
    for dissection in dissections:
        groups[dissection.agent, dissection.model].append(dissection)
    rows = []
    for subject in dict.fromkeys((*groups, *wanted)):
        group = groups[subject]
        found = Counter(dissection.cause for dissection in group)
        shares = (_percent(found[cause] / len(group) if group else None) for cause in causes)
        left = max(0, wanted[subject] - len(group))
        rows.append((*subject, str(len(group)), *shares, str(left)))
    untested = "Error: failures with a run in which the agent's planning was not tested; they have no cause."
    headers = ("agent", "model", "dissected", *causes, "error")
    return Table(name, title, headers, tuple(rows), f"{note} {untested}")


def contrast_table(
    dissections: Iterable[Dissection], failures: Iterable[Result], name: str, title: str
) -> Table:
    """Shares of root causes that chance does not explain."""
    return cause_table(dissections, failures, name, title, CAUSES, BY_CONTRAST)


def layers_table(dissections: Iterable[Dissection], name: str, title: str) -> Table:
    """Each failure that was looked into, with passes and tries of the mutants of each layer."""
    rows = tuple(
        (one.agent, one.model, one.case_id, one.cause, *(passes_and_tries(one, layer) for layer in LAYERS))
        for one in dissections
    )
    return Table(name, title, ("agent", "model", "case", "cause", *LAYERS), rows, "Passes of tries.")


def passes_and_tries(dissection: Dissection, layer: str) -> str:
    """`12 of 20`; `-` where no mutant of the layer was run."""
    rate = dissection.layers.get(layer)
    return "-" if rate is None else f"{rate.hits} of {rate.trials}"


def topics_table(dissections: Sequence[Dissection], name: str, title: str, count: int = 5) -> Table:
    """Topics that agents trip over most (paper, Table 5)."""
    rows = tuple((topic, str(failures)) for topic, failures in top_topics(dissections, count))
    return Table(name, title, ("topic", "failures"), rows)


def curve_table(curves: Iterable[Curve], name: str, title: str) -> Table:
    """Success over the number of actions, as the figures show it (paper, Fig. 8 and 9)."""
    headers = ("agent", "model", "actions", "runs", "success", "95 % interval", "undecided", "error")
    rows = [
        (
            curve.agent,
            curve.model,
            str(point.actions),
            str(point.rate.trials),
            _percent(point.rate.value),
            "{:.0%} to {:.0%}".format(*point.rate.interval),
            str(point.unsettled),
            str(point.errors),
        )
        for curve in curves
        for point in curve.points
    ]
    return Table(name, title, headers, tuple(rows), NOT_TESTED)


def limit_table(curves: Iterable[Curve], name: str, title: str) -> Table:
    """Where planning ability ends."""
    rows = tuple((c.agent, c.model, str(c.limit) if c.measured else "-", str(c.errors)) for c in curves)
    headers = ("agent", "model", "largest plan with at least 20 % success", "error")
    return Table(name, title, headers, rows)


def detection_table(results: Iterable[Result], name: str, title: str) -> Table:
    """How planted faults were judged; only simulated models have rows."""
    headers = ("model", "runs", "planted", "found", "missed", "false alarms", "unsettled", "error")
    rows = tuple(tuple(map(str, astuple(found))) for found in detection(results))
    return Table(name, title, headers, rows, "Found means: judged with the error type that was planted.")


# ---------------------------------------------------------------- two campaigns side by side


@dataclass(frozen=True, slots=True)
class Comparison:
    """One subject before and after a change."""

    agent: str
    model: str
    before: Rate
    after: Rate
    better: int
    """Cases both campaigns have that failed before and pass now."""
    worse: int
    p_value: float
    """That so large a difference is chance: by the cases both have, or by the rates if they share none."""
    paired: bool
    errors: tuple[int, int] = (0, 0)
    """Runs before and after in which the agent was not tested; they are compared with nothing."""

    @property
    def significant(self) -> bool:
        return self.p_value < 0.05


def compare(before: Iterable[Result], after: Iterable[Result]) -> tuple[Comparison, ...]:
    """Did the change help? For every agent and model that both campaigns have."""
    first, second = by_subject(before), by_subject(after)
    return tuple(
        _comparison(subject, first[subject], second[subject]) for subject in first if subject in second
    )


def _comparison(subject: Subject, before: Sequence[Result], after: Sequence[Result]) -> Comparison:
    old, new = _settled(before), _settled(after)
    shared = old.keys() & new.keys()
    better = sum(new[key] and not old[key] for key in shared)
    worse = sum(old[key] and not new[key] for key in shared)
    rates = Rate(sum(old.values()), len(old)), Rate(sum(new.values()), len(new))
    p_value = sign_test(better, worse) if shared else fisher_test(*rates)
    errors = errors_of(before, *subject), errors_of(after, *subject)
    return Comparison(*subject, *rates, better, worse, p_value, bool(shared), errors)


def _settled(results: Iterable[Result]) -> dict[str, bool]:
    """Passed or not, by trial; undecided runs and errors are left out."""
    return {r.key: r.outcome == "pass" for r in results if r.outcome in ("pass", "fail")}


def comparison_table(comparisons: Iterable[Comparison], name: str, title: str) -> Table:
    headers = ("agent", "model", "before", "after", "now pass", "now fail", "error", "p", "verdict")
    rows = tuple(
        (
            c.agent, c.model, _percent(c.before.value), _percent(c.after.value), str(c.better), str(c.worse),
            "{} / {}".format(*c.errors), f"{c.p_value:.3f}", _change(c),
        )
        for c in comparisons
    )  # fmt: skip
    return Table(
        name, title, headers, rows,
        "p: exact McNemar test over shared cases, else Fisher's exact test. Error: before / after.",
    )  # fmt: skip


def comparison_in_words(c: Comparison) -> str:
    """Did the change help, in a sentence."""
    test = f"p = {c.p_value:.3f}"
    if c.paired:
        test += f"; of the cases both ran, {c.better} pass now that failed, {c.worse} fail now that passed"
    rates = f"{_percent(c.before.value)} before, {_percent(c.after.value)} after"
    return f"{c.agent} on {c.model}: {rates}: {_change(c)} ({test})."


def _change(comparison: Comparison) -> str:
    if not comparison.significant:
        return "no significant change"
    gained = (comparison.after.value or 0.0) > (comparison.before.value or 0.0)
    return "better" if gained else "worse"


# ---------------------------------------------------------------- helpers


def by_subject(results: Iterable[Result]) -> dict[Subject, list[Result]]:
    """Results by agent and model, in the order in which those first occur."""
    groups: dict[Subject, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.agent, result.model].append(result)
    return dict(groups)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def training_records(results: Iterable[Result]) -> list[Mapping[str, Any]]:
    """Failures as training material (paper, section 7): query, wrong plan, what it broke, a right plan."""
    records: list[Mapping[str, Any]] = []
    for result in results:
        verdict, case = result.verdict, result.case
        if result.outcome != "fail" or verdict is None or case is None or result.run is None:
            continue
        calls = [{"name": call["name"], "arguments": call["arguments"]} for call in result.run["calls"]]
        records.append(
            {
                "case_id": case["id"],
                "query": case["query"],
                "tools": [{"name": a["tool"], "description": a["description"]} for a in case["actions"]],
                "wrong_plan": calls,
                "error_type": verdict["error_type"],
                "violated": [f["constraint"] for f in verdict["findings"] if f["constraint"]],
                "explanations": [f["explanation"] for f in verdict["findings"] if f["type"] != "note"],
                "repaired_plan": _repaired(verdict["repair"], case),
            }
        )
    return records


def _repaired(repair: Mapping[str, Any] | None, case: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """The repair as calls, None where the verdict has none."""
    if repair is None:
        return None
    tool = {action["id"]: action["tool"] for action in case["actions"]}
    starts = repair.get("starts") or {}
    return [
        {"name": tool[action], "arguments": {START_TIME: clock(starts[action])} if action in starts else {}}
        for action in repair["order"]
    ]

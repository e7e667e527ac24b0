"""The paper's tables from results and dissections: plain data, which CLI, HTML and tests read alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from synth.agents import AGENTS
from synth.agents.usage import total_of
from synth.experiments.capability import Curve
from synth.experiments.causes import CAUSES, LAYERS
from synth.experiments.dissect import Dissection, top_topics
from synth.experiments.guarded import guarded
from synth.experiments.money import Prices
from synth.experiments.rates import Rate, fisher_test, sign_test
from synth.experiments.tally import detection, errors_of, tally
from synth.experiments.trial import Result
from synth.formal.model import ERROR_TYPES
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


def agents_table(tested: Iterable[str] = ()) -> Table:
    """Who talks how to model and tools (paper, Table 1): the agents that were tested, else all of ours."""
    ours = {
        a.name: (a.loop, a.model, a.tools, *map(_yes, (a.template, a.in_depth)), a.adjustable) for a in AGENTS
    }
    headers = (
        "agent", "who drives", "model by", "tools by", "prompt template", "in-depth customization",
        "adjustable",
    )  # fmt: skip
    unknown = ("-",) * (len(headers) - 1)
    rows = tuple((name, *ours.get(name, unknown)) for name in dict.fromkeys(tested) or ours)
    note = "" if all(row[0] in ours for row in rows) else "-: an agent that is none of ours."
    return Table("table1", "Table 1: agents under test", headers, rows, note)


def overview_table(
    results: Sequence[Result], name: str, title: str, prices: Prices | None = None,
    subjects: Iterable[Subject] = (),
) -> Table:  # fmt: skip
    """Queries, errors found, and where time and money went (paper, Table 2).

    Those of `subjects` that no query was made for have a row that says so.
    """
    headers = (
        "agent", "model", "generated", "errors", "errors %", "Z3-Count", "Z3-Time s", "Synthesis-Time s",
        "Agent-Time s", "judging s", "tokens", _currency(prices), "error",
    )  # fmt: skip
    groups = by_subject(results)
    rows = tuple(
        _overview_row(subject, groups[subject], prices) if subject in groups else _no_queries(subject)
        for subject in dict.fromkeys((*subjects, *groups))
    )
    note = (
        "Times are sums over all queries; agents ran in parallel. Z3-Count and Z3-Time are of synthesis with "
        "Z3 as decider, - where another one decided; judging: Z3's time for verdicts. "
        f"{NOT_TESTED}"
    )
    return Table(name, title, headers, rows, note)


NOT_TESTED = "Error: runs in which the agent's planning was not tested; they count in no rate."


def _no_queries(subject: Subject) -> tuple[str, ...]:
    return (*subject, "0", "0", *"-----", "-", "0", "-", "0")


def _overview_row(subject: Subject, group: Sequence[Result], prices: Prices | None) -> tuple[str, ...]:
    (row,) = tally(group, prices)
    made = [(result.case or {}).get("statistics", {}) for result in group]
    by_z3 = [one for one in made if "z3_calls" in one]
    return (
        *subject,
        str(len(group)),
        str(sum(row.failed.values())),
        _percent(None if row.success_rate is None else 1 - row.success_rate),
        str(sum(one["z3_calls"] for one in by_z3)) if by_z3 else "-",
        f"{sum(one['z3_ms'] for one in by_z3) / 1e3:.2f}" if by_z3 else "-",
        f"{sum(result.synthesis_seconds for result in group):.2f}",
        f"{sum(result.wall_seconds for result in group):.2f}",
        f"{sum(result.judging_seconds for result in group):.2f}",
        *_paid(row.tokens, row.cost),
        str(row.errors),
    )


def _paid(tokens: int, cost: float | None) -> tuple[str, str]:
    return str(tokens), "-" if cost is None else f"{cost:.4f}"


def _currency(prices: Prices | None) -> str:
    return "cost" if prices is None else prices.currency


def _yes(it_is: bool) -> str:
    return "yes" if it_is else "no"


WITHIN = "Failures within the capability limit, each by its primary type."


def error_table(
    failures: Iterable[Result], results: Sequence[Result], name: str, title: str, note: str = WITHIN,
    types: Sequence[str] = ERROR_TYPES, prices: Prices | None = None,
) -> Table:  # fmt: skip
    """Shares of error types among failures (paper, Tables 3 and 6); `results` are those of all runs.

    An agent without failures has a row without shares.
    """
    headers = ("agent", "model", "failures", *types, "tokens", _currency(prices), "error")
    failed = by_subject(failures)
    rows = []
    for row in tally(results, prices):
        group = failed.get((row.agent, row.model), [])
        found = Counter(result.error_type for result in group)
        shares = [_percent(found[type] / len(group) if group else None) for type in types]
        paid = _paid(row.tokens, row.cost)
        rows.append((row.agent, row.model, str(len(group)), *shares, *paid, str(row.errors)))
    return Table(name, title, headers, tuple(rows), f"{note} Tokens: of all runs. {NOT_TESTED}")


ORDER_TYPES = tuple(type for type in ERROR_TYPES if type != "parameter_error")
"""Those that the paper's Table 3 has: without times no parameter can be wrong."""


PAPER_CAUSES = tuple(cause for cause in CAUSES if cause != "difficulty")
"""The paper knows no failure that chance explains but one that a repeat does not show."""
BY_PAPER = (
    "The paper's rule: the first mutant that passes names the cause, also where chance explains it. "
    "Probability: a repeat passes; terminal: other words; topic: another topic; structure: other sentences; "
    "constraint: nothing of these."
)
BY_CONTRAST = (
    "A cause is named only where mutants of its layer pass more often than chance explains (Fisher's exact "
    "test); difficulty: size and luck explain the failure."
)


def cause_table(
    dissections: Iterable[Dissection], failures: Iterable[Result], name: str, title: str,
    causes: Sequence[Cause] = PAPER_CAUSES, note: str = BY_PAPER, subjects: Iterable[Subject] = (),
    prices: Prices | None = None,
) -> Table:  # fmt: skip
    """Shares of root causes (paper, Tables 4 and 7) among the failures that were to be looked into.

    Those of `subjects` without failures have a row without shares.
    """
    wanted = Counter((failure.agent, failure.model) for failure in failures)
    groups: dict[Subject, list[Dissection]] = defaultdict(list)
    for dissection in dissections:
        groups[dissection.agent, dissection.model].append(dissection)
    rows = []
    for subject in dict.fromkeys((*subjects, *groups, *wanted)):
        group = groups[subject]
        found = Counter(dissection.cause for dissection in group)
        shares = (_percent(found[cause] / len(group) if group else None) for cause in causes)
        left = max(0, wanted[subject] - len(group))
        usage = total_of(dissection.usage for dissection in group)
        cost = None if prices is None else prices.cost(subject[1], usage)
        rows.append((*subject, str(len(group)), *shares, *_paid(usage.total, cost), str(left)))
    untested = "Error: failures with a run in which the agent's planning was not tested; they have no cause."
    headers = ("agent", "model", "dissected", *causes, "tokens", _currency(prices), "error")
    return Table(name, title, headers, tuple(rows), f"{note} {untested}")


def contrast_table(
    dissections: Iterable[Dissection], failures: Iterable[Result], name: str, title: str,
    subjects: Iterable[Subject] = (), prices: Prices | None = None,
) -> Table:  # fmt: skip
    """Shares of root causes that chance does not explain."""
    return cause_table(
        dissections, failures, name, title, CAUSES, f"{BY_CONTRAST} {SHARED_RUNS}", subjects, prices
    )


SHARED_RUNS = (
    "Runs that the paper's rule made already were not made twice; their tokens count in both tables."
)


def layers_table(dissections: Iterable[Dissection], name: str, title: str) -> Table:
    """Each failure that was looked into, with passes and tries of the mutants of each layer."""
    rows = tuple(
        (one.agent, one.model, one.case_id, one.cause, *(passes_and_tries(one, layer) for layer in LAYERS))
        for one in sorted(dissections, key=lambda one: one.key)
    )
    return Table(name, title, ("agent", "model", "case", "cause", *LAYERS), rows, PASSES)


PASSES = (
    "Of the mutants of each layer (terminal: other words; topic: another topic; structure: other sentences): "
    "how many passed, and how many were tried."
)


def passes_and_tries(dissection: Dissection, layer: str) -> str:
    """`12 of 20`; `-` where no mutant of the layer was run."""
    rate = dissection.layers.get(layer)
    return "-" if rate is None else f"{rate.hits} of {rate.trials}"


def topics_table(
    dissections: Sequence[Dissection], results: Iterable[Result], name: str, title: str, count: int = 5
) -> Table:
    """Topics that the agents of a model trip over most (paper, Table 5), and how many topics had no error."""
    tried: dict[str, set[str]] = defaultdict(set)
    failing: dict[str, set[str]] = defaultdict(set)
    for result in results:
        if result.case is not None and result.outcome in ("pass", "fail"):
            topic = str(result.case["topic"])
            tried[result.model].add(topic)
            if result.outcome == "fail":
                failing[result.model].add(topic)
    rows = []
    for model in dict.fromkeys((*tried, *(one.model for one in dissections))):
        top = top_topics([one for one in dissections if one.model == model], count)
        named = ", ".join(f"{topic} ({failures})" for topic, failures in top) or "-"
        free = len(tried[model] - failing[model])
        rows.append((model, named, str(free), str(len(tried[model]))))
    headers = (
        "model",
        f"top {count} topics (failures that another topic cures)",
        "error-free topics",
        "topics",
    )
    return Table(name, title, headers, tuple(rows), "Error-free: no run of any agent on the model failed.")


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


LIMIT = f"Of the sizes in the table above: where it is the largest, longer plans were not tried. {NOT_TESTED}"


def limit_table(curves: Iterable[Curve], name: str, title: str) -> Table:
    """Where planning ability ends."""
    rows = tuple((c.agent, c.model, str(c.limit) if c.measured else "-", str(c.errors)) for c in curves)
    headers = ("agent", "model", "largest plan with at least 20 % success", "error")
    return Table(name, title, headers, rows, LIMIT)


def detection_table(results: Iterable[Result], name: str, title: str) -> Table:
    """How planted faults were judged; only simulated models have rows."""
    headers = ("model", "runs", "planted", "found", "missed", "false alarms", "unsettled", "error")
    rows = tuple(tuple(map(str, astuple(found))) for found in detection(results))
    return Table(name, title, headers, rows, "Found means: judged with the error type that was planted.")


def guard_table(results: Iterable[Result], name: str, title: str) -> Table:
    """What a guard stopped, and what came of it."""
    headers = (
        "agent", "model", "guard", "runs", "pass rate", "95 %", "violating", "refused",
    )  # fmt: skip
    rows = tuple(
        (
            one.agent, one.model, one.guard, str(one.runs), _percent(one.passed.value),
            _between(one.passed), str(one.violating), str(one.refused),
        )
        for one in guarded(results)
    )  # fmt: skip
    note = (
        "Violating: calls that ran and after which no right answer to the request is left, by the tools' own "
        "log. Refused: calls that did not run."
    )
    return Table(name, title, headers, rows, note)


def _between(rate: Rate) -> str:
    low, high = rate.interval
    return "-" if rate.value is None else f"{100 * low:.0f}-{high:.0%}"


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

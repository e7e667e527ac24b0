"""`pdoctor test`: drive an agent through cases and judge every run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import click
import orjson

from collector.cli.console import (
    Exit,
    clear_errors,
    color_option,
    json_option,
    look_at,
    plain,
    progress,
    table,
    write_json,
)
from collector.cli.driving import (
    POSITIVE,
    Setup,
    budget_of,
    budget_options,
    drawn,
    driving_options,
    resumable,
    several,
)
from collector.cli.spending import Money, spent_in_all
from collector.cli.synth import synth_options
from collector.cli.untested import Errors, goes_on
from synth.errors import BadInput
from synth.formal.model import ERROR_TYPES

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.experiments.campaign import Budget
    from synth.experiments.gate import Gate
    from synth.experiments.money import Prices
    from synth.experiments.tally import Row
    from synth.experiments.trial import Result

SHOWN = 10
RATE = click.FloatRange(0, 1)


@click.command("test")
@click.argument("agent")
@synth_options
@click.option("--cases", default="20", show_default=True, metavar="COUNT|FILE", help="To draw, or to read.")
@driving_options
@click.option("--repeat", type=POSITIVE, default=1, show_default=True, help="Runs per case.")
@click.option(
    "--guard",
    "guards",
    metavar="MODES",
    default=None,
    help="Run each case under a guard of its own constraints: none, observe, warn, feedback or block; "
    "several with commas between, in a table.",
)
@click.option("--min-pass-rate", type=RATE, default=None, help="Default: 1, or none with --baseline.")
@click.option(
    "--baseline",
    metavar="FILE",
    default=None,
    help="Earlier --json output or journal: fail when the same cases show a drop (paired test).",
)
@click.option(
    "--max-drop", type=RATE, default=0.0, show_default=True, help="Of --baseline: a drop that is allowed."
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Of --baseline: how often chance alone may fail.",
)
@click.option("--junit", metavar="FILE", default=None, help="Also write a JUnit XML report.")
@click.option("--journal", metavar="FILE", default=None, help="Keep results here; the same file resumes.")
@budget_options
@color_option
@json_option
def command(
    agent: str, cases: str, repeat: int, guards: str | None, min_pass_rate: float | None,
    baseline: str | None, max_drop: float, alpha: float, junit: str | None, journal: str | None,
    as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Drive AGENT through planning problems and judge every run.

    AGENT is module:callable, exec:COMMAND, a URL, or one of the built-in agents openai-tools, raw-loop,
    react, responses and assistants, or plan-STRATEGY-FORMAT-FEEDBACK (such as plan-multi-step-json-PVE),
    or spec:NAME, a behaviour specification (react, pass, direct+react, a file, ...); several with commas
    between. So may --model be, and simulated-* is every simulated planner but the endlessly slow one.
    Exit code: 0 the pass rate is reached and --baseline shows no drop, 1 otherwise, 3 nothing failed but
    something is undecided, 2 bad input, or more runs than --max-errors in which the agent was not tested.
    """
    with clear_errors():
        under = guards_of(guards, agent)
        earlier = None if baseline is None else results_of(baseline)
        limit = min_pass_rate if min_pass_rate is not None else float(earlier is None)
        setup, budget, money = Setup.take(settings), budget_of(settings), Money.take(settings)
        errors = Errors(setup.max_errors, journal)
        asked = {"cases": cases, "repeat": repeat, **({"guard": guards} if guards else {}), **settings}
        made = drive(
            agent,
            setup,
            drawn(cases, settings),
            errors,
            repeat,
            journal,
            budget,
            money,
            asked,
            earlier,
            under,
        )
        results, seen = made
        gates = beside(earlier, results, max_drop, alpha, baseline)
        report = Report(agent, setup.model_name, results, gates, money.prices, setup.look)
        if junit:
            report.write_junit(Path(junit))
        if as_json:
            write_json(report.to_json())
        else:
            click.echo(f"{report.text()}\n")
            look_at(seen)
        raise SystemExit(errors.exit_code(report.row.errors, report.exit_code(limit)))


def drive(
    agent: str,
    setup: Setup,
    cases: Sequence[tuple[Case, float]],
    errors: Errors,
    repeat: int,
    journal: str | None,
    budget: Budget,
    money: Money,
    asked: Mapping[str, Any],
    earlier: Sequence[Result] | None,
    guards: Sequence[str | None] = (None,),
) -> tuple[list[Result], str]:
    """Every result, in the order of cases and repeats, and where to see them; a journal's are not run again.

    `asked` is what the page of the campaign shows, `earlier` what it is compared with.
    """
    from synth.experiments.campaign import Meter, results_journal, run_campaign
    from synth.experiments.money import Planned
    from synth.experiments.report import campaign_report
    from synth.experiments.trial import Trial

    trials = [
        Trial(name, model, case, repeat=r, synthesis_seconds=took, guard=guard)
        for name in several(agent)
        for model in setup.models
        for case, took in cases
        for r in range(repeat)
        for guard in guards
    ]
    place = {trial.key: index for index, trial in enumerate(trials)}
    campaign = {"agent": agent, "model": setup.model_name, **setup.apart}
    with results_journal(Path(journal) if journal else None, campaign) as kept:
        purse = money.purse(setup.models, (result.paid for result in kept.made))
        left = [trial for trial in trials if trial.key not in kept.done]
        money.agree(Planned.of_cases(trial.model, 1, trial.actions, setup.max_iterations) for trial in left)
        meter = Meter(budget, kept.records, goes_on, purse)
        with (
            setup.harness() as harness,
            progress((), label="testing", length=len(trials)) as bar,
            resumable(journal),
            errors.stopping(),
            setup.posting(harness, "test", agent, **asked) as posting,
        ):
            posting.covers(
                lambda: (result for result in kept.records if result.key in place),
                lambda results: campaign_report(results, agent, earlier or (), money.prices),
            )

            def follow(result: Result) -> None:
                bar.update(1)
                posting.add(result)

            run_campaign(harness.run, trials, kept, meter, follow)
        results = [result for result in kept.records if result.key in place]
    spent_in_all(purse)
    spent = meter.reached
    if not results:
        raise BadInput(f"no run was made: the budget ({spent}) was spent before the first")
    if spent:
        click.echo(
            f"pdoctor: stopped by the budget ({spent}) after {len(results)} of {len(trials)} runs", err=True
        )
    return sorted(results, key=lambda result: place[result.key]), setup.seen(posting)


def guards_of(said: str | None, agent: str) -> tuple[str | None, ...]:
    """The guards under which each case is run, each once; BadInput for what is none."""
    from synth.agents import is_external
    from synth.experiments.guarded import GUARDS

    if said is None:
        return (None,)
    modes = several(said)
    wrong = [mode for mode in modes if mode not in GUARDS]
    if wrong or not modes:
        why = "; in mode ask nobody would answer" if "ask" in wrong else ""
        raise BadInput(
            f"expected {', '.join(GUARDS)}, with commas between, got {said!r}{why}", field="--guard"
        )
    if outside := [one for one in several(agent) if is_external(one)]:
        raise BadInput(f"{outside[0]} runs its tools where no guard of ours is asked", field="--guard")
    return modes


def results_of(file: str) -> list[Result]:
    """The results of an earlier run: the output of `--json`, or a journal."""
    from synth.cases.case import CASES_BYTES
    from synth.experiments.campaign import read_journal
    from synth.experiments.trial import result_from_json
    from synth.files import content_of

    try:
        body = orjson.loads(content_of(file, CASES_BYTES, what="the baseline"))
    except orjson.JSONDecodeError:  # a journal has more lines than one
        return read_journal(Path(file), result_from_json).records
    try:
        said = [{k: v for k, v in result.items() if k not in JUDGED} for result in body["results"]]
        return [result_from_json(result) for result in said]
    except (KeyError, TypeError, AttributeError) as error:
        wanted = "the output of `pdoctor test --json`, or a journal"
        raise BadInput(f"this holds no results; expected {wanted}", file=file) from error


JUDGED = ("outcome", "error_type")
"""What `--json` says of a result beside the result itself."""


def beside(
    earlier: Sequence[Result] | None,
    results: Sequence[Result],
    max_drop: float,
    alpha: float,
    file: str | None,
) -> Sequence[Gate]:
    """The gates of a baseline; none without one."""
    from synth.experiments.gate import gates

    if earlier is None:
        return ()
    found = gates(earlier, results, max_drop, alpha)
    if not found and any(result.outcome in ("pass", "fail") for result in results):
        hint = "run the same agent and model on the same cases (--seed, --cases FILE)"
        raise BadInput(f"the baseline decided none of these cases; {hint}", file=file)
    return found


@dataclass(frozen=True)
class Report:
    """The results of one test run."""

    agent: str
    model: str
    results: Sequence[Result]
    gates: Sequence[Gate] = ()
    """Beside a baseline, by agent and model."""
    prices: Prices | None = None
    look: Callable[[str], str] | None = None
    """Where to see a run, by its id."""

    @property
    def rows(self) -> Sequence[Row]:
        """One per agent and model."""
        from synth.experiments.tally import tally

        return tally(self.results, self.prices)

    @property
    def row(self) -> Row:
        """All runs together."""
        from synth.experiments.tally import row_of

        return row_of(self.agent, self.model, self.results)

    def exit_code(self, limit: float) -> Exit:
        rates = [row.success_rate for row in self.rows]
        too_low = any(rate is not None and rate < limit for rate in rates)
        if too_low or any(gate.failed for gate in self.gates):
            return Exit.FAILED
        return Exit.UNSETTLED if None in rates or self.row.unsettled else Exit.PASSED

    def to_json(self) -> dict[str, Any]:
        from synth.experiments.gate import at_k
        from synth.experiments.guarded import guarded
        from synth.experiments.tally import detection

        row = self.row
        costs = [one.cost for one in self.rows]
        return {
            "agent": self.agent,
            "model": self.model,
            "runs": row.runs,
            "passed": row.passed,
            "failed": sum(row.failed.values()),
            "errors": row.errors,
            "unsettled": row.unsettled,
            "pass_rate": row.success_rate,
            "error_types": dict(row.failed),
            "rows": [one.to_json() for one in self.rows],
            "tokens": sum(one.tokens for one in self.rows),
            "cost": None if None in costs else sum(filter(None, costs)),
            "at_k": [one.to_json() for one in at_k(self.results)],
            "baseline": [gate.to_json() for gate in self.gates],
            "guard": [one.to_json() for one in guarded(self.results)],
            "detection": [found.to_json() for found in detection(self.results)],
            "results": [
                {"outcome": result.outcome, "error_type": result.error_type, **result.to_json()}
                for result in self.results
            ],
        }

    def text(self) -> str:
        from synth.experiments.tally import untested

        headers = ["agent", "model", "runs", "pass", "fail", "error", "unsettled", "rate", "types"]
        overview = tabled(headers, [counts(row) for row in self.rows])
        said = "\n".join(plain(line) for line in untested(self.results))
        beside = "\n".join(gate.text for gate in self.gates)
        shown = [
            overview,
            "\n".join(self.guarded()),
            "\n".join(self.paid()),
            said,
            "\n".join(self.repeated()),
            beside,
        ]
        return "\n\n".join([*filter(None, shown), *self.detected(), *self.failures()])

    def guarded(self) -> Iterator[str]:
        """What guards stopped, and what came of it."""
        from synth.experiments.report import GUARD_TITLE
        from synth.experiments.tables import guard_table

        found = guard_table(self.results, "guard", GUARD_TITLE)
        if found.rows:
            yield f"{found.title}\n{tabled(found.headers, found.rows, found.headers)}\n{found.note}"

    def paid(self) -> Iterator[str]:
        """Tokens and what they cost, where they cost something."""
        currency = "USD" if self.prices is None else self.prices.currency
        if any(row.cost != 0 and row.tokens for row in self.rows):
            headers = ["agent", "model", "tokens", "a run", currency]
            yield tabled(headers, [[row.agent, row.model, *spent(row)] for row in self.rows])

    def repeated(self) -> Iterator[str]:
        """How the agent does in several runs of a case."""
        from synth.experiments.gate import at_k

        rows = [
            [one.agent, one.model, one.k, one.cases, *map(in_percent, (one.every, one.some), one.intervals)]
            for one in at_k(self.results)
        ]
        if rows:
            yield tabled(["agent", "model", "k", "cases", "pass^k (95 %)", "pass@k (95 %)"], rows)

    def detected(self) -> Iterator[str]:
        """How the faults that the simulated model planted were judged."""
        from synth.experiments.tables import detection_table

        found = detection_table(self.results, "detection", "Planted faults, and what was found")
        if found.rows:
            yield f"{found.title}\n{tabled(found.headers, found.rows)}"

    def failures(self) -> Iterator[str]:
        """Of what is no pass; what kept an agent from being tested is told once for all its runs."""
        failed = [result for result in self.results if result.outcome not in ("pass", "error")]
        for result in failed[:SHOWN]:
            seen = [f"  run: {self.look(result.run['id'])}"] if self.look and result.run else []
            yield "\n".join([failure_text(result), *seen])
        if len(failed) > SHOWN:
            yield f"... and {len(failed) - SHOWN} more; --json lists them all."

    def write_junit(self, path: Path) -> None:
        """One test case per run: undecided is skipped, untested an error, each with its reason."""
        row = self.row
        suite = ElementTree.Element(
            "testsuite", name=f"pdoctor test {self.agent}", tests=str(row.runs),
            failures=str(sum(row.failed.values())), errors=str(row.errors), skipped=str(row.unsettled),
        )  # fmt: skip
        for result in self.results:
            suite.append(junit_case(result))
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def in_percent(value: float, interval: tuple[float, float]) -> str:
    return f"{value:.1%} ({100 * interval[0]:.0f}-{interval[1]:.0%})"


def spent(row: Row) -> list[object]:
    """Tokens, of all runs and of one, and their price."""
    return [
        row.tokens,
        row.tokens // row.runs,
        "-" if row.cost is None else f"{row.cost:.4f}".rstrip("0").rstrip("."),
    ]


def tabled(
    headers: Sequence[str], rows: Iterable[Sequence[object]], whole: Sequence[str] = ("agent", "model")
) -> str:
    """A table of agents and models for this terminal; in a pipe names are whole."""
    return table(headers, rows, whole=() if sys.stdout.isatty() else whole)


def counts(row: Row) -> list[object]:
    rate = "-" if row.success_rate is None else f"{row.success_rate:.1%}"
    types = ", ".join(f"{row.failed[type]} {type}" for type in ERROR_TYPES if row.failed.get(type))
    settled = [row.runs, row.passed, sum(row.failed.values()), row.errors, row.unsettled]
    return [row.agent, row.model, *settled, rate, types]


def junit_case(result: Result) -> ElementTree.Element:
    from synth.experiments.tally import in_words

    name = result.key.partition("|")[2]
    case = ElementTree.Element(
        "testcase", classname=result.agent, name=name, time=f"{result.wall_seconds:.3f}"
    )
    if result.outcome != "pass":
        kind = {"fail": "failure", "error": "error"}.get(result.outcome, "skipped")
        said = in_words(result.trouble) if result.trouble else result.error_type or result.outcome
        problem = ElementTree.SubElement(case, kind, message=said)
        problem.text = failure_text(result)
    if broken := policy_lines(result):
        ElementTree.SubElement(case, "system-out").text = "\n".join(broken)
    return case


def failure_text(result: Result) -> str:
    """Which case failed, why, and the sentences that say so."""
    who = f"{result.agent} on {result.model}"
    head = f"{who}, case {result.case_id}: {result.error_type or result.outcome}"
    said = [*(reasons(result) or ["no verdict came"]), *policy_lines(result)]
    return "\n".join([head, *(f"  - {line}" for line in said)])


def policy_lines(result: Result) -> list[str]:
    """The policies of the collector that the run broke."""
    from synth.policies.told import told, violated

    return ["\n    ".join(told(broken)) for broken in violated((result.run or {}).get("policies", ()))]


def reasons(result: Result) -> list[str]:
    """What is wrong; for a run without a verdict, what stood in its way."""
    from synth.experiments.tally import in_words

    if result.trouble is not None:
        return [in_words(result.trouble), "planning was not tested", *filter(None, [result.error])]
    gaps = list((result.run or {}).get("problems", ()))
    found = [f["explanation"] for f in (result.verdict or {}).get("findings", ()) if f["type"] != "note"]
    said = gaps if result.outcome == "undecided" and gaps else [*found, *gaps]
    return [*said, result.error] if result.error else said

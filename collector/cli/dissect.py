"""`pdoctor dissect`: why failing cases fail, told from chance or by the paper's rule (Algorithm 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, color_option, json_option, look_at, plain, table, write_json
from collector.cli.driving import (
    POSITIVE,
    Setup,
    Ticker,
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
from synth.counted import counted

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.experiments.campaign import Budget
    from synth.experiments.dissect import Dissection, Failure, Method
    from synth.experiments.money import Planned, Prices
    from synth.experiments.report import Report
    from synth.experiments.trial import Result, Trial

CAUSES = {
    "probability": "fails at random: a repeat of the same case passed",
    "terminal": "trips on particular words: other words passed",
    "topic": "trips on the topic: another topic passed",
    "structure": "trips on the sentence structure: another one passed",
    "constraint": "cannot keep these constraints: no rewording helped",
    "difficulty": "size and luck: no layer's mutants pass more often than another's",
}
SHOWN = 20
LOOKS = "20,40"


def looks(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """`20,40` as rising numbers."""
    if value is None:
        return None
    try:
        numbers = tuple(int(number) for number in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r}: expected numbers with commas between, as in {LOOKS}") from None
    if numbers[0] < 1 or list(numbers) != sorted(set(numbers)):
        raise click.BadParameter(f"{value!r}: expected numbers from 1 upward that rise, as in {LOOKS}")
    return numbers


@click.command("dissect")
@click.argument("agent")
@synth_options
@click.option("--cases", default="20", show_default=True, metavar="COUNT|FILE", help="To draw, or to read.")
@click.option("--repeats", type=POSITIVE, default=3, show_default=True, help="Runs of the same case.")
@click.option(
    "--mutants",
    callback=looks,
    default=None,
    metavar="N[,N]",
    help=f"Mutants of each layer until each look [{LOOKS}; 10 with --as-paper].",
)
@click.option("--as-paper", is_flag=True, help="The first mutant that passes names the cause.")
@click.option(
    "--journal",
    metavar="FILE",
    default=None,
    help="Keep dissections here, and all runs in FILE.runs and FILE.mutants; the same file resumes.",
)
@driving_options
@budget_options
@color_option
@json_option
def command(
    agent: str, cases: str, repeats: int, mutants: tuple[int, ...] | None, as_paper: bool,
    journal: str | None, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Run the cases, and find the root cause of every failure by repeats and mutants of the case.

    AGENT and --model may be several with commas between. A cause is named where mutants of one layer pass
    more often than those of another by more than chance, at most 123 runs a failure; else it is difficulty.
    With --as-paper the first mutant that passes names it, whatever chance would do.

    Of a budget, --max-cases counts cases and failures looked into; one that is begun is finished. Exit
    code 2: in more runs than --max-errors the agent was not tested, those that look into a failure included.
    """
    with clear_errors():
        setup, budget, money = Setup.take(settings), budget_of(settings), Money.take(settings)
        errors = Errors(setup.max_errors, journal)
        method = method_of(repeats, mutants, as_paper)
        asked = {"cases": cases, **settings}
        found = causes(agent, setup, drawn(cases, settings), errors, budget, money, journal, method, asked)
        if as_json:
            for dissection in found.dissections:
                write_json(dissection.to_json())
            for lost in found.untested:
                write_json({**lost.to_json(), "outcome": "error"})
        else:
            click.echo(f"{text(found)}\n")
            look_at(found.look)
        raise SystemExit(errors.exit_code(len(found.untested)))


@dataclass(frozen=True)
class Found:
    """What came of looking for causes."""

    dissections: Sequence[Dissection]
    untested: Sequence[Result]
    """Of the cases, and of the failures that could not be looked into for it, a run each."""
    failed: Sequence[Result] = ()
    runs: int = 0
    """Of the cases, the failures' own repeats and mutants left out."""
    passed: int = 0
    """Of them."""
    look: str = ""
    """Where to see it."""


def text(found: Found) -> str:
    """What kept the agent from being tested, then the failures by cause."""
    from synth.experiments.tally import untested

    made = f"{counted(found.runs, 'case')}, {found.passed} passed"
    if not found.dissections and not found.untested and not found.failed:
        return f"{made}: no failure to look into"
    counts: Counter[str] = Counter(dissection.cause for dissection in found.dissections)
    rows: list[Sequence[object]] = [[cause, counts[cause], CAUSES[cause]] for cause in CAUSES]
    rows.append(["error", len(found.untested), "no cause is known: planning was not tested"])
    said = "\n".join(plain(line) for line in untested(found.untested))
    overview = table(["cause", "failures", "what it means"], rows)
    return "\n\n".join(
        [made, *filter(None, [said]), *by_failure(found.dissections), *by_subject(found), overview]
    )


def by_failure(dissections: Sequence[Dissection]) -> Iterator[str]:
    """Passes and tries of each layer."""
    from synth.experiments.tables import layers_table

    if dissections:
        shown = layers_table(dissections[:SHOWN], "layers", "Passes of mutants")
        yield table(shown.headers, shown.rows)
    if len(dissections) > SHOWN:
        yield f"... and {len(dissections) - SHOWN} more; --json lists them all."


def by_subject(found: Found) -> Iterator[str]:
    """Shares of causes by agent and model, where there are several."""
    from synth.experiments.tables import contrast_table

    shown = contrast_table(found.dissections, found.failed, "causes", "Causes")
    if len(shown.rows) > 1:
        yield table(shown.headers, shown.rows)


def method_of(repeats: int, mutants: tuple[int, ...] | None, as_paper: bool) -> Method:
    from synth.experiments.dissect import AS_PAPER, CONTRAST, Method

    usual = AS_PAPER if as_paper else CONTRAST
    return Method(repeats, mutants or usual.looks, as_paper)


def most_runs(trials: Sequence[Trial], method: Method, iterations: int) -> Iterator[Planned]:
    """If every case fails, and none of its mutants decides early."""
    from synth.experiments.causes import BASE_CASES
    from synth.experiments.money import Planned

    for trial in trials:
        yield Planned.of_cases(trial.model, 1 + method.most_runs, trial.actions, iterations)
    for _, model, actions in {(trial.agent, trial.model, trial.actions) for trial in trials}:
        yield Planned.of_cases(model, BASE_CASES, actions, iterations)


def causes(
    agent: str,
    setup: Setup,
    cases: Sequence[tuple[Case, float]],
    errors: Errors,
    budget: Budget,
    money: Money,
    journal: str | None,
    method: Method,
    asked: Mapping[str, Any],
) -> Found:
    """Run the cases, then look into every failure; `asked` is what the page of the campaign shows."""
    from synth.experiments.base_rates import BaseRates
    from synth.experiments.campaign import Meter, results_journal, run_campaign
    from synth.experiments.dissect import (
        dissect,
        dissections_journal,
        failures_of,
        only_outcome,
        passes_with,
    )
    from synth.experiments.trial import Trial

    campaign = {"agent": agent, "model": setup.model_name, **setup.apart}
    trials = [
        Trial(name, model, case, synthesis_seconds=took)
        for name in several(agent)
        for model in setup.models
        for case, took in cases
    ]
    ticker = Ticker()
    failures: list[Failure] = []
    vain: list[Result] = []
    kept_in = None if journal is None else Path(f"{journal}.runs")
    mutants_in = None if journal is None else Path(f"{journal}.mutants")
    with (
        results_journal(kept_in, campaign) as runs,
        results_journal(mutants_in, campaign, remembered=only_outcome) as mutants,
        dissections_journal(Path(journal) if journal else None, {**campaign, **asdict(method)}) as kept,
    ):
        purse = money.purse(setup.models, (result.paid for result in (*runs.made, *mutants.made)))
        money.agree(most_runs(trials, method, setup.max_iterations))
        meter = Meter(budget, runs.records, goes_on, purse)
        wanted = {trial.key for trial in trials}

        def follow(result: Result) -> None:
            ticker(result)
            posting.add(result)

        with (
            setup.harness() as harness,
            resumable(journal),
            errors.stopping(),
            setup.posting(harness, "dissect", agent, **asked, **asdict(method)) as posting,
        ):
            posting.covers(
                lambda: (result for result in runs.records if result.key in wanted),
                lambda results: causes_report(results, kept.records, money.prices),
            )
            run_campaign(harness.run, trials, runs, meter, follow)
            made = [result for result in runs.records if result.key in wanted]
            failures += failures_of(made)
            passes = passes_with(harness, ticker, mutants, meter)
            dissect(
                failures, passes, kept, method, BaseRates(passes, made), parallel=setup.parallel,
                meter=meter, on_error=lambda failure, result: vain.append(result),
            )  # fmt: skip
        made = [result for result in runs.records if result.key in wanted]
        found, lost = kept.records, [run for run in made if run.is_void]
    ticker.end()
    spent_in_all(purse)
    if meter.reached:
        left = len({failure.key for failure in failures} - {dissection.key for dissection in found})
        click.echo(
            f"pdoctor: stopped by the budget ({meter.reached}); {left} failures not looked into", err=True
        )
    outcomes = Counter(result.outcome for result in made)
    failed = [result for result in made if result.outcome == "fail"]
    return Found(found, [*lost, *vain], failed, len(made), outcomes["pass"], setup.seen(posting))


def causes_report(results: list[Result], found: Sequence[Dissection], prices: Prices) -> Report:
    """What the campaign's page shows: the causes before everything else."""
    from synth.experiments.report import campaign_report
    from synth.experiments.tables import contrast_table, layers_table

    failed = [result for result in results if result.outcome == "fail"]
    shown = (
        contrast_table(found, failed, "causes", "Causes", prices=prices),
        layers_table(found, "layers", "Passes of mutants by layer"),
    )
    report = campaign_report(results, "Causes of failures", prices=prices)
    return replace(report, tables=(*(shown if found else ()), *report.tables))

"""`pdoctor dissect`: why failing cases fail (paper, Algorithm 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, json_option, plain, table, write_json
from collector.cli.driving import (
    POSITIVE,
    Setup,
    Ticker,
    budget_of,
    budget_options,
    drawn,
    driving_options,
    resumable,
)
from collector.cli.synth import synth_options
from collector.cli.untested import Errors, goes_on

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.experiments.campaign import Budget
    from synth.experiments.dissect import Dissection, Failure
    from synth.experiments.trial import Result

CAUSES = {
    "probability": "fails at random: a repeat of the same case passed",
    "terminal": "trips on particular words: other words passed",
    "topic": "trips on the topic: another topic passed",
    "structure": "trips on the sentence structure: another one passed",
    "constraint": "cannot keep these constraints: no rewording helped",
}


@click.command("dissect")
@click.argument("agent")
@synth_options
@click.option("--cases", default="20", show_default=True, metavar="COUNT|FILE", help="To draw, or to read.")
@click.option("--repeats", type=POSITIVE, default=3, show_default=True, help="Runs of the same case.")
@click.option("--mutants", type=POSITIVE, default=10, show_default=True, help="Per layer of the case.")
@click.option(
    "--journal",
    metavar="FILE",
    default=None,
    help="Keep dissections here, and the runs that failed in FILE.runs; the same file resumes.",
)
@driving_options
@budget_options
@json_option
def command(
    agent: str, cases: str, repeats: int, mutants: int, journal: str | None, as_json: bool, **settings: Any
) -> None:  # fmt: skip
    """Run the cases, and find the root cause of every failure by repeats and mutants of the case.

    Of a budget, --max-cases counts cases and failures looked into; one that is begun is finished. Exit
    code 2: in more runs than --max-errors the agent was not tested, those that look into a failure included.
    """
    with clear_errors():
        setup, budget = Setup.take(settings), budget_of(settings)
        errors = Errors(setup.max_errors, journal)
        found = causes(agent, setup, drawn(cases, settings), errors, budget, journal, repeats, mutants)
        if as_json:
            for dissection in found.dissections:
                write_json(dissection.to_json())
            for lost in found.untested:
                write_json({**lost.to_json(), "outcome": "error"})
        else:
            click.echo(text(found))
        raise SystemExit(errors.exit_code(len(found.untested)))


@dataclass(frozen=True)
class Found:
    """What came of looking for causes."""

    dissections: Sequence[Dissection]
    untested: Sequence[Result]
    """Of the cases, and of the failures that could not be looked into for it, a run each."""


def text(found: Found) -> str:
    """What kept the agent from being tested, then the failures by cause."""
    from synth.experiments.tally import untested

    counts: Counter[str] = Counter(dissection.cause for dissection in found.dissections)
    rows: list[Sequence[object]] = [[cause, counts[cause], CAUSES[cause]] for cause in CAUSES]
    rows.append(["error", len(found.untested), "no cause is known: planning was not tested"])
    said = "\n".join(plain(line) for line in untested(found.untested))
    return "\n\n".join([*filter(None, [said]), table(["cause", "failures", "what it means"], rows)])


def causes(
    agent: str,
    setup: Setup,
    cases: Sequence[tuple[Case, float]],
    errors: Errors,
    budget: Budget,
    journal: str | None,
    repeats: int,
    mutants: int,
) -> Found:
    """Run the cases, then look into every failure."""
    from synth.experiments.campaign import Meter, results_journal, run_campaign
    from synth.experiments.dissect import dissect, dissections_journal, failures_of, passes_with
    from synth.experiments.trial import Trial

    campaign = {"agent": agent, "model": setup.model_name}
    trials = [Trial(agent, setup.model_name, case, synthesis_seconds=took) for case, took in cases]
    ticker = Ticker()
    failures: list[Failure] = []
    vain: list[Result] = []
    with (
        setup.harness() as harness,
        results_journal(Path(f"{journal}.runs") if journal else None, campaign) as runs,
        dissections_journal(Path(journal) if journal else None, campaign) as kept,
        resumable(journal),
    ):
        meter = Meter(budget, runs.records, goes_on)

        def on_result(result: Result) -> None:
            meter.count(result)
            ticker(result)

        wanted = {trial.key for trial in trials}
        with errors.stopping():
            run_campaign(harness.run, trials, runs, meter, ticker)
            failures += failures_of(result for result in runs.records if result.key in wanted)
            dissect(
                failures, passes_with(harness, on_result), kept, parallel=setup.parallel, repeats=repeats,
                count=mutants, meter=meter, on_error=lambda failure, result: vain.append(result),
            )  # fmt: skip
        found, lost = kept.records, [run for run in runs.records if run.is_void and run.key in wanted]
    ticker.end()
    if meter.reached:
        left = len({failure.key for failure in failures} - {dissection.key for dissection in found})
        click.echo(
            f"pdoctor: stopped by the budget ({meter.reached}); {left} failures not looked into", err=True
        )
    return Found(found, [*lost, *vain])

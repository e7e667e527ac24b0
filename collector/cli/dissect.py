"""`pdoctor dissect`: why failing cases fail (paper, Algorithm 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, json_option, table, write_json
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

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.experiments.campaign import Budget
    from synth.experiments.dissect import Dissection
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

    Of a budget, --max-cases counts cases and failures looked into; one that is begun is finished.
    """
    with clear_errors():
        setup, budget = Setup.take(settings), budget_of(settings)
        found = causes(agent, setup, drawn(cases, settings), budget, journal, repeats, mutants)
        if as_json:
            for dissection in found:
                write_json(dissection.to_json())
            return
        counts: Counter[str] = Counter(dissection.cause for dissection in found)
        click.echo(table(["cause", "failures", "what it means"], [[c, counts[c], CAUSES[c]] for c in CAUSES]))


def causes(
    agent: str,
    setup: Setup,
    cases: Sequence[tuple[Case, float]],
    budget: Budget,
    journal: str | None,
    repeats: int,
    mutants: int,
) -> list[Dissection]:
    """Run the cases, then look into every failure."""
    from synth.experiments.campaign import Meter, results_journal, run_campaign
    from synth.experiments.dissect import dissect, dissections_journal, failures_of, passes_with
    from synth.experiments.trial import Trial

    campaign = {"agent": agent, "model": setup.model_name}
    trials = [Trial(agent, setup.model_name, case, synthesis_seconds=took) for case, took in cases]
    ticker = Ticker()
    with (
        setup.harness() as harness,
        results_journal(Path(f"{journal}.runs") if journal else None, campaign) as runs,
        dissections_journal(Path(journal) if journal else None, campaign) as kept,
        resumable(journal),
    ):
        meter = Meter(budget, runs.records)
        run_campaign(harness.run, trials, runs, meter, ticker)

        def on_result(result: Result) -> None:
            meter.count(result)
            ticker(result)

        wanted = {trial.key for trial in trials}
        failures = failures_of(result for result in runs.records if result.key in wanted)
        found = dissect(
            failures, passes_with(harness, on_result), kept,
            parallel=setup.parallel, repeats=repeats, count=mutants, meter=meter,
        )  # fmt: skip
    ticker.end()
    if meter.reached:
        left = len({failure.key for failure in failures} - {dissection.key for dissection in found})
        click.echo(
            f"pdoctor: stopped by the budget ({meter.reached}); {left} failures not looked into", err=True
        )
    return found

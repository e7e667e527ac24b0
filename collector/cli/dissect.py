"""`pdoctor dissect`: why failing cases fail, told from chance or by the paper's rule (Algorithm 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
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
    several,
)
from collector.cli.synth import synth_options
from collector.cli.untested import Errors, goes_on

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.experiments.campaign import Budget
    from synth.experiments.dissect import Dissection, Failure, Method
    from synth.experiments.trial import Result

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
    help="Keep dissections here, and the runs that failed in FILE.runs; the same file resumes.",
)
@driving_options
@budget_options
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
        setup, budget = Setup.take(settings), budget_of(settings)
        errors = Errors(setup.max_errors, journal)
        method = method_of(repeats, mutants, as_paper)
        found = causes(agent, setup, drawn(cases, settings), errors, budget, journal, method)
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
    failed: Sequence[Result] = ()


def text(found: Found) -> str:
    """What kept the agent from being tested, then the failures by cause."""
    from synth.experiments.tally import untested

    counts: Counter[str] = Counter(dissection.cause for dissection in found.dissections)
    rows: list[Sequence[object]] = [[cause, counts[cause], CAUSES[cause]] for cause in CAUSES]
    rows.append(["error", len(found.untested), "no cause is known: planning was not tested"])
    said = "\n".join(plain(line) for line in untested(found.untested))
    overview = table(["cause", "failures", "what it means"], rows)
    return "\n\n".join([*filter(None, [said]), *by_failure(found.dissections), *by_subject(found), overview])


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


def causes(
    agent: str,
    setup: Setup,
    cases: Sequence[tuple[Case, float]],
    errors: Errors,
    budget: Budget,
    journal: str | None,
    method: Method,
) -> Found:
    """Run the cases, then look into every failure."""
    from synth.experiments.base_rates import BaseRates
    from synth.experiments.campaign import Meter, results_journal, run_campaign
    from synth.experiments.dissect import dissect, dissections_journal, failures_of, passes_with
    from synth.experiments.trial import Trial

    campaign = {"agent": agent, "model": setup.model_name}
    trials = [
        Trial(name, model, case, synthesis_seconds=took)
        for name in several(agent)
        for model in setup.models
        for case, took in cases
    ]
    ticker = Ticker()
    failures: list[Failure] = []
    vain: list[Result] = []
    with (
        setup.harness() as harness,
        results_journal(Path(f"{journal}.runs") if journal else None, campaign) as runs,
        dissections_journal(Path(journal) if journal else None, {**campaign, **asdict(method)}) as kept,
        resumable(journal),
    ):
        meter = Meter(budget, runs.records, goes_on)

        def on_result(result: Result) -> None:
            meter.count(result)
            ticker(result)

        wanted = {trial.key for trial in trials}
        with errors.stopping():
            run_campaign(harness.run, trials, runs, meter, ticker)
            made = [result for result in runs.records if result.key in wanted]
            failures += failures_of(made)
            passes = passes_with(harness, on_result)
            dissect(
                failures, passes, kept, method, BaseRates(passes, made), parallel=setup.parallel,
                meter=meter, on_error=lambda failure, result: vain.append(result),
            )  # fmt: skip
        made = [result for result in runs.records if result.key in wanted]
        found, lost = kept.records, [run for run in made if run.is_void]
    ticker.end()
    if meter.reached:
        left = len({failure.key for failure in failures} - {dissection.key for dissection in found})
        click.echo(
            f"pdoctor: stopped by the budget ({meter.reached}); {left} failures not looked into", err=True
        )
    return Found(found, [*lost, *vain], [result for result in made if result.outcome == "fail"])

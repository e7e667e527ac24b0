"""`pdoctor capability`: at which plan length an agent starts to fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, json_option, look_at, plain, table, write_json
from collector.cli.driving import (
    POSITIVE,
    Setup,
    Ticker,
    budget_of,
    budget_options,
    driving_options,
    resumable,
)
from collector.cli.spending import Money, spent_in_all
from collector.cli.untested import Errors, goes_on

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.experiments.capability import Curve
    from synth.experiments.money import Prices
    from synth.experiments.report import Report
    from synth.experiments.trial import Result


@click.command("capability")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@click.option("--mode", type=click.Choice(["order", "timed"]), default="order", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--per-pair", type=POSITIVE, default=20, show_default=True, help="Cases per pair of actions.")
@click.option("--cap", type=POSITIVE, default=300, show_default=True, help="Cases per number of actions.")
@click.option("--largest", type=click.IntRange(2), default=20, show_default=True, help="Most actions.")
@click.option("--early-stop", is_flag=True, help="Leave a size once its interval lies on one side of 20 %.")
@click.option("--plot", metavar="FILE.png", default=None, help="Draw the curves of all agents.")
@click.option("--journal", metavar="FILE", default=None, help="Keep results here; the same file resumes.")
@driving_options
@budget_options
@json_option
def command(
    agents: tuple[str, ...], mode: str, seed: int, per_pair: int, cap: int, largest: int, early_stop: bool,
    plot: str | None, journal: str | None, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Measure success over the number of actions, up to the size where it falls below 20 %.

    20*C(n,2) cases per size, at most 300, as in the paper (sections 6.2 and 6.3). Exit code 2: more runs
    than --max-errors did not test the agent.
    """
    with clear_errors():
        from synth.cases.generate import Options, generate
        from synth.experiments.campaign import Meter, results_journal
        from synth.experiments.capability import FIRST, Sampling, curve, measure
        from synth.experiments.money import Planned
        from synth.experiments.tally import untested

        def cases(actions: int, count: int) -> Iterable[Case]:
            return generate(count, seed, Options(actions=(actions, actions), mode=mode))  # type: ignore[arg-type]

        setup, budget, money = Setup.take(settings), budget_of(settings), Money.take(settings)
        ticker, errors = Ticker(), Errors(setup.max_errors, journal)
        sampling = Sampling(per_pair, cap, early_stop=early_stop)
        campaign = {"mode": mode, "seed": seed, "model": setup.model_name, **setup.apart}
        subjects = [(agent, model) for agent in agents for model in setup.models]
        with results_journal(Path(journal) if journal else None, campaign) as kept:
            purse = money.purse(setup.models, (result.paid for result in kept.made))
            money.agree(
                Planned.of_cases(model, sampling.count(size), size, setup.max_iterations)
                for _, model in subjects
                for size in range(FIRST, largest + 1)
            )
            meter = Meter(budget, kept.records, goes_on, purse)

            def made() -> list[Result]:
                return [result for result in kept.records if (result.agent, result.model) in subjects]

            def follow(result: Result) -> None:
                ticker(result)
                posting.add(result)

            asked = {"mode": mode, "per_pair": per_pair, "cap": cap, "largest": largest}
            with (
                setup.harness() as harness,
                resumable(journal),
                errors.stopping(),
                setup.posting(harness, "capability", ", ".join(agents), seed, **asked) as posting,
            ):
                posting.covers(made, lambda results: curves_report(results, subjects, money.prices))
                for agent, model in subjects:
                    measure(harness.run, agent, model, cases, kept, sampling, meter, largest, follow)
            results = made()
        curves = [curve(agent, model, results) for agent, model in subjects]
        ticker.end()
        spent_in_all(purse)
        if meter.reached:
            click.echo(
                f"pdoctor: stopped by the budget ({meter.reached}); curves may be incomplete", err=True
            )
        if plot:
            draw(curves, Path(plot), mode)
        if as_json:
            write_json({"curves": [curve.to_json() for curve in curves]})
        else:
            said = "\n".join(plain(line) for line in untested(results))
            click.echo("\n\n".join([*filter(None, [said]), *map(text, curves)]))
            click.echo()
            look_at(setup.seen(posting))
        raise SystemExit(errors.exit_code(sum(one.errors for one in curves)))


def curves_report(results: list[Result], subjects: Sequence[tuple[str, str]], prices: Prices) -> Report:
    """What the campaign's page shows: the curves and the limits before everything else."""
    from synth.experiments.capability import curve
    from synth.experiments.report import campaign_report
    from synth.experiments.tables import curve_table, limit_table

    curves = [curve(agent, model, results) for agent, model in subjects]
    shown = (
        limit_table(curves, "limit", "Capability limit"),
        curve_table(curves, "curve", "Success by number of actions"),
    )
    report = campaign_report(results, "Capability", prices=prices)
    return replace(report, tables=(*shown, *report.tables))


def draw(curves: list[Curve], path: Path, mode: str) -> None:
    from synth.experiments.plots import capability_figure, png

    path.write_bytes(png(capability_figure(curves, f"Success by number of actions ({mode})")))


def text(curve: Curve) -> str:
    """The curve as a table, and the limit it shows."""
    shown = [point.to_json() for point in curve.points]
    rows = [
        [
            p["actions"], p["runs"], percent(p["success_rate"]),
            f"{percent(p['low'])} to {percent(p['high'])}", p["errors"],
        ]
        for p in shown
    ]  # fmt: skip
    reach = f"plans up to {curve.limit} actions succeed at least 1 time in 5"
    head = f"{curve.agent} on {curve.model}: {reach if curve.measured else 'nothing was measured'}"
    return "\n".join([head, table(["actions", "runs", "success", "95 % interval", "error"], rows)])


def percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"

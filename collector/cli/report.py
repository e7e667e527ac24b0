"""`pdoctor report`: the paper's tables and figures, or a report over finished campaigns, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, fail, json_option, look_at, write_json
from collector.cli.driving import POSITIVE, Setup, Ticker, complain, driving_options, resumable
from collector.cli.spending import Money, money_options, spent_in_all
from collector.cli.synth import number_range
from collector.cli.untested import Errors, goes_on

if TYPE_CHECKING:
    from synth.experiments.paper import Forecast, Part, Reproduction, Sizes
    from synth.experiments.report import Report
    from synth.experiments.trial import Result


TESTED_AGAIN = "the command that wrote the journal makes these runs again"


@click.command("report")
@click.argument("journals", nargs=-1, metavar="[JOURNAL...]")
@click.option("--before", metavar="JOURNAL", default=None, help="Compare with an earlier campaign.")
@click.option("--quick", "sizes", flag_value="quick", default=None, help="Experiments in small sizes.")
@click.option("--paper", "sizes", flag_value="paper", help="Experiments in the paper's sizes (hours).")
@click.option(
    "--agent", "agents", multiple=True, help="Agents of the experiments; default: the built-in ones."
)
@click.option("--folder", default="pdoctor-report", show_default=True, help="Journals of the experiments.")
@click.option(
    "--minutes-per-agent",
    type=click.FloatRange(0, min_open=True),
    default=None,
    help="Experiments: how long errors are looked for (Table 2) [60 with --paper].",
)
@click.option(
    "--cap", type=POSITIVE, default=None, help="Experiments: most cases per number of actions [300, 20]."
)
@click.option("--largest", type=click.IntRange(2), default=None, help="Experiments: most actions [20, 8].")
@click.option(
    "--actions",
    callback=number_range,
    default=None,
    metavar="LO..HI",
    help="Experiments: the same sizes for all, also where an agent fails before, as in 2..9.",
)
@click.option(
    "--errors", type=POSITIVE, default=None, help="Experiments: failures that are looked into [100, 5]."
)
@click.option(
    "--paraphrases",
    multiple=True,
    metavar="FILE",
    help="Also a table of what `pdoctor rewrite --json` wrote; repeat for more models.",
)
@click.option("-o", "--output", default="report.html", show_default=True, metavar="FILE")
@driving_options
@money_options
@json_option
def command(
    journals: tuple[str, ...], before: str | None, sizes: str | None, agents: tuple[str, ...], folder: str,
    paraphrases: tuple[str, ...], output: str, as_json: bool, minutes_per_agent: float | None,
    cap: int | None, largest: int | None, actions: tuple[int, int] | None, errors: int | None,
    **settings: Any,
) -> None:  # fmt: skip
    """Write one self-contained HTML report and its figures as PNG.

    With JOURNAL files (`pdoctor test --journal`): a report over those campaigns. With --quick or --paper:
    the experiments of the paper (Tables 2 to 7, Figures 8 and 9) are run first; they resume in --folder,
    after a crash too, with the same options. Each agent is measured on --model; where no real model is
    named, on two simulated ones.

    Exit code: 0 the report is written, also where runs in it failed; 2 bad input, or more runs than
    --max-errors did not test the agent. The report of what was measured until then is written all the same.
    """
    with clear_errors():
        if bool(journals) == bool(sizes):
            fail("give JOURNAL files of finished campaigns, or one of --quick and --paper")
        setup, money = Setup.take(settings), Money.take(settings)
        untested = Errors(setup.max_errors, folder, None if sizes else TESTED_AGAIN)
        from synth.experiments.paraphrases import paraphrase_table, written_in
        from synth.experiments.report import write_report

        written_by_models = [one for file in paraphrases for one in written_in(Path(file))]
        if journals:
            results = [result for journal in journals for result in results_in(journal)]
            report, left = campaigns(results, journals, before, money), sum(one.is_void for one in results)
            seen = posted(setup, report)
        else:
            chosen = chosen_sizes(sizes, minutes_per_agent, cap, largest, errors, actions)
            measured, report, seen = experiments(setup, chosen, agents, Path(folder), money)
            left = measured.errors
            untested.stopped_by(measured.stopped)
        if written_by_models:
            report = replace(report, tables=(*report.tables, paraphrase_table(written_by_models)))
        written = write_report(report, Path(output))
        if as_json:
            write_json(report.to_json())
        else:
            parts = (report.summary, report.findings, [f"written: {path}" for path in written])
            click.echo("\n\n".join("\n".join(lines) for lines in parts if lines))
            look_at(seen or output)
        raise SystemExit(untested.exit_code(left))


def campaigns(
    results: Sequence[Result], journals: tuple[str, ...], before: str | None, money: Money
) -> Report:
    from synth.experiments.report import campaign_report

    title = ", ".join(Path(journal).stem for journal in journals)
    return campaign_report(results, title, results_in(before) if before else (), money.prices)


def posted(setup: Setup, report: Report) -> str | None:
    """Tell a collector of finished campaigns, where one is named; where to see it."""
    from synth.experiments.posting import Campaign, Posting

    if setup.url is None:
        return None
    agents, models = (dict.fromkeys(getattr(run, of) for run in report.runs) for of in ("agent", "model"))
    campaign = Campaign("report", ", ".join(agents), ", ".join(models), setup.name or report.title)
    with Posting(setup.url, campaign, complain) as posting:
        posting.covers(lambda: report.runs, lambda _: report)
    return setup.seen(posting) if posting.told else None


def results_in(journal: str) -> list[Result]:
    from synth.experiments.campaign import read_journal
    from synth.experiments.trial import result_from_json

    return read_journal(Path(journal), result_from_json).records


def chosen_sizes(
    name: str | None, minutes: float | None, cap: int | None, largest: int | None, errors: int | None,
    actions: tuple[int, int] | None = None,
) -> Sizes:  # fmt: skip
    """The paper's sizes or the quick ones, with what was said otherwise."""
    from synth.experiments.paper import PAPER, QUICK

    sizes = PAPER if name == "paper" else QUICK
    if minutes is not None:
        sizes = replace(sizes, rq1_seconds=60 * minutes, rq1_cases=None)
    if cap is not None:
        sizes = replace(sizes, sampling=replace(sizes.sampling, cap=cap))
    if actions is not None:
        sizes = replace(sizes, first=actions[0], largest=actions[1], fixed=True)
    return replace(sizes, largest=largest or sizes.largest, errors=errors or sizes.errors)


def experiments(
    setup: Setup, sizes: Sizes, agents: tuple[str, ...], folder: Path, money: Money
) -> tuple[Reproduction, Report, str]:
    """What was measured, the report of it, and where that is to be seen."""
    from synth.experiments.campaign import Meter
    from synth.experiments.dissect import passes_with
    from synth.experiments.paper import Bench, Forecast, paid_in, parts_of, planned, reproduce
    from synth.experiments.report import report_of

    subjects = subjects_of(setup, agents, sizes.decider == "z3")
    purse = money.purse(dict.fromkeys(model for _, model in subjects), paid_in(folder))
    money.agree(planned(sizes, subjects, setup.parallel, setup.max_iterations))
    follower = Follower(Forecast(parts_of(sizes, subjects), setup.parallel))
    meter = Meter(goes_on=goes_on, purse=purse)
    tested = ", ".join(dict.fromkeys(agent for agent, _ in subjects))

    def follow(result: Result) -> None:
        follower.on_result(result)
        posting.add(result)

    with (
        setup.harness() as harness,
        resumable(str(folder)),
        setup.posting(harness, "report", tested, **asdict(sizes)) as posting,
    ):
        bench = Bench(
            harness.run, lambda runs: passes_with(harness, follower.on_result, runs, meter),
            setup.parallel, follow, on_part=follower.on_part, meter=meter, apart=setup.apart,
        )  # fmt: skip
        measured = reproduce(bench, subjects, sizes, folder)
        report = report_of(measured, options=setup.driven)
        posting.covers(lambda: measured.results, lambda _: report)
        follower.ticker.end()
    spent_in_all(purse)
    return measured, report, setup.seen(posting)


def subjects_of(setup: Setup, agents: tuple[str, ...], as_paper: bool) -> list[tuple[str, str]]:
    """Who is measured on what."""
    from synth.experiments.paper import PAPER_AGENTS, SIMULATED_SUBJECTS

    names = (
        agents
        or (PAPER_AGENTS if as_paper else ())
        or tuple(dict.fromkeys(agent for agent, _ in SIMULATED_SUBJECTS))
    )
    if setup.model_name == "simulated-perfect" and setup.model is None:
        models = tuple(dict.fromkeys(model for _, model in SIMULATED_SUBJECTS))
    else:
        models = setup.models
    return [(agent, model) for agent in names for model in models]


class Follower:
    """Says where the experiments are and how long they can still take."""

    def __init__(self, forecast: Forecast) -> None:
        self.ticker = Ticker()
        self._forecast = forecast
        self._where = ""
        self._runs = 0

    def on_part(self, part: Part) -> None:
        self._forecast.begin(part)
        self._where = str(part)

    def on_result(self, result: Result) -> None:
        self._forecast.count(result)
        self._runs += 1
        self.ticker.say(f"{self._where}: {self._runs} runs; {at_most(self._forecast.seconds)}")


def at_most(seconds: float) -> str:
    hours, minutes = divmod(ceil(seconds / 60), 60)
    return f"at most {hours} h {minutes:02} min left" if hours else f"at most {minutes} min left"

"""`pdoctor report`: the paper's tables and figures, or a report over finished campaigns, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, fail, json_option, write_json
from collector.cli.driving import Setup, driving_options

if TYPE_CHECKING:
    from synth.harness import Result
    from synth.report import Report


@click.command("report")
@click.argument("journals", nargs=-1, metavar="[JOURNAL...]")
@click.option("--before", metavar="JOURNAL", default=None, help="Compare with an earlier campaign.")
@click.option("--quick", "sizes", flag_value="quick", default=None, help="Experiments in small sizes.")
@click.option("--paper", "sizes", flag_value="paper", help="Experiments in the paper's sizes (hours).")
@click.option(
    "--agent", "agents", multiple=True, help="Agents of the experiments; default: the built-in ones."
)
@click.option("--folder", default="pdoctor-report", show_default=True, help="Journals of the experiments.")
@click.option("-o", "--output", default="report.html", show_default=True, metavar="FILE")
@driving_options
@json_option
def command(
    journals: tuple[str, ...], before: str | None, sizes: str | None, agents: tuple[str, ...], folder: str,
    output: str, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Write one self-contained HTML report and its figures as PNG.

    With JOURNAL files (`pdoctor test --journal`): a report over those campaigns. With --quick or --paper:
    the experiments of the paper (Tables 2 to 7, Figures 8 and 9) are run first; they resume in --folder.
    """
    with clear_errors():
        if bool(journals) == bool(sizes):
            fail("give JOURNAL files of finished campaigns, or one of --quick and --paper")
        setup = Setup.take(settings)
        report = campaigns(journals, before) if journals else experiments(setup, sizes, agents, Path(folder))
        from synth.report import write_report

        written = write_report(report, Path(output))
        if as_json:
            write_json(report.to_json())
        else:
            click.echo("\n".join([*report.findings, *(f"written: {path}" for path in written)]))


def campaigns(journals: tuple[str, ...], before: str | None) -> Report:
    from synth.report import campaign_report

    results = [result for journal in journals for result in results_in(journal)]
    title = ", ".join(Path(journal).stem for journal in journals)
    return campaign_report(results, title, results_in(before) if before else ())


def results_in(journal: str) -> list[Result]:
    from synth.campaign import read_journal
    from synth.harness import result_from_json

    return read_journal(Path(journal), result_from_json)[1]


def experiments(setup: Setup, sizes: str | None, agents: tuple[str, ...], folder: Path) -> Report:
    from synth.dissect import passes_with
    from synth.report import report_of
    from synth.reproduce import PAPER, QUICK, SIMULATED_SUBJECTS, Bench, reproduce

    names = agents or tuple(dict.fromkeys(agent for agent, _ in SIMULATED_SUBJECTS))
    simulated = setup.model_name == "simulated-perfect" and setup.model is None
    subjects = (
        [subject for subject in SIMULATED_SUBJECTS if subject[0] in names]
        if simulated
        else [(agent, setup.model_name) for agent in names]
    )
    with setup.harness() as harness:
        bench = Bench(harness.run, passes_with(harness), setup.parallel)
        return report_of(reproduce(bench, subjects, PAPER if sizes == "paper" else QUICK, folder))

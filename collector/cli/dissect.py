"""`pdoctor dissect`: why failing cases fail (paper, Algorithm 2)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from collector.cli.console import clear_errors, json_option, table, write_json
from collector.cli.driving import POSITIVE, Setup, drawn, driving_options
from collector.cli.synth import synth_options
from collector.cli.test import drive

CAUSES = {
    "probability": "a repeat of the same case passed: the agent fails at random",
    "terminal": "other words passed: it trips on particular words",
    "topic": "another topic passed: it trips on the topic",
    "structure": "other sentences with the same meaning passed: it trips on the sentence structure",
    "constraint": "nothing helped: the constraints themselves are too hard for it",
}


@click.command("dissect")
@click.argument("agent")
@synth_options
@click.option("--cases", default="20", show_default=True, metavar="COUNT|FILE", help="To draw, or to read.")
@click.option("--repeats", type=POSITIVE, default=3, show_default=True, help="Runs of the same case.")
@click.option("--mutants", type=POSITIVE, default=10, show_default=True, help="Per layer of the case.")
@click.option("--journal", metavar="FILE", default=None, help="Keep dissections here; the same file resumes.")
@driving_options
@json_option
def command(
    agent: str, cases: str, repeats: int, mutants: int, journal: str | None, as_json: bool, **settings: Any
) -> None:
    """Run the cases, and find the root cause of every failure by repeats and mutants of the case."""
    with clear_errors():
        from synth.dissect import dissect, dissections_journal, failures_of, passes_with

        setup = Setup.take(settings)
        failures = failures_of(drive(agent, setup, drawn(cases, settings)))
        campaign = {"agent": agent, "model": setup.model_name}
        with (
            setup.harness() as harness,
            dissections_journal(Path(journal) if journal else None, campaign) as kept,
        ):
            found = dissect(
                failures, passes_with(harness), kept, parallel=setup.parallel, repeats=repeats, count=mutants
            )
        if as_json:
            for dissection in found:
                write_json(dissection.to_json())
            return
        counts: Counter[str] = Counter(dissection.cause for dissection in found)
        click.echo(table(["cause", "failures", "what it means"], [[c, counts[c], CAUSES[c]] for c in CAUSES]))

"""`pdoctor export`: what campaigns found, as data for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
import orjson

from collector.cli.console import clear_errors, fail
from collector.cli.report import results_in
from collector.cli.synth import opened


@click.command("export")
@click.argument("journals", nargs=-1, required=True, metavar="JOURNAL...")
@click.option("--finetune", is_flag=True, help="Query, wrong plan, violated constraints, repaired plan.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to; - is standard output.")
def command(journals: tuple[str, ...], finetune: bool, output: str) -> None:
    """Write the results of campaigns (`pdoctor test --journal`) as JSON lines.

    With --finetune only failing runs, as training examples (paper, section 7).
    """
    with clear_errors(), opened(output) as stream:
        written = 0
        for record in records(journals, finetune):
            stream.write(orjson.dumps(record) + b"\n")
            written += 1
        if not written:
            fail(f"nothing to export in {', '.join(journals)}: no result fits")


def records(journals: tuple[str, ...], finetune: bool) -> Iterator[Mapping[str, Any]]:
    from synth.experiments.tables import training_records

    results = (result for journal in journals for result in results_in(journal))
    return iter(training_records(results)) if finetune else (result.to_json() for result in results)

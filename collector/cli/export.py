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
@click.option("--chat", is_flag=True, help="With --finetune: the repaired plans as chats to train on.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to; - is standard output.")
def command(journals: tuple[str, ...], finetune: bool, chat: bool, output: str) -> None:
    """Write the results of campaigns (`pdoctor test --journal`) as JSON lines.

    With --finetune only failing runs, as training examples (paper, section 7); with --chat beside it those
    that have a repair, as `messages` and `tools` that the fine-tuning of chat models takes.
    """
    if chat and not finetune:
        raise click.UsageError("--chat says how --finetune writes; give both")
    with clear_errors(), opened(output) as stream:
        written = 0
        for record in records(journals, finetune, chat):
            stream.write(orjson.dumps(record) + b"\n")
            written += 1
        if not written:
            fail(f"nothing to export in {', '.join(journals)}: no result fits")


def records(journals: tuple[str, ...], finetune: bool, chat: bool) -> Iterator[Mapping[str, Any]]:
    from synth.experiments.training import conversations, training_records

    results = [result for journal in journals for result in results_in(journal)]
    if finetune:
        return iter(conversations(results) if chat else training_records(results))
    return (result.to_json() for result in results)

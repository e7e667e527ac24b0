"""`pdoctor rewrite`: a model writes paragraphs for constraint sets, our parser judges them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import Exit, clear_errors, json_option, table, write_json
from collector.cli.llm_options import Endpoint, model_options
from collector.cli.spending import until_spent
from collector.cli.synth import number_range

if TYPE_CHECKING:
    from synth.llm.extract import Written


TOLD, SAID = 250, 30
"""Tokens, about: of the rules in a prompt; of an action and what is said of it."""


@click.command("rewrite")
@click.option("--actions", callback=number_range, default="2..5", show_default=True, metavar="N|LO..HI")
@click.option("--cases", type=click.IntRange(1), default=10, show_default=True, help="Per number of actions.")
@click.option("--seed", type=int, default=0, show_default=True)
@model_options
@json_option
def command(actions: tuple[int, int], cases: int, seed: int, as_json: bool, **settings: Any) -> None:
    """Let a model write the paragraph for constraint sets, and judge what it wrote (paper, section 7).

    With --json a line for each paragraph, of which `pdoctor report --paraphrases FILE` makes a table.

    Exit code 0: every paragraph means exactly its constraints; 2: the model could not be asked, and what
    it wrote before is shown.
    """
    with clear_errors():
        from synth.llm.chat import EndpointFailed
        from synth.llm.extract import write_and_read

        low, high = actions
        sizes = range(low, high + 1)
        number = len(sizes) * cases
        written: list[Written] = []
        failed: EndpointFailed | None = None
        with Endpoint.take(settings).asked(number, TOLD + SAID * high, SAID * high) as (client, name):
            found = write_and_read(client, name, sizes=sizes, per_size=cases, seed=seed)
            try:
                for one in until_spent(found, f"of {number} paragraphs"):
                    written.append(one)
            except EndpointFailed as why:
                failed = why
        if as_json:
            for one in written:
                write_json(asdict(one))
        elif written:
            click.echo(text(written))
        if failed is not None:
            raise failed
        raise SystemExit(Exit.PASSED if all(one.outcome == "faithful" for one in written) else Exit.FAILED)


def text(written: list[Written]) -> str:
    """How many were faithful per number of actions, then what was wrong with the others."""
    from synth.experiments.paraphrases import OUTCOMES

    rows: list[list[Any]] = []
    for size in sorted({one.actions for one in written}):
        counts: Counter[str] = Counter(one.outcome for one in written if one.actions == size)
        rows.append([size, *(counts[outcome] for outcome in OUTCOMES)])
    wrong = [f"{one.case_id}: {one.outcome}: {one.detail}" for one in written if one.outcome != "faithful"]
    return "\n".join([table(["actions", *OUTCOMES], rows), *wrong])

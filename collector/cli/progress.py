"""`pdoctor progress`: how far recorded runs came, and how much they repeat."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, json_option, plain, table, write_json
from synth.errors import BadInput
from synth.files import content_of

if TYPE_CHECKING:
    from synth.observed.run import Run
    from synth.progress import Against, Milestone

BLOCKS = "▁▂▃▄▅▆▇█"
CURVE = 16
"""Columns of a curve."""


@click.command("progress")
@click.argument("runs", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--cases", "cases_file", metavar="FILE", help="Cases as JSON lines; their actions are the milestones."
)
@click.option(
    "--milestones", "milestones_file", metavar="FILE",
    help='Milestones of every run: a JSON list of {"name", "tool", "arguments", "after"}.',
)  # fmt: skip
@click.option(
    "--similarity", default="indel", show_default=True, metavar="NAME",
    help="How alike two actions are: indel, exact, bleu, rouge or bertscore.",
)  # fmt: skip
@click.option(
    "--threshold", "thresholds", type=float, multiple=True, default=[1.0], show_default=True,
    help="From which similarity on an action is repeated; may be given several times.",
)  # fmt: skip
@click.option(
    "--against", type=click.Choice(["all", "unique"]), default="all", show_default=True,
    help="Compare with all earlier actions (the listing), or those that repeated nothing (the formula).",
)  # fmt: skip
@click.option(
    "--steps", type=click.IntRange(1), help="Steps that the agent was given (T); else those that it took."
)
@json_option
def command(
    runs: Sequence[str], cases_file: str | None, milestones_file: str | None, similarity: str,
    thresholds: Sequence[float], against: Against, steps: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Progress and repetition rates of the runs in FILE after each step, as AgentQuest defines them.

    FILE has run records, OTLP JSON lines or OTLP protobuf (- is standard input). Progress is the share of
    milestones reached: the actions of the run's case, done in a valid order, or your own; without either it
    is not known. Repetition is repeated steps / (steps - 1). Where calls of a run were not seen, a rate that
    they may change is not known either, and its curve is of what was seen. With --json one object a line.
    """
    from collector.cli.runfiles import RunFile, all_runs
    from synth.observed.lines import parse_json
    from synth.progress import milestones_from_json, repetition

    with clear_errors():
        if cases_file and milestones_file:
            raise BadInput("milestones are those of the cases or your own: give --cases or --milestones")
        repetition([], similarity=similarity, threshold=thresholds[0], against=against)
        own = None
        if milestones_file:
            own = milestones_from_json(parse_json(content_of(milestones_file), file=milestones_file))
        milestones = _of_cases(cases_file) if cases_file else {}
        rows: list[list[Any]] = []
        doubts: dict[str, None] = {}
        with ExitStack() as opened:
            for run in all_runs([opened.enter_context(RunFile(source)) for source in runs]):
                wanted = milestones.get(run.case_id or "", ()) if own is None else own
                for said in rates_of(run, wanted, similarity, thresholds, against, steps):
                    if as_json:
                        write_json(said)
                    else:
                        rows.append(row_of(said))
                        doubts |= dict.fromkeys(doubts_of(said))
        if not as_json:
            headers = ("run", "steps", "progress", "PR", "threshold", "repetition", "RR")
            click.echo("\n".join([table(headers, rows), *doubts]) if rows else "No runs.")


def rates_of(
    run: Run, milestones: Sequence[Milestone], similarity: str, thresholds: Sequence[float],
    against: Against, steps: int | None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """What is said about a run, one object for each threshold."""
    from synth.progress import progress, progress_doubts, repetition, repetition_doubts, steps_of

    actions = [step.action for step in steps_of(run)]
    reached = progress(run, milestones)
    further, again = progress_doubts(run, milestones), repetition_doubts(run)
    for threshold in thresholds:
        found = repetition(actions, similarity=similarity, threshold=threshold, against=against)
        repeated = found.rates(steps)
        yield {
            "run_id": run.id, "case_id": run.case_id, "steps": len(actions), "milestones": len(milestones),
            "progress": None if reached is None else list(reached),
            "progress_rate": None if reached is None or further else (reached[:steps] or (0.0,))[-1],
            "threshold": threshold, "similarity": similarity, "against": against,
            "repeated": list(found.repeated), "repetition": list(repeated),
            "repetition_rate": None if again else (repeated or (0.0,))[-1],
            "doubts": {"progress": list(further), "repetition": list(again)},
        }  # fmt: skip


def row_of(said: dict[str, Any]) -> list[Any]:
    return [
        said["run_id"], said["steps"], curve(said["progress"] or []), _rate(said["progress_rate"]),
        said["threshold"], curve(said["repetition"]), _rate(said["repetition_rate"]),
    ]  # fmt: skip


def doubts_of(said: dict[str, Any]) -> Iterator[str]:
    """Why rates are not known, a line each."""
    for what, reasons in said["doubts"].items():
        if reasons:
            yield f"{plain(said['run_id'])}: {what} is not known: {plain('; '.join(reasons))}"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}"


def curve(rates: Sequence[float]) -> str:
    """Rates over the steps as a line of blocks; of many steps, the last of each stretch."""
    size = min(CURVE, len(rates))
    shown = [rates[(at + 1) * len(rates) // size - 1] for at in range(size)]
    return "".join(BLOCKS[min(int(rate * len(BLOCKS)), len(BLOCKS) - 1)] for rate in shown)


def _of_cases(file: str) -> dict[str, tuple[Milestone, ...]]:
    from synth.cases.case import read_cases
    from synth.progress import case_milestones

    return {case.id: case_milestones(case) for case in read_cases(sys.stdin.buffer if file == "-" else file)}

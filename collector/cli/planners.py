"""`pdoctor planners`: planning agents over tasks with gold plans, in tables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, json_option, progress, table, terminal_width, write_json
from collector.cli.driving import several
from collector.cli.metrics import json_file, json_lines, read_line
from synth.errors import BadInput, MissingExtra

if TYPE_CHECKING:
    from synth.experiments.planning import Planner, Row
    from synth.plans import ToolGraph
    from synth.plans.planning import Design
    from synth.plans.tasks import PlanTask, Words

SIMULATED = "simulated"
COLUMNS = {
    "tool": "tool_macro_f1", "arg name": "argname_f1", "arg value": "argvalue_f1", "edge": "edge_f1",
    "distance": "tool_normalized_edit_distance", "plan": "plan_argvalue_accuracy",
}  # fmt: skip
"""Heading -> m&m's number, in percent."""
WIDTH = 140
"""Columns of a terminal that names and numbers need."""


@click.command("planners")
@click.option(
    "--model", "models", default=SIMULATED, show_default=True, metavar="NAMES",
    help="Models with commas between; simulated is every simulated-FAULT-HEEDS.",
)  # fmt: skip
@click.option("--base-url", metavar="URL", help="OpenAI-compatible endpoint.")
@click.option("--temperature", type=float, default=None, help="Not sent where it is not given.")
@click.option("--tasks", default="20", show_default=True, metavar="COUNT|FILE", help="To draw, or to read.")
@click.option("--tools", "tools_file", metavar="FILE", help="JSON list of tools; else fifteen of our own.")
@click.option("--edges", "edges_file", metavar="FILE", help="JSON list of [from, to]; else types decide.")
@click.option("--seed", default=0, show_default=True)
@click.option("--worded-by", metavar="MODEL", help="Let a model word the queries of drawn tasks.")
@click.option("--strategy", default="multi-step,step-by-step", show_default=True, metavar="NAMES")
@click.option("--format", "forms", default="json,code", show_default=True, metavar="NAMES")
@click.option("--feedback", default="none,P,PV,PE,PVE", show_default=True, metavar="NAMES")
@click.option("--save", metavar="FILE", help="Write every attempt as a JSON line.")
@click.option("--sample", metavar="FILE", help="Only write the tasks as JSON lines (- is standard output).")
@click.option(
    "--cases", metavar="FILE", help="Only write the tasks as cases, for a collector to score runs by."
)
@json_option
def command(
    models: str, base_url: str | None, temperature: float | None, tasks: str, tools_file: str | None,
    edges_file: str | None, seed: int, worded_by: str | None, strategy: str, forms: str, feedback: str,
    save: str | None, sample: str | None, cases: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Let planning agents plan for tasks whose gold plans are known, and score the plans (m&m's).

    Agents plan all steps at once or step by step, write JSON or Python, and are told of what a parser (P),
    the verifier (V) or the execution on simulated tools (E) found wrong, up to ten answers. Tasks are drawn
    from the tool graph, or read: our own, or a copy of m&m's data set (user_request, plan_str and
    alt_plans_str).
    """
    from synth.experiments.planning import attempts, correlations, model_words, rows
    from synth.plans.tasks import case_of

    with clear_errors():
        graph = graph_of(tools_file, edges_file)
        words = None if worded_by is None else model_words(client_for(worded_by, base_url), worded_by)
        drawn = tasks_of(tasks, graph, seed, words)
        if sample is not None:
            with click.open_file(sample, "w") as out:
                out.writelines(json_line(task.to_json()) for task in drawn)
        if cases is not None:
            with click.open_file(cases, "w") as out:
                out.writelines(json_line(case_of(task, graph).to_json()) for task in drawn)
        if sample is not None or cases is not None:
            return
        designs = designs_of(several(strategy), several(forms), several(feedback))
        planners = planners_of(several(models), graph, seed, base_url, temperature)
        made = []
        size = len(drawn) * len(designs) * len(planners)
        with progress(attempts(drawn, graph, designs, planners), label="planning", length=size) as each:
            made.extend(each)
        if save is not None:
            with click.open_file(save, "w") as out:
                out.writelines(json_line(one.to_json()) for one in made)
        found = rows(made, graph)
        if as_json:
            write_json({"rows": [row.to_json() for row in found], "correlations": correlations(made)})
        else:
            click.echo(f"{shown(found)}\n\n{correlated(correlations(made))}")


def graph_of(tools_file: str | None, edges_file: str | None) -> ToolGraph:
    from synth.experiments.planning import built_in_tools
    from synth.plans import graph_from_json

    if tools_file is None:
        return built_in_tools()
    return graph_from_json(json_file(tools_file), json_file(edges_file) if edges_file else None)


def tasks_of(tasks: str, graph: ToolGraph, seed: int, words: Words | None = None) -> list[PlanTask]:
    """As many as asked for, or those of a file: JSON lines, or one JSON list."""
    from synth.plans.tasks import sample_tasks, task_from_json

    if tasks.isdigit():
        if int(tasks) == 0:
            raise BadInput("no tasks: --tasks takes a count from 1 upward, or a file")
        return list(sample_tasks(graph, int(tasks), seed=seed, words=words))
    read: list[PlanTask] = []
    for number, said in json_lines(tasks):
        for one in said if isinstance(said, list) else [said]:
            read.append(read_line(lambda task: task_from_json(task, len(read)), one, tasks, number))
    if not read:
        raise BadInput("no task found", file=tasks)
    return read


def designs_of(strategies: Sequence[str], forms: Sequence[str], feedback: Sequence[str]) -> list[Design]:
    from synth.plans.planning import Design

    made: Any = [(s, f, b) for s in strategies for f in forms for b in feedback]
    return [Design(*one) for one in made]


def planners_of(
    models: Sequence[str], graph: ToolGraph, seed: int, base_url: str | None, temperature: float | None
) -> dict[str, Planner]:
    from synth.experiments.planning import model_planner, simulated_planners

    simulated = simulated_planners(graph, seed)
    found: dict[str, Planner] = {}
    for name in models:
        if name == SIMULATED:
            found |= simulated
        elif name in simulated:
            found[name] = simulated[name]
        elif name.startswith(f"{SIMULATED}-"):
            raise BadInput(
                f"unknown planner {name!r}; expected one of {', '.join(simulated)}", field="--model"
            )
        else:
            found[name] = model_planner(client_for(name, base_url), name, temperature)
    return found


def client_for(model: str, base_url: str | None) -> Any:
    served = base_url or os.environ.get("OPENAI_BASE_URL")
    if not served and not os.environ.get("OPENAI_API_KEY"):
        raise BadInput(f"model {model!r} needs OPENAI_API_KEY or --base-url", field="--model")
    try:
        from openai import OpenAI
    except ImportError as missing:
        raise MissingExtra(f"model {model!r}", "agents") from missing
    return OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY") or "none")


def json_line(said: Any) -> str:
    return json.dumps(said) + "\n"


def shown(found: Sequence[Row]) -> str:
    """One table for each strategy and format."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        groups.setdefault((row.design.strategy, row.design.form), []).append(row)
    return "\n\n".join(_group(strategy, form, rows) for (strategy, form), rows in groups.items())


def correlated(found: Mapping[str, Mapping[str, float | None]]) -> str:
    """How scores go together with right answers."""
    rows = [
        [name, *("-" if one is None else f"{one:.2f}" for one in by.values())] for name, by in found.items()
    ]
    return f"Correlation with right answers\n{table(['score', 'Pearson', 'Spearman'], rows)}"


def _group(strategy: str, form: str, found: Sequence[Row]) -> str:
    headers = ["planner", "feedback", *COLUMNS, "pass", "answer", "turns", "tokens"]
    headers += ["AST", "CodeBLEU"] if form == "code" else []
    shown = table(headers, [list(_cells(row)) for row in found], width=max(WIDTH, terminal_width()))
    return f"{strategy}, {form}\n{shown}"


def _cells(row: Row) -> Iterator[str]:
    yield from (row.planner, row.design.feedback)
    yield from (f"{row.scores[name]:.1f}" for name in COLUMNS.values())
    yield from (f"{100 * share:.1f}" for share in (row.pass_rate, row.execution_accuracy))
    yield from (f"{row.turns:.1f}", f"{row.tokens:.0f}")
    yield from (f"{share:.1f}" for share in (row.code or {}).values())

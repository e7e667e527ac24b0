"""`pdoctor planners`: planning agents over tasks with gold plans, in tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, json_option, progress, table, terminal_width, write_json
from collector.cli.driving import several
from collector.cli.llm_options import openai_client
from collector.cli.metrics import json_file, json_lines, read_line
from collector.cli.spending import Money, money_options, until_spent
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.experiments.money import Planned, Purse
    from synth.experiments.planning import Planner, Row
    from synth.plans import ToolGraph
    from synth.plans.planning import Design
    from synth.plans.tasks import PlanTask, Words

SIMULATED = "simulated"
STEPS = 5
"""Of a plan, about, and the answer that ends it."""
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
@money_options
@json_option
def command(
    models: str, base_url: str | None, temperature: float | None, tasks: str, tools_file: str | None,
    edges_file: str | None, seed: int, worded_by: str | None, strategy: str, forms: str, feedback: str,
    save: str | None, sample: str | None, cases: str | None, as_json: bool, **settings: Any,
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
        graph, money = graph_of(tools_file, edges_file), Money.take(settings)
        only_tasks = sample is not None or cases is not None
        designs = designs_of(several(strategy), several(forms), several(feedback))
        named = () if only_tasks else several(models)
        count = int(tasks) if tasks.isdigit() else len(tasks_of(tasks, graph, seed))
        planned = requests_of(named, designs, count, graph, worded_by if tasks.isdigit() else None)
        with money.spending(planned) as purse:
            asked = Asked(base_url, purse)
            words = None if worded_by is None else model_words(asked.client(worded_by), worded_by)
            drawn = tasks_of(tasks, graph, seed, words)
            if sample is not None:
                with click.open_file(sample, "w") as out:
                    out.writelines(json_line(task.to_json()) for task in drawn)
            if cases is not None:
                with click.open_file(cases, "w") as out:
                    out.writelines(json_line(case_of(task, graph).to_json()) for task in drawn)
            if only_tasks:
                return
            planners = planners_of(named, graph, seed, asked, temperature)
            made = []
            size = len(drawn) * len(designs) * len(planners)
            plans = until_spent(attempts(drawn, graph, designs, planners), f"of {size} plans")
            with progress(plans, label="planning", length=size) as each:
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
    models: Sequence[str], graph: ToolGraph, seed: int, asked: Asked, temperature: float | None
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
            found[name] = model_planner(asked.client(name), name, temperature)
    return found


PLAN = 200
"""Tokens of an answer, about."""


@dataclass(frozen=True)
class Asked:
    """Where language models are asked, and the purse that pays for it."""

    base_url: str | None
    purse: Purse

    def client(self, model: str) -> Any:
        from synth.experiments.charged import Charged

        return Charged(openai_client(self.base_url, f"model {model!r}"), self.purse, PLAN)


def requests_of(
    models: Sequence[str], designs: Sequence[Design], tasks: int, graph: ToolGraph, worded_by: str | None
) -> Iterator[Planned]:
    """Of each language model: plans for each task in each design, and the words of each task."""
    from synth.experiments.charged import requests, tokens_of
    from synth.experiments.money import Planned, conversation
    from synth.plans.planning import MOST_TURNS, instructions

    if worded_by is not None:
        yield requests(worded_by, tasks, PLAN, PLAN)
    for model in models:
        for design in designs if not model.startswith(SIMULATED) else ():
            given = tokens_of(instructions(graph, design))
            answers = 1 if design.strategy == "multi-step" else STEPS
            longest = design.turns * (1 if design.strategy == "multi-step" else MOST_TURNS)
            usual, most = (conversation(many, given, 2 * PLAN, PLAN) for many in (answers, longest))
            yield Planned(model, tasks, usual, most)


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

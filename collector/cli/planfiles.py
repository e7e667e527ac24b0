"""Files of tool plans, and what `pdoctor check --plan` says about them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import Exit, plain, write_json
from collector.cli.metrics import json_file, json_lines
from synth.errors import BadInput
from synth.observed.run import Run

if TYPE_CHECKING:
    from synth.plans import Problem, ToolGraph
    from synth.policies.planned import Flaw

SHOWN = 20


def check_plans(file: str, tools_file: str | None, edges_file: str | None, as_json: bool) -> int:
    """Verify each plan of a file; 0 = all can be carried out."""
    from synth.plans import graph_from_json

    if tools_file is None:
        raise BadInput("which tools there are must be known: give --tools FILE", field="--tools")
    graph = graph_from_json(json_file(tools_file), json_file(edges_file) if edges_file else None)
    found = [(name, problems_of(said, graph)) for name, said in plans_in(file)]
    if not found:
        raise BadInput("no plan found", file=file)
    for name, problems in found:
        if as_json:
            write_json(
                {"plan": name, "status": not problems, "problems": [one.to_json() for one in problems]}
            )
    if not as_json:
        click.echo("\n".join(told(found)))
    return Exit.FAILED if any(problems for _, problems in found) else Exit.PASSED


def check_rules(file: str, policies_file: str | None, cases_file: str | None, as_json: bool) -> int:
    """Ask the rules about each plan of a file; 0 = all keep them, 3 = some may not."""
    from synth.cases.case import read_cases
    from synth.policies import load_policies
    from synth.policies.cased import rules_of_cases
    from synth.policies.planned import calls_of, flaws_of

    rules = [load_policies(policies_file)] if policies_file else []
    rules += [rules_of_cases(read_cases(cases_file), cases_file)] if cases_file else []
    lines: list[str] = []
    found: list[Sequence[Flaw]] = []
    for name, said in plans_in(file):
        about = Run("plan", (), case_id=said.get("case_id") if isinstance(said, Mapping) else None)
        flaws = [flaw for one in rules for flaw in flaws_of(one, calls_of(said), about)]
        found.append(flaws)
        if as_json:
            keeps = not any(flaw.certain for flaw in flaws)
            write_json({"plan": name, "status": keeps, "flaws": [flaw.to_json() for flaw in flaws]})
        lines += _flaws_told(name, flaws)
    if not found:
        raise BadInput("no plan found", file=file)
    if not as_json:
        click.echo("\n".join(lines))
    if any(flaw.certain for flaws in found for flaw in flaws):
        return Exit.FAILED
    return Exit.UNSETTLED if any(found) else Exit.PASSED


def _flaws_told(name: str, flaws: Sequence[Flaw]) -> Iterator[str]:
    yield f"{plain(name)}: {'keeps all rules' if not flaws else ''}".rstrip()
    for flaw in flaws[:SHOWN]:
        where = "at its end" if flaw.step is None else f"step {flaw.step} ({flaw.tool})"
        doubt = "" if flaw.certain else "perhaps: "
        yield f"  - [{plain(flaw.policy)}] {plain(where)}: {doubt}{plain(flaw.text)}"


def problems_of(said: Any, graph: ToolGraph) -> tuple[Problem, ...]:
    """What is wrong with a plan: a JSON value, or text in JSON or Python."""
    from synth.plans import Problem, plan_of, verify

    try:
        return verify(plan_of(said, graph), graph)
    except BadInput as problem:
        return (Problem("unreadable", None, str(problem)),)


def plans_in(file: str) -> Iterator[tuple[str, Any]]:
    """(name, plan as it stands there): a Python file and a JSON document have one, JSON lines have many.

    A line is a plan, or an object with it as `plan`, `nodes` or `prediction`, or several as `predictions`.
    """
    with click.open_file(file, "rb") as opened:
        text = opened.read().decode(errors="replace")
    try:
        lines = [(1, json.loads(text))]
    except (ValueError, RecursionError):
        if file.endswith(".py") or not text.lstrip().startswith(("[", "{")):
            yield file, text
            return
        lines = list(json_lines(file))
    for number, said in lines:
        yield from _plans_of(said, f"{file}:{number}")


def _plans_of(said: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(said, Mapping) and isinstance(said.get("predictions"), list):
        named = str(said.get("case", name))
        yield from ((f"{named}[{at}]", one) for at, one in enumerate(said["predictions"]))
    elif isinstance(said, Mapping) and "prediction" in said:
        yield name, said["prediction"]
    else:
        yield name, said


def told(found: list[tuple[str, tuple[Problem, ...]]]) -> Iterator[str]:
    """How many can be carried out, then what is wrong, plan by plan."""
    wrong = [(name, problems) for name, problems in found if problems]
    yield f"{len(found) - len(wrong)} of {len(found)} plans can be carried out."
    for name, problems in wrong[:SHOWN]:
        yield plain(name)
        yield from (f"  - {plain(problem.text)}" for problem in problems[:SHOWN])
    if len(wrong) > SHOWN:
        yield f"... and {len(wrong) - SHOWN} more; --json lists them all."

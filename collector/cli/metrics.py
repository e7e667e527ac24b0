"""`pdoctor metrics`: how right predicted tool plans are, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from collector.cli.console import clear_errors, json_option, table, write_json
from synth.errors import BadInput
from synth.files import content_of

if TYPE_CHECKING:
    from synth.plans import Pair, ToolGraph
    from synth.plans.entail import Judge
    from synth.plans.pairs import Corpus, Spelling


@click.command("metrics")
@click.argument("pairs", metavar="PAIRS")
@click.option(
    "--family", type=click.Choice(["mnms", "taskbench", "ratings"]), default="mnms", show_default=True,
    help="Whose definitions: m&m's (percent) or TaskBench's (0 to 1); or how far raters agree.",
)  # fmt: skip
@click.option(
    "--tools", "tools_file", metavar="FILE|FOLDER",
    help="JSON list of all tools, or a folder with tools_DOMAIN.json. Default: tools.json or "
    "tools_DOMAIN.json beside PAIRS, else the tools that the plans name.",
)  # fmt: skip
@click.option(
    "--dependency", type=click.Choice(["temporal", "resource"]),
    help="TaskBench: links are given, or read from <node-i> in arguments, where the line does not say.",
)  # fmt: skip
@click.option(
    "--plans", "spelling", type=click.Choice(["json", "text", "python"]), default="json", show_default=True,
    help="Predictions are JSON, text that is to be JSON, or text that is to be Python.",
)  # fmt: skip
@click.option(
    "--judge", "judge_name", metavar="MODULE:FUNCTION",
    help="Also say how many gold values the predicted ones entail: function (tool, argument, gold value, "
    "predicted value) -> True or False.",
)  # fmt: skip
@click.option(
    "--cases", "cases_file", metavar="FILE",
    help="PAIRS has runs, which are compared with the gold plans of their cases in FILE.",
)  # fmt: skip
@json_option
def command(
    pairs: str, family: str, tools_file: str | None, dependency: str | None, spelling: Spelling,
    judge_name: str | None, cases_file: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Compare predicted tool plans with gold plans: tools, arguments, values, connections, order.

    PAIRS (- is standard input) has a JSON object a line: {"gold", "prediction", "alternatives"}, all lines
    one corpus, or {"case", "gold": [...], "predictions": [...]}, each line a corpus of its own. An m&m's
    plan is a list of {"id", "name", "args"}, a TaskBench sample an object with task_nodes and task_links.
    What cannot be read counts as an empty plan. Two empty sides are equal (100, or 1), one is 0. With
    --plans python there are AST accuracy and CodeBLEU too. With --family ratings a line is
    {"item", "rater", "rating"}.
    """
    with clear_errors():
        if family == "ratings":
            write_agreement(pairs, as_json)
            return
        judge = None if judge_name is None else loaded(judge_name)
        if cases_file is not None:
            said = of_runs(pairs, cases_file, tools_file, judge)
            write_json(said) if as_json else click.echo(shown(said))
            return
        found = [
            scored(corpus, pairs, family, tools_file, dependency, spelling, judge)
            for corpus in corpora_in(pairs)
        ]
        if not found:
            raise BadInput("no pairs found", file=pairs)
        if as_json:
            for one in found:
                write_json(one)
        else:
            click.echo("\n\n".join(map(shown, found)))


def corpora_in(source: str) -> list[Corpus]:
    from synth.plans.pairs import corpora, line_from_json

    return corpora(
        (read_line(line_from_json, said, source, number) for number, said in json_lines(source)), source
    )


def json_lines(source: str) -> Iterator[tuple[int, Any]]:
    """(number, value) of the lines that are not empty."""
    from synth.observed.lines import parse_json

    with click.open_file(source, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, parse_json(line, file=source, line=number)


def read_line(read: Any, said: Any, source: str, number: int) -> Any:
    try:
        return read(said)
    except BadInput as problem:
        raise problem.at(file=source, line=number) from None


def scored(
    corpus: Corpus, source: str, family: str, tools_file: str | None, dependency: str | None,
    spelling: Spelling, judge: Judge | None,
) -> dict[str, Any]:  # fmt: skip
    """What is said about one corpus."""
    file = tools_file_of(corpus, source, tools_file)
    if family == "mnms":
        scores = _of_mnms(corpus, file, spelling, judge)
    else:
        scores = _of_taskbench(corpus, file, dependency)
    said = {"corpus": corpus.name, "family": family, "samples": len(corpus.pairs)}
    return {**said, "tools": None if file is None else str(file), **scores}


def _of_mnms(corpus: Corpus, file: Path | None, spelling: Spelling, judge: Judge | None) -> dict[str, Any]:
    from synth.plans import graph_from_json
    from synth.plans.code import code_scores
    from synth.plans.pairs import code_pairs, mnms_pairs

    graph = None if file is None else graph_from_json(json_file(file))
    said = _of_pairs(mnms_pairs(corpus, spelling, graph), graph, judge)
    return said | ({"code": code_scores(code_pairs(corpus))} if spelling == "python" else {})


def of_runs(source: str, cases_file: str, tools_file: str | None, judge: Judge | None) -> dict[str, Any]:
    """What is said about the runs of a file whose cases have gold plans, with their pass rate."""
    from collector.cli.runfiles import runs_in
    from synth.cases.case import read_cases
    from synth.plans import Pair, gold_plans, graph_from_json, plan_of_run, run_passed

    plans = {case.id: gold_plans(case) for case in read_cases(cases_file)}
    runs = [run for run in runs_in(source) if plans.get(run.case_id or "")]
    if not runs:
        raise BadInput(f"no run has a case with a gold plan in {cases_file}", file=source)
    right = [plans[run.case_id or ""] for run in runs]
    pairs = [
        Pair(gold, plan_of_run(run, (gold, *others)), tuple(others))
        for run, (gold, *others) in zip(runs, right, strict=True)
    ]
    graph = None if tools_file is None else graph_from_json(json_file(tools_file))
    said = {"corpus": source, "family": "mnms", "samples": len(runs), "tools": tools_file}
    rate = 100 * sum(map(run_passed, runs)) / len(runs)
    return {**said, **_of_pairs(pairs, graph, judge), "pass_rate": rate}


def _of_pairs(pairs: Sequence[Pair], graph: ToolGraph | None, judge: Judge | None) -> dict[str, Any]:
    from synth.plans import corpus_scores, corpus_with_alternatives, entailment

    tools = None if graph is None else graph.tools
    said: dict[str, Any] = {"unit": "percent", "scores": corpus_scores(pairs, tools)}
    if any(pair.alternatives for pair in pairs):
        said["with_alternatives"] = better = corpus_with_alternatives(pairs, tools)
        said["delta"] = {name: better[name] - value for name, value in said["scores"].items()}
    if judge is not None:
        said["entailment"] = entailment(pairs, judge)
    return said


def _of_taskbench(corpus: Corpus, file: Path | None, dependency: str | None) -> dict[str, Any]:
    from synth.plans import taskbench
    from synth.plans.pairs import taskbench_pairs

    way: Any = corpus.dependency or dependency
    if way not in get_args(taskbench.Dependency):
        raise BadInput(
            f"{corpus.name}: links are temporal or resource, not {way!r}: say --dependency",
            field="dependency",
        )
    tools = taskbench.tools_from_json([] if file is None else json_file(file))
    pairs = list(taskbench_pairs(corpus, tools, way))
    names = (
        tools.names if file is not None else sorted({n for pair in pairs for one in pair for n in one.tools})
    )
    return {"unit": "share", "scores": taskbench.corpus_scores(pairs, names)}


def tools_file_of(corpus: Corpus, source: str, tools_file: str | None) -> Path | None:
    """The file of all tools: the one named, in a folder that of the domain; else what is beside the pairs."""
    name = f"tools_{corpus.domain}.json" if corpus.domain else "tools.json"
    if tools_file is not None:
        named = Path(tools_file)
        return named / name if named.is_dir() else named
    beside = Path(source).parent / name
    return beside if source != "-" and beside.is_file() else None


def json_file(file: Path | str) -> Any:
    from synth.observed.lines import parse_json

    return parse_json(content_of(file), file=str(file))


def shown(said: Mapping[str, Any]) -> str:
    """A corpus as text."""
    columns = [name for name in ("scores", "with_alternatives", "delta") if name in said]
    rows = [[name, *(number(said[column][name]) for column in columns)] for name in said["scores"]]
    tools = f"tools of {said['tools']}" if said["tools"] else "tools that the plans name"
    rows += [
        [name, number(value), *[""] * (len(columns) - 1)] for name, value in said.get("code", {}).items()
    ]
    if "pass_rate" in said:
        rows.append(["pass_rate", number(said["pass_rate"]), *[""] * (len(columns) - 1)])
    if said.get("entailment") is not None:
        rows.append(["entailment", number(100 * said["entailment"]), *[""] * (len(columns) - 1)])
    head = f"{said['corpus']}: {said['samples']} samples, {tools}"
    return f"{head}\n{table(['metric', *(one.replace('_', ' ') for one in columns)], rows)}"


def loaded(name: str) -> Judge:
    """The function `module:function`. BadInput where there is none."""
    from importlib import import_module

    module, _, attribute = name.partition(":")
    try:
        found: Judge = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as problem:
        raise BadInput(f"the judge {name!r} cannot be loaded: {problem}") from None
    return found


def write_agreement(source: str, as_json: bool) -> None:
    from synth.plans import agreement
    from synth.plans.raters import ratings_from_json

    found = asdict(agreement(ratings_from_json(said for _, said in json_lines(source))))
    if as_json:
        write_json(found)
    else:
        click.echo(
            table(
                ["agreement", ""],
                [[name, "-" if one is None else number(one)] for name, one in found.items()],
            )
        )


def number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4f}"

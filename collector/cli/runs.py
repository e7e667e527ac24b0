"""`pdoctor runs`: look at, show and export what a running collector knows."""

from __future__ import annotations

from typing import Any

import click

from collector.cli.client import Collector, collector_option
from collector.cli.console import clear_errors, exit_code, json_option, table, write_json


@click.group("runs")
def command() -> None:
    """Look at the runs of a collector: list, show, export."""


FILTERS = ("case", "policy", "outcome", "error_type", "agent", "tool", "since", "until")


def filters(function: Any) -> Any:
    for name in reversed(FILTERS):
        function = click.option(f"--{name.replace('_', '-')}", name, default=None, help=f"Only this {name}.")(
            function
        )
    return function


@command.command("list")
@collector_option
@filters
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
def list_runs(url: str, limit: int, as_json: bool, **wanted: Any) -> None:
    """List the newest runs. Exit code as for `pdoctor check`, by their outcomes."""
    with clear_errors():
        items = Collector(url).get("/runs", limit=limit, **wanted)["items"]
        if as_json:
            for item in items:
                write_json(item)
        else:
            click.echo(run_table(items) if items else EMPTY)
        raise SystemExit(exit_code(item["outcome"] for item in items if item.get("outcome")))


EMPTY = "No run yet. Put `import pdoctor_trace` on top of your agent's program and run it."


def run_table(items: list[dict[str, Any]]) -> str:
    rows = [
        [
            i["id"],
            i.get("agent") or "-",
            i.get("calls_count", "-"),
            i.get("outcome") or "-",
            i.get("error_type") or "-",
        ]
        for i in items
    ]
    return table(["run", "agent", "calls", "outcome", "error"], rows)


@command.command("show")
@click.argument("run_id")
@collector_option
@json_option
def show(run_id: str, url: str, as_json: bool) -> None:
    """Show one run: its calls and what was found."""
    with clear_errors():
        run = Collector(url).get(f"/runs/{run_id}")
        if as_json:
            write_json(run)
        else:
            click.echo(run_text(run))
        verdict = run.get("verdict")
        raise SystemExit(exit_code([verdict["outcome"]] if verdict else []))


def run_text(run: dict[str, Any]) -> str:
    """The calls numbered as the findings number them, then the findings."""
    wrong = {index for finding in findings(run) for index in finding["calls"]}
    rows = [
        [f"{'!' if i in wrong else ' '}{i}", call["name"], call.get("id") or "-", call.get("error") or "ok"]
        for i, call in enumerate(run["calls"])
    ]
    verdict = run.get("verdict")
    outcome = f"{verdict['outcome']} ({verdict['error_type']})" if verdict and verdict["error_type"] else None
    head = f"run {run['id']}: {outcome or (verdict['outcome'] if verdict else 'bound to no case')}"
    parts = [head, table(["call", "tool", "id", "result"], rows)]
    parts += [f"- {finding['explanation']}" for finding in findings(run)]
    return "\n".join(parts)


def findings(run: dict[str, Any]) -> list[dict[str, Any]]:
    verdict = run.get("verdict")
    return [f for f in verdict["findings"] if f["type"] != "note"] if verdict else []


@command.command("export")
@collector_option
@filters
def export(url: str, **wanted: Any) -> None:
    """Write run records as JSON lines, as `pdoctor check` reads them."""
    with clear_errors():
        collector = Collector(url)
        for item in collector.pages("/runs", limit=200, **wanted):
            write_json(collector.get(f"/runs/{item['id']}")["record"])

"""`pdoctor runs`: look at, show and export what a running collector knows."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from collector.cli.console import (
    clear_errors,
    collector_option,
    exit_code,
    json_option,
    plain,
    policy_text,
    table,
    terminal_width,
    write_json,
)
from collector.cli.imports import command as import_command
from collector.ui.words import waiting
from synth.client import Collector
from synth.errors import BadInput


@click.group("runs")
def command() -> None:
    """Look at the runs of a collector: list, show, export, import."""


NO_BREAK = "\u00a0"
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
    with clear_errors(), Collector(url) as collector:
        items = collector.get("/runs", limit=limit, **wanted)["items"]
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
            i.get("agent") or i.get("service") or "-",
            i.get("calls_count", "-"),
            i.get("outcome") or "-",
            i.get("error_type") or "-",
        ]
        for i in items
    ]
    return table(["run", "agent", "calls", "outcome", "error"], rows)


@command.command("show")
@click.argument("run_id", default="latest")
@collector_option
@json_option
def show(run_id: str, url: str, as_json: bool) -> None:
    """Show one run: its calls and what was found. Without RUN_ID: the newest."""
    with clear_errors(), Collector(url) as collector:
        run = fetch(collector, run_id)
        if as_json:
            write_json(run)
        else:
            click.echo(run_text(run))
        raise SystemExit(exit_code(results(run)))


def fetch(collector: Collector, run_id: str) -> dict[str, Any]:
    if run_id == "latest":
        newest = collector.get("/runs", limit=1)["items"]
        if not newest:
            raise BadInput(EMPTY)
        run_id = newest[0]["id"]
    return collector.whole(collector.get(f"/runs/{run_id}"))


def results(run: dict[str, Any]) -> list[str]:
    """The verdict's outcome, if there is one, and every policy's."""
    verdict = run.get("verdict")
    return [*([verdict["outcome"]] if verdict else []), *(p["verdict"] for p in run.get("policies", ()))]


def run_text(run: dict[str, Any]) -> str:
    """The calls numbered as the findings number them, then what was found."""
    wrong = {index for finding in findings(run) for index in finding["calls"]}
    wrong |= {index for policy in violated(run) for index in policy["violations"]}
    rows = [
        [f"{'!' if i in wrong else ' '}{i}", call["name"], call.get("id") or "-", call.get("error") or "ok"]
        for i, call in enumerate(run["calls"])
    ]
    said = [plain(finding["explanation"]) for finding in findings(run)]
    said += [policy_text(policy, indent="  ") for policy in violated(run)]
    said += [f"[{policy['policy']}] still open: {plain(policy['explanation'])}" for policy in pending(run)]
    parts = [f"run {run['id']}: {headline(run)}", table(["call", "tool", "id", "result"], rows)]
    if run.get("trouble"):
        parts += [f"not tested to the end: {plain(trouble_text(run['trouble']))}"]
    if waits := run.get("waits"):
        parts += [f"note: {plain(waiting(waits, run['status']))}"]
    parts += [f"note: {plain(problem)}" for problem in run.get("problems", ())]
    parts += [f"- {line}" for line in said]
    parts += [f"suggested rule, not judged: {plain(text)}" for text in suggested(run)]
    return "\n".join([*parts, metrics_text(run["metrics"])])


def trouble_text(said: dict[str, Any]) -> str:
    from synth.formal import trouble_from_json

    return str(trouble_from_json(said))


def metrics_text(metrics: dict[str, Any]) -> str:
    """The numbers that are known, in the terminal's width."""
    known = {name: value for name, value in metrics.items() if value not in (None, {})}
    whole = (f"{name} {metric_value(value)}".replace(" ", NO_BREAK) for name, value in known.items())
    text = textwrap.fill(f"metrics:{NO_BREAK}{', '.join(whole)}", terminal_width(), subsequent_indent="  ")
    return text.replace(NO_BREAK, " ")


def metric_value(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{plain(name)} {count}" for name, count in value.items()) + ")"
    return f"{value:.3g}" if isinstance(value, float) and value < 1000 else f"{value:.0f}"


def headline(run: dict[str, Any]) -> str:
    """The outcome in a few words."""
    verdict, policies = run.get("verdict"), run.get("policies", ())
    if verdict:
        return (
            f"{verdict['outcome']} ({verdict['error_type']})" if verdict["error_type"] else verdict["outcome"]
        )
    if not policies:
        return "bound to no case and no policy"
    kept = sum(policy["verdict"] == "ok" for policy in policies)
    still = f", {len(pending(run))} still open" if pending(run) else ""
    return f"{len(violated(run))} of {len(policies)} policies violated, {kept} kept{still}"


def findings(run: dict[str, Any]) -> list[dict[str, Any]]:
    verdict = run.get("verdict")
    return [f for f in verdict["findings"] if f["type"] != "note"] if verdict else []


def suggested(run: dict[str, Any]) -> list[str]:
    """Sentences of the request that could be rules; older collectors tell of none."""
    return list(run.get("suggested_rules", ()))


def violated(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [policy for policy in run.get("policies", ()) if policy["verdict"] == "violated"]


def pending(run: dict[str, Any]) -> list[dict[str, Any]]:
    """What a later call of the run, or of its conversation, may still keep."""
    return [policy for policy in run.get("policies", ()) if policy.get("pending")]


@command.command("export")
@collector_option
@filters
def export(url: str, **wanted: Any) -> None:
    """Write run records as JSON lines, as `pdoctor check` reads them."""
    with clear_errors(), Collector(url) as collector:
        for item in collector.pages("/runs", limit=200, **wanted):
            write_json(collector.record(item["id"]))


command.add_command(import_command)

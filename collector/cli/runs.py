"""`pdoctor runs`: look at, show and export what a running collector knows."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from collector.cli.console import (
    clear_errors,
    collector_option,
    color_option,
    colored,
    exit_code,
    in_width,
    json_option,
    look_at,
    plain,
    policy_text,
    table,
    terminal_width,
    told_of,
    write_json,
)
from collector.cli.imports import command as import_command
from collector.ui.words import waiting
from synth.client import Collector, named
from synth.counted import counted
from synth.errors import BadInput

Verb = TypeVar("Verb", bound=Callable[..., Any])


@click.group("runs")
def command() -> None:
    """Look at the runs of a collector: list, show, tail, export, import."""


NO_BREAK = "\u00a0"
TIME = "2026-11-20T10:00:00Z, 2026-11-20 or Unix seconds"
FILTERS = {
    "case": "Only runs bound to this case (its id).",
    "policy": "Only runs that a policy with this id was judged on.",
    "outcome": "Only this outcome: pass, fail, open, undecided, error or 'not judged'.",
    "error_type": "Only runs with such an error: order_error, action_lost, ...",
    "agent": "Only runs of this agent.",
    "service": "Only runs of this service.",
    "version": "Only runs of this version.",
    "prompt": "Only runs with this digest of their system message.",
    "environment": "Only runs of this environment.",
    "tool": "Only runs that called this tool.",
    "since": f"Only runs from then on: {TIME}.",
    "until": "Only runs before then.",
}
"""Option, with a line between its words, and what it leaves."""


def narrowed(*names: str) -> Callable[[Verb], Verb]:
    """Options that leave out runs."""

    def add(function: Verb) -> Verb:
        for name in reversed(names):
            said = f"--{name.replace('_', '-')}"
            function = click.option(said, name, default=None, help=FILTERS[name])(function)
        return function

    return add


filters = narrowed(*FILTERS)


@command.command("list")
@collector_option
@filters
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@color_option
@json_option
def list_runs(url: str, limit: int, as_json: bool, **wanted: Any) -> None:
    """List the newest runs. Exit code as for `pdoctor check`, by their outcomes.

    \b
    pdoctor runs list --outcome fail --agent support --since 2026-11-20
    pdoctor runs list --tool refund --json
    """
    with clear_errors(), Collector(url) as collector:
        items = collector.get("/runs", limit=limit, **wanted)["items"]
        if as_json:
            for item in items:
                write_json(item)
        else:
            click.echo(run_table(items) if items else nothing(wanted))
        raise SystemExit(exit_code(item["outcome"] for item in items if item.get("outcome")))


EMPTY = "No run yet. Put `import pdoctor_trace` on top of your agent's program and run it."


def nothing(wanted: dict[str, Any]) -> str:
    """Why a list of runs is empty."""
    chosen = [(name, wanted[name]) for name in FILTERS if wanted.get(name)]
    asked = [f"--{name.replace('_', '-')} {plain(value)}" for name, value in chosen]
    return (
        f"No run matches {', '.join(asked)}; without these, `pdoctor runs list` has all." if asked else EMPTY
    )


def run_table(items: list[dict[str, Any]]) -> str:
    """One run a line; its id is never cut."""
    return table(["run", "agent", "calls", "outcome", "error"], map(run_row, items), whole=["run", "outcome"])


def run_row(item: dict[str, Any]) -> list[Any]:
    agent = item.get("agent") or (item.get("service") or "-").removeprefix("unknown_service:")
    outcome = item.get("outcome") or (NOT_JUDGED if item.get("judged", True) else WAITING)
    calls = item.get("calls_count")
    return [item["id"], agent, "-" if calls is None else calls, outcome, item.get("error_type") or "-"]


NOT_JUDGED = "not judged"
"""No case and no policy is for the run."""

WAITING = "waiting"
"""The collector has yet to judge the run."""


@command.command("show")
@click.argument("run_id", default="latest")
@click.option("--open", "opens", is_flag=True, help="Open its page in a browser.")
@collector_option
@color_option
@json_option
def show(run_id: str, opens: bool, url: str, as_json: bool) -> None:
    """Show one run: its calls and what was found. Without RUN_ID: the newest.

    The first six characters of an id are enough where one run begins so.

    \b
    pdoctor runs show
    pdoctor runs show 93ba9b --open
    """
    with clear_errors(), Collector(url) as collector:
        run = settled(collector, run_id, seconds=LOOKED_AT)
        if as_json:
            write_json(run)
        else:
            click.echo(run_text(run))
            look_at(f"{collector.url}/runs/{run['id']}")
        if opens:
            click.launch(f"{collector.url}/runs/{run['id']}")
        raise SystemExit(exit_code(results(run)))


def fetch(collector: Collector, run_id: str) -> dict[str, Any]:
    if run_id == "latest":
        newest = collector.get("/runs", limit=1)["items"]
        if not newest:
            raise BadInput(EMPTY)
        run_id = newest[0]["id"]
    return collector.whole(collector.get(named("runs", run_id)))


LOOKED_AT = 10.0
"""Seconds that a run which has just come is given to be judged before it is shown without."""
POLL_SECONDS = 0.1


def settled(collector: Collector, run_id: str, *, seconds: float) -> dict[str, Any]:
    """A run once it has been judged, or as it is when the seconds are over."""
    run = fetch(collector, run_id)
    deadline = time.monotonic() + seconds
    while not is_judged(run) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        run = fetch(collector, run["id"])
    return run


def is_judged(run: dict[str, Any]) -> bool:
    return bool(run.get("judged", True))


def results(run: dict[str, Any]) -> list[str]:
    """The verdict's outcome, if there is one, and every policy's; `open` until it was judged."""
    verdict = run.get("verdict")
    found = [*([verdict["outcome"]] if verdict else []), *(p["verdict"] for p in run.get("policies", ()))]
    return found if is_judged(run) else [*found, "open"]


def run_text(run: dict[str, Any]) -> str:
    """The calls numbered as the findings number them, then what was found."""
    wrong = {index for finding in findings(run) for index in finding["calls"]}
    wrong |= {index for policy in violated(run) for index in policy["violations"]}
    rows = [call_row(run, i, call, wrong=i in wrong) for i, call in enumerate(run["calls"])]
    said = [in_width(plain(finding["explanation"]), "  ") for finding in findings(run)]
    said += [policy_text(policy, indent="  ") for policy in violated(run)]
    said += [f"[{policy['policy']}] still open: {plain(policy['explanation'])}" for policy in pending(run)]
    head = colored(headline(run), run.get("outcome"))
    parts = [f"run {run['id']}: {head}", table(["call", "tool", "arguments", "result"], rows)]
    if run.get("trouble"):
        parts += [f"not tested to the end: {plain(trouble_text(run['trouble']))}"]
    if waits := run.get("waits"):
        parts += [f"note: {plain(waiting(waits, run['status']))}"]
    parts += [f"note: {plain(problem)}" for problem in run.get("problems", ())]
    parts += [f"- {line}" for line in said]
    parts += [f"suggested rule, not judged: {plain(text)}" for text in suggested(run)]
    return "\n".join([*parts, metrics_text(run["metrics"])])


def call_row(run: dict[str, Any], index: int, call: dict[str, Any], *, wrong: bool) -> list[str]:
    """A call: who made it where that is another agent than the run's, with what, and how it ended."""
    agent = call.get("agent")
    by = f" by {agent}" if agent not in (None, run.get("agent")) else ""
    arguments = call.get("arguments")
    given = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    if arguments in (None, {}):
        given = "-"
    ended = call.get("error") or ("ok" if call.get("executed") is not False else "did not run")
    if call.get("execution") == "unknown":
        ended = "not known"
    return [f"{'!' if wrong else ' '}{index}", call["name"] + by, given[:LONGEST], ended]


LONGEST = 400
"""Characters of arguments that are shown at most; a narrow terminal shows fewer."""


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
    if not is_judged(run):
        return "waits to be judged; ask again in a moment"
    if verdict:
        return (
            f"{verdict['outcome']} ({verdict['error_type']})" if verdict["error_type"] else verdict["outcome"]
        )
    if not policies:
        return "bound to no case and no policy"
    kept = sum(policy["verdict"] == "ok" for policy in policies)
    still = f", {len(pending(run))} still open" if pending(run) else ""
    return f"{len(violated(run))} of {counted(len(policies), 'policy')} violated, {kept} kept{still}"


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


@command.command("tail")
@collector_option
@filters
@click.option("--every", type=click.FloatRange(0.1), default=1.0, show_default=True, metavar="SECONDS")
@click.option("--runs", type=click.IntRange(1), default=None, metavar="N", help="Stop after so many.")
@color_option
@json_option
def tail(url: str, every: float, runs: int | None, as_json: bool, **wanted: Any) -> None:
    """Follow the runs: one line for each that comes or is judged anew, until Ctrl-C.

    \b
    pdoctor runs tail --outcome fail
    """
    with clear_errors(), Collector(url) as collector:
        known = {item["id"]: item for item in newest(collector, wanted)}
        shown = 0
        while shown != runs:
            time.sleep(every)
            news = [one for one in newest(collector, wanted) if one["judged"] and known.get(one["id"]) != one]
            for item in news[::-1][: None if runs is None else runs - shown]:
                known[item["id"]] = item
                shown += 1
                if as_json:
                    write_json(item)
                else:
                    click.echo("  ".join(colored(plain(str(cell))) for cell in run_row(item)))


def newest(collector: Collector, wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """The newest runs that are looked at for news."""
    found: list[dict[str, Any]] = collector.get("/runs", limit=TAILED, **wanted)["items"]
    return found


TAILED = 200


@command.command("export")
@collector_option
@filters
def export(url: str, **wanted: Any) -> None:
    """Write run records as JSON lines, as `pdoctor check` reads them.

    \b
    pdoctor runs export --outcome fail > failed.jsonl
    pdoctor runs export --agent support | pdoctor check - --policies support.yaml
    """
    with clear_errors(), Collector(url) as collector:
        for item in told_of(collector.pages("/runs", limit=200, **wanted), "runs exported"):
            write_json(collector.record(item["id"]))


command.add_command(import_command)

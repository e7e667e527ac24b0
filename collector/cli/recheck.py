"""`pdoctor recheck`: judge stored runs again, after cases or policies changed."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from collector.cli.console import (
    TOLD_EVERY,
    address,
    clear_errors,
    color_option,
    exit_code,
    json_option,
    look_at,
    plain,
    policy_text,
    table,
    warning,
    write_json,
)
from collector.cli.runs import FILTERS, NOT_JUDGED, filters, violated
from synth.client import DEFAULT_URL, Collector
from synth.errors import SynthError

PATH = click.Path(path_type=Path, exists=True)
COMPARED = 20_000
"""Runs whose outcomes before and after are compared, the newest."""
SHOWN = 20
POLL_SECONDS = 0.1

Outcomes = Mapping[str, str | None]
"""Run id -> outcome."""
Wanted = Mapping[str, str | None]
"""Filters by name."""
Results = Sequence[dict[str, Any]]
"""Policy results, as the API tells them."""
Warnings = Sequence[Mapping[str, Any]]
"""Tools of the policies that no run shows, as the API tells them."""


@click.command("recheck")
@click.option(
    "--collector",
    "url",
    default=None,
    metavar="URL",
    help=f"A running collector [PDOCTOR_ENDPOINT, else {DEFAULT_URL}].",
)
@click.option("--store", default=None, metavar="URL", help="A store that no collector serves just now.")
@click.option("--cases", type=PATH, default=None, help="With --store: cases to load first.")
@click.option("--policies", type=PATH, default=None, help="With --store: policies to load first.")
@click.option("--wait", type=click.FloatRange(0), default=600.0, show_default=True, metavar="SECONDS")
@filters
@color_option
@json_option
def command(
    url: str | None, store: str | None, cases: Path | None, policies: Path | None, wait: float, as_json: bool,
    **wanted: str | None,
) -> None:  # fmt: skip
    """Judge stored runs again by the cases and policies of now, and say what changed.

    The verdicts so far stay in the history of each run (the newest 50). Exit code as for `pdoctor check`,
    by the outcomes.
    """
    with clear_errors():
        if store is not None and url is not None:
            raise click.UsageError("give --collector or --store, not both")
        if store is None and (cases or policies):
            raise click.UsageError(
                "--cases and --policies go with --store; to a running collector push them first"
            )
        where = in_store(store, cases, policies) if store else at_collector(address(url))
        with where as place:
            before = place.outcomes(wanted)
            count = place.again(wanted)
            place.settle(wait)
            after = {run: outcome for run, outcome in place.outcomes({}).items() if run in before}
            warnings = place.warnings()
            failed = [run for run in changed(before, after) if after[run] == "fail"][:SHOWN]
            broken = {run: violated({"policies": place.policies(run)}) for run in failed}
        code = report(count, before, after, broken, warnings, as_json)
        if store is None and not as_json:
            look_at(f"{address(url)}/")
        raise SystemExit(code)


class Remote:
    """The runs of a running collector."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector

    def outcomes(self, wanted: Wanted) -> Outcomes:
        return outcomes_of(self.collector.pages("/runs", limit=1000, **wanted))

    def again(self, wanted: Wanted) -> int:
        asked = {name: value for name, value in wanted.items() if value is not None}
        return int(self.collector.post("/recheck", asked)["runs"])

    def settle(self, seconds: float) -> None:
        until_none(lambda: int(self.collector.get("/stats")["unchecked"]), seconds)

    def policies(self, run: str) -> Results:
        found: Results = self.collector.get(f"/runs/{run}")["policies"]
        return found

    def warnings(self) -> Warnings:
        return [unseen for file in self.collector.get("/policies")["items"] for unseen in file["warnings"]]


class Local:
    """The runs in a store, with a checker process of our own."""

    def __init__(self, store: Any, supervisor: Any, project: int) -> None:
        self.store, self.supervisor, self.project = store, supervisor, project

    def outcomes(self, wanted: Wanted) -> Outcomes:
        from collector.store import reads

        with self.store.read() as connection:
            found = reads.list_runs(connection, self.project, filter_of(wanted), limit=COMPARED)
            return {row["key"]: row["outcome"] for row in found.rows}

    def again(self, wanted: Wanted) -> int:
        from collector.store.recheck import make_due

        count = make_due(self.store, self.project, filter_of(wanted), now=time.time())
        self.supervisor.wake()
        return count

    def settle(self, seconds: float) -> None:
        from collector.store import reads

        def waiting() -> int:
            with self.store.read() as connection:
                return int(reads.stats(connection, self.project)["unchecked"])

        until_none(waiting, seconds)

    def policies(self, run: str) -> Results:
        from collector.api.runs import entry_of
        from collector.store import reads

        with self.store.read() as connection:
            row = reads.one_run(connection, self.project, run)
            newest = reads.history(connection, row["id"])[-1:] if row is not None else []
            entries = [entry_of(connection, self.project, run, one) for one in newest]
        return [result for entry in entries for result in entry.body["policies"]]

    def warnings(self) -> Warnings:
        from collector.judging.names import names_of, warnings
        from collector.judging.policies import load_all, readable, stored_files
        from collector.store import catalog

        with self.store.read() as connection:
            names = names_of(connection, self.project)
            files = stored_files(catalog.active_policies(connection, self.project))
        return [unseen for file in load_all(readable(files)).files for unseen in warnings(file, names)]


def filter_of(wanted: Wanted) -> Any:
    """The options as a filter of the store."""
    from collector.api.runs import run_filter

    all_of = {name: wanted.get(name) for name in FILTERS}
    return run_filter(**all_of)


@contextmanager
def at_collector(url: str) -> Iterator[Remote]:
    with Collector(url) as collector:
        yield Remote(collector)


@contextmanager
def in_store(url: str, cases: Path | None, policies: Path | None) -> Iterator[Local]:
    from collector.access import DEFAULT_PROJECT
    from collector.pipeline.supervisor import Supervisor
    from collector.service import load_files
    from collector.settings import Settings
    from collector.store import open_store
    from collector.store.engine import project_id

    store = open_store(url)
    try:
        project = project_id(store, DEFAULT_PROJECT)
        load_files(store, project, cases, policies, now=time.time())
        supervisor = Supervisor(store, Settings(store_url=url))
        try:
            yield Local(store, supervisor, project)
        finally:
            supervisor.close()
    finally:
        store.close()


def outcomes_of(items: Iterable[Mapping[str, Any]]) -> Outcomes:
    found: dict[str, str | None] = {}
    for item in items:
        found[item["id"]] = item["outcome"]
        if len(found) == COMPARED:
            break
    return found


def until_none(waiting: Any, seconds: float) -> None:
    """Return once `waiting` counts nothing any more; SynthError when time is up."""
    end, next_word = time.monotonic() + seconds, time.monotonic() + TOLD_EVERY
    while left := waiting():
        if sys.stderr.isatty() and time.monotonic() > next_word:
            click.echo(f"{left} runs wait to be judged", err=True)
            next_word = time.monotonic() + TOLD_EVERY
        if time.monotonic() > end:
            raise SynthError(f"{left} runs are not judged yet after {seconds:g} s; --wait gives more time")
        time.sleep(POLL_SECONDS)


def changed(before: Outcomes, after: Outcomes) -> list[str]:
    """The runs whose outcome is another one."""
    return [run for run, outcome in after.items() if run in before and before[run] != outcome]


def report(
    count: int,
    before: Outcomes,
    after: Outcomes,
    broken: Mapping[str, Results],
    warnings: Warnings,
    as_json: bool,
) -> int:
    """Say what changed, and by which policies runs fail now; the exit code of the outcomes."""
    others = changed(before, after)
    if as_json:
        outcomes = dict(Counter(map(word, after.values())))
        found = [{"run_id": run, "before": before[run], "after": after[run]} for run in others]
        write_json(
            {"runs": count, "changed": found, "broken": broken, "outcomes": outcomes, "warnings": warnings}
        )
    else:
        click.echo(f"{count} runs judged again, {len(others)} changed")
        if others:
            rows = [[run, before[run] or NOT_JUDGED, after[run] or NOT_JUDGED] for run in others[:SHOWN]]
            click.echo(table(["run", "before", "after"], rows))
        if len(others) > SHOWN:
            click.echo(f"... and {len(others) - SHOWN} more; --json lists them all.")
        for run, results in broken.items():
            lines = (f"  - {policy_text(result, indent='    ')}" for result in results)
            click.echo("\n".join(["", plain(run), *lines]) if results else "", nl=bool(results))
        for unseen in warnings:
            click.echo(warning(unseen["policies"], unseen["explanation"]))
    return exit_code(outcome for outcome in after.values() if outcome)


def word(outcome: str | None) -> str:
    return outcome or "unbound"

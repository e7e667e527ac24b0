"""`pdoctor drift`: each rule over weeks and versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from collector.cli.compare import shown
from collector.cli.console import (
    clear_errors,
    collector_option,
    color_option,
    json_option,
    table,
    told_while,
    write_json,
)
from collector.cli.runs import narrowed
from synth.client import Collector


@click.command("drift")
@collector_option
@narrowed("policy", "agent", "service", "environment", "since", "until")
@color_option
@json_option
def command(url: str, as_json: bool, **wanted: Any) -> None:
    """Each rule by version and week: runs it applied to, violations, changes.

    Exit code 1 where a rate of violations rose beyond chance.

    \b
    pdoctor drift --since 2026-10-01
    """
    with clear_errors(), Collector(url) as collector:
        with told_while("looking through the runs"):
            items = collector.get("/drift", **wanted)["items"]
        if as_json:
            for item in items:
                write_json(item)
        else:
            click.echo(drift_text(items))
        raise SystemExit(int(any(map(has_risen, items))))


def has_risen(item: Mapping[str, Any]) -> bool:
    return bool(item["changed"]) and item["violations"]["rate"] > item["before"]["rate"]


def drift_text(items: list[dict[str, Any]]) -> str:
    if not items:
        return "No complete run was judged by a rule there; `pdoctor recheck` judges stored runs again."
    rows = [
        [i["rule"], i["version"] or "-", i["week"], shown(i["violations"]), shown(i["before"]),
         ("rose" if has_risen(i) else "fell") if i["changed"] else ""]
        for i in items
    ]  # fmt: skip
    return table(["rule", "version", "week of", "violated", "before", "change"], rows)

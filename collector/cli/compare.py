"""`pdoctor compare`: two runs, or all runs of two versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import click

from collector.cli.console import (
    clear_errors,
    collector_option,
    color_option,
    json_option,
    look_at,
    plain,
    table,
    told_while,
    write_json,
)
from collector.cli.runs import narrowed
from synth.client import Collector
from synth.errors import BadInput

FIELDS = ("version", "prompt", "environment", "agent", "service")
NARROWING = ("agent", "service", "environment", "tool", "policy", "since", "until")
SHOWN = 20


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.option("--by", type=click.Choice(FIELDS), default=None, help="A and B are values, not ids of runs.")
@collector_option
@narrowed(*NARROWING)
@color_option
@json_option
def command(a: str, b: str, by: str | None, url: str, as_json: bool, **wanted: Any) -> None:
    """Compare two runs, or all complete runs of two versions.

    Exit code 1 where the rate of failures or of a rule's violations rose from A to B, beyond chance.

    \b
    pdoctor compare 76217e 9c01aa
    pdoctor compare --by version 1.4 1.5 --since 2026-11-01
    """
    with clear_errors(), Collector(url) as collector:
        with told_while("comparing"):
            said = collector.get("/compare", a=a, b=b, by=by, **wanted)
        if by is not None:
            must_have_runs(said)
        if as_json:
            write_json(said)
        else:
            click.echo(runs_text(said) if by is None else populations_text(said))
            chosen = {"a": a, "b": b, "by": by, **wanted}
            asked = urlencode({name: value for name, value in chosen.items() if value})
            look_at(f"{collector.url}/compare?{asked}")
        raise SystemExit(0 if by is None else int(any(map(is_worse, said["differences"]))))


def must_have_runs(said: Mapping[str, Any]) -> None:
    """BadInput where there is nothing on a side to compare, which would look like no change."""
    sides = dict(zip((said["a"], said["b"]), said["runs"], strict=True))
    if len(sides) == 1:
        raise BadInput(f"{said['by']} {said['a']!r} is on both sides: compare it with another")
    if empty := [side for side, runs in sides.items() if not runs]:
        none = " or ".join(map(repr, empty))
        raise BadInput(f"no complete run of {said['by']} {none}: `pdoctor runs list` shows what there is")


def is_worse(difference: Mapping[str, Any]) -> bool:
    """Is there more of what is wrong in B?"""
    rates = [side.get("rate") or 0.0 for side in (difference["a"], difference["b"])]
    return bool(difference["differs"]) and difference["kind"] in ("outcome", "rule") and rates[1] > rates[0]


def runs_text(said: Mapping[str, Any]) -> str:
    heads = [
        [name, said["a"][name] or "-", said["b"][name] or "-"]
        for name in ("id", "outcome", "error_type", "agent", "version", "model")
    ]
    rows = [[_at(one["a"]), _at(one["b"]), one["tool"], one["how"]] for one in said["calls"]]
    parts = [table(["", "a", "b"], heads, width=200), table(["a", "b", "tool", "call"], rows)]
    first = said["first_difference"]
    parts.append("the calls are the same" if first is None else f"first difference: row {first}")
    for what in ("policies", "metrics"):
        if said[what]:
            rows = [[name, _value(one), _value(other)] for name, (one, other) in said[what].items()]
            parts.append(table([what, "a", "b"], rows))
    return "\n\n".join(parts)


def _at(place: int | None) -> str:
    return "-" if place is None else str(place)


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def populations_text(said: Mapping[str, Any]) -> str:
    a, b = said["runs"]
    lines = [f"{said['by']} {plain(said['a'])}: {a} complete runs; {plain(said['b'])}: {b}"]
    lines.append(
        f"{said['pairs']} cases were run in both: they are compared as pairs"
        if said["pairs"]
        else "no equal cases: the runs are compared as they are"
    )
    outcomes = sorted({*said["outcomes"][0], *said["outcomes"][1]})
    rows = [[name, *(one.get(name, 0) for one in said["outcomes"])] for name in outcomes]
    lines += ["", table(["outcome", "a", "b"], rows), ""]
    first = [one for one in said["differences"] if one["differs"] or one["kind"] == "outcome"]
    others = [one for one in said["differences"] if one not in first]
    lines.append(
        table(["", "what", "a", "b", "p, adjusted", "differs"], map(_row, [*first, *others[:SHOWN]]))
    )
    if len(others) > SHOWN:
        lines.append(f"... and {len(others) - SHOWN} more that do not differ; --json lists them all")
    if said["smallest_change"] is not None:
        lines += ["", f"so many runs show a change of the rate of failures by {said['smallest_change']:.1%} "
                  f"with a chance of {said['power']:.0%}; a smaller one may be missed"]  # fmt: skip
    for name, word in (("newly_failing", "newly failing"), ("newly_passing", "newly passing")):
        if said[name]:
            more = said[f"{name}_count"] - len(said[name])
            lines.append(
                f"{word}: {', '.join(map(plain, said[name]))}" + (f" and {more} more" if more else "")
            )
    return "\n".join(lines)


def _row(one: Mapping[str, Any]) -> list[str]:
    name = "failed" if one["kind"] == "outcome" else one["name"]
    return [
        one["kind"],
        name,
        shown(one["a"]),
        shown(one["b"]),
        f"{one['adjusted']:.2g}",
        "yes" if one["differs"] else "",
    ]


def shown(side: Mapping[str, Any]) -> str:
    """A rate or a mean with its interval."""
    value = side.get("rate", side.get("mean"))
    if value is None:
        return "-"
    if "rate" in side:
        low, high = side["interval"]
        return f"{side['hits']}/{side['trials']} {value:.0%} [{low:.0%}, {high:.0%}]"
    bounds = side["interval"]
    return f"{value:.4g}" if bounds is None else f"{value:.4g} [{bounds[0]:.4g}, {bounds[1]:.4g}]"

"""`pdoctor serve`: the collector and its web pages. Its options are the table in `collector.settings`."""

from __future__ import annotations

from dataclasses import Field, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from collector.cli.console import clear_errors, fail
from collector.settings import PORTS, Settings


def command_of(table: type[Settings]) -> click.Command:
    """The verb, with an option for every setting of the table that names one."""

    @click.command("serve", params=options(table))
    def serve(**given: Any) -> None:
        """Receive OTLP traces, judge the runs and show them at http://HOST:PORT/.

        Beyond loopback it needs an API key in its store (`pdoctor keys create`).
        """
        run(table(**given))

    return serve


def options(table: type[Settings]) -> list[click.Parameter]:
    """In the order of the table."""
    types = get_type_hints(table)
    return [option_of(one, types[one.name]) for one in fields(table) if one.metadata["option"]]


def option_of(setting: Field[Any], annotated: Any) -> click.Option:
    """The option of one setting; what values it takes follows from the type of its field."""
    told = setting.metadata
    return click.Option(
        [told["option"], setting.name],
        help=told["help"],
        metavar=told["metavar"],
        envvar=told["variables"],
        **_values(annotated, setting.default, told["within"] or (None, None)),
    )


def _values(annotated: Any, default: Any, within: tuple[Any, Any]) -> dict[str, Any]:
    kinds = get_args(annotated)
    kind = kinds[0] if NoneType in kinds else annotated
    if kind is bool:
        return {"is_flag": True}
    if get_origin(kind) is tuple:
        return {"multiple": True}
    if kind is int and NoneType in kinds:
        return {"callback": port_or_off, "default": str(default), "show_default": True}
    types: dict[Any, Any] = {
        int: click.IntRange(*within),
        float: click.FloatRange(*within),
        Path: click.Path(path_type=Path),
        str: str,
    }
    taken = click.Choice(get_args(kind)) if get_origin(kind) is Literal else types[kind]
    return {"type": taken, "default": default, "show_default": True}


def port_or_off(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """A port, or None for `off`."""
    if value == "off":
        return None
    lowest, highest = PORTS
    if not value.isdigit() or not lowest <= int(value) <= highest:
        raise click.BadParameter(f"{value!r}: expected a port from {lowest} to {highest}, or off")
    return int(value)


def run(settings: Settings) -> None:
    """Serve until interrupted; what keeps it from that is told in one line."""
    with clear_errors():
        from collector.server import serve
        from synth.judge.rules import Rules

        for share in (settings.z3_check, settings.z3_check_policies):
            Rules(z3=share)  # said here, before anything listens, where it is no share that Z3 understands
        try:
            serve(settings)
        except OSError as error:
            fail(error.strerror or str(error))


command = command_of(Settings)

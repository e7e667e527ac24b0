"""`pdoctor synth`: cases as JSON lines."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any

import click
import orjson

from collector.cli.console import clear_errors, progress

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def number_range(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """`N` or `LO..HI` as a pair of integers."""
    if value is None:
        return None
    low, dots, high = value.partition("..")
    try:
        pair = int(low), int(high if dots else low)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor a range such as 3..5") from None
    least = 0 if param.name == "replans" else 1
    if pair[0] < least or pair[0] > pair[1]:
        raise click.BadParameter(f"{value!r}: expected {least} <= LO <= HI")
    return pair


def day(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """`HH:MM..HH:MM` as minutes after midnight."""
    if value is None:
        return None
    try:
        begin, end = (
            int(hours) * 60 + int(minutes)
            for hours, minutes in (time.split(":") for time in value.split(".."))
        )
    except ValueError:
        raise click.BadParameter(f"{value!r}: expected a day such as 09:00..18:00") from None
    if not 0 <= begin < end <= 24 * 60:
        raise click.BadParameter(f"{value!r}: expected 00:00 <= begin < end <= 24:00")
    return begin, end


def sizes(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Any:
    """`NAME=VALUE`, several times, as `Sizes`."""
    from dataclasses import fields, replace

    from synth.language.expansion import Sizes

    if not values:
        return None
    made = Sizes()
    known = [field.name for field in fields(Sizes)]
    value: Any
    for said in values:
        name, _, text = said.partition("=")
        if name not in known:
            raise click.BadParameter(f"{said!r}: expected NAME=VALUE with NAME one of {', '.join(known)}")
        old = getattr(made, name)
        try:
            value = tuple(map(float, text.split(","))) if isinstance(old, tuple) else type(old)(text)
        except ValueError:
            raise click.BadParameter(f"{said!r}: expected a number as in {name}={old}") from None
        numbers = value if isinstance(value, tuple) else (value,)
        if len(numbers) != (len(old) if isinstance(old, tuple) else 1) or min(numbers) < 0:
            raise click.BadParameter(f"{said!r}: expected numbers from 0 upward, as many as in {name}={old}")
        made = replace(made, **{name: value})
    return made


def range_option(name: str, default: str | None, about: str) -> Decorator:
    return click.option(
        name, callback=number_range, default=default, show_default=True, metavar="N|LO..HI", help=about
    )


OPTIONS: tuple[Decorator, ...] = (
    range_option("--actions", "3..5", "Actions in a case."),
    click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same bytes."),
    click.option("--mode", type=click.Choice(["order", "timed"]), default="order", show_default=True),
    click.option(
        "--stop", type=click.Choice(["covered", "saturated", "count"]), default="covered", show_default=True,
        help="End a paragraph when every action is mentioned, when nothing new can be said, or by count.",
    ),
    range_option("--valid-plans", None, "Keep cases with so many valid orders."),
    click.option("--max-sentences", type=click.IntRange(1), default=None, help="Sentences in a paragraph."),
    click.option("--max-tries", type=click.IntRange(1), default=None, help="Failed candidates in a row."),
    click.option(
        "--decider", type=click.Choice(["closure", "z3"]), default="closure", show_default=True,
        help="What rejects a contradictory candidate.",
    ),
    click.option(
        "--replans", callback=number_range, default=None, metavar="N|LO..HI",
        help="Timed: keep cases in which a right planner starts over so often.",
    ),
    click.option(
        "--horizon", callback=day, default=None, metavar="HH:MM..HH:MM", help="Timed: the working day.",
    ),
    click.option(
        "--sizes", callback=sizes, multiple=True, metavar="NAME=VALUE",
        help="Shape of sentences: relative, depth, list_length, parts, join, clock, forms, ...",
    ),
    click.option("--topic", default=None, help="Name of a topic; default: drawn by the seed."),
    click.option("--tools", default=None, help="Draw over your own tools: FILE, module:name or run:ID."),
)  # fmt: skip


def synth_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what cases to draw; `pdoctor test` has them too."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def cases_from(count: int, settings: dict[str, Any]) -> Iterator[Any]:
    """Cases for the values of `OPTIONS`."""
    from synth.cases.generate import Options, generate

    chosen = {name: value for name, value in settings.items() if value is not None}
    seed = chosen.pop("seed")
    return generate(count, seed, Options(**chosen))


@click.command("synth")
@synth_options
@click.option("--cases", "count", type=click.IntRange(1), default=1, show_default=True, help="How many.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to; - is standard output.")
def command(count: int, output: str, **settings: Any) -> None:
    """Write planning problems in English whose constraints are proved satisfiable, as JSON lines."""
    with clear_errors(), opened(output) as stream:
        write_cases(stream, count, settings)


def write_cases(stream: IO[bytes], count: int, settings: dict[str, Any]) -> None:
    with progress(cases_from(count, settings), label="synthesizing", length=count) as cases:
        for case in cases:
            stream.write(orjson.dumps(case.to_json()) + b"\n")


@contextlib.contextmanager
def opened(output: str) -> Iterator[IO[bytes]]:
    """A binary stream to write to; standard output stays open."""
    if output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with open(output, "wb") as stream:
        yield stream

"""What the verbs share: exit codes, clear failures, JSON and tables on standard output."""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from collector.errors import CollectorError
from synth.client import DEFAULT_URL
from synth.errors import BadInput, MissingExtra, SynthError
from synth.kept import look_line

Verb = TypeVar("Verb", bound=Callable[..., Any] | click.Command)


class Exit(IntEnum):
    """Exit codes of every verb."""

    PASSED = 0
    FAILED = 1
    """At least one run failed or one policy is violated."""
    BAD_INPUT = 2
    """Usage, bad input, missing extra or no connection."""
    UNSETTLED = 3
    """Nothing failed, but something is open, undecided, unsupported or an error."""


FAILING = {"fail", "violated"}
UNSETTLED = {"open", "undecided", "unsupported", "error"}


def exit_code(results: Iterable[str]) -> Exit:
    """The exit code for the outcomes of runs and the verdicts of policies."""
    seen = set(results)
    if seen & FAILING:
        return Exit.FAILED
    return Exit.UNSETTLED if seen & UNSETTLED else Exit.PASSED


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """Turn our own errors into one line on standard error and exit code 2, without a traceback."""
    try:
        yield
    except (BadInput, MissingExtra, SynthError) as error:
        fail(str(error))
    except CollectorError as error:
        fail(str(error))
    except FileNotFoundError as error:
        fail(f"{error.filename}: no such file")
    except OSError as error:
        if error.filename is None:
            raise
        fail(f"{error.filename}: {error.strerror}")
    except ModuleNotFoundError as error:
        package = "psycopg[binary]" if error.name == "psycopg" else "pdoctor-trace[all]"
        fail(f"this needs the package '{error.name}': pip install '{package}'")


def look_at(address: str) -> None:
    """The last line of what a verb says: where to see what it did; see `synth.kept.look`."""
    click.echo(look_line(plain(address)))


def fail(message: str) -> None:
    """Say what is wrong on standard error and exit with 2."""
    click.echo(f"pdoctor: {message}", err=True)
    raise SystemExit(Exit.BAD_INPUT)


def text_in(file: str, most: int = -1) -> tuple[str, str]:
    """The text of a file, or of standard input (-), and what it is called in messages."""
    if file != "-":
        from synth.files import text_of

        return text_of(Path(file)), file
    try:
        return sys.stdin.read(most), "standard input"
    except UnicodeDecodeError as problem:
        raise BadInput(f"not UTF-8 text: {problem.reason}", file="standard input") from None


def write_json(value: Any) -> None:
    """One JSON document on one line of standard output."""
    sys.stdout.buffer.write(orjson.dumps(value) + b"\n")
    sys.stdout.buffer.flush()


def progress(items: Iterable[Any], *, label: str, length: int | None = None) -> Any:
    """A progress bar on standard error, silent when that is no terminal: `with progress(...) as items`."""
    return click.progressbar(
        items, label=label, length=length, file=sys.stderr, hidden=not sys.stderr.isatty(), show_pos=True
    )


def at_a_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def asked(question: str) -> bool:
    """What somebody at the terminal answers; no, where they leave."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        return False


TOLD_EVERY = 2.0
"""Seconds between two signs of life."""
Item = TypeVar("Item")


def told_of(items: Iterable[Item], what: str) -> Iterator[Item]:
    """The items; on a terminal it is told now and then how many have come: nobody knows how many will."""
    next_word = time.monotonic() + TOLD_EVERY
    for number, item in enumerate(items, 1):
        yield item
        if sys.stderr.isatty() and time.monotonic() > next_word:
            click.echo(f"{number} {what}", err=True)
            next_word = time.monotonic() + TOLD_EVERY


@contextlib.contextmanager
def told_while(what: str) -> Iterator[None]:
    """On a terminal it is told now and then that `what` still goes on, and for how long."""
    done, began = threading.Event(), time.monotonic()

    def tell() -> None:
        while not done.wait(TOLD_EVERY):
            click.echo(f"{what} ({time.monotonic() - began:.0f} s)", err=True)

    if not sys.stderr.isatty():
        yield
        return
    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def terminal_width() -> int:
    """Columns to write for: the terminal's, 80 where there is none."""
    with contextlib.suppress(OSError, ValueError):
        return max(40, os.get_terminal_size(sys.stdout.fileno()).columns)
    return 80


OUTCOMES = {"outcome", "verdict", "before", "after", "then", "now"}
"""Columns of a table whose words have a colour."""
NARROWEST = 8
"""Columns that a cell of a table keeps, however narrow the terminal is."""


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    width: int | None = None,
    whole: Collection[str] = (),
) -> str:
    """A plain-text table; numbers to the right, the widest columns cut to fit `width`, but never `whole`."""
    cells = [[plain(str(cell)) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(headers), *cells]) for i in range(len(headers))]
    spare = (width or terminal_width()) - sum(widths) - 2 * (len(widths) - 1)
    free = [i for i, header in enumerate(headers) if header not in whole]
    while spare < 0 and free:
        widest = max(free, key=widths.__getitem__)
        second = max((widths[i] for i in free if i != widest), default=0)
        less = max(NARROWEST, min(widths[widest] - 1, second), widths[widest] + spare)
        if less >= widths[widest]:
            break
        spare += widths[widest] - less
        widths[widest] = less
    right = [all(is_number(row[i]) for row in cells) and bool(cells) for i in range(len(headers))]

    def line(values: Sequence[str]) -> str:
        fitted = [
            cut(v, w).rjust(w) if r else cut(v, w).ljust(w)
            for v, w, r in zip(values, widths, right, strict=True)
        ]
        fitted[-1] = fitted[-1].rstrip()
        judged = (
            colored(text) if head in OUTCOMES else text for head, text in zip(headers, fitted, strict=True)
        )
        return "  ".join(judged).rstrip()

    return "\n".join([line(headers), "  ".join("-" * w for w in widths), *map(line, cells)])


def plain(text: str) -> str:
    """The text with control characters spelled out, so that no content can forge lines or colours."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text)


def policy_text(result: Mapping[str, Any], indent: str) -> str:
    """What is wrong by a policy, and below it the rule and the repair, in the terminal's width."""
    from synth.policies.told import told

    first, *more = map(plain, told(result))
    lines = (
        textwrap.fill(
            line, terminal_width(), initial_indent=indent, subsequent_indent=f"{indent}  ",
            break_on_hyphens=False, break_long_words=False,
        )
        for line in more
    )  # fmt: skip
    return "\n".join([colored(in_width(first, indent), result["verdict"]), *lines])


def in_width(text: str, indent: str) -> str:
    """A sentence behind a mark as wide as `indent`, in the width of a terminal; elsewhere in one line."""
    if not sys.stdout.isatty():
        return text
    return textwrap.fill(
        text, terminal_width(), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False,
        break_long_words=False,
    ).removeprefix(indent)  # fmt: skip


def is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("%", "", 1).strip().isdigit() or text in {"", "-"}


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


class Stopwatch:
    """Seconds since it was made: `watch.seconds`."""

    def __init__(self) -> None:
        self.started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


def address(url: str | None) -> str:
    """The collector that a verb asks: the one given, else that of PDOCTOR_ENDPOINT, else on this machine."""
    return url or os.environ.get("PDOCTOR_ENDPOINT") or DEFAULT_URL


collector_option = click.option(
    "--collector",
    "url",
    default=None,
    callback=lambda _context, _option, given: address(given),
    metavar="URL",
    help=f"The running collector [PDOCTOR_ENDPOINT, else {DEFAULT_URL}].",
)


def store_option(verb: str) -> Callable[[Verb], Verb]:
    """`--store` of a verb, with its own variable and the one that all verbs share."""
    variables = [f"PDOCTOR_{verb.upper()}_STORE", "PDOCTOR_STORE"]
    return click.option(
        "--store", "url", default="sqlite:///pdoctor.db", show_default=True, metavar="URL", envvar=variables
    )


OUTCOME_COLORS = {
    **dict.fromkeys(("pass", "ok"), "green"),
    **dict.fromkeys(("fail", "violated"), "red"),
    **dict.fromkeys(("open", "undecided", "unsupported", "pending"), "yellow"),
    "error": "magenta",
}


def is_colored() -> bool:
    """Whether what is written next may have colours: `--color`, else NO_COLOR, else a terminal."""
    context = click.get_current_context(silent=True)
    chosen = None if context is None else context.color
    if chosen is not None:
        return chosen
    return not os.environ.get("NO_COLOR") and sys.stdout.isatty()


def colored(text: str, outcome: str | None = None) -> str:
    """The text in the colour of an outcome, that of a word of its own by default."""
    color = OUTCOME_COLORS.get(outcome or text.strip())
    return click.style(text, fg=color) if color and is_colored() else text


def _choose_color(context: click.Context, _option: click.Parameter, when: str) -> None:
    """What click's `echo` strips, too, follows the choice."""
    if when != "auto":
        context.color = when == "always"


color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    expose_value=False,
    callback=_choose_color,
    help="Colours; auto: on a terminal, without NO_COLOR.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")


def warning(policies: Sequence[str], said: str) -> str:
    """A warning about policies, in 80 columns."""
    about = ", ".join(policies[:5]) + (", ..." if len(policies) > 5 else "")
    return textwrap.fill(
        plain(f"Warning [{about}]: {said}"), 80, subsequent_indent="  ", break_on_hyphens=False
    )

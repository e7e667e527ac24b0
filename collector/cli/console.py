"""What the verbs share: exit codes, clear failures, JSON and tables on standard output."""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, TypeVar

import click
import orjson

from collector.errors import CollectorError
from synth.client import DEFAULT_URL
from synth.errors import BadInput, MissingExtra, SynthError

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
    except (IsADirectoryError, PermissionError) as error:
        fail(f"{error.filename}: {error.strerror}")
    except ModuleNotFoundError as error:
        package = "psycopg[binary]" if error.name == "psycopg" else "pdoctor-trace[all]"
        fail(f"this needs the package '{error.name}': pip install '{package}'")


def fail(message: str) -> None:
    """Say what is wrong on standard error and exit with 2."""
    click.echo(f"pdoctor: {message}", err=True)
    raise SystemExit(Exit.BAD_INPUT)


def write_json(value: Any) -> None:
    """One JSON document on one line of standard output."""
    sys.stdout.buffer.write(orjson.dumps(value) + b"\n")
    sys.stdout.buffer.flush()


def progress(items: Iterable[Any], *, label: str, length: int | None = None) -> Any:
    """A progress bar on standard error, silent when that is no terminal: `with progress(...) as items`."""
    return click.progressbar(
        items, label=label, length=length, file=sys.stderr, hidden=not sys.stderr.isatty(), show_pos=True
    )


def terminal_width() -> int:
    """Columns to write for: the terminal's, 80 where there is none."""
    with contextlib.suppress(OSError, ValueError):
        return max(40, os.get_terminal_size(sys.stdout.fileno()).columns)
    return 80


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], *, width: int | None = None) -> str:
    """A plain-text table; numbers to the right, the widest text column cut to fit `width` columns."""
    cells = [[plain(str(cell)) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(headers), *cells]) for i in range(len(headers))]
    spare = (width or terminal_width()) - sum(widths) - 2 * (len(widths) - 1)
    if spare < 0:
        widest = widths.index(max(widths))
        widths[widest] = max(8, widths[widest] + spare)
    right = [all(is_number(row[i]) for row in cells) and bool(cells) for i in range(len(headers))]

    def line(values: Sequence[str]) -> str:
        fitted = [
            cut(v, w).rjust(w) if r else cut(v, w).ljust(w)
            for v, w, r in zip(values, widths, right, strict=True)
        ]
        return "  ".join(fitted).rstrip()

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
    return "\n".join([first, *lines])


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


collector_option = click.option(
    "--collector", "url", default=DEFAULT_URL, show_default=True, metavar="URL", help="The running collector."
)


def store_option(verb: str) -> Callable[[Verb], Verb]:
    """`--store` of a verb, with its own variable and the one that all verbs share."""
    variables = [f"PDOCTOR_{verb.upper()}_STORE", "PDOCTOR_STORE"]
    return click.option(
        "--store", "url", default="sqlite:///pdoctor.db", show_default=True, metavar="URL", envvar=variables
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")


def warning(policies: Sequence[str], said: str) -> str:
    """A warning about policies, in 80 columns."""
    about = ", ".join(policies[:5]) + (", ..." if len(policies) > 5 else "")
    return textwrap.fill(
        plain(f"Warning [{about}]: {said}"), 80, subsequent_indent="  ", break_on_hyphens=False
    )

"""`pdoctor parse`: a paragraph back to constraints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import orjson

from collector.cli.console import clear_errors, json_option, write_json
from synth.errors import BadInput


@click.command("parse")
@click.argument("file", default="-")
@click.option(
    "--names", metavar="FILE", help='Known actions: a JSON list of {"id", "phrase", "tool"}; default: none.'
)
@json_option
def command(file: str, names: str | None, as_json: bool) -> None:
    """Read the sentences of FILE (- is standard input) as constraints.

    Ambiguity and unknown names are errors that point at the words (exit code 2).
    """
    with clear_errors():
        from synth.constraints import constraint_to_json
        from synth.parse import parse

        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        parsed = parse(text, known_names(names))
        constraints = [constraint_to_json(constraint) for constraint in parsed.constraints]
        if as_json:
            write_json({"constraints": constraints})
            return
        for constraint in constraints:
            click.echo(orjson.dumps(constraint).decode())


def known_names(file: str | None) -> list[Any]:
    """The list in `file`, checked for its form."""
    if file is None:
        raise BadInput('no names given: --names FILE with a JSON list of {"id", "phrase", "tool"}')
    try:
        names = orjson.loads(Path(file).read_bytes())
    except orjson.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error}", file=file, line=error.lineno) from error
    if not isinstance(names, list):
        raise BadInput(f"expected a list, got {type(names).__name__}", file=file)
    return names

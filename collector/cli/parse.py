"""`pdoctor parse`: a paragraph back to constraints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from collector.cli.console import Exit, clear_errors, json_option, write_json
from collector.cli.llm_options import model_options, openai_client
from synth.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from synth.formal.constraints import Constraint


@click.command("parse")
@click.argument("file", default="-")
@click.option("--names", metavar="FILE", help='Known actions: a JSON list of {"id", "phrase", "tool"}.')
@click.option("--llm", is_flag=True, help="FILE is free text: a model proposes sentences, which are checked.")
@model_options
@json_option
def command(
    file: str, names: str | None, llm: bool, model: str | None, base_url: str | None, as_json: bool
) -> None:
    """Read the sentences of FILE (- is standard input) as constraints.

    Ambiguity and unknown names are errors that point at the words (exit code 2). Sentences that
    contradict each other are named, as few as make the contradiction (exit code 1). With --llm, doubt
    about the model's proposal is reported (exit code 3), never silently accepted.
    """
    with clear_errors():
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        text = text.removeprefix("\ufeff")
        known = known_names(names)
        read = extracted(text, known, model, base_url) if llm else parsed(text, known)
        if as_json:
            write_json(read.to_json())
        else:
            click.echo(read.text())
        raise SystemExit(read.exit_code)


class Reading:
    """Constraints, and what speaks against them."""

    def __init__(
        self,
        constraints: Sequence[Constraint],
        conflict: dict[str, Any] | None = None,
        problems: Sequence[str] = (),
        paragraph: str | None = None,
    ) -> None:
        from synth.formal.constraints import constraint_to_json

        self.constraints = [constraint_to_json(constraint) for constraint in constraints]
        self.conflict, self.problems, self.paragraph = conflict, problems, paragraph

    @property
    def exit_code(self) -> Exit:
        if self.conflict:
            return Exit.FAILED
        return Exit.UNSETTLED if self.problems else Exit.PASSED

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"constraints": self.constraints}
        if self.conflict:
            said["conflict"] = self.conflict
        if self.paragraph is not None:
            said |= {"paragraph": self.paragraph, "problems": list(self.problems)}
        return said

    def text(self) -> str:
        lines = [orjson.dumps(constraint).decode() for constraint in self.constraints]
        if self.paragraph is not None:
            lines.insert(0, self.paragraph)
        if self.conflict:
            lines.append(self.conflict["explanation"])
        return "\n".join([*lines, *self.problems])


def parsed(text: str, names: list[Any]) -> Reading:
    from synth.formal.conflict import find_conflict
    from synth.language.parse import parse

    constraints = parse(text, names).constraints
    conflict = find_conflict(constraints)
    if conflict is None:
        return Reading(constraints)
    phrases = {name["id"]: name["phrase"] for name in names}
    explanation = conflict.explain(phrases.__getitem__, text)
    return Reading(constraints, {"sentences": list(conflict.sentences), "explanation": explanation})


def extracted(text: str, names: list[Any], model: str | None, base_url: str | None) -> Reading:
    from synth.llm.extract import extract

    client, name = openai_client(model, base_url)
    found = extract(text, names, client, name)
    return Reading(found.constraints, problems=found.problems, paragraph=found.paragraph or "")


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

"""`pdoctor parse`: a paragraph back to constraints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from collector.cli.console import Exit, clear_errors, json_option, text_in, write_json
from collector.cli.llm_options import Endpoint, model_options
from synth.errors import BadInput
from synth.files import content_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from synth.formal.constraints import Constraint


SAMPLES, REPAIRS = 2, 1
"""Answers of a model that are compared, and how often each may be corrected."""


@click.command("parse")
@click.argument("file", default="-")
@click.option(
    "--names",
    metavar="FILE",
    help='Known actions: a JSON list of {"id", "phrase", "tool"}, or a policy file (.yaml).',
)
@click.option("--llm", is_flag=True, help="FILE is free text: a model proposes sentences, which are checked.")
@model_options
@json_option
def command(file: str, names: str | None, llm: bool, as_json: bool, **settings: Any) -> None:
    """Read the sentences of FILE (- is standard input) as constraints.

    Ambiguity and unknown names are errors that point at the words (exit code 2). Sentences that
    contradict each other are named, as few as make the contradiction (exit code 1). With --llm, doubt
    about the model's proposal is reported (exit code 3), never silently accepted.
    """
    with clear_errors():
        text = text_in(file)[0].removeprefix("\ufeff")
        known = known_names(names)
        read = extracted(text, known, Endpoint.take(settings)) if llm else parsed(text, known)
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


def extracted(text: str, names: list[Any], endpoint: Endpoint) -> Reading:
    from synth.experiments.charged import tokens_of
    from synth.llm.extract import LANGUAGE_RULES, extract

    said = tokens_of(text)
    given = said + tokens_of(LANGUAGE_RULES) + tokens_of(str(names))
    with endpoint.asked(SAMPLES, given, said, 1 + REPAIRS) as (client, name):
        found = extract(text, names, client, name, samples=SAMPLES, repairs=REPAIRS)
    return Reading(found.constraints, problems=found.problems, paragraph=found.paragraph or "")


def known_names(file: str | None) -> list[Any]:
    """The list in `file`, checked for its form, or the actions of a policy file."""
    if file is None:
        raise BadInput(
            'no names given: --names FILE with a JSON list of {"id", "phrase", "tool"}, or a policy file'
        )
    if Path(file).suffix in (".yaml", ".yml"):
        return named_actions(file)
    try:
        names = orjson.loads(content_of(file))
    except orjson.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error}", file=file, line=error.lineno) from error
    if not isinstance(names, list):
        raise BadInput(f"expected a list, got {type(names).__name__}", file=file)
    return names


def named_actions(file: str) -> list[Any]:
    """What the `actions` of a policy file name: one tool each, whose name is the id, too."""
    from synth.policies import load_policies

    found = []
    for phrase, tools in load_policies(Path(file)).actions.items():
        if tools.names == ("*",):  # "any tool", which every policy file has
            continue
        if len(tools.names) != 1 or "*" in tools.names[0]:
            said = ", ".join(tools.names)
            raise BadInput(f"expected one tool, {phrase!r} stands for {said}", file=file, field="actions")
        found.append({"id": tools.names[0], "phrase": phrase, "tool": tools.names[0]})
    return found

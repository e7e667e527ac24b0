"""A recorded run served again: the model `replay:<run_id>` asks for the run's calls turn by turn."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.errors import BadInput
from synth.simulated_model.dialogue import Answer, Ask, Dialogue

Record = Mapping[str, Any]
"""A neutral run record, as JSON has it."""

PREFIX = "replay:"
AIRLINE = Path(__file__).parent.parent / "data" / "airline"
"""A sample of recorded airline-agent runs, see its README."""


def read_records(path: Path) -> tuple[Record, ...]:
    """The run records of a JSON-lines file."""
    with path.open(encoding="utf-8") as lines:
        return tuple(_record(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def _record(path: Path, number: int, line: str) -> Record:
    try:
        record: Record = json.loads(line)
        record["run_id"], record["calls"]
    except (ValueError, KeyError, TypeError) as error:
        wanted = "expected a JSON object with run_id and calls"
        raise BadInput(f"not a run record ({error}); {wanted}", file=str(path), line=number) from error
    return record


def turns(record: Record) -> list[list[Mapping[str, Any]]]:
    """The run's calls, those of one model message together."""
    return [list(calls) for _, calls in itertools.groupby(record["calls"], key=_step)]


def _step(call: Mapping[str, Any]) -> Any:
    """The number of the model message; a call without one is a message of its own."""
    step = call.get("assistant_step", call.get("step"))
    return id(call) if step is None else step


def answer(dialogue: Dialogue, records: Sequence[Record]) -> Answer:
    """The recorded calls of the turn that comes next, with the recorded ids."""
    wanted = dialogue.model.removeprefix(PREFIX)
    record = next((record for record in records if record["run_id"] == wanted), None)
    if record is None:
        raise BadInput(f"no recorded run {wanted!r} is loaded", field="model")
    rest = turns(record)[len(dialogue.turns) :]
    if not rest:
        return Answer("The recorded run ends here.")
    talks = any(call.get("with_text") for call in rest[0])
    return Answer("(The model also talked here.)" if talks else None, tuple(_asks(rest[0])))


def _asks(calls: Iterable[Mapping[str, Any]]) -> Iterable[Ask]:
    for call in calls:
        arguments = call.get("arguments")
        yield Ask(
            call["id"] or "", call["name"], arguments if isinstance(arguments, str) else json.dumps(arguments)
        )

"""A tool plan: steps that call tools, and refer to what earlier steps gave (m&m's, section 3.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from synth.errors import BadInput

REFERENCE = re.compile(r"<node-([0-9]{1,9})>(?:\.(\w+))?")
"""`<node-ID>.key`: the output `key` of the step ID."""
MAX_CHARACTERS = 1_000_000
"""Of a plan that is given as text."""
MAX_DEPTH = 50
"""Of lists and objects in an argument's value."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One call of a plan."""

    id: int
    """What others refer to it by; by default its position."""
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.tool, "args": dict(self.arguments)}


Plan = tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """Where an argument uses an output of another step."""

    argument: str
    node: int
    key: str | None
    """Which output; None = all that the step gave."""
    leads: bool
    """The value begins with it, so that it is the argument; elsewhere it stands within a text."""


def references(step: PlanStep) -> Iterator[Reference]:
    """The references of a step, argument by argument, those in lists and objects included."""
    for argument, value in step.arguments.items():
        for text in _texts(value):
            for found in REFERENCE.finditer(text):
                yield Reference(argument, int(found[1]), found[2], found.start() == 0)


def plan_from_json(said: Any) -> Plan:
    """A plan from a list of `{"id"?, "name", "args"}`, or an object that has it as `nodes` or `plan`.

    BadInput where it is not that.
    """
    if isinstance(said, Mapping):
        said = next((said[name] for name in ("nodes", "plan") if name in said), said)
    if not isinstance(said, list):
        raise BadInput(f"a plan is a list of steps, not {_kind(said)}", field="plan")
    return tuple(_step(one, at) for at, one in enumerate(said))


def readable_plan(said: Any) -> Plan | None:
    """The plan, or None where it cannot be read."""
    try:
        return plan_from_json(said)
    except BadInput:
        return None


def plan_from_text(text: str) -> Plan:
    """A plan from JSON text, also within a Markdown code fence. BadInput where it is not that."""
    if len(text) > MAX_CHARACTERS:
        raise BadInput(f"a plan has at most {MAX_CHARACTERS} characters, not {len(text)}", field="plan")
    try:
        said = json.loads(unfenced(text))
    except RecursionError:
        raise BadInput("the plan is nested too deeply", field="plan") from None
    except ValueError as problem:
        raise BadInput(f"the plan is no JSON: {problem}", field="plan") from None
    return plan_from_json(said)


def unfenced(text: str) -> str:
    """What stands between the first Markdown code fence and its end; all of a text without one."""
    _, fence, rest = text.partition("```")
    if not fence:
        return text.strip()
    first, _, body = rest.partition("\n")
    return (body if first.strip().isalpha() or not first.strip() else rest).partition("```")[0].strip()


def plan_to_json(plan: Sequence[PlanStep]) -> list[dict[str, Any]]:
    return [step.to_json() for step in plan]


def _step(said: Any, at: int) -> PlanStep:
    where = f"plan[{at}]"
    if not isinstance(said, Mapping):
        raise BadInput(f"a step is an object, not {_kind(said)}", field=where)
    id, name, arguments = said.get("id", at), said.get("name"), said.get("args")
    if isinstance(id, str) and id.isascii() and id.isdigit() and len(id) < 10:
        id = int(id)
    if isinstance(id, bool) or not isinstance(id, int) or id < 0:
        raise BadInput("a step's id is a whole number from 0 on", field=f"{where}.id")
    if not isinstance(name, str):
        raise BadInput("a step names its tool: a text", field=f"{where}.name")
    if not isinstance(arguments, Mapping):
        raise BadInput("the arguments of a step are an object", field=f"{where}.args")
    if any(map(too_deep, arguments.values())):
        raise BadInput(f"arguments are nested at most {MAX_DEPTH} deep", field=f"{where}.args")
    return PlanStep(id, name, {str(argument): value for argument, value in arguments.items()})


def too_deep(value: Any) -> bool:
    """Is it nested more than `MAX_DEPTH` deep?"""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level for inner in inside(one)]
        if not level:
            return False
    return True


def inside(value: Any) -> Sequence[Any]:
    """The values in a list or an object; nothing of others."""
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list | tuple) else ()


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        else:
            waiting.extend(reversed(inside(one)))


def _kind(said: Any) -> str:
    return "nothing" if said is None else type(said).__name__

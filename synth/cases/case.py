"""A test case: meaning (constraints), structure (paragraph), wording and topic, with its JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import orjson

from synth.errors import BadInput
from synth.files import MIB, content_of, within
from synth.formal.constraints import (
    Before,
    Constraint,
    constraint_from_json,
    constraint_to_json,
    of_the_day,
    outline_of,
)
from synth.formal.model import Spec

DAY = 24 * 60
"""Minutes."""
CASES_BYTES = 256 * MIB
"""Of one file of cases, a few kB each; read, they take several times as much."""

_FIELDS = (
    "id", "seed", "mode", "query", "paragraph", "topic", "actions", "constraints", "valid_plans", "stop",
    "options", "durations", "horizon", "witness", "statistics", "gold_plan", "alternative_plans",
)  # fmt: skip
_REQUIRED = ("id", "mode", "query", "paragraph", "actions", "constraints")
_REQUIRED_TIMED = ("durations", "horizon", "witness")


@dataclass(frozen=True, slots=True)
class Action:
    """Something the agent must do, and the tool that does it."""

    id: str
    phrase: str
    """The noun phrase that stands for the action in sentences."""
    tool: str
    description: str = ""

    def to_json(self) -> dict[str, str]:
        """The public spelling."""
        return {"id": self.id, "phrase": self.phrase, "tool": self.tool, "description": self.description}


@dataclass(frozen=True, slots=True)
class Case:
    """One synthesized planning problem; `query` is what the agent reads."""

    id: str
    seed: int
    mode: Literal["order", "timed"]
    query: str
    """The full text for the agent; contains `paragraph` exactly once."""
    paragraph: str
    topic: str
    actions: tuple[Action, ...]
    constraints: tuple[Constraint, ...]
    valid_plans: int | None = None
    """Number of orders that keep every constraint (linear extensions), None when counting is too dear."""
    stop: str = "covered"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Everything that, with the seed, makes this case again; `index` is its position in the stream,
    `generator` the version of the words and shapes that are drawn."""
    durations: Mapping[str, int] | None = None
    horizon: tuple[int, int] | None = None
    witness: Mapping[str, int] | None = None
    """Timed mode: a satisfying start (minutes after midnight) for every action."""
    statistics: Mapping[str, Any] = field(default_factory=dict)
    """What making it took: `candidates`; in timed mode `replans`; with Z3 as decider `z3_calls`, `z3_ms`."""
    gold_plan: tuple[Mapping[str, Any], ...] | None = None
    """Calls with arguments that answer the query, `{"id", "name", "args"}` each; None = not stated."""
    alternative_plans: tuple[tuple[Mapping[str, Any], ...], ...] = ()
    """Other such plans."""

    @property
    def spec(self) -> Spec:
        """The meaning alone."""
        return Spec(tuple(a.id for a in self.actions), self.constraints, self.durations, self.horizon)

    def to_json(self) -> dict[str, Any]:
        """The public spelling, see "Case" in `docs/formats.md`."""
        said: dict[str, Any] = {
            "id": self.id,
            "seed": self.seed,
            "mode": self.mode,
            "query": self.query,
            "paragraph": self.paragraph,
            "topic": self.topic,
            "actions": [action.to_json() for action in self.actions],
            "constraints": [constraint_to_json(constraint) for constraint in self.constraints],
            "valid_plans": self.valid_plans,
            "stop": self.stop,
            "options": dict(self.options),
        }
        if self.mode == "timed":
            said |= {
                "durations": dict(self.durations or {}),
                "horizon": list(self.horizon or ()),
                "witness": dict(self.witness or {}),
            }
        if self.statistics:
            said["statistics"] = dict(self.statistics)
        if self.gold_plan is not None:
            said["gold_plan"] = [dict(step) for step in self.gold_plan]
        if self.alternative_plans:
            said["alternative_plans"] = [[dict(step) for step in plan] for plan in self.alternative_plans]
        return said


def read_cases(source: Path | str | IO[Any]) -> list[Case]:
    """Cases from JSON lines, from a path or an open file; BadInput names file, line and field."""
    if isinstance(source, Path | str):
        name = str(source)
        content: Any = content_of(source, CASES_BYTES, what="the cases")
    else:
        name = str(getattr(source, "name", "<stream>"))
        content = within(source.read(CASES_BYTES + 1), CASES_BYTES, name)
    raw = content.encode() if isinstance(content, str) else content
    cases: list[Case] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        case = case_from_json(_json(line, name, number), file=name, line=number)
        if case.id in lines:
            raise BadInput(
                f"the id {case.id!r} was already used in line {lines[case.id]}; ids must differ",
                file=name, line=number, field="id",
            )  # fmt: skip
        lines[case.id] = number
        cases.append(case)
    return cases


def _json(line: bytes, name: str, number: int) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadInput(
            f"not JSON: {error}; expected one case object a line", file=name, line=number
        ) from None


def write_cases(cases: Iterable[Case], target: Path | str | IO[bytes]) -> int:
    """Cases as JSON lines to a path or a binary stream; returns how many there were."""
    written = 0
    with Path(target).open("wb") if isinstance(target, Path | str) else nullcontext(target) as stream:
        for case in cases:
            stream.write(orjson.dumps(case.to_json()) + b"\n")
            written += 1
    return written


# ---------------------------------------------------------------- strict reading


def case_from_json(obj: Any, *, file: str | None = None, line: int | None = None) -> Case:
    """A case from its JSON object; BadInput for anything that is not exactly one."""
    try:
        case = _case(obj)
        _refuse_circles(case)
        _refuse_wrong_witness(case)
        return case
    except BadInput as error:
        raise error.at(file=file, line=line) from None


def _case(obj: Any) -> Case:
    if not isinstance(obj, dict):
        raise BadInput(f"a case is a JSON object, got {_brief(obj)}")
    if "run" in obj and "constraints" not in obj:
        raise BadInput("a case of a recorded run, and no synthesized one: `pdoctor replay FILE` runs those")
    _only_known(obj, _FIELDS, "a case")
    mode = obj.get("mode")
    if mode not in ("order", "timed"):
        raise BadInput(f'expected "order" or "timed", got {_brief(mode)}', field="mode")
    timed = mode == "timed"
    for name in (*_REQUIRED, *(_REQUIRED_TIMED if timed else ())):
        if name not in obj:
            raise BadInput(f"a case in {mode} mode needs this field", field=name)
    for name in () if timed else _REQUIRED_TIMED:
        if obj.get(name) is not None:
            raise BadInput('only timed cases have this; set mode to "timed" or remove it', field=name)
    actions = _actions(obj["actions"])
    ids = {action.id for action in actions}
    query, paragraph = _text(obj, "query"), _text(obj, "paragraph")
    if query.count(paragraph) != 1:
        raise BadInput(
            f"the query must contain the paragraph exactly once, but does {query.count(paragraph)} times; "
            "take both from the same case",
            field="query",
        )
    return Case(
        id=_text(obj, "id"),
        seed=_integer(obj.get("seed", 0), "seed"),
        mode=mode,
        query=query,
        paragraph=paragraph,
        topic=_text(obj, "topic", default=""),
        actions=actions,
        constraints=_constraints(obj["constraints"], ids, timed, len(paragraph)),
        valid_plans=_optional_count(obj.get("valid_plans"), "valid_plans"),
        stop=_text(obj, "stop", default="covered"),
        options=_object(obj, "options"),
        durations=_minutes(obj["durations"], ids, "durations", least=1) if timed else None,
        horizon=_horizon(obj["horizon"]) if timed else None,
        witness=_minutes(obj["witness"], ids, "witness") if timed else None,
        statistics=_object(obj, "statistics"),
        gold_plan=None if obj.get("gold_plan") is None else _plan(obj["gold_plan"], "gold_plan"),
        alternative_plans=_plans(obj.get("alternative_plans", [])),
    )


def _plans(value: Any) -> tuple[tuple[Mapping[str, Any], ...], ...]:
    if not isinstance(value, list):
        raise BadInput(f"expected a list of plans, got {_brief(value)}", field="alternative_plans")
    return tuple(_plan(one, f"alternative_plans[{position}]") for position, one in enumerate(value))


def _plan(value: Any, where: str) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, list):
        raise BadInput(f"expected a list of steps, got {_brief(value)}", field=where)
    for position, step in enumerate(value):
        fits = isinstance(step, dict) and isinstance(step.get("args"), dict)
        if not fits or not isinstance(step.get("name"), str):
            said = f'expected a step with "name" and "args", got {_brief(step)}'
            raise BadInput(said, field=f"{where}[{position}]")
    return tuple(value)


def _refuse_circles(case: Case) -> None:
    circle = outline_of([action.id for action in case.actions], case.constraints).circle()
    if circle:
        said = " and ".join(f"{first!r} before {then!r}" for first, then, _ in circle)
        raise BadInput(f"no plan can keep {said}; the order goes in a circle", field="constraints")


def _refuse_wrong_witness(case: Case) -> None:
    starts, durations = case.witness, case.durations
    if starts is None or durations is None:
        return
    plan = of_the_day(starts, {action: start + durations[action] for action, start in starts.items()})
    for position, constraint in enumerate(case.constraints):
        if not constraint.formula(plan):
            raise BadInput(
                f"it breaks constraints[{position}]: {constraint.words(repr)}; correct one of the two",
                field="witness",
            )


def _only_known(obj: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    known = tuple(known)
    for name in obj:
        if name not in known:
            raise BadInput(f"{what} has no such field (expected {', '.join(known)}); remove it", field=name)


def _text(obj: Mapping[str, Any], name: str, *, default: str | None = None) -> str:
    value = obj.get(name, default)
    if not isinstance(value, str) or (not value and default is None):
        raise BadInput(f"expected text, got {_brief(value)}", field=name)
    return value


def _integer(value: Any, name: str) -> int:
    if type(value) is not int:
        raise BadInput(f"expected an integer, got {_brief(value)}", field=name)
    return value


def _optional_count(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if _integer(value, name) < 0:
        raise BadInput(f"expected a number from 0 or null, got {value}", field=name)
    return int(value)


def _object(obj: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = obj.get(name, {})
    if not isinstance(value, dict):
        raise BadInput(f"expected an object, got {_brief(value)}", field=name)
    return value


def _actions(value: Any) -> tuple[Action, ...]:
    if not isinstance(value, list) or not value:
        raise BadInput(f"expected a list of at least one action, got {_brief(value)}", field="actions")
    actions = tuple(_action(entry, f"actions[{position}]") for position, entry in enumerate(value))
    for name in ("id", "tool"):
        seen: set[str] = set()
        for position, action in enumerate(actions):
            text = getattr(action, name)
            if text in seen:
                raise BadInput(f"{text!r} is used twice; it must differ", field=f"actions[{position}].{name}")
            seen.add(text)
    return actions


def _action(entry: Any, where: str) -> Action:
    if not isinstance(entry, dict):
        raise BadInput(f"an action is an object, got {_brief(entry)}", field=where)
    try:
        _only_known(entry, ("id", "phrase", "tool", "description"), "an action")
        return Action(
            _text(entry, "id"),
            _text(entry, "phrase"),
            _text(entry, "tool"),
            _text(entry, "description", default=""),
        )
    except BadInput as error:
        raise BadInput(error.message, field=f"{where}.{error.field}") from None


def _constraints(value: Any, ids: set[str], timed: bool, length: int) -> tuple[Constraint, ...]:
    if not isinstance(value, list):
        raise BadInput(f"expected a list of constraints, got {_brief(value)}", field="constraints")
    return tuple(
        _constraint(entry, f"constraints[{position}]", ids, timed, length)
        for position, entry in enumerate(value)
    )


def _constraint(entry: Any, where: str, ids: set[str], timed: bool, length: int) -> Constraint:
    try:
        constraint = constraint_from_json(entry)
    except BadInput as error:
        raise BadInput(error.message, field=f"{where}.{error.field}" if error.field else where) from None
    for action in constraint.actions:
        if action not in ids:
            raise BadInput(
                f"{action!r} is not the id of an action of this case (known: {', '.join(sorted(ids))})",
                field=where,
            )
    if not timed and constraint.kind != Before.kind:
        raise BadInput(f"{constraint.kind!r} needs a case in timed mode", field=f"{where}.kind")
    if constraint.span is not None and constraint.span[1] > length:
        raise BadInput(
            f"{list(constraint.span)} is outside the paragraph, which has {length} code points; "
            "spans count code points, not bytes",
            field=f"{where}.span",
        )
    return constraint


def _minutes(value: Any, ids: set[str], name: str, least: int = 0) -> Mapping[str, int]:
    if not isinstance(value, dict):
        raise BadInput(f"expected an object of action id to minutes, got {_brief(value)}", field=name)
    for action in value:
        if action not in ids:
            raise BadInput(f"{action!r} is not the id of an action of this case", field=f"{name}.{action}")
    for action in sorted(ids):
        if action not in value:
            raise BadInput("a timed case needs the minutes of every action", field=f"{name}.{action}")
        if not least <= _integer(value[action], f"{name}.{action}") <= DAY:
            raise BadInput(
                f"expected minutes from {least} to {DAY}, got {value[action]}", field=f"{name}.{action}"
            )
    return value


def _horizon(value: Any) -> tuple[int, int]:
    if not (isinstance(value, list) and len(value) == 2 and all(type(edge) is int for edge in value)):
        raise BadInput(
            f"expected [begin, end] in minutes after midnight, got {_brief(value)}", field="horizon"
        )
    begin, end = value
    if not 0 <= begin < end <= DAY:
        raise BadInput(f"expected 0 <= begin < end <= {DAY}, got {_brief(value)}", field="horizon")
    return begin, end


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

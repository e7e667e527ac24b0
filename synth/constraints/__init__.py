"""Constraint kinds: one file each, one line in `KINDS`; JSON, Z3 and the README read that tuple."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from synth.constraints.before import Before
from synth.constraints.times import Bounded, Bounds, Fixed, Times, Truth
from synth.constraints.windows import EndsBy, StartsFrom, clock
from synth.errors import BadInput

Constraint = Before | EndsBy | StartsFrom

KINDS: tuple[type[Constraint], ...] = (Before, EndsBy, StartsFrom)

DAY = 24 * 60
"""Minutes of a day: the largest clock time."""

_BY_NAME = {kind.kind: kind for kind in KINDS}
_FIELDS = {kind: tuple(f.name for f in fields(kind)) for kind in KINDS}

__all__ = [
    "KINDS", "Before", "Bounded", "Bounds", "Constraint", "EndsBy", "Fixed", "StartsFrom", "Times", "Truth",
    "clock", "constraint_from_json", "constraint_to_json",
]  # fmt: skip


def constraint_to_json(constraint: Constraint) -> dict[str, Any]:
    """The spelling of a Case: `{"kind", ...fields}`; `sentence` and `span` only where they are known."""
    said: dict[str, Any] = {"kind": constraint.kind}
    for name in _FIELDS[type(constraint)]:
        value = getattr(constraint, name)
        if value is not None:
            said[name] = list(value) if name == "span" else value
    return said


def constraint_from_json(said: Any) -> Constraint:
    """The reverse of `constraint_to_json`; BadInput names the field, what came and what was expected."""
    if not isinstance(said, dict):
        raise BadInput(f"a constraint must be an object with a 'kind', got {_brief(said)}")
    kind = _BY_NAME.get(said["kind"]) if isinstance(said.get("kind"), str) else None
    if kind is None:
        known = ", ".join(_BY_NAME)
        raise BadInput(f"unknown kind {_brief(said.get('kind'))} (expected one of {known})", field="kind")
    names = _FIELDS[kind]
    if strange := sorted(set(said) - {"kind", *names}):
        raise BadInput(
            f"a {kind.kind!r} constraint has no such field (expected {', '.join(names)})", field=strange[0]
        )
    return kind(**{name: _read(name, said) for name in names if said.get(name) is not None or _needed(name)})


def _needed(name: str) -> bool:
    return name not in ("sentence", "span")


def _read(name: str, said: dict[str, Any]) -> Any:
    value = said.get(name)
    if name == "span":
        return _span(value)
    if name == "time":
        return _number(name, value, DAY, "minutes after midnight (0 to 1440)")
    if name == "sentence":
        return _number(name, value, None, "a sentence index from 0")
    if not isinstance(value, str) or not value:
        raise BadInput(f"expected the id of an action, got {_brief(value)}", field=name)
    return value


def _number(name: str, value: Any, limit: int | None, wanted: str) -> int:
    if type(value) is not int or value < 0 or (limit is not None and value > limit):
        raise BadInput(f"expected {wanted}, got {_brief(value)}", field=name)
    return value


def _span(value: Any) -> tuple[int, int]:
    if not (isinstance(value, list) and len(value) == 2 and all(type(edge) is int for edge in value)):
        raise BadInput(f"expected [start, end] in code points, got {_brief(value)}", field="span")
    start, end = value
    if not 0 <= start <= end:
        raise BadInput(f"expected 0 <= start <= end, got {_brief(value)}", field="span")
    return start, end


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

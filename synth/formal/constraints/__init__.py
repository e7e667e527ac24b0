"""Constraint kinds: one file each, one line in `KINDS`; JSON, Z3 and docs/adapters.md read that tuple.

Other distributions bring kinds by an entry point (`plugins`); JSON may name those too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from synth.errors import BadInput
from synth.formal.constraints.before import Before
from synth.formal.constraints.fields import Reader, action_id, brief, clock_time, sentence, span
from synth.formal.constraints.outline import ANY_TIME, Kind, Outline, Ran, outline_of
from synth.formal.constraints.plugins import outside_kinds
from synth.formal.constraints.times import (
    Bounded,
    Bounds,
    Fixed,
    Times,
    Truth,
    clock,
    edges_of,
    minutes,
    of_the_day,
)
from synth.formal.constraints.windows import EndsBy, StartsFrom
from synth.formal.order import Edge

Constraint = Kind

KINDS: tuple[type[Constraint], ...] = (Before, EndsBy, StartsFrom)

_BY_NAME = {kind.kind: kind for kind in KINDS}
_WHERE: dict[str, Reader] = {"sentence": sentence, "span": span}
"""Which words state a constraint: fields of every kind that may be missing."""

__all__ = [
    "ANY_TIME",
    "KINDS",
    "Before",
    "Bounded",
    "Bounds",
    "Constraint",
    "EndsBy",
    "Fixed",
    "Kind",
    "Outline",
    "Ran",
    "Reader",
    "StartsFrom",
    "Times",
    "Truth",
    "action_id",
    "clock",
    "clock_time",
    "constraint_from_json",
    "constraint_to_json",
    "edges_of",
    "listed",
    "minutes",
    "of_the_day",
    "outline_of",
    "restated",
    "stated",
]  # fmt: skip


def constraint_to_json(constraint: Constraint) -> dict[str, Any]:
    """The spelling of a Case: `{"kind", ...fields}`; `sentence` and `span` only where they are known."""
    said: dict[str, Any] = {"kind": constraint.kind}
    for name in (*constraint.fields, *_WHERE):
        value = getattr(constraint, name)
        if value is not None:
            said[name] = list(value) if isinstance(value, tuple) else value
    return said


def constraint_from_json(said: Any) -> Constraint:
    """The reverse of `constraint_to_json`; BadInput names the field, what came and what was expected."""
    if not isinstance(said, dict):
        raise BadInput(f"a constraint must be an object with a 'kind', got {brief(said)}")
    kind = _kind_named(said.get("kind"))
    readers = {**kind.fields, **_WHERE}
    if strange := sorted(set(said) - {"kind", *readers}):
        raise BadInput(
            f"a {kind.kind!r} constraint has no such field (expected {', '.join(readers)})", field=strange[0]
        )
    return kind(**{name: _read(name, reader, said.get(name)) for name, reader in readers.items()})


def _kind_named(name: Any) -> type[Constraint]:
    own = isinstance(name, str) and name in _BY_NAME
    known = _BY_NAME if own else _BY_NAME | outside_kinds(tuple(_BY_NAME))
    if not isinstance(name, str) or name not in known:
        raise BadInput(f"unknown kind {brief(name)} (expected one of {', '.join(known)})", field="kind")
    return known[name]


def _read(name: str, reader: Reader, value: Any) -> Any:
    try:
        return reader(value)
    except BadInput as error:
        raise BadInput(error.message, field=name) from None


def restated(outline: Outline, edges: Iterable[Edge]) -> list[Constraint]:
    """An outline as constraints of ours: these edges of its order, and its limits."""
    names = outline.actions
    said: list[Constraint] = [Before(names[a], names[b]) for a, b in edges]
    said += [EndsBy(names[at], outline.latest[at]) for at in sorted(outline.until)]
    said += [StartsFrom(names[at], outline.earliest[at]) for at in sorted(outline.since)]
    return said


def stated(constraint: Constraint, name: Callable[[str], str], paragraph: str = "") -> str:
    """The words of the paragraph that state a constraint, quoted; else the constraint in words."""
    where = constraint.span
    said = paragraph[where[0] : where[1]].strip() if where else ""
    return f"“{said}”" if said else constraint.words(name)


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    every = list(names)
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)

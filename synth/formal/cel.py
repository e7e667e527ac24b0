"""The one edge to CEL: conditions of guards and contracts, compiled once, evaluated over JSON values.

Numbers are normalised on the way in: 4.0 becomes 4, so that JSON written by different tools compares
alike; arithmetic between whole and broken numbers needs `double(...)`, as CEL demands.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from synth.errors import BadInput, MissingExtra
from synth.formal.careful import NOT_KNOWN, functions, marked, rewritten, unmarked
from synth.formal.partly import Unknown

MAX_INT = 2**63 - 1
MAX_TEXT = 10_000
"""Longest condition, characters."""

Lookup = Callable[..., Any]
"""`(name, *arguments) -> value`: how conditions reach the history of a run."""

FUNCTIONS = ("last", "last_call", "earlier")
"""Names that conditions may call; the run in hand answers them."""

_now = threading.local()


class CannotEvaluate(Exception):
    """A condition that compiles cannot be evaluated on these values (a missing key, mixed types)."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled CEL expression."""

    text: str
    program: Any
    names: frozenset[str]
    """Identifiers that occur in it (a superset of its variables)."""
    variables: tuple[str, ...] = ()
    """What it may speak of."""

    def value(
        self, variables: Mapping[str, Any], lookup: Lookup | None = None, *, careful: bool = False
    ) -> Any:
        """Its value as plain JSON types; CannotEvaluate where CEL reports an error.

        `careful`: something is missing from a value; what would need it cannot be evaluated.
        """
        _now.lookup = _marking(lookup) if careful and lookup is not None else lookup
        try:
            if careful:
                program = _careful(self.program, self.variables)
                found = program.eval(data={name: marked(value) for name, value in variables.items()})
            else:
                found = self.program.eval(data=variables)
            if found.type().name() in ("ERROR", "UNKNOWN"):
                raise CannotEvaluate(str(found.value()))
            return unmarked(found.plain_value()) if careful else found.plain_value()
        except (RuntimeError, ValueError, TypeError, RecursionError) as problem:
            raise CannotEvaluate(str(problem).splitlines()[0]) from None
        finally:
            _now.lookup = None

    def holds(
        self, variables: Mapping[str, Any], lookup: Lookup | None = None, *, careful: bool = False
    ) -> bool:
        """Its value, which must be true or false."""
        value = self.value(variables, lookup, careful=careful)
        if isinstance(value, Unknown):
            raise CannotEvaluate(f"{NOT_KNOWN}{value}")
        if not isinstance(value, bool):
            raise CannotEvaluate(f"expected true or false, got {value!r:.60}")
        return value


def condition(text: str, variables: tuple[str, ...], *, boolean: bool = True) -> Condition:
    """Compile a condition over named variables; BadInput with CEL's own message where it is wrong."""
    if len(text) > MAX_TEXT:
        raise BadInput(f"a condition of {len(text)} characters (at most {MAX_TEXT})")
    try:
        program = _environment(variables).compile(text)
    except (RuntimeError, ValueError) as problem:
        raise BadInput(f"not a CEL expression: {_first_line(problem)}") from None
    if boolean and program.return_type().name() not in ("BOOL", "DYN"):
        raise BadInput(
            f"expected a condition (true or false), got one of type {program.return_type().name()}"
        )
    return Condition(text, program, frozenset(re.findall(r"[A-Za-z_]\w*", text)), variables)


def _first_line(problem: Exception) -> str:
    line = str(problem).splitlines()[0]
    return line.removeprefix("INVALID_ARGUMENT: ").removeprefix("ERROR: ").removeprefix("<input>:")


@lru_cache(maxsize=64)
def _environment(variables: tuple[str, ...], *, careful: bool = False) -> Any:
    cel = _library()
    own = [cel.FunctionDecl(name, _overloads(cel, name)) for name in FUNCTIONS]
    return cel.NewEnv(
        variables=dict.fromkeys(variables, cel.Type.DYN),
        functions=[*own, *functions(cel)] if careful else own,
    )


@lru_cache(maxsize=256)
def _careful(program: Any, variables: tuple[str, ...]) -> Any:
    return _environment(variables, careful=True).deserialize(rewritten(program.serialize()))


def _marking(lookup: Lookup) -> Lookup:
    return lambda *asked: marked(lookup(*map(unmarked, asked)))


def _library() -> Any:
    try:
        from cel_expr_python import cel  # type: ignore[import-untyped]
    except ImportError as missing:
        raise MissingExtra("CEL conditions", "synth") from missing
    return cel


def _overloads(cel: Any, name: str) -> list[Any]:
    """`f(tools)`, `f(tools, key)`, `f(tools, field, value)`; CEL matches arguments by their exact type."""
    kinds = cel.Type
    values = (kinds.STRING, kinds.INT, kinds.DOUBLE, kinds.BOOL, kinds.NULL, kinds.LIST, kinds.MAP)
    shapes: list[tuple[Any, ...]] = []
    for tools in (kinds.STRING, kinds.LIST):
        shapes.append((tools,))
        shapes += [(tools, value) for value in values]
        shapes += [(tools, kinds.STRING, value) for value in values]
    return [
        cel.Overload(
            id="_".join((name, *(kind.name() for kind in shape))),
            return_type=kinds.DYN,
            parameters=list(shape),
            impl=_answer(name),
        )
        for shape in shapes
    ]


def _answer(name: str) -> Callable[..., Any]:
    def answer(*arguments: Any) -> Any:
        lookup: Lookup | None = getattr(_now, "lookup", None)
        return None if lookup is None else lookup(name, *arguments)

    return answer


def normal(value: Any) -> Any:
    """A JSON value as CEL takes it: whole numbers as integers, huge ones as doubles, keys as text."""
    if isinstance(value, bool | str | Unknown) or value is None:
        return value
    if isinstance(value, int):
        return value if -MAX_INT <= value <= MAX_INT else float(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < MAX_INT else value
    if isinstance(value, Mapping):
        return {str(key): normal(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [normal(child) for child in value]
    return str(value)

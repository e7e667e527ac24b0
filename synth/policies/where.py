"""What an action may ask of the arguments of its calls: `amount over 500`, `currency other than "EUR"`.

A value that is missing, not known, or of another type than the comparison needs answers nothing: whether the
call is one of the action is open then.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from synth.errors import BadInput
from synth.formal.partly import Unknown, equal
from synth.policies.nouns import Meant, Noun

Op = Literal["<", "<=", ">", ">=", "outside", "inside", "in", "not in", "given", "missing"]
Type = Literal["number", "text", "bool", "name"]
"""A name is a text or a number as a sentence says it: `dock 9`, `csv`."""
Path = tuple[str, ...]
Of = Callable[[Path], Any]
"""The value of an argument; None where it is missing."""

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_CONTRARY: Mapping[Op, Op] = {
    "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in", "outside": "inside",
    "inside": "outside", "given": "missing",
    "missing": "given",
}  # fmt: skip
_SAID: Mapping[Op, str] = {
    "<": "under ", "<=": "of at most ", ">": "over ", ">=": "of at least ", "in": "", "not in": "other than ",
    "outside": "outside ", "inside": "between ", "given": "", "missing": "",
}  # fmt: skip
_NAMED: Mapping[Type, str] = {"number": "a number", "text": "text", "bool": "true or false", "name": "a name"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One argument, compared."""

    path: Path
    op: Op
    type: Type = "text"
    """Of the values: 1 and true are equal in Python, and are none of each other here."""
    values: tuple[float | str, ...] = ()
    unit: str = field(default="", compare=False)
    """What a sentence said after a number (`EUR`), which is not compared."""

    def holds(self, value: Any) -> bool | None:
        """None where the value leaves it open."""
        if self.op in ("given", "missing"):
            return None if isinstance(value, Unknown) else (value in (None, "")) is (self.op == "missing")
        if isinstance(value, Unknown):
            return self._of_unknown(value)
        if self.type == "name":
            return self._of_name(value)
        if type_of(value) != self.type:
            return None
        if self.op in ("inside", "outside"):
            low, high = self.values
            return (low <= value <= high) is (self.op == "inside")
        if self.op in _ORDER:
            return _ORDER[self.op](value, self.values[0])
        return (value in self.values) is (self.op == "in")

    def _of_unknown(self, value: Unknown) -> bool | None:
        """Beginning and length of a text may tell that it is another one."""
        if self.type != "text" or not value.is_text or any(equal(value, v) is None for v in self.values):
            return None
        return self.op == "not in"

    def _of_name(self, value: Any) -> bool | None:
        """Letters may be small or not, `first_class` and `first-class` be words, and a number be in text."""
        if type_of(value) not in ("text", "number") or value == "":
            return None
        noun = plain_name(self.path[-1])
        named = {plain_name(own) for own in self.values}
        either = named | {f"{own} {noun}" for own in named} | {f"{noun} {own}" for own in named}
        return (plain_name(value) in either) is (self.op == "in")

    def why_open(self, value: Any) -> str:
        """What leaves it open, said of the argument."""
        if isinstance(value, Unknown):
            return value.what
        if value is None:
            return "is missing"
        return f"is {_brief(value)}, not {_NAMED[self.type]}"

    @property
    def contrary(self) -> Comparison:
        return Comparison(self.path, _CONTRARY[self.op], self.type, self.values, self.unit)

    @property
    def words(self) -> str:
        """As a sentence says it, with its preposition."""
        name = ".".join(self.path)
        if self.op in ("given", "missing"):
            return f"whose {name} is {self.op}"
        if self.op in ("inside", "outside"):
            return f"with {name} {_SAID[self.op]}{' and '.join(map(_literal, self.values))}"
        of = "of " if self.op == "in" and self.type == "number" else ""
        return f"with {name} {of}{_SAID[self.op]}{' or '.join(map(_literal, self.values))}"

    def examples(self) -> Iterator[Any]:
        """Values near the edge, of which some meet it and some do not; None is no value."""
        if self.op in ("given", "missing"):
            yield from ("given", None)
        elif self.op in ("inside", "outside"):
            low, high = self.values
            yield from (low, high, high + 1, low - 1)  # type: ignore[operator]
        elif self.type == "number":
            first = self.values[0]
            whole = int(first) if float(first).is_integer() else first
            yield from (whole, whole + 1, whole - 1, *self.values[1:])  # type: ignore[operator]
        elif self.type == "bool":
            yield from (True, False)
        else:
            yield from (*self.values, "something else")


@dataclass(frozen=True, slots=True)
class Where:
    """Comparisons that must all hold."""

    every: tuple[Comparison, ...]

    def holds(self, of: Of) -> bool | None:
        answers = [one.holds(of(one.path)) for one in self.every]
        return False if False in answers else (None if None in answers else True)

    def why_open(self, of: Of) -> tuple[Path, str]:
        """(argument, what leaves it open), of the first that does."""
        return next(
            (one.path, one.why_open(value))
            for one in self.every
            if one.holds(value := of(one.path)) is None
        )  # fmt: skip

    @property
    def words(self) -> str:
        return " and ".join(one.words for one in self.every)

    @property
    def by_nouns(self) -> bool:
        """Does it name arguments by nouns, for which there may be other names?"""
        return any(isinstance(key, Meant) for one in self.every for key in one.path)

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.unit for one in self.every if one.unit))

    def met(self, given: Mapping[str, Any], so: bool = True) -> dict[str, Any] | None:
        """The arguments with others in place of those that do not meet it; `so`: or do not break it."""
        of = _in(given)
        if self.holds(of) is so:
            return dict(given)
        for values in self._tries():
            changed = {**given}
            for path, value in values.items():
                _put(changed, path, value)
            if self.holds(_in(changed)) is so:
                return changed
        return None

    @property
    def values(self) -> Mapping[Path, Any] | None:
        """The only values that meet it; None where there are several."""
        if all(one.op == "in" and len(one.values) == 1 for one in self.every):
            return {one.path: one.values[0] for one in self.every}
        return None

    def _tries(self) -> Iterator[dict[Path, Any]]:
        paths = dict.fromkeys(one.path for one in self.every)
        found: list[dict[Path, Any]] = [{}]
        for path in paths:
            values = [v for one in self.every if one.path == path for v in one.examples()]
            found = [{**had, path: value} for had in found for value in values][:500]
        yield from found


def type_of(value: Any) -> Type | None:
    """None of what no comparison asks for."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number" if math.isfinite(value) else None
    return "text" if isinstance(value, str) else None


def plain_name(value: float | str) -> str:
    """A name as it may be written in several ways."""
    return re.sub(r"[\W_]+", " ", f"{value:.15g}" if not isinstance(value, str) else value.casefold()).strip()


def _in(given: Mapping[str, Any]) -> Of:
    def of(path: Path) -> Any:
        value: Any = given
        for key in path:
            if isinstance(key, Noun) and isinstance(value, Mapping):
                key = key.key_in(value)
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    return of


def _put(into: dict[str, Any], path: Path, value: Any) -> None:
    for key in path[:-1]:
        into[key] = dict(into.get(key) or {})
        into = into[key]
    last = path[-1].key_in(into) if isinstance(path[-1], Noun) else path[-1]
    if value is None:
        into.pop(last, None)
    else:
        into[last] = value


def _literal(value: float | str) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return ("true" if value else "false") if isinstance(value, bool) else f"{value:.15g}"


def _brief(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "an object" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else repr(value)


# ---------------------------------------------------------------- as files state it, as guards do

_ARGS = r"args(?P<path>(?:\.[A-Za-z_]\w*)+)"
_VALUE = r"(?:-?\d+(?:\.\d+)?|\"[^\"\\]*\"|'[^'\\]*'|true|false)"
_COMPARED = re.compile(rf"{_ARGS} *(?P<op><=|>=|==|!=|<|>) *(?P<v>{_VALUE})")
_AMONG = re.compile(rf"(?P<not>!\()?{_ARGS} +in +\[(?P<v> *{_VALUE}(?: *, *{_VALUE})* *)\](?(not)\))")
_EXPECTED = (
    "expected comparisons of arguments joined by '&&', such as 'args.amount > 500', "
    '\'args.currency != "EUR"\', \'args.priority in ["high", "urgent"]\' or \'!(args.zone in ["A", "B"])\''
)


def read_where(text: str) -> Where:
    """`args.amount > 500 && args.currency == "EUR"`. BadInput for anything else."""
    return Where(tuple(_compared(part.strip(), text) for part in _parts(text)))


def _parts(text: str) -> Sequence[str]:
    """What `&&` joins, quotes left aside."""
    hidden = re.sub(r"\"[^\"]*\"|'[^']*'", lambda m: "_" * len(m[0]), text)
    edges = [-2, *(m.start() for m in re.finditer("&&", hidden)), len(text)]
    return [text[a + 2 : b] for a, b in pairwise(edges)]


def _compared(part: str, text: str) -> Comparison:
    found = _COMPARED.fullmatch(part) or _AMONG.fullmatch(part)
    if found is None:
        raise BadInput(f"cannot read {text!r}: {_EXPECTED}")
    values = tuple(_value(one) for one in re.findall(_VALUE, found["v"]))
    op = found.groupdict().get("op") or ("!=" if found["not"] else "==")
    path = tuple(found["path"].split(".")[1:])
    return compared(path, {"==": "in", "!=": "not in"}.get(op, op), values)


def _value(text: str) -> float | str:
    if text in ("true", "false"):
        return text == "true"
    if text[0] in "\"'":
        return text[1:-1]
    return float(text) if "." in text else int(text)


def compared(
    path: Path, op: str, values: Sequence[float | str], unit: str = "", *, as_names: bool = False
) -> Comparison:
    """BadInput where the values are of several types, or cannot be in order.

    `as_names`: a number is what something is called, and a text is not exactly so.
    """
    types = {type_of(value) for value in values}
    if as_names and types <= {"number", "text"}:
        return Comparison(path, op, "name", tuple(values), unit)  # type: ignore[arg-type]
    if len(types) > 1:
        raise BadInput(f"{' or '.join(map(_literal, values))} are values of different types")
    type_ = types.pop() if types else "text"
    if op in (*_ORDER, "inside", "outside") and type_ != "number":
        raise BadInput(f"{_literal(values[0])} is no number, so nothing is over or under it")
    return Comparison(path, op, type_ or "text", tuple(values), unit)  # type: ignore[arg-type]

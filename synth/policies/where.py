"""What an action may ask of the arguments of its calls: `amount over 500`, `currency other than "EUR"`.

A value that is missing, not known, or of another type than the comparison needs answers nothing: whether the
call is one of the action is open then.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

from synth.errors import BadInput
from synth.formal.partly import Unknown, equal
from synth.policies.nouns import Meant, Noun, Somewhere, plain_name
from synth.policies.texts import Part, clock_of, clock_said, has_part, length_of, nearly_equal

Op = Literal[
    "<", "<=", ">", ">=", "outside", "inside", "in", "not in", "given", "missing", "multiple", "no multiple",
    "starts", "not starts", "ends", "not ends", "contains", "not contains", "word", "no word", "same",
    "differs",
]  # fmt: skip
Type = Literal["number", "text", "bool", "name", "length", "clock"]
"""A name is a text or a number as a sentence says it: `dock 9`, `csv`; a length is that of a text in
characters; a clock time is the minute of `21:30`."""
Path = tuple[str, ...]
Of = Callable[[Path], Any]
"""The value of an argument; None where it is missing."""

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_CONTRARY: Mapping[Op, Op] = {
    "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in", "outside": "inside",
    "inside": "outside", "given": "missing",
    "missing": "given", "multiple": "no multiple", "no multiple": "multiple", "starts": "not starts",
    "not starts": "starts", "ends": "not ends", "not ends": "ends", "contains": "not contains",
    "not contains": "contains", "word": "no word", "no word": "word", "same": "differs", "differs": "same",
}  # fmt: skip
_SAID: Mapping[Op, str] = {
    "<": "under ", "<=": "of at most ", ">": "over ", ">=": "of at least ", "in": "", "not in": "other than ",
    "outside": "outside ", "inside": "between ", "given": "", "missing": "", "multiple": "a multiple of ",
    "no multiple": "no multiple of ", "starts": "starting with ", "not starts": "not starting with ",
    "ends": "ending in ", "not ends": "not ending in ", "contains": "containing ",
    "not contains": "not containing ", "word": "containing the word ", "no word": "not containing the word ",
    "same": "equal to its ", "differs": "different from its ",
}  # fmt: skip
_AT: Mapping[Op, str] = {
    "<": "earlier than ",
    "<=": "no later than ",
    ">": "later than ",
    ">=": "no earlier than ",
}
"""How clock times are compared."""
_PARTS: Mapping[Op, tuple[Part, bool]] = {
    "starts": ("starts", True), "not starts": ("starts", False), "ends": ("ends", True),
    "not ends": ("ends", False), "contains": ("contains", True), "not contains": ("contains", False),
    "word": ("word", True), "no word": ("word", False),
}  # fmt: skip
_NAMED: Mapping[Type, str] = {
    "number": "a number", "text": "text", "bool": "true or false", "name": "a name", "length": "text",
    "clock": "a clock time such as 09:30",
}  # fmt: skip


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
    other: Path = ()
    """The argument of the same call that it is compared with; () where that is none."""

    def met(self, of: Of) -> bool | None:
        """Does it hold of a call? None where the arguments leave it open."""
        value = of(self.path)
        if not self.other:
            return self.holds(value)
        second = of(self.other)
        if value is None or second is None:
            return None
        if self.op in _ORDER:
            numbers = type_of(value) == type_of(second) == "number"
            return _ORDER[self.op](value, second) if numbers else None
        alike = equal(value, second)
        if alike is False and nearly_equal(value, second):
            return None
        return None if alike is None else alike is (self.op == "same")

    def holds(self, value: Any) -> bool | None:
        """None where the value leaves it open."""
        if self.op in ("given", "missing"):
            return None if isinstance(value, Unknown) else (value in (None, "")) is (self.op == "missing")
        if self.op in _PARTS:
            part, wanted = _PARTS[self.op]
            found = has_part(value, part, self.values)
            return None if found is None else found is wanted
        if self.type in ("length", "clock"):
            value = length_of(value) if self.type == "length" else clock_of(value)
            return None if value is None else self._of_number(value)
        if isinstance(value, Unknown):
            return self._of_unknown(value)
        if self.type == "name":
            return self._of_name(value)
        if type_of(value) != self.type:
            return None
        return self._of_number(value)

    def _of_number(self, value: Any) -> bool:
        """Of a value of its type, which is mostly a number."""
        if self.op in ("multiple", "no multiple"):
            return any(_divides(one, value) for one in self.values) is (self.op == "multiple")
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
        if type_of(value) not in ("text", "number"):
            return None
        if value == "":
            return self.op == "not in"
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
        if self.other and self.op in _ORDER:
            return f"is {_brief(value)}, and both must be numbers"
        if self.other or (isinstance(value, str) and self.op in _PARTS):
            return f"is {_brief(value)}, which is so but for its spelling"
        return f"is {_brief(value)}, not {_NAMED[self.type]}"

    @property
    def contrary(self) -> Comparison:
        return replace(self, op=_CONTRARY[self.op])

    @property
    def words(self) -> str:
        """As a sentence says it, with its preposition."""
        name = ".".join(self.path)
        if isinstance(self.path[-1], Somewhere):
            some = "an" if self.op == "in" else "no"
            return f"with {some} argument {' or '.join(map(_literal, self.values))}"
        if self.op in ("given", "missing"):
            return f"whose {name} is {self.op}"
        if self.other and self.op in _ORDER:
            return f"with {name} {_SAID[self.op]}its {'.'.join(self.other)}"
        if self.other:
            return f"with {name} {_SAID[self.op]}{'.'.join(self.other)}"
        behind = " characters" if self.type == "length" else ""
        if self.op in ("inside", "outside"):
            return f"with {name} {_SAID[self.op]}{' and '.join(map(self._literal, self.values))}{behind}"
        if self.op in _ORDER or self.op in _PARTS or "multiple" in self.op:
            how = _AT[self.op] if self.type == "clock" else _SAID[self.op]
            return f"with {name} {how}{' or '.join(map(self._literal, self.values))}{behind}"
        of = "of " if self.op == "in" and self.type == "number" else ""
        return f"with {name} {of}{_SAID[self.op]}{' or '.join(map(_literal, self.values))}"

    def _literal(self, value: float | str) -> str:
        return clock_said(value) if self.type == "clock" else _literal(value)

    def examples(self) -> Iterator[Any]:
        """Values near the edge, of which some meet it and some do not; None is no value."""
        if self.op in ("given", "missing"):
            yield from ("given", None)
        elif self.other:
            yield from (1, 2) if self.op in _ORDER else ("one", "another")
        elif self.type == "length":
            yield from ("x" * max(0, int(n) + more) for n in self.values for more in (0, 1, -1))
        elif self.type == "clock":
            yield from (clock_said(n + more) for n in self.values for more in (0, 1, -1))  # type: ignore[operator]
        elif self.op in _PARTS:
            yield from (*self.values, *(f"{one} and {one}" for one in self.values), "something else")
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

    def __post_init__(self) -> None:
        """In one order, whichever was said first."""
        object.__setattr__(self, "every", tuple(sorted(self.every, key=lambda one: one.path)))

    def holds(self, of: Of) -> bool | None:
        answers = [one.met(of) for one in self.every]
        return False if False in answers else (None if None in answers else True)

    def why_open(self, of: Of) -> tuple[Path, str]:
        """(argument, what leaves it open), of the first that does."""
        one = next(one for one in self.every if one.met(of) is None)
        path = one.other if one.other and of(one.path) is not None and of(one.other) is None else one.path
        return path, one.why_open(of(path))

    @property
    def words(self) -> str:
        return " and ".join(one.words for one in self.every)

    @property
    def by_nouns(self) -> bool:
        """Does it name arguments by nouns, for which there may be other names?"""
        return any(isinstance(key, Meant) for one in self.every for key in (*one.path, *one.other))

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
        paths = dict.fromkeys(path for one in self.every for path in (one.path, one.other) if path)
        found: list[dict[Path, Any]] = [{}]
        for path in paths:
            values = [v for one in self.every if path in (one.path, one.other) for v in one.examples()]
            found = [{**had, path: value} for had in found for value in values][:500]
        yield from found


def _divides(one: float | str, value: float) -> bool:
    """Is the value a multiple? Of 0.1 it is one where it is within what floats can tell."""
    assert not isinstance(one, str)
    return abs(value / one - round(value / one)) < 1e-9 if one else value == 0


def type_of(value: Any) -> Type | None:
    """None of what no comparison asks for."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number" if math.isfinite(value) else None
    return "text" if isinstance(value, str) else None


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
    if op in (*_ORDER, "inside", "outside", "multiple", "no multiple") and type_ != "number":
        raise BadInput(f"{_literal(values[0])} is no number, so nothing is over or under it")
    return Comparison(path, op, type_ or "text", tuple(values), unit)  # type: ignore[arg-type]

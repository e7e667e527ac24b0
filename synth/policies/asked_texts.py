"""What a condition asks of a text, of a clock time, of a multiple, or of its neighbour, behind an argument.

`path not starting with "manifests/"`, `reason under 20 characters`, `time later than 21:30`, `minutes no
multiple of 15`, `substitute equal to its item`.
"""

from __future__ import annotations

import re

from synth.policies.nouns import Meant
from synth.policies.patterns import compiled
from synth.policies.texts import clock_of
from synth.policies.where import Comparison, Op, Path, Type

_ONE = r"(?:\"([^\"]+)\"|\u201c([^\u201d]+)\u201d)"
_PARTS: tuple[tuple[str, Op], ...] = (
    ("not starting with", "not starts"), ("starting with", "starts"), ("not ending (?:in|with)", "not ends"),
    ("ending (?:in|with)", "ends"), ("not containing the word", "no word"), ("containing the word", "word"),
    ("not containing", "not contains"), ("containing", "contains"),
)  # fmt: skip
_LENGTHS: tuple[tuple[str, Op], ...] = (
    ("of at least|at least", ">="), ("of at most|at most", "<="), ("over|longer than", ">"),
    ("under|shorter than", "<"), ("outside", "outside"), ("between", "inside"),
)  # fmt: skip
_TIMES: tuple[tuple[str, Op], ...] = (
    ("no earlier than", ">="), ("no later than", "<="), ("later than", ">"), ("earlier than", "<"),
    ("outside", "outside"), ("between", "inside"),
)  # fmt: skip
_NEIGHBOURS: tuple[tuple[str, Op, Type], ...] = (
    ("equal to", "same", "text"), ("different from", "differs", "text"),
    ("(?:of )?at least", ">=", "number"), ("(?:of )?at most", "<=", "number"), ("over", ">", "number"),
    ("under", "<", "number"),
)  # fmt: skip
_CLOCK = r"(\d\d?:\d\d)"


def text_at(text: str, at: int, path: Path) -> tuple[Comparison, int] | None:
    """The comparison that begins there, behind the name of an argument, and where it ends."""
    for read in (_part, _length, _time, _multiple, _neighbour):
        if found := read(text, at, path):
            return found
    return None


def _part(text: str, at: int, path: Path) -> tuple[Comparison, int] | None:
    for words, op in _PARTS:
        if m := compiled(rf" {words} ({_ONE}(?: or {_ONE})*)").match(text, at):
            values = tuple(a or b for a, b in re.findall(_ONE, m[1]))
            return Comparison(path, op, "text", values), m.end()
    return None


def _length(text: str, at: int, path: Path) -> tuple[Comparison, int] | None:
    for words, op in _LENGTHS:
        both = r"(\d+)(?: and (\d+))" if op in ("inside", "outside") else r"(\d+)(?P<no>)"
        if m := compiled(rf" (?:{words}) {both} characters\b").match(text, at):
            return Comparison(path, op, "length", tuple(int(n) for n in (m[1], m[2]) if n)), m.end()
    return None


def _time(text: str, at: int, path: Path) -> tuple[Comparison, int] | None:
    for words, op in _TIMES:
        both = rf"{_CLOCK} and {_CLOCK}" if op in ("inside", "outside") else rf"{_CLOCK}(?P<no>)"
        if m := compiled(rf" {words} {both}").match(text, at):
            minutes = [clock_of(one) for one in (m[1], m[2]) if one]
            if None not in minutes:
                return Comparison(path, op, "clock", tuple(int(one or 0) for one in minutes)), m.end()
    return None


def _multiple(text: str, at: int, path: Path) -> tuple[Comparison, int] | None:
    m = compiled(r" (?P<no>no|an?) multiple of (?P<n>\d+(?:\.\d+)?)(?![\w.]*\d)").match(text, at)
    number = float(m["n"]) if m and "." in m["n"] else int(m["n"]) if m else 0
    if m is None or not number:
        return None
    op: Op = "no multiple" if m["no"].lower() == "no" else "multiple"
    return Comparison(path, op, "number", (number,)), m.end()


def _neighbour(text: str, at: int, path: Path) -> tuple[Comparison, int] | None:
    for words, op, type_ in _NEIGHBOURS:
        if m := compiled(rf" (?:{words}) its (?P<f>[a-z]\w*)(?![\w.])").match(text, at):
            return Comparison(path, op, type_, other=(Meant(m["f"]),)), m.end()
    return None

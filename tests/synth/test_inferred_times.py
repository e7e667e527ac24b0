"""Policies on calls of which only bounds of their times are known."""

from __future__ import annotations

from judging import call, ns
from policing import brief

from synth.run import ToolCall


def spread(name: str, start: tuple[float, float], end: tuple[float, float]) -> ToolCall:
    made = call(name)
    times = {"start": (ns(start[0]), ns(start[1])), "end": (ns(end[0]), ns(end[1]))}
    return type(made)(None, made.tool, {}, **times)  # type: ignore[arg-type]


def test_a_call_that_cannot_be_directly_before_does_not_hide_earlier_ones() -> None:
    calls = [spread("a", (0, 8.5), (9.5, 10)), call("a", 1, 2), call("c", 5.5, 11), call("b", 11.5, 12)]
    assert brief("A must happen immediately before B.", calls) == ("undecided", ())

"""`any tool` beside a named action means every other tool: an action cannot need itself."""

from __future__ import annotations

import pytest

from tests.support.building import call
from tests.support.policing import brief

NA = ("not_applicable", ())


@pytest.mark.parametrize(
    ("sentence", "calls", "expected"),
    [
        ("A must happen before any tool.", "a b c a", ("ok", ())),
        ("A must happen before any tool.", "b a c", ("violated", (0,))),
        ("A must happen before any tool.", "a! b", ("violated", (1,))),
        ("A must happen before any tool.", "a", NA),
        ("Any tool must happen before A.", "b a", ("ok", ())),
        ("A must happen immediately before any tool.", "a b a c", ("ok", ())),
        ("A must happen immediately before any tool.", "a b c", ("violated", (2,))),
        ("Any tool must be followed by A.", "b c a", ("ok", ())),
        ("Any tool must be followed by A.", "b a c", ("violated", (2,))),
        ("Any tool must never happen after A.", "a b a", ("violated", (1, 2))),
        ("Any tool must happen before any tool.", "a b", ("violated", (0,))),
    ],
)
def test_any_tool_is_any_other_tool(sentence: str, calls: str, expected: tuple[str, tuple[int, ...]]) -> None:
    assert brief(sentence, calls) == expected


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("Any tool must start within 5 minutes after A.", "ok"),
        ("Any tool must start within 1 second after A.", "violated"),
        ("Any tool must start at least 2 seconds after A.", "ok"),
    ],
)
def test_the_time_since_an_action_is_asked_of_other_tools(sentence: str, verdict: str) -> None:
    calls = [call("a", 0, 1), call("b", 3, 4)]
    assert brief(sentence, calls) == (verdict, (1,) if verdict == "violated" else ())

"""`any tool` beside a named action means every other tool: an action cannot need itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from synth.observed.run import Unseen
from tests.support.building import call
from tests.support.policing import brief, judged

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


@pytest.mark.parametrize(
    ("sentence", "breaks"),
    [
        ("Any tool but B must never happen after A.", lambda k, c: "a" in c[:k] and c[k] != "b"),
        ("Any tool but B or C must never happen.", lambda k, c: c[k] not in "bc"),
        ("A must happen before any tool but B.", lambda k, c: c[k] not in "ab" and "a" not in c[:k]),
        ("Any tool but C must happen at most 1 time.", lambda k, c: sum(o != "c" for o in c[: k + 1]) > 1),
    ],
)
def test_any_tool_but_some_is_every_tool_that_is_not_named(
    sentence: str, breaks: Callable[[int, tuple[str, ...]], bool]
) -> None:
    for calls in (made for n in range(5) for made in product("abcd", repeat=n)):
        broken = any(breaks(k, calls) for k in range(len(calls)))
        assert (brief(sentence, " ".join(calls))[0] == "violated") is broken, calls


def test_an_unseen_call_of_a_tool_that_is_excepted_opens_nothing() -> None:
    rule = "Any tool but B must never happen after A."
    for tool, verdict in (("do_b", "ok"), ("do_c", "undecided")):
        found = judged(rule, "b a b", problems=("lost",), unseen=(Unseen("lost"),), tools=(tool,))
        assert found.verdict == verdict

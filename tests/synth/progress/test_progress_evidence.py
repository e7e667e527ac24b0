"""Rates of runs of which not everything was seen: whatever the rest was, what is said holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.observed.run import Run, ToolCall, Unseen
from synth.progress import (
    Milestone,
    action_text,
    known_progress,
    known_rate,
    progress,
    progress_doubts,
    repetition,
    repetition_doubts,
)

MILESTONES = (Milestone("a", "a"), Milestone("b", "b", after=("a",)), Milestone("c", "c"))


def ran(*tools: str, **more: Any) -> Run:
    """A run of successful calls; of `?tool` it is not known whether it ran."""
    calls = tuple(ToolCall(None, t.lstrip("?"), executed=None if t[0] == "?" else True) for t in tools)
    return Run("r", calls, **more)


LOST = {"problems": ("lost spans",)}


@pytest.mark.parametrize(
    ("run", "rate", "curve", "repeats"),
    [
        (ran("a", "b"), 2 / 3, (1 / 3, 2 / 3), True),
        (ran("a", "b", **LOST), None, None, False),
        (ran("a", "b", "c", **LOST), 1, None, False),
        (ran("a", "?b"), None, None, True),
        (ran("a", "?a"), 1 / 3, None, True),
        (ran("a", "?x"), 1 / 3, (1 / 3, 1 / 3), True),
        (ran("a", unseen=(Unseen("dropped", calls=1),)), None, None, False),
        (ran(), 0, (), True),
        (ran(**LOST), None, None, False),
        (ran("a", status="running"), 1 / 3, (1 / 3,), True),
    ],
    ids=["whole", "lost", "all-reached", "maybe", "again", "other", "unseen", "empty", "nothing", "running"],
)
def test_rates_are_said_where_unseen_calls_cannot_change_them(
    run: Run, rate: float | None, curve: tuple[float, ...] | None, repeats: bool
) -> None:
    assert known_rate(run, MILESTONES) == rate
    assert known_progress(run, MILESTONES) == curve
    assert (repetition_doubts(run) == ()) is repeats


def test_doubts_say_what_is_missing() -> None:
    assert progress_doubts(ran("a", **LOST), MILESTONES) == ("lost spans",)
    assert progress_doubts(ran("a", "?c"), MILESTONES) == ("it is not known whether these calls ran: 1 (c)",)
    assert known_rate(ran("a"), ()) is None
    assert progress_doubts(ran("a", **LOST), ()) == ()


def test_arguments_that_are_not_known_may_be_the_ones_of_a_milestone() -> None:
    wanted = (Milestone("a1", "a", {"n": 1}), Milestone("b", "b"))
    cut = Run("r", (ToolCall(None, "a", {"n": "…"}, partly={"arguments": "cut"}), ToolCall(None, "b")))
    assert progress_doubts(cut, wanted) == ("not all arguments of call 0 (a) are known",)
    assert repetition_doubts(cut) == ("not all arguments of call 0 (a) are known",)
    assert known_rate(cut, MILESTONES[:1]) == 1
    hashed = replace(cut, calls=(replace(cut.calls[0], partly={"arguments": "hashed"}), cut.calls[1]))
    assert (known_rate(hashed, wanted), repetition_doubts(hashed)) == (None, ())


CALLS = st.lists(st.tuples(st.sampled_from("abcx"), st.sampled_from(["seen", "lost", "maybe", "never"])))


@given(CALLS)
def test_what_is_said_holds_whatever_was_not_seen(said: list[tuple[str, str]]) -> None:
    truth = Run("r", tuple(ToolCall(None, tool, executed=how != "never") for tool, how in said))
    seen = Run(
        "r",
        tuple(
            ToolCall(None, tool, executed={"seen": True, "never": False}.get(how))
            for tool, how in said
            if how != "lost"
        ),
        problems=("lost",) if any(how == "lost" for _, how in said) else (),
    )
    rate, curve = known_rate(seen, MILESTONES), known_progress(seen, MILESTONES)
    whole = progress(truth, MILESTONES) or (0.0,)
    assert rate is None or rate == (whole[-1] if said else 0)
    assert curve is None or curve == progress(truth, MILESTONES)
    assert (progress(seen, MILESTONES) or (0.0,))[-1] <= whole[-1]
    if not repetition_doubts(seen):
        texts = [[action_text(call) for call in run.calls] for run in (seen, truth)]
        assert repetition(texts[0]) == repetition(texts[1])

"""What stood inside what in a run."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from collector.model import Span
from collector.rebuild import told
from collector.rebuild.nesting import nested

KINDS = ("execute_tool", "invoke_agent", "chat")


def span(number: int, parent: int | None, kind: str, name: str = "", start: int = 0) -> Span:
    said = {"gen_ai.operation.name": kind, "gen_ai.tool.name": name, "gen_ai.agent.name": name}
    return Span(
        trace_id="1" * 32, span_id=f"{number:016x}", parent_id=None if parent is None else f"{parent:016x}",
        name=kind, start_ns=10**18 + (start or number), end_ns=10**18 + 1000, status="unset",
        status_message="", attributes=said, scope="any",
    )  # fmt: skip


def shape(spans: list[Span]) -> list[tuple[int, str]]:
    run = told("1" * 32, spans)
    return [
        (
            node.depth,
            run.run.run.calls[node.call].tool
            if node.call is not None
            else (node.agent and node.agent.agent) or "model",
        )
        for node in nested(run, spans)
    ]


def test_what_an_agent_does_stands_below_it_and_plain_spans_between_are_left_out() -> None:
    spans = [
        span(1, None, "invoke_agent", "desk"), span(2, 1, "HTTP"), span(3, 2, "execute_tool", "delegate"),
        span(4, 3, "invoke_agent", "booker"), span(5, 4, "execute_tool", "reserve"),
        span(6, 1, "execute_tool", "pay"),
    ]  # fmt: skip
    assert shape(spans) == [(0, "delegate"), (1, "booker"), (2, "reserve"), (0, "pay")]


def test_a_second_span_of_one_agent_adds_no_level() -> None:
    spans = [
        span(1, None, "invoke_agent", "desk"), span(2, 1, "invoke_agent", "desk"),
        span(3, 2, "execute_tool", "pay"),
        span(4, 2, "invoke_agent", "clerk"), span(5, 4, "invoke_agent", "clerk"),
        span(6, 5, "execute_tool", "file"),
    ]  # fmt: skip
    assert shape(spans) == [(0, "pay"), (0, "clerk"), (1, "file")]


def test_two_agents_at_the_top_are_both_shown() -> None:
    spans = [
        span(1, None, "invoke_agent", "a"), span(2, 1, "execute_tool", "x"),
        span(3, None, "invoke_agent", "b"), span(4, 3, "execute_tool", "y"),
    ]  # fmt: skip
    assert shape(spans) == [(0, "a"), (1, "x"), (0, "b"), (1, "y")]


@given(st.integers(0, 2**32), st.integers(1, 25))
def test_no_call_is_lost_and_none_comes_twice_whatever_parents_spans_name(seed: int, count: int) -> None:
    """Parents may be unknown, later, themselves, or lie in a circle."""
    r = random.Random(seed)
    spans = [
        span(
            at + 1, r.choice([None, *range(1, count + 3)]), r.choice(KINDS), r.choice("ab"), r.randint(1, 999)
        )
        for at in range(count)
    ]
    run = told("1" * 32, spans)
    assert sorted(n.call for n in nested(run, spans) if n.call is not None) == [
        *range(len(run.run.run.calls))
    ]

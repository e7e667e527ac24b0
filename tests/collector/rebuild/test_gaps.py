"""What of a run was not seen, and where it was."""

from __future__ import annotations

import json
from typing import Any

from collector.dialects.genai import read_call
from collector.dialects.names import SCOPE_NAME
from collector.judging.bind import Arrival, bound_run, ending
from collector.model import LAST_NS, Run, Span, Unseen
from collector.rebuild import rebuild
from collector.rebuild.places import in_order
from collector.settings import Settings
from tests.support.traces import MS, T0

TRACE = "ab" * 16
OURS, THEIRS = SCOPE_NAME, "openinference.instrumentation.langchain"
NO_ROOT = "the span of the run itself never arrived: the program may have been killed"
KNOWN_LOCAL, REMOTE = 0x101, 0x301


def span(number: int, scope: str = OURS, parent: str | None = "root", **more: Any) -> Span:
    """A tool call: ours has its number, theirs only a name."""
    own = {"pdoctor.run.id": TRACE, "pdoctor.step.index": number} if scope == OURS else {}
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"t{number}", **own}
    start = T0 + number * 10 * MS
    made = Span(
        TRACE, f"{scope[:4]}{number}", parent, "call", start, start + MS, "unset", "", said, scope=scope
    )
    return made._replace(**more)


def root(calls: int | None, scope: str = OURS) -> Span:
    said = {"gen_ai.operation.name": "invoke_agent", "pdoctor.run.id": TRACE}
    said |= {} if calls is None else {"pdoctor.run.calls": calls}  # type: ignore[dict-item]
    return Span(TRACE, "root", None, "agent", T0 - MS, T0 + 1000 * MS, "unset", "", said, scope=scope)


def settled(*spans: Span) -> Run:
    """The run, when nothing more is waited for."""
    rebuilt = rebuild(TRACE, spans)
    end = ending(rebuilt, None, Arrival(1e9, 0.0, 0.0), Settings())
    return bound_run(rebuilt, None, end, None)


def test_a_hole_in_the_numbering_has_a_place() -> None:
    run = settled(span(0), span(3), span(4), root(5))
    said = "2 calls are missing: no span has step index 1, 2"
    announced = "the run announced 5 calls, 3 arrived"
    assert run.problems == (said, announced)
    assert run.unseen == (Unseen(said, 0, 1, 2), Unseen(announced, after=2, calls=0))


def test_calls_missing_at_the_end_come_after_the_last() -> None:
    run = settled(span(0), span(1), root(4))
    assert run.unseen == (Unseen("the run announced 4 calls, 2 arrived", after=1, calls=2),)


def test_holes_are_named_one_by_one_and_told_in_one_sentence() -> None:
    run = settled(span(2), span(4), span(20), root(None))
    said = "18 calls are missing: no span has step index 0, 1, 3, 5, 6, ..."
    assert run.problems == (said,)
    assert run.unseen == (Unseen(said, None, 0, 2), Unseen(said, 0, 1, 1), Unseen(said, 1, 2, 15))


def test_a_call_of_another_library_does_not_hide_a_lost_one() -> None:
    foreign = span(9, THEIRS, start_ns=T0 + 25 * MS, end_ns=T0 + 26 * MS)
    run = settled(span(0), span(1), foreign, root(3))
    assert run.problems == ("the run announced 3 calls, 2 arrived",)
    assert rebuild(TRACE, [span(0), span(1), foreign, root(3)]).all_calls_arrived is False
    assert settled(span(0), span(1), span(2), foreign, root(3)).problems == ()


def test_a_call_that_came_again_under_another_span_id_is_one_call() -> None:
    again = span(1, span_id="other")
    run = settled(span(0), span(1), again, root(2))
    assert [call.tool for call in run.calls] == ["t0", "t1"]
    assert run.problems == ()
    lost = settled(span(0), again, span(1), root(3))
    assert lost.problems == ("the run announced 3 calls, 2 arrived",)


def test_calls_of_two_tools_with_one_number_stay_two() -> None:
    other = span(1, span_id="other")
    other = other._replace(attributes={**other.attributes, "gen_ai.tool.name": "else"})
    assert [call.tool for call in settled(span(0), span(1), other, root(None)).calls] == ["t0", "t1", "else"]


def foreign_run(**lost: Any) -> Run:
    """A run of another library in which one call's parent, a step, never arrived."""
    step = span(7, THEIRS, attributes={}, span_id="step", start_ns=T0, flags=KNOWN_LOCAL)
    there = span(1, THEIRS, "step", flags=KNOWN_LOCAL)
    return settled(root(None, THEIRS), step, there, span(2, THEIRS, "gone", **lost))


def test_a_parent_in_the_same_process_that_never_came_is_a_gap() -> None:
    said = "1 spans are missing that others name as their parent"
    assert foreign_run(flags=KNOWN_LOCAL).problems == (said,)
    assert foreign_run(flags=KNOWN_LOCAL).unseen == (Unseen(said),)


def test_a_parent_elsewhere_or_of_unknown_place_is_no_gap() -> None:
    assert foreign_run(flags=REMOTE).problems == ()
    assert foreign_run(flags=1).problems == ()
    alone = span(1, THEIRS, "gone", flags=KNOWN_LOCAL)
    rootless = settled(alone, span(2, THEIRS, "gone", flags=KNOWN_LOCAL))
    assert rootless.problems == (NO_ROOT,)


def test_the_top_span_may_have_any_parent() -> None:
    top = root(None, THEIRS)._replace(parent_id="elsewhere", flags=KNOWN_LOCAL)
    assert settled(top, span(1, THEIRS, flags=KNOWN_LOCAL)).problems == ()
    short = top._replace(end_ns=T0 + MS)
    assert settled(short, span(1, THEIRS, flags=KNOWN_LOCAL)).problems == (NO_ROOT,)
    assert settled(top._replace(scope=OURS), span(1), span(3)).problems[-1] == NO_ROOT


def test_spans_sampled_one_by_one_are_a_gap_and_a_trace_sampled_as_a_whole_is_none() -> None:
    said = "spans of this trace were sampled with different thresholds: some were left out"
    half, quarter, same = "ot=th:8", "vendor=1,ot=rv:aa;th:c", "ot=th:80"
    for other, problems in ((quarter, (said,)), (same, ()), ("", ())):
        spans = [span(0, trace_state=half), span(1, trace_state=other), root(2)]
        assert settled(*spans).problems == problems


def test_dropped_records_matter_only_where_calls_are_missing() -> None:
    dropped = {"pdoctor.dropped_spans": 7}
    assert settled(span(0, resource=dropped), root(1)).problems == ()
    assert settled(span(0, resource=dropped), root(2)).problems == (
        "the sender has dropped 7 records because its queue was full",
        "the run announced 2 calls, 1 arrived",
    )


def test_a_span_without_an_end_is_a_call_that_goes_on_or_ended_some_time() -> None:
    going, answered, failed = span(0, end_ns=0), span(1, end_ns=0), span(2, end_ns=0, status="error")
    answered = answered._replace(attributes={**answered.attributes, "gen_ai.tool.call.result": '"done"'})
    first, second, third = settled(going, answered, failed, root(3)).calls
    assert (first.finished, first.end, first.succeeded) == (False, None, False)
    for made, error in ((second, False), (third, True)):
        assert made.start is not None
        assert (made.finished, made.end, made.error is not None) == (True, (made.start[0], LAST_NS), error)


def test_in_another_vocabulary_too() -> None:
    said = {"openinference.span.kind": "TOOL", "tool.name": "t"}
    going = span(1, THEIRS, attributes=said, end_ns=0)
    answered = span(2, THEIRS, attributes={**said, "output.value": "done"}, end_ns=0)
    first, second = settled(root(None, THEIRS), going, answered).calls
    assert (first.finished, second.finished) == (False, True)
    assert second.end is not None
    assert second.end[1] == LAST_NS


def test_a_span_that_ends_before_it_begins_says_that_a_call_ended_and_not_when() -> None:
    back = span(1, end_ns=T0 - 5 * MS)
    theirs = span(1, THEIRS, end_ns=T0 - 5 * MS)
    run = settled(theirs, root(None, THEIRS))
    assert [(call.start, call.end, call.finished) for call in run.calls] == [
        ((0, LAST_NS), (0, LAST_NS), True)
    ]
    run = settled(span(0), back, span(2), root(3))
    first, untold, last = run.calls
    assert first.start is not None
    assert last.start is not None
    assert (untold.tool, untold.start) == ("t1", (first.start[0], last.start[1]))
    assert (untold.end, untold.finished) == ((first.start[0], LAST_NS), True)
    assert run.problems == ()


def test_a_call_of_which_nothing_tells_when_it_was_comes_last() -> None:
    theirs = span(1, THEIRS, end_ns=T0 - 5 * MS)
    run = settled(theirs, span(2, THEIRS), span(3, THEIRS), root(None, THEIRS))
    assert [call.tool for call in run.calls] == ["t2", "t3", "t1"]
    own = settled(span(0, end_ns=T0 - 5 * MS), span(1), root(2)).calls
    assert [call.tool for call in own] == ["t0", "t1"]
    assert own[1].start is not None
    assert own[0].start == (0, own[1].start[1])


def test_numbers_place_a_call_among_those_of_its_own_run_id_only() -> None:
    def part(number: int, run: str, **more: Any) -> Span:
        one = span(number, **more)
        return one._replace(attributes={**one.attributes, "pdoctor.run.id": run}, span_id=f"{run}{number}")

    untold = part(1, "b", end_ns=T0 - 5 * MS)
    read = [found for one in (part(0, "a"), untold, part(2, "a"), part(2, "b")) if (found := read_call(one))]
    placed = {seen.span.span_id: seen.call.start for seen in in_order(read)}
    last = placed["b2"]
    assert last is not None
    assert placed["b1"] == (0, last[1])


def test_messages_say_between_which_others_a_call_without_instants_was_made() -> None:
    def said(*parts: dict[str, str]) -> str:
        return json.dumps([{"role": "x", "parts": list(parts)}])

    def chat(number: int, **attributes: str) -> Span:
        start = T0 + number * 100 * MS
        given = {
            "gen_ai.operation.name": "chat",
            **{f"gen_ai.{k}.messages": v for k, v in attributes.items()},
        }
        return Span(
            TRACE, f"chat{number}", "root", "chat", start, start + MS, "unset", "", given, scope=THEIRS
        )

    asked = {"type": "tool_call", "id": "c1", "name": "t1", "arguments": "{}"}
    given = {"type": "tool_call_response", "id": "c1", "response": "done"}
    back = span(1, THEIRS, start_ns=T0 + 50 * MS, end_ns=T0 + 40 * MS)
    top = root(None, THEIRS)
    run = settled(top, chat(0, output=said(asked)), back, chat(2, input=said(given)))
    assert [call.start for call in run.calls] == [(T0 + MS, T0 + 200 * MS)]
    assert [call.end for call in settled(top, chat(0, output=said(asked)), back).calls] == [
        (T0 + MS, LAST_NS)
    ]

"""Whether a tool ran follows from what was seen, in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

import pdoctor_trace
from pdoctor_trace.calls import BAD_ARGUMENTS, TOOL_RAISED, UNKNOWN_TOOL, Call, Reading
from pdoctor_trace.elsewhere import AskedHere, token, token_of_ids, written
from pdoctor_trace.machine import HistoryAnswer, answered, asked_elsewhere, finish
from pdoctor_trace.raw_loops.messages import Asked
from pdoctor_trace.runs import OpenRun
from pdoctor_trace.same_call import Request
from tests.support.sink import OtlpSink

PACKAGE = Path(pdoctor_trace.__file__).parent


def test_no_adapter_decides_whether_a_tool_ran() -> None:
    places = [*(PACKAGE / "frameworks").glob("*.py"), *(PACKAGE / "raw_loops").glob("*.py")]
    assert len(places) > 20
    assert [place.name for place in places if ".executed = " in place.read_text()] == []


@pytest.mark.parametrize(
    ("attempts", "kind", "ran"),
    [
        (1, None, True),
        (2, TOOL_RAISED, True),
        (0, None, False),
        (0, TOOL_RAISED, False),
        (1, BAD_ARGUMENTS, False),
        (1, UNKNOWN_TOOL, False),
    ],
)
def test_what_was_started_and_not_refused_ran(
    sink: OtlpSink, attempts: int, kind: str | None, ran: bool
) -> None:
    call = Call("acme", "add", b"{}")
    call.attempts = attempts
    if kind is not None:
        call.fail("no", kind)
    assert call.executed is ran
    call.close()
    pdoctor_trace.flush()
    assert [(span.executed, span["pdoctor.tool.execution"]) for span in sink.calls] == [(ran, None)]


def request(call_id: str, tool: str = "add", *, turn: int = 1, well_formed: bool = True) -> Request:
    return Request(call_id, tool, b'{"a":1}', turn, False, 1, well_formed)


def told(sink: OtlpSink) -> list[tuple[object, ...]]:
    pdoctor_trace.flush()
    return [(span.call_id, span.executed, span["pdoctor.tool.execution"], span.kind) for span in sink.calls]


@pytest.mark.parametrize("unseen", [False, True])
def test_what_was_never_started(sink: OtlpSink, unseen: bool) -> None:
    """A framework whose starts are all seen did not run it; where the host may, nobody knows."""
    run = OpenRun("acme")
    run.offer([("add", None)])
    run.request(request("c0", turn=0))
    run.request(request("c1"))
    run.request(request("c2", "other"))
    run.request(request("c3", well_formed=False))
    finish(run, "acme", unseen=unseen)
    run.close()
    assert told(sink) == [
        ("c0", False, "unknown" if unseen else None, None),
        ("c1", False, "unknown" if unseen else None, None),
        ("c2", False, None, "unknown_tool"),
        ("c3", False, None, "bad_arguments"),
    ]
    (root,) = sink.runs
    assert root["pdoctor.run.state"] == ("unanswered" if unseen else None)
    assert root["pdoctor.run.token"] == (token_of_ids(["c1", "c2"]) if unseen else None)


def test_nobody_goes_on_with_what_was_refused(sink: OtlpSink) -> None:
    run = OpenRun("acme")
    run.offer([("add", None)])
    run.request(request("c1", "other"))
    finish(run, "acme", unseen=True)
    run.close()
    assert told(sink) == [("c1", False, None, "unknown_tool")]
    assert [root["pdoctor.run.state"] for root in sink.runs] == [None]


def test_a_run_that_an_error_ended_goes_on_nowhere(sink: OtlpSink) -> None:
    run = OpenRun("acme")
    run.request(request("c1"))
    finish(run, "acme", unseen=True, ended=False)
    run.close(RuntimeError("limit"))
    assert told(sink) == [("c1", False, "unknown", None)]
    assert [root["pdoctor.run.state"] for root in sink.runs] == [None]


def test_a_case_is_over_where_its_driver_says_so(sink: OtlpSink) -> None:
    run = OpenRun("acme", case_id="case 1")
    run.request(request("c1"))
    finish(run, "acme", unseen=True)
    run.close()
    pdoctor_trace.flush()
    assert [root["pdoctor.run.state"] for root in sink.runs] == [None]


def test_an_answer_tells_that_it_ran_and_with_what(sink: OtlpSink) -> None:
    run = OpenRun("acme")
    run.request(request("c1"))
    answered(run, HistoryAnswer("c9", "add", None, Reading("not asked for")))
    answered(run, HistoryAnswer("c1", "add", b'{"a":2}', Reading(None, "declined")))
    finish(run, "acme", unseen=True)
    run.close()
    assert told(sink) == [("c1", True, None, "tool_raised")]
    (call,) = sink.calls
    assert (call.message, call.arguments, call["pdoctor.tool.asked_arguments"]) == (
        "declined",
        {"a": 2},
        '{"a":1}',
    )
    assert call["pdoctor.tool.timing"] == "inferred"


def test_answers_that_a_run_begins_with(sink: OtlpSink) -> None:
    """Those to calls that were asked for or started here are told of already."""
    asked = OpenRun("acme")
    asked.request(request("asked here"))
    finish(asked, "acme")
    asked.close()
    run = OpenRun("acme")
    run.take_request("started here", "add")
    ids = ["asked here", "started here", "elsewhere"]
    for _ in range(2):  # the same request again
        asked_elsewhere(run, [HistoryAnswer(one, "add", b"{}", Reading("3")) for one in ids])
    run.close()
    pdoctor_trace.flush()
    assert [call.call_id for call in sink.calls if call["pdoctor.tool.source_of_result"]] == ["elsewhere"]
    assert [root["pdoctor.run.resumed"] for root in sink.runs] == [None, token_of_ids(ids)]


def test_tokens_are_the_same_in_every_process_and_however_arguments_are_spelled() -> None:
    one = [Asked("c1", "add", '{"b": 2, "a": 1}'), Asked("c2", "now", "")]
    same = [Asked("c2", "now", {}), Asked("c1", "add", {"a": 1, "b": 2})]
    assert token("go", one) == token("go", same)
    assert token("go", one) == "step:6bc5fb829fc73986f7ebb14629fb9eaa"
    others = [token("stop", one), token("go", one[:1]), token("go", [Asked("c1", "add", "{}"), one[1]])]
    assert token("go", one) not in others
    assert token_of_ids(["a", "b"]) == token_of_ids(["b", "a"]) != token_of_ids(["a"])
    assert (written("no json"), written(object()), written(None)) == ("no json", "", "{}")


def test_only_so_many_calls_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdoctor_trace.elsewhere.MOST", 4)
    known = AskedHere()
    for number in range(3):
        known.add(Asked(f"c{number}", "add", "{}"))
    assert [known.knows(f"c{number}", Asked(f"c{number}", "add", {})) for number in range(3)] == [
        False,
        True,
        True,
    ]
    assert (known.knows("c2", None), known.knows("c2", Asked("c2", "add", '{"a":1}'))) == (True, False)
    known.add_of_framework(("f", "add"))
    assert known.knows("f", Asked("f", "add", '{"a":1}'))
    assert len(known._known | known._older) == 4
    known.clear()
    assert not known.knows("f", None)

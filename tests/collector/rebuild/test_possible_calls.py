"""Calls that were asked for and never heard of again, and calls that ran with other arguments than asked."""

from __future__ import annotations

from typing import Any

from collector.dialects import names
from collector.metrics import METRICS, observed
from collector.model import Run, Span
from collector.rebuild import rebuild
from collector.rebuild import told as read_run
from collector.ui.run_page import run_page
from synth.observed import run_from_json
from synth.policies import judge_policies, load_policies
from tests.collector.rebuild.test_gaps import TRACE, root, settled, span

NEW = (names.EXECUTION, names.ASKED_ARGUMENTS, names.AMBIGUOUS, names.RESULT_SOURCE)


def told(number: int, tool: str, **said: Any) -> Span:
    """A tool call with these attributes."""
    made = span(number)
    names_ = {"gen_ai.tool.name": tool, "gen_ai.tool.call.arguments": '{"amount": 1}'}
    return made._replace(attributes={**made.attributes, **names_, **said})


def unanswered(number: int, tool: str) -> Span:
    """A call that was asked for at the start of its span, and of which nothing was heard until its end."""
    made = told(number, tool, **{names.EXECUTED: False, names.EXECUTION: "unknown", names.TIMING: "inferred"})
    return made._replace(end_ns=made.start_ns + 10**12, status="error", status_message="cancelled")


def verdict(run: Run, rule: str) -> str:
    text = f"actions: {{pay: pay, verify: verify}}\npolicies: [{{id: p, rule: {rule!r}}}]"
    return judge_policies(load_policies(text), run)[0].verdict


def test_a_call_that_may_have_run_neither_acquits_nor_convicts() -> None:
    run = settled(told(0, "verify"), unanswered(1, "pay"), root(2))
    assert run.calls[1].executed is None
    assert verdict(run, "Verify must happen before pay.") == "undecided"  # not applicable, or kept
    assert verdict(run, "Pay must never happen.") == "undecided"
    assert verdict(run, "Pay must happen at least 1 time.") == "undecided"
    assert verdict(run, "Verify must happen at least 1 time.") == "ok"
    assert verdict(run, "Pay must happen at most 1 time.") == "undecided"
    before = settled(unanswered(0, "verify"), told(1, "pay"), root(2))
    assert verdict(before, "Verify must happen before pay.") == "undecided"


def test_what_was_asked_for_is_known_whether_it_ran_or_not() -> None:
    beside = {"pdoctor.turn.has_text": False}
    first = told(0, "verify", **beside, **{"pdoctor.turn.index": 0})
    asked = unanswered(1, "pay")
    alone = asked._replace(attributes={**asked.attributes, **beside, "pdoctor.turn.index": 1})
    assert verdict(settled(first, alone, root(2)), "Pay must be alone in its turn.") == "ok"


def test_a_span_of_it_without_an_end_is_no_call_that_goes_on() -> None:
    call = settled(unanswered(0, "pay")._replace(end_ns=0), root(1)).calls[0]
    assert (call.executed, call.finished) == (None, True)


def test_it_was_asked_for_at_an_instant_and_has_no_error() -> None:
    call = settled(unanswered(0, "pay"), root(1)).calls[0]
    assert (call.start, call.error, call.finished) == ((call.start or (0, 0))[:1] * 2, None, True)


def test_its_record_reads_back() -> None:
    run = settled(told(0, "verify"), unanswered(1, "pay"), root(2))
    again = run_from_json(run.to_json())
    assert again.gaps == run.gaps


def test_what_a_collector_of_before_reads_of_the_new_spans() -> None:
    """It does not know the new names: the call did not run, with the arguments that count."""
    spans = [unanswered(0, "pay"), told(1, "verify", **{names.ASKED_ARGUMENTS: '{"amount": 9}'}), root(2)]
    old = [
        one._replace(attributes={name: value for name, value in one.attributes.items() if name not in NEW})
        for one in spans
    ]
    run = settled(*old)
    assert [call.executed for call in run.calls] == [False, True]
    assert run.calls[1].arguments == {"amount": 1}


def test_spans_of_clients_of_before_are_read_as_ever() -> None:
    run = settled(told(0, "verify"), told(1, "pay", **{names.EXECUTED: False}), root(2))
    assert [call.executed for call in run.calls] == [True, False]
    assert (run.gaps, run.calls[0].asked_arguments, run.calls[0].partly) == ((), None, {})
    assert verdict(run, "Pay must never happen.") == "not_applicable"


def test_asked_arguments_are_kept_and_rules_read_what_ran() -> None:
    run = settled(told(0, "pay", **{names.ASKED_ARGUMENTS: '{"amount": 900}'}), root(1))
    assert (run.calls[0].arguments, run.calls[0].asked_arguments) == ({"amount": 1}, {"amount": 900})
    text = "actions: {}\npolicies: [{id: p, guard: {calls: pay, check: args.amount < 10}}]"
    assert judge_policies(load_policies(text), run)[0].verdict == "ok"


def test_results_that_may_belong_to_other_calls_are_partly_known() -> None:
    ambiguous = {names.AMBIGUOUS: True, "gen_ai.tool.call.result": '{"id": 7}'}
    run = settled(told(0, "verify", **ambiguous), told(1, "pay"), root(2))
    assert (run.calls[0].partly, run.calls[0].result) == ({"result": "ambiguous"}, {"id": 7})
    text = "actions: {}\npolicies: [{id: p, provenance: {calls: pay, argument: amount, from: verify}}]"
    assert judge_policies(load_policies(text), run)[0].verdict == "undecided"


def test_the_page_of_a_run_shows_them() -> None:
    asked = told(0, "verify", **{names.ASKED_ARGUMENTS: '{"amount": 9}'})
    spans = [asked, unanswered(1, "pay"), root(2)]
    detail = {"verdict": None, "policies": [], "query": None, "progress": {}}
    page = run_page(detail, read_run(TRACE, spans), spans)
    assert [row.state for row in page.rows] == ["ok", "unknown"]
    assert page.rows[0].call is not None
    assert page.rows[0].call["asked_arguments"] == {"amount": 9}


def test_only_calls_known_to_have_run_count_as_executed() -> None:
    rebuilt = rebuild(TRACE, [told(0, "verify"), unanswered(1, "pay"), root(2)])
    counts = {metric.name: metric.measure(observed(rebuilt)) for metric in METRICS if metric.name != "errors"}
    assert (counts["calls"], counts["executed_calls"]) == (2, 1)

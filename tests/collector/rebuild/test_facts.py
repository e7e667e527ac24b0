"""Attributes of the run's own span are fields of its record, as policies name them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pdoctor_trace
from collector.cli.check import session_of
from collector.model import Span
from collector.rebuild import rebuild
from collector.rebuild.facts import LONGEST, MOST
from synth.observed.lines import parse_json
from synth.observed.run import SESSION_FIELDS, run_from_json
from tests.support.sink import OtlpSink
from tests.support.traces import MS, T0, Client, agent_spans, new_id, request

TRACE = "ab" * 16
LOST = {"fields_lost": True}


def fields(**attributes: Any) -> dict[str, Any]:
    said = {"gen_ai.operation.name": "invoke_agent", **attributes}
    root = Span(TRACE, "1" * 16, None, "agent", T0, T0 + MS, "unset", "", said)
    return dict(rebuild(TRACE, [root]).run.extra)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"tier": "gold", "limit": 5, "vip": True}, {"tier": "gold", "limit": 5, "vip": True}),
        ({"customer.tier": "gold", "customer.age": 7}, {"customer": {"tier": "gold", "age": 7}}),
        ({"initial": '["door open", "light off"]'}, {"initial": ["door open", "light off"]}),
        ({"problem": '{"init": ["on a b"]}'}, {"problem": {"init": ["on a b"]}}),
        ({"problem": '{"init": 1}', "problem.goal": 2}, {"problem": {"init": 1, "goal": 2}}),
        ({"number": "123"}, {"number": "123"}),
        ({"tier": "gold", "tier.name": "x"}, {"tier": "gold"}),
        ({"calls": 5, "status": "ok", "run_id": "x", "input.value": "long", "llm.tools": 1}, {}),
        ({"cut": '["door open", "lig', "also": "text that goes on… (+9 characters)"}, LOST),
        ({"secret": "[redacted: token]"}, LOST),
        ({"fields_lost": False, "tier": "gold"}, {"tier": "gold"}),
        ({"pdoctor.run.facts": '{"tier": "go'}, LOST),
        ({"pdoctor.run.facts": '{"tier": "gold", "…": "… (+3 more)"}'}, {"tier": "gold", **LOST}),
        ({"pdoctor.run.facts": '{"tier": null}'}, {}),
    ],
)
def test_what_no_vocabulary_means_is_a_field(attributes: dict[str, Any], expected: dict[str, Any]) -> None:
    assert fields(**attributes) == expected


def test_what_our_own_tracer_was_told_keeps_its_types(sink: OtlpSink) -> None:
    told = {"customer": {"tier": "gold"}, "limit": 5.5, "number": "123", "open": ["a"], "when": None}
    with pdoctor_trace.run("book it", facts=told):
        pass
    pdoctor_trace.flush()
    [span] = sink.runs
    extra = fields(**span.attributes)
    del extra["messages"]
    assert extra == {name: value for name, value in told.items() if value is not None}


@pytest.mark.parametrize("mode", ["shape", "none"])
def test_in_other_modes_nothing_of_it_leaves_the_process(sink: OtlpSink, mode: str) -> None:
    pdoctor_trace.install(endpoint=sink.url, batch_delay=0.0, content=mode)
    with pdoctor_trace.run("book it", facts={"customer": "Ann"}):
        pass
    pdoctor_trace.flush()
    [span] = sink.runs
    assert span["pdoctor.run.facts"] == '"…"'
    assert fields(**{"pdoctor.run.facts": span["pdoctor.run.facts"]}) == LOST


def test_they_are_bounded() -> None:
    assert len(fields(**{f"f{i}": i for i in range(MOST)})) == MOST
    assert len(fields(**{f"f{i}": i for i in range(MOST + 50)})) == MOST + len(LOST)
    assert fields(long="x" * (LONGEST + 1), short="y") == {"short": "y", **LOST}
    assert fields(**{"n" * LONGEST: 1, "short": "y"}) == {"short": "y", **LOST}


@pytest.mark.parametrize("parts", [100, 198, 300, 30_000])
def test_names_of_many_parts_leave_a_record_that_can_be_read_again(parts: int) -> None:
    root = Span(
        TRACE,
        "1" * 16,
        None,
        "agent",
        T0,
        T0 + MS,
        "unset",
        "",
        {"gen_ai.operation.name": "invoke_agent", "a" + ".a" * (parts - 1): "[[1]]", "b": 1},
    )
    run = rebuild(TRACE, [root]).run
    assert run_from_json(parse_json(json.dumps(run.to_json()))).extra == run.extra
    assert run.extra["b"] == 1
    assert ("a" in run.extra) is ("fields_lost" not in run.extra) is (parts < 198)


def test_a_span_that_lost_attributes_or_has_not_come_leaves_open_what_it_said() -> None:
    said = {"gen_ai.operation.name": "invoke_agent", "tier": "gold"}
    root = Span(TRACE, "1" * 16, None, "agent", T0, T0 + MS, "unset", "", said)
    assert rebuild(TRACE, [root._replace(dropped=2)]).run.extra == {"tier": "gold", **LOST}
    call = root._replace(
        span_id="2" * 16, parent_id="1" * 16, attributes={"gen_ai.operation.name": "execute_tool"}
    )
    assert rebuild(TRACE, [call]).run.extra == LOST
    assert rebuild(TRACE, [root, call._replace(dropped=2)]).run.extra == {"tier": "gold"}


@pytest.mark.parametrize("name", ["session.id", "gen_ai.conversation.id", *SESSION_FIELDS])
def test_spans_and_records_name_their_conversation_in_the_same_words(name: str) -> None:
    said = {"gen_ai.operation.name": "invoke_agent", name: "s-1"}
    rebuilt = rebuild(TRACE, [Span(TRACE, "1" * 16, None, "agent", T0, T0 + MS, "unset", "", said)])
    assert rebuilt.session == "s-1"
    assert session_of(run_from_json(rebuilt.run.to_json())) == "s-1"
    assert session_of(run_from_json({"run_id": "r", "calls": []})) is None


def test_a_tool_call_tells_nothing_about_its_run() -> None:
    root, call = agent_spans(TRACE, ["pay"])[::-1]
    call["at"]["tier"] = "gold"
    spans = [
        Span(TRACE, str(one["id"]), None if one is root else "1", "x", T0, T0 + MS, "unset", "", one["at"])
        for one in (root, call)
    ]
    assert rebuild(TRACE, spans).run.extra == {}


POLICY = """\
actions: {pay: pay, refund: refund}
policies:
  - {id: tier, guard: {calls: pay, check: "run.customer.tier == 'gold' || args.amount < 100"}}
  - {id: asked, guard: {calls: pay, check: "!has(run.blocked) && !has(run.customer.blocked)"}}
  - id: open
    contract: {initial: initial, tools: {pay: {requires: account open}}}
"""


def test_guards_and_contracts_read_them(fresh: Client) -> None:
    fresh.post("/policies", {"name": "shop", "text": POLICY})

    def verdicts(**attributes: Any) -> list[str]:
        run = new_id()
        spans = agent_spans(run, [{"name": "pay", "arguments": {"amount": 500}}])
        spans[-1]["at"] |= attributes
        fresh.send(request(*spans).SerializeToString())
        return [result["verdict"] for result in fresh.judged(run)["policies"]]

    facts = json.dumps(["account open"])
    assert verdicts(**{"customer.tier": "gold", "initial": facts}) == ["ok", "ok", "ok"]
    assert verdicts(**{"customer.tier": "basic", "initial": "[]"}) == ["violated", "ok", "violated"]
    assert verdicts(**{"customer.tier": "gold", "blocked": True})[1] == "violated"
    assert verdicts(**{"customer.tier": "gold", "blocked": "[1, "})[:2] == ["ok", "undecided"]
    assert verdicts(**{"blocked": True, "cut": "[1, "})[1] == "violated"
    assert verdicts(**{"a" + ".a" * 300: True})[1] == "undecided"
    assert verdicts()[::2] == ["unsupported", "unsupported"]

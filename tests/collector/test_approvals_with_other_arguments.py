"""A person who lets a call run gives it other arguments: by API or page, and what a host makes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

import pdoctor_trace
from pdoctor_trace.wrappers import around
from tests.collector.approving import ask, decide, deciding, host_of
from tests.support.traces import Client

HEAD = "actions: {verify: verify, refund: refund}\npolicies:\n"
FIRST = HEAD + "  - {id: FIRST, rule: Verify must happen before refund., on_break: ask}\n"
MOST = FIRST + "  - {id: MOST, guard: {calls: refund, check: 'args.amount <= 100'}, on_break: feedback}\n"
QUESTION = {"tool": "refund", "text": "Not run: no.", "arguments": {"order": "A-17"}, "changeable": True}


def nested(levels: int, inside: str = "1") -> str:
    """An argument in so many lists."""
    return '{"order": ' + "[" * levels + inside + "]" * levels + "}"


NESTED = json.loads(nested(300))  # the collector reads what it would not write


@pytest.fixture
def host(fresh: Client) -> Iterator[Client]:
    with host_of(fresh):
        yield fresh


class Till:
    """A refund of which it is noted with what it ran."""

    def __init__(self) -> None:
        self.paid: list[Any] = []

        def refund(order: Any, amount: int = 0) -> str:
            self.paid.append((order, amount))
            return "done"

        async def later(order: Any, amount: int = 0) -> str:
            return refund(order, amount)

        later.__name__ = "refund"
        self.plain = pdoctor_trace.tool(refund)
        self.coroutine = pdoctor_trace.tool(later)


def asked_and_run(host: Client) -> list[Any]:
    """Of each call of the newest run: (what was asked for, what it ran with, what the guard said)."""
    pdoctor_trace.flush()
    found = host.judged(host.get("/approvals")["items"][0]["run_id"])["calls"]
    return [(call.get("asked_arguments"), call["arguments"], call["guard"]["decision"]) for call in found]


@pytest.mark.parametrize("coroutine", [False, True])
def test_the_tool_runs_with_what_somebody_gave_and_the_span_says_both(host: Client, coroutine: bool) -> None:
    till, other = Till(), {"order": "A-18", "amount": 40}
    with pdoctor_trace.guard(MOST, mode="ask"), pdoctor_trace.run():
        person = deciding(host, "approve", arguments=other)
        said = asyncio.run(till.coroutine("A-17", amount=90)) if coroutine else till.plain("A-17", amount=90)
        person.join()
    assert (said, till.paid) == ("done", [("A-18", 40)])
    (one,) = host.get("/approvals")["items"]
    assert (one["changeable"], one["arguments"], one["run_arguments"]) == (
        True,
        {"order": "A-17", "amount": 90},
        other,
    )
    assert asked_and_run(host) == [({"order": "A-17", "amount": 90}, other, "approved")]
    assert "with other arguments" in str(host.get("/audit"))


def test_a_call_that_is_approved_as_it_is_has_one_set_of_arguments(host: Client) -> None:
    till, given = Till(), {"order": "A-17", "amount": 90}
    with pdoctor_trace.guard(MOST, mode="ask"), pdoctor_trace.run():
        for more in ({}, {"arguments": given}):
            person = deciding(host, "approve", **more)
            till.plain(**given)
            person.join()
    assert till.paid == [("A-17", 90)] * 2
    assert asked_and_run(host) == [(None, given, "approved")] * 2


def test_changed_arguments_that_break_another_rule_do_not_run(host: Client) -> None:
    till = Till()
    with pdoctor_trace.guard(MOST, mode="ask"), pdoctor_trace.run():
        person = deciding(host, "approve", arguments={"order": "A-17", "amount": 900})
        said = till.plain("A-17", amount=90)
        person.join()
    assert till.paid == []
    assert said.startswith("Somebody changed the arguments. Not run: ")
    assert "args.amount <= 100" in said
    assert asked_and_run(host) == [
        ({"order": "A-17", "amount": 90}, {"order": "A-17", "amount": 900}, "refused")
    ]


def test_changed_arguments_that_the_tool_does_not_take_do_not_run(host: Client) -> None:
    till = Till()
    with pdoctor_trace.guard(FIRST, mode="ask"), pdoctor_trace.run():
        person = deciding(host, "approve", arguments={"sum": 900})
        said = till.plain("A-17")
        person.join()
        assert till.paid == []
        assert said.startswith("Not run: somebody changed the arguments, and the tool does not take them: ")
        assert "'order'" in said
        person = deciding(host, "approve", arguments={"order": "A-18"})
        assert till.plain("A-17") == "done"
        person.join()
    assert till.paid == [("A-18", 0)]


def test_what_nobody_changed_is_the_hosts_own_object(host: Client) -> None:
    till, order = Till(), {1, 2}
    with pdoctor_trace.guard(FIRST, mode="ask"), pdoctor_trace.run():
        person = deciding(host, "approve", arguments={"order": [1, 2], "amount": 3})
        till.plain(order, amount=1)
        person.join()
    ((paid, amount),) = till.paid
    assert paid is order
    assert amount == 3


def test_an_empty_object_is_other_arguments_too(host: Client) -> None:
    ran: list[Any] = []

    @pdoctor_trace.tool
    def refund(order: str = "none") -> None:
        ran.append(order)

    with pdoctor_trace.guard(FIRST, mode="ask"), pdoctor_trace.run():
        person = deciding(host, "approve", arguments={})
        refund(order="A-17")
        person.join()
    assert ran == ["none"]


def test_a_host_that_cannot_change_arguments_says_so(host: Client) -> None:
    """As a framework's, whose adapter has no way to hand them over."""
    ran: list[Any] = []

    def enter(instance: Any, args: Any, kwargs: Any) -> Any:
        from pdoctor_trace.calls import Call
        from pdoctor_trace.runtime import arguments

        return Call("other", "refund", arguments(kwargs))

    refund = around(enter, lambda visit, text, *given: text).direct(lambda **given: ran.append(given))
    with pdoctor_trace.guard(FIRST, mode="ask"), pdoctor_trace.run():
        person = deciding(host, "approve", arguments={"order": "A-18"})  # told that it cannot
        second = deciding(host, "approve")
        refund(order="A-17")
        person.join()
        second.join()
    assert ran == [{"order": "A-17"}]
    (asked,) = host.get("/approvals")["items"]
    assert asked["changeable"] is False


@pytest.mark.parametrize("content", ["shape", "none"])
def test_arguments_that_are_not_shown_are_not_edited(fresh: Client, content: str) -> None:
    till = Till()
    with host_of(fresh, content=content), pdoctor_trace.guard(FIRST, mode="ask"), pdoctor_trace.run():
        person = deciding(fresh, "approve")
        till.plain("A-17")
        person.join()
    (asked,) = fresh.get("/approvals")["items"]
    assert asked["changeable"] is False
    assert till.paid == [("A-17", 0)]


@pytest.mark.parametrize(
    ("question", "decision", "given", "flaw"),
    [
        (QUESTION, "approve", [1], "must be a JSON object, not a list"),
        (QUESTION, "approve", "x", "must be a JSON object, not a text"),
        (QUESTION, "approve", None, "must be a JSON object, not null"),
        (QUESTION, "approve", True, "must be a JSON object, not true or false"),
        (QUESTION, "approve", {"order": "x" * 20_000}, "take 20012 bytes"),
        (QUESTION, "refuse", {"order": "A-18"}, "a refused call has no arguments"),
        (QUESTION, "approve", NESTED, "are nested too deep"),
        ({**QUESTION, "changeable": False}, "approve", {"order": "A-18"}, "runs this call as it is"),
        ({**QUESTION, "arguments": None}, "approve", {"order": "A-18"}, "runs this call as it is"),
        ({**QUESTION, "arguments": {"o": "x" * 20_000}}, "approve", {"o": "A"}, "runs this call as it is"),
    ],
)
def test_arguments_that_cannot_be_taken_leave_the_question_open(
    fresh: Client, question: Any, decision: str, given: Any, flaw: str
) -> None:
    asked = ask(fresh, **question)
    answer = decide(fresh, asked["id"], decision, arguments=given)
    assert answer.status_code == 400
    assert flaw in answer.json()["error"]["message"]
    assert ask(fresh, id=asked["id"])["state"] == "open"


def test_changeable_is_true_or_false(fresh: Client) -> None:
    assert fresh.post("/approvals", {**QUESTION, "changeable": "yes"}).status_code == 400


def test_the_page_lets_one_edit_the_arguments_and_keeps_what_was_typed(fresh: Client) -> None:
    asked = ask(fresh, **QUESTION)
    place = f"/approvals/{asked['id']}"
    assert '<textarea name="arguments"' in fresh.http.get("/approvals").text
    for typed, flaw in (
        ('{"order": <b>', "the arguments are not JSON"),
        ("[1]", "must be a JSON object, not a list"),
        ("", "the arguments are not JSON"),
        ("NaN", "the arguments are not JSON"),
    ):
        answer = fresh.http.post(place, data={"decision": "approve", "arguments": typed})
        assert answer.status_code == 400
        assert flaw in answer.text
        assert typed.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;") in answer.text
        assert ask(fresh, id=asked["id"])["state"] == "open"
    said = {"decision": "approve", "arguments": ' {"order": "A-18"}\r\n'}
    page = fresh.http.post(place, data=said, follow_redirects=True)
    assert "refund was approved with other arguments." in page.text
    assert ask(fresh, id=asked["id"])["run_arguments"] == {"order": "A-18"}


def test_the_page_offers_no_edit_where_the_host_cannot_take_it(fresh: Client) -> None:
    ask(fresh, **{**QUESTION, "changeable": False})
    page = fresh.http.get("/approvals").text
    assert "textarea" not in page
    assert "The host runs this call with these arguments only." in page


@pytest.mark.parametrize(("levels", "size"), [(1015, 1), (300, 1_000_000), (200, 7_500)])
def test_arguments_that_are_nested_deep_leave_the_page_as_it_is(
    fresh: Client, levels: int, size: int
) -> None:
    """They were kept whole, whatever their size, and the page failed, or had megabytes for one question."""
    arguments = nested(levels, ",".join("1" * size) if size < 10_000 else f'"{"x" * size}"')
    body = json.dumps({**QUESTION, "arguments": "HERE"}).replace('"HERE"', arguments)
    asked = fresh.http.post(
        "/api/v1/approvals", content=body, headers={"content-type": "application/json"}
    ).json()
    assert (asked["changeable"], asked["arguments"]) == (False, "(too long to be shown)")
    page = fresh.http.get("/approvals")
    assert page.status_code == 200
    assert len(page.text) < 100_000

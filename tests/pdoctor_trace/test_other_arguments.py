"""A person who lets a call run gives other arguments: a function of the host, and the MCP proxy."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

import pdoctor_trace
from pdoctor_trace.asking import DOOR, merged
from pdoctor_trace.harmless import FAILURES
from pdoctor_trace.person import Question
from pdoctor_trace.proxy.http import Proxy
from pdoctor_trace.wrappers import around
from tests.pdoctor_trace.test_guarding import Told
from tests.pdoctor_trace.test_mcp_proxy import proxied, text_of
from tests.pdoctor_trace.test_mcp_proxy_http import call, upstream
from tests.support.sink import OtlpSink

HEAD = "actions: {verify: verify, refund: refund}\npolicies:\n"
FIRST = HEAD + "  - {id: FIRST, rule: Verify must happen before refund.}\n"
ONCE = (
    HEAD
    + """
  - {id: FIRST, rule: Verify must happen before refund., on_break: ask}
  - {id: ONCE, rule: Refund must happen at most 1 time., on_break: block}
"""
)


@pytest.fixture(autouse=True)
def _no_guard_stays(sink: OtlpSink) -> Iterator[None]:
    yield
    pdoctor_trace.flush()
    DOOR.guards = ()


@pdoctor_trace.tool
def refund(order: str, amount: int = 1) -> str:
    return f"{amount} for {order}"


class Shop:
    @pdoctor_trace.tool
    def refund(self, order: str, amount: int = 1) -> str:
        return f"{amount} for {order} of {type(self).__name__}"


@pytest.mark.parametrize("content", ["full", "shape", "none"])
def test_a_function_that_is_asked_gives_other_arguments_in_any_content_mode(content: str) -> None:
    pdoctor_trace.install(content=content)
    try:
        with pdoctor_trace.guard(FIRST, mode="ask", on_ask=lambda text: {"order": "8", "amount": 2}):
            assert refund("7") == "2 for 8"
            assert Shop().refund("7") == "2 for 8 of Shop"
    finally:
        pdoctor_trace.install(content="full")


def test_a_function_with_two_parameters_is_told_of_the_call() -> None:
    told: list[Question] = []

    async def on_ask(text: str, question: Question) -> dict[str, Any]:
        told.append(question)
        return {**question.arguments, "amount": 5}

    with pdoctor_trace.guard(FIRST, mode="ask", on_ask=on_ask), pdoctor_trace.run(agent="desk"):
        assert refund("7", amount=9) == "5 for 7"
    assert told == [Question("refund", {"order": "7", "amount": 9}, ("FIRST",), "desk", True)]


def test_where_the_host_cannot_change_them_the_call_does_not_run(caplog: pytest.LogCaptureFixture) -> None:
    ran: list[Any] = []
    plain = around(lambda *_: Told("told", "refund", b"{}"), lambda visit, text, *_: text).direct(ran.append)
    told: list[bool] = []

    def on_ask(text: str, question: Question) -> dict[str, Any]:
        told.append(question.changeable)
        return {"order": "8"}

    with pdoctor_trace.guard(FIRST, mode="ask", on_ask=on_ask):
        assert plain("7").startswith("Not run: Verify must happen before refund.")
    assert (ran, told) == ([], [False])
    assert "refund cannot be run with other arguments here" in caplog.text


def test_an_approval_is_about_the_rules_that_were_asked_about() -> None:
    """Two calls are asked about at once; that the first one runs makes the second one break another rule."""
    both = threading.Barrier(2, timeout=60)
    said: list[str] = []

    def on_ask(text: str) -> bool:
        both.wait()
        return True

    def one() -> None:
        try:
            said.append(refund("7"))
        except pdoctor_trace.Refused as refused:
            said.append(refused.rules[0])

    with pdoctor_trace.guard(ONCE, mode="block", on_ask=on_ask), pdoctor_trace.run():
        threads = [threading.Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(said) == ["1 for 7", "ONCE"]


def test_of_several_guards_the_later_ones_are_asked_about_the_call_that_runs() -> None:
    most = HEAD + "  - {id: MOST, guard: {calls: refund, check: 'args.amount <= 100'}}\n"
    for amount, said in ((100, "100 for 7"), (101, "Not run: ")):
        other = {"order": "7", "amount": amount}
        with (
            pdoctor_trace.guard(FIRST, mode="ask", on_ask=lambda text, other=other: other),
            pdoctor_trace.guard(most, mode="feedback"),
            pdoctor_trace.run(),
        ):
            assert refund("7").startswith(said)


def test_a_later_guard_offers_no_change(caplog: pytest.LogCaptureFixture) -> None:
    with (
        pdoctor_trace.guard(HEAD + "  - {id: NOT, rule: Verify must never happen.}\n", mode="block"),
        pdoctor_trace.guard(FIRST, mode="ask", on_ask=lambda text: {"order": "8"}),
        pdoctor_trace.run(),
    ):
        assert refund("7").startswith("Not run: ")
    assert "cannot be run with other arguments here" in caplog.text


def test_a_call_that_goes_on_later_goes_on_with_what_somebody_gave(sink: OtlpSink) -> None:
    ran: list[Any] = []

    def body(order: str) -> str:
        ran.append(order)
        if len(ran) == 1:
            raise RuntimeError("somebody has to answer first")
        return "done"

    made = around(
        lambda instance, args, kwargs: Told("told", "refund", b'{"order":"7"}', call_id="c1"),
        lambda *_: "no",
        change=lambda changed, instance, args, kwargs: ((), changed),
    ).direct(body)
    asked: list[str] = []

    def on_ask(text: str) -> dict[str, Any]:
        asked.append(text)
        return {"order": "8"}

    with pdoctor_trace.guard(FIRST, mode="ask", on_ask=on_ask), pdoctor_trace.run():
        with pytest.raises(RuntimeError, match="somebody"):
            made(order="7")
        assert made(order="7") == "done"
    assert (ran, len(asked)) == (["8", "8"], 1)
    pdoctor_trace.flush()
    (one,) = [call for call in sink.calls if call.executed]
    assert (one.arguments, json.loads(one["pdoctor.tool.asked_arguments"])) == (
        {"order": "8"},
        {"order": "7"},
    )


class Approving(BaseHTTPRequestHandler):
    """In the collector's place: approves everything at once, with other arguments."""

    asked: list[Any]

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(said)
        body = json.dumps({"id": "q", "state": "approved", "run_arguments": {"order": "8"}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *parts: Any) -> None:
        """Say nothing."""


@pytest.fixture
def approver() -> Iterator[tuple[str, list[Any]]]:
    asked: list[Any] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Approving,), {"asked": asked})) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


NOWHERE = "http://127.0.0.1:9"
PROGRAM = """
import pdoctor_trace

@pdoctor_trace.tool
def refund(order):
    return f"refunded {order}"

with pdoctor_trace.run():
    print(refund(order="7"))
"""


@pytest.mark.parametrize("way", ["option", "variable", "endpoint"])
def test_a_program_is_told_whom_to_ask(tmp_path: Path, approver: tuple[str, list[Any]], way: str) -> None:
    url, asked = approver
    (tmp_path / "rules.yaml").write_text(FIRST)
    (tmp_path / "program.py").write_text(PROGRAM)
    environ = {
        **os.environ,
        "PDOCTOR_EXIT_TIMEOUT": "0.1",
        "PDOCTOR_RECORDS": "0",
        "PDOCTOR_ENDPOINT": url if way == "endpoint" else NOWHERE,
        "PDOCTOR_GUARD_ASK": url if way == "variable" else "",
        "PDOCTOR_APPROVAL_TIMEOUT": "9",
    }
    named = ["--guard", "rules.yaml", "--guard-mode", "ask", "--approval-timeout", "7"]
    words = [*named, *(["--guard-ask", url] if way == "option" else []), "--", "python", "program.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pdoctor_trace", "run", *words],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "refunded 8\n", done.stderr
    assert [one["seconds"] for one in asked] == [7.0]


@pytest.mark.parametrize("way", ["option", "variable", "own variable"])
def test_the_proxy_is_told_whom_to_ask(tmp_path: Path, approver: tuple[str, list[Any]], way: str) -> None:
    """By options, which count more than variables do, also where those have set a guard already."""
    url, asked = approver
    other = tmp_path / "other.yaml"
    other.write_text(HEAD + "  - {id: OTHER, rule: Refund must never happen.}\n")
    environ = {
        "PDOCTOR_ENDPOINT": NOWHERE,
        "PDOCTOR_TRACE_DISABLED": "0",
        "PDOCTOR_RECORDS": "0",
        "PDOCTOR_GUARD": str(other),
        "PDOCTOR_GUARD_MODE": "block",
        "PDOCTOR_APPROVAL_TIMEOUT": "9",
        **({"PDOCTOR_GUARD_ASK": NOWHERE if way == "option" else url} if way != "own variable" else {}),
        **({"PDOCTOR_MCP_PROXY_ASK": url} if way == "own variable" else {}),
    }
    options = ["--mode", "ask", *(["--ask", url, "--approval-timeout", "7"] if way == "option" else [])]
    with proxied(tmp_path, *options, environ=environ) as host:
        assert text_of(host.call("refund", 4, order="7")) == "refund done"
    (question,) = asked
    assert (question["rules"], question["seconds"]) == (["FIRST"], 7.0 if way == "option" else 9.0)


def test_an_approval_that_does_not_come_in_time_refuses(tmp_path: Path) -> None:
    options = ("--mode", "ask", "--ask", NOWHERE, "--approval-timeout", "0.1")
    with proxied(tmp_path, *options) as host:
        assert text_of(host.call("refund", 4, order="7")).startswith("Not run: Verify must happen")
        assert f"nobody could be asked at {NOWHERE}" in host.log()


@pytest.mark.parametrize(
    "options", [["--ask", "tty"], ["--ask", "desk:4318"], ["--approval-timeout", "soon"]], ids=str
)
def test_the_proxy_does_not_start_where_nobody_can_be_asked(tmp_path: Path, options: list[str]) -> None:
    with proxied(tmp_path, "--mode", "ask", *options) as host:
        assert host.hear() is None
        assert host.process.wait(60) == 2
        assert f"{options[1]!r}" in host.log()


def test_the_proxy_hands_other_arguments_to_the_server(
    tmp_path: Path, approver: tuple[str, list[Any]]
) -> None:
    url, asked = approver
    environ = {"PDOCTOR_ENDPOINT": url, "PDOCTOR_TRACE_DISABLED": "0", "PDOCTOR_RECORDS": "0"}
    with proxied(tmp_path, "--mode", "ask", environ=environ) as host:
        answer = host.ask("tools/call", 4, name="refund", arguments={"order": "7"}, _meta={"x": 1})
        assert text_of(answer) == "refund done"
        (line,) = [line for line in host.log().splitlines() if '"refund"' in line]
    sent = json.loads(line.removeprefix("got "))
    assert sent["params"] == {"name": "refund", "arguments": {"order": "8"}, "_meta": {"x": 1}}
    assert sent["id"] == 4
    (question,) = asked
    assert (question["arguments"], question["changeable"]) == ({"order": "7"}, True)


@pytest.mark.parametrize("repeats", [False, True])
def test_the_proxy_over_http_hands_them_on_unless_headers_repeat_them(repeats: bool, sink: OtlpSink) -> None:
    headers = {"host": "127.0.0.1:4319", **({"mcp-param-order": "7"} if repeats else {})}

    async def main(url: str) -> httpx.Response:
        proxy = Proxy(url, 100_000, asks=True)
        transport = httpx.ASGITransport(app=proxy)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:4319") as client:
            answer = await client.post("/mcp", json=call("refund", order="7"), headers=headers)
        proxy.close()
        return answer

    other = {"order": "8"}
    with upstream() as (url, got), pdoctor_trace.guard(FIRST, mode="ask", on_ask=lambda text: other):
        answer = asyncio.run(main(url))
    pdoctor_trace.flush()
    (span,) = sink.calls
    if repeats:
        assert answer.json()["result"]["isError"] is True
        assert got == []
        return
    (sent,) = got
    assert json.loads(sent["body"]) == call("refund", order="8")
    assert (span.arguments, json.loads(span["pdoctor.tool.asked_arguments"])) == (other, {"order": "7"})


LONG = "x" * 300_000


@pytest.mark.parametrize("asked", ["7", LONG], ids=["short", "long"])
@pytest.mark.parametrize("given", ["8", LONG + "y"], ids=["short", "long"])
def test_arguments_that_are_too_long_to_be_kept_are_those_that_run(asked: str, given: str) -> None:
    """As much of them as is kept can be compared; the call never runs as nobody let it run."""
    with pdoctor_trace.guard(FIRST, mode="ask", on_ask=lambda text: {"order": given}), pdoctor_trace.run():
        assert refund(asked) == f"1 for {given}"


def test_an_answer_that_cannot_be_worked_with_lets_nothing_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*parts: Any) -> Any:
        raise ValueError("ours")

    monkeypatch.setattr(pdoctor_trace.guarding.Guard, "_approved", fails)
    with pdoctor_trace.guard(FIRST, mode="ask", on_ask=lambda text: True), pdoctor_trace.run():
        assert refund("7").startswith("Not run: Verify must happen before refund.")
    FAILURES.clear()


METHOD = Shop.refund.__wrapped__.__get__(Shop())


def _by_place(order: str, /, amount: int = 1, *more: int, **named: Any) -> str:
    return f"{amount} for {order} {more} {named}"


def _more(order: str, amount: int = 1, *args: int) -> str:
    return f"{amount} for {order} {args}"


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "seen", "said"),
    [
        (METHOD, ("7", 3), {}, {"order": "7", "amount": 3}, "5 for 7 of Shop"),
        (METHOD, (), {"order": "7"}, {"order": "7"}, "5 for 7 of Shop"),
        (_by_place, ("7",), {}, {"order": "7"}, "5 for 7 () {}"),
        (_by_place, ("7", 3, 4), {"x": 1}, {"order": "7", "amount": 3, "args": [4], "x": 1},
         "5 for 7 (4,) {'x': 1}"),
        (_more, ("7", 3, 4, 6), {}, {"order": "7", "amount": 3, "args": [4, 6]}, "5 for 7 (4, 6)"),
        (_by_place, ("7",), {"order": "9"}, {"order": "9"}, "two arguments 'order'"),
    ],
    ids=["method", "method by name", "by place only", "more and named", "more", "one name twice"],
)  # fmt: skip
def test_every_kind_of_function_is_given_what_somebody_changed_and_the_rest_as_it_was(
    function: Any, args: Any, kwargs: Any, seen: Any, said: str
) -> None:
    told: list[Any] = []

    def on_ask(text: str, question: Question) -> dict[str, Any]:
        told.append(question.arguments)
        return {**question.arguments, "amount": 5}

    made = pdoctor_trace.wrap_tools({"refund": function})["refund"]
    with pdoctor_trace.guard(FIRST, mode="ask", on_ask=on_ask), pdoctor_trace.run():
        assert said in made(*args, **kwargs)
    assert told == [seen]


@pytest.mark.parametrize("late", [False, True])
def test_a_call_that_was_cancelled_while_somebody_was_asked_has_not_run(sink: OtlpSink, late: bool) -> None:
    """Whoever approves it then lets nothing run; for the guard the call is over."""
    answers, asked, ran = threading.Event(), threading.Event(), list[str]()

    @pdoctor_trace.tool(name="refund")
    async def later(order: str) -> None:
        ran.append(order)

    def on_ask(text: str) -> bool:
        asked.set()
        return answers.wait(60)

    async def main() -> None:
        pool = ThreadPoolExecutor()
        asyncio.get_running_loop().set_default_executor(pool)
        first = asyncio.ensure_future(later("7"))
        while not asked.is_set():
            await asyncio.sleep(0.01)
        if not late:  # the answer is there before the loop looks at it
            answers.set()
            pool.shutdown()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        answers.set()
        pool.shutdown()

    with pdoctor_trace.guard(FIRST, mode="ask", on_ask=on_ask) as guard, pdoctor_trace.run():
        asyncio.run(main())
        (course,) = guard._runs.values()
        (call,) = course.prefix.calls
        assert (call.finished, ran) == (True, [])
    pdoctor_trace.flush()
    (span,) = sink.calls
    assert not span.executed


def test_a_text_in_place_of_arguments_gives_way_whatever_it_says() -> None:
    assert merged("the order", {"order": "8"}) == {"order": "8"}

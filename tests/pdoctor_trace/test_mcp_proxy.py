"""`pdoctor mcp-proxy` over stdio: what passes, what is refused, what either side is told when one dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import plain_mcp_server
from tests.support.sink import OtlpSink

ROOT = Path(__file__).resolve().parents[2]
FIRST = """
actions: {verify: verify, refund: refund}
policies: [{id: FIRST, rule: Verify must happen before refund.}]
"""
BEGINNING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "desk", "version": "1"},
}


class Host:
    """A client that writes and reads lines as they are."""

    def __init__(self, process: subprocess.Popen[bytes], errors: Path) -> None:
        self.process, self.errors = process, errors

    def say(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, method: str, id_: Any = 1, **params: Any) -> Any:
        self.say({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return self.hear()

    def call(self, tool: str, id_: Any = 1, **arguments: Any) -> Any:
        return self.ask("tools/call", id_, name=tool, arguments=arguments)

    def log(self) -> str:
        return self.errors.read_text()

    def children(self) -> list[int]:
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(one) for one in found.split()]


@contextmanager
def proxied(
    folder: Path, *options: str, server: tuple[str, ...] = (), environ: dict[str, str] | None = None
) -> Iterator[Host]:
    policies = folder / "shop.yaml"
    policies.write_text(FIRST)
    command = [
        sys.executable,
        "-m",
        "pdoctor_trace",
        "mcp-proxy",
        "--policies",
        str(policies),
        *options,
        "--",
    ]
    errors = folder / "errors"
    with errors.open("w") as log:
        process = subprocess.Popen(
            [*command, sys.executable, plain_mcp_server.__file__, *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
            env={**os.environ, "PDOCTOR_TRACE_DISABLED": "1", **(environ or {})},
        )
        try:
            yield Host(process, errors)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


def gone(pid: int, seconds: float = 5) -> bool:
    """Whether a process ends within that time; one that nobody has waited for is over as well."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def text_of(answer: Any) -> str:
    (part,) = answer["result"]["content"]
    return str(part["text"])


def test_what_the_rules_refuse_is_answered_as_a_failed_tool_and_does_not_reach_the_server(
    tmp_path: Path,
) -> None:
    with proxied(tmp_path, "--mode", "feedback") as host:
        assert len(host.ask("tools/list")["result"]["tools"]) == len(plain_mcp_server.TOOLS)
        refused = host.call("refund", 2, order="7")
        assert (refused["id"], refused["result"]["isError"]) == (2, True)
        assert text_of(refused).startswith("Not run: Verify must happen before refund.")
        assert "Allowed now: verify," in text_of(refused)
        assert '"refund"' not in host.log()
        assert text_of(host.call("verify", 3, order="7")) == "verify done"
        assert text_of(host.call("refund", 4, order="7")) == "refund done"


def test_without_a_mode_calls_pass_and_are_only_looked_at(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        assert text_of(host.call("refund")) == "refund done"


def test_messages_pass_byte_by_byte_in_both_directions(tmp_path: Path) -> None:
    with proxied(tmp_path, "--mode", "block") as host:
        for id_ in (1, "1", -3, "ü"):
            name = json.dumps(id_).encode()
            odd = b'{"id": %s , "method":"some/thing",  "jsonrpc":"2.0", "extra": [1.0, NaN]}' % name
            host.say(odd)
            said = {"jsonrpc": "2.0", "id": id_, "result": {"echo": "some/thing"}, "odd": "as it is"}
            assert host.hear() == said
            assert odd.decode() in host.log()


def test_requests_of_the_server_and_progress_pass(tmp_path: Path) -> None:
    with proxied(tmp_path, "--mode", "block") as host:
        asked = host.call("ask_back")
        assert asked == {"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage", "params": {"n": 1}}
        host.say({"jsonrpc": "2.0", "id": "s1", "result": {"role": "assistant"}})
        assert "assistant" in text_of(host.hear())
        step = host.ask("tools/call", 5, name="progress", _meta={"progressToken": "t"})
        assert (step["method"], step["params"]["progressToken"]) == ("notifications/progress", "t")
        assert text_of(host.hear()) == "done"


def test_a_refused_call_of_a_batch_is_answered_and_the_others_pass(tmp_path: Path) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
        for id_, tool in ((1, "refund"), (2, "verify"))
    ]
    with proxied(tmp_path, "--mode", "feedback") as host:
        host.say(calls)
        answers = {one["id"]: one for one in (host.hear(), host.hear())}
        assert answers[1]["result"]["isError"] is True
        assert text_of(answers[2]) == "verify done"


def test_what_is_no_message_is_an_error_to_who_sent_it(tmp_path: Path) -> None:
    lines: list[tuple[bytes, int, Any]] = [
        (b'{"jsonrpc": "2.0", "id": 1, ', -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 5000, -32700, None),
        (b"7", -32600, None),
        (b"[]", -32600, None),
        (b'{"jsonrpc": "2.0", "id": 9}', -32600, 9),
    ]
    with proxied(tmp_path) as host:
        for line, code, id_ in lines:
            host.say(line)
            answer = host.hear()
            assert (answer["id"], answer["error"]["code"]) == (id_, code)
        assert host.ask("ping", 2)["result"] == {"echo": "ping"}
        assert host.log().count("got ") == 1


def test_what_a_server_writes_beside_the_protocol_is_told_and_harms_nothing(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        told = host.call("garbage", 3)
        assert (told["id"], told["error"]["code"]) == (None, -32700)
        assert "'this is a debug line'" in told["error"]["message"]
        assert text_of(host.hear()) == "after the garbage"
        assert "this is a debug line" in host.log()


def test_messages_that_are_too_long_are_told_of_with_their_ids_and_not_kept(tmp_path: Path) -> None:
    with proxied(tmp_path, "--max-message", "1") as host:
        host.ask("ping", 0)
        before = memory(host.process.pid)
        filler = "y" * 60_000_000
        for message in (
            {"jsonrpc": "2.0", "id": 7, "params": filler},
            {"params": filler, "jsonrpc": "2.0", "id": "a"},
        ):
            host.say(message)
            answer = host.hear()
            assert (answer["id"], answer["error"]["code"]) == (message["id"], -32600)
            assert "at most 1,048,576" in answer["error"]["message"]
        answer = host.call("huge", 8, bytes=60_000_000)
        assert (answer["id"], answer["error"]["code"]) == (8, -32600)
        assert host.ask("ping", 9)["id"] == 9
        assert memory(host.process.pid) - before < 10_000_000


def memory(pid: int) -> int:
    """The most that a process has held, in bytes."""
    (line,) = [one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def test_long_messages_pass(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        assert len(text_of(host.call("huge", bytes=3_000_000))) == 3_000_000


def test_a_server_that_is_killed_leaves_no_request_unanswered(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        host.say({"jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": {"name": "hang"}})
        first, second = host.call("die", 2), host.hear()
        assert {first["id"], second["id"]} == {"h", 2}
        for answer in (first, second):
            assert answer["error"] == {
                "code": -32000,
                "message": "the MCP server was ended by SIGKILL before it answered",
            }
        assert host.hear() is None
        assert host.process.wait(5) == 128 + signal.SIGKILL


def test_the_exit_code_is_the_servers(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        answer = host.call("exit", code=3)
        assert answer["error"]["message"] == "the MCP server ended with exit code 3 before it answered"
        assert host.process.wait(5) == 3


def test_a_client_that_goes_away_is_told_of_to_the_server_which_ends(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        host.call("ask_back")
        (server,) = host.children()
        assert host.process.stdin is not None
        host.process.stdin.close()
        assert "the MCP client went away" in text_of(host.hear())
        assert host.process.wait(5) == 0
        assert gone(server)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_server_is_left_behind_however_the_proxy_ends(tmp_path: Path, number: int) -> None:
    with proxied(tmp_path, server=("--deaf",)) as host:
        host.ask("ping")
        (server,) = host.children()
        host.process.send_signal(number)
        host.process.wait(10)
        assert gone(server)


def test_calls_are_spans_of_one_run_for_each_client_and_each_trace(tmp_path: Path, sink: OtlpSink) -> None:
    outside = {"PDOCTOR_TRACE_DISABLED": "0", "PDOCTOR_ENDPOINT": sink.url}
    trace, above = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with proxied(tmp_path, "--mode", "feedback", environ=outside) as host:
        host.ask("initialize", 0, **BEGINNING)
        host.ask("tools/list", 1)
        host.call("refund", 2, order="7")
        host.call("verify", 3, order="7")
        host.call("fail", 4)
        meta = {"traceparent": f"00-{trace}-{above}-01"}
        host.ask("tools/call", 5, name="verify", arguments={}, _meta=meta)
        assert host.process.stdin is not None
        host.process.stdin.close()
        assert host.process.wait(10) == 0
    (mine, traced) = sorted(sink.runs, key=lambda run: run.trace_id == trace)
    assert (mine["gen_ai.agent.name"], mine["pdoctor.run.calls"], mine["pdoctor.source"]) == (
        "desk",
        3,
        "mcp-proxy",
    )
    assert [tool["name"] for tool in json.loads(mine["gen_ai.tool.definitions"])] == list(
        plain_mcp_server.TOOLS
    )
    assert (traced.trace_id, traced.parent_id, traced["pdoctor.run.calls"]) == (trace, above, 1)
    told = {
        (call.run_id == traced.run_id, call.tool, call.executed, call.failed, call["pdoctor.guard.decision"])
        for call in sink.calls
    }
    assert told == {
        (False, "refund", False, True, "refused"),
        (False, "verify", True, False, "allowed"),
        (False, "fail", True, True, "allowed"),
        (True, "verify", True, False, "allowed"),
    }
    (verified, *_) = [call for call in sink.calls if call.tool == "verify"]
    assert verified["mcp.method.name"] == "tools/call"
    assert verified["mcp.protocol.version"] == "2025-11-25"


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ([], "expected one server"),
        (["--mode", "block", "--", "true"], "name their file with --policies"),
        (["--policies", "no-such-file.yaml", "--", "true"], "no-such-file.yaml"),
        (["--", "no-such-program"], "cannot start 'no-such-program': No such file or directory"),
        (["--max-message", "0", "--", "true"], "at least 1 MiB"),
    ],
)
def test_what_cannot_begin_says_why(rest: list[str], said: str) -> None:
    command = [sys.executable, "-m", "pdoctor_trace", "mcp-proxy", *rest]
    environ = {**os.environ, "PDOCTOR_TRACE_DISABLED": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert done.stderr.startswith("pdoctor mcp-proxy: ")
    assert said in done.stderr


@pytest.mark.parametrize(("mode", "banned", "spent"), [("feedback", 1, 2), ("observe", 0, 0)])
def test_tools_that_are_refused_whatever_comes_are_left_out_of_lists(
    tmp_path: Path, mode: str, banned: int, spent: int
) -> None:
    rules = tmp_path / "more.yaml"
    rules.write_text(
        "actions: {verify: verify, refund: refund, die: die}\npolicies:\n"
        "- {id: NO, rule: Die must never happen.}\n"
        "- {id: FIRST, rule: Verify must happen before refund.}\n"
        "- {id: ONCE, rule: Refund must happen at most 1 time.}\n"
    )
    with proxied(tmp_path, "--hide", "--mode", mode, "--policies", str(rules)) as host:

        def listed() -> list[str]:
            return [tool["name"] for tool in host.ask("tools/list")["result"]["tools"]]

        every = [*plain_mcp_server.TOOLS]
        assert len(every) - len(listed()) == banned
        host.call("refund")
        assert len(every) - len(listed()) == banned
        host.call("verify")
        host.call("refund")
        assert len(every) - len(listed()) == spent

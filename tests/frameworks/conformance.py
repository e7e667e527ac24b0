"""The conformance suite: what every adapter must record, whatever the framework.

A framework's test file subclasses `Driver` (how to run the real agent loop of that framework against the
scripted models) and `Conformance` (the claims). Everything recorded is received by a real OTLP sink and
compared with the tools' own log, which knows nothing of the tracer.

`CELLS` is the one list of what is claimed: a column each of the matrix in docs/frameworks.md. Where a
framework makes a claim impossible, its class overrides the claim's test, marks it with
`limit(framework, name)` and shows there what happens instead; `FRAMEWORKS` states the limit
under the same name.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import pdoctor_trace
from pdoctor_trace import raw_loops
from pdoctor_trace.adapter import Framework
from pdoctor_trace.harmless import FAILURES
from tests.support.hostile import ARGUMENTS, HOSTILE, OUTLAWS, TOUCHED
from tests.support.models import FINAL, STEPS, FakeModels
from tests.support.sink import OtlpSink, Span
from tests.support.unchanged import patched, problems

CELLS: dict[str, tuple[str, ...]] = {
    "sync": ("test_each_call_is_one_span_and_agrees_with_the_tools_own_log",),
    "async": ("test_tools_of_coroutine_functions", "test_runs_in_one_event_loop_stay_apart"),
    "parallel": (
        "test_times_hold_the_tools_own_times",
        "test_reused_call_ids_still_give_one_span_per_call",
    ),
    "streaming": (),
    "run": (
        "test_the_run_has_the_query_the_tools_and_the_number_of_calls",
        "test_text_beside_calls_is_noted",
        "test_a_case_gives_the_run_its_trace_id",
    ),
    "raising tool": ("test_a_raising_tool",),
    "unknown tool": ("test_an_unknown_tool",),
    "wrong arguments": ("test_wrong_arguments",),
    "malformed arguments": ("test_malformed_arguments",),
    "nested agent": (
        "test_a_nested_agent_belongs_to_its_callers_run",
        "test_a_model_call_inside_a_tools_body_is_not_a_request_of_the_outer_run",
    ),
    "concurrent runs": ("test_concurrent_runs_stay_apart",),
    "threads": ("test_threads_that_a_tool_starts_stay_in_the_run",),
    "uninstall": (
        "test_uninstall_records_nothing_and_the_agent_works",
        "test_the_host_gets_the_same_with_and_without_us",
        "test_the_hosts_functions_stay_what_they_were",
    ),
    "hostile results": ("test_a_hostile_result_harms_nobody",),
    "hostile exceptions": ("test_a_hostile_exception_leaves_as_it_came",),
    "hostile arguments": ("test_hostile_arguments_reach_the_tool_as_they_would",),
}
"""Cell of the matrix -> the claims that fill it. `streaming` is `sync` in the modes that stream."""


OF_THE_GUARD = (
    "test_a_call_that_a_guard_refuses_does_not_run",
    "test_a_call_that_a_guard_blocks_does_not_run",
    "test_deaf_planners_run_no_violating_call_under_a_guard",
    "test_a_planner_that_heeds_refusals_does_what_it_never_did_without",
)
"""Claims of every framework that fill no cell: docs/guard.md tells them for all alike."""


BESIDE = ("workflow", "hand-over", "pause", "other process")
"""More cells, which tests with the mark `cell` fill, where a framework has such a thing.

What it calls a graph, a crew or a team is a workflow; after a hand-over calls are of the agent whose turn it
is; a run that waits for a person is one run, and so it is where another process goes on with it.
"""


def cells_of(test: str, streaming: bool) -> list[str]:
    """The cells that a test of this name fills."""
    cells = [cell for cell, tests in CELLS.items() if test in tests]
    return ["streaming" if cell == "sync" and streaming else cell for cell in cells]


def limit(framework: str, name: str) -> pytest.MarkDecorator:
    """Marks the test that shows a limit which `FRAMEWORKS` states under that name."""
    return pytest.mark.limit(framework, name)


TOLD = """
actions: {refund: refund, notify: notify}
policies: [{id: TOLD, rule: Refund must be followed by notify.}]
"""
"""For hosts that ask before they take an answer."""
QUERY = "Please do it."
FIVE_IDS = ["call_0_0", "call_0_1", "call_1_0", "call_2_0", "call_2_1"]
"""Of script `par.one.same`."""


@dataclass(frozen=True)
class Entry:
    """One execution as the tool itself saw it."""

    tool: str
    arguments: dict[str, Any]
    result: Any
    error: BaseException | None
    start: int
    end: int


@dataclass
class ToolLog:
    """The tools and their own log, an oracle that is independent of the tracer."""

    entries: list[Entry] = field(default_factory=list)

    def record(self, tool: str, arguments: dict[str, Any], body: Callable[[], Any]) -> Any:
        start = time.time_ns()
        try:
            result = body()
        except BaseException as error:
            self.entries.append(Entry(tool, arguments, None, error, start, time.time_ns()))
            raise
        self.entries.append(Entry(tool, arguments, result, None, start, time.time_ns()))
        return result

    def functions(self) -> list[Callable[..., Any]]:
        def add(a: int, b: int) -> int:
            """Add two integers."""
            return self.record("add", {"a": a, "b": b}, lambda: a + b)

        def slow_echo(text: str) -> str:
            """Echo a text slowly."""

            def body() -> str:
                time.sleep(0.03)
                return text

            return self.record("slow_echo", {"text": text}, body)

        def boom(x: str) -> str:
            """Always fails."""

            def body() -> str:
                raise RuntimeError(f"boom {x}")

            return self.record("boom", {"x": x}, body)

        return [add, slow_echo, boom]

    def returning(self, value: Any) -> Callable[[], Any]:
        def hostile() -> Any:
            """Return something difficult."""
            return self.record("hostile", {}, lambda: value)

        return hostile

    def raising(self, error: BaseException) -> Callable[[], Any]:
        def hostile() -> Any:
            """Raise something difficult."""

            def body() -> Any:
                raise error

            return self.record("hostile", {}, body)

        return hostile

    def taking(self) -> Callable[..., Any]:
        def take(text: str) -> str:
            """Take a text."""
            return str(self.record("take", {"text": text}, lambda: "taken"))

        return take

    def coroutines(self) -> list[Callable[..., Awaitable[Any]]]:
        """The tools `add` and `slow_echo` as coroutine functions."""
        plain_add, plain_echo, _ = self.functions()

        async def add(a: int, b: int) -> int:
            """Add two integers."""
            await asyncio.sleep(0)
            return int(plain_add(a, b))

        async def slow_echo(text: str) -> str:
            """Echo a text slowly."""
            await asyncio.sleep(0.03)
            return str(plain_echo(text))

        return [add, slow_echo]

    @property
    def names(self) -> list[str]:
        return [entry.tool for entry in self.entries]


@dataclass(frozen=True)
class Outcome:
    """What the host got: the final text, or the exception that left the agent."""

    text: str | None = None
    error: BaseException | None = None

    def alike(self) -> tuple[Any, ...]:
        """Comparable across two executions; exceptions by class, arguments and what they came from."""
        return self.text, [_error(error) for error in _chain(self.error)]


def _chain(error: BaseException | None) -> list[BaseException]:
    """The exception, what it came from, what that came from, ..."""
    found: list[BaseException] = []
    while error is not None and not any(error is known for known in found):
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _error(error: BaseException) -> tuple[Any, ...]:
    told = tuple(a for a in error.args if isinstance(a, int) or (isinstance(a, str) and len(a) < 99))
    return type(error), bool(error.__cause__), () if isinstance(error, UnicodeError) else plain(repr(told))


def plain(text: str) -> str:
    """The text without what differs between any two executions: addresses, unique ids, times."""
    text = re.sub(r"0x[0-9a-fA-F]+|\b[57][0-9a-f]{11}\b", "0x", text)
    text = re.sub(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}", "uuid", text)
    text = re.sub(r"\b(tool-result)-[\w-]{22}", r"\1", text)
    text = re.sub(r"\b(resp|msg|fc_resp|chatcmpl|fc)_?-?\d+", r"\1", text)
    return re.sub(r"\d\d:\d\d(:\d\d(\.\d+)?)?", "time", text)


@dataclass(frozen=True)
class Witness:
    """All that one execution did to the host."""

    outcome: Outcome
    log: ToolLog
    sent: list[str]
    """What the models were asked, as text."""
    touched: list[str]
    """What was done to a lazy object."""

    def alike(self) -> tuple[Any, ...]:
        """Comparable across two executions."""
        ran = sorted(
            (e.tool, repr(sorted(e.arguments.items())), str(type(e.error))) for e in self.log.entries
        )
        own = any(entry.error is self.outcome.error for entry in self.log.entries)
        return self.outcome.alike(), ran, own, self.sent, self.touched


LEAVES_ASYNCIO_BROKEN = ("carries a hostile value",)
"""Python's `asyncio.run` shows a task's exception while it restores the handling of signals; where that
raises, every later `asyncio.run` of the process raises it again. For drivers whose tools run in a loop."""


class Driver:
    """How one framework runs an agent."""

    source = ""
    modes: tuple[str, ...] = ()
    """Entry points of the framework: sync, async, streaming, ..."""
    heavy_modes: tuple[str, ...] = ()
    """Those of the modes that only `make test-heavy` and CI run."""
    streaming: tuple[str, ...] = ()
    """Those of the modes that stream the model's replies."""
    sync_mode = ""
    """One that runs tools synchronously in the calling process."""
    fatal: tuple[str, ...] = ()
    """Hostile exceptions and arguments that stall or end the process with or without us: run apart."""
    endless: tuple[str, ...] = ()
    """Those of the fatal ones after which the framework waits for ever for the tool: a limit to state."""
    server: type[FakeModels] = FakeModels
    exact = True
    """Whether times and errors are the tool's own, not bounds."""
    unreadable: tuple[str, ...] = ()
    """Hostile arguments that the framework cannot read: it ends with an exception before there is a call."""
    refusals_are_seen = True
    """Whether a call whose arguments the tool cannot take is known not to have run."""
    answers_in_order = True
    """Whether the model gets the answers to parallel calls in their order, not as they are ready."""
    raising_tool_is_seen = True
    """Whether a tool's exception is visible as such."""
    wrong_arguments_are_seen = True
    """Whether the framework checks arguments against the tool's schema where we can see it."""
    malformed_is_seen_in: tuple[str, ...] | None = None
    """Modes in which malformed arguments are visible; None = all."""

    blocked = "ends"
    """What an exception of a guard that blocks comes to: it `ends` the run, or the framework `tells` its
    model; a `loop` of the host's own does as it likes."""

    named = "{}"
    """What the model is told of a tool's name."""

    malformed_ends_the_run_in: tuple[str, ...] = ()
    """Modes in which malformed arguments raise before there is a call."""

    def run(self, models: FakeModels, script: str, tools: Sequence[Callable[..., Any]], mode: str) -> Outcome:
        """Run the agent with QUERY on the model `fake.<script>`, with plain functions as tools."""
        raise NotImplementedError

    async def arun(self, models: FakeModels, script: str, tools: Sequence[Callable[..., Any]]) -> Outcome:
        """The same inside a running event loop, with coroutine functions as tools."""
        raise NotImplementedError

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        """Run an agent on script `nest` whose tool `ask_sub` runs another agent on script `par`."""
        raise NotImplementedError

    def asking(self, models: FakeModels, log: ToolLog) -> Outcome:
        """Run an agent on script `nest` whose tool `ask_sub` calls `ask` on script `par`."""

        def ask_sub(text: str) -> str:
            """Ask a model."""
            self.ask(models, "fake.par", log.functions())
            return "asked"

        return self.run(models, "fake.nest", [ask_sub], self.sync_mode)

    def ask(self, models: FakeModels, script: str, tools: Sequence[Callable[..., Any]]) -> None:
        """Ask a model once by the framework's own means, with tools to offer, and start no agent's run."""
        raise NotImplementedError

    def sees_malformed(self, mode: str) -> bool:
        return self.malformed_is_seen_in is None or mode in self.malformed_is_seen_in


class AsyncDriver(Driver):
    """A framework whose agents are coroutines; `sync_mode` is what runs inside an event loop, too."""

    async def answer(self, models: FakeModels, script: str, tools: Any, mode: str) -> str:
        """What an agent says to QUERY."""
        raise NotImplementedError

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        try:
            return Outcome(text=asyncio.run(self.answer(models, script, tools, mode)))
        except BaseException as error:
            return Outcome(error=error)

    async def arun(self, models: FakeModels, script: str, tools: Any) -> Outcome:
        return Outcome(text=await self.answer(models, script, tools, self.sync_mode))

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        async def ask_sub(text: str) -> str:
            """Ask another agent."""
            return await self.answer(models, "fake.par", log.functions(), self.sync_mode)

        return self.run(models, "fake.nest", [ask_sub], self.sync_mode)

    def asking(self, models: FakeModels, log: ToolLog) -> Outcome:
        async def ask_sub(text: str) -> str:
            """Ask a model."""
            await self.aask(models, "fake.par", log.functions())
            return "asked"

        return self.run(models, "fake.nest", [ask_sub], self.sync_mode)

    async def aask(self, models: FakeModels, script: str, tools: Any) -> None:
        """The same as `ask`."""
        raise NotImplementedError


ALWAYS = {"circular", "str raises", "lies about its class", "tuple keys", "2 MB", "generator", "SystemExit"}
ALWAYS |= {"lazy", "surrogate", "huge int", "a list", "deep"}


def some_of(names: Iterable[str]) -> list[Any]:
    """The worst ones always; the whole corpus in the heavy suite (and always on `@tool`)."""
    return [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.heavy) for name in names]


for _number, _text in enumerate(ARGUMENTS.values()):
    STEPS[f"args{_number}"] = [("take", _text)]


class Conformance:
    """The claims; `driver` is set by the framework's test class, `mode` runs over its modes."""

    driver: Driver

    @pytest.fixture
    def log(self) -> ToolLog:
        return ToolLog()

    def _run(self, models: FakeModels, script: str, log: ToolLog, mode: str, tools: Any = None) -> Outcome:
        outcome = self.driver.run(models, f"fake.{script}", tools or log.functions(), mode)
        pdoctor_trace.flush()
        return outcome

    def _both(
        self, models: FakeModels, script: str, mode: str, tools: Callable[[ToolLog], Any]
    ) -> tuple[Witness, Witness]:
        """The same execution with us and without us."""
        with_us = self._witness(models, script, mode, tools)
        pdoctor_trace.uninstall()
        return with_us, self._witness(models, script, mode, tools)

    def _witness(
        self, models: FakeModels, script: str, mode: str, tools: Callable[[ToolLog], Any]
    ) -> Witness:
        log, before = ToolLog(), len(models.requests)
        TOUCHED.clear()
        outcome = self._run(models, script, log, mode, tools(log))
        sent = [self._as_sent(body) for _, body in models.requests[before:]]
        return Witness(outcome, log, sent, list(TOUCHED))

    def _as_sent(self, body: dict[str, Any]) -> str:
        if not self.driver.answers_in_order:
            body = {**body, "messages": sorted(body["messages"], key=json.dumps)}
        return plain(json.dumps(body, sort_keys=True))

    # -- what is recorded

    def test_each_call_is_one_span_and_agrees_with_the_tools_own_log(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        outcome = self._run(models, "par.one.same", log, mode)
        assert outcome.text == FINAL
        calls = by_turn(sink.calls)
        assert [call.call_id for call in calls] == FIVE_IDS
        assert sorted(_said(call) for call in calls) == sorted(_did(entry) for entry in log.entries)
        assert [call["pdoctor.turn.index"] for call in calls] == [0, 0, 1, 2, 2]
        assert sorted(call["pdoctor.step.index"] for call in calls) == [0, 1, 2, 3, 4]
        assert {call["pdoctor.source"] for call in calls} == {self.driver.source}
        assert all(call.executed and not call.failed for call in calls)

    def test_times_hold_the_tools_own_times(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        self._run(models, "one.sleepy", log, mode)
        calls = sorted(sink.calls, key=lambda call: str(call.arguments))
        timing = "exact" if self.driver.exact else "inferred"
        assert [call["pdoctor.tool.timing"] for call in calls] == [timing] * 3
        for call, entry in zip(calls, sorted(log.entries, key=lambda e: str(e.arguments)), strict=True):
            assert call.arguments == entry.arguments
            assert call.start <= entry.start <= entry.end <= call.end
        if self.driver.exact:
            assert all(20e6 < call.end - call.start < 4e9 for call in calls[1:])

    def test_the_run_has_the_query_the_tools_and_the_number_of_calls(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        self._run(models, "par", log, mode)
        (run,) = sink.runs
        assert {span.run_id for span in sink.spans} == {run.run_id}
        assert {span.trace_id for span in sink.spans} == {run.trace_id}
        assert {call.parent_id for call in sink.calls} == {run.span_id}
        assert QUERY in run["gen_ai.input.messages"]
        assert all(f'"{name}"' in run["gen_ai.tool.definitions"] for name in ("add", "slow_echo", "boom"))
        assert run["pdoctor.run.calls"] == 2
        assert not run.failed
        assert all(run.start <= call.start <= call.end <= run.end for call in sink.calls)

    def test_text_beside_calls_is_noted(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        self._run(models, "one.talk.par", log, mode)
        assert [call["pdoctor.turn.has_text"] for call in sink.calls] == [False, True, True]

    def test_reused_call_ids_still_give_one_span_per_call(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        self._run(models, "one.par.same.reuse", log, mode)
        calls = by_turn(sink.calls)
        assert [call.call_id for call in calls] == ["call_0_0", *["call_0_0", "call_0_1"] * 2]
        assert [call["pdoctor.turn.index"] for call in calls] == [0, 1, 1, 2, 2]
        assert sorted(_said(call) for call in calls) == sorted(_did(entry) for entry in log.entries)

    def test_tools_of_coroutine_functions(self, models: FakeModels, sink: OtlpSink, log: ToolLog) -> None:
        outcome = asyncio.run(self.driver.arun(models, "fake.par.one.same", log.coroutines()))
        pdoctor_trace.flush()
        assert outcome.text == FINAL
        calls = by_turn(sink.calls)
        assert [call.call_id for call in calls] == FIVE_IDS
        assert sorted(_said(call) for call in calls) == sorted(_did(entry) for entry in log.entries)
        assert all(call.executed and not call.failed for call in calls)

    # -- what goes wrong

    def test_a_raising_tool(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        self._run(models, "boom", log, mode)
        (call,) = sink.calls
        assert (call.tool, call.arguments, call.executed) == ("boom", {"x": "kaput"}, True)
        if self.driver.raising_tool_is_seen:
            assert (call.failed, call.kind, call.message) == (True, "tool_raised", "boom kaput")
            assert call["error.type"] == "RuntimeError"
            assert call["gen_ai.tool.call.result"] is None
        assert log.names == ["boom"]

    def test_an_unknown_tool(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        self._run(models, "mixed", log, mode)
        known, unknown = by_turn(sink.calls)
        assert (known.tool, known.executed, known.failed) == ("add", True, False)
        assert (unknown.tool, unknown.executed, unknown.kind) == ("no_such_tool", False, "unknown_tool")
        assert unknown.failed
        assert unknown.arguments == {"q": 2}

    def test_wrong_arguments(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        self._run(models, "badtype", log, mode)
        (call,) = sink.calls
        assert call.arguments == {"a": "not-a-number", "b": 2}
        assert log.entries == []
        if self.driver.wrong_arguments_are_seen:
            assert (call.failed, call.executed, call.kind) == (True, False, "bad_arguments")

    def test_malformed_arguments(self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str) -> None:
        outcome = self._run(models, "badjson", log, mode)
        if mode in self.driver.malformed_ends_the_run_in:
            assert (outcome.error is None, log.entries, sink.calls) == (False, [], [])
            return
        (call,) = sink.calls
        assert call.kind == "bad_arguments"
        assert not call.executed
        assert call.arguments == ('{"a": 1, "b": ' if self.driver.sees_malformed(mode) else {"a": 1})
        assert log.entries == []

    # -- who belongs to whom

    def test_a_nested_agent_belongs_to_its_callers_run(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog
    ) -> None:
        self.driver.nested(models, log)
        pdoctor_trace.flush()
        outer, inner = sink.runs
        ask, *rest = by_turn(sink.calls)
        assert (ask.tool, sink.outside(inner), ask.parent_id) == ("ask_sub", ask.span_id, outer.span_id)
        assert [(call.tool, call.parent_id) for call in rest] == [
            ("add", inner.span_id),
            ("slow_echo", inner.span_id),
        ]
        assert {span.run_id for span in sink.spans} == {outer.run_id}
        assert (outer["pdoctor.run.calls"], inner["pdoctor.run.calls"]) == (3, None)
        assert ask.start <= inner.start <= inner.end <= ask.end or not self.driver.exact

    def test_a_model_call_inside_a_tools_body_is_not_a_request_of_the_outer_run(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog
    ) -> None:
        """Neither what it asks for nor what it is offered; what runs because of it stands below the tool."""
        outcome = self.driver.asking(models, log)
        raw_loops.end()  # what was asked for and never answered
        pdoctor_trace.flush()
        assert outcome.error is None
        assert len(models.requests) >= 3
        (asked,) = [call for call in sink.calls if call.tool == "ask_sub"]
        (outer,) = [run for run in sink.runs if run.span_id == asked.parent_id]
        assert [call.tool for call in sink.calls if call.parent_id == outer.span_id] == ["ask_sub"]
        offered = json.loads(outer["gen_ai.tool.definitions"])
        assert {"add", "slow_echo", "boom"}.isdisjoint(tool["name"] for tool in offered)
        assert (asked["pdoctor.turn.index"], asked.executed, asked.failed) == (0, True, False)
        below = [call for call in sink.calls if call.parent_id == asked.span_id]
        assert {call["pdoctor.turn.index"] for call in below} <= {None}

    @pytest.mark.filterwarnings("ignore")  # LangChain silences some in each thread, for all threads
    def test_concurrent_runs_stay_apart(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        logs, script = [ToolLog() for _ in range(4)], "fake.par.one.same"
        outcomes: list[Outcome] = []

        def run(own: ToolLog) -> None:
            outcomes.append(self.driver.run(models, script, own.functions(), mode))

        threads = [threading.Thread(target=run, args=(own,)) for own in logs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes == [Outcome(FINAL)] * 4
        assert pdoctor_trace.flush(30)
        assert len({run.run_id for run in sink.runs}) == 4
        for run in sink.runs:
            calls = by_turn([call for call in sink.calls if call.run_id == run.run_id])
            assert [call.call_id for call in calls] == FIVE_IDS
            assert run["pdoctor.run.calls"] == 5
        assert [own.names.count("add") for own in logs] == [4] * 4

    def test_runs_in_one_event_loop_stay_apart(self, models: FakeModels, sink: OtlpSink) -> None:
        logs, script = [ToolLog() for _ in range(4)], "fake.par.one.same"

        async def main() -> None:
            await asyncio.gather(*(self.driver.arun(models, script, own.coroutines()) for own in logs))

        asyncio.run(main())
        pdoctor_trace.flush()
        assert len({run.run_id for run in sink.runs}) == 4
        for run in sink.runs:
            calls = by_turn([call for call in sink.calls if call.run_id == run.run_id])
            assert [call.call_id for call in calls] == FIVE_IDS
        assert [own.names.count("add") for own in logs] == [4] * 4

    def test_threads_that_a_tool_starts_stay_in_the_run(self, models: FakeModels, sink: OtlpSink) -> None:
        @pdoctor_trace.tool
        def look_up(key: str) -> str:
            return key

        def add(a: int, b: int) -> int:
            """Add two integers, with helpers in threads."""
            thread = threading.Thread(target=look_up, args=("thread",))
            thread.start()
            thread.join()
            with ThreadPoolExecutor(1) as pool:
                pool.submit(look_up, "pool").result()
            return a + b

        self._run(models, "one", ToolLog(), self.driver.sync_mode, [add])
        (run,) = sink.runs
        assert sorted(str(call.arguments) for call in sink.calls if call.tool == "look_up") == [
            "{'key': 'pool'}",
            "{'key': 'thread'}",
        ]
        assert {call.run_id for call in sink.calls} == {run.run_id}
        assert run["pdoctor.run.calls"] == len(sink.calls) == 3

    def test_a_case_gives_the_run_its_trace_id(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        with pdoctor_trace.case("case-7"):
            self.driver.run(models, "fake.par", log.functions(), mode)
        pdoctor_trace.flush()
        root, agent = sink.runs
        assert {(s.run_id, s.trace_id, s["pdoctor.case.id"]) for s in sink.spans} == {
            (root.trace_id, root.trace_id, "case-7")
        }
        assert sink.outside(agent) == root.span_id
        assert root["pdoctor.run.calls"] == 2
        assert QUERY in root["gen_ai.input.messages"]

    # -- the guard

    def _made(self, functions: list[Callable[..., Any]]) -> Any:
        """The tools as a guard can refuse them."""
        return functions

    def test_a_call_that_a_guard_refuses_does_not_run(
        self, models: FakeModels, sink: OtlpSink, mode: str
    ) -> None:
        from tests.frameworks.refusals import assert_a_refused_call_does_not_run

        assert_a_refused_call_does_not_run(self.driver, models, sink, mode, self._made)

    def test_a_call_that_a_guard_blocks_does_not_run(
        self, models: FakeModels, sink: OtlpSink, mode: str
    ) -> None:
        from tests.frameworks.refusals import assert_a_blocked_call_does_not_run

        assert_a_blocked_call_does_not_run(self.driver, models, sink, mode, self._made)

    def test_deaf_planners_run_no_violating_call_under_a_guard(
        self, models: FakeModels, sink: OtlpSink
    ) -> None:
        """In no mode of the framework, one call a message or several; the host ends as it would."""
        from tests.frameworks.planning import FAULTS, campaign

        for fault in FAULTS:
            for mode in ("block", "feedback"):
                done = campaign(self.driver, models, fault, mode, made=self._made)
                assert (done["violating"], done["odd"], done["passed"]) == (0, 0, 0), (fault, mode)
                assert done["refused"] or fault == "forgets", (fault, mode)

    def test_a_planner_that_heeds_refusals_does_what_it_never_did_without(
        self, models: FakeModels, sink: OtlpSink
    ) -> None:
        from tests.frameworks.planning import campaign

        without = campaign(self.driver, models, "swaps", None, made=self._made)
        assert (without["passed"], without["violating"] > 0) == (0, True)
        for heeds, least in (("half", 0), ("always", 0.95)):
            done = campaign(self.driver, models, "swaps", "feedback", heeds, made=self._made)
            assert (done["violating"], done["odd"]) == (0, 0), heeds
            assert done["passed"] >= least * done["runs"], heeds

    # -- harmlessness

    def test_uninstall_records_nothing_and_the_agent_works(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        pdoctor_trace.uninstall()
        outcome = self._run(models, "par", log, mode)
        assert (outcome.text, sorted(log.names), sink.spans) == (FINAL, ["add", "slow_echo"], [])

    @pytest.mark.parametrize("script", ["par.boom.one", "mixed", "badtype", "badjson", "one.same"])
    def test_the_host_gets_the_same_with_and_without_us(
        self, models: FakeModels, sink: OtlpSink, mode: str, script: str
    ) -> None:
        with_us, without_us = self._both(models, script, mode, ToolLog.functions)
        assert with_us.alike() == without_us.alike()

    def test_the_hosts_functions_stay_what_they_were(self) -> None:
        """All that any adapter has patched in this environment: copies, pickles, kinds, types, equality."""
        rows = patched()
        assert rows
        assert problems(rows) == []

    @pytest.mark.parametrize("name", some_of(HOSTILE))
    def test_a_hostile_result_harms_nobody(self, models: FakeModels, sink: OtlpSink, name: str) -> None:
        with_us, without_us = self._both(
            models, "hostile", self.driver.sync_mode, lambda log: [log.returning(HOSTILE[name]())]
        )
        (call,) = sink.calls
        assert call.tool == "hostile"
        assert with_us.alike() == without_us.alike()
        assert with_us.log.names == ["hostile"]

    @pytest.mark.parametrize("name", some_of(OUTLAWS))
    def test_a_hostile_exception_leaves_as_it_came(
        self, models: FakeModels, sink: OtlpSink, name: str
    ) -> None:
        if name in self.driver.fatal:
            self._apart(name)
            return
        with_us, without_us = self._both(
            models, "hostile", self.driver.sync_mode, lambda log: [log.raising(OUTLAWS[name]())]
        )
        (call,) = sink.calls
        assert call.executed
        assert with_us.alike() == without_us.alike()
        assert with_us.log.names == ["hostile"]

    def _apart(self, name: str) -> None:
        """In processes of their own, which the framework itself may end or leave stuck."""
        told = apart(type(self))[name]
        with_us, without_us = told["traced"], told["untraced"]
        assert with_us["ending"] == without_us["ending"]
        assert with_us["ran"] == without_us["ran"] == (["hostile"] if name in OUTLAWS else [])
        assert (with_us["failures"], without_us["calls"]) == ({}, [])
        seen = [(tool, executed) for tool, executed, _ in with_us["calls"]]
        asked = ("hostile", True) if name in OUTLAWS else ("take", False)
        assert seen == ([] if name in self.driver.endless else [asked])

    @pytest.mark.parametrize("name", some_of(ARGUMENTS))
    def test_hostile_arguments_reach_the_tool_as_they_would(
        self, models: FakeModels, sink: OtlpSink, name: str
    ) -> None:
        if name in self.driver.fatal:
            self._apart(name)
            return
        with_us, without_us = self._both(
            models, f"args{list(ARGUMENTS).index(name)}", self.driver.sync_mode, lambda log: [log.taking()]
        )
        assert with_us.alike() == without_us.alike()
        if name in self.driver.unreadable:
            assert (with_us.outcome.error is None, with_us.log.names, sink.calls) == (False, [], [])
            return
        assert [call.tool for call in sink.calls] == ["take"]
        if with_us.log.names or self.driver.refusals_are_seen:
            assert sink.calls[0].executed == bool(with_us.log.names)


def check(framework: Framework, driver: Driver, left_out: Container[str] = ()) -> None:
    """Hold an adapter, yours or ours, to all claims of this suite: AssertionError with those that fail.

    The driver runs the framework's own agent loop. What the framework makes impossible is left out by the
    claim's name and stated in `framework.limits`. It installs the tracer anew: have a process for it alone.
    """
    assert driver.source == framework.name, f"a driver of {driver.source!r} for {framework.name!r}"
    claims = {name for names in CELLS.values() for name in names if name not in left_out}
    broken = [problem for name in sorted(claims) for problem in _broken(driver, name)]
    targets = {f"{target.module}:{target.attribute}" for target in framework.targets if not target.optional}
    for row in pdoctor_trace.status()["targets"]:
        if row["state"] == "patched":
            targets.discard(row["target"])
    broken += [f"{target} is not patched" for target in sorted(targets)]
    assert not broken, "\n".join([f"{framework.title}:", *broken])


def _broken(driver: Driver, claim: str) -> Iterator[str]:
    """What is wrong with one claim, in every case in which it is made."""
    for case in _cases(driver, getattr(Conformance, claim)):
        try:
            _hold(driver, claim, case)
        except Exception as error:
            yield f"{claim}{case or ''}: {type(error).__name__}: {str(error).strip()[:500]}"


def _cases(driver: Driver, claim: Any) -> list[dict[str, Any]]:
    """The claim's own parameters, in every mode of the driver where it has modes; without the heavy ones."""
    cases: list[dict[str, Any]] = [{}]
    if "mode" in inspect.signature(claim).parameters:
        cases = [{"mode": mode} for mode in driver.modes]
    for mark in getattr(claim, "pytestmark", ()):
        if mark.name == "parametrize":
            name, values = mark.args
            cases = [{**case, name: value} for case in cases for value in values if isinstance(value, str)]
    return cases


def _hold(driver: Driver, claim: str, case: dict[str, Any]) -> None:
    tests = Conformance()
    tests.driver = driver
    given: dict[str, Any] = dict(case)
    with driver.server() as models, OtlpSink() as sink:
        everything = {"models": models, "sink": sink, "log": ToolLog()}
        made = getattr(tests, claim)
        wanted = inspect.signature(made).parameters
        given.update((name, value) for name, value in everything.items() if name in wanted)
        FAILURES.clear()
        pdoctor_trace.install(endpoint=sink.url, batch_delay=0.0, content="full")
        try:
            made(**given)
        finally:
            pdoctor_trace.flush()
            pdoctor_trace.uninstall()
    assert dict(FAILURES) == {}


class RawLoop(Conformance):
    """What the traffic of a loop tells whose tools are not wrapped: requests and answers, not the tools."""

    def _made(self, functions: list[Callable[..., Any]]) -> Any:
        return pdoctor_trace.wrap_tools(functions)

    def test_a_nested_agent_belongs_to_its_callers_run(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog
    ) -> None:
        """Which tool is running does not show: the inner loop is a run of its own, and nothing is lost."""
        self.driver.nested(models, log)
        pdoctor_trace.flush()
        outer, inner = sink.runs
        assert (sink.outside(inner), outer.run_id == inner.run_id) == ("", False)
        assert [(call.tool, call.parent_id) for call in sorted(sink.calls, key=lambda c: c.start)] == [
            ("ask_sub", outer.span_id),
            ("add", inner.span_id),
            ("slow_echo", inner.span_id),
        ]
        assert (outer["pdoctor.run.calls"], inner["pdoctor.run.calls"]) == (1, 2)

    def test_a_model_call_inside_a_tools_body_is_not_a_request_of_the_outer_run(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog
    ) -> None:
        """Which tool is running does not show, but the inner request is not taken for the outer loop's."""
        self.driver.nested(models, log)
        pdoctor_trace.flush()
        outer, inner = sink.runs
        assert [call.tool for call in sink.calls if call.parent_id == outer.span_id] == ["ask_sub"]
        assert ("add" in outer["gen_ai.tool.definitions"], "add" in inner["gen_ai.tool.definitions"]) == (
            False,
            True,
        )

    def test_threads_that_a_tool_starts_stay_in_the_run(self, models: FakeModels, sink: OtlpSink) -> None:
        """With the loop's tool unwrapped, what it calls is not known to belong to it, but is recorded."""

        @pdoctor_trace.tool
        def look_up(key: str) -> str:
            return key

        def add(a: int, b: int) -> int:
            thread = threading.Thread(target=look_up, args=("thread",))
            thread.start()
            thread.join()
            return a + b

        self._run(models, "one", ToolLog(), self.driver.sync_mode, [add])
        assert sorted(call.tool for call in sink.calls) == ["add", "look_up"]

    @pytest.mark.parametrize("name", some_of(OUTLAWS))
    def test_a_hostile_exception_leaves_as_it_came(
        self, models: FakeModels, sink: OtlpSink, name: str
    ) -> None:
        """An exception that ends the loop leaves the call as requested: no answer to it was ever seen."""
        with_us, without_us = self._both(
            models, "hostile", self.driver.sync_mode, lambda log: [log.raising(OUTLAWS[name]())]
        )
        (call,) = sink.calls
        assert (call.tool, call.executed) == ("hostile", with_us.outcome.error is None)
        assert with_us.alike() == without_us.alike()
        assert with_us.log.names == ["hostile"]


def assert_unreadable_replies_raise(driver: Driver, models: FakeModels, sink: OtlpSink) -> None:
    """What a framework cannot read ends its run with an exception, before there is a call to record."""
    for name in driver.unreadable:
        log = ToolLog()
        script = f"fake.args{list(ARGUMENTS).index(name)}"
        outcome = driver.run(models, script, [log.taking()], driver.sync_mode)
        assert (outcome.error is None, log.entries) == (False, []), name
    pdoctor_trace.flush()
    assert sink.calls == []
    assert [run.failed for run in sink.runs] == [True] * len(driver.unreadable)


MCP_SERVER = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]
"""Command of a server that offers the tools over stdio."""


def assert_mcp_calls_are_one_span_each(sink: OtlpSink, source: str) -> None:
    """After script `par.boom` on the tools of an MCP server: the framework's spans, the server's error."""
    pdoctor_trace.flush()
    told = sorted((call.tool, call["pdoctor.source"], call.failed) for call in sink.calls)
    assert told == [("add", source, False), ("boom", source, True), ("slow_echo", source, False)]
    assert {call.call_id for call in sink.calls} == {"call_0_0", "call_0_1", "call_1_0"}


@functools.cache
def apart(tests: type) -> dict[str, Any]:
    """What became of the driver's fatal exceptions: name -> traced, untraced -> report (see `apart.py`)."""
    command = [sys.executable, "-m", "tests.frameworks.apart"]
    done = subprocess.run(
        [*command, f"tests.frameworks.{tests.__module__.rpartition('.')[2]}", tests.__name__],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"apart"')]
    assert lines, done.stderr[-2_000:]
    told: dict[str, Any] = json.loads(lines[-1])["apart"]
    return told


def by_turn(calls: list[Span]) -> list[Span]:
    """In the order of the request: parallel calls may start in any order."""
    return sorted(calls, key=lambda call: (call["pdoctor.turn.index"], call.call_id))


def _said(call: Span) -> tuple[str, str, str]:
    """(tool, arguments, result) of a span; results are compared as text, the way a model gets them."""
    return call.tool, repr(sorted(call.arguments.items())), str(call.result)


def _did(entry: Entry) -> tuple[str, str, str]:
    return entry.tool, repr(sorted(entry.arguments.items())), str(entry.result)

"""The conformance suite: what every adapter must record, whatever the framework.

A framework's test file subclasses `Driver` (how to run the real agent loop of that framework against the
scripted models) and `Conformance` (the claims), and says in `limits` which claim cannot hold and why.
Everything recorded is received by a real OTLP sink and compared with the tools' own log, which knows
nothing of the tracer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from fake_models import FINAL, FakeModels
from hostile import HOSTILE, OUTLAWS
from otlp_sink import OtlpSink, Span

import pdoctor_trace

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

    @property
    def names(self) -> list[str]:
        return [entry.tool for entry in self.entries]


@dataclass(frozen=True)
class Outcome:
    """What the host got: the final text, or the exception that left the agent."""

    text: str | None = None
    error: BaseException | None = None

    def alike(self) -> tuple[Any, ...]:
        """Comparable across two executions; exceptions by class and message arguments."""
        if self.error is None:
            return self.text, None, None
        told = tuple(a for a in self.error.args if isinstance(a, int) or (isinstance(a, str) and len(a) < 99))
        return self.text, type(self.error), told if not isinstance(self.error, UnicodeError) else ()


class Driver:
    """How one framework runs an agent."""

    source = ""
    modes: tuple[str, ...] = ()
    """Entry points of the framework: sync, async, streaming, ..."""
    heavy_modes: tuple[str, ...] = ()
    """Those of the modes that only `make test-heavy` and CI run."""
    sync_mode = ""
    """One that runs tools synchronously in the calling process."""
    exact = True
    """Whether times and errors are the tool's own, not bounds."""
    raising_tool_is_seen = True
    """Whether a tool's exception is visible as such."""
    wrong_arguments_are_seen = True
    """Whether the framework checks arguments against the tool's schema where we can see it."""
    malformed_is_seen_in: tuple[str, ...] | None = None
    """Modes in which malformed arguments are visible; None = all."""

    def run(self, models: FakeModels, script: str, tools: Sequence[Callable[..., Any]], mode: str) -> Outcome:
        """Run the agent with QUERY on the model `fake.<script>`, with plain functions as tools."""
        raise NotImplementedError

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        """Run an agent on script `nest` whose tool `ask_sub` runs another agent on script `par`."""
        raise NotImplementedError

    def sees_malformed(self, mode: str) -> bool:
        return self.malformed_is_seen_in is None or mode in self.malformed_is_seen_in


ALWAYS = {"circular", "str raises", "lies about its class", "tuple keys", "2 MB", "generator", "SystemExit"}


def some_of(names: Iterable[str]) -> list[Any]:
    """The worst ones always; the whole corpus in the heavy suite (and always on `@tool`)."""
    return [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.heavy) for name in names]


class Conformance:
    """The claims; `driver` is set by the framework's test class, `mode` runs over its modes."""

    driver: Driver
    limits: ClassVar[dict[str, str]] = {}
    """Test name -> reason why it cannot hold for this framework."""

    @pytest.fixture(autouse=True)
    def _limit(self, request: pytest.FixtureRequest) -> None:
        reason = self.limits.get(request.node.originalname)
        if reason is not None:
            # Run all the same: parts of a claim may hold, and a limit that is gone shows as XPASS.
            request.applymarker(pytest.mark.xfail(reason=f"documented limit: {reason}", strict=False))

    @pytest.fixture
    def log(self) -> ToolLog:
        return ToolLog()

    def _run(self, models: FakeModels, script: str, log: ToolLog, mode: str, tools: Any = None) -> Outcome:
        outcome = self.driver.run(models, f"fake.{script}", tools or log.functions(), mode)
        pdoctor_trace.flush()
        return outcome

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
        calls = sorted(sink.calls, key=lambda call: (call["pdoctor.turn.index"], call.start))
        timing = "exact" if self.driver.exact else "inferred"
        assert [call["pdoctor.tool.timing"] for call in calls] == [timing] * 3
        for call, entry in zip(calls, sorted(log.entries, key=lambda entry: entry.start), strict=True):
            assert call.start <= entry.start <= entry.end <= call.end
        if self.driver.exact:
            assert all(20e6 < call.end - call.start < 2e9 for call in calls[1:])

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
        self._run(models, "badjson", log, mode)
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
        assert (ask.tool, inner.parent_id, ask.parent_id) == ("ask_sub", ask.span_id, outer.span_id)
        assert [(call.tool, call.parent_id) for call in rest] == [
            ("add", inner.span_id),
            ("slow_echo", inner.span_id),
        ]
        assert {span.run_id for span in sink.spans} == {outer.run_id}
        assert (outer["pdoctor.run.calls"], inner["pdoctor.run.calls"]) == (3, None)
        assert ask.start <= inner.start <= inner.end <= ask.end or not self.driver.exact

    def test_concurrent_runs_stay_apart(
        self, models: FakeModels, sink: OtlpSink, log: ToolLog, mode: str
    ) -> None:
        logs, script = [ToolLog() for _ in range(4)], "fake.par.one.same"
        threads = [
            threading.Thread(target=self.driver.run, args=(models, script, own.functions(), mode))
            for own in logs
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pdoctor_trace.flush()
        assert len({run.run_id for run in sink.runs}) == 4
        for run in sink.runs:
            calls = by_turn([call for call in sink.calls if call.run_id == run.run_id])
            assert [call.call_id for call in calls] == FIVE_IDS
            assert run["pdoctor.run.calls"] == 5
        assert [own.names.count("add") for own in logs] == [4] * 4

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
        assert agent.parent_id == root.span_id
        assert root["pdoctor.run.calls"] == 2
        assert QUERY in root["gen_ai.input.messages"]

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
        traced, untraced = ToolLog(), ToolLog()
        with_us = self._run(models, script, traced, mode)
        pdoctor_trace.uninstall()
        without_us = self._run(models, script, untraced, mode)
        assert with_us.alike() == without_us.alike()
        assert sorted(traced.names) == sorted(untraced.names)

    @pytest.mark.parametrize("name", some_of(HOSTILE))
    def test_a_hostile_result_harms_nobody(self, models: FakeModels, sink: OtlpSink, name: str) -> None:
        mode = self.driver.sync_mode
        traced, untraced = ToolLog(), ToolLog()
        with_us = self._run(models, "hostile", traced, mode, [traced.returning(HOSTILE[name]())])
        (call,) = sink.calls
        assert call.tool == "hostile"
        pdoctor_trace.uninstall()
        without_us = self._run(models, "hostile", untraced, mode, [untraced.returning(HOSTILE[name]())])
        assert with_us.alike() == without_us.alike()
        assert traced.names == untraced.names == ["hostile"]

    @pytest.mark.parametrize("name", some_of(OUTLAWS))
    def test_a_hostile_exception_leaves_as_it_came(
        self, models: FakeModels, sink: OtlpSink, name: str
    ) -> None:
        mode = self.driver.sync_mode
        traced, untraced = ToolLog(), ToolLog()
        with_us = self._run(models, "hostile", traced, mode, [traced.raising(OUTLAWS[name]())])
        (call,) = sink.calls
        assert call.executed
        pdoctor_trace.uninstall()
        without_us = self._run(models, "hostile", untraced, mode, [untraced.raising(OUTLAWS[name]())])
        assert with_us.alike() == without_us.alike()
        assert traced.names == untraced.names == ["hostile"]


def by_turn(calls: list[Span]) -> list[Span]:
    """In the order of the request: parallel calls may start in any order."""
    return sorted(calls, key=lambda call: (call["pdoctor.turn.index"], call.call_id))


def _said(call: Span) -> tuple[str, str, str]:
    """(tool, arguments, result) of a span; results are compared as text, the way a model gets them."""
    return call.tool, repr(sorted(call.arguments.items())), str(call.result)


def _did(entry: Entry) -> tuple[str, str, str]:
    return entry.tool, repr(sorted(entry.arguments.items())), str(entry.result)

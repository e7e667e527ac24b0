"""smolagents' tool-calling agent on scripted Chat Completions models, and its code agent."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

from smolagents import (
    ChatMessage,
    CodeAgent,
    LogLevel,
    MessageRole,
    Model,
    OpenAIServerModel,
    Tool,
    ToolCallingAgent,
    tool,
)
from smolagents.local_python_executor import CodeOutput, PythonExecutor
from smolagents.memory import ActionStep, TaskStep
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction
from smolagents.monitoring import Timing

import pdoctor_trace
from tests.frameworks.conformance import (
    FIVE_IDS,
    QUERY,
    Conformance,
    Driver,
    Outcome,
    ToolLog,
    by_turn,
    limit,
)
from tests.support.models import FINAL, FakeModels
from tests.support.sink import OtlpSink

MODES = ("run", "stream")
TYPES = {"int": "integer", "str": "string"}
# smolagents' own roles, which it would turn into user messages
ROLES: Any = {MessageRole.TOOL_CALL: MessageRole.ASSISTANT, MessageRole.TOOL_RESPONSE: "tool"}


class Answering(OpenAIServerModel):
    """The scripted model's last text is the final answer; every reply of it shows in the memory."""

    def generate(self, *args: Any, **kwargs: Any) -> ChatMessage:
        message = super().generate(*args, **kwargs)
        message.content = message.content or ""
        return message

    def parse_tool_calls(self, message: ChatMessage) -> ChatMessage:
        function = ChatMessageToolCallFunction(name="final_answer", arguments={"answer": message.content})
        message.tool_calls = [ChatMessageToolCall(id="last", type="function", function=function)]
        return message


def made(function: Callable[..., Any]) -> Any:
    """A tool from a plain function, without the docstring sections that smolagents' decorator asks for."""

    class Made(Tool):
        name = function.__name__
        description = function.__doc__ or ""
        inputs = {  # noqa: RUF012
            name: {"type": TYPES[parameter.annotation], "description": name}
            for name, parameter in inspect.signature(function).parameters.items()
        }
        output_type = "any"
        skip_forward_signature_validation = True

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    return Made()


def with_tools(models: FakeModels, script: str, tools: Any, mode: str) -> ToolCallingAgent:
    model = Answering(
        script,
        api_base=models.openai,
        api_key="x",
        custom_role_conversions=ROLES,
        client_kwargs={"max_retries": 0},
    )
    return ToolCallingAgent(
        tools=[made(function) for function in tools],
        model=model,
        max_steps=8,
        verbosity_level=LogLevel.OFF,
        stream_outputs=mode == "stream",
    )


def with_agent(models: FakeModels, script: str, tools: Any, mode: str) -> str:
    agent = with_tools(models, script, tools, mode)
    if mode == "run":
        return str(agent.run(QUERY))
    *_, last = agent.run(QUERY, stream=True)
    return str(last.output)


class SmolagentsDriver(Driver):
    source = "smolagents"
    modes = MODES
    streaming = ("stream",)
    sync_mode = "run"

    def run(self, models: FakeModels, script: str, tools: Any, mode: str) -> Outcome:
        try:
            return Outcome(text=with_agent(models, script, tools, mode))
        except BaseException as error:
            return Outcome(error=error)

    def nested(self, models: FakeModels, log: ToolLog) -> Outcome:
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return with_agent(models, "fake.par", log.functions(), "run")

        return self.run(models, "fake.nest", [ask_sub], "run")

    def ask(self, models: FakeModels, script: str, tools: Any) -> None:
        """One step of an agent that is not run."""
        agent = with_tools(models, script, tools, "run")
        agent.memory.steps.append(TaskStep(task=QUERY))
        agent.step(ActionStep(step_number=1, timing=Timing(start_time=time.time())))


class TestSmolagents(Conformance):
    driver = SmolagentsDriver()

    @limit("smolagents", "no coroutines")
    def test_tools_of_coroutine_functions(self, models: FakeModels, sink: OtlpSink, log: ToolLog) -> None:
        """Nobody awaits what such a tool gives back, with or without us."""
        made: list[Any] = []

        def add(a: int, b: int) -> Any:
            made.append(log.coroutines()[0](a, b))
            return made[-1]

        outcome = self._run(models, "one", log, "run", [add])
        assert (outcome.text, [call.tool for call in sink.calls]) == (FINAL, ["add"])
        assert [inspect.getcoroutinestate(one) for one in made] == ["CORO_CREATED"]
        made[0].close()

    @limit("smolagents", "no coroutines")
    def test_runs_in_one_event_loop_stay_apart(self, models: FakeModels, sink: OtlpSink) -> None:
        """The runs are functions, so they go to threads."""
        logs = [ToolLog() for _ in range(4)]

        async def main() -> None:
            run, script = self.driver.run, "fake.par.one.same"
            jobs = (asyncio.to_thread(run, models, script, own.functions(), "run") for own in logs)
            await asyncio.gather(*jobs)

        asyncio.run(main())
        pdoctor_trace.flush()
        for run in sink.runs:
            calls = by_turn([call for call in sink.calls if call.run_id == run.run_id])
            assert [call.call_id for call in calls] == FIVE_IDS
        assert len(sink.runs) == 4


# -- code agents


class Coder(Model):
    """Writes the given blocks of code in order."""

    def __init__(self, *blocks: str) -> None:
        super().__init__()
        self.blocks = list(blocks)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        text = f"Thought: go.\n<code>\n{self.blocks.pop(0)}\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=text)


@tool
def add(a: int, b: int) -> int:
    """Add two integers.

    Args:
        a: one
        b: other
    """
    return a + b


@tool
def boom(x: str) -> str:
    """Always fails.

    Args:
        x: anything
    """
    raise RuntimeError(f"boom {x}")


def coder(*blocks: str, **options: Any) -> Any:
    given = {"tools": [add, boom], "verbosity_level": LogLevel.OFF, **options}
    return CodeAgent(model=Coder(*blocks), **given)


@limit("smolagents", "no call ids")
def test_calls_of_a_code_agents_code(sink: OtlpSink) -> None:
    agent = coder("print(add(1, b=2))\nadd(3, 4)", "boom(x='kaput')", "add(1)", "final_answer('done')")
    assert agent.run(QUERY) == "done"
    pdoctor_trace.flush()
    assert [(c.tool, c.arguments, c.result, c.executed, c.kind) for c in sink.calls] == [
        ("add", {"a": 1, "b": 2}, 3, True, None),
        ("add", {"a": 3, "b": 4}, 7, True, None),
        ("boom", {"x": "kaput"}, None, True, "tool_raised"),
        ("add", {"a": 1}, None, False, "bad_arguments"),
    ]
    assert [call["pdoctor.turn.index"] for call in sink.calls] == [0, 0, 1, 2]
    assert {call.call_id for call in sink.calls} == {None}
    (run,) = sink.runs
    assert {call.parent_id for call in sink.calls} == {run.span_id}
    assert (run["pdoctor.run.calls"], QUERY in run["gen_ai.input.messages"]) == (4, True)


def test_an_unknown_function_in_code_is_an_unknown_tool(sink: OtlpSink) -> None:
    coder("add(1, 2)\nno_such_tool(q=2)", "final_answer('done')").run(QUERY)
    pdoctor_trace.flush()
    assert [(call.tool, call.executed, call.kind) for call in sink.calls] == [
        ("add", True, None),
        ("no_such_tool", False, "unknown_tool"),
    ]


def test_a_managed_agent_is_a_tool_of_its_manager(sink: OtlpSink) -> None:
    helper = coder("add(5, 6)", "final_answer('eleven')", name="helper", description="helps")
    manager = coder("helper(task='add')", "final_answer('done')", tools=[], managed_agents=[helper])
    manager.run(QUERY)
    pdoctor_trace.flush()
    outer, inner = sink.runs
    asked, added = sink.calls
    assert (asked.tool, asked.arguments, added.tool) == ("helper", {"task": "add"}, "add")
    assert (asked.parent_id, inner.parent_id, added.parent_id) == (
        outer.span_id,
        asked.span_id,
        inner.span_id,
    )
    assert {span.run_id for span in sink.spans} == {outer.run_id}


class Elsewhere(PythonExecutor):
    """Stands for an executor in another process: the host's tools are not called."""

    def send_tools(self, tools: dict[str, Any]) -> None: ...

    def send_variables(self, variables: dict[str, Any]) -> None: ...

    def __call__(self, code_action: str) -> CodeOutput:
        return CodeOutput(output="3", logs="", is_final_answer=True)


@limit("smolagents", "remote executors")
def test_code_that_runs_elsewhere_shows_no_calls(sink: OtlpSink) -> None:
    assert coder("final_answer(add(1, 2))", executor=Elsewhere()).run(QUERY) == "3"
    pdoctor_trace.flush()
    assert (sink.calls, len(sink.runs)) == ([], 1)


class Pipeline(Tool):
    name = "pipeline"
    description = "Runs in steps of its own."
    inputs: dict[str, Any] = {}  # noqa: RUF012
    output_type = "string"

    def forward(self) -> str:
        return "never"

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        return "own"


@limit("smolagents", "own __call__")
def test_a_tool_with_a_call_method_of_its_own_is_not_seen_in_code(sink: OtlpSink) -> None:
    assert coder("final_answer(pipeline())", tools=[Pipeline()]).run(QUERY) == "own"
    pdoctor_trace.flush()
    assert (sink.calls, len(sink.runs)) == ([], 1)

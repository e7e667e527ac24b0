"""LangChain and LangGraph.

Where things happen there, and why the hooks stand where they do:

- `ToolNode._run_one/_arun_one` runs one requested call, unknown tools and middleware retries included,
  so it makes the span; `BaseTool.run/arun` inside it is one attempt at the tool's body. A tool that is
  invoked without a ToolNode reaches only `BaseTool.run`, which then makes the span. (A sync tool in an
  async run goes through `run` in a worker thread.)
- `on_chat_model_start` and `on_llm_end` of the callback managers see every model request whichever way
  it streams, without adding a handler that the host would find in its own list.
- `Pregel.stream/astream` is what invoke, ainvoke, batch and all event streams of a graph come through.
"""

from __future__ import annotations

import time
from typing import Any

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
    TOOL_RAISED,
    UNKNOWN_TOOL,
    Attempt,
    Call,
    CallFrame,
    Framework,
    Limit,
    OpenRun,
    Request,
    RunVisit,
    Target,
    Visit,
    argument_text,
    arguments,
    around,
    around_async,
    around_async_generator,
    around_generator,
    claim,
    current,
    new_call,
    not_executed,
    observe,
    outcome,
    run_here,
)

SOURCE = "langchain"


class _NodeVisit(Visit):
    """One requested call in a ToolNode, with all its attempts."""

    __slots__ = ("call", "known")

    def __init__(self, call: Call, known: bool) -> None:
        super().__init__(CallFrame(call, in_body=False))
        self.call, self.known = call, known

    def returned(self, result: Any) -> None:
        call = self.call
        message = _message_for(call.call_id, result)
        content = getattr(message, "content", None) if message is not None else result
        if message is not None and getattr(message, "status", None) == "error":
            self._failed(content)
            return
        call.executed = call.attempts > 0
        call.error = call.kind = None
        call.close(outcome(content))

    def raised(self, error: BaseException) -> None:
        call = self.call
        if _is(error, "GraphBubbleUp"):
            # Control flow, not failure: a pause for a person (the call runs again on resume) or a hand-over.
            call.executed = _is(error, "ParentCommand")
            call.error = call.kind = None
        elif call.error is None:
            call.executed = call.attempts > 0
            call.fail(error)
        call.close()

    def _failed(self, content: Any) -> None:
        """The node turned the failure into an error message for the model."""
        call = self.call
        if not self.known:
            call.fail(content if type(content) is str else "unknown tool", UNKNOWN_TOOL)
        elif call.error is None:
            call.fail(content if type(content) is str else "error", TOOL_RAISED)
        call.executed = call.attempts > 0 and call.kind != BAD_ARGUMENTS
        call.close()


class _DirectCall(Call):
    """A tool invoked directly, without a ToolNode: with a call it gives a message, else its own value."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        message = result if self.call_id is not None and hasattr(result, "tool_call_id") else None
        if message is not None and message.status == "error":
            self.fail(message.content if type(message.content) is str else "error", TOOL_RAISED)
            self.close()
            return
        self.close(outcome(result if message is None else message.content))

    def raised(self, error: BaseException) -> None:
        kind = _kind(error)
        self.executed = kind != BAD_ARGUMENTS
        self.fail(error, kind)
        self.close()


class _GraphVisit(RunVisit):
    """One run of a graph; a pause for a person is no failure."""

    __slots__ = ()

    def raised(self, error: BaseException) -> None:
        super().raised(GeneratorExit() if _is(error, "GraphBubbleUp") else error)


def _enter_node(node: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    request = args[0] if args else kwargs["call"]
    tool = node.tools_by_name.get(request["name"])
    call = Call(
        SOURCE,
        request["name"],
        arguments(request["args"]),
        call_id=request["id"],
        description=getattr(tool, "description", None),
    )
    call.attempts = 0
    _match_request(call)
    return _NodeVisit(call, known=tool is not None)


def _enter_tool(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    frame, call_id = current(), kwargs.get("tool_call_id")
    outer = frame.call if frame is not None else None
    if outer is not None and frame is not None and not frame.in_body and outer.call_id == call_id:
        return Attempt(outer, _kind)
    if outer is not None and outer.source != SOURCE and outer.tool == tool.name and call_id is None:
        return None  # the tool of another framework's call that is being recorded
    given = args[0] if args else kwargs.get("tool_input")
    claimed = claim(call_id, tool.name, given)
    if claimed is not None:
        return claimed
    kept = arguments(given)
    call: _DirectCall = new_call(_DirectCall)
    call.begin(SOURCE, tool.name, kept, call_id, tool.description, None, frame)
    _match_request(call)
    return call


def _match_request(call: Call) -> None:
    run = call.run
    if run is not None and (call.call_id is not None or run.has_requests):
        call.take_up()


def _enter_graph(graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    given = args[0] if args else kwargs.get("input")
    config = args[1] if len(args) > 1 else kwargs.get("config")
    name = graph.name if type(graph.name) is str else None
    return _GraphVisit(OpenRun(SOURCE, agent=name, query=_query(given), conversation=_thread(config)))


def _on_model_start(manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Before each model request: which tools it may call."""
    run = run_here(SOURCE)
    if run is None:
        return
    run.models_running += 1
    params = kwargs.get("invocation_params") or {}
    model = params.get("model") or params.get("model_name")
    run.model = model if type(model) is str else run.model
    run.offer(_tool(entry) for entry in params.get("tools") or () if isinstance(entry, dict))


def _on_model_end(manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """After each model request: which calls it asks for, well formed or not."""
    run = run_here(SOURCE)
    if run is None:
        return
    run.models_running -= 1
    response = args[0] if args else kwargs["response"]
    message = getattr(response.generations[0][0], "message", None)
    turn, now, has_text = run.state.next_turn(), time.time_ns(), _has_text(message)
    for entry in getattr(message, "tool_calls", None) or ():
        kept = arguments(entry["args"])
        run.request(Request(entry["id"], entry["name"], kept, turn, has_text, now))
    for entry in getattr(message, "invalid_tool_calls", None) or ():
        kept, _ = argument_text(entry["args"])
        request = Request(entry["id"], entry["name"] or "", kept, turn, has_text, now, well_formed=False)
        not_executed(request, SOURCE, run)


def _on_model_error(manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    run = run_here(SOURCE)
    if run is not None:
        run.models_running -= 1


def _on_structured_output(binding: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Structured output is asked for as a tool call that no tool runs: remember the name."""
    frame = current()
    if frame is not None and frame.run is not None:
        frame.run.pseudo_tools.add(binding.tool.name)


def _tool(entry: dict[str, Any]) -> tuple[str, str | None]:
    """Name and description of a tool in OpenAI's (nested) or Anthropic's (flat) spelling."""
    described = entry.get("function", entry)
    return str(described.get("name", entry.get("type"))), described.get("description")


def _message_for(call_id: str | None, result: Any) -> Any:
    """The ToolMessage for this call: the result itself, one of a list, or in a Command's update."""
    for item in result if isinstance(result, list) else [result]:
        if getattr(item, "tool_call_id", None) == call_id and hasattr(item, "status"):
            return item
        update = getattr(item, "update", None)
        if isinstance(update, dict):
            found = _message_for(call_id, list(update.get("messages") or ()))
            if found is not None:
                return found
    return None


def _query(given: Any) -> str | None:
    """Text of the last message of the user."""
    messages = given.get("messages") if isinstance(given, dict) else given
    if isinstance(messages, str):
        return messages
    if not isinstance(messages, list | tuple):
        return None
    for message in reversed(messages):
        role, content = _role_and_content(message)
        if role in ("user", "human"):
            return _text(content)
    return None


def _role_and_content(message: Any) -> tuple[Any, Any]:
    if isinstance(message, str):
        return "user", message
    if isinstance(message, dict):
        return message.get("role", message.get("type")), message.get("content")
    if isinstance(message, tuple) and len(message) == 2:
        return message
    return getattr(message, "type", None), getattr(message, "content", None)


def _text(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_block_text(block) for block in content)
    return None


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else ""


def _has_text(message: Any) -> bool:
    return bool((_text(getattr(message, "content", None)) or "").strip())


def _thread(config: Any) -> str | None:
    """The conversation a checkpointed graph continues."""
    configurable = config.get("configurable") if isinstance(config, dict) else None
    thread = configurable.get("thread_id") if isinstance(configurable, dict) else None
    return thread if type(thread) is str else None


def _kind(error: BaseException) -> str | None:
    """`bad_arguments` where the tool's own code was never reached; None: tell it from the class."""
    step = error.__traceback__ if _is(error, "ValidationError") else None
    while step is not None:
        if step.tb_frame.f_code.co_name == "_parse_input":
            return BAD_ARGUMENTS
        step = step.tb_next
    return None


def _is(error: BaseException, class_name: str) -> bool:
    return any(cls.__name__ == class_name for cls in type(error).__mro__)


_MANAGER = "langchain_core.callbacks.manager"

LANGCHAIN = Framework(
    name=SOURCE,
    title="LangChain, LangGraph",
    distribution="langchain-core",
    versions=">=1.0,<2",
    targets=(
        Target("langgraph.prebuilt.tool_node", "ToolNode._run_one", around(_enter_node)),
        Target("langgraph.prebuilt.tool_node", "ToolNode._arun_one", around_async(_enter_node)),
        Target("langchain_core.tools.base", "BaseTool.run", around(_enter_tool)),
        Target("langchain_core.tools.base", "BaseTool.arun", around_async(_enter_tool)),
        Target(_MANAGER, "CallbackManager.on_chat_model_start", observe(_on_model_start)),
        Target(_MANAGER, "AsyncCallbackManager.on_chat_model_start", observe(_on_model_start)),
        Target(_MANAGER, "CallbackManagerForLLMRun.on_llm_end", observe(_on_model_end)),
        Target(_MANAGER, "AsyncCallbackManagerForLLMRun.on_llm_end", observe(_on_model_end)),
        Target(_MANAGER, "CallbackManagerForLLMRun.on_llm_error", observe(_on_model_error)),
        Target(_MANAGER, "AsyncCallbackManagerForLLMRun.on_llm_error", observe(_on_model_error)),
        Target("langgraph.pregel.main", "Pregel.stream", around_generator(_enter_graph)),
        Target("langgraph.pregel.main", "Pregel.astream", around_async_generator(_enter_graph)),
        Target(
            "langchain.agents.structured_output",
            "OutputToolBinding.parse",
            observe(_on_structured_output),
            optional=True,
        ),
    ),
    covers="agents, graphs, tools, parallel calls, retries, streaming, structured output, nested agents",
    limits=(
        Limit(
            "streamed malformed arguments",
            "malformed arguments of a streamed reply are repaired by LangChain before anyone can see them",
        ),
        Limit(
            "unreadable replies",
            "where arguments are valid JSON but no object, LangChain raises before there is a call",
        ),
    ),
)

"""LangChain and LangGraph.

Where things happen there, and why the hooks stand where they do:

- `ToolNode._run_one/_arun_one` runs one requested call, unknown tools and middleware retries included,
  so it makes the span; `BaseTool.run/arun` inside it is one attempt at the tool's body. A tool that is
  invoked without a ToolNode reaches only `BaseTool.run`, which then makes the span. (A sync tool in an
  async run goes through `run` in a worker thread.)
- `on_chat_model_start` and `on_llm_end` of the callback managers see every model request whichever way
  it streams, without adding a handler that the host would find in its own list.
- `Pregel.stream/astream` is what invoke, ainvoke, batch and all event streams of a graph come through;
  that a graph was interrupted is known where its loop is left. Its thread says which run goes on.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
    TOOL_RAISED,
    UNKNOWN_TOOL,
    Attempt,
    Call,
    CallVisit,
    Framework,
    HistoryAnswer,
    InRun,
    Limit,
    OpenRun,
    Reading,
    Request,
    RunVisit,
    Target,
    Visit,
    Workflow,
    answered,
    argument_text,
    arguments,
    around,
    around_async,
    around_async_generator,
    around_generator,
    around_of,
    asked_elsewhere,
    claim,
    current,
    field,
    gives_way,
    guarded,
    new_call,
    not_executed,
    observe,
    outcome,
    run_here,
)

from . import langchain_reply
from .langchain_cancelled import given_before
from .langchain_refusals import change_node, change_tool, refuse_node, refuse_tool
from .langgraph_pauses import (
    SOURCE,
    break_off,
    doubt_what_waited,
    enter_decision,
    goes_on,
    is_a,
    key_of,
    on_graph_begun,
    on_graph_left,
    thread_of,
)


class _NodeCall(Call):
    """A call that a ToolNode was given; middleware may start the tool with other arguments."""

    __slots__ = ("came", "given", "injected")

    came: tuple[Any, ...] | None
    """What the latest attempt gave, once it has."""
    given: dict[str, Any]
    injected: Collection[str]

    def start_with(self, tool: Any, given: Any) -> None:
        """The tool starts; what LangGraph puts into the arguments is not said of them."""
        asked, another = self.given, self.attempts == 0 and tool.name != self.tool
        same = type(given) is not dict or (len(given) == len(asked) and _same_values(asked, given))
        if same and not another:
            return
        hidden = {*self.injected, *getattr(tool, "_injected_args_keys", ())}
        shown = {name: value for name, value in given.items() if name not in hidden} if not same else given
        if another:
            gives_way(self, tool.name, tool.description, arguments(shown))
        else:
            self.ran_with(arguments(shown))


class _NodeAttempt(Attempt):
    """The tool of a call that a ToolNode was given."""

    __slots__ = ()

    call: _NodeCall

    def returned(self, result: Any) -> None:
        self.call.error = self.call.kind = None
        self.call.came = (result,)


class _NodeVisit(CallVisit):
    """One requested call in a ToolNode, with all its attempts."""

    __slots__ = ("known",)

    def __init__(self, call: _NodeCall, known: bool) -> None:
        super().__init__(call)
        self.known = known

    def returned(self, result: Any) -> None:
        call = self.call
        message = _message_for(call.call_id, result)
        content = getattr(message, "content", None) if message is not None else result
        if message is not None and getattr(message, "status", None) == "error":
            self._failed(content)
            return
        call.error = call.kind = None
        call.close(outcome(content))

    def raised(self, error: BaseException) -> None:
        call = self.call
        if is_a(error, "GraphInterrupt"):
            call.withdraw()
            return
        if _closes_anyway(call, error, call.came):
            return
        if is_a(error, "GraphBubbleUp"):  # control flow, not failure: a hand-over
            call.error = call.kind = None
        elif call.error is None:
            call.fail(error)
        call.close()

    def _failed(self, content: Any) -> None:
        """The node turned the failure into an error message for the model."""
        call = self.call
        if not self.known:
            call.fail(_text(content) or "unknown tool", UNKNOWN_TOOL)
        elif call.error is None:
            call.fail(_text(content) or "error", TOOL_RAISED)
        call.close()


class _DirectCall(Call):
    """A tool invoked directly, without a ToolNode."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        if self.call_id is None:
            self.close(outcome(result))
        else:
            self.ended(_read(result))

    def raised(self, error: BaseException) -> None:
        if is_a(error, "GraphInterrupt"):
            self.withdraw()
            return
        if _closes_anyway(self, error):
            return
        self.fail(error, _kind(error))
        self.close()


class _GraphVisit(RunVisit):
    """One run of a graph; a pause for a person is no failure."""

    __slots__ = ("key",)

    unseen = True

    def __init__(self, run: OpenRun, key: str | None) -> None:
        super().__init__(run)
        self.key = key

    def raised(self, error: BaseException) -> None:
        if is_a(error, "GraphInterrupt"):
            break_off(self.run)
        bubbles = is_a(error, "GraphBubbleUp")
        super().raised(GeneratorExit() if bubbles else error)
        if self.key is not None and self.run.root and not bubbles:
            self.run.leave(self.key)  # from its last checkpoint, if the host calls it again


def _enter_node(node: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallVisit:
    request = args[0] if args else kwargs["call"]
    name, given = request["name"], request["args"]
    tool = node.tools_by_name.get(name)
    call: _NodeCall = new_call(_NodeCall)
    description = getattr(tool, "description", None)
    call.begin(SOURCE, name, arguments(given), request["id"], description, None, current())
    call.given, call.injected, call.came = given, _injected(node, name), None
    call.attempts = 0
    _match_request(call)
    return _NodeVisit(call, known=tool is not None)


def _enter_tool(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    frame, call_id = current(), kwargs.get("tool_call_id")
    outer = frame.call if frame is not None else None
    given = args[0] if args else kwargs.get("tool_input")
    if outer is not None and frame is not None and not frame.in_body and outer.call_id == call_id:
        if not isinstance(outer, _NodeCall):
            return Attempt(outer, _kind)
        outer.start_with(tool, given)
        outer.came = None
        return _NodeAttempt(outer, _kind)
    if call_id is None and outer is not None and outer.source != SOURCE and around_of(frame, tool.name):
        return None  # the tool of another framework's call that is being recorded
    claimed = claim(call_id, tool.name, given, _read if call_id is not None else Reading)
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
    thread = thread_of(config) or thread_of(graph.config)
    key = None if thread is None else key_of(thread, graph)
    resumes = key if key is not None and goes_on(given, key) else None
    run = OpenRun(
        SOURCE,
        agent=name,
        query=_query(given),
        conversation=thread,
        resumes=resumes,
        workflow=None if _is_agent(graph) else Workflow(name),
    )
    run.started_here = _node_tools(graph)
    if resumes is not None and run.state.left:
        doubt_what_waited(run, given)
    return _GraphVisit(run, key)


def _node_tools(graph: Any) -> tuple[str, ...]:
    """Names of the tools that the graph's ToolNodes start."""
    nodes = (node.bound for node in graph.nodes.values())
    return tuple(name for node in nodes if is_a(node, "ToolNode") for name in node.tools_by_name)


def _is_agent(graph: Any) -> bool:
    """Whether LangChain made the graph of one agent, with `create_agent` or its forerunner."""
    if field(field(graph.config, "metadata"), "ls_integration") == "langchain_create_agent":
        return True
    model = field(field(graph.nodes.get("agent"), "bound"), "func")
    return getattr(model, "__module__", None) == "langgraph.prebuilt.chat_agent_executor"


def _on_model_start(manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Before each model request: which tools it may call."""
    run = run_here(SOURCE)
    if run is None:
        return
    is_first = not run.requests.asked
    if is_first or run.has_requests:
        messages = args[1] if len(args) > 1 else kwargs["messages"]
        guarded(_take_answers, run, messages[0], is_first)
        if is_first and messages[0] and field(messages[0][0], "type") == "system":
            run.instructed(field(messages[0][0], "content"))
    run.models_running += 1
    run.requests.asked, run.pause = True, None
    params = kwargs.get("invocation_params") or {}
    output = (kwargs.get("options") or {}).get("ls_structured_output_format")
    if output:  # `with_structured_output` may ask for it as the call of a tool
        run.pseudo_tools.add(output["schema"].get("title", ""))
    model = params.get("model") or params.get("model_name")
    run.model = model if type(model) is str else run.model
    run.offer(_tool(entry) for entry in params.get("tools") or () if isinstance(entry, dict))


class _ModelVisit(InRun[OpenRun]):
    """A request to a model is about to leave; each has a callback manager of its own."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        langchain_reply.begin(result, self.run, self.run.model)


def _enter_model(manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    _on_model_start(manager, args, kwargs)
    run = run_here(SOURCE)
    return None if run is None else _ModelVisit(run)


def _on_model_end(manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """After each model request: which calls it asks for, well formed or not."""
    run = run_here(SOURCE)
    if run is None:
        return
    run.models_running -= 1
    run.requests.answered = True
    response = args[0] if args else kwargs["response"]
    guarded(langchain_reply.end, manager, response)
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
        error = args[0] if args else kwargs["error"]
        run.requests.fail(error)
        guarded(langchain_reply.end, manager, None, error)


def _on_structured_output(binding: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Structured output is asked for as a tool call that no tool runs: remember the name."""
    frame = current()
    if frame is not None and frame.run is not None:
        frame.run.pseudo_tools.add(binding.tool.name)


def _take_answers(run: OpenRun, messages: Any, is_first: bool) -> None:
    """Answers to what the model asked for last, whoever ran the tools, and in whatever process."""
    found = _answers(messages)
    for one in found:
        answered(run, one)
    if is_first and hasattr(messages[-1], "tool_call_id"):
        asked_elsewhere(run, found)


def _answers(messages: Any) -> list[HistoryAnswer]:
    """Those to the latest message that asks for calls."""
    answers: dict[Any, Any] = {}
    for message in reversed(messages):
        if hasattr(message, "tool_call_id"):
            answers.setdefault(message.tool_call_id, message)
        asked = getattr(message, "tool_calls", None)
        if asked:
            return [
                HistoryAnswer(one["id"], one["name"], arguments(one["args"]), _read(answers[one["id"]]))
                for one in asked
                if one["id"] in answers
            ]
    return []


def _read(result: Any) -> Reading:
    """What a tool that was given a call made of it: a message, unless it has a form of its own."""
    if not hasattr(result, "tool_call_id"):
        return Reading(result)
    content = result.content
    failed = getattr(result, "status", None) == "error"
    return Reading(content, (_text(content) or "error") if failed else None)


def _same_values(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the dictionaries hold the very same objects under the same names."""
    return all(other.get(name, _read) is value for name, value in one.items())


def _injected(node: Any, tool: str) -> Any:
    """Names of the arguments that the node itself puts in."""
    known = getattr(node, "_injected_args", None)
    return getattr(known.get(tool) if known else None, "all_injected_keys", ())


def _tool(entry: dict[str, Any]) -> tuple[str, str | None, Any]:
    """Name, description and schema of a tool in OpenAI's (nested) or Anthropic's (flat) spelling."""
    described = entry.get("function", entry)
    schema = described.get("parameters", described.get("input_schema"))
    return str(described.get("name", entry.get("type"))), described.get("description"), schema


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


def _kind(error: BaseException) -> str | None:
    """`bad_arguments` where the tool's own code was never reached; None: tell it from the class."""
    step = error.__traceback__ if is_a(error, "ValidationError") else None
    while step is not None:
        if step.tb_frame.f_code.co_name == "_parse_input":
            return BAD_ARGUMENTS
        step = step.tb_next
    return None


def _closes_anyway(call: Call, error: BaseException, came: tuple[Any, ...] | None = None) -> bool:
    """Whether the tool was through when its call was cancelled."""
    given = None if isinstance(error, Exception) else came or given_before(error, call)
    if given is not None:
        call.error = call.kind = None
        call.ended(_read(*given))
    return given is not None


_MANAGER = "langchain_core.callbacks.manager"
_NODES, _TOOLS = "langgraph.prebuilt.tool_node", "langchain_core.tools.base"

LANGCHAIN = Framework(
    name=SOURCE,
    title="LangChain, LangGraph",
    distribution="langchain-core",
    versions=">=1.0,<2",
    targets=(
        Target(_NODES, "ToolNode._run_one", around(_enter_node, refuse_node, change=change_node)),
        Target(_NODES, "ToolNode._arun_one", around_async(_enter_node, refuse_node, change=change_node)),
        Target(_TOOLS, "BaseTool.run", around(_enter_tool, refuse_tool, change=change_tool)),
        Target(_TOOLS, "BaseTool.arun", around_async(_enter_tool, refuse_tool, change=change_tool)),
        Target(_MANAGER, "CallbackManager.on_chat_model_start", around(_enter_model)),
        Target(_MANAGER, "AsyncCallbackManager.on_chat_model_start", observe(_on_model_start)),
        Target(_MANAGER, "CallbackManagerForLLMRun.on_llm_end", observe(_on_model_end)),
        Target(_MANAGER, "AsyncCallbackManagerForLLMRun.on_llm_end", observe(_on_model_end)),
        Target(_MANAGER, "CallbackManagerForLLMRun.on_llm_error", observe(_on_model_error)),
        Target(_MANAGER, "AsyncCallbackManagerForLLMRun.on_llm_error", observe(_on_model_error)),
        Target("langgraph.pregel.main", "Pregel.stream", around_generator(_enter_graph)),
        Target("langgraph.pregel.main", "Pregel.astream", around_async_generator(_enter_graph)),
        Target("langgraph.pregel._loop", "PregelLoop._first", observe(on_graph_begun), optional=True),
        Target("langgraph.pregel._loop", "PregelLoop._suppress_interrupt", observe(on_graph_left)),
        Target(
            "langchain.agents.middleware.human_in_the_loop",
            "HumanInTheLoopMiddleware._process_decision",
            around(enter_decision),
            optional=True,
        ),
        Target(
            "langchain.agents.structured_output",
            "OutputToolBinding.parse",
            observe(_on_structured_output),
            optional=True,
        ),
    ),
    covers="agents, graphs, tools, parallel calls, retries, streaming, structured output, nested agents, "
    "interrupts and approvals",
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

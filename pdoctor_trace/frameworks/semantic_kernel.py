"""Semantic Kernel.

`Kernel.invoke_function_call` runs one requested call and makes the span; its outcome is only a message that
it adds to the history, so value and exception are taken from `KernelFunction.invoke` inside it, which is not
reached by unknown functions and refused arguments. A function that the host invokes itself reaches only that.
A run is an agent's answer, or one request to a chat service that is given a kernel to call functions of.
"""

from __future__ import annotations

import sys
from typing import Any

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
    UNKNOWN_TOOL,
    Attempt,
    Call,
    CallFrame,
    Framework,
    Limit,
    OpenRun,
    Refused,
    RunVisit,
    Target,
    Visit,
    argument_text,
    arguments,
    around_async,
    around_async_generator,
    claim,
    current,
    field,
    observe,
    outcome,
    run_here,
)

SOURCE = "semantic_kernel"


class _Run(OpenRun):
    """A run and the reply whose calls are being made, to tell its turn."""

    __slots__ = ("reply", "turn")

    reply: Any
    turn: int


class _AskedCall(Call):
    """A requested call; filters around its function may answer for it, or change what it gets."""

    __slots__ = ("function",)

    function: Any
    """What was invoked for it, where its start is seen."""

    def start(self, given: Any) -> None:
        """The function itself is about to run."""
        names = [parameter.name for parameter in self.function.parameters]
        self.function = None
        self.attempts += 1
        self.ran_with(arguments({name: given[name] for name in names if name in given}))


class _CallVisit(Visit):
    """One requested call."""

    __slots__ = ("call", "refused", "result")

    call: _AskedCall

    def __init__(self, call: _AskedCall, refused: tuple[str, str] | None) -> None:
        super().__init__(_CallFrame(call, self))
        self.call, self.refused = call, refused
        self.result: bytes | None = None
        call.attempts = 0

    def returned(self, result: Any) -> None:
        call = self.call
        if call.attempts == 0 and self.refused is not None:
            call.fail(*self.refused)
        call.close(self.result)

    def raised(self, error: BaseException) -> None:
        if self.call.error is None:
            self.call.fail(error)
        self.call.close()


class _CallFrame(CallFrame):
    """Around one call; the function reports back through it."""

    __slots__ = ("visit",)

    def __init__(self, call: Call, visit: _CallVisit) -> None:
        super().__init__(call, in_body=False)
        self.visit = visit


class _Body(Attempt):
    """The function of a requested call runs."""

    __slots__ = ("outer",)

    def __init__(self, outer: _CallVisit, function: Any) -> None:
        super().__init__(outer.call, _kind)
        self.outer = outer
        if type(function).__name__ == "KernelFunctionFromMethod":
            outer.call.attempts -= 1
            outer.call.function = function

    def returned(self, result: Any) -> None:
        super().returned(result)
        self.outer.result = outcome(getattr(result, "value", result))


class _DirectCall(Call):
    """A function that the host invokes itself."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        self.close(outcome(getattr(result, "value", result)))

    def raised(self, error: BaseException) -> None:
        self.fail(error, _kind(error))
        self.close()


def _kind(error: BaseException) -> str | None:
    return BAD_ARGUMENTS if _refused(error) else None


def _enter_call(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    asked = args[0] if args else kwargs["function_call"]
    history = args[1] if len(args) > 1 else kwargs["chat_history"]
    arguments, well_formed = argument_text(asked.arguments or {})
    function = _function(kernel, asked)
    call = _AskedCall(
        SOURCE,
        asked.name,
        arguments,
        call_id=asked.id,
        description=None if function is None else function.description,
    )
    run, call.function = call.run, None
    if isinstance(run, _Run):
        call.turn, call.has_text = _turn(run, history, asked)
    return _CallVisit(call, _why_not(function, asked, well_formed))


def _refuse_call(visit: Any, text: str, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The message that a failed call leaves in the history."""
    asked = args[0] if args else kwargs["function_call"]
    history = args[1] if len(args) > 1 else kwargs["chat_history"]
    contents = sys.modules["semantic_kernel.contents.function_result_content"]
    answer = contents.FunctionResultContent.from_function_call_content_and_result(asked, text)
    streams = any(type(message).__name__ == "StreamingChatMessageContent" for message in history.messages)
    to_message = answer.to_streaming_chat_message_content if streams else answer.to_chat_message_content
    history.add_message(message=to_message())


def _refuse_function(
    visit: Any, text: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Whoever invokes a function itself gets what it raises."""
    raise Refused(text)


def _function(kernel: Any, asked: Any) -> Any:
    """The function that a call names, with its plugin or alone; None where there is none."""
    for name, plugin in kernel.plugins.items():
        if asked.function_name in plugin.functions and asked.plugin_name in (None, "", name):
            return plugin.functions[asked.function_name]
    return None


def _why_not(function: Any, asked: Any, well_formed: bool) -> tuple[str, str] | None:
    """(message, kind) of why this call cannot reach its function."""
    if function is None:
        return "no such function is offered", UNKNOWN_TOOL
    if not well_formed:
        return "the arguments are not valid JSON", BAD_ARGUMENTS
    given = set(asked.parse_arguments() or ())
    needed = {parameter.name for parameter in function.parameters if parameter.is_required}
    foreign = given - {parameter.name for parameter in function.parameters}
    if needed - given or foreign:
        return f"arguments missing: {sorted(needed - given)}, unexpected: {sorted(foreign)}", BAD_ARGUMENTS
    return None


def _turn(run: _Run, history: Any, asked: Any) -> tuple[int | None, bool | None]:
    """(turn, whether it has text) of the reply in the history that holds this very call."""
    for message in reversed(history.messages):
        if any(item is asked for item in message.items):
            if run.reply is not message:
                run.reply, run.turn = message, run.state.next_turn()
            texts = [getattr(item, "text", None) for item in message.items]
            return run.turn, any(isinstance(text, str) and bool(text.strip()) for text in texts)
    return None, None


def _enter_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
    if function.is_prompt:
        return None
    frame = current()
    if isinstance(frame, _CallFrame):
        return _Body(frame.visit, function)
    given = (args[1] if len(args) > 1 else kwargs.get("arguments")) or {
        name: value for name, value in kwargs.items() if name not in ("kernel", "arguments", "metadata")
    }
    named, name = dict(given), function.fully_qualified_name
    claimed = claim(None, name, named)
    if claimed is not None:
        return claimed
    return _DirectCall(SOURCE, name, arguments(named), description=function.description)


def _on_start(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    call = current()
    if isinstance(call, _AskedCall) and call.function is function:
        call.start((args[0] if args else kwargs["context"]).arguments)


class _ThreadVisit(RunVisit):
    """A run; where the caller brought no thread, the answer has the one that was made for it."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        self.run.conversation = self.run.conversation or _thread(getattr(result, "thread", None))
        super().returned(result)


def _enter_agent(agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    given = args[0] if args else kwargs.get("messages")
    name = agent.name if type(agent.name) is str else None
    visit = _visit(kwargs.get("kernel") or agent.kernel, _query(given), name)
    visit.run.conversation = _thread(kwargs.get("thread"))
    return visit


def _enter_service(service: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
    """A chat service that is given a kernel runs the loop itself; within an agent it is the agent's."""
    kernel = kwargs.get("kernel")
    if kernel is None or run_here(SOURCE, _Run) is not None:
        return None
    history = args[0] if args else kwargs["chat_history"]
    return _visit(kernel, _query(history.messages), None)


def _visit(kernel: Any, query: str | None, agent: str | None) -> RunVisit:
    run = _Run(SOURCE, agent=agent, query=query, quiet=True)
    run.reply, run.turn = None, 0
    functions = kernel.get_full_list_of_function_metadata()
    run.offer((function.fully_qualified_name, function.description) for function in functions)
    return _ThreadVisit(run)


def _thread(thread: Any) -> str | None:
    """The id of an agent's thread, which it has from its first use on."""
    named = field(field(thread, "__pydantic_private__"), "_id") or field(thread, "_id")
    return named if type(named) is str else None


def _query(given: Any) -> str | None:
    """Text of the input: a string, a message, or the last of the user's in a list of them."""
    if isinstance(given, str):
        return given
    for message in reversed(given if isinstance(given, list) else [given]):
        text = message if isinstance(message, str) else getattr(message, "content", None)
        role = getattr(getattr(message, "role", None), "value", "user")
        if role == "user" and isinstance(text, str):
            return text
    return None


def _refused(error: BaseException) -> bool:
    """Whether a value could not be made what the function's parameter wants."""
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_name == "gather_function_parameters":
            return True
        step = step.tb_next
    return False


_FUNCTION = "semantic_kernel.functions.kernel_function"
_AGENT = "semantic_kernel.agents.chat_completion.chat_completion_agent"
_SERVICE = "semantic_kernel.connectors.ai.chat_completion_client_base"

SEMANTIC_KERNEL = Framework(
    name=SOURCE,
    title="Semantic Kernel",
    distribution="semantic-kernel",
    versions=">=1.44,<2",
    targets=(
        Target(
            "semantic_kernel.kernel", "Kernel.invoke_function_call", around_async(_enter_call, _refuse_call)
        ),
        Target(_FUNCTION, "KernelFunction.invoke", around_async(_enter_function, _refuse_function)),
        Target(
            "semantic_kernel.functions.kernel_function_from_method",
            "KernelFunctionFromMethod._invoke_internal",
            observe(_on_start),
        ),
        Target(_AGENT, "ChatCompletionAgent.get_response", around_async(_enter_agent)),
        Target(_AGENT, "ChatCompletionAgent.invoke", around_async_generator(_enter_agent)),
        Target(_AGENT, "ChatCompletionAgent.invoke_stream", around_async_generator(_enter_agent)),
        Target(_SERVICE, "ChatCompletionClientBase.get_chat_message_contents", around_async(_enter_service)),
        Target(
            _SERVICE,
            "ChatCompletionClientBase.get_streaming_chat_message_contents",
            around_async_generator(_enter_service),
        ),
    ),
    covers="chat completion agents, chat services with a kernel, streaming, nested agents, direct invocation",
    limits=(
        Limit(
            "provider agents",
            "agents that run at a provider (Assistants, Bedrock) have calls but no run of their own",
        ),
        Limit(
            "loops by hand",
            "without `auto_invoke` each request and each function of a loop is a run, unless in `run()`",
        ),
    ),
)

"""LangGraph threads that are interrupted: when a graph waits, for what, and when it goes on.

A thread may wait many times, and other programs may have threads of that name, so what names a pause is the
checkpoint that it is kept in. Which one that is a graph that goes on knows only when it has read it; in the
process that paused it, its thread tells.
"""

from __future__ import annotations

from typing import Any

from pdoctor_trace.adapter import (
    APPROVAL,
    INPUT,
    OTHER,
    OpenRun,
    Pause,
    Visit,
    arguments,
    current,
    decided,
    field,
    is_paused,
    run_here,
)

SOURCE = "langchain"


class _DecisionVisit(Visit):
    """A person decides about a call that waited."""

    __slots__ = ("asked",)

    def __init__(self, asked: Any) -> None:
        super().__init__(current())
        self.asked = asked

    def returned(self, result: Any) -> None:
        revised, message = result
        if message is None and revised["name"] == self.asked["name"]:
            return
        run = run_here(SOURCE)
        if run is not None:
            kept = arguments(self.asked["args"])
            decided(run, self.asked["id"], self.asked["name"], kept, None)


def on_graph_left(loop: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A graph's loop ends; an interrupt leaves it as an exception only where the graph is nested."""
    run, error = run_here(SOURCE), args[1]
    if run is None or loop.is_nested:
        return
    if error is not None and is_a(error, "GraphInterrupt"):
        waiting = error.args[0] if error.args else ()
    elif isinstance(error, GeneratorExit):  # the host reads no further, maybe because it saw the interrupt
        written = getattr(loop, "checkpoint_pending_writes", None) or ()
        waiting = [one for _, channel, value in written if channel == "__interrupt__" for one in value]
        if not waiting:
            return
    else:
        return
    thread = thread_of(loop.config)
    if thread is None:
        run.wait_for(_reason(waiting))
    else:
        token = _token(thread, field(loop.checkpoint, "id"))
        run.wait_for(_reason(waiting), token, key_of(thread, loop))


def enter_decision(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit:
    return _DecisionVisit(args[1] if len(args) > 1 else kwargs["tool_call"])


def thread_of(config: Any) -> str | None:
    """The conversation a checkpointed graph continues; LangGraph takes the text of whatever is given."""
    configurable = config.get("configurable") if isinstance(config, dict) else None
    thread = configurable.get("thread_id") if isinstance(configurable, dict) else None
    return str(thread) if isinstance(thread, str | int) or type(thread).__name__ == "UUID" else None


def key_of(thread: str, graph: Any) -> str:
    """What a paused thread of a graph, or of its loop, is known by in this process.

    Graphs that keep threads of one name have other nodes, and one that is built anew has the same; threads in
    two memories are two even so, whereas a saver with a store behind it may be another one the next time.
    """
    saver = graph.checkpointer
    memory = id(saver) if is_a(saver, "InMemorySaver") else None
    return f"{SOURCE}:{thread}:{hash((frozenset(graph.nodes), memory))}"


def _token(thread: str, checkpoint: Any) -> str:
    return f"{SOURCE}:{thread}:{checkpoint}" if type(checkpoint) is str else f"{SOURCE}:{thread}"


def goes_on(given: Any, key: str) -> bool:
    """Whether a graph that gets this goes on from its last checkpoint, which may be another process's."""
    is_command = type(given).__name__ == "Command"
    return (is_command and given.resume is not None) or ((is_command or given is None) and is_paused(key))


_YES = frozenset({"accept", "accepted", "approve", "approved", "ok", "okay", "y", "yes"})
_DECISIONS = ("type", "action", "decision", "decisions", "approved", "approve")
"""Keys under which a decision is told."""


def doubt_what_waited(run: OpenRun, given: Any) -> None:
    """A person has answered: only a plain yes lets an answer to a call that waited say that its tool ran."""
    said = getattr(given, "resume", None)
    if said is not None and not _says_yes(said):
        for request in run.state.left:
            request.doubtful = True


def _says_yes(value: Any) -> bool:
    if type(value) is str:
        return value.strip().lower() in _YES
    if type(value) is list:
        return bool(value) and all(map(_says_yes, value))
    if type(value) is dict:
        return _says_yes(next((value[key] for key in _DECISIONS if key in value), list(value.values())))
    return value is True


def _reason(interrupts: Any) -> str:
    """Why a graph waits; a breakpoint says nothing of it."""
    values = [getattr(one, "value", None) for one in interrupts]
    if any(_asks_for_approval(value) for value in values):
        return APPROVAL
    return INPUT if values else OTHER


def _asks_for_approval(value: Any) -> bool:
    """Whether it is what LangChain's own middleware, or the older inbox, asks a person about a call."""
    if isinstance(value, list):
        return any(_asks_for_approval(one) for one in value)
    return isinstance(value, dict) and (
        "action_requests" in value or "action_request" in value or value.get("type") == "tool_approval"
    )


def is_a(value: object, class_name: str) -> bool:
    return any(cls.__name__ == class_name for cls in type(value).__mro__)


def break_off(run: OpenRun) -> None:
    """A graph within another one waits; the outermost says for what, and begins it anew."""
    run.pause = Pause(OTHER, None)


def on_graph_begun(loop: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A graph's loop has read its checkpoint; one that a loop wrote, in another process, is gone on with."""
    run, thread = run_here(SOURCE), thread_of(loop.config)
    if run is None or loop.is_nested or thread is None:
        return
    token, key = _token(thread, _paused_at(loop)), key_of(thread, loop)
    if run.root and not run.continues and loop.input is None and loop.checkpoint_metadata["source"] == "loop":
        run.resumed = token
    above: OpenRun | None = run
    while above is not None:
        above.resumed = token if above.resumed == key else above.resumed
        above = above.above


def _paused_at(loop: Any) -> Any:
    """The checkpoint that the thread was paused in; the host may have changed its state since."""
    if loop.checkpoint_metadata.get("source") == "update":
        return field(field(loop.prev_checkpoint_config, "configurable"), "checkpoint_id")
    return field(loop.checkpoint, "id")

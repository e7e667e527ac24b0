"""Recorded conversations as runs: the messages of OpenAI's or Anthropic's chat format, and tau-bench results.

Read are objects with `messages` (as `tools` beside it and the formats for fine-tuning have them) or `traj`
(tau-bench). A call whose answer does not stand in the conversation may have run or not. Nothing says when
calls were made: their order is all that is known, and which of them one message asked for.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import IO, Any

import orjson

from synth.errors import BadInput
from synth.observed.fields import kind_of
from synth.observed.lines import Refused, json_lines, parse_json
from synth.observed.run import UNKNOWN, Run, run_from_json

Said = dict[str, Any]
WHOLE_MIB = 256
"""Of a file that is one JSON list; more come as JSON lines."""


def read_any(
    stream: IO[bytes], *, name: str, refused: Refused | None = None, by_content: bool = False
) -> Iterator[Run]:
    """The runs of JSON lines, or of one JSON value: run records and conversations.

    BadInput names the file and the line, or the place in the list, of what is neither; `refused` is told of
    it instead, where it is given. A conversation without an id has that of its place, or with `by_content`
    one made of what it says, so that it is the same one wherever its file is.
    """
    seen: Counter[str] = Counter()
    for place, said in _values(stream, name, refused):
        line = place if isinstance(place, int) else None
        try:
            yield _run(said, _by_content(said, seen) if by_content else f"{name}#{place}")
        except BadInput as bad:
            told = (bad if line is not None else _told_at(bad, str(place))).at(file=name, line=line)
            if refused is None:
                raise told from None
            refused(told)


def _by_content(said: Any, seen: Counter[str]) -> str:
    """A digest of a conversation; `#2` is the second of its kind in a file."""
    digest = blake2b(orjson.dumps(said, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()
    seen[digest] += 1
    return f"{digest}#{seen[digest]}"


def _run(said: Any, name: str) -> Run:
    if is_transcript(said):
        return run_of_transcript(said, name=name)
    if isinstance(said, dict) and "calls" not in said and "run_id" not in said:
        raise BadInput(
            "neither a run record (`run_id`, `calls`) nor a conversation (`messages`, or `traj` of tau-bench)"
        )
    return run_from_json(said)


def _told_at(bad: BadInput, place: str) -> BadInput:
    return BadInput(f"{place}: {bad.message}", field=bad.field)


def _values(stream: IO[bytes], name: str, refused: Refused | None) -> Iterator[tuple[int | str, Any]]:
    """(line, or place in a list) and value."""
    head = bytes(stream.peek(4096)) if hasattr(stream, "peek") else b""
    first = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if first[:1] != b"[" and first.splitlines()[:1] != [b"{"]:
        yield from json_lines(stream, name, refused)
        return
    text = stream.read((WHOLE_MIB << 20) + 1)
    if len(text) > WHOLE_MIB << 20:
        raise BadInput(f"over {WHOLE_MIB} MiB in one JSON value: write one run a line", file=name)
    whole = parse_json(text.removeprefix(codecs.BOM_UTF8), file=name)
    if isinstance(whole, list):
        yield from ((f"item {number}", value) for number, value in enumerate(whole, 1))
    else:
        yield 1, whole


def is_transcript(said: Any) -> bool:
    """Is a JSON value a recorded conversation, and no run record?"""
    return isinstance(said, dict) and "calls" not in said and _messages(said) is not None


def run_of_transcript(said: Said, *, name: str) -> Run:
    """The run that a conversation shows; `name` is its id where it has none. BadInput says what is wrong."""
    told = _Told()
    for number, message in enumerate(_messages(said) or ()):
        if not isinstance(message, Mapping):
            raise BadInput(f"expected a message, got {kind_of(message)}", field=f"messages[{number}]")
        told.hear(message)
    known = {field: said[field] for field in ("model", "agent", "source") if isinstance(said.get(field), str)}
    record = {
        **_more(said),
        **known,
        "run_id": _name(said, name),
        "query": next((one["content"] for one in told.messages if one["role"] == "user"), None),
        "tools": _tools(said),
        "calls": told.calls,
        "messages": told.messages,
    }
    return run_from_json(record)


def _messages(said: Said) -> Sequence[Any] | None:
    found = said.get("messages", said.get("traj"))
    return found if isinstance(found, list) else None


def _name(said: Said, name: str) -> str:
    """`task_id` and `trial` of tau-bench tell several runs of one file apart."""
    for field in ("run_id", "id"):
        if said.get(field):
            return str(said[field])
    parts = [str(said[field]) for field in ("task_id", "trial") if said.get(field) is not None]
    return "-".join([name.rpartition("#")[0] or name, *parts]) if parts else name


def _more(said: Said) -> Said:
    return {field: said[field] for field in ("reward", "session", "metadata") if field in said}


def _tools(said: Said) -> list[str] | None:
    """The names of the tools that were offered, where the file has their definitions."""
    tools = said.get("tools", said.get("functions"))
    if not isinstance(tools, list):
        return None
    names = [_tool_name(tool) for tool in tools]
    return [name for name in names if name is not None] if all(names) else None


def _tool_name(tool: Any) -> str | None:
    if isinstance(tool, str):
        return tool
    found = tool.get("function", tool) if isinstance(tool, Mapping) else None
    name = found.get("name") if isinstance(found, Mapping) else None
    return name if isinstance(name, str) else None


class _Told:
    """What the messages so far tell."""

    def __init__(self) -> None:
        self.calls: list[Said] = []
        self.messages: list[Said] = []
        self._open: list[Said] = []
        """Calls that nobody has answered yet, in order."""
        self._turn = -1

    def hear(self, message: Mapping[str, Any]) -> None:
        role, content = message.get("role"), message.get("content")
        if role in ("tool", "function"):
            self._answer(message.get("tool_call_id"), message.get("name"), content)
            return
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and part.get("type") == "tool_result":
                self._answer(part.get("tool_use_id"), None, part.get("content"), bool(part.get("is_error")))
        text = _text(content)
        if role in ("user", "assistant") and text:
            self.messages.append({"role": role, "content": text, "before_call": len(self.calls)})
        asked = list(_asked(message)) if role == "assistant" else []
        self._turn += bool(asked)
        for call_id, name, arguments in asked:
            call = {
                "id": call_id, "name": name, "arguments": _value(arguments), "step": self._turn,
                "with_text": bool(text), "executed": False, "execution": UNKNOWN,
            }  # fmt: skip
            self.calls.append(call)
            self._open.append(call)

    def _answer(self, call_id: Any, name: Any, content: Any, failed: bool = False) -> None:
        """The answer to the oldest open call of this id, of this tool where there is no id."""
        for call in self._open:
            fits = call["id"] == call_id if call_id else name in (None, call["name"])
            if fits:
                self._open.remove(call)
                del call["execution"]
                call["executed"] = True
                said = _text(content) if isinstance(content, list) else content
                call["error" if failed else "result"] = str(said or "failed") if failed else _value(said)
                return


def _asked(message: Mapping[str, Any]) -> Iterator[tuple[str | None, str, Any]]:
    """(id, tool, arguments) of each call that a message asks for."""
    listed, content = message.get("tool_calls"), message.get("content")
    for call in listed if isinstance(listed, list) else ():
        if isinstance(call, Mapping):
            yield from _named(call.get("id"), call.get("function", call), "arguments")
    if isinstance(message.get("function_call"), Mapping):
        yield from _named(None, message["function_call"], "arguments")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") == "tool_use":
            yield from _named(part.get("id"), part, "input")


def _named(call_id: Any, said: Any, arguments: str) -> Iterator[tuple[str | None, str, Any]]:
    if isinstance(said, Mapping) and isinstance(said.get("name"), str):
        yield call_id if isinstance(call_id, str) else None, said["name"], said.get(arguments)


def _text(content: Any) -> str:
    """What a message says in words."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


def _value(said: Any) -> Any:
    """Text that is a JSON object or list as such."""
    if not isinstance(said, str) or said.lstrip()[:1] not in ("{", "["):
        return said
    try:
        return orjson.loads(said)
    except orjson.JSONDecodeError:
        return said

"""Bodies and replies, dicts and SDK models alike, read without running foreign code."""

from __future__ import annotations

from typing import Any

from pdoctor_trace.definitions import Offer
from pdoctor_trace.reading import field


def items(value: Any) -> list[Any]:
    """The elements of a list or tuple; nothing for anything else."""
    return list(value) if isinstance(value, list | tuple) else []


def counts_follow(body: dict[str, Any]) -> bool:
    """Whether the tokens come in a chunk of their own, when a stream has brought all else."""
    return field(body.get("stream_options"), "include_usage") is True


def text_of(content: Any) -> str | None:
    """Text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = [field(part, "text") for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return None


def answer_of(content: Any) -> Any:
    """What a tool's answer says: its text, and of an image or any other part what it is, as `<image>`."""
    if not isinstance(content, list | tuple):
        return content
    return "".join(map(_said, content))


def _said(part: Any) -> str:
    text, kind = name(field(part, "text")), name(field(part, "type"))
    return text if text is not None else "" if kind is None else f"<{kind}>"


def free_text(text: Any) -> Any:
    """Arguments of a custom tool, which takes text as it stands: under the name that the wire has for it."""
    return {"input": text}


def name(value: Any) -> str | None:
    """The value if it is a string: SDK sentinels for `not given` are not."""
    return value if type(value) is str else None


def offered_tools(tools: Any) -> list[Offer]:
    """The tools that a request offers, in any of the SDKs' spellings."""
    found: list[Offer] = []
    for tool in items(tools):
        described = field(tool, "function") or field(tool, "custom") or tool
        tool_name = name(field(described, "name"))
        if tool_name is not None:
            schema = field(described, "parameters", field(described, "input_schema"))
            found.append((tool_name, name(field(described, "description")), schema))
    return found


def chain(history: list[int], item: Any) -> None:
    """Append the hash of the history so far and this item."""
    history.append(hash((history[-1] if history else 0, fingerprint(item))))


def fingerprint(value: Any, depth: int = 0) -> int:
    """Hash of JSON-like content; strings cache theirs, so a long history costs little each time."""
    kind = type(value)
    if kind in (str, int, float, bool, type(None)):
        return hash(value)
    if depth > 8:
        return 0
    if kind in (list, tuple):
        return hash(tuple(fingerprint(one, depth + 1) for one in value))
    if kind is dict:
        return hash(tuple((hash(key), fingerprint(one, depth + 1)) for key, one in value.items()))
    return hash(kind)

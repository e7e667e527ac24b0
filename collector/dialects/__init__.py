"""Span vocabularies: one file each, one line in `DIALECTS`.

The first that recognises a span reads it: a vocabulary that uses the GenAI names in its own way stands
before GenAI. Which one recognises a span depends only on its attributes, see `readers`.

Other distributions bring more by entry points in the group `pdoctor.dialects`, each a `Dialect`:

    [project.entry-points."pdoctor.dialects"]
    acme = "acme_spans:ACME"

They are loaded when the first span is read, in the process that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from collector import plugins
from collector.dialects import (
    genai,
    langfuse,
    langsmith,
    logfire,
    mcp,
    mlflow,
    openinference,
    openllmetry,
    vercel,
)
from collector.dialects.names import OPERATION_NAME, SCOPE_NAME
from collector.dialects.reading import (
    Dialect,
    Message,
    Request,
    SeenAgent,
    SeenCall,
    SeenModel,
    first_attribute,
    json_value,
    loaded,
    plain_call,
    requests_and_answers,
)
from collector.model import Span

DIALECTS: tuple[Dialect, ...] = (
    openllmetry.DIALECT,
    langsmith.DIALECT,
    openinference.DIALECT,
    mlflow.DIALECT,
    langfuse.DIALECT,
    vercel.DIALECT,
    logfire.DIALECT,
    mcp.DIALECT,
    genai.DIALECT,
)

GENAI: Mapping[str, tuple[Dialect, ...]] = {
    "execute_tool": (genai.CALLS,),
    "chat": (genai.MODELS,),
    "generate_content": (genai.MODELS,),
    "text_completion": (genai.MODELS,),
}
"""What spans of these operations can be; others are asked everything."""
ANY_GENAI = (genai.DIALECT,)

__all__ = [
    "DIALECTS", "Dialect", "Message", "Request", "SeenAgent", "SeenCall", "SeenModel", "Span",
    "every_dialect", "json_value", "plain_call", "readers", "requests_and_answers",
]  # fmt: skip


@cache
def every_dialect() -> tuple[Dialect, ...]:
    """Ours, after those of other distributions: who installs one wants its reading."""
    outside = plugins.load("dialect", Dialect, (dialect.name for dialect in DIALECTS))
    return (*map(_careful, outside), *DIALECTS) if outside else DIALECTS


def _careful(dialect: Dialect) -> Dialect:
    """A dialect whose readers pass over the spans that they fail on."""
    kinds = {"call": SeenCall, "agent": SeenAgent, "model": SeenModel}
    return Dialect(
        dialect.name,
        **{what: partial(_seen, dialect.name, getattr(dialect, what), kind) for what, kind in kinds.items()},
    )


def _seen(dialect: str, read: Callable[[Span], Any], kind: type, span: Span) -> Any:
    seen = plugins.tried("dialect", dialect, read, span)
    if seen is None:
        return None
    if isinstance(seen, kind):
        if plugins.tried("dialect", dialect, _is_sound, seen):
            return seen
        plugins.tell_once(
            "dialect", dialect, f"gives a {kind.__name__} with values of other types than it says"
        )
        return None
    plugins.tell_once("dialect", dialect, f"gives a {type(seen).__name__} (expected a {kind.__name__})")
    return None


def _is_sound(seen: Any) -> bool:
    """Whether what rebuilding a run relies on has the type that it says: else the whole run would be lost."""
    if isinstance(seen, SeenCall):
        call = seen.call
        times = [edge for instant in (call.start, call.end) if instant is not None for edge in instant]
        texts, numbers = (call.id, call.error, seen.layer), (seen.number, *times)
        if not isinstance(call.tool, str):
            return False
    else:
        given = getattr(seen, "given", None) or ()
        texts = (seen.query, seen.model, seen.session, *(seen.tools or ()), getattr(seen, "said", None))
        numbers = (getattr(seen, "announced_calls", None),)
        if not all(isinstance(said, Message) and isinstance(said.text, str) for said in given):
            return False
    return (
        isinstance(seen.span, Span)
        and all(text is None or isinstance(text, str) for text in texts)
        and all(number is None or isinstance(number, int) for number in numbers)
    )


def readers(span: Span) -> tuple[Dialect, ...]:
    """The dialects to try for a span.

    Who writes the GenAI operation first writes nothing else: true of every recorded GenAI instrumentation
    but LangSmith; and our own tracer writes nothing else. Most spans are told apart by that, without
    looking at their other attributes. Dialects of other distributions are asked about every span but our
    own tracer's.
    """
    key, operation = first_attribute(span)
    if key != OPERATION_NAME:
        operation = loaded(span).get(OPERATION_NAME) if span.scope == SCOPE_NAME else None
    if not isinstance(operation, str) or span.scope == langsmith.SCOPE:
        return every_dialect()
    if span.scope != SCOPE_NAME and (every := every_dialect()) is not DIALECTS:
        return every
    return GENAI.get(operation, ANY_GENAI)

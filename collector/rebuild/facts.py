"""What a run's own span says beside all vocabularies: fields of the run's record, for policies.

Our own tracer has them in one attribute; elsewhere each attribute that no vocabulary means is one.
`customer.tier` is `tier` of the field `customer`, as policies name it; text that is a JSON list or object
counts as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from collector.dialects import SeenAgent
from collector.dialects.names import RUN_FACTS
from collector.dialects.reading import json_value, loaded
from collector.model import Span
from synth.observed import FIELDS_LOST, MAX_DEPTH, deeper_than, ends_early, has_marks, is_left_out

MOST = 200
"""Attributes of one run that become fields."""
LONGEST = 65_536
"""Code points of a text, and of all texts of a run."""
OF_VOCABULARIES = frozenset((
    "agent", "ai", "all_messages_events", "aws", "code", "crewai", "db", "embedding", "enduser",
    "error", "exception", "final_result", "gcp", "gen_ai", "graph", "host", "http", "input", "langfuse",
    "langsmith", "llm", "logfire", "messaging", "metadata", "mlflow", "model_request_parameters", "net",
    "network", "openinference", "operation", "otel", "output", "pdoctor", "peer", "process",
    "pydantic_ai", "resource", "retrieval", "rpc", "server", "service", "session", "tag", "telemetry",
    "thread", "tool", "traceloop", "url", "user",
))  # fmt: skip
"""First parts of names that OpenTelemetry and the dialects have meanings of their own for."""
OF_RECORDS = frozenset((
    "agent", "calls", "case_id", "clocks_differ_ms", "environment", "fields_lost", "id", "iterations",
    "labels", "messages", "model", "problems", "query", "run_id", "service", "session", "source", "status",
    "tools", "trouble", "unseen", "versions", "wall_seconds",
))  # fmt: skip
"""Fields of a run record that say something else."""


def facts_of(spans: Iterable[Span], agents: Iterable[SeenAgent]) -> dict[str, Any]:
    """The fields that the spans of a run's own tell: of the outermost agent first, then of roots.

    `fields_lost` is one of them where there may have been others: in a span that has not come or lost
    attributes, in a value that was cut, or beyond what one run may have.
    """
    outermost = [seen.span for seen in agents][:1]
    own = [*outermost, *(span for span in spans if span.parent_id is None and span not in outermost)]
    found: dict[str, Any] = {}
    told = [json_value(loaded(span).get(RUN_FACTS)) for span in own]
    lost = not own or any(span.dropped for span in own) or any(map(_is_cut_off, told))
    left, room = MOST, LONGEST
    for name, said in (pair for span, facts in zip(own, told, strict=True) for pair in _said(facts, span)):
        path = name.split(".")
        if path[0] in OF_RECORDS or said is None:
            continue
        size = len(name) + (len(said) if isinstance(said, str) else len(repr(said)))
        value = _value(said) if left and size <= room else None
        if value is None or deeper_than(value, MAX_DEPTH - 1 - len(path)):
            lost = True
        elif _put(found, path, value):
            left, room = left - 1, room - size
    return {**found, FIELDS_LOST: True} if lost else found


def _is_cut_off(told: Any) -> bool:
    """Is not all here of what our own tracer was told, or did it have to keep that to itself?"""
    return told is not None and not isinstance(told, Mapping)


def _said(told: Any, span: Span) -> Iterator[tuple[str, Any]]:
    """What our own tracer was told, then what may be meant for policies."""
    if isinstance(told, Mapping):
        yield from told.items()
    for name, value in loaded(span).items():
        first = name.partition(".")[0]
        if first.isidentifier() and first not in OF_VOCABULARIES:
            yield name, value


def _value(said: Any) -> Any:
    """None where not all of it came."""
    value = json_value(said) if isinstance(said, str) and said.lstrip()[:1] in ("{", "[") else said
    cut = has_marks(value) or is_left_out(value) or (isinstance(value, str) and ends_early(value))
    return None if cut or isinstance(value, bytes) else value


def _put(fields: dict[str, Any], path: list[str], value: Any) -> bool:
    """Put a value in its place; False where something is there already, or in the way."""
    for part in path[:-1]:
        inner = fields.setdefault(part, {})
        if not isinstance(inner, dict):
            return False
        fields = inner
    if path[-1] in fields:
        return False
    fields[path[-1]] = dict(value) if isinstance(value, Mapping) else value
    return True

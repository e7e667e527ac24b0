"""The run of a record that somebody handed in: its span has the whole record, and nothing is rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collector.dialects.reading import loaded
from collector.model import RECORD_SCOPE, RUN_RECORD, Rebuilt, Run, Span, ToolCall
from synth.errors import BadInput
from synth.observed import SESSION_FIELDS, Unseen, parse_json, run_from_json

PERSON_FIELDS = ("user_id", "user")
"""Fields of a record that say whom the run was for."""


def told_apart(spans: Sequence[Span]) -> tuple[Sequence[Span], Sequence[Span]]:
    """Spans that have records, and all others: where there are any, they are the better evidence."""
    records = [span for span in spans if span.scope == RECORD_SCOPE]
    return records, spans if not records else [span for span in spans if span.scope != RECORD_SCOPE]


def recorded(run_id: str, span: Span) -> Rebuilt:
    """The run that a record tells of, with the id that it has here."""
    run = _run(run_id, span)
    session = next((said for name in SESSION_FIELDS if isinstance(said := run.extra.get(name), str)), None)
    service = run.extra.get("service")
    return Rebuilt(
        run=run,
        span_ids=(span.span_id,) * len(run.calls),
        has_root=True,
        is_topped=False,
        expected_calls=len(run.calls),
        arrived_calls=len(run.calls),
        tail=None,
        started_ns=span.start_ns,
        ended_ns=span.end_ns if any(map(_is_timed, run.calls)) else None,
        spans=1,
        is_agent=True,
        service=service if isinstance(service, str) else None,
        session=session,
        person=next((said for name in PERSON_FIELDS if isinstance(said := run.extra.get(name), str)), None),
        whole_talk=True,
        is_record=True,
        error_kinds={i: "error" for i, call in enumerate(run.calls) if call.error is not None},
    )


def _is_timed(call: ToolCall) -> bool:
    return call.start is not None and call.start[0] > 0


def _run(run_id: str, span: Span) -> Run:
    text = loaded(span).get(RUN_RECORD)
    try:
        run = run_from_json(parse_json(text if isinstance(text, str) else ""))
    except BadInput as flaw:
        said = f"the run record cannot be read: {flaw}"
        return Run(run_id, (), problems=(said,), unseen=(Unseen(said),))
    if run.id == run_id:
        return run
    return replace(run, id=run_id, extra={"recorded_as": run.id, **run.extra})

"""What other products export, as the spans that it tells of: one file each, one line in `FORMS`.

A form reads rows, whatever the file has them in: a JSON list, JSON lines, one object with a list in it, the
columns of a data frame, or Parquet. Rows become spans in a vocabulary that a dialect reads, so that a run
which was exported is rebuilt as if its spans had been sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import IO

from collector.model import Run
from collector.otlp.exports import agents_sdk, langfuse, langsmith, phoenix
from collector.otlp.exports.rows import Refused, first_row, rows_in
from collector.otlp.exports.told import Form, ToldSpan, once_each, request_of
from collector.otlp.files import runs_from_otlp
from synth.errors import BadInput

__all__ = ["FORMS", "Form", "Refused", "ToldSpan", "form_of", "requests_in_export", "runs_from_export"]

FORMS: tuple[Form, ...] = (agents_sdk.FORM, phoenix.FORM, langsmith.FORM, langfuse.FORM)
SPANS_AT_ONCE = 2000
"""Of one request."""


def form_of(stream: IO[bytes]) -> Form | None:
    """Which product's export a seekable stream holds, by its first row; None = none of these."""
    row = first_row(stream)
    return None if row is None else next((form for form in FORMS if form.knows(row)), None)


def spans_in(stream: IO[bytes], form: Form, *, file: str, refused: Refused) -> list[ToldSpan]:
    """The spans that the rows tell of, once each; what cannot be read is told to `refused`.

    BadInput where the file as a whole cannot be read, or nothing in it can.
    """
    reasons: list[str] = []

    def refuse(place: str, why: str) -> None:
        if not reasons:
            reasons.append(f": {place}: {why}")
        refused(place, why)

    spans = list(once_each(form.read(rows_in(stream, file, refuse), refuse), refuse))
    if not spans:
        raise BadInput(f"no row of it could be read as {form.name}{''.join(reasons)}", file=file)
    return spans


def requests_in_export(
    stream: IO[bytes], form: Form, *, file: str, refused: Refused
) -> Iterator[tuple[bytes, Sequence[ToldSpan]]]:
    """Export requests in protobuf, and the spans that are in each; errors as `spans_in`."""
    spans = spans_in(stream, form, file=file, refused=refused)
    for first in range(0, len(spans), SPANS_AT_ONCE):
        part = spans[first : first + SPANS_AT_ONCE]
        yield request_of(part), part


def runs_from_export(stream: IO[bytes], form: Form, *, file: str, refused: Refused) -> Iterator[Run]:
    """The runs of an export, as they would be rebuilt from its spans."""
    spans = spans_in(stream, form, file=file, refused=refused)
    yield from runs_from_otlp(BytesIO(request_of(spans)), file=file)

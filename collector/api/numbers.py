"""The metrics of many runs: their spans are read together, and what they say is kept while it is true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from collector.api.access import Access
from collector.judging.policies import as_concluded
from collector.memory import bounded
from collector.metrics import measured, observed
from collector.otlp.spans import spans_of
from collector.rebuild import inside, rebuild
from collector.store import catalog, reads
from synth.cases import case_from_json

MOST_SPANS = 2_000
"""A run with more is not read for its metrics."""
TOGETHER = 4_000
"""Spans of the runs that are read at once."""
IN_ROWS = ("calls", "duration_ms")
"""Metrics that are left to the row of a run."""


def numbers_of(access: Access, rows: Iterable[Any]) -> dict[int, Mapping[str, float]]:
    """Row id -> the metrics of a run that are numbers; `rows` as `populations` reads them.

    They follow from the run's spans, its newest verdict and its case: as long as these are what they were,
    nothing is read again. Runs of more than `MOST_SPANS` are left out.
    """
    wanted = [row for row in rows if (row.spans or 0) <= MOST_SPANS]
    with access.service.store.read() as connection:
        named = {row.case_id for row in wanted if row.case_id}
        cases = catalog.cases(connection, access.project, named)
    found: dict[int, Mapping[str, float]] = {}
    anew = []
    for row in wanted:
        known = access.service.measured.get(_state(row, cases))
        if known is None:
            anew.append(row)
        else:
            found[row.id] = known
    for some in _parts(anew):
        for row, numbers in zip(some, _measured(access, some, cases), strict=True):
            found[row.id] = numbers
            access.service.measured.put(_state(row, cases), numbers)
    return found


def _state(row: Any, cases: Mapping[str, str]) -> tuple[Any, ...]:
    """All that the numbers of a run depend on."""
    return row.id, row.key, row.version, row.checked, row.digest, cases.get(row.case_id)


def _parts(rows: Sequence[Any]) -> Iterator[list[Any]]:
    part: list[Any] = []
    spans = 0
    for row in rows:
        if part and spans + (row.spans or 0) > TOGETHER:
            yield part
            part, spans = [], 0
        part.append(row)
        spans += row.spans or 0
    if part:
        yield part


def _measured(access: Access, rows: Sequence[Any], cases: Mapping[str, str]) -> Iterator[dict[str, float]]:
    with access.service.store.read() as connection:
        stored = reads.spans_of_several(connection, access.project, rows)
        bodies = reads.newest_bodies(connection, [row.id for row in rows])
    for row in rows:
        own, guests = stored[row.id]
        spans = list(bounded(spans_of(own.payloads, own.shared)))
        spans += inside(spans, list(bounded(spans_of(guests.payloads, guests.shared))))
        text, body = cases.get(row.case_id), bodies.get(row.id)
        case = None if text is None else case_from_json(orjson.loads(text))
        problems = () if body is None else as_concluded(body).get("problems", ())
        said = measured(observed(rebuild(row.key, spans), case, problems))
        yield {
            name: float(value)
            for name, value in said.items()
            if isinstance(value, int | float) and name not in IN_ROWS
        }

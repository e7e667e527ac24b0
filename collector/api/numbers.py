"""The metrics of many runs: their spans are read together, and what they say is kept while it is true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import orjson

from collector.api.access import Access
from collector.judging.policies import as_concluded
from collector.memory import bounded
from collector.metrics import measured, observed
from collector.otlp.spans import spans_of
from collector.rebuild import inside, rebuild
from collector.room import soon
from collector.settings import MIB
from collector.store import catalog, reads
from collector.store.stored import weights
from synth.cases import case_from_json

MOST_SPANS = 2_000
"""A run with more is not read for its metrics."""
TOGETHER, TOGETHER_BYTES = 4_000, 4 * MIB
"""Spans of the runs that are read at once, and stored bytes; one alone may have more."""
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
    with access.service.store.read() as connection:
        stored = weights(connection, [row.id for row in anew])
    until = soon()
    for some in _parts(anew, stored):
        big = sum(stored[row.id][1] for row in some) > TOGETHER_BYTES
        with access.service.crew.room.reading(until) if big else nullcontext():
            for row, numbers in zip(some, _measured(access, some, cases), strict=True):
                found[row.id] = numbers
                access.service.measured.put(_state(row, cases), numbers)
    return found


def _state(row: Any, cases: Mapping[str, str]) -> tuple[Any, ...]:
    """All that the numbers of a run depend on."""
    return row.id, row.key, row.version, row.checked, row.digest, cases.get(row.case_id)


def _parts(rows: Sequence[Any], stored: Mapping[int, tuple[int, int]]) -> Iterator[list[Any]]:
    """`stored`: of each row (spans, bytes)."""
    part: list[Any] = []
    spans = size = 0
    for row in rows:
        count, length = stored[row.id]
        if part and (spans + count > TOGETHER or size + length > TOGETHER_BYTES):
            yield part
            part, spans, size = [], 0, 0
        part.append(row)
        spans, size = spans + count, size + length
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

"""What is stored of runs, read within bounds: packed, a run of gigabytes looks like one of kilobytes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import LargeBinary, func, select
from sqlalchemy.engine import Connection

from collector.store import schema, shared
from collector.store.packing import HEADER_BYTES, size_of, unpack
from collector.store.prepared import Prepared, among, several

RUN_BYTES = 64 * 1024 * 1024
"""Of one run are read at most: spans cost several times their bytes in memory."""
HEAD_BYTES = RUN_BYTES // 2
"""Of the resources and scopes among them."""


@dataclass(slots=True)
class Stored:
    """What is stored of one run."""

    payloads: list[bytes] = field(default_factory=list)
    """In order of arrival."""
    shared: Mapping[bytes, bytes] = field(default_factory=dict)
    """Digest -> a resource or scope that payloads only name; other runs' may be among them."""
    damaged: int = 0
    """Segments, resources and scopes that cannot be read any more."""
    left_out: int = 0
    """Those that are not read because there are too many."""
    size: int = 0
    """Bytes of what is read."""

    @property
    def problems(self) -> list[str]:
        """Why this is not all of the run."""
        said = []
        if self.damaged:
            said.append(f"{self.damaged} stored segments are damaged and were left out")
        if self.left_out:
            said.append(
                f"the run is too big: {self.left_out} stored segments beyond {RUN_BYTES // 2**20} MiB "
                "were left out"
            )
        return said


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is stored of some runs."""

    segments: Sequence[tuple[int, int, int, int]]
    """(segment, run, spans, bytes) each, in order of arrival."""
    heads: Sequence[tuple[int, bytes, int]]
    """(run, digest, bytes) of each resource or scope that segments only name."""

    @classmethod
    def of(cls, connection: Connection, runs: Sequence[int]) -> Sizes:
        rows = SIZES.ask(connection, runs=several(connection, runs))
        segments = [(segment, run, spans, size_of(start)) for segment, run, spans, start in rows]
        return cls(segments, shared.sizes(connection, runs))

    def within(self, runs: Collection[int]) -> Sizes:
        """The same of some of the runs."""
        own = frozenset(runs)
        return Sizes(
            [segment for segment in self.segments if segment[1] in own],
            [head for head in self.heads if head[0] in own],
        )

    def weights(self, runs: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Run -> (stored spans, bytes of them)."""
        found = dict.fromkeys(runs, (0, 0))
        for _, run, spans, size in self.segments:
            count, before = found[run]
            found[run] = count + spans, before + size
        for run, _, size in self.heads:
            count, before = found[run]
            found[run] = count, before + size
        return found


def payloads(
    connection: Connection, runs: Sequence[int], *, in_all: int | None = None, sizes: Sizes | None = None
) -> dict[int, Stored]:
    """The first `RUN_BYTES` of each run, and `in_all` bytes of all of them together.

    A damaged segment is counted: the others still tell something. Where `sizes` are known already, what
    came since is left to the next look at the run.
    """
    found = {run: Stored() for run in runs}
    if not found:
        return found
    if sizes is None:
        sizes = Sizes.of(connection, runs)
    _read_heads(connection, found, sizes)
    wanted = []
    left = math.inf if in_all is None else in_all
    for segment, run, _, size in sizes.segments:
        stored = found[run]
        if stored.size + size > RUN_BYTES or size > left:
            stored.left_out += 1
        else:
            stored.size += size
            left -= size
            wanted.append(segment)
    for run, payload in PAYLOADS.ask(connection, segments=several(connection, wanted)):
        try:
            found[run].payloads.append(unpack(payload))
        except ValueError:
            found[run].damaged += 1
    return found


def _read_heads(connection: Connection, found: Mapping[int, Stored], sizes: Sizes) -> None:
    names: dict[bytes, list[Stored]] = {}
    for run, digest, size in sizes.heads:
        stored = found[run]
        if stored.size + size > HEAD_BYTES:
            stored.left_out += 1
        else:
            stored.size += size
            names.setdefault(digest, []).append(stored)
    contents = shared.contents(connection, [*found], names) if names else {}
    for digest, named_by in names.items():
        for stored in named_by:
            stored.shared = contents
            stored.damaged += digest not in contents


def weights(connection: Connection, runs: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Run -> (stored spans, bytes of them)."""
    return Sizes.of(connection, runs).weights(runs)


def together(found: Mapping[int, Stored], runs: Collection[int]) -> Stored:
    """What is stored of several rows as if it were one's."""
    parts = [found[run] for run in runs]
    return Stored(
        [payload for part in parts for payload in part.payloads],
        {digest: content for part in parts for digest, content in part.shared.items()},
        damaged=sum(part.damaged for part in parts),
        left_out=sum(part.left_out for part in parts),
        size=sum(part.size for part in parts),
    )


def _sizes(on_sqlite: bool) -> Any:
    segments = schema.segments
    start = func.substr(segments.c.payload, 1, HEADER_BYTES, type_=LargeBinary)
    query = select(segments.c.id, segments.c.run, segments.c.spans, start)
    return query.where(among(on_sqlite, segments.c.run, "runs")).order_by(segments.c.id)


SIZES = Prepared(_sizes)
PAYLOADS = Prepared(
    lambda on_sqlite: (
        select(schema.segments.c.run, schema.segments.c.payload)
        .where(among(on_sqlite, schema.segments.c.id, "segments"))
        .order_by(schema.segments.c.id)
    )
)

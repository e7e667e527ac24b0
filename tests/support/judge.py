"""A store and one checker in the test's own process, by a clock that the test moves on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import select

from collector.otlp.segments import from_protobuf, without
from collector.pipeline.board import Board
from collector.pipeline.checker import Checker
from collector.settings import Limits
from collector.store import open_store, schema
from collector.store.ingest import KnownKeys, put
from tests.support.traces import request, settings

NOW = 1_790_000_000.0
GRACE = 2.0


class Judge:
    """A store with one checker in this process."""

    def __init__(self, url: str, folder: Path, **options: Any) -> None:
        self.store, self.board, self.now = open_store(url), Board(), NOW
        known = {"z3_check": "off", "z3_check_policies": "off", "grace_seconds": GRACE, **options}
        made = settings(folder, store_url=url, **known)
        self.checker = Checker(self.store, made, "w", self.board, clock=lambda: self.now)  # type: ignore[arg-type]

    def send(self, *spans: dict[str, Any], scope: str = "vendor") -> None:
        self.send_body(request(*spans, scope=scope).SerializeToString())

    def send_body(self, body: bytes) -> None:
        """An export request."""
        batch = from_protobuf(body, Limits())
        arrivals = [(1, segment) for segment in batch.segments]
        with self.store.write() as connection:
            put(connection, arrivals, KnownKeys(), without, now=self.now, open_check=1.0)

    def at(self, seconds: float) -> None:
        """So long after the beginning, with all judged that is due then."""
        self.now = NOW + seconds
        for _ in range(3):  # a name of a tool that was seen for the first time has runs looked at again
            while self.checker.round(self.now):
                pass

    @property
    def judged(self) -> int:
        return self.board.read().begun

    def rows(self, table: Any, *columns: str, **where: Any) -> list[tuple[Any, ...]]:
        query = select(*(table.c[name] for name in columns)) if columns else select(table)
        with self.store.read() as connection:
            return [tuple(row) for row in connection.execute(query.filter_by(**where))]

    def history(self, key: str) -> list[str | None]:
        """The outcomes of a run, in turn."""
        (row,) = self.rows(schema.runs, "id", key=key)
        return [outcome for (outcome,) in self.rows(schema.verdicts, "outcome", run=row[0])]

    def close(self) -> None:
        self.store.close()
        self.board.close()

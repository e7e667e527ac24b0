"""Campaigns: many trials, within a budget, one JSON record a trial, resumable after a crash.

The file's first line says what campaign it is; each further line is one record (a `Result`, or a
`Dissection`), written and synced before it counts as done. Resuming reads the file, drops a half-written
last line, and runs what is missing: nothing is lost and nothing is repeated.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Generic, Protocol, Self, TypeVar

from synth.errors import BadInput
from synth.harness import Result, Trial, result_from_json

KIND = "pdoctor campaign"


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop early; None = no limit. Trials under way are still finished."""

    cases: int | None = None
    """Results, those of an earlier part of the campaign included."""
    seconds: float | None = None
    """Wall time of this part."""
    tokens: int | None = None
    """As reported by the provider, earlier parts included."""
    cost: float | None = None
    """In the currency of `price`, earlier parts included."""
    price: float = 0.0
    """Per million tokens."""


class Record(Protocol):
    """What a journal keeps."""

    @property
    def key(self) -> str: ...
    def to_json(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=Record)


class Journal(Generic[R]):
    """The file of a campaign; use with `with`. Without a path it only remembers."""

    def __init__(
        self, path: Path | None, campaign: Mapping[str, Any], from_json: Callable[[Mapping[str, Any]], R]
    ) -> None:
        """`campaign` describes it; raises BadInput when the file belongs to another one."""
        self.records: list[R] = []
        self._from_json = from_json
        self._file = None if path is None else self._opened(path, {"kind": KIND, **campaign})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def done(self) -> frozenset[str]:
        """Keys of what has a record."""
        return frozenset(record.key for record in self.records)

    def add(self, record: R) -> None:
        self.records.append(record)
        if self._file is not None:
            _write(self._file, record.to_json())

    def _opened(self, path: Path, head: Mapping[str, Any]) -> IO[str]:
        if not path.exists() or path.stat().st_size == 0:
            file = path.open("w", encoding="utf-8")
            _write(file, head)
            return file
        found, self.records, whole = read_journal(path, self._from_json)
        if found != json.loads(json.dumps(head)):
            differing = sorted(name for name in {*found, *head} if found.get(name) != head.get(name))
            advice = "use another file, or the options it was started with"
            raise BadInput(
                f"this is another campaign ({', '.join(differing)} differ); {advice}", file=str(path)
            )
        os.truncate(path, whole)
        return path.open("a", encoding="utf-8")


def _write(file: IO[str], record: Mapping[str, Any]) -> None:
    file.write(json.dumps(record) + "\n")
    file.flush()
    os.fsync(file.fileno())


def read_journal(
    path: Path, from_json: Callable[[Mapping[str, Any]], R]
) -> tuple[dict[str, Any], list[R], int]:
    """(description, records, bytes of whole lines); a last line without its end is left out."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    lines = [_record(path, number, line) for number, line in enumerate(whole.splitlines(), 1)]
    if not lines or lines[0].get("kind") != KIND:
        raise BadInput("this is not the file of a campaign", file=str(path), line=1)
    return lines[0], [from_json(line) for line in lines[1:]], len(whole)


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError) as error:
        raise BadInput(f"not a JSON object: {error}", file=str(path), line=number) from error


def results_journal(path: Path | None, campaign: Mapping[str, Any]) -> Journal[Result]:
    """A journal of results."""
    return Journal(path, campaign, result_from_json)


RunTrials = Callable[[Iterable[Trial]], Iterator[Result]]
"""`Harness.run`, or something like it."""


def run_campaign(
    run: RunTrials,
    trials: Iterable[Trial],
    journal: Journal[Result],
    budget: Budget | None = None,
    on_result: Callable[[Result], None] = lambda result: None,
) -> str | None:
    """Run what the journal does not have yet; returns the budget limit that left trials undone, or None."""
    meter = _Meter(budget or Budget(), journal)
    done = journal.done
    for result in run(meter.pass_on(trial for trial in trials if trial.key not in done)):
        journal.add(result)
        on_result(result)
    return meter.reached


class _Meter:
    """Hands trials on until a limit is reached."""

    def __init__(self, budget: Budget, journal: Journal[Result]) -> None:
        self._budget, self._journal = budget, journal
        self._began = time.monotonic()
        self._handed_on = len(journal.records)
        self.reached: str | None = None
        """The limit that was reached while there was a trial left."""

    def pass_on(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        for trial in trials:
            self.reached = self._spent()
            if self.reached is not None:
                return
            self._handed_on += 1
            yield trial

    def _spent(self) -> str | None:
        budget = self._budget
        tokens = sum(result.tokens for result in list(self._journal.records))
        limits = (
            (budget.cases, self._handed_on, "cases"),
            (budget.seconds, time.monotonic() - self._began, "seconds"),
            (budget.tokens, tokens, "tokens"),
            (budget.cost, tokens * budget.price / 1e6, "cost"),
        )
        return next((name for limit, used, name in limits if limit is not None and used >= limit), None)

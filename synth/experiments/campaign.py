"""Campaigns: many trials, within a budget, one JSON record a trial, resumable after a crash.

The file's first line says what campaign it is; each further line is one record (a `Result`, or a
`Dissection`), written and synced before it counts as done. Resuming reads the file, drops a half-written
last line, and runs what is missing: nothing is lost and nothing is repeated.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, Generic, NamedTuple, Protocol, Self, TypeVar

from synth.errors import BadInput
from synth.experiments.trial import Result, Trial, result_from_json

KIND = "pdoctor campaign"
DONE = "done"
"""Kind of the line that ends a campaign for good."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop early; None = no limit. What is under way, at most two trials a worker, is finished."""

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
        self,
        path: Path | None,
        campaign: Mapping[str, Any],
        from_json: Callable[[Mapping[str, Any]], R],
        remembered: Callable[[R], R] = lambda record: record,
    ) -> None:
        """`campaign` describes it; raises BadInput when the file belongs to another one. `remembered` is the
        part of a record that is kept in memory, where whole ones would fill it."""
        self.records: list[R] = []
        self.finished = False
        """Whether the campaign was said to be over."""
        self._from_json, self._remembered = from_json, remembered
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
        if self._file is not None:
            _write(self._file, record.to_json())
        self.records.append(self._remembered(record))

    def finish(self) -> None:
        """Say that the campaign is over, where only a clock could tell and another start would go on."""
        if self._file is not None and not self.finished:
            _write(self._file, {"kind": DONE})
        self.finished = True

    def _opened(self, path: Path, head: Mapping[str, Any]) -> IO[str]:
        if not path.exists() or path.stat().st_size == 0:
            file = path.open("w", encoding="utf-8")
            _write(file, head)
            return file
        found, self.records, whole, self.finished = read_journal(path, self._from_json, self._remembered)
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


class Contents(NamedTuple, Generic[R]):
    """What the file of a campaign holds."""

    head: dict[str, Any]
    """What campaign it is."""
    records: list[R]
    size: int
    """Bytes of whole lines."""
    finished: bool


def read_journal(
    path: Path,
    from_json: Callable[[Mapping[str, Any]], R],
    remembered: Callable[[R], R] = lambda record: record,
) -> Contents[R]:
    """The file's contents; a last line without its end is left out."""
    head: dict[str, Any] = {}
    records: list[R] = []
    whole, finished = 0, False
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                break
            body = _record(path, number, line)
            if number == 1:
                head = body
            elif body.get("kind") == DONE:
                finished = True
            else:
                records.append(remembered(_made(path, number, from_json, body)))
            whole += len(line)
    if head.get("kind") != KIND:
        raise BadInput("this is not the file of a campaign", file=str(path), line=1)
    return Contents(head, records, whole, finished)


def _made(path: Path, number: int, from_json: Callable[[Mapping[str, Any]], R], body: dict[str, Any]) -> R:
    try:
        return from_json(body)
    except (KeyError, TypeError) as error:
        raise BadInput(
            f"not a record of this kind of campaign ({error})", file=str(path), line=number
        ) from error


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError) as error:
        raise BadInput(f"not a JSON object: {error}", file=str(path), line=number) from error


def results_journal(
    path: Path | None,
    campaign: Mapping[str, Any],
    remembered: Callable[[Result], Result] = lambda result: result,
) -> Journal[Result]:
    """A journal of results."""
    return Journal(path, campaign, result_from_json, remembered)


def in_short(result: Result) -> Result:
    """What tables say about a result: without its calls and logs, and without the text of its case."""
    case, run = result.case, result.run
    short_case = None if case is None else {name: case[name] for name in SHORT_CASE if name in case}
    short_run = None if run is None else {**run, "calls": [], "policies": []}
    return replace(result, case=short_case, run=short_run, tool_log=(), answer="")


SHORT_CASE = ("id", "topic", "mode", "actions", "statistics")


RunTrials = Callable[[Iterable[Trial]], Iterator[Result]]
"""`Harness.run`, or something like it."""


class Meter:
    """What has been used of a budget; one meter may serve several campaigns, one after the other."""

    def __init__(self, budget: Budget | None = None, earlier: Iterable[Result] = ()) -> None:
        """`earlier` are the results of an earlier part."""
        self._budget = budget or Budget()
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._cases = self._tokens = 0
        self.reached: str | None = None
        """The limit that was reached while something was left to do."""
        for result in earlier:
            self._cases += 1
            self._tokens += result.tokens

    def count(self, result: Result) -> None:
        """A run was made."""
        with self._lock:
            self._tokens += result.tokens

    def allows_one_more(self) -> bool:
        """Whether one more case may begin, which then counts."""
        with self._lock:
            self.reached = self._spent()
            self._cases += self.reached is None
            return self.reached is None

    def _spent(self) -> str | None:
        budget = self._budget
        limits = (
            (budget.cases, self._cases, "cases"),
            (budget.seconds, time.monotonic() - self._began, "seconds"),
            (budget.tokens, self._tokens, "tokens"),
            (budget.cost, self._tokens * budget.price / 1e6, "cost"),
        )
        return next((name for limit, used, name in limits if limit is not None and used >= limit), None)


def run_campaign(
    run: RunTrials,
    trials: Iterable[Trial],
    journal: Journal[Result],
    budget: Budget | Meter | None = None,
    on_result: Callable[[Result], None] = lambda result: None,
) -> str | None:
    """Run what the journal does not have yet; returns the budget limit that left trials undone, or None."""
    meter = budget if isinstance(budget, Meter) else Meter(budget, journal.records)
    done = journal.done
    left = (trial for trial in trials if trial.key not in done)
    for result in run(takewhile(lambda _: meter.allows_one_more(), left)):
        meter.count(result)
        journal.add(result)
        on_result(result)
    return meter.reached

"""Campaigns: many trials, within a budget, one JSON record a trial, resumable after a crash.

The file's first line says what campaign it is; each further line is one `Result`, written and synced
before the next trial counts as done. Resuming reads the file, drops a half-written last line, and runs
what is missing: nothing is lost and nothing is repeated.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

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


class Journal:
    """The file of a campaign; use with `with`. Without a path it only remembers."""

    def __init__(self, path: Path | None, campaign: Mapping[str, Any]) -> None:
        """`campaign` describes it; raises BadInput when the file belongs to another one."""
        self.results: list[Result] = []
        self._file: IO[str] | None = None
        if path is not None:
            self._file = self._opened(path, campaign)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def done(self) -> frozenset[str]:
        """Keys of the trials that have a result."""
        return frozenset(result.trial for result in self.results)

    def add(self, result: Result) -> None:
        self.results.append(result)
        self._write(result.to_json())

    def _opened(self, path: Path, campaign: Mapping[str, Any]) -> IO[str]:
        head = {"kind": KIND, **campaign}
        if not path.exists() or path.stat().st_size == 0:
            self._file = path.open("w", encoding="utf-8")
            self._write(head)
            return self._file
        found, self.results, good_bytes = read_journal(path)
        if found != json.loads(json.dumps(head)):
            differing = sorted(k for k in {*found, *head} if found.get(k) != head.get(k))
            advice = "use another file, or the options it was started with"
            raise BadInput(
                f"this is another campaign ({', '.join(differing)} differ); {advice}", file=str(path)
            )
        os.truncate(path, good_bytes)
        return path.open("a", encoding="utf-8")

    def _write(self, record: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def read_journal(path: Path) -> tuple[dict[str, Any], list[Result], int]:
    """(description, results, bytes of whole lines); a last line without its end is left out."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    records = [_record(path, number, line) for number, line in enumerate(whole.splitlines(), 1)]
    if not records or records[0].get("kind") != KIND:
        raise BadInput("this is not the file of a campaign", file=str(path), line=1)
    return records[0], [result_from_json(record) for record in records[1:]], len(whole)


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError) as error:
        raise BadInput(f"not a JSON object: {error}", file=str(path), line=number) from error


RunTrials = Callable[[Iterable[Trial]], Iterator[Result]]
"""`Harness.run`, or something like it."""


def run_campaign(
    run: RunTrials,
    trials: Iterable[Trial],
    journal: Journal,
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

    def __init__(self, budget: Budget, journal: Journal) -> None:
        self._budget, self._journal = budget, journal
        self._began = time.monotonic()
        self._handed_on = len(journal.results)
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
        tokens = sum(result.tokens for result in list(self._journal.results))
        limits = (
            (budget.cases, self._handed_on, "cases"),
            (budget.seconds, time.monotonic() - self._began, "seconds"),
            (budget.tokens, tokens, "tokens"),
            (budget.cost, tokens * budget.price / 1e6, "cost"),
        )
        return next((name for limit, used, name in limits if limit is not None and used >= limit), None)

"""Campaigns: many trials, within a budget, one JSON record a trial, resumable after a crash.

The file's first line says what campaign it is; each further line is one record (a `Result`, or a
`Dissection`), written and synced before it counts as done. Resuming reads the file, drops a half-written
last line, and runs what is missing: nothing is lost and nothing is repeated. A record of a run in which the
agent was not tested is kept until the run was made again, which is always at the next start.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Generic, NamedTuple, Protocol, Self, TypeVar

from synth.errors import BadInput, SynthError
from synth.experiments.money import Purse, Spent
from synth.experiments.tally import in_words
from synth.experiments.trial import Result, Trial, result_from_json
from synth.formal.trouble import Trouble

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


class Record(Protocol):
    """What a journal keeps."""

    @property
    def key(self) -> str: ...
    @property
    def is_void(self) -> bool:
        """It says what went wrong and nothing else: what it is about is to be made again."""
        ...

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
        self._records: dict[str, R] = {}
        self._replaced: list[R] = []
        self._lock = threading.Lock()
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
    def records(self) -> list[R]:
        """In the order in which their trials were first made."""
        return list(self._records.values())

    @property
    def done(self) -> frozenset[str]:
        """Keys of what has a record and is not to be made again."""
        return frozenset(key for key, record in self._records.items() if not record.is_void)

    @property
    def made(self) -> list[R]:
        """The records and those that were void and had another in their place, which cost something too."""
        return [*self._replaced, *self._records.values()]

    def get(self, key: str) -> R | None:
        """The record of this key, unless it is void."""
        record = self._records.get(key)
        return None if record is None or record.is_void else record

    def add(self, record: R) -> None:
        """Keep a record, in the place of one that was void. For several threads."""
        with self._lock:
            if self._file is not None:
                _write(self._file, record.to_json())
            if record.key in self._records:
                self._replaced.append(self._records[record.key])
            self._records[record.key] = self._remembered(record)

    def finish(self) -> None:
        """Say that the campaign is over, where only a clock could tell and another start would go on.

        It is not over while a run is to be made again.
        """
        if any(record.is_void for record in self._records.values()):
            return
        if self._file is not None and not self.finished:
            _write(self._file, {"kind": DONE})
        self.finished = True

    def _opened(self, path: Path, head: Mapping[str, Any]) -> IO[str]:
        if not path.exists() or path.stat().st_size == 0:
            file = path.open("w", encoding="utf-8")
            _write(file, head)
            return file
        found, records, whole, self.finished, self._replaced = read_journal(
            path, self._from_json, self._remembered
        )
        self._records = {record.key: record for record in records}
        wanted = json.loads(json.dumps(head))
        if found != wanted:
            differing = sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
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
    """One for each key, the newest."""
    size: int
    """Bytes of whole lines."""
    finished: bool
    replaced: list[R]
    """Void records that another took the place of."""


def read_journal(
    path: Path,
    from_json: Callable[[Mapping[str, Any]], R],
    remembered: Callable[[R], R] = lambda record: record,
) -> Contents[R]:
    """The file's contents; a last line without its end is left out."""
    head: dict[str, Any] = {}
    records: dict[str, R] = {}
    replaced: list[R] = []
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
                record = remembered(_made(path, number, from_json, body))
                if record.key in records:
                    replaced.append(records[record.key])
                records[record.key] = record
            whole += len(line)
    if head.get("kind") != KIND:
        raise BadInput("this is not the file of a campaign", file=str(path), line=1)
    return Contents(head, list(records.values()), whole, finished, replaced)


def _made(path: Path, number: int, from_json: Callable[[Mapping[str, Any]], R], body: dict[str, Any]) -> R:
    try:
        return from_json(body)
    except (KeyError, TypeError) as error:
        raise BadInput(
            f"not a record of this kind of campaign ({error})", file=str(path), line=number
        ) from error


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError as error:
        raise BadInput(f"not JSON: {error}", file=str(path), line=number) from error
    if not isinstance(said, dict):
        raise BadInput(
            f"a result of a campaign is a JSON object, got {said!r:.40}", file=str(path), line=number
        )
    return said


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
    if case is not None and short_case is not None and "constraints" in case:
        short_case |= {name: tell(case) for name, tell in TOLD_OF_CASES.items()}
    short_run = None if run is None else {**run, "calls": [], "policies": []}
    return replace(result, case=short_case, run=short_run, tool_log=(), answer="")


def unmentioned(case: Mapping[str, Any]) -> int:
    """Actions of a case that no sentence speaks of."""
    if "unmentioned" in case:
        return int(case["unmentioned"])
    said = {value for one in case.get("constraints", ()) for value in one.values() if isinstance(value, str)}
    return sum(action["id"] not in said for action in case["actions"])


def generator_of(case: Mapping[str, Any]) -> Any:
    """The version of what drew it; None where it was not drawn."""
    return case.get("generator") or (case.get("options") or {}).get("generator")


def digest_of(case: Mapping[str, Any]) -> str:
    """Fingerprint of what an agent reads and of what is right."""
    if "digest" in case:
        return str(case["digest"])
    said = {
        name: case.get(name) for name in ("id", "query", "actions", "constraints", "durations", "horizon")
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


TOLD_OF_CASES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "unmentioned": unmentioned,
    "generator": generator_of,
    "digest": digest_of,
}
"""What is kept of a case whose text is not."""
SHORT_CASE = ("id", "topic", "mode", "actions", "statistics", "seed", *TOLD_OF_CASES)


RunTrials = Callable[[Iterable[Trial]], Iterator[Result]]
"""`Harness.run`, or something like it."""
MOST_ERRORS = 5
"""So many runs one after the other in which the agent was not tested end a campaign."""


class Stopped(SynthError):
    """Run after run said nothing about the agent; whatever was made until then is in the journal."""

    def __init__(self, last: Trouble) -> None:
        said = f"{MOST_ERRORS} runs in a row in which the agent's planning was not tested"
        super().__init__(f"{in_words(last)}: stopped after {said}")


class Streak:
    """Errors in a row, which end everything that shares it."""

    def __init__(self, goes_on: Callable[[Stopped], bool] = lambda why: False) -> None:
        """`goes_on` is asked where errors would be the end; meanwhile nothing begins."""
        self._goes_on = goes_on
        self._length = 0
        self._lock = threading.Lock()
        self._stopped: Stopped | None = None

    @property
    def stopped(self) -> Stopped | None:
        with self._lock:
            return self._stopped

    def count(self, result: Result) -> None:
        with self._lock:
            self._length = self._length + 1 if result.is_void else 0
            if self._stopped is None and result.trouble and self._length >= MOST_ERRORS:
                stopped = Stopped(result.trouble)
                self._length = 0
                self._stopped = None if self._goes_on(stopped) else stopped


class Meter:
    """What has been used of a budget; one meter may serve several campaigns, one after the other."""

    def __init__(
        self,
        budget: Budget | None = None,
        earlier: Iterable[Result] = (),
        goes_on: Callable[[Stopped], bool] = lambda why: False,
        purse: Purse | None = None,
        streak: Streak | None = None,
    ) -> None:
        """`earlier` are the results of an earlier part; `goes_on` is asked where errors would be the end.

        A purse knows itself what was paid earlier; without one, money is no limit.
        """
        self._budget = budget or Budget()
        self.purse = purse if purse is not None else Purse()
        self._streak = streak if streak is not None else Streak(goes_on)
        self._cut_off = False
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._cases = 0
        self.reached: str | None = None
        """The limit that was reached while something was left to do."""
        self._cases = sum(not result.is_void for result in earlier)

    def count(self, result: Result) -> None:
        """A run was made. Where it is asked whether to go on, none begins before the answer."""
        self.purse.pay(result.paid)
        self._streak.count(result)

    def part(self, budget: Budget | None = None, earlier: Iterable[Result] = ()) -> Meter:
        """A meter of a part of the work, with limits of its own; money and errors in a row are shared."""
        return Meter(budget, earlier, purse=self.purse, streak=self._streak)

    def allows_one_more(self, pays: Callable[[], bool] = lambda: True) -> bool:
        """Whether one more case may begin, which then counts; if so, `pays` is asked, too."""
        with self._lock:
            if self._streak.stopped is not None:
                self._cut_off = True
                return False
            may = self._spent() is None and pays()
            self.reached = self._spent() or self.purse.reached
            self._cases += may
            return may

    def allows(self, trial: Trial) -> bool:
        """Whether this run may begin, for which money is set aside then; it counts as a case."""
        return self.allows_one_more(lambda: self.purse.take(trial.key, trial.model, trial.usual))

    def afford(self, trial: Trial) -> None:
        """Set money aside for a run that is no case of its own, once there is enough; raises `Spent`."""
        try:
            self.purse.afford(trial.key, trial.model, trial.usual)
        except Spent as spent:
            self.reached = spent.limit
            raise

    @property
    def waits(self) -> bool:
        """Whether what may not begin may do so once runs under way have ended."""
        with self._lock:
            free = self._spent() is None and self.purse.reached is None
            return free and self._streak.stopped is None

    def check(self) -> None:
        """Raises `Stopped` where errors left something undone."""
        stopped = self._streak.stopped
        if stopped is not None and self._cut_off:
            raise stopped

    def _spent(self) -> str | None:
        budget = self._budget
        limits = (
            (budget.cases, self._cases, "cases"),
            (budget.seconds, time.monotonic() - self._began, "seconds"),
        )
        return next((name for limit, used, name in limits if limit is not None and used >= limit), None)


def run_campaign(
    run: RunTrials,
    trials: Iterable[Trial],
    journal: Journal[Result],
    budget: Budget | Meter | None = None,
    on_result: Callable[[Result], None] = lambda result: None,
) -> str | None:
    """Run what the journal does not have yet; returns the budget limit that left trials undone, or None.

    Raises `Stopped` after too many errors in a row, once what was under way has its record.
    """
    meter = budget if isinstance(budget, Meter) else Meter(budget, journal.records)
    done = journal.done
    left = _Left(trial for trial in trials if trial.key not in done)
    while True:
        try:
            for result in run(left.while_allowed(meter)):
                meter.count(result)
                journal.add(result)
                on_result(result)
        finally:
            meter.purse.release(left.begun)
        if not (left.held and meter.waits):
            break
    meter.check()
    return meter.reached


class _Left:
    """Trials that were not run, the first of which is `held` where it may not begin, and those that were."""

    def __init__(self, trials: Iterator[Trial]) -> None:
        self._trials = trials
        self.held: Trial | None = None
        self.begun: list[str] = []

    def while_allowed(self, meter: Meter) -> Iterator[Trial]:
        while (trial := self.held or next(self._trials, None)) is not None:
            self.held = trial
            if not meter.allows(trial):
                return
            self.held = None
            self.begun.append(trial.key)
            yield trial

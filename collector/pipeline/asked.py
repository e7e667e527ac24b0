"""What may take long to answer, in a process of its own, one question after the other.

A run that somebody sends to be judged and not stored, and policy files to be read. Receivers and pages never
wait for it. Its limits are those of a checker: a policy at which it hangs is undecided and the others keep
their answers. Whoever leaves is not worked for.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

import orjson

from collector import memory
from collector.api.bodies import TooLarge, object_in
from collector.api.views import encoded
from collector.errors import BadRequest, Left, Overloaded
from collector.judging.assess import Standard, assess, outcome_of
from collector.judging.names import names_in, names_of, seen_names, warnings
from collector.judging.policies import PolicyFile, load_all, read_policies, readable, stored_files
from collector.metrics import Observed, measured
from collector.model import Assessment
from collector.pipeline.checker import KILL_AFTER
from collector.priority import give_way
from collector.room import Room, busy, soon
from collector.settings import MIB, Settings
from collector.store import QUICK, Store, catalog, open_store, projects, seen
from synth.cases import Case, case_from_json
from synth.formal import Finding, Verdict
from synth.judge import Rules
from synth.judge_process import STOPS, JudgeFailed, SolverProcess, telling
from synth.observed import Run, run_from_json
from synth.policies import RunBudget

BODY_BYTES = 16 * MIB
WAITING = 16
"""Questions, with the one that is judged."""
WAITING_BYTES = 32 * MIB
MEMORY_MIB = 208
"""Of the process; a run that takes more is answered with 413. Python takes 20 to 60 times its JSON."""
LITTLE_MIB = 112
"""Of the process at first: a question for which that does not do is asked again, with more."""
REST_MIB = 48
"""What the process has at rest."""
PAIRS = 2_000_000
"""Calls of a run times policies; more is answered with 413."""
BIG_BYTES = MIB
"""A question of more has all the memory at once; after such a one the process is ended."""
SMALL_TEXT = 4096
"""Policies of so many characters are read where they are asked for: it takes a tenth of a second at most."""
IDLE_SECONDS = 30.0
LOOK_SECONDS = 0.25
"""How often to see whether who asked is still there."""


class TooMuchMemory(TooLarge):
    """There was not enough memory for the answer."""


class Question(Protocol):
    """One request, and what of the collector's settings its answer depends on."""

    @property
    def size(self) -> int:
        """Bytes that it holds while it waits."""

    def answered(self) -> bytes:
        """Inside the process: the JSON of the answer; raises what is wrong with the request."""

    def without(self, failed: JudgeFailed) -> Question:
        """What is still to be asked after a process had to be stopped; raises TooLarge if nothing."""


@dataclass(frozen=True, slots=True)
class RunToJudge:
    """A run record in a body."""

    body: bytes
    kind: str
    """Its `Content-Type`."""
    project: int
    settings: Settings
    stopped: tuple[str, ...] = ()
    """Policies at which a process had to be stopped."""
    z3: bool = True
    case_failed: str | None = None
    """Why the case is not judged any more."""

    @property
    def size(self) -> int:
        return len(self.body)

    def answered(self) -> bytes:
        return judged(self)

    def without(self, failed: JudgeFailed) -> RunToJudge:
        if failed.at is not None and len(self.stopped) < STOPS:
            return replace(self, stopped=(*self.stopped, failed.at))
        if self.z3:
            return replace(self, z3=False)
        if self.case_failed is None:
            return replace(self, case_failed=str(failed))
        raise TooLarge(f"the run could not be judged: {failed}", "send a smaller run, or fewer policies")


@dataclass(frozen=True, slots=True)
class FilesToRead:
    """The text of a policy file, or the active ones of a project: what is to be said of their tools."""

    project: int
    store_url: str
    name: str = ""
    text: str | None = None
    """None = the active ones."""

    @property
    def size(self) -> int:
        return len(self.text or "")

    def answered(self) -> bytes:
        return encoded(warned(opened(self.store_url), self.project, self.name, self.text))

    def without(self, failed: JudgeFailed) -> FilesToRead:
        raise TooLarge(f"the policy file could not be read: {failed}", "make several smaller files of it")


@dataclass(slots=True, eq=False)
class Turn:
    """One question in the line."""

    question: Question
    until: float
    """It waits for its turn and for memory so long (monotonic)."""
    began: bool = False
    left: bool = False


@dataclass(slots=True)
class _Line:
    """Who waits, and how much they sent; all on the event loop."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    size: int = 0


class Asked:
    """The process and the line before it."""

    def __init__(self, settings: Settings, room: Room | None = None, *, share: int = 1) -> None:
        """`room` has what a question takes, also for the other ones of `share` processes."""
        self._settings, self._room = settings, room or Room()
        self._most, self._idle_seconds = max(1, WAITING // share), IDLE_SECONDS
        self._process = SolverProcess(limit_seconds=settings.check_seconds, first=ready)
        self._line = _Line()
        self._guard = threading.Lock()
        """Held to say whose question the process is at, and to stop it."""
        self._at: Turn | None = None
        self._rest: asyncio.TimerHandle | None = None

    async def judged(
        self, body: bytes, kind: str, project: int, gone: Callable[[], Awaitable[bool]]
    ) -> bytes:
        """As `answer`, of a run in a body of this `Content-Type`."""
        return await self.answer(RunToJudge(body, kind, project, self._settings), gone)

    async def warnings(
        self, project: int, gone: Callable[[], Awaitable[bool]], name: str = "", text: str | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """As `warned`, in the process; raises what `answer` does."""
        said = await self.answer(FilesToRead(project, self._settings.store_url, name, text), gone)
        found: dict[str, list[dict[str, Any]]] = orjson.loads(said)
        return found

    async def answer(self, question: Question, gone: Callable[[], Awaitable[bool]]) -> bytes:
        """The JSON of the answer; raises what is wrong with the request, Overloaded, or Left."""
        line, turn, size = self._line, Turn(question, self._until()), question.size
        if line.waiting >= self._most or (line.waiting and line.size + size > WAITING_BYTES):
            raise Overloaded(
                "too much waits to be judged or read on demand", "ask again in a moment", retry_after=2
            )
        line.waiting, line.size = line.waiting + 1, line.size + size
        work = asyncio.ensure_future(self._in_turn(turn))
        work.add_done_callback(lambda _: self._done(size))
        try:
            while not (await asyncio.wait({work}, timeout=LOOK_SECONDS))[0]:
                if await gone():
                    raise Left("the client has left")
                if not turn.began and time.monotonic() > turn.until:
                    raise busy()
        except BaseException:
            self._leave(turn, work)
            raise
        return work.result()

    def _until(self) -> float:
        """How long a question that comes now waits for its turn (monotonic)."""
        return soon()

    async def _in_turn(self, turn: Turn) -> bytes:
        async with self._line.turn:
            turn.began = True
            return await asyncio.to_thread(self._ask, turn)

    def _done(self, size: int) -> None:
        self._line.waiting, self._line.size = self._line.waiting - 1, self._line.size - size
        if self._rest is not None:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(self._idle_seconds, self._idle)

    def _idle(self) -> None:
        if not self._line.waiting:
            self._process.close()

    def _leave(self, turn: Turn, work: asyncio.Future[bytes]) -> None:
        """Stop judging for somebody who is not there; a thread ends with the process that it waits for."""
        with self._guard:
            turn.left = True
            if self._at is turn:
                self._process.stop()
        if not turn.began:
            work.cancel()
        work.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _ask(self, turn: Turn) -> bytes:
        """In a thread: the answer, or why there is none."""
        with self._guard:
            self._at = turn
        try:
            return self._answered(turn)
        finally:
            with self._guard:
                self._at = None
            if turn.left:
                self._process.close()

    def _answered(self, turn: Turn) -> bytes:
        """Ask, and ask again without what stopped the process."""
        question = turn.question
        mib = MEMORY_MIB if question.size > BIG_BYTES else LITTLE_MIB
        try:
            while not turn.left:
                try:
                    with self._room.taken(mib - REST_MIB, turn.until):
                        if not turn.left:
                            return self._process.ask(within, mib, question)
                except TooMuchMemory:
                    if mib == MEMORY_MIB:
                        raise
                    mib = MEMORY_MIB
                    self._process.close()  # a module may be half loaded
                except JudgeFailed as failed:
                    if mib < MEMORY_MIB and not failed.overran:  # it may have died for want of memory
                        mib = MEMORY_MIB
                    else:
                        question = question.without(failed)
            raise Left("the client has left")
        finally:
            if mib == MEMORY_MIB:
                self._process.close()

    def close(self) -> None:
        """End the process, whatever it is at."""
        self._process.stop()
        self._process.close()


# ---------------------------------------------------------------- inside the process


def ready() -> None:
    """Everything is loaded once this can be called."""
    give_way()


@lru_cache(maxsize=1)
def opened(url: str) -> Store:
    return open_store(url, durable=False, patience=QUICK)


def within(mib: int, question: Question) -> bytes:
    """As `answered`, by a process that has no more memory than so much."""
    memory.limit(mib)
    return answered(question)


def answered(question: Question) -> bytes:
    """The JSON of the answer to one request; raises TooMuchMemory."""
    try:
        return question.answered()
    except MemoryError:
        raise TooMuchMemory("answering this takes too much memory", "send less at once") from None


def warned(store: Store, project: int, name: str, text: str | None) -> dict[str, list[dict[str, Any]]]:
    """File -> its warnings; none of a stored one that cannot be read any more, whose log tells why."""
    with store.read() as connection:
        names = names_of(connection, project)
        files = stored_files(catalog.active_policies(connection, project)) if text is None else []
    if text is not None:
        return {name: warnings(read_policies(name, text), names)}
    return {file.name: warnings(file.read(), names) for file in readable(files)}


def judged(question: RunToJudge) -> bytes:
    said = object_in(question.body, question.kind)
    wrapped = isinstance(said.get("run"), dict)
    run = run_from_json(said["run"] if wrapped else said)
    case_json, policy_text = (said.get("case"), said.get("policies")) if wrapped else (None, None)
    if policy_text is not None and not isinstance(policy_text, str):
        raise BadRequest("`policies` is no text", "send the text of a policy file")
    case = case_from_json(case_json) if case_json is not None else None
    settings = question.settings
    with opened(settings.store_url).read() as connection:
        case = case or case_of(connection, question.project, run)
        files = stored_files(catalog.active_policies(connection, question.project))
        names = seen.names(connection, question.project) | names_in(run)
        skew = projects.settings_of(connection, question.project)["clock_skew_ms"]
    rules, policy_rules = rules_of(question, skew)
    policies = load_all(files if policy_text is None else [PolicyFile("request", policy_text)])
    count = sum(len(found.policies) for found in policies.files)
    if len(run.calls) * count > PAIRS:
        raise TooLarge(
            f"{len(run.calls)} calls by {count} policies are over the limit", f"{PAIRS} pairs at most"
        )
    until = question.stopped[-1] if len(question.stopped) >= STOPS else None
    standard = Standard(
        None if question.case_failed else case, policies, rules, policy_rules,
        names=seen_names(names), query_rules=settings.query_rules,
    )  # fmt: skip
    budget = RunBudget(policy_rules, skip=question.stopped, until=until, at=telling())
    assessment = assess(run, standard, budget=budget)
    if question.case_failed and case is not None:
        assessment = replace(assessment, verdict=not_judged(run, case, question.case_failed))
    return encoded(answer_of(run, assessment))


def case_of(connection: Any, project: int, run: Run) -> Case | None:
    """The stored case that a run names; raises BadRequest where there is none of this name."""
    if run.case_id is None:
        return None
    stored = catalog.cases(connection, project, [run.case_id])
    if run.case_id not in stored:
        raise BadRequest(
            f"case {run.case_id!r} is not known here", "post it to /api/v1/cases, or send `case`"
        )
    return case_from_json(orjson.loads(stored[run.case_id]))


class Judges(Protocol):
    """A question whose answer takes judging."""

    @property
    def settings(self) -> Settings: ...

    @property
    def z3(self) -> bool: ...


def rules_of(question: Judges, skew: float | None) -> tuple[Rules, Rules]:
    """Those of cases and those of policies, as a checker has them."""
    settings, seconds = question.settings, question.settings.check_seconds
    z3, z3_policies = (settings.z3_check, settings.z3_check_policies) if question.z3 else ("off", "off")
    rules = Rules(z3=z3).with_skew(skew)
    return rules, replace(rules, z3=z3_policies, run_seconds=max(seconds - KILL_AFTER, seconds / 2))


def not_judged(run: Run, case: Case, why: str) -> Verdict:
    note = Finding("note", "undecided", f"The run could not be judged: {why}")
    return Verdict(run.id, case.id, "undecided", None, (note,))


def answer_of(run: Run, assessment: Assessment) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "outcome": outcome_of(assessment, complete=run.ended),
        "verdict": assessment.verdict.to_json() if assessment.verdict else None,
        "policies": [result.to_json() for result in assessment.policies],
        "suggested_rules": list(assessment.suggested),
        "metrics": measured(Observed(run)),
    }

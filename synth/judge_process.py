"""A judge in a process of its own, for services: Z3's own time limit is no bound, a kill is.

The child is started without the parent's descriptors and ends by itself when the parent's pipe closes,
even in the middle of a proof, and when it has no memory left. One that overruns or dies is replaced; the
question is asked once more without Z3, and if that fails too the answer says undecided.
"""

from __future__ import annotations

import os
import pickle
import queue
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any, TypeVar

from synth.errors import SynthError
from synth.formal.check import DISAGREEMENTS, Disagreement
from synth.formal.model import Finding, Verdict
from synth.judge.rules import Rules
from synth.observed.run import Run

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.policies import Part, PolicyResult, PolicySet, SeenNames

T = TypeVar("T")

LIMIT_SECONDS = 15.0
"""CPU time of one question, or one policy of it: 5 s beyond what all policies of a run may take."""
START_SECONDS = 60.0
"""To load what the first question needs."""
STALL = 4.0
"""So many times its limit of CPU time a child may take by the clock, as where it is stopped."""
STOPS = 3
"""So often a child is stopped at a policy of one run; what comes after the last of them is given up."""
JOBS_PER_PROCESS = 20_000
"""A child is replaced after so many questions: Z3 keeps some memory of each."""
MAX_FRAME = 1 << 30

_LENGTH = struct.Struct(">Q")
_CHILD = "from synth.judge_process import serve; serve()"


class JudgeFailed(SynthError):
    """The child overran its limit or died; the question has no answer."""

    at: str | None = None
    """The policy at which it was."""
    overran = False
    """It was stopped for taking too long; else it died."""
    fresh = True
    """It was at its first question: nothing earlier had taken its memory."""


@dataclass(frozen=True, slots=True)
class _Answer:
    value: Any = None
    error: BaseException | None = None
    disagreements: tuple[Disagreement, ...] = ()


class SolverProcess:
    """`judge` and `judge_policies` in a child process; safe to share between threads (one at a time)."""

    def __init__(
        self,
        *,
        limit_seconds: float = LIMIT_SECONDS,
        jobs_per_process: int = JOBS_PER_PROCESS,
        first: Callable[[], None] | None = None,
        what: str = "judging",
    ) -> None:
        """`first` is asked of each new child, and may take the time that loading what it needs takes.

        `what` it does, for messages. The limit is one of CPU time, so that a machine with much else to do
        gives up nothing that a quiet one answers; by the clock it is `STALL` times as long.
        """
        self.limit_seconds, self.jobs_per_process = limit_seconds, jobs_per_process
        self._first, self._what = first, what
        self.kills = 0
        """Children that overran or died so far."""
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def judge(self, case: Case, run: Run, rules: Rules | None = None) -> Verdict:
        """`synth.judge.judge` with a hard limit; undecided where no child answered."""
        rules = rules or Rules()
        for asked in (rules, replace(rules, z3="off")):
            try:
                verdict: Verdict = self._ask(_judge, case, run, asked)
            except JudgeFailed as failed:
                reason = str(failed)
            else:
                return verdict if asked is rules else _without_z3(verdict, reason)
        note = Finding("note", "undecided", f"The run could not be judged: {reason}")
        return Verdict(run.id, case.id, "undecided", None, (note,))

    def judge_policies(
        self,
        policies: PolicySet,
        run: Run,
        rules: Rules | None = None,
        *,
        names: SeenNames | None = None,
        part: Part | None = None,
    ) -> tuple[PolicyResult, ...]:
        """`synth.policies.judge_policies` with a hard limit; undecided where no child answered.

        The child reads the text of the policies again, and says at which policy it is: the next child
        passes over the policy at which one had to be stopped.
        """
        from synth.policies.kinds.duty import Judged

        rules = rules or Rules()
        stopped: list[str] = []
        asked = rules
        for attempt in range(STOPS + 1):
            until = stopped[-1] if len(stopped) == STOPS else None
            question = (policies.source, policies.file, run, asked, names, part, tuple(stopped), until)
            try:
                results: tuple[PolicyResult, ...] = self._ask(_judge_policies, *question)
            except JudgeFailed as failed:
                reason = str(failed)
                if failed.at is not None:
                    stopped.append(failed.at)
                elif attempt > 0:
                    break
                else:
                    asked = replace(rules, z3="off")
            else:
                return results
        said = f"The run could not be judged: {reason}"
        found = Judged("undecided", (), said)
        return tuple(policies.result(run, policy, found) for policy in policies.policies)

    def ask(self, work: Callable[..., T], *arguments: Any) -> T:
        """Any importable function in the child; JudgeFailed if it overran or died."""
        answer: T = self._ask(work, *arguments)
        return answer

    def stop(self) -> None:
        """Kill the child, from any thread: the question that it is at fails."""
        if (child := self._child) is not None:
            child.stop()

    def close(self) -> None:
        """End the child; the next question starts a new one."""
        with self._lock:
            self._drop()

    def __enter__(self) -> SolverProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, work: Callable[..., Any], *arguments: Any) -> Any:
        with self._lock:
            if self._child is not None and self._child.jobs >= self.jobs_per_process:
                self._drop()
            try:
                if self._child is None:
                    self._child = _Child(self._what)
                    if self._first is not None:
                        self._child.ask((self._first, ()), START_SECONDS)
                        self._child.jobs = 0
                answer = self._child.ask((work, arguments), self.limit_seconds)
            except (JudgeFailed, OSError, EOFError, pickle.UnpicklingError) as problem:
                self.kills += 1
                raise self._failed(problem) from None
        for case in answer.disagreements:
            DISAGREEMENTS.add(case)
        if answer.error is not None:
            try:
                raise answer.error
            finally:
                del answer  # it would hold this frame, and all that called it, until a search for cycles
        return answer.value

    def _failed(self, problem: Exception) -> JudgeFailed:
        """What is raised where the child fails; no local of a frame that raises it may name it."""
        failed = (
            problem
            if isinstance(problem, JudgeFailed)
            else JudgeFailed(f"the {self._what} process died ({type(problem).__name__})")
        )
        if self._child is not None:
            failed.at, failed.fresh = self._child.at, self._child.jobs <= 1
        self._drop()
        return failed

    def _drop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None


def _overran(what: str, end: _End) -> JudgeFailed:
    failed = JudgeFailed(f"{what} took longer than {end.said} and was stopped")
    failed.overran = True
    return failed


class _Child:
    """One child process and its two pipes."""

    def __init__(self, what: str) -> None:
        self._what = what
        # -P: a module of the user's folder must not stand in for ours.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=True,
        )
        self.jobs = 0
        self.at: str | None = None
        """The policy that it judges by just now."""

    def ask(self, question: Any, limit: float) -> _Answer:
        """Send one question and wait for its answer, at most `limit` seconds for each policy."""
        self.jobs += 1
        self.at = None
        sender, receiver = self._process.stdin, self._process.stdout
        if sender is None or receiver is None:
            raise EOFError
        _send(sender, question)
        while True:
            end = _End(self._process.pid, limit)
            (length,) = _LENGTH.unpack(self._read(receiver, _LENGTH.size, end))
            answer = pickle.loads(self._read(receiver, length, end))
            if isinstance(answer, _Answer):
                return answer
            if not isinstance(answer, str):
                raise EOFError
            self.at = answer

    def _read(self, stream: IO[bytes], size: int, end: _End) -> bytearray:
        """`size` bytes of a pipe before the time is over."""
        if size > MAX_FRAME:
            raise EOFError
        parts = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while len(parts) < size:
                if (left := end.left()) <= 0:
                    raise _overran(self._what, end)
                if not selector.select(left):
                    continue
                part = os.read(stream.fileno(), min(size - len(parts), 1 << 20))
                if not part:
                    raise EOFError
                parts += part
        return parts

    def stop(self) -> None:
        self._process.kill()

    def kill(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
        self._process.wait()


class _End:
    """When a child has taken too long for what it begins now."""

    def __init__(self, process: int, limit: float) -> None:
        self._process, self._limit, self.said = process, limit, f"{limit:g} s"
        self._began, self._spent = time.monotonic(), cpu_seconds(process)

    def left(self) -> float:
        """Seconds until then, at least: CPU time passes no faster than time."""
        by_clock = self._began - time.monotonic()
        now = None if self._spent is None else cpu_seconds(self._process)
        if self._spent is None or now is None:
            return by_clock + self._limit
        stall, left = by_clock + STALL * self._limit, self._spent - now + self._limit
        if stall < left:
            self.said = f"{STALL * self._limit:g} s, of which it worked {now - self._spent:.1f} s,"
        return min(stall, left)


def cpu_seconds(process: int) -> float | None:
    """CPU time of a child that has not been waited for; None where the system does not tell."""
    try:
        return time.clock_gettime((~process << 3) | 2)  # CPUCLOCK_SCHED of Linux
    except (AttributeError, OSError, OverflowError):
        return None


def _send(stream: IO[bytes], message: Any) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


# ---------------------------------------------------------------- inside the child


def serve() -> None:
    """Answer questions until the parent's pipe closes; then end at once, whatever Z3 is doing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    sys.unraisablehook = _end_without_memory
    answers = os.fdopen(os.dup(1), "wb")
    _told.append(lambda policy: _send(answers, policy))
    os.dup2(2, 1)  # what a library prints must not end up between the answers
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_or_end, args=(_receive, sys.stdin.buffer, questions), daemon=True).start()
    _or_end(_answer, questions, answers)


def _or_end(work: Callable[..., None], *arguments: Any) -> None:
    """What a child is for; where that fails, as for want of memory, the child ends, which its parent sees."""
    try:
        work(*arguments)
    finally:
        os._exit(1)


def _end_without_memory(problem: sys.UnraisableHookArgs) -> None:
    """End where memory ran out in a place that swallows it, as the clean-up of a generator."""
    if isinstance(problem.exc_value, MemoryError):
        os._exit(1)
    sys.__unraisablehook__(problem)


def _answer(questions: queue.SimpleQueue[bytes], answers: IO[bytes]) -> None:
    while True:
        _send(answers, _answered(questions.get()))


_told: list[Callable[[str], None]] = []
"""Where a child says at which policy it is."""


def telling() -> Callable[[str], None] | None:
    """What a function that is asked in the child tells each policy to; None outside of one."""
    return _told[0] if _told else None


def _receive(stream: IO[bytes], questions: queue.SimpleQueue[bytes]) -> None:
    while header := stream.read(_LENGTH.size):
        if len(header) < _LENGTH.size:
            break
        questions.put(stream.read(*_LENGTH.unpack(header)))
    os._exit(0)


def _answered(question: bytes) -> _Answer:
    before = DISAGREEMENTS.count
    try:
        work, arguments = pickle.loads(question)
        value, error = work(*arguments), None
    except (MemoryError, SystemError):  # the latter is what libraries make of the former that do not look
        raise
    except Exception as problem:
        value, error = None, _sendable(problem)
    new = DISAGREEMENTS.count - before
    return _Answer(value, error, tuple(DISAGREEMENTS.kept)[-new:] if new else ())


def _sendable(problem: Exception) -> Exception:
    """The problem without the frames that it came through: they would hold all that was read, in a circle."""
    problem.__traceback__ = problem.__cause__ = problem.__context__ = None
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        return SynthError(f"{type(problem).__name__}: {problem}")
    return problem


def _judge(case: Case, run: Run, rules: Rules) -> Verdict:
    from synth.judge import judge

    return judge(case, run, rules=rules)


def _judge_policies(
    text: str,
    file: str | None,
    run: Run,
    rules: Rules,
    names: SeenNames | None,
    part: Part | None,
    skip: tuple[str, ...],
    until: str | None,
) -> tuple[PolicyResult, ...]:
    from synth.policies import RunBudget, judge_policies
    from synth.policies.load import policies_from_text

    policies = policies_from_text(text, file)
    budget = RunBudget(rules, skip=skip, until=until, at=telling())
    return judge_policies(policies, run, rules=rules, names=names, part=part, budget=budget)


def _without_z3(verdict: Verdict, reason: str) -> Verdict:
    """A verdict that Z3 did not confirm, saying so."""
    note = Finding("note", "solver_stopped", f"Decided without Z3: {reason}.")
    return replace(verdict, findings=(*verdict.findings, note))

"""Timed mode: declared starts and reported durations, in minutes after midnight (paper, section 4.3).

The query asks the agent to halt early and plan again, so a run is a list of attempts: once a plan is
dead, calling an action that is already done opens a new one with a fresh clock. The last is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from synth.formal.check import Decision
from synth.formal.constraints import Bounded, Bounds, Constraint, Fixed, Times, Truth, clock, listed
from synth.formal.dead_end import DayPlan, Placed
from synth.formal.model import ErrorType, Finding, Repair
from synth.formal.repair import repair_schedule
from synth.judge import wording
from synth.judge.findings import failures, limits, primary, read_calls, repeats, strange_tools
from synth.judge.outcome import Conclude, concluded, decide_with
from synth.judge.rules import Rules
from synth.judge.subject import Subject
from synth.observed.clocks import ANY_TIME
from synth.observed.instants import (
    NEVER,
    declared_start,
    hidden_duration,
    hidden_start,
    observed_order,
    reported_duration,
    start_is_missing,
)
from synth.observed.run import Run, ToolCall

CERTAIN_WHILE_OPEN = {"unknown_tool", "outside_query", "timeout", "wall_time", "iterations"}
CERTAIN_DESPITE_GAPS = {*CERTAIN_WHILE_OPEN, "agent_crash"}
"""What no unseen call can change: it may have begun another attempt, so that others count than were seen."""

Key = str | int
"""An action, or the position of a call that repeats one."""


@dataclass(frozen=True, slots=True)
class NotBeforeDay:
    """A task starts inside the day."""

    who: Key
    begin: int

    def formula(self, t: Times) -> Truth:
        return t.start(self.who) >= t.since(self.begin)


@dataclass(frozen=True, slots=True)
class NotAfterDay:
    """A task ends inside the day."""

    who: Key
    end: int

    def formula(self, t: Times) -> Truth:
        return t.end(self.who) <= t.until(self.end)


@dataclass(frozen=True, slots=True)
class OneByOne:
    """A task starts after everything that was called before it has ended."""

    who: Key
    earlier: tuple[Key, ...]

    def formula(self, t: Times) -> Truth:
        return t.all(t.end(other) <= t.start(self.who) for other in self.earlier)


DayRule = NotBeforeDay | NotAfterDay | OneByOne


@dataclass(slots=True)
class Attempt:
    """The calls of one plan, from its first to the one before the next plan's first."""

    order: list[int] = field(default_factory=list)
    """Positions of all its calls."""
    placed: list[Placed] = field(default_factory=list)
    """First success of each action with a readable start, in call order."""
    calls: dict[str, int] = field(default_factory=dict)
    """Action -> its first success."""
    broken_at: int | None = None
    """Position of a call whose start cannot be read: such a plan is dead."""
    known: tuple[int, int | None] | None = None
    """(number of placed actions, point of no return) when it was last asked for."""

    @property
    def now(self) -> int | None:
        """The clock: the latest end so far, in minutes; None before the first start that can be read."""
        return max((end for _, _, end in self.placed), default=None)


def read_timed(subject: Subject, run: Run, rules: Rules) -> Conclude:
    """What there is to conclude from a run in timed mode."""
    durations = known_durations(subject, run.calls)
    plan = DayPlan(subject.spec, durations, rules.z3_timeout_ms)
    attempts = split_attempts(subject, run.calls, plan, ended=run.closed)
    doubts = [*_doubts(subject, run.calls)]
    untold = [*_untold(subject, run.calls)]
    if untold or (doubts and _is_any_repeated(subject, run.calls)):
        doubts += untold
        return _without_attempts(subject, run, rules, doubts)
    last = attempts[-1]
    reading = read_calls(subject.actions, run.calls, last.order)
    findings = [
        *limits(run, rules),
        *strange_tools(read_calls(subject.actions, run.calls), run, rules),
        *failures(subject.spec.actions, reading, run.calls, subject.say),
        *repeats(reading, rules, subject.say),
        *_replanned(attempts, subject.say),
    ]
    day = _Day.of(subject, run.calls, last, durations)
    claims = day.claims(subject)
    findings += day.unreadable(subject)
    decision = decide_with(rules, run.id, claims, day.times, failing=primary(findings) is not None)
    findings += day.findings(claims, decision, subject)
    return partial(
        concluded,
        subject,
        findings=findings,
        decision=decision,
        certain=CERTAIN_WHILE_OPEN,
        mended=lambda finding: finding.code not in CERTAIN_DESPITE_GAPS,
        dead_at=lambda: dead_at(plan, last),
        repair=lambda: _repair(subject, last, durations, findings, rules),
        doubts=doubts,
    )


def _doubts(subject: Subject, calls: Sequence[ToolCall]) -> Iterator[Finding]:
    """Starts and durations that were cut, hashed or left out."""
    for i, call in enumerate(calls):
        if call.tool not in subject.actions or not call.succeeded:
            continue
        for what, hidden in (("start", hidden_start(call)), ("duration", hidden_duration(call))):
            if hidden is not None:
                task = subject.say.phrase(subject.actions[call.tool])
                said = f"Undecided: the {what} of {task} (call {i}) {hidden.what}."
                yield Finding("note", f"{what}_hidden", said, (i,))


def _untold(subject: Subject, calls: Sequence[ToolCall]) -> Iterator[Finding]:
    """Calls of which no clock tells when they were made: any of them may have begun a plan."""
    own = [i for i, call in enumerate(calls) if call.tool in subject.actions]
    for i in own if len(own) > 1 else ():
        if calls[i].start == ANY_TIME:
            task = subject.say.phrase(subject.actions[calls[i].tool])
            said = f"Undecided: no clock tells when {task} (call {i}) was called."
            yield Finding("note", "start_unknown", said, (i,))


def _is_any_repeated(subject: Subject, calls: Sequence[ToolCall]) -> bool:
    """Was an action done twice? Then another attempt may have begun, as far as hidden values tell."""
    done = [call.tool for call in calls if call.tool in subject.actions and call.succeeded]
    return len(done) > len({subject.actions[tool] for tool in done})


def _without_attempts(subject: Subject, run: Run, rules: Rules, doubts: Sequence[Finding]) -> Conclude:
    """The same where it is not known which calls belong to the last attempt: what holds for any."""
    reading = read_calls(subject.actions, run.calls)
    findings = [
        *limits(run, rules),
        *strange_tools(reading, run, rules),
        *failures(subject.spec.actions, reading, run.calls, subject.say),
    ]
    return partial(
        concluded,
        subject,
        findings=findings,
        decision=decide_with(rules, run.id, (), Fixed({}, {}), failing=primary(findings) is not None),
        certain=CERTAIN_WHILE_OPEN,
        mended=lambda finding: finding.code not in CERTAIN_DESPITE_GAPS,
        dead_at=lambda: None,
        repair=lambda: None,
        doubts=doubts,
    )


def known_durations(subject: Subject, calls: Sequence[ToolCall]) -> dict[str, int]:
    """Minutes per action: what its tool reported last, else what the case says."""
    durations = dict(subject.spec.durations or {})
    for call in calls:
        action = subject.actions.get(call.tool)
        if action is not None and call.succeeded:
            reported = reported_duration(call)
            if reported is not None:
                durations[action] = reported
    return durations


def split_attempts(
    subject: Subject, calls: Sequence[ToolCall], plan: DayPlan, *, ended: bool = True
) -> list[Attempt]:
    """The attempts of a run; at least one, perhaps empty.

    Once a plan is dead, the next begins with a call of an action that is already done, or with any call whose
    declared start lies before the clock: it goes back to the beginning of the day. Where the run has `ended`
    and what the dead plan did was not done again, nothing was begun anew: such a start is only too early.
    """
    attempts = [Attempt()]
    order = observed_order(calls)
    left = _done_from(subject, calls, order) if ended else [frozenset(subject.spec.actions)] * len(order)
    for position, done_again in zip(order, left, strict=True):
        call = calls[position]
        action = subject.actions.get(call.tool)
        done = action if call.succeeded else None
        attempt = attempts[-1]
        goes_back = (
            done is not None and _is_before_clock(call, attempt) and done_again >= attempt.calls.keys()
        )
        if (done in attempt.calls or goes_back) and dead_at(plan, attempt) is not None:
            attempts.append(Attempt())
        attempt = attempts[-1]
        attempt.order.append(position)
        if done is not None and done not in attempt.calls:
            _place(attempt, done, position, call, plan)
    return attempts


def _done_from(subject: Subject, calls: Sequence[ToolCall], order: Sequence[int]) -> list[frozenset[str]]:
    """For each call in order, the actions that it and the later ones carry out."""
    done: frozenset[str] = frozenset()
    found = []
    for position in reversed(order):
        action = subject.actions.get(calls[position].tool)
        if action is not None and action not in done and calls[position].succeeded:
            done |= {action}
        found.append(done)
    return found[::-1]


def _is_before_clock(call: ToolCall, attempt: Attempt) -> bool:
    start, now = declared_start(call), attempt.now
    return isinstance(start, int) and now is not None and start < now


def _place(attempt: Attempt, action: str, position: int, call: ToolCall, plan: DayPlan) -> None:
    attempt.calls[action] = position
    start = declared_start(call)
    if isinstance(start, int):
        duration = reported_duration(call)
        duration = plan.duration(action) if duration is None else duration
        attempt.placed.append((action, start, start + duration))
    elif attempt.broken_at is None and hidden_start(call) is None:
        attempt.broken_at = position


def dead_at(plan: DayPlan, attempt: Attempt) -> int | None:
    if attempt.known is None or attempt.known[0] != len(attempt.placed):
        attempt.known = len(attempt.placed), plan.dead_at(attempt.placed)
    position = attempt.known[1]
    dead = [] if position is None else [attempt.calls[attempt.placed[position][0]]]
    if attempt.broken_at is not None:
        dead.append(attempt.broken_at)
    if len(dead) < 2:
        return dead[0] if dead else None
    return min(dead, key=attempt.order.index)


def _replanned(attempts: Sequence[Attempt], say: wording.Wording) -> Iterator[Finding]:
    for attempt in attempts[:-1]:
        where = tuple(sorted(attempt.order))
        said = f"A plan was given up and made anew ({wording.calls_in_words(where)} belong to it)."
        yield Finding("note", "replanned", said, where)


@dataclass(frozen=True, slots=True)
class _Day:
    """The judged attempt on the clock: one entry per successful call."""

    keys: tuple[tuple[Key, int], ...]
    """(key, position of its call), in call order; only calls whose start can be read."""
    begins: Mapping[Key, int]
    ends: Mapping[Key, int | None]
    """Minutes; None where the duration is unknown."""
    times: Fixed | Bounded
    bad: tuple[tuple[int, str, str], ...]
    """(call, finding code, why its start cannot be read)."""
    positions: Mapping[Key, int]
    """Key -> position of its call."""

    @classmethod
    def of(
        cls, subject: Subject, calls: Sequence[ToolCall], attempt: Attempt, durations: Mapping[str, int]
    ) -> _Day:
        keys: list[tuple[Key, int]] = []
        begins: dict[Key, int] = {}
        ends: dict[Key, int | None] = {}
        bad: list[tuple[int, str, str]] = []
        for position in attempt.order:
            call = calls[position]
            action = subject.actions.get(call.tool)
            if action is None or not call.succeeded:
                continue
            if hidden_start(call) is not None:
                continue
            start = declared_start(call)
            if isinstance(start, str):
                code = "start_missing" if start_is_missing(call) else "start_malformed"
                bad.append((position, code, start))
                continue
            key = action if attempt.calls[action] == position else position
            reported = reported_duration(call)
            known = None if hidden_duration(call) is not None else durations.get(action)
            minutes = known if reported is None else reported
            keys.append((key, position))
            begins[key], ends[key] = start, None if minutes is None else start + minutes
        return cls(tuple(keys), begins, ends, _world(keys, begins, ends), tuple(bad), dict(keys))

    def claims(self, subject: Subject) -> list[DayRule | Constraint]:
        begin, end = subject.spec.horizon or (0, 24 * 60)
        claims: list[DayRule | Constraint] = []
        earlier: tuple[Key, ...] = ()
        for key, _ in self.keys:
            claims += [NotBeforeDay(key, begin), NotAfterDay(key, end)]
            if earlier:
                claims.append(OneByOne(key, earlier))
            earlier = self._latest((*earlier, key))
        return claims + [c for c in subject.spec.constraints if all(a in self.begins for a in c.actions)]

    def _latest(self, keys: tuple[Key, ...]) -> tuple[Key, ...]:
        """Those that can end last: of the known ends the latest (and last called), and all unknown ones."""
        known = [key for key in keys if self.ends[key] is not None]
        last = max(reversed(known), key=self._end, default=None)
        return tuple(key for key in keys if key == last or self.ends[key] is None)

    def unreadable(self, subject: Subject) -> Iterator[Finding]:
        for position, code, why in self.bad:
            yield Finding("parameter_error", code, f"Call {position}: {why}.", (position,))

    def findings(
        self, claims: Sequence[DayRule | Constraint], decision: Decision, subject: Subject
    ) -> Iterator[Finding]:
        for i in decision.violated:
            yield self._broken(claims[i], subject)
        if decision.core:
            said = listed(self._name(claims[i], subject) for i in decision.core)
            where = sorted({call for i in decision.core for call in self._calls(claims[i])})
            lead = claims[decision.core[0]]
            kind: ErrorType = "parameter_error" if isinstance(lead, DayRule) else "order_error"
            said = f"No possible durations keep all of {said}."
            yield Finding(kind, "joint", said, tuple(where), constraint=_constraint(lead))
        for i in sorted(decision.undecided):
            yield self._undecided(claims[i], i, decision, subject)

    def _broken(self, claim: DayRule | Constraint, subject: Subject) -> Finding:
        if not isinstance(claim, DayRule):
            return self._constraint_broken(claim, subject)
        position = self._position(claim.who)
        start, end = self._clock(claim.who)
        task = f"{self._phrase(claim.who, subject)} (call {position})"
        if isinstance(claim, NotBeforeDay):
            said = f"{task} starts at {start}, before the day begins ({clock(claim.begin)})."
            return Finding("parameter_error", "before_day", said, (position,))
        if isinstance(claim, NotAfterDay):
            said = f"{task} runs from {start} to {end}, past the end of the day ({clock(claim.end)})."
            return Finding("parameter_error", "after_day", said, (position,))
        last = max(claim.earlier, key=lambda key: self.ends[key] or NEVER)
        other = self._position(last)
        said = (
            f"{task} starts at {start}, but {self._phrase(last, subject)} (call {other}), called before it, "
            f"ends at {self._clock(last)[1]}; tasks run one at a time."
        )
        return Finding("parameter_error", "overlaps_previous", said, (other, position))

    def _constraint_broken(self, claim: Constraint, subject: Subject) -> Finding:
        ran = {
            action: wording.TimedCall(
                f"{subject.say.phrase(action)} (call {self._position(action)})",
                self.begins[action],
                self._end(action),
            )
            for action in claim.actions
        }
        said = f"{subject.say.rule(claim)}: {claim.happened(ran)}."
        return Finding.order_error(claim.code, said, self._calls(claim), claim)

    def _undecided(
        self, claim: DayRule | Constraint, position: int, decision: Decision, subject: Subject
    ) -> Finding:
        pair = decision.undecided[position]
        what = self._name(claim, subject)
        witness = None
        if decision.disagreement:
            code, why = "disagreement", decision.unshown(position)
        elif pair is None:
            unshown = decision.unshown(position)
            code, why = "undecided", f"the durations that are known do not decide it alone, and {unshown}"
        else:
            names = {key: self._phrase(key, subject) for key, _ in self.keys}
            holds, fails = (wording.assignment_in_words(times, "minutes", names) for times in pair)
            witness = {"holds": holds, "fails": fails}
            code, why = "undecided", f"a duration is unknown (kept: {holds}; broken: {fails})"
        constraint = _constraint(claim)
        said = f"{what}: undecided, {why}."
        sentence, span = (constraint.sentence, constraint.span) if constraint else (None, None)
        return Finding("note", code, said, self._calls(claim), sentence, span, constraint, witness)

    def _name(self, claim: DayRule | Constraint, subject: Subject) -> str:
        if not isinstance(claim, DayRule):
            return subject.say.rule(claim)
        task = self._phrase(claim.who, subject)
        return (
            f"{task} starts when nothing else runs"
            if isinstance(claim, OneByOne)
            else f"{task} is inside the day"
        )

    def _calls(self, claim: DayRule | Constraint) -> tuple[int, ...]:
        keys = (claim.who,) if isinstance(claim, DayRule) else claim.actions
        return tuple(self._position(key) for key in keys)

    def _position(self, key: Key) -> int:
        return self.positions[key]

    def _phrase(self, key: Key, subject: Subject) -> str:
        return subject.say.phrase(key) if isinstance(key, str) else f"call {key}"

    def _end(self, key: Key) -> int:
        end = self.ends[key]
        return self.begins[key] if end is None else end

    def _clock(self, key: Key) -> tuple[str, str]:
        return clock(self.begins[key]), clock(self._end(key))


def _constraint(claim: DayRule | Constraint) -> Constraint | None:
    return None if isinstance(claim, DayRule) else claim


def _world(
    keys: Sequence[tuple[Key, int]], begins: Mapping[Key, int], ends: Mapping[Key, int | None]
) -> Fixed | Bounded:
    scale = 2 * len(keys) + 2
    starts = {key: begins[key] * scale + 2 * k for k, (key, _) in enumerate(keys)}
    known = {key: end for key, end in ends.items() if end is not None}
    if len(known) == len(keys):
        return Fixed(starts, {key: known[key] * scale + 2 * k + 1 for k, (key, _) in enumerate(keys)}, scale)
    bounds = {}
    for k, (key, _) in enumerate(keys):
        lo, hi = (known[key], known[key]) if key in known else (begins[key], NEVER)
        bounds[key] = Bounds(lo * scale + 2 * k + 1, hi * scale + 2 * k + 1)
    return Bounded({key: Bounds(at, at) for key, at in starts.items()}, bounds, scale)


def _repair(
    subject: Subject,
    attempt: Attempt,
    durations: Mapping[str, int],
    findings: Sequence[Finding],
    rules: Rules,
) -> Repair | None:
    wrong = ("order_error", "parameter_error", "action_lost")
    if not rules.may_ask_z3 or not any(f.type in wrong for f in findings):
        return None
    declared = {action: start for action, start, _ in attempt.placed}
    return repair_schedule(subject.spec, declared, durations, timeout_ms=rules.z3_timeout_ms)

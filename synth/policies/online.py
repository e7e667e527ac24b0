"""The guard's evaluator: what a run says of each rule while it goes on, and whether a call may begin.

A proposed call is refused when starting it breaks a rule for good: whatever comes after it, the rule is
broken, and this call is what broke it. That is told by the judge of the rule itself, asked about the calls so
far with the proposed one as a call that runs; so the guard and the verdicts cannot differ. What the evidence
leaves open is allowed, with the doubt noted. Quick answers stand before the judge where a rule is so simple
that a look says that the call cannot break it. Z3 is never asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter, thread_time, time_ns
from typing import Any, Literal

from synth.formal.budget import Budget, GaveUp
from synth.judge.rules import Rules
from synth.observed.run import USAGE, Run, ToolCall
from synth.policies.either_way import either_way
from synth.policies.evidence import Evidence, Part
from synth.policies.happened import Happened
from synth.policies.kinds.count import Count
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.kind import answer
from synth.policies.model import Policy, PolicySet
from synth.policies.names import MODES
from synth.policies.watched import CompiledRules, Quick, Watched

Standing = Literal["kept for good", "kept so far", "open", "broken for good", "not known"]
"""About a prefix. `open`: broken if the run ended now. `not known`: the evidence does not decide."""

OVERRUN = 0.005
"""Seconds of CPU that one rule may take for one call."""
LOOKED_BACK = 100
"""Calls of which it is told whether they are in the way."""
MOST_REPLIES = 1_000
"""Replies of models of which it is kept when they came."""
OFF = Rules(z3="off", repair=False)


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that the proposed call would break for good."""

    policy: Policy
    explanation: str
    waits: tuple[str, ...] = ()
    """Tools that run just now: once they have succeeded, the call is allowed."""
    rest: tuple[str, ...] = ()
    """Of a case: the calls of a plan that works from here."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A rule that could not be asked about the proposed call."""

    policy: Policy
    why: str
    failed: bool = False
    """Did our own part fail, or take too long?"""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is said of one proposed call."""

    breaches: tuple[Breach, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def refused(self) -> bool:
        return bool(self.breaches)


ALLOWED = Decision()


def mode_of(policy: Policy, mode: str | None) -> str:
    """What is done where a rule is about to be broken: what it says, but never more than is asked for."""
    if policy.on_break is None:
        return mode or "observe"
    return min(policy.on_break, mode or "feedback", key=MODES.index)


def stops(mode: str) -> bool:
    """Does the tool not run in this mode?"""
    return MODES.index(mode) >= MODES.index("feedback")


class Prefix:
    """The calls of one run, or of one conversation, as they come; safe to use from several threads."""

    def __init__(self, policies: PolicySet, **fields: Any) -> None:
        """`fields` are those of the run: `agent`, `tools`, `query`, `extra`, ...; `said` adds messages."""
        self.policies = policies
        self.fields = fields
        self.calls: list[ToolCall] = []
        self.lock = threading.Lock()
        self._latest = 0
        self._happened = Happened(self.calls)
        self._ruled_by(policies)

    def propose(
        self,
        call: ToolCall,
        at: int | None = None,
        *,
        most: int | None = None,
        heeds: Callable[[Decision], bool] = lambda decision: not decision.refused,
    ) -> tuple[Decision, int | None]:
        """Whether the call may begin now; where `heeds` lets it, it has begun, and its position is given.

        Both are one step: of two calls that are allowed once, one is. `at` is wall-clock ns.
        """
        with self.lock:
            made = _begun(call, self._now(at))
            decision = self._decide(made)
            if not heeds(decision):
                return decision, None
            return decision, self._note(made)

    def would(self, call: ToolCall, at: int | None = None) -> Decision:
        """The decision about a call that does not begin."""
        with self.lock:
            return self._decide(_begun(call, self._now(at)))

    def began(self, call: ToolCall, at: int | None = None) -> int:
        """The position of a call that has begun, whatever the rules say of it."""
        with self.lock:
            return self._note(_begun(call, self._now(at)))

    def in_the_way(self, policy: Policy, call: ToolCall, at: int | None = None) -> tuple[int, ...]:
        """Positions of the earlier calls without one of which this call would not break the rule."""
        with self.lock:
            now = self._now(at)
            made = _begun(call, now)
            watched = self._watched(self.policies.policies.index(policy))
            kept = watched.kept
            without = ((i, [one for one in kept if one != i]) for i in kept[-LOOKED_BACK:])
            return tuple(
                i for i, others in without if self._judged(watched, others, now, made).verdict != "violated"
            )

    def ended(
        self, position: int, result: Any = None, error: str | None = None, at: int | None = None
    ) -> None:
        """A call that had begun is over."""
        with self.lock:
            call = self.calls[position]
            self._latest = end = self._now(at)
            over = _ended(call, result, error, end)
            self._happened.ended(position, over, end)
            if over.succeeded:
                self._hear(position, over)

    def told(self, **fields: Any) -> None:
        """More is known of the run than when it began."""
        with self.lock:
            self.fields |= fields
            for watched in self._known.values():
                watched.minutes.clear()

    def ruled_by(self, policies: PolicySet) -> None:
        """Other rules from now on, as if they had been there from the beginning."""
        with self.lock:
            self._ruled_by(policies)
            done = [(call.end[1], at) for at, call in enumerate(self.calls) if call.end and call.succeeded]
            for _, position in sorted(done):
                self._hear(position, self.calls[position])

    def said(self, role: str, text: str) -> None:
        """The user, or the assistant, said something after the calls that have begun so far."""
        self.heard({"role": role, "content": text})

    def heard(self, message: Mapping[str, Any]) -> None:
        """The same with all fields of a message but its place."""
        with self.lock:
            name = self.policies.aliases.get("messages", "messages")
            extra = dict(self.fields.get("extra") or {})
            placed = {**message, "before_call": len(self.calls)}
            self.fields["extra"] = {**extra, name: [*extra.get(name, ()), placed]}

    def used(self, model: Any, given: int | None, written: int | None, at: int | None = None) -> None:
        """A model has replied; None where the reply does not tell its tokens."""
        with self.lock:
            extra = self.fields.setdefault("extra", {})
            if USAGE not in extra:
                extra = self.fields["extra"] = {**extra, USAGE: []}
            said = extra[USAGE]
            self._happened.replied(model, given, written)
            now = time_ns() if at is None else at
            said.append(_reply(model, given, written, now))
            if len(said) > MOST_REPLIES:
                said[:] = [_reply(one, *tokens, now) for one, tokens in self._happened.used.items()]

    def standings(self, at: int | None = None) -> dict[str, Standing]:
        """Policy -> what the calls so far say of it."""
        with self.lock:
            now = self._now(at)
            return {
                one.policy.id: _standing(one.policy, self._judged(one, range(len(self.calls)), now))
                for one in self._every
            }

    def owed(self, at: int | None = None) -> list[tuple[Policy, str]]:
        """The rules that would be broken if the run ended now, with the reason."""
        with self.lock:
            now = self._now(at)
            found = [(one.policy, self._judged(one, range(len(self.calls)), now)) for one in self._every]
            return [(policy, judged.explanation) for policy, judged in found if _is_open(judged)]

    def allowed(self, tools: Iterable[str], at: int | None = None) -> list[str]:
        """Those of the tools that may be called now, as far as that is known without their arguments."""
        return [tool for tool in tools if not self.would(ToolCall(None, tool, None), at).refused]

    def shut(
        self,
        tools: Iterable[str],
        counts: Callable[[Policy], bool] = lambda policy: True,
        at: int | None = None,
    ) -> list[str]:
        """Those of the tools that one of the rules that count refuses now, and after any of the others, too.

        What runs is taken to succeed; the others are tried one by one, and all together.
        """
        offered = list(tools)
        with self.lock:
            now = self._now(at)
            return [tool for tool in offered if self._is_shut(tool, offered, counts, now)]

    def _is_shut(self, tool: str, offered: Sequence[str], counts: Callable[[Policy], bool], at: int) -> bool:
        made = _begun(ToolCall(None, tool, None), at)
        others = [
            _ended(_begun(ToolCall(None, one, None), at), None, None, at) for one in offered if one != tool
        ]
        return any(
            isinstance(self._asked(watched, made, at), Breach)
            and all(
                self._refused_after(watched, more, made, at)
                for more in ([], *([one] for one in others), others)
            )
            for watched, _ in self._asked_about(tool)
            if counts(watched.policy)
        )

    # ------------------------------------------------------------ deciding

    def _now(self, at: int | None) -> int:
        """An instant after all others: the clock of one process may go back, or stand still."""
        return max(time_ns() if at is None else at, self._latest + 1)

    def _decide(self, made: ToolCall) -> Decision:
        breaches: list[Breach] = []
        doubts: list[Doubt] = []
        at = made.start[0] if made.start else 0
        for watched, surely_allows in self._asked_about(made.tool):
            began = perf_counter()
            if surely_allows(made, at) and perf_counter() - began <= OVERRUN:
                continue
            found = self._asked(watched, made, at)
            if isinstance(found, Breach):
                breaches.append(found)
            elif found is not None:
                doubts.append(found)
        return Decision(tuple(breaches), tuple(doubts)) if breaches or doubts else ALLOWED

    def _asked(self, watched: Watched, made: ToolCall, at: int) -> Breach | Doubt | None:
        policy, kept = watched.policy, watched.kept
        began = perf_counter()
        try:
            judged = self._judged(watched, kept, at, made)
        except Exception as problem:  # our own part: the host goes on
            return Doubt(policy, f"its evaluator failed ({type(problem).__name__})", failed=True)
        if (
            judged.verdict == "violated"
            and self._is_its_own(watched, judged, kept, at)
            and (watched.takes_success or self._whatever_comes_of_it(watched, kept, made, at))
        ):
            rest = watched.rest(self._run(self.calls))
            return Breach(policy, policy.told(judged), self._waits(watched, made, at), rest)
        if perf_counter() - began > OVERRUN and self._is_slow(watched, kept, made, at):
            return Doubt(policy, f"took longer than {OVERRUN * 1e3:g} ms", failed=True)
        if judged.verdict == "unsupported" or (judged.verdict == "undecided" and not judged.awaits):
            return Doubt(policy, judged.explanation)
        if judged.verdict in ("ok", "not_applicable"):
            watched.allowed(made, at, applies=judged.verdict == "ok")
        return None

    def _is_slow(self, watched: Watched, kept: Sequence[int], made: ToolCall, at: int) -> bool:
        """Does it take long also now that all is loaded, and without what neighbours took?

        Asking a thread for its CPU time may cost more than the answer: it is asked only where that was late.
        """
        began = thread_time()
        self._judged(watched, kept, at, made)
        return thread_time() - began > OVERRUN

    def _is_its_own(self, watched: Watched, judged: Judged, kept: Sequence[int], at: int) -> bool:
        """Is it the proposed call that breaks the rule, and not what came before it?"""
        if len(kept) in judged.violations:
            return True
        before = self._judged(watched, kept, at)
        return before.verdict != "violated" or not set(judged.violations) <= set(before.violations)

    def _whatever_comes_of_it(self, watched: Watched, kept: Sequence[int], made: ToolCall, at: int) -> bool:
        """Is it broken also where the call ends at once, well or not? A call that runs counts as endless.

        Where the call only makes the rule one for the run, what runs may still keep it.
        """
        if watched.begins_with(made) and not (
            self._refused_after(watched, [], made, at)
            and self._refused_after(watched, [], made, at, error="failed")
        ):
            return False
        ends = (_ended(made, None, error, at) for error in (None, "failed"))
        return all(self._judged(watched, kept, at, over).verdict == "violated" for over in ends)

    def _judged(self, watched: Watched, kept: Sequence[int], at: int, made: ToolCall | None = None) -> Judged:
        """What the rule says of these calls, and of one that is proposed after them; None = of none."""
        policy = watched.policy
        calls = [self.calls[i] for i in kept]
        run = self._run(calls if made is None else [*calls, made])
        # another call may still begin in this nanosecond
        seen = Evidence(run, self.policies.timezone, self.policies.aliases, until=at - 1)
        if made is not None and watched.by_call and not watched.begins_with(made):
            seen.part = Part(range(len(calls), len(calls) + 1))
        if made is not None and kept is watched.seen:
            watched.remind(seen)
        seen.budget = Budget(OFF.policy_seconds, least_steps=40 * len(run.calls))
        actions = (*policy.rule.tools, *policy.applies.calls)
        try:
            return either_way(actions, seen, lambda taken: _answered(policy, taken))
        except GaveUp as spent:
            return Judged("undecided", (), f"{spent}.")

    def _run(self, calls: Sequence[ToolCall]) -> Run:
        return Run("run", tuple(calls), status="running", **self.fields)

    def _waits(self, watched: Watched, made: ToolCall, at: int) -> tuple[str, ...]:
        """The tools whose end would make the call right."""
        kept = watched.kept
        running = [i for i in kept if not self.calls[i].finished]
        if not running or self._refused_after(watched, [], made, at):
            return ()
        return tuple(dict.fromkeys(self.calls[i].tool for i in running))

    def _refused_after(
        self, watched: Watched, more: Sequence[ToolCall], made: ToolCall, at: int, error: str | None = None
    ) -> bool:
        """Is the rule broken by the call, too, once all that runs, and more calls, have succeeded?

        With an `error`, what runs has failed.
        """
        before = (self.calls[i] for i in watched.kept)
        whole = [call if call.finished else _ended(call, None, error, at) for call in before] + [*more]
        trial = Prefix(self.policies, **self.fields)
        trial.calls = whole
        return trial._judged(watched, range(len(whole)), at + 1, _begun(made, at + 1)).verdict == "violated"

    def _note(self, made: ToolCall) -> int:
        self._latest = made.start[0] if made.start else self._latest
        return self._happened.began(made)

    def _ruled_by(self, policies: PolicySet) -> None:
        self.policies, self._rules = policies, CompiledRules.of(policies)
        self._known: dict[int, Watched] = {}
        self._about: dict[str, list[tuple[Watched, Quick]]] = {}

    def _watched(self, place: int) -> Watched:
        """What is kept of the run for the rule at a place of the file; made when it is first needed."""
        found = self._known.get(place)
        if found is None:
            found = self._known[place] = Watched(self._rules.each[place], self._happened)
        return found

    @property
    def _every(self) -> list[Watched]:
        return [self._watched(place) for place in range(len(self._rules.each))]

    def _asked_about(self, tool: str) -> list[tuple[Watched, Quick]]:
        """The rules that a call of the tool may break by its start, each with what tells quickly."""
        found = self._about.get(tool)
        if found is None:
            touched = [(self._watched(place), make) for place, make in self._rules.breaking(tool)]
            found = self._about[tool] = [(watched, make(watched)) for watched, make in touched]
        return found

    def _hear(self, position: int, over: ToolCall) -> None:
        """A call has succeeded."""
        for place in self._rules.hearing(over.tool):
            self._watched(place).succeeded(position, over)


# ---------------------------------------------------------------- four answers


def _answered(policy: Policy, seen: Evidence) -> Judged:
    if not policy.applies.to(seen):
        why = policy.applies.why_open(seen)
        return Judged("undecided" if why else "not_applicable", (), why or "")
    if any(seen.of_nobody(tools) for tools in policy.rule.tools):
        return Judged("undecided", (), "Nothing says whose a call is.")
    return answer(policy.rule, seen, OFF)


def _is_open(judged: Judged) -> bool:
    return judged.verdict == "undecided" and judged.awaits


def _standing(policy: Policy, judged: Judged) -> Standing:
    if judged.verdict == "violated":
        return "broken for good"
    if judged.verdict in ("undecided", "unsupported"):
        return "open" if _is_open(judged) else "not known"
    rule = policy.rule
    settled = isinstance(rule, Count) and rule.most is None and judged.verdict == "ok"
    return "kept for good" if settled else "kept so far"


def _reply(model: Any, given: int | None, written: int | None, at: int) -> dict[str, Any]:
    """What a reply used, as run records have it."""
    return {"model": model, "input_tokens": given, "output_tokens": written, "end_ns": at}


def _begun(call: ToolCall, at: int) -> ToolCall:
    """The call as one that runs. All fields are given in their order, which is by far the fastest."""
    c, start = call, (at, at)
    return ToolCall(
        c.id, c.tool, c.arguments, None, None, start, None, False, c.step, c.with_text, c.executed,
        c.attempts, c.asked_arguments, c.partly, c.agent, c.hash_key, c.extra,
    )  # fmt: skip


def _ended(call: ToolCall, result: Any, error: str | None, at: int) -> ToolCall:
    """The call as one that is over, made in the same way."""
    c, end = call, (at, at)
    return ToolCall(
        c.id, c.tool, c.arguments, result, error, c.start, end, True, c.step, c.with_text, c.executed,
        c.attempts, c.asked_arguments, c.partly, c.agent, c.hash_key, c.extra,
    )  # fmt: skip

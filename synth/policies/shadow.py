"""What a guard would have refused in recorded runs, and what the verdicts say about that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Any

from synth.observed.instants import has_times, observed_order
from synth.observed.run import Run, ToolCall
from synth.policies.model import PolicyResult, PolicySet
from synth.policies.online import Decision, Prefix, mode_of, stops

SECONDS = 2.0
"""CPU for one run; what comes later in it is not asked about."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A call that a rule would have refused."""

    call: int
    tool: str
    policy: str
    explanation: str
    verdict: str
    """`right`: the verdict of the rule blames the call. `follows`: an earlier call of the run was refused, so
    that it would have gone another way. `wrong`: neither."""


def stopped_in(
    policies: PolicySet, run: Run, results: Iterable[PolicyResult], mode: str
) -> Iterator[Stopped]:
    """The calls of a recorded run that would not have run, rule by rule: what is refused does not begin.

    `results` are the verdicts. Rules that those find unsupported are not asked. Raises TimeoutError.
    """
    found = {one.policy: one for one in results}
    asked = tuple(one for one in policies.policies if found[one.id].verdict != "unsupported")
    course = _Course(replace(policies, policies=asked), run)
    end, before = thread_time() + SECONDS, False

    def lets(decision: Decision) -> bool:
        return not any(stops(mode_of(breach.policy, mode)) for breach in decision.breaches)

    for position in course.order:
        if thread_time() > end:
            raise TimeoutError(f"asking about the calls of a run took longer than {SECONDS:g} s")
        decision = course.goes_on(position, lets)
        if lets(decision):
            continue
        for breach in decision.breaches:
            if stops(mode_of(breach.policy, mode)):
                own = found[breach.policy.id]
                blamed = own.verdict == "violated" and (position in own.violations or not own.violations)
                verdict = "right" if blamed else ("follows" if before else "wrong")
                tool = run.calls[position].tool
                yield Stopped(position, tool, breach.policy.id, breach.explanation, verdict)
        before = True


class _Course:
    """A recorded run that happens again, call by call."""

    def __init__(self, policies: PolicySet, run: Run) -> None:
        self._run, self._timed = run, has_times(run.calls)
        self.order = [i for i in observed_order(run.calls) if run.calls[i].executed is True]
        name = policies.aliases.get("messages", "messages")
        said = run.extra.get(name)
        self._messages = [one for one in said if isinstance(one, Mapping)] if isinstance(said, list) else []
        fields = {one: getattr(run, one) for one in _FIELDS}
        extra = {one: value for one, value in run.extra.items() if one != name}
        self._prefix = Prefix(policies, **fields, extra=extra)
        self._running: dict[int, int] = {}
        """Position -> place in the prefix."""
        self._heard = 0

    def goes_on(self, position: int, lets: Any) -> Decision:
        """What was said and what ended before the call, then the call."""
        call = self._run.calls[position]
        while self._heard < len(self._messages) and _place(self._messages[self._heard]) <= position:
            self._prefix.heard(self._messages[self._heard])
            self._heard += 1
        at = call.start[0] if self._timed and call.start else (position + 1) * 1000
        self._end_before(at)
        decision, place = self._prefix.propose(_proposed(call), at, heeds=lets)
        if place is not None:
            self._running[position] = place
        return decision

    def _end_before(self, at: int) -> None:
        ends = {i: self._end(i) for i in self._running}
        for i in sorted((i for i, end in ends.items() if end <= at), key=lambda i: ends[i]):
            call = self._run.calls[i]
            self._prefix.ended(self._running.pop(i), call.result, call.error, int(ends[i]))

    def _end(self, position: int) -> float:
        call = self._run.calls[position]
        if not call.finished:
            return float("inf")
        return call.end[1] if self._timed and call.end else (position + 1) * 1000 + 1


_FIELDS = ("agent", "case_id", "labels", "model", "query", "source", "tools", "versions", "environment")


def _place(message: Mapping[str, Any]) -> int:
    place = message.get("before_call")
    return place if isinstance(place, int) else 0


def _proposed(call: ToolCall) -> ToolCall:
    return replace(call, result=None, error=None, end=None)


@dataclass
class Shadow:
    """What a guard would have done in many runs."""

    policies: PolicySet
    mode: str
    calls: int = 0
    refused: int = 0
    runs: int = 0
    """Runs of which it would have refused calls."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Of those."""
    cut: int = 0
    """Runs that were not asked about to their end."""
    by_policy: dict[str, Counter[str]] = field(default_factory=dict)
    examples: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, run: Run, results: Iterable[PolicyResult], outcome: str | None = None) -> None:
        """Take in a run with its verdicts."""
        self.calls += len(run.calls)
        found: list[Stopped] = []
        try:
            for one in stopped_in(self.policies, run, results, self.mode):
                found.append(one)
        except TimeoutError:
            self.cut += 1
        if not found:
            return
        self.runs += 1
        self.refused += len({one.call for one in found})
        self.outcomes[outcome or "not judged"] += 1
        for policy in dict.fromkeys(one.policy for one in found):
            own = [one for one in found if one.policy == policy]
            counts = self.by_policy.setdefault(policy, Counter())
            counts.update(one.verdict for one in own)
            counts["calls"] += len(own)
            counts["runs"] += 1
            first = own[0]
            self.examples.setdefault(
                policy,
                {"run_id": run.id, "call": first.call, "tool": first.tool, "explanation": first.explanation},
            )

    def to_json(self) -> dict[str, Any]:
        """`policies`: for each rule, also those that refuse nothing."""
        return {
            "mode": self.mode, "calls": self.calls, "refused": self.refused, "runs": self.runs,
            "outcomes": dict(self.outcomes), "cut": self.cut,
            "policies": {one.id: self._told(one) for one in self.policies.policies},
        }  # fmt: skip

    def _told(self, policy: Any) -> dict[str, Any]:
        counts = self.by_policy.get(policy.id, Counter())
        numbers = {name: counts[name] for name in ("calls", "runs", "right", "follows", "wrong")}
        return {"mode": mode_of(policy, self.mode), **numbers, "example": self.examples.get(policy.id)}

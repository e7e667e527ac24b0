"""A plan before its first call: which of its steps the rules forbid, and what it leaves undone.

Each step is proposed in turn as to a guard, and then taken to succeed, with a result that nobody knows yet.
When the steps will be is not known: they are taken to follow each other at once, and to be years apart, and
what the two do not agree on is in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import time_ns
from typing import Any

from synth.errors import BadInput
from synth.formal.partly import Why
from synth.observed.run import Run, ToolCall, run_from_json
from synth.policies.cased import CaseRule
from synth.policies.model import PolicySet
from synth.policies.online import Prefix
from synth.policies.proposed import MICROSECOND, YEAR


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a plan."""

    step: int | None
    """Place of the call in the plan; None = what is undone at its end."""
    tool: str | None
    policy: str
    text: str
    certain: bool = True
    """False where only times or results that are not known yet can tell."""

    def to_json(self) -> dict[str, Any]:
        return {
            "step": self.step, "tool": self.tool, "policy": self.policy, "text": self.text,
            "certain": self.certain,
        }  # fmt: skip


def flaws_of(policies: PolicySet, calls: Sequence[ToolCall], about: Run | None = None) -> tuple[Flaw, ...]:
    """Of each rule the first step that breaks it, in their order; `about` has the fields of a run."""
    fields = {} if about is None else {"tools": about.tools, "agent": about.agent, "case_id": about.case_id}
    courses = [_course(policies, calls, fields, gap) for gap in (MICROSECOND, YEAR)]
    found: dict[tuple[int | None, str], Flaw] = {}
    for course in courses:
        for flaw in course:
            key = (flaw.step, flaw.policy)
            agreed = all(
                any((one.step, one.policy) == key and one.certain for one in other) for other in courses
            )
            found.setdefault(key, replace(flaw, certain=agreed))
    first: dict[tuple[str, bool], Flaw] = {}
    for flaw in sorted(found.values(), key=lambda flaw: len(calls) if flaw.step is None else flaw.step):
        first.setdefault((flaw.policy, flaw.certain), flaw)
    sure = {policy for policy, certain in first if certain}
    return tuple(flaw for flaw in first.values() if flaw.certain or flaw.policy not in sure)


def _course(
    policies: PolicySet, calls: Sequence[ToolCall], fields: Mapping[str, Any], gap: int
) -> list[Flaw]:
    prefix, at, found = Prefix(policies, **fields), time_ns(), list[Flaw]()
    told = all(isinstance(one.rule, CaseRule) for one in policies.policies)
    unknown: dict[str, Why] = {} if told else {"result": "absent"}  # a case says how long its tasks take
    for step, call in enumerate(calls):
        at += gap
        decision = prefix.would(call, at)
        found += (
            Flaw(step, call.tool, one.policy.id, f"{one.policy.text.rstrip('.')}. {one.explanation}")
            for one in decision.breaches
        )
        found += (Flaw(step, call.tool, one.policy.id, one.why, certain=False) for one in decision.doubts)
        place = prefix.began(replace(call, partly={**call.partly, **unknown}), at)
        prefix.ended(place, None, None, at + 1)
    found += (
        Flaw(None, None, policy.id, f"{policy.text.rstrip('.')}. {why}")
        for policy, why in prefix.owed(at + 2)
    )
    return found


def calls_of(said: Any) -> tuple[ToolCall, ...]:
    """The calls of a plan in JSON; BadInput for what is none.

    A list of names or of `{name, arguments}`, or an object with it as `plan` or `calls`.
    """
    if isinstance(said, Mapping):
        said = said.get("plan", said.get("calls"))
    if not isinstance(said, Iterable) or isinstance(said, str | Mapping):
        raise BadInput('expected a plan: a list of calls, such as [{"name": "verify", "arguments": {}}]')
    calls = [{"name": one} if isinstance(one, str) else one for one in said]
    for step, call in enumerate(calls):
        if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
            raise BadInput(
                f'step {step}: expected a name or {{"name": ..., "arguments": ...}}, got {call!r:.60}'
            )
    record = {
        "run_id": "plan",
        "calls": [{"id": None, "name": one["name"], "arguments": one.get("arguments")} for one in calls],
    }
    return tuple(replace(call, finished=False) for call in run_from_json(record).calls)

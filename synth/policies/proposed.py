"""A call that is proposed after a recorded run: may it begin now?

The calls so far are put before the guard's evaluator in the order of their times. Where they have none, only
their order is known: they are taken to have followed each other at once, and to have been years apart, and
what the two do not agree on is in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from synth.observed.run import Run, ToolCall
from synth.policies.model import Policy, PolicySet
from synth.policies.online import Breach, Doubt, Prefix

MICROSECOND = 1_000
YEAR = 365 * 24 * 3600 * 10**9
MAX_TEXT = 399
VALUES = ("guard", "provenance", "contract", "total")
"""Kinds of rules whose explanations show values of arguments."""


def refusal(
    policy: Policy,
    why: str | None,
    waits: Iterable[str],
    allowed: Iterable[str] | None,
    rest: Iterable[str] = (),
) -> str:
    """What a model is told of a call that did not run, in at most `MAX_TEXT` characters.

    `rest` are the calls of a plan that works from here.
    """
    parts = [f"Not run: {policy.text.rstrip('.')}."]
    if why is not None:
        parts.append(why)
    if running := ", ".join(waits):
        parts.append(f"Wait for {running}, which still runs.")
    if plan := ", ".join(rest):
        parts.append(f"A plan that works from here: {plan}.")
    if offered := ", ".join(allowed or ()):
        parts.append(f"Allowed now: {offered}.")
    text = " ".join(parts)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


@dataclass(frozen=True, slots=True)
class InTheWay:
    """A rule that the call would break for good."""

    breach: Breach
    calls: tuple[int, ...]
    """Those of the run without one of which it would not, by position."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is said of a proposed call."""

    refused: tuple[InTheWay, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    allowed: tuple[str, ...] | None = None
    """Offered tools that may be called now; None where they are not known, or nothing is refused."""

    def feedback(self) -> str | None:
        """For the model: which rule, what is in the way, what is allowed."""
        if not self.refused:
            return None
        first = self.refused[0].breach
        why = first.explanation if first.policy.rule.kind not in VALUES else None
        return refusal(first.policy, why, first.waits, self.allowed, first.rest)

    def to_json(self) -> dict[str, Any]:
        return {
            "decision": "refused" if self.refused else "doubt" if self.doubts else "allowed",
            "rules": [
                {
                    **_rule(one.breach.policy),
                    "explanation": one.breach.explanation,
                    "calls": list(one.calls),
                    "waits": list(one.breach.waits),
                }
                for one in self.refused
            ],
            "doubts": [{**_rule(one.policy), "why": one.why} for one in self.doubts],
            "feedback": self.feedback(),
            "allowed_tools": None if self.allowed is None else list(self.allowed),
        }


def _rule(policy: Policy) -> dict[str, Any]:
    return {"policy": policy.id, "text": policy.text, "on_break": policy.on_break}


def proposed(policies: PolicySet, run: Run, call: ToolCall, now: int) -> Proposal:
    """`now` is wall-clock ns; calls of the run that began later count as just begun."""
    prefixes = [_after(policies, run, now, gap) for gap in _gaps(run)]
    decisions = [prefix.would(call, now) for prefix in prefixes]
    first = decisions[0]
    agreed = set.intersection(*({one.policy.id for one in found.breaches} for found in decisions))
    doubts = {one.policy.id: one for found in decisions for one in found.doubts}
    for found in decisions:
        for one in found.breaches:
            if one.policy.id not in agreed:
                doubts[one.policy.id] = Doubt(
                    one.policy, "The calls so far have no times, which decide here."
                )
    refused = [breach for breach in first.breaches if breach.policy.id in agreed]
    in_the_way = [InTheWay(breach, prefixes[0].in_the_way(breach.policy, call, now)) for breach in refused]
    allowed = None
    if refused and run.tools is not None:
        several = [set(prefix.allowed(run.tools, now)) for prefix in prefixes]
        allowed = tuple(tool for tool in run.tools if all(tool in one for one in several))
    known = tuple(one for policy, one in doubts.items() if policy not in agreed)
    return Proposal(tuple(in_the_way), known, allowed)


def _gaps(run: Run) -> tuple[int | None, ...]:
    """Between two calls, in ns; None = as their own times say."""
    timed = all(call.start is not None and (call.end is not None or not call.finished) for call in run.calls)
    return (None,) if timed else (MICROSECOND, YEAR)


_OF_THE_RUN = tuple(one.name for one in fields(Run) if one.name not in ("id", "calls", "status"))


def _after(policies: PolicySet, run: Run, now: int, gap: int | None) -> Prefix:
    prefix = Prefix(policies, **{name: getattr(run, name) for name in _OF_THE_RUN})
    places: dict[int, int] = {}
    for at, ends, index in sorted(_instants(run, now, gap)):
        call = run.calls[index]
        if ends:
            prefix.ended(places[index], call.result, call.error, at)
        else:
            places[index] = prefix.began(call, at)
    return prefix


def _instants(run: Run, now: int, gap: int | None) -> Iterator[tuple[int, bool, int]]:
    """(when, is it the end, position) of what is known to have happened."""
    first = now - (gap or 0) * 2 * (len(run.calls) + 1)
    for index, call in enumerate(run.calls):
        if gap is not None:
            begin, end = first + 2 * index * gap, first + (2 * index + 1) * gap
        else:
            begin = min(call.start[0] if call.start else now, now)
            end = min(call.end[1] if call.end else now, now)
        yield begin, False, index
        if call.finished:
            yield max(begin, end), True, index

"""The guard refuses a call exactly when the judge says that every continuation is wrong."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from synth.judge import Rules
from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet, judge_policies, load_policies
from synth.policies.kinds import KINDS
from synth.policies.online import Prefix
from tests.support.gapped_runs import RULES, SECOND, TOOLS, policy_file

OFF = Rules(z3="off", repair=False)
COMPLETE = {
    "precedence", "absence_after", "count", "rate", "window", "weekdays", "adjacency", "gap", "overlap",
    "guard", "behaviour", "turn",
}  # fmt: skip
"""Kinds of which every call is refused after which no continuation is right.

Of an answer that is late the passing time broke the rule, and no call.
"""
EARLY = 8 * 3600 * SECOND


def some_call(r: random.Random, turn: int, tools: tuple[str, ...] = TOOLS) -> ToolCall:
    arguments = {"amount": r.randint(1, 3), **({} if r.random() < 0.1 else {"id": r.choice((1, 2))})}
    return ToolCall(None, r.choice(tools), arguments, step=turn, with_text=False)


class Story:
    """A run that comes call by call; refused calls are not made."""

    def __init__(self, r: random.Random, policies: PolicySet) -> None:
        self.r, self.policies = r, policies
        self.prefix = Prefix(policies, tools=TOOLS)
        self.at, self.turn = EARLY + r.choice((0, 3595 * SECOND)), 0
        self.open: list[int] = []

    def step(self) -> Iterator[tuple[ToolCall, int, set[str], dict[str, str]]]:
        """Time passes; maybe a call ends; a call is proposed: (call, instant, refusing rules, standings)."""
        r = self.r
        self.at += r.choice((1, 1, 1, SECOND, SECOND, 3 * SECOND))
        if self.open and r.random() < 0.8:
            self.end(self.open.pop(r.randrange(len(self.open))), r)
            self.at += r.choice((1, SECOND))
        self.turn += r.random() < 0.8
        made = some_call(r, self.turn)
        before = {id_: str(said) for id_, said in self.prefix.standings(self.at).items()}
        decision, place = self.prefix.propose(made, self.at)
        refusing = {breach.policy.id for breach in decision.breaches}
        yield made, self.at, refusing, before
        if place is not None:
            self.open.append(place)

    def end(self, place: int, r: random.Random) -> None:
        error = r.choice((None, None, None, "no"))
        self.prefix.ended(place, {"id": r.randint(1, 2)} if error is None else None, error, self.at)

    def continuations(self, made: ToolCall, at: int, number: int) -> Iterator[Run]:
        """Ends of the run after the proposed call has begun; the first ones are the most orderly."""
        r = random.Random(self.r.random())
        begun = replace(made, start=(at, at), finished=False)
        calls = [*self.prefix.calls[: len(self.prefix.calls)], begun]
        if (
            self.prefix.calls
            and self.prefix.calls[-1].start == (at, at)
            and not self.prefix.calls[-1].finished
        ):
            calls.pop(-2)
        for attempt in range(number):
            now, done, turn = at, [], self.turn
            for call in calls:
                now += 1
                error = None if attempt < number // 2 or r.random() < 0.6 else "no"
                done.append(call if call.finished else over(call, now, error, r.randint(1, 2)))
            for _ in range(0 if attempt == 0 else r.choice((1, 2, 4, 9))):
                now, turn = now + r.choice((1, 1, SECOND, 4 * SECOND)), turn + 1
                more = some_call(r, turn)
                begin = ToolCall(
                    None, more.tool, more.arguments, start=(now, now), step=turn, with_text=False
                )
                done.append(over(begin, now + 1, None, r.randint(1, 2)))
                now += 1
            yield Run("run", tuple(done), tools=TOOLS)


def over(call: ToolCall, at: int, error: str | None, number: int) -> ToolCall:
    result = None if error else {"id": number}
    return replace(call, result=result, error=error, end=(at, at), finished=True)


def verdicts(policies: PolicySet, run: Run) -> dict[str, str]:
    return {one.policy: one.verdict for one in judge_policies(policies, run, rules=OFF)}


def agree(kind: str, prefixes: int, r: random.Random) -> Counter[str]:
    """How often the guard refused, allowed, and where it allowed what nothing could mend."""
    policies = load_policies(policy_file(kind))
    seen: Counter[str] = Counter()
    while seen["prefixes"] < prefixes:
        story = Story(r, policies)
        for _ in range(r.randint(1, 7)):
            for made, at, refusing, before in story.step():
                seen["prefixes"] += 1
                judged = [verdicts(policies, run) for run in story.continuations(made, at, 6)]
                for rule in refusing:
                    seen["refused"] += 1
                    wrong = [one[rule] for one in judged if one[rule] != "violated"]
                    assert not wrong, (kind, rule, wrong, story.prefix.calls, made)
                for rule in set(before) - refusing:
                    seen["allowed"] += 1
                    hopeless = before[rule] != "broken for good" and all(
                        one[rule] == "violated" for one in judged
                    )
                    if hopeless:
                        more = (verdicts(policies, run) for run in story.continuations(made, at, 60))
                        if all(one[rule] == "violated" for one in more):
                            seen[f"hopeless {rule}"] += 1
    return seen


def test_every_kind_is_tried() -> None:
    assert {kind.kind for kind in KINDS} == {*RULES}


@pytest.mark.parametrize("kind", RULES)
def test_the_guard_and_the_judge_agree(kind: str) -> None:
    seen = agree(kind, 8, random.Random(f"guard {kind}"))
    assert not [what for what in seen if what.startswith("hopeless") and kind in COMPLETE], seen
    assert seen["allowed"]


@pytest.mark.heavy
@pytest.mark.parametrize("kind", RULES)
def test_the_guard_and_the_judge_agree_on_many_prefixes(kind: str) -> None:
    seen = agree(kind, 60, random.Random(f"guard, many, {kind}"))
    assert not [what for what in seen if what.startswith("hopeless") and kind in COMPLETE], seen

"""The guard refuses a call exactly when the judge says that every continuation is wrong."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, product

import pytest

from synth.judge import Rules
from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet, judge_policies, load_policies
from synth.policies.kinds import KINDS
from synth.policies.online import Prefix
from tests.support.gapped_runs import RULES, SECOND, TOOLS, policy_file
from tests.support.soak import seeded, tell, tries

OFF = Rules(z3="off", repair=False)
COMPLETE = {
    "precedence", "absence_after", "count", "rate", "window", "weekdays", "adjacency", "gap", "overlap",
    "guard", "behaviour", "turn", "next_call", "times_before", "paired", "in_a_row", "variety",
    "timetable",
    "first_call", "against",
}  # fmt: skip
"""Kinds of which every call is refused after which no continuation is right.

Of an answer that is late the passing time broke the rule, and no call.
"""
EARLY = 8 * 3600 * SECOND
MORE: dict[str, tuple[str, ...]] = {
    "precedence": (
        "Verify or refund must happen before pay.",
        "Pay or refund must only happen after verify.",
    ),
    "response": ("Pay or refund must be followed by verify.",),
    "absence_after": (
        "Pay or refund must never happen after verify.",
        "If verify or refund fails, pay must never happen afterwards.",
        "Pay must never happen after verify fails with the same id.",
        "Any tool but refund must never happen after pay.",
    ),
    "between": (
        "Pay must never happen within 4 seconds after refund.",
        "Pay or refund must never happen between verify and look.",
        "If pay fails, refund must never happen until verify happens.",
    ),
    "count": ("Pay or refund must happen at most 2 times.", "Pay must happen at most twice."),
    "rate": (
        "Pay or refund must happen at most 2 times with the same id.",
        "Any tool must happen at most 4 times within 6 seconds.",
        "Any tool must happen at most 5 times per calendar day.",
    ),
    "total": (
        "The sum of args.amount of pay must not exceed 4 per run.",
        "The total args.amount of pay or refund must be at most 5 within 6 seconds with the same id.",
        "The total args.amount of pay or refund must be at most 6 per calendar day.",
    ),
    "adjacency": ("Verify must happen immediately after pay.", "Refund must happen right before pay."),
    "next_call": ("Pay or refund must be immediately followed by verify.",),
    "window": (
        "Pay must happen between 08:00 and 09:00.",
        "Refund must never happen before 09:00.",
    ),
    "gap": ("Refund must start at least 1 second after pay.",),
    "overlap": ("Pay and verify must not overlap refund.",),
    "turn": ("Any tool must be alone in its turn.",),
    "timetable": ("Pay or refund must never happen on Thursdays after 08:00.",),
    "weekdays": ("Pay or refund must never happen on weekends.", "Pay must happen on Thursday to Friday."),
    "guard": (
        "{calls: pay, check: \"last('verify', 'id', args.id) != null\"}",
        "{calls: pay, check: \"earlier('verify').exists(c, c.result.id == args.id)\"}",
        "{calls: [pay, refund], let: {seen: \"last_call('verify')\"}, when: seen != null,"
        " check: seen.args.amount < args.amount}",
    ),
    "provenance": ("{calls: pay, argument: id, from: [verify, refund]}",),
    "behaviour": ("(until look pay)", "(or (until verify pay) (until look refund))"),
}  # fmt: skip
"""Forms that the runs with gaps do not try, beside theirs."""
APPLYING = (
    "rule: Pay must happen at most once.",
    "rule: Verify must happen before pay.",
    "rule: Pay must never happen after verify.",
    "rule: Pay must happen at most once within 6 seconds.",
    "rule: Pay must happen between 08:00 and 09:00.",
    "rule: Verify must start at least 2 seconds after pay.",
    "rule: Pay and verify must not overlap.",
    "guard: {calls: pay, check: args.amount < 3}",
    "guard: {calls: pay, check: \"earlier('verify').exists(c, c.result.id == args.id)\"}",
)
"""Rules that are for runs with a certain call only: it may come after what they forbid."""


LIMITS = {
    "count": "limits: {calls: 6, per_tool: {pay: 2, refund: 3}}\n",
    "rate": "limits: {same_call: 2, per_tool: 3}\n",
}


def rules_of(kind: str) -> PolicySet:
    """All forms of a kind that are tried."""
    lines = [
        f"  - {{id: {kind}_more_{at}, {kind if text.startswith(('{', '(')) else 'rule'}: "
        f"{text if text.startswith(('{', '(')) else repr(text)}}}\n"
        for at, text in enumerate(MORE.get(kind, ()))
    ]
    file = policy_file(kind).replace("actions: {", "actions: {look: look, ", 1)
    return load_policies(LIMITS.get(kind, "") + file + "".join(lines))


def rules_for_some_runs() -> PolicySet:
    lines = [
        f"  - {{id: p_{at}_{name}, {rule}, applies: {{calls: {name}}}}}\n"
        for at, rule in enumerate(APPLYING)
        for name in ("refund", "verify")
    ]
    return load_policies("actions: {pay: pay, verify: verify, refund: refund}\npolicies:\n" + "".join(lines))


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
        # what time alone has broken: in the nanosecond itself another call may still begin
        before = {id_: str(said) for id_, said in self.prefix.standings(self.at + 1).items()}
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

    def short_ones(self, made: ToolCall, at: int) -> Iterator[Run]:
        """Ends with up to two more calls, or many of one, at once or spread; what runs ends well or not."""
        begun = replace(made, start=(at, at), finished=False)
        calls = [*(call for call in self.prefix.calls if call.start != (at, at)), begun]
        more = [
            ToolCall(None, tool, {"id": id_, "amount": 1}, with_text=False)
            for tool in TOOLS
            for id_ in (1, 2)
        ]
        words = [word for length in range(3) for word in product(more, repeat=length)]
        words += [(call,) * 4 for call in more]
        for word, failed, gap in product(words, ("none", "the last", "all"), (1, 4 * SECOND)):
            error = [
                "no" if failed == "all" or (failed == "the last" and call is begun) else None
                for call in calls
            ]
            done = [
                call if call.finished else over(call, at + (gap > 1) * k, error[k], 1)
                for k, call in enumerate(calls)
            ]
            now = at + len(calls) + 1
            for turn, call in enumerate(word, self.turn + 1):
                now += gap
                done.append(over(replace(call, start=(now, now), step=turn), now + 1, None, 1))
                now += 2
            yield Run("run", tuple(done), tools=TOOLS)


def over(call: ToolCall, at: int, error: str | None, number: int) -> ToolCall:
    result = None if error else {"id": number}
    return replace(call, result=result, error=error, end=(at, at), finished=True)


def verdicts(policies: PolicySet, run: Run) -> dict[str, str]:
    return {one.policy: one.verdict for one in judge_policies(policies, run, rules=OFF)}


def agree(policies: PolicySet, prefixes: int, r: random.Random) -> Counter[str]:
    """How often the guard refused, allowed, and where it allowed what nothing could mend."""
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
                    assert not wrong, (rule, wrong, story.prefix.calls, made)
                for rule in set(before) - refusing:
                    seen["allowed"] += 1
                    hopeless = before[rule] != "broken for good" and all(
                        one[rule] == "violated" for one in judged
                    )
                    if hopeless:
                        ends = chain(story.continuations(made, at, 30), story.short_ones(made, at))
                        if all(verdicts(policies, run)[rule] == "violated" for run in ends):
                            seen[f"hopeless {rule}"] += 1
    return seen


def test_every_kind_is_tried() -> None:
    assert {kind.kind for kind in KINDS} == {*RULES}


@pytest.mark.parametrize("kind", RULES)
def test_the_guard_and_the_judge_agree(kind: str) -> None:
    seen = agree(rules_of(kind), 8, random.Random(f"guard {kind}"))
    assert not [what for what in seen if what.startswith("hopeless") and kind in COMPLETE], seen
    assert seen["allowed"]


def test_the_guard_and_the_judge_agree_on_rules_for_some_runs() -> None:
    with seeded() as r:
        seen = agree(rules_for_some_runs(), tries(2000) + 20, r)
        tell("guard: rules for some runs", seen)
        assert not [what for what in seen if what.startswith("hopeless")], seen
        assert min(seen["refused"], seen["allowed"]) > 0


@pytest.mark.heavy
@pytest.mark.parametrize("kind", RULES)
def test_the_guard_and_the_judge_agree_on_many_prefixes(kind: str) -> None:
    with seeded() as r:
        seen = agree(rules_of(kind), tries(100_000) // len(RULES) + 1, r)
        tell(f"guard: {kind}", seen)
        assert not [what for what in seen if what.startswith("hopeless") and kind in COMPLETE], seen

"""An action with a condition is an action of its own: as if calls that do not meet it were of another tool.

`make soak` tries 50,000 pairs of a run and a sentence; other runs a fiftieth.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet, Rules, judge_policies, load_policies
from synth.policies.either_way import MOST_OPEN
from synth.policies.online import Prefix
from tests.support.soak import seeded, tell, tries

OFF = Rules(z3="off", repair=False)
FORMS = (
    "{} must happen before {}.",
    "{} must happen before {} with the same id.",
    "{} must be followed by {}.",
    "{} must be followed by {} within 5 seconds.",
    "{} must never happen.",
    "{} must never happen after {}.",
    "{} must never happen after {} with the same id.",
    "{} must never happen within 4 seconds after {}.",
    "{} must never happen between {} and {}.",
    "{} must never happen after {} until {}.",
    "{} must happen at most 2 times.",
    "{} must happen at most 1 time with the same id.",
    "{} must happen at most 1 time within 5 seconds.",
    "{} must happen exactly 1 time.",
    "{} must happen at least 1 time.",
    "The sum of args.id of {} must be at most 3.",
    "{} must happen immediately before {}.",
    "{} must start at least 3 seconds after {}.",
    "{} must not overlap {}.",
    "{} must be alone in its turn.",
    "{} must happen before 00:00:09.",
    "{} must not happen on Thursdays.",
    "If {} fails, {} must never happen afterwards.",
    "If {} fails, {} must follow.",
    "After every {}, {} must happen.",
)
FORMS = tuple(form.replace("00:00:09", "00:01") for form in FORMS)
CONDITIONS = (
    ("with amount over 2", lambda v: number(v, lambda n: n > 2)),
    ("of at most 2", lambda v: number(v, lambda n: n <= 2)),
    ("of 2 or more", lambda v: number(v, lambda n: n >= 2)),
    ("whose amount is under 3", lambda v: number(v, lambda n: n < 3)),
    ("with an amount other than 2", lambda v: named(v, lambda t: t != "2")),
    ("with an amount of 3", lambda v: named(v, lambda t: t == "3")),
    ("with an amount between 2 and 3", lambda v: number(v, lambda n: 2 <= n <= 3)),
    ('with amount "3"', lambda v: text(v, lambda t: t == "3")),
    ('whose amount is not "3"', lambda v: text(v, lambda t: t != "3")),
    ("where the amount is missing", lambda v: None if v is UNKNOWN else v is MISSING),
    ("with amount a multiple of 2", lambda v: number(v, lambda n: n % 2 == 0)),
    ('with amount starting with "3"', lambda v: text(v, lambda t: t.startswith("3"))),
    ("with amount under 1 characters", lambda v: text(v, lambda t: len(t) < 1)),
)  # fmt: skip
MISSING, UNKNOWN = object(), object()


def number(value: Any, holds: Any) -> bool | None:
    return holds(value) if isinstance(value, int) else None


def named(value: Any, holds: Any) -> bool | None:
    """A value without quotes: a number and its text are one name."""
    return None if value in (MISSING, UNKNOWN) else holds(str(value))


def text(value: Any, holds: Any) -> bool | None:
    return holds(value) if isinstance(value, str) else None


@dataclass(frozen=True)
class Said:
    """A sentence with conditions, and the same of tools that are told apart by their names."""

    sentence: str
    asked: PolicySet
    apart: PolicySet
    slots: tuple[tuple[str, int | None], ...]
    """Tool and condition of each."""


def said(r: random.Random) -> Said:
    """A sentence that is read: `of at most 2 within 5 seconds` may be one of them, or all together."""
    while True:
        try:
            return one_said(r)
        except BadInput as bad:
            if not re.search(r"(?:at most 2|or more) within 5 seconds", bad.message):
                raise


def one_said(r: random.Random) -> Said:
    form = r.choice(FORMS)
    slots = [(r.choice("ab"), r.choice([None, *range(len(CONDITIONS))])) for _ in range(form.count("{}"))]
    if all(condition is None for _, condition in slots):
        slots[0] = (slots[0][0], r.randrange(len(CONDITIONS)))
    words = [{"a": "pay", "b": "ship"}[t] + ("" if c is None else f" {CONDITIONS[c][0]}") for t, c in slots]
    names = [f"slot{k}" for k in range(len(slots))]
    asked, plain = form.format(*words), form.format(*names)
    asked = asked[0].upper() + asked[1:]
    tools = {
        name: [f"{tool}{bits}" for bits in patterns(slots) if condition is None or bits[k] == "1"]
        for k, (name, (tool, condition)) in enumerate(zip(names, slots, strict=True))
    }
    head = "".join(f"  {name}: {own}\n" for name, own in tools.items())
    return Said(
        asked,
        load_policies(f"actions: {{pay: a, ship: b}}\npolicies:\n- id: P\n  rule: {asked!r}\n"),
        load_policies(f"actions:\n{head}policies:\n- id: P\n  rule: {plain!r}\n"),
        tuple(slots),
    )


def patterns(slots: Any) -> list[str]:
    return ["".join(bits) for bits in product("01", repeat=len(slots))]


def some_run(r: random.Random, doubtful: float) -> Run:
    count = r.randint(0, 6)
    instants = r.sample(range(1, 20), 2 * count)
    calls = []
    for k in range(count):
        start, end = sorted(instants[2 * k : 2 * k + 2])
        value = r.choice((1, 2, 3, 4))
        if r.random() < doubtful:
            value = r.choice((MISSING, UNKNOWN, "3", "x"))
        given = {"id": r.choice((1, 1, 2)), **({} if value is MISSING else {"amount": value})}
        if value is UNKNOWN:
            given["amount"] = "\ufffd"
        calls.append(
            ToolCall(
                None, r.choice("aabbc"), given, error=r.choice((None, None, None, "no")),
                start=(start * 10**9,) * 2, end=(end * 10**9,) * 2, step=r.randint(0, 3), with_text=False,
                partly={"arguments": "absent"} if value is UNKNOWN else {},
            )
        )  # fmt: skip
    return Run("run", tuple(sorted(calls, key=lambda call: call.start or (0, 0))), status="ok")


def value_in(call: ToolCall) -> Any:
    given = call.arguments or {}
    return UNKNOWN if call.partly else given.get("amount", MISSING)


def worlds(said: Said, run: Run) -> list[Run] | None:
    """The run with other names for tools, in each way in which what is open may be; None of too many."""
    asked = sorted({c for _, c in said.slots if c is not None})
    answers = {(c, i): CONDITIONS[c][1](value_in(call)) for c in asked for i, call in enumerate(run.calls)}
    tools = {c: {tool for tool, own in said.slots if own == c} for c in asked}
    open_ = [(c, i) for (c, i), known in answers.items() if known is None and run.calls[i].tool in tools[c]]
    if len(open_) > MOST_OPEN:
        return None
    return [renamed(said, run, {**answers, **dict(zip(open_, way, strict=True))})
            for way in product((False, True), repeat=len(open_))]  # fmt: skip


def renamed(said: Said, run: Run, answers: dict[tuple[int, int], bool | None]) -> Run:
    def name(i: int, call: ToolCall) -> str:
        bits = (own == call.tool and (c is None or answers[c, i] is True) for own, c in said.slots)
        return call.tool + "".join("01"[bit] for bit in bits) if call.tool in "ab" else call.tool

    return replace(run, calls=tuple(replace(call, tool=name(i, call)) for i, call in enumerate(run.calls)))


def verdict(policies: PolicySet, run: Run) -> str:
    return judge_policies(policies, run, rules=OFF)[0].verdict


def expected(said: Said, run: Run) -> str:
    ways = worlds(said, run)
    found = {"undecided"} if ways is None else {verdict(said.apart, way) for way in ways}
    return found.pop() if len(found) == 1 else "undecided"


def refusals(policies: PolicySet, run: Run) -> list[bool]:
    """Which calls a guard refuses of a run that goes on whatever it says."""
    prefix, places, found = Prefix(policies), {}, []
    events = [
        (edges[0], ends, k)
        for k, call in enumerate(run.calls)
        for ends, edges in enumerate((call.start, call.end))
        if edges is not None
    ]
    for at, ends, k in sorted(events):
        call = run.calls[k]
        if ends:
            prefix.ended(places[k], None, call.error, at)
        else:
            found.append(prefix.would(call, at).refused)
            places[k] = prefix.began(call, at)
    return found


@pytest.mark.parametrize("doubtful", [0.0, 0.3])
def test_a_condition_means_that_other_calls_are_of_other_tools(doubtful: float) -> None:
    seen = Counter[str]()
    with seeded() as r:
        for _ in range(tries(1000)):
            one = said(r)
            for _ in range(25):
                run = some_run(r, doubtful)
                wanted = expected(one, run)
                assert (verdict(one.asked, run), one.sentence, run) == (wanted, one.sentence, run)
                seen[wanted] += 1
    assert len(seen) > 2
    tell(f"conditions, {doubtful:.0%} of values in doubt", seen)


@pytest.mark.parametrize("doubtful", [0.0, 0.3])
def test_a_guard_asks_what_the_call_is_given(doubtful: float) -> None:
    seen = Counter[str]()
    with seeded() as r:
        for _ in range(tries(1000)):
            one = said(r)
            for _ in range(5):
                run = some_run(r, doubtful)
                ways = [refusals(one.apart, way) for way in worlds(one, run) or ()]
                wanted = [all(way) for way in zip(*ways, strict=True)]
                found = refusals(one.asked, run)
                assert not ways or all(w for f, w in zip(found, wanted, strict=True) if f), (
                    one.sentence,
                    run,
                )
                assert len(ways) != 1 or found == wanted, (one.sentence, run)
                seen["refused"] += sum(found)
                seen["allowed"] += len(found) - sum(found)
    tell(f"conditions in a guard, {doubtful:.0%} of values in doubt", seen)

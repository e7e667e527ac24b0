"""Runs with values in their calls, and the same runs after values were cut, hashed or left out."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pdoctor_trace.capture import Capture
from pdoctor_trace.values import Truncated
from synth.observed.run import Run, ToolCall

SECOND = 10**9
TOOLS = ("pay", "verify", "refund")
ACTIONS = "actions: {pay: pay, verify: verify, refund: refund}\n"
RULES: dict[str, tuple[str, ...]] = {
    "precedence": (
        "Verify must happen before pay with the same id.",
        "Verify must happen before pay and refund with the same note.",
        "Verify must happen before pay with the same to.",
    ),
    "gap": ("Pay must start within 4 seconds after verify with the same id.",),
    "response": (
        "Pay must be followed by verify with the same id.",
        "Refund must be followed by pay with the same to.",
    ),
    "next_call": (
        "Pay must be immediately followed by verify with the same id.",
        "Refund must be immediately followed by pay with the same to.",
    ),
    "rate": (
        "Pay must happen at most 1 time with the same id.",
        "Pay and refund must happen at most 2 times within 1 hour with the same to.",
        "Pay must happen at most 1 time per calendar day with the same id.",
    ),
    "times_before": (
        "Verify must happen at least 2 times before pay with the same id.",
        "Verify must happen at least 2 times before pay with different note.",
        "Verify must happen at most once before pay with the same to.",
        "Pay must never happen after verify succeeds twice with the same id.",
    ),
    "paired": (
        "Pay must not happen more often than verify with the same id.",
        "Refund must not happen more often than pay with the same to.",
    ),
    "as_often": (
        "Pay must happen as often as verify with the same id.",
        "Pay must happen as often as refund with the same to.",
    ),
    "in_a_row": (
        "Pay must happen at most once in a row with the same id.",
        "Pay must fail at most once in a row with the same to.",
    ),
    "failure_first": ("Pay must fail before refund with the same id.",),
    "after_failures": (
        "If pay fails 2 times, refund must follow with the same id.",
        "If pay fails 2 times in a row, refund must never happen with the same id.",
    ),
    "overlap": (
        "Pay must not overlap each other with the same id.",
        "Pay must not overlap verify with the same to.",
        "Pay must not start while verify runs with the same id.",
    ),
    "variety": (
        "Pay must happen with at most 1 different id.",
        "Pay must happen with at least 2 different note.",
        "Pay must happen with at most 1 different id with the same to.",
    ),
    "against": (
        "The amount of pay must be at most the amount of verify.",
        "The note of refund must equal the note of pay with the same id.",
    ),
    "total": (
        "The sum of args.amount of pay must be at most 5.",
        "The sum of args.amount of refund must be at most 4 with the same id.",
    ),
    "guard": (
        "{calls: pay, check: 'args.amount < 4'}",
        "{calls: pay, check: \"args.amount < 4 || args.note == 'gift'\"}",
        "{calls: pay, check: \"!has(args.note) || args.note.startsWith('g')\"}",
        "{calls: pay, check: \"args.note.contains('i') && args.amount > 1\"}",
        "{calls: pay, check: \"args.to.exists(t, t == 'bob') || args.amount in [1, 2]\"}",
        "{calls: pay, check: \"'bob' in args.to || size(args.to) == 0\"}",
        "{calls: pay, check: \"args.to.all(t, t != 'eve')\"}",
        "{calls: pay, check: \"last('verify') != null\"}",
        "{calls: pay, check: \"last('verify').id == args.id\"}",
        "{calls: pay, when: \"last('verify') != null\","
        " check: \"last('verify').items.exists(i, i.id == args.id)\"}",
        "{calls: pay, check: \"size(earlier(['pay', 'refund'], 'id', args.id)) == 0\"}",
        "{calls: pay, check: \"last('verify', args.id) != null\"}",
        "{calls: pay, check: \"earlier('verify').all(c, c.args.amount < 4)\"}",
        "{calls: pay, let: {seen: \"earlier('verify').filter(c, has(c.result.id))\"},"
        " check: 'size(seen) < 2'}",
        "{calls: [pay, refund], check: \"args.to == last('verify').to\"}",
        "{calls: pay, check: \"args.to.map(t, size(t)).all(n, n == 3) ? args.amount < 5 : true\"}",
    ),
    "provenance": (
        "{calls: pay, argument: id, from: verify}",
        "{calls: pay, argument: amount, from: verify}",
        "{calls: [pay, refund], argument: 'to[]', from: [verify, pay]}",
        "{calls: pay, argument: note, from: verify}",
        "{calls: pay, argument: id, from: verify, in: 'items[].id'}",
        "{calls: pay, argument: id, from: verify, in: places}",
    ),
    "contract": (
        "{initial: [], tools: {pay: {requires: 'ok {id}'}, verify: {provides: 'ok {id}'}}}",
        "{initial: ['ok A-1'], tools: {pay: {requires: 'ok {id}', clears: 'ok {id}'},"
        " verify: {provides: 'ok {id}'}}}",
        "{initial: [], tools: {verify: {provides: p, when: 'args.amount > 1'}, pay: {requires: p}}}",
        "{initial: [], tools: {verify: {provides: p, when: \"result.id == 'A-1'\"}, pay: {requires: p}}}",
        "{initial: [], tools: {pay: {check: 'args.amount < 4'}, refund: {args: [id, amount, note, to]}}}",
    ),
}  # fmt: skip

IDS = ("A-1", "A-12", "B-2", 7, "7", 12)


def some_arguments(r: random.Random) -> dict[str, Any]:
    said: dict[str, Any] = {"id": r.choice(IDS), "amount": r.choice((1, 2.0, 3, 4, 7))}
    if r.random() < 0.8:
        said["note"] = r.choice(("gift", "gift for bob", "rent", ""))
    if r.random() < 0.9:
        said["to"] = r.sample(("bob", "eve", "ada"), r.randint(0, 3))
    return said


def some_result(r: random.Random) -> Any:
    kind = r.randint(0, 4)
    if kind == 0:
        return f"Order {r.choice(IDS)} of {r.choice(('bob', 'eve'))}: {r.choice(IDS)} is a gift."
    if kind == 1:
        return [r.choice(IDS) for _ in range(r.randint(0, 4))]
    if kind == 2:
        return json.dumps({"id": r.choice(IDS), "to": ["bob"], "places": {"A-1": {"n": 1}}})
    items = [{"id": r.choice(IDS), "n": r.randint(1, 9)} for _ in range(r.randint(0, 3))]
    return {"id": r.choice(IDS), "items": items, "to": r.sample(("bob", "eve"), r.randint(0, 2))}


def complete_run(r: random.Random) -> Run:
    """One run of which everything is known."""
    calls = []
    at = 0
    for _ in range(r.randint(1, 6)):
        at += r.choice((1, 2)) * SECOND
        lasted = r.choice((0, 1, 3)) * SECOND
        calls.append(
            ToolCall(
                None,
                r.choice(TOOLS),
                some_arguments(r),
                result=some_result(r),
                error=r.choice((None, None, None, "no")),
                start=(at, at),
                end=(at + lasted, at + lasted),
            )
        )
    return Run("r", tuple(calls), tools=TOOLS)


Loss = Callable[[str, Any], tuple[Any, str | None]]
"""(field, value) -> what is left of the value, and why it is not all."""


def losses(r: random.Random) -> list[Loss]:
    """Ways in which values are lost on the way: our tracer's, and a limit that cuts JSON text."""
    limit = r.randint(3, 70)
    cutting, hashing = Capture("full", limit), Capture("shape", hash_key="shared")

    def cut(name: str, value: Any) -> tuple[Any, str | None]:
        text = getattr(cutting, name if name == "arguments" else "result")(value)
        return json.loads(text), "cut" if isinstance(text, Truncated) else None

    def cut_text(name: str, value: Any) -> tuple[Any, str | None]:
        text = value if isinstance(value, str) else json.dumps(value)
        return (text[:limit], "cut") if len(text) > limit else (value, None)

    def hashed(name: str, value: Any) -> tuple[Any, str | None]:
        return json.loads(getattr(hashing, name)(value)), "hashed"

    def left_out(name: str, value: Any) -> tuple[Any, str | None]:
        return None, "absent"

    return [cut, cut_text, hashed, left_out]


def with_loss(call: ToolCall, name: str, loss: Loss) -> ToolCall:
    """The call after one of its two values went through a loss."""
    value, why = loss(name, getattr(call, name))
    if why is None:
        return replace(call, **{name: value})  # type: ignore[arg-type]
    partly: Any = {**call.partly, name: why}
    return replace(call, partly=partly, hash_key="k" if why == "hashed" else call.hash_key, **{name: value})  # type: ignore[arg-type]


def with_losses(run: Run, r: random.Random) -> Run:
    """The run with some values lost, each in one of the ways."""
    ways = losses(r)
    often = r.choice((0.15, 0.5, 1.0))
    calls = list(run.calls)
    for i, call in enumerate(calls):
        for name in ("arguments", "result"):
            if r.random() < often:
                call = with_loss(call, name, r.choice(ways))
        calls[i] = call
    return replace(run, calls=tuple(calls))


def unmarked(run: Run) -> Run:
    """The same without a word about what was lost."""
    return replace(run, calls=tuple(replace(call, partly={}, hash_key=None) for call in run.calls))

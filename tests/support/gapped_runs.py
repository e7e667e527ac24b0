"""Runs with calls taken out, and every way in which somebody could put some back."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from synth.observed.run import Interval, Run, ToolCall, Unseen

SECOND = 10**9
TOOLS = ("pay", "verify", "refund", "look")
"""`look` is in no rule."""

ACTIONS = "actions: {pay: pay, verify: verify, refund: refund, any tool: '*'}\n"
RULES: dict[str, tuple[str, ...]] = {
    "precedence": (
        "Verify must happen before pay.",
        "Verify must happen before any tool.",
        "Verify must happen before pay and refund.",
        "Verify must happen before pay with the same id.",
    ),
    "response": (
        "Pay must be followed by verify.",
        "Pay must be followed by refund within 4 seconds.",
        "Pay must be followed by verify with the same id.",
        "If pay fails, verify must follow.",
        "A failed pay must be followed by refund within 4 seconds.",
        "If pay fails, it must be tried again within 4 seconds.",
        "If pay fails, verify must be tried again with the same id.",
    ),
    "absence_after": (
        "Pay must never happen after verify.",
        "Any tool must not happen after refund.",
        "Pay must never happen after pay.",
        "If verify fails, pay must never happen afterwards.",
        "Pay must never happen within 3 seconds after verify.",
        "Pay must never happen within 4 seconds after refund fails.",
        "Pay must never happen after verify with the same id.",
        "Any tool but pay must never happen after verify.",
        "Any tool but verify or pay must never happen within 3 seconds after refund.",
    ),
    "between": (
        "Pay must never happen between verify and refund.",
        "Any tool must never happen between verify and refund.",
        "Pay must never happen between verify and refund with the same id.",
        "Pay must never happen after verify until refund.",
        "If verify fails, pay must never happen until verify succeeds.",
        "Pay must never happen after refund until verify with the same id.",
    ),
    "count": (
        "Pay must happen at most 1 time.",
        "Pay must never happen.",
        "Pay and verify must happen at least 1 time.",
        "Pay must happen exactly 1 time.",
        "Verify must happen exactly 2 times.",
        "Refund must happen at least 3 times.",
        "Pay must fail at most once.",
        "Pay must succeed at most once.",
        "Refund must never fail.",
    ),
    "rate": (
        "Pay must happen at most 1 time within 3 seconds.",
        "Pay and verify must happen at most 2 times within 5 seconds.",
        "Pay must happen at most 1 time with the same id.",
        "Refund must happen at most 1 time within 4 seconds with the same id.",
        "Pay must succeed at most 1 time within 4 seconds.",
        "Refund must fail at most 1 time with the same id.",
        "Pay must happen at most 2 times per calendar day.",
    ),
    "total": (
        "The sum of args.amount of pay must be at most 2.",
        "The sum of args.amount of pay must be at most 3 within 5 seconds.",
        "The sum of args.amount of refund must be at most 2 with the same id.",
        "The sum of args.amount of refund must be at most 2 per calendar day.",
    ),
    "times_before": (
        "Verify must happen at least 2 times before pay.",
        "Verify must happen at least 2 times before pay with different id.",
        "Verify must happen at least twice before pay with the same id.",
        "Verify must happen at most 1 time before pay.",
        "Refund must happen at most once before verify with the same id.",
        "If pay fails twice, refund must never happen.",
        "Pay must never happen after verify succeeds 2 times with the same id.",
    ),
    "paired": (
        "Pay must not happen more often than verify.",
        "Refund must not happen more often than pay with the same id.",
    ),
    "as_often": (
        "Pay must happen as often as verify.",
        "Refund must happen as often as pay.",
        "Refund must happen as often as pay with the same id.",
    ),
    "in_a_row": (
        "Pay must happen at most once in a row.",
        "Pay must happen at most once in a row with the same id.",
        "Pay or verify must fail at most once in a row.",
        "Verify must fail at most once in a row with the same id.",
    ),
    "variety": (
        "Pay must happen with at most 1 different id.",
        "Pay must happen with at least 2 different amount.",
        "Pay must happen for at most 1 different amount with the same id.",
    ),
    "duration": (
        "Pay must take at most 2 seconds.",
        "Pay and verify must take at most 1 second.",
        "Pay must take less than 2 seconds.",
    ),
    "first_call": ("The first call must be verify.", "The first call must be pay or refund."),
    "last_call": (
        "The last call must be verify.",
        "The last call must be pay or refund.",
        "If pay happens, the last call must be verify.",
        "If verify or refund happens, the last call must be pay.",
    ),
    "against": (
        "The amount of pay must be at most the amount of verify.",
        "The amount of pay must equal the amount of verify with the same id.",
        "The id of refund must differ from that of pay.",
    ),
    "adjacency": (
        "Verify must happen immediately before pay.",
        "Pay must happen immediately after refund.",
        "Verify must happen immediately before pay with the same id.",
    ),
    "next_call": (
        "Pay must be immediately followed by verify.",
        "Pay must be immediately followed by verify with the same id.",
        "If pay fails, the next call must be refund.",
        "Any tool must be immediately followed by verify.",
    ),
    "window": ("Pay must happen before 09:00.", "Pay must happen after 09:00."),
    "gap": (
        "Pay must start within 4 seconds after verify.",
        "Pay must start within 4 seconds after verify with the same id.",
        "Pay must start at least 3 seconds after verify.",
        "Pay must start within 2 seconds of verify.",
        "Pay must start within 2 seconds before verify.",
    ),
    "failure_first": (
        "Verify must fail before pay.",
        "Verify must fail before any tool.",
        "Pay must fail before refund with the same id.",
    ),
    "after_failures": (
        "If pay fails 2 times, refund must follow.",
        "If pay fails once, refund must follow.",
        "If verify fails once in a row, pay must never happen.",
        "If pay fails 2 times, refund must follow with the same id.",
        "If pay fails 2 times in a row, refund must follow within 4 seconds.",
        "If pay fails 2 times in a row, pay must never happen.",
        "Refund must never happen after pay fails twice in a row with the same id.",
    ),
    "overlap": (
        "Pay must not overlap verify.",
        "Pay must not overlap each other.",
        "Pay must not overlap each other with the same id.",
        "Pay must not start while verify runs.",
    ),
    "turn": ("Pay must be alone in its turn.", "Pay and refund must be alone in their turn."),
    "weekdays": ("Pay must never happen on Thursdays.", "Pay and verify must happen on weekdays."),
    "timetable": (
        "Pay must never happen on Thursdays before 09:00.",
        "Pay and verify must happen on weekdays between 08:00 and 09:00.",
    ),
    "guard": (
        "{calls: pay, check: args.amount < 3}",
        "{calls: pay, check: \"last('verify') != null\"}",
        "{calls: pay, when: \"size(earlier('*')) > 1\", check: args.amount < 3}",
        "{calls: pay, check: call.index < 3}",
        "{calls: [pay, refund], check: \"size(earlier(['pay', 'refund'], 'id', args.id)) == 0\"}",
    ),
    "provenance": (
        "{calls: pay, argument: id, from: verify}",
        "{calls: [pay, refund], argument: id, from: [verify, pay], in: id}",
    ),
    "contract": (
        "{initial: [], tools: {pay: {requires: p}, verify: {provides: p}}}",
        "{initial: [p], tools: {pay: {requires: p, clears: p}, verify: {provides: p},"
        " refund: {requires: not p}}}",
        "{initial: [], closed: true, tools: {pay: {}, verify: {}, refund: {}}}",
        "{initial: [], goal: [paid], tools: {pay: {provides: paid}, verify: {args: [id]}}}",
        "{initial: [], on_violation: skip, tools: {pay: {requires: p, provides: q}, verify: {provides: p},"
        " refund: {requires: q}}}",
        "{initial: [p], tools: {pay: {requires: p, check: args.amount < 3}}}",
    ),
    "behaviour": (
        "(until pay verify)",
        "(next verify pay)",
        "(until (or pay verify look) refund)",
        "(or (next pay pay) (next pay verify refund))",
    ),
}  # fmt: skip


def policy_file(kind: str) -> str:
    """All rules of a kind; their ids are `KIND_0`, `KIND_1`, ..."""
    lines = [
        f"  - {{id: {kind}_{at}, {kind if text.startswith(('{', '(')) else 'rule'}: {_quoted(text)}}}\n"
        for at, text in enumerate(RULES[kind])
    ]
    return f"{ACTIONS}policies:\n{''.join(lines)}"


def _quoted(text: str) -> str:
    return text if text.startswith(("{", "(")) else repr(text)


def complete_run(r: random.Random) -> Run:
    """One run of which everything is known."""
    timed = r.random() < 0.8
    calls: list[ToolCall] = []
    at = 8 * 3600 * SECOND + r.choice((0, 3595 * SECOND))
    turn = 0
    for _ in range(r.randint(0, 7)):
        at += r.choice((0, 1, 1, 2, 5)) * SECOND
        turn += r.random() < 0.6
        calls.append(_some_call(r, at if timed else None, turn))
    tools = r.choice((None, TOOLS, tuple(dict.fromkeys(call.tool for call in calls)) or ("look",)))
    return Run("r", tuple(calls), tools=tools)


def _some_call(r: random.Random, start: int | None, turn: int) -> ToolCall:
    lasted = r.choice((0, 1, 1, 3, 6)) * SECOND
    number = r.randint(1, 3)
    return ToolCall(
        None,
        r.choice(TOOLS),
        _arguments(r, number),
        result={"id": r.randint(1, 2)},
        error=r.choice((None, None, None, "no")),
        start=None if start is None else (start, start),
        end=None if start is None else (start + lasted, start + lasted),
        step=turn,
        with_text=False,
    )


def blurred(run: Run, r: random.Random) -> Run:
    """The run where some instants are known only within bounds."""

    def blur(at: Interval | None) -> Interval | None:
        early, late = r.choice((0, 0, SECOND)), r.choice((0, 0, SECOND, 3 * SECOND))
        return None if at is None else (at[0] - early, at[1] + late)

    return replace(
        run, calls=tuple(replace(call, start=blur(call.start), end=blur(call.end)) for call in run.calls)
    )


def _arguments(r: random.Random, amount: int, ids: Sequence[int] = (1, 2)) -> dict[str, int]:
    """One call in eight lacks its `id`."""
    return {"amount": amount} if r.random() < 0.125 else {"id": r.choice(ids), "amount": amount}


def without(run: Run, gone: Sequence[int]) -> Run:
    """The run without these calls, as a reader of numbered spans sees it."""
    kept = [i for i in range(len(run.calls)) if i not in gone]
    place = {i: k for k, i in enumerate(kept)}
    gaps: list[Unseen] = []
    for i in sorted(gone):
        after = place.get(max((k for k in kept if k < i), default=-1))
        before = place.get(min((k for k in kept if k > i), default=-1))
        if gaps and (gaps[-1].after, gaps[-1].before) == (after, before):
            gaps[-1] = replace(gaps[-1], calls=(gaps[-1].calls or 0) + 1)
        else:
            gaps.append(Unseen("a hole", after, before, 1))
    return replace(
        run, calls=tuple(run.calls[i] for i in kept), problems=("a hole",) if gone else (), unseen=tuple(gaps)
    )


def unanswered(run: Run, marked: Sequence[int], r: random.Random | None = None) -> Run:
    """The run where nobody knows whether these calls ran; with `r`, some were asked for before they began."""
    calls = [_asked(call, r) if i in marked else call for i, call in enumerate(run.calls)]
    if r is not None and not all(call.start for call in calls):
        for i in marked:
            calls.insert(r.randint(max(0, i - 2), i), calls.pop(i))
    return replace(run, calls=tuple(calls))


def ran_only(run: Run, ran: Callable[[int], bool]) -> Run:
    """The run where only these calls ran."""
    return replace(run, calls=tuple(replace(call, executed=ran(i)) for i, call in enumerate(run.calls)))


def _asked(call: ToolCall, r: random.Random | None) -> ToolCall:
    start = call.start
    if start is not None and r is not None:
        sooner = r.choice((0, 0, SECOND, 3 * SECOND))
        start = (start[0] - sooner, start[0] - sooner)
    return replace(call, executed=None, result=None, error=None, start=start, end=start, finished=True)


def worlds(run: Run, r: random.Random, number: int) -> Iterator[Run]:
    """Runs that the evidence allows: each gap filled with calls that may have been there."""
    for _ in range(number):
        calls = list(enumerate(run.calls))
        for gap in run.unseen:
            for _ in range(gap.calls or 0):
                if made := _unseen_call(run, gap, r):
                    at = -1 if gap.after is None else gap.after
                    calls.append((at + r.random(), made))  # type: ignore[arg-type]
        timed = all(call.start for _, call in calls)
        ordered = sorted(calls, key=(lambda c: (c[1].start or (0, 0), c[0])) if timed else (lambda c: c[0]))
        yield replace(run, calls=tuple(call for _, call in ordered), problems=(), unseen=())


def _unseen_call(run: Run, gap: Unseen, r: random.Random) -> ToolCall | None:
    """None: what was not seen never ran."""
    tool = r.choice(run.tools or TOOLS)
    timed = all(call.start for call in run.calls) and bool(run.calls)
    first = run.calls[gap.after] if gap.after is not None else None
    last = run.calls[gap.before] if gap.before is not None else None
    turns = (first.step if first else 0, last.step if last else 99)
    made = replace(
        _some_call(r, _instant(first, last, run, r) if timed else None, 0),
        tool=tool,
        step=r.choice((turns[0], turns[1], ((turns[0] or 0) + (turns[1] or 0)) / 2)),  # type: ignore[arg-type]
        with_text=r.random() < 0.2,
        arguments=_arguments(r, r.randint(1, 3), (1, 2, 7)),
    )
    return None if r.random() < 0.15 else made


def _instant(first: ToolCall | None, last: ToolCall | None, run: Run, r: random.Random) -> int:
    edges = [edge[0] for call in run.calls for edge in (call.start, call.end) if edge]
    lo = first.start[0] if first and first.start else min(edges) - 20 * SECOND
    hi = last.start[0] if last and last.start else max(edges) + 20 * SECOND
    near = [edge + shift for edge in edges for shift in (-SECOND // 2, 0, SECOND // 2)]
    return r.choice([lo, hi, (lo + hi) // 2, *(at for at in near if lo <= at <= hi)])

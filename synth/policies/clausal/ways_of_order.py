"""The ways to say what comes next, how such a run ends, and what may alone be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from synth.policies.clausal.meaning import Meaning
from synth.policies.clausal.parts import ANY

Way = Callable[[Meaning], str | None]


def needs(kind: str) -> Way:
    """No action is needed before itself."""
    return lambda m: f"{m.b(kind)} must happen before {m.a}" if m.b(kind) != m.a else None


def not_before(m: Meaning) -> str | None:
    """`No A before B` needs B; `do not do A before B` may be said of runs with a B alone."""
    fact = m.of("before").fact
    if fact is None or m.later or (m.demand.how == "do not" and fact.aspect not in ("perfect", "present")):
        return None
    if {e.action for e in m.demand.events} == {ANY} and fact.aspect == "noun":
        return f"The first call must be {m.b('before')}"
    return needs("before")(m)


def needs_to(kind: str, *, first: bool = False) -> Way:
    """`To do B, do A`: of what is only said to be done, A is needed before it where that is said.

    `first`: it is said already, as in `if B is to be done, A must have been done`.
    """

    def way(m: Meaning) -> str | None:
        adjunct = m.of(kind)
        told = first or m.has("first") or adjunct.said == "purpose"
        done = adjunct.fact is not None and adjunct.fact.aspect in ("perfect", "not", "running", "fails")
        return needs_for(kind)(m) if told and not done and not m.later else None

    return way


def needs_for(kind: str) -> Way:
    return lambda m: f"{m.a} must happen before {m.b(kind)}"


def next_no_sooner(kind: str) -> Way:
    """`If a payout fails, wait 5 minutes before sending the next one`: another of the same action."""
    after = "{} fails" if kind == "failed" else "{}"

    def way(m: Meaning) -> str | None:
        before = m.b(kind)
        said = f"{m.a} must never happen within {m.demand.how} after {after.format(before)}"
        return said if before == m.a else None

    return way


def perfect(m: Meaning, kind: str) -> bool:
    fact = m.of(kind).fact
    return fact is not None and fact.aspect == "perfect"


def if_perfect(way: Way) -> Way:
    return lambda m: way(m) if perfect(m, "if") else None


def next_after(kind: str) -> Way:
    """`Right after B, A must happen`; with `right after B` behind, each A may need a B directly before it."""
    return lambda m: (
        f"{m.b(kind)} must be immediately followed by {m.a}" if m.of(kind).leads and not m.later else None
    )


def directly_before(m: Meaning) -> str:
    """`A must come right after B`: what stands directly before each A."""
    return f"{m.b('straight after')} must happen immediately before {m.a}"


def in_turn(m: Meaning) -> str:
    one, two = (m.named([event], "") for event in m.demand.events)
    return f"{one} must happen before {two}, and {two} must happen before {m.e}"


def last_if(kind: str) -> Way:
    """`If a card was charged, the last call must be an invoice`, of one of them alone."""

    def way(m: Meaning) -> str | None:
        fact = m.of(kind).fact
        if fact is None or (fact.joint == "and" and len(fact.events) > 1):
            return None
        return f"If {m.b(kind)} happens, the last call must be {m.a}"

    return way


def last_if_so(m: Meaning) -> str:
    """`The last call, if it happens at all`."""
    return f"If {m.a} happens, the last call must be {m.a}"


def only_these(kind: str) -> Way:
    """`Only A may happen after B`, `after B, A is allowed, nothing else`."""
    return lambda m: f"any tool but {_free(m)} must never happen after {m.b(kind)}"


def _free(m: Meaning) -> str:
    """What alone is allowed: each of several."""
    return m.named(m.demand.others or m.demand.events, "or")


def till_then_only(kind: str, *, leads: bool = False) -> Way:
    """`Until B, only A may be called`: B is needed before any other call.

    `leads`: behind `the agent may only A`, `until B` says when that is allowed.
    """

    def way(m: Meaning) -> str | None:
        adjunct = m.of(kind)
        if m.later or (leads and not adjunct.leads):
            return None
        return f"{m.b(kind)} must happen before any tool but {_free(m)}"

    return way


_TILL = ("before", "until", "unless")
TILL_THEN: Mapping[tuple[str, ...], Way] = {(kind,): till_then_only(kind) for kind in _TILL}


def _only_after_failure(m: Meaning) -> str:
    """`After a failed migration only a health check is allowed`."""
    return f"If {m.b('failed')} fails, any tool but {_free(m)} must never happen afterwards"


def then_only(kind: str) -> Way:
    """`After B the agent may only A`; behind it, `only after B` is meant."""
    return lambda m: only_these(kind)(m) if m.of(kind).leads else None


def then_next(kind: str) -> Way:
    """`After B, A before anything else`: it is the next call."""
    return lambda m: f"{m.b(kind)} must be immediately followed by {m.a}" if m.of(kind).leads else None


def none_before(kind: str) -> Way:
    """`After B, nothing may happen before A`."""

    def way(m: Meaning) -> str | None:
        nothing = {e.action for e in m.demand.events} == {ANY}
        said = f"{m.b(kind)} must be immediately followed by {m.b('before')}"
        return said if nothing and m.of(kind).leads and m.b(kind) != m.b("before") else None

    return way


def later_only(way: Way) -> Way:
    """`B: only A afterwards`; without a word for later it is not known when."""
    return lambda m: way(m) if m.later or m.demand.how == "again" or m.has("from then") else None


def between(m: Meaning) -> str | None:
    """`Nothing between A and the B that follows` says more: what is the next call."""
    adjunct = m.of("between")
    assert adjunct.fact is not None
    assert adjunct.until is not None
    if adjunct.said == "next" and m.a == "any tool":
        return None
    both = [m.named(fact.events, fact.joint) for fact in (adjunct.fact, adjunct.until)]
    return f"{m.a} must never happen between {both[0]} and {both[1]}"


def from_until(m: Meaning) -> str | None:
    """`After A but before B, no C`."""
    adjunct = m.of("after until")
    if adjunct.fact is None or adjunct.until is None:
        return None
    one, other = (m.named(fact.events, fact.joint) for fact in (adjunct.fact, adjunct.until))
    return f"{m.a} must never happen after {one} until {other}"


def after_until(kind: str) -> Way:
    return lambda m: f"{m.a} must never happen after {m.b(kind)} until {m.b('until')}"


def between_two(m: Meaning) -> str | None:
    """`Between two refunds there must be a check`: after one, the next needs a check that came later."""
    one = m.b("between two")
    return None if m.demand.joint or m.a == one else f"{one} must never happen after {one} until {m.a}"


def shortly_before(m: Meaning) -> str:
    return f"{m.b('shortly before')} must start within {m.d('shortly before')} after {m.a}"


def needed_between(m: Meaning) -> str | None:
    """`Between A and B, C must happen`: after an A, B needs a C that came later."""
    adjunct = m.of("between")
    if adjunct.fact is None or adjunct.until is None or m.demand.joint:
        return None
    begin, end = (m.named(fact.events, fact.joint) for fact in (adjunct.fact, adjunct.until))
    return f"{end} must never happen after {begin} until {m.a}"


_TRIGGERS = ("after", "every", "straight after")
NEXT_WAYS: Mapping[tuple[str, ...], Way] = {
    (kind, said) if kind < said else (said, kind): then_next(kind)
    for kind in _TRIGGERS
    for said in ("before all", "next call", "none between")
}
"""What must come at once behind what was done."""
NONE_BEFORE_WAYS: Mapping[tuple[str, ...], Way] = {
    ("after", "before"): none_before("after"),
    ("before", "every"): none_before("every"),
}

ALONE_WAYS: Mapping[tuple[str, ...], Way] = {
    **{tuple(sorted((kind, "nothing else"))): till_then_only(kind) for kind in _TILL},
    ("after", "nothing else"): only_these("after"),
    ("if", "nothing else"): if_perfect(only_these("if")),
    ("failed", "nothing else"): _only_after_failure,
}
"""What is allowed, and nothing else: `after B you may A, nothing else`."""

ORDER_WAYS: Mapping[str, Mapping[tuple[str, ...], Way]] = {
    "asks": {("ago",): lambda m: f"{m.a} must start within {m.d('ago')} after {m.e}"},
    "chain": {(): in_turn},
    "never but": {
        **TILL_THEN,
        ("failed",): _only_after_failure,
        (): lambda m: f"any tool but {m.e} must never happen",
        ("after",): lambda m: f"any tool but {m.e} must never happen after {m.b('after')}",
        ("topic",): later_only(only_these("topic")),
        ("if",): if_perfect(lambda m: f"any tool but {m.e} must never happen after {m.b('if')}"),
        ("after", "time"): lambda m: (
            f"any tool but {m.e} must never happen within {m.d('time')} after {m.b('after')}"
        ),
        ("within",): lambda m: (
            f"any tool but {m.e} must never happen within {m.d('within')} after {m.b('within')}"
        ),
    },
    "only these": {
        **TILL_THEN,
        ("failed",): _only_after_failure,
        ("after",): only_these("after"),
        ("if",): if_perfect(only_these("if")),
        ("topic",): later_only(only_these("topic")),
    },
    "then only": {
        **{(kind,): till_then_only(kind, leads=True) for kind in _TILL},
        **{tuple(sorted((kind, "nothing else"))): till_then_only(kind) for kind in _TILL},
        ("failed",): lambda m: _only_after_failure(m) if m.of("failed").leads else None,
        ("after",): then_only("after"),
        ("if",): if_perfect(then_only("if")),
        ("topic",): later_only(then_only("topic")),
        ("after", "nothing else"): only_these("after"),
        ("if", "nothing else"): if_perfect(only_these("if")),
    },
    "last if": {(): lambda m: f"If {m.e} happens, the last call must be {m.a}"},
    "inverted": {
        ("before",): lambda m: f"{m.a} must happen before {m.b('before')}",
        ("adjacent",): lambda m: f"{m.a} must happen immediately before {m.b('adjacent')}",
        ("straight after",): next_after("straight after"),
        ("within",): lambda m: f"{m.b('within')} must be followed by {m.a} within {m.d('within')}",
    },
    "next": {(): lambda m: f"{m.a} must be immediately followed by {m.e}"},
    "next to failure": {(): lambda m: f"If {m.a} fails, the next call must be {m.e}"},
    "comes next": {
        ("after",): lambda m: f"{m.b('after')} must be immediately followed by {m.a}",
        ("if",): if_perfect(lambda m: f"{m.b('if')} must be immediately followed by {m.a}"),
        ("every",): lambda m: f"{m.b('every')} must be immediately followed by {m.a}",
        ("topic",): lambda m: f"{m.b('topic')} must be immediately followed by {m.a}",
        ("failed",): lambda m: f"If {m.b('failed')} fails, the next call must be {m.a}",
        ("straight after",): next_after("straight after"),
        ("straight after failed",): lambda m: (
            f"If {m.b('straight after failed')} fails, the next call must be {m.a}"
        ),
    },
}

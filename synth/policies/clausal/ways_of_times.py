"""The ways to say what must come soon, and not so soon, what is spaced, and what stands directly before."""

from __future__ import annotations

from collections.abc import Mapping

from synth.policies.clausal.meaning import Meaning
from synth.policies.clausal.parts import Fact
from synth.policies.clausal.ways_of_order import Way, if_perfect, next_after
from synth.policies.patterns import compiled

LASTING = frozenset([
    "hold", "keep", "open", "lock", "block", "reserve", "freeze", "suspend", "pause", "assign", "enable",
    "activate", "mute", "ban", "rent", "lend", "book", "check",
])  # fmt: skip
"""Verbs of what lasts longer than the call that begins it: `held at a time`."""
SPACED = ("too soon", "far enough", "after so long")
"""Adjuncts that say how far from one another the calls of one action are."""


def _spaced(kind: str) -> Way:
    """Of one action; of several it is not known which of them are near each other."""

    def way(m: Meaning) -> str | None:
        if len(m.demand.events) != 1 or (m.of(kind).fact is not None and m.b(kind) != m.a):
            return None
        return f"{m.a} must never happen within {m.d(kind)} after {m.a}"

    return way


def _never_within(kind: str, time: str) -> Way:
    return lambda m: f"{m.a} must never happen within {m.d(time)} after {m.b(kind)}"


def _after_a_wait(kind: str, how: str = "") -> Way:
    return lambda m: f"{m.a} must never happen within {m.demand.how} after {m.b(kind)}{how}"


def _answered(kind: str, time: str) -> Way:
    return lambda m: f"{m.b(kind)} must be followed by {m.a} within {m.d(time)}"


def _directly_before(kind: str, said: str = "") -> Way:
    """`If B is to be done, A directly before`: what follows `if` is no clause of its own then."""

    def way(m: Meaning) -> str | None:
        behind = bool(said) and not m.of(kind).leads
        if behind and m.adjuncts.index(m.of(kind)) < m.adjuncts.index(m.of(said)):
            return None
        return f"{m.a} must happen immediately before {m.b(kind)}"

    return way


def _has_directly_before(kind: str) -> Way:
    return lambda m: f"{m.b(kind)} must happen immediately before {m.a}"


def _beside(m: Meaning) -> str:
    return f"{m.a} must not overlap {m.b('while none')}"


def one_at_a_time(m: Meaning) -> str | None:
    if m.demand.how == "at a time" and m.verbs & LASTING:
        return None
    return f"{m.a} must not overlap each other"


def beside(m: Meaning, fact: Fact | None = None) -> str | None:
    """`No transfer during a freeze` is not of the call that freezes."""
    others, joint = (m.demand.others, m.demand.joint) if fact is None else (fact.events, fact.joint)
    verbs = {action.verb for e in others if (action := m.actions.get(e.action))}
    return None if verbs & LASTING else f"{m.a} must not overlap {m.named(others, joint)}"


def no_start(kind: str) -> Way:
    """`It must not start while a backup runs`: it may go on when one begins."""

    def way(m: Meaning) -> str | None:
        if m.a == m.b(kind):
            return f"{m.a} must not overlap each other"
        return f"{m.a} must not start while {m.b(kind)} runs" if beside(m, m.of(kind).fact) else None

    return way


def _for_each_of_them(kind: str, time: str) -> Way:
    """`For each sedation, alert the anaesthetist within 5 minutes`; what is checked may come first."""

    def way(m: Meaning) -> str | None:
        return None if m.checked(m.demand.events) else _answered(kind, time)(m)

    return way


def _answered_soon(m: Meaning) -> str | None:
    """`No sedation without the anaesthetist being alerted within 5 minutes`."""
    fact = m.of("without soon").fact
    if fact is None or m.checked(fact.events):
        return None
    return f"{m.a} must be followed by {m.b('without soon')} within {m.d('without soon')}"


def _of_itself(m: Meaning, time: str) -> str | None:
    """`Do not page a surgeon again within 10 minutes`."""
    return f"{m.a} must never happen within {time} after {m.a}" if len(m.demand.events) == 1 else None


def _no_longer(m: Meaning) -> str | None:
    """`Never run a scan for more than 40 minutes`; what is held lasts longer than the call that begins it."""
    return None if m.verbs & LASTING else takes_at_most(m)


def takes_at_most(m: Meaning) -> str | None:
    """How long each call may take; what is longer than a day is what it was given: `a 14-day extension`."""
    days = compiled(r"\b(?:days?|weeks?|months?|years?)\b").search(str(m.demand.how))
    limit = "" if str(m.demand.how).startswith("less than") else "at most "
    return None if days else f"{m.a} must take {limit}{m.demand.how}"


def _answer_in(time: str) -> Way:
    """`No freeze without notifying compliance within 10 minutes`; a check may be of the minutes before."""

    def way(m: Meaning) -> str | None:
        if time == "time" and m.checks:
            return None
        return f"{m.a} must be followed by {m.e} within {m.d(time)}"

    return way


def _at_least_after(m: Meaning) -> str | None:
    """`It must be paid at least 24 hours after ...`, which needs that; the language compares nothing then."""
    said = f"{m.a} must start at least {m.d('no sooner')} after {m.b('no sooner')}"
    return None if m.same_fields() else said


def _since(kind: str, time: str) -> Way:
    """What must have been done shortly before: `at most 5 minutes before a payment`."""
    return lambda m: f"{m.b(kind)} must start within {m.d(time)} after {m.a}"


NEVER_TIMES: Mapping[tuple[str, ...], Way] = {
    ("sooner",): _never_within("sooner", "sooner"),
    ("without soon",): _answered_soon,
    ("ago", "if"): if_perfect(_never_within("if", "ago")),
    ("after", "until passed"): _never_within("after", "until passed"),
    ("if", "until passed"): if_perfect(_never_within("if", "until passed")),
    ("too soon",): _spaced("too soon"),
    ("unless just before",): _has_directly_before("unless just before"),
    ("headline", "lasting"): _never_within("headline", "lasting"),
    ("headline", "time"): _never_within("headline", "time"),
    ("headline", "then within"): _never_within("headline", "then within"),
    ("headline", "until passed"): _never_within("headline", "until passed"),
}
ONLY_TIMES: Mapping[tuple[str, ...], Way] = {
    ("no later",): lambda m: f"{m.a} must start within {m.d('no later')} after {m.b('no later')}",
    ("no sooner",): _at_least_after,
    ("far enough",): _spaced("far enough"),
    ("if just before",): _has_directly_before("if just before"),
    ("while none",): _beside,
    ("after so long",): lambda m: _of_itself(m, m.d("after so long")) if m.says_another else None,
}
_TRIGGERS = ("after", "every", "headline", "if")
MUST_TIMES: Mapping[tuple[str, ...], Way] = {
    ("no sooner",): _at_least_after,
    ("no later",): _answered("no later", "no later"),
    ("lately before",): _since("lately before", "lately before"),
    ("ago", "before"): _since("before", "ago"),
    ("far enough",): _spaced("far enough"),
    ("adjacent", "none between"): _directly_before("adjacent"),
    ("before", "none between"): _directly_before("before"),
    ("headline", "time"): _answered("headline", "time"),
    ("intended", "time"): _for_each_of_them("intended", "time"),
    ("intended", "then within"): _for_each_of_them("intended", "then within"),
    **{
        (kind, "just before"): _directly_before(kind, "just before")
        for kind in ("every", "headline", "if", "intended")
    },
    **{(kind, "then within"): _answered(kind, "then within") for kind in _TRIGGERS},
}
_CALL_BEFORE: Mapping[tuple[str, ...], Way] = {
    (kind,): _directly_before(kind) for kind in ("every", "if", "intended", "headline")
}
NOT_SOONER: Mapping[tuple[str, ...], Way] = {
    ("no sooner",): _never_within("no sooner", "no sooner"),
    ("no later",): lambda m: f"{m.a} must start within {m.d('no later')} after {m.b('no later')}",
}
HAVING_TIMES: Mapping[tuple[str, ...], Way] = {
    ("lately before",): _since("lately before", "lately before"),
    ("ago", "before"): _since("before", "ago"),
    ("ago", "if"): _since("if", "ago"),
    ("ago", "intended"): _since("intended", "ago"),
    ("ago", "every"): _since("every", "ago"),
}
"""What must have been done before, and how lately: `the pin must have been checked in the last hour`."""
OTHER_TIMES: Mapping[str, Mapping[tuple[str, ...], Way]] = {
    "no two": {("too soon",): _spaced("too soon"), ("time",): _spaced("time")},
    "without": {("then within",): _answer_in("then within"), ("time",): _answer_in("time")},
    "then soon": {
        (kind,): lambda m, kind=kind: f"{m.a} must be followed by {m.e} within {m.d(kind)}"  # type: ignore[misc]
        for kind in ("time", "then within")
    },
    "comes then": {
        ("within",): _answered("within", "within"),
        ("around",): lambda m: None,
        ("straight after",): next_after("straight after"),
        ("adjacent",): _directly_before("adjacent"),
    },
    "again": {
        (kind,): lambda m, kind=kind: _of_itself(m, m.d(kind))  # type: ignore[misc]
        for kind in ("time", "lasting", "until passed", "then within")
    },
    "in doing": {(): _no_longer},
    "answered in": {(): lambda m: f"{m.a} must be followed by {m.e} within {m.demand.how}"},
    "wait": {
        ("after",): _after_a_wait("after"),
        ("if",): if_perfect(_after_a_wait("if")),
        ("headline",): _after_a_wait("headline"),
        ("failed",): _after_a_wait("failed", " fails"),
    },
    "call before": _CALL_BEFORE,
    "bare": {
        ("adjacent",): _directly_before("adjacent"),
        ("far enough",): _spaced("far enough"),
    },
}


def is_said_of_the_next(m: Meaning) -> bool:
    """Does `the next refund` stand where calls are compared with one before, and not for any refund?"""
    spaced = m.demand.kind == "apart" or any(m.has(kind) for kind in SPACED)
    told = [e for a in m.adjuncts for f in (a.fact, a.until) if f is not None for e in f.events]
    return not any(e.later for e in told) and (
        spaced or not any(e.later for e in (*m.demand.events, *m.demand.others))
    )

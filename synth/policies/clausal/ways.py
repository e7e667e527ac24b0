"""The ways to say in the language what a clause and its adjuncts mean."""

from __future__ import annotations

from collections.abc import Mapping

from synth.policies.adverbials import Times
from synth.policies.clausal.failed_first import FAILED_FIRST_WAYS
from synth.policies.clausal.meaning import Meaning
from synth.policies.clausal.ways_of_following import (
    answered,
    fails_within,
    failure_answered,
    fresh,
    never_unanswered,
    never_within,
    once_so_often,
    recently,
    retried,
    tried_again,
    within_leading,
)
from synth.policies.clausal.ways_of_order import (
    ALONE_WAYS,
    NEXT_WAYS,
    NONE_BEFORE_WAYS,
    ORDER_WAYS,
    Way,
    after_until,
    between,
    between_two,
    directly_before,
    from_until,
    if_perfect,
    last_if,
    last_if_so,
    later_only,
    needed_between,
    needs,
    needs_to,
    next_after,
    next_no_sooner,
    not_before,
    shortly_before,
)
from synth.policies.clausal.ways_of_times import (
    HAVING_TIMES,
    MUST_TIMES,
    NEVER_TIMES,
    NOT_SOONER,
    ONLY_TIMES,
    OTHER_TIMES,
    beside,
    no_start,
    one_at_a_time,
    takes_at_most,
)

# ---------------------------------------------------------------------- ways to say it


def _never_after(kind: str) -> Way:
    return lambda m: f"{m.a} must never happen after {m.b(kind)}"


def _of_any(way: Way) -> Way:
    """`What was approved and rejected` is no thing to which one of the two was done."""

    def of_one(m: Meaning) -> str | None:
        fact = m.of("state").fact
        return way(m) if fact is not None and (fact.joint != "and" or len(fact.events) < 2) else None

    return of_one


def _apart(m: Meaning) -> str:
    """`Between a failed payment and the next one` it is the failed one that counts."""
    fails = " fails" if any(e.outcome == "failed" for e in m.demand.others) else ""
    return f"{m.a} must never happen within {m.demand.how} after {m.e}{fails}"


def _apart_after(kind: str) -> Way:
    """`If a payment fails, wait an hour before the next one`."""

    def way(m: Meaning) -> str | None:
        said = f"{m.a} must never happen within {m.demand.how} after {m.b(kind)} fails"
        return said if m.a == m.e and not any(e.outcome for e in m.demand.others) else None

    return way


def _times(kind: str, allowed: bool) -> Way:
    def way(m: Meaning) -> str | None:
        if " or " in m.a:
            return None
        said = m.of(kind).said
        times = Times(said, days=said) if kind == "days" else Times(said, hours=said)
        if kind == "days":
            return f"{m.a} must {'' if allowed else 'never '}happen {times.on()}"
        return times.at(m.a, allowed=allowed)

    return way


def _hours_of_days(allowed: bool) -> Way:
    def way(m: Meaning) -> str | None:
        if " or " in m.a:
            return None
        days, hours = m.of("days").said, m.of("hours").said
        return Times(f"{days} {hours}", days=days, hours=hours).both(m.a, allowed=allowed)

    return way


def _stretch(m: Meaning, time: str) -> str:
    """What calls that count together lie in."""
    if time == "day":
        return " per calendar day"
    return f" within {m.d(time)}" if time else ""


def _counted(time: str = "", in_a_row: bool = False) -> Way:
    def way(m: Meaning) -> str | None:
        if m.demand.joint == "and" or m.later:
            return None
        within = _stretch(m, time)
        row = " in a row" if in_a_row else ""
        return f"{m.a} must {m.does} {m.how} {m.demand.number} times{row}{m.per}{within}"

    return way


def _summed(time: str = "") -> Way:
    def way(m: Meaning) -> str | None:
        if m.later:
            return None
        return f"The sum of {m.demand.how} of {m.a} must be {m.demand.number}{m.per}{_stretch(m, time)}"

    return way


def _counted_before(m: Meaning) -> str | None:
    if m.demand.joint or m.per:
        return None
    return f"{m.a} must happen {m.demand.how} {m.demand.number} times before {m.b('before')}"


def _no_second(kind: str) -> Way:
    """`No second refund unless the first failed`: none after one that succeeded."""
    return lambda m: f"{m.a} must never happen after {m.a}" if m.b(kind) == m.a else None


def _before_a_retry(m: Meaning) -> str:
    """`After a failed booking, search flights before trying again`."""
    return f"If {m.b('failed')} fails, {m.b('before retry')} must never happen until {m.a}"


def _until(kind: str, *, alone: bool = False) -> Way:
    """None of it after a failure until a success; `alone`: of what failed itself, which is a later one."""

    def way(m: Meaning) -> str | None:
        failed = m.b("failed")
        if alone and m.b(kind) != failed:
            return None
        return f"If {failed} fails, {m.a} must never happen until {m.b(kind)}"

    return way


def _recovered_before(m: Meaning) -> str | None:
    """`If a sync fails, it has to succeed before any shipment`."""
    failed = m.b("failed")
    said = f"If {failed} fails, {m.b('before')} must never happen until {failed}"
    return said if m.a in (failed, "it") and not m.later else None


def _while_failed(m: Meaning) -> str | None:
    failed = m.b("last failed")
    if m.a == failed:
        return None
    return f"If {failed} fails, {m.a} must never happen until {failed}"


def _both(m: Meaning) -> str:
    return f"{m.a} and {m.e} must never both happen"


def _both_of_one(m: Meaning) -> str | None:
    """`Never pay and refund with the same claim_id`; without such a field each may be forbidden."""
    return _both(m) if m.same_is_said else None


def _only_before(m: Meaning) -> str | None:
    """`A report may only be amended before it is signed`, of two things that are done to one."""
    return _never_after("before")(m) if m.is_of_one_object("before") else None


def _if_done(way: Way) -> Way:
    """`If a ticket is closed, never reopen it`: a present tense says how one and the same thing is."""

    def of_one_thing(m: Meaning) -> str | None:
        fact = m.of("if").fact
        is_so = fact is not None and fact.aspect == "present" and bool(m.same_fields())
        return way(m) if is_so else if_perfect(way)(m)

    return of_one_thing


def _vice_versa(kind: str) -> Way:
    """`If A has happened, B must not, and vice versa`."""
    return lambda m: f"{m.b(kind)} and {m.a} must never both happen"


_UNTIL: Mapping[tuple[str, ...], Way] = {
    ("failed", "until"): _until("until"),
    ("failed", "recovered"): _until("recovered"),
    ("failed", "not recovered"): _until("not recovered", alone=True),
    ("before", "failed"): _until("before", alone=True),
    ("last failed",): _while_failed,
}
_NEVER: Mapping[tuple[str, ...], Way] = {
    **NEVER_TIMES,
    **NONE_BEFORE_WAYS,
    **FAILED_FIRST_WAYS["never"],
    ("topic",): later_only(_never_after("topic")),
    ("beside",): lambda m: beside(m, m.of("beside").fact),
    (): lambda m: f"{m.a} must never happen",
    ("unless",): lambda m: None if m.later else needs("unless")(m),
    ("without later",): never_unanswered(),
    ("time", "without later"): never_unanswered("time"),
    ("ago", "unless"): recently("unless"),
    ("state",): _of_any(_never_after("state")),
    ("until",): needs("until"),
    ("before",): not_before,
    ("after",): _never_after("after"),
    ("if",): _if_done(_never_after("if")),
    ("so done",): _never_after("so done"),
    ("after", "until"): after_until("after"),
    ("state", "until"): after_until("state"),
    ("if", "until"): if_perfect(lambda m: f"{m.a} must never happen after {m.b('if')} until {m.b('until')}"),
    ("until later",): lambda m: f"{m.a} must start at least {m.d('until later')} after {m.b('until later')}",
    ("while",): lambda m: f"{m.a} must not overlap {m.b('while')}",
    ("failed",): lambda m: f"If {m.b('failed')} fails, {m.a} must never happen afterwards",
    **_UNTIL,
    ("anew", "failed"): lambda m: f"If {m.b('failed')} fails, {m.a} must never happen until {m.b('anew')}",
    ("after", "anew"): lambda m: f"{m.a} must never happen after {m.b('after')} until {m.b('anew')}",
    ("failed", "time"): fails_within("failed", "time"),
    ("failed", "lasting"): fails_within("failed", "lasting"),
    ("failed within",): fails_within("failed within"),
    ("after failure",): fails_within("after failure"),
    ("within",): never_within("within"),
    ("up to",): never_within("up to"),
    ("during",): never_within("during"),
    ("after", "time"): never_within("after", "time"),
    ("after", "lasting"): never_within("after", "lasting"),
    ("between",): between,
    ("after until",): from_until,
    ("so many",): lambda m: (
        f"{m.b('so many')} must happen at least {m.of('so many').number} times before {m.a}"
    ),
    ("failed often",): once_so_often(lambda m: f"{m.a} must never happen"),
    ("days",): _times("days", allowed=False),
    ("hours",): _times("hours", allowed=False),
    ("days", "hours"): _hours_of_days(allowed=False),
    **{(kind, "vice versa"): _vice_versa(kind) for kind in ("after", "if", "state")},
}
_BLOCKED: Mapping[tuple[str, ...], Way] = {
    **_UNTIL,
    **{kinds: _NEVER[kinds] for kinds in (("failed", "lasting"), ("failed", "time"), ("failed within",))},
}
_STOPPED_BY = ("after", "if", "failed", "failed often", "failed within", "during")
"""What may stop something; `stop before noon` is no ban before noon."""
_ONLY: Mapping[tuple[str, ...], Way] = {
    **ONLY_TIMES,
    **FAILED_FIRST_WAYS["only"],
    ("after so many",): lambda m: (
        f"{m.b('after so many')} must happen at least {m.of('after so many').number} times before {m.a}"
    ),
    ("after",): needs("after"),
    ("if",): needs("if"),
    ("state",): needs("state"),
    ("failed", "once recovered"): _until("once recovered", alone=True),
    ("after", "failed"): _until("after", alone=True),
    ("straight after",): directly_before,
    ("ago", "if"): recently("if"),
    ("ago", "after"): recently("after"),
    ("after", "time"): lambda m: f"{m.a} must start within {m.d('time')} after {m.b('after')}",
    ("within",): lambda m: f"{m.a} must start within {m.d('within')} after {m.b('within')}",
    ("up to",): lambda m: f"{m.a} must start within {m.d('up to')} after {m.b('up to')}",
    ("days",): _times("days", allowed=True),
    ("hours",): _times("hours", allowed=True),
    ("days", "hours"): _hours_of_days(allowed=True),
    ("before",): _only_before,
    ("if not",): _never_after("if not"),
    ("with done",): needs("with done"),
    ("around",): lambda m: f"{m.a} must start within {m.d('around')} after {m.b('around')}",
}
_MUST: Mapping[tuple[str, ...], Way] = {
    **MUST_TIMES,
    **NEXT_WAYS,
    ("before",): lambda m: None if m.later else f"{m.a} must happen before {m.b('before')}",
    ("intended",): needs_to("intended"),
    ("adjacent",): lambda m: f"{m.a} must happen immediately before {m.b('adjacent')}",
    ("straight after",): next_after("straight after"),
    ("straight after failed",): lambda m: (
        f"If {m.b('straight after failed')} fails, the next call must be {m.a}"
        if m.of("straight after failed").leads
        else None
    ),
    ("after", "before"): lambda m: (
        f"{m.b('after')} must happen before {m.a}, and {m.a} must happen before {m.b('before')}"
        if m.of("after").leads
        else None
    ),
    ("between",): needed_between,
    ("between two",): between_two,
    ("shortly before",): shortly_before,
    ("before all",): lambda m: f"The first call must be {m.a}",
    ("at first",): lambda m: f"The first call must be {m.a}",
    ("at last",): lambda m: f"The last call must be {m.a}",
    ("state",): _of_any(lambda m: f"{m.b('state')} must be followed by {m.a}"),
    ("state", "time"): _of_any(lambda m: f"{m.b('state')} must be followed by {m.a} within {m.d('time')}"),
    ("topic",): answered("topic"),
    ("time", "topic"): answered("topic", "time"),
    ("every",): answered("every"),
    ("every", "time"): answered("every", "time"),
    ("after",): answered("after"),
    ("after", "time"): answered("after", "time"),
    ("if",): answered("if"),
    ("if", "time"): answered("if", "time"),
    ("failed often",): once_so_often(lambda m: f"{m.a} must follow"),
    ("failed often", "time"): once_so_often(lambda m: f"{m.a} must follow within {m.d('time')}"),
    ("failed",): failure_answered("failed"),
    ("not succeeded",): failure_answered("not succeeded"),
    ("failed", "time"): failure_answered("failed", "time"),
    ("failed within",): failure_answered("failed within", "failed within"),
    ("within",): within_leading("within"),
    ("around",): within_leading("around"),
    ("up to",): within_leading("up to"),
    ("before retry", "failed"): _before_a_retry,
    ("before", "failed"): _recovered_before,
    ("days",): _times("days", allowed=True),
    ("hours",): _times("hours", allowed=True),
}
_INTENDED = ("intended", "if")
_ENDING: Mapping[tuple[str, ...], Way] = {
    (): _counted(),
    ("in a row",): _counted(in_a_row=True),
    ("time",): _counted("time"),
    ("an hour",): _counted("an hour"),
    ("day",): _counted("day"),
}
WAYS: Mapping[str, Mapping[tuple[str, ...], Way]] = {
    **ORDER_WAYS,
    **OTHER_TIMES,
    "may": {**NOT_SOONER, **ALONE_WAYS},
    "never": _NEVER,
    "blocked": _BLOCKED,
    "only": _ONLY,
    "must": _MUST,
    "follow": _MUST,
    "headed never": {kinds: way for kinds, way in _NEVER.items() if kinds},
    "headed": {kinds: _ONLY[kinds] for kinds in (("days",), ("hours",), ("days", "hours"), ("far enough",))},
    "do": {kinds: way for kinds, way in _MUST.items() if kinds not in (("days",), ("hours",))},
    "hold off": {(kind,): needs(kind) for kind in ("until", "before")},
    "do first": {
        **{kinds: _MUST[kinds] for kinds in (("before",), ("before all",))},
        **{(kind,): needs_to(kind, first=True) for kind in _INTENDED},
        (): lambda m: f"The first call must be {m.a}" if m.has("run") and not m.demand.joint else None,
    },
    "do before": {
        **{kinds: _MUST[kinds] for kinds in (("before",), ("before all",))},
        **{(kind,): needs_to(kind, first=True) for kind in _INTENDED},
    },
    "have": {
        **HAVING_TIMES,
        **{
            kinds: _MUST[kinds]
            for kinds in (
                ("before",),
                ("before all",),
                ("if", "just before"),
                ("intended", "just before"),
                ("shortly before",),
            )
        },
        **{(kind,): needs_to(kind, first=True) for kind in _INTENDED},
    },
    "comes": {
        **{
            kinds: _MUST[kinds]
            for kinds in (("before",), ("before all",), ("adjacent",), ("failed",), ("failed often",))
        },
        ("straight after",): directly_before,
    },
    "is": {
        kinds: _MUST[kinds] for kinds in (("if", "time"), ("after", "time"), ("every", "time"), ("within",))
    },
    "wait for the next": {(kind,): next_no_sooner(kind) for kind in ("failed", "after")},
    "adjacent": {(): lambda m: f"{m.e} must happen immediately before {m.a}"},
    "count": {
        (): _counted(),
        ("time",): _counted("time"),
        ("an hour",): _counted("an hour"),
        ("day",): _counted("day"),
        ("in a row",): _counted(in_a_row=True),
        ("before",): _counted_before,
    },
    "due": {(): lambda m: f"{m.a} must happen at least 1 times"},
    "in a row": {(): lambda m: _counted(in_a_row=True)(m) if m.demand.how == "at most" else None},
    "fail": _ENDING,
    "succeed": _ENDING,
    "fail first": FAILED_FIRST_WAYS["fail first"],
    "never fail": {(): lambda m: f"{m.a} must never fail"},
    "so many before": {(): lambda m: f"{m.a} must happen at least {m.demand.number} times before {m.e}"},
    "so many needed": {
        ("before",): lambda m: f"{m.a} must happen at least {m.demand.number} times before {m.b('before')}"
    },
    "own": {(): lambda m: f"{m.a} must not happen more often than {m.e}"},
    "first": {
        (): lambda m: f"The first call must be {m.a}",
        **{
            (k,): lambda m: f"The first call must be {m.a}" for k in ("none before", "before all", "at first")
        },
    },
    "last": {
        (): lambda m: f"The last call must be {m.a}",
        **{(k,): lambda m: f"The last call must be {m.a}" for k in ("none after", "at last")},
        **{(kind,): last_if(kind) for kind in ("if", "after", "every", "in such a run")},
        ("if so",): last_if_so,
    },
    "comes last": {
        **{(kind,): last_if(kind) for kind in ("if", "after", "every", "in such a run")},
        ("if so",): last_if_so,
    },
    "not first": {(): lambda m: f"The first call must be any tool but {m.a}"},
    "takes": {(): takes_at_most},
    "sum": {
        (): _summed(),
        ("time",): _summed("time"),
        ("an hour",): _summed("an hour"),
        ("day",): _summed("day"),
    },
    "least variety": {
        (): lambda m: f"{m.a} must happen with at least {m.demand.number} different {m.demand.how}{m.per}"
    },
    "variety": {
        (): lambda m: f"{m.a} must happen with at most {m.demand.number} different {m.demand.how}{m.per}"
    },
    "apart": {
        (): _apart,
        ("failed",): _apart_after("failed"),
        ("last failed",): _apart_after("last failed"),
        ("after",): lambda m: (
            f"{m.a} must never happen within {m.demand.how} after {m.b('after')}" if m.a == m.e else None
        ),
    },
    "wait again": {(kind,): _apart_after(kind) for kind in ("failed", "last failed")},
    "do again": {("before retry", "failed"): _before_a_retry},
    "no retry": {(): lambda m: f"If {m.a} fails, {m.a} must never happen afterwards"},
    "wait for a retry": {(): lambda m: f"{m.a} must never happen within {m.demand.how} after {m.e} fails"},
    "no second": {("first failed",): _no_second("first failed")},
    "second": {("if first failed",): _no_second("if first failed")},
    "stop": {
        **{kinds: way for kinds, way in _NEVER.items() if kinds and kinds[0] in _STOPPED_BY},
        ("hours",): lambda m: _NEVER["hours",](m) if m.of("hours").said.startswith("after") else None,
        ("days",): _NEVER["days",],
    },
    "never start": {
        **_NEVER,
        ("while",): no_start("while"),
        ("beside",): no_start("beside"),
    },
    "as often": {(): lambda m: f"{m.a} must happen as often as {m.e}"},
    "no two": {
        **OTHER_TIMES["no two"],
        (): _counted(),
        ("day",): _counted("day"),
        ("in a row",): _counted(in_a_row=True),
    },
    "only start": {**_ONLY, ("while none",): no_start("while none")},
    "two": {("time",): _counted("time"), ("too soon",): OTHER_TIMES["no two"]["too soon",]},
    "fresh": {(kind,): fresh(kind) for kind in ("if", "every", "before")},
    "try": {
        (): lambda m: tried_again()(m) if m.demand.others else None,
        ("time",): lambda m: tried_again(time="time")(m) if m.demand.others else None,
        ("failed",): tried_again("failed"),
        ("failed", "time"): tried_again("failed", "time"),
        ("failed within",): tried_again("failed within", "failed within"),
    },
    "retry": {(): retried(), ("failed",): retried("failed")},
    "answer": {
        (): lambda m: f"{m.a} must be followed by {m.e}",
        ("time",): lambda m: f"{m.a} must be followed by {m.e} within {m.d('time')}",
    },
    "failure answered": {
        (): lambda m: f"If {m.a} fails, {m.e} must follow",
        ("time",): lambda m: f"If {m.a} fails, {m.e} must follow within {m.d('time')}",
    },
    "failure bans": {(): lambda m: f"If {m.a} fails, {m.e} must never happen afterwards"},
    "pass": {
        ("before",): _MUST["before",],
        ("adjacent",): _MUST["adjacent",],
        ("before", "failed"): _recovered_before,
    },
    "both": dict.fromkeys(((), ("vice versa",)), _both),
    "both of one": dict.fromkeys(((), ("vice versa",)), _both_of_one),
    "rules out": {("vice versa",): _both},
    "gets": {
        (): lambda m: None if m.checks and not m.later else f"{m.a} must be followed by {m.e}",
        ("time",): lambda m: f"{m.a} must be followed by {m.e} within {m.d('time')}",
    },
    "calls for": {("time",): lambda m: f"{m.a} must be followed by {m.e} within {m.d('time')}"},
    "no answer": {
        ("vice versa",): _both,
        (): lambda m: f"{m.e} must never happen after {m.a}",
        ("until",): lambda m: f"{m.e} must never happen after {m.a} until {m.b('until')}",
        ("lasting",): lambda m: f"{m.e} must never happen within {m.d('lasting')} after {m.a}",
        ("time",): lambda m: f"{m.e} must never happen within {m.d('time')} after {m.a}",
    },
    "needs": {
        (): lambda m: f"{m.e} must happen before {m.a}",
        ("ago",): lambda m: f"{m.a} must start within {m.d('ago')} after {m.e}",
    },
    "needs lately": {("ago",): lambda m: f"{m.a} must start within {m.d('ago')} after {m.e}"},
    "overlap": {(): lambda m: f"{m.a} must not overlap {m.e}"},
    "overlap itself": {(): one_at_a_time},
    "beside": {(): beside},
}

"""The ways to say what must follow, how soon, and what is tried again."""

from __future__ import annotations

from collections.abc import Callable

from synth.policies.clausal.meaning import Meaning
from synth.policies.clausal.ways_of_order import Way, perfect


def never_within(kind: str, time: str = "") -> Way:
    return lambda m: f"{m.a} must never happen within {m.d(time or kind)} after {m.b(kind)}"


def fails_within(kind: str, time: str = "") -> Way:
    return lambda m: f"{m.a} must never happen within {m.d(time or kind)} after {m.b(kind)} fails"


def answered(kind: str, time: str = "") -> Way:
    """What must follow; without `later` or a time, `whenever B, A` leaves open which comes first."""

    def way(m: Meaning) -> str | None:
        adjunct = m.of(kind)
        clear = m.later or time or m.demand.kind == "follow" or not adjunct.leads
        if kind in ("after", "if"):
            clear = (
                m.later
                or time
                or m.demand.kind == "follow"
                or (adjunct.leads and kind == "after")
                or (adjunct.leads and perfect(m, kind) and m.demand.kind == "must" and not m.has("first"))
            )
        within = f" within {m.d(time)}" if time else ""
        return f"{m.b(kind)} must be followed by {m.a}{within}" if clear else None

    return way


def never_unanswered(time: str = "") -> Way:
    """`Never A without B afterwards`."""

    def way(m: Meaning) -> str:
        lasts = m.of("without later").time or (m.d(time) if time else "")
        within = f" within {lasts}" if lasts else ""
        return f"{m.a} must be followed by {m.b('without later')}{within}"

    return way


def failure_answered(kind: str, time: str = "") -> Way:
    def way(m: Meaning) -> str:
        within = f" within {m.d(time)}" if time else ""
        return f"If {m.b(kind)} fails, {m.a} must follow{within}"

    return way


def once_so_often(then: Callable[[Meaning], str]) -> Way:
    """None of several actions, which fail so often together, or each by itself."""

    def way(m: Meaning) -> str | None:
        adjunct = m.of("failed often")
        if adjunct.fact is None or adjunct.fact.joint or not m.is_time_of_the_demand(adjunct):
            return None
        row = " in a row" if adjunct.said == "in a row" else ""
        one = f" for one {' and '.join(m.same_fields() or ())}" if m.of_failures_alone else ""
        return f"If {m.b('failed often')} fails {adjunct.number} times{row}{one}, {then(m)}"

    return way


def tried_again(kind: str = "", time: str = "") -> Way:
    """`Try it again`: another attempt at what failed."""

    def way(m: Meaning) -> str | None:
        if kind and m.a != m.b(kind):
            return None
        within = f" within {m.d(time)}" if time else ""
        return f"If {m.a} fails, {m.a} must be tried again{within}"

    return way


def retried(kind: str = "") -> Way:
    """So many retries are one attempt more, which all failed."""

    def way(m: Meaning) -> str | None:
        if (kind and m.a != m.b(kind)) or not isinstance(m.demand.number, int) or m.demand.how != "at most":
            return None
        return f"If {m.a} fails {m.demand.number + 1} times in a row, {m.a} must never happen"

    return way


def fresh(kind: str) -> Way:
    """`When it is released, its weighing must not be older than an hour`."""
    return lambda m: f"{m.b(kind)} must start within {m.demand.how} after {m.a}"


def within_leading(kind: str) -> Way:
    """`Within 5 minutes after B, A must happen`; `within 5 minutes of B` only where it stands in front."""
    return lambda m: (
        f"{m.b(kind)} must be followed by {m.a} within {m.d(kind)}"
        if m.of(kind).leads or kind == "within"
        else None
    )


def recently(kind: str) -> Way:
    return lambda m: f"{m.a} must start within {m.d('ago')} after {m.b(kind)}"

"""What a clause and its adjuncts say in the language; None where that is not sure, or not in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synth.policies.action_forms import singular
from synth.policies.adverbials import Times
from synth.policies.clausal.events import Action
from synth.policies.clausal.parts import ANY, IT, Adjunct, Demand, Event
from synth.policies.composed import in_quotes

_COUNTED = ("count", "fail", "succeed", "sum")
"""Demands on so many calls: of `a refund` all of them, or each by itself."""
_BESIDE = ("same", "run", "first", "later")
"""Adjuncts that change no kind of rule."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """One way in which a sentence was taken apart."""

    demand: Demand
    adjuncts: tuple[Adjunct, ...]
    actions: Mapping[int, Action]
    phrases: Sequence[str]

    @classmethod
    def of_parts(
        cls,
        demand: Demand,
        adjuncts: Sequence[Adjunct],
        actions: Mapping[int, Action],
        phrases: Sequence[str],
    ) -> Meaning:
        """With what stands right behind the actions of the main clause."""
        beside = dict.fromkeys(a for e in (*demand.events, *demand.others) for a in e.beside)
        return cls(demand, (*adjuncts, *beside), actions, phrases)

    def words(self, scoped: bool = False) -> str | None:
        """The sentence of the language that says it; `scoped`: whoever reads the file asks for its scope."""
        same = self._same()
        if same is None or not self._is_plain():
            return None
        kinds = tuple(sorted(a.kind for a in self.adjuncts if a.kind not in _BESIDE))
        if len(set(kinds)) < len(kinds):
            return None
        only = self.demand.kind == "only" or any(a.only for a in self.adjuncts)
        if only and self.demand.kind not in ("only", "may", "must", "do"):
            return None
        if self.demand.kind == "may" and not only:
            return None
        if self._beside("run") and self.demand.kind not in _COUNTED and not scoped:
            return None
        if self.demand.how == "again" and not kinds:
            return None
        way = _WAYS.get("only" if only else self.demand.kind, {}).get(kinds)
        said = way(self) if way is not None else None
        return None if said is None else f"{said}{_with_the_same(same)}"

    # ------------------------------------------------------------------ parts

    @property
    def a(self) -> str:
        """The actions that are limited or demanded."""
        return self.named(
            self.demand.events, "and" if self.demand.kind in ("never", "only") else self.demand.joint
        )

    @property
    def e(self) -> str:
        return self.named(self.demand.others, self.demand.joint)

    def of(self, kind: str) -> Adjunct:
        return next(a for a in self.adjuncts if a.kind == kind)

    def b(self, kind: str) -> str:
        fact = self.of(kind).fact
        assert fact is not None
        return self.named(fact.events, fact.joint)

    def d(self, kind: str) -> str:
        return self.of(kind).time

    def named(self, events: Sequence[Event], joint: str) -> str:
        """Actions as the file names them."""
        names = ["any tool" if e.action == ANY else in_quotes(self.phrases[e.action]) for e in events]
        return f" {joint or 'and'} ".join(dict.fromkeys(names))

    def _beside(self, kind: str) -> bool:
        return any(a.kind == kind for a in self.adjuncts)

    @property
    def later(self) -> bool:
        return self._beside("later")

    @property
    def per(self) -> str:
        return f" per {self.of('run').said}" if self._beside("run") else ""

    # ------------------------------------------------------------------ what must be the same

    def _facts(self) -> list[Event]:
        """The events that adjuncts speak of."""
        facts = (fact for a in self.adjuncts for fact in (a.fact, a.until) if fact is not None)
        return [event for fact in facts for event in fact.events]

    def _all_events(self) -> list[Event]:
        return [*self.demand.events, *self.demand.others, *self._facts()]

    def _same(self) -> tuple[str, ...] | None:
        """The fields that must be the same, in their order; None where it is not clear which are meant."""
        if self._follows_a_fact():
            return None
        events = self._all_events()
        said = [a.same for a in self.adjuncts if a.kind == "same"]
        fields = frozenset().union(*(e.same for e in events), *said)
        about = frozenset().union(*(e.about for e in events))
        if IT in fields:
            named = fields - {IT}
            meant = named or self._meant_by_it(about)
            if not named and len(meant) != 1:
                return None
            if not named and any(e.itself and e.noun and e.noun[-1] not in meant for e in events):
                return None
            fields = meant
        fields = frozenset(field for field in fields if f"{field}_id" not in fields)
        about = frozenset(field for field in about if f"{field}_id" not in fields)
        if not about <= fields and (self.demand.kind in _COUNTED or not about <= self._things):
            return None
        if self.demand.kind in _COUNTED and not fields:
            single = [e for e in self.demand.events if e.single]
            if not all(e.each and e.noun for e in single):
                return None
            fields = frozenset(e.noun[-1] for e in single)
        return tuple(sorted(fields))

    @property
    def _things(self) -> frozenset[str]:
        """What the actions of the file are done to: no circumstance, such as `in an emergency`."""
        words = (noun.removesuffix("'s") for one in self.actions.values() for noun in (*one.nouns, *one.tail))
        return frozenset(map(singular, words))

    def _follows_a_fact(self) -> bool:
        """Does `to it` stand behind a clause, whose own words it belongs to?"""
        pairs = zip(self.adjuncts, self.adjuncts[1:], strict=False)
        return any(IT in then.same and first.fact is not None and not first.leads for first, then in pairs)

    def _meant_by_it(self, about: frozenset[str]) -> frozenset[str]:
        """The things that `it` may be: those of the clause that has no such word."""
        main = [*self.demand.events, *self.demand.others]
        beside = self._facts()
        said_in_main = any(IT in e.same for e in main) or any(IT in a.same for a in self.adjuncts)
        there = beside if said_in_main and beside else main
        events = [e for e in there if IT not in e.same]
        nouns = frozenset(noun for e in events for noun in self._object(e))
        behind = frozenset[str]().union(*(e.about for e in events))
        if not behind:
            return nouns or about
        return nouns | behind if any(e.single for e in events) else behind

    def _object(self, event: Event) -> tuple[str, ...]:
        action = self.actions.get(event.action)
        return (action.nouns[-1],) if action is not None and action.nouns else ()

    def _is_plain(self) -> bool:
        """Do failures and successes stand only where the language has them?"""
        limited = self.demand.events if self.demand.kind not in ("must", "have", "do", "follow") else ()
        if any(e.beside for e in self._facts()):
            return False
        if len({e.outcome for e in self.demand.events}) > 1:
            return False
        if self.demand.kind == "count":
            return not any(e.outcome for e in self.demand.others)
        return not any(e.outcome for e in limited) and not any(
            e.outcome == "failed" for e in (*self.demand.events, *self.demand.others)
        )

    @property
    def does(self) -> str:
        """What is counted of the calls: that they happen, fail or succeed."""
        if self.demand.kind != "count":
            return self.demand.kind
        return {"failed": "fail", "successful": "succeed"}.get(self.demand.events[0].outcome, "happen")


def _with_the_same(fields: Sequence[str]) -> str:
    return f" with the same {' and '.join(fields)}" if fields else ""


# ---------------------------------------------------------------------- ways to say it

Way = Callable[[Meaning], str | None]


def _needs(kind: str) -> Way:
    return lambda m: f"{m.b(kind)} must happen before {m.a}"


def _never_after(kind: str) -> Way:
    return lambda m: f"{m.a} must never happen after {m.b(kind)}"


def _never_within(kind: str, time: str = "") -> Way:
    return lambda m: f"{m.a} must never happen within {m.d(time or kind)} after {m.b(kind)}"


def _fails_within(kind: str, time: str = "") -> Way:
    return lambda m: f"{m.a} must never happen within {m.d(time or kind)} after {m.b(kind)} fails"


def _perfect(m: Meaning, kind: str) -> bool:
    fact = m.of(kind).fact
    return fact is not None and fact.aspect == "perfect"


def _if_perfect(way: Way) -> Way:
    return lambda m: way(m) if _perfect(m, "if") else None


def _answered(kind: str, time: str = "") -> Way:
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
                or (adjunct.leads and _perfect(m, kind) and m.demand.kind == "must")
            )
        within = f" within {m.d(time)}" if time else ""
        return f"{m.b(kind)} must be followed by {m.a}{within}" if clear else None

    return way


def _failure_answered(kind: str, time: str = "") -> Way:
    def way(m: Meaning) -> str:
        within = f" within {m.d(time)}" if time else ""
        return f"If {m.b(kind)} fails, {m.a} must follow{within}"

    return way


def _within_leading(kind: str) -> Way:
    """`Within 5 minutes after B, A must happen`; with the time behind, an earlier A may be meant."""
    return lambda m: f"{m.b(kind)} must be followed by {m.a} within {m.d(kind)}" if m.of(kind).leads else None


def _not_before(m: Meaning) -> str | None:
    """`Not before B has happened` needs B; a mere `not before B` may forbid B afterwards."""
    fact = m.of("before").fact
    return _needs("before")(m) if fact is not None and fact.aspect in ("perfect", "present") else None


def _recently(kind: str) -> Way:
    return lambda m: f"{m.a} must start within {m.d('ago')} after {m.b(kind)}"


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


def _counted(time: str = "", in_a_row: bool = False) -> Way:
    def way(m: Meaning) -> str | None:
        if m.demand.joint == "and" or m.later:
            return None
        within = f" within {m.d(time)}" if time else ""
        row = " in a row" if in_a_row else ""
        return f"{m.a} must {m.does} {m.demand.how} {m.demand.number} times{row}{m.per}{within}"

    return way


def _summed(time: str = "") -> Way:
    def way(m: Meaning) -> str | None:
        if m.later:
            return None
        within = f" within {m.d(time)}" if time else ""
        return f"The sum of {m.demand.how} of {m.a} must be {m.demand.number}{m.per}{within}"

    return way


def _counted_before(m: Meaning) -> str | None:
    if m.demand.joint or m.per:
        return None
    return f"{m.a} must happen {m.demand.how} {m.demand.number} times before {m.b('before')}"


def _between(m: Meaning) -> str:
    adjunct = m.of("between")
    assert adjunct.fact is not None
    assert adjunct.until is not None
    both = [m.named(fact.events, fact.joint) for fact in (adjunct.fact, adjunct.until)]
    return f"{m.a} must never happen between {both[0]} and {both[1]}"


def _needed_between(m: Meaning) -> str | None:
    """`Between A and B, C must happen`: after an A, B needs a C that came later."""
    adjunct = m.of("between")
    if adjunct.fact is None or adjunct.until is None or m.demand.joint:
        return None
    begin, end = (m.named(fact.events, fact.joint) for fact in (adjunct.fact, adjunct.until))
    return f"{end} must never happen after {begin} until {m.a}"


_NEVER: Mapping[tuple[str, ...], Way] = {
    (): lambda m: f"{m.a} must never happen",
    ("unless",): _needs("unless"),
    ("ago", "unless"): _recently("unless"),
    ("state",): _never_after("state"),
    ("until",): _needs("until"),
    ("before",): _not_before,
    ("after",): _never_after("after"),
    ("if",): _if_perfect(_never_after("if")),
    ("after", "until"): lambda m: f"{m.a} must never happen after {m.b('after')} until {m.b('until')}",
    ("if", "until"): _if_perfect(lambda m: f"{m.a} must never happen after {m.b('if')} until {m.b('until')}"),
    ("failed",): lambda m: f"If {m.b('failed')} fails, {m.a} must never happen afterwards",
    ("failed", "until"): lambda m: f"If {m.b('failed')} fails, {m.a} must never happen until {m.b('until')}",
    ("failed", "time"): _fails_within("failed", "time"),
    ("failed", "lasting"): _fails_within("failed", "lasting"),
    ("failed within",): _fails_within("failed within"),
    ("within",): _never_within("within"),
    ("during",): _never_within("during"),
    ("after", "time"): _never_within("after", "time"),
    ("after", "lasting"): _never_within("after", "lasting"),
    ("between",): _between,
    ("while",): lambda m: f"{m.a} must not overlap {m.b('while')}",
    ("so many",): lambda m: (
        f"{m.b('so many')} must happen at least {m.of('so many').number} times before {m.a}"
    ),
    ("failed often",): lambda m: (
        f"If {m.b('failed often')} fails {m.of('failed often').number} times, {m.a} must never happen"
    ),
    ("days",): _times("days", allowed=False),
    ("hours",): _times("hours", allowed=False),
}
_ONLY: Mapping[tuple[str, ...], Way] = {
    ("after",): _needs("after"),
    ("if",): _needs("if"),
    ("state",): _needs("state"),
    ("ago", "if"): _recently("if"),
    ("ago", "after"): _recently("after"),
    ("after", "time"): lambda m: f"{m.a} must start within {m.d('time')} after {m.b('after')}",
    ("within",): lambda m: f"{m.a} must start within {m.d('within')} after {m.b('within')}",
    ("days",): _times("days", allowed=True),
    ("hours",): _times("hours", allowed=True),
}
_MUST: Mapping[tuple[str, ...], Way] = {
    ("before",): lambda m: f"{m.a} must happen before {m.b('before')}",
    ("adjacent",): lambda m: f"{m.a} must happen immediately before {m.b('adjacent')}",
    ("after", "before"): lambda m: (
        f"{m.b('after')} must happen before {m.a}, and {m.a} must happen before {m.b('before')}"
    ),
    ("between",): _needed_between,
    ("before all",): lambda m: f"The first call must be {m.a}",
    ("at first",): lambda m: f"The first call must be {m.a}",
    ("at last",): lambda m: f"The last call must be {m.a}",
    ("state",): lambda m: f"{m.b('state')} must be followed by {m.a}",
    ("state", "time"): lambda m: f"{m.b('state')} must be followed by {m.a} within {m.d('time')}",
    ("every",): _answered("every"),
    ("every", "time"): _answered("every", "time"),
    ("after",): _answered("after"),
    ("after", "time"): _answered("after", "time"),
    ("if",): _answered("if"),
    ("if", "time"): _answered("if", "time"),
    ("failed often",): lambda m: (
        f"If {m.b('failed often')} fails {m.of('failed often').number} times, {m.a} must follow"
    ),
    ("failed",): _failure_answered("failed"),
    ("failed", "time"): _failure_answered("failed", "time"),
    ("failed within",): _failure_answered("failed within", "failed within"),
    ("within",): _within_leading("within"),
    ("around",): _within_leading("around"),
    ("days",): _times("days", allowed=True),
    ("hours",): _times("hours", allowed=True),
}
_WAYS: Mapping[str, Mapping[tuple[str, ...], Way]] = {
    "never": _NEVER,
    "only": _ONLY,
    "must": _MUST,
    "follow": _MUST,
    "do": {kinds: way for kinds, way in _MUST.items() if kinds not in (("days",), ("hours",))},
    "do first": {("before",): _MUST["before",]},
    "have": {kinds: _MUST[kinds] for kinds in (("before",), ("before all",))},
    "comes": {kinds: _MUST[kinds] for kinds in (("before",), ("adjacent",))},
    "adjacent": {(): lambda m: f"{m.e} must happen immediately before {m.a}"},
    "count": {
        (): _counted(),
        ("time",): _counted("time"),
        ("in a row",): _counted(in_a_row=True),
        ("before",): _counted_before,
    },
    "fail": {(): _counted(), ("in a row",): _counted(in_a_row=True)},
    "succeed": {(): _counted(), ("in a row",): _counted(in_a_row=True)},
    "never fail": {(): lambda m: f"{m.a} must never fail"},
    "so many before": {(): lambda m: f"{m.a} must happen at least {m.demand.number} times before {m.e}"},
    "own": {(): lambda m: f"{m.a} must not happen more often than {m.e}"},
    "first": {
        (): lambda m: f"The first call must be {m.a}",
        ("none before",): lambda m: f"The first call must be {m.a}",
    },
    "last": {
        (): lambda m: f"The last call must be {m.a}",
        ("none after",): lambda m: f"The last call must be {m.a}",
    },
    "takes": {(): lambda m: f"{m.a} must take at most {m.demand.how}"},
    "sum": {(): _summed(), ("time",): _summed("time")},
    "apart": {(): lambda m: f"{m.a} must never happen within {m.demand.how} after {m.e}"},
    "answer": {
        (): lambda m: f"{m.a} must be followed by {m.e}",
        ("time",): lambda m: f"{m.a} must be followed by {m.e} within {m.d('time')}",
    },
    "both": {(): lambda m: f"{m.a} and {m.e} must never both happen"},
    "calls for": {("time",): lambda m: f"{m.a} must be followed by {m.e} within {m.d('time')}"},
    "no answer": {(): lambda m: f"{m.e} must never happen after {m.a}"},
    "needs": {
        (): lambda m: f"{m.e} must happen before {m.a}",
        ("ago",): lambda m: f"{m.a} must start within {m.d('ago')} after {m.e}",
    },
    "overlap": {(): lambda m: f"{m.a} must not overlap {m.e}"},
    "overlap itself": {(): lambda m: f"{m.a} must not overlap each other"},
}

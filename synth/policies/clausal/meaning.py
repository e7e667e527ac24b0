"""What a clause and its adjuncts say in the language; None where that is not sure, or not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from synth.policies.action_forms import singular
from synth.policies.clausal.events import Action
from synth.policies.clausal.kinds_of_verbs import MAKING, SOMEBODY, is_another_each_time
from synth.policies.clausal.parts import AGAIN, ANY, IT, Adjunct, Demand, Event
from synth.policies.composed import in_quotes
from synth.policies.verbs import deeds_of

COUNTED = ("count", "fail", "succeed", "sum", "in a row", "variety", "least variety")
"""Demands on so many calls: of `a refund` all of them, or each by itself."""
OF_COUNTS = ("no more", "aside", "successes", "overall", "of one", "in all")
"""Adjuncts that say something of a number: `, not more`, `, no matter which`, `on one claim`."""

_OF_TRIES = ("count", "in a row", "never", "only", "apart", "may", "blocked")
"""Demands on attempts, whether they fail or succeed."""
_FAILED = ("failed", "failed often", "failed within")


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
        demand, adjuncts = _repeated(demand, adjuncts)
        adjuncts = _none_between(demand, _each_once(adjuncts))
        beside = dict.fromkeys(a for e in (*demand.events, *demand.others) for a in e.beside)
        return cls(*_but_some(demand, (*adjuncts, *beside)), actions, phrases)

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
        if any(e.action == AGAIN for e in events):
            return "it"
        names = ["any tool" if e.action == ANY else in_quotes(self.phrases[e.action]) for e in events]
        return f" {joint or 'and'} ".join(dict.fromkeys(names))

    @property
    def checks(self) -> bool:
        """Is something demanded that nobody needs afterwards: an approval, a check?"""
        return self.checked(self.demand.others)

    @property
    def verbs(self) -> frozenset[str]:
        """The verbs of the actions that are limited or demanded."""
        return frozenset(self.actions[e.action].verb for e in self.demand.events if e.action in self.actions)

    @property
    def says_another(self) -> bool:
        """Is it said of another call of the same action, `a new refund`?"""
        return any(e.later for e in self.demand.events)

    def checked(self, events: Sequence[Event]) -> bool:
        return any(self.actions[e.action].is_check for e in events if e.action in self.actions)

    def is_time_of_the_demand(self, often: Adjunct) -> bool:
        """Of `if two refunds fail within an hour, escalate` it is not: so many fail in that time."""
        times = [a for a in self.adjuncts if a.kind == "time"]
        before = self.adjuncts.index(often)
        return all(not a.leads and (often.leads or self.adjuncts.index(a) < before) for a in times)

    def has(self, kind: str) -> bool:
        return any(a.kind == kind for a in self.adjuncts)

    @property
    def later(self) -> bool:
        return any(a.kind == "later" or (a.kind == "time" and a.said == "later") for a in self.adjuncts)

    @property
    def per(self) -> str:
        return f" per {self.of('run').said}" if self.has("run") else ""

    # ------------------------------------------------------------------ what must be the same

    def _facts(self) -> list[Event]:
        """The events that adjuncts speak of."""
        facts = (fact for a in self.adjuncts for fact in (a.fact, a.until) if fact is not None)
        return [event for fact in facts for event in fact.events]

    def _all_events(self) -> list[Event]:
        return [*self.demand.events, *self.demand.others, *self._facts()]

    def same_fields(self) -> tuple[str, ...] | None:
        """The fields that must be the same, in their order; None where it is not clear which are meant."""
        if self._follows_a_fact():
            return None
        events = self._all_events()
        said = [a.same for a in self.adjuncts if a.kind in ("same", "of one")]
        fields = frozenset().union(*(e.same for e in events), *said)
        about = frozenset().union(*(e.about for e in events))
        if IT in fields:
            named = fields - {IT}
            meant = named or self._meant_by_it(about)
            done = frozenset(e.noun[-1] for e in events if IT in e.same and e.noun)
            if not named and len(meant) > 1 and len(done) == 1 and done <= meant:
                meant = done
            if not named and len(meant) != 1:
                return None
            if not named and any(e.itself and self._is_of_others(e, meant) for e in events):
                return None
            fields = meant
        fields |= self._told_by_ids(about)
        if self.has("so done"):
            things = {self._object(e) for e in events}
            if len(things) != 1:
                return None
            fields |= frozenset(next(iter(things)))
        if self.has("vice versa"):
            fields |= about
        if self.demand.how == "anybody":
            fields = fields - frozenset(SOMEBODY) or fields
        fields = frozenset(field for field in fields if f"{field}_id" not in fields)
        about = frozenset(field for field in about if f"{field}_id" not in fields)
        counted = self.demand.kind in COUNTED
        if self.has("failed often") and not fields:
            fields = frozenset(field for field in about if "_" in field)
        if self.demand.kind in ("second", "no second") and not fields:
            fields = about or frozenset(e.noun[-1] for e in self.demand.events if e.single and e.noun)
        if counted and not fields and about and not any(e.single for e in self.demand.events):
            return tuple(sorted(about))
        if counted and fields and frozenset().union(*(e.about for e in self.demand.events)) == about:
            fields |= about
        if not about <= fields and (counted or not about <= self._things):
            return None
        if self.demand.kind in ("try", "retry", "no retry") and not fields and any(e.single for e in events):
            nouns = {e.noun[-1] for e in events if e.single and e.noun}
            return () if len(nouns) == 1 or self.demand.kind == "try" else None
        if counted and not fields and not self._is_one_at_least:
            single = [e for e in self.demand.events if e.single and not self._is_another_each_time(e)]
            if not all(e.each and e.noun for e in single):
                return None
            fields = frozenset(e.noun[-1] for e in single)
        return tuple(sorted(fields))

    @property
    def same_is_said(self) -> bool:
        """Is it said of what field or thing that it is the same, and not of `it` alone?"""
        said = (*(e.same for e in self._all_events()), *(a.same for a in self.adjuncts))
        return any(same - {IT} for same in said)

    @property
    def is_of_it_alone(self) -> bool:
        """Is what is the same said by `it` alone? Which argument that is, the calls say."""
        said = (*(e.same for e in self._all_events()), *(a.same for a in self.adjuncts))
        return set().union(*said) == {IT}

    @property
    def of_failures_alone(self) -> bool:
        """Is it said of failures that they are of one thing, which what follows is not done to?

        `After 3 failed restarts of the same pod, page somebody`: a pager knows no pods.
        """
        if not self.has("failed often") or any(IT in a.same for a in self.adjuncts):
            return False
        if self.demand.kind not in ("must", "follow", "do") and self.of("failed often").said != "in a row":
            return False
        events, fields = (*self.demand.events, *self.demand.others), frozenset(self.same_fields() or ())
        if not fields or any(e.same or e.about & fields or e.action in (ANY, AGAIN) for e in events):
            return False
        said = {word for field in fields for word in field.split("_")}
        return not any(said & set(self.phrases[e.action].casefold().split()) for e in events)

    def _told_by_ids(self, about: frozenset[str]) -> frozenset[str]:
        """`For an order_id, unless the order has been paid`: the order that this field says."""
        nouns = {noun for e in self._facts() for noun in self._object(e)}
        return frozenset(field for field in about if field.endswith("_id") and field[:-3] in nouns)

    @property
    def _is_one_at_least(self) -> bool:
        """Is one of whichever enough: `a note must be written at least once`?"""
        made = self.demand.how == "exactly" and self.verbs <= frozenset(MAKING)
        one = self.demand.number == 1 and (made or self.demand.how == "at least")
        return one and not any(e.each for e in self.demand.events)

    def _is_of_others(self, event: Event, meant: frozenset[str]) -> bool:
        """Is it done to other things? `Scan the parcel before loading it` says what is loaded."""
        action = self.actions.get(event.action)
        alone = action is not None and action.verb_alone and not action.tail
        in_passing = any(
            a.kind == "before" and a.fact is not None and a.fact.aspect == "noun" and event in a.fact.events
            for a in self.adjuncts
        )
        return bool(event.noun) and event.noun[-1] not in meant and not (alone and in_passing)

    def _is_another_each_time(self, event: Event) -> bool:
        action = self.actions.get(event.action)
        return bool(action and action.nouns and is_another_each_time(action.verb, action.nouns[-1]))

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
        if event.noun and action is not None and action.nouns and event.noun[-1] not in action.nouns:
            return (event.noun[-1],)
        return (action.nouns[-1],) if action is not None and action.nouns else ()

    def is_of_one_object(self, kind: str) -> bool:
        """Is all that is demanded done to the same kind of thing as what an adjunct speaks of?"""
        fact = self.of(kind).fact
        things = {self._object(e) for e in (*self.demand.events, *(fact.events if fact else ()))}
        return len(things) == 1 and things != {()}

    @property
    def how(self) -> str:
        """How many are demanded: `3 per customer, not more` are at most three."""
        exactly = any(a.kind == "no more" and a.said == "no less" for a in self.adjuncts)
        return ("exactly" if exactly else "at most") if self.demand.how == "just" else self.demand.how

    def is_said_of_counts(self) -> bool:
        """Does what is said of numbers alone stand behind a number of which it is true?"""
        if not any(self.has(kind) for kind in OF_COUNTS):
            return self.demand.how != "just"
        if self.demand.kind in ("both", "both of one"):
            return not any(self.has(kind) for kind in OF_COUNTS if kind != "of one")
        counted = self.demand.kind in (*COUNTED, "so many before") or self.has("after so many")
        if not counted or (self.has("overall") and self.same_fields()):
            return False
        if self.has("successes") or self.has("aside"):
            if any(e.outcome in ("failed", "successful") for e in self.demand.events):
                return False
            if self.has("successes") and (self.has("aside") or self.demand.kind != "count"):
                return False
        if not self._ends_agree():
            return False
        told = [a.said for a in self.adjuncts if a.kind == "aside" and a.said]
        if any(singular(word) in (self.same_fields() or ()) for said in told for word in said.split()):
            return False
        if self.demand.kind in ("sum", "variety", "least variety"):
            return not self.has("no more")
        if self.has("no more"):
            return self.demand.how in ("just", "at most", "exactly")
        tries_count = (self.has("aside") or self.has("successes")) and not told and self.demand.how == "just"
        return (
            tries_count
            or self.demand.how == "at most"
            or not (self.demand.how == "just" or self.has("aside"))
        )

    def _ends_agree(self) -> bool:
        """Is what is said behind of that number: `a fourth is too many` of three, `no less` of no limit?"""
        more = [a for a in self.adjuncts if a.kind == "no more"]
        if any(a.number and a.number - 1 != self.demand.number for a in more):
            return False
        counted = {e.action for e in self.demand.events}
        if any({e.action for e in a.fact.events} - counted for a in more if a.fact is not None):
            return False
        if any(a.said == "no less" for a in more) and self.demand.how not in ("just", "exactly"):
            return False
        last = [e.noun[-1] for e in self.demand.events if e.noun]
        if self.has("in all") and any(noun.endswith("s") and singular(noun) != noun for noun in last):
            return False
        own = {noun for e in self.demand.events for noun in e.noun} | self.verbs
        named = {singular(a.said) for a in self.adjuncts if a.kind == "successes" and a.said}
        return named <= {singular(word) for word in (*own, *(d for v in self.verbs for d in deeds_of(v)))}

    def is_plain(self) -> bool:
        """Do failures and successes stand only where the language has them?"""
        limited = self.demand.events if self.demand.kind not in ("must", "have", "do", "follow") else ()
        if self.demand.kind == "only":
            limited = tuple(e for e in limited if e.outcome != "successful")
        if any(e.beside for e in self._facts()):
            return False
        if len({e.outcome for e in self.demand.events}) > 1:
            return False
        if any(e.outcome == "tried" for e in (*self.demand.events, *self.demand.others)):
            return self.demand.kind in _OF_TRIES and not any(e.outcome for e in self.demand.others)
        if self.demand.kind == "count":
            return not any(e.outcome for e in self.demand.others)
        if self.demand.kind == "apart":
            return not any(e.outcome for e in limited)
        return not any(e.outcome for e in limited) and not any(
            e.outcome == "failed" for e in (*self.demand.events, *self.demand.others)
        )

    @property
    def does(self) -> str:
        """What is counted of the calls: that they happen, fail or succeed."""
        if self.demand.kind not in ("count", "in a row", "two", "no two"):
            return self.demand.kind
        if self.has("successes"):
            return "succeed"
        return {"failed": "fail", "successful": "succeed"}.get(self.demand.events[0].outcome, "happen")


def _repeated(demand: Demand, adjuncts: Sequence[Adjunct]) -> tuple[Demand, Sequence[Adjunct]]:
    """With what `it` is that is tried again: what the only other part of the sentence is about."""
    facts = [a.fact for a in adjuncts if a.fact is not None]
    told = [e for fact in facts for e in fact.events]
    failed = [e for a in adjuncts if a.kind in _FAILED and a.fact is not None for e in a.fact.events]
    if len(failed) == 1 and any(e.action == AGAIN for e in demand.events):
        told = failed
    if any(e.action == AGAIN for e in demand.events) and len(told) == 1:
        made = tuple(
            replace(told[0], same=told[0].same | e.same, beside=e.beside) if e.action == AGAIN else e
            for e in demand.events
        )
        others = made if demand.others else ()
        return replace(demand, events=made, others=others), adjuncts
    known = {e.action for e in told} - {AGAIN}
    if any(e.action == AGAIN for e in told) and len(known) == 1:
        told = [e for e in told if e.action != AGAIN][:1]
    elif any(e.action == AGAIN for e in told) and len(demand.events) == 1:
        told = list(demand.events)
    else:
        return demand, adjuncts
    meant = (replace(told[0], outcome="", beside=()),)
    return demand, [_with_what(a, meant) for a in adjuncts]


_NEXT_TO_IT = ("adjacent", "next", "comes next", "next to failure", "call before", "inverted")
"""Demands on what comes directly before or after."""
_AT_ONCE = ("adjacent", "straight after", "just before", "next call", "straight after failed")
_SAID_AGAIN = ("before all", "at first", "at last", "none between", "next call", "always", "first")
"""Adjuncts that say the same when they are said twice: `first of all ..., before any other call`."""


def _each_once(adjuncts: Sequence[Adjunct]) -> list[Adjunct]:
    again = [a.kind in _SAID_AGAIN and any(a.kind == b.kind for b in adjuncts[:n])
             for n, a in enumerate(adjuncts)]  # fmt: skip
    return [a for a, said in zip(adjuncts, again, strict=True) if not said]


def _none_between(demand: Demand, adjuncts: Sequence[Adjunct]) -> list[Adjunct]:
    """`Directly before B, nothing in between` is said twice; `before B, nothing in between` says it."""
    if not any(a.kind == "none between" for a in adjuncts):
        return [*adjuncts]
    others = [a for a in adjuncts if a.kind != "none between"]
    if demand.kind in _NEXT_TO_IT or any(a.kind in _AT_ONCE for a in others):
        return others
    if any(a.kind == "before" and a.fact is not None for a in others):
        return [replace(a, kind="adjacent") if a.kind == "before" else a for a in others]
    return [*adjuncts]


def _but_some(demand: Demand, adjuncts: tuple[Adjunct, ...]) -> tuple[Demand, tuple[Adjunct, ...]]:
    """No tool but some: what is excepted belongs to what is demanded."""
    excepted = [a.fact for a in adjuncts if a.kind == "but" and a.fact is not None]
    if demand.kind != "never" or {e.action for e in demand.events} != {ANY} or len(excepted) != 1:
        return demand, adjuncts
    but = replace(demand, kind="never but", how="", others=excepted[0].events, joint=excepted[0].joint)
    return but, tuple(a for a in adjuncts if a.kind != "but")


def _with_what(adjunct: Adjunct, meant: tuple[Event, ...]) -> Adjunct:
    fact = adjunct.fact
    if fact is None or all(e.action != AGAIN for e in fact.events):
        return adjunct
    return replace(adjunct, fact=replace(fact, events=meant))

"""Order as it is typed in passing: `needs its ad approved`, `gets a letter`, `neither warned nor banned`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.events import Action
from synth.policies.clausal.facts import by_it, passive
from synth.policies.clausal.matching import Found, Grammar, Own, Parts, Rule
from synth.policies.clausal.parts import ANY, ANYTHING, IT, Adjunct, Demand, Event, Fact, with_same
from synth.policies.clausal.relative import thing_of, which
from synth.policies.clausal.words import (
    AGAIN,
    AGENT,
    ALLOWED,
    ALREADY,
    BANNED,
    BEFORE,
    HAPPEN,
    HAS_BEEN,
    MAY,
    NO,
    NOT_BEEN,
    SHOULD,
)
from synth.policies.patterns import compiled
from synth.policies.verbs import third_of

Events = tuple[tuple[Event, ...], str]


def _list(joint: str) -> Callable[[Parts], Events]:
    return lambda p: ((p["e"], p["g"]), joint)


def _told(aspect: str) -> Callable[[Parts], Fact]:
    """`That was scanned or weighed`: what has happened to one thing."""
    return lambda p: Fact(p["es"][0], aspect, p["es"][1])


def _pair(kind: str, first: str = "a", then: str = "b") -> Callable[[Parts], Demand | None]:
    """A demand on two lists of actions; both are lists only where one word joins them."""

    def made(p: Parts) -> Demand | None:
        (events, joint), (others, other) = p[first], p[then]
        return None if joint and other else Demand(kind, events, others, joint=joint or other)

    return made


def _needs_participle(p: Parts) -> Demand | None:
    """`A launch needs its ad approved`: whose ad it is says no field, so that the ad is compared."""
    (events, joint), fact = p["a"], p["f"]
    owners = [e.noun[-1] for e in fact.events if e.noun and IT not in e.same]
    owner = frozenset(owners[:1] if len(owners) < len(fact.events) else ())
    others = tuple(replace(e, same=(e.same - {IT}) | owner) for e in fact.events)
    if joint and fact.joint:
        return None
    return Demand("needs", events, others, joint=joint or fact.joint)


def _joined(p: Parts) -> Fact | None:
    """`The parcel weighed and its label printed`."""
    one, more = p["f"], p["g"]
    if more.joint not in ("", p["j"]):
        return None
    return Fact((*one.events, *more.events), "perfect", p["j"])


def _participle(p: Parts) -> Fact | None:
    event = passive(p)
    return None if event is None else Fact((event,), "perfect")


def _passed(p: Parts) -> Fact:
    """`The customer passed verify caller`: `that customer` must be the same."""
    return Fact((with_same(p["e"], p["s"]),), "perfect")


def _gets(kind: str) -> Callable[[Parts], Demand | None]:
    """`Every denied claim must get a letter`: what comes to a thing to which something was done."""

    def made(p: Parts) -> Demand | None:
        first, (events, joint) = p["s"], p["es"]
        if first.role or any(e.action == first.action for e in events):
            return None
        return Demand(kind, (first,), _plain(events), joint=joint)

    return made


def _thing_gets(p: Parts) -> Demand:
    """`After a cancellation the order_id must get a refund`."""
    events, joint = p["es"]
    return Demand("follow", tuple(with_same(e, p["w"]) for e in _plain(events)), joint=joint)


def _plain(events: tuple[Event, ...]) -> tuple[Event, ...]:
    return tuple(replace(e, single=False, same=e.same - {IT}) for e in events)


def _one_object(p: Parts) -> tuple[Event, Event] | None:
    """Two deeds done to one thing, which is said once: `cancel and reschedule the same appointment`."""
    one, other = p["v"], p["e"]
    if one.noun[-1:] != other.noun[-1:] or one.action == other.action or not other.noun:
        return None
    return replace(one, same=other.same), other


def _both_deeds(p: Parts) -> Demand | None:
    pair = _one_object(p)
    return Demand("both", pair[:1], pair[1:]) if pair and other_is_same(pair[1]) else None


def other_is_same(event: Event) -> bool:
    return bool(event.same - {IT})


def _both_in_one_run(p: Parts) -> Demand | None:
    """`Never pay and refund in one run`; each by itself may be done."""
    one, other = (p["v"], p["e"]) if "v" in p else (p["a"], p["b"])
    if one.action == other.action or ("v" in p and one.noun[-1:] != other.noun[-1:]):
        return None
    return Demand("both", (replace(one, same=one.same | other.same, beside=()),), (other,))


def _excluded(p: Parts) -> Demand | None:
    """`Refund or voucher for an order_id, not both`: of one and the same order."""
    one, other = p["a"], p["b"]
    if one.action == other.action:
        return None
    same = one.about | other.about
    plain = [replace(e, same=e.same | same, about=frozenset()) for e in (one, other)]
    return Demand("both", (plain[0],), (plain[1],))


def _not_with(p: Parts) -> Demand | None:
    """`Dropping a table is not allowed in a run that also runs a migration`."""
    (events, joint), (others, other) = p["a"], p["b"]
    if len(events) > 1 or len(others) > 1 or joint or other or events[0].action == others[0].action:
        return None
    return Demand("both", events, others)


def _neither(p: Parts) -> Demand | None:
    """`A user is neither warned nor suspended`."""
    one, other = passive({**p, "d": p["a"]}), p["b"]
    if one is None or one.noun[-1:] != other.noun[-1:] or other.role:
        return None
    return Demand("never", (one, with_same(other, one.same)), joint="or")


def _but_not(p: Parts) -> Demand | None:
    """`A campaign may be paused but not launched` forbids that alone."""
    event = passive({**p, "d": p["b"]})
    same_thing = p["a"].noun[-1:] == p["b"].noun[-1:] and not p["a"].role
    return Demand("never", (event,)) if event is not None and same_thing else None


def _first_of_both(p: Parts) -> Demand | None:
    """`If an order is both cancelled and refunded, the cancellation comes first`."""
    thing, one, other, first = p["t"], p["a"], p["b"], p["c"]
    if thing.action not in (ANYTHING, one.action, other.action) or one.noun[-1:] != other.noun[-1:]:
        return None
    if first.action not in (one.action, other.action) or one.action == other.action:
        return None
    same = thing.same or frozenset(one.noun[-1:])
    late = other if first.action == one.action else one
    return Demand("no answer", (with_same(replace(late, beside=()), same),), (first,))


def _of_field(p: Parts) -> Event | None:
    """`Apply a plan_file that was planned`, of an action whose name says nothing of what it is done to."""
    if not p["e"].bare:
        return None
    event = with_same(p["e"], p["s"])
    return (
        event if "r" not in p else replace(event, beside=which(Event(ANYTHING, same=p["s"]), p["r"]).beside)
    )


def _only_such(p: Parts) -> Demand | None:
    """`You can restore only posts that have been removed`."""
    then, first = p["v"], p["s"]
    if then.action == first.action or then.noun[-1:] != first.noun[-1:]:
        return None
    return Demand("only", (which(then, Fact((first,), "perfect")),))


def _straight_after(p: Parts) -> Adjunct | None:
    found: Fact = p["f"]
    return None if found.aspect in ("not", "running") else Adjunct("straight after", found)


def _once_done(p: Parts) -> Adjunct | None:
    """`Once banned, a user ...`."""
    event = by_it(p)
    return None if event is None else Adjunct("after", Fact((event,), "perfect"), leads=True)


def _chain(p: Parts) -> Demand | None:
    """`A before B and B before C`."""
    one, two, again, three = p["a"], p["b"], p["c"], p["g"]
    if two.action != again.action or len({e.action for e in (one, two, three)}) < 3:
        return None
    return Demand("chain", (one, two), (three,))


def _next(p: Parts) -> Demand | None:
    fact: Fact = p["a"]
    if fact.aspect in ("not", "running") or any(e.outcome for e in fact.events):
        return None
    return _pair("next")({**p, "a": (fact.events, fact.joint)})


def _next_to_failure(p: Parts) -> Demand | None:
    """`The next call after a failed booking must be a search`."""
    (answers, other), fact = p["b"], p["a"]
    return (
        None
        if fact.joint == "and" or other == "and"
        else Demand("next to failure", fact.events, answers, "or")
    )


def _least(p: Parts) -> Demand | None:
    """`In every run either A or B must happen`."""
    events, joint = p["es"] if "es" in p else ((p["e"],), "")
    if joint == "and":
        return None
    events = tuple(replace(e, single=False, each=False) for e in events)
    return Demand("count", events, joint=joint, number=1, how="at least")


def _none_more(p: Parts) -> Demand:
    return Demand("never", (Event(ANY),), how="again")


def _none_but(p: Parts) -> Demand | None:
    """`After a rollback, nothing but a page may be called`."""
    events, _ = p["e"]
    if any(e.same or e.about or e.outcome or e.beside or e.action == ANY for e in events):
        return None
    return Demand("never but", (Event(ANY),), events, joint="or" if len(events) > 1 else "")


def _never_such(p: Parts) -> Demand | None:
    """`A blocked room must not be reserved or upgraded`."""
    first, (events, joint) = p["s"], p["es"]
    if joint == "and" or any(e.noun != first.noun or e.action == first.action or e.role for e in events):
        return None
    same = thing_of(first, *events)
    return Demand("no answer", (with_same(first, same),), events, joint="or")


def _both_done(p: Parts) -> Demand | None:
    """`A charge is either refunded or invoiced, not both`."""
    thing, one, other = p["t"], p["a"], p["b"]
    if one.noun != other.noun or thing.noun != one.noun or one.role or other.role:
        return None
    if one.action == other.action or thing.action != one.action:
        return None
    return Demand("both", (with_same(one, frozenset(one.noun[-1:]) | thing.same),), (other,))


def _never_for_one(p: Parts) -> Demand | None:
    """`Reserve room and block room never for the same room`."""
    one, other = p["a"], p["b"]
    return None if one.action == other.action else Demand("both", (with_same(one, p["s"]),), (other,))


def _in_such_a_run(p: Parts) -> Adjunct:
    """`In a run with a check-in`: that it has happened at some time."""
    events, joint = p["a"]
    return Adjunct("in such a run", Fact(events, "noun", joint))


def _ends_after(p: Parts) -> Demand | None:
    """`A run that deletes a volume must end with a page`."""
    (first, joint), (last, other) = p["a"], p["b"]
    if joint == "and" or other == "and":
        return None
    return Demand("last if", last, first, joint="or")


def by_shared_verb(actions: Sequence[Action]) -> dict[str, Own]:
    """`Deletes a namespace or a volume`: several actions whose verb is said once."""
    return {"does_any": _of_one_verb(actions, third_of), "do_any": _of_one_verb(actions, str)}


def _of_one_verb(actions: Sequence[Action], form: Callable[[str], str]) -> Own:
    alike: dict[str, list[Action]] = {}
    for one in actions:
        if one.nouns and not one.tail:
            alike.setdefault(f"{form(one.verb)}{one.up}", []).append(one)
    several = {verb: found for verb, found in alike.items() if len({one.number for one in found}) > 1}

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        for verb, found in several.items():
            if said := compiled(rf" *{verb}(?![\w'-])").match(grammar.text, at):
                yield from _objects(grammar, said.end(), found)

    return find


def _objects(grammar: Grammar, at: int, actions: Sequence[Action]) -> Iterator[Found]:
    """`A namespace or a volume`, each of another action; two objects at least."""
    events: list[Event] = []
    joint = ""
    while True:
        ways = (
            (one, compiled(rf" *{_ANY_OF}(?:{one.objects})(?![\w'-])").match(grammar.text, at))
            for one in actions
        )
        said = [(one, m.end()) for one, m in ways if m is not None]
        if len({one.number for one, _ in said}) != 1:
            return
        one, at = said[0]
        events.append(Event(one.number, noun=one.nouns))
        if len(events) > 1 and joint:
            yield (tuple(events), joint), at
        more = compiled(r" *,? *(?P<j>or|and|nor)(?![\w'-])| *,").match(grammar.text, at)
        if more is None:
            return
        own = {"nor": "or"}.get(more["j"] or "", more["j"] or "")
        if joint and own not in ("", joint):
            return
        joint, at = joint or own, more.end()


_ANY_OF = "(?:(?:the|an?|any|every|each|all|all the|another) )*"
_ASKS = "requires|needs|takes|presupposes|require|need|take|presuppose|must_have|calls_for|call_for"
_DONE = "finished|completed|done|over|complete|through|concluded|finalised|finalized"
_ONE_RUN = (
    "one_run|the_same_run|a_single_run|one_and_the_same_run|one_conversation|the_same_conversation"
    "|a_single_conversation|one_session|the_same_session|a_single_session"
)
_A_RUN = "a_run|any_run|the_same_run|runs|a_conversation|any_conversation|the_same_conversation"
_EVERY_RUN = "every_run|each_run|any_run|each_and_every_run"
_NOT_BOTH = (
    "not_both|but_not_both|never_both|but_never_both|and_not_both|and_never_both|not_both_of_them"
    "|but_not_both_of_them|never_both_of_them"
)
_RECEIVES = "get|receive|be_given|be_sent|obtain"
_RECEIVED = "gets|get|receives|receive|is_given|is_sent|are_given|are_sent"
_CALLS = "calls|call|tool_calls|tool_call|steps|step|actions|action|moves"
_MORE = "further|more|other|additional|new"
_RIGHT = "immediately|directly|right|just|straight"
_NOTHING_BETWEEN = (
    "nothing_in_between|nothing_else_in_between|and_nothing_in_between|no_call_in_between"
    "|no_other_call_in_between|nothing_between_them|without_anything_in_between|nothing_comes_between"
    "|with_nothing_in_between|with_nothing_else_in_between|with_no_other_call_in_between"
)
_STEP = "call|step|action|tool_call|thing"
_AT_ONCE = "at_once|immediately|directly|straight_away|right_away"
_NEXT = "the|your|its [very] next call|step|action|tool_call|thing [made]"
_STARTS = "starts|start|begins|begin|is_started|are_started|may_start|may_begin|can_start|can_begin"
_PASSED = (
    "passed|passes|has_passed|have_passed|went_through|has_gone_through|goes_through|completed"
    "|has_completed|cleared|has_cleared"
)
_NOTHING = "nothing|no_tool|no_other_tool|no_call|no_calls|no_other_call|no_further_call|no_further_calls"
_BUT = "but|except|other_than|apart_from|except_for|save|besides"
_FIRST = "first|opening|initial"
_LAST = "last|final|closing|concluding"
_OF_RUNS = "of|in every_run|each_run|a_run|any_run|the_run|all_runs|runs"

ORDER: dict[str, Rule] = {
    # what has happened
    "pasts": [
        ("[either] {e:past} or {g:past}", _list("or")),
        ("[both] {e:past} and {g:past}", _list("and")),
    ],
    "that": [
        (f"that|which|who {HAS_BEEN}|was|were|is|are [{ALREADY}] {{es:pasts}} [{BEFORE}]", _told("perfect")),
        (f"that|which|who {NOT_BEEN} [{ALREADY}] {{es:pasts}} [{BEFORE}|yet]", _told("not")),
    ],
    "fact": [
        (f"{{s:somebody}} {_PASSED} {{e:event}} [{BEFORE}]", _passed),
        (f"{{t:object}} gets|got [{ALREADY}] {{d:past}} [{BEFORE}]", _participle),
    ],
    "somebody": [
        ("that|the_same|this {w:thing_behind}", lambda p: frozenset({p["w"]})),
    ],
    "participle": [
        ("{f:now_done}", lambda p: p["f"]),
        ("{f:now_done} and {g:participle}", lambda p: _joined({**p, "j": "and"})),
        ("{f:now_done} or {g:participle}", lambda p: _joined({**p, "j": "or"})),
    ],
    "now_done": [
        ("{t:object} [to_be|to_have_been|being] [already|first] {d:past}", _participle),
    ],
    "object": [
        ("{s:identifier} {r:that}", lambda p: which(Event(ANYTHING, same=p["s"]), p["r"])),
    ],
    "act": [
        ("{e:deed} {s:identifier}", _of_field),
        ("{e:deed} {s:identifier} {r:that}", _of_field),
    ],
    "acts": [("{es:do_any}", lambda p: p["es"])],
    # demands
    "demand": [
        (f"{{a:events}} {_ASKS} {{b:events}}", _pair("asks")),
        (f"{{a:events}} {_ASKS} [both|all] [,] {{f:participle}} [{BEFORE}|by_then]", _needs_participle),
        (f"{{e:events}} {SHOULD} [always] be {_DONE}", demanding("pass")),
        (f"{{e:events}} {SHOULD} [always] have [been] finished|completed|ended|concluded", demanding("pass")),
        (f"{{a:events}} {_ASKS} {{b:events}} {_RIGHT} before [it|that|them]", _pair("adjacent")),
        (f"{{s:state}} {SHOULD} [also|always] {_RECEIVES} {{es:events}}", _gets("answer")),
        (f"{{s:state}} [always] {_RECEIVED} {{es:events}}", _gets("answer")),
        (f"{{s:state}} {NO} [ever] be {{es:pasts}} [{AGAIN}]", _never_such),
        ("{a:events} , {b:foremost}", lambda p: _pair("needs")({**p, "b": ((p["b"],), "")})),
        (f"{{a:events}} {_ASKS} {{b:checks}}", _pair("needs")),
        ("{t:object} is|are|gets|get {d:past}", demanding("is", make=passive)),
        (f"{{w:identifier}} {SHOULD} [also|always] {_RECEIVES} {{es:events}}", _thing_gets),
        (f"the {{w:identifier}} {SHOULD} [also|always] {_RECEIVES} {{es:events}}", _thing_gets),
        (f"{AGENT} {MAY} {{v:verb}} only {{s:state}}", _only_such),
        ("{v:verb} only {s:state}", _only_such),
        ("{t:object} gets|get only {d:past}", demanding("only", make=passive)),
        ("{t:object} gets|get {d:past}", demanding("may", make=passive)),
        ("{a:event} before {b:event} [,] and [then] {c:event} before {g:event}", _chain),
        (
            f"{_NEXT} after|following {{a:failure}} {SHOULD}|is [always] [be|to_be] {{b:events}}",
            _next_to_failure,
        ),
        (
            f"{_NEXT} after|following {{a:failure}} {SHOULD}|is [always] [be|to_be] to {{b:acts}}",
            _next_to_failure,
        ),
        (
            f"the [very] {_STEP} after|following {{a:what}} {SHOULD}|is [always] [be|to_be] {{b:events}}",
            _next,
        ),
        (f"{{a:events}} {SHOULD}|is|are [be] [always] followed {_AT_ONCE} by {{b:events}}", _pair("next")),
        (
            f"{{a:failure}} {SHOULD}|is|are [be] [always] followed {_AT_ONCE} by {{b:events}}",
            _next_to_failure,
        ),
        (f"{AGENT} {SHOULD} {{e:acts}} next", demanding("comes next")),
        ("{e:acts} next", demanding("comes next")),
        # never both
        (f"{{t:object}} is|are|gets|get [either] {{a:done}} or {{b:done}} [,] {_NOT_BOTH}", _both_done),
        (f"{{t:object}} {MAY}|{SHOULD} be [either] {{a:done}} or {{b:done}} [,] {_NOT_BOTH}", _both_done),
        (f"there {MAY}|is|are [be] [either] {{a:event}} or {{b:event}} [,] {_NOT_BOTH}", _excluded),
        ("{a:event} and {b:event} never {s:same}", _never_for_one),
        ("never|do_not [both] {v:verb} and|or {e:act}", _both_deeds),
        (f"{AGENT} {NO} [both] {{v:verb}} and|or {{e:act}}", _both_deeds),
        (f"never|do_not [both] {{v:verb}} and {{e:act}} in|within {_ONE_RUN}", _both_in_one_run),
        (f"{AGENT} {NO} [both] {{v:verb}} and {{e:act}} in|within {_ONE_RUN}", _both_in_one_run),
        (f"never|do_not [both] {{a:act}} and {{b:act}} in|within {_ONE_RUN}", _both_in_one_run),
        (f"{AGENT} {NO} [both] {{a:act}} and {{b:act}} in|within {_ONE_RUN}", _both_in_one_run),
        (f"never {{a:event}} and {{b:event}} in|within {_ONE_RUN}", _both_in_one_run),
        (f"no {{a:event}} and {{b:event}} in|within {_ONE_RUN}", _both_in_one_run),
        (f"[either] {{a:event}} or {{b:event}} [,] {_NOT_BOTH}", _excluded),
        (f"{{a:events}} is|are [strictly] {BANNED} in|during {_A_RUN} {{b:of_a_run}}", _not_with),
        (f"{{a:events}} {NO} [ever] {HAPPEN} in|during {_A_RUN} {{b:of_a_run}}", _not_with),
        (f"no {{a:events}} in|during {_A_RUN} {{b:of_a_run}}", _not_with),
        (f"never|do_not {{a:acts}} in|during {_A_RUN} {{b:of_a_run}}", _not_with),
        (f"{AGENT} {NO} {{a:acts}} in|during {_A_RUN} {{b:of_a_run}}", _not_with),
        # bans
        (f"{{t:object}} is|are|gets|get [ever] neither {{a:past}} nor {{b:past}} [{AGAIN}]", _neither),
        (f"{{t:object}} {ALLOWED} [ever] be neither {{a:past}} nor {{b:past}} [{AGAIN}]", _neither),
        (f"{{t:object}} {MAY} be {{a:past}} but|and|yet not|never {{b:past}}", _but_not),
        (
            "nothing|nobody|no_one [more|else|further] is|are|gets {d:past}",
            lambda p: Demand("never", (p["d"],)),
        ),
        (
            f"nothing|nobody|no_one more|else|further {ALLOWED} [ever] be {{d:past}}",
            lambda p: Demand("never", (p["d"],)),
        ),
        (f"{AGENT} makes|make|does|do|takes|take no [{_MORE}] {_CALLS} [{AGAIN}]", _none_more),
        (f"{AGENT} {MAY}|{SHOULD} make|do|take no [{_MORE}] {_CALLS} [{AGAIN}]", _none_more),
        (f"{AGENT} {NO} make|do|take any|another [{_MORE}] {_CALLS} [{AGAIN}]", _none_more),
        (f"{AGENT} does|do nothing [more|else|further] [{AGAIN}]", _none_more),
        (f"{AGENT} does_not|do_not do anything more|else|further|{AGAIN}", _none_more),
        (f"{AGENT} does_not|do_not make|do|take any|another [{_MORE}] {_CALLS} [{AGAIN}]", _none_more),
        (f"{AGENT} {MAY}|{SHOULD} do nothing [more|else|further] [{AGAIN}]", _none_more),
        (f"{AGENT} {NO} do anything [more|else|further] [{AGAIN}]", _none_more),
        (f"do nothing [more|else|further] [{AGAIN}]", _none_more),
        (f"no {_MORE} {_CALLS} is|are|{MAY} [be] made|done|allowed|permitted [{AGAIN}]", _none_more),
        (
            "if|when|whenever|where {t:object} is|are|was|were|has_been|gets both {a:past} and {b:past} [,] "
            "[then] {c:event} comes|goes|must_come|should_come|has_to_come|must_happen|has_to_happen|must_be "
            "first",
            _first_of_both,
        ),
        (
            f"{_NOTHING} {_BUT} {{e:events}} {ALLOWED} [ever|still] {HAPPEN}|follow|be_used|come [{AGAIN}]",
            _none_but,
        ),
        (f"{_NOTHING} {_BUT} {{e:events}} is|are allowed|permitted|ok [{AGAIN}]", _none_but),
        (
            f"{_NOTHING} {ALLOWED} [ever|still] {HAPPEN}|follow|be_used [{AGAIN}] {_BUT} {{e:events}}",
            _none_but,
        ),
        (f"{AGENT} {MAY}|{SHOULD} do nothing [{AGAIN}] {_BUT} {{e:acts}}", _none_but),
        (f"{AGENT} does|do nothing [{AGAIN}] {_BUT} {{e:acts}}", _none_but),
        (f"do nothing [{AGAIN}] {_BUT} {{e:acts}}", _none_but),
        (f"no {_MORE} {_CALLS} [{AGAIN}]", _none_more),
        # how runs begin and end
        (f"{AGENT} [always] starts|begins|start|begin with|by {{e:events}}", demanding("first")),
        (f"{AGENT} [always] ends|finishes|closes|end|finish|close with|by {{e:events}}", demanding("last")),
        (f"a|no run without {{es:events}} is|are {BANNED}", _least),
        (f"a run without {{es:events}} {NO} {HAPPEN}", _least),
        (f"[the] [very] {_FIRST} {_CALLS} [{_OF_RUNS}] [,|=] {{e:events}}", demanding("first")),
        (f"[the] [very] {_LAST} {_CALLS} [{_OF_RUNS}] [,|=] {{e:events}}", demanding("last")),
        (f"{_A_RUN} {{a:of_a_run}} {SHOULD} [always] end|finish|close with|by|in {{b:events}}", _ends_after),
        (f"in|within|during {_EVERY_RUN} [,] [either] {{es:events}} {SHOULD} {HAPPEN}", _least),
        (
            f"in|within|during {_EVERY_RUN} [,] {AGENT} {SHOULD} [either] {{es:acts}}",
            _least,
        ),
    ],
    "of_a_run": [
        ("that|which [also] {e:does}", lambda p: ((p["e"],), "")),
        ("that|which [also] {e:does} or {g:does}", _list("or")),
        ("that|which [also] {es:does_any}", lambda p: p["es"]),
        ("that|which [also] has|contains|includes|makes|holds {es:events}", lambda p: p["es"]),
        ("with {es:events}", lambda p: p["es"]),
        ("in_which|where [also] {f:fact}", lambda p: (p["f"].events, p["f"].joint)),
        ("in_which|where {es:events} happens|happened|occurs", lambda p: p["es"]),
    ],
    "checks": [
        ("{e:check}", lambda p: ((p["e"],), "")),
        ("[both] {e:check} and {g:check}", _list("and")),
        ("[either] {e:check} or {g:check}", _list("or")),
    ],
    "adjunct": [
        (f"{_RIGHT} after {{f:failure}}", lambda p: Adjunct("straight after failed", p["f"])),
        (f"in {_A_RUN} {{a:of_a_run}}", _in_such_a_run),
        (
            f"before|until|unless_before {{es:events}} {_STARTS}",
            lambda p: Adjunct("before", Fact(p["es"][0], "present", p["es"][1])),
        ),
        (f"{_RIGHT} after {{f:what}} [,] {_NOTHING_BETWEEN}", lambda p: _straight_after(p)),
    ],
    "leading": [
        (
            f"once|after|as_soon_as [{ALREADY}|being|having_been] {{d:past}} [,]",
            lambda p: (a := _once_done(p)) and (a,),
        ),
    ],
}

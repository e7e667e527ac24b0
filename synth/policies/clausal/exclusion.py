"""What excludes what: `not both`, `in one run`, `neither warned nor suspended`, `nothing but a page`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import ANY, ANYTHING, IT, Demand, Event, with_same
from synth.policies.clausal.relative import thing_of
from synth.policies.clausal.words import AGAIN, AGENT, ALLOWED, BANNED, HAPPEN, MAY, NO, SHOULD


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


def _none_more(p: Parts) -> Demand:
    return Demand("never", (Event(ANY),), how="again")


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


A_RUN = "a_run|any_run|the_same_run|runs|a_conversation|any_conversation|the_same_conversation"
CALLS = "calls|call|tool_calls|tool_call|steps|step|actions|action|moves"
_ONE_RUN = (
    "one_run|the_same_run|a_single_run|one_and_the_same_run|one_conversation|the_same_conversation"
    "|a_single_conversation|one_session|the_same_session|a_single_session"
)
_NOT_BOTH = (
    "not_both|but_not_both|never_both|but_never_both|and_not_both|and_never_both|not_both_of_them"
    "|but_not_both_of_them|never_both_of_them"
)
_MORE = "further|more|other|additional|new"

EXCLUSION: dict[str, Rule] = {
    "demand": [
        (f"{{s:state}} {NO} [ever] be {{es:pasts}} [{AGAIN}]", _never_such),
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
        (f"{{a:events}} is|are [strictly] {BANNED} in|during {A_RUN} {{b:of_a_run}}", _not_with),
        (f"{{a:events}} {NO} [ever] {HAPPEN} in|during {A_RUN} {{b:of_a_run}}", _not_with),
        (f"no {{a:events}} in|during {A_RUN} {{b:of_a_run}}", _not_with),
        (f"never|do_not {{a:acts}} in|during {A_RUN} {{b:of_a_run}}", _not_with),
        (f"{AGENT} {NO} {{a:acts}} in|during {A_RUN} {{b:of_a_run}}", _not_with),
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
        (f"{AGENT} makes|make|does|do|takes|take no [{_MORE}] {CALLS} [{AGAIN}]", _none_more),
        (f"{AGENT} {MAY}|{SHOULD} make|do|take no [{_MORE}] {CALLS} [{AGAIN}]", _none_more),
        (f"{AGENT} {NO} make|do|take any|another [{_MORE}] {CALLS} [{AGAIN}]", _none_more),
        (f"{AGENT} does|do nothing [more|else|further] [{AGAIN}]", _none_more),
        (f"{AGENT} does_not|do_not do anything more|else|further|{AGAIN}", _none_more),
        (f"{AGENT} does_not|do_not make|do|take any|another [{_MORE}] {CALLS} [{AGAIN}]", _none_more),
        (f"{AGENT} {MAY}|{SHOULD} do nothing [more|else|further] [{AGAIN}]", _none_more),
        (f"{AGENT} {NO} do anything [more|else|further] [{AGAIN}]", _none_more),
        (f"do nothing [more|else|further] [{AGAIN}]", _none_more),
        (f"no {_MORE} {CALLS} is|are|{MAY} [be] made|done|allowed|permitted [{AGAIN}]", _none_more),
        (
            "if|when|whenever|where {t:object} is|are|was|were|has_been|gets both {a:past} and {b:past} [,] "
            "[then] {c:event} comes|goes|must_come|should_come|has_to_come|must_happen|has_to_happen|must_be "
            "first",
            _first_of_both,
        ),
        (f"no {_MORE} {CALLS} [{AGAIN}]", _none_more),
    ],
}

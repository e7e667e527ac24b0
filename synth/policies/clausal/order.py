"""Order as it is typed in passing: `needs its ad approved`, `gets a letter`, `neither warned nor banned`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.exclusion import A_RUN, CALLS
from synth.policies.clausal.facts import by_it, passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import ANYTHING, IT, Adjunct, Demand, Event, Fact, with_same
from synth.policies.clausal.relative import which
from synth.policies.clausal.words import (
    AGENT,
    ALREADY,
    BANNED,
    BEFORE,
    HAPPEN,
    HAS_BEEN,
    MAY,
    NO,
    NOT_BEEN,
    RIGHT,
    SHOULD,
)

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


_ASKS = "requires|needs|takes|presupposes|require|need|take|presuppose|must_have|calls_for|call_for"
_DONE = "finished|completed|done|over|complete|through|concluded|finalised|finalized"
_SUCH_RUNS = f"{A_RUN}|every_run|each_run|all_runs|all_the_runs|any_of_the_runs|one_run"
_HAS = (
    "has|contains|includes|makes|holds|have|contain|include|make|hold|had|contained|included|involves|involve"
)
_EVERY_RUN = "every_run|each_run|any_run|each_and_every_run"
_RECEIVES = "get|receive|be_given|be_sent|obtain"
_RECEIVED = "gets|get|receives|receive|is_given|is_sent|are_given|are_sent"
_STEP = "call|step|action|tool_call|thing"
_AT_ONCE = "at_once|immediately|directly|straight_away|right_away"
_NEXT = "the|your|its [very] next call|step|action|tool_call|thing [made]"
_STARTS = "starts|start|begins|begin|is_started|are_started|may_start|may_begin|can_start|can_begin"
_PASSED = (
    "passed|passes|has_passed|have_passed|went_through|has_gone_through|goes_through|completed"
    "|has_completed|cleared|has_cleared"
)
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
    "one_fact": [
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
        ("{t:object} [to_be|to_have_been|being|having_been] [already|first] {d:past}", _participle),
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
        (f"{{a:events}} {_ASKS} {{b:events}} {RIGHT} before [it|that|them]", _pair("adjacent")),
        (f"{{s:state}} {SHOULD} [also|always] {_RECEIVES} {{es:events}}", _gets("answer")),
        (f"{{s:state}} [always] {_RECEIVED} {{es:events}}", _gets("answer")),
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
        ("[always] comes|come|goes|go|follows|follow {e:events}", demanding("inverted")),
        (f"{SHOULD} [always] come|go|follow|be {{e:events}}", demanding("inverted")),
        # how runs begin and end
        (f"{AGENT} [always] starts|begins|start|begin with|by {{e:events}}", demanding("first")),
        (f"{AGENT} [always] ends|finishes|closes|end|finish|close with|by {{e:events}}", demanding("last")),
        (f"a|no run without {{es:events}} is|are {BANNED}", _least),
        (f"a run without {{es:events}} {NO} {HAPPEN}", _least),
        (f"[the] [very] {_FIRST} {CALLS} [{_OF_RUNS}] [,|=] {{e:events}}", demanding("first")),
        (f"[the] [very] {_LAST} {CALLS} [{_OF_RUNS}] [,|=] {{e:events}}", demanding("last")),
        (
            f"{_SUCH_RUNS} {{a:of_a_run}} {SHOULD} [always] end|finish|close|conclude with|by|in|on"
            f" {{b:events}}",
            _ends_after,
        ),
        (
            f"{_SUCH_RUNS} {{a:of_a_run}} [always] ends|finishes|closes|concludes|end|finish|close"
            f" with|by|in|on {{b:events}}",
            _ends_after,
        ),
        (f"in|within|during {_EVERY_RUN} [,] [either] {{es:events}} {SHOULD} {HAPPEN}", _least),
        (
            f"in|within|during {_EVERY_RUN} [,] {AGENT} {SHOULD} [either] {{es:acts}}",
            _least,
        ),
    ],
    "of_a_run": [
        ("that|which [also] {e:does}", lambda p: ((p["e"],), "")),
        ("that|which [also] {e:did}", lambda p: ((p["e"],), "")),
        ("that|which [also] {e:does} or {g:does}", _list("or")),
        ("that|which [also] {es:does_any}", lambda p: p["es"]),
        (f"that|which [also] {_HAS} {{es:events}}", lambda p: p["es"]),
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
        (f"{RIGHT} after {{f:failure}}", lambda p: Adjunct("straight after failed", p["f"])),
        (f"in|during|within|for {_SUCH_RUNS} {{a:of_a_run}}", _in_such_a_run),
        (f"if|when|whenever|where {_SUCH_RUNS}|the_run|it [also] {_HAS} {{a:events}}", _in_such_a_run),
        (
            "if|when|whenever|where there is|was|were|are|has_been|have_been {a:events} in|during"
            f" {_SUCH_RUNS}|the_run",
            _in_such_a_run,
        ),
        (
            f"before|until|unless_before {{es:events}} {_STARTS}",
            lambda p: Adjunct("before", Fact(p["es"][0], "present", p["es"][1])),
        ),
    ],
    "leading": [
        (
            f"once|after|as_soon_as [{ALREADY}|being|having_been] {{d:past}} [,]",
            lambda p: (a := _once_done(p)) and (a,),
        ),
    ],
}

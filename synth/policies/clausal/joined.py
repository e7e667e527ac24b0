"""Several things that have happened: `a deposit was charged or a waiver approved`, `neither charged nor`."""

from __future__ import annotations

from collections.abc import Callable

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import by_it, passive, with_mods
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact
from synth.policies.clausal.relative import which
from synth.policies.clausal.words import (
    AGAIN,
    AGENT,
    ALREADY,
    BEFORE,
    HAS_BEEN,
    HAVE,
    NOT_BEEN,
    SHOULD,
    SUCCEEDED,
)

_OTHER = {"and": "or", "or": "and", "": ""}


def _clauses(joint: str) -> Callable[[Parts], Fact | None]:
    """Clauses that one word joins; of what has not happened, `no A or no B` is not both."""

    def made(p: Parts) -> Fact | None:
        first, more = p["f"], p["g"]
        negative = first.aspect == "not"
        own = _OTHER[joint] if negative else joint
        if {first.aspect, more.aspect} - {"perfect", "present"} and first.aspect != more.aspect:
            return None
        if negative != (more.aspect == "not") or not {first.joint, more.joint} <= {"", own}:
            return None
        if first.aspect in ("fails", "running", "noun"):
            return None
        return Fact((*first.events, *more.events), first.aspect, own, clauses=True)

    return made


def _deeds(aspect: str, joint: str = "") -> Callable[[Parts], Fact]:
    def made(p: Parts) -> Fact:
        events, own = p["es"]
        return Fact(events, aspect, joint or own, clauses=True)

    return made


def _several(joint: str, first: str = "e", then: str = "g") -> Callable[[Parts], object]:
    def made(p: Parts) -> tuple[tuple[Event, ...], str] | None:
        events, own = p["es"] if "es" in p else ((p[then],), "")
        return ((p[first], *events), joint) if own in ("", joint) else None

    return made


def _neither(p: Parts) -> Fact | None:
    one, other = p["f"], p["g"]
    if "perfect" not in (one.aspect, other.aspect) or one.joint or other.joint:
        return None
    return Fact((*one.events, *other.events), "not", "or", clauses=True)


def _all_done(make: Callable[[Parts], Event | None], aspect: str) -> Callable[[Parts], Fact | None]:
    """`A car was inspected and cleaned`: each done to the one thing."""

    def made(p: Parts) -> Fact | None:
        done, joint = p["es"]
        events = [make({**p, "d": one}) for one in done]
        found = tuple(one for one in events if one is not None)
        own = _OTHER[joint] if aspect == "not" else joint
        return Fact(found, aspect, own, clauses=True) if len(found) == len(done) else None

    return made


def _there(aspect: str, joint: str = "") -> Callable[[Parts], Fact]:
    """`There has been no charge`."""
    return lambda p: Fact(p["es"][0], aspect, joint or p["es"][1], clauses=True)


def _to_undone(p: Parts) -> Event | None:
    """`Hand over an uninspected car`: what has not yet been done to the same thing."""
    then, first = p["v"], p["s"]
    if then.action == first.action or then.noun[-1:] != first.noun[-1:]:
        return None
    return which(then, Fact((first,), "not"))


def _duties(kind: str) -> Callable[[Parts], Demand | None]:
    """`A contract must be issued and cleaning ordered`."""

    def made(p: Parts) -> Demand | None:
        first = passive(p)
        if first is None:
            return None
        more: Fact = p["f"]
        joint = p["j"]
        if more.joint not in ("", joint):
            return None
        return Demand(kind, (first, *more.events), joint=joint)

    return made


def _needs(p: Parts) -> Demand | None:
    """`A handover needs two things first: a contract issued and cleaning ordered`."""
    events, joint = p["a"]
    others, other = (p["f"].events, p["f"].joint) if "f" in p else p["b"]
    return None if joint and other else Demand("needs", events, others, joint=joint or other)


def _of_the_thing(kind: str) -> Callable[[Parts], Demand | None]:
    """`Contracts: issue only after`."""

    def made(p: Parts) -> Demand | None:
        thing, verb = p["t"], p["v"]
        return Demand(kind, (thing,)) if thing.action == verb.action and not thing.role else None

    return made


def _not_before_that(p: Parts) -> Adjunct | None:
    fact: Fact = p["f"]
    if fact.aspect in ("not", "running", "fails") or any(e.outcome == "failed" for e in fact.events):
        return None
    return Adjunct("after", fact, only=True)


_NOT_EARLIER = (
    "not_earlier|not_before|not_before_that|not_before_then|not_sooner|no_earlier|no_sooner|never_before"
    "|never_before_that|never_earlier|only_then|not_any_earlier|and_only_then|but_only_then|and_not_earlier"
    "|and_not_before|but_not_earlier|but_not_before|and_no_earlier|but_no_earlier|and_not_sooner"
    "|but_not_sooner|and_not_before_that|but_not_before_that|and_not_before_then|but_not_before_then"
)
_NEEDED = (
    "needed|required|necessary|mandatory|obligatory|is_needed|is_required|are_needed|are_required"
    "|is_necessary|is_mandatory|a_must|comes|come|must_come|must_happen|must_have_happened|has_to_come"
    "|has_to_happen|have_to_come|have_to_happen|goes|due"
)
_THINGS = "things|steps|conditions|calls|actions"
_FIRST = "first|beforehand|before|before_that|before_it|earlier|in_advance|prior|prior_to_it|prior_to_that"
_NEEDS = "requires|require|needs|need|takes|take|presupposes|presuppose|has_to_have|must_have|calls_for"
JOINED: dict[str, Rule] = {
    "act": [("{v:verb} {s:undone}", _to_undone)],
    "event": [("{v:verbing} {s:undone}", _to_undone)],
    "demand": [
        *(
            (
                f"[{both}] {{t:object}} {SHOULD} have been {{d:past}} [{BEFORE}] {{j:{j}}} {{f:joined_{j}}}"
                f" [{BEFORE}]",
                _duties("have"),
            )
            for both, j in (("both", "and"), ("either", "or"))
        ),
        *(
            (f"[{both}] {{t:object}} {SHOULD} be {{d:past}} [,] {{j:{j}}} {{f:joined_{j}}}", _duties("must"))
            for both, j in (("both", "and"), ("either", "or"))
        ),
        (
            f"{{a:events}} {_NEEDS} 2|3|both|the_following {_THINGS} [first|beforehand] , {{f:participle}}",
            _needs,
        ),
        (f"{{a:events}} {_NEEDS} 2|3|both|the_following {_THINGS} [first|beforehand] , {{b:events}}", _needs),
        (f"{{a:events}} , [both|first] {{f:participle}} {_FIRST}|first", _needs),
        (f"{{a:events}} , {{b:events}} {_NEEDED} {_FIRST}", _needs),
        (f"{{a:events}} , {{b:events}} {_FIRST}", _needs),
        (
            f"no [more|further|other] {{e:events}} is|are [ever] allowed|permitted|ok|acceptable [{AGAIN}]",
            demanding("never"),
        ),
        ("{b:events} is|are preconditions|prerequisites|requirements|conditions for|of {a:events}", _needs),
        ("{t:object} , {v:verb} only", _of_the_thing("only")),
        ("{t:object} , never|do_not {v:verb}", _of_the_thing("never")),
    ],
    "and": [("and", lambda p: "and")],
    "or": [("or", lambda p: "or")],
    "joined_and": [
        ("{f:now_done}", lambda p: p["f"]),
        ("{f:now_done} [,] and {g:joined_and}", _clauses("and")),
    ],
    "joined_or": [
        ("{f:now_done}", lambda p: p["f"]),
        ("{f:now_done} [,] or {g:joined_or}", _clauses("or")),
    ],
    "ensured": [
        *(
            (f"[{both}] {{t:object}} is|are|gets|get {{d:past}} {{j:{j}}} {{f:rest_{j}}}", _duties("must"))
            for both, j in (("both", "and"), ("either", "or"))
        ),
        *(
            (f"[{both}] {{t:object}} {HAS_BEEN} {{d:past}} {{j:{j}}} {{f:rest_{j}}}", _duties("have"))
            for both, j in (("both", "and"), ("either", "or"))
        ),
    ],
    "adjunct": [
        (f"without {{f:participle}} [{BEFORE}]", lambda p: Adjunct("unless", p["f"])),
        (f"once|after|as_soon_as|when|if {{f:what}} [,] [and|but] {_NOT_EARLIER}", _not_before_that),
        (
            "while|whilst|so_long_as {f:fact}",
            lambda p: Adjunct("unless", p["f"]) if p["f"].aspect == "not" else None,
        ),
        (
            "before|prior_to|ahead_of being {d:past}",
            lambda p: (e := by_it(p)) and Adjunct("before", Fact((e,), "noun")),
        ),
        ("once|after|as_soon_as|when|if {f:what} [,] [and] no|not sooner|earlier", _not_before_that),
    ],
    "fact": [
        ("{f:one_fact}", lambda p: p["f"]),
        ("[both] {f:one_fact} [,] and {g:rest_and}", _clauses("and")),
        ("[either] {f:one_fact} [,] or {g:rest_or}", _clauses("or")),
        (f"neither {{f:either_fact}} nor {{g:either_fact}} [{BEFORE}|yet]", _neither),
        (f"{AGENT} {HAVE} [{ALREADY}] neither {{es:having_nor}} [{BEFORE}|yet]", _deeds("not", "or")),
        (f"{AGENT} {HAVE} [{ALREADY}] [both] {{es:having_and}} [{BEFORE}]", _deeds("perfect")),
        (f"{AGENT} {HAVE} [{ALREADY}] [either] {{es:having_or}} [{BEFORE}]", _deeds("perfect")),
        (f"{AGENT} [both] {{es:did_and}} [{BEFORE}]", _deeds("perfect")),
        (f"{AGENT} [either] {{es:did_or}} [{BEFORE}]", _deeds("perfect")),
        (
            f"{{es:events}} has|have both|all [{ALREADY}] succeeded|happened|passed|been_made|been_done "
            f"[{BEFORE}]",
            _deeds("perfect"),
        ),
        (
            f"{{t:object}} {HAS_BEEN}|was|were|is|are [{ALREADY}] {{es:pasts}} [{BEFORE}]",
            _all_done(passive, "perfect"),
        ),
        (f"{{t:object}} {NOT_BEEN} [{ALREADY}] {{es:pasts}} [{BEFORE}|yet]", _all_done(passive, "not")),
        (
            f"it|they {HAS_BEEN}|was|were|is|are [{ALREADY}] {{es:pasts}} [{BEFORE}]",
            _all_done(by_it, "perfect"),
        ),
        (f"there {HAS_BEEN}|was|were|is|are [{ALREADY}] {{es:events}} [{BEFORE}]", _there("perfect")),
        (f"there {HAS_BEEN}|was|were|is|are no {{es:events}} [{BEFORE}|yet]", _there("not")),
        (f"there {HAS_BEEN}|was|were|is|are neither {{es:nor}} [{BEFORE}|yet]", _there("not", "or")),
        (
            f"neither {{f:event}} nor {{g:event}} {SUCCEEDED} [{BEFORE}|yet]",
            lambda p: Fact((p["f"], p["g"]), "not", "or", clauses=True),
        ),
    ],
    "rest_and": [
        ("{f:rest}", lambda p: p["f"]),
        ("{f:rest} [,] and {g:rest_and}", _clauses("and")),
    ],
    "rest_or": [
        ("{f:rest}", lambda p: p["f"]),
        ("{f:rest} [,] or {g:rest_or}", _clauses("or")),
    ],
    "rest": [
        ("{f:one_fact}", lambda p: p["f"]),
        (f"{{f:now_done}} [{BEFORE}]", lambda p: p["f"]),
    ],
    "either_fact": [
        ("{f:one_fact}", lambda p: p["f"] if p["f"].aspect in ("perfect", "present") else None),
        ("{f:now_done}", lambda p: p["f"]),
    ],
    "nor": [("{e:event} nor {g:event}", _several("or"))],
    "having_and": [("{e:having_one} and {g:having_one}", _several("and"))],
    "having_or": [("{e:having_one} or {g:having_one}", _several("or"))],
    "having_nor": [("{e:having_one} nor {g:having_one}", _several("or"))],
    "having_one": [("{e:having}", lambda p: p["e"]), ("{e:having} {m:mods}", lambda p: with_mods(p))],
    "did_and": [("{e:did_one} and {g:did_one}", _several("and"))],
    "did_or": [("{e:did_one} or {g:did_one}", _several("or"))],
    "did_one": [("{e:did}", lambda p: p["e"]), ("{e:did} {m:mods}", lambda p: with_mods(p))],
}

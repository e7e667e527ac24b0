"""What is needed first, typed in passing: `to do B, first A`, `hold off B until A`, `no B before A`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from synth.policies.clausal.demands import demanding, none_again, none_of
from synth.policies.clausal.events import Action
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Made, Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact, with_same
from synth.policies.clausal.words import (
    AGAIN,
    AGENT,
    ALLOWED,
    BANNED,
    HAPPEN,
    MAY,
    NO,
    SHOULD,
)

Events = tuple[tuple[Event, ...], str]


def _pair(kind: str, first: str = "a", then: str = "b") -> Callable[[Parts], Demand | None]:
    """A demand on two lists of actions; both are lists only where one word joins them."""

    def made(p: Parts) -> Demand | None:
        (events, joint), (others, other) = _events(p[first]), _events(p[then])
        return None if joint and other else Demand(kind, events, others, joint=joint or other)

    return made


def _events(said: Events | Fact) -> Events:
    return (said.events, said.joint) if isinstance(said, Fact) else said


def _needs_a_fact(p: Parts) -> Demand | None:
    return _pair("needs", "a", "f")(p) if p["f"].aspect == "perfect" else None


def _banned(p: Parts) -> Demand:
    """What is forbidden of what may also be done, such as `block transfers until`."""
    events, joint = p["e"]
    return Demand("never", events, joint=joint, how="again")


def _not_to_do(p: Parts) -> Demand | None:
    """`Do not send the receipt`, which `before the refund` may limit to runs with a refund."""
    banned = none_of(p)
    return None if banned is None else replace(banned, how="do not")


def _purpose(p: Parts) -> Adjunct:
    events, joint = p["e"]
    return Adjunct("intended", Fact(events, "noun", joint), said="purpose")


def _intended(p: Parts) -> Adjunct:
    events, joint = p["e"]
    return Adjunct("intended", Fact(events, "noun", joint))


def _more(joint: str) -> Callable[[Parts], Events | None]:
    def made(p: Parts) -> Events | None:
        events, other = p["es"]
        return ((p["e"], *events), joint) if other in ("", joint) else None

    return made


def _none_of_both(p: Parts) -> Demand | None:
    """`No refund, no voucher`."""
    (one, joint), (other, more) = p["e"], p["g"]
    return Demand("never", (*one, *other), joint="or", how="again") if not (joint or more) else None


def _no_more_of_it(p: Parts) -> Demand | None:
    """`Discharged patients get no more drugs dispensed`."""
    first, then = p["s"], passive(p)
    if then is None or then.action == first.action or not first.noun:
        return None
    return Demand("no answer", (with_same(first, frozenset(first.noun[-1:])),), (then,))


def by_forbidding(actions: Sequence[Action]) -> dict[str, Rule]:
    """`Block transfers`, where no action of the file is to block something."""
    verbs = {one.verb for one in actions}

    def words(said: str, kind: str) -> list[tuple[str, Made]]:
        own = [one for one in said.split("|") if one.split("_")[0] not in verbs]
        return [("|".join(own), lambda p: kind)] if own else []

    return {"forbidding": words(_FORBID, "never"), "holding off": words(_HOLD, "hold off")}


def _none_of_such(p: Parts) -> Demand:
    events, joint = p["e"]
    return Demand("never", events, joint=joint)


_PREREQUISITE = (
    "precondition|prerequisite|necessary_condition|pre-condition|pre-requisite|condition|requirement"
    "|precondition_for|must"
)
_PREREQUISITES = "preconditions|prerequisites|conditions|pre-conditions|pre-requisites|requirements"
_FORBID = (
    "block|forbid|prohibit|disallow|ban|bar|deny|prevent|refuse|rule_out|do_not_allow|never_allow"
    "|do_not_permit"
)
_HOLD = (
    "hold_off_on|hold_off_with|hold_off|hold_back_on|hold_back_with|hold_back|wait_with|defer|delay|postpone"
    "|withhold|put_off|stay_away_from|keep_from"
)
_RULES_OUT = (
    "rules_out|rule_out|precludes|preclude|excludes|exclude|forbids|forbid|prohibits|prohibit|bars|bar|blocks"
    "|block|ends|end|stops|stop|bans|ban|disallows|terminates|prevents|prevent"
)
_LATER_ONES = (
    "any_further|any_later|any_subsequent|any_following|any_more|any_other|all_further|all_later|all_subsequent"
    "|further|later|subsequent|following|more|every_later|every_further"
)
_STAYS = "stays|stay|remains|remain|must_stay|must_remain|has_to_stay|has_to_remain|is_to_remain|is_to_stay"
_SHUT = f"{BANNED}|blocked|barred|withheld"
_OPEN = (
    "valid|legal|legitimate|admissible|permissible|in_order|fine|available|an_option|to_be_done|to_go_ahead"
    "|to_take_place|to_be_made"
)
_COMES = (
    "comes|come|goes|go|follows|must_come|must_follow|has_to_come|has_to_follow|should_come|should_follow"
    "|must_always_come|must_always_follow|is|there_must_be|there_has_to_be"
)
_BEFOREHAND = "beforehand|before_that|in_advance|before_it|ahead_of_it"
_NEEDED = (
    "required|mandatory|needed|necessary|obligatory|compulsory|a_must|essential|indispensable|due|to_happen"
    "|imperative"
)
_WANT = (
    "want_to|wants_to|are_about_to|is_about_to|are_going_to|is_going_to|intend_to|intends_to|plan_to|plans_to"
    "|need_to|needs_to|have_to|has_to|would_like_to|is_asked_to|are_asked_to|tries_to|try_to|decides_to"
)

PREREQUISITES: dict[str, Rule] = {
    "events": [
        ("{e:event} as_well_as|along_with|together_with|and_also {es:events}", _more("and")),
        ("[either] [by] {e:event} or_by|or_else {es:events}", _more("or")),
        ("not_only {e:event} [,] but_also|but {es:events}", _more("and")),
        ("either_one_of|at_least_1_of|any_of_the_2 {es:several}", lambda p: (p["es"], "or")),
    ],
    "acts": [("{e:act} as_well_as|and_also|and_then_also {es:acts}", _more("and"))],
    "demand": [
        ("do_not [ever] {e:acts}", _not_to_do),
        # left out: `is`
        (f"{{e:events}} [strictly] {_SHUT} [{AGAIN}]", demanding("never")),
        (f"{{e:events}} {_STAYS} [strictly] {_SHUT}", demanding("never")),
        ("{e:events} allowed|permitted|possible|ok|okay only", demanding("only")),
        ("{e:events} allowed|permitted|possible|ok|okay", demanding("may")),
        (f"{{e:events}} is|are only {_OPEN}", demanding("only")),
        (f"{{e:events}} {MAY} only come|go|be_allowed|be_permitted|follow", demanding("only")),
        # none of it
        ("{w:forbidding} [any|all] {e:events}", _banned),
        ("{w:holding off} [any|all] {e:events}", demanding("hold off")),
        (f"{AGENT} {SHOULD} {{w:holding off}} [any|all] {{e:events}}", demanding("hold off")),
        (f"{AGENT} {SHOULD} {{w:forbidding}} [any|all] {{e:events}}", _banned),
        (f"{AGENT} {NO} [ever] {{e:acts}} {AGAIN}", none_again),
        (
            f"no [more|further|other] {{e:events}} {ALLOWED} [ever] come|go|be_found|be_placed [{AGAIN}]",
            _none_of_such,
        ),
        (f"{{e:events}} {NO} [ever] come|go|be_found|be_placed [{AGAIN}]", _none_of_such),
        (f"no {{b:events}} {ALLOWED} [ever] precede {{a:events}}", _pair("needs", "b", "a")),
        (f"{{b:events}} {NO} [ever] precede {{a:events}}", _pair("needs", "b", "a")),
        (f"no {{b:events}} {ALLOWED} [ever] follow|come_after {{a:events}}", _pair("no answer")),
        ("no {b:events} follows|comes_after|follow|come_after {a:events}", _pair("no answer")),
        (f"{{a:events}} {_RULES_OUT} {_LATER_ONES} {{b:events}} [{AGAIN}]", _pair("no answer")),
        (f"{{a:events}} {_RULES_OUT} [any|all] {{b:events}} {AGAIN}", _pair("no answer")),
        (f"{{a:events}} means|implies no_more|no_further|the_end_of|an_end_to {{b:events}} [{AGAIN}]",
         _pair("no answer")),
        (f"no {{e:events}} , [and] no {{g:events}} [{AGAIN}]", _none_of_both),
        (f"{{s:state}} gets|get no|never [more|longer] {{t:object}} {{d:past}} [{AGAIN}]", _no_more_of_it),
        # needs
        ("a_prior|prior|a_previous|an_earlier|a_preceding {b:events} is|are [always] required|needed"
         "|necessary|mandatory|obligatory for {a:events}", _pair("needs")),
        (f"a|an|the|one|another {_PREREQUISITE} for|of|to {{a:events}} is [always] {{b:events}}",
         _pair("needs")),
        (f"a|an|the|one|another {_PREREQUISITE} for|of|to {{a:events}} is [always] to {{b:acts}}",
         _pair("needs")),
        (f"a|an|the|one|another {_PREREQUISITE} for|of|to {{a:events}} is [always] that {{f:fact}}",
         _needs_a_fact),
        (f"{{a:events}} has|have [the|as] [2|3] {_PREREQUISITE}|{_PREREQUISITES} [,] {{b:events}}",
         _pair("needs")),
        (f"[the] {_PREREQUISITES} for|of|to {{a:events}} are|, [always] {{b:events}}", _pair("needs")),
        (f"{{b:events}} {SHOULD} [both|all|each] [always] come|happen|go before {{a:events}}",
         _pair("needs")),
        (f"{{b:events}} {SHOULD} [both|all|each] [always] {HAPPEN}", demanding("must", "b")),
        ("{b:events} [both|all|each|always] precede|come_before|go_before {a:events}", _pair("needs")),
        (f"{{e:events}} is|are [both|all|each|always] {_NEEDED}", demanding("must")),
        ("{b:check} [is|are] required|needed|necessary|mandatory|obligatory|a_must for {a:events}",
         lambda p: Demand("needs", p["a"][0], (p["b"],), p["a"][1])),
        (f"{AGENT} needs|need|requires|require {{e:events}}", demanding("must")),
        ("require|it_takes {e:events}", demanding("must")),
        # the verb before its subject: `right before B comes A`
        (f"[always] {_COMES} {{e:events}}", demanding("must")),
        ("{b:acts} [,] and|but {a:then}", lambda p: _pair("needs", "a", "b")({**p, "a": ((p["a"],), "")})),
        ("no {b:check} , no {a:events}", lambda p: Demand("needs", p["a"][0], (p["b"],), p["a"][1])),
        ("{a:events} [always|only] comes|come|goes|go after {b:events}", _pair("needs")),
        (f"{AGENT} {SHOULD} first {{e:acts}}", demanding("do first")),
        (f"{{t:object}} {SHOULD} first be|get {{d:past}}", demanding("do first", make=passive)),
        (f"{{t:object}} {SHOULD} be|get {{d:past}} first", demanding("do first", make=passive)),
        (f"{{t:object}} {SHOULD} be|get {{d:past}} {_BEFOREHAND}", demanding("do before", make=passive)),
        (f"{AGENT} {SHOULD} {{e:acts}} first", demanding("do first")),
        (f"{AGENT} {SHOULD} {{e:acts}} {_BEFOREHAND}", demanding("do before")),
        ("first {e:acts}", demanding("do first")),
        (f"{{e:acts}} {_BEFOREHAND}", demanding("do before")),
        (f"{{t:object}} {SHOULD} be {{d:past}} already|by_then", demanding("have", make=passive)),
        (f"{{t:object}} {SHOULD} already be|have_been {{d:past}}", demanding("have", make=passive)),
    ],
    "adjunct": [
        (f"before|until|till|prior_to {{es:events}} {MAY} {HAPPEN}|go_ahead|be_allowed",
         lambda p: Adjunct("before", Fact(p["es"][0], "present", p["es"][1]))),
        (f"before {AGENT} {MAY} [then|even|ever] {{e:acts}}",
         lambda p: Adjunct("before", Fact(p["e"][0], "present", p["e"][1]))),
        ("by_the_time_of|at_the_time_of|at_the_moment_of [any|each|every] {es:events}",
         lambda p: Adjunct("intended", Fact(p["es"][0], "noun", p["es"][1]))),
        ("by_the_time|at_the_time|whenever|every_time|each_time|any_time [that] {f:fact}",
         lambda p: Adjunct("intended", p["f"]) if p["f"].aspect == "present" else None),
        ("before both {e:event} and {g:event}",
         lambda p: Adjunct("before", Fact((p["e"], p["g"]), "noun", "and", clauses=True))),
        ("without both {e:event} and {g:event} [first|beforehand|before]",
         lambda p: Adjunct("unless", Fact((p["e"], p["g"]), "noun", "and"))),
        ("without either {e:event} or {g:event} [first|beforehand|before]",
         lambda p: Adjunct("unless", Fact((p["e"], p["g"]), "noun", "or"))),
        ("not_until|not_before|never_before|only_once|only_after {f:fact}", lambda p: _only_after(p["f"])),
        ("some_time_after|sometime_after|at_some_point_after|at_some_time_after|any_time_after"
         " [each|every|any] {f:what}", lambda p: Adjunct("every", p["f"]) if _happened(p["f"]) else None),
        ("as_of|from {e:noun} [on|onwards|onward]",
         lambda p: Adjunct("after", Fact((p["e"],), "noun"))),
    ],
    "leading": [
        ("in_order_to|so_as_to|to|to_be_able_to|to_be_allowed_to {e:acts} [,]", lambda p: (_purpose(p),)),
        (f"if|when|whenever|before|each_time|every_time {AGENT} {_WANT} {{e:acts}} [,] [then]",
         lambda p: (replace(_purpose(p), leads=True),)),
        ("when|whenever {e:events} [,]", lambda p: (replace(_intended(p), leads=True),)),
        ("upon|on [each|every|any] {f:what} [,]",
         lambda p: (Adjunct("after", p["f"], leads=True),) if _happened(p["f"]) else None),
    ],
}  # fmt: skip


def _happened(fact: Fact) -> bool:
    return fact.aspect not in ("not", "running", "fails") and not any(e.outcome for e in fact.events)


def _only_after(fact: Fact) -> Adjunct | None:
    return Adjunct("after", fact, only=True) if _happened(fact) and fact.aspect == "perfect" else None

"""What a sentence demands: main clauses, and whole sentences with what these depend on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.facts import by_it, passive, with_mods
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import ANY, Demand, Event, Fact, with_same
from synth.policies.clausal.relative import are_of_one_thing, thing_of, which
from synth.policies.clausal.words import (
    AGAIN,
    AGENT,
    ALLOWED,
    ALREADY,
    AT_LEAST,
    AT_MOST,
    BANNED,
    BEFORE,
    HAPPEN,
    MAY,
    MORE_THAN,
    NO,
    NO_MORE,
    NOBODY,
    SHOULD,
)


def demanding(
    kind: str, slot: str = "e", make: Callable[[Parts], Event | None] | None = None
) -> Callable[[Parts], Demand | None]:
    def made(p: Parts) -> Demand | None:
        if make is not None:
            event = make(p)
            if event is None:
                return None
            events: tuple[Event, ...] = (event,)
            joint = ""
        else:
            found = p[slot]
            events, joint = found if isinstance(found, tuple) else ((found,), "")
        how, n = p.get("c", ("", 0))
        return Demand(kind, events, joint=joint, number=n, how=how)

    return made


def none_of(p: Parts) -> Demand | None:
    """A ban of each of several deeds; `never pay and refund` may ban both together alone."""
    events, joint = p["e"]
    return None if joint == "and" else Demand("never", events, joint=joint)


def _of_such(p: Parts) -> Demand | None:
    """`No sample may be shipped that was not drawn first`."""
    event = passive(p)
    return None if event is None else Demand("never", (which(event, p["r"]),))


def none_again(p: Parts) -> Demand | None:
    """`After ... do not pay again`, which is no ban where nothing comes before."""
    banned = none_of(p)
    return None if banned is None else replace(banned, how="again")


def counted_object(p: Parts) -> Demand | None:
    """`send at most 2 receipts`."""
    verb, thing = p["v"], p["t"]
    how, n = p.get("c") or ("at most", p["n"])
    return (
        Demand("count", (replace(thing, single=False),), how=how, number=n)
        if verb.action == thing.action and thing.role != "any"
        else None
    )


def apart_by(p: Parts) -> Demand:
    first, then = p.get("g") or (p["e"], p["e"])
    return Demand("apart", (then,), (first,), how=p["d"])


def at_most_of(p: Parts) -> Demand:
    events, joint = p["e"]
    return Demand("count", events, joint=joint, number=p["n"], how="at most")


_RUN = "|".join(word for word in HAPPEN.split("|") if word not in ("start", "begin", "be_started"))
"""That something happens, and not that it begins: `must not start while`."""


def _sum(p: Parts) -> Demand | None:
    """What the amounts of calls come to; of several actions there is none."""
    events, joint = p["e"]
    if len(events) > 1 or p.get("f") in ("number", "count"):
        return None
    most = f"{p.get('m', 'at most')} {p['n']}"
    return Demand("sum", events, joint=joint, how=p.get("f", "amount"), number=most)


def _one_and_the_same(kind: str) -> Callable[[Parts], Demand | None]:
    """`A closed ticket must not be opened`: what is done to a thing to which something was done before."""

    def made(p: Parts) -> Demand | None:
        first, then = p["s"], p["d"]
        if not (first.noun == then.noun or are_of_one_thing(first, then)) or first.action == then.action:
            return None
        same = thing_of(first, then)
        if kind != "needs":
            return Demand(kind, (with_same(first, same),), (then,))
        return Demand(kind, (with_same(then, same),), (first,))

    return made


def _undone(p: Parts) -> Demand | None:
    """`An uninspected car must not be handed over`."""
    first, then = p["s"], p["d"]
    if not are_of_one_thing(first, then) or first.action == then.action:
        return None
    return Demand("never", (which(replace(then, noun=first.noun), Fact((first,), "not")),))


def _to_such(kind: str) -> Callable[[Parts], Demand | None]:
    """`Never message a blocked guest`."""

    def made(p: Parts) -> Demand | None:
        then, first = p["v"], p["s"]
        if then.action == first.action or then.noun[-1:] != first.noun[-1:]:
            return None
        return Demand(kind, (which(then, Fact((first,), "perfect")),))

    return made


def _pair(kind: str) -> Callable[[Parts], Demand]:
    def made(p: Parts) -> Demand:
        (first, joint), (then, other) = p["a"], p["b"]
        return Demand(kind, first, then, joint=joint or other)

    return made


def _needs_a_fact(p: Parts) -> Demand | None:
    """`A refund requires that the guest has been verified`."""
    events, joint = p["a"]
    fact: Fact = p["f"]
    return Demand("needs", events, fact.events, joint or fact.joint) if fact.aspect == "perfect" else None


def _so_many_before(p: Parts) -> Demand | None:
    """`Two approvals are needed before a payment`."""
    how, n = p.get("c") or ("at least", p["n"])
    then = p["a"].events if isinstance(p["a"], Fact) else p["a"][0]
    events, joint = p["b"]
    if how != "at least" or joint or len(then) > 1:
        return None
    return Demand("so many before", events, then, how=how, number=n)


def _one_covers_one(p: Parts) -> Demand:
    return Demand("own", (p["a"],), (p["b"],))


WISH = (
    "please|always|also|make_sure_that|make_sure|ensure_that|ensure|see_to_it_that|take_care_that|note_that"
    "|it_is_required_that|it_is_important_that|remember_to|be_sure_to|of_course|see_that|make_certain_that"
    "|make_certain|be_sure_that|be_sure|we_want_that|it_must_be_ensured_that|it_is_essential_that"
)
DEMANDS: dict[str, Rule] = {
    "count": [
        (
            f"{AT_MOST} {{n:number}} [times]",
            lambda p: ("at most", p["n"]),
        ),
        (
            f"{AT_LEAST} {{n:number}} [times]",
            lambda p: ("at least", p["n"]),
        ),
        ("exactly|precisely {n:number} [times]", lambda p: ("exactly", p["n"])),
        (
            "fewer_than|less_than {n:number} [times]",
            lambda p: ("at most", p["n"] - 1) if p["n"] > 1 else None,
        ),
        (
            f"{{n:number}} times {NO_MORE}",
            lambda p: ("at most", p["n"]),
        ),
        ("no_more_often_than|not_more_often_than {n:number} times", lambda p: ("at most", p["n"])),
        ("{n:number} or_fewer|or_less", lambda p: ("at most", p["n"])),
        ("no_more_than|not_more_than once", lambda p: ("at most", 1)),
    ],
    "only_so_often": [
        ("only_once|once_only", lambda p: ("at most", 1)),
        ("only {n:number} times", lambda p: ("at most", p["n"])),
    ],
    "beyond": [
        ("more_than|more_often_than {n:number} [times]", lambda p: ("at most", p["n"])),
        (f"{MORE_THAN}|more_than_a_total_of {{n:number}} times", lambda p: ("at most", p["n"])),
        (
            "{n:number} times|or_more_times|times_or_more|times_or_more_often",
            lambda p: ("at most", p["n"] - 1) if p["n"] > 1 else None,
        ),
        ("again", lambda p: ("at most", 1)),
    ],
    "demand": [
        # bans
        ("never [ever] {e:acts}", none_of),
        (f"never|do_not [ever] {{e:acts}} {AGAIN}", none_again),
        (f"{AGENT} {NO} [ever] {{e:acts}}", none_of),
        (f"{NOBODY} {ALLOWED} {{e:acts}}", none_of),
        (f"{{e:events}} {NO} [ever] {_RUN} [{AGAIN}]", demanding("never")),
        (f"{{t:object}} {NO} [ever] be {{d:past}} [{AGAIN}]", demanding("never", make=passive)),
        (
            f"{{t:object}} is|are|gets|get never|not [ever] {{d:past}} [{AGAIN}]",
            demanding("never", make=passive),
        ),
        (
            f"no [more|further|other] {{t:object}} {ALLOWED} [ever] be {{d:past}} [{AGAIN}]",
            demanding("never", make=passive),
        ),
        (
            f"no [more|further|other] {{t:object}} is|are|gets|get [ever] {{d:past}} [{AGAIN}]",
            demanding("never", make=passive),
        ),
        (f"no [more|further|other|new|next|additional] {{e:events}} [{AGAIN}]", demanding("never")),
        (
            f"no [more|further|other|new|next|additional] {{e:events}} {ALLOWED} [ever] {HAPPEN}"
            f"|follow [{AGAIN}]",
            demanding("never"),
        ),
        (f"there {MAY}|{SHOULD}|will be no [more|further] {{e:events}} [{AGAIN}]", demanding("never")),
        (f"there {NO} be any [more|further] {{e:events}} [{AGAIN}]", demanding("never")),
        (f"there is|are no [more|further|to_be] {{e:events}} [{AGAIN}]", demanding("never")),
        (f"{{e:events}} is|are [strictly|always|simply] {BANNED} [{AGAIN}]", demanding("never")),
        (f"it is [strictly] {BANNED} to {{e:acts}}", none_of),
        ("neither {e:acts}", none_of),
        (
            f"nothing|no_tool|no_other_tool|no_call|no_further_call|no_more_calls {ALLOWED}"
            f" [ever] {HAPPEN}|follow [{AGAIN}]",
            lambda p: Demand("never", (Event(ANY),)),
        ),
        (
            f"nothing {ALLOWED} [ever] be {{d:past}}",
            lambda p: Demand("never", (p["d"],)) if p["d"] else None,
        ),
        (f"nobody|no_one {ALLOWED} [ever] be {{d:past}}", lambda p: Demand("never", (p["d"],))),
        (f"it|they {NO} [ever] be {{d:past}} [{AGAIN}]", demanding("never", make=by_it)),
        (f"no {{t:object}} {MAY}|{SHOULD} [ever] be {{d:past}} {{r:that}}", _of_such),
        # permissions
        (f"{{t:object}} {MAY}|{SHOULD}|is|are only be {{d:past}}", demanding("only", make=passive)),
        (f"{{t:object}} {MAY}|{SHOULD} be only {{d:past}}", demanding("only", make=passive)),
        (f"only {{t:object}} {MAY}|{SHOULD} be {{d:past}}", demanding("only", make=passive)),
        ("{t:object} is|are only {d:past}", demanding("only", make=passive)),
        (f"{{t:object}} {MAY}|{SHOULD} be {{d:past}} only", demanding("only", make=passive)),
        ("only {e:acts}", demanding("only")),
        (f"{AGENT} {MAY}|{SHOULD} only {{e:acts}}", demanding("only")),
        (f"{AGENT} {MAY}|{SHOULD} {{e:acts}} only", demanding("only")),
        (f"{{e:events}} {MAY}|{SHOULD} only {HAPPEN}", demanding("only")),
        ("{e:events} is|are only allowed|permitted|possible|ok|okay|acceptable|to_happen", demanding("only")),
        ("{e:events} is|are allowed|permitted only", demanding("only")),
        ("{e:events} only", demanding("only")),
        (f"{{t:object}} {MAY} be {{d:past}}", demanding("may", make=passive)),
        ("{t:object} is|are {d:past}", demanding("may", make=passive)),
        (f"{AGENT} {MAY} {{e:acts}}", demanding("may")),
        (f"{{e:events}} {MAY} {HAPPEN}", demanding("may")),
        ("{e:events} is|are allowed|permitted|ok|okay", demanding("may")),
        # duties
        (f"{AGENT} {SHOULD} [also|first|always] {{e:acts}}", demanding("must")),
        ("{e:acts}", demanding("do")),
        ("{e:acts} first", demanding("do first")),
        (f"{{e:events}} {SHOULD} [also|always] {HAPPEN}", demanding("must")),
        (f"{{e:events}} {SHOULD} [also|always] follow", demanding("follow")),
        (f"{{t:object}} {SHOULD} [also|always|first] be|get {{d:past}}", demanding("must", make=passive)),
        (f"it|they {SHOULD} [also|always|first] be|get {{d:past}}", demanding("must", make=by_it)),
        (f"{{t:object}} {SHOULD} [also|always] be {{d:past}} again", demanding("follow", make=passive)),
        (f"it|they {SHOULD} [also|always] be {{d:past}} again", demanding("follow", make=by_it)),
        (
            f"{{t:object}} {SHOULD} [also|always] have [{ALREADY}] been {{d:past}} [{BEFORE}]",
            demanding("have", make=passive),
        ),
        (f"{AGENT} {SHOULD} have [{ALREADY}] {{e:having}}", demanding("have")),
        (f"{AGENT} {SHOULD} have [{ALREADY}] {{e:having}} {{m:mods}}", demanding("have", make=with_mods)),
        (
            f"{{e:events}} {SHOULD} have happened|succeeded|passed|been_made|been_done|gone_through "
            f"[{BEFORE}]",
            demanding("have"),
        ),
        (
            "{e:events} is|are [always] required|mandatory|needed|necessary|due|obligatory|compulsory",
            demanding("must"),
        ),
        (f"there {SHOULD} [always] be {{e:events}}", demanding("must")),
        (f"there {SHOULD} [always] have_been {{e:events}} [{BEFORE}]", demanding("have")),
        # counts
        ("{c:count} {e:events}", demanding("count")),
        (f"{{c:count}} {{e:events}} {MAY}|{SHOULD} {HAPPEN}", demanding("count")),
        ("{c:count} {e:events} is|are allowed|permitted", demanding("count")),
        (f"{{c:count}} {{t:object}} {MAY}|{SHOULD} be {{d:past}}", demanding("count", make=passive)),
        ("{c:count} {t:object} {d:past}", demanding("count", make=passive)),
        (f"there {MAY} be {{c:count}} {{e:events}}", demanding("count")),
        (f"there {NO} be more_than {{n:number}} {{e:events}}", at_most_of),
        ("never|not more_than {n:number} {e:events}", at_most_of),
        (f"{{t:object}} {MAY}|{SHOULD} be {{d:past}} {{c:count}}", demanding("count", make=passive)),
        (f"{{e:events}} {MAY}|{SHOULD} {HAPPEN} {{c:count}}", demanding("count")),
        (f"{{t:object}} {MAY} be {{d:past}} {{c:only_so_often}}", demanding("count", make=passive)),
        ("{t:object} is|are|gets {d:past} {c:only_so_often}", demanding("count", make=passive)),
        (f"{{e:events}} {MAY} {HAPPEN} {{c:only_so_often}}", demanding("count")),
        (f"{AGENT} {MAY} {{e:acts}} {{c:only_so_often}}", demanding("count")),
        ("{e:events} is|are limited|restricted|capped to|at {n:number} times", at_most_of),
        ("{e:events} {c:count}", demanding("count")),
        (f"{AGENT} {MAY}|{SHOULD} {{e:acts}} {{c:count}}", demanding("count")),
        ("never|do_not try|attempt to {e:acts} {c:beyond}", demanding("count")),
        ("never|do_not try|attempt to {e:acts}", none_of),
        (f"{AGENT} {MAY}|{SHOULD} {{c:count}} {{e:acts}}", demanding("count")),
        ("{e:acts} {c:count}", demanding("count")),
        ("never|do_not {e:acts} {c:beyond}", demanding("count")),
        ("{v:verb} {c:count} {t:object}", counted_object),
        (f"{AGENT} {MAY}|{SHOULD} {{v:verb}} {{c:count}} {{t:object}}", counted_object),
        ("never|do_not {v:verb} more_than {n:number} {t:object}", counted_object),
        (f"{AGENT} {NO} {{v:verb}} more_than {{n:number}} {{t:object}}", counted_object),
        (f"{AGENT} {NO} {{e:acts}} {{c:beyond}}", demanding("count")),
        (f"{{t:object}} {NO} [ever] be {{d:past}} {{c:beyond}}", demanding("count", make=passive)),
        (f"{{e:events}} {NO} [ever] {HAPPEN} {{c:beyond}}", demanding("count")),
        ("{n:number} {e:events} is|are the limit|maximum", at_most_of),
        (f"more_than {{n:number}} {{e:events}} is|are {BANNED}", at_most_of),
        (
            f"the_number_of {{e:events}} {NO} exceed|be_more_than|be_over|be_above|be_higher_than "
            f"{{n:number}}",
            at_most_of,
        ),
        (
            f"the_number_of {{e:events}} {SHOULD} be|stay|remain at_most|no_more_than|not_more_than "
            f"{{n:number}}",
            at_most_of,
        ),
        ("only {n:number} {e:events} is|are allowed|permitted", at_most_of),
        (f"only {{n:number}} {{e:events}} {MAY} {HAPPEN}", at_most_of),
        ("only {n:number} {e:events}", lambda p: None if p["e"][1] else at_most_of(p)),
        (
            f"only {{n:number}} {{t:object}} {MAY} be {{d:past}}",
            lambda p: (e := passive(p)) and Demand("count", (e,), number=p["n"], how="at most"),
        ),
        # sums
        (
            "{x:sum} of [all|the|all_the] {e:events} {m:most} {n:money} [in_total|altogether|in_all]",
            lambda p: _sum({**p, "f": p["x"]}),
        ),
        ("{x:sum} {e:events} {m:most} {n:money}", lambda p: _sum({**p, "f": p["x"]})),
        (
            "{e:events} {m:most} {n:money} in_total|altogether|in_all|taken_together|together"
            "|combined|in_sum",
            _sum,
        ),
        ("[all] {e:events} together|combined|taken_together|in_total {m:most} {n:money}", _sum),
        (
            f"{{e:events}} {NO} add_up_to_more_than|total_more_than|come_to_more_than"
            f"|sum_to_more_than|sum_up_to_more_than|amount_to_more_than {{n:money}} [in_total|altogether]",
            _sum,
        ),
        (
            f"{{e:events}} {MAY}|{SHOULD} add_up_to|total|come_to|sum_to|sum_up_to|amount_to "
            f"at_most|no_more_than|not_more_than|up_to {{n:money}}",
            _sum,
        ),
        (f"{{s:undone}} {NO} [ever] be {{d:done}} [{AGAIN}]", _undone),
        (f"no {{s:undone}} {ALLOWED} [ever] be {{d:done}} [{AGAIN}]", _undone),
        # what was done to one and the same thing
        (
            f"{{s:state}} {SHOULD} [also|always|later|eventually] be {{d:done}} [again]",
            _one_and_the_same("answer"),
        ),
        ("never|do_not {v:verb} {s:state}", _to_such("never")),
        (f"{AGENT} {NO} {{v:verb}} {{s:state}}", _to_such("never")),
        ("only {v:verb} {s:state}", _to_such("only")),
        (f"{AGENT} {MAY} only {{v:verb}} {{s:state}}", _to_such("only")),
        (f"{{s:state}} {NO} [ever] be {{d:done}} [{AGAIN}]", _one_and_the_same("no answer")),
        (f"no {{s:state}} {ALLOWED} [ever] be {{d:done}} [{AGAIN}]", _one_and_the_same("no answer")),
        (f"only {{s:state}} {MAY}|{SHOULD} be {{d:done}}", _one_and_the_same("needs")),
        # how they end, how often one after the other
        (f"{{e:events}} {NO} [ever] fail {{c:beyond}}", demanding("fail")),
        (f"{{e:events}} {MAY}|{SHOULD} fail {{c:count}}", demanding("fail")),
        (f"{{c:count}} {{e:events}} {MAY} fail", demanding("fail")),
        (f"{{c:count}} {{e:events}} {MAY} succeed", demanding("succeed")),
        ("{c:count} consecutive|successive {e:events}", demanding("in a row")),
        (f"{{c:count}} consecutive|successive {{e:events}} {MAY} {HAPPEN}", demanding("in a row")),
        ("{c:count} consecutive|successive {e:events} is|are allowed|permitted", demanding("in a row")),
        (
            f"{{c:count}} consecutive|successive {{t:object}} {MAY} be {{d:past}}",
            demanding("in a row", make=passive),
        ),
        (f"{{e:events}} {NO} [ever] fail", demanding("never fail")),
        (f"{{e:events}} {MAY}|{SHOULD} succeed {{c:count}}", demanding("succeed")),
        (f"{{e:events}} {NO} [ever] succeed {{c:beyond}}", demanding("succeed")),
        # so many before
        (
            "{a:events} requires|needs|require|need {c:count} {b:events} first|before|beforehand"
            "|earlier|before_that",
            _so_many_before,
        ),
        (
            "{a:events} requires|needs|require|need {n:number} {b:events} first|before|beforehand|earlier",
            _so_many_before,
        ),
        ("{n:number} {b:events} is|are needed|required before {a:what}", _so_many_before),
        ("{c:count} {b:events} is|are needed|required before {a:what}", _so_many_before),
        (
            "{a:events} requires|needs|require|need its_own|one_of_its_own|their_own {b:own}",
            _pair("own"),
        ),
        (f"{{b:events}} {MAY}|{SHOULD} be used for at_most|only one {{a:events}}", _pair("own")),
        (
            "one {b:event} covers|allows|is_good_for|is_enough_for [only] one|a|a_single {a:event}",
            _one_covers_one,
        ),
        (f"{{a:events}} {NO} happen|be_made|occur more_often_than {{b:events}}", _pair("own")),
        # how far apart
        (
            f"at_least|a_minimum_of|no_less_than {{d:time}} {SHOULD} pass|elapse|lie|be|go_by {{g:apart}}",
            apart_by,
        ),
        (f"{{g:apart}} [,] [there] {SHOULD} be|pass|lie|elapse [at_least|a_minimum_of] {{d:time}}", apart_by),
        (
            f"there {SHOULD} be|lie|pass [a_pause_of|a_gap_of|a_break_of|an_interval_of] [at_least"
            f"|a_minimum_of] {{d:time}} {{g:apart}}",
            apart_by,
        ),
        (
            f"[{AGENT}] [{SHOULD}] wait|leave|allow|keep [for] [at_least|a_minimum_of] {{d:time}} "
            f"{{g:apart}}",
            apart_by,
        ),
        (f"[any] 2 {{e:event}} {SHOULD} [always] be|lie|happen [at_least] {{d:time}} apart", apart_by),
        (f"[any] 2 {{e:event}} {SHOULD} [always] be|lie|happen {{d:time}} or_more apart", apart_by),
        ("wait|leave [for] [at_least] {d:time} before {e:act} [again]", apart_by),
        # two actions
        (
            f"{{a:events}} {SHOULD} [always|eventually|later|also] be [always] {{w:followed}} {{b:events}}",
            _pair("answer"),
        ),
        (f"{{a:events}} {SHOULD} [always] be [always] preceded by {{b:events}}", _pair("needs")),
        (f"{{a:events}} {NO} be followed by {{b:events}}", _pair("no answer")),
        (
            "{a:events} requires|needs|require|need|must_have [a|an|one] {b:own} of_its_own|of_their_own",
            _pair("own"),
        ),
        (
            "{a:events} requires|needs|takes|presupposes|calls_for|require|need {b:events} first"
            "|before|beforehand|earlier|before_that|earlier_on",
            _pair("needs"),
        ),
        (
            "{a:events} requires|presupposes|require [that] {f:fact}",
            _needs_a_fact,
        ),
        (
            "{a:events} requires|needs|require|need {b:check}",
            lambda p: Demand("needs", p["a"][0], (p["b"],), p["a"][1]),
        ),
        ("{b:events} [always] comes|goes|come|precedes before {a:events}", _pair("needs")),
        (f"{{b:events}} {SHOULD} [always] come|happen|go before {{a:events}}", _pair("needs")),
        (f"{{a:events}} {SHOULD} [only|always] come|happen after {{b:events}}", _pair("needs")),
        (f"{{a:events}} {NO} [ever] overlap [with] {{b:events}}", _pair("overlap")),
        (
            f"{{a:events}} and {{b:event}} {NO} [ever] overlap|run_at_the_same_time"
            f"|be_running_at_the_same_time|run_in_parallel|run_concurrently",
            lambda p: Demand("overlap", p["a"][0], (p["b"],)) if not p["a"][1] else None,
        ),
        (
            f"no 2 {{e:events}} {ALLOWED} [ever] overlap|run_at_the_same_time"
            f"|be_running_at_the_same_time|run_in_parallel|run_concurrently|run_side_by_side",
            demanding("overlap itself"),
        ),
        (
            f"{{e:events}} {NO} [ever] overlap|run_in_parallel|run_concurrently [with] "
            f"[each_other|one_another|itself]",
            demanding("overlap itself"),
        ),
    ],
    "sum": [
        ("the sum|total of_the|of_all|of_all_the {f:word} ", lambda p: singular(p["f"])),
        ("the sum|total of {f:word}", lambda p: p["f"]),
        ("the total|combined|summed|overall|cumulative [of_the|of] {f:word}", lambda p: p["f"]),
        ("the sum|total", lambda p: "amount"),
        ("the total|sum of_the|of {f:word}", lambda p: p["f"]),
    ],
    "own": [("{e:noun}", lambda p: ((p["e"],), ""))],
    "most": [
        (
            f"{SHOULD}|{MAY} be|stay|remain|come_to|be_kept|total at_most|no_more_than"
            f"|not_more_than|at_or_below|within|up_to",
            lambda p: "at most",
        ),
        (
            f"{NO} exceed|be_more_than|be_over|be_above|go_above|go_over|go_beyond|top"
            f"|be_higher_than|be_greater_than|surpass",
            lambda p: "at most",
        ),
        (f"{SHOULD}|{MAY} be|stay|remain|be_kept below|under|less_than", lambda p: "below"),
    ],
    "apart": [
        ("between [any] 2 {e:event}", lambda p: (p["e"], p["e"])),
        ("between one {e:event} and the_next|another|the_following [one]", lambda p: (p["e"], p["e"])),
        ("between {a:event} and [then] {b:event}", lambda p: (p["a"], p["b"])),
        (
            "after {a:what} before {b:act}",
            lambda p: (
                (p["a"].events[0], p["b"]) if len(p["a"].events) == 1 and p["a"].aspect != "not" else None
            ),
        ),
    ],
    "inside": [
        ("{d:demand}", lambda p: (p["d"], ())),
        ("{d:demand} {a:adjuncts}", lambda p: (p["d"], p["a"])),
        ("{d:totalled}", lambda p: (p["d"], ())),
        ("{d:totalled} {a:adjuncts}", lambda p: (p["d"], p["a"])),
        (f"{WISH} {{i:inside}}", lambda p: p["i"]),
    ],
    "sentence": [
        ("{i:inside}", lambda p: p["i"]),
        ("{l:leading} {i:inside}", lambda p: (p["i"][0], (*p["l"], *p["i"][1]))),
        (f"{WISH} {{l:leading}} {{i:inside}}", lambda p: (p["i"][0], (*p["l"], *p["i"][1]))),
    ],
}

"""How much time lies between two calls: what must come soon, what not so soon, and what is to be spaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.clausal.clock import at_these
from synth.policies.clausal.demands import apart_by, demanding
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import AGAIN as REPEATED
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact
from synth.policies.clausal.words import AGENT, ALLOWED, BANNED, HAPPEN, MAY, NO, SHOULD
from synth.policies.patterns import compiled

_ANOTHER = compiled(r"\b(?:another|further|any other|again|once more)\b")


def another(grammar: Grammar, at: int) -> Iterator[Found]:
    """`Sending another margin call`, `another margin call`."""
    for rule in ("event", "act"):
        for event, end in grammar.matches(rule, at):
            if event.later or _ANOTHER.search(grammar.text[at:end]):
                yield event, end


def _same_object(p: Parts) -> Event | None:
    """`Sending the next margin call`."""
    return replace(p["t"], single=False) if p["v"].action == p["t"].action else None


def _later(slot: str) -> Callable[[Parts], Event]:
    return lambda p: replace(p[slot], later=True, single=False)


def _span(kind: str) -> Callable[[Parts], Adjunct]:
    """So far from another call of the same action, which may be named."""

    def made(p: Parts) -> Adjunct:
        prior = p.get("p", Event(REPEATED))
        named = replace(prior, single=False, later=False)
        return Adjunct(kind, None if prior.action == REPEATED else Fact((named,), "noun"), time=p["d"])

    return made


def _after_it(kind: str) -> Callable[[Parts], Adjunct | None]:
    """So long after what has happened; of what failed something else is said."""

    def made(p: Parts) -> Adjunct | None:
        fact: Fact = p["f"]
        failed = any(e.outcome == "failed" for e in fact.events)
        unclear = failed or fact.aspect in ("not", "running", "fails")
        return None if unclear else Adjunct(kind, fact, time=p["d"])

    return made


def _apart(p: Parts) -> Demand:
    """Two calls of one action."""
    event = replace(p["e"], single=False, later=False)
    return apart_by({"e": event, "d": p["d"]})


def _after(p: Parts) -> Demand | None:
    """`Loan payouts: 45-minute wait after a raise`: so long after the one no other."""
    (events, joint), (others, other) = p["b"], p["a"]
    return None if joint or other else Demand("apart", events, others, how=p["d"])


def _own_gap(p: Parts) -> Demand | None:
    """`Surgeon pages: at least 10 minutes between calls`."""
    events, joint = p["e"]
    return None if joint or len(events) > 1 else _apart({"e": events[0], "d": p["d"]})


def _several(p: Parts) -> Demand | None:
    """`If you send several margin calls, leave 15 minutes between them`."""
    event = _same_object(p)
    return None if event is None else _apart({"e": event, "d": p["d"]})


def _two(p: Parts) -> Demand | None:
    """`No two margin calls less than 15 minutes apart`, `never send two of them`."""
    event = _same_object(p) if "v" in p else passive(p) if "t" in p else p["e"]
    return (
        None if event is None else Demand("no two", (replace(event, single=False),), number=1, how="at most")
    )


def _answer(kind: str) -> Callable[[Parts], Demand | None]:
    def made(p: Parts) -> Demand | None:
        (events, joint), (others, other) = p["a"], p["b"]
        if joint and other:
            return None
        return Demand(kind, events, others, joint=joint or other, how=p.get("d", ""))

    return made


def _not_let_pass(p: Parts) -> Demand | None:
    """`Don't let 10 minutes pass after a freeze without notifying compliance`."""
    fact: Fact = p["f"]
    if fact.aspect in ("not", "running", "fails"):
        return None
    return _answer("answered in")({"a": (fact.events, fact.joint), "b": p["b"], "d": p["d"]})


def _headline(aspect: str) -> Callable[[Parts], tuple[Adjunct, ...] | None]:
    """`Account freezes:`, `Account frozen:`: what the rest asks something for."""

    def made(p: Parts) -> tuple[Adjunct, ...] | None:
        if aspect == "noun":
            events, joint = p["e"]
            return (Adjunct("headline", Fact(events, "noun", joint), leads=True),)
        event = passive(p)
        return (Adjunct("headline", Fact((event,), "perfect"), leads=True),) if event else None

    return made


_AGAIN_IT = "again|once_more|another_time|anew"
_CALLS = (
    "calls|2_calls|each_call|any_2_calls|runs|2_runs|executions|2_executions|invocations|uses|them|each|each_other|any_2|2"
    "|one_and_the_next|consecutive_calls|successive_calls|any_2_of_them|2_of_them|consecutive_runs|one_call_and_the_next"
    "|consecutive_ones|any_2_consecutive_calls|2_consecutive_calls|tries|attempts"
)
_KEEP = "keep|leave|ensure|enforce|make_sure_of|observe|respect|guarantee|insert|maintain|allow|have|put|wait"
_LEAST = (
    "at_least|a_minimum_of|no_less_than|not_less_than|a_full|min|minimum|a_minimum|no_fewer_than|>=|min."
    "|at_minimum"
)
_MORE = "or_longer|or_more|at_least|at_the_least|minimum|at_minimum|and_no_less|min|at_a_minimum"
_LESS = "less_than|under|fewer_than|within|in_less_than|in_under|sooner_than|earlier_than|inside|not_even|<"
_PASSED = "passed|elapsed|gone_by|gone_past|gone|expired|run_out|been_waited"
_PASS = "pass|elapse|go_by|go_past|lie|expire"
_BETWEEN = (
    "between_them|in_between|between_each|between_the_2|between_each_of_them|between_each_other"
    "|between_any_2_of_them|between_one_and_the_next"
)
_GAP = (
    "gap|interval|pause|distance|spacing|time|wait|delay|break|cooldown|cool-down|waiting_time|waiting_period"
    "|separation|time_gap|time_interval|cooling-off_period|wait_time|cooling_period|rest|buffer"
    "|cooldown_period"
)
_COOLING = "cooldown|cool-down|cooldown_period|cooling-off_period|cooling_period|waiting_time|waiting_period"
_LEAST_GAP = "minimum|min|minimal|least|smallest|shortest|required|mandatory|min."
_PAUSE = "|".join(f"{a}_{gap}_of" for gap in _GAP.split("|") for a in ("a", "an", "a_minimum"))
_OTHER_ONE = "previous|last|preceding|earlier|prior|latest|most_recent|other|former"
_NEXT = (
    "the_next|the_following|each_new|a_new|every_new|any_new|a_later|any_later|a_subsequent"
    "|any_subsequent|each_next|every_later"
)
_ONE = "one|call|time"
_CONSECUTIVE = (
    "consecutive|successive|subsequent|2|any_2|2_consecutive|2_successive|any_2_consecutive|the|all"
)
_THEN = "afterwards|after_that|after_it|of_it|later|thereafter|of_that|after_this|afterward|of_this"
_HOLDS_BACK = (
    "bars|blocks|forbids|prohibits|prevents|rules_out|precludes|suspends|locks|stops|bar|block|forbid"
    "|prohibit"
    "|prevent|rule_out|preclude|suspend|lock|stop|disables|disable|excludes|exclude"
)

SPANS: dict[str, Rule] = {
    "another": another,
    # how long, of calls of one action
    "own_gap": [
        (f"[there {SHOULD} be] {{d:long_enough}} [of] [{_GAP}] between {_CALLS}", lambda p: p["d"]),
        (f"[there {SHOULD} be] [a|an] [{_LEAST_GAP}] {_GAP} of {{d:long_enough}} [between"
         f" {_CALLS}]", lambda p: p["d"]),
        (f"[a|an] [{_LEAST_GAP}] {_GAP} [between {_CALLS}] [,|:|=|is] {{d:long_enough}}", lambda p: p["d"]),
        (f"[a|an] {{d:long_enough}} {_GAP} [between {_CALLS}]", lambda p: p["d"]),
        ("wait|leave|pause|keep {d:long_enough} [apart|free] between " + _CALLS, lambda p: p["d"]),
        ("wait|pause|leave {d:long_enough} before|until {n:next_one}",
         lambda p: p["d"] if p["n"].action == REPEATED else None),
        (f"wait|pause|leave {{d:long_enough}} before {_AGAIN_IT}", lambda p: p["d"]),
        ("{d:long_enough} before {n:next_one}", lambda p: p["d"] if p["n"].action == REPEATED else None),
        ("{d:long_enough} [or_more] apart [at_least|minimum|min|at_minimum|at_the_least"
         "|or_more]", lambda p: p["d"]),
        ("no|not|never closer|nearer [together] than {d:time} [apart]", lambda p: p["d"]),
        ("not|no|never [within|in] less_than {d:time} apart", lambda p: p["d"]),
        ("no|not|never more_often|more_frequently than [once] [every|in|per] {d:time}", lambda p: p["d"]),
        ("not|no|never [2|twice] within {d:time} of each_other|one_another", lambda p: p["d"]),
    ],
    # how long
    "long_enough": [
        (f"[{_LEAST}] {{d:time}}", lambda p: p["d"]),
        (f"{{d:time}} {_MORE}", lambda p: p["d"]),
    ],
    "at_least_so_long": [
        (f"{_LEAST} {{d:time}}", lambda p: p["d"]),
        (f"{{d:time}} {_MORE}", lambda p: p["d"]),
    ],
    # which calls
    "event": [(f"{_NEXT} {{e:noun}}", _later("e"))],
    "object": [(f"{_NEXT} {{t:thing}}", _later("t"))],
    "next_one": [
        ("{e:another}", lambda p: p["e"]),
        ("{e:event} again", lambda p: p["e"]),
        ("{e:act} again", lambda p: p["e"]),
        (f"{{v:verbing}} {_NEXT} {{t:thing}}", _same_object),
        (f"{{v:verb}} {_NEXT} {{t:thing}}", _same_object),
        (f"{_NEXT}|another [{_ONE}]", lambda p: Event(REPEATED)),
        ("doing it|so again", lambda p: Event(REPEATED)),
        (f"{AGENT} [{MAY}] {{n:next_one}}", lambda p: p["n"]),
        (f"another|{_NEXT} {{t:thing}} is|are|may_be|can_be|gets {{d:past}}", passive),
        (f"{{v:verbing}} another|{_NEXT} [{_ONE}]", lambda p: p["v"]),
        ("{v:verbing} again|once_more", lambda p: p["v"]),
        ("{t:object} is|are|may_be|can_be|gets {d:past} again", passive),
    ],
    "prior": [
        (f"the|its|any|a|an|another|their {_OTHER_ONE} [{_ONE}]", lambda p: Event(REPEATED)),
        (f"the|any|a|an|another {_OTHER_ONE} {{e:noun}}", lambda p: p["e"]),
        (f"another [{_ONE}]", lambda p: Event(REPEATED)),
        ("the_one before [it]", lambda p: Event(REPEATED)),
        ("{e:another}", lambda p: p["e"]),
        (f"the {_OTHER_ONE} {{t:thing}} was|has_been|is {{d:past}}", passive),
        (f"the {_OTHER_ONE} one was|has_been|is {{e:done}}", lambda p: p["e"]),
    ],
    "doing": [
        ("{e:event}", lambda p: p["e"]),
        ("{e:act}", lambda p: p["e"]),
        (f"{AGENT} [{MAY}] {{e:act}}", lambda p: p["e"]),
        (f"{AGENT} {{e:does}}", lambda p: p["e"]),
        ("{t:object} is|are|gets|get|may_be|can_be|must_be {d:past}", passive),
    ],
    "apart": [
        ("after {a:event} before {n:next_one}",
         lambda p: (p["a"], p["a"]) if p["n"].action in (p["a"].action, REPEATED) else None),
        ("between {a:event} and [then] a_later|a_subsequent|any_later|any_subsequent {b:noun}",
         lambda p: (p["a"], p["b"])),
        ("between {a:event} and {n:next_one}",
         lambda p: (p["a"], p["a"]) if p["n"].action in (p["a"].action, REPEATED) else None),
        (f"between the {_OTHER_ONE} {{e:noun}} and {{n:next_one}}",
         lambda p: (p["e"], p["e"]) if p["n"].action in (p["e"].action, REPEATED) else None),
        ("after {a:what} before {b:doing}",
         lambda p: (p["a"].events[0], p["b"])
         if len(p["a"].events) == 1 and p["a"].aspect not in ("not", "running") else None),
    ],
    # when
    "too_soon": [
        (f"{_LESS} {{d:time}} after|of|since|from|following|upon {{p:prior}}", _span("too soon")),
        (f"until|before|unless|till [{_LEAST}] {{d:time}} have|has {_PASSED} since|after {{p:prior}}",
         _span("too soon")),
        (f"until|before|till [{_LEAST}] {{d:time}} after {{p:prior}}", _span("too soon")),
        ("less_than|under {d:time} apart [from] [each_other|one_another]", _span("too soon")),
        ("within|in [less_than] {d:time} of each_other|one_another", _span("too soon")),
        ("closer_together|closer|nearer|nearer_together than {d:time} [apart]", _span("too soon")),
        ("with less_than {d:time} " + _BETWEEN, _span("too soon")),
        ("at|in intervals of less_than {d:time}", _span("too soon")),
        ("more_often_than|more_frequently_than|more_often|more_frequently [than] every|once_every {d:time}",
         _span("too soon")),
        (f"if|when|while|where the {_OTHER_ONE} [{_ONE}] was|is|happened|lies {_LESS} {{d:time}} ago"
         f"|earlier|before",
         _span("too soon")),
        (f"if|when|while|as_long_as|where {_LESS} {{d:time}} have|has {_PASSED} since|after {{p:prior}}",
         _span("too soon")),
    ],
    "far_enough": [
        ("[at] {d:long_enough} apart [from] [each_other|one_another] [or_more|at_least]", _span("far"
         " enough")),
        ("at|in|with intervals|an_interval|a_spacing|gaps|a_gap|a_pause of {d:long_enough}", _span("far"
         " enough")),
        (f"with [{_PAUSE}] {{d:long_enough}} [{_GAP}] " + _BETWEEN, _span("far enough")),
        ("{d:at_least_so_long} after|apart_from|from {p:prior}", _span("far enough")),
        ("if|when|once|provided|provided_that|only_if|only_when {p:prior} was|is|happened|lies"
         "|took_place|has_been|ended"
         " [made|sent|done|run] {d:at_least_so_long} ago|earlier|before|back"
         "|in_the_past", _span("far enough")),
        (f"if|when|once|after|provided {{d:long_enough}} have|has {_PASSED} since|after"
         f" {{p:prior}}", _span("far enough")),
        (f"no_sooner_than|not_sooner_than|no_earlier_than|not_earlier_than|not_before [{_LEAST}] {{d:time}} "
         "[have_passed] after|since {p:prior}", _span("far enough")),
    ],
    "adjunct": [
        ("{a:too_soon}", lambda p: p["a"]),
        ("{a:far_enough}", lambda p: p["a"]),
        (f"after|once|when {{d:long_enough}} [have|has]"
         f" [{_PASSED}]", lambda p: Adjunct("after so long", time=p["d"])),
        ("{d:long_enough} later", lambda p: Adjunct("after so long", time=p["d"])),
        ("less_than|under|not_even {d:time} after|since|from|following {f:what}",
         _after_it("sooner")),
        (f"if|when|while|as_long_as|where {_LESS} {{d:time}} have|has {_PASSED} since|after {{f:what}}",
         _after_it("sooner")),
        ("in|during|for|within the|the_first|the_next|the_following {d:time} after|following"
         "|that_follow {f:what}",
         _after_it("during")),
        (f"until|before|till [{_LEAST}] {{d:time}} have|has {_PASSED} [since] [{_THEN}]",
         lambda p: Adjunct("until passed", time=p["d"])),
        (f"until|before|till [{_LEAST}] {{d:time}} later", lambda p: Adjunct("until passed", time=p["d"])),
        ("less_than|under|within the_last {d:time} ago", lambda p: Adjunct("ago", time=p["d"])),
        ("in_under|under|in_less_than {d:time} [later]", lambda p: Adjunct("time", time=p["d"])),
        (f"within|in|inside|no_later_than the_next|the_following {{d:time}} [{_THEN}]",
         lambda p: Adjunct("then within", time=p["d"])),
        (f"within|in|inside|no_later_than|at_most {{d:time}} {_THEN}",
         lambda p: Adjunct("then within", time=p["d"])),
    ],
    "leading": [
        ("{e:events} ,|:|->|=>", _headline("noun")),
        ("{t:object} [has_been|is|was|been] {d:past} ,|:|->|=>", _headline("perfect")),
        ("{e:acts} ->|=>", _headline("noun")),
    ],
    "demand": [
        # after each of them
        ("{t:object} to_be {d:past}", demanding("must", make=passive)),
        ("no {a:events} without {b:events}", _answer("without")),
        ("never|do_not {a:acts} without {b:events}", _answer("without")),
        (f"{AGENT} {NO} {{a:acts}} without {{b:events}}", _answer("without")),
        (f"do_not|never let [more_than] {{d:time}} {_PASS} after|since {{f:what}} without {{b:events}}",
         _not_let_pass),
        # not so soon after another action
        (f"{{b:events}} ,|: [a|{_LEAST}] {{d:long_enough}} {_GAP} after {{a:events}}", _after),
        (f"{{b:events}} requires|require|needs|need {_PAUSE} {{d:long_enough}} after {{a:events}}", _after),
        (f"{{b:events}} {SHOULD} wait [for] {{d:long_enough}} after {{a:events}}", _after),
        (f"{{a:events}} {_HOLDS_BACK} {{b:events}} for [the_next|the_following|the_first]"
         f" {{d:long_enough}}", _after),
        (f"[{AGENT}] [{SHOULD}] wait|pause|allow|leave [for] {{d:long_enough}} before|until {{e:doing}}",
         lambda p: Demand("wait", (replace(p["e"], single=False),), how=p["d"])),
        ("{b:events} ,|:|->|= wait|pause|leave [for] {d:long_enough} after|since {a:events}", _after),
        ("{b:events} ,|:|->|= wait|pause|leave [for] {d:long_enough} after|since {a:acts}", _after),
        (f"[a|an|the] [{_LEAST_GAP}] {{d:long_enough}} {_GAP} [is_required|is_needed|applies|is_mandatory"
         "|must_be_kept"
         f"|must_be_observed|must_lie|has_to_be_kept] {{g:apart}}", apart_by),
        (f"[{AGENT}] [{SHOULD}] {_KEEP} [a|an|the] [{_LEAST_GAP}] {{d:long_enough}} {_GAP}"
         f" {{g:apart}}", apart_by),
        (f"[{AGENT}] [{SHOULD}] {_KEEP} [a|an|the] [{_LEAST_GAP}] {_GAP} of {{d:long_enough}}"
         f" {{g:apart}}", apart_by),
        (f"[{_LEAST}] {{d:time}} [{_MORE}] [{SHOULD}] {_PASS}|be {{g:apart}}", apart_by),
        (f"{{b:events}} {SHOULD} wait [for] {{d:long_enough}} after {{f:what}}",
         lambda p: _after({"a": (p["f"].events, p["f"].joint), "b": p["b"], "d": p["d"]})
         if p["f"].aspect in ("noun", "perfect", "present") else None),
        (f"{{t:sole}} {SHOULD} wait [for] {{d:long_enough}}",
         lambda p: Demand("wait", (replace(p["t"], single=False),), how=p["d"])),
        # not so soon after the one before
        ("{e:named} ,|:|->|=|- {d:own_gap}", lambda p: _own_gap(p)),
        (f"[the] {{e:events}} [{_LEAST_GAP}] {_GAP} [,|:|=|is] {{d:long_enough}}", lambda p: _own_gap(p)),
        (f"[the] {_GAP} between {_CALLS} of {{e:named}} [,|:|=|is] {{d:long_enough}}", lambda p: _own_gap(p)),
        ("{e:events} has|have|needs|need|requires|require {d:own_gap}", lambda p: _own_gap(p)),
        (f"{{e:events}} {SHOULD} [always|only] be|come|follow|lie {{w:far_enough}}", at_these("must")),
        ("{e:another} is|are [only] allowed|permitted|possible|ok"
         "|okay", demanding("only", make=lambda p: _later("e")(p))),
        (f"never|do_not {{e:acts}} {_AGAIN_IT}", demanding("again")),
        (f"{AGENT} {NO} {{e:acts}} {_AGAIN_IT}", demanding("again")),
        (f"{{t:object}} {NO} [ever] be {{d:past}} {_AGAIN_IT}", demanding("again", make=passive)),
        (f"no {{t:object}} {ALLOWED} [ever] be {{d:past}} {_AGAIN_IT}", demanding("again", make=passive)),
        (f"[{AGENT}] [{SHOULD}] wait|pause|leave|allow|let [for] {{d:long_enough}} [{_PASS}] "
         "before|until {e:next_one}", _apart),
        (f"[{AGENT}] [{SHOULD}] let {{d:long_enough}} {_PASS} {{g:apart}}", apart_by),
        (f"[the|a|our] {_LEAST_GAP} {_GAP} [allowed|required] {{g:apart}} [is|,|:|=|{SHOULD}] [be] [of]"
         f" {{d:long_enough}}",
         apart_by),
        (f"[the|a|our] {_GAP} {{g:apart}} [,|:|=|is|{SHOULD}] [be] {{d:at_least_so_long}}", apart_by),
        (f"[the|a|our] {_LEAST_GAP} {_GAP} of {{d:time}} {{g:apart}}", apart_by),
        (f"[the|a|our] {_COOLING} {{g:apart}} [,|:|=|is|{SHOULD}] [be] {{d:time}}", apart_by),
        ("{e:plurals} ,|: {d:long_enough} apart [or_more]", _apart),
        (f"[{_CONSECUTIVE}] {{e:plurals}} {SHOULD}|is|are [always] [be|lie|stay|remain|come|happen] "
         "[spaced|kept|placed|separated|staggered|spread|timed] [out] [at] {d:long_enough} apart [or_more]",
         _apart),
        (f"[{_CONSECUTIVE}] {{e:plurals}} {SHOULD} [always] be spaced|separated|spread|staggered [out] [by] "
         "{d:long_enough}", _apart),
        (f"[{AGENT}] [{SHOULD}] [always] keep|space|spread|separate|stagger {{e:plurals}} [out] [by] "
         "{d:long_enough} [apart] [or_more]", _apart),
        (f"if|when|whenever {AGENT} {{v:verb}} several|multiple|2|2_or_more|more_than_1|more_than_one"
         f" {{t:thing}} [,] "
         f"[{SHOULD}] leave|wait|allow|keep [for] {{d:long_enough}} {_BETWEEN}", _several),
        (f"{{e:events}} {NO} [ever] follow {{p:prior}} {_LESS}|in|within [less_than] {{d:time}}",
         lambda p: None if p["e"][1] or p["p"].action not in (REPEATED, p["e"][0][0].action)
         else _apart({"e": p["e"][0][0], "d": p["d"]})),
        ("never|no|do_not [any] 2 {e:event}", _two),
        (f"[any] 2 {{e:event}} {NO} [ever] {HAPPEN}|come|follow", _two),
        (f"no 2 {{e:event}} {ALLOWED} [ever] {HAPPEN}|come|follow", _two),
        (f"no 2 {{t:object}} {ALLOWED} [ever] be {{d:past}}", _two),
        ("never|do_not {v:verb} 2 {t:object}", _two),
        (f"{AGENT} {NO} {{v:verb}} 2 {{t:object}}", _two),
    ],
    "inside": [
        (f"{{e:events}} {{a:adjuncts}} is|are [strictly|always] {BANNED}",
         lambda p: (d := demanding("never")(p)) and (d, p["a"])),
        (f"{{e:events}} {{a:adjuncts}} {NO} [ever] {HAPPEN}",
         lambda p: (d := demanding("never")(p)) and (d, p["a"])),
    ],
}  # fmt: skip

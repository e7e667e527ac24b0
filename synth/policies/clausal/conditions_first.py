"""What is needed first, its words in other places: `for refunds check it first`, `between two refunds`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.exclusion import A_RUN
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact
from synth.policies.clausal.words import ALREADY, BEFORE, HAPPEN, HAVE, NO, SHOULD


def _intended(p: Parts) -> Adjunct:
    """`For refunds over 250`, of what something is needed first."""
    events, joint = p["es"]
    return Adjunct("intended", Fact(events, "noun", joint), leads=True)


def _shortly_before(p: Parts) -> Adjunct | None:
    fact: Fact = p["f"]
    told = fact.aspect in ("noun", "present") and not any(e.outcome for e in fact.events)
    return Adjunct("shortly before", fact, time=p["d"]) if told else None


def _with_done(p: Parts) -> Adjunct:
    """`Only with the customer verified and the otp checked`."""
    return Adjunct("with done", p["f"])


def _has_done(p: Parts) -> Fact | None:
    """`The tests have run`, of what is run."""
    event = passive(p)
    return None if event is None or event.role else Fact((event,), "perfect")


def _was_something(p: Parts) -> Fact | None:
    """`Once something was merged`."""
    done: Event = p["d"]
    return None if done.role else Fact((replace(done, bare=True, noun=()),), "perfect")


def _between_two(p: Parts) -> Adjunct | None:
    """`Between two refunds`, `between one refund and the next`."""
    event: Event = replace(p["e"], single=False, each=False)
    return None if event.outcome else Adjunct("between two", Fact((event,), "noun"))


def _both(p: Parts) -> Demand | None:
    """`A run that rotates a key must not delete a volume`."""
    (first, joint), (then, other) = p["a"], p["b"]
    if joint == "and" or other == "and" or (joint and other) or any(e.outcome for e in (*first, *then)):
        return None
    return Demand("both", first, then, joint=joint or other)


def _needs(p: Parts) -> Demand | None:
    """`Every transfer must have an otp check before it`."""
    (events, joint), (others, other) = p["a"], p["b"]
    return None if joint and other else Demand("needs", events, others, joint=joint or other)


def _until_anew(p: Parts) -> Adjunct | None:
    """`Until a new price has been quoted`, after what it is said of."""
    fact: Fact = p["f"]
    return None if fact.aspect in ("not", "running", "fails") else Adjunct("anew", fact)


def _none_of(p: Parts) -> Demand:
    """`Transfer nothing`."""
    return Demand("never", (replace(p["v"], noun=(), bare=True),))


_TWO = "2|any_2|every_2|each_2|2_consecutive|2_successive|any_2_consecutive"
_NEXT_ONE = (
    "the_next|another|the_following|the_subsequent|the_next_one|another_one|the_following_one|the_one_after"
)
_LATELY = "at_most|no_more_than|not_more_than|no_longer_than|less_than|not_earlier_than|no_earlier_than"

CONDITIONS_FIRST: dict[str, Rule] = {
    "adjunct": [
        (
            "from|of|out_of the_last|the_past|the_previous|the_preceding {d:time}",
            lambda p: Adjunct("ago", time=p["d"]),
        ),
        (
            "max|maximum|up_to|at_the_most {d:time} old|before|earlier|beforehand",
            lambda p: Adjunct("ago", time=p["d"]),
        ),
        (f"{_LATELY} [the] [last] {{d:time}} before|prior_to {{f:what}}", _shortly_before),
        ("with [both] [,] {f:participle} " + f"[{BEFORE}]", _with_done),
        ("until|till a_new|another|a_fresh|a_renewed|a_further {f:what}", _until_anew),
        (f"between {_TWO} {{e:event}}", _between_two),
        (f"between {{e:event}} and {_NEXT_ONE}", _between_two),
        (f"between one|a|an|each|every {{e:event}} and {_NEXT_ONE}", _between_two),
    ],
    "one_fact": [
        (f"{{t:object}} {HAVE} [{ALREADY}] {{d:done}} [{BEFORE}]", _has_done),
        (
            f"something|anything|a_thing has_been|was|is|had_been [{ALREADY}] {{d:done}} [{BEFORE}]",
            _was_something,
        ),
        (f"{{e:told by somebody}} [{BEFORE}]", lambda p: Fact((p["e"],), "perfect")),
    ],
    "demand": [
        (f"{A_RUN} {{a:of_a_run}} {NO} [ever] {{b:acts}}", _both),
        (f"{A_RUN} {{a:of_a_run}} {NO} [ever] contain|include|have|hold {{b:events}}", _both),
        ("{v:verb} nothing|no_more|nothing_more|nothing_else", _none_of),
        (f"i {SHOULD}|want|require|expect|need [to_see|to_have] {{e:events}}", demanding("must")),
        ("i|we want|require|expect|need {t:object} {d:past}", demanding("must", make=passive)),
        (f"{{a:events}} {SHOULD} have {{b:events}} before|ahead_of it|them|that", _needs),
        ("{e:asked of somebody} first|beforehand|before_that", demanding("do first")),
        (f"{{e:events}} {SHOULD} {HAPPEN} first|beforehand|before_that", demanding("do first")),
        (f"{{e:events}} [{SHOULD}] come|comes|go|goes first", demanding("do first")),
    ],
    "leading": [
        ("for|with|in_case_of|on|at [each|every|any] {es:events} [,]", lambda p: (_intended(p),)),
        (
            "before {es:events} :",
            lambda p: (Adjunct("before", Fact(p["es"][0], "noun", p["es"][1]), leads=True),),
        ),
    ],
}

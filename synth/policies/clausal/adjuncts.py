"""What a demand depends on: when, how often, of what, unless what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.facts import by_it, passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Fact
from synth.policies.clausal.words import LATER


def _when(kind: str) -> Callable[[Parts], Adjunct | None]:
    def made(p: Parts) -> Adjunct | None:
        fact = p.get("f")
        if fact is not None and (
            fact.aspect in ("not", "running")
            or any(e.outcome == "failed" or (e.outcome == "tried" and kind != "before") for e in fact.events)
        ):
            return None
        return Adjunct(kind, fact, p.get("g"), p.get("d", ""), p.get("s", frozenset()), p.get("t", ""))

    return made


def _so_many(p: Parts) -> Adjunct | None:
    """`before at least two approvals`, `until it has been approved at least twice`."""
    how, n = p["c"]
    return Adjunct("so many", p["f"], number=n) if how == "at least" and p["f"].aspect != "not" else None


def _over(p: Parts) -> Adjunct:
    return Adjunct("run", said=p["w"])


def _failed(kind: str) -> Callable[[Parts], Adjunct]:
    return lambda p: Adjunct(kind, p["f"], None, p.get("d", ""))


def _if(p: Parts) -> Adjunct | None:
    fact: Fact = p["f"]
    if fact.aspect == "noun":
        return None
    return Adjunct("unless" if fact.aspect == "not" else "if", fact)


def nouned(kind: str) -> Callable[[Parts], Adjunct | None]:
    """What has happened, by a noun; of what failed something else is said."""

    def made(p: Parts) -> Adjunct | None:
        events, joint = p["e"] if isinstance(p["e"], tuple) else ((p["e"],), "")
        failed = any(e.outcome == "failed" for e in events)
        return None if failed else Adjunct(kind, Fact(events, "noun", joint))

    return made


def _so_long_after(p: Parts) -> Adjunct | None:
    """`Until an hour after a raise` is no sooner after one; `after the card was charged` needs that, too."""
    told: Fact = p["f"]
    any_one = told.aspect == "noun" or all(e.single or e.each for e in told.events)
    return _when("sooner" if any_one else "until later")(p)


_TOGETHER = (
    "simultaneously|in_parallel|concurrently|side_by_side|at_the_very_same_time|at_one_and_the_same_time"
)
ADJUNCTS: dict[str, Rule] = {
    "window": [
        ("within|in|per|during|over [any|every|each|any_given|any_one] {d:time}", _when("time")),
        ("in_less_than|in_under {d:time}", _when("time")),
        ("per_calendar_day", _when("day")),
        ("{w:scope}", _over),
    ],
    "adjunct": [
        ("before|prior_to|ahead_of|any_time_before [any|each|every] {f:what}", _when("before")),
        ("before|prior_to|until the_first|the_very_first {f:what}", _when("before")),
        ("before {e:act}", lambda p: Adjunct("before", Fact((p["e"],), "noun"))),
        ("before it|they|you|we may|can {e:act}", lambda p: Adjunct("before", Fact((p["e"],), "noun"))),
        (
            "before {t:object} may|can|must be {d:past}",
            lambda p: (e := passive(p)) and Adjunct("before", Fact((e,), "noun")),
        ),
        (
            "before {t:object} being {d:past}",
            lambda p: (e := passive(p)) and Adjunct("before", Fact((e,), "noun")),
        ),
        ("immediately|directly|right|just|straight before {f:what}", _when("adjacent")),
        ("immediately|directly|right|straight after|following {f:what}", _when("straight after")),
        ("after|once|following|as_soon_as {f:what}", _when("after")),
        (
            "after {t:object} being|having_been {d:past}",
            lambda p: (e := passive(p)) and Adjunct("after", Fact((e,), "noun")),
        ),
        ("whenever|every_time|each_time|any_time|anytime {f:fact}", _when("every")),
        ("after|following each|every|any {f:what}", _when("every")),
        ("if|when|in_case|provided|provided_that|as_long_as|where {f:fact}", _if),
        ("unless|except_after|except_if|except_when [first] {f:what}", _when("unless")),
        ("without first|a_prior|prior|previously|a_previous|an_earlier {f:what}", _when("unless")),
        ("without {f:what} first|beforehand|before_that", _when("unless")),
        ("without {e:check}", lambda p: Adjunct("unless", Fact((p["e"],), "noun"))),
        (
            "without [ever|first|previously] having [already|first] {e:having} [first|before|beforehand]",
            lambda p: Adjunct("unless", Fact((p["e"],), "noun")),
        ),
        (
            "without {t:object} having_been|being {d:past}",
            lambda p: (e := passive(p)) and Adjunct("unless", Fact((e,), "noun")),
        ),
        ("until|till [after] {f:what}", _when("until")),
        ("until|till [after] {f:success}", lambda p: Adjunct("until", p["f"])),
        ("while|whilst|as_long_as {f:going}", lambda p: Adjunct("while", p["f"])),
        (f"at_the_same_time|{_TOGETHER}", lambda p: Adjunct("together")),
        ("at_a_time|at_any_one_time|at_any_time|at_once", lambda p: Adjunct("at a time")),
        (
            "between {e:event} and {g:event}",
            lambda p: Adjunct("between", Fact((p["e"],), "noun"), Fact((p["g"],), "noun")),
        ),
        (
            "within|in|inside|under|in_under|in_less_than|no_later_than|at_most {d:time} after {f:what}",
            _when("within"),
        ),
        ("within|in|inside|no_later_than {d:time} of {f:what}", _when("around")),
        (
            "within|in|inside|in_under|in_less_than|no_later_than {d:time} after [its|their|it|them] "
            "being|having_been {e:past}",
            lambda p: Adjunct("within", Fact((by_it({"d": p["e"]}) or p["e"],), "noun"), None, p["d"]),
        ),
        (
            "within|in|inside|in_under|in_less_than|no_later_than {d:time} after {t:object} "
            "being|having_been {g:past}",
            lambda p: (
                (e := passive({**p, "d": p["g"]})) and Adjunct("within", Fact((e,), "noun"), None, p["d"])
            ),
        ),
        (
            "not_older_than|no_older_than|not_more_than|no_more_than|at_most|less_than {d:time} old",
            _when("ago"),
        ),
        ("not_older_than|no_older_than|younger_than {d:time}", _when("ago")),
        ("until|before|till [at_least] {d:time} after {f:what}", _so_long_after),
        (
            "until|before|till [at_least] {d:time} have|has passed|gone_by|elapsed after|since {f:what}",
            _when("sooner"),
        ),
        ("within|in|inside|no_later_than {d:time} of|after {f:failure}", _failed("failed within")),
        ("for|in|during [the_next|the_first] {d:time} after|following {f:what}", _when("during")),
        (
            "for|in|during|within|inside [the|the_next|the_first|the_following] {d:time} after|following"
            "|that_follow|which_follow|from {f:failure}",
            _failed("failed within"),
        ),
        (
            "within|in|inside|no_later_than|in_less_than [the_next] {d:time} "
            "[afterwards|after_it|after_that|of_it|later]",
            _when("time"),
        ),
        (
            "in|within|during|over any|every|each|any_given|any_one "
            "[period_of|window_of|stretch_of] {d:time} [period|window|stretch]",
            _when("time"),
        ),
        ("per {d:time}", _when("time")),
        ("per_calendar_day", _when("day")),
        ("for [the_next|the_following] {d:time}", _when("lasting")),
        (
            "at_most|no_more_than|not_more_than|no_longer_than|not_longer_than|less_than {d:time} before"
            "|earlier|beforehand|ago|before_that",
            _when("ago"),
        ),
        (
            "within|in|during the_last|the_past|the_previous|the_preceding|the {d:time} [before|before_that"
            "|before_it]",
            _when("ago"),
        ),
        ("{w:scope}", _over),
        ("{s:same}", _when("same")),
        ("in_a_row|in_succession|consecutively|running|back_to_back|one_after_the_other", _when("in a row")),
        ("before|until|unless|except_after|without {c:count} {f:what}", _so_many),
        ("unless|until|before {f:what} {c:count}", _so_many),
        ("first|beforehand|before_that|already", _when("first")),
        (LATER, _when("later")),
    ],
    "adjuncts": [
        ("[,] [and] {a:adjunct}", lambda p: (p["a"],)),
        ("[,] only {a:adjunct}", lambda p: (replace(p["a"], only=True),)),
        ("{a:adjunct} only", lambda p: (replace(p["a"], only=True),)),
        ("[,] {a:adjunct} {b:adjuncts}", lambda p: (p["a"], *p["b"])),
        ("[,] only {a:adjunct} {b:adjuncts}", lambda p: (replace(p["a"], only=True), *p["b"])),
    ],
    "leading": [
        ("{a:adjunct} [,] [then]", lambda p: (replace(p["a"], leads=True),)),
        ("only {a:adjunct} [,]", lambda p: (replace(p["a"], leads=True, only=True),)),
        ("{a:adjunct} [,] {b:leading}", lambda p: (replace(p["a"], leads=True), *p["b"])),
    ],
}

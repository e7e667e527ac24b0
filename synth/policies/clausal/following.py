"""What must follow, and how soon: `no report without a notice afterwards`, `30 minutes at most`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.exclusion import A_RUN
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Fact
from synth.policies.clausal.words import AGENT, ALLOWED, NO, SHOULD

_THEN = (
    "afterwards|afterward|after_it|after_that|after_them|later|later_on|subsequently|thereafter|following_it"
    "|at_some_later_point|eventually|at_some_point_afterwards|later_in_the_run|later_in_the_same_run"
    "|at_some_point_later|before_the_run_ends|by_the_end_of_the_run|later_in_that_run|after_the_fact"
    "|in_turn|after_this|before_the_end_of_the_run"
)
_NEXT = "the_next|the_following|the_first|the_subsequent"
_SUBSEQUENT = (
    "a_subsequent|subsequent|a_later|later|a_following|following|an_ensuing|ensuing|a_resulting"
    "|any_subsequent"
)
_SOON = (
    "within|in|inside|in_under|in_less_than|no_later_than|not_later_than|in_at_most|within_at_most"
    "|in_no_more_than|within_no_more_than|within_less_than|inside_of|within_a_maximum_of|at_the_latest"
    "|not_more_than_within"
)
_UP_TO = "less_than|under|at_most|no_more_than|not_more_than|no_longer_than|not_longer_than|a_maximum_of"
_OR_LESS = "or_less|at_most|at_the_most|at_the_latest"
_PASS = "pass|go_by|elapse|go_past|pass_by|lapse"


def _soon(kind: str, fact: str = "f") -> Callable[[Parts], Adjunct | None]:
    def made(p: Parts) -> Adjunct | None:
        found: Fact | None = p.get(fact)
        if found is None:
            return Adjunct(kind, None, None, p.get("d", ""), said="later" if kind == "time" else "")
        if found.aspect in ("not", "running") or any(e.outcome in ("failed", "tried") for e in found.events):
            return None
        return Adjunct(kind, found, None, p.get("d", ""), said="later" if kind == "time" else "")

    return made


def _left_out(p: Parts) -> Adjunct | None:
    """`Without a notice afterwards`: what does not follow."""
    if "f" in p:
        fact = p["f"]
    else:
        events, joint = p["es"]
        fact = Fact(events, "noun", joint)
    if fact.aspect in ("not", "running", "fails"):
        return None
    if any(one.outcome == "failed" for one in fact.events):
        return None
    return Adjunct("without later", fact, None, p.get("d", ""))


def _not_followed(p: Parts) -> Adjunct | None:
    fact: Fact = p["f"]
    return Adjunct("without later", replace(fact, aspect="noun"), None, p.get("d", "")) if (
        fact.aspect == "not"
    ) else None  # fmt: skip


def _left_undone(p: Parts) -> Adjunct | None:
    """`Without the anaesthetist being alerted within 5 minutes`."""
    event = passive(p)
    return Adjunct("without soon", Fact((event,), "noun"), None, p["w"]) if event else None


def _has_so_long(p: Parts) -> Demand | None:
    """`You have 5 minutes to alert the anaesthetist after a sedation`."""
    fact: Fact = p["f"]
    (events, joint) = p["b"]
    if fact.aspect in ("not", "running", "fails") or any(e.outcome for e in fact.events):
        return None
    return _let_pass({"a": (fact.events, fact.joint), "b": (events, joint), "d": p["d"]})


def _plain_pair(kind: str, first: str = "a", then: str = "b") -> Callable[[Parts], Demand | None]:
    def made(p: Parts) -> Demand | None:
        (events, joint), (others, other) = p[first], p[then]
        return None if joint and other else Demand(kind, events, others, joint=joint or other)

    return made


def _let_pass(p: Parts) -> Demand | None:
    """`Do not let 30 minutes go by after a check-in without a cleaning`."""
    (events, joint), (others, other) = p["a"], p["b"]
    if (joint and other) or any(e.outcome for e in (*events, *others)):
        return None
    within = Adjunct("time", None, None, p["d"])
    first = (replace(events[0], beside=(*events[0].beside, within)), *events[1:])
    return Demand("answer", first, others, joint=joint or other)


def _followed_soon(p: Parts) -> Demand | None:
    """`A check-in must be followed within 30 minutes by a cleaning`."""
    return None if any(e.outcome for e in p["a"][0]) else _let_pass(p)


def _has_time(p: Parts) -> Demand:
    """`After a check-in the agent has 30 minutes to order a cleaning`."""
    events, joint = p["b"]
    within = Adjunct("time", None, None, p["d"])
    return Demand("must", (replace(events[0], beside=(*events[0].beside, within)), *events[1:]), joint=joint)


def _has_time_after(p: Parts) -> Demand | None:
    fact: Fact = p["a"]
    unclear = fact.aspect in ("not", "running", "fails") or any(e.outcome for e in fact.events)
    return None if unclear else _let_pass({**p, "a": (fact.events, fact.joint)})


def _left(p: Parts) -> Demand:
    """`No report may stay without a notice`."""
    events, joint = p["a"]
    others, other = p["b"]
    return Demand("answer", events, others, joint=joint or other)


def _of_such_a_thing(p: Parts) -> Demand | None:
    """`A sedated patient means the anaesthetist must be alerted`."""
    events, joint = p["b"]
    return Demand("then soon", (replace(p["s"], single=False),), events, joint=joint)


def _topic(p: Parts) -> tuple[Adjunct, ...] | None:
    """`Damage reports: the insurer has to be notified afterwards`."""
    events, joint = p["es"]
    if any(e.outcome for e in events):
        return None
    return (Adjunct("topic", Fact(events, "noun", joint), leads=True),)


FOLLOWING: dict[str, Rule] = {
    "followed": [
        (
            "[eventually|later|then|subsequently] followed [up] [,] [later|eventually|afterwards|subsequently"
            "|in_the_same_run|in_that_run|later_in_the_run|later_in_the_same_run|at_some_point] [,] by|with",
            lambda p: "followed",
        ),
    ],
    "soon": [
        (f"{_SOON} [{_NEXT}] {{d:time}} [{_OR_LESS}]", lambda p: p["d"]),
        (f"{{d:time}} {_OR_LESS}", lambda p: p["d"]),
        (f"[within] [{_NEXT}] {_UP_TO} {{d:time}}", lambda p: p["d"]),
        ("within|in the {d:time} right|directly|immediately", lambda p: p["d"]),
        ("within|in the {d:time}", lambda p: p["d"]),
    ],
    "adjunct": [
        (f"{_SOON} [{_NEXT}] {{d:time}} after|following [each|every] {{f:what}}", _soon("within")),
        (f"{_UP_TO} {{d:time}} after|following each|every|any {{f:what}}", _soon("within")),
        (f"{_UP_TO} {{d:time}} after|following {{f:what}}", _soon("up to")),
        (f"{{d:time}} {_OR_LESS} after|following each|every|any {{f:what}}", _soon("within")),
        (f"{{d:time}} {_OR_LESS} after|following {{f:what}}", _soon("up to")),
        ("within|in the [first] {d:time} after|following|that_follow [each|every] {f:what}", _soon("within")),
        (f"{{d:soon}} {_THEN}|of_that|of_it|from_then|from_that_point", _soon("time")),
        ("{d:time} after|following {f:what} at_the_latest|latest|at_most|max|maximum|tops", _soon("within")),
        ("at_the_latest|latest|by {d:time} after|following {f:what}", _soon("within")),
        ("upon {f:what}", _soon("after")),
        (
            f"without {{t:object}} being|getting|having_been {{d:past}} {{w:soon}} [{_THEN}|of_that|of_it]",
            _left_undone,
        ),
        (f"{_SOON} {_NEXT} {{d:time}}", _soon("time")),
        (f"{_SOON} {{d:time}}", lambda p: Adjunct("time", time=p["d"])),
        ("before {d:time} have|has passed|gone_by|elapsed", _soon("time")),
        ("before {d:time} are|is over|up", _soon("time")),
        # what does not follow
        (f"without [ever] {{es:events}} {_THEN}", _left_out),
        (f"without {_SUBSEQUENT} {{es:events}} [{_THEN}]", _left_out),
        (f"without [then|afterwards|subsequently] {{es:events}} {_SOON} {_NEXT} {{d:time}}", _left_out),
        (f"without {{es:events}} {{d:soon}} {_THEN}|of_that|of_it", _left_out),
        (f"without {_SUBSEQUENT} {{es:events}} {{d:soon}} [{_THEN}]", _left_out),
        ("without then|afterwards|subsequently|later {es:events}", _left_out),
        ("without {f:participle} " + _THEN, _left_out),
        (f"without {{f:participle}} {{d:soon}} {_THEN}", _left_out),
        (f"and|but [then] not {{es:acts}} {_THEN}", _left_out),
        (f"and|but [then] not {{es:acts}} {{d:soon}} [{_THEN}]", _left_out),
        (f"and|but [then|afterwards|later] fail to {{es:acts}} [{_THEN}]", _left_out),
        (f"and|but [then|afterwards|later] fail to {{es:acts}} {{d:soon}} [{_THEN}]", _left_out),
        ("{x:unfollowed}", lambda p: p["x"]),
        ("always|without_exception|in_every_case|in_all_cases|every_time", lambda p: Adjunct("always")),
    ],
    "mod": [("{s:unfollowed}", lambda p: ("beside", p["s"]))],
    "unfollowed": [
        ("after_which {f:fact}", _not_followed),
        (
            f"[that|which] [is|are|was|were|has_been] not [yet|then|eventually|later] followed [up] by"
            f" {{es:events}} [{_THEN}]",
            _left_out,
        ),
        ("[that|which] [is|are|was|were] not followed [up] by {es:events} {d:soon}", _left_out),
    ],
    "leading": [("{es:events} :", _topic)],
    "demand": [
        (
            f"{{a:events}} obliges|oblige|obligates|obligate|commits|commit {AGENT} to {{b:acts}}",
            _plain_pair("gets"),
        ),
        ("{b:events} [always] follows|follow each|every|any {a:events}", _plain_pair("answer")),
        (
            f"{{a:events}} {SHOULD} [always] lead_to|trigger|result_in|entail {{b:events}}",
            _plain_pair("answer"),
        ),
        ("[always] follow_up [on] {a:events} with|by {b:events}", _plain_pair("answer")),
        (
            f"{AGENT} {SHOULD} [always] follow_up [on] {{a:events}} with|by {{b:events}}",
            _plain_pair("answer"),
        ),
        ("[always] follow {a:events} [up] with|by {b:events}", _plain_pair("answer")),
        (f"{AGENT} {SHOULD} [always] follow {{a:events}} [up] with|by {{b:events}}", _plain_pair("answer")),
        (
            f"{{a:events}} {SHOULD}|is|are [always] [be] followed_up with|by {{b:events}}",
            _plain_pair("answer"),
        ),
        (
            f"no {{a:events}} {ALLOWED} [ever] be_left|stay|remain|go|be|be_made without {{b:events}}"
            f" [{_THEN}]",
            _left,
        ),
        (
            f"do_not|never let [more_than] {{d:time}} {_PASS} after|following|since {{a:events}} without"
            " {b:events}",
            _let_pass,
        ),
        (
            f"{AGENT} {NO} let [more_than] {{d:time}} {_PASS} after|following|since {{a:events}} without"
            " {b:events}",
            _let_pass,
        ),
        (f"no {{a:events}} is|are complete|finished|done|over without {{b:events}} {_THEN}", _left),
        (
            f"{A_RUN}|runs {NO} [ever] end|finish|close|be_over with|on|after {{x:unanswered}}",
            lambda p: p["x"],
        ),
        (f"no run {ALLOWED} end|finish|close|be_over with|on|after {{x:unanswered}}", lambda p: p["x"]),
        ("{t:object} to_be {d:past}", demanding("must", make=passive)),
        ("{e:events} to_follow|follows|follow|to_come|due", demanding("follow")),
        (f"{{e:events}} {SHOULD} [always] come {_THEN}|sooner_or_later|at_some_point", demanding("follow")),
        (
            f"{{a:events}} {SHOULD}|is|are [be] [always] followed [up] [,] {{d:soon}} [,] by|with"
            " {b:events}",
            _followed_soon,
        ),
        (
            f"{{a:events}} requires|require|needs|need|calls_for|call_for|takes|demands {_SUBSEQUENT}"
            " {b:events}",
            _plain_pair("answer"),
        ),
        (
            f"no {{a:events}} {ALLOWED} [ever] be_left|stay|remain|go|be|be_made without {_SUBSEQUENT}"
            " {b:events}",
            _left,
        ),
        (f"{AGENT} has|have|gets|get [at_most|up_to|only] {{d:time}} to {{b:acts}}", _has_time),
        (
            f"{AGENT} has|have|gets|get [at_most|up_to|only] {{d:time}} after|following {{a:what}}"
            " to {b:acts}",
            _has_time_after,
        ),
        (
            "do_not|never wait|take [any] longer|more than {d:time} after|following {a:what} before"
            " {b:events}",
            _has_time_after,
        ),
        (
            "do_not|never wait|take [any] longer|more than {d:time} to {b:acts} after|following {a:what}",
            _has_time_after,
        ),
        (f"{{b:events}} {SHOULD} [always] follow each|every|any {{a:events}}", _plain_pair("answer")),
        (
            f"{{b:events}} {SHOULD} [always] follow each|every|any {{a:events}} {{d:soon}}",
            _followed_soon,
        ),
        ("there is|are [at_most|up_to|only] {d:time} to {b:acts}", _has_time),
        (f"{{e:events}} needed|required|due|mandatory|obligatory {_THEN}", demanding("follow")),
        (
            f"{AGENT} has|have [at_most|only|up_to|no_more_than] {{d:time}} to {{b:acts}} after|following"
            f" {{f:what}}",
            _has_so_long,
        ),
        (
            f"{{b:events}} {SHOULD} [always] follow [up] [on] each|every|any {{a:events}}",
            _plain_pair("answer"),
        ),
        (
            f"{{b:events}} {SHOULD} [always] follow|come|arrive|happen {{d:soon}} of each|every|any"
            f" {{a:events}}",
            _followed_soon,
        ),
        (
            "comes|follows|must_come|must_follow|has_to_come|has_to_follow|should_come|should_follow|come"
            "|follow {e:events}",
            demanding("comes then"),
        ),
        ("{a:acts} [,] [and] then {b:acts}", _plain_pair("then soon")),
        (
            "{a:events} means|mean|triggers|trigger|prompts|prompt|leads_to|lead_to|entails|entail [that]"
            " {b:ensured_event}",
            _plain_pair("then soon"),
        ),
        ("{s:state} means|triggers|prompts|requires [that] {b:ensured_event}", _of_such_a_thing),
    ],
    "ensured_event": [
        (
            f"{{t:object}} is|are|{SHOULD} [always] [be] {{d:past}}",
            lambda p: (e := passive(p)) and ((e,), ""),
        ),
        (f"{AGENT} {SHOULD} [always] {{e:acts}}", lambda p: p["e"]),
        ("{e:events}", lambda p: p["e"]),
    ],
    "unanswered": [
        (
            "{a:events} [,] {x:no_answer}",
            lambda p: Demand("answer", p["a"][0], p["x"].fact.events, joint=p["a"][1] or p["x"].fact.joint),
        ),
    ],
    "no_answer": [("{x:unfollowed}", lambda p: p["x"]), (f"without {{es:events}} [{_THEN}]", _left_out)],
}

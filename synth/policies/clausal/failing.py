"""What is said of calls that failed: an attempt, so many of them, when to try again, when to give up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import AGAIN, Adjunct, Demand, Event, Fact, with_same
from synth.policies.clausal.words import AGENT, FAILS, HAPPEN, MAY, NO, SHOULD
from synth.policies.patterns import compiled

Events = tuple[tuple[Event, ...], str]

_ATTEMPT = "attempt|try|attempts|tries"
_IN_A_ROW = "in_a_row|in_succession|consecutively|running|back_to_back|one_after_the_other"
_BAD = "failed|failing|unsuccessful"
_UNABLE = (
    "could_not|was_unable_to|is_unable_to|were_unable_to|are_unable_to|was_not_able_to|is_not_able_to"
    "|did_not_manage_to|does_not_manage_to|has_not_managed_to"
)
"""Not `fails to`, which may be to leave it out."""


def _fails(events: Events) -> Fact:
    return Fact(events[0], "fails", events[1])


def _of_one_id(p: Parts) -> Event:
    """`Pay that claim_id`, `refund the same order id`: its object is told by a field."""
    return with_same(replace(p["v"], single=False), p["s"])


def that_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """`the same order id`, `that claim_id`."""
    if m := compiled(
        r" *(?:the (?:very )?same|one and the same|that same|that|this) "
        r"(?P<f>[a-z]+_[a-z_]+|[a-z]+ (?:id|number|code|reference))(?![\w'-])"
    ).match(grammar.text, at):
        yield frozenset({m["f"].lower().replace(" ", "_")}), m.end()


def _with_all(p: Parts) -> Fact | None:
    """`It failed twice for a line`: each line by itself."""
    events, joint = p["es"]
    if joint or len(events) > 1 or not p["m"]:
        return None
    same: frozenset[str] = frozenset().union(*(value for kind, value in p["m"] if kind in ("same", "about")))
    if any(kind not in ("same", "about") for kind, _ in p["m"]):
        return None
    return Fact((with_same(events[0], same),), "fails")


def _again_without(p: Parts) -> Demand:
    """`No second one on that workspace`."""
    event = Event(AGAIN)
    for kind, value in p.get("m", ()):
        if kind != "same":
            return Demand("unknown")
        event = with_same(event, value)
    return Demand("never", (event,))


def _anew(p: Parts) -> Adjunct | None:
    """`Without a new plan of it`: one that came after what failed."""
    fact: Fact = p["f"]
    return None if fact.aspect in ("not", "running", "fails") else Adjunct("anew", fact)


def _stops(p: Parts) -> Demand | None:
    events, joint = p["e"]
    return None if joint == "and" else Demand("stop", events, joint=joint)


def _so_often(p: Parts) -> Adjunct:
    fact, number, how = p["o"]
    return Adjunct("failed often", fact, number=number, said=how, leads=True)


def _so_many_tries(p: Parts) -> tuple[Fact, int] | None:
    return (_fails(p["es"]), p["n"]) if p["n"] > 1 else None


def _answered(p: Parts) -> Demand | None:
    fact: Fact = p["f"]
    others, other = p["b"]
    if fact.joint and other:
        return None
    return Demand("failure answered", fact.events, others, joint=fact.joint or other)


def _not_again(p: Parts) -> Demand | None:
    """`A failed payment must not be retried`: what failed is not done again."""
    fact: Fact = p["f"]
    return Demand("no retry", fact.events) if len(fact.events) == 1 else None


def _once_more(failed: Fact, again: Event, time: str) -> Demand | None:
    """`Wait ten minutes after a failed check before checking again`."""
    if len(failed.events) != 1 or again.action not in (failed.events[0].action, AGAIN):
        return None
    event = failed.events[0] if again.action == AGAIN else again
    return Demand("wait for a retry", (event,), failed.events, how=time)


def _no_second(p: Parts) -> Demand | None:
    """`Do not print a second label unless the first print failed`."""
    found = _second(p)
    return found and replace(found, kind="no second")


def _no_second_of(p: Parts) -> Demand | None:
    found = _second_of(p)
    return found and replace(found, kind="no second")


def _second(p: Parts) -> Demand | None:
    """`A second label may be printed only if the first print failed`."""
    thing: Event = p["t"]
    event = thing if "d" not in p and "v" not in p else (passive(p) if "d" in p else _object_of(p))
    return None if event is None else Demand("second", (event,))


def _object_of(p: Parts) -> Event | None:
    verb, thing = p["v"], p["t"]
    return thing if verb.action == thing.action and not thing.role else None


def _second_of(p: Parts) -> Demand | None:
    events, joint = p["e"]
    return Demand("second", events) if len(events) == 1 and not joint else None


def _first_failed(p: Parts) -> Adjunct:
    return Adjunct("first failed", Fact((p.get("e") or Event(AGAIN),), "noun"))


FAILING: dict[str, Rule] = {
    "that_field": that_field,
    "act": [("{v:verb} {s:that_field}", _of_one_id)],
    "event": [("{v:verbing} {s:that_field}", _of_one_id)],
    "acts": [
        ("try|attempt to {es:acts}", lambda p: p["es"]),
        ("try|attempt {es:doings}", lambda p: p["es"]),
    ],
    "doings": [("{e:event}", lambda p: ((p["e"],), ""))],
    "failure": [
        (f"{{es:events}} that|which {FAILS}", lambda p: _fails(p["es"])),
        (f"[a|an|any|the|each|every] {_BAD} {_ATTEMPT} to {{es:acts}}", lambda p: _fails(p["es"])),
        (f"[a|an|any|the|each|every] {_BAD} {_ATTEMPT} at {{es:events}}", lambda p: _fails(p["es"])),
        (f"a|an|any|the|each|every {_ATTEMPT} to {{es:acts}} {FAILS}", lambda p: _fails(p["es"])),
        (f"trying|attempting to {{es:acts}} {FAILS}", lambda p: _fails(p["es"])),
        ("a|an|any|the|each|every failure of {es:events}", lambda p: _fails(p["es"])),
        (
            "{t:object} could_not|was_not_able_to be {d:past}",
            lambda p: (e := passive(p)) and Fact((e,), "fails"),
        ),
        (f"{AGENT} {_UNABLE} {{es:acts}}", lambda p: _fails(p["es"])),
        ("[a|an|any|the|each|every] inability to {es:acts}", lambda p: _fails(p["es"])),
        ("there is|was|are|were|has_been {f:failure}", lambda p: p["f"]),
    ],
    "so often": [
        (
            f"{{es:events}} {FAILS} {{n:number}} times {_IN_A_ROW} {{m:mods}}",
            lambda p: (f := _with_all(p)) and p["n"] > 1 and (f, p["n"], "in a row"),
        ),
    ],
    "often": [
        (
            f"{{es:events}} {FAILS} {{n:number}} times {{m:mods}}",
            lambda p: (f := _with_all(p)) and p["n"] > 1 and (f, p["n"]),
        ),
        (
            f"{{n:number}} {_BAD} {_ATTEMPT} at {{es:events}}",
            lambda p: p["n"] > 1 and (_fails(p["es"]), p["n"]),
        ),
        (
            f"{{n:number}} {_ATTEMPT} to {{es:acts}} {FAILS}",
            lambda p: p["n"] > 1 and (_fails(p["es"]), p["n"]),
        ),
        (
            f"{{n:number}} {_ATTEMPT} at {{es:events}} {FAILS}",
            lambda p: p["n"] > 1 and (_fails(p["es"]), p["n"]),
        ),
        (
            f"{{es:events}} {FAILS} on {{n:number}} attempts|tries|occasions",
            lambda p: p["n"] > 1 and (_fails(p["es"]), p["n"]),
        ),
        (f"{AGENT} fails|failed|has_failed {{n:number}} times to {{es:acts}}", _so_many_tries),
        ("failing|having_failed {n:number} times to {es:acts}", _so_many_tries),
        ("failing|having_failed to {es:acts} {n:number} times", _so_many_tries),
        (f"{AGENT} fails|fail|failed|has_failed to {{es:acts}} {{n:number}} times", _so_many_tries),
        ("{n:number} times {es:events} " + FAILS, _so_many_tries),
        (
            "{n:number} failures in|at {es:events}",
            lambda p: p["n"] > 1 and (_fails(p["es"]), p["n"]),
        ),
    ],
    "adjunct": [
        ("unless|except_if|except_when {a:first failed}", lambda p: p["a"]),
        ("only if|when|after|where {a:first failed}", lambda p: replace(p["a"], kind="if first failed")),
        ("before {r:retrying}", lambda p: Adjunct("before retry", Fact((p["r"],), "noun"))),
        (
            "without a|another|any [new|fresh|further|renewed] {f:what} in_between|between|in_the_meantime",
            _anew,
        ),
        ("without a|another|any new|fresh|further|renewed {f:what}", _anew),
    ],
    "first failed": [
        (f"the first|original [ever] {{e:event}} {FAILS}", _first_failed),
        (f"the first|original [one|time|attempt|try] {FAILS}", _first_failed),
    ],
    "later": [
        ("no|not sooner|earlier than {d:time} later|afterwards|after_that|after_it", lambda p: p["d"]),
        ("after {d:time} at_the_earliest|or_more|or_later|at_least", lambda p: p["d"]),
        ("at_the_earliest after {d:time}", lambda p: p["d"]),
        ("only after|in {d:time}", lambda p: p["d"]),
        ("at_least {d:time} later|afterwards|after_that|after_it", lambda p: p["d"]),
        ("{d:time} later at_the_earliest", lambda p: p["d"]),
    ],
    "leading": [
        ("{o:so often} [,] and", lambda p: (_so_often(p),)),
        ("{o:so often} ,", lambda p: (_so_often(p),)),
    ],
    "demand": [
        ("{e:events} stops|stop|ends|is_over|are_over|is_stopped|are_stopped", _stops),
        (f"{{e:events}} {SHOULD} be_stopped|be_given_up|be_abandoned", _stops),
        (f"{{f:failure}} {SHOULD} [always|later|eventually] be followed by {{b:events}}", _answered),
        (
            f"{{f:failure}} {NO} be retried|repeated|tried_again|attempted_again|tried_a_second_time|redone",
            _not_again,
        ),
        ("never|do_not retry|repeat {f:failure} [again]", _not_again),
        (
            f"{{f:failure}} {MAY} be retried|repeated|tried_again|attempted_again [only] {{d:later}}",
            lambda p: _once_more(p["f"], Event(AGAIN), p["d"]),
        ),
        (
            "retry|repeat {f:failure} [only] {d:later}",
            lambda p: _once_more(p["f"], Event(AGAIN), p["d"]),
        ),
        (
            "[only] try|try_it|retry|retry_it|repeat_it [again] [only] {d:later}",
            lambda p: Demand("apart", (Event(AGAIN),), (Event(AGAIN),), how=p["d"]),
        ),
        (
            f"it|this {MAY} [only] be tried|retried|attempted|repeated [again] [only] {{d:later}}",
            lambda p: Demand("apart", (Event(AGAIN),), (Event(AGAIN),), how=p["d"]),
        ),
        (
            f"[{AGENT}] [{SHOULD}] wait|pause [for] [at_least|a_minimum_of] {{d:time}} after {{f:failure}} "
            "before {r:retrying}",
            lambda p: _once_more(p["f"], p["r"], p["d"]),
        ),
        ("{e:acts} again", demanding("do again")),
        ("give_up|abandon|give_up_on {e:events}", _stops),
        (f"{AGENT} {SHOULD} give_up|abandon {{e:events}}", _stops),
        ("never|do_not {v:verb} a_second|another|a_further {t:object}", _no_second),
        ("no second|other|further|more {e:events}", _no_second_of),
        (f"a_second|another|a_further {{e:events}} {MAY} {HAPPEN}", _second_of),
        ("a_second|another|a_further {e:events} is|are [only] allowed|permitted|ok|okay|fine", _second_of),
        ("a_second|another|a_further {e:events}", _second_of),
        ("no second|other|further|more {t:object} be|is|are|may_be|must_be {d:past}", _no_second),
        ("a_second|another|a_further {t:object} MAY be {d:past}".replace("MAY", MAY), _second),
        (
            f"no {{t:object}} {MAY}|{SHOULD} [ever] be {{d:past}} more_than 1 times",
            lambda p: (d := _no_second(p)) and replace(d, events=(replace(d.events[0], single=True),)),
        ),
        ("never|do_not {e:acts} a_second_time|again|twice|more_than 1 times", _no_second_of),
        ("never|do_not {e:acts} more_than 1 times", _no_second_of),
        ("{e:acts} a_second_time|again|more_than 1 times", _second_of),
        ("no second|other|further|more|new one|attempt|try", lambda p: Demand("never", (Event(AGAIN),))),
        ("no second|other|further|more|new one|attempt|try {m:mods}", _again_without),
    ],
    "retrying": [
        ("trying|attempting to {e:act} [again]", lambda p: p["e"]),
        ("trying|attempting {e:event} [again]", lambda p: p["e"]),
        ("you|we|the_agent|it try|tries|attempt|attempts to {e:act} [again]", lambda p: p["e"]),
        (
            "the_next|another|a_further|a_new|a_second|one_more|1_more one|attempt|try",
            lambda p: Event(AGAIN),
        ),
        ("the next {e:event}", lambda p: p["e"]),
    ],
}

"""What failed, by every name of it, and what follows: `three straight payment failures -> page somebody`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.clausal.facts import with_mods
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import AGAIN, Adjunct, Demand, Event, Fact
from synth.policies.clausal.words import AGENT, ALLOWED, FAILS, HAPPEN, LATER, NO, ON_FAILURE, SHOULD
from synth.policies.patterns import compiled

Inside = tuple[Demand, tuple[Adjunct, ...]]

_BAD = "failed|failing|unsuccessful"
_ATTEMPT = "attempt|try|attempts|tries"
_TRIED = "attempt|attempts|try|tries|calls|call|run|runs"
_DET = "a|an|any|the|each|every|all|such|one|another"
_ROW = (
    "in_a_row|in_succession|consecutively|running|back_to_back|one_after_the_other|one_after_another|on_end"
    "|in_sequence|on_the_trot|straight|one_right_after_the_other|one_right_after_another|successively"
    "|without_a_success_in_between|with_no_success_in_between|without_any_success_in_between"
    "|without_a_success_between_them|without_a_single_success_in_between|without_succeeding_in_between"
)
_STRAIGHT = "consecutive|successive|straight|back-to-back|sequential|uninterrupted|subsequent"
_SERIES = "run|streak|series|sequence|string|chain"
_NEXT = "a_later|later|a_subsequent|subsequent|a_following|following"
_AFTER = (
    f"{LATER}|after_them|following_it|after_this|right_after_it|in_response|to_follow|to_happen_afterwards"
)
_DUE = "required|mandatory|needed|necessary|due|obligatory|compulsory|a_must"
_ALWAYS = (
    "always|every_time|each_time|without_exception|in_every_case|in_all_cases|no_exceptions|in_any_case"
    "|every_single_time"
)


def _failed(event: Event) -> Event:
    return replace(event, outcome="failed", single=False)


def _of_failures(p: Parts) -> Event | None:
    """`Two payment failures`: calls that failed."""
    return None if p["e"].outcome in ("failed", "successful") else _failed(p["e"])


def _of_tries(p: Parts) -> Event | None:
    """`Payment attempts`, which may fail or succeed."""
    return None if p["e"].outcome else replace(p["e"], outcome="tried", single=False)


def _of_failed_tries(p: Parts) -> Event | None:
    """`Failed payment attempts`, `failed attempts at a payment`."""
    return _failed(p["e"])


def one_act(grammar: Grammar, at: int) -> Iterator[Found]:
    """A single deed: `charge the card`, of `attempts to charge the card`."""
    for (events, joint), end in grammar.matches("acts", at):
        if len(events) == 1 and not joint:
            yield events[0], end


def failed_one(grammar: Grammar, at: int) -> Iterator[Found]:
    """`A failed one`, `a failure`: of what the sentence is about."""
    m = compiled(
        r" *(?:(?:an?|the|any|each|every|the last|the previous|the latest) (?:failed|failing|unsuccessful) "
        r"(?:one|attempt|try|call)|(?:an?|any|each|every) failure)(?![\w'-])(?! (?:to|of|at|in|for|on)\b)"
    ).match(grammar.text, at)
    if m:
        yield Fact((Event(AGAIN),), "fails"), m.end()


def _fails(p: Parts) -> Fact:
    events, joint = p["es"]
    return Fact(tuple(replace(e, outcome="", noun=()) for e in events), "fails", joint)


def _number_failed(p: Parts) -> tuple[Fact, int, str] | None:
    fact: Fact = p["f"] if "f" in p else _fails(p)
    return (fact, p["n"], "in a row") if p["n"] > 1 else None


def _row_of(p: Parts) -> tuple[Fact, int, str] | None:
    """`Payment: 3 failures in a row`."""
    return (_fails({"es": ((p["e"],), "")}), p["n"], "in a row") if p["n"] > 1 else None


def _once(p: Parts) -> Adjunct:
    return Adjunct("failed", p["f"], leads=True)


def _so_often(p: Parts) -> Adjunct:
    fact, number, how = p["o"]
    return Adjunct("failed often", fact, number=number, said=how, leads=True)


def _followed(p: Parts) -> Inside | None:
    """What must follow a failure."""
    events, joint = p["b"]
    if any(e.outcome for e in events):
        return None
    return Demand("follow", events, joint=joint), (p["s"], *p.get("a", ()))


def _failing_without(p: Parts) -> Inside | None:
    """`No payment may fail without a later notice`."""
    return _followed({**p, "s": Adjunct("failed", _fails({"es": p["e"]}), leads=True)})


def _means(p: Parts) -> Inside | None:
    """`A failed payment means that somebody must be paged`."""
    demand: Demand = p["d"]
    plain = demand.kind in ("must", "follow") and not any(e.outcome for e in demand.events)
    return (replace(demand, kind="follow"), (p["s"], *p.get("a", ()))) if plain else None


def whole(
    pattern: str, make: Callable[[Parts], Inside | None]
) -> list[tuple[str, Callable[[Parts], Inside | None]]]:
    return [(pattern, make), (f"{pattern} {{a:adjuncts}}", make)]


SETBACKS: dict[str, Rule] = {
    "one act": one_act,
    "failed one": failed_one,
    "event": [
        ("{e:noun} failure|failures", _of_failures),
        ("{e:noun} failure|failures {m:mods}", lambda p: (e := _of_failures(p)) and with_mods({**p, "e": e})),
        (f"[{_DET}] failure|failures of|at|in|with {{e:event}}", _of_failures),
        (f"[{_DET}] failed|unsuccessful {_TRIED} at|of|with|in {{e:event}}", _of_failed_tries),
        (f"[{_DET}] failed|unsuccessful {_ATTEMPT} to {{e:one act}}", _of_failed_tries),
        (f"[{_DET}] {_ATTEMPT} at {{e:event}}", _of_tries),
        (f"[{_DET}] {_ATTEMPT} to {{e:one act}}", _of_tries),
        (f"{{e:noun}} {_ATTEMPT}", lambda p: p["e"] if p["e"].outcome == "failed" else _of_tries(p)),
        (
            f"{{e:noun}} {_ATTEMPT} {{m:mods}}",
            lambda p: with_mods({**p, "e": p["e"] if p["e"].outcome == "failed" else _of_tries(p)}),
        ),
    ],
    "failure": [
        (
            f"{AGENT} tries|attempts|tried|attempted to {{es:acts}} [,] and|but that|it|this|the_attempt"
            f" {FAILS}",
            _fails,
        ),
        ("{es:events} ends|end|ended in|with failure|a_failure|an_error", _fails),
        ("{f:failed one}", lambda p: p["f"]),
    ],
    "so often": [
        (f"{{n:number}} {_STRAIGHT} {{f:failure}}", _number_failed),
        (f"{{n:number}} {_BAD} {_ATTEMPT} {_ROW} to {{es:acts}}", _number_failed),
        (f"{{n:number}} {_BAD} {_ATTEMPT} {_ROW} at {{es:events}}", _number_failed),
        (f"{{n:number}} {_STRAIGHT} {_BAD} {_ATTEMPT} to {{es:acts}}", _number_failed),
        (f"{{n:number}} {_STRAIGHT} failures of|at|in {{es:events}}", _number_failed),
        (f"{{n:number}} failures {_ROW} of|at|in {{es:events}}", _number_failed),
        (f"{{o:often}} [,] {_ROW}", lambda p: (*p["o"], "in a row")),
        (f"{{e:event}} , {{n:number}} failures {_ROW}", _row_of),
        (f"{{e:event}} , {{n:number}} {_STRAIGHT} failures", _row_of),
        (f"{{e:event}} {FAILS} {{n:number}} {_STRAIGHT} times", _row_of),
        (f"{{n:number}} times {_ROW} {{es:events}} {FAILS}", _number_failed),
        (f"{AGENT} fails|failed|has_failed {{n:number}} times {_ROW} to {{es:acts}}", _number_failed),
        (f"failing|having_failed {{n:number}} times {_ROW} to {{es:acts}}", _number_failed),
        (f"failing|having_failed {{n:number}} {_STRAIGHT} times to {{es:acts}}", _number_failed),
        (f"the {{n:nth}} {_STRAIGHT} {{f:failure}}", _number_failed),
        (f"the {{n:nth}} {_STRAIGHT} failure of|at|in {{es:events}}", _number_failed),
        ("the {n:nth} time in_a_row|running [that|when] {f:failure}", _number_failed),
        (f"{{n:number}} {_ATTEMPT} {_ROW} to {{es:acts}} {FAILS}", _number_failed),
        (f"{{n:number}} {_ATTEMPT} {_ROW} at {{es:events}} {FAILS}", _number_failed),
        (f"{{n:number}} {_STRAIGHT} {_ATTEMPT} to {{es:acts}} {FAILS}", _number_failed),
        (f"{{e:event}} failing|having_failed {{n:number}} times {_ROW}", _row_of),
        (f"a|any|every|each {_SERIES} of {{n:number}} {{f:failure}} [{_ROW}]", _number_failed),
        (f"a|any|every|each {_SERIES} of {{n:number}} failures of|at|in {{es:events}}", _number_failed),
    ],
    "setback": [
        ("{f:failure}", _once),
        ("{o:so often}", _so_often),
        ("there is|are|was|were|has_been|have_been {o:so often}", _so_often),
        ("every|each|all|any {o:so often}", _so_often),
    ],
    "adjunct": [
        (f"{ON_FAILURE} {{f:failure}}", lambda p: Adjunct("failed", p["f"])),
        (
            f"{ON_FAILURE} there is|are|was|were|has_been|have_been {{o:so often}}",
            lambda p: replace(_so_often(p), leads=False),
        ),
        (f"{ON_FAILURE} {{o:so often}}", lambda p: replace(_so_often(p), leads=False)),
        (
            f"{ON_FAILURE} {{es:events}} has_not|have_not succeeded",
            lambda p: Adjunct("not succeeded", _fails(p)),
        ),
        ("with {es:events} failed|failing|having_failed", lambda p: Adjunct("failed", _fails(p))),
        (f"[,] {_ALWAYS}", lambda p: Adjunct("always")),
    ],
    "leading": [("{s:setback} [,] [then]", lambda p: (p["s"],))],
    "demand": [
        (
            f"it {SHOULD} [always] be followed [up] by|with {{e:events}}",
            lambda p: Demand("follow", p["e"][0], joint=p["e"][1]),
        ),
        (
            f"{{e:events}} {SHOULD} [always] come {_AFTER}",
            lambda p: Demand("follow", p["e"][0], joint=p["e"][1]),
        ),
        ("[always] follow [up] with|by {e:events}", lambda p: Demand("follow", p["e"][0], joint=p["e"][1])),
        (
            f"{AGENT} {SHOULD} [always] follow [up] with|by {{e:events}}",
            lambda p: Demand("follow", p["e"][0], joint=p["e"][1]),
        ),
        (
            f"{AGENT} {SHOULD} [always] then [always] {{e:acts}}",
            lambda p: Demand("must", p["e"][0], joint=p["e"][1]),
        ),
    ],
    "ensured": [("{e:going_out}", lambda p: Demand("must", (p["e"],)))],
    "inside": [
        *whole(
            f"{{s:setback}} {SHOULD}|is|are [always|to_be] [be] [always] followed [up] by|with|up_by"
            f"|up_with {{b:events}}",
            _followed,
        ),
        *whole(
            "{s:setback} [always] requires|require|needs|need|calls_for|call_for|demands|demand|triggers"
            "|trigger"
            f"|entails|must_trigger|must_lead_to|has_to_lead_to|leads_to {{b:events}} [{_AFTER}]",
            _followed,
        ),
        *whole(
            "{s:setback} [always] requires|require|demands|means|mean [that] {d:ensured}",
            lambda p: (replace(p["d"], kind="follow"), (p["s"], *p.get("a", ()))),
        ),
        *whole(
            f"{{s:setback}} [always] requires|require|obliges|oblige {AGENT} to {{b:acts}}",
            _followed,
        ),
        *whole(
            f"{{s:setback}} requires|require|needs|need {{t:events}} to {HAPPEN}|follow|be_sent [{_AFTER}]",
            lambda p: _followed({**p, "b": p["t"]}),
        ),
        *whole(f"no {{s:setback}} without {{b:events}} {_AFTER}", _followed),
        *whole(f"no {{s:setback}} without {_NEXT} {{b:events}}", _followed),
        *whole(
            f"never|do_not let|leave|allow|accept|have {{s:setback}} [go|stand|pass|end|remain|happen]"
            f" without {{b:events}} {_AFTER}",
            _followed,
        ),
        *whole(
            f"never|do_not let|leave|allow|accept|have {{s:setback}} [go|stand|pass|end|remain|happen]"
            f" without {_NEXT} {{b:events}}",
            _followed,
        ),
        *whole(
            f"{{s:setback}} {NO} [ever] go|stay|remain|be_left|be|stand|happen|pass without {{b:events}}"
            f" {_AFTER}",
            _followed,
        ),
        *whole(f"{{b:events}} {SHOULD} [always] follow|come_after {{s:setback}}", _followed),
        *whole("{b:events} [always] follows|follow {s:setback}", _followed),
        *whole(f"{{s:setback}} , {{b:events}} [is|are] {_DUE}", _followed),
        *whole(f"no {{e:events}} {ALLOWED} [ever] fail without {{b:events}} [{_AFTER}]", _failing_without),
        *whole(f"{{e:events}} {NO} [ever] fail without {{b:events}} [{_AFTER}]", _failing_without),
        *whole("[always] react|respond|reply to {s:setback} by|with {b:events}", _followed),
        *whole(
            f"{AGENT} {SHOULD} [always] react|respond|reply to {{s:setback}} by|with {{b:events}}", _followed
        ),
        *whole(
            f"for {{s:setback}} [,] there {SHOULD}|is [be] a_later|a_subsequent|later {{b:events}}", _followed
        ),
        *whole(f"for {{s:setback}} [,] there {SHOULD}|is [be] {{b:events}} [{_AFTER}]", _followed),
        *whole(f"for {{s:setback}} [,] {{b:events}} {SHOULD} follow|happen [{_AFTER}]", _followed),
        *whole(f"for {{s:setback}} [,] {{b:events}} [is|are] {_DUE} [{_AFTER}]", _followed),
        *whole(f"for {{s:setback}} [,] {{x:acts}} [{_AFTER}]", lambda p: _followed({**p, "b": p["x"]})),
        *whole("never|do_not leave {s:setback} without {b:events}", _followed),
        *whole(f"{AGENT} {NO} [ever] leave {{s:setback}} without {{b:events}}", _followed),
        *whole(
            f"no {{s:setback}} {ALLOWED} [ever] be left|stay|remain|go|pass without {{b:events}}", _followed
        ),
        *whole("{s:setback} means|mean {b:events} afterwards|later|thereafter", _followed),
        *whole("{s:setback} [always] requires|require|demands|means|mean [that] {d:demand}", _means),
        *whole("[always] follow|answer [up] {s:setback} [up] with|by {b:events}", _followed),
        *whole(
            f"{AGENT} {SHOULD} [always] follow|answer [up] {{s:setback}} [up] with|by {{b:events}}", _followed
        ),
    ],
}

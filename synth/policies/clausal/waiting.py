"""Hours and days, pauses between calls, what is awaited: in the words in which people keep time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.demands import apart_by, demanding
from synth.policies.clausal.facts import passive, with_mods
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Demand, Event, with_same
from synth.policies.clausal.words import AGAIN, AGENT, MAY, NO, NOT_A_THING, SHOULD
from synth.policies.patterns import compiled

_LEAST = "at_least|a_minimum_of|no_less_than|a_full|not_less_than|min|minimum"
_MORE = "or_longer|or_more|at_least|at_the_least|minimum|or_so_at_least"
_PAUSE = "a_pause_of|a_gap_of|a_break_of|an_interval_of|a_wait_of|a_delay_of"
_NOT_ONE = NOT_A_THING | {"go", "piece", "sitting", "place", "word"}


def apart_of(grammar: Grammar, at: int) -> Iterator[Found]:
    """`in one cluster`, `for the same customer`, of two calls that are said to be apart."""
    m = compiled(
        r" *(?:in|on|of|for|at|from|to|with|within|by|against|into) "
        r"(?:one|a single|any one|the same|one and the same|each|every|any given|a given) "
        r"(?P<f>[a-z][a-z_]*)(?![\w'-])"
    ).match(grammar.text, at)
    if m and m["f"].lower() not in _NOT_ONE:
        yield frozenset({m["f"].lower()}), m.end()


def plurals(grammar: Grammar, at: int) -> Iterator[Found]:
    """`between refunds`: several calls of one action."""
    for event, end in grammar.matches("event", at):
        if not event.single and compiled(r"s\b").search(grammar.text[at:end]) and not event.outcome:
            yield event, end


def deeds(grammar: Grammar, at: int) -> Iterator[Found]:
    """What is done, by a word for that: `the account is blocked` says nothing of opening accounts."""
    for (events, joint), end in grammar.matches("events", at):
        words = compiled(r"[a-z][\w'-]*").findall(grammar.text[at:end].lower())
        said = {
            singular(word) for word in words if word not in ("the", "a", "an", "any", "every", "each", "all")
        }
        if not any(said <= {singular(noun) for noun in event.noun} for event in events):
            yield (events, joint), end


def _of_same(p: Parts) -> tuple[Event, Event]:
    event = with_same(p["e"], p["s"])
    return event, event


def _but_not(p: Parts) -> Demand | None:
    """`Campaigns can be paused but not launched`: what is allowed asks for nothing."""
    one, other = p["a"], p["d"]
    event = passive(p)
    alike = one.noun == other.noun and one.action != other.action and not one.role
    return Demand("never", (event,)) if event is not None and alike else None


def _got(p: Parts) -> Demand | None:
    """`Every cancelled order must get its refund`."""
    first: Event = p["s"]
    return Demand("gets", (first,), (p["e"],))


def _beside(p: Parts) -> Demand | None:
    """`Migrations must not run in parallel with deploys`."""
    (events, joint), (others, other) = p["a"], p["b"]
    return None if joint or other else Demand("beside", events, others)


def _needs_lately(p: Parts) -> Demand | None:
    (events, joint), (others, other) = p["a"], p["b"]
    return None if joint and other else Demand("needs lately", events, others, joint=joint or other)


_TWO = "any|the|all|consecutive|successive|subsequent|2_consecutive|2_successive"
_BESIDE_EACH = (
    "in_parallel|at_the_same_time|simultaneously|concurrently|side_by_side|at_once|in_parallel_to_each_other"
)
_CALLS = "call|calls|use|uses|usage|invocation|invocations|run|runs|execution"

WAITING: dict[str, Rule] = {
    "apart_of": apart_of,
    "plurals": plurals,
    "deeds": deeds,
    "event": [
        (f"[the|any|every|each] {_CALLS} of|to {{e:exactly}}", lambda p: p["e"]),
        (f"[the|any|every|each] {_CALLS} of|to {{e:exactly}} {{m:mods}}", with_mods),
        ("a|an call|use|invocation of|to {e:exactly}", lambda p: replace(p["e"], single=True)),
    ],
    "apart": [
        ("between [any] 2 {e:event} {s:apart_of}", _of_same),
        (
            f"between [{_TWO}] {{e:plurals}}",
            lambda p: (p["e"], p["e"]),
        ),
        (
            f"between [{_TWO}] {{e:plurals}} {{s:apart_of}}",
            _of_same,
        ),
        ("from one {e:event} to the_next|another [one]", lambda p: (p["e"], p["e"])),
        ("after one|each|every|any {e:event} before the_next|another [one]", lambda p: (p["e"], p["e"])),
        (
            "after one|each|every|any {e:event} before the_next|another {b:event}",
            lambda p: (p["e"], p["e"]) if p["e"].action == p["b"].action else None,
        ),
    ],
    "demand": [
        # pauses
        (f"[{AGENT}] [{SHOULD}] wait|leave|allow|keep [for] {{d:time}} {_MORE} {{g:apart}}", apart_by),
        (f"[{AGENT}] [{SHOULD}] leave|allow|keep|make {_PAUSE} [{_LEAST}] {{d:time}} {{g:apart}}", apart_by),
        (f"[{_LEAST}] {{d:time}} [{_MORE}] [of_pause|pause|of_break|apart] {{g:apart}}", apart_by),
        (f"there {SHOULD} be|lie|pass|elapse {{d:time}} {_MORE} {{g:apart}}", apart_by),
        (
            f"{{g:apart}} [,] there {SHOULD}|is|are [always] [be|lie] [{_PAUSE}] [{_LEAST}] {{d:time}} "
            f"[{_MORE}]",
            apart_by,
        ),
        (f"{{g:apart}} [,] [{_LEAST}] {{d:time}} [{_MORE}] {SHOULD} pass|elapse|lie|go_by|be", apart_by),
        (
            f"{{g:apart}} [,] [{AGENT}] [{SHOULD}] wait|leave|allow|keep [for] [{_LEAST}] {{d:time}} "
            f"[{_MORE}]",
            apart_by,
        ),
        (
            f"{{e:plurals}} {SHOULD} [always] be|lie|happen|stay|come [{_LEAST}] {{d:time}} [{_MORE}] apart",
            apart_by,
        ),
        (
            f"{{e:plurals}} requires|require|need|needs {_PAUSE} [{_LEAST}] {{d:time}} "
            "between_them|in_between",
            apart_by,
        ),
        (
            f"{{e:plurals}} requires|require|need|needs [{_LEAST}] {{d:time}} between_them|in_between",
            apart_by,
        ),
        (
            f"[any] 2 {{e:event}} {{s:apart_of}} {SHOULD} [always] be|lie|happen [{_LEAST}] {{d:time}} "
            f"[{_MORE}] apart",
            lambda p: apart_by({"g": _of_same(p), "d": p["d"]}),
        ),
        (
            "only|at_most one|1|a_single {e:event} at_a_time|at_any_one_time|at_once",
            demanding("overlap itself"),
        ),
        (
            "never|no|not more_than one|1 {e:event} at_a_time|at_any_one_time|at_once",
            demanding("overlap itself"),
        ),
        (f"no 2 {{e:event}} {_BESIDE_EACH}", demanding("overlap itself")),
        (f"never 2 {{e:event}} {_BESIDE_EACH}", demanding("overlap itself")),
        (
            "{e:plurals} runs|run|happens|happen|goes|go [only] one|1 at_a_time|after_the_other|by_one",
            demanding("overlap itself"),
        ),
        (
            f"{{a:events}} {NO} [ever] run|happen|be_run {_BESIDE_EACH} with|to {{b:events}}",
            _beside,
        ),
        ("never|do_not {a:acts} in_parallel_with|at_the_same_time_as|during {b:events}", _beside),
        ("no {a:events} in_parallel_with|at_the_same_time_as|during {b:events}", _beside),
        # hours and days
        ("{t:object} do_not|does_not [ever] get|be {d:past}", demanding("never", make=passive)),
        ("{t:object} get|gets {d:past} only", demanding("only", make=passive)),
        ("{t:object} only get|gets|be {d:past}", demanding("only", make=passive)),
        (f"{{t:object}} {MAY}|{SHOULD} only get {{d:past}}", demanding("only", make=passive)),
        ("{t:object} is|are|get|gets {d:past}", demanding("may", make=passive)),
        (f"{{t:object}} {NO} [ever] get {{d:past}} [{AGAIN}]", demanding("never", make=passive)),
        ("no {t:object} get|gets [ever] {d:past}", demanding("never", make=passive)),
        (f"{{t:object}} {MAY} be|get {{a:past}} but not|never {{d:past}}", _but_not),
        ("{e:going_out} only", demanding("only")),
        ("{e:going_out}", demanding("may")),
        ("only {e:going_out}", demanding("only")),
        ("no {e:going_out}", demanding("never")),
        ("{e:never_going_out}", demanding("never")),
        ("{e:deeds} is|are blocked|barred|suspended|closed|shut|switched_off|off", demanding("never")),
        ("{e:deeds} is|are|stays|stay|remains|remain possible|open|available|on only", demanding("only")),
        # what is awaited
        (f"{{s:state}} {SHOULD} [always] get|receive|be_given [a|an|its|the|their] {{e:event}}", _got),
        ("{a:events} requires|needs|takes|require|need|must_have|has_to_have {b:events}", _needs_lately),
    ],
}

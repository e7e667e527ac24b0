"""What stands directly before each call of an action, with nothing in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact
from synth.policies.clausal.words import AGENT, NOTHING_BETWEEN, RIGHT, SHOULD
from synth.policies.patterns import compiled

Events = tuple[tuple[Event, ...], str]


def _adjunct(kind: str) -> Callable[[Parts], Adjunct | None]:
    """What has happened directly before; of what has not, and of what runs, nothing is known."""

    def made(p: Parts) -> Adjunct | None:
        fact: Fact = p["f"] if "f" in p else Fact(*_events(p["e"]))
        unclear = fact.aspect in ("not", "running", "fails") or any(e.outcome for e in fact.events)
        return None if unclear else Adjunct(kind, fact)

    return made


def _events(said: Events | Event) -> tuple[tuple[Event, ...], str, str]:
    events, joint = said if isinstance(said, tuple) else ((said,), "")
    return events, "noun", joint


def _done_before(kind: str) -> Callable[[Parts], Adjunct | None]:
    def made(p: Parts) -> Adjunct | None:
        event = passive(p)
        return None if event is None else _adjunct(kind)({"e": event})

    return made


def _needs(p: Parts) -> Demand | None:
    """`Each conversion needs a rate fetched immediately beforehand`."""
    (events, joint), fact = p["a"], p["b"]
    others, other = (fact.events, fact.joint) if isinstance(fact, Fact) else _events(fact)[::2]
    return None if joint and other else Demand("adjacent", events, others, joint=joint or other)


def _call_before(p: Parts) -> Demand | None:
    """`Checking allergies must be the call right before a drug is administered`."""
    fact: Fact = p["f"]
    if fact.aspect in ("not", "running", "fails"):
        return None
    return _needs({"a": (fact.events, fact.joint), "b": p["b"]})


def _intended(p: Parts) -> Adjunct | None:
    """`If currency is to be converted`."""
    event = passive(p)
    return None if event is None else Adjunct("intended", Fact((event,), "noun"))


_A_CALL = "call|step|action|tool_call|thing"
_LAST = "previous|preceding|last|immediately_preceding|directly_preceding|very_last|immediately_prior|prior"
_JUST_BEFORE = "|".join((
    *(f"{right}_{before}" for right in RIGHT.split("|")
      for before in ("before", "beforehand", "before_it", "before_that", "prior", "prior_to_it")),
    *(f"{lead}_the_{call}_{right}before{it}" for lead in ("in", "as", "with") for call in _A_CALL.split("|")
      for right in ("just_", "right_", "immediately_", "directly_", "") for it in ("", "_it", "_that")),
    *(f"{lead}_the_{last}_{call}{it}" for lead in ("in", "as") for last in _LAST.split("|")
      for call in _A_CALL.split("|") for it in ("", "_before_it", "_before_that")),
))  # fmt: skip
_BEFORE_IT = f"the [very] {_A_CALL} {RIGHT} before [it|that|them]"
_LAST_BEFORE_IT = f"the [very] {_LAST} {_A_CALL} [before] [it|that|them]"
_PREVIOUS_TO_IT = (
    "the [very] previous|preceding|immediately_preceding|directly_preceding|immediately_prior|prior"
    f" {_A_CALL} [before] [it|that|them]"
)
_THE_LAST_BEFORE_IT = f"the [very] last {_A_CALL} before it|that|them"
"""Without `before it` the last call is that of the run."""
_STANDS = (
    "comes|come|goes|go|happens|happen|runs|run|stands|stand|is_called|are_called|is_made|are_made|is_done"
    "|are_done|takes_place|is_run|gets_called|is_used|belongs|belong|is_placed|occurs|occur|is|are"
)
_MUST_STAND = (
    "come|go|happen|run|stand|be|be_called|be_made|be_done|take_place|be_run|be_used|occur|be_placed|be_invoked"
    "|be_executed|immediately_come"
)
_AT_ONCE = "immediately|at_once|directly|straight_away|right_away"
_INTEND = (
    "want_to|wants_to|are_about_to|is_about_to|are_going_to|is_going_to|intend_to|intends_to|plan_to|plans_to"
    "|need_to|needs_to|have_to|has_to|are_to|is_to"
)


def gerund(grammar: Grammar, at: int) -> Iterator[Found]:
    """`When administering a drug`: what somebody is about to do."""
    if compiled(r" *[a-z]+ing\b").match(grammar.text, at):
        yield from grammar.matches("event", at)


JUST_BEFORE: dict[str, Rule] = {
    "call_before": [
        (f"{_BEFORE_IT} was|is|has_been|must_be|should_be [always] {{e:events}}", lambda p: p["e"]),
        (f"{_LAST_BEFORE_IT} was|is|has_been|must_be|should_be [always] {{e:events}}", lambda p: p["e"]),
        (f"{_BEFORE_IT} {{e:did}}", lambda p: p["e"]),
        (f"{_LAST_BEFORE_IT} {{e:did}}", lambda p: p["e"]),
    ],
    "adjunct": [
        (_JUST_BEFORE, lambda p: Adjunct("just before")),
        (NOTHING_BETWEEN, lambda p: Adjunct("none between")),
        (f"{_AT_ONCE} [,] {NOTHING_BETWEEN}", lambda p: Adjunct("none between")),
        (f"unless|except_when {{f:what}} {_JUST_BEFORE}", _adjunct("unless just before")),
        ("unless|except_when {e:call_before}", _adjunct("unless just before")),
        (f"without [first] {{e:event}} {_JUST_BEFORE}", _adjunct("unless just before")),
        (f"without [ever|first] having {{e:having}} {_JUST_BEFORE}", _adjunct("unless just before")),
        (f"without {{t:object}} having_been|being {{d:past}} {_JUST_BEFORE}", _done_before("unless just"
         " before")),
        (f"if|when|once|after|provided|provided_that|as_long_as {{f:what}} {_JUST_BEFORE}",
         _adjunct("if just before")),
        (f"with {{e:event}} {_JUST_BEFORE}", _adjunct("if just before")),
        ("if|when|provided|provided_that {e:call_before}", _adjunct("if just before")),
        ("if|when|whenever|before|each_time|every_time|any_time {t:object} is|are to_be|about_to_be"
         " {d:past}", _intended),
        (f"if|when|whenever|each_time|every_time {AGENT} {_INTEND} {{e:act}}",
         lambda p: Adjunct("intended", Fact((p["e"],), "noun"))),
        ("when|while|in {e:gerund}", lambda p: Adjunct("intended", Fact((p["e"],), "noun"))),
        ("for|with|at|on each|every|any {e:event}", lambda p: Adjunct("intended", Fact((p["e"],), "noun"))),
    ],
    "gerund": gerund,
    "demand": [
        (f"{{a:events}} needs|requires|need|require|takes|must_have {{b:participle}} {_JUST_BEFORE}", _needs),
        (f"{{a:events}} needs|requires|need|require|takes|must_have {{b:events}} {_JUST_BEFORE}", _needs),
        (f"{_BEFORE_IT} {SHOULD}|is [always] [be|to_be] {{e:events}}",
         lambda p: Demand("call before", p["e"][0], joint=p["e"][1])),
        (f"{_PREVIOUS_TO_IT} {SHOULD}|is [always] [be|to_be] {{e:events}}",
         lambda p: Demand("call before", p["e"][0], joint=p["e"][1])),
        (f"{_THE_LAST_BEFORE_IT} {SHOULD}|is [always] [be|to_be] {{e:events}}",
         lambda p: Demand("call before", p["e"][0], joint=p["e"][1])),
        (f"{_BEFORE_IT} {SHOULD} [always] {{e:acts}}",
         lambda p: Demand("call before", p["e"][0], joint=p["e"][1])),
        (f"{{b:events}} {SHOULD}|is|are [always] [be] the [very] {_A_CALL} {RIGHT} before {{a:events}}",
         _needs),
        (f"{{b:events}} {SHOULD}|is|are [always] [be] the [very] {_LAST} {_A_CALL} before {{a:events}}",
         _needs),
        (f"{{a:events}} ,|:|-> {{b:events}} {_JUST_BEFORE} [,] [{NOTHING_BETWEEN}]", _needs),
        (f"{{a:events}} ,|:|-> {{b:acts}} {_JUST_BEFORE} [,] [{NOTHING_BETWEEN}]", _needs),
        (f"{{a:events}} ,|:|-> [always|must_be] {RIGHT} preceded_by|after {{b:events}}", _needs),
        (f"{{a:events}} ,|:|-> [always|must_be] preceded {RIGHT} by {{b:events}}", _needs),
        (f"{{a:events}} [always] comes|come|goes|go|happens|happen {RIGHT} after {{b:events}}", _needs),
        (f"{{a:events}} [always] {RIGHT} follows|follow {{b:events}}", _needs),
        (f"{{b:events}} {SHOULD}|is|are [always] [be] the [very] [last] {_A_CALL} [{RIGHT}] before"
         f"|preceding {{f:what}}",
         _call_before),
        (f"the [very] [last|final|previous] {_A_CALL} before {{f:what}} {SHOULD}|is [always] [be|to_be]"
         f" {{b:events}}", _call_before),
        (f"{{b:events}} [always|only] {_STANDS} [always] {RIGHT} before|prior_to|ahead_of {{f:what}}",
         _call_before),
        (f"{{b:events}} {SHOULD} [always] {_MUST_STAND} {RIGHT} before|prior_to|ahead_of {{f:what}}",
         _call_before),
        (f"{{b:events}} [always] {RIGHT} precedes|precede {{a:events}}", _needs),
        (f"{{b:events}} {SHOULD} [always] {RIGHT} precede {{a:events}}", _needs),
        ("{e:events}", lambda p: Demand("bare", p["e"][0], joint=p["e"][1])),
    ],
}  # fmt: skip

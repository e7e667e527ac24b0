"""How an argument must stand to that of an earlier call: `the refund may not exceed what was paid`.

`AsLatest` says which arguments of which actions; here are the words for every relation between them, and the
frames in which they are said: of an argument, of two side by side, of the call itself, of who does something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal

from synth.policies.asked import AMOUNT
from synth.policies.clausal.argument_words import CAN, NOT_TO
from synth.policies.clausal.bounds import Identifier
from synth.policies.clausal.depending import AsLatest, as_it_was
from synth.policies.clausal.events import Action
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import IT, Event
from synth.policies.clausal.subjects import done_to, is_plain, plain_calls
from synth.policies.clausal.words import NO, SHOULD
from synth.policies.nouns import MONEY, Meant
from synth.policies.patterns import compiled
from synth.policies.verbs import past_of
from synth.policies.where import Path

_MORE = (
    "more_than|higher_than|greater_than|larger_than|bigger_than|above|over|in_excess_of|beyond|longer_than"
    "|later_than|any_more_than"
)
_LESS = "less_than|lower_than|smaller_than|fewer_than|below|under|beneath|shorter_than|earlier_than"
_MOST = (
    "at_most|no_more_than|not_more_than|no_higher_than|not_higher_than|no_greater_than|not_greater_than"
    "|no_larger_than|not_larger_than|no_bigger_than|up_to|never_more_than|not_above|not_over|never_above"
    "|never_over|at_or_below|less_than_or_equal_to|smaller_than_or_equal_to|below_or_equal_to|within"
    "|equal_to_or_less_than|equal_to_or_below|max|maximum|at_the_most|never_higher_than|not_beyond"
)
_LEAST = (
    "at_least|no_less_than|not_less_than|no_lower_than|not_lower_than|no_smaller_than|not_smaller_than"
    "|not_below|not_under|never_below|never_less_than|at_or_above|greater_than_or_equal_to|min|minimum"
    "|more_than_or_equal_to|equal_to_or_more_than|at_the_least|never_lower_than"
)
_EXCEED = "exceed|go_above|go_over|go_beyond|surpass|top|be_more_than|rise_above|get_above|run_over"
_UNDERCUT = "fall_below|go_below|drop_below|go_under|fall_short_of|undercut"
_ANOTHER = (
    "differ_from|be_different_from|be_other_than|be_another_than|be_another_one_than|not_be_the_same_as"
    "|not_equal|not_match|not_be|not_be_equal_to|not_be_identical_to|be_someone_other_than|be_unlike"
    "|be_somebody_other_than|deviate_from"
)
_ALIKE = (
    "be_the_same_as|equal|match|be_identical_to|be_equal_to|be|be_one_and_the_same_as|coincide_with"
    "|be_identical_with"
)
_MAY_NOT = f"{NOT_TO}|{NO}"
_MAY_BE = f"{SHOULD}|{CAN}"
_BE = "be|stay|remain|lie|be_kept|always_be|always_stay|only_be"
_IS = "is|are|stays|remains|is_always"
_OWN = "[the|its|their]"
_LAST = "previous|last|latest|preceding|most_recent|prior"


_ANYBODY = ("person", "one", "people", "somebody", "someone", "party", "individual", "human")
"""Who does something, which is the name of no argument."""


def _how(how: str) -> Callable[[Parts], str]:
    return lambda p: how


def _related(p: Parts) -> AsLatest | None:
    """`x` stands so to `y`; what is said to be more or less than another is no name."""
    found = as_it_was(p)
    if found is None:
        return None
    return replace(found, how=p["h"], order="by steps" if p["h"] == "differ from" else "as said")


def _side_by_side(p: Parts) -> AsLatest | None:
    """`The payer of a payment and the approver of its approval must differ`, whichever comes first."""
    found = _related({**p, "y": (p["z"], p.get("s", ""))})
    return None if found is None else replace(found, order="open")


def _said_of_calls(p: Parts) -> AsLatest | None:
    """`A refund may not be more than the amount paid`: that argument of both."""
    calls = p["w"]
    (path, _), _ = p["y"]
    if len(calls) != 1 or calls[0].asked or calls[0].by_object or not path or not _is_money(path):
        return None
    return _related({**p, "x": (path, calls[0].action)})


def _is_money(path: Path) -> bool:
    return path[-1].split("_")[-1] in MONEY


def _deed(p: Parts) -> AsLatest | None:
    """`Never refund more than the amount paid`."""
    calls = plain_calls({"e": p["e"]})
    return None if calls is None else _said_of_calls({**p, "w": calls})


def _done(p: Parts) -> Event | None:
    """`A loan may not be paid out ...`."""
    return done_to({"t": p["t"], "d": p["v"]})


def _as_much(make: Callable[[Parts], AsLatest | None], p: Parts) -> AsLatest | None:
    """`No more than was approved`, of an amount; what must not be cancelled is no such one."""
    sized = p["h"] not in ("differ from", "equal")
    return make({**p, "y": (((AMOUNT,), p["d"].action), "")}) if sized else None


def _than_before(p: Parts) -> AsLatest | None:
    """`The version must be higher than that of the previous migration`, which is the same action."""
    path, what = p["x"]
    if not path or ("e" in p and (not is_plain(p["e"]) or p["e"].action != what)):
        return None
    return AsLatest(what, path, what, path, p.get("s", ""), p["h"])


def _by_another(p: Parts) -> AsLatest | None:
    """`The clerk who approved a claim must not pay it`: somebody else does."""
    return _somebody_else(p, p["g"], p["d"], _thing_of_both(p["g"], p["d"]))


def _done_by_another(p: Parts) -> AsLatest | None:
    """`A claim must not be paid by the clerk who approved it`."""
    then = done_to(p)
    return None if then is None else _somebody_else(p, p["g"], then, _thing_of_both(p["t"], p["g"]))


def _somebody_else(p: Parts, first: Event, then: Event, same: str | None) -> AsLatest | None:
    two = first.action >= 0 and then.action >= 0 and first.action != then.action
    if same is None or not two or p["f"][-1] in _ANYBODY:
        return None
    return AsLatest(then.action, p["f"], first.action, p["f"], same, "differ from")


def _two_who(p: Parts) -> AsLatest | None:
    """`The pharmacist who dispenses a drug must not be the doctor who signed for it`."""
    then, (first, itself) = p["g"], p["k"]
    named = [path for path in (p["f"], p["h"]) if path[-1] not in _ANYBODY]
    two = first.action >= 0 and then.action >= 0 and first.action != then.action
    if not two or not named or not all(_is_of(one) for one in (then, first)):
        return None
    if itself and (not then.noun or then.noun[-1:] != first.noun[-1:]):
        return None
    same = p.get("s") or (then.noun[-1] if itself else "")
    order: Literal["as said", "open"] = "open" if "o" in p else "as said"
    return AsLatest(then.action, named[0], first.action, named[-1], same, "differ from", order)


def _is_of(event: Event) -> bool:
    """Is it any call of the action, of which at most `it` is said?"""
    return is_plain(replace(event, same=event.same - {IT}, itself=False))


def _done_field(p: Parts) -> tuple[Path, int] | None:
    """`The prescribed dose`: what an action was given."""
    return (p["f"], p["d"].action) if is_plain(p["d"]) and p["d"].action >= 0 else None


def _thing_of_both(named: Event, other: Event) -> str | None:
    """What both are done to, of which the other one says `it`; None where that is not sure."""
    plain = replace(other, same=frozenset(), itself=False)
    if not is_plain(plain) or not is_plain(named) or not named.noun:
        return None
    told = other.same - {IT}
    if told:
        return next(iter(told)) if told == {named.noun[-1]} else None
    return named.noun[-1] if other.itself or IT in other.same else None


def doers(actions: Iterable[Action]) -> Rule:
    """Finds who does something by that alone: `the approver`, `released_by`, of the action with that verb."""
    ways = [
        (
            one,
            rf" *(?:(?:the|its|an?|every|each) )?(?P<f>{_agents(one.verb)}|{past_of(one.verb)}_by)(?![\w'-])",
        )
        for one in actions
        if not one.particle
    ]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        for one, pattern in ways:
            if m := compiled(pattern).match(grammar.text, at):
                name = m["f"].lower()
                yield ((Identifier(name) if "_" in name else Meant(name),), one.number), m.end()

    return find


def _agents(verb: str) -> str:
    """`approver`, `assessor`, `submitted_by`."""
    stem = verb[:-1] if verb.endswith("e") else f"{verb[:-1]}i" if verb.endswith("fy") else verb
    return f"{stem}{stem[-1]}?(?:er|or)|{past_of(verb)}_by"


AGAINST: dict[str, Rule] = {
    "relation": [
        (f"{_MAY_BE} [{_BE}] {_MOST}", _how("at most")),
        (f"{_IS} {_MOST}", _how("at most")),
        (f"{_MAY_NOT}|never [ever] {_EXCEED}", _how("at most")),
        (f"{_MAY_NOT}|never [ever] {_BE} {_MORE}", _how("at most")),
        (f"{_MAY_BE}|is|are [be] capped|limited at|by|to", _how("at most")),
        (f"{_IS} never|not {_MORE}", _how("at most")),
        (f"never|not {_MORE}", _how("at most")),
        (f"{_MOST}", _how("at most")),
        (f"{SHOULD} [{_BE}] {_LEAST}", _how("at least")),
        (f"{_IS} {_LEAST}", _how("at least")),
        (f"{_MAY_NOT}|never [ever] {_UNDERCUT}", _how("at least")),
        (f"{_MAY_NOT}|never [ever] {_BE} {_LESS}", _how("at least")),
        (f"{_IS} never|not {_LESS}", _how("at least")),
        (f"never|not {_LESS}", _how("at least")),
        (f"{_LEAST}", _how("at least")),
        (f"{SHOULD} {_BE} {_LESS}", _how("less than")),
        (f"{SHOULD} {_BE} {_MORE}", _how("more than")),
        (f"{SHOULD} exceed", _how("more than")),
        (f"{SHOULD} {_ANOTHER}", _how("differ from")),
        (f"{_MAY_NOT}|never [ever] {_ALIKE}", _how("differ from")),
        ("is|are never|not [the_same_as]", _how("differ from")),
        ("never [the_same_as]|not the_same_as", _how("differ from")),
    ],
    "relation of both": [
        (f"{SHOULD} [always] differ|be_different|be_distinct|be_two_different_people|not_be_the_same"
         "|be_different_people|be_different_persons|not_be_the_same_person|not_be_identical|not_match"
         "|be_unequal|not_be_equal|be_two_people|not_coincide", _how("differ from")),
        (f"{_MAY_NOT}|never [ever] be [the] same|identical|equal|the_same_person|the_same_one"
         "|one_person|one_and_the_same", _how("differ from")),
        (f"{SHOULD} [always] be_the_same|match|be_identical|be_equal|agree|coincide|not_differ"
         "|be_the_same_one", _how("equal")),
        (f"{_MAY_NOT} [ever] differ|be_different|deviate", _how("equal")),
        ("never differ", _how("equal")),
    ],
    "same beside": [
        ("[,] {s:of same}", lambda p: p["s"]),
        ("[,|:] [the] same {f:plain field}", lambda p: str(p["f"][-1])),
        ("with [the] same {f:plain field}", lambda p: str(p["f"][-1])),
        ("for|of|on|to|in|with that|this|the_very_same|that_same {f:plain field}", lambda p: str(p["f"][-1])),
    ],
    "who does": [("{e:does}", lambda p: p["e"])],
    "who has done": [
        ("{e:did}", lambda p: (p["e"], False)),
        ("{e:gapped} {x:it}", lambda p: (p["e"], True)),
        ("has|had [already] {e:gapped} {x:it}", lambda p: (p["e"], True)),
        ("has|had [already] {e:having}", lambda p: (p["e"], False)),
    ],
    "who also does": [
        ("{e:does}", lambda p: (p["e"], False)),
    ],
    "it": [("it|them [before|earlier|already]", lambda p: True), ("for it|them", lambda p: True)],
    "who did": [
        ("who|that|which {e:did} [it] [before|earlier|already]", lambda p: p["e"]),
        ("who|that|which {e:does}", lambda p: p["e"]),
        ("who|that|which has|had [already] {e:having}", lambda p: p["e"]),
    ],
    "was done": [
        (f"[the|a|an] [{_LAST}|originally] {{d:done}} {{f:plain field}}", _done_field),
    ],
    "value done": [("{x:doer}", lambda p: p["x"])],
    "what was": [
        ("{y:value before} {s:same beside}", lambda p: (p["y"], p["s"])),
    ],
    "as was": [
        ("[what|that_which] [was|has_been|had_been|is|were] [last|previously|already|before] {d:done}",
         lambda p: p["d"] if is_plain(p["d"]) else None),
    ],
    "whoever": [
        ("[the|a|an|any] [same] {f:plain field}", lambda p: p["f"]),
        ("the_one|the_same_one|the_person|the_same_person|whoever|somebody|someone", lambda p: ("one",)),
    ],
    "not the same": [
        (f"{_MAY_NOT}|never|is_never|is_not [ever|also] {_ALIKE}", _how("differ from")),
        (f"{SHOULD} {_ANOTHER}", _how("differ from")),
        ("is|are never|not", _how("differ from")),
    ],
    "what depends": [
        ("{f:whoever} who|that {g:who does} {n:not the same} {h:whoever} who|that {k:who has done} "
         "[{s:same beside}]", _two_who),
        ("{f:whoever} who|that {g:who does} {n:not the same} {h:whoever} who|that {k:who also does} "
         "[{s:same beside}]", lambda p: _two_who({**p, "o": True})),
        ("{f:whoever} who|that {k:who has done} {n:not the same} {h:whoever} who|that {g:who does} "
         "[{s:same beside}]", lambda p: _two_who({**p, "f": p["h"], "h": p["f"]})),
        ("{f:whoever} who|that {g:who has done} {n:not the same} {h:whoever} who|that {k:who has done} "
         "[{s:same beside}]", lambda p: _two_who({**p, "g": p["g"][0], "o": True})),
        ("{x:value done} {h:relation} {y:what was}", _related),
        ("{w:led} {f:field} {h:relation} {y:what was}", _related),
        ("{x:value done} and {z:value done} {h:relation of both} [{s:same beside}]", _side_by_side),
        (f"never|do_not {{e:deed}} {_MORE} {{d:as was}} [{{s:same beside}}]",
         lambda p: _deed({**p, "h": "at most", "y": (((AMOUNT,), p["d"].action), "")})),
        (f"{{t:thing}} {_MAY_NOT} [ever] be {{v:done}} for|at|with {_MORE} {{d:as was}} [{{s:same beside}}]",
         lambda p: _as_much(_deed, {**p, "e": e, "h": "at most"}) if (e := _done(p)) else None),
        (f"{{t:thing}} {_MAY_NOT} [ever] be {{v:done}} for|at|with {_MORE} {{y:what was}}",
         lambda p: _deed({**p, "e": e, "h": "at most"}) if (e := _done(p)) else None),
        ("{e:deed} only up_to {y:what was}", lambda p: _deed({**p, "h": "at most"})),
        ("{e:deed} only|exactly|precisely {y:what was}", lambda p: _deed({**p, "h": "equal"})),
        ("{e:deed} {h:relation} {d:as was} [{s:same beside}]", lambda p: _as_much(_deed, p)),
        ("{w:whos} {h:relation} {d:as was} [{s:same beside}]", lambda p: _as_much(_said_of_calls, p)),
        ("{w:whos} {h:relation} {y:what was}", _said_of_calls),
        ("{e:deed} {h:relation} {y:what was}", _deed),
        (f"never|do_not {{e:deed}} {_MORE} {{y:what was}}", lambda p: _deed({**p, "h": "at most"})),
        (f"{{x:value done}} {{h:relation}} that of|in {_OWN} {_LAST} {{e:noun}} [{{s:same beside}}]",
         _than_before),
        (f"{{x:value done}} {{h:relation}} [that of|in] {_OWN} {_LAST} one [{{s:same beside}}]",
         _than_before),
        (f"the|an|a [same] {{f:plain field}} {{g:who did}} {_MAY_NOT} [ever|also] {{d:deed}}", _by_another),
        (f"{{t:thing}} {_MAY_NOT} [ever|also] be {{d:done}} by the [same] {{f:plain field}} {{g:who did}}",
         _done_by_another),
        (f"no {{t:thing}} {CAN}|{SHOULD} [ever|also] be {{d:done}} by the [same] {{f:plain field}} "
         "{g:who did}", _done_by_another),
    ],
}  # fmt: skip

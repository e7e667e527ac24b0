"""Sentences whose main statement is what calls may be given: `scale deployment: replicas at least 2`.

A subject (an action, which of its calls, and an argument), and what is required of it (`values`). Each
sentence is turned into what it forbids of the calls: comparisons, each by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from synth.policies.asked import AMOUNT, asked_at
from synth.policies.beside import CODES, STATED
from synth.policies.clausal.bounds import is_identifier, says_what, takes_words
from synth.policies.clausal.events import Action
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Event, Fact
from synth.policies.clausal.values import Broken, Wanted
from synth.policies.clausal.words import AGENT, BANNED, HAPPEN, SHOULD
from synth.policies.nouns import Counted, Meant
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, Path

_TEXT: Path = (Meant("text"),)
"""What a message says."""
ANY_CALL = -1
"""Stands for the action where a sentence names arguments alone: each call that has them."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of an action, of which only those with certain arguments are meant."""

    action: int
    asked: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What is forbidden of some calls: each of these comparisons."""

    calls: tuple[Calls, ...]
    broken: tuple[Comparison, ...]


# ---------------------------------------------------------------- whose arguments


def _is_plain(event: Event) -> bool:
    """Is it any call of the action, of which nothing else is said?"""
    return not (event.same or event.outcome or event.itself or event.beside or event.about)


def _calls(p: Parts) -> tuple[Calls, ...] | None:
    event: Event = p["e"]
    asked = p["c"].every if "c" in p else ()
    return (Calls(event.action, asked),) if _is_plain(event) and event.action >= 0 else None


def _more_calls(p: Parts) -> tuple[Calls, ...]:
    return (*p["w"], *p["x"])


def _of_fact(p: Parts) -> tuple[Calls, ...] | None:
    fact: Fact = p["f"]
    if fact.aspect != "present" or len(fact.events) != 1:
        return None
    return _calls({"e": fact.events[0]})


def _done(p: Parts) -> Event | None:
    """`a ticket ... closed`: what is done to it; the action is that of both."""
    thing, done = p["t"], p["d"]
    fits = thing.action == done.action and thing.role == done.role and _is_plain(thing) and _is_plain(done)
    return done if fits else None


def _asked(grammar: Grammar, at: int) -> Iterator[Found]:
    """A condition behind an action: `over 5000`, `with channel sms`."""
    by = compiled(r" by(?= (?:over|more|at least|under|less)\b)").match(grammar.text, at)
    text = grammar.text if by is None else f"{grammar.text[: by.start()]} of{grammar.text[by.end() :]}"
    shown = compiled(r" ,(?= |$)| :").sub(lambda m: ", "[: len(m[0])], text)
    if found := asked_at(shown, at):
        yield found, found.end


def told(actions: Iterable[Action]) -> Rule:
    """Finds whom an action tells something: `the courier`, of `contact courier`."""
    ways = [
        (one, rf" *(?:(?:the|an?|any|our) )?{one.objects}(?![\w'-])")
        for one in actions
        if one.verb in _TELLING and one.nouns
    ]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        for one, pattern in ways:
            if m := compiled(pattern).match(grammar.text, at):
                yield Event(one.number, noun=one.nouns), m.end()

    return find


_TELLING = (
    "contact",
    "message",
    "notify",
    "inform",
    "tell",
    "alert",
    "email",
    "call",
    "text",
    "answer",
    "write",
)


def _objects(grammar: Grammar, at: int) -> Iterator[Found]:
    """What actions are done to: `a restaurant`, `the new user`."""
    m = compiled(r" *(?:the|an?|each|every) new(?= )").match(grammar.text, at)
    for place in (at, m.end()) if m else (at,):
        yield from (found for found in grammar.matches("thing", place) if not found[0].role)


def _whom(grammar: Grammar, at: int) -> Iterator[Found]:
    """An action by its noun, or where none has that, by what it is done to."""
    named = [*grammar.matches("noun", at), *grammar.matches("deed", at)]
    if named:
        last = max(end for _, end in named)
        yield from (found for found in named if found[1] == last)
    else:
        yield from _objects(grammar, at)
    if named and all(event.bare for event, _ in named):
        yield from _objects(grammar, at)


# ---------------------------------------------------------------- statements


def _about(path: Path, broken: Broken) -> tuple[Comparison, ...] | None:
    """What is said of an argument; None where a lone word cannot be its value."""
    if broken.lone and not says_what(path, broken.lone):
        return None
    named = (replace(one, path=path) for one in broken.every)
    return _in_one(tuple(one for one in named if one.other != path))


def _in_one(broken: tuple[Comparison, ...]) -> tuple[Comparison, ...]:
    """Under 2, or over 20, as outside of 2 and 20."""
    low = [one for one in broken if one.op == "<"]
    high = [one for one in broken if one.op == ">"]
    if len(low) != 1 or len(high) != 1 or low[0].type != high[0].type or low[0].values >= high[0].values:
        return tuple(dict.fromkeys(broken))
    both = replace(low[0], op="outside", values=(*low[0].values, *high[0].values))
    return tuple(dict.fromkeys(both if one is low[0] else one for one in broken if one is not high[0]))


def _statement(calls: Sequence[Calls] | None, broken: tuple[Comparison, ...] | None) -> Given | None:
    return Given(tuple(dict.fromkeys(calls)), broken) if calls and broken else None


def _of_field(p: Parts) -> Given | None:
    return _statement(p["w"], _about(p["f"], p["n"]))


def _in_what(p: Parts) -> Given | None:
    """`... in launch campaign`: a lone word before it may be of the words behind, as in `conditional on`."""
    return None if p["n"].lone else _of_field(p)


def _of_noun_field(p: Parts) -> Given | None:
    """`voucher value`: not `the technician assigned`."""
    done = compiled(r".*(?:ed|ing)").fullmatch(p["f"][-1]) is not None
    return None if done else _of_field(p)


def _banned_of(p: Parts) -> Given | None:
    """`deltas under -50 are forbidden in adjustments`."""
    return _statement(p["w"], _called_with(p))


def _of_two(p: Parts) -> Given | None:
    return _statement(p["w"], _two(p))


def _two(p: Parts) -> tuple[Comparison, ...] | None:
    return None if p["f"] == p["g"] else (replace(p["n"].every[0], path=p["f"], other=p["g"]),)


def _of_any(p: Parts) -> Given | None:
    """Of arguments alone: each call that has them."""
    broken = _about(p["f"], p["n"])
    if not broken or any(one.op in ("missing", "given") for one in broken):
        return None
    named = dict.fromkeys(path for one in broken for path in (p["f"], one.other) if path)
    return Given((Calls(ANY_CALL, tuple(Comparison(path, "given") for path in named)),), broken)


def _any_two(p: Parts) -> Given | None:
    if not (is_identifier(p["f"]) and is_identifier(p["g"])):
        return None
    both = (Comparison(p["f"], "given"), Comparison(p["g"], "given"))
    return _statement((Calls(ANY_CALL, both),), _two(p))


def _must_be_given(p: Parts) -> Given | None:
    path: Path = p["f"]
    if not (is_identifier(path) or compiled(STATED).fullmatch(path[-1])):
        return None
    return _statement(p["w"], (Comparison(path, "missing"),))


def _filled(p: Parts) -> Given | None:
    return _statement(p["w"], (Comparison(p["f"], "missing"),))


def _needed(p: Parts) -> Given | None:
    """Given, and so: what is not there is not so."""
    wanted: Wanted = p["p"]
    broken = _about(p["f"], Broken(tuple(one.contrary for one in wanted.every), wanted.lone))
    if not broken or any(one.op in ("missing", "given") for one in broken):
        return None
    return _statement(p["w"], (Comparison(p["f"], "missing"), *broken))


def _both_given(p: Parts) -> Given | None:
    first, more = _must_be_given(p), _must_be_given({**p, "f": p["g"]})
    return replace(first, broken=(*first.broken, *more.broken)) if first and more else None


def _needed_so(p: Parts) -> Given | None:
    """`needs reason fraud`: not `needs supervisor approval`."""
    plain = not p["p"].lone or takes_words(p["f"])
    return _needed(p) if plain else None


def _used(p: Parts) -> Given | None:
    """`must use method passport or id_card`."""
    wanted: Wanted = p["p"]
    if wanted.lone and not takes_words(p["f"]):
        return None
    broken = Broken(tuple(one.contrary for one in wanted.every), wanted.lone)
    return _statement(p["w"], _about(p["f"], broken))


def _by_unit(p: Parts) -> Given | None:
    """`A suspension runs 1 to 30 days`: the unit says which argument."""
    size: Comparison = p["s"]
    if size.type == "length":
        return _statement(p["w"], (replace(size.contrary, path=_TEXT),))
    if size.type != "number" or not compiled(r"[a-z]+s").fullmatch(size.unit) or _is_of_time(size.unit):
        return None
    return _statement(p["w"], (replace(size.contrary, path=(Counted(size.unit),)),))


def _not_by_unit(p: Parts) -> Given | None:
    return _by_unit({**p, "s": p["s"].contrary})


def _is_of_time(unit: str) -> bool:
    """Is it how long a call may take, too?"""
    return compiled("hours|minutes|seconds|dollars|euros|pounds|francs").fullmatch(unit) is not None


# ---------------------------------------------------------------- bans of calls with certain arguments


def _with(p: Parts) -> tuple[Comparison, ...] | None:
    """`with code R1`: what is forbidden, as comparisons that hold."""
    wanted: Wanted = p["p"]
    if wanted.lone and not takes_words(p["f"]):
        return None
    return _called_with(p)


def _called_with(p: Parts) -> tuple[Comparison, ...] | None:
    """`called with table customers`: any word is a value."""
    wanted: Wanted = p["p"]
    return _about(p["f"], Broken(wanted.every, wanted.lone)) if len(wanted.every) == 1 else None


def _with_either(p: Parts) -> tuple[Comparison, ...] | None:
    first, more = _with(p), _with({**p, "p": p["q"]})
    return (*first, *more) if first and more and not p["p"].lone else None


def _without(p: Parts) -> tuple[Comparison, ...] | None:
    path: Path = p["f"]
    told = is_identifier(path) or compiled(STATED).fullmatch(path[-1]) or "g" in p
    return (Comparison(path, "missing"),) if told else None


def _in_currency(p: Parts) -> tuple[Comparison, ...] | None:
    """`in EUR or USD`."""
    codes = [CODES.get(one.casefold()) for one in p["v"].said]
    said = tuple(code for code in codes if code is not None)
    plain = len(said) == len(codes) and not p["v"].by_and
    return (Comparison((Meant("currency"),), "in", "name", said),) if plain else None


def _empty(p: Parts) -> tuple[Comparison, ...]:
    return (Comparison(p["f"], "missing"),)


def _size_alone(p: Parts) -> tuple[Comparison, ...] | None:
    """`more than 200 in a single payment`: of the amount, or of what the unit counts."""
    size: Comparison = p["s"]
    if size.type != "number":
        return None
    counts = compiled(r"[a-z]+").fullmatch(size.unit) and not compiled(
        r"dollars?|euros?|pounds?|francs?|yen"
    ).fullmatch(size.unit)
    return (replace(size, path=(Counted(size.unit) if counts else AMOUNT,)),)


def _never(p: Parts) -> Given | None:
    return _statement(_calls({"e": p["e"]}), p["c"])


def _never_more(p: Parts) -> Given | None:
    """What is said of the argument beside: `no ban without approved_by, and it can not be bot`."""
    first: tuple[Comparison, ...] = p["c"]
    paths = {one.path for one in first}
    more = _about(first[0].path, p["n"]) if len(paths) == 1 else None
    return _statement(_calls({"e": p["e"]}), (*first, *more)) if more else None


def _never_done(p: Parts) -> Given | None:
    event = _done(p)
    return None if event is None else _statement(_calls(_asked_done(event, p)), p["c"])


def _never_by_verb(p: Parts) -> Given | None:
    """`move more than 500 units of stock in one go`: the object stands behind the size."""
    verb, thing = p["v"], p["t"]
    if verb.action != thing.action or thing.role or not _is_plain(thing):
        return None
    return _never({"e": thing, "c": _size_alone(p)}) if p["s"].unit else None


def _never_in_one(p: Parts) -> Given | None:
    """`issue more than 200 in a single refund`."""
    event: Event = p["t"]
    return _never({"e": event, "c": _size_alone(p)}) if event.action == p["v"].action else None


def _never_these(p: Parts) -> Given | None:
    """`delete the namespaces kube-system or default`: what they are called."""
    event: Event = p["e"]
    wanted: Wanted = p["p"]
    plain = wanted.lone or len(wanted.every) > 1 or not event.noun
    words = [one for one in wanted.every[0].values if isinstance(one, str)]
    if plain or len(words) != len(wanted.every[0].values):
        return None
    return _never({"e": event, "c": (replace(wanted.every[0], path=(Meant(event.noun[-1]),)),)})


def _where(p: Parts) -> Given:
    one: Given = p["g"]
    calls = tuple(replace(own, asked=(*own.asked, *p["u"])) for own in one.calls)
    return replace(one, calls=calls)


def _unless(p: Parts) -> Given:
    return _where({**p, "u": tuple(one.contrary for one in p["u"])})


def _never_word_in(p: Parts) -> Given | None:
    return _never_word({**p, "f": _TEXT})


def _never_led(p: Parts) -> Given | None:
    """`set limit: never above 5000`."""
    return _statement(p["w"], _size_alone(p)) if p["s"].op in (">", ">=", "<") else None


def _never_word_to(p: Parts) -> Given | None:
    """`in a message to the courier`: of the action that tells him something."""
    return _never_word({**p, "w": _calls(p)})


def _never_word(p: Parts) -> Given | None:
    """`write the word cash in a message to the courier`."""
    word = Comparison(p["f"], "word", "text", p["v"].said)
    return None if p["v"].by_and else _statement(p["w"], (word,))


def _asked_done(event: Event, p: Parts) -> Parts:
    """`labels of carrier DHL are printed ...`: only some of the calls."""
    return {"e": event, "c": p["k"]} if "k" in p else {"e": event}


def _only(p: Parts) -> Given | None:
    broken: tuple[Comparison, ...] = p["c"]
    return _statement(_calls({"e": p["e"]}), _in_one(tuple(one.contrary for one in broken)))


def _only_done(p: Parts) -> Given | None:
    event = _done(p)
    return None if event is None else _only_calls({"w": _calls(_asked_done(event, p)), "c": p["c"]})


def _only_calls(p: Parts) -> Given | None:
    return _statement(p["w"], _in_one(tuple(one.contrary for one in p["c"])))


_WITH = "with|for|to|in|on|at|of|under|from|into|by|using|having|carrying|as|where|whose|through|via|within"
_NEED = (
    "needs|need|requires|require|must_have|must_carry|must_state|must_give|must_include|must_contain"
    "|have_to_have"
    "|must_name|must_come_with|has_to_have|has_to_carry|has_to_state|has_to_give|has_to_include|have_to_carry"
    "|have_to_state|have_to_give|have_to_include|should_have|should_carry|should_state|needs_to_have"
    "|need_to_have"
    "|must_always_have|must_always_carry|must_specify|has_to_specify|have_to_specify|has_to_name|have_to_name"
    "|must_set|must_provide|demands|demand|calls_for|call_for|asks_for|always_needs|always_need|must_be_given"
    "|must_be_made_with|has_to_come_with|must_have_set|must_mention|takes|take|carries|carry"
    "|is_only_valid_with"
    "|are_only_valid_with|must_record|has_to_be_made_with|has_to_be_given|may_only_be_made_with"
)
_TO_BE = (
    "to_be_given|to_be_filled_in|to_be_set|to_be_filled|to_be_stated|to_be_provided|to_be_present"
    "|to_be_specified"
    "|filled_in|given|set|stated|to_be_named|to_be_there|to_be_non-empty|to_be_included"
)
_WHEN = "when|whenever|if|where|in_case|every_time|each_time|any_time"
_IN = (
    "in|for|on|of|with|when_calling|in_calls_of|in_every|in_each|of_every|for_calls_of|on_calls_of|during|at"
    "|when"
)
_SO = "[at_all] [any_more] [, please]"
_SOMEBODY = "customer|customers|user|users|client|clients|guest|guests|patient|patients|anybody|anyone|them"
_TO_WHOM = f"[to|for [the|a|any|our] {_SOMEBODY}]"
_THE_WORD = "the_word|the_words|the_phrase|the_term|the_expression"
_WRITE = "write|use|put|say|mention|include|type the_word|the_words|the_phrase|the_term|the_expression"
_ONE_GO = (
    "in_one_go|in_a_single_go|at_once|at_a_time|at_one_time|per_call|in_one_call|in_a_single_call"
    "|in_one_step|per_go"
    "|each|each_time|in_any_one_call|with_one_call|in_a_single_request|per_request|by_one_call|in_one_request"
)
_NEVER = (
    "never|do_not|must_never|must_not|you_must_not|you_must_never|you_may_not|you_may_never|you_can_not"
    "|never_ever|you_should_not|you_should_never|the_agent_must_not|the_agent_must_never|the_agent_may_not"
    "|the_agent_may_never|the_agent_can_not|the_agent_should_not|the_agent_should_never|please_never"
    "|please_do_not"
    "|you_shall_not|you_are_not_allowed_to|the_agent_is_not_allowed_to|avoid_to|we_never|we_do_not|you_never"
)
_MAY_NOT = (
    "must_not|must_never|may_not|may_never|should_not|should_never|shall_not|shall_never|can_not|can_never"
    "|will_not|will_never|is_not_to|are_not_to|is_never_to|are_never_to|is_not_allowed_to|are_not_allowed_to"
)
_IS_NEVER = "is_never|are_never|is_not|are_not|never_gets|never_get|does_not_get|do_not_get|gets_never"
_GO = (
    "stay|stays|go|goes|must_stay|must_go|have_to_stay|has_to_stay|must_always_go|must_remain|remain|remains"
    "|must_be_kept|are_kept|is_kept|must_always_be|must_happen|are_made|is_made|are_always_made|must_be_made"
    "|has_to_be|have_to_be|must_be|should_be|are_to_be|is_to_be|are|is|are_always|is_always|have_to_go"
    "|has_to_go"
)
_SHOULD_BE = f"{SHOULD}|may|can|will"

STATEMENTS: dict[str, Rule] = {
    "asked": _asked,
    "called": _whom,
    "who": [
        ("{e:called}", _calls),
        ("{e:called} {c:asked}", _calls),
        ("call|calls|every_call|each_call|any_call|all_calls|a_call [of|to] {e:called}", _calls),
    ],
    "whos": [
        ("{w:who}", lambda p: p["w"]),
        ("{w:who} and|or [for] {x:whos}", _more_calls),
        ("{w:who} , {x:whos}", _more_calls),
    ],
    "when given": [
        (f"{_WHEN} {{f:fact}}", _of_fact),
        (f"{_WHEN} {AGENT} {{e:deed}}", _calls),
        (f"{_WHEN}|while {{e:noun}}", _calls),
        (f"{_WHEN} {{e:noun}} happens|is_called|is_made|is_done|takes_place|is_used|runs", _calls),
    ],
    "in what": [(f"{_IN} {{w:whos}}", lambda p: p["w"])],
    "led": [
        (f"{_IN}|as_for {{w:whos}} ,|:", lambda p: p["w"]),
        (f"{_IN}|as_for {{w:whos}}", lambda p: p["w"]),
        ("{w:whos} :|,", lambda p: p["w"]),
        (f"{_WHEN} {{f:fact}} [,|:]", _of_fact),
        (f"{_WHEN} {AGENT} {{e:deed}} [,|:]", _calls),
    ],
    "with what": [
        (f"{_WITH} {{f:field}} [of|is|are] {{p:said}}", _with),
        (f"{_WITH} {{f:field}} =|: {{p:said}}", _with),
        (f"{_WITH} {{f:field}} {{p:said}} or {{q:said}}", _with_either),
        (f"{_WITH} {{f:field}} {{p:is so}}", _with),
        ("if [the] {f:own name} {p:is so}", _with),
        ("in|paid_in|made_in|issued_in {v:values}", _in_currency),
        ("with|on|for|in|given [a|an|the] empty|blank|missing {f:field}", _empty),
        ("with|having no [a|an|the] {f:field} [given|set|stated|filled_in]", _without),
        (
            "without [a|an|any|the|its|giving|stating|setting|naming|specifying|filling_in] {f:field}",
            _without,
        ),
        (
            "without [a|an|any|the|its] {f:field} {g:is given}",
            _without,
        ),
        ("[giving|stating|setting|without] {c:with size}", lambda p: p["c"]),
    ],
    "is given": [("[being] given|set|stated|filled_in|specified|provided", lambda p: "given")],
    "with called": [("with {f:field} {p:said}", _called_with)],
    "with size": [
        ("[of|to|by|for|worth|with] {s:size} {o:once}", _size_alone),
        ("to|by|worth {s:size}", _size_alone),
    ],
    "once": [
        (_ONE_GO, lambda p: "once"),
        ("in|with|per|by|for a_single|one|a|each|any_single|any_one|single {e:noun}", lambda p: "once"),
    ],
    "so": [("{f:field} {p:is so}", _with)],
    "what is given": [
        ("{g:main}", lambda p: p["g"]),
        ("{g:main} [,] [but] unless {u:so}", _unless),
        ("unless {u:so} , {g:main}", _unless),
        ("{g:main} [,] if|when|where|whenever {u:so}", _where),
        ("if|when|whenever|where {u:so} , [then] {g:main}", _where),
    ],
    "main": [
        # an argument, and what it must be
        ("{f:field} of|in|for|on|with|to {w:whos} [:|,] {n:needs}", _of_field),
        ("{w:whos} 's {f:field} [:|,] {n:needs}", _of_field),
        ("{w:whos} {f:plain field} [:|,] {n:needs}", _of_noun_field),
        ("{w:led} {f:field} [:|,] {n:needs}", _of_field),
        ("{f:field} {n:needs} {w:when given}", _of_field),
        ("{f:field} {n:needs} {w:in what}", _in_what),
        ("{f:own name} {n:needs}", _of_any),
        (f"{{f:plain field}} {{p:said}} is|are {BANNED} in|for|on|with {{w:whos}}", _banned_of),
        ("no {f:plain field} {p:said} in|for|on|with {w:whos}", _banned_of),
        # two arguments of one call
        ("[both] {f:field} and {g:field} of|in|for|on {w:whos} {n:alike}", _of_two),
        ("{w:led} [both] {f:field} and {g:field} {n:alike}", _of_two),
        ("[both] {f:field} and {g:field} {n:alike} {w:when given}", _of_two),
        ("[both] {f:field} and {g:field} {n:alike} {w:in what}", _of_two),
        ("[both] {f:field} and {g:field} {n:alike}", _any_two),
        # what a call needs
        (f"{{w:whos}} {_NEED} {{f:field}}", _must_be_given),
        (f"{{w:whos}} {_NEED} {{f:field}} {_TO_BE}", _filled),
        (
            f"{{w:whos}} {_NEED} a|an|some|the non-empty|nonempty|filled|filled-in|filled-out {{f:field}}",
            _filled,
        ),
        (f"{{w:whos}} {_NEED} {{f:field}} =|:|of|set_to|to_be|that_is|which_is {{p:said}}", _needed),
        (f"{{w:whos}} {_NEED} {{f:field}} {{p:said}}", _needed_so),
        (f"{{w:whos}} {_NEED} {{f:field}} [that|which] {{p:is so}}", _needed),
        (f"{{w:whos}} {SHOULD} [always] be {{f:own name}} {{p:said}}", _needed),
        (
            f"{{w:whos}} {SHOULD}|may_only|can_only [always] use|be_made_with {{f:field}} [of] {{p:said}}",
            _used,
        ),
        ("{w:led} {f:field} = {p:said}", _needed),
        (f"{{w:whos}} {_NEED} {{f:field}} and {{g:field}}", _both_given),
        # a size by its unit
        ("{w:led} {s:size}", _by_unit),
        ("{w:led} never {s:size}", _never_led),
        (f"{{w:whos}} {_MAY_NOT} [ever] be|have|contain|run|last|cover|hold {{s:size}}", _not_by_unit),
        (
            "{w:whos} runs|run|lasts|last|spans|has|have|holds|covers|is|are|is_for|are_for"
            "|contains {s:size}",
            _by_unit,
        ),
        (
            f"{{w:whos}} {SHOULD}|may_only [always] run|last|span|have|hold|cover|be|be_for"
            f"|contain {{s:size}}",
            _by_unit,
        ),
        # bans
        (f"{_NEVER} {{e:deed}} {{c:with what}} {_SO}", _never),
        (f"{_NEVER} {{v:verb}} {{s:size}} [of] {{t:thing}} {{o:once}}", _never_by_verb),
        (
            f"{_NEVER} {{v:verb}} {{s:size}} in|per|with|by|for a_single|one|a|each|any_one|any_single"
            "|single {t:noun}",
            _never_in_one,
        ),
        (f"{_NEVER} {{e:deed}} {{p:said}}", _never_these),
        ("no {e:noun} {c:with what}", _never),
        ("no {e:noun} {c:with what} , [and|but] it|this|that {n:need}", _never_more),
        (f"{_NEVER} {{e:deed}} {{c:with what}} , [and|but] it|this|that {{n:need}}", _never_more),
        (f"no {{e:noun}} {_SHOULD_BE} {HAPPEN}|be_issued|be_given {{c:with what}}", _never),
        (f"{{e:noun}} {_MAY_NOT} [ever] {HAPPEN}|be_used|be_issued {{c:with what}}", _never),
        (f"{{e:noun}} {_MAY_NOT} [ever] be_called|be_used|be_run {{c:with called}}", _never),
        (f"{_NEVER} call|use|run {{e:noun}} {{c:with called}}", _never),
        (f"{_NEVER} {_WRITE} {{v:values}} in|into|to {{f:field}} of|for|in|on {{w:whos}}", _never_word),
        (f"{_NEVER} {_WRITE} {{v:values}} in|into|to {{w:whos}} {_TO_WHOM}", _never_word_in),
        (f"{_NEVER} {_WRITE} {{v:values}} in|into {{f:field}} to {{e:told}}", _never_word_to),
        (
            f"{{w:whos}} {_MAY_NOT} [ever] contain|mention|include|have {_THE_WORD} {{v:values}}",
            _never_word_in,
        ),
        (
            f"{_THE_WORD} {{v:values}} {_MAY_NOT} [ever] appear|be_used|occur|stand|be in {{f:field}} "
            "of|to|for|in|on {w:whos}",
            _never_word,
        ),
        (f"{{e:noun}} {_IS_NEVER} called|made|done|run|used {{c:with what}}", _never),
        (f"{{t:thing}} [{{k:asked}}] {_MAY_NOT} [ever] be|get {{d:done}} {{c:with what}}", _never_done),
        (f"{{t:thing}} [{{k:asked}}] {_IS_NEVER} [to_be] {{d:done}} {{c:with what}}", _never_done),
        (f"no {{t:thing}} [{{k:asked}}] {_SHOULD_BE} [ever] be|get {{d:done}} {{c:with what}}", _never_done),
        ("no {t:thing} [{k:asked}] is|are|gets|get [ever] {d:done} {c:with what}", _never_done),
        (f"{{e:noun}} {{c:with what}} is|are {BANNED}", _never),
        # only
        ("[you|the_agent] [may|must|can|should] {e:deed} only {c:with what}", _only),
        ("only {e:deed} {c:with what}", _only),
        ("{e:deed} {c:with what} [,] only|and_nothing_else|nothing_else", _only),
        ("{e:noun} [is|are] [allowed|permitted|possible|made] only {c:with what}", _only),
        (
            f"{{t:thing}} [{{k:asked}}] is|are|gets|get|{_SHOULD_BE} [be] only [be] {{d:done}} "
            "{c:with what}",
            _only_done,
        ),
        (
            f"{{t:thing}} [{{k:asked}}] is|are|gets|get|{_SHOULD_BE} [be] {{d:done}} only {{c:with what}}",
            _only_done,
        ),
        (
            f"{{t:thing}} [{{k:asked}}] is|are|gets|get|{_SHOULD_BE} [be] {{d:done}} {{c:with what}} only",
            _only_done,
        ),
        (f"{{t:thing}} {SHOULD} [always|only] be {{d:done}} {{c:with what}} [only]", _only_done),
        (f"{{w:whos}} {_GO} [only] {{c:with what}} [only|and_nothing_else]", _only_calls),
        ("{w:whos} only {c:with what}", _only_calls),
    ],
}

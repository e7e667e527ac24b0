"""Calls that a sentence forbids, or allows alone, by what they are given: `never book over 14 nights`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from synth.policies.asked import AMOUNT
from synth.policies.beside import CODES
from synth.policies.clausal.bounds import Values, among, names_an_argument, takes_words
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Event
from synth.policies.clausal.subjects import (
    TEXT,
    Given,
    about,
    done_to,
    in_one,
    is_plain,
    plain_calls,
    statement,
)
from synth.policies.clausal.values import Broken, Wanted
from synth.policies.clausal.words import BANNED, HAPPEN, SHOULD
from synth.policies.nouns import Counted, Meant
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, Path


def with_this(p: Parts) -> tuple[Comparison, ...] | None:
    """`with code R1`: what is forbidden, as comparisons that hold."""
    wanted: Wanted = p["p"]
    if wanted.lone and not takes_words(p["f"]):
        return None
    return called_with(p)


def _at_names(p: Parts) -> tuple[Comparison, ...] | None:
    """`to ward ICU`: not `for guests under 18`, whose size is of something else."""
    named = all(one.op in ("in", "not in") for one in p["p"].every)
    return with_this(p) if named else None


def called_with(p: Parts) -> tuple[Comparison, ...] | None:
    """`called with table customers`: any word is a value."""
    wanted: Wanted = p["p"]
    return about(p["f"], Broken(wanted.every, wanted.lone)) if len(wanted.every) == 1 else None


def _with_either(p: Parts) -> tuple[Comparison, ...] | None:
    first, more = with_this(p), with_this({**p, "p": p["q"]})
    return (*first, *more) if first and more and not p["p"].lone else None


def _without(p: Parts) -> tuple[Comparison, ...] | None:
    path: Path = p["f"]
    return (Comparison(path, "missing"),) if names_an_argument(path) or "g" in p else None


def _in_currency(p: Parts) -> tuple[Comparison, ...] | None:
    """`in EUR or USD`."""
    codes = [CODES.get(one.casefold()) for one in p["v"].said]
    said = tuple(code for code in codes if code is not None)
    plain = len(said) == len(codes) and not p["v"].by_and
    return (Comparison((Meant("currency"),), "in", "name", said),) if plain else None


def _amounts(p: Parts) -> tuple[Comparison, ...] | None:
    """`Vouchers of 50, 100 or 200`: their amounts."""
    said: Values = p["v"]
    several = len(said.every) > 1 and all(isinstance(one, int | float) for one in said.every)
    made = among("in")(p) if several and not said.by_and else None
    return None if made is None else (replace(made, path=(AMOUNT,)),)


def _contrary_of(conditions: tuple[Comparison, ...] | None) -> tuple[Comparison, ...] | None:
    return tuple(one.contrary for one in conditions) if conditions else None


def _empty(p: Parts) -> tuple[Comparison, ...]:
    return (Comparison(p["f"], "missing"),)


def size_alone(p: Parts) -> tuple[Comparison, ...] | None:
    """`more than 200 in a single payment`: of the amount, or of what the unit counts."""
    size: Comparison = p["s"]
    if size.type != "number":
        return None
    counts = compiled(r"[a-z]+").fullmatch(size.unit) and not compiled(
        r"dollars?|euros?|pounds?|francs?|yen"
    ).fullmatch(size.unit)
    return (replace(size, path=(Counted(size.unit) if counts else AMOUNT,)),)


def counted_above(grammar: Grammar, at: int) -> Iterator[Found]:
    """`above 50 replicas`: no number of calls, which is `more than 50`."""
    if compiled(
        r" *(?:over|above|below|under|beyond|past|exceeding|in excess of|longer|shorter|heavier)\b"
    ).match(grammar.text, at):
        yield from grammar.matches("counted size", at)


def _never(p: Parts) -> Given | None:
    return statement(plain_calls({"e": p["e"]}), p["c"])


def _never_more(p: Parts) -> Given | None:
    """What is said of the argument beside: `no ban without approved_by, and it can not be bot`."""
    first: tuple[Comparison, ...] = p["c"]
    paths = {one.path for one in first}
    more = about(first[0].path, p["n"]) if len(paths) == 1 else None
    return statement(plain_calls({"e": p["e"]}), (*first, *more)) if more else None


def _never_done(p: Parts) -> Given | None:
    event = done_to(p)
    return None if event is None else statement(plain_calls(_asked_done(event, p)), p["c"])


def _never_by_verb(p: Parts) -> Given | None:
    """`move more than 500 units of stock in one go`: the object stands behind the size."""
    verb, thing = p["v"], p["t"]
    if verb.action != thing.action or thing.role or not is_plain(thing):
        return None
    return _never({"e": thing, "c": size_alone(p)}) if p["s"].unit else None


def _never_in_one(p: Parts) -> Given | None:
    """`issue more than 200 in a single refund`."""
    event: Event = p["t"]
    return _never({"e": event, "c": size_alone(p)}) if event.action == p["v"].action else None


def _never_these(p: Parts) -> Given | None:
    """`delete the namespaces kube-system or default`: what they are called."""
    event: Event = p["e"]
    wanted: Wanted = p["p"]
    plain = wanted.lone or len(wanted.every) > 1 or not event.noun
    words = [one for one in wanted.every[0].values if isinstance(one, str)]
    if plain or len(words) != len(wanted.every[0].values):
        return None
    return _never({"e": event, "c": (replace(wanted.every[0], path=(Meant(event.noun[-1]),)),)})


def _never_word_in(p: Parts) -> Given | None:
    return _never_word({**p, "f": TEXT})


def _never_word_to(p: Parts) -> Given | None:
    """`in a message to the courier`: of the action that tells him something."""
    return _never_word({**p, "w": plain_calls(p)})


def _never_word(p: Parts) -> Given | None:
    """`write the word cash in a message to the courier`."""
    word = Comparison(p["f"], "word", "text", p["v"].said)
    return None if p["v"].by_and else statement(p["w"], (word,))


def _asked_done(event: Event, p: Parts) -> Parts:
    """`labels of carrier DHL are printed ...`: only some of the calls."""
    return {"e": event, "c": p["k"]} if "k" in p else {"e": event}


def _only(p: Parts) -> Given | None:
    broken: tuple[Comparison, ...] = p["c"]
    return statement(plain_calls({"e": p["e"]}), in_one(tuple(one.contrary for one in broken)))


def _only_done(p: Parts) -> Given | None:
    event = done_to(p)
    return None if event is None else _only_calls({"w": plain_calls(_asked_done(event, p)), "c": p["c"]})


def _only_calls(p: Parts) -> Given | None:
    return statement(p["w"], in_one(tuple(one.contrary for one in p["c"])))


_WITH = "with|using|having|carrying|where|whose"
_AT = "for|to|in|on|at|of|under|from|into|by|as|through|via|within"
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
NEVER = (
    "never|do_not|must_never|must_not|you_must_not|you_must_never|you_may_not|you_may_never|you_can_not"
    "|never_ever|you_should_not|you_should_never|the_agent_must_not|the_agent_must_never|the_agent_may_not"
    "|the_agent_may_never|the_agent_can_not|the_agent_should_not|the_agent_should_never|please_never"
    "|please_do_not"
    "|you_shall_not|you_are_not_allowed_to|the_agent_is_not_allowed_to|avoid_to|we_never|we_do_not|you_never"
)
MAY_NOT = (
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


BANS: dict[str, Rule] = {
    "with what": [
        (f"{_WITH} {{f:field}} [of|is|are] {{p:said}}", with_this),
        (f"{_WITH} {{f:field}} =|: {{p:said}}", with_this),
        (f"{_WITH} {{f:field}} {{p:said}} or {{q:said}}", _with_either),
        (f"{_WITH} {{f:field}} {{p:is so}}", with_this),
        (f"{_AT} {{f:the field}} [of|is|are] {{p:said}}", with_this),
        (f"{_AT} {{f:own name}} [of|is|are] {{p:said}}", with_this),
        (f"{_AT} {{f:plain field}} {{p:said}}", _at_names),
        (f"{_AT} a|an|the {{f:plain field}} that|which {{p:is so}}", with_this),
        ("if [the] {f:own name} {p:is so}", with_this),
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
        ("of {v:values}", _amounts),
        ("other_than|except|but of {v:values}", lambda p: _contrary_of(_amounts(p))),
        ("{c:with size}", lambda p: p["c"]),
        ("with|by|having|using|at {c:counted size}", lambda p: p["c"]),
        ("{c:counted above}", lambda p: p["c"]),
    ],
    "counted above": counted_above,
    "is given": [("[being] given|set|stated|filled_in|specified|provided", lambda p: "given")],
    "with called": [("with {f:field} {p:said}", called_with)],
    "with size": [
        ("[of|to|by|for|worth|with] {s:size} {o:once}", size_alone),
        ("to|by|worth {s:size}", size_alone),
    ],
    "once": [
        (_ONE_GO, lambda p: "once"),
        ("in|with|per|by|for a_single|one|a|each|any_single|any_one|single {e:noun}", lambda p: "once"),
    ],
    "ban": [
        (f"{NEVER} {{e:deed}} {{c:with what}} {_SO}", _never),
        (f"{NEVER} {{v:verb}} {{s:size}} [of] {{t:thing}} {{o:once}}", _never_by_verb),
        (
            f"{NEVER} {{v:verb}} {{s:size}} in|per|with|by|for a_single|one|a|each|any_one|any_single"
            "|single {t:noun}",
            _never_in_one,
        ),
        (f"{NEVER} {{e:deed}} {{p:said}}", _never_these),
        ("no {e:noun} {c:with what}", _never),
        ("no {e:noun} {c:with what} , [and|but] it|this|that {n:need}", _never_more),
        (f"{NEVER} {{e:deed}} {{c:with what}} , [and|but] it|this|that {{n:need}}", _never_more),
        (f"no {{e:noun}} {_SHOULD_BE} {HAPPEN}|be_issued|be_given {{c:with what}}", _never),
        (f"{{e:noun}} {MAY_NOT} [ever] {HAPPEN}|be_used|be_issued {{c:with what}}", _never),
        (f"{{e:noun}} {MAY_NOT} [ever] be_called|be_used|be_run {{c:with called}}", _never),
        (f"{NEVER} call|use|run {{e:noun}} {{c:with called}}", _never),
        (f"{NEVER} {_WRITE} {{v:values}} in|into|to {{f:field}} of|for|in|on {{w:whos}}", _never_word),
        (f"{NEVER} {_WRITE} {{v:values}} in|into|to {{w:whos}} {_TO_WHOM}", _never_word_in),
        (f"{NEVER} {_WRITE} {{v:values}} in|into {{f:field}} to {{e:told}}", _never_word_to),
        (
            f"{{w:whos}} {MAY_NOT} [ever] contain|mention|include|have {_THE_WORD} {{v:values}}",
            _never_word_in,
        ),
        (
            f"{_THE_WORD} {{v:values}} {MAY_NOT} [ever] appear|be_used|occur|stand|be in {{f:field}} "
            "of|to|for|in|on {w:whos}",
            _never_word,
        ),
        (f"{{e:noun}} {_IS_NEVER} called|made|done|run|used {{c:with what}}", _never),
        (f"{{t:thing}} [{{k:asked}}] {MAY_NOT} [ever] be|get {{d:done}} {{c:with what}}", _never_done),
        (f"{{t:thing}} [{{k:asked}}] {_IS_NEVER} [to_be] {{d:done}} {{c:with what}}", _never_done),
        (f"no {{t:thing}} [{{k:asked}}] {_SHOULD_BE} [ever] be|get {{d:done}} {{c:with what}}", _never_done),
        ("no {t:thing} [{k:asked}] is|are|gets|get [ever] {d:done} {c:with what}", _never_done),
        (f"{{e:noun}} {{c:with what}} is|are {BANNED}", _never),
        ("{e:noun} [is|are] never|not {c:with what}", _never),
        # only
        ("[you|the_agent] [may|must|can|should] {e:deed} only {c:with what}", _only),
        ("only {e:deed} {c:with what}", _only),
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
        (f"{{t:thing}} {SHOULD} [always|only] be {{d:done}} {{c:with what}}", _only_done),
        (f"{{w:whos}} {_GO} [only] {{c:with what}}", _only_calls),
        ("{w:whos} only {c:with what}", _only_calls),
    ],
    "only last": [
        ("{e:deed} {c:with what} [,] only|and_nothing_else|nothing_else", _only),
        (
            f"{{t:thing}} [{{k:asked}}] is|are|gets|get|{_SHOULD_BE}|{SHOULD} [be|always] [be] {{d:done}} "
            "{c:with what} only",
            _only_done,
        ),
        (f"{{w:whos}} {_GO} [only] {{c:with what}} only|and_nothing_else", _only_calls),
    ],
}

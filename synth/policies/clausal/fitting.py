"""What calls may be given, said behind what is done: `raised to 20000 at most`, `held on flights of LH`.

Which argument it is, is said by what it limits: by the unit of a size, by the thing that has a beginning, by
the two arguments that are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.asked import AMOUNT, field_named
from synth.policies.clausal.argument_words import CAN, CAPPED
from synth.policies.clausal.bans import MAY_NOT, NEVER, with_this
from synth.policies.clausal.bounds import (
    LEAST,
    MOST,
    OVER,
    UNDER,
    Identifier,
    is_identifier,
    names_an_argument,
    takes_words,
)
from synth.policies.clausal.conditions import asking, must_be
from synth.policies.clausal.depending import is_done
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Event
from synth.policies.clausal.statements import by_unit
from synth.policies.clausal.subjects import (
    ANY_CALL,
    Calls,
    Given,
    about,
    done_to,
    in_one,
    is_plain,
    plain_calls,
    statement,
)
from synth.policies.clausal.values import Broken, Wanted
from synth.policies.clausal.words import AGENT, BANNED, HAPPEN, NOBODY, SHOULD
from synth.policies.nouns import Counted, Meant
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, Op, Path

_AT_MOST = ("<", "<=", "inside")
_NAMES_ONE = ("id", "number", "name", "ref", "key", "no", "code", "type")
"""Behind a thing, what names it, or says which one it is: `trip ids`."""


def one_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """An argument that may be spoken of in the plural, with any article: `ibans`, `the buckets`."""
    begin = compiled(r" *(?:(?:the|an?|any|every|each|all|no) )?").match(grammar.text, at)
    for path, end in grammar.matches("plain field", begin.end() - 1 if begin and begin.end() > at else at):
        yield _singular(path), end


def _singular(path: Path) -> Path:
    if is_identifier(path) or len(path) > 1:
        return path
    *first, last = str(path[0]).split("_")
    return field_named("_".join([*first, singular(last)]))


def fields_meant(grammar: Grammar, at: int) -> Iterator[Found]:
    """An argument in the plural: `from the branches main and hotfix`."""
    m = compiled(r" *(?:(?:the|these|our) )?(?P<f>[a-z]+s)(?![\w'-])").match(grammar.text, at)
    if m and singular(m["f"].lower()) != m["f"].lower():
        yield field_named(singular(m["f"].lower())), m.end()


def _such(p: Parts) -> tuple[Calls, ...] | None:
    """`Calls that scale a service with replicas above 20`."""
    calls = plain_calls({"e": p["e"]})
    return asking(calls, p["k"]) if calls else None


def _done_calls(p: Parts) -> tuple[Calls, ...] | None:
    """`The number of replicas a service is scaled to`."""
    event = done_to(p)
    return None if event is None else plain_calls({"e": event})


# ---------------------------------------------------------------- texts with a beginning


def _part(op: Op) -> Callable[[Parts], Wanted | None]:
    def made(p: Parts) -> Wanted | None:
        return None if p["v"].by_and else Wanted((Comparison((), op, "text", p["v"].said),))

    return made


def _so(p: Parts) -> tuple[Comparison, ...]:
    """`to an iban that starts with RU`."""
    wanted: Wanted = p["p"]
    return tuple(replace(one, path=p["f"]) for one in wanted.every)


def _of_its_object(p: Parts) -> tuple[Event, tuple[Comparison, ...]] | None:
    """`a command containing "rm -rf"`: of what the object of the action is called, or says."""
    event: Event = p["e"]
    if not event.noun or not is_plain(event):
        return None
    return replace(event, outcome=""), _so({**p, "f": (Meant(singular(event.noun[-1])),)})


def _by_verb(p: Parts) -> tuple[Event, tuple[Comparison, ...]] | None:
    thing, verb = p["t"], p["v"]
    if thing.action != verb.action or thing.role:
        return None
    return _of_its_object({**p, "e": thing})


def _never_such(p: Parts) -> Given | None:
    event, conditions = p["o"]
    return statement(plain_calls({"e": event}), conditions)


def _only_such(p: Parts) -> Given | None:
    event, conditions = p["o"]
    return statement(plain_calls({"e": event}), tuple(one.contrary for one in conditions))


def _only_of(p: Parts) -> Given | None:
    """`Only ibans beginning with CH may be added`: of what an argument names."""
    event: Event = p["e"]
    other = "t" in p and p["t"].action != event.action
    if other or not is_plain(event) or event.action < 0:
        return None
    return statement((Calls(event.action),), tuple(one.contrary for one in _so(p)))


# ---------------------------------------------------------------- sizes of what is done


def _bounded(p: Parts) -> Given | None:
    """`A flag may be flipped to 25 percent at most`: what is beyond is forbidden."""
    conditions: tuple[Comparison, ...] = p["c"]
    if any(one.op not in _AT_MOST for one in conditions):
        return None
    return _within(p)


def _never(p: Parts) -> Given | None:
    return statement(plain_calls({"e": p["e"]}), p["c"])


def _only_calls(p: Parts) -> Given | None:
    return statement(p["w"], in_one(tuple(one.contrary for one in p["c"])))


def _reached(p: Parts) -> Wanted:
    number, unit = p["m"]
    return Wanted((Comparison((), ">=", "number", (number,), unit),))


def _never_calls(p: Parts) -> Given | None:
    """`Calls that scale a service with replicas above 20 are forbidden`."""
    calls: tuple[Calls, ...] = p["w"]
    plain = len(calls) == 1 and len(calls[0].asked) == 1
    return statement((Calls(calls[0].action),), calls[0].asked) if plain else None


def _limited(p: Parts) -> Given | None:
    """`For scaling a service the upper limit is 20 replicas`."""
    number, unit = p["m"]
    return by_unit({"w": p["w"], "s": Comparison((), "<=", "number", (number,), unit)}) if unit else None


def _capped(p: Parts) -> Given | None:
    """`Leave approvals are capped at 30 days each`."""
    number, unit = p["m"]
    plain = unit and plain_calls({"e": p["e"]})
    return by_unit({"w": plain, "s": Comparison((), "<=", "number", (number,), unit)}) if plain else None


def _of_field(p: Parts) -> Given | None:
    return statement(p["w"], about(p["f"], p["n"]))


def _within(p: Parts) -> Given | None:
    event = done_to(p) if "t" in p else p["e"]
    if event is None:
        return None
    calls = plain_calls({"e": event, **({"c": p["k"]} if "k" in p else {})})
    return statement(calls, in_one(tuple(one.contrary for one in p["c"])))


def _so_many(p: Parts) -> Given | None:
    """`Add at least 1 and at most 8 nodes at a time`: so many in each call."""
    size, verb, thing = p["s"], p["v"], p["t"]
    if verb.action != thing.action or thing.role or not is_plain(thing) or size.unit or size.type != "number":
        return None
    path = (Counted(thing.noun[-1]),) if thing.noun else AMOUNT_PATH
    return statement(plain_calls({"e": thing}), (replace(size.contrary, path=path),))


def _each_touches(p: Parts) -> Given | None:
    """`A single delete may not hit more than 1000 rows`: so many in each call."""
    event, size = p["e"], p["s"]
    if not (event.single or "no" in p) or size.type != "number" or not compiled(_THINGS).fullmatch(size.unit):
        return None
    broken = replace(size if p["h"] == "never" else size.contrary, path=(Counted(size.unit),))
    return statement(plain_calls({"e": replace(event, single=False)}), (broken,))


_THINGS = (
    r"(?!(?:hours|minutes|seconds|milliseconds|days|weeks|months|years|dollars|euros|pounds|francs|times"
    r"|tries|attempts|retries|calls|runs|failures|errors)$)[a-z]+s"
)

# ---------------------------------------------------------------- whatever call has an argument


def _of_any(p: Parts) -> Given | None:
    """`Urgency must be low, medium or high`: of each call that has such an argument."""
    path, action = p["f"]
    broken: Broken = p["n"]
    said = about(path, broken)
    if broken.lone or not said or any(one.op in ("missing", "given") for one in said):
        return None
    if action != ANY_CALL:
        return statement((Calls(action),), said)
    if is_identifier(path):
        said = tuple(
            replace(one, other=(Identifier(one.other[0]),)) if len(one.other) == 1 else one for one in said
        )
    named = dict.fromkeys(name for one in said for name in (path, one.other) if name)
    return Given((Calls(ANY_CALL, tuple(Comparison(name, "given") for name in named)),), said)


def _all_calls(p: Parts) -> Given | None:
    """`All calls must use environment staging`: all that have it."""
    wanted: Wanted = p["p"]
    named = all(one.op in ("in", "not in") for one in wanted.every)
    if not named or (wanted.lone and not takes_words(p["f"])):
        return None
    broken = tuple(one.contrary for one in wanted.every) if "h" not in p else wanted.every
    said = about(p["f"], Broken(broken, wanted.lone))
    return Given((Calls(ANY_CALL, (Comparison(p["f"], "given"),)),), said) if said else None


def free_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """(an argument named without its action, the action whose it is): `discount codes`, `trip ids`."""
    for path, end in (*one_field(grammar, at), *_named_twice(grammar, at)):
        if is_identifier(path) or len(path) > 1:
            continue
        words = str(path[0]).split("_")
        named = {
            event.action
            for rule in ("noun", "thing", "deed")
            for event, behind in grammar.matches(rule, at)
            if behind <= end and not event.role
        }
        by_itself = not named and (names_an_argument(path) or words[-1] in _NAMES_ONE)
        if len(words) > 1 and words[0] in _OF_TWO:
            yield ((Identifier(path[0]),), ANY_CALL), end
        elif by_itself or (len(words) > 1 and words[-1] == "id"):
            yield (path, ANY_CALL), end
        elif len(words) > 1 and words[-1] in _NAMES_ONE and len(named) == 1:
            yield (path, next(iter(named))), end


def _named_twice(grammar: Grammar, at: int) -> Iterator[Found]:
    """`Discount codes`, of what reads as a deed, too."""
    m = compiled(
        r" *(?:the |an? |every |each |all )?(?P<f>[a-z]+ (?:codes?|ids?|numbers?|types?))(?![\w-])"
    ).match(grammar.text, at)
    if m and any(event.bare or event.noun for event, _ in grammar.matches("noun", at)):
        yield _singular(field_named(m["f"].lower())), m.end()


_OF_TWO = ("new", "old", "source", "target", "minimum", "maximum", "previous")


# ---------------------------------------------------------------- these and no others


def _no_other(p: Parts) -> Given | None:
    """`In EUR or CHF, no other currency`: the words behind say of which argument."""
    return must_be({"w": p["w"], "f": p["f"], "p": p["p"]})


# ---------------------------------------------------------------- signs


def _sign(op: Op) -> Callable[[Parts], Comparison]:
    return lambda p: Comparison((), op, "number", (0,))


def _signed(p: Parts) -> tuple[Comparison, ...]:
    return (replace(p["s"], path=p.get("f", AMOUNT_PATH)),)


def _never_signed(p: Parts) -> Given | None:
    """`Zero or negative bonuses are forbidden`."""
    return statement(plain_calls({"e": p["e"]}), _signed(p))


def _never_signed_by_verb(p: Parts) -> Given | None:
    thing, verb = p["t"], p["v"]
    fits = thing.action == verb.action and not thing.role and is_plain(thing)
    return _never_signed({**p, "e": thing}) if fits else None


def _must_be_signed(p: Parts) -> Given | None:
    """`Bonuses must be positive`, each of them."""
    broken: Broken = p["n"]
    signed = all(one.values == (0,) and not one.unit for one in broken.every)
    return statement(plain_calls({"e": p["e"]}), about(AMOUNT_PATH, broken)) if signed else None


AMOUNT_PATH: Path = (AMOUNT,)


# ---------------------------------------------------------------- two arguments of one call


def _against(op: Op) -> Callable[[Parts], Wanted | None]:
    """Not `the amount paid`, which is that of another call."""
    return lambda p: None if is_done(p["o"]) else Wanted((Comparison((), op, "number", other=p["o"]),))


_USE = "use|have|be_for|be_in|go_to|target|carry|be_on|touch|hit|run_in|happen_in|concern|name|give|pass"
_USES = "use|uses|have|has|go_to|goes_to|target|targets|carry|carries|touch|touches|hit|hits|run_in|runs_in"
_TOUCH = (
    "hit|affect|touch|reach|remove|process|return|change|involve|concern|comprise|cover|include|delete|write"
    "|export|load|update|insert|modify|read|move|copy|send|create|take|carry"
)
_WITH_WHAT = "to|into|in|on|at|for|from|of|with|under|by|against|via|through"
_EACH = "[each|apiece|per_call|at_a_time|at_once|in_one_go|per_request|at_any_time]"
_GO = "go|goes|are_sent|are_made|is_made|run|are_taken|are_written|may_go|must_go|can_go|come|comes"

FITTING: dict[str, Rule] = {
    "field meant": one_field,
    "part": [
        ("[that|which] start|starts|starting|begin|begins|beginning with {v:values}", _part("starts")),
        ("that|which do_not|does_not start|begin with {v:values}", _part("not starts")),
        ("not starting|beginning with {v:values}", _part("not starts")),
        ("[that|which] end|ends|ending|finishing in|with|on {v:values}", _part("ends")),
        ("that|which do_not|does_not end in|with {v:values}", _part("not ends")),
        ("[that|which] contain|contains|containing|including {v:values}", _part("contains")),
        ("that|which do_not|does_not contain {v:values}", _part("not contains")),
        ("with the_prefix|prefix {v:values}", _part("starts")),
        ("prefixed [with] {v:values}", _part("starts")),
        ("whose name|value|code|number|title|text {p:part is}", lambda p: p["p"]),
    ],
    "part is": [
        ("starts|begins with {v:values}", _part("starts")),
        ("does_not start|begin with {v:values}", _part("not starts")),
        ("ends in|with|on {v:values}", _part("ends")),
        ("contains {v:values}", _part("contains")),
    ],
    "with what": [
        (f"{_WITH_WHAT} {{f:field meant}} {{p:part}}", _so),
        (f"{_WITH_WHAT} [either|only] {{f:fields meant}} {{p:choices}}", with_this),
        ("that|which has|have [a|an|the] {f:field} [of] {p:said}", with_this),
        ("with|of|for|at|by a|an|any {s:sign} {f:plain field}", _signed),
        ("with|of|for|at|by {s:sign} {f:field meant}", _signed),
        ("of|by|for {s:zero size}", _signed),
        ("for {c:counted above}", lambda p: p["c"]),
    ],
    "fields meant": fields_meant,
    "who": [("{w:calls that}", lambda p: p["w"])],
    "calls that": [
        ("[all|any|every|each|the] call|calls that|which|to {e:deed} {k:asking}", _such),
        ("[all|any|every|each|the|a] call|calls that|which {e:does} {k:asking}", _such),
    ],
    "whose argument": [
        (
            "[the_number_of] {f:field} [that|which] [a|an|the] {t:thing} is|are {d:done} to|with|by",
            lambda p: (p["f"], w) if (w := _done_calls(p)) else None,
        ),
    ],
    "zero size": [
        ("zero|0 or less|below|under", _sign("<=")),
        ("less_than|under|below zero|0", _sign("<")),
    ],
    "its part": [
        ("{e:deed} {p:part}", _of_its_object),
        ("{e:noun} {p:part}", _of_its_object),
    ],
    "only part": [
        ("{v:verb} only {t:thing} {p:part}", _by_verb),
        ("only {e:deed} {p:part}", _of_its_object),
        (f"only {{e:noun}} {{p:part}} {CAN} be_used|be_made|happen|be_run", _of_its_object),
    ],
    "ban": [
        (f"{NEVER} {{o:its part}}", _never_such),
        (f"{NOBODY} {CAN} [ever] {{o:its part}}", _never_such),
        ("no {o:its part}", _never_such),
        (f"{{o:its part}} is|are {BANNED}", _never_such),
        (f"{NOBODY} {CAN} [ever] {{e:deed}} {{c:with what}}", _never),
        (f"{NOBODY} [ever] {{e:does}} {{c:with what}}", _never),
        (f"{{w:calls that}} is|are {BANNED}", _never_calls),
        (f"{{w:calls that}} {MAY_NOT} [ever] {HAPPEN}", _never_calls),
        ("no {w:calls that}", _never_calls),
        ("no {s:sign} {e:noun}", _never_signed),
        (f"{{s:sign}} {{e:noun}} is|are {BANNED}", _never_signed),
        (f"{{s:sign}} {{e:noun}} {MAY_NOT} [ever] {HAPPEN}", _never_signed),
        (f"{{e:noun}} {{s:zero size}} is|are {BANNED}", _never_signed),
        (f"{NEVER} {{v:verb}} a|an|any|the {{s:sign}} {{t:thing}}", _never_signed_by_verb),
        (f"{NEVER} {{v:verb}} {{s:sign}} {{t:thing}}", _never_signed_by_verb),
        ("{o:only part}", _only_such),
        (f"only {{f:field meant}} {{p:part}} {CAN} be {{e:done}} [as|to|in|for {{t:thing}}]", _only_of),
        ("{e:verb} only {f:field meant} {p:part}", _only_of),
        ("{e:deed} only {f:field meant} {p:part}", _only_of),
        ("only {e:verb} {f:field meant} {p:part}", _only_of),
        (f"{{w:whos}} only {_GO} {{c:with what}}", _only_calls),
        (f"{{w:whos}} {_GO} only {{c:with what}}", _only_calls),
        (f"{{t:thing}} [{{k:asked}}] {CAN} be {{d:done}} {{c:with what}} {_EACH}", _bounded),
        (f"{AGENT} {CAN} {{e:deed}} {{c:with what}} {_EACH}", _bounded),
        (f"{{e:deed}} {{c:with what}} {_EACH}", _bounded),
        ("{v:verb} {s:size} [of] {t:thing} {o:once}", _so_many),
        (f"{{s:size}} [of] {{t:thing}} {CAN} be {{v:done}} {{o:once}}", _so_many),
        (f"{{e:noun}} is|are {CAPPED} at|to {{m:number of}} {_EACH}", _capped),
    ],
    "free field": free_field,
    "none may": [
        (f"{MAY_NOT}|never", lambda p: "never"),
    ],
    "all must": [
        (f"{SHOULD}|{CAN}", lambda p: "must"),
        ("may_only|can_only", lambda p: "must"),
    ],
    "main": [
        (
            f"all|every|each|any call|calls|tool_call|tool_calls {SHOULD}|may_only|can_only [always|only] "
            f"{_USE} {{f:plain field}} [of] {{p:said}} [only]",
            _all_calls,
        ),
        (
            f"all|every|each|any call|calls|tool_call|tool_calls {_USES} {{f:plain field}} [of] {{p:said}} "
            "[only]",
            _all_calls,
        ),
        (
            f"no call|calls|tool_call {CAN}|{SHOULD} [ever] {_USE} {{f:plain field}} [of] {{p:said}}",
            lambda p: _all_calls({**p, "h": "never"}),
        ),
        (
            f"no call|calls|tool_call {_USES} {{f:plain field}} [of] {{p:said}}",
            lambda p: _all_calls({**p, "h": "never"}),
        ),
        (f"{{e:called}} {{h:none may}} [ever] {_TOUCH} {{s:size}}", _each_touches),
        (
            f"{{e:called}} {{h:all must}} {_TOUCH} {{s:size}}",
            lambda p: _each_touches(p) if p["s"].op in _AT_MOST else None,
        ),
        (
            f"no {{e:called}} {CAN}|{SHOULD} [ever] {_TOUCH} {{s:size}}",
            lambda p: _each_touches({**p, "no": True, "h": "never"}),
        ),
        ("{f:free field} {n:needs}", _of_any),
        ("{w:led} the|a upper_limit|maximum|limit|max|cap|ceiling|highest [is|:] {m:number of}", _limited),
        (
            f"{{w:whos}} {SHOULD}|may_only|is|are [always] be_valid_for|stay_valid_for|valid_for "
            "{s:size had}",
            by_unit,
        ),
        ("{e:called} {n:own need}", _must_be_signed),
        (f"{{w:allowed}} {_WITH_WHAT} {{p:choices}} [,] {{f:no other}}", _no_other),
        (
            f"{{w:allowed}} {_WITH_WHAT} {{g:plain field}} {{p:choices}} [,] {{x:nothing else}}",
            lambda p: must_be({"w": p["w"], "f": p["g"], "p": p["p"]}),
        ),
        ("{w:led} {p:choices} [,] {f:no other}", _no_other),
        ("{f:field} {n:needs} , {w:in what}", lambda p: None if p["n"].lone else _of_field(p)),
    ],
    "no other": [
        (f"[and|but] [{_WITH_WHAT}] no|not_any other {{f:field meant}} [at_all]", lambda p: p["f"]),
        (
            f"[and|but] [{_WITH_WHAT}] {{f:field meant}} other_than_these|other_than_that is|are {BANNED}",
            lambda p: p["f"],
        ),
        (f"[and|but] other|all_other|any_other {{f:field meant}} is|are {BANNED}", lambda p: p["f"]),
    ],
    "nothing else": [
        (
            f"[and|but] [{_WITH_WHAT}] nothing_else|no_other|no_others|nowhere_else|no_other_way",
            lambda p: "nothing",
        ),
        (f"[and|but] other|all_other|any_other ways|values|ones is|are {BANNED}", lambda p: "nothing"),
        ("{f:no other}", lambda p: "nothing"),
    ],
    "allowed": [("{e:going_out}", plain_calls)],
    "sign": [
        ("negative|strictly_negative", _sign("<")),
        ("positive|strictly_positive", _sign(">")),
        ("zero|0 or negative", _sign("<=")),
        ("negative or zero|0", _sign("<=")),
        ("non-positive|nonpositive|zero_or_less|0_or_less|zero_or_below", _sign("<=")),
        ("non-negative|nonnegative|zero_or_positive|0_or_positive|zero_or_more", _sign(">=")),
    ],
    "size": [("{s:sign}", lambda p: p["s"])],
    "relation to": [
        (f"{OVER} {{o:its field}}", _against(">")),
        (f"{UNDER} {{o:its field}}", _against("<")),
        (f"{MOST} {{o:its field}}", _against("<=")),
        (f"{LEAST} {{o:its field}}", _against(">=")),
    ],
    "said": [("{p:relation to}", lambda p: p["p"])],
    "do": [
        ("exceed {o:its field}", _against(">")),
        (
            "reach|hit {m:number of}",
            lambda p: Wanted((Comparison((), ">=", "number", (p["m"][0],), p["m"][1]),)),
        ),
        ("be|stay|lie {p:relation to}", lambda p: p["p"]),
    ],
}

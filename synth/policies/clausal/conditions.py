"""What calls may be given, as it is said of an argument in every frame: one part of a sentence for each axis.

Which calls (`calls at`, `such calls`), whose argument (`whose argument`), what is said of it (`values`), and
how the sentence demands it: a requirement, an order, a ban, what is allowed alone, a heading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.asked import AMOUNT
from synth.policies.clausal.argument_words import (
    BE,
    CAN,
    CAP,
    CAPPED,
    EMPTY,
    GIVE,
    GIVEN,
    GIVES,
    GIVING,
    GO_OVER,
    HIGHEST,
    IF,
    IS,
    KEEP,
    LOWEST,
    MAY,
    NEVER,
    NOT_TO,
    OF,
    ONLY_MAY,
    PERMITTED,
    UNLESS,
    USE,
    USED,
    WHEN,
)
from synth.policies.clausal.bans import MAY_NOT, with_this
from synth.policies.clausal.bounds import (
    LEAST,
    MOST,
    OVER,
    UNDER,
    Values,
    among,
    is_identifier,
    names_an_argument,
    takes_words,
)
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand
from synth.policies.clausal.statements import where
from synth.policies.clausal.subjects import Calls, Given, about, done_to, plain_calls, statement
from synth.policies.clausal.values import Broken, Wanted, as_range
from synth.policies.clausal.words import AGENT, BANNED, HAPPEN, SHOULD
from synth.policies.nouns import Meant
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, Op, Path

Conditions = tuple[Comparison, ...]
Asked = tuple[Calls, ...]
_SIZED = ("<", "<=", ">", ">=", "inside", "outside")


def _with_conditions(p: Parts) -> Asked:
    return asking(p["w"], p["c"])


def asking(calls: Asked, conditions: Conditions) -> Asked:
    return tuple(replace(one, asked=(*one.asked, *conditions)) for one in calls)


def _headed(p: Parts) -> Asked | None:
    """`Book inspection, fee > 300: ...`."""
    conditions = with_this(p)
    return asking(p["w"], conditions) if conditions else None


def _done(p: Parts) -> Asked | None:
    event = done_to(p)
    return None if event is None else _such({"e": event, **({"k": p["k"]} if "k" in p else {})})


def _such(p: Parts) -> Asked | None:
    """Calls of an action; with `k` only those with these arguments."""
    calls = plain_calls({"e": p["e"]})
    return asking(calls, p["k"]) if calls and "k" in p else calls


def _such_with(p: Parts) -> tuple[Asked, Conditions] | None:
    """Calls, and what is said of their arguments beside."""
    calls = plain_calls({"e": p["e"]})
    return (calls, p["k"]) if calls else None


def _done_with(p: Parts) -> tuple[Asked, Conditions] | None:
    event = done_to(p)
    return None if event is None else _such_with({"e": event, "k": p["k"]})


def _by_verb(p: Parts) -> Asked | None:
    """`Each reserve you set`."""
    return _done({"t": p["t"], "d": p["v"]})


def _demanded(kind: str) -> Callable[[Parts], Asked | None]:
    """The calls that a main clause forbids, or allows alone."""

    def made(p: Parts) -> Asked | None:
        demand: Demand = p["d"]
        plain = (
            demand.kind == kind
            and demand.how in ("", "do not")
            and not demand.others
            and len(demand.events) == 1
        )
        return plain_calls({"e": demand.events[0]}) if plain else None

    return made


def so(p: Parts) -> Conditions | None:
    """`The loss type is fire`: conditions that hold together."""
    wanted: Wanted = p["p"]
    if len(wanted.every) != 1 or (wanted.lone and not takes_words(p["f"])):
        return None
    return about(p["f"], Broken(wanted.every, wanted.lone))


def _missing(p: Parts) -> Conditions:
    return (Comparison(p["f"], "missing"),)


def _given(p: Parts) -> Conditions:
    return (Comparison(p["f"], "given"),)


def _value_of(p: Parts) -> Conditions | None:
    """`The reminder template`, `"reminder" as the template`."""
    wanted: Wanted = p["p"]
    named = all(one.op == "in" and one.type != "number" for one in wanted.every)
    return with_this(p) if named else None


def sized(op: Op) -> Callable[[Parts], Conditions]:
    return lambda p: (_number(op, p, p["f"]),)


def _number(op: Op, p: Parts, path: Path) -> Comparison:
    number, unit = p["m"]
    is_length = unit == "characters"
    return Comparison(path, op, "length" if is_length else "number", (number,), "" if is_length else unit)


def _counted(p: Parts) -> Conditions | None:
    """`With fewer than 14 deadline days`."""
    size: Comparison = p["s"]
    plain = not size.unit and size.type == "number" and "_" in p["f"][-1]
    return (replace(size, path=p["f"]),) if plain else None


def _without_this(p: Parts) -> Conditions | None:
    """`Without channel sms`: with another."""
    conditions = _value_of(p)
    return _contrary(conditions) if conditions else None


def _done_by(p: Parts) -> Conditions | None:
    """`Deployments approved by alice`."""
    wanted: Wanted = p["p"]
    named = all(one.op in ("in", "not in") and one.type != "number" for one in wanted.every)
    return about(p["f"], Broken(wanted.every, wanted.lone)) if named and len(wanted.every) == 1 else None


def _with_any(p: Parts) -> Conditions | None:
    """`Only with a reason`: one that is given."""
    return _given(p) if names_an_argument(p["f"]) else None


def _all_of(p: Parts) -> Conditions:
    return (*p["c"], *p["x"])


def _asked(p: Parts) -> Conditions | None:
    """What stands behind an action; of two arguments each has a `with` or `whose` of its own."""
    conditions: Conditions = p["c"].every
    return conditions if len({one.path for one in conditions}) == 1 else None


def _contrary(conditions: Conditions) -> Conditions | None:
    return (conditions[0].contrary,) if len(conditions) == 1 else None


def _required(p: Parts) -> Given | None:
    """What must be so of an argument: whatever is not so is forbidden."""
    path, calls = p["x"] if "x" in p else (p["f"], p["w"])
    return statement(calls, about(path, p["n"]))


def must_be(p: Parts) -> Given | None:
    """`Keep the amount at most 500`."""
    return _required({**p, "n": needed(p["p"])})


def needed(wanted: Wanted) -> Broken:
    return Broken(tuple(one.contrary for one in wanted.every), wanted.lone)


def must_not_be(p: Parts) -> Given | None:
    wanted: Wanted = p["p"]
    return _required({**p, "n": Broken(wanted.every, wanted.lone)}) if len(wanted.every) == 1 else None


def one_of(make: Callable[[Parts], Given | None]) -> Callable[[Parts], Given | None]:
    """Of an argument that may be spoken of in the plural: `allowed grades`."""

    def made(p: Parts) -> Given | None:
        path, calls = p["x"] if "x" in p else (p["f"], p["w"])
        one = path if is_identifier(path) or len(path) > 1 else (Meant(singular(path[0])),)
        return make({**p, "x": (one, calls)})

    return made


def _choices(p: Parts) -> Wanted | None:
    """`Suite and deluxe`: any of them."""
    values: Values = p["v"]
    made = among("in")({"v": replace(values, by_and=False)})
    return None if made is None else Wanted((made,), values.said[0] if values.loose else "")


def _limit(op: Op) -> Callable[[Parts], Given | None]:
    """`The maximum amount for a reserve is 500`, `limit the amount to 500`."""
    return lambda p: _required({**p, "n": Broken((_number(op, p, ()),))})


def _per_call(op: Op) -> Callable[[Parts], Given | None]:
    """`Max amount per refund`."""
    return lambda p: _limit(op)({**p, "w": plain_calls({"e": p["e"]})})


def never(p: Parts) -> Given | None:
    """What is forbidden of calls: that all these conditions hold."""
    first, *more = as_range(p["c"])
    return statement(asking(p["w"], tuple(more)), (first,)) if more else statement(p["w"], (first,))


def _only(p: Parts) -> Given | None:
    contrary = _contrary(p["c"])
    return statement(p["w"], contrary)


def _only_with(p: Parts) -> Given | None:
    """`Only adjusters with grade senior may be assigned`."""
    found = _done_with(p)
    return None if found is None else _only({"w": found[0], "c": found[1]})


def _amount(p: Parts) -> Given | None:
    """`A single reserve may not be higher than 500`: its amount."""
    broken: Broken = p["n"]
    if not p["e"].single:
        return None
    sized = all(one.type == "number" and not one.unit and one.op in _SIZED for one in broken.every)
    return statement(plain_calls(p), about((AMOUNT,), broken)) if sized else None


def presence(p: Parts) -> Given | None:
    path, calls = p["x"] if "x" in p else (p["f"], p["w"])
    return statement(calls, (Comparison(path, "missing"),))


def stated(p: Parts) -> Given | None:
    """`Claim rejections must state a reason`: no thing that another action is done to."""
    path: Path = p["f"]
    one_word = is_identifier(path) or "_" not in path[-1]
    return presence(p) if one_word or names_an_argument(path) else None


def _whose(p: Parts) -> tuple[Path, Asked] | None:
    done = compiled(r".*(?:ed|ing)").fullmatch(p["f"][-1]) is not None
    return (p["f"], p["w"]) if p["w"] and (is_identifier(p["f"]) or not done) else None


CONDITIONS: dict[str, Rule] = {
    # which calls
    "base": [
        ("{t:thing} [that|which|who] [is|are|gets|get|was|were|being|to_be] {d:done}", _done),
        (f"{{t:thing}} [that|which|who] {AGENT} {{v:verb}}", _by_verb),
        (f"{{t:thing}} [that|which|who] {AGENT} {{v:verbs}}", _by_verb),
    ],
    "who": [
        ("{w:base}", lambda p: p["w"]),
        ("{w:base} {c:asking}", _with_conditions),
        ("{e:called} {k:asking}", _such),
    ],
    "calls at": [
        (f"{WHEN} {{w:clause}}", lambda p: p["w"]),
        ("to|in_order_to {e:deed}", plain_calls),
    ],
    "clause": [
        (f"{AGENT} {{e:deed}}", _such),
        (f"{AGENT} {{e:does}}", _such),
        (f"{AGENT} {{e:does}} {{k:asking}}", _such),
        (f"{AGENT} {{e:deed}} {{k:asking}}", _such),
        (f"{{t:thing}} {IS} [to_be] {{d:done}}", _done),
        (f"{{t:thing}} {IS} [to_be] {{d:done}} {{k:asking}}", _done),
        (f"{{t:thing}} {{k:asking}} {IS} {{d:done}}", _done),
        ("{e:noun}", plain_calls),
        ("{e:called} {k:asking}", _such),
    ],
    "when given": [("{w:calls at}", lambda p: p["w"])],
    "led": [
        ("{w:calls at} [,|:]", lambda p: p["w"]),
        ("{w:whos} , {f:plain field} {p:said} :", _headed),
    ],
    # whose argument
    "whose argument": [
        (f"{{f:field}} {OF} {{w:whos}}", _whose),
        (f"{{f:field}} [that_is|which_is|to_be] {USED} {OF}|when {{w:whos}}", _whose),
        (f"{{f:field}} [that_is|which_is|to_be] {USED} {{w:when given}}", _whose),
        ("{w:whos} 's {f:field}", _whose),
        (f"the_number_of {{f:plain field}} {OF} {{w:whos}}", _whose),
        ("the_number_of {f:plain field} {w:when given}", _whose),
        ("{w:whos} {f:plain field}", lambda p: _whose(p) if p["f"][-1] not in ("id", "ids") else None),
        ("{f:field} {w:when given}", _whose),
    ],
    # conditions
    "so": [
        ("[the] {f:field} {p:is so}", so),
        (f"no {{f:plain field}} is|was|has_been|are {GIVEN}", _missing),
        (f"{{f:field}} is|was|are|has_been {EMPTY}", _missing),
        (f"{{f:field}} is|was|are|has_been {GIVEN}", _given),
        ("there is no {f:plain field}", _missing),
        ("there is a|an {f:plain field}", _given),
        ("it has no {f:plain field}", _missing),
        (f"{AGENT} have|has no {{f:plain field}}", _missing),
        (f"{AGENT} {GIVE} {{f:field}}", _given),
        (f"{AGENT} {GIVES} {{f:field}}", _given),
        (f"{AGENT} do_not|does_not {GIVE} {{f:field}}", _missing),
    ],
    "all so": [
        ("{c:so}", lambda p: p["c"]),
        ("{c:so} and [if|when] {x:so}", _all_of),
    ],
    "with what": [
        ("with|using|having|carrying {f:field} that|which {p:is so}", with_this),
        ("for|in|of|on which|whom [the] {f:field} {p:is so}", with_this),
        ("with|using|giving|having|setting {p:said} as [the|its|a|an] {f:field}", _value_of),
        ("with|using|by_using|in|on|via|by [the|a|an] {p:said} {f:plain field}", _value_of),
        ("giving|setting|choosing|stating|passing|by_using [the|a|an] {f:field} [of|to] {p:said}", with_this),
        ("for|with|of {f:plain field} {p:prefixed}", with_this),
        ("without [the] {f:plain field} {p:said}", _without_this),
        ("with no|lacking|missing [a|an|the] {f:plain field}", _missing),
        ("[that|which] [is|was|are|were] {f:done by} {p:said}", _done_by),
        (f"with {{f:field}} [that_is|being|left] {EMPTY}", _missing),
        (f"without {GIVING} [a|an|any|the|its] {{f:plain field}}", _missing),
        (f"without [a|an|any|the|its] {{f:plain field}} [being] {GIVEN}", _missing),
        (f"{OVER} [a|an|the] {{f:plain field}} of {{m:number of}}", sized(">")),
        (f"{UNDER} [a|an|the] {{f:plain field}} of {{m:number of}}", sized("<")),
        (f"{MOST} [a|an|the] {{f:plain field}} of {{m:number of}}", sized("<=")),
        (f"{LEAST} [a|an|the] {{f:plain field}} of {{m:number of}}", sized(">=")),
        ("with|for|of {s:size} {f:plain field}", _counted),
    ],
    "with any": [("with|having a|an|some {f:plain field} [given|set|stated|filled_in]", _with_any)],
    "prefixed": [
        ("with the_prefix {v:values}", lambda p: Wanted((Comparison((), "starts", "text", p["v"].said),))),
        ("without the_prefix {v:values}",
         lambda p: Wanted((Comparison((), "not starts", "text", p["v"].said),))),
    ],
    "asking": [
        ("{c:with what}", lambda p: p["c"] if len(p["c"]) == 1 else None),
        ("{c:with what} and {x:asking}", lambda p: _all_of(p) if len(p["c"]) == 1 else None),
        ("{c:asked}", _asked),
        ("{c:with what} {x:asking}", lambda p: _all_of(p) if len(p["c"]) == 1 else None),
        ("{c:asked} {x:asking}", lambda p: _all_of({**p, "c": c}) if (c := _asked(p)) else None),
    ],
    # what may not happen, what may
    "banned": [
        ("{d:demand}", _demanded("never")),
        (f"{NEVER} {{e:deed}}", _such),
        (f"{AGENT} {NOT_TO} [ever] {{e:deed}}", _such),
        (f"no {{t:thing}} {MAY} {BE} {{d:done}}", _done),
        ("no {e:noun}", _such),
        (f"{{e:noun}} is|are {BANNED}", _such),
        ("{b:banned with}", lambda p: asking(*p["b"])),
    ],
    "banned with": [
        (f"{NEVER} {{e:deed}} {{k:asking}}", _such_with),
        (f"{AGENT} {NOT_TO} [ever] {{e:deed}} {{k:asking}}", _such_with),
        (f"{{t:thing}} {NOT_TO} [ever] {BE} {{d:done}} {{k:asking}}", _done_with),
        (f"{{t:thing}} {{k:asking}} {NOT_TO} [ever] {BE} {{d:done}}", _done_with),
        (f"no {{t:thing}} {MAY} {BE} {{d:done}} {{k:asking}}", _done_with),
        (f"no {{t:thing}} {{k:asking}} {MAY} {BE} {{d:done}}", _done_with),
        (f"no {{t:thing}} {IS} {{d:done}} {{k:asking}}", _done_with),
        ("no {e:called} {k:asking}", _such_with),
        (f"no {{e:called}} {{k:asking}} {MAY} {HAPPEN}", _such_with),
        (f"{{e:called}} {{k:asking}} {MAY_NOT} [ever] {HAPPEN}", _such_with),
        (f"{{e:called}} {{k:asking}} is|are {BANNED}", _such_with),
    ],
    "allowed": [
        (f"{{t:thing}} {MAY}|is|are [{BE}] {{d:done}}", _done),
        (f"{{t:thing}} {MAY}|is|are [{BE}] {{d:done}} {{k:asking}}", _done),
        (f"{{t:thing}} {{k:asking}} {MAY}|is|are [{BE}] {{d:done}}", _done),
        (f"{AGENT} {MAY} {{e:deed}}", _such),
        (f"{AGENT} {MAY} {{e:deed}} {{k:asking}}", _such),
        ("{e:deed}", _such),
        ("{e:deed} {k:asking}", _such),
        (f"{{c:value}} is|are {PERMITTED} {OF} {{w:whos}}", _with_conditions),
        (f"{{c:value}} {MAY} be {USED} {OF}|when {{w:whos}}", _with_conditions),
        (f"{{c:value}} is|are {PERMITTED} {{w:when given}}", _with_conditions),
        ("{w:led} {c:value}", _with_conditions),
        (f"{{e:noun}} is|are {PERMITTED}", _such),
        (f"{{e:called}} {{k:asking}} is|are {PERMITTED}", _such),
        (f"{{e:noun}} {MAY} {HAPPEN}", _such),
        ("{e:called} {k:asking}", _such),
        ("{e:noun} {k:asking} [,|:]", _such),
    ],
    "allowed alone": [
        (f"{{t:thing}} {ONLY_MAY} {BE} {{d:done}}", _done),
        (f"{{t:thing}} {ONLY_MAY} {BE} {{d:done}} {{k:asking}}", _done),
        (f"{{t:thing}} {{k:asking}} {ONLY_MAY} {BE} {{d:done}}", _done),
        ("{t:thing} [{k:asking}] is|are only [to_be] {d:done}", _done),
        (f"{AGENT} {ONLY_MAY} {{e:deed}}", _such),
        (f"{AGENT} {ONLY_MAY} {{e:deed}} {{k:asking}}", _such),
        ("only {e:deed}", _such),
        ("only {e:deed} {k:asking}", _such),
        (f"{{c:value}} is|are only {PERMITTED} {OF} {{w:whos}}", _with_conditions),
        (f"{{c:value}} {ONLY_MAY} be {USED} {OF}|when {{w:whos}}", _with_conditions),
        (f"{{e:noun}} is|are only {PERMITTED}", _such),
        (f"{{e:called}} {{k:asking}} is|are only {PERMITTED}", _such),
        (f"{{e:noun}} {ONLY_MAY} {HAPPEN}", _such),
    ],
    "turned": [
        ("may|can|must|should|shall|is|are {t:thing} [be|get] {d:done}", _done),
        ("may|can|must|should|shall|is|are {t:thing} [be|get] {d:done} {k:asking}", _done),
        (f"may|can|must|should|shall {AGENT} {{e:deed}}", _such),
        (f"may|can|must|should|shall {AGENT} {{e:deed}} {{k:asking}}", _such),
    ],
    # whole sentences
    "so main": [
        ("{b:banned with}", lambda p: never({"w": p["b"][0], "c": p["b"][1]})),
        (f"{{w:banned}} [,] {IF} {{c:all so}}", never),
        (f"{IF} {{c:all so}} , [then] {{w:banned}}", never),
        (f"{{w:banned}} [,] {UNLESS} {{c:so}}", _only),
        (f"{UNLESS} {{c:so}} , {{w:banned}}", _only),
        (f"{{w:allowed}} [,|:] only|solely|exclusively {IF} {{c:so}}", _only),
        ("{w:allowed} [,|:] only|solely|exclusively {c:asking}", _only),
        ("{w:allowed} [,|:] only|solely|exclusively {c:with any}", _only),
        ("{w:allowed alone} {c:with any}", _only),
        (f"{{w:allowed alone}} [,] {IF} {{c:so}}", _only),
        ("{w:allowed alone} {c:asking}", _only),
        ("{w:allowed} {c:asking} only", _only),
        (f"only {{t:thing}} {{k:asking}} {CAN} {BE} {{d:done}}", _only_with),
        (f"only {IF} {{c:so}} {{w:turned}}", _only),
        ("only {c:asking} {w:turned}", _only),
        ("{w:whos} {c:asking} : never|no|forbidden|prohibited|not_allowed|not_permitted|do_not", never),
        ("{w:led} never|not|no {c:asking}", never),
        ("{w:led} only {c:asking}", _only),
        ("{c:with what} , {w:banned}", never),
        ("{w:allowed} , but never|not {c:asking}", never),
        ("{f:field} {p:said} [:|,] {w:banned}", lambda p: never({**p, "c": so(p)}) if so(p) else None),
    ],
    "what is given": [
        ("{g:so main}", lambda p: p["g"]),
        ("if|when|whenever|where {u:so} , [then] {g:so main}", where),
    ],
    "main": [
        ("{x:whose argument} [:] {n:needs}", _required),
        ("{e:called} {n:own need}", _amount),
        ("{w:whos} has|have [always] [the|a|an] {f:plain field} [of] {p:said}", must_be),
        # orders
        (f"[{{z:duty}}] {KEEP} {{x:whose argument}} [at|to] {{p:said}}", must_be),
        (f"{{w:led}} [{{z:duty}}] {KEEP} {{f:field}} [at|to] {{p:said}}", must_be),
        (f"[{{z:duty}}] {KEEP} {{f:field}} [at|to] {{p:said}} {{w:when given}}", must_be),
        (f"[{{z:duty}}] {KEEP} {{f:field}} [at|to] {{p:said}} {OF} {{w:whos}}", must_be),
        (f"{{w:whos}} {NOT_TO}|never [ever] have {{f:field}} [of] {{p:said}}", must_not_be),
        (f"{{w:whos}} {NOT_TO} [ever] {GO_OVER} a|an|the {{f:plain field}} of {{m:number of}}", _limit(">")),
        (f"{{w:led}} {{z:not to}} {GO_OVER} a|an|the {{f:plain field}} of {{m:number of}}", _limit(">")),
        (f"{{w:whos}} is|are|must_be {CAPPED} to|at a|an|the {{f:plain field}} of {{m:number of}}",
         _limit(">")),
        (f"{{w:whos}} is|are|must_be {CAPPED} to [the] {{f:plain field}} {{p:choices}}", one_of(must_be)),
        (f"{{x:whose argument}} {{p:said}} is|are {BANNED}", one_of(must_not_be)),
        (f"[{{z:duty}}] {CAP} {{x:whose argument}} to|at {{m:number of}}", _limit(">")),
        (f"[{{z:duty}}] {CAP} {{f:field}} to|at {{m:number of}} {{w:when given}}", _limit(">")),
        (f"{{w:led}} [{{z:duty}}] {CAP} {{f:field}} to|at {{m:number of}}", _limit(">")),
        # headings of limits
        (f"[the] {HIGHEST} {{f:plain field}} per {{e:noun}} [is|:|=|of] {{m:number of}}", _per_call(">")),
        (f"[the] {LOWEST} {{f:plain field}} per {{e:noun}} [is|:|=|of] {{m:number of}}", _per_call("<")),
        (f"[the] {HIGHEST} [allowed|permitted] {{x:whose argument}} [is|:|=|must_be|of] {{m:number of}}",
         _limit(">")),
        (f"[the] {LOWEST} [allowed|permitted] {{x:whose argument}} [is|:|=|must_be|of] {{m:number of}}",
         _limit("<")),
        (f"{{w:led}} [the|a] {HIGHEST} {{f:plain field}} [is|:|=|of] {{m:number of}}", _limit(">")),
        (f"{{w:led}} [the|a] {LOWEST} {{f:plain field}} [is|:|=|of] {{m:number of}}", _limit("<")),
        # values that are used
        (f"{{z:not to}} {USE} {{o:value}} {OF}|when {{w:whos}}", lambda p: never({**p, "c": p["o"]})),
        (f"{{z:not to}} {USE} {{o:value}} {{w:when given}}", lambda p: never({**p, "c": p["o"]})),
        (f"{{w:led}} {{z:not to}} {USE} {{o:value}}", lambda p: never({**p, "c": p["o"]})),
        (f"{{w:whos}} {NOT_TO} [ever] {USE}|have {{o:value}}", lambda p: never({**p, "c": p["o"]})),
        (f"{{o:value}} {NOT_TO} [ever] be {USED} {OF}|when {{w:whos}}",
         lambda p: never({**p, "c": p["o"]})),
        (f"{{o:value}} {NOT_TO} [ever] be {USED} {{w:when given}}", lambda p: never({**p, "c": p["o"]})),
        (f"{{o:value}} is|are {BANNED} {OF}|when {{w:whos}}", lambda p: never({**p, "c": p["o"]})),
        (f"{{o:value}} is|are {BANNED} {{w:when given}}", lambda p: never({**p, "c": p["o"]})),
        (f"only {USE} {{o:value}} {OF}|when {{w:whos}}", lambda p: _only({**p, "c": p["o"]})),
        (f"only {USE} {{o:value}} {{w:when given}}", lambda p: _only({**p, "c": p["o"]})),
        (f"{{w:led}} only|always {USE} {{o:value}}", lambda p: _only({**p, "c": p["o"]})),
        (f"only {{o:value}} {MAY} be {USED} {OF}|when {{w:whos}}", lambda p: _only({**p, "c": p["o"]})),
        (f"only {{o:value}} is|are {PERMITTED} {OF}|when {{w:whos}}", lambda p: _only({**p, "c": p["o"]})),
    ],
    "not to": [(f"{NEVER}", lambda p: "never"), (f"{AGENT} {NOT_TO} [ever]", lambda p: "never")],
    "duty": [(f"{AGENT} {SHOULD} [always]", lambda p: "must"), ("always", lambda p: "must")],
    "choices": [("[either|only] {v:values}", _choices)],
    "all but": [("other_than|except|but|besides|apart_from|except_for {p:choices}",
                 lambda p: Wanted(tuple(one.contrary for one in p["p"].every), p["p"].lone))],
    "value": [
        ("[the] {f:plain field} [to|of|=] {p:said}", _value_of),
        ("[the] {p:said} {f:plain field}", _value_of),
        ("{p:said} as [the|a|an|its] {f:plain field}", _value_of),
        ("{p:said} for [the|a|an|its] {f:plain field}", _value_of),
    ],
}  # fmt: skip

"""What calls are given, said in passing: `approved by dean or chair`, `granted for 90 days at most`."""

from __future__ import annotations

from collections.abc import Iterator

from synth.policies.action_forms import singular
from synth.policies.asked import field_named
from synth.policies.clausal.bans import MAY_NOT, NEVER, called_with, size_alone, with_this
from synth.policies.clausal.bounds import Identifier, among
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.statements import NEED, by_unit, where
from synth.policies.clausal.subjects import Given, about, done_to, plain_calls, statement
from synth.policies.clausal.values import Broken, Wanted
from synth.policies.clausal.words import AGENT, BANNED, SHOULD
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, Path, compared

_DECIDED = (
    "approved|authorised|authorized|signed|reviewed|requested|confirmed|released|ordered|verified|cleared"
    "|countersigned|checked"
)
_NOBODY_IN_PARTICULAR = (
    r"(?:hand|phone|e-?mail|mail|letter|fax|chat|default|law|policy|us|staff|humans?|people|some(?:one|body)"
    r"|any(?:one|body)|every(?:one|body)|no(?:body| one)|noon|midnight|tomorrow|today|now|then|that|this"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d.*)\b"
)
_OF_TIME = compiled(r"(?:days|weeks|months|years|nights)")
_FLAGS = "force|sudo|overwrite|recursive|debug|dry_run|skip_checks|no_verify|express"


def done_by(grammar: Grammar, at: int) -> Iterator[Found]:
    """`Approved by`: the argument that says by whom, where no action of the file is to approve."""
    m = compiled(rf" *(?P<d>{_DECIDED}) by(?= )(?! (?:the )?{_NOBODY_IN_PARTICULAR})").match(grammar.text, at)
    if m and not grammar.matches("done", at):
        yield (Identifier(f"{m['d'].lower()}_by"),), m.end()


def flag(grammar: Grammar, at: int) -> Iterator[Found]:
    """`Force`: an argument that is set or not."""
    m = compiled(
        rf" *(?:the )?(?P<f>{_FLAGS})(?: (?:flag|option|switch))?(?: (?:set|on|enabled|true))?(?![\w'=-])"
    ).match(grammar.text, at)
    if m:
        yield (compared((m["f"].lower(),), "in", (True,)),), m.end()


def fields(grammar: Grammar, at: int) -> Iterator[Found]:
    """`Roles`, `the grades`: an argument that is spoken of in the plural."""
    m = compiled(r" *(?:(?:the|our) )?(?:only )?(?P<f>[a-z]+s)(?![\w'-])").match(grammar.text, at)
    if m and singular(m["f"].lower()) != m["f"].lower():
        yield field_named(singular(m["f"].lower())), m.end()


def _by_whom(p: Parts) -> Given | None:
    wanted: Wanted = p["p"]
    contrary = Broken(tuple(one.contrary for one in wanted.every), wanted.lone)
    return statement(p["w"], about(p["f"], contrary)) if _is_named(wanted) else None


def _not_by(p: Parts) -> Given | None:
    return statement(p["w"], called_with(p)) if _is_named(p["p"]) else None


def _is_named(wanted: Wanted) -> bool:
    """Is it one of some values, and no size, or an argument beside?"""
    return all(one.op in ("in", "not in") and one.type != "number" for one in wanted.every)


def _never_as(p: Parts) -> Given | None:
    """`Must never use email as method`."""
    return statement(p["w"], called_with(p))


def _always_as(p: Parts) -> Given | None:
    wanted: Wanted = p["p"]
    contrary = Broken(tuple(one.contrary for one in wanted.every), wanted.lone)
    return statement(p["w"], about(p["f"], contrary))


def _given_for(p: Parts) -> Given | None:
    """`Leave is granted for 2 to 52 weeks`; what lasts for at least 2 may end no sooner, which differs."""
    event = done_to(p)
    size: Comparison = p["s"]
    if event is None or (size.op in (">", ">=") and _OF_TIME.fullmatch(size.unit)):
        return None
    return by_unit({"w": plain_calls({"e": event}) or (), "s": size})


def _may_be_given_for(p: Parts) -> Given | None:
    """`Access can be granted for at most 90 days`; where it can be more than that, nothing is forbidden."""
    size: Comparison = p["s"]
    return _given_for(p) if size.op in ("<", "<=", "inside") else None


def _from_a_size_on(p: Parts) -> Given | None:
    """`From 200 upwards a refund must have a reason`."""
    asked = size_alone(p)
    return None if asked is None else where({**p, "u": asked})


def _where_so(p: Parts) -> Given | None:
    """`On system sap the only roles we grant are viewer and buyer`."""
    asked = with_this(p)
    return None if asked is None else where({**p, "u": asked})


def _only_these(p: Parts) -> Given | None:
    """`The only roles we grant are viewer and buyer`: whatever else they are is forbidden."""
    values = p["v"]
    comparison = among("not in")(p)
    if comparison is None:
        return None
    lone = values.said[0] if values.loose else ""
    return statement(plain_calls({"e": p["d"]}), about(p["f"], Broken((comparison,), lone)))


def _needed_so(p: Parts) -> Given | None:
    """`Needs a reason, it may not be empty`."""
    path: Path = p["f"]
    more = None if p["n"].lone else about(path, p["n"])
    return statement(p["w"], tuple(dict.fromkeys((Comparison(path, "missing"), *more)))) if more else None


def _never_with(p: Parts) -> Given | None:
    return statement(plain_calls({"e": p["e"]}), p["c"])


_BE_ONLY = f"is|are|is_only|are_only|is_always|are_always|{SHOULD}|may_only|can_only"

PASSING: dict[str, Rule] = {
    "done by": done_by,
    "flag": flag,
    "some fields": fields,
    "what is given": [
        ("{s:size} [,] {g:main}", _from_a_size_on),
        ("on|for|in|at|with {f:field} {p:said} [,] {g:main}", _where_so),
    ],
    "main": [
        (f"{{w:whos}} {_BE_ONLY} [always|only] [be] {{f:done by}} {{p:said}}", _by_whom),
        (f"{{w:whos}} {MAY_NOT}|is_never|are_never [ever] [be] {{f:done by}} {{p:said}}", _not_by),
        (f"{{w:whos}} {MAY_NOT} [ever] use {{p:said}} as [the|a|its|their] {{f:plain field}}", _never_as),
        (
            f"{NEVER} use {{p:said}} as [the|a|its|their] {{f:plain field}} in|of|for|to|when {{w:whos}}",
            _never_as,
        ),
        (
            f"{{w:whos}} {SHOULD}|may_only|can_only [always|only] use {{p:said}} as [the|a|its|their] "
            "{f:plain field}",
            _always_as,
        ),
        (f"{{t:thing}} {_BE_ONLY} [only|always] [be] {{d:done}} for {{s:size}}", _given_for),
        ("{t:thing} may|can be {d:done} for {s:size}", _may_be_given_for),
        (
            f"{{f:some fields}} {AGENT} {{d:verb}} is|are|: [only] {{v:values}} [,] [and] "
            "[only|nothing_else]",
            _only_these,
        ),
        (
            f"{{w:whos}} {NEED} a|an|some|the {{f:plain field}} , [and|but] it|they|that|this {{n:own need}}",
            _needed_so,
        ),
        (f"{NEVER} {{e:deed}} with|using {{c:flag}}", _never_with),
        ("no {e:noun} with|using {c:flag}", _never_with),
        (f"{{e:noun}} with|using {{c:flag}} is|are {BANNED}", _never_with),
    ],
    "do": [
        (
            "be {o:its field} himself|herself|itself|themselves",
            lambda p: Wanted((Comparison((), "same", other=p["o"]),)),
        ),
    ],
}

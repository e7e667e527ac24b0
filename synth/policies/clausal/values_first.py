"""Values that stand before their argument, or need another one, and what must be given at all."""

from __future__ import annotations

from synth.policies.clausal.argument_words import (
    ALLOWED,
    AS,
    EMPTY,
    FORBIDDEN,
    GIVE,
    MAY,
    NEEDED,
    NOT_TO,
    OF,
    ONLY_MAY,
    PERMITTED,
    USE,
    USED,
)
from synth.policies.clausal.bounds import takes_words
from synth.policies.clausal.conditions import (
    asking,
    must_be,
    must_not_be,
    needed,
    never,
    one_of,
    presence,
    so,
    stated,
)
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.subjects import Given, about, statement
from synth.policies.clausal.values import Wanted
from synth.policies.clausal.words import AGENT, BANNED, SHOULD


def _must_where(p: Parts) -> Given | None:
    """`Refund: if the method is cash, the country must be CH`."""
    path, broken = p["d"]
    return statement(asking(p["w"], p["c"]), about(path, broken))


def _value_needs(p: Parts) -> Given | None:
    """`Method cash only for country CH in refunds`."""
    conditions = so(p)
    more: Wanted = p["q"]
    if not conditions or (more.lone and not takes_words(p["g"])):
        return None
    return statement(asking(p["w"], conditions), about(p["g"], needed(more)))


VALUES_FIRST: dict[str, Rule] = {
    "so main": [
        ("{w:whos} [,] {c:asking} : forbidden|prohibited|banned|never|no|not_allowed|not_permitted", never),
        ("{w:whos} , {f:plain field} = {p:said} : forbidden|prohibited|banned|never|no|not_allowed",
         lambda p: never({**p, "c": so(p)}) if so(p) else None),
        ("{w:led} if|when|where|whenever {c:so} , {d:so must be}", _must_where),
        ("if|when|where|whenever {c:so} , {d:so must be} {w:in what}", _must_where),
        ("{f:plain field} {p:said} needs|requires|is_only_for|only_for|only_with|only_on|only_in|only_if"
         "|is_only_allowed_with|is_only_allowed_for|only_when [the] {g:plain field} [is|of|=] {q:said} "
         "{w:in what}", _value_needs),
    ],
    "main": [
        # given at all
        (f"[{{z:duty}}] {GIVE} {{f:field}} {{w:when given}}", stated),
        (f"{{w:led}} [{{z:duty}}] {GIVE} {{f:field}}", stated),
        (f"{{w:whos}} {SHOULD} [always] {GIVE} {{f:field}}", stated),
        (f"{{x:whose argument}} is|are {NEEDED}", presence),
        ("{w:led} no {f:plain field} {p:said}", must_not_be),
        (f"{{f:plain field}} of {{p:said}} is|are {BANNED} in|for|on|with|when {{w:whos}}",
         one_of(must_not_be)),
        (f"{{w:led}} no {EMPTY} {{f:plain field}}", presence),
        (f"no {EMPTY} {{x:whose argument}}", presence),
        (f"{{w:whos}} {NOT_TO} [ever] have a|an|the {EMPTY} {{f:plain field}}", stated),
        (f"leave|have no {{f:plain field}} {EMPTY} {{w:when given}}", stated),
        ("{w:whos} [:|,] never without a|an|the|its {f:plain field}", stated),
        (f"{{z:not to}} leave {{x:whose argument}} {EMPTY}", presence),
        (f"{{z:not to}} leave {{f:field}} {EMPTY} {{w:when given}}", presence),
        (f"{{w:led}} {{z:not to}} leave {{f:field}} {EMPTY}", presence),
        # headings of values
        (f"[the] {ALLOWED} {{x:whose argument}} {AS} {{p:said}}", one_of(must_be)),
        (f"[the] {FORBIDDEN} {{x:whose argument}} {AS} {{p:said}}", one_of(must_not_be)),
        (f"{{w:led}} [the] {ALLOWED} {{f:plain field}} {AS} {{p:said}}", one_of(must_be)),
        (f"[the] {ALLOWED} {{x:whose argument}} {AS} {{p:choices}}", one_of(must_be)),
        (f"only [the] {{f:plain field}} {{p:choices}} is|are {PERMITTED} {OF}|when {{w:whos}}",
         one_of(must_be)),
        (f"only [the] {{f:plain field}} {{p:choices}} {MAY} be {USED} {OF}|when {{w:whos}}",
         one_of(must_be)),
        (f"no {{f:plain field}} {{p:all but}} {MAY} be {USED} {OF}|when {{w:whos}}",
         one_of(must_not_be)),
        (f"no {{f:plain field}} {{p:all but}} is|are {PERMITTED} {OF}|when {{w:whos}}",
         one_of(must_not_be)),
        (f"{{z:not to}} {USE} a|any|another {{f:plain field}} {{p:all but}} {OF}|when {{w:whos}}",
         must_not_be),
        (f"{AGENT} {MAY} {USE} any {{f:plain field}} {{p:all but}} {OF}|when {{w:whos}}", must_be),
        (f"{{p:said}} is|are not|never [a|an|the] {ALLOWED} {{x:whose argument}}", one_of(must_not_be)),
        (f"{{p:said}} is|are [a|an|the] {FORBIDDEN} {{x:whose argument}}", one_of(must_not_be)),
        (f"{{p:said}} is|are {BANNED} as [a|an|the] {{x:whose argument}}", one_of(must_not_be)),
        (f"{{w:led}} [the] {FORBIDDEN} {{f:plain field}} {AS} {{p:said}}", one_of(must_not_be)),
        (f"only {{p:choices}} is|are {PERMITTED} as [the|a|an|its] {{f:plain field}} {OF}|when {{w:whos}}",
         one_of(must_be)),
        (f"only {{p:choices}} {MAY} be {USED} as [the|a|an|its] {{f:plain field}} {OF}|when {{w:whos}}",
         one_of(must_be)),
        (f"[{{z:duty}}] [only|always] {USE} {{p:choices}} as {{f:field}} {{w:when given}}",
         must_be),
        (f"[{{z:duty}}] [only|always] {USE} {{p:choices}} as {{f:field}} {OF} {{w:whos}}",
         must_be),
        (f"{{w:led}} [{{z:duty}}] [only|always] {USE} {{p:choices}} as {{f:field}}",
         must_be),
        (f"{AGENT} {ONLY_MAY} {USE} {{p:choices}} as {{f:field}} {OF}|when {{w:whos}}",
         must_be),
        (f"{{w:whos}} {ONLY_MAY} {USE}|have|be [the|a|an] {{f:plain field}} [of] {{p:choices}}", must_be),
        ("{w:whos} : any {f:plain field} {p:all but}", must_be),
        (f"never|no {{p:said}} as [the|a|an] {{f:plain field}} {OF}|when {{w:whos}}", must_not_be),
        ("never|no {p:said} as [the|a|an] {f:plain field} {w:when given}", must_not_be),
    ],
    "so must be": [("[the] {f:field} {n:own need}", lambda p: (p["f"], p["n"]))],
}  # fmt: skip

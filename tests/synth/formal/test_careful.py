"""Conditions over values of which not everything is known."""

from __future__ import annotations

from typing import Any

import pytest

from synth.formal.cel import CannotEvaluate, condition
from synth.formal.partly import HIDDEN, REST, Unknown

CUT = Unknown("cut", where="args.x")
MORE = Unknown("cut", rest=True, where="args.l")
HASHED = Unknown("hashed", type="str", length=3, digest="aa", key="k", where="args.h")
OTHER = Unknown("hashed", type="str", length=3, digest="ab", key="k", where="args.h2")
ARGS: dict[str, Any] = {
    "x": CUT,
    "y": 2,
    "q": Unknown("cut", begins="SELECT a", length=100, where="args.q"),
    "l": [1, 2, MORE],
    "r": [MORE],
    "o": {REST: MORE},
    "m": {"a": 1, REST: Unknown("cut", rest=True, where="args.m")},
    "n": {"a": CUT},
    "f": [CUT, 3],
    "h": HASHED,
    "h2": OTHER,
    "k": {f"{HIDDEN}0": 5, REST: Unknown("hashed", rest=True, where="args.k")},
}


def lookup(name: str, *asked: Any) -> Any:
    found = {"x": CUT, "y": 3}
    return found if name == "last" else [found]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("args.x == 1", None),
        ("args.x==1||args.y==2", True),
        ("args.x==1 && args.y==3", False),
        ("has(args.x)", True),
        ("has(args.zz)", False),
        ("has(args.m.b)", None),
        ("has(args.m.a)", True),
        ("args.q.startsWith('SELECT')", True),
        ("args.q.startsWith('DROP')", False),
        ("args.q.startsWith('SELECT abc')", None),
        ("args.q.contains('a')", True),
        ("args.q.contains('z')", None),
        ("args.q == 'x'", False),
        ("args.q != 'x'", True),
        ("args.l.exists(i, i == 2)", True),
        ("args.l.exists(i, i == 9)", None),
        ("args.l.all(i, i < 2)", False),
        ("args.l.all(i, i < 9)", None),
        ("args.r.exists(i, args.y == 2)", None),
        ("args.r.exists(i, args.y == 3)", False),
        ("args.r.all(i, args.y == 3)", None),
        ("args.r.all(i, args.y == 2)", True),
        ("args.l.exists(i, args.y == 2)", True),
        ("args.l.all(i, args.y == 3)", False),
        ("args.m.exists(k, k == 'b' || args.y == 2)", True),
        ("args.o.exists(k, k == 'b' || args.y == 2)", None),
        ("args.o.all(k, k == 'b' && args.y == 3)", None),
        ("args.k.exists(k, args.y == 2)", True),
        ("[args.x].exists(i, args.y == 2)", True),
        ("args.l.exists(i, args.r.exists(j, args.y == 2))", None),
        ("size(args.l) == 3", None),
        ("args.l.size() > 1", None),
        ("args.l[0] == 1", True),
        ("args.l[2] == 1", None),
        ("2 in args.l", True),
        ("7 in args.l", None),
        ("'a' in args.m", True),
        ("'b' in args.m", None),
        ("'b' in args.n", False),
        ("args.m == {'a': 2}", False),
        ("args.m == {'a':1}", None),
        ("args.l == [2]", False),
        ("args.h == args.h2", False),
        ("args.h == args.h", True),
        ("args.h == 'abcd'", False),
        ("args.h=='abc'", None),
        ("args.y < 3 ? args.y == 2 : args.x == 1", True),
        ("args.x < 3", None),
        ("!(args.x == 1)", None),
        ("args.l.filter(i, i > 1).size() == 1", None),
        ("[args.y, args.x][0] == 2", True),
        ("{'k': args.x, 'l': 3}.l == 3", True),
        ("args.f.size() == 2", True),
        ("args.f.exists_one(i, i == 3)", None),
        ("args.f.map(i, i)[1] == 3", None),
        ("string(args.y) == '2'", True),
        ("args['x'] == 1", None),
        ("args['y'] == 2", True),
        ("args.m.exists(k, k == 'a')", True),
        ("args.m.exists(k, k=='b')", None),
        ("args.m.all(k, k=='b')", False),
        ("args.n.a == 3 || has(args.n.a)", True),
        ("args.y in [1,2]", True),
        ("args.x in [1,2]", None),
        ("duration('3s') == duration('3s')", True),
        ("double(args.y) / 2.0 == 1.0", True),
        ("args.zz == 3", None),
        ("type(args.y) == int", True),
        ("args.q.matches('SEL')", None),
        ("args == args", None),
        ("args.y == 2.0", True),
        ("[1,2].exists(i, args.l.exists(j, i == j))", True),
        ("null == args.x", None),
        ("last('a').x == 3", None),
        ("last('a').y == 3", True),
        ("size(earlier('a')) == 1", True),
        ("args.k.exists(k, args.k[k] == 5)", None),
        ("args.k == {'a': 5}", None),
        ("[args.x, args.y].exists(i, i == 2)", True),
        ("[args.x].exists(i, i == 2)", None),
        ("args.l.map(i, 1).size() == 3", None),
        ("args.l.exists_one(i, i == 2)", None),
        ("args.q.startsWith('SELECT a') && args.q.startsWith('D')", False),
        ("{'a': args.x} == {'a': 1}", None),
        ("{'b': args.x} == {'a': 1}", False),
    ],
)
def test_what_the_known_parts_decide_is_decided(text: str, holds: bool | None) -> None:
    said = condition(text, ("args",))
    if holds is None:
        with pytest.raises(CannotEvaluate):
            said.holds({"args": ARGS}, lookup, careful=True)
    else:
        assert said.holds({"args": ARGS}, lookup, careful=True) is holds


def test_the_reason_names_what_is_missing() -> None:
    with pytest.raises(CannotEvaluate, match=r"not known: args\.x was cut"):
        condition("args.x < 3", ("args",)).holds({"args": ARGS}, careful=True)
    with pytest.raises(CannotEvaluate, match=r"not known: args\.h is known as a hash only"):
        condition("args.h", ("args",)).holds({"args": ARGS}, careful=True)


@pytest.mark.parametrize(
    "text",
    [
        "args.y + 1 == 3 && args.s.matches('^a') && size(args.s) == 3",
        "has(args.y) && !has(args.z) && args['y'] == 2.0",
        "args.t.filter(i, i > 1).map(i, i * 2) == [4, 6]",
        "args.t.exists_one(i, i == 2) && 3 in args.t && !('z' in args)",
        "timestamp('2026-01-01T00:00:00Z') + duration('1h') > timestamp('2026-01-01T00:30:00Z')",
        "(args.y > 1 ? args.s : 'b') == 'abc' && args.s.endsWith('c') && type(args.y) == int",
        "args.t.all(i, [i, args.y].exists(j, j > 0)) && {'k': args.t}.k[0] == 1 && -args.y < 0",
        "last('a').y == 3 && args.u == null && bytes(args.s) == b'abc' && uint(args.y) == 2u",
    ],
)
def test_whole_values_are_judged_as_ever(text: str) -> None:
    args = {"y": 2, "s": "abc", "t": [1, 2, 3], "u": None}
    said = condition(text, ("args",))
    assert said.holds({"args": args}, lambda *asked: {"y": 3}) is True
    assert said.holds({"args": args}, lambda *asked: {"y": 3}, careful=True) is True

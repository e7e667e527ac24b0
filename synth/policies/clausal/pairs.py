"""Two arguments of one call side by side, as a condition: `if source and target are the same`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.bounds import Identifier, is_identifier
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.subjects import Given, statement
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, Op

_ALIKE = "the_same|identical|equal|alike|one_and_the_same|the_same_one|the_same_person|not_different"
_UNLIKE = "different|not_the_same|not_equal|not_identical|distinct|unequal|not_alike|two_different_ones"
_EQUALS = "equals|matches|is_the_same_as|is_identical_to|is_identical_with|is_equal_to|equal|match"
_DIFFERS = (
    "differs_from|is_different_from|is_not_the_same_as|does_not_equal|does_not_match|is_not_equal_to"
    "|is_other_than|is_not_identical_to|is_distinct_from"
)


def _two(op: Op) -> Callable[[Parts], tuple[Comparison, ...] | None]:
    return lambda p: None if p["f"] == p["g"] else (Comparison(p["f"], op, other=p["g"]),)


_SIDES = (("from", "to"), ("source", "target"), ("old", "new"), ("source", "destination"))


def two_sides(grammar: Grammar, at: int) -> Iterator[Found]:
    """`From and to account`: both arguments of that name."""
    for one, other in _SIDES:
        m = compiled(rf" *(?:the )?{one} and (?:the )?{other} (?P<f>[a-z]+)\b").match(grammar.text, at)
        if m and m["f"].lower() not in _VERBS:
            name = singular(m["f"].lower())
            yield ((Identifier(f"{one}_{name}"),), (Identifier(f"{other}_{name}"),)), m.end()


def side(grammar: Grammar, at: int) -> Iterator[Found]:
    """An argument by its name, in which no verb stands: not `source must`."""
    for path, end in grammar.matches("field", at):
        if not {*str(path[-1]).split("_")} & _VERBS or is_identifier(path):
            yield path, end


_VERBS = {"must", "may", "can", "should", "shall", "will", "have", "has", "always", "never",
          "is", "are", "differ", "match", "do", "coincide", "agree"}  # fmt: skip


def _alike(p: Parts) -> Given | None:
    """`From and to account of a transfer can't be the same`."""
    (first, second), wanted = p["s"], p["n"]
    return statement(p["w"], (replace(wanted.every[0], path=first, other=second),))


def _sides(op: Op) -> Callable[[Parts], tuple[Comparison, ...]]:
    return lambda p: (Comparison(p["s"][0], op, other=p["s"][1]),)


PAIRS: dict[str, Rule] = {
    "pair so": [
        (f"[both] {{f:side}} and {{g:side}} is|are [always] {_ALIKE}", _two("same")),
        ("[both] {f:side} and {g:side} match|coincide|agree", _two("same")),
        (f"[both] {{f:side}} and {{g:side}} is|are [always] {_UNLIKE}", _two("differs")),
        ("[both] {f:side} and {g:side} differ|do_not_match|do_not_coincide", _two("differs")),
        (f"{{s:two sides}} is|are [always] {_ALIKE}", _sides("same")),
        ("{s:two sides} match|coincide|agree", _sides("same")),
        (f"{{s:two sides}} is|are [always] {_UNLIKE}", _sides("differs")),
        ("{s:two sides} differ|do_not_match", _sides("differs")),
        (f"{{f:side}} {_EQUALS} {{g:its field}}", _two("same")),
        (f"{{f:side}} {_DIFFERS} {{g:its field}}", _two("differs")),
    ],
    "two sides": two_sides,
    "side": side,
    "main": [
        ("{s:two sides} of|in|for|on {w:whos} {n:alike}", _alike),
        ("{w:led} {s:two sides} {n:alike}", _alike),
        ("{s:two sides} {n:alike} {w:when given}", _alike),
        ("{w:whos} {s:two sides} {n:alike}", _alike),
    ],
    "so": [("{c:pair so}", lambda p: p["c"])],
    "with what": [
        ("whose|where {c:pair so}", lambda p: p["c"]),
        ("with [the] same|equal|identical {f:side} and {g:side}", _two("same")),
        ("with [the] {f:plain field} identical_to|equal_to|the_same_as {g:its field}", _two("same")),
        ("with [the] {f:plain field} different_from|other_than {g:its field}", _two("differs")),
        ("with {f:side} and {g:side} the_same|identical|equal", _two("same")),
    ],
}

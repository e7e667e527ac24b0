"""Policy sentences: the language of the queries, and the forms that only policies have.

A sentence that no extra form matches is read by the grammar of the queries (`synth.parse`): order and
clock times. In policies `must be followed by` demands an answer to every trigger, which the queries'
language does not say; there it is plain order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

from synth.constraints import Before, EndsBy, StartsFrom
from synth.errors import BadInput
from synth.policies.kinds import Rule
from synth.policies.model import Tools, some_of
from synth.policies.order_kinds import (
    NANOSECONDS,
    AbsenceAfter,
    Adjacency,
    Count,
    Gap,
    NoOverlap,
    Paths,
    Precedence,
    Response,
    Window,
)
from synth.policies.turn import Alone

if TYPE_CHECKING:
    from synth.lexer import Vocabulary

MUST = r"(?:must|should|shall|has to|have to|needs to|need to)"
HAPPEN = r"(?:happen|occur|take place|be (?:done|called|performed|carried out|executed|started))"
TIME = r"(?P<amount>\d+(?:\.\d+)?) ?(?P<unit>milliseconds?|ms|seconds?|s|minutes?|min|hours?|h|days?)"
NUMBERS = {"once": 1, "twice": 2, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10}
UNITS = {"ms": 10**6, "mil": 10**6, "s": NANOSECONDS, "m": 60 * NANOSECONDS, "h": 3600 * NANOSECONDS}
UNITS |= {"d": 86400 * NANOSECONDS}

_SAME = re.compile(r"^(?P<rest>.+?),? with the same (?P<fields>[^\s,;]+(?: and [^\s,;]+)*)$", re.I)


class Names:
    """The actions that sentences may name."""

    def __init__(self, actions: Mapping[str, Tools]) -> None:
        self.actions = actions
        """By phrase."""
        self._plain = {_plain(phrase): tools for phrase, tools in actions.items()}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names as the grammar of the queries wants them; made for the first sentence it reads."""
        from synth.lexer import Vocabulary  # the language half, only for files that have sentences

        return Vocabulary({"id": phrase, "phrase": phrase} for phrase in self.actions)

    def list(self, text: str) -> tuple[Tools, ...]:
        """`a and b and "c and d"` as actions: names first, longest match; BadInput for unknown names."""
        found: list[Tools] = []
        words = self._known(text)
        if words is not None:
            return (words,)
        rest = text.strip()
        while rest:
            action, rest = self._first(rest)
            found.append(action)
        return tuple(found)

    @staticmethod
    def is_tool(text: str) -> bool:
        """Can the text be the name of a tool, or a pattern for some?"""
        return re.fullmatch(r"[\w.:/*-]+", text) is not None

    def _first(self, text: str) -> tuple[Tools, str]:
        parts = re.split(r"\s+and\s+", text)
        for count in range(len(parts), 0, -1):
            head = self._known(" and ".join(parts[:count]))
            if head is not None:
                return head, " and ".join(parts[count:])
        raise BadInput(self._unknown(parts[0]))

    def _known(self, text: str) -> Tools | None:
        name = _plain(text)
        return self._plain.get(name) or self._plain.get(_plain(name.removeprefix("call ")))

    def _unknown(self, name: str) -> str:
        close = get_close_matches(_plain(name), list(self._plain), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"no action is called {name.strip()!r} (expected one of {some_of(list(self.actions))}){hint}"


def _plain(phrase: str) -> str:
    text = " ".join(phrase.strip(' "“”').casefold().split())
    return text.removeprefix("the ")


def read_sentence(sentence: str, names: Names) -> Rule:
    """The rule that one sentence states. BadInput says what cannot be read, and lists the forms."""
    text = " ".join(sentence.split())
    if not text:
        raise BadInput("the sentence is empty")
    body = text.removesuffix(".").strip()
    same: Paths = ()
    if with_same := _SAME.match(body):
        body, same = with_same["rest"], _same_fields(with_same["fields"])
    for pattern, build in FORMS:
        if match := pattern.fullmatch(body):
            rule = build(match, names, same)
            if same and not isinstance(rule, Precedence | Response):
                raise BadInput("only order (`before`) and `followed by` can ask for the same arguments")
            return rule
    return _by_grammar(f"{body}.", names, same)


def _same_fields(text: str) -> Paths:
    return tuple((tuple(f.split(".")), tuple(f.split("."))) for f in re.split(r" and ", text))


def _by_grammar(sentence: str, names: Names, same: Paths) -> Rule:
    from synth.parse import read_paragraph  # the language half, only for files that have sentences

    said = read_paragraph(sentence, names.vocabulary)
    orders = [c for c in said.constraints if isinstance(c, Before)]
    limits = [c for c in said.constraints if isinstance(c, EndsBy | StartsFrom)]
    if orders and limits:
        raise BadInput("one sentence states an order and a clock time; write two policies")
    if orders:
        pairs = tuple((names.actions[c.first], names.actions[c.then]) for c in orders)
        return Precedence(pairs, same)
    if same:
        raise BadInput("only order (`before`) and `followed by` can ask for the same arguments")
    return Window(tuple(_window_limits(limits, names)))


def _window_limits(
    limits: list[EndsBy | StartsFrom], names: Names
) -> Iterator[tuple[Tools, int | None, int | None]]:
    for phrase in dict.fromkeys(c.action for c in limits):
        since = [c.time for c in limits if c.action == phrase and isinstance(c, StartsFrom)]
        until = [c.time for c in limits if c.action == phrase and isinstance(c, EndsBy)]
        yield names.actions[phrase], max(since, default=None), min(until, default=None)


# ---------------------------------------------------------------- the extra forms


def _pairs(first: str, then: str, names: Names) -> tuple[tuple[Tools, Tools], ...]:
    return tuple((a, b) for a in names.list(first) for b in names.list(then))


def nanoseconds(match: re.Match[str]) -> int:
    unit = match["unit"].lower()
    size = UNITS.get(unit) or UNITS.get(unit[:3]) or UNITS[unit[0]]
    return round(float(match["amount"]) * size)


def _response(m: re.Match[str], names: Names, same: Paths) -> Rule:
    return Response(_pairs(m["a"], m["b"], names), nanoseconds(m) if m["amount"] else None, same)


def _never(m: re.Match[str], names: Names, same: Paths) -> Rule:
    if m["b"]:
        return AbsenceAfter(_pairs(m["b"], m["a"], names))
    return Count(names.list(m["a"]), most=0)


def _count(m: re.Match[str], names: Names, same: Paths) -> Rule:
    word = m["n"].lower()
    count = int(word) if word.isdigit() else NUMBERS[word]
    how = m["how"].lower()
    return Count(
        names.list(m["a"]),
        least=count if how in ("at least", "exactly") else None,
        most=count if how in ("at most", "exactly", "no more than") else None,
    )


def _adjacent(m: re.Match[str], names: Names, same: Paths) -> Rule:
    first, then = (m["a"], m["b"]) if m["side"].lower() == "before" else (m["b"], m["a"])
    return Adjacency(_pairs(first, then, names))


def _gap(m: re.Match[str], names: Names, same: Paths) -> Rule:
    time = nanoseconds(m)
    pairs = _pairs(m["b"], m["a"], names)
    return Gap(pairs, within=time) if m["how"].lower() == "within" else Gap(pairs, least=time)


def _overlap(m: re.Match[str], names: Names, same: Paths) -> Rule:
    return NoOverlap(_pairs(m["a"], m["b"], names))


def _overlap_each_other(m: re.Match[str], names: Names, same: Paths) -> Rule:
    actions = names.list(m["a"])
    if len(actions) == 1:
        return NoOverlap(((actions[0], actions[0]),))
    return NoOverlap(tuple((a, b) for i, a in enumerate(actions) for b in actions[i + 1 :]))


def _alone(m: re.Match[str], names: Names, same: Paths) -> Rule:
    return Alone(names.list(m["a"]))


Build = Callable[[re.Match[str], Names, Paths], Rule]

FORMS: tuple[tuple[re.Pattern[str], Build], ...] = tuple(
    (re.compile(form, re.IGNORECASE), build)
    for form, build in (
        (rf"(?P<a>.+?) {MUST} be followed by (?P<b>.+?)(?:,? within {TIME})?", _response),
        (rf"(?P<a>.+?) {MUST} (?:never|not) {HAPPEN}(?: after (?P<b>.+))?", _never),
        (
            rf"(?P<a>.+?) {MUST} {HAPPEN} (?P<how>at most|at least|exactly|no more than) "
            rf"(?P<n>\d{{1,6}}|{'|'.join(NUMBERS)})(?: times?)?",
            _count,
        ),
        (rf"(?P<a>.+?) {MUST} {HAPPEN} immediately (?P<side>before|after) (?P<b>.+)", _adjacent),
        (
            rf"(?P<a>.+?) {MUST} (?:start|begin|{HAPPEN}) (?P<how>within|at least) {TIME} "
            r"(?:after|of) (?P<b>.+)",
            _gap,
        ),
        (rf"(?P<a>.+?) {MUST} not overlap(?: each other)?", _overlap_each_other),
        (rf"(?P<a>.+?) {MUST} (?:not|never) overlap (?:with )?(?P<b>.+)", _overlap),
        (rf"(?P<a>.+?) {MUST} be alone in (?:its|their) turn", _alone),
    )
)
"""Tried in this order; what none matches is read by the grammar of the queries."""

"""Rules of some calls alone: `... unless urgency is emergency`, `In cluster prod no drains`.

A clause about an argument is taken out of its sentence. What is left is read as all sentences are, and the
calls that its rule limits, or by which it is asked for, are those of which the clause is true. Whose argument
is meant must be clear: the one that the clause names, or that of the action whose rule it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from synth.errors import BadInput
from synth.policies.asked import asked_at
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.marks import places_of, says_an_action
from synth.policies.names import Names, Tools, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.rearranged import required
from synth.policies.value_clauses import Every, Said, clauses_at
from synth.policies.where import Where

Read = Callable[[str], PolicyKind]
"""Reads a whole sentence; BadInput where it cannot."""

MAX_READ = 400
"""Code points of a sentence in which clauses are looked for."""
_BUT = r"unless|except when|except if|except where|except for|except|other than|save for|but not"
_SO = r"if|when|whenever|where|in case|in the case that|provided that|provided"
_LEADS = compiled(rf"(?P<only>only )?(?P<how>{_BUT}|{_SO}) (?:it is |it was |this is )?(?=\S)")
_BESIDE = compiled(r"(?P<only>only )?(?P<how>(?=(?:with|in|for|at|on|of|under|by) ))")
_LEADING = 60
"""Code points in which what stands in front without a comma ends."""
_TRAILS = compiled(
    rf",? (?P<only>only )?(?P<how>{_BUT}|{_SO}|(?=(?:with|in|for|at|on|of|under|by) )) ?"
    r"(?:it is |it was |this is |those |the ones )?(?=\S)"
)
_DOES = compiled(r" (?:needs?|requires?|must|may|can|should|has to|have to|is|are) ")


@dataclass(frozen=True, slots=True)
class _Cut:
    """A sentence without one clause, and what that says."""

    rest: str
    said: Said
    but: bool
    """Is it what is excepted?"""
    only: bool
    beside: bool
    """Is it no clause, but what stands behind a word?"""
    leads: bool
    words: str


def of_some_calls(body: str, names: Names, read: Read) -> PolicyKind | None:
    """The rule of a sentence with a clause about arguments; None where there is none.

    TwoReadings where the clause may be said of two actions, or the sentence means two rules.
    """
    if len(body) > MAX_READ:
        return None
    found: dict[PolicyKind, None] = {}
    open_: TwoReadings | None = None
    for cut in _cuts(body, names):
        if any(says_an_action(every, names) for every in cut.said.ways):
            continue
        try:
            rule = _without(cut, names, read)
        except TwoReadings as two:
            open_ = open_ or two
            continue
        if rule is not None:
            found[rule] = None
    if len(found) > 1:
        raise TwoReadings("cannot read this sentence in one way, as its condition may be said of two things")
    if not found and open_ is not None:
        raise open_
    return next(iter(found), None)


def _cuts(body: str, names: Names) -> Iterator[_Cut]:
    """The clauses of a sentence: in front, behind, or between commas."""
    for pattern in (_LEADS, _BESIDE):
        if m := pattern.match(body):
            for said in clauses_at(body, m.end(), names):
                then = compiled(r",?(?: then)? (?=\S)" if m["how"] == "" else r"(?:,(?: then)?| then) (?=\S)")
                if behind := then.match(body, said.end):
                    yield _cut(body[behind.end() :], said, m, body[: said.end], leads=True)
            for space in re.finditer(" ", body[:_LEADING] if m["how"] == "" else ""):
                for said in clauses_at(body[: space.start()], m.end(), names):
                    if said.end == space.start():
                        yield _cut(body[space.end() :], said, m, body[: said.end], leads=True)
    for done, condition in required(body, names):
        asked = asked_at(f" {condition}", 0)
        if asked is not None and asked.end == len(condition) + 1:
            said = Said((asked.every,), len(body))
            yield _Cut(done, said, but=True, only=False, beside=True, leads=True, words=condition)
    for m in _TRAILS.finditer(body):
        for said in clauses_at(body, m.end(), names):
            only = compiled(r",? only$").match(body, said.end)
            if said.end == len(body) or (only and not m["only"]):
                yield _cut(body[: m.start()], said, m, body[m.start() :].strip(" ,"), only=bool(only))
            elif (m[0].startswith(",") and body[said.end] == ",") or (
                m["how"].lower() in _BUT.split("|") and _DOES.match(body, said.end)
            ):
                rest = f"{body[: m.start()]}{body[said.end :].removeprefix(',')}"
                yield _cut(rest, said, m, body[m.start() : said.end].strip(" ,"))


def _cut(
    rest: str, said: Said, m: re.Match[str], words: str, leads: bool = False, only: bool = False
) -> _Cut:
    how = m["how"].lower()
    but = compiled(_BUT).fullmatch(how) is not None
    return _Cut(rest, said, but, bool(m["only"]) or only, not how, leads, words)


def _without(cut: _Cut, names: Names, read: Read) -> PolicyKind | None:
    """The rule of the rest, of the calls that the clause speaks of; None where the rest is none."""
    only = cut.only or (not cut.but and _ONLY_SO.search(cut.rest) is not None)
    if only and (cut.but or compiled(r"\bonly\b.*\bonly\b").search(cut.rest)):
        return None
    if not cut.only:
        rule = _read(cut.rest, read)
        if rule is not None:
            return _asked(rule, cut, _holding(cut, cut.but), names)
    if not only:
        return None
    for ban in _bans(cut.rest):
        rule = _read(ban, read)
        if rule is not None and _is_plain_ban(rule):
            return _asked(rule, cut, _holding(cut, contrary=True), names)
    return None


def _read(rest: str, read: Read) -> PolicyKind | None:
    try:
        return read(rest)
    except TwoReadings:
        raise
    except BadInput:
        return None


def _is_plain_ban(rule: PolicyKind) -> bool:
    return isinstance(rule, Count) and rule.most == 0 and not rule.least and rule.ended is None


_ONLY_SO = compiled(
    r"\bonly\b(?! (?:after|before|between|on|from|within|during|at|once|with|by|in|for|up to|until|if|when"
    r"|\d))"
)
"""What is allowed under a condition alone; `only after` says its own."""
_MAY = r"(?:may|can|must|should|shall|could|might|will)\b(?! not| never)"


def _bans(rest: str) -> Iterator[str]:
    """Of what is allowed under a condition alone, what forbids it: `only pause restaurants`."""
    bare = " ".join(compiled(r",? ?\bonly\b").sub("", rest).split())
    for pattern, ban in (
        (rf"\b{_MAY}", "must never"),
        (r"\b(?:is|are) (?:allowed|permitted|possible|ok|okay|to happen)\b", "must never happen"),
        (r"\b(?:is|are|gets?) (?=[a-z]+(?: [a-z]+)?$)", "must never be "),
    ):
        said = compiled(pattern).sub(ban, bare, count=1)
        if said != bare:
            yield said
    yield f"Never {bare[:1].lower()}{bare[1:]}"
    yield f"No {bare[:1].lower()}{compiled(' and ').sub(' or ', bare[1:])}"


def _holding(cut: _Cut, contrary: bool) -> Every | None:
    """What is true of the calls that are meant; None where it is no list of comparisons that all hold."""
    ways = cut.said.ways
    if not contrary:
        return ways[0] if len(ways) == 1 else None
    if any(len(every) != 1 for every in ways):
        return None
    return tuple(every[0].contrary for every in ways)


# ---------------------------------------------------------------- whose argument it is

_SUBJECT = {
    "precedence": 1, "adjacency": 1, "gap": 1, "times_before": 1, "absence_after": 1, "response": 0,
    "failure_first": 1,
}  # fmt: skip
"""Which of the two actions of a rule it limits, or is asked for by."""
_BEFORE_IT = compiled(
    r"(?:only )?(?:after|once|before|when|whenever|if|unless|until|following|as soon as|without|within|while"
    r"|every time|each time|on|between) [^,]*, "
)


def _asked(rule: PolicyKind, cut: _Cut, every: Every | None, names: Names) -> PolicyKind | None:
    """The rule with the condition at the action that it is said of."""
    if every is None:
        raise BadInput(
            f"cannot read {cut.words!r}: of several conditions, write which calls the rule is about"
        )
    roles = _roles(rule)
    if not roles or (isinstance(rule, Count) and rule.least):
        return None
    if len(roles) == 1:
        return None if cut.beside and not cut.leads and len(roles[0]) > 1 else _with(rule, 0, every)
    subject = _SUBJECT[rule.kind]
    if cut.beside and not cut.leads:
        return None
    if not _is_clear(roles, subject, cut, names) and not _needs_it(rule, roles, cut):
        if cut.said.owner:
            return None
        where = Where(every).words
        ways = " or ".join(f"'{tools.phrase} {where}'" for own in roles for tools in own[:1])
        raise TwoReadings(
            f"cannot read {cut.words!r}, as it leaves open whose argument is meant; say {ways} in its place"
        )
    return _with(rule, subject, every)


def _roles(rule: PolicyKind) -> tuple[tuple[Tools, ...], ...]:
    """The actions of a rule by what it says of them; () of a rule with more of them than are told apart."""
    if rule.kind in _SUBJECT:
        pairs: tuple[tuple[Tools, Tools], ...] = rule.pairs  # type: ignore[attr-defined]
        return tuple(tuple(dict.fromkeys(own)) for own in zip(*pairs, strict=True))
    what: Tools | tuple[Tools, ...] | None = getattr(rule, "what", None)
    if what is None and rule.kind == "window":
        what = tuple(tools for tools, _, _ in rule.limits)  # type: ignore[attr-defined]
    if what is None or hasattr(rule, "other"):
        return ()
    return ((what,) if isinstance(what, Tools) else what,)


def _is_clear(roles: Sequence[tuple[Tools, ...]], subject: int, cut: _Cut, names: Names) -> bool:
    """Is it the main action of the sentence whose argument is meant?"""
    own, other = (
        {name for tools in role for name in tools.names} for role in (roles[subject], roles[1 - subject])
    )
    if own & other:
        return False
    text = cut.rest
    while m := _BEFORE_IT.match(text):
        text = text[m.end() :]
    words = [cut.said.owner] if cut.said.owner else re.findall(r"[\w-]+", text)
    for word in words:
        meant = {name for place in places_of(word, names) for name in names.actions[place.phrase].names}
        if meant & own and not meant & other:
            return True
        if meant & other and not meant & own:
            return False
    return False


def _needs_it(rule: PolicyKind, roles: Sequence[tuple[Tools, ...]], cut: _Cut) -> bool:
    """`If the amount is over 500, approve must happen before pay`: such payments need it.

    Where it were said of what is needed, the other action would need such a one always, and no `if` says so.
    """
    own, other = ({name for tools in role for name in tools.names} for role in roles)
    return rule.kind == "precedence" and not cut.said.owner and not own & other


def _with(rule: PolicyKind, role: int, every: Every) -> PolicyKind:
    def asks(tools: Tools) -> Tools:
        had = tools.where
        joint = " and " if had else " "
        where = Where((*had.every, *every) if had else every)
        return replace(tools, phrase=f"{tools.phrase}{joint}{Where(every).words}", where=where)

    changed: dict[str, Any] = {"clauses": ()} if getattr(rule, "clauses", ()) else {}
    if rule.kind in _SUBJECT:
        pairs: tuple[tuple[Tools, Tools], ...] = rule.pairs  # type: ignore[attr-defined]
        changed["pairs"] = tuple(
            (asks(first), then) if role == 0 else (first, asks(then)) for first, then in pairs
        )
    elif rule.kind == "window":
        changed["limits"] = tuple((asks(what), *times) for what, *times in rule.limits)  # type: ignore[attr-defined]
    else:
        what: Tools | tuple[Tools, ...] = rule.what  # type: ignore[attr-defined]
        changed["what"] = asks(what) if isinstance(what, Tools) else tuple(map(asks, what))
    return replace(rule, **changed)  # type: ignore[type-var]

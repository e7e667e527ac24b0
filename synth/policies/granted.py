"""The rule of a sentence whose main statement is what calls may be given."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.bounds import is_identifier
from synth.policies.clausal.depending import AsLatest, NeededFirst
from synth.policies.clausal.events import Action, actions_of
from synth.policies.clausal.givens import depending, given
from synth.policies.clausal.kinds_of_verbs import PROPOSES
from synth.policies.clausal.subjects import ANY_CALL, Given
from synth.policies.composed import quoted
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.marks import places_of
from synth.policies.names import Names, Tools, TwoReadings
from synth.policies.nouns import MONEY, Meant
from synth.policies.patterns import compiled
from synth.policies.verbs import past_of
from synth.policies.where import Comparison, Op, Path, Where

MAX_SHOWN = 2
_SOME_ARGUMENT = compiled(r"\bwith (?:an|any|some|no) argument (?=[\"\u201c])")
"""That is of whichever argument has the value."""


def granted(sentence: str, names: Names) -> PolicyKind | None:
    """The ban of what a sentence does not allow; None where it is no such sentence.

    TwoReadings where it may be said of calls of several actions, or in several ways.
    """
    body = " ".join(sentence.split()).removesuffix(".").strip()
    if _SOME_ARGUMENT.search(body):
        return None
    phrases = tuple(names.actions)
    found = given(_by_phrases(body, names), phrases)
    found = tuple(one for one in found if not _of_an_action(one, body, names))
    if any(one.other for statement in found for one in statement.broken):
        found = tuple(one for one in found if any(c.other for c in one.broken))
    rules = list(dict.fromkeys(_rule_of(one, names, phrases, body) for one in found))
    if len(rules) > 1:
        ways = " or ".join(quoted(_said(rule)) for rule in rules[:MAX_SHOWN])
        raise TwoReadings(f"cannot read this sentence in one way; write {ways}")
    return rules[0] if rules else None


def _of_an_action(one: Given, body: str, names: Names) -> bool:
    """Is it said of what an action does: `if the status is approved`, `carry a review`, `page on-call`?"""
    phrases = {phrase.casefold() for phrase in names.actions}
    conditions = [*one.broken, *(asked for calls in one.calls for asked in calls.asked)]
    done = "|".join({past_of(phrase.split()[0].casefold()) for phrase in names.actions if phrase.strip()})
    for asked in conditions:
        name = str(asked.path[-1])
        if any(f"{name.replace('_', ' ')} {value}".casefold() in phrases for value in asked.values):
            return True
        if (
            asked.op in ("missing", "given")
            and not is_identifier(asked.path)
            and places_of(name.split("_")[-1], names)
        ):
            return True
        if asked.op in ("in", "not in") and name in ("status", "state") and '"' not in body:
            return True
        told = [v for v in asked.values if isinstance(v, str) and compiled(done).fullmatch(v)]
        if asked.op in ("in", "not in") and any(f'"{v}"' not in body for v in told):
            return True
    return False


def said_of_some(sentence: str, names: Names) -> tuple[str, ...]:
    """The sentences of the language for one that says what such calls need, or what they must equal."""
    body = " ".join(sentence.split()).removesuffix(".").strip()
    if _SOME_ARGUMENT.search(body):
        return ()
    phrases = tuple(names.actions)
    every = _of_the_same_thing(depending(_by_phrases(body, names), phrases), phrases, body)
    found = [way for one in every for way in _ordered(one, phrases)]
    said = dict.fromkeys(_in_words(one, phrases, body) for one in found)
    return () if body.casefold() in map(str.casefold, said) else tuple(said)


def _of_the_same_thing(
    every: tuple[NeededFirst | AsLatest, ...], phrases: tuple[str, ...], body: str
) -> tuple[NeededFirst | AsLatest, ...]:
    """`A payout may not exceed the amount approved`, of a loan: what approves loans, and not transfers."""
    actions = {action.number: action for action in actions_of(phrases)}
    latest = [one for one in every if isinstance(one, AsLatest)]
    if len({one.other for one in latest}) < 2 or len({one.what for one in latest}) > 1:
        return every
    own = [one for one in latest if actions[one.other].nouns[-1:] == actions[one.what].nouns[-1:]]
    others = {noun for one in latest if one not in own for noun in actions[one.other].nouns[-1:]}
    named = any(compiled(rf"\b{singular(noun)}").search(body) for noun in others)
    return tuple(own) if own and not named else every


def _in_words(one: NeededFirst | AsLatest, phrases: tuple[str, ...], body: str) -> str:
    if isinstance(one, NeededFirst):
        [calls] = one.calls
        phrase = phrases[calls.action]
        where = Where(tuple(dict.fromkeys(_plainly(asked, phrase, body) for asked in calls.asked)))
        unit = " ".join(one.unit for one in where.every if one.unit and one.unit != one.path[-1])
        return f"{phrases[one.first]} must happen before {phrase} {where.words} {unit}".rstrip()
    same = f" with the same {one.same}" if one.same else ""
    own = _name(one.path, phrases[one.what], body)
    other = _name(one.beside, phrases[one.other], body)
    that = "that" if own == other else f"the {other}"
    how = one.how if one.how in ("equal", "differ from") else f"be {one.how}"
    return f"The {own} of {phrases[one.what]} must {how} {that} of {phrases[one.other]}{same}"


def _ordered(one: NeededFirst | AsLatest, phrases: tuple[str, ...]) -> tuple[NeededFirst | AsLatest, ...]:
    """In both orders, where it is open which call comes first: what is proposed is checked, and then done.

    That is known of what is done to one thing: the approval of a release may come before a merge, or after.
    """
    if isinstance(one, NeededFirst) or one.order == "as said":
        return (one,)
    actions = {action.number: action for action in actions_of(phrases)}
    calls = [actions[number] for number in (one.what, one.other)]
    what, other = map(_step, calls)
    turned = replace(one, what=one.other, path=one.beside, other=one.what, beside=one.path)
    if what != other and (one.same or len({call.nouns[-1:] for call in calls if call.nouns}) < 2):
        return (one if what > other else turned,)
    return (one, turned) if one.order == "open" else (one,)


def _step(action: Action) -> int:
    """0 of what proposes something, 1 of a check, 2 of anything else."""
    return 1 if action.is_check else 0 if action.verb in PROPOSES else 2


def _prefix(one: Comparison) -> Comparison:
    """`The policy number prefix must be "HH-"`: the policy number must start so."""
    name = str(one.path[-1])
    if one.op not in ("in", "not in") or not name.endswith("_prefix") or is_identifier(one.path):
        return one
    op: Op = "starts" if one.op == "in" else "not starts"
    return Comparison((Meant(name.removesuffix("_prefix")),), op, "text", one.values)


def _plainly(asked: Comparison, phrase: str, body: str) -> Comparison:
    """`The inspection fee` of what books inspections is the fee."""
    return replace(asked, path=_named_plainly(asked.path, phrase, body))


def _named_plainly(path: Path, phrase: str, body: str) -> Path:
    if len(path) == 1 and isinstance(path[0], Meant) and singular(path[0]) in MONEY:
        return (Meant(singular(path[0])),)
    noun = singular(phrase.split()[-1].casefold())
    name = str(path[-1]).removeprefix(f"{noun}_")
    if name == path[-1] and name in _TELLING_WHICH and compiled(rf"\b{noun}s? {name}s?\b").search(body):
        return (Meant(f"{noun}_{name}"),)
    if len(path) > 1 or not isinstance(path[0], Meant) or is_identifier(path) or name in _TELLING_WHICH:
        return path
    return path if name == path[-1] else (Meant(name),)


def _name(path: Path, phrase: str, body: str) -> str:
    return ".".join(_named_plainly(path, phrase, body))


_TELLING_WHICH = ("id", "number", "no", "name", "code", "type", "key", "ref", "kind")
"""What is said of a thing beside, and tells nothing alone."""


def _by_phrases(body: str, names: Names) -> str:
    """The sentence with the phrase of an action in place of its tool's name."""
    tools = Counter(tool for one in names.actions.values() for tool in one.names)
    for phrase, one in names.actions.items():
        if len(one.names) == 1 and "_" in one.names[0] and tools[one.names[0]] == 1 and one.where is None:
            body = compiled(rf"(?<![\w\"]){re.escape(one.names[0])}(?![\w\"])").sub(
                phrase.replace("\\", ""), body
            )
    return body


def _rule_of(one: Given, names: Names, phrases: tuple[str, ...], body: str) -> Count:
    what = []
    for calls in one.calls:
        known = (
            Tools("any tool", ("*",)) if calls.action == ANY_CALL else names.actions[phrases[calls.action]]
        )
        for comparison in one.broken:
            comparison = _prefix(comparison)
            own = (_plainly(asked, known.phrase, body) for asked in (*calls.asked, comparison))
            where = Where(tuple(dict.fromkeys((*known.asked, *own))))
            what.append(replace(known, phrase=f"{known.phrase} {where.words}", where=where))
    return Count(tuple(what), most=0)


def _said(rule: Count) -> str:
    return f"{' and '.join(tools.phrase for tools in rule.what)} must never happen"

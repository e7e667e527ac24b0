"""Numbers that leave open what they count: of two actions joined by `or`, of several things, before another.

The rule was read, and its sentence has a second meaning that it does not say: TwoReadings says both.
"""

from __future__ import annotations

from collections.abc import Iterable

from synth.counted import counted
from synth.policies.clausal.events import Action, actions_of
from synth.policies.clausal.kinds_of_verbs import is_another_each_time
from synth.policies.composed import quoted
from synth.policies.kinds.arguments import with_the_same
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import HAPPEN, MUST, PolicyKind
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.times import CALENDAR_DAY, duration_in_words
from synth.policies.kinds.times_before import TimesBefore
from synth.policies.names import Tools, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.verbs import deeds_of, past_of
from synth.policies.whose_numbers import not_other_numbers

_CANONICAL = compiled(rf"\b{MUST} (?:{HAPPEN}|fail|succeed) (?:at most|no more than|exactly)\b")
_TOGETHER = compiled(
    r"\b(?:together|altogether|in total|in all|overall|combined|all told|in sum|any of|whichever"
    r"|no matter (?:which|what)|whatever|of (?:them|the two))\b"
)
_CALLS = compiled(r"\bcalls?\b(?! of)")
_OR = compiled(r"\b(?:or|nor)\b|/")


def no_open_count(sentence: str, rule: PolicyKind, phrases: Iterable[str]) -> None:
    """TwoReadings where it is open what is counted together; `phrases` name the actions of the file."""
    _not_of_calling(sentence, rule, phrases)
    _not_of_either(sentence, rule)
    _not_of_several(sentence, rule)
    _not_before(sentence, rule)
    not_other_numbers(sentence, rule, phrases)


def _not_of_calling(sentence: str, rule: PolicyKind, phrases: Iterable[str]) -> None:
    """`At most 2 calls` are two of any tool, or two in which somebody is called."""
    if not isinstance(rule, Count | Rate) or not rule.most or not any(t.names == ("*",) for t in rule.what):
        return
    calling = next((phrase for phrase in phrases if phrase.casefold().startswith("call ")), None)
    if calling is not None and _CALLS.search(sentence):
        limit = f"{_limit(rule)}{_same(rule)}"
        either = " or ".join(quoted(f"{phrase} {limit}") for phrase in ("Any tool", calling))
        raise TwoReadings(f"cannot read 'calls' in one way; write {either}")


def _not_of_either(sentence: str, rule: PolicyKind) -> None:
    """`At most 2 restarts or tests` are two of both together, or two of each."""
    if not isinstance(rule, Count | Rate) or not rule.most or _is_told(sentence):
        return
    either = next((tools for tools in rule.what if tools.either), None)
    if either is None or not _OR.search(sentence):
        return
    limit = f"{_limit(rule)}{_same(rule)}"
    ones = [f"{phrase[:1].upper()}{phrase[1:]} {limit}" for phrase in either.phrase.split(" or ")]
    each = " and ".join(map(quoted, ones))
    raise TwoReadings(
        f"cannot read 'or' of what is counted; write {quoted(f'{either.phrase} {limit}')} where all of them "
        f"are counted together, or {each} where each is counted by itself"
    )


def _not_of_several(sentence: str, rule: PolicyKind) -> None:
    """`Parcels are rerouted at most twice`: each of them, or all of them together."""
    if not isinstance(rule, Count | Rate) or not rule.most or _same(rule) or _is_told(sentence):
        return
    for tools in rule.what:
        one = _action(tools)
        if one is None or one.gives or is_another_each_time(one.verb, one.nouns[-1]):
            continue
        if _said_of_several(sentence, one) or _said_of_one(sentence, one):
            limit = _limit(rule)
            thing = one.nouns[-1]
            raise TwoReadings(
                f"cannot read whether each {thing} is counted by itself; write "
                f"{quoted(f'{tools.phrase} {limit} with the same FIELD')} where it is, or "
                f"{quoted(f'{tools.phrase} {limit}')} where all of them are counted together"
            )


def _said_of_several(sentence: str, one: Action) -> bool:
    """Is the subject of the passive a plural, of which no more is said?"""
    said = compiled(
        rf"(?:(?:the|all) )?(?P<noun>{one.objects}) (?:(?:{MUST}|may|can) (?:only |not |never )?be|are|get"
        rf"|cannot be) (?:only |never |not )?{past_of(one.verb)}{one.up}\b"
    ).match(sentence.strip())
    return said is not None and said["noun"].lower().endswith("s") and not said["noun"].endswith("ss")


def _said_of_one(sentence: str, one: Action) -> bool:
    """`At most one cancellation of a booking`."""
    deeds = "|".join(deeds_of(one.verb))
    return compiled(rf"\b(?:{deeds}) of an? (?:{one.objects})\b").search(sentence) is not None


def _not_before(sentence: str, rule: PolicyKind) -> None:
    """`At most 3 moves before an adjustment`: before the first one, or since the one before."""
    if not isinstance(rule, TimesBefore) or rule.most != "begun" or _CANONICAL.search(sentence):
        return
    if compiled(r"\bfirst\b").search(sentence):
        return
    first, then = rule.pairs[0]
    limit = (
        f"must happen at most {counted(rule.number, 'time')} before {then.phrase}{with_the_same(rule.same)}"
    )
    raise TwoReadings(
        f"cannot read since when it is counted; write {quoted(f'{first.phrase} {limit}')} where all calls "
        f"before the first {then.phrase} count; a count that begins anew with each {then.phrase} is not in "
        "the language"
    )


def _is_told(sentence: str) -> bool:
    return bool(_CANONICAL.search(sentence) or _TOGETHER.search(sentence))


def _limit(rule: Count | Rate) -> str:
    """What is demanded, in the language's words, but for what must be the same."""
    do = {None: "happen", "failed": "fail", "succeeded": "succeed"}[rule.ended]
    how = "exactly" if isinstance(rule, Count) and rule.least == rule.most else "at most"
    over = {None: "", "run": " per run", "session": " per conversation"}[rule.per]
    return f"must {do} {how} {counted(rule.most or 0, 'time')}{over}{_within(rule)}"


def _within(rule: Count | Rate) -> str:
    if not isinstance(rule, Rate) or rule.time is None:
        return ""
    return " per calendar day" if rule.time == CALENDAR_DAY else f" within {duration_in_words(rule.time)}"


def _same(rule: Count | Rate) -> str:
    return with_the_same(rule.same) if isinstance(rule, Rate) else ""


def _action(tools: Tools) -> Action | None:
    return next((one for one in actions_of((tools.phrase,)) if one.nouns), None)

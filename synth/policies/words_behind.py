"""Words behind a rule, or before an argument, of which the rule holds nothing: such a sentence is refused."""

from __future__ import annotations

from collections.abc import Iterator

from synth.errors import BadInput
from synth.policies.action_forms import ARTICLES, noun_of, singular
from synth.policies.clausal.kinds_of_verbs import GIVING
from synth.policies.composed import quoted
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.next_call import NextCall
from synth.policies.kinds.response import Response
from synth.policies.names import Tools
from synth.policies.patterns import compiled
from synth.policies.where import Comparison

_THEN = compiled(
    r"(?<! and)(?<! but)(?<! or)(?<! than)(?<! not),? (?P<said>(?P<before>before that|beforehand)"
    r"|(?P<later>after that|afterwards?|later|later on|from then on|thereafter|subsequently)"
    r"|(?P<first>first)|(?P<each>each time|every time))$"
)
_NOTHING_THEN = compiled(r"\b(?:none|nothing|no(?:t any)? (?:more|further|other)|once)\b")
_APART_THEN = compiled(r"\bapart$")
_OF_CALLS = ("count", "rate", "total", "variety", "in_a_row")
_OF_TIMES = ("timetable", "weekdays", "window", "duration", "overlap")
_NO_EARLIER = ("absence_after", "first_call", "last_call", *_OF_CALLS, *_OF_TIMES)
_NO_VALUES = frozenset(
    ["another", "other", "different", "same", "any", "some", "each", "every", "either", "both"]
)
_TRIES = frozenset(["attempts", "tries", "failures", "errors", "retries", "times", "calls", "runs"])
_EVERY_ONE = r"\b(?P<said>(?:every|each|all)(?: of)?(?: the| our| its| their)? {noun})\b"
_BAN_ONLY = compiled(
    r"^(?:never|no|do not|don['\u2019]t|nobody|.*\b(?:must|may|can) ?not|.*\bmust never)\b.*[^,] "
    r"(?P<said>only)$"
)
_NO_LATER = compiled(r"\b(?P<said>no (?:later|sooner|earlier))(?! than\b)")
_NO_ARGUMENTS = frozenset(
    [
        "yet", "still", "already", "again", "also", "too", "either", "both", "all", "some", "any", "each",
        "every", "per", "row", "then", "once", "twice", "only", "just", "even", "ever", "never", "not", "no",
        "other", "another", "same", "later", "latest", "first", "last", "next", "new", "old", "second",
        "third", "two", "anymore", "otherwise", "instead", "separately", "together",
        "three", "most", "least", "half", "usually", "hardly", "manually", "immediately", "unapproved",
    ]
)  # fmt: skip


def nothing_behind(sentence: str, rule: PolicyKind) -> None:
    """BadInput where `after that`, `only` or `no later` stand behind a rule that says nothing of them."""
    _no_then(sentence, rule)
    _no_ban_only(sentence)
    _no_later(sentence, rule)
    _no_small_word(sentence, rule)
    _no_small_value(sentence, rule)
    _not_every_one(sentence, rule)
    _no_number_of_tries(sentence, rule)


def _asked(rule: PolicyKind) -> Iterator[Comparison]:
    for tools in rule.tools:
        yield from (one for one in tools.asked if one.path)


def _no_then(sentence: str, rule: PolicyKind) -> None:
    """`At most 3 refunds after that`, where the sentence says of nothing that it comes before."""
    body = sentence.strip().rstrip(".!")
    found = _THEN.search(body)
    if found is None or _NOTHING_THEN.search(body[: found.start()]):
        return
    counts = rule.kind in _OF_CALLS and bool(getattr(rule, "most", None))
    barred = (
        _APART_THEN.search(body[: found.start()])
        or (found["before"] and rule.kind in _NO_EARLIER)
        or (found["later"] and (counts or rule.kind in _OF_TIMES))
        or (found["first"] and (counts or rule.kind in (*_OF_TIMES, "adjacency")))
        or (found["each"] and counts)
    )
    if barred:
        raise BadInput(
            f"cannot read {found['said']!r}, as the sentence says not of what; order is said as 'ACTION must "
            "happen before ACTION' or 'ACTION must never happen after ACTION', without it the rule is of the "
            "whole run"
        )


def _no_ban_only(sentence: str) -> None:
    """`Never pay to region north only` may forbid that, or all that is paid to no other."""
    if found := _BAN_ONLY.search(sentence.strip().rstrip(".!")):
        raise BadInput(
            f"cannot read {found['said']!r} behind what is forbidden; leave it out where this is forbidden, "
            "and write 'only' without 'never' where nothing else is allowed"
        )


def _no_later(sentence: str, rule: PolicyKind) -> None:
    """`If a payment fails, notify no later` forbids no notice."""
    found = _NO_LATER.search(sentence)
    if found and isinstance(rule, AbsenceAfter | Response):
        raise BadInput(
            f"cannot read {found['said']!r}; how soon is said as 'within 5 minutes', what must not come "
            "later as 'ACTION must never happen after ACTION'"
        )


def _no_small_word(sentence: str, rule: PolicyKind) -> None:
    """`Only on Mondays yet` asks for no argument `yet`."""
    fields = {str(one.path[-1]) for one in _asked(rule)}
    fields |= {str(first[-1]) for first, _ in getattr(rule, "same", ()) or ()}
    for word in sorted(fields & _NO_ARGUMENTS):
        if not compiled(rf"\b(?:args\.{word}|same {word}|with {word} \"|whose {word})\b").search(sentence):
            raise BadInput(
                f"cannot read {word!r} as an argument; where a call has one of that name, write 'args.{word}'"
            )


def _no_small_value(sentence: str, rule: PolicyKind) -> None:
    """`Of another kind` is no kind called `another`."""
    for one in _asked(rule):
        for value in map(str, one.values):
            if value in _NO_VALUES and f'"{value}"' not in sentence and f"'{value}'" not in sentence:
                raise BadInput(
                    f"cannot read {value!r} as the value of an argument; where a call has this text, write "
                    f"it in quotes, as in 'with {one.path[-1]} \"{value}\"'"
                )


def _no_number_of_tries(sentence: str, rule: PolicyKind) -> None:
    """`No deploy may take more than 3 attempts` is said of no argument `attempts`."""
    for one in _asked(rule):
        name = str(one.path[-1])
        if name in _TRIES and not compiled(rf"\b(?:with|whose|args\.) ?{name}\b").search(sentence):
            raise BadInput(
                f"cannot read {name!r} as an argument; how often is said as 'ACTION must happen at most 3 "
                "times' or 'If ACTION fails 3 times in a row, ACTION must never happen'"
            )


def _not_every_one(sentence: str, rule: PolicyKind) -> None:
    """`If a transfer fails, freeze every card` asks for all of them, `freeze another card` for one more."""
    if not isinstance(rule, Response | NextCall):
        return
    for trigger, answer in rule.pairs:
        verb, noun = _object(answer)
        if not noun or noun in {singular(word) for word in trigger.phrase.casefold().split()}:
            continue
        every = compiled(_EVERY_ONE.format(noun=noun_of(noun))).search(sentence)
        other = compiled(rf"\b(?P<said>(?:another|a different|some other) {noun})\b").search(sentence)
        found = every or (other if verb not in GIVING else None)
        if found:
            said = f"{trigger.phrase} must be followed by {answer.phrase}"
            if getattr(rule, "failed", False):
                said = f"If {trigger.phrase} fails, {answer.phrase} must follow"
            raise BadInput(
                f"cannot read {found['said']!r} of what must follow; where one success is enough, write "
                + quoted(said)
            )


def _object(tools: Tools) -> tuple[str, str]:
    """The verb of an action, and the noun that it is done to."""
    verb, *rest = tools.phrase.casefold().partition(" with ")[0].split() or [""]
    nouns = [word for word in rest if word not in ARTICLES]
    return verb, singular(nouns[-1]) if nouns else ""

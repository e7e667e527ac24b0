"""Words of a sentence of which its rule holds nothing: such a rule is refused, whoever read it."""

from __future__ import annotations

from collections.abc import Iterator

from synth.errors import BadInput
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.count import NUMBERS, Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.total import Total
from synth.policies.names import TwoReadings
from synth.policies.patterns import compiled
from synth.policies.where import Comparison
from synth.policies.whose_numbers import is_of

_NEITHER_MORE_NOR_LESS = compiled(
    r"\b(?P<said>(?:no|neither|not|never) (?:more|fewer|less)(?: than that)?,?(?: and| or| nor)? ?"
    r"(?:no|not|never)? ?(?:less|fewer|more))\b"
)
_OF_EACH_ONE = compiled(
    r"\b(?:of|for|to|by|in|on|from) (?P<said>(?:any|each|every|a|one) (?:given|single|individual|particular) "
    r"(?!(?:runs?|conversations?|sessions?|calls?|turns?|messages?|days?|hours?|minutes?|times?|calendar)\b)"
    r"(?P<thing>[a-z][a-z_]*))"
)
_NO_COUNT = 50
"""A greater number is a limit of no calls."""
_ADDED = compiled(r"(?:cumulative|aggregate|combined|overall|summed)_?.*")
"""What an argument is not called: it says that amounts are added."""
_COUNT_OF = compiled(r"\b(?P<said>count|number) of\b")
_LIMIT_IS = compiled(
    r"\b(?:(?P<said>limit|cap|quota|ceiling)(?: ?:| of| is)|(?P<past>beyond|past)) (?P<n>\d+|[a-z]+)\b"
)
_LIMIT_OF = compiled(
    r"\b(?P<what>[a-z]+) (?P<said>limit|cap|quota|ceiling)(?: ?:| is| must be| should be) "
    r"(?P<how>at least|at most|no more than|no fewer than|not more than|up to|over|under|below|above|max)? ?"
    r"(?P<n>\d+|[a-z]+)\b"
)
"""`Refund limit: at most 3`, where `refund` is the action and no part of the argument's name."""
_OF_ALL = compiled(r"\b(?P<said>[a-z_]+) of all (?:the |of the )?[a-z]+s\b")
_EQUAL = compiled(r"\b(?P<said>(?:equals|equal to|identical to|same as) (?:the )?(?P<value>[a-z][a-z_]*))\b")
_LAST_FAILED = compiled(
    r"\b(?:since|after) (?:(?:the|an?|any|every|each|its) )?(?P<said>(?:last |latest )?failed)\b"
)
_ONCE = compiled(r" *(?P<said>after|once|when|whenever|as soon as|every time|each time)\b")


def not_left_out(sentence: str, rule: PolicyKind) -> None:
    """BadInput where something that the sentence says is in no part of its rule."""
    _no_least(sentence, rule)
    _no_thing(sentence, rule)
    _no_sum(rule)
    _no_count(sentence, rule)
    _no_limit(sentence, rule)
    _no_limit_of_it(sentence, rule)
    _not_of_all(sentence, rule)
    _no_other_argument(sentence, rule)
    _no_failure(sentence, rule)
    _no_stretch(sentence, rule)


def _asked(rule: PolicyKind) -> Iterator[Comparison]:
    """What the rule asks of the arguments of its actions, where it names them."""
    for tools in rule.tools:
        yield from (one for one in tools.asked if one.path)


def _no_least(sentence: str, rule: PolicyKind) -> None:
    """`Open one ticket, no more and no less` asks for one as well."""
    found = _NEITHER_MORE_NOR_LESS.search(sentence)
    if found and isinstance(rule, Count | Rate) and getattr(rule, "least", None) is None and rule.most:
        often = "once" if rule.most == 1 else f"{rule.most} times"
        raise BadInput(f"cannot read {found['said']!r}; that is said as 'exactly {often}'")


def _no_thing(sentence: str, rule: PolicyKind) -> None:
    """`Restarts of any given service` are counted for each service."""
    if not isinstance(rule, Count | Rate | Total) or not rule.most or getattr(rule, "same", None):
        return
    if found := _OF_EACH_ONE.search(sentence):
        raise BadInput(f"cannot read {found['said']!r}; of each is said as 'with the same {found['thing']}'")


def _no_sum(rule: PolicyKind) -> None:
    """`The cumulative expansion of a volume` is no argument."""
    for one in _asked(rule):
        name = str(one.path[-1])
        if _ADDED.fullmatch(name):
            raise BadInput(
                f"cannot read {name!r} as an argument; amounts are added by 'The sum of FIELD of ACTION "
                "must be at most 500', with 'with the same FIELD' for those of each"
            )


def _no_count(sentence: str, rule: PolicyKind) -> None:
    """`The count of failed loads` is no argument of a load."""
    found = _COUNT_OF.search(sentence)
    if found and any(one.path[-1] == found["said"] for one in _asked(rule)):
        raise BadInput(
            f"cannot read {found['said']!r} as an argument; how often is said as 'ACTION must happen at most "
            "3 times' or 'ACTION must fail at most 3 times'"
        )


def _no_limit(sentence: str, rule: PolicyKind) -> None:
    """`Label limit: 3` may be three labels; what lies `beyond three` is no argument."""
    found = _LIMIT_IS.search(sentence)
    said = (found["said"] or found["past"]).lower() if found else ""
    number = NUMBERS.get(found["n"].lower(), found["n"]) if found else ""
    if found is None or not str(number).isdigit():
        return
    for tools in rule.tools:
        if any(one.path and str(one.path[-1]) == said for one in tools.asked):
            bare = tools.phrase.partition(" with ")[0]
            raise BadInput(
                f"cannot read {found[0]!r}, which may be so many calls; write "
                f"'{bare[:1].upper()}{bare[1:]} must happen at most {number} times' where it is, or "
                f"'{bare[:1].upper()}{bare[1:]} with args.{said} over {number} must never happen'"
            )


def _no_limit_of_it(sentence: str, rule: PolicyKind) -> None:
    """`Refund limit: at most 3` may be so many refunds."""
    found = _LIMIT_OF.search(sentence)
    number = NUMBERS.get(found["n"].lower(), found["n"]) if found else ""
    if found is None or not str(number).isdigit() or int(number) > _NO_COUNT:
        return
    for tools in rule.tools:
        if any(str(one.path[-1]) == found["said"].lower() for one in tools.asked if one.path) and is_of(
            found["what"], tools
        ):
            bare = tools.phrase.partition(" with ")[0]
            least = (found["how"] or "").lower() in ("at least", "no fewer than", "over", "above")
            times = f"{'at least' if least else 'at most'} {number} times"
            raise TwoReadings(
                f"cannot read {found[0]!r}, which may be so many calls; write "
                f"'{bare[:1].upper()}{bare[1:]} must happen {times}' where it is, or "
                f"'{tools.phrase[:1].upper()}{tools.phrase[1:]} must never happen' where it is an argument"
            )


def _not_of_all(sentence: str, rule: PolicyKind) -> None:
    """`The value of all vouchers must be at most 500` may be what they come to, or that of each."""
    found = _OF_ALL.search(sentence)
    if found is None or not isinstance(rule, Count):
        return
    for tools in rule.tools:
        for one in tools.asked:
            if one.path and str(one.path[-1]) == found["said"].lower() and one.op in (">", ">="):
                bare, number = tools.phrase.partition(" with ")[0], one.values[0]
                most = "at most" if one.op == ">" else "below"
                raise TwoReadings(
                    f"cannot read {found[0]!r}, which may be what they come to; write 'The sum of "
                    f"{one.path[-1]} of {bare} must be {most} {number}' where it is, or "
                    f"'{tools.phrase[:1].upper()}{tools.phrase[1:]} must never happen' where it is each of "
                    f"them"
                )


def _no_other_argument(sentence: str, rule: PolicyKind) -> None:
    """`Where source equals target` may be the value `target`, or what the argument of that name is."""
    for found in _EQUAL.finditer(sentence):
        word = found["value"]
        if any(one.op in ("in", "not in") and one.values == (word,) for one in _asked(rule)):
            raise BadInput(
                f"cannot read {found['said']!r}; write 'equal to its {word}' where that is another argument "
                f"of the call, or 'is \"{word}\"' where it is a value"
            )


def _no_failure(sentence: str, rule: PolicyKind) -> None:
    """`Since the last failed booking` is not since a booking."""
    found = _LAST_FAILED.search(sentence)
    if found and isinstance(rule, AbsenceAfter) and not rule.failed:
        raise BadInput(
            f"cannot read {found['said']!r}; a failure is said as 'ACTION must never happen within 5 minutes "
            "after ACTION fails'"
        )


def _no_stretch(sentence: str, rule: PolicyKind) -> None:
    """`After A, B before C` forbids C from A until B; it asks for no A before B."""
    if not isinstance(rule, Precedence) or len(rule.pairs) < 2 or not (found := _ONCE.match(sentence)):
        return
    (first, then), (again, last) = rule.pairs[:2]
    if then.names == again.names:
        until = f"{last.phrase} must never happen after {first.phrase} until {then.phrase}"
        raise BadInput(
            f"cannot read {found['said']!r} beside 'before'; write '{until}', or two rules of order"
        )

"""Numbers that may be others than a rule has: each is refused, with both.

`1.000` is a thousand or one; `no more refunds than cancellations` holds at each moment or in the end; `3
refunds per cancellation` are those of an argument, or so many for each such call.
"""

from __future__ import annotations

from collections.abc import Iterable

from synth.errors import BadInput
from synth.policies.action_forms import singular
from synth.policies.clausal.events import actions_of
from synth.policies.clausal.kinds_of_verbs import MONEY
from synth.policies.composed import quoted
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.paired import Paired
from synth.policies.kinds.total import Total
from synth.policies.names import Tools, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.verbs import deeds_of

_UNQUOTED = r"(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)"
_IN_GROUPS = compiled(
    rf"(?<![\w.,:/-])(?P<said>[1-9]\d{{0,2}}(?:\.\d{{3}}){{1,2}}(?:,\d+)?)(?![\w/]|[.,:-]\w){_UNQUOTED}"
)
_COMMA = compiled(rf"(?<![\w.,:/-])(?P<said>\d+,\d{{1,2}})(?![\w/]|[.,:-]\w|, ?(?:and|or) \d){_UNQUOTED}")
_BACKWARDS = compiled(
    r"\b(?P<said>(?P<from>between|from) (?P<a>\d+(?:\.\d+)?) (?P<to>and|to|until|till) (?P<b>\d+(?:\.\d+)?))"
    rf"(?![\w%]|[.,:-]\d| ?(?:[ap]\.?m\b|h\b|o['\u2019]clock|hours?)){_UNQUOTED}"
)
_COMPARED = compiled(
    r"\b(?P<said>more (?!often\b|frequent|than\b)(?:[a-z-]+ ){1,4}than|(?:number|count|total) of|outnumber"
    r"|(?:no |not |at most )?as many (?!times\b)[a-z-]+(?: [a-z-]+){0,3} as|in number|more numerous"
    r"|more than there)\b"
)
_ADDED = compiled(
    r"[$\u20ac\u00a3]|\b(?:sums?|total|totals|totalling|add|adds|added|adding|together|combined"
    r"|cumulative(?:ly)?|accumulat\w+|aggregated?|come|cost|costs|spend"
    r"|spends|spent|budget|eur|usd|gbp|chf|euros?|dollars?)\b"
)
_AT_EACH_MOMENT = compiled(
    r"\b(?:so far|any (?:time|point|moment)|all times|no (?:time|point|moment)|every (?:time|point|moment)"
    r"|always|never|ever|before(?:hand)?|earlier|previous(?:ly)?|prior|first|(?:by|until) then|already"
    r"|up to (?:then|that|now)|that (?:point|time|moment)|has been|have been|had been|was|were|obtained|got"
    r"|received|available|(?:must|may|can|shall|should) ?not|cannot|\w+n['\u2019]t)\b"
)
"""What must not be must not be at any moment."""


def no_foreign_number(sentence: str) -> None:
    """TwoReadings for `1.000`, a thousand to some and one to others, and for what no number lies between."""
    if found := _IN_GROUPS.search(sentence):
        whole, _, part = found["said"].partition(",")
        thousands = whole.replace(".", "") + (f".{part}" if part else "")
        one = "" if part or whole.count(".") > 1 else f" or '{whole.rstrip('0').rstrip('.')}'"
        raise TwoReadings(f"cannot read {found['said']!r} as a number; write {thousands!r}{one}")
    if found := _COMMA.search(sentence):
        raise BadInput(
            f"cannot read {found['said']!r} as a number; write {found['said'].replace(',', '.')!r}"
        )
    if (found := _BACKWARDS.search(sentence)) and float(found["a"]) > float(found["b"]):
        amounts = f"{found['from']} {found['b']} {found['to']} {found['a']}"
        hours = all(one.isdigit() and int(one) <= 24 for one in (found["a"], found["b"]))
        clock = (
            f" for amounts, 'between {found['a']:0>2}:00 and {found['b']:0>2}:00' for hours" if hours else ""
        )
        raise TwoReadings(f"cannot read {found['said']!r}, where nothing lies; write {amounts!r}{clock}")


def not_other_numbers(sentence: str, rule: PolicyKind, phrases: Iterable[str]) -> None:
    """TwoReadings where the numbers of a sentence are compared, or counted, in another way as well."""
    _not_in_the_end(sentence, rule)
    _not_for_each_call(sentence, rule, tuple(phrases))
    _not_of_calls(sentence, rule)


def _not_in_the_end(sentence: str, rule: PolicyKind) -> None:
    """`No more refunds than cancellations`: whenever one is issued, or when the run is over."""
    found = _COMPARED.search(sentence)
    if not isinstance(rule, Paired) or found is None or _AT_EACH_MOMENT.search(sentence):
        return
    first, then = rule.pairs[0]
    if all(one.is_check for one in actions_of((first.phrase,))):
        return  # an approval comes before what it is for
    at_each = quoted(f"{then.phrase} must not happen more often than {first.phrase}")
    as_many = quoted(f"{then.phrase} must happen as often as {first.phrase}")
    raise TwoReadings(
        f"cannot read {found['said']!r}; write {at_each} where it is so whenever one begins; that there are "
        f"no more when the run is over is not in the language (as many of both is {as_many})"
    )


def _not_for_each_call(sentence: str, rule: PolicyKind, phrases: tuple[str, ...]) -> None:
    """`At most 3 refunds per cancellation`, where a cancellation is an action of the file."""
    for first, _ in getattr(rule, "same", ()) or ():
        field = str(first[-1])
        said = compiled(
            rf"\b(?P<said>(?:per|(?:for|of|after|with|on)? ?(?:each|every|any|one|a single|the same)) "
            rf"{field.replace('_', '[_ ]')})\b(?!_| (?:id|number|ref|code)\b)"
        ).search(sentence)
        deed = next((phrase for phrase in phrases if _is_deed(field.lower(), phrase, phrases)), None)
        if said is None or deed is None or said["said"].lower().startswith(f"with the same {field}"):
            continue
        what = next(iter(rule.tools)).phrase
        own = (
            f" or {quoted(f'{what} must not happen more often than {deed}')}"
            if getattr(rule, "most", None) == 1
            else f"; so many for each call of {deed!r} are not in the language"
        )
        raise TwoReadings(
            f"cannot read {said['said']!r}, which may be an argument or the action {deed!r}; write 'with the "
            f"same {field}' for the argument{own}"
        )


def _not_of_calls(sentence: str, rule: PolicyKind) -> None:
    """`A run may deploy no more than 60`, of what nobody pays: so many calls, or some amount of them."""
    if not isinstance(rule, Total) or rule.path[-1] != "amount" or _ADDED.search(sentence):
        return
    what = rule.tools[0].phrase
    found = compiled(r"\d[\d,]*(?:\.\d+)?").search(sentence)
    if found and not compiled(MONEY).search(f"{sentence} {what}"):
        raise TwoReadings(
            f"cannot read {found[0]!r}, which may be calls or an amount; write "
            f"{quoted(f'{what} must happen at most {found[0]} times')} or "
            f"{quoted(f'The sum of args.amount of {what} must be at most {found[0]}')}"
        )


def _is_deed(noun: str, phrase: str, phrases: tuple[str, ...]) -> bool:
    """Is it what an action is called, and nothing that any is done to: `cancellation`?"""
    objects = {singular(word) for one in phrases for word in one.casefold().split()[1:]}
    verb = (phrase.casefold().split() or [""])[0]
    if not verb or singular(noun) in objects or singular(noun) == verb:
        return False
    return compiled("|".join(deeds_of(verb))).fullmatch(noun) is not None


def is_of(noun: str, tools: Tools) -> bool:
    """Is it a word of an action's name, or its noun: `refunds`, `cancellations`?"""
    verb, *rest = tools.phrase.casefold().partition(" with ")[0].split() or [""]
    said = noun.casefold()
    own = {singular(verb), *map(singular, rest)}
    return singular(said) in own or compiled("|".join(deeds_of(verb)) or "(?!)").fullmatch(said) is not None

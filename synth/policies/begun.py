"""Sentences that begin otherwise than an order: `Nobody refunds a ticket`, `For refunds over 9 page a lead`.

Each is given again as the order that it is: who does it is left out, and what it opens with ends in a comma.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from synth.errors import BadInput
from synth.policies.kinds.kind import PolicyKind
from synth.policies.names import Names
from synth.policies.patterns import compiled
from synth.policies.verbs import third_of

_NOBODY = r"(?:nobody|no one|no-one|no agent|none of (?:us|you|the agents))(?: ever)?"
_DOERS = r"(?:we|you|agents|(?:the|our|all) agents|i)"
_DOER = r"(?:(?:the|an?|our|every|each) agent|everyone|everybody)"
_OPENER = (
    "(?:on|after|before|once|if|when|whenever|for|in|with|within|between|until|unless|during|outside|at)"
)
_ADVERB = r"(?:always|only|also|never|then) "
_AT = r"(?P<at>^|(?<=, )|(?<=: ))"
_THEN = r"(?= (?!(?:that|which|who|is|are|was|were|has|have|must|may|can|should|will)\b))"
_DAYS = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays|week-ends)"
_PLACES = (
    r"(?:[Pp]rod|PROD|[Pp]roduction|[Ss]taging|[Ll]ive|[Ss]andbox|EU|US|USA|UK|DE|FR|CH|EUR|USD|GBP|CHF)"
)
_SIZE = (
    r"(?:over|above|under|below|(?:no |not )?(?:more|less|greater|higher|larger|bigger|lower|smaller|longer"
    r"|fewer) than|exceeding|beyond|at least|at most|up to|of) [$\u20ac\u00a3]?\d[\d,.]*(?: or more"
    r"| or less)?"
    r"(?: (?:eur|usd|gbp|chf|euros?|dollars?|percent|%|kg|days|nights|hours|minutes))?"
)
_OPENING = (
    r"(?P<open>(?:for|on|with|at|in case of|if|when|whenever|once) (?:(?!(?:no|at|may|must)\b)[\w']+ ){1,5}?"
    rf"(?:is |are |was |were )?{_SIZE})"
)


def begun(sentence: str, names: Names, read: Callable[[str], PolicyKind]) -> PolicyKind | None:
    """The rule of the order that a sentence is; None where it begins as orders do."""
    body = " ".join(sentence.split()).removesuffix(".").strip()
    for said in dict.fromkeys((*_ordered(body, names), *_with_comma(body), *_headed(body))):
        try:
            return read(f"{said[:1].upper()}{said[1:]}")
        except BadInput:
            continue
    return None


def as_ban(sentence: str, names: Names) -> str:
    """`Never refund a ticket` of `nobody refunds a ticket`; any other sentence as it is."""
    said = _apart(sentence, _NOBODY)
    for verb in _verbs(names):
        deed = rf"(?:{third_of(verb)}|{verb})"
        said = compiled(rf"{_AT}{_NOBODY} {deed}{_THEN}").sub(f"never {verb}", said)
    changed = said != _apart(sentence, _NOBODY)
    return f"{said[:1].upper()}{said[1:]}" if changed else sentence


def _apart(body: str, who: str) -> str:
    """With a comma before who does it: `on Sundays, nobody refunds`."""
    opening = rf"^(?P<open>{_OPENER} [^,:]+?)(?<! that)(?<! which)(?<! who) (?={who} )"
    return compiled(opening).sub(r"\g<open>, ", body)


def _verbs(names: Names) -> set[str]:
    verbs = {phrase.casefold().split()[0] for phrase in names.actions if phrase != "any tool"}
    return {verb for verb in verbs if verb.isalpha()}


def _ordered(body: str, names: Names) -> Iterator[str]:
    """`Refund a ticket only ...` of `we refund a ticket only ...`, `never` of `we refund no ticket`."""
    said = _apart(body, f"(?:{_DOERS}|{_DOER})")
    for verb in _verbs(names):
        for who, does in ((_DOERS, verb), (_DOER, third_of(verb))):
            said = compiled(rf"{_AT}{who} (?P<how>{_ADVERB})?{does}{_THEN}").sub(rf"\g<how>{verb}", said)
        none = compiled(rf"{_AT}{verb} no (?=(?!(?:more|later|less|fewer|longer|sooner|earlier)\b)[a-z])")
        if (ban := none.sub(f"never {verb} ", said)) != said:
            yield ban
    if said != body:
        yield said


def _with_comma(body: str) -> Iterator[str]:
    """`For refunds over 250, page a lead`, where the comma is left out."""
    if m := compiled(rf"^{_OPENING}(?= [a-z])(?! (?:or|and|in|per|of|within|for|with|on|at)\b)").match(body):
        yield f"{m['open']},{body[m.end() :]}"


def _headed(body: str) -> Iterator[str]:
    """`Fridays: no refunds`, `prod: no deploys`: when and where as a heading."""
    if m := compiled(rf"^(?P<day>{_DAYS})(?: ?:| [-\u2013\u2014]) ?(?P<rest>.+)$").match(body):
        yield f"On {m['day']}, {m['rest']}"
    if m := compiled(rf"^(?P<where>(?-i:{_PLACES}))(?: ?:| [-\u2013\u2014]) ?(?P<rest>.+)$").match(body):
        yield f"In {m['where']}, {m['rest']}"

"""Conditions said beside a rule in other words than `if`: `For amounts over 100: ...`, `... (channel sms)`.

Each sentence is given again with its condition as a clause with `if`, which is read for all rules alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from synth.policies.action_forms import singular
from synth.policies.asked import EVERY_KIND
from synth.policies.marks import places_of
from synth.policies.names import Names
from synth.policies.nouns import MONEY
from synth.policies.patterns import compiled

_NUMBER = r"[$\u20ac\u00a3]?\d+(?:,\d{3})*(?:\.\d+)?(?: ?(?:%|[a-z]{1,4}\b|[A-Z]{3}\b|euros?\b|dollars?\b))?"
_SIDE = (
    r"(?:over|above|under|below|(?:no |not )?(?:more|less|greater|higher|larger|bigger|lower|smaller"
    r"|longer|fewer) than"
    r"|exceeding|beyond|in excess of|at least|at most|up to)"
)
_SIZE = rf"(?:{_SIDE} {_NUMBER}|{_NUMBER} (?:or|and) (?:more|less|above|over|below|under|higher|lower|fewer))"
_OP = r"(?:==?|!=|<=?|>=?)"
_VALUE = r"(?:\"[^\"]+\"|\u201c[^\u201d]+\u201d|[\w-]+)"
_FIELD = r"(?:args\.)?[a-z]\w*(?: (?:id|number|code|type))?"
_FOR = (
    r"(?:for|with|at|on|in case of|in the case of|in the event of|given"
    r"|where there (?:is|are)|when there (?:is|are))"
)
_ART = r"(?:(?:an?|the|any|all|every) )?"
_WHEN = (
    r"(?:if|when|whenever|where|once|as soon as|as long as|so long as|in case|in the case that|provided"
    r"|provided that"
    r"|every time|each time|assuming|assuming that|given that|but only if|but only when"
    r"|but only where|but just if)"
)
_IS = rf"(?:is|are|was|were|equals?|exceeds?|has|have|{_OP}) .+"
_ENDS = r" ?(?:[,:]| [-\u2013\u2014]|[-=]>|\u2192) ?"


def with_if(text: str, names: Names) -> Iterator[str]:
    """The sentence with its condition as a clause of its own."""
    for condition, rest in _apart(_spaced(text), names):
        if rest:
            yield f"If {condition}, {rest[:1].lower()}{rest[1:]}"
            yield f"{rest} if {condition}"


def _spaced(text: str) -> str:
    """`channel=sms` as `channel = sms`."""
    return compiled(rf"(?<=[\w\])])(?P<op>{_OP})(?=[\w\"\u201c-])").sub(r" \g<op> ", text)


def _apart(text: str, names: Names) -> Iterator[tuple[str, str]]:
    """(condition, rest) of whatever stands in front or behind."""
    front = (
        rf"^{_FOR} {_ART}(?P<f>{_FIELD}) (?:of )?(?P<size>{_SIZE})(?:{_ENDS}| (?=no |only "
        rf"|never ))(?P<rest>.+)$",
        rf"^{_ART}(?P<f>{_FIELD}) (?:of )?(?P<size>{_SIZE}){_ENDS}(?P<rest>.+)$",
        rf"^(?P<side>{_SIDE}) an? (?P<f>{_FIELD}) of (?P<n>{_NUMBER}){_ENDS}(?P<rest>.+)$",
        rf"^(?P<size>{_SIZE}){_ENDS}(?P<rest>.+)$",
        rf"^(?:{_WHEN} )?(?:the )?(?P<c>{_FIELD} {_OP} {_VALUE})(?: then)?{_ENDS}(?P<rest>.+)$",
        rf"^{_WHEN} (?:the |its )?(?P<c>{_FIELD} {_IS[:-2]}(?:[^,:]+|.+?)) ?(?:[,:]|->"
        rf"|\u2192)(?: then)? (?P<rest>.+)$",
        rf"^(?:(?:for|on|in|with|at|via"
        rf"|over) )?(?:the )?(?P<k>{EVERY_KIND}) (?:is )?(?P<v>{_VALUE}){_ENDS}(?P<rest>.+)$",
        rf"^(?:for|on|in|with|at|via|over) the (?P<v>{_VALUE}) (?P<k>{EVERY_KIND}){_ENDS}(?P<rest>.+)$",
    )
    behind = (
        rf"^(?P<rest>.+?),? {_FOR} {_ART}(?P<f>{_FIELD}) (?:of )?(?P<size>{_SIZE})$",
        rf"^(?P<rest>.+?),? (?P<side>{_SIDE}) an? (?P<f>{_FIELD}) of (?P<n>{_NUMBER})$",
        rf"^(?P<rest>.+?),? {_WHEN} (?:the |its )?(?P<c>{_FIELD} {_IS})$",
        rf"^(?P<rest>.+?),? (?:via|over|through|using) (?:the )?(?P<k>{EVERY_KIND}) (?P<v>{_VALUE})$",
        rf"^(?P<rest>.+?),? (?:via|over|through|on|in) the (?P<v>{_VALUE}) (?P<k>{EVERY_KIND})$",
    )
    yield from _by(text, (*front, *behind), names)


_BRACKETS = (
    rf"^(?P<rest>.+?) [(\[](?:(?:{_WHEN}|for|with|on) )?{_ART}(?P<f>{_FIELD}) (?:is "
    rf"|of )?(?P<size>{_SIZE})[)\]]$",
    rf"^(?P<rest>.+?) [(\[](?:{_WHEN} )?(?:the )?(?P<c>{_FIELD} {_IS})[)\]]$",
    rf"^(?P<rest>.+?) [(\[](?:(?:for|on|in|with|via) )?(?P<k>{EVERY_KIND}):? (?P<v>{_VALUE})[)\]]$",
)


def without_brackets(text: str, names: Names) -> str:
    """The sentence with the condition that it ends with in brackets as a clause."""
    body = _spaced(" ".join(text.split()).removesuffix(".").rstrip())
    condition, rest = next(_by(body, _BRACKETS, names), ("", ""))
    return f"{rest} if {condition}" if rest else text


def _by(text: str, patterns: tuple[str, ...], names: Names) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        if m := compiled(pattern).match(text):
            said = m.groupdict()
            condition = _condition(said)
            if compiled(r"\b(?:except|unless|not|only|but|even|save)$").search(said["rest"]):
                continue
            if _counts_others(said.get("f") or ""):
                continue
            if not places_of((said.get("f") or said.get("k") or condition.split()[1]).split()[-1], names):
                yield condition, said["rest"]


def _counts_others(field: str) -> bool:
    """`For guests under 18`: the size of something else, where `for amounts over 100` is that of the call."""
    one = singular(field.lower()).split("_")[-1]
    return one != field.lower().split("_")[-1] and one not in (*MONEY, *_SIZES)


_SIZES = (
    "dose", "quantity", "weight", "distance", "duration", "size", "discount", "rate", "balance", "limit",
    "length", "volume", "score", "number", "credit", "refund", "payment", "percentage", "hour", "day",
    "minute",
)  # fmt: skip


def _condition(said: dict[str, str | None]) -> str:
    if said.get("c"):
        return f"the {said['c']}"
    if said.get("k"):
        return f'the {str(said["k"]).lower()} is "{str(said["v"]).strip(chr(34))}"'
    field = singular(str(said.get("f") or "amount").lower())
    size = said.get("size") or f"{said['side']} {said['n']}"
    return f"the {field} is {size.lower()}"

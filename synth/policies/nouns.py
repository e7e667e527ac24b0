"""Arguments by the nouns of a sentence: which of the keys of a call a noun names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from synth.formal.partly import HIDDEN, Unknown
from synth.policies.action_forms import noun_of

SHORT: Mapping[str, str] = {
    "environment": "env", "repository": "repo", "department": "dept", "organization": "org",
    "organisation": "org", "configuration": "config", "application": "app", "document": "doc",
    "category": "cat", "reference": "ref", "package": "pkg", "database": "db", "image": "img",
    "account": "acct", "address": "addr", "message": "msg", "quantity": "qty", "language": "lang",
    "location": "loc", "vehicle": "veh", "customer": "cust", "transaction": "txn", "invoice": "inv",
    "certificate": "cert", "parameter": "param", "administrator": "admin", "directory": "dir",
    "temperature": "temp", "service": "svc", "namespace": "ns", "version": "ver", "number": "num",
    "source": "src", "destination": "dest", "description": "desc", "specification": "spec",
    "subscription": "sub", "employee": "emp", "identifier": "id", "currency": "ccy",
    "pull_request": "pr", "merge_request": "mr",
}  # fmt: skip
"""Names of things, and how calls shorten them."""


_IS: Mapping[str, tuple[str, ...]] = {"file": ("path", "file_path", "filepath", "filename", "file_name")}
"""Things that calls name by another word."""


class Noun(str):
    """A thing that a sentence names: the argument called so, or where none is seen, its `_id` or number."""

    __slots__ = ()

    def key_in(self, value: Mapping[str, Any]) -> str:
        """What an object calls it."""
        own = str(self)
        short = SHORT.get(own.casefold(), own)
        keys = (
            own,
            f"{own}_id",
            f"{own}Id",
            f"{own}_number",
            f"{own}Number",
            short,
            f"{short}_id",
            *_IS.get(own, ()),
        )
        return next((key for key in keys if key in value), own)


class It(Noun):
    """What a sentence says no more of than `it`: where no call has it, any thing may be meant."""

    __slots__ = ()


class Each(Noun):
    """A thing that a sentence names in passing: compared where calls of all its actions say which."""

    __slots__ = ()


_SIDES = (
    frozenset([
        "from", "to", "into", "source", "src", "target", "destination", "dest", "dst", "origin", "old", "new",
        "previous", "current", "next",
    ]),
    frozenset([
        "by", "author", "reviewer", "approver", "requester", "sender", "recipient", "payer", "payee", "buyer",
        "seller", "owner", "assignee",
    ]),
)  # fmt: skip
"""In names of arguments that are one of two of a kind: places or states, and people."""


def _is_of_two(key: str, keys: Sequence[str]) -> bool:
    """Has a call another argument of the kind, too?"""
    return any(
        kind & {*words_of(key)} and sum(1 for one in keys if kind & {*words_of(one)}) > 1 for kind in _SIDES
    )


class Somewhere(Noun):
    """Some argument of a call, whichever has one of the values: `in production`, `sms notifications`.

    Where none has, any other text tells that the call is no such one; a call without one leaves that open.
    So does one that has it on one of two sides: `to "ICU"` is not said of `from_ward`, or a flag: `express`.
    """

    values: frozenset[str]

    def __new__(cls, values: tuple[float | str, ...]) -> Somewhere:
        self = super().__new__(cls, "argument")
        self.values = frozenset(map(plain_name, values))
        return self

    def __reduce__(self) -> tuple[type[Somewhere], tuple[tuple[str, ...]]]:
        return Somewhere, (tuple(sorted(self.values)),)

    def key_in(self, value: Mapping[str, Any]) -> str:
        named = [key for key, given in value.items() if _is_name(given)]
        if own := [key for key in named if plain_name(value[key]) in self.values]:
            plain = [key for key in own if not _is_of_two(key, named)]
            return plain[0] if plain else str(self)
        flags = [key for key, given in value.items() if isinstance(given, bool)]
        if set(map(plain_name, flags)) & self.values:
            return str(self)
        texts = [key for key in named if isinstance(value[key], str)]
        return texts[0] if texts and not any(map(self._may_be_in, value.values())) else str(self)

    def _may_be_in(self, given: Any) -> bool:
        """Is it open whether a value holds it, as something of that is not known or it lies inside?"""
        if isinstance(given, Mapping):
            return any(map(self._may_be_in, given.values()))
        if isinstance(given, list):
            return any(map(self._may_be_in, given))
        return isinstance(given, Unknown) or (_is_name(given) and plain_name(given) in self.values)


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def plain_name(value: float | str) -> str:
    """A name as it may be written in several ways."""
    return re.sub(r"[\W_]+", " ", f"{value:.15g}" if not isinstance(value, str) else value.casefold()).strip()


class Meant(Noun):
    """What a sentence asks of a call by a noun: `dock` is `dock`, else `dock_id`, `costCenter`, `weight_kg`.

    The nearest name counts, and only where no other is as near.
    """

    __slots__ = ()

    def key_in(self, value: Mapping[str, Any]) -> str:
        keys = tuple(key for key in value if isinstance(key, str))
        hides = any(key.startswith(HIDDEN) for key in keys)
        return str(self) if hides or self in value else _nearest(str(self), keys)


class Counted(Meant):
    """What a sentence says so many of: `20 nodes` are `nodes`, `500 units` the `quantity`.

    Where no argument has its name, it is the only one that is a quantity.
    """

    __slots__ = ()

    def key_in(self, value: Mapping[str, Any]) -> str:
        key = super().key_in(value)
        if key in value:
            return key
        found = [name for name in value if isinstance(name, str) and words_of(name)[-1] in _SO_MANY]
        return found[0] if len(found) == 1 else key


_BY_WHOM: Mapping[str, str] = {
    "approved_by": "approver", "requested_by": "requester", "reviewed_by": "reviewer", "signed_by": "signer",
    "submitted_by": "submitter", "verified_by": "verifier", "created_by": "creator",
    "inspected_by": "inspector",
    "authorised_by": "authoriser", "authorized_by": "authorizer", "prescribed_by": "prescriber",
}  # fmt: skip
"""By whom something was done, and what he is called."""
_SO_MANY = ("quantity", "qty", "count", "units", "pieces")
_WHICH = ("id", "no", "number", "nr", "name", "code", "key", "type", "ref")
"""Behind a noun, words that name the same: `visit_no`."""
_OF_ANYTHING = tuple(word for word in _WHICH if word not in ("code", "type"))
"""Arguments that may be of whatever a call is about: `id` is none of the `customer id`."""
_MANY = ("count", "number", "no", "quantity", "qty", "amount")
_UNITS: Mapping[str, tuple[str, ...]] = {
    "kg": ("weight", "mass"), "g": ("weight", "mass"), "tons": ("weight", "mass"), "t": ("weight", "mass"),
    "mg": ("dose", "dosage"), "ml": ("volume", "dose"), "l": ("volume",), "km": ("distance",),
    "m": ("distance", "length", "radius"), "cm": ("length", "height", "width"),
    "percent": ("percentage", "pct", "share", "rate"), "degrees": ("temperature", "temp"),
    "hours": ("duration", "h"), "minutes": ("duration", "min"), "days": ("duration",), "mb": ("size",),
    "gb": ("size",), "mw": ("power", "load"), "kw": ("power", "load"),
}  # fmt: skip
"""Units, each with the arguments that have it where the name of none says so."""
_SAID_SO = {
    "kilograms": "kg", "kilos": "kg", "kilo": "kg", "kgs":
        "kg", "grams": "g", "tonnes": "t", "milligrams": "mg",
    "milliliters": "ml", "millilitres": "ml", "liters": "l", "litres": "l", "kilometers": "km",
    "kilometres": "km", "meters": "m", "metres": "m", "centimeters": "cm", "centimetres": "cm",
    "percentage": "percent", "hour": "hours", "minute": "minutes", "day": "days", "megabytes": "mb",
    "gigabytes": "gb", "megawatts": "mw", "kilowatts": "kw",
}  # fmt: skip
_SUFFIXES = ("kg", "g", "mg", "ml", "l", "km", "m", "cm",
    "pct", "percent", "hours", "minutes", "days", "mb", "gb",
             "mw", "kw", "c", "eur", "usd", "gbp", "chf", "jpy")  # fmt: skip
MONEY = ("amount", "price", "cost", "fee", "total", "value", "sum", "charge", "fare")
_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("weight", "mass"),
    ("class", "cabin"),
    ("method", "means", "instrument"),
    ("channel", "medium", "via"),
    ("environment", "env", "stage"),
    ("duration", "length", "hours", "days", "minutes", "weeks", "months"),
    ("dose", "dosage"),
    ("quantity", "qty", "count", "number"),
    ("language", "lang", "locale"),
    ("temperature", "temp"),
    ("discount", "rebate"),
    ("cause", "reason"),
    ("text", "message", "body", "content", "contents"),
    ("file", "path", "filename", "filepath"),
)
"""Names of one thing: one of them is meant where a call has no other of them."""


@lru_cache(maxsize=4096)
def _nearest(noun: str, keys: tuple[str, ...]) -> str:
    for near in _ways(noun.casefold()):
        found = [key for key in keys if near(words_of(key))]
        if found:
            return found[0] if len(found) == 1 else noun
    return noun


def words_of(key: str) -> tuple[str, ...]:
    """`costCenter` and `cost_center` as two words."""
    return tuple(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).casefold().replace("-", "_").split("_"))


Near = Callable[[tuple[str, ...]], bool]


def _ways(noun: str) -> Iterator[Near]:
    """What a name may be, the nearest first."""
    own = words_of(noun)
    yield lambda words: words == own
    one = re.compile("_".join((*own[:-1], noun_of(own[-1]))))
    if noun not in MONEY:
        yield lambda words: one.fullmatch("_".join(words)) is not None
    yield lambda words: words[:-1] == own and words[-1] in _WHICH
    yield lambda words: words[:-1] == own and words[-1] in _SUFFIXES
    unit = _SAID_SO.get(noun, noun)
    if unit in _UNITS:
        yield lambda words: words[-1] == unit
        yield lambda words: words[-1] in _UNITS[unit]
        return
    if noun not in MONEY:
        yield lambda words: one.fullmatch("_".join(words[:-1])) is not None and words[-1] in _MANY
        yield (
            lambda words: (
                one.fullmatch("_".join(words[1:])) is not None and words[0] in ("n", "num", "number")
            )
        )
        yield lambda words: one.fullmatch("_".join(words[2:])) is not None and words[:2] == ("number", "of")
        yield lambda words: words[-len(own) :] == own
    if len(own) > 1 and own[-1] not in _OF_ANYTHING:
        yield lambda words: words == own[-1:]
        yield lambda words: words[:-1] == own[-1:] and words[-1] in _SUFFIXES
    if whom := _BY_WHOM.get(noun):
        yield lambda words: words in ((whom,), (whom, "id"), (whom, "name"))
    if by := next((key for key, who in _BY_WHOM.items() if who == noun), None):
        yield lambda words: "_".join(words) == by
    if noun in SHORT:
        yield lambda words: words in ((SHORT[noun],), (SHORT[noun], "id"), (SHORT[noun], "name"))
    family = MONEY if noun in MONEY else next((names for names in _FAMILIES if noun in names), ())
    yield lambda words: words[-1] in family
    yield lambda words: words[-1] in _SUFFIXES and len(words) > 1 and words[-2] in family

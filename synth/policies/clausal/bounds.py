"""Values and sizes as a sentence says them: `5, 10 or 20`, `20 to 500 characters`.

What is made of one is a comparison that names no argument yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from synth.errors import BadInput
from synth.policies.action_forms import singular
from synth.policies.asked import KINDS, field_named
from synth.policies.beside import STATED
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.nouns import MONEY, Meant, words_of
from synth.policies.patterns import compiled
from synth.policies.sizes import unit_at
from synth.policies.texts import clock_of
from synth.policies.verbs import PARTICIPLES
from synth.policies.where import Comparison, Op, Path, compared

_CURRENCY = r"(?:EUR|USD|GBP|CHF|JPY|US dollars?|dollars?|euros?|pounds?(?! of)|francs?|yen)\b|[$€£]"
_NUMBER = compiled(
    rf" *(?P<sign>[$€£] ?)?(?P<n>-?\d+(?:\.\d+)?)(?P<u> ?(?:{_CURRENCY}|%))?(?!\w|-[a-z]|[.,:/]\w)"
)
_CLOCK = compiled(r" *(?P<t>\d\d?:\d\d)(?![\w:.]*\w)")
_CHARACTERS = compiled(r" (?:characters?|chars?|letters|signs|symbols)(?! of)(?![\w'-])(?: long| in length)?")
_QUOTED = re.compile(r" *(?:\"([^\"]+)\"|\u201c([^\u201d]+)\u201d)")
_TOKEN = re.compile(r" *(?P<v>(?:[^\s,;:\"()=<>\u201c\u201d]|:(?=\S))+)")
_OR = compiled(r"(?: ?, (?:or |nor )?| or | nor )(?:the )?")
_AND = compiled(r"(?: ?, and | and )")
_LOOSE = re.compile(r"[a-z]+(?:_[a-z]+)*")
Value = tuple[float | str, str, int, str, bool]
"""(value, as said, its end, its unit, is it quoted)."""
_SMALL = (
    "at|least|most|more|less|than|an?|the|each|every|any|all|up|exactly|only|over|above|under|below|no"
    "|not|its"
    "|their|this|that|these|those|it|them|between|within|another|either|neither|both|some|such|and|or"
    "|nor|is|are"
    "|was|were|be|been|being|must|may|can|could|might|should|shall|will|would|ought|per|with|without"
    "|for|to|of|in"
    "|on|by|from|into|as|if|when|whenever|where|while|before|after|until|unless|whose|which|who|ever"
    "|never|has|have"
    "|had|does|do|did|none|nothing|nobody|anything|something|anybody|somebody|except|but|other|so|too"
    "|also|just"
    "|always|once|twice|then|again|because|since|please|you|we|they|needs?|requires?"
    "|stays?|starts?"
    "|begins?|ends?|differs?|equals?|exceeds?|contains?|runs?|calls?|one|same|different|higher|greater|larger"
    "|lower|smaller|fewer|longer|shorter|earlier|later|worth|non-empty|max|min|called|made|there"
    "|separate|individual|dedicated|distinct|additional|further|extra|prior|explicit|fresh|own|renewed"
    "|failures?|limits|rules|quotas|caps|ones|really|seriously|honestly"
)
"""Words that are neither an argument nor a value."""
_NO_VALUE = compiled(
    rf"(?:{_SMALL}|started|finished|equal|multiple|else|otherwise|filled|given|stated|set|provided|specified"
    r"|mandatory|required|compulsory|obligatory|needed|necessary|essential|optional|missing|empty|blank|present|absent|omitted|included|identical|alike|times?|ways?"
    r"|valid|invalid|correct|right|wrong|unique|new|old|known|unknown|plausible|fair|exact|accurate|clean"
    r"|clear|polite|friendly|formal|brief|short|long|safe|sane|sound|even|odd|whole|positive|negative"
    r"|numeric|numerical|real|ready|ok|okay|full|zero|small|large|big|tiny|huge|cheap|free|first|last"
    r"|next|final|recent|current|own|proper|good|bad|better|best|worse|worst|enough|here|together|separately"
    r"|immediately|today|tomorrow|yesterday|alone|asleep|aboard|me|us|him|her|himself|herself"
    r"|itself|themselves|oneself|myself)"
)

_NO_LONE_WORD = compiled(r".*(?:ed|en|ing|able|ible|ive|ful|ous|less|ly|ish)")
"""What a lone word may not end in: it says what a thing is like, or how something is done."""

OVER = (
    "over|above|more_than|greater_than|higher_than|larger_than|bigger_than|longer_than|exceeding|beyond|past"
    "|strictly_above|strictly_over|strictly_more_than|strictly_greater_than"
    "|in_excess_of|upwards_of|>|heavier_than|older_than|surpassing|in_the_excess_of"
)
UNDER = (
    "under|below|less_than|fewer_than|lower_than|smaller_than|shorter_than|lighter_than|beneath|<"
    "|strictly_below|strictly_under|strictly_less_than|strictly_smaller_than|anything_under|anything_below"
)
LEAST = (
    "at_least|at_or_above|no_less_than|not_less_than|no_fewer_than|not_under|not_below|no_lower_than|not_lower_than"
    "|a_minimum_of|minimum|min|min.|no_shorter_than|>=|no_smaller_than|not_fewer_than|not_shorter_than"
    "|at_or_over|above_or_at|over_or_at|greater_than_or_equal_to|more_than_or_equal_to|equal_to_or_above"
    "|equal_to_or_greater_than|equal_to_or_more_than|not_smaller_than|minimally|a_min_of|a_minimum"
)
MOST = (
    "at_most|at_or_below|at_or_under|no_more_than|not_more_than|not_over|not_above|no_greater_than|no_higher_than|not_higher_than"
    "|a_maximum_of|maximum|max|max.|maximally|up_to|at_the_most|no_larger_than|not_larger_than|not_exceeding"
    "|no_longer_than|not_longer_than|<=|not_greater_than|no_bigger_than|below_or_at|under_or_at"
    "|less_than_or_equal_to|lower_than_or_equal_to|smaller_than_or_equal_to|equal_to_or_below"
    "|equal_to_or_less_than|equal_to_or_under|not_beyond|not_in_excess_of|a_max_of|not_bigger_than"
    "|no_heavier_than|not_heavier_than"
)
_LEAST_BEHIND = (
    "or_more|or_above|or_over|or_higher|or_up|or_longer|or_greater|and_up|and_above|and_more|at_least"
    "|minimum|min|min.|at_the_least|at_minimum|at_the_shortest|at_the_lowest|at_a_minimum|or_larger"
    "|or_bigger|and_upwards|and_over|and_higher|upwards|or_heavier|or_older|as_a_minimum|or_warmer|or_hotter"
)
_MOST_BEHIND = (
    "or_less|or_below|or_under|or_lower|or_fewer|or_shorter|and_below|at_most|at_the_most|maximum|max"
    "|max.|tops|at_the_very_most|at_maximum|at_the_longest|at_the_highest|at_the_outside|at_a_maximum"
    "|or_smaller|or_lighter|or_colder|or_cooler|or_younger|or_cheaper|and_under|and_less|and_lower|and_no_more|and_not_more|not_more|no_more|as_a_maximum"
)
_EARLIER = "earlier_than|before"
_LATER = "later_than|after|past"
_FROM = "no_earlier_than|not_earlier_than|not_before|at_the_earliest"
_BY = "no_later_than|not_later_than|not_after|by|at_the_latest"
_INCLUDED = (
    "[,] [both|both_ends|either] [inclusive|inclusively|included|allowed|both_included|both_allowed"
    "|both_ends_included]"
)


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a list."""

    every: tuple[float | str, ...]
    said: tuple[str, ...]
    """As they stand in the sentence, without quotes."""
    unit: str = ""
    quoted: bool = False
    loose: bool = False
    """Is it one word in small letters, which may say what something is like?"""
    by_and: bool = False


def number(grammar: Grammar, at: int) -> Iterator[Found]:
    """(number, its unit)."""
    m = _NUMBER.match(grammar.text, at)
    if m is None:
        return
    value: float = float(m["n"]) if "." in m["n"] else int(m["n"])
    unit = (m["sign"] or m["u"] or "").strip()
    if characters := _CHARACTERS.match(grammar.text, m.end()):
        yield (value, "characters"), characters.end()
        return
    yield (value, unit), m.end()
    said, end = ("", m.end()) if unit else unit_at(grammar.text, m.end())
    if said:
        yield (value, said), end


def clock(grammar: Grammar, at: int) -> Iterator[Found]:
    if m := _CLOCK.match(grammar.text, at):
        minute = clock_of(m["t"])
        if minute is not None:
            yield int(minute), m.end()


def values(grammar: Grammar, at: int) -> Iterator[Found]:
    """A value or a list of them: all that belong together, or those before a comma."""
    text = grammar.text
    for join, by_and in ((_OR, False), (_AND, True)):
        found = [one] if (one := _value(text, at)) else []
        while found:
            joined = join.match(text, found[-1][2]) or (by_and and _OR.match(text, found[-1][2])) or None
            more = _value(text, joined.end()) if joined else None
            if more is None or (found[0][4] and not more[4]) or _is_another_thing(found[0], more):
                break
            found.append(more)
        if found and not (by_and and len(found) == 1):
            yield _listed(found, by_and), found[-1][2]
        for count in range(1, len(found) if not by_and else 1):
            end = found[count - 1][2]
            if compiled(r" ?, (?:the )?").fullmatch(text[end : _start(text, end)]):
                yield _listed(found[:count], by_and), end


def _is_another_thing(first: Value, more: Value) -> bool:
    """`With value 50 or bookings` lists no two values."""
    word = not more[4] and isinstance(more[0], str) and _LOOSE.fullmatch(more[1])
    return not isinstance(first[0], str | bool) and bool(word)


def _start(text: str, at: int) -> int:
    """Where the next value begins."""
    m = _OR.match(text, at)
    return m.end() if m else at


def _listed(found: list[Value], by_and: bool) -> Values:
    lone = len(found) == 1 or all(_says_done(one[1]) for one in found)
    return Values(
        tuple(one[0] for one in found), tuple(one[1] for one in found),
        next((one[3] for one in found if one[3]), ""),
        quoted=any(one[4] for one in found),
        loose=lone and not found[0][4] and _LOOSE.fullmatch(found[0][1]) is not None
        and found[0][1] not in ("true", "false"),
        by_and=by_and,
    )  # fmt: skip


def _value(text: str, at: int) -> Value | None:
    if m := _QUOTED.match(text, at):
        said = m[1] or m[2]
        return said, said, m.end(), "", True
    if m := _NUMBER.match(text, at):
        value: float = float(m["n"]) if "." in m["n"] else int(m["n"])
        return value, m["n"], m.end(), (m["sign"] or m["u"] or "").strip(), False
    m = _TOKEN.match(text, at)
    said = m["v"].rstrip(".?!") if m else ""
    if m is None or not re.search(r"\w", said) or "'" in said:
        return None
    if _NO_VALUE.fullmatch(said) and not said.isupper():
        return None
    if re.fullmatch(r"\d.*", said) and not re.search(r"[a-zA-Z]", said):
        return None
    end = m.start("v") + len(said)
    return (said == "true" if said in ("true", "false") else said), said, end, "", False


def field(grammar: Grammar, at: int) -> Iterator[Found]:
    """An argument by its name."""
    begin = compiled(r" *(?:(?:the|its|their|an?|any|every|each|all|all the) )?").match(grammar.text, at)
    start = begin.end() if begin else at
    yield from _fields(grammar, start)


def plain_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """An argument by its name alone, with nothing before it."""
    yield from _fields(grammar, at)


def the_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """An argument with an article before it: `for a party_size of 8`; not a thing of that size."""
    if begin := compiled(r" *(?:the|its|an?) ").match(grammar.text, at):
        things = {end for thing, end in grammar.matches("thing", at) if not thing.role}
        for path, end in _fields(grammar, begin.end() - 1):
            if end not in things or not grammar.matches("size", end):
                yield path, end


def identifier(grammar: Grammar, at: int) -> Iterator[Found]:
    """An argument by a name that is no word of English: `approved_by`."""
    yield from (found for found in field(grammar, at) if is_identifier(found[0]))


def its_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """Another argument of the same call: `its item`, `the sender`, `to_bin`."""
    m = compiled(r" *(?P<the>(?:the|its|their) )?").match(grammar.text, at)
    place = m.end() if m else at
    names_an_action = bool(grammar.matches("noun", place))
    things = {end for thing, end in grammar.matches("thing", place) if not thing.role}
    for path, end in _fields(grammar, place):
        of_a_thing = any(one < end for one in things)
        named = (m and m["the"] and not names_an_action and not of_a_thing) or is_identifier(path)
        if named or path[-1] in _PAIRED:
            yield path, end


class Identifier(Meant):
    """An argument as its tool calls it, which is no word of English: `approved_by`."""

    __slots__ = ()


def _fields(grammar: Grammar, at: int) -> Iterator[Found]:
    """Names of an argument that may begin there: `approved_by`, `party size`, `number of replicas`."""
    if m := compiled(r" *(?:number|count|quantity) of (?=[a-z])").match(grammar.text, at):
        if not (grammar.matches("thing", m.end()) or grammar.matches("noun", m.end())):
            yield from _fields(grammar, m.end())
        return
    if m := compiled(
        r" *(?P<d>[a-z]+ed) by(?= (?:and|is|are|must|may|can|should|has|of|in|on|to)\b| ?[:,=]|$)"
    ).match(grammar.text, at):
        yield (Identifier(f"{m['d'].lower()}_by"),), m.end()
    m = _FIELD.match(grammar.text, at)
    if m is None:
        return
    for end in (*(at + space.start() for space in re.finditer("(?<=\\S) ", m[0])), m.end()):
        said = _SO_CALLED.sub("", grammar.text[at:end].strip().casefold())
        path = field_named(said)
        one = singular(path[-1])
        if " " in said and any(end == deed for _, deed in grammar.matches("deed", at)):
            continue
        if compiled(r"[a-z]+ed").fullmatch(said) and grammar.matches("done", at):
            continue
        if compiled(r"[a-z]+(?:_[a-z0-9]+)+").fullmatch(said):
            path = (Identifier(said),)
        yield ((Meant(one),) if len(path) == 1 and one in MONEY else path), end


_SO_CALLED = re.compile(r"(?<=\w) (?:fields?|arguments?|parameters?)$")
_NO_ARGUMENT = (
    "allowed|permitted|forbidden|prohibited|banned|disallowed|valid|accepted|acceptable|admissible|used|passed"
    "|given|chosen|stated|provided|specified|supplied|maximum|maximal|minimum|minimal|highest|lowest|largest"
    "|smallest|possible|exceeding|starting|beginning|ending|containing|left|that|which|who|keep|ensure|leave"
    "|agents?|steps|multiples|empty|blank|missing|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|mornings?|night"
    "|evenings?|together|combined|altogether|overall|total|totals|sum|sums|number|count|average|jointly|lasts?|costs|weighs?|holds?|spans?"
    r"|covers?(?! (?:of|on)\b)|first|last|beforehand|afterwards?|already|now|anybody|nobody"
    "|different|same|another|except|excepting|than|without|or|and|nor|but|maybe|perhaps|rarely|hardly|seldom"
    "|normally|usually|mostly|often|sometimes|nearly|almost|half|nothing|something|anything|everything|whatever|not|gets?|takes?"
)
_ONE = rf"(?!(?:{_SMALL}|{_NO_ARGUMENT})(?![\w'-]))[a-z]\w*"
_MORE = rf"(?:number|count|{_ONE})"
"""What stands behind the first word of a name: `policy number`."""
_FIELD = re.compile(rf" *(?:args\.)?{_ONE}(?:\.\w+)*(?: {_MORE}){{0,2}}(?![\w'-])")


def is_identifier(path: Path) -> bool:
    return isinstance(path[0], Identifier)


def says_what(path: Path, word: str) -> bool:
    """May a lone word be the value of an argument, rather than say what it is like?"""
    if (path[-1] in _ROLES and word in _ROLES) or _is_another(path[-1], word):
        return False
    if compiled(r"(?:number|name|code|type|id|key|kind|no)s?").fullmatch(word):
        return False
    if path[-1] in _NAMING_TOO and _OF_THEM.fullmatch(word):
        return False
    if takes_words(path):
        return True
    return not is_prose(path) and not _says_done(word)


def _says_done(word: str) -> bool:
    return word in PARTICIPLES or _NO_LONE_WORD.fullmatch(word) is not None


def _is_another(name: str, word: str) -> bool:
    """`source_lang` beside `target_lang` is an argument, too."""
    return "_" in word and words_of(word)[-1] == words_of(name)[-1]


def takes_words(path: Path) -> bool:
    """Is it an argument whose values are single words?"""
    last = path[-1].split("_")[-1]
    return is_identifier(path) or last in KINDS or last in _NAMING or last in _NAMING_TOO


def names_an_argument(path: Path) -> bool:
    """Is it what calls are given, rather than what is done: a reason, a channel, an approver?"""
    last = path[-1].split("_")[-1]
    return takes_words(path) or is_prose(path) or compiled(f"{STATED}|{_WHO}").fullmatch(last) is not None


_WHO = (
    "approver|reviewer|owner|requester|requestor|signer|author|assignee|inspector|officer|handler|operator"
    "|prescriber|submitter|verifier|auditor|authoriser|authorizer|sponsor|sender|recipient|receiver|initiator"
    "|creator|assessor|examiner|checker|dispatcher|preparer|requested_by|signatory|witness|payee"
)


_OF_THEM = compiled(r"[a-z]+(?:[^s]s|ing|ion|ment|ance|ence|age|ness)")
"""A word that such a noun may stand before: `company policies`."""
_NAMING = frozenset(
    [
        "target", "plan", "table", "topic", "code", "department", "service", "model", "urgency", "provider",
        "supplier", "warehouse", "location", "store", "branch", "cluster", "namespace", "unit", "ward",
        "database", "bucket", "project", "board", "folder", "schema", "index", "domain", "policy", "grade",
        "rank", "position", "system", "engine", "backend", "partner", "bank", "device", "platform",
        "protocol",
    ]
)  # fmt: skip
_NAMING_TOO = frozenset(
    [
        "destination", "resolution", "registry", "verdict", "disposition", "specialty", "speciality",
        "gender",
        "tariff", "rating", "algorithm", "cipher", "encoding", "codec", "frequency", "cadence", "visibility",
        "scope", "timezone", "province", "county", "dialect", "cuisine", "allergen", "voltage", "semester",
        "route", "tag", "colour", "color",
    ]
)  # fmt: skip
_PAIRED = frozenset(["source", "target", "sender", "recipient", "payer", "payee", "buyer", "seller"])
"""Arguments that say themselves which other one they are not."""
_ROLES = frozenset(
    [
        "source", "target", "destination", "origin", "sender", "recipient", "receiver", "requester",
        "requestor", "approver", "author", "reviewer", "payer", "payee", "buyer", "seller", "creator",
        "assignee", "reporter", "cc", "bcc", "item", "substitute", "username", "password",
        "submitter", "owner", "editor", "borrower", "lender", "debtor", "creditor", "caller",
        "callee", "host", "parent", "child", "start", "end",
    ]
)  # fmt: skip
"""Arguments that come in pairs: one of them is no value of another."""


def is_of_time(path: Path) -> bool:
    """Is it an argument that may say a clock time?"""
    return bool({*words_of(path[-1])} & _TIMED)


_TIMED = frozenset(
    [
        "time", "times", "start", "starts", "end", "ends", "slot", "at", "begin", "from", "until", "hour",
        "departure", "arrival", "pickup", "due", "deadline", "opening", "closing", "checkin", "checkout",
    ]
)  # fmt: skip


def is_prose(path: Path) -> bool:
    """Is it an argument whose values are no single words: an amount, or what somebody writes?"""
    last = path[-1].split("_")[-1]
    return last in MONEY or last in _WRITTEN


_WRITTEN = frozenset(
    [
        "message", "text", "note", "comment", "body", "subject", "description", "title", "answer", "reply",
        "summary", "explanation", "justification", "quantity", "number", "count", "duration", "weight",
        "size", "age", "date", "time", "balance", "limit", "result", "response", "content", "data", "details",
    ]
)  # fmt: skip


def _comparison(op: Op, values: tuple[float, ...], unit: str) -> Comparison:
    if unit == "characters":
        return Comparison((), op, "length", values)
    return Comparison((), op, "number", values, unit)


def _size(op: Op) -> Callable[[Parts], Comparison]:
    return lambda p: _comparison(op, (p["n"][0],), p["n"][1])


def _range(p: Parts) -> Comparison | None:
    (low, unit), (high, other) = p["n"], p["m"]
    if low > high or (unit and other and unit != other):
        return None
    return _comparison("inside", (low, high), unit or other)


def _at(op: Op) -> Callable[[Parts], Comparison]:
    return lambda p: Comparison((), op, "clock", (p["t"],))


def _times(p: Parts) -> Comparison | None:
    return Comparison((), "inside", "clock", (p["t"], p["u"])) if p["t"] < p["u"] else None


def multiple(p: Parts) -> Comparison | None:
    number, unit = p["n"]
    return Comparison((), "multiple", "number", (number,), unit) if number > 0 else None


def among(op: Op) -> Callable[[Parts], Comparison | None]:
    """One of some values, or none of them."""

    def made(p: Parts) -> Comparison | None:
        said: Values = p["v"]
        if said.by_and and op == "in":
            return None
        try:
            return compared((), op, said.every, said.unit, as_names=not said.quoted)
        except BadInput:
            return None

    return made


BOUNDS: dict[str, Rule] = {
    "number of": number,
    "clock": clock,
    "values": values,
    "field": field,
    "plain field": plain_field,
    "the field": the_field,
    "own name": identifier,
    "its field": its_field,
    "size": [
        (f"{OVER} {{n:number of}}", _size(">")),
        (f"{UNDER} {{n:number of}}", _size("<")),
        (f"{LEAST} {{n:number of}}", _size(">=")),
        ("from {n:number of} upwards|up|on", _size(">=")),
        (f"{MOST} {{n:number of}}", _size("<=")),
        (f"{{n:number of}} {_LEAST_BEHIND}", _size(">=")),
        (f"{{n:number of}} {_MOST_BEHIND}", _size("<=")),
        (f"between|from|within {{n:number of}} and|to|- {{m:number of}} {_INCLUDED}", _range),
        (f"{{n:number of}} to|-|through|up_to {{m:number of}} {_INCLUDED}", _range),
        ("in|within the_range [of|from] {n:number of} to|- {m:number of}", _range),
        (f"{LEAST} {{n:number of}} and|but|, {MOST} {{m:number of}}", _range),
        (f"{MOST} {{m:number of}} and|but|, {LEAST} {{n:number of}}", _range),
        (f"{_EARLIER} {{t:clock}}", _at("<")),
        (f"{_LATER} {{t:clock}}", _at(">")),
        (f"{_FROM} {{t:clock}}", _at(">=")),
        (f"{_BY} {{t:clock}}", _at("<=")),
        ("{t:clock} or_later", _at(">=")),
        ("{t:clock} or_earlier", _at("<=")),
        ("between|from {t:clock} and|to {u:clock}", _times),
    ],
}

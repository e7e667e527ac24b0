"""The words in which a sentence says what a call is given: `of more than 500`, `in currency EUR`.

A name, comparisons and values, and nothing else: whatever a sentence says beside them stays in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from synth.policies.action_forms import singular
from synth.policies.asked_texts import text_at
from synth.policies.nouns import Meant, Somewhere
from synth.policies.where import Comparison, Path, Where, compared

AMOUNT = Meant("amount")
"""The argument that is meant where a number stands alone: `refunds over 500`."""

Values = tuple[tuple[float | str, ...], int]
"""Values, and where they end."""


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SIDES = (
    (">=", r"at least|no less than|not less than|not (?:under|below)|a minimum of|>="),
    ("<=", r"at most|up to|no more than|not more than|not (?:over|above|exceeding)|no greater than"
           r"|a maximum of"
           r"|<="),
    (">", r"over|above|(?:more|greater|higher|larger|bigger) than|exceeding|in excess of|>"),
    ("<", r"under|below|(?:less|lower|smaller|fewer) than|<"),
)  # fmt: skip
_SIDE = {op: _words(rf"(?:{words}) ?(?<=[ <>=])") for op, words in _SIDES}
_OR = {
    ">=": _words(r" or (?:more|above|over|higher|greater)\b"),
    "<=": _words(r" or (?:less|below|under|lower|fewer)\b"),
}
_CURRENCY = (
    r"(?:EUR|USD|GBP|CHF|JPY|[Uu][Ss] [Dd]ollars?|[Dd]ollars?|[Ee]uros?|[Pp]ounds?|[Ff]rancs?|[Yy]en)\b|[$€£]"
)
_NUMBER = re.compile(
    r"(?P<sign>[$€£])?(?P<n>-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(?![\w%]|[.,:]\d)"
    rf"(?: ?(?P<unit>{_CURRENCY}))?"
)
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”")
_NAMED = re.compile(
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b)(?!(?:An|The|You|It|We|They|If|When|Where|After"
    r"|Before)\b)"
    r"(?!(?:I|A) (?!or\b|nor\b|and\b|only\b|must\b|may\b|can\b|is\b|are\b|needs?\b)[a-z])"
    r"[A-Z]\w*(?:-\w+)*"
)
KINDS = frozenset(
    [
        "priority",
        "severity",
        "kind",
        "type",
        "status",
        "reason",
        "region",
        "category",
        "level",
        "channel",
        "method",
        "currency",
        "outcome",
        "template",
        "environment",
        "env",
        "stage",
        "tier",
        "mode",
        "zone",
        "state",
        "class",
        "carrier",
        "team",
        "queue",
        "role",
        "language",
        "country",
        "format",
        "audience",
        "source",
        "quality",
        "speed",
        "size",
        "colour",
        "color",
        "cabin",
        "site",
        "lab",
        "version",
    ]
)
"""Arguments whose values are words of their own: `with priority high`."""
_KINDS_TOO = frozenset([
    "cluster", "grade", "policy", "service", "urgency", "topic", "moderator", "rank",
    "department", "branch", "pool", "network", "platform", "vendor", "provider", "supplier", "warehouse",
    "station", "scope", "risk", "tone", "locale", "gate", "ward", "namespace", "visibility", "protocol",
    "bucket", "shift", "plan",
])  # fmt: skip
"""The same, but for words that such a noun may stand before: `policy hate`, no `policy violations`."""
_PEOPLE = frozenset([
    "approver", "reviewer", "requester", "requestor", "signer", "author", "assignee", "inspector", "officer",
    "prescriber", "submitter", "verifier", "auditor", "sponsor", "doctor", "pharmacist", "manager",
    "supervisor", "owner", "operator",
])  # fmt: skip
"""Arguments that say who it was; not `with owner consent`."""
_OF_PEOPLE = re.compile(
    r"(?:consent|permission|sign-?off|agreement|knowledge|review|request|input|access|notice|present|name"
    r"|id|code|number|notified|informed|assigned|involved|only|alone|email|check|feedback|ok|okay|help)$"
)
_THING = re.compile(r"[a-z]+(?:[^s]s|ing|ion|ment|ance|ence|al|age|ure|ity|ness)$|desk|team|line|call|level")
_CODE = re.compile(r"[a-z][a-z-]*[\d_][\w-]*")
"""`legal_notice`, `sev1`, `eu-west-1`: no word of a language."""
_BARE = re.compile(
    r"(?!(?:not|never|over|above|more|less|under|below|at|up|no|too|an?|the|one|either|neither|both|any"
    r"|every|known"
    r"|unknown|missing|given|set|empty|present|absent|equal|greater|higher|lower|larger|smaller|between|in"
    r"|on|of|than"
    r"|other|its|their|also|still|already|being|been|must|may|can|out|exactly|only|there|available|valid"
    r"|correct|filled|blank|stated|specified|provided|matching|containing|starting|ending|longer|shorter"
    r"|wrong|right|small|large|big|negative|positive|zero|null|none|different|same|changed|exceeded"
    r"|required|needed|allowed|forbidden|this|that|it|them|to|for|from|by|as|so|or|and|if)\b)[a-z][\w-]*"
)
_ENDS = re.compile(
    r"$|[,;:.](?=\s|$)|\s(?=(?:must|should|shall|may|might|can|could|cannot|will|would|has|have|had|is|are"
    r"|was|were"
    r"|needs?|requires?|happens?|fails?|before|after|without|unless|until|only|never|on|in|within|during"
    r"|between|per"
    r"|and|or|nor|with|for|to|from|by|if|when|whenever|where|while|whose|once|at|ever|not|always"
    r"|immediately|first|beforehand|earlier|previously|already|the|you|we|i"
    r"|again|more|as|outside|overlaps?|precedes?|follows?|then|twice|exactly|no|every|each|directly"
    r"|of (?:the|an?|that|this|each|every|any)|(?:\w+ )?times)\b)",
    re.IGNORECASE,
)
"""What may stand after a value: never a noun, which would say what is counted."""
_JOIN = _words(r"(?:, (?:or |nor )?| or | nor )")
_JOIN_NOT = _words(r"(?:, (?:or |nor |and )?| or | nor | and )")
_STOP = (
    r"(?!(?:at|least|most|more|less|than|an?|the|same|each|every|any|all|up|exactly|only|over|above|under"
    r"|below|last"
    r"|first|next|past|different|one|two|no|not|its|their|this|that|these|those|it|them|between|within|other|another"
    r"|either"
    r"|both|some|such|runs?|conversations?|sessions?|turns?|messages?|steps?|times?|calls?|minutes?|hours?"
    r"|days?"
    r"|seconds?|weeks?|months?|years?|and|or|is|are|was|were|be|been|must|may|can|should|shall|per|with"
    r"|without|for"
    r"|to|of|in|on|by|from|if|when|where|before|after|until|unless|while|happens?|fails?|maximum|minimum"
    r"|total|sum"
    r"|timezone|agents?|assistants?|tools?|models?|excess|exceeding|exceeds?|equals?|whose|which|who|ever|never|as|has"
    r"|have"
    r"|had|does|do|there|set|equal|giving|stating|having"
    r"|none|nothing|nobody|neither|naming|providing|specifying|setting|passing|except|besides|worth|higher|greater|larger|lower"
    r"|smaller|fewer)\b)"
)
_ONE = rf"{_STOP}[a-z]\w*"
_FIELD = re.compile(rf"(?:args\.)?{_ONE}(?:\.\w+)*(?: {_ONE}){{0,2}}")
_THE = _words(r"(?:an?|the|any|its|their|his|her) ")
_IS = _words(r"(?:(?:is|are|was|were)(?: (?:equal|set) to)?|equals?|has been set to|==?) ")
_IS_NOT = _words(
    r"(?:(?:is|are|was|were) (?:not|other than)(?: equal to)?|isn['\u2019]t|aren['\u2019]t|does not equal"
    r"|!=) "
)
_GONE = _words(
    r"(?:is|are|was|were) (?:missing|empty|absent|not (?:given|set|stated|specified|present|provided))\b"
)
_THERE = _words(r"(?:is|are|was|were) (?:given|set|stated|specified|present|provided)\b")
_OTHER = _words(r"(?:other than|except(?: for)?|but not|but|different from|not) ")
_GIVING = _words(r"without (?:giving|stating|naming|providing|specifying|setting|passing|a value for) ")


@dataclass(frozen=True, slots=True)
class Asked:
    """A condition that a sentence states, and where it stands."""

    start: int
    end: int
    every: tuple[Comparison, ...]

    @property
    def where(self) -> Where:
        return Where(self.every)


def asked_at(text: str, at: int) -> Asked | None:
    """The condition that begins at a place of the text, which is behind a word."""
    lead = re.compile(r",? ").match(text, at)
    first = None if lead is None else _one(text, lead.end(), alone=True)
    if first is None:
        return None
    every, end = first
    while True:
        joined = re.compile(r",? (?:and )?").match(text, end)
        more = None if joined is None else _one(text, joined.end(), alone=False)
        if more is None and joined is not None and "and" in joined[0]:
            at_end = joined.end()
            more = _article(text, at_end) or _said_of_it(text, at_end) or _named_alone(text, at_end)
        if more is None:
            break
        every, end = (*every, *more[0]), more[1]
    return Asked(at, end, every) if _ENDS.match(text, end) else None


Read = tuple[tuple[Comparison, ...], int]


def _one(text: str, at: int, alone: bool) -> Read | None:
    """One condition; `alone`: is it the first, which may leave out the name of an amount?"""
    if found := _unnamed(text, at) or _kinded(text, at):
        return found
    if (m := _BY_WHOM.match(text, at)) and (by := _valued(text, m.end(), field_named(m[0]))):
        return by
    if m := _GIVING.match(text, at):
        return _missing(text, m.end())
    if m := _words(r"with no ").match(text, at):
        found = _missing(text, m.end())
        return (
            None if found is None else (found[0], _skip(text, found[1], r" (?:given|set|stated|specified)\b"))
        )
    if m := _words(r"(?:whose|where (?:the|its|their)) ").match(text, at):
        return said_at(text, m.end())
    if m := _words(r"(?:for|to|in|on|at|with|from|of) (?:any|every|each|all|an?|the) ").match(text, at):
        for path, end in fields_at(text, m.end()):
            if other := _words(r" (?:other than|except(?: for)?|but) ").match(text, end):
                return _among(text, other.end(), path, "not in", _JOIN_NOT, _takes_words(path, text[:end]))
    if m := _words(r"(?P<with>with|having|for|in|to|of|on|at|from|under|by|into|via|using) ").match(text, at):
        article = _THE.match(text, m.end())
        called = _CALLED.search(text[:at]) is not None and m["with"].lower() == "with"
        for path, end in fields_at(text, article.end() if article else m.end()):
            found = _valued(text, end, path) or (
                _among(text, end + 1, path, "in", _JOIN, bare=called) if called else None
            )
            if found and (_names_a_value(m["with"], article) or found[0][0].op in ("in", "not in")):
                return found
    return _amount(text, at) if alone else None


_PLACES = "production|prod|preprod|staging|development|dev|sandbox|preview|canary|beta|qa|uat"
"""Where software runs: said without the word for it."""
_BRANCHES = "main|master|trunk|develop"
_NO_CODE = (
    r"(?!(?:EUR|USD|GBP|CHF|JPY|EOD|ASAP|UTC|GMT|CES?T|[AP]M|OK|IDS?|IBAN|BIC|SKU|UR[IL]|IP|SIM|VIN|SSN|PIN|OTP"
    r"|ISBN|API|DB|SQL|UUID|PNR)\b)"
)
CODES = rf"(?:(?-i:{_NO_CODE}[A-Z][A-Z0-9_-]+)|{_PLACES})"
"""Values that say themselves what they are of: `US`, `prod`."""
_UNNAMED = _words(
    r"(?:(?:in|to|into|for|from|on|at|by|via) (?:either )?(?=[\"\u201c]|(?-i:[A-Z]{2}|[A-Z][A-Z0-9_-]+\b))"
    rf"|(?:in|to|into|on|from|against) (?=(?:{_PLACES})\b)|(?:to|into|onto|on|from) (?=(?:{_BRANCHES})\b)"
    r"|by (?=(?:voice|video|pin|otp|passkey)\b))"
)
_SOME = _words(r"with (?P<some>an|any|some|no) argument (?=[\"\u201c])")
_ONE_UNNAMED = _words(
    rf"\"(?P<q>[^\"]+)\"|\u201c(?P<p>[^\u201d]+)\u201d|(?P<v>{CODES}|{_BRANCHES}|voice|video|pin|otp"
    r"|passkey)(?![\w-])"
)


def _unnamed(text: str, at: int) -> Read | None:
    """`in production`, `to US or EU`: a value of some argument."""
    m = _SOME.match(text, at) or _UNNAMED.match(text, at)
    if m is None:
        return None
    values, end = list[str](), m.end()
    while one := _ONE_UNNAMED.match(text, end):
        values.append(one["q"] or one["p"] or one["v"])
        end = one.end()
        joined = _JOIN.match(text, end)
        if joined is None or _ONE_UNNAMED.match(text, joined.end()) is None:
            break
        end = joined.end()
    if not values or not _ENDS.match(text, end):
        return None
    op = "not in" if (m.groupdict().get("some") or "").lower() == "no" else "in"
    return (compared((Somewhere(tuple(values)),), op, tuple(values), as_names=True),), end


_SMALL = (
    r"(?!(?:the|an?|any|this|that|which|what|same|other|each|every|its|their|no|one|all|such|of|given|certain"
    r"|different|only|in|on|at|by)\b)[A-Za-z][\w-]*"
)
EVERY_KIND = "|".join(sorted(KINDS | _KINDS_TOO))
_LISTED = _words(
    rf"(?:in|on|at|with|by|via|under|of|for) (?:the |an? |either )?"
    rf"(?P<v>{_SMALL}(?:(?:, or |, | or ){_SMALL})+) (?P<f>{EVERY_KIND})s?(?![\w-])"
)


_CALLED = re.compile(r"\b(?:called|invoked|used) $", re.IGNORECASE)
"""What is given then has the name of an argument: `called with table customers`."""
_BY_WHOM = _words(r"[a-z]+_by(?= )")
"""An argument that reads as words do: `a reset requested_by support`."""


def _kinded(text: str, at: int) -> Read | None:
    """`in economy or business cabin`, `by sms or email channel`."""
    m = _LISTED.match(text, at)
    if m is None or not _ENDS.match(text, m.end()):
        return None
    values = tuple(re.split(r", or |, | or ", m["v"], flags=re.IGNORECASE))
    return (compared(field_named(m["f"]), "in", values, as_names=True),), m.end()


def _names_a_value(lead: str, article: re.Match[str] | None) -> bool:
    """Is it a size that is spoken of? `For bookings over 100` speaks of things of that size."""
    return lead.lower() in ("with", "having") or bool(article and article[0].lower() in ("a ", "an "))


def _article(text: str, at: int) -> Read | None:
    """`... and a currency other than EUR`."""
    m = _THE.match(text, at)
    found = (_valued(text, end, path) for path, end in fields_at(text, m.end())) if m else iter(())
    return next(filter(None, found), None)


def _named_alone(text: str, at: int) -> Read | None:
    """`... and force true`, `... and severity high`."""
    found = (_valued(text, end, path) for path, end in fields_at(text, at))
    return next((one for one in found if one and one[0][0].op in ("in", "not in")), None)


def _said_of_it(text: str, at: int) -> Read | None:
    """`... and the currency is EUR`."""
    m = _words(r"(?:whose |where )?(?:(?:the|its|their) )?").match(text, at)
    return said_at(text, m.end() if m else at)


def fields_at(text: str, at: int) -> Iterator[tuple[Path, int]]:
    """Names of an argument that may begin there, the shortest first."""
    m = _FIELD.match(text, at)
    if m is None:
        return
    for end in (*(at + space.start() for space in re.finditer(" ", m[0])), m.end()):
        if re.match(r"\w", text[end : end + 1]) is None:
            yield field_named(text[at:end].removesuffix(" given")), end


_COUNTED = re.compile(
    r".*(?:days|hours|minutes|seconds|weeks|months|years|units|nights|miles|points|items|details)"
)


def _one_of_many(said: str) -> str:
    """`Policy numbers` as `policy number`: a name of several words that is spoken of in the plural."""
    *first, last = said.split(" ")
    return said if not first or _COUNTED.fullmatch(last) else " ".join([*first, singular(last)])


def field_named(words: str) -> Path:
    """The argument of a name in words: exactly that of `args.`, or of what lies inside of another."""
    name = _one_of_many(words.strip().removeprefix("args.")).replace(" ", "_")
    exact = "." in name or words.strip().startswith("args.")
    return tuple(name.split(".")) if exact else (Meant(name),)


def _missing(text: str, at: int) -> Read | None:
    begin = article.end() if (article := _THE.match(text, at)) else at
    for path, end in fields_at(text, begin):
        if _ENDS.match(text, end):
            return (compared(path, "missing", ()),), end
    return None


def _valued(text: str, at: int, path: Path) -> Read | None:
    """What is said of an argument after its name: ` over 500`, ` "EUR"`, ` of at least 5`."""
    if asked := text_at(text, at, path):
        return ((asked[0],), asked[1]) if _ENDS.match(text, asked[1]) else None
    m = _words(r",? (?:that is |which is |that was )?(?:of )?(?:set to |equal to |exactly |= ?)?").match(
        text, at
    )
    if m is None:
        return None
    if sized := sizes(text, m.end(), path):
        return sized
    if other := _OTHER.match(text, m.end()):
        return _among(text, other.end(), path, "not in", _JOIN_NOT, _takes_words(path, text[:at]))
    said = m[0].endswith(("set to ", "equal to ")) or _takes_words(path, text[:at])
    if path[-1] in _KINDS_TOO | _PEOPLE and (word := _BARE.match(text, m.end())):
        said = _THING.match(word[0]) is None
        said = said and not (path[-1] in _PEOPLE and _OF_PEOPLE.match(word[0]))
    return _among(text, m.end(), path, "in", _JOIN, bare=said)


def _takes_words(path: Path, said: str) -> bool:
    """May its values be mere words? `said`: the sentence up to the end of its name."""
    named = "_" in path[-1] and said.endswith(path[-1])
    return path[-1] in KINDS or path[-1] in _KINDS_TOO or named


def said_at(text: str, at: int) -> Read | None:
    """`amount is over 500`, `status is not "open"`."""
    for path, end in fields_at(text, at):
        if text[end : end + 1] == " " and (found := said_of(text, end + 1, path)):
            return found
    return None


def said_of(text: str, at: int, path: Path, bare: bool = True) -> Read | None:
    """`is over 500`, `exceeds 500`, `is not "open"`, of an argument; `bare`: may a value be a mere word?"""
    if m := _GONE.match(text, at):
        return (compared(path, "missing", ()),), m.end()
    if m := _THERE.match(text, at):
        return (compared(path, "given", ()),), m.end()
    if m := _words(r"(?P<no>(?:does|do|did) not )?exceed(?:s|ed)? ").match(text, at):
        return _sized(text, m.end(), path, "<=" if m["no"] else ">")
    if m := _words(r"(?:is|are|was|were) (?P<no>not )?").match(text, at):
        sized = sizes(text, m.end(), path)
        if sized and m["no"]:
            return ((sized[0][0].contrary,), sized[1]) if len(sized[0]) == 1 else None
        if sized:
            return sized
    if sized := sizes(text, at, path):
        return sized
    if m := _words(r"(?:is|are) neither ").match(text, at):
        return _among(text, m.end(), path, "not in", _JOIN, bare)
    if m := _IS_NOT.match(text, at):
        return _among(text, m.end(), path, "not in", _JOIN_NOT, bare)
    if m := _IS.match(text, at):
        return _among(text, m.end(), path, "in", _JOIN, bare)
    return None


def sizes(text: str, at: int, path: Path) -> Read | None:
    """`over 500`, `between 5 and 7`, `500 or more`."""
    for op, words in _SIDE.items():
        if m := words.match(text, at):
            return _sized(text, m.end(), path, op)
    if m := _words("outside (?:of )?").match(text, at):
        low = _NUMBER.match(text, m.end())
        high = low and _NUMBER.match(text, _skip(text, low.end(), " (?:and|to) "))
        if low and high and text[low.end() : high.start()] in (" and ", " to "):
            ends = (_as_number(low["n"]), _as_number(high["n"]))
            return (compared(path, "outside", ends, high["sign"] or high["unit"] or ""),), high.end()
    if m := _words("(?:between|from) ").match(text, at):
        low = _NUMBER.match(text, m.end())
        high = low and _NUMBER.match(text, _skip(text, low.end(), " (?:and|to) "))
        if low and high and text[low.end() : high.start()] in (" and ", " to "):
            both = ((">=", low), ("<=", high))
            return tuple(_comparison(path, op, n) for op, n in both), high.end()
    if m := _NUMBER.match(text, at):
        for op, words in _OR.items():
            if more := words.match(text, m.end()):
                return (_comparison(path, op, m),), more.end()
    return None


def _sized(text: str, at: int, path: Path, op: str) -> Read | None:
    m = _NUMBER.match(text, at)
    return ((_comparison(path, op, m),), m.end()) if m and _ENDS.match(text, m.end()) else None


def _comparison(path: Path, op: str, m: re.Match[str]) -> Comparison:
    return compared(path, op, (_as_number(m["n"]),), m["sign"] or m["unit"] or "")


def _as_number(text: str) -> float:
    plain = text.replace(",", "")
    return float(plain) if "." in plain else int(plain)


_ALONE = _words(
    r"(?P<of>of |worth )?(?=over|above|under|below|exceeding|in excess|greater|larger|higher|lower|smaller)"
)
_OF = _words(r"(?:of|worth) (?=\S)")
_TOGETHER = _words(
    r" (?:per|within|in (?:an?|any|one|each|every|total|all)|an?|each|every|together|altogether|at once)\b"
)


_IN_ONE_CALL = _words(r" (?:in one go|in a single (?:call|go|step)|in one call|at once|per call|at a time)\b")


def _amount(text: str, at: int) -> Read | None:
    """A number whose argument has no name: `of more than 500`, `over $500`."""
    m = _OF.match(text, at)
    found = sizes(text, m.end() if m else at, (AMOUNT,))
    if found is not None and (one := _IN_ONE_CALL.match(text, found[1])):
        return found[0], one.end()
    if found is None or _TOGETHER.match(text, found[1]):
        return None
    return found if m or _ALONE.match(text, at) or found[0][0].unit else None


def _among(text: str, at: int, path: Path, op: str, join: re.Pattern[str], bare: bool = False) -> Read | None:
    at = _skip(text, at, "either ")
    first = _value(text, at, bare)
    if first is None:
        return None
    values, units, end = [first[0]], [first[2]], first[1]
    places = [at]
    while (m := join.match(text, end)) and (
        more := _value(text, m.end(), bare and "or" in m[0] and _is_small(first[0]))
    ):
        values.append(more[0])
        units.append(more[2])
        places.append(m.end())
        end = more[1]
    if not _ENDS.match(text, end):
        return None
    names = not any(text[place] in '"\u201c' for place in places)
    return (compared(path, op, tuple(values), next(filter(None, units), ""), as_names=names),), end


def _is_small(value: float | str) -> bool:
    """Is it a mere word, so that others of its list may be, too?"""
    return isinstance(value, str) and value[:1].islower()


def _value(text: str, at: int, bare: bool) -> tuple[float | str, int, str] | None:
    """(value, its end, its unit)."""
    if m := _QUOTED.match(text, at):
        return m[1] or m[2], m.end(), ""
    if m := _NUMBER.match(text, at):
        return _as_number(m["n"]), m.end(), m["sign"] or m["unit"] or ""
    if m := _words(r"(?:true|false)\b").match(text, at):
        return m[0].lower() == "true", m.end(), ""
    m = _NAMED.match(text, at) or _CODE.match(text, at) or (_BARE.match(text, at) if bare else None)
    return (m[0], m.end(), "") if m else None


def _skip(text: str, at: int, pattern: str) -> int:
    m = _words(pattern).match(text, at)
    return m.end() if m else at

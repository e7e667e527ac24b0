"""A sentence in one spelling, before it is taken apart."""

from __future__ import annotations

import re
from collections.abc import Callable

from synth.policies.everyday import AFTER_BEING
from synth.policies.kinds.count import NUMBERS
from synth.policies.kinds.times import DAY
from synth.policies.kinds.weekdays import NAMES
from synth.policies.numerals import in_digits
from synth.policies.patterns import compiled
from synth.policies.rewording import clock_times
from synth.policies.wordings import AFTER_A_SECOND

_T = r"\d\d?:\d\d"
_D = "|".join(f"{day}|{short}" for day, short in zip(
    (day.lower() for day in NAMES),
    ("mon", "tues|tue", "wed", "thurs|thur|thu", "fri", "sat", "sun"),
    strict=True,
))  # fmt: skip
_IN = (
    r"\b(?:within|in|per|during|over|inside|throughout|across)(?: the (?:space|course) of)?"
    r"(?: (?:any one|any given|any single|a single|a given|any|every|each|an?|one|the same))?"
)
_WINDOW = "(?:time )?(?:window|period|span|interval|stretch)"
_UNIT = "second|minute|hour"
_NUMBERS = "|".join(sorted(set(NUMBERS) - {"once", "twice", "thrice"}, key=len, reverse=True))
_SHORT = "Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun"
CONTRACTIONS = (
    (r"[\u2018\u2019]", "'"),
    (r"[\u201c\u201d]", '"'),
    (r"\bcan't\b|\bcannot\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"\b(has|have|had|is|are|was|were|did|does|do|must|should|could|need|may)n't\b", r"\1 not"),
)
"""In whichever quotes and apostrophes they stand."""
OF_EACH = (
    (r"\b(?:each|every|one|any) and every (?=[a-z])", "every "),
    (r"\bper (?:individual|single|distinct|separate|unique|given|particular|specific) (?=[a-z])", "per "),
    (r"\b(each|every) (?:individual|single|distinct|separate|unique|particular|specific) (?=[a-z])", r"\1 "),
    (r"\b(one|any|an?) (?:particular|individual|specific) (?=[a-z])", r"\1 single "),
    (
        r"\b(?:for|of|with) (?:each|every|any)(?: distinct)? value of (?:the )?(?=[a-z])|\bper value of "
        r"(?=[a-z])",
        "per ",
    ),
    (
        r"\b(?:for|with|of) (?:an? )?(?:identical|equal|matching) ([a-z]+_[a-z_]+)(?: values?)?\b",
        r"with the same \1",
    ),
    (
        r",? \(?(?:counted|counting|measured|taken|and that) (?:separately |individually )?"
        r"(?P<each>(?:per|for each|for every) [a-z_]+)\)?",
        r" \g<each>",
    ),
    (r",? (?:separately|individually) (?=(?:per|for each|for every) )", " "),
    (
        r"\b(per|for each|for every) ([a-z_]+),? (?:separately|individually|on its own|by itself|taken "
        r"alone)\b",
        r"\1 \2",
    ),
    (
        r",? \(?each ([a-z_]+) (?:is )?(?:counted|taken|counts) (?:separately|individually|by itself"
        r"|on its own|alone)\)?",
        r" for each \1",
    ),
    (
        r"\bper ([a-z_]+) (?:and|in each|in a|in every|in the) (?=(?:run|conversation|session)\b)",
        r"per \1 per ",
    ),
    (
        r"\bper (run|conversation|session) (?:and|per) (?=(?!(?:no|not|never|only|then|that|must|may"
        r"|all)\b)[a-z_]+"
        r"(?:$|[,.:]| (?:is|are|must|may|can|should|at|no|the)\b))",
        r"per \1 per ",
    ),
)
"""Of each thing by itself, in the language's words."""
_ANY_ONE = r"(?:any one|any given|any single|a single|a given|any|one|1)"
_NO_ORDER = r"(?! (?:of|after|before|later|apart|between|ago|since|until|from)\b)"
WINDOWS = (
    (r"\b(?:in|within|over|during) the (?:space|span) of (?=\d|an?\b|one\b|any\b)", "within "),
    (rf"\binside (?=(?:{_ANY_ONE} |an )?(?:\d+ )?(?:hour|minute|second)s?\b)", "within "),
    (
        rf"\b(?:in|within|per|during|over) {_ANY_ONE} (?P<n>\d+ )?(?P<u>hour|minute"
        rf"|second)(?P<s>s?)\b{_NO_ORDER}",
        lambda m: f"within {m['n'] or '1 '}{m['u']}{m['s']}",
    ),
    (
        r"\b(?P<n>\d+) (?:consecutive|successive|rolling|running|sliding) (?=(?:hour|minute|second)s?\b)",
        r"\g<n> ",
    ),
    (
        r"\bper (?P<n>\d+ )?(?P<u>hour|minute|second)(?P<s>s?),? \(?(?:rolling|sliding|moving)\b\)?",
        lambda m: f"within {m['n'] or '1 '}{m['u']}{m['s']}",
    ),
)
"""What calls that count together lie in."""
_ADJUNCT = (
    r"(?=(?:between|in between|after|before|until|till|unless|within|while|during|once|if|when|without|in the"
    r"|at any|anywhere|throughout|as long as)\b)"
)
_HAPPENS = {
    "happens": "happen", "occurs": "occur", "takes place": "take place", "comes": "come", "goes": "go",
    "precedes": "precede", "follows": "follow", "starts": "start", "runs": "run", "happen": "happen",
    "occur": "occur", "take place": "take place", "come": "come",
}  # fmt: skip
_SURE = (
    r"^(?P<sure>(?:please |always )?(?:make sure|ensure|see to it|be sure|take care|make certain)(?: that)? )"
    r"(?P<what>(?!(?:to|if|when|whenever|once|after|before|until|unless|that|in|on|at|within)\b)(?:(?!\b(?:if|when|once"
    r"|after|before|until|unless|while|that|which|who|is|are|was|were|has|have|must|never|not)\b)[^,:])+? )"
)
ENSURED = (
    (
        rf"{_SURE}(?:(?:does|do) not(?: ever)?|never)(?P<all> both| all)? (?P<v>{'|'.join(_HAPPENS)})\b",
        lambda m: f"{m['sure']}{m['what']}must never{m['all'] or ''} {_HAPPENS.get(m['v'].lower(), m['v'])}",
    ),
    (
        rf"{_SURE}(?P<all>(?:both|all|always) )?(?P<v>{'|'.join(_HAPPENS)})\b",
        lambda m: f"{m['sure']}{m['what']}must {m['all'] or ''}{_HAPPENS[m['v'].lower()]}",
    ),
)
"""What is to be made sure happens, or does not, must happen, or must not."""
ELIDED = (
    (r" ?: (?=(?:must|may|can|should|shall|has to|have to|needs?|requires?|is|are|to be) )", " "),
    (
        rf" ?: (?:never|not|not allowed|forbidden|prohibited|banned|off limits|no) {_ADJUNCT}",
        " must never happen ",
    ),
    (rf" ?: (?:allowed |permitted |ok |possible )?only {_ADJUNCT}", " may happen only "),
)
"""Behind a colon what stands before it is not said again: `order cleaning: never between A and B`."""
OFTEN = (
    (r"\b(no|not|never) more (?:often|frequently) than (?=(?:once|twice|thrice|\d+|[a-z]+ times)\b)",
     r"\1 more than "),
    (r"\b(once|one|1),? and only (?:once|one|1),?(?![\w-])", r"exactly \1"),
    (r"(?<=\w) ?/ ?(?=(?:run|conversation|session|hour|minute|calendar day|\d+ ?(?:min|minutes?|hours?))\b)",
     " per "),
    (r"\bper (hour|minute|second|calendar day) and (?:per )?(?=[a-z])", r"per \1 per "),
    (r"\bper ([a-z_]+(?: (?:id|number|ref|code))?) and (?:per )?"
     r"(?=(?:hour|minute|second|calendar day|run|conversation|session)\b)", r"per \1 per "),
)  # fmt: skip
"""How often, in short: `4 / run`, `per hour and account`, `once and only once`."""
_TABLE: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    *CONTRACTIONS,
    (r"\bshan't\b", "shall not"),
    (r"\b(?:exclusively|solely)\b", "only"),
    *OFTEN,
    (r" \((?P<said>(?:within|in|at|on|after|before|between|during|from|until|immediately|directly|right"
     "|not|never|no|only)"
     r" [^()]*)\)(?=$|[ ,;:])", r" \g<said>"),
    (r"\bany (?=(?:later|earlier|sooner) than\b)", ""),
    (r"\b(you|we|they)'ve\b", r"\1 have"),
    (r"\b(it|that|there|what)'s\b", r"\1 is"),
    (r"(\d)\s*[\u2013\u2014]\s*(?=\d)", r"\1-"),
    (rf"({_T}) ?- ?(?={_T})", r"\1 to "),
    (rf"\b(?:at )?({_T}) at the (?:very )?(?:earliest|soonest)\b", r"only after \1"),
    (rf"\bat the (?:very )?(?:earliest|soonest),? (?:at )?({_T})", r"only after \1"),
    (rf"\b(?:until |by |at )?({_T}) at the (?:very )?latest\b", r"only before \1"),
    (rf"\bat the (?:very )?latest,? (?:at |by )?({_T})", r"only before \1"),
    (rf"\b(?:no|not|never) (?:earlier|sooner) than ({_T})", r"only after \1"),
    (rf"\b(?:no|not|never) later than ({_T})", r"only before \1"),
    (rf"\b(?:earlier|sooner) than ({_T})", r"before \1"),
    (rf"\b(?:later than|past) ({_T})", r"after \1"),
    (rf"\bonly (after|before) ({_T}),? (and|but) only (?=(?:after|before) {_T})", r"only \1 \2 \3 "),
    (rf"(?P<lead>^|[,:(/&-] ?|\b(?:on|and|or|to|from|never|not|only|no|every|except|but|until|through"
     rf"|unless|any|is|a) )"
     rf"(?P<d>(?-i:{_SHORT}))\b\.?", lambda m: f"{m['lead']}{_day(m['d'])}"),
    (rf"\b({_D})s? ?- ?(?=(?:{_D})s?\b)", r"\1 to "),
    (rf"\b({_D})s? (to|through|thru) ({_D})s?\b", lambda m: f"{_day(m[1])} to {_day(m[3])}"),
    AFTER_BEING,
    (r"\b(?:at the latest|no later than|not later than) (?=\d+ [a-z]+ after )", "within "),
    (rf"\b{DAY}\b", "per calendar day"),
    (rf"{_IN} (?:rolling|sliding|moving|running) (?:(?:{_WINDOW}) of )?(?P<n>\d+|one)?[ -]?(?P<u>{_UNIT})s?"
     rf"(?:[ -](?:{_WINDOW}))?\b", lambda m: f"within {_window(m)}"),
    (rf"{_IN} (?P<n>\d+|one)?[ -]?(?P<u>{_UNIT})s?[ -](?:{_WINDOW})\b", lambda m: f"within {_window(m)}"),
    (rf"{_IN} (?:{_WINDOW}) of (?P<n>\d+|one|an?) (?P<u>{_UNIT})s?\b", lambda m: f"within {_window(m)}"),
    *WINDOWS,
    (r"\bper (?=(?:second|minute|hour)\b)", "per 1 "),
    (r"^((?:make|be) (?:sure|certain)|ensure) that (?=[a-z])", r"\1 "),
    (r"\b(?:an?|any|one|each|every|the next|the following) "
     rf"(?=(?:second|minute|hour|week)s?\b(?! (?:time|thing|one|call)))(?!second "
     rf"(?!{AFTER_A_SECOND})[a-z])", "1 "),
    (r"\b(?P<the>the (?:last|past|previous|preceding)|during the) (?=(?:second|minute|hour)\b)",
     r"\g<the> 1 "),
    (r"\bthrice\b", "3 times"),
    (r"\b(\d{1,6}) ?x\b(?! ?\d)", r"\1 times"),
    (r"\btwice\b", "2 times"),
    (r"(\d),(?=\d{3}\b)", r"\1"),
    (r"(\d)-(?=(?:second|minute|hour|day)s?\b)", r"\1 "),
    (r"\b(?:just once|once only|(?:only|just) (?:one|a single) time|once and no more)\b",
     "only once"),
    (r"\ba single time\b", "1 times"),
    (rf"\bjust (?=one\b|a single\b|\d|(?:{_NUMBERS})\b)", "only "),
    (rf"\b(?P<n>\d{{1,6}}|{_NUMBERS}) \((?:\d{{1,6}}|{_NUMBERS})\)", r"\g<n>"),
    (r"([<>\u2264\u2265]=?)(?=\d)", r"\1 "),
    (r"\b(once|one time) at (?:the )?most\b", "at most 1 times"),
    (r"\ba second time\b|\bmore than once\b|\bmore than one time\b", "more than 1 times"),
    (r"\ba third time\b", "more than 2 times"),
    (r"\b(at most|no more than|not more than|exactly|up to|a maximum of|no less than|not less than"
     r"|no fewer than|a minimum of|minimum|min) once\b", r"\1 1 times"),
    (r"\bat least once\b", "at least 1 times"),
    (r"^(?P<lead>(?:after|if|once|when) (?:an?|the) (?P<n>[^,]+?) (?:has failed|fails|failed)), "
     r"(?:do not|never|don't) (?:attempt|try|make|start|do) another (?:one|try|attempt)\b",
     r"\g<lead>, no \g<n> may be made"),
    (r"^([a-z]+) (?:is|means) \1\s*[,:;\u2013\u2014-]\s*", ""),
    (r"\bre-(?=[a-z]{3,}ing\b.* (?:that|which|after|once) )", ""),
    *ENSURED,
    *ELIDED,
    (r"\s*(?:[;\u2013\u2014\u2192]|[-=]>)\s*", ", "),
    (r" ?: (?=[A-Za-z0-9])", " : "),
    (r"(?:,| :| \() ?(?:and )?(?:for |on |with |of )?(?:the )?same (?P<f>[a-z]\w*"
     r"(?: (?:id|number|code|ref|reference))?(?: and [a-z]\w*)?)\)?$", r" with the same \g<f>"),
    (r"\b(?:whatever|whichever) (?P<n>[a-z]+) (?=(?:is|was|has been|gets) )", r"every \g<n> that "),
    (r"\s+", " "),
)  # fmt: skip


def _window(m: re.Match[str]) -> str:
    """`1 hour`, of `rolling hour` and `one-hour period`."""
    number = m["n"] if m["n"] and m["n"].isdigit() else "1"
    return f"{number} {m['u'].lower()}{'' if number == '1' else 's'}"


_IN_THE_EVENING = (
    r"\b(?P<h>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?::(?P<m>\d\d))?"
    r"(?: o['\u2019]?clock)?,? (?:in the (?P<half>morning|afternoon|evening)|(?P<night>at night))\b"
)


def _of_the_clock(m: re.Match[str]) -> str:
    """`6 in the evening` by the clock of twelve hours."""
    late = m["night"] or m["half"].lower() != "morning"
    hour = NUMBERS.get(m["h"].lower()) or int(m["h"])
    if hour > 12 or (m["night"] and hour < 6):
        return m[0]
    return f"{hour}:{m['m'] or '00'} {'pm' if late else 'am'}"


def _day(name: str) -> str:
    """`Friday` of `fri`."""
    return next(day for day in NAMES if day.lower().startswith(name.lower()[:3]))


def without_quoted(text: str) -> tuple[str, Callable[[str], str]]:
    """The text with marks for its quoted values, and what puts these back."""
    quoted: list[str] = []

    def keep(m: re.Match[str]) -> str:
        quoted.append(m[0])
        return f"\x00{len(quoted) - 1}\x00"

    def put_back(text: str) -> str:
        return re.sub("\x00(\\d+)\x00", lambda m: quoted[int(m[1])], text)

    return re.sub(r'["\u201c][^"\u201d]*["\u201d]', keep, text), put_back


_ASKED = (
    (r"^([^?,.:]{3,60})\? (?=only )", r"\1 "),
    (r"^([^?,.:]{3,60})\? (?:then )?(?=\S)", r"for \1, "),
)
"""`Tagging a commit? Then the tests come first`: what it is about, as a question."""


def spelled(sentence: str) -> str:
    """Numbers as digits, clock times as `09:00`; quoted values as they are."""
    text, put_back = without_quoted(" ".join(sentence.split()).removesuffix(".").strip())
    text = in_digits(clock_times(compiled(_IN_THE_EVENING).sub(_of_the_clock, text)))
    for pattern, said in _TABLE:
        text = compiled(pattern).sub(said, text)
    numbers = "|".join(sorted(set(NUMBERS) - {"once", "one"}, key=len, reverse=True))
    text = re.sub(
        rf"\b({numbers})\b(?!-)(?! (?:of the|another))",
        lambda m: str(NUMBERS[m[1].lower()]),
        text,
        flags=re.I,
    )
    for pattern, said in _ASKED:
        text = compiled(pattern).sub(said, text)
    return put_back(text).strip(" ,")

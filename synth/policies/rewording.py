"""The same said in the words of the language: `cannot` is `must not`, `5 pm` is `17:00`.

`plainly` leaves actions as they are named, for who reads the outcome as a rule; `reworded` also knows those
that are named in passing, for hints.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from synth.policies.kinds.count import NUMBERS
from synth.policies.kinds.kind import HAPPEN, MUST
from synth.policies.loosely import named
from synth.policies.names import Names
from synth.policies.patterns import compiled
from synth.policies.vocabulary import AGENT, DOES, SIDE, UNITS

Reword = str | Callable[[re.Match[str]], str]

_CLOCK: tuple[tuple[str, Reword], ...] = (
    (r"\b(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap])\.?m\b\.?", lambda m: _clock(m)),
    (r"\bnoon\b", "12:00"),
    (r"\bmidnight\b", "24:00"),
)
_REWORDINGS: tuple[tuple[str, Reword], ...] = (
    (r"^(?:please )?(?:make sure|ensure|see to it)(?: that)? (?P<a>.+?) " + DOES + r"\b",
     r"\g<a> must happen"),
    (r"^(?:please|always) ", ""),
    (r"^(?:call|use|invoke) ", ""),
    (rf"^nothing (?:{MUST}|may|can) {HAPPEN}", "any tool must never happen"),
    (
        rf"^no (?:other |further )?(?:tools?|calls?) (?:{MUST}|may|can) {HAPPEN}",
        "any tool must never happen",
    ),
    (rf"^after (?P<a>.+?),? no(?:thing| (?:other |further )?(?:tools?|calls?)) (?:{MUST}|may|can) "
     rf"{HAPPEN}(?: (?:any ?more|again|afterwards?|later|at all|ever|then))?(?:,? not even .*)?$",
     r"any tool must never happen after \g<a>"),
    (rf"^no (?!more|other|later|earlier|longer|tool)(?P<a>.+?) (?:(?:{MUST}|may|can) {HAPPEN} )?{SIDE} ",
     r"\g<a> must never happen \g<side> "),
    (rf"^neither (?P<a>.+?) nor (?P<b>.+?) (?:{MUST}|may|can) (?P<do>{HAPPEN})",
     r"\g<a> and \g<b> must never \g<do>"),
    (r"^it is (?:not allowed|not permitted|forbidden|prohibited) (?:to|that) (?P<a>.+?)(?P<rest> "
     r"(?:after|before) .+)?$",
     lambda m: f"{m['a']} must never happen{m['rest'] or ''}"),
    (r"^(?P<a>.+?) (?:is|are) (?:not allowed|not permitted|forbidden|prohibited)(?: to happen)?\b",
     r"\g<a> must never happen"),
    (r"^(?P<a>.+?) (?P<rest>(?:after|before|between) .+) must never happen$",
     r"\g<a> must never happen \g<rest>"),
    (rf"^(?:never|do not|don['\u2019]t) (?:(?:call|use|invoke) )?(?P<a>.+?)"
     rf"(?P<rest> (?:{SIDE} .+|twice))?$",
     lambda m: f"{m['a']} must never happen{m['rest'] or ''}"),
    (rf"^{AGENT} {MUST} (?:not|never) (?:(?:call|use|invoke) )?(?P<a>.+?)(?P<rest> {SIDE} .+)?$",
     lambda m: f"{m['a']} must never happen{m['rest'] or ''}"),
    (rf"^{AGENT} {MUST} (?:always )?(?:(?:call|use|invoke) )?(?P<a>(?:(?! (?:before|after|at) ).)+)$",
     r"\g<a> must happen"),
    (rf"^{AGENT} {MUST} (?:always )?(?P<no>(?:not|never) )?(?:(?:call|use|invoke) )?(?P<a>.+?) "
     r"(?P<side>before|after) (?:it |you |they )?",
     lambda m: f"{m['a']} must {m['no'] or ''}happen {m['side']} "),
    (r"\b(?:cannot|can not|may not|(?:must|should|can)n['\u2019]t|can['\u2019]t)\b", "must not"),
    (r"\b(?:may|can) never\b", "must never"),
    (r"\bmust never ever\b", "must never"),
    (rf"\b(?P<must>{MUST}) (?:always|eventually|at some point|later) (?!{HAPPEN})", r"\g<must> "),
    (r"\bbe (?:(?:eventually|later) followed|followed (?:at some point|eventually|later)) by\b",
     "be followed by"),
    (r"\bbe (?:(?:directly|right|straight) followed|followed (?:immediately|directly)) by\b",
     "be immediately followed by"),
    (r"\bwith same\b", "with the same"),
    (rf"\b(?:is|are) only (?:allowed|permitted)(?: to {HAPPEN})?", "must happen only"),
    (rf"\b(?:{MUST}|may|can) only (?P<do>{HAPPEN})", r"must \g<do> only"),
    (r"\bshall\b", "must"),
    (r"\b(?:everything|anything|every tool|each tool|all(?: the)? tools|any call|every call) else\b",
     "any other tool"),
    (r"\b(?:all(?: the)?|every|each) other (?:tools?|calls?)\b", "any other tool"),
    (r"\b(?:every|each|all)(?: the)? (?:tool|call)s?\b", "any tool"),
    (r"(?:^|(?<=\bbefore )|(?<=\band )|(?<=\bby )|(?<=\bprecede )|(?<=\bfollow ))(?:every|each|an?) "
     r"(?!\w+ly\b)",
     ""),
    (r"\b(?:directly|right|straight|just) (?P<side>before|after)\b", r"immediately \g<side>"),
    (r"(?:,? (?:that|which) (?:carries|has|uses|names|contains|is for)|"
     r",? for|,? using|,? of|,? on(?! the same (?:calendar )?(?:day|week|month)\b)) the same\b",
     " with the same"),
    *_CLOCK,
    (r"\beither (?=.+ or )", ""),
    (r", (?P<b>[^,]+?)(?=(?:, [^,]+)*,? or )", r" or \g<b>"),
    (r", or ", " or "),
    (rf"\b(?P<n>{'|'.join(NUMBERS)}|an?) (?P<unit>{UNITS})\b",
     lambda m: f"{NUMBERS.get(m['n'].lower(), 1)} {m['unit']}"),
)  # fmt: skip


def clock_times(text: str) -> str:
    """The text with its clock times in 24 hours: `5 pm` is `17:00`."""
    for pattern, said in _CLOCK:
        text = compiled(pattern).sub(said, text)
    return text


def reworded(body: str, names: Names) -> tuple[str, str] | None:
    """(the words that the language says otherwise, the sentence in its words), or None."""
    text, first = _reworded(body, names)
    text = _with_names(text, names)
    return None if text == body else (first or body, text)


def plainly(body: str, names: Names) -> str:
    """The sentence in the words of the language; actions as they are named."""
    return _reworded(body, names)[0]


def _reworded(body: str, names: Names) -> tuple[str, str | None]:
    """(the sentence in the words of the language, the first words of it that are others)."""
    text, first = body, None
    for pattern, said in (*_REWORDINGS, *_lists(names)):
        if (match := compiled(pattern).search(text)) is None:
            continue
        text = compiled(pattern).sub(said, text).strip()
        if first is None and match[0].strip() in body:
            first = match[0].strip()
    return text, first


def _clock(match: re.Match[str]) -> str:
    """`5 pm` in 24 hours."""
    hour = int(match["hour"]) % 12 + (12 if match["half"].lower() == "p" else 0)
    return f"{hour:02}:{match['minute'] or '00'}"


def _lists(names: Names) -> list[tuple[str, Reword]]:
    """`A, B and C` and tools for actions."""
    tools: dict[str, list[str]] = {}
    for phrase, action in names.actions.items():
        for tool in action.names:
            tools.setdefault(tool, []).append(phrase)
    alone = [(tool, said[0]) for tool, said in tools.items() if len(said) == 1 and re.fullmatch(r"\w+", tool)]
    comma = r", (?P<b>[^,]+?)(?=(?:, [^,]+)*,? and )"
    return [*((rf"\b{tool}\b", phrase) for tool, phrase in alone if "_" in tool), (comma, r" and \g<b>")]


def _with_names(text: str, names: Names) -> str:
    """Subjects and objects that name an action in passing, by its name."""
    match = re.fullmatch(
        rf"(?P<a>.+?) (?P<does>{MUST} (?:(?:never|not) )?(?:be (?:immediately )?followed by"
        rf"|be preceded by|precede|follow|"
        rf"{HAPPEN}(?: (?:only|immediately))?(?: (?:before|after))?))"
        r"(?: (?P<b>.+?))?(?P<same> with the same .+)?",
        text,
        re.IGNORECASE,
    )
    if match is None:
        return text
    a, b = (match[slot] and (named(match[slot], names) or match[slot]) for slot in ("a", "b"))
    return " ".join(filter(None, (a, match["does"], b))) + (match["same"] or "")

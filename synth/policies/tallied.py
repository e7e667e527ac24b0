"""What sentences say of numbers of calls, of the first and the last one and of how long one takes.

Each line of a table says one thing in the language's words; actions stand as `«3»`. What would compare calls
without saying by which argument, or leaves open which comes first, is left to be refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from synth.policies.action_forms import singular
from synth.policies.kinds.against import ANY_HOW
from synth.policies.kinds.count import number_of
from synth.policies.patterns import compiled
from synth.policies.wordings import DURATION, FAILING, HAPPENED, MAY, NO, NUMBER, SHOULD

Said = str | Callable[[re.Match[str]], str]

_WHICH = r"(?:(?:the|an?|any|every|each|all) )?"
_A, _B = (rf"{_WHICH}(?P<{slot}>«\d+»)" for slot in "ab")
_SOME = rf"{_WHICH}(?P<a>«\d+»(?: or «\d+»)*)"
_N = rf"(?P<n>{NUMBER})"
_TIMES = rf"{_N}(?: times?)?"
_HAS = rf"(?:{HAPPENED}|(?: may| can| must)? happens?| starts| begins)?"
_LEAST = r"(?:at least |a minimum of |no fewer than )?"
_MOST = r"(?:at most|no more than|not more than|up to|a maximum of)"
_OTHERS = r"(?:separate |distinct |prior |earlier |previous |successful )?"
_FIRST = r"(?: first| beforehand| before(?: it| that)?)"
_FAILED = r"(?P<how>failed|unsuccessful|successful)"
_ROW = r"(?P<row> (?:in a row|in succession|one after (?:the other|another)|running|consecutively))"
_RUN = r"(?:(?:an?|the|any|each|every|all) )?runs?"
_OF_RUN = rf"(?: (?:in|of|for) {_RUN})?"
_CALL = (
    r"(?:thing|call|action|step|tool call|tool)(?: (?:made|called|done|taken)"
    r"|(?: that)? (?:the agent|you|it) (?:does|do|makes|make|calls|call|must do))?"
)
_FIELD = r"(?P<f>[a-z_][\w.]*)"
_BY = rf"(?:by|from|of|with|through) {_LEAST}(?P<m>{NUMBER}) different {_FIELD}"
_ALLOWED = r"(?: (?:is|are) (?:allowed|permitted|acceptable)| (?:may|can) happen)?"

_TABLE: tuple[tuple[str, Said], ...] = (
    # --- so many before
    (rf"{_LEAST}{_N} {_OTHERS}(?P<b>«\d+») (?:is|are) (?:needed|required|necessary) before {_A}{_HAS}",
     lambda m: _before(m)),
    (rf"{_A} (?:needs|need|requires?|{SHOULD} have) {_LEAST}{_N} {_OTHERS}(?P<b>«\d+»){_FIRST}",
     lambda m: _before(m)),
    (rf"{_A} (?:{MAY}|{SHOULD}) (?:happen only|only happen) (?:after|with|if there (?:is|are|were)) "
     rf"{_LEAST}{_N} "
     rf"{_OTHERS}(?P<b>«\d+»)(?: (?:has|have) happened)?", lambda m: _before(m)),
    (rf"{_A} (?:{MAY}|{SHOULD}) (?:happen only|only happen) (?:if|when|once|after) {_B} (?:has "
     rf"happened|happens|"
     rf"happened) {_LEAST}{_TIMES}", lambda m: _before(m)),
    (rf"{_A} (?:{NO}) happen (?:unless|until) {_B} (?:has happened|happens|happened) {_LEAST}{_TIMES}",
     lambda m: _before(m)),
    (rf"{_A} (?:{NO}) happen (?:before|unless there (?:were|are|have been)|until|without) {_LEAST}{_N} "
     rf"{_OTHERS}"
     rf"(?P<b>«\d+»)(?: (?:has|have) (?:happened|been made|succeeded))?", lambda m: _before(m)),
    (rf"before {_A}{_HAS},? {_B} {SHOULD} (?:happen|have happened) {_LEAST}{_TIMES}", lambda m: _before(m)),
    (rf"{_B} {SHOULD} (?:happen|have happened|succeed|have succeeded) at least {_TIMES} before {_A}{_HAS}",
     lambda m: _before(m)),
    (rf"{_A} (?:needs|need|requires?) {_B}s? {_BY}{_FIRST}", lambda m: _different(m)),
    (rf"before {_A}{_HAS},? {_B} {SHOULD} happen {_BY}", lambda m: _different(m)),
    (rf"{_B} {SHOULD} (?:happen|have happened) {_BY} before {_A}{_HAS}", lambda m: _different(m)),
    (rf"(?:never|do not|don['\u2019]t) {_B} more than {_TIMES} before {_A}{_HAS}",
     lambda m: f"{m['b']} must happen at most {_times(m)} before {m['a']}"),
    (rf"{_B} (?:{NO}) happen more (?:often )?than {_TIMES} before {_A}{_HAS}",
     lambda m: f"{m['b']} must happen at most {_times(m)} before {m['a']}"),
    (rf"(?:after|once) {_N} (?:failures of|failed) (?P<b>«\d+»),? {_A} (?:{NO}) happen(?: again| any ?more)?",
     lambda m: f"{m['a']} must never happen after {m['b']} fails {_times(m)}"),
    (rf"(?:after|once|if|when) {_B} (?:{FAILING}) {_TIMES},? {_A} (?:{NO}) happen(?: again| any ?more)?",
     lambda m: f"{m['a']} must never happen after {m['b']} fails {_times(m)}"),
    # --- one for each other
    (rf"(?:every|each|any|all) (?P<a>«\d+») (?:needs|need|requires?|{SHOULD} have"
     rf"|{SHOULD} be preceded by) (?:its|their|an?) own "
     rf"(?:separate |prior |earlier )?(?P<b>«\d+»)(?:{_FIRST})?", r"\g<a> must not happen more often "
     r"than \g<b>"),
    (rf"(?:one|an?|each|every|any|a single) (?P<b>«\d+») (?:covers|is (?:good|valid|enough) for|counts "
     rf"for|serves"
     rf"|allows|permits|(?:{MAY}|{SHOULD}) be used for) (?:only |exactly |just |at most )?(?:one|a single) "
     rf"(?P<a>«\d+»)(?: only)?", r"\g<a> must not happen more often than \g<b>"),
    (rf"{_A} (?:{NO}) happen more often than {_B}{_HAS}",
     r"\g<a> must not happen more often than \g<b>"),
    (rf"{_A} {SHOULD} happen (?:exactly |just )?as (?:often|many times) as {_B}{_HAS}",
     r"\g<a> must happen as often as \g<b>"),
    (rf"(?:in the end,? |at the end(?: of {_RUN})?,? )?there {SHOULD} (?:be|have been) (?:exactly |just "
     rf")?as many "
     rf"(?P<a>«\d+») as (?P<b>«\d+»)", r"\g<a> must happen as often as \g<b>"),
    # --- first and last
    (rf"the (?:very )?first {_CALL}{_OF_RUN} (?:{SHOULD} (?:always )?be|is(?: always)?(?: to be)?) {_SOME}",
     r"the first call must be \g<a>"),
    (rf"{_RUN} {SHOULD} (?:always )?(?:start|begin|open) (?:with|by) {_SOME}", r"the first call must be "
     r"\g<a>"),
    (rf"{_SOME} {SHOULD} (?:always )?(?:be|happen as) the (?:very )?first {_CALL}{_OF_RUN}",
     r"the first call must be \g<a>"),
    (rf"the (?:very )?last {_CALL}{_OF_RUN} (?:{SHOULD} (?:always )?be|is(?: always)?(?: to be)?) {_SOME}",
     r"the last call must be \g<a>"),
    (rf"{_RUN} {SHOULD} (?:always )?(?:end|close|finish) (?:with|by) {_SOME}", r"the last call must be "
     r"\g<a>"),
    (rf"{_SOME} {SHOULD} (?:always )?(?:be|happen as) the (?:very )?last {_CALL}{_OF_RUN}",
     r"the last call must be \g<a>"),
    # --- in a row, failures, successes
    (rf"(?:never|do not|don['\u2019]t) {_A} more than {_TIMES}{_ROW}",
     lambda m: f"{m['a']} must happen at most {_times(m)} in a row"),
    (rf"{_A} (?:{NO}) (?P<do>happen|fail) (?:more (?:often )?than|over) {_TIMES}{_ROW}",
     lambda m: f"{m['a']} must {m['do']} at most {_times(m)} in a row"),
    (rf"{_MOST} {_N} consecutive (?P<a>«\d+»){_ALLOWED}",
     lambda m: f"{m['a']} must happen at most {_times(m)} in a row"),
    (rf"{_MOST} {_N} (?:consecutive )?{_FAILED} (?P<a>«\d+»)(?:{_ROW})?{_ALLOWED}", lambda m: _outcomes(m)),
    (rf"{_A} (?:{NO}) (?P<do>fail|succeed) (?:more (?:often )?than|over) {_TIMES}",
     lambda m: f"{m['a']} must {m['do']} at most {_times(m)}"),
    (rf"{_A} (?:{MAY}|{SHOULD}) (?P<do>fail|succeed) {_MOST} {_TIMES}(?:{_ROW})?",
     lambda m: f"{m['a']} must {m['do']} at most {_times(m)}{' in a row' if m['row'] else ''}"),
    (rf"{_MOST} {_N} (?P<a>«\d+») (?:{MAY}|{SHOULD}) (?P<do>fail|succeed)",
     lambda m: f"{m['a']} must {m['do']} at most {_times(m)}"),
    (rf"{_A} (?:{NO}) (?:ever )?fail", r"\g<a> must never fail"),
    # --- how long
    (rf"(?:no (?:call (?:of|to) |run of )?)(?P<a>«\d+») (?:{MAY}|{SHOULD}|{NO}) (?:ever "
     rf")?(?:take|last|run)(?: for)? "
     rf"(?:longer|more) than (?P<d>{DURATION})", lambda m: _lasting(m)),
    (rf"(?:(?:each|every|any|a) (?:call|run) (?:of|to) )?{_A} (?:{NO}) (?:take|last|run)(?: for)? "
     rf"(?:longer|more) "
     rf"than (?P<d>{DURATION})", lambda m: _lasting(m)),
    (rf"(?:(?:each|every|any|a) (?:call|run) (?:of|to) )?{_A} (?:{SHOULD}|{MAY}) (?:take|last)(?: for)? "
     rf"{_MOST} "
     rf"(?P<d>{DURATION})", lambda m: _lasting(m)),
    # --- values against others
    (rf"the (?P<f>(?:args\.)?[a-z_][\w.]*) of {_A} (?P<how>{ANY_HOW}) (?P<g>the "
     rf"(?:args\.)?[a-z_][\w.]*|that) of {_B}", r"the \g<f> of \g<a> \g<how> \g<g> of \g<b>"),
    # --- different values
    (rf"{_A} (?:{MAY}|{SHOULD}) (?:happen|be) (?:for|with|to|on|by|from) (?P<most>{_MOST}|at least) "
     rf"{_N} different "
     rf"{_FIELD}", lambda m: _values(m)),
)  # fmt: skip

_ALL_ALIKE = rf"all (?:the )?(?P<a>«\d+») {SHOULD} (?:be|have|use|go|happen|be made)"


def tallied(text: str, same: str) -> str | None:
    """The sentence in the language's words, `same` left aside; None where the table has none."""
    if same and (m := compiled(_ALL_ALIKE).fullmatch(text)):
        field = same.removeprefix(" with the same ")
        return None if " " in field else f"{m['a']} must happen with at most 1 different {field}"
    for pattern, said in _TABLE:
        if m := compiled(pattern).fullmatch(text):
            return f"{m.expand(said) if isinstance(said, str) else said(m)}{same}"
    return None


def _times(m: re.Match[str]) -> str:
    number = number_of(m["n"])
    return "1 time" if number == 1 else f"{number} times"


def _before(m: re.Match[str]) -> str:
    return f"{m['b']} must happen at least {_times(m)} before {m['a']}"


def _different(m: re.Match[str]) -> str:
    number = number_of(m["m"])
    return f"{m['b']} must happen at least {number} times before {m['a']} with different {_one(m['f'])}"


def _one(field: str) -> str:
    """The name of an argument, of which there are several."""
    *before, last = field.split("_")
    return "_".join((*before, singular(last)))


def _outcomes(m: re.Match[str]) -> str:
    do = "succeed" if m["how"].lower() == "successful" else "fail"
    row = m["row"] or " consecutive " in m[0].lower()
    if row and do == "succeed":
        return m[0]
    return f"{m['a']} must {do} at most {_times(m)}{' in a row' if row else ''}"


def _values(m: re.Match[str]) -> str:
    how = "at least" if m["most"].lower() == "at least" else "at most"
    number = number_of(m["n"])
    return f"{m['a']} must happen with {how} {number} different {m['f'] if number == 1 else _one(m['f'])}"


def _lasting(m: re.Match[str]) -> str:
    from synth.policies.phrasing import in_windows

    time = in_windows(f"within {m['d']}").removeprefix("within ")
    return f"{m['a']} must take at most {time}"

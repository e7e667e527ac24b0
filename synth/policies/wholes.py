"""What sentences say of runs as wholes, of sums and of what lies next to each other.

`in_short` says in fewer words what has one meaning; `of_a_run` tells how the language says the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from synth.counted import counted
from synth.policies.composed import by_number
from synth.policies.kinds.count import number_of
from synth.policies.names import Names
from synth.policies.patterns import compiled
from synth.policies.phrasing import in_windows, same_at_the_end
from synth.policies.tallied import tallied
from synth.policies.verbs import deeds_of, past_of
from synth.policies.wordings import BANNED, DURATION, HAPPENED, MAY, NO, NUMBER, SHOULD

_WHICH = r"(?:(?:the|an?|any|every|each|all|one) )?"
_ACT = rf"{_WHICH}«\d+»"
_RUN = r"(?:run|conversation|session)"
_IN_RUN = (
    rf"(?:in|of|per|within|over|during) (?:an?|the|any|each|every|one|this|that|a single|the whole) {_RUN}"
)
_LAST = r"(?:within|in|during|over) the (?:last|past|previous|preceding)"
_AGO = r"(?:earlier|before(?:hand)?|previously|ago)"
_PASS = r"(?:pass|elapse|go by|have passed|have elapsed)"
_LEAST = rf"(?:at least|a minimum of|no less than) {DURATION}"

_SHORT: tuple[tuple[str, str], ...] = (
    (r"\b(?P<at>for|at least|than|the next|the first|the last|the past|the previous|the preceding) "
     r"(?:an? |one )?"
     r"(?P<u>hour|minute|week)\b", r"\g<at> 1 \g<u>"),
    (r"[;,] (?:(?:any )?one|either|any) of (?:the two|the three|them|these) (?:is|will be) enough$", ""),
    (rf"\b(?:during|in|within|for) the first (?P<d>{DURATION}) (?:after|following|from)\b", r"within "
     r"\g<d> after"),
    (rf"\b(?:in|during|for) the (?P<d>{DURATION}) (?:after|following)\b", r"within \g<d> after"),
    (rf"\bfor (?:the next )?(?P<d>{DURATION}) (?:after|following)\b", r"within \g<d> after"),
    (rf"\bfor the next (?P<d>{DURATION})\b", r"for \g<d>"),
    (r"\b(?P<no>no (?:further |more |other )?calls?) of any (?:kind|sort|type)\b", r"\g<no>"),
    (rf"^(?P<all>(?:after|once|when|whenever|if|as soon as|each time|every time) .+? {SHOULD} .+?),? "
     rf"(?:before (?:the|that) run (?:ends|is over|is finished|finishes)"
     rf"|(?:before|by) the end of (?:the|that) run)$", r"\g<all> afterwards"),
    (r"^(?P<all>(?:after|once|when|whenever|as soon as) .+? (?:follow|happen))(?: any ?more)? (?:in "
     r"(?:that|the same) run"
     r"|for the (?:rest|remainder) of (?:the|that) run)$", r"\g<all>"),
    (rf"^(?:after|once) (?P<b>«\d+»){HAPPENED}?, (?P<d>{_LEAST}) {SHOULD} {_PASS} before "
     rf"(?P<a>«\d+»)(?: happens| (?:may|can) happen)?(?P<more>(?: again)?)$",
     r"\g<d> must pass between \g<b> and \g<a>"),
    (r"\bbetween (?:any )?two (?:consecutive |successive )?(?P<a>«\d+»)", r"between \g<a> and \g<a>"),
    (rf"^(?:any )?two (?P<a>«\d+») {SHOULD} (?:always )?(?:be|lie|happen) (?P<d>{_LEAST}) apart$",
     r"\g<d> must pass between \g<a> and \g<a>"),
    (rf"^(?:consecutive |successive )?(?P<a>«\d+») {SHOULD} (?:always )?(?:be|lie|happen) "
     rf"(?P<d>{_LEAST}) apart$",
     r"\g<d> must pass between \g<a> and \g<a>"),
)  # fmt: skip
"""`«3»` is an action as the file names it."""

_JUST: tuple[str, ...] = (
    rf"before (?P<a>«\d+»)(?: happens| (?:may|can) happen)?,? (?P<b>{_ACT}) {SHOULD} have (?:happened"
    rf"|succeeded) "
    rf"(?:(?:no|not) more than|at most|less than|within) (?P<d>{DURATION}) {_AGO}",
    rf"before (?P<a>«\d+»)(?: happens| (?:may|can) happen)?,? (?P<b>{_ACT}) {SHOULD} have (?:happened"
    rf"|succeeded) "
    rf"{_LAST} (?P<d>{DURATION})",
    rf"{_WHICH}(?P<a>«\d+») (?:{SHOULD} be preceded by|requires|needs) (?P<b>{_ACT})(?: (?:carried out"
    rf"|made|done|that took place))? "
    rf"{_LAST} (?P<d>{DURATION})",
    rf"{_WHICH}(?P<a>«\d+») (?:{SHOULD}|{MAY}) (?:only happen|happen only) (?:if|when|after) "
    rf"(?P<b>{_ACT})(?: happens| has happened| happened)? "
    rf"{_LAST} (?P<d>{DURATION})",
    rf"{_WHICH}(?P<a>«\d+») (?:{NO}) happen unless (?P<b>{_ACT})(?: happens| has happened| happened) "
    rf"{_LAST} (?P<d>{DURATION})",
)
"""One that is needed, and not long before."""

_SUMS: tuple[str, ...] = (
    rf"(?P<several>«\d+»(?:(?:,| and|, and) «\d+»)+) (?:together|combined|taken together|in total) "
    rf"(?:(?:{NO}) (?:number|be|come to|add up to|exceed|happen) (?:more (?:often )?than )?"
    rf"|(?:{SHOULD}|{MAY}) "
    rf"(?:number|be|happen) (?:at most|no more than|not more than) )(?P<n>{NUMBER})(?: times| calls)?",
    rf"(?P<several>«\d+»(?:(?:,| and|, and) «\d+»)+) (?:(?:{NO}) happen more (?:often )?than"
    rf"|(?:{SHOULD}|{MAY}) happen "
    rf"(?:at most|no more than|not more than)) (?P<n>{NUMBER})(?: times)? (?:together|combined|taken "
    rf"together|in total|altogether)",
)
"""Several actions that are counted as one."""
_TOO_OFTEN = (
    rf"(?P<a>«\d+») more (?:often )?than (?P<n>{NUMBER})(?: times?)?(?P<within> within (?:any )?{DURATION})?"
    rf" {BANNED}"
)


def in_short(text: str, names: Names) -> str:
    """The sentence, whose actions stand as the file names them, in fewer words."""
    phrases = tuple(names.actions)
    text = by_number(" ".join(text.split()).rstrip("."), phrases)
    return _unmarked(_in_short(text, names), phrases)


def _in_short(text: str, names: Names) -> str:
    for pattern, said in _SHORT:
        text = compiled(pattern).sub(said, text).strip()
    rest, same = same_at_the_end(text, names)
    if (numbers := tallied(rest, same)) is not None:
        return numbers
    for pattern in _JUST:
        if not same and (m := compiled(pattern).fullmatch(rest)):
            return f"{m['a']} must start within {_time(m['d'])} after {_bare(m['b'])}"
    rest, per = _per(rest)
    rest, time = _within(rest)
    for pattern in _SUMS:
        if m := compiled(pattern).fullmatch(rest):
            any_of = re.sub(r",? and |, ", " or ", m["several"])
            return f"{any_of} must happen at most {number_of(m['n'])} times{per}{time}{same}"
    for said in (rest, in_windows(text)):
        if m := compiled(_TOO_OFTEN).fullmatch(said):
            within = m["within"] or time
            return f"{m['a']} must happen at most {number_of(m['n'])} times{per}{within}{same}"
    return text


def _bare(act: str) -> str:
    return compiled(r"^(?:the|an?|any|every|each|all|one) ").sub("", act)


def _time(text: str) -> str:
    return in_windows(f"within {text}").removeprefix("within ")


def _per(text: str) -> tuple[str, str]:
    for pattern in (
        rf"^{_IN_RUN},? ",
        rf",? {_IN_RUN}$",
        rf",? (?:per|in one|in a single) {_RUN}(?=$| (?:may|must|can|should) )",
    ):
        if m := compiled(pattern).search(text):
            per = " per run" if " run" in m[0].lower() else " per conversation"
            return f"{text[: m.start()]}{text[m.end() :]}", per
    return text, ""


def _within(text: str) -> tuple[str, str]:
    m = compiled(rf"(?P<t> within (?:any )?{DURATION})$").search(in_windows(text))
    return (in_windows(text)[: m.start()], m["t"]) if m else (text, "")


_HAPPENS = r"(?: happens| has happened| happened| takes place)?"
_LONGER = r"(?:longer than|more than|over|beyond)"
_AT_MOST = (
    r"(?:no longer than|no more than|not longer than|not more than|at most|less than|up to|a maximum of)"
)
_THE_RUN = r"(?:(?:an?|the|any|each|every|one|a single|no|whole|entire|complete) )+run"
_CALLS = r"(?:(?:tool )?calls|steps|actions)(?: (?:altogether|in total|in all|overall|of any kind))?"
_ONE_CALL = r"(?:thing|call|action|step|tool|one)(?: (?:done|made|called|taken|to happen))?"
_IN_WHICH = rf"(?:in|of|for) (?:an?|any|each|every|the same|one) {_RUN} (?:in which|where|with|that has)"
_ORDERED = (
    "{<b> must happen before <a>} where it comes first, or {<a> must be followed by <b>} where it "
    "comes later; "
    "that the order does not matter is not in the language"
)
_NEVER_BOTH = "two policies: {<a> must never happen after <b>} and {<b> must never happen after <a>}"
_TIMES_BEFORE = "{<b> must happen at least <n> times before <a>}"
_NEXT_TO = (
    "{<a> must happen at most 1 time} where there may be no second one, or "
    "{<a> must never happen within 1 minute "
    "after "
    "<a>} with the time that is meant; that two calls do not lie next to each other is not in the language"
)
_HOW_LONG = "!how long a call may take is said as 'ACTION must take at most 10 minutes'"
_HINTS: tuple[tuple[str, str], ...] = (
    (rf"(?P<said>{_THE_RUN} (?:{NO}) (?:take|last|go on|run)(?: for)? {_LONGER} (?P<d>{DURATION}))",
     "<minutes>"),
    (rf"(?P<said>no run (?:{MAY}|{SHOULD}) (?:take|last|go on|run)(?: for)? {_LONGER} "
     rf"(?P<d>{DURATION}))", "<minutes>"),
    (rf"(?P<said>{_THE_RUN} (?:{MAY}|{SHOULD}) (?:take|last|go on|run)(?: for)? {_AT_MOST} "
     rf"(?P<d>{DURATION}))",
     "<minutes>"),
    (rf"(?P<said>{_THE_RUN} {SHOULD} (?:be (?:done|finished|completed|over)|finish|end|be done) "
     rf"(?:within|in(?: under| less than)?|after at most) (?P<d>{DURATION}))", "<minutes>"),
    (rf"(?P<said>(?:{_THE_RUN}) (?:{NO}) \w+(?: of)? more than (?P<n>{NUMBER}) {_CALLS})", "<calls>"),
    (rf"(?P<said>no run (?:{MAY}|{SHOULD}) \w+(?: of)? more than (?P<n>{NUMBER}) {_CALLS})", "<calls>"),
    (rf"(?P<said>(?:{_THE_RUN}) (?:{MAY}|{SHOULD}) \w+(?: of)? {_AT_MOST} (?P<n>{NUMBER}) {_CALLS})",
     "<calls>"),
    (rf"(?P<said>the (?:very )?first {_ONE_CALL}(?: {_IN_RUN})? (?:{SHOULD} (?:always )?be|is(?: "
     rf"always)?(?: to be)?)) (?P<a>{_ACT})", "{the first call must be <a>}"),
    (rf"(?P<said>(?:an?|each|every|the) {_RUN} {SHOULD} (?:always )?(?:start|begin|open) with) "
     rf"(?P<a>{_ACT})", "{the first call must be <a>}"),
    (rf"(?P<a>{_ACT}) (?P<said>{SHOULD} (?:always )?(?:be|happen as) the (?:very )?first "
     rf"{_ONE_CALL}(?: {_IN_RUN})?)", "{the first call must be <a>}"),
    (rf"(?P<said>the (?:very )?last {_ONE_CALL}(?: {_IN_RUN})? (?:{SHOULD} (?:always )?be|is(?: "
     rf"always)?(?: to be)?)) (?P<a>{_ACT})", "{the last call must be <a>}"),
    (rf"(?P<said>(?:an?|each|every|the) {_RUN} {SHOULD} (?:always )?(?:end|close|finish) with) "
     rf"(?P<a>{_ACT})", "{the last call must be <a>}"),
    (rf"(?P<a>{_ACT}) (?P<said>{SHOULD} (?:always )?(?:be|happen as) the (?:very )?last "
     rf"{_ONE_CALL}(?: {_IN_RUN})?)", "{the last call must be <a>}"),
    (rf"(?:after|once) (?P<a>{_ACT}){_HAPPENS},? (?P<said>(?:nothing(?: else| more)?|no (?:further "
     rf"|more |other )?(?:tool )?calls?) "
     rf"(?:{MAY}|{SHOULD}) (?:follow|happen|be made)(?: any ?more)?(?: {_IN_RUN})?)", "<nothing>"),
    (rf"(?P<a>{_ACT}) (?P<said>(?:{NO}) (?:be|happen as) the (?:very )?last {_ONE_CALL}(?: {_IN_RUN})?)",
     "!that a call is not the last one is not in the language; what must come after it is said as "
     "'<a> must be followed by ACTION'"),
    (rf"(?:at least one |an? )?(?P<b>{_ACT}) (?P<said>(?:is (?:required|needed|mandatory)|{SHOULD} "
     rf"happen(?: at least (?:one time|once|one times))?)"
     rf" {_IN_WHICH}) (?P<a>{_ACT}){_HAPPENS}", _ORDERED),
    (rf"(?P<said>(?:an?|any|each|every) {_RUN} (?:in which|where)) (?P<a>{_ACT}){_HAPPENS},? {SHOULD} "
     rf"(?:also )?"
     rf"(?:include |contain |have )?(?:at least one |an? )?(?P<b>{_ACT})(?:,? (?:though|but|even if) "
     rf"not necessarily .+|,? in (?:any|either|whatever) order"
     rf"|,? at some point| (?:as well|too))?", _ORDERED),
    (rf"(?P<b>{_ACT}) {SHOULD} happen (?P<how>exactly|at most|at least) (?P<n>{NUMBER})(?: times?)? "
     rf"(?P<said>{_IN_WHICH}) "
     rf"(?P<a>{_ACT}){_HAPPENS}",
     "{<b> must happen <how> <n> times per run} where every run is meant; a count in some runs only "
     "is not in the "
     "language"),
    (rf"(?P<a>{_ACT}) (?P<said>(?:{NO}) happen {_IN_WHICH}) (?P<b>{_ACT}){_HAPPENS}", _NEVER_BOTH),
    (rf"(?P<a>{_ACT}) and (?P<b>{_ACT}) (?P<said>(?:{NO}) (?:both )?happen in (?:the same|one(?: and "
     rf"the same)?|a single) {_RUN})", _NEVER_BOTH),
    (rf"(?P<a>{_ACT}) (?:{MAY}|{SHOULD}) (?:happen only|only happen) (?P<said>after (?:at least "
     rf")?(?P<n>{NUMBER})) (?P<b>{_ACT})"
     rf"(?: {_IN_RUN})?", _TIMES_BEFORE),
    (rf"(?P<a>{_ACT}) (?:(?:{NO}) happen unless|(?:{MAY}|{SHOULD}) (?:happen only|only happen) (?:if"
     rf"|when|once|after)) (?P<b>{_ACT})"
     rf" (?P<said>(?:has )?(?:happened|happens) (?:at least )?(?P<n>{NUMBER})(?: times?)?)(?: "
     rf"{_IN_RUN})?", _TIMES_BEFORE),
    (rf"(?P<b>{_ACT}) (?P<said>{SHOULD} (?:have happened|happen) (?:at least )(?P<n>{NUMBER})(?: "
     rf"times?)? before) (?P<a>{_ACT}){_HAPPENS}",
     _TIMES_BEFORE),
    (rf"(?:(?:never|do not|don['\u2019]t) (?P<a>{_ACT})|(?P<b>{_ACT}) (?:{NO}) (?:happen|follow)) "
     rf"(?P<said>(?:twice|two times) (?:in a row|running|in succession)|back to back|(?:directly"
     rf"|immediately) after (?:itself|each other|one another))",
     _NEXT_TO),
    (rf"(?:no )?(?:{_ACT}) (?P<said>(?:{NO}|{MAY}|{SHOULD}) (?:ever )?(?:take|last)(?: for)? "
     rf"(?:{_LONGER}|{_AT_MOST}) {DURATION})",
     _HOW_LONG),
    (rf"(?P<a>{_ACT}) (?P<said>(?:{NO}) happen more often than) (?P<b>{_ACT}){_HAPPENS}(?: {_IN_RUN})?",
     "{<a> must not happen more often than <b>}"),
    (rf"(?P<a>{_ACT}) {SHOULD} be followed by (?P<b>{_ACT}) (?P<said>(?:as|in) the (?:very )?next "
     rf"{_ONE_CALL})",
     "{<a> must be immediately followed by <b>}"),
    (rf"(?P<a>{_ACT}) {SHOULD} be followed by (?P<said>.+ (?:as|in) the (?:very )?next {_ONE_CALL})",
     "!what must come next is an action as the file names it: '<a> must be immediately followed by ACTION'"),
    (rf"before (?P<a>{_ACT}){_HAPPENS},? either (?P<b>{_ACT}) or (?P<c>{_ACT})(?: {SHOULD} "
     rf"happen)?(?P<said>,? but not both)",
     "{<b> or <c> must happen before <a>}, where both may come; that one of them must be missing is "
     "not in the "
     "language"),
    (rf"within (?P<d>{DURATION}) after (?P<b>{_ACT}){_HAPPENS},? (?P<a>{_ACT}) (?:{NO}) happen,? "
     rf"(?P<said>unless (?P<c>{_ACT}){_HAPPENS}"
     rf"(?: in the meantime| meanwhile| since| in between)?)",
     "{<a> must never happen within <d> after <b>} where the time ends it, or "
     "{<a> must never happen after <b> "
     "until <c>} where <c> ends it; both in one rule are not in the language"),
)  # fmt: skip


def of_a_run(text: str, names: Names) -> Iterator[tuple[str, str]]:
    """(the refused words, what to write instead); see `refused`."""
    phrases = tuple(names.actions)
    any_tool = "any tool" in map(str.casefold, phrases)
    text = by_number(text, phrases)
    rest, same = same_at_the_end(text, names)
    for pattern in _JUST:
        if same and (m := compiled(pattern).fullmatch(rest)):
            a, b = _bare(m["a"]), _bare(m["b"])
            yield (
                _unmarked(rest[m.start("b") :], phrases),
                _unmarked(
                    f"two policies: {{{b} must happen before {a}{same}}} and "
                    f"{{{a} must start within {_time(m['d'])} "
                    f"after "
                    f"{b}}}, which two different calls of {b} can keep; both of one call "
                    "are not in the language",
                    phrases,
                ),
            )
    for pattern, hint in _HINTS:
        for said in dict.fromkeys((text, rest, _per(text)[0])):
            if m := compiled(pattern).fullmatch(said):
                if hint == _TIMES_BEFORE and number_of(m["n"]) == 1:
                    continue  # as other hints have it
                if hint == _NEVER_BOTH and not re.search(r"\brun$|\brun ", m["said"]):
                    hint += ", with 'scope: session' at the head of the file"
                yield (
                    _unmarked(m["said"], phrases),
                    _unmarked(_in_place(_with_names(hint, any_tool), m), phrases),
                )


_PART = (
    r"(?: (?:on|for|to|of|by|at|from) (?:one|any one|each|every|any|a single|the same|an?) "
    r"(?P<which>[a-z]+))?"
)
_TOO_MUCH = (
    rf"(?:(?:{NO}) (?:ever )?(?:add up to|total|come to|amount to|sum to|be|reach|exceed)(?: more than"
    rf"| over| above)?"
    rf"|{SHOULD} (?:stay|be|remain|be kept) (?:at or below|at most|within|below or at)|{MAY} (?:total"
    rf"|come to|add up to|be) at most)"
    r" (?P<n>\d+(?:\.\d+)?)(?: (?P<unit>[a-z]+))?(?: in (?:total|all)| altogether)?"
)
_ADDED: tuple[str, ...] = (
    rf"(?:the )?(?:total )?(?P<f>[a-z]+) (?P<done>[a-z]+)(?: by (?P<deed>[a-z]+))?{_PART} "
    rf"(?P<said>{_TOO_MUCH})",
    rf"(?P<said>(?:at most|no more than|not more than) (?P<n>\d+(?:\.\d+)?) (?P<f>[a-z]+) in (?:total"
    rf"|all)) {MAY} be (?P<done>[a-z]+)"
    r"(?P<rest>(?: [a-z]+)*)",
)


def sum_of(body: str, names: Names) -> Iterator[tuple[str, str]]:
    """What a sum must be that names no argument of a call: (the refused words, the sentence that says it)."""
    text, per = _per(" ".join(body.split()).rstrip("."))
    for pattern in _ADDED:
        m = compiled(pattern).fullmatch(text)
        done = [phrase for phrase in names.actions if m and _is_done(phrase.casefold(), m)]
        if m is None or len(done) != 1:
            continue
        slots = m.groupdict()
        which, field = slots.get("which"), m["f"].lower()
        if _stem(field) in map(_stem, done[0].casefold().split()):
            field = slots.get("unit") or "FIELD"
        same = f" with the same {which}" if which else ""
        said = f"the sum of args.{field} of {done[0]} must be at most {m['n']}{per}{same}"
        why = (
            "with the argument that is added in place of FIELD"
            if field == "FIELD"
            else (f"where the calls say it in an argument {field}, else with its name")
        )
        yield m["said"], f"{{{said}}}, {why}"


def _is_done(phrase: str, m: re.Match[str]) -> bool:
    """Is it the action of which a sum speaks: `dispensed`, `added by renewals`?"""
    verb, deed = phrase.split()[0], m.groupdict().get("deed")
    if deed:
        return any(re.fullmatch(one, deed, re.IGNORECASE) for one in deeds_of(verb))
    rest = (m.groupdict().get("rest") or "").strip()
    return re.fullmatch(past_of(verb), m["done"], re.IGNORECASE) is not None and phrase.endswith(
        rest.casefold()
    )


def _stem(word: str) -> str:
    return word.casefold().removesuffix("s")


def _unmarked(text: str, phrases: Sequence[str]) -> str:
    return re.sub(r"«(\d+)»", lambda m: phrases[int(m[1])], text)


def _with_names(hint: str, any_tool: bool) -> str:
    """The hints that need an action `any tool`, which is named where the file has none."""
    last = "any tool must never happen after <a>"
    also = "with 'any tool: \"*\"' among the actions of the file"
    return {
        "<nothing>": f"{{{last}}}" if any_tool else f"!'{last}' says it, {also}",
        "<calls>": "!how many calls a run may have stands at the head of the file: 'calls: <n>' under "
        "'limits:'",
        "<minutes>": (
            "!how long a run may take stands at the head of the file: 'minutes: <m>' under 'limits:', after "
            "which no call may begin"
        ),
    }.get(hint, hint)


def _in_place(hint: str, m: re.Match[str]) -> str:
    slots = {slot: text for slot, text in m.groupdict().items() if text}
    slots |= {slot: _bare(slots[slot]) for slot in "abc" if slot in slots}
    slots.setdefault("a", slots.get("b", ""))
    if "n" in slots:
        slots["n"] = str(number_of(slots["n"]))
        hint = hint.replace("<n> times", counted(int(slots["n"]), "time"))
    if "d" in slots:
        slots["d"] = _time(slots["d"])
        slots["m"] = _minutes(slots["d"])
    return re.sub(
        r"<(\w+)>", lambda slot: slots[slot[1]].lower() if slot[1] == "how" else slots[slot[1]], hint
    )


def _minutes(time: str) -> str:
    """`2 hours` in minutes, as the head of a file has them."""
    amount, unit = re.fullmatch(r"([\d.]+) ?(\w+)", time, re.ASCII).groups()  # type: ignore[union-attr]
    of = {"ms": 1 / 60000, "mi": 1, "se": 1 / 60, "ho": 60, "da": 1440, "we": 10080}
    each = 1 / 60000 if unit.lower().startswith("milli") else of[unit.lower()[:2]]
    return f"{float(amount) * each:g}"

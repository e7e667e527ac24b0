"""Refusals of what is said of one thing that no field names: `a booking at most twice`, `a denied claim`."""

from __future__ import annotations

import re

from synth.counted import counted
from synth.policies.action_forms import Forms
from synth.policies.clausal.kinds_of_verbs import MAKING, is_another_each_time
from synth.policies.everyday import MODAL
from synth.policies.kinds.count import number_of
from synth.policies.names import OneThing, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.verbs import past_of
from synth.policies.vocabulary import TIMES

ADVERB = r"(?: (?:not|never|only|always|also|both|first|ever|then|later|immediately|have))*"
_SO_OFTEN = (
    r"(?P<how>at most|a maximum of|no more(?: often)? than|not more(?: often)? than|more(?: often)? than"
    rf"|over|up to|exactly|only|) ?(?P<n>twice|once|a second time|{TIMES}(?= times))\b"
    r"(?! (?:it|they|you|we|the|an?|any|all|every|each|no|its|their|his|her|our|your|this|that|these|those"
    r"|both|there)\b)"
)
_OF_A_FIELD = (
    r"\b(?:per|same|for (?:each|every|any|one)) "
    r"(?!(?:run|conversation|session|turn|message|second|minute|hour|(?:calendar )?(?:day|week|month))\b)"
)


def which_one(text: str, forms: tuple[Forms, ...]) -> None:
    """Refuse what is said of one thing that no field names."""
    _no_count_of_one(text, forms)
    _no_state_of_one(text, forms)


def _no_count_of_one(text: str, forms: tuple[Forms, ...]) -> None:
    """`a booking at most twice` counts all of them, or each by itself. TwoReadings where no field says."""
    for one in forms:
        if not one.rest or not one.can_stand_in(text) or is_another_each_time(one.verb, one.stems[-1]):
            continue
        if one.prepositional:
            which = r"(?P<which>an?|any|each|every|no|the same|one|all(?: the)?) (?P<it>[a-z]+)"
            done = rf"{which} {MODAL}{ADVERB} be {past_of(one.verb)} {one.rest}"
            for said in (done, rf"{one.verb} {which} {one.rest}"):
                if m := compiled(rf"\b{said} (?P<often>{_SO_OFTEN})").search(text):
                    _refuse_count_of_one(m, one.phrase, text)
            continue
        up = f"(?: {one.particle})?" if one.particle else ""
        every = (
            "an?|any|each|every|no|the same"
            if one.phrase.endswith("s")
            else ("an?|any|each|every|no|the same|one and the same|all(?: the)?")
        )
        which = rf"(?P<which>{every}) (?P<it>{one.rest})"
        other = rf"(?:(?!\b(?:it|they|them|being|{one.rest})\b)[^,])+"
        done, do = rf"{which} {MODAL}{ADVERB} be {one.done}", rf"{one.verb}{up} {which}{up}"
        for said in (done, do):
            m = compiled(rf"\b{said} (?P<often>{_SO_OFTEN}){_NO_CLAUSE}").search(text)
            if m and not m[0].casefold().startswith(f"{one.phrase} ".casefold()):
                _refuse_count_of_one(m, one.phrase, text)
            for alone in (rf"^{said}(?:$| before {other}$)", rf"^before {other}, {said}$"):
                if m := compiled(alone).search(text):
                    _refuse_each(m, one.phrase)


_NO_CLAUSE = r"(?! (?:something|anything|the|it|they|you|we|its|their)\b)"
"""`Only once it was merged` says when, and not how often."""


def _refuse_count_of_one(m: re.Match[str], done: str, text: str) -> None:
    which, it = m["which"], m["it"]
    around = f"{text[: m.start('which')]}{text[m.end('it') :]}"
    if re.search(f"{_OF_A_FIELD}{it if which.lower() in ('each', 'every') else ''}", around, re.I):
        return
    how, n = m["how"].lower(), "twice" if m["n"] == "a second time" else m["n"]
    number = 1 if n == "twice" and not how else number_of(n)
    most = f"{_capital(done)} must happen at most {counted(number, 'time')}"
    if "same" in which.lower():
        raise OneThing(
            f"cannot read '{which} {it}', as no field says which one it is; write '{most} with the same "
            "FIELD'"
        )
    needed = compiled(r"(?:must|should|shall|has to|have to|needs? to) (?!not|never)").search(m[0])
    if needed and not how and compiled(r" (?:before|prior to|ahead of) ").match(text, m.end()):
        raise OneThing(
            f"cannot read '{which} {it} ... {m['often']}'; write '{_capital(done)} must happen at least "
            f"{counted(number_of(n), 'time')} before ACTION with the same FIELD'"
        )
    total = most.replace("at most", "exactly") if how == "exactly" else most
    if field := re.search(rf"{_OF_A_FIELD}(?P<f>[a-z]+_\w+)", text, re.I):
        raise TwoReadings(
            f"cannot read '{which} {it} ... {m['often']}'; write '{most} with the same {field['f']}' where "
            f"all of them are counted together, or '{most} with the same {field['f']} and FIELD' where FIELD "
            f"says which {it} it is"
        )
    made = how == "exactly" and number == 1 and done.split()[0].lower() in MAKING
    raise (OneThing if made or which.lower() in ("each", "every", "no") else TwoReadings)(
        f"cannot read '{which} {it} ... {m['often']}'; write '{total}' where all of them are counted "
        f"together, or '{most} with the same FIELD' where there may be as many of each"
    )


def _no_state_of_one(text: str, forms: tuple[Forms, ...]) -> None:
    """`A denied claim must not be paid` is about one and the same claim."""
    by_object: dict[str, list[Forms]] = {}
    for one in forms:
        if one.rest and not one.prepositional and one.can_stand_in(text):
            by_object.setdefault(one.rest, []).append(one)
    for rest, several in by_object.items():
        done = "|".join(one.done for one in several)
        it = rf"(?:only )?(?:(?:an?|any|the|all) )?(?P<first>{done}) (?:{rest})"
        for then in several:
            up = f" {then.particle}" if then.particle else ""
            for pattern in (
                rf"(?P<it>{it}) (?:{MODAL})(?P<no> not| never)?{ADVERB} be {then.done}\b",
                rf"(?P<no>\b(?:never|not) )?\b{then.verb}{up} (?P<it>{it})(?!\w)",
            ):
                found = compiled(pattern).search(text)
                others = [one for one in several if found and re.fullmatch(one.done, found["first"], re.I)]
                if found and others and then not in others:
                    _refuse_state(found, others[0].phrase, then.phrase, text)


def _refuse_state(m: re.Match[str], first: str, then: str, text: str) -> None:
    same = " with the same FIELD"
    if m.groupdict().get("no"):
        said = f"{_capital(then)} must never happen after {first}{same}"
    elif re.search(r"\bonly\b", text, re.I):
        said = f"{_capital(first)} must happen before {then}{same}"
    else:
        said = f"{_capital(first)} must be followed by {then}{same}"
    raise OneThing(f"cannot read {m['it'].strip()!r}, which is one and the same; write '{said}'")


def _refuse_each(m: re.Match[str], done: str) -> None:
    if m["which"].lower() not in ("each", "every", "all", "all the") or re.search(
        r"\b(?:not|never|may|can)\b", m[0], re.I
    ):
        return
    raise TwoReadings(
        f"cannot read '{m['which']} {m['it']}', as which ones there are is in no call; leave "
        f"'{m['which']}' out where one is enough, or write 'ACTION must be followed by {done} with the same "
        "FIELD' where each needs one"
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]

"""Actions as a sentence inflects them: `a refund is issued`, `issuing refunds`, `the refund must be issued`.

What is found is written as the file names it, with the plainest words around it: `issue refund happens`,
`issue refund`, `issue refund must happen`. Only what names one action of the file, all of its words, counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import permutations

from synth.policies.action_forms import LIGHT, THE, Forms, forms_of
from synth.policies.everyday import MODAL, everyday
from synth.policies.names import Names, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.verbs import deeds_of, gerund_of, past_of, third_of
from synth.policies.vocabulary import ANYBODY, COUNT
from synth.policies.which_one import ADVERB, which_one

_MUST = MODAL
_IS = r"(?:is|are|was|were|gets|is being|are being|has been|have been|had been)"


def inflected(body: str, names: Names) -> str:
    """The sentence with its actions as the file names them."""
    text = everyday(body)
    forms = forms_of(tuple(names.actions))
    which_one(text, forms)
    text = _objects(_passives(text, forms), forms)
    text = _pairs(text, forms)
    for one in forms:
        if one.can_stand_in(text):
            text = _mentions(text, one)
    text = _alone(_pronouns(text, forms), forms)
    text = compiled(rf"^there (?P<must>{_MUST}(?: not| never)?) be {COUNT} (?P<it>\x01[^\x01]+\x01)").sub(
        r"\g<it> \g<must> happen \g<how> \g<n> times", text
    )
    text = compiled(r"(?P<by>\b(?:followed|preceded) by )completed (?=\x01)").sub(r"\g<by>", text)
    text = compiled(
        r"\b(?:(?:every|each|any) completed|(?P<of>all(?: the)?|of|over) completed) (?=\x01)"
    ).sub(lambda m: f"{m['of']} " if m["of"] else "", text)
    text = compiled(
        rf"\b(?P<when>before|after|once|until) (?:{ANYBODY}) (?=\x01[^\x01]+\x01(?:$|[ ,](?!ha)))"
    ).sub(r"\g<when> ", text)
    text = compiled(
        r"^completed (?=\x01[^\x01]+\x01 (?:must|should|shall|has to) (?:\w+ )?be followed )"
    ).sub("", text)
    for mark, phrase in [(_mark(one.phrase), one.phrase) for one in forms]:
        text = text.replace(mark, phrase)
    return text


_PLAIN = str.maketrans({"\x01": None, "\x02": " "})


def _mark(phrase: str) -> str:
    """The phrase, kept from being found again inside another one."""
    return "\x01" + phrase.replace(" ", "\x02") + "\x01"


_LATER_OR_BEFORE = (
    "?cannot read 'must be' of what is done already; write '{First} must be followed by {plain}' where it "
    "comes later, or '{Done} must happen before {before}' where it comes first"
)
_WHILE = r"(?:while|whilst|as long as|so long as|when|whenever)"
_NO_STATE = (
    r"(?!(?:held|kept|stored|locked|blocked|paused|suspended|frozen|reserved|quarantined|rented|leased"
    r"|monitored|tracked|watched|hospitali[sz]ed)\b)"
)
"""Not what is done once and then lasts: `while it is being held` may mean until it is released."""
_BEGIN = r"(?<![\w\x01\x02])(?<!\w-)"
_ITS = rf"{_BEGIN}{THE}(?:REST)"
_PASSIVES: tuple[tuple[str, str], ...] = (
    (rf"{_BEGIN}{COUNT} (?:REST) {_MUST}(?: ever)? be WHICH", "{done} must happen {how} {n} times"),
    (rf"{_BEGIN}(?:under no circumstances|in no case|at no (?:time|point)) (?:may|must|should|can|shall) "
     rf"{THE}(?:REST) (?:ever )?be WHICH", "{done} must never happen"),
    (r"(?<=if )no (?:REST) (?:was|were|is|are|has been|have been) WHICH", "{done} has not happened"),
    (rf"^(?:every|each) (?P<first>DONE) (?:REST) {_MUST} be WHICH(?=$| with the same )", _LATER_OR_BEFORE),
    (rf"{_BEGIN}no (?:more |further |other )?(?:REST) (?:may|can|must|shall|should|will)(?: ever)? be WHICH",
     "{done} must never happen"),
    (rf"{_ITS} (?P<must>{_MUST}{ADVERB}) be(?: first| ever)? WHICH", "{done} {must} happen"),
    (rf"{_BEGIN}no (?:more |further |other )?(?:REST) (?:is|are) (?:ever )?WHICH(?= (?:until|unless|before"
     r"|without|after|on)\b)",
     "{done} must never happen"),
    (rf"{_ITS} {_MUST} neither be WHICH nor (?P<other>DONE)\b", "{done} and {other} must never happen"),
    (rf"{_ITS} (?P<must>{_MUST}) have been WHICH", "{done} {must} have happened"),
    (rf"{_ITS} (?:is|are) only (?:ever )?WHICH", "{done} must happen only"),
    (rf"\b(?P<must>may|can|must|should) {THE}(?:REST) be WHICH", "{must} {done} happen"),
    (rf"(?P<lead> must (?:happen|be \w+) )(?P<or>or|and) {THE}(?:REST) WHICH(?= before)",
     "{lead}{or} {done} happens"),
    (rf"(?P<lead>\b(?:after|once|until|unless) [^,]+ (?:has|have) (?:happened|been \w+) )(?P<or>or|and)"
     rf" {THE}(?:REST) WHICH$",
     "{lead}{or} {done} has happened"),
    (rf"{_ITS} being WHICH", "{done}"),
    (rf"{_BEGIN}no (?:REST) (?:is|are) (?:ever )?to be WHICH", "{done} must never happen"),
    (rf"{_ITS} (?:is|are) (?:never |not )to be WHICH", "{done} must never happen"),
    (rf"{_ITS} (?:is|are) to be WHICH", "{done} must happen"),
    (rf"\bwithout {THE}(?:REST) having been WHICH", "unless {done} has happened"),
    (rf"{_ITS} (?:has|have|had) been (?:successfully )?WHICH(?: successfully)?", "{done} has happened"),
    (rf"\b{_WHILE} {THE}(?:REST) (?:is|are)(?: still)? being"
     rf" {_NO_STATE}WHICH", "while {done} is running"),
    (rf"{_ITS} {_IS} (?:successfully )?WHICH(?: successfully)?", "{done} happens"),
    (rf"{_ITS} (?:has|have|is|are|was|were) not(?: yet)?(?: been)? (?:successfully )?WHICH",
     "{done} has not happened"),
)  # fmt: skip
"""What is done to an object, and that in plain words.

`REST` is the object, `WHICH` names actions by what is done to it, `DONE` is one of those words.
"""


_OF_IT: tuple[tuple[str, str], ...] = (
    (r"\b(?:it|they) (?:has|have|is|are|was|were) not (?:yet )?(?:been )?WHICH", "{done} has not happened"),
    (rf"\b{_WHILE} (?:it|they) (?:is|are)(?: still)? being {_NO_STATE}WHICH", "while {done} is running"),
    (r"\b(?:it|they) (?:has|have|had) (?:already )?been (?:successfully )?WHICH", "{done} has happened"),
    (rf"\b(?:it|they) {_IS} (?:successfully )?WHICH", "{done} happens"),
    (rf"\b(?:it|they) (?P<must>{_MUST}{ADVERB}) be(?: ever)? WHICH", "{done} {must} happen"),
)
"""The same of what is spoken of already."""


def _passives(text: str, forms: tuple[Forms, ...]) -> str:
    """`the identity must be verified`, `no refund may be issued`, `once the ticket has been closed`."""
    by_object: dict[str, list[Forms]] = {}
    for one in forms:
        if one.rest and not one.prepositional:
            by_object.setdefault(one.rest, []).append(one)
    for rest, several in sorted(by_object.items(), key=lambda item: -len(item[0])):
        if not several[0].can_stand_in(text):
            continue
        done = "|".join(sorted({one.done for one in several}, key=len, reverse=True))
        which = rf"(?P<done>(?:{done})(?:(?:,| and| or|, and|, or) (?:{done}))*)\b"

        def said(found: str, several: list[Forms] = several) -> str:
            parts = re.split(r"(,? and |,? or |, )", found)
            return "".join(part if k % 2 else _by_done(part, several) for k, part in enumerate(parts))

        for pattern, words in _PASSIVES:
            pattern = pattern.replace("REST", rest).replace("DONE", done).replace("WHICH", which)
            text = compiled(pattern).sub(partial(_in_words, words, said), text)
        only = [one for one in several if [other.done for other in forms].count(one.done) == 1]
        if only and re.search("|".join([*(_mark(one.phrase) for one in several), rest]), text, re.I):
            done = "|".join(sorted({one.done for one in only}, key=len, reverse=True))
            which = rf"(?P<done>(?:{done})(?:(?:,| and| or|, and|, or) (?:{done}))*)\b"
            for pattern, words in _OF_IT:
                text = compiled(pattern.replace("WHICH", which)).sub(partial(_in_words, words, said), text)
    return text


_OBJECT = (
    r"(?:(?:the|a|an|any|its|their|his|her|this|that|these|those|your|our) (?P<it>[a-z]+)"
    r"|(?P<several>(?<!all )(?<!both )(?<!only )(?<!some )"
    r"(?!(?:not|never|only|always|also|first|then)\b)[a-z]+s)|it|them|one)"
)
"""What an action without an object of its own is done to: `put an order on hold`."""


def _objects(text: str, forms: tuple[Forms, ...]) -> str:
    """`putting an order on hold` and `once it has been put on hold`, of the action `put on hold`."""
    for one in forms:
        alike = [other for other in forms if other.verb == one.verb]
        if not one.prepositional or one.particle or len(alike) > 1 or not one.can_stand_in(text):
            continue
        mark, begin, end = _mark(one.phrase), r"(?<![\w\x01\x02-])", r"(?![\w\x01\x02-])"
        past, object_ = past_of(one.verb), re.sub(r"\?P<\w+>", "?:", _OBJECT)
        done = rf"{past} {one.rest}{end}"
        for pattern, said in (
            (rf"{begin}no (?:more |further |other )?[a-z]+ (?:may|can|must|shall|should)(?: ever)? be {done}",
             f"{mark} must never happen"),
            (rf"{begin}nothing(?: more| further| else| at all)? (?:may|can|must|shall|should)(?: "
             rf"ever)? be {done}",
             f"{mark} must never happen"),
            (rf"{begin}{object_} (?P<must>{_MUST}{ADVERB}) be(?: first| ever)? {done}",
             rf"{mark} \g<must> happen"),
            (rf"{begin}{object_} (?:has|have|had) (?:already )?been {done}", f"{mark} has happened"),
            (rf"{begin}{object_} (?:has|have|is|are|was|were) not(?: yet)?(?: been)? {done}",
             f"{mark} has not happened"),
            (rf"{begin}{object_} (?:is|are|was|were|gets) {done}", f"{mark} happens"),
            (rf"{begin}{object_} (?:is|are) {one.rest}{end}", f"{mark} happens"),
            (rf"{begin}{object_} being {done}", mark),
            (rf"{begin}{gerund_of(one.verb)} {object_} {one.rest}{end}", mark),
            (rf"{begin}(?:{ANYBODY}) (?:has|have|had) {past} {object_} {one.rest}{end}", f"{mark} happens"),
            (rf"{begin}(?:{ANYBODY}) {third_of(one.verb)} {object_} {one.rest}{end}", f"{mark} happens"),
            (rf"{begin}{one.verb} {object_} {one.rest}{end}", mark),
        ):  # fmt: skip
            text = compiled(pattern).sub(said, text)
    return text


def _in_words(words: str, said: Callable[[str], str], m: re.Match[str]) -> str:
    """The words with what the sentence says in their slots, `done` and `other` as the file names them."""
    slots = m.groupdict("")
    for slot in slots.keys() & {"done", "other", "first"}:
        slots[slot] = said(slots[slot])
    if words[0] != "?":
        return words.format(**slots)
    plain, before = (slots.get(slot, "").translate(_PLAIN) for slot in ("done", "first"))
    upper = {"Done": plain[0].upper() + plain[1:], "First": before[:1].upper() + before[1:]}
    raise TwoReadings(words[1:].format(**slots, **upper, plain=plain, before=before))


def _pairs(text: str, forms: tuple[Forms, ...]) -> str:
    """Two verbs of one object: `opening and closing the gate`, `load or unload baggage`."""
    for one, other in permutations(forms, 2):
        if one.rest != other.rest or not one.rest or one.prepositional:
            continue
        up, out = (f" {each.particle}" if each.particle else "" for each in (one, other))
        for form in (gerund_of, str):
            text = compiled(
                rf"(?<![\w\x01\x02-]){THE}{form(one.verb)}{up} (?P<or>and|or|nor) {THE}"
                rf"{form(other.verb)}{out} (?:of )?{THE}(?:{one.rest})(?![\w\x01\x02-])"
            ).sub(rf"{_mark(one.phrase)} \g<or> {_mark(other.phrase)}", text)
        text = compiled(
            rf"(?<![\w\x01\x02-])(?<=before )(?:{ANYBODY}) {third_of(one.verb)}{up} (?P<or>and|or) "
            rf"{third_of(other.verb)}{out} {THE}(?:{one.rest})(?![\w\x01\x02-])"
        ).sub(rf"{_mark(one.phrase)} \g<or> {_mark(other.phrase)}", text)
    return text


_ON = (
    r"(?= (?:fails?|failed|has failed|must|may|can|should|shall|has to|needs to|requires?|needs?|is|are"
    r"|and|or|per|within|together|combined|in (?:the|a|any|one|each|every|that) (?:run|conversation)"
    r"|before|after|until|unless|on|between|during|precedes?|(?:with|for|of|on) the same|by)\b|,)"
)
_CHECKING = r"\b(?:check|test|review|scan|inspection|audit|verification|approval)s?$"
"""What nobody needs afterwards."""
_NO_DEED = ("call", "use", "start", "begin", "order", "check", "open", "close", "lock", *LIGHT)
"""Verbs that name no action without an object."""


_GIVING = (
    "send", "write", "issue", "make", "create", "print", "publish", "file", "log", "record", "add", "give",
    "post", "raise", "award", "grant", "place", "mail", *LIGHT,
)  # fmt: skip
"""Verbs whose object stands for what they do: `followed by a letter`, of `send letter`."""


def _alone(text: str, forms: tuple[Forms, ...]) -> str:
    """What one action alone has, its verb as a noun or its object: `deicing fails`, `no refunds on Sundays`.

    A verb that ends the sentence may have another object in mind, unless the sentence has such a one before.
    """
    found = _alone_before(_ON, text, forms)
    return found if found == text else _alone_before(_ON.replace("|,)", "|,|$)"), found, forms)


def _alone_before(ends: str, text: str, forms: tuple[Forms, ...]) -> str:
    for one in forms:
        others = {
            word
            for other in forms
            if other is not one
            for word in re.findall(r"\w+", other.phrase.casefold())
        }
        begin = r"(?<![\w\x01\x02-])"
        if one.verb not in _NO_DEED and not one.particle and one.verb not in others and one.rest:
            gerund = f"{gerund_of(one.verb)}s?"
            deeds = [deed for deed in deeds_of(one.verb) if deed != f"{one.verb}s?"]
            if not any(re.fullmatch(gerund, word) for word in others):
                text = compiled(rf"{begin}{THE}{gerund}{ends}").sub(_mark(one.phrase), text)
            if not any(re.fullmatch(deed, word) for deed in [*deeds, f"{one.verb}s?"] for word in others):
                text = compiled(rf"{begin}(?<!without ){THE}(?:{'|'.join(deeds)}){ends}").sub(
                    _mark(one.phrase), text
                )
                text = compiled(rf"{begin}(?P<one>failed |one |no |a |every |each ){one.verb}s?{ends}").sub(
                    rf"\g<one>{_mark(one.phrase)}", text
                )
        if one.rest and not one.prepositional and not re.search(rf"\b(?:{one.rest})\b", " ".join(
            other.phrase for other in forms if other is not one
        ), re.IGNORECASE):  # fmt: skip
            text = compiled(
                rf"^(?P<no>no )?(?:{one.rest})(?= (?:on|after|before|between|within|requires?|needs?) )"
            ).sub(rf"\g<no>{_mark(one.phrase)}", text)
            if one.verb in _GIVING:
                text = compiled(
                    rf"(?P<so>\b(?:followed|preceded) by {THE}|^there {_MUST}(?: not| never)? be {COUNT} )"
                    rf"(?:{one.rest}){ends}"
                ).sub(rf"\g<so>{_mark(one.phrase)}", text)
                text = compiled(rf"^(?:{one.rest})(?= must happen at most)").sub(_mark(one.phrase), text)
    return text


def _pronouns(text: str, forms: tuple[Forms, ...]) -> str:
    """`looked it up`, `cancelling it`: what one action alone has the verb of, its object being spoken of."""
    spoken_of = {one.rest for one in forms if _mark(one.phrase) in text}
    for one in forms:
        alike = {other.rest for other in forms if (other.verb, other.particle) == (one.verb, one.particle)}
        if alike & spoken_of != {one.rest} or (len(alike) > 1 and len(spoken_of) > 1) or one.prepositional:
            continue
        up = f" {one.particle}" if one.particle else ""
        begin, end = r"(?<![\w\x01\x02-])", r"(?![\w\x01\x02-])"
        past, gerund, mark = past_of(one.verb), gerund_of(one.verb), _mark(one.phrase)
        for pattern, said in (
            (rf"(?:{ANYBODY}) (?:has|have|had) (?:already )?{past} (?:it|them){up}", f"{mark} happens"),
            (rf"{gerund} (?:it|them|one){up}", mark),
            (rf"{one.verb} (?:it|them){up}", mark),
            (rf"(?:being|having been) {past}{up}", mark),
            (rf"having (?:already |successfully )?{past} (?:it|them|one){up}", mark),
            (rf"(?:its|their) (?:{'|'.join(deeds_of(one.verb))})", mark),
            (rf"(?<=\x01 )must (?:eventually|later|afterwards) be {past}{up}", f"must be followed by {mark}"),
        ):
            text = compiled(f"{begin}{pattern}{end}").sub(said, text)
    return text


def _by_done(word: str, several: list[Forms]) -> str:
    one = next(one for one in several if re.fullmatch(one.done, word, re.I))
    return _mark(one.phrase)


def _mentions(text: str, one: Forms) -> str:
    """What names the action in the active voice, or as a noun."""
    mark, begin, end = _mark(one.phrase), r"(?<![\w\x01\x02-])", r"(?![\w\x01\x02-])"
    rules: list[tuple[str, str]] = []
    if one.rest and not one.prepositional and not one.particle:
        rules.append((rf"{begin}{one.verb} {COUNT} (?:{one.rest}){end}", rf"{mark} \g<how> \g<n> times"))
    gerund, past = one.spelled(gerund_of(one.verb)), one.spelled(past_of(one.verb))
    rules += [
        (rf"{begin}(?:{ANYBODY}) (?:has|have|had) (?:already |successfully )?{past}{end}", f"{mark} happens"),
        (rf"{begin}(?:{ANYBODY}) {one.spelled(third_of(one.verb))}{end}", f"{mark} happens"),
        (rf"{begin}(?<!by )(?:{ANYBODY}) {past}{end}", f"{mark} happens"),
        (rf"{begin}(?<=before )(?:{ANYBODY}) {one.spelled(one.verb)}{end}", mark),
        (rf"{begin}(?<=after )(?:{ANYBODY}) {one.spelled(one.verb)}{end}", mark),
        (rf"{begin}(?:having (?:already |successfully )?{past}|{THE}{gerund}){end}", mark),
    ]
    if one.prepositional or not one.rest:
        rules.append((rf"(?<=once ){past}{end}", f"{mark} happens"))
        rules.append((rf"(?<=after being ){past}{end}", mark))
    deeds = "|".join(deeds_of(one.verb))
    if one.rest and not one.particle:
        of = "" if one.prepositional else rf"(?:of|to) {THE}"
        deeds = f"{deeds}|{gerund_of(one.verb)}s?" if of else deeds
        rules.append((rf"{begin}{THE}(?:{deeds}) {of}(?:{one.rest}){end}", mark))
        if not one.prepositional:
            rules.append((rf"{begin}{THE}(?:{one.rest}) (?:{deeds}){end}", mark))
            rules.append((rf"{begin}(?<=of )(?:all )?{THE}(?:{one.rest}) {past_of(one.verb)}{end}", mark))
            if past != one.spelled(one.verb):
                rules.append(
                    (
                        rf"{begin}(?:(?:an?|the|its|their) )?(?P<each>(?:every|each|any|all|of|over)"
                        rf" )?{past}{end}",
                        rf"\g<each>completed {mark}",
                    )
                )
    rules.append((rf"{begin}{one.spelled(one.verb)}{end}", mark))
    if not one.rest:
        rules.append((rf"{begin}{THE}(?:{deeds}){end}", mark))
    if one.verb in LIGHT and one.rest and not one.prepositional and not one.particle:
        if re.search(_CHECKING, one.phrase, re.IGNORECASE):
            rules.append((rf"{begin}(?<=without )(?:an? |any |the )(?:{one.rest}){end}", f"completed {mark}"))
        rules.append((rf"{begin}(?<!\x02){THE}(?:{one.rest}){end}(?! (?:must|may|can) be)", mark))
    for pattern, said in rules:
        text = compiled(pattern).sub(said, text)
    return text

"""Sentences in fewer words, to be read: `on that prescription`, `nothing may be dispensed`, `theirs`.

What is said of the same thing is said at the end, `with the same NOUN`; what names an action by its verb
alone names it in full, where no other action of the file has that verb.
"""

from __future__ import annotations

import re

from synth.policies.action_forms import ARTICLES, Forms, forms_of
from synth.policies.everyday import MODAL
from synth.policies.names import Names, Scope
from synth.policies.patterns import compiled
from synth.policies.rewording import Reword
from synth.policies.verbs import deeds_of
from synth.policies.wordings import DURATION

_NOT_A_THING = (
    r"(?!(?:reason|purpose|matter|(?:calendar )?(?:day|week|month)|year|date|hour|minute|night|morning"
    r"|evening|time|moment|case|run|conversation|session|turn|message|kind|sort|type|way|point|window"
    r"|period|call|action|step"
    r"|tool|agent|is|are|was|were|has|have|had|must|may|can|should|it|they|the|a|an|one|no|same)s?\b)"
)
_NOUN = rf"{_NOT_A_THING}(?P<f>[a-z]+)(?![\w\u2019'-])(?! (?:id|number|code|reference|name|key)\b)"
_END = (
    r"(?=$|,| (?:again|first|before|beforehand|afterwards?|later|for|until|unless|within|once|after|in|may"
    r"|must|can|should|has|have|is|are|was|were|either|any ?more)\b)"
)
_IS = r"(?:is|are|was|were|has been|have been|had been|gets)"
_SMALL_OBJECT = r"(?: (?:to|for|on|from|by|with) (?:an?|the|any) [a-z]+)?"

_NO_COUNT = r"(?! (?:more than|no more|over|at (?:most|least)|once|twice|again|a second|[a-z]+ times)\b)"

SAID_BEFORE = (
    rf"[,:]|\b(?:{MODAL}|is|are|has|have|before|after|until|till|between|once|if|when|whenever|unless|without|needs?|requires?"
    r"|takes?)\b|^\w+ing\b"
)
"""Before `the same NOUN`: of what is the account in `The balance of the same account must be checked`?"""

_OF_A_RUN = (
    r",? (?:for|during|in|within) the (?:rest|remainder) of (?:the|that|this|its) (?P<a>run|conversation"
    r"|session)"
    r"|,? (?:later |anywhere )?in (?:that|this|the same|the whole|the) (?P<b>run|conversation|session)"
    r"|,? before the (?:end of the )?(?P<c>run|conversation|session)(?: ends| is over| has ended)?"
    r"|,? not even in (?:a|any) (?:later|other|further) run of the (?P<d>conversation|session)"
)
"""Where an order holds. `said_scope` says of which runs; a file of another scope refuses the rule."""
_OF_A_CONVERSATION = (
    r"\b(?:of|in|per|within|during|for|begin|start|end|finish|open|close) (?:an?|any|each|every|one|a single"
    r"|the|the same|the whole) (?:conversation|session)"
    r"(?=$|[,.:]|(?: always| only| also)? (?:must|may|can|should|shall|has|have|needs?|is|are|with|by|no|not"
    r"|at|if|unless|after|before|once|until|without|that|which|where)\b)"
    r"|(?:^|, (?:then )?)(?:an?|any|each|every|no|the|one|(?:a|any|each|no) single|any one|no one)"
    r" (?:conversation|session) "
    r"(?:(?:must|may|can|should|shall|has|needs|is|that|which|without|with|always|never|does|will|only)\b"
    r"|[a-z]+[^s]s\b(?! (?:must|may|can|should|shall|is|are)\b))"
    r"|^(?:in|within|during) (?:any|each|every) (?:conversation|session)\b"
    r"|^one (?:conversation|session) ?[,:]"
    r"|^(?:all )?(?:conversations|sessions) (?:(?:always|must|should|have to|may only) )*"
    r"(?:start|begin|open|end|finish|close) (?:with|by|in)\b"
)

ONE_SCOPE = (
    r"(?:(?:in|within|during|over|throughout|inside|across|for|of) (?:the whole of |the course of )?"
    r"(?:an?|any|each|every|one|the|this|any one|any given|any single|a single|a given|one and the"
    r"|one single)"
    r"(?: (?:same|whole|entire|single|given))?|per)"
)
"""What stands before `run` or `conversation`."""
_OF_ANY_RUN = (
    rf"^{ONE_SCOPE} run ?(?:[,:]| [-\u2013\u2014])|(?<=\w) {ONE_SCOPE} run$|[(\[]{ONE_SCOPE} run[)\]]$"
)

_TABLE: tuple[tuple[str, Reword], ...] = (
    (r"[;,:]? (?:\u2014 |- )?(?:any )?(?:one|either)(?: one)? (?:of (?:the two|them|these|those) )?"
     r"(?:is enough|suffices|will do|is sufficient)$", ""),
    (r"\b(?:is|are) (?:not acceptable|unacceptable|not ok(?:ay)?|not on|out of the question)\b",
     "is not allowed"),
    (r",? (?:and )?neither (?P<a>[^,]+?) nor (?P<b>[^,]+?) (?:is|are) (?:allowed|permitted)\b",
     r", \g<a> and \g<b> are not permitted"),
    (r"\bcalls of any kind\b", "calls"),
    (r"^(?P<no>no [a-z ]+?) (?:at all|whatsoever) (?=may |can |must )", r"\g<no> "),
    (rf"\bfor the (?:next|following|first) (?P<d>{DURATION})", r"for \g<d>"),
    (rf"\b(?:in|within|during) the (?:next|following) (?P<d>{DURATION})", r"within \g<d>"),
    (r"\b(?P<lead>until|unless|before|after) an? (?:later|new|further|fresh|second|subsequent) "
     r"(?=[^,]+? (?:has |have )?succeed)", r"\g<lead> a "),
    (r"^(?:if|when|whenever|once|after) (?P<b>[^,]+?) (?:fails|failed|has failed), (?:then )?(?:(?:do not|don"
     r"['"
     r"\u2019]t|never) (?:try|attempt|retry|repeat|do|call|run|use|make|perform)"
     r" (?:it|them|that|another one)(?: again| once more| a second time)?"
     rf"|(?:it|they|that) (?:{MODAL}) (?:not|never)(?: ever)? be (?:tried again|attempted again|retried"
     r"|repeated|done again))",
     r"\g<b> must never happen after \g<b> fails"),
)  # fmt: skip


def in_fewer_words(body: str, names: Names) -> str:
    """The sentence in fewer words; as it was where there are none for it."""
    forms = forms_of(tuple(names.actions))
    text = _without_scope(body)
    for pattern, said in _TABLE:
        text = compiled(pattern).sub(said, text)
    text = text.removeprefix(", ")
    text, same = _the_same(text)
    text, whose = _lasts(text, forms)
    text, same = _by_verb(text, forms), same or whose
    text = _until_again(text, forms) or text
    text = re.sub(" +", " ", text).strip()
    if not same or re.search(rf" (?:same|per) {same}\b", text):
        return text
    return f"{text} with the same {same}"


def said_scope(sentence: str) -> Scope | None:
    """Over what a sentence says that its order holds; None where it says nothing of that."""
    said = _without_stop(sentence)
    found = compiled(_OF_A_RUN).search(said)
    if found is None:
        if compiled(_OF_A_CONVERSATION).search(said):
            return "session"
        return "run" if compiled(_OF_ANY_RUN).search(said) else None
    return "run" if "run" in found.groups() else "session"


def _without_stop(sentence: str) -> str:
    return " ".join(sentence.split()).removesuffix(".")


def _without_scope(body: str) -> str:
    """Counts say themselves what they are over; of an order it is left out."""
    if re.search(r"\b(?:at most|at least|exactly|more than|twice|times|sum|total|up to)\b", body, re.I):
        return body
    banned = re.search(r"\b(?:not|never|no|nothing|nobody|cannot)\b", body, re.I)

    def later(m: re.Match[str]) -> str:
        return " afterwards" if (m["c"] or compiled(r"\blater\b").search(m[0])) and not banned else ""

    return compiled(_OF_A_RUN).sub(later, body)


def _the_same(text: str) -> tuple[str, str]:
    """The sentence without what says that a thing is the same, and which; '' where none is, or two are."""
    found: list[tuple[str, str]] = []
    ways: list[tuple[str, str]] = [
        (rf",? (?:on|about|for|to|of|from) (?:that|this|the) same {_NOUN}{_END}", ""),
        (rf",? (?:on|about|for|to|of|from) that (?:very )?{_NOUN}{_END}", ""),
        (rf",? for (?:any one|one and the same|any single) {_NOUN}{_END}", ""),
        (rf"\bthat {_NOT_A_THING}(?P<f>[a-z]+)['\u2019]s (?=[a-z])", "the "),
    ]
    if whose := compiled(rf"\b(?:an?|the) {_NOT_A_THING}(?P<f>[a-z]+)['\u2019]s ").search(text):
        ways.append((r" of (?:theirs|his|hers)\b", ""))
    for pattern, said in ways:
        while (m := compiled(pattern).search(text)) and compiled(SAID_BEFORE).search(text[: m.start()]):
            found.append((m.groupdict().get("f") or (whose["f"] if whose else ""), m[0]))
            text = f"{text[: m.start()]}{said}{text[m.end() :]}"
            if m.re.groupindex.get("f") is None and whose:
                text = compiled(rf"\b(?:an?|the) {whose['f']}['\u2019]s ").sub("the ", text)
    if m := compiled(
        rf"^(?:once|after|if|when|as soon as) an? {_NOUN} {_IS} [^,]+,.* (?P<it>(?:on|for|to|about|from) it)"
        rf"\b"
    ).match(text):
        found.append((m["f"], m["it"]))
        text = f"{text[: m.start('it')].rstrip()}{text[m.end('it') :]}"
    if m := compiled(
        rf"^.*\b(?:an?|the|any|every|each) (?P<f>{_NOT_A_THING}[a-z]+)\b.*? (?P<it>that) "
        rf"(?=(?P=f) (?:{MODAL}|is|was|has)\b)"
    ).match(text):
        found.append((m["f"], m["it"]))
        text = f"{text[: m.start('it')]}the{text[m.end('it') :]}"
    things = {thing.lower() for thing, _ in found}
    return text, things.pop() if len(things) == 1 else ""


def _lasts(text: str, forms: tuple[Forms, ...]) -> tuple[str, str]:
    """`their card has been checked`, `a failed card check`, of `check a reader's card` alone; and whose."""
    same = ""
    for one in forms:
        words = [word for word in one.phrase.split()[1:] if word not in ARTICLES]
        if len(words) < 2 or one.prepositional or one.particle:
            continue
        last, whole = words[-1], " ".join(words)
        others = [other for other in forms if other is not one and re.search(rf"\b{last}s?\b", other.phrase)]
        if any(other.verb == one.verb for other in others):
            continue
        owner = re.match(r"[a-z]+(?=['\u2019]s )", whole)
        if owner and compiled(rf"\b(?:their|his|her) {last} (?:{_IS}|{MODAL})\b").search(text):
            same = owner[0]
        text = compiled(
            rf"\b(?:the|their|his|her|its|a|an) (?:{last})(?= (?:{_IS}|{MODAL})(?: (?:not|never|only|already"
            rf"|successfully|be|been|have))* {one.done}\b)"
        ).sub(f"the {whole}", text)
        deeds = "|".join(deeds_of(one.verb))
        if not others:
            text = compiled(rf"(?<!['\u2019]s )\b(?P<say>{last}) (?P<d>{deeds})\b").sub(
                rf"{whole} \g<d>", text
            )
    return text, same


def _by_verb(text: str, forms: tuple[Forms, ...]) -> str:
    """What is done to nobody, nothing or anything is the one action that has the verb."""
    for one in forms:
        if one.particle or sum(other.verb == one.verb for other in forms) > 1 or not one.rest:
            continue
        done, never = one.done, f"{one.phrase} must never happen"
        what = rf"(?:(?:{one.rest})|(?:an?|any|the) (?:{one.rest})|anything)"
        if one.prepositional:
            done = rf"{one.done} {one.rest}"
        nothing = rf"nothing(?: more| further| else)? (?:{MODAL}(?: ever)?|is to) be {done}\b{_SMALL_OBJECT}"
        for pattern, said in (
            (rf"\b{nothing}{_NO_COUNT}", never),
            (rf"\banything {_IS} {done}\b{_SMALL_OBJECT}", f"{one.phrase} happens"),
            (
                rf"\b(?:nobody|no one|no [a-z]+) {MODAL}(?: ever)? be {one.done} {what}(?![\w-]){_NO_COUNT}",
                never,
            ),
        ):
            text = compiled(pattern).sub(said, text)
        if m := compiled(
            rf"\b(?P<that>that|the) {_NOT_A_THING}(?P<f>[a-z]+) (?:{MODAL}) (?:not|never)(?: ever)? be "
            rf"{one.done} {what}(?!"
            rf"[\w-])"
        ).search(text):
            text = f"{text[: m.start()]}{never}{text[m.end() :]}"
            text += f" with the same {m['f']}" if m["that"].lower() == "that" else ""
            text = compiled(rf"(?<=fails) for an? {m['f']}\b").sub("", text)
    return text


def _until_again(text: str, forms: tuple[Forms, ...]) -> str | None:
    """`An item that was returned must be inspected before it can be lent again`, all of one item."""
    for rest in {one.rest for one in forms if one.rest and not one.prepositional and not one.particle}:
        alike = [one for one in forms if one.rest == rest]
        done = "|".join(one.done for one in alike)
        found = compiled(
            rf"^(?:an?|any|every|each) (?P<it>{rest}) (?:that|which) (?:was|has been|is) (?P<a>{done}),? must"
            rf" be "
            rf"(?:first )?(?P<b>{done}) before (?:it|the {rest}) (?:can be|may be|is|must be) (?P<c>{done})"
            r"(?: again)?$"
        ).match(text)
        if found and len({found[slot].lower() for slot in "abc"}) == 3:
            a, b, c = (_which(found[slot], alike) for slot in "abc")
            return f"{c} must never happen after {a} until {b} with the same {found['it']}"
    return None


def _which(done: str, several: list[Forms]) -> str:
    return next(one.phrase for one in several if re.fullmatch(one.done, done, re.IGNORECASE))

"""What stands behind the word of an action, as `with FIELD VALUE`: `costing over 1500`, `dock 9`."""

from __future__ import annotations

import re

from synth.policies.action_forms import singular
from synth.policies.clausal.events import actions_of
from synth.policies.kinds.times import DAY
from synth.policies.marks import places_of
from synth.policies.names import CHANNELS, MEANS, Names
from synth.policies.patterns import compiled
from synth.policies.sizes import AN, TIMES, Size, is_measure, size_at
from synth.policies.verbs import gerund_of, past_of

_MEASURED: tuple[tuple[str, str], ...] = (
    (r"(?:costing|priced(?: at)?|(?:that|which) costs?)", "cost"),
    (r"(?:weighing|(?:that|which) weighs?)", "weight"),
    (r"(?:lasting|(?:that|which) lasts?)(?: for)?", "duration"),
    (r"(?:worth|of|totall?ing|valued at|amounting to|for|(?:that|which|who) (?:is|are)(?: worth)?"
     r"|(?:that|which) exceeds?)", ""),
    (r"(?:with|having|holding|containing|carrying|using|including|that (?:has|have)|which (?:has"
     r"|have))", "with"),
)  # fmt: skip
VALUE = r"(?:\"[^\"]+\"|\d+\b(?!:|\.\d)|(?!(?:The|An|If|When|It|You)\b)[A-Z]\w*(?:-\w+)*)"
_KIND = (
    "priority|severity|kind|type|status|category|level|channel|method|currency|environment|stage|tier|mode"
    "|class"
    "|format|language|quality|speed|size|colou?r|cabin"
)
CODES = {
    "eur": "EUR", "usd": "USD", "gbp": "GBP", "chf": "CHF", "jpy": "JPY", "euro": "EUR", "euros": "EUR",
    "us dollars": "USD", "swiss francs": "CHF", "yen": "JPY",
}  # fmt: skip
WORD = r"[a-z][a-z-]*"


def in_order(text: str, names: Names) -> str:
    for step in (_sized_nouns, _measured, _named, _valued, _by_means, _stated):
        text = step(text, names)
    return re.sub(" +", " ", text).strip()


def is_action(word: str, names: Names) -> bool:
    return bool(places_of(word, names))


def _measured(text: str, names: Names) -> str:
    """`flights costing more than 1500`, `loadings of more than 33 pallets`."""
    at = 0
    while m := compiled(r"(?<=[a-z\"]) (?=[a-z])").search(text, at):
        at = m.end()
        found = _measured_at(text, m.start(), names)
        if found is not None:
            field, size = found
            said = f" with {field} {'of ' if size.how.startswith('at ') else ''}{size.words}"
            once = compiled(AT_ONCE).match(text, size.end)
            text = f"{text[: m.start()]}{said}{text[once.end() if once else size.end :]}"
            at = m.start() + len(said)
    return text


def _measured_at(text: str, at: int, names: Names) -> tuple[str, Size] | None:
    before = re.search(r"[\w'-]+$", text[:at])
    if before is None or not is_action(before[0], names) or re.search(r"\bwith [\w-]+$", text[:at]):
        return None
    counted = compiled(
        r"(?:at most|no more than|not more than|more than|up to|exactly|only) \d+ (?:[a-z]+ )?$"
    ).search(text[: before.start()])
    for pattern, field in _MEASURED:
        if m := compiled(rf" {pattern} ").match(text, at):
            if m[0].strip().endswith(("exceed", "exceeds")):
                number = compiled(AN).match(text, m.end())
                size = number and size_at(f"over {text[m.end() :]}", 0)
                return ("amount", Size("over", size.numbers, "", m.end() + size.end - 5)) if size else None
            size = size_at(text, m.end())
            if size is None or (is_together(text, size.end) and not counted):
                return None
            if field == "with":
                return (size.unit, size) if size.unit and not compiled(TIMES).fullmatch(size.unit) else None
            if size.unit:
                return size.unit, size
            return field or "amount", size
    size = size_at(text, at + 1)
    if size is not None and counted and compiled(r" per ").match(text, size.end):
        return size.unit or "amount", size
    if size is not None and size.how == "between" and not size.unit and not is_together(text, size.end):
        return "amount", size
    if size is None or not size.unit or not is_measure(size.unit) or is_together(text, size.end):
        return None
    if compiled(TIMES).fullmatch(size.unit) and not compiled(
        r"(?:no |not )?(?:longer|shorter|over|under) "
    ).match(text, at + 1):
        return None
    if re.match(r" (?:before|after|ago|of|from|later|earlier)\b", text[size.end :]):
        return None
    return size.unit, size


def is_together(text: str, at: int) -> bool:
    """Is it what several come to?"""
    return (
        compiled(
            r" (?:per (?!call|request|go)|in (?:total|all|sum|the whole)|altogether|together|combined"
            r"|taken together"
            r"|an? (?:hour|day|week|month)|each (?:hour|day|week|month)|within|over the"
            rf"|{DAY})"
        ).match(text, at)
        is not None
    )


_PREPOSITION = r"(?:in|to|at|on|of|for|from|with|under|via|through|into|by|using|against|as)"


_SMALL_VALUE = (
    r"(?!(?:must|may|can|could|should|shall|is|are|was|were|has|have|had|needs?|requires?|of|over|above"
    r"|under|below|at"
    r"|more|less|not|no|and|or|only|before|after|until|unless|if|when|with|without|for|to|from|in|on|by"
    r"|other|than"
    r"|between|within|the|an?|exactly|equal|set|except|but|either|neither|that|which|once|first|never"
    r"|cannot|will)\b)"
    r"[a-z][\w-]*"
)


def _named(text: str, names: Names) -> str:
    """`assign dock 9`, `hand over to the team billing`: a thing and what it is called."""
    text = compiled(
        rf"\b(?P<f>version|release|build|edition|revision|page|chapter) (?P<v>(?-i:{VALUE})) of (?P<d>the"
        rf"|an?) (?P<o>[a-z]+)\b"
    ).sub(
        lambda m: f"{m['d']} {m['o']} with {m['f'].lower()} {m['v']}" if is_action(m["o"], names) else m[0],
        text,
    )

    def said(m: re.Match[str]) -> str:
        lead, noun = m["p"] or "", m["f"]
        if not lead and " " in noun:
            first, noun = noun.split(" ")
            behind = None if m["d"] else _thing("", noun, m["v"], names)
            return m[0] if behind is None else f"{m[0][:1].strip(first[:1])}{first}{behind}"
        thing = _thing(m["d"] or "", noun, m["v"], names, bool(lead))
        return m[0] if thing is None else thing

    for nouns, value in (
        (WORD, f"(?-i:{VALUE})"),
        (rf"(?:{_KIND}|team|queue|role|zone|region|country|site|lab)", _SMALL_VALUE),
    ):
        text = compiled(
            rf"(?P<p> {_PREPOSITION})?(?:^| )(?P<d>(?:the|any|every|each) )?"
            rf"(?P<f>(?:(?!(?:{STOPS})\b){WORD} )??(?!(?:{STOPS})\b){nouns}) "
            rf"(?P<v>{value}(?:(?:, or |, | or )(?:the )?(?:(?P=f) )?{value})*)"
            r"(?=$|[,;.]| (?!(?:or more|or less|or above|or below|and up|times?|eur|usd|euros?"
            r"|dollars?)\b)(?:[a-z]))"
        ).sub(said, text)
    return text


def _is_only_done(word: str, names: Names) -> bool:
    """`Transfer 500` says what is done, and names no thing that is called 500."""
    words = [phrase.casefold().split() for phrase in names.actions]
    return any(w[0] == word.lower() for w in words) and not any(word.lower() in w[1:] for w in words)


def _thing(article: str, noun: str, values: str, names: Names, by_preposition: bool = False) -> str | None:
    """` dock with dock 9`; without the thing where a preposition says how it goes with the action."""
    if not article and not by_preposition and _is_only_done(noun.split()[-1], names):
        return None
    if noun.split()[-1] in _NOT_NAMED or (not by_preposition and not is_action(noun.split()[-1], names)):
        return None
    values = compiled(rf"(?P<or>,? or |, )(?:the )?{noun} ").sub(r"\g<or>", values)
    thing = "" if by_preposition else f" {article}{noun}"
    return f"{thing} with {singular(noun.replace(' ', '_').lower())} {values}"


STOPS = (
    f"{_PREPOSITION[3:-1]}|the|an?|any|every|each|all|or|and|nor|not|never|only|over|above|under|below"
    f"|than|least|most"
    "|is|are|was|were|be|must|may|can|should|exceed|exceeds|exactly|between|before|after|until|unless|if"
    "|when|other"
    "|more|less|fewer|within|no|up|last|next|past|first|equal|equals|set|that|which|who|whose|either"
    "|except|but"
    "|has|have|had|does|do|per|maximum|minimum|outside|neither|one|its|their"
)
_NOT_NAMED = frozenset(
    re.findall(
        r"\w+",
        "worth costing weighing maximum total most least than limit amount sum price cost number count time "
        "times run "
        "minutes hours days monday tuesday wednesday thursday friday saturday sunday exceeding more less "
        "same",
    )
)


def _valued(text: str, names: Names) -> str:
    """`in csv format`, `in first class`, `high priority tickets`."""
    small = (
        r"(?!(?:the|an?|any|this|that|which|what|same|other|each|every|its|their|no|one|all|such|of"
        r"|given|certain)\b)"
    )
    text = compiled(
        rf" {_PREPOSITION} (?:the |an? )?(?P<v>\"[^\"]+\"|{small}[a-z][\w-]*) (?P<f>{_KIND})\b"
    ).sub(r" with \g<f> \g<v>", text)
    text = compiled(rf" (?:in|paid in|made in) (?P<c>{'|'.join(CODES)})\b").sub(
        lambda m: f" with currency {CODES[m['c'].lower()]}", text
    )

    def of_it(m: re.Match[str]) -> str:
        if not is_action(m["n"], names) or is_action(m["v"], names):
            return m[0]
        return f"{m['d'] or ''}{m['n']} with {m['f']} {m['v']}"

    return compiled(
        rf"(?P<d>\b(?:an?|any|every|each|no|the|all) )?\b(?P<v>{small}[a-z][\w]*)[ -](?P<f>priority"
        rf"|severity|tier|class"
        rf"|status|category) (?P<n>[a-z]+)\b"
    ).sub(of_it, text)


_NO_NOUNS = "unless|is|was|has|needs|requires|always|happens|as|this|its|exceeds"


def _by_means(text: str, names: Names) -> str:
    """`paid by cash`, `sent via email`."""

    def said(m: re.Match[str]) -> str:
        before = compiled(r"(?P<n>[a-z-]+) $").search(text[: m.start()])
        if not is_action(m["w"], names) and not (
            compiled(r"paid|made|settled|issued|sent|given|collected|charged").fullmatch(m["w"])
            and before
            and is_action(before["n"], names)
        ):
            return m[0]
        value = m["v"] if " " not in m["v"] else f'"{m["v"]}"'
        field = "method" if compiled(MEANS).fullmatch(m["v"]) else "channel"
        done = f"{m['w']} " if is_action(m["w"], names) else ""
        return f"{done}with {field} {value}"

    return compiled(
        rf"\b(?P<w>[a-z-]+) (?:by|in|with|via|through|over) (?P<v>{MEANS}|{CHANNELS})\b"
        rf"(?! (?!(?:{_NO_NOUNS})\b)[a-z]+(?:s|ment)\b)"
    ).sub(said, text)


STATED = (
    "reason|comment|justification|explanation|description|reference|subject|note|purpose|category|remark"
    "|message"
    "|title|summary"
)


def _stated(text: str, names: Names) -> str:
    """`without a reason`, of what is no action."""

    def said(m: re.Match[str]) -> str:
        return m[0] if is_action(m["f"].split("_")[-1], names) else f" without giving a {m['f']}"

    text = compiled(
        rf" (?:if|when|where|unless) (?:(?P<no>no )|the |an? )(?P<f>{STATED}) (?:is|was|has been) "
        r"(?P<there>given|stated|specified|provided|missing|empty|not given|not stated)(?=$|,)"
    ).sub(_if_stated, text)
    return compiled(
        rf" (?:without|with no|lacking|missing) (?:an?|any|the|some|its|their)? ?(?:(?:valid|good|written"
        rf"|stated|given"
        rf"|documented|proper) )?(?P<f>{STATED})(?: (?:given|stated|being given|being stated"
        rf"|attached))?(?=$|,| (?:is|are"
        rf"|must|may|can|should|has|have|needs?|requires?)\b)"
    ).sub(said, text)


def _if_stated(m: re.Match[str]) -> str:
    there = m["there"].lower() in ("given", "stated", "specified", "provided")
    missing = (bool(m["no"]) == there) != m[0].lower().startswith(" unless")
    return f" without a {m['f']}" if missing else m[0]


# ---------------------------------------------------------------- verbs with their sizes


def _sized_nouns(text: str, names: Names) -> str:
    """`dispensing more than 100 mg of the drug`, `loading 30 or more pallets`, `book for 9 or more`."""
    for action in actions_of(tuple(names.actions)):
        if not action.nouns or action.particle:
            continue
        forms = rf"(?P<verb>{action.verb}|{gerund_of(action.verb)}|{past_of(action.verb)})"
        for m in compiled(rf"\b{forms} (?P<for>for )?(?=\S)").finditer(text):
            size = size_at(text, m.end())
            if size is None or not size.unit or is_together(text, size.end):
                continue
            of = compiled(rf" of (?:the |an? |any )?(?:{action.objects})(?![\w-])").match(text, size.end)
            own = compiled(action.objects).fullmatch(size.unit) is not None
            if not own and size.unit in _things_done_to(action.verb, names):
                continue
            end = of.end() if of else size.end
            once = compiled(AT_ONCE).match(text, end)
            banned = compiled(r"\b(?:never|not|no)\b[^,]*$").search(text[: m.start()])
            if own and not action.nouns[-1].endswith("s"):
                continue
            many = size.least > MANY and compiled(_DEPENDS).match(text, end) is not None
            weighed = is_measure(size.unit) and not compiled(TIMES).fullmatch(size.unit)
            if own and not (once or weighed or many) and (m["verb"].lower() == action.verb or banned):
                continue
            led = compiled(rf"^(?:never|do not|at most)?\W*{action.verb}\b").match(text)
            if own and led and not (once or many):
                continue
            if banned and not (once or many):
                continue
            rest = text[once.end() if once else end :]
            of_size = "of " if size.how.startswith("at ") else ""
            done = compiled(past_of(action.verb)).fullmatch(m["verb"]) is not None
            thing = "" if done else f" {_the(action.phrase)}"
            said = f"{m['verb']}{thing} with {size.unit} {of_size}{size.words}"
            return f"{text[: m.start()]}{said}{rest}"
    return text


MANY = 50
"""Things in a number that no count of calls reaches."""
_DEPENDS = (
    r",? (?:only (?:after|if|once|when|with)|unless|needs?|requires?|without|until|calls? for|presupposes?"
    r"|(?:has|have) to be|must be) "
)
"""What such a call depends on, so that it is said of each."""
AT_ONCE = (
    r" (?:at a time|at once|at one time|in one go|(?:in|per|with) (?:an?|one|a single|the same|each|any "
    r"one|any single) "
    r"(?:go|call|step|request|[a-z]+ing|dispensing|time)|per (?:call|request|go|[a-z]+ing)|each "
    r"time)(?![\w-])"
)


def _things_done_to(verb: str, names: Names) -> set[str]:
    """What the actions with a verb are done to: `rows` and `volume`, of what deletes."""
    return {one.nouns[-1] for one in actions_of(tuple(names.actions)) if one.nouns and one.verb == verb}


def _the(phrase: str) -> str:
    return " ".join(phrase.split()[1:])

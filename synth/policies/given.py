"""What a call is given, said in whatever words, as `with FIELD VALUE` behind the word of its action.

`Flights costing more than 1500`, `dock 9`, `in csv format only`, `a loading may not have over 33 pallets`.
Each function gives sentences that mean the same and say it so; `conditioned` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from synth.policies.beside import in_order, is_action
from synth.policies.bounded import DET, ONE_VALUE, actions_named, bounded, upper
from synth.policies.clausal.spelling import spelled
from synth.policies.everyday import MODAL
from synth.policies.fewer_words import said_scope
from synth.policies.marks import places_of
from synth.policies.names import Names
from synth.policies.patterns import compiled
from synth.policies.sizes import size_at
from synth.policies.verbs import past_of


def said_with_fields(body: str, names: Names) -> Iterator[str]:
    """Sentences with the same meaning that say by its name what a call is given, the plainest first."""
    if compiled(_ADDED_UP).search(body) and said_scope(body) is not None:
        return
    text = compiled(r"\bzero\b").sub("0", spelled(body))
    seen = {body}
    for way in (bounded, _only, _plain, _of_the_second):
        for said in (text, *_adjuncts(text, names)):
            for one in way(said, names):
                for whole in (*_adjuncts(one, names), one):
                    if whole not in seen and not _takes_a_name_apart(body, whole, names):
                        seen.add(whole)
                        yield whole
    return


_ADDED_UP = r"\b(?:come|add|amount)s? (?:up )?to\b"
"""Of a whole run it is a sum: `In one run, the euros paid may not come to more than 25`."""


def _takes_a_name_apart(body: str, said: str, names: Names) -> bool:
    """`On the sms channel, load truck ...` does not load with `sms_channel truck`."""
    named = [phrase.casefold() for phrase in names.actions if " " in phrase]
    return any(
        phrase in body.casefold()
        and phrase not in said.casefold()
        and compiled(rf" with \w+ {re.escape(phrase.split()[-1])}\b").search(said)
        for phrase in named
    )


def _plain(text: str, names: Names) -> Iterator[str]:
    yield text


def _adjuncts(text: str, names: Names) -> Iterator[str]:
    """The sentence with all of what stands behind its words by name, if there is something."""
    said = in_order(text, names)
    if said != text:
        yield said


# ---------------------------------------------------------------- only

_ELSE = (
    r"(?:,? (?:and|but) (?:nothing|nowhere|no(?:body|thing| one)?|in no|to no|for no|with no|on no)(?: "
    r"other(?: [a-z]+)?| else)?)"
)


def _only(text: str, names: Names) -> Iterator[str]:
    """`Record consent on version 3 only`, `Hand over only to the team billing or the team technical`."""
    bare = compiled(rf"{_ELSE}$").sub(" only", text)
    if not compiled(r"\bonly\b").search(bare) or compiled(
        r"\bonly (?:after|if|when|where|once|before|between|until|unless|while|from|within)\b"
    ).search(bare):
        return
    if len(compiled(r"\bonly\b").findall(bare)) > 1:
        return
    plain = in_order(" ".join(compiled(r",? ?\bonly\b").sub("", bare).split()), names)
    m = compiled(
        rf"(?P<head>.+?) with (?P<f>[a-z]\w*) (?:of )?(?P<v>{ONE_VALUE}(?:(?:, or |, | or ){ONE_VALUE})*)"
    ).fullmatch(plain)
    if m is None or " with " in m["head"]:
        yield from _only_sized(plain, bool(re.match("only ", bare, re.IGNORECASE)), names)
        return
    head = compiled(
        rf"\b(?:(?:{MODAL})|is|are|go|goes)(?: be| go| happen)?(?: made| done| posted| sent)?(?= |$)"
    ).sub("", m["head"])
    if compiled(r"\b(?:not|never|no|without)\b").search(head):
        return
    found = actions_named(_without_agent(head), names)
    if len(found) == 1:
        yield f"{upper(found[0])} with {m['f']} other than {m['v']} must never happen"


def _only_sized(plain: str, leads: bool, names: Names) -> Iterator[str]:
    """`Only book flights under 1500`, `Refunds are allowed only up to 500`: forbids what is beyond.

    `leads`: does `only` come first, and so belong to the thing of that size, not to hours?
    """
    moved = compiled(
        r"(?P<o>[a-z][a-z ]*?) (?P<s>(?:with|over|above|under|below|up to|at most|between|of) [^,]*?) "
        r"(?P<may>may|can|are|is)"
        r" (?P<be>be )?(?P<d>[a-z]+)(?P<rest> (?:on|at|before|after|between) .+)?"
    ).fullmatch(plain)
    rest = ""
    if moved and not leads:
        return
    if moved and size_in(moved["s"]):
        plain, rest = f"{moved['o']} {moved['d']} {moved['s']}", moved["rest"] or ""
    for space in re.finditer(" ", plain):
        size = size_at(plain, space.end())
        if size is None or size.end != len(plain):
            continue
        head = plain[: space.start()]
        field = compiled(r" with (?P<f>[a-z_]+)(?: of)?$").search(head)
        name = field["f"] if field else size.unit or "amount"
        head = (
            head[: field.start()] if field else compiled(r" (?:for|of|in|with)(?: amounts?)?$").sub("", head)
        )
        head = compiled(rf"\b(?:{MODAL}|is|are)(?: be| made| allowed| permitted| issued)*(?= |$)").sub(
            lambda m: " issued" if "issued" in m[0] else "", head
        )
        found = actions_named(
            compiled(r"^(?:you|we|agents|the agent) ").sub("", " ".join(head.split())), names
        )
        if len(found) == 1:
            of = "of " if size.contrary.startswith("at ") else ""
            yield f"{upper(found[0])} with {name} {of}{size.contrary} must never happen{rest}"
        return


def _without_agent(text: str) -> str:
    return compiled(r"^(?:you|we|agents|the agent) ").sub("", " ".join(text.split()))


def size_in(text: str) -> bool:
    """Is it a size, and nothing else?"""
    at = compiled(r"(?:with [a-z_]+ (?:of )?|of )?").match(text)
    size = size_at(text, at.end() if at else 0)
    return size is not None and size.end == len(text)


# ---------------------------------------------------------------- a thing, and two things that are done to it


_CONDITION = (
    r"(?P<c> (?:with|over|above|under|below|exceeding|of|in|for|worth|from|to|at|costing|without) [^,]+?)"
)


_NOT = re.compile(r"\b(?:not|never|no|nor|neither|without|unless)\b", re.IGNORECASE)


def _of_the_second(text: str, names: Names) -> Iterator[str]:
    """`Claims over 5000 have to be flagged before they are approved` asks it of approvals over 5000."""
    plain = in_order(text, names)
    m = compiled(
        rf"(?P<t>{DET}(?P<o>[a-z]+)){_CONDITION} (?P<must>{MODAL}) (?P<do>.+?) "
        r"before (?:it|they) (?P<be>is|are|can be|may be|gets?|get) (?P<d>[a-z]+(?: [a-z]+)?)"
    ).fullmatch(plain)
    if m and is_action(m["o"], names) and not _NOT.search(m["do"]):
        be = "are" if m["o"].endswith("s") else "is"
        yield f"{m['t']} {m['must']} {m['do']} before {_a(m['o'])}{m['c']} {be} {m['d']}"
    m = compiled(
        rf"(?P<head>.*?)\b(?P<det>(?:an?|the|every|each|any|all) )?(?P<o>[a-z]+){_CONDITION} before "
        rf"(?P<b>[^,]*?)\b(?:it|them)\b(?P<rest>.*)"
    ).fullmatch(plain)
    if m and is_action(m["o"], names) and not _NOT.search(m["head"]):
        det = "a " if (m["det"] or "").strip().lower() in ("every", "each", "any", "an") else m["det"] or ""
        yield f"{m['head']}{det}{m['o']} before {m['b']}{_a(m['o'])}{m['c']}{m['rest']}"
    m = compiled(
        rf"{DET}(?P<o>[a-z]+(?: [a-z]+)?){_CONDITION} (?:{MODAL}) (?:have been |be )(?P<d>[a-z]+(?: "
        rf"(?!first|before)[a-z]+)?) "
        r"(?:first|before|beforehand|before that|in advance)"
    ).fullmatch(plain)
    if m:
        yield from _done_first(m["o"], m["c"], m["d"], names)
    yield from _if_so(plain, names)


def _a(noun: str) -> str:
    return noun if noun.endswith("s") else f"the {noun}"


def _done_first(thing: str, condition: str, done: str, names: Names) -> Iterator[str]:
    """`A refund of 500 or more must be approved first`: before it is issued."""
    given = actions_named(thing, names)
    first = _done_to(thing, done, given, names)
    if len(given) == 1 and len(first) == 1:
        yield f"{upper(first[0])} must happen before {given[0]}{condition}"


def _done_to(thing: str, done: str, given: list[str], names: Names) -> list[str]:
    """The other actions that do this to a thing, or to whatever thing."""
    alone = [p for p in names.actions if " " not in p and compiled(past_of(p.casefold())).fullmatch(done)]
    return [phrase for phrase in actions_named(f"{thing} {done}", names) or alone if phrase not in given]


def _if_so(text: str, names: Names) -> Iterator[str]:
    """`When a refund exceeds 500, notify the guest afterwards`, `If a truck weighs more than 40 kg, ...`."""
    m = compiled(
        r"(?:if|when|whenever|once|after) (?:an?|the|any|every|each) (?P<o>[a-z]+(?: [a-z]+)?) "
        r"(?P<v>exceeds|is over|is above|weighs"
        r"|costs|is|lasts|amounts to|is worth|is for|has) (?P<rest>[^,]+),(?: then)? (?P<then>.+)"
    ).fullmatch(text)
    if m is None:
        return
    verb = m["v"].lower()
    over = verb in ("exceeds", "is over", "is above")
    size = size_at(f"over {m['rest']}" if over else m["rest"], 0)
    if size is None or size.end != len(m["rest"]) + (len("over ") if over else 0):
        return
    field = size.unit or {"costs": "cost", "weighs": "weight"}.get(verb, "amount")
    if verb == "weighs":
        found = [p.phrase for p in places_of("weigh", names) if p.word == 0] or actions_named(m["o"], names)
    else:
        found = actions_named(m["o"], names)
    if len(found) != 1 or (verb == "has" and not size.unit):
        return
    said = f"{found[0]} with {field} {'of ' if size.how.startswith('at ') else ''}{size.words}"
    if first := compiled(r"(?P<then>.+?),? (?:first|beforehand|before that|in advance)").fullmatch(m["then"]):
        it = compiled(rf"(?:it|this) (?:{MODAL}) be (?P<d>[a-z]+(?: [a-z]+)?)").fullmatch(first["then"])
        if it:
            done = _done_to(m["o"], it["d"], found, names)
            if len(done) == 1:
                yield f"{upper(done[0])} must happen before {said}"
            return
        yield f"Before {said}, {first['then']}"
    else:
        yield f"Whenever {said} happens, {m['then']}"

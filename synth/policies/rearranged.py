"""Sentences that say before the word of an action what its calls are given, or apart from it, in usual order.

`Moderator auto must not do removals`, `sms notifications`, `amounts over 50 are forbidden in refunds`, `a
post flagged with severity high`: each function gives sentences that mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from synth.policies.action_forms import PARTICLES, singular
from synth.policies.all_but import all_but
from synth.policies.asked import CODES, asked_at
from synth.policies.bounded import actions_named
from synth.policies.clausal.kinds_of_verbs import SOMEBODY
from synth.policies.clausal.words import BANNED
from synth.policies.conditions_aside import with_if
from synth.policies.everyday import MODAL
from synth.policies.marks import places_of
from synth.policies.names import CHANNELS, MEANS, Names
from synth.policies.patterns import compiled
from synth.policies.sizes import MEASURES, TIMES
from synth.policies.valued import valued
from synth.policies.verbs import past_of

_WORD = r"[a-z][\w-]*"
_BANNED = BANNED.replace("_", " ")
_DUTY = "must|should|shall|has to|have to|needs? to|ought to|will"
_STAYS = (
    "stay|stays|remain|remains|be kept|are kept|stick|happen|take place|be made|be done|go|run|are made"
    "|are done"
)
_NOT = compiled(r"\b(?:not|never|no|nor|neither|without|unless)\b|n['\u2019]t\b")


def rearranged(body: str, names: Names) -> Iterator[str]:
    """Sentences with the same meaning, each once."""
    seen = {body}
    for way in (
        all_but,
        _by_subject,
        _fronted,
        _if_it_has,
        _any_but,
        _of_one_id,
        _told_shortly,
        _before_its_noun,
        _to_so_many,
        with_if,
        valued,
    ):
        for said in way(body, names):
            whole = f"{said[:1].upper()}{said[1:]}"
            if whole not in seen:
                seen.add(whole)
                yield whole


def _by_subject(text: str, names: Names) -> Iterator[str]:
    """`Moderator auto must not do removals` bans those with moderator auto."""
    m = compiled(
        rf"(?:(?:the|an?|any) )?(?P<c>{_WORD} \S+) (?P<must>{MODAL}) (?:not|never)(?: ever)? "
        r"(?P<do>(?:do|make|perform|carry out|start|run|issue|give|get) )?(?P<rest>.+)"
    ).fullmatch(text)
    condition = f"{m['c'][:1].lower()}{m['c'][1:]}" if m is not None else ""
    if m is None or _is_named(condition.split()[0], names) or not _is_asked(condition):
        return
    begin = "No" if m["do"] else "Never"
    yield f"{begin} {m['rest']} with {condition}"
    if m["do"]:
        yield f"Never {m['do']}{m['rest']} with {condition}"


def _is_asked(condition: str) -> bool:
    """Does it say what a call is given, and no more?"""
    asked = asked_at(f" with {condition}", 0)
    return asked is not None and asked.end == len(f" with {condition}")


def _is_named(word: str, names: Names) -> bool:
    return bool(places_of(word, names))


def _fronted(text: str, names: Names) -> Iterator[str]:
    """`Amounts over 50 are forbidden in refunds` bans refunds with such an amount."""
    m = compiled(
        rf"(?:an? |the |any |all )?(?P<f>{_WORD}) (?P<v>[^,]+?) (?:is|are) (?:strictly |always )?"
        rf"(?:{_BANNED}) (?:in|for|on|with|when|as) (?P<rest>[^,]+?)"
        r"(?P<more>,? (?:unless|except|if|when) .+)?"
    ).fullmatch(text)
    if m is None or _is_named(m["f"], names):
        return
    condition = f"{singular(m['f'].lower())} {m['v']}"
    if _is_asked(condition):
        yield f"No {m['rest']} with {condition}{m['more'] or ''}"


def _told_shortly(text: str, names: Names) -> Iterator[str]:
    """`A post flagged with severity high` is one that was flagged so."""
    if compiled(r"\b(?:first|before|beforehand)\b").search(text):
        return
    for m in compiled(
        rf"\b(?P<n>{_WORD}) (?P<d>{_WORD}) (?=(?:with|by|in|for|at|under|via|to|over|as) )"
    ).finditer(text):
        of_thing = {place.phrase for place in places_of(m["n"], names) if place.word}
        done = {
            place.phrase
            for place in places_of(m["d"], names)
            if place.form == "ed" and compiled(past_of(place.phrase.split()[0].casefold())).fullmatch(m["d"])
        }
        if of_thing & done and not _NOT.search(text[m.end("n") : m.end("d")]):
            was = "were" if singular(m["n"]) != m["n"] else "was"
            yield f"{text[: m.end('n')]} that {was} {text[m.start('d') :]}"


_CHOICES = (
    "express|overnight|credit|debit|savings|squash|canary|incremental|differential|economy|silver|platinum"
    "|deluxe|instant"
)
"""Words before a thing that say which of several kinds it is."""
_SAID_BEFORE = rf"(?:{CODES}|{CHANNELS}|{MEANS}|voice|video|{_CHOICES})"


def _before_its_noun(text: str, names: Names) -> Iterator[str]:
    """`No sms notifications`, `US campaigns`: some argument has this value."""
    for m in compiled(rf"(?<![\w-])(?P<v>{_SAID_BEFORE}) (?P<n>[a-z]+)(?![\w-])").finditer(text):
        if _is_named(m["v"], names) or m["n"].lower() in PARTICLES or not _is_named(m["n"], names):
            continue
        if singular(m["n"].lower()) in SOMEBODY:
            continue
        value = m["v"].strip('"')
        yield f'{text[: m.start()]}{m["n"]} with an argument "{value}"{text[m.end() :]}'


def _to_so_many(text: str, names: Names) -> Iterator[str]:
    """`Scaling to 0 replicas` is one with replicas 0."""
    for m in compiled(
        rf"\b(?P<w>{_WORD}) to (?P<n>\d+) (?P<u>(?!(?:{MEASURES})|(?:{TIMES})|times\b)[a-z]+s?)(?=$|[ ,])"
    ).finditer(text):
        if _is_named(m["w"], names) and not _is_named(m["u"], names):
            yield f"{text[: m.end('w')]} with {m['u']} of {m['n']}{text[m.end() :]}"


_TO = r"(?:in|to|with|for|on|by|at|via)"


def _any_but(text: str, names: Names) -> Iterator[str]:
    """`Exports may be in any format except pdf` bans those in format pdf."""
    m = compiled(
        rf"(?P<a>[^,]+?) (?:may|can) (?:be |go |use |have )?(?:(?P<d>(?!{_TO} ){_WORD}) )?(?:{_TO} )?"
        rf"any (?P<f>{_WORD}) (?:except(?: for)?|but|other than|apart from) (?P<v>[^,]+)"
    ).fullmatch(text)
    if m is None or _NOT.search(m["a"]) or not _is_asked(f"{m['f']} {m['v']}"):
        return
    done = f"{m['a']} must never be {m['d']}" if m["d"] else f"No {m['a'][:1].lower()}{m['a'][1:]}"
    yield f"{done} with {m['f']} {m['v']}"


def _if_it_has(text: str, names: Names) -> Iterator[str]:
    """`If a refund has an amount over 500, an email must follow`: after such a refund."""
    m = compiled(
        rf"(?:if|when|whenever|once|after) (?P<a>{_WORD}(?: {_WORD}){{0,4}}?) (?:has|have) (?:an? |the )?"
        r"(?P<c>[^,]+),(?: then)? (?P<then>[^,]+)"
    ).fullmatch(text)
    if m is None or not _is_asked(m["c"]) or len(actions_named(m["a"], names)) != 1:
        return
    if compiled(r"\b(?:afterwards|later|follow|within|after that|next)\b").search(m["then"]):
        then = compiled(r"\b(?P<b>.+?) (?:must|has to|needs to|should) follow\b").sub(
            r"\g<b> must happen afterwards", m["then"]
        )
        yield f"After {actions_named(m['a'], names)[0]} with {m['c']}, {then}"


def _of_one_id(text: str, names: Names) -> Iterator[str]:
    """`Assign an adjuster to the claim_id before a reserve is set on it` is about the same claim_id."""
    the = compiled(r" (?:to|on|for|of|from|in) (?:the|an?|each|every) (?P<f>[a-z]+_[a-z_]+)\b").search(text)
    if the is None or " the same " in text.lower():
        return
    of = rf" (?:to|on|for|of|from|in) (?:it|that {the['f']}|this {the['f']})(?![\w-])"
    bare = f"{text[: the.start()]}{text[the.end() :]}"
    said = compiled(of).sub("", bare)
    if len(compiled(of).findall(bare)) == 1 and the["f"] not in said:
        yield f"{said} with the same {the['f']}"


def required(text: str, names: Names) -> Iterator[tuple[str, str]]:
    """(what is done, its condition) of `Snapshots stay in region north`, `campaigns launch with a budget`."""
    m = compiled(
        rf"(?P<a>[^,]+?)(?: (?:{_DUTY}))?(?: always)? (?P<do>stay|stays|remain|remains|be kept|are kept|stick"
        r"|happen|take place|be made|be done|[a-z]+)(?: only)? "
        r"(?P<c>(?:in|within|with|on|at|to|for|under) .+)"
    ).fullmatch(text)
    if m is None or _NOT.search(m["a"]) or compiled(r"\bonly\b").search(m["a"]):
        return
    condition = re.sub("^within ", "in ", m["c"])
    if compiled(_STAYS).fullmatch(m["do"]):
        yield f"No {compiled(' and ').sub(' or ', m['a'])}", condition
    thing = compiled(r"(?P<n>[a-z-]+)$").search(m["a"])
    objects = {place.phrase for place in places_of(thing["n"], names) if place.word} if thing else set()
    verbs = {place.phrase for place in places_of(m["do"], names) if not place.word and place.form != "ed"}
    if objects & verbs:
        yield f"Never {m['do']} {m['a']}", condition
    if done := compiled(rf"(?P<a>.+?) (?:is|are) (?:always )?(?P<d>{_WORD})").fullmatch(
        f"{m['a']} {m['do']}"
    ):
        yield f"{done['a']} must never be {done['d']}", condition

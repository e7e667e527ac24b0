"""Verbs in their forms: what is said of an action that has one as its first word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_IRREGULAR = {
    "send": "sent", "make": "made", "run": "run", "pay": "paid", "give": "given", "take": "taken",
    "do": "done", "sell": "sold", "write": "written", "read": "read", "build": "built", "hold": "held",
    "put": "put", "set": "set", "cut": "cut", "shut": "shut", "find": "found", "get": "got",
    "buy": "bought", "leave": "left", "begin": "begun", "keep": "kept", "tell": "told", "draw": "drawn",
    "withdraw": "withdrawn", "bring": "brought", "choose": "chosen", "freeze": "frozen",
    "unfreeze": "unfrozen", "grant": "granted", "reset": "reset", "split": "split", "drive": "driven",
    "lend": "lent", "spend": "spent", "hand": "handed", "undo": "undone", "redo": "redone", "see": "seen",
    "quit": "quit", "let": "let", "overwrite": "overwritten", "rewrite": "rewritten", "rebuild": "rebuilt",
    "resend": "resent", "forget": "forgotten", "speak": "spoken", "break": "broken", "steal": "stolen",
    "shed": "shed", "cast": "cast", "broadcast": "broadcast", "forecast": "forecast", "hit": "hit",
    "spread": "spread", "bid": "bid", "upset": "upset", "offset": "offset", "preset": "preset",
    "feed": "fed", "lead": "led", "lose": "lost", "meet": "met", "shoot": "shot", "show": "shown",
    "grow": "grown", "throw": "thrown", "know": "known", "blow": "blown", "fly": "flown", "wear": "worn",
    "tear": "torn", "bear": "borne", "win": "won", "catch": "caught", "teach": "taught", "seek": "sought",
    "fight": "fought", "wind": "wound", "rewind": "rewound", "bind": "bound", "unbind": "unbound",
    "grind": "ground", "hang": "hung", "hear": "heard", "lay": "laid", "sink": "sunk", "ring": "rung",
    "strike": "struck", "stick": "stuck", "string": "strung", "ride": "ridden", "override": "overridden",
    "shake": "shaken", "wake": "woken", "weave": "woven", "sew": "sewn", "sow": "sown", "bend": "bent",
    "deal": "dealt", "dig": "dug", "eat": "eaten", "fall": "fallen", "feel": "felt", "forbid": "forbidden",
    "forgive": "forgiven", "sweep": "swept", "understand": "understood", "undertake": "undertaken",
    "oversee": "overseen", "foresee": "foreseen", "repay": "repaid", "prepay": "prepaid",
    "retake": "retaken", "remake": "remade", "resell": "resold", "rerun": "rerun", "reread": "reread",
    "withhold": "withheld", "uphold": "upheld", "input": "input", "bleed": "bled", "swear": "sworn",
    "sing": "sung", "swim": "swum", "drink": "drunk", "hide": "hidden", "bite": "bitten", "beat": "beaten",
}  # fmt: skip
_NOUNS = {
    "close": ("closure",), "refuse": ("refusal",), "pay": ("payment",), "notify": ("notification", "notes?"),
    "extend": ("extensions?",), "suspend": ("suspensions?",), "revoke": ("revocations?",),
    "submit": ("submissions?",), "admit": ("admissions?",), "convert": ("conversions?",),
    "revise": ("revisions?",), "exclude": ("exclusions?",), "destroy": ("destructions?",),
    "deliver": ("deliver(?:y|ies)",), "sell": ("sales?",), "prescribe": ("prescriptions?",),
    "waive": ("waivers?",), "override": ("overrides?",),
    "subscribe": ("subscriptions?",), "transmit": ("transmissions?",), "resolve": ("resolutions?",),
    "register": ("registrations?",), "administer": ("administrations?",), "analyse": ("analys[ie]s",),
    "reduce": ("reductions?",), "produce": ("productions?",), "issue": ("issuances?",),
    "expand": ("expansions?",), "withhold": ("withholding",), "choose": ("choices?",),
}  # fmt: skip


HOW = frozenset(
    re.findall(
        r"\w+",
        "auto bulk co counter cross double fast force hard hot mass peer post pre re soft spot stress triple",
    )
)
"""What may stand before a verb and never changes: `double check`, `force push`."""


def _of_last(form: Callable[[str], str]) -> Callable[[str], str]:
    """The form of a verb of two words, the last of which has it: `double checked`, `double-checked`."""

    def formed(verb: str) -> str:
        how, _, last = verb.rpartition(" ")
        return f"{how}[ -]{form(last)}" if how else form(last)

    return formed


@_of_last
def past_of(verb: str) -> str:
    """`paid`, as a regular expression."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}{_doubled(verb)}ed"


def _doubled(verb: str) -> str:
    """The last letter, which some verbs may double: `cancelled`, `stopped`."""
    return f"{verb[-1]}?" if re.search(r"[aeiou][b-df-hj-np-tvz]$", verb) else ""


@_of_last
def gerund_of(verb: str) -> str:
    """`paying`, as a regular expression."""
    stem = verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) else verb
    return f"{stem}{_doubled(stem) if stem == verb else ''}ing"


@_of_last
def third_of(verb: str) -> str:
    """`pays`, as a regular expression."""
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}e?s"


def deeds_of(verb: str) -> Iterator[str]:
    """Nouns of the verb: `approval`, `cancellation`, `deployment`."""
    yield from _NOUNS.get(verb, ())
    stem = verb.removesuffix("e")
    yield f"{verb}s?"
    yield f"{verb}ments?"
    yield f"{stem}als?"
    if verb.endswith("ate"):
        yield f"{stem}ions?"
    elif verb.endswith("ify"):
        yield f"{verb[:-1]}ications?"
    else:
        yield f"{stem}{_doubled(stem)}(?:at)?ions?"

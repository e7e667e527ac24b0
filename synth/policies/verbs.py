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
    "go": "gone", "come": "come", "become": "become", "overcome": "overcome", "sit": "sat",
    "stand": "stood", "think": "thought", "mean": "meant", "burst": "burst", "cost": "cost", "hurt": "hurt",
    "slide": "slid", "breed": "bred", "speed": "sped", "light": "lit", "have": "had", "outbid": "outbid",
    "underpay": "underpaid", "overpay": "overpaid", "mislead": "misled", "unwind": "unwound",
    "redraw": "redrawn", "resubmit": "resubmitted", "recut": "recut", "sing": "sung", "swim": "swum",
    "drink": "drunk", "hide": "hidden", "bite": "bitten", "beat": "beaten",
}  # fmt: skip
PARTICIPLES = frozenset(_IRREGULAR.values())
"""What is said of what was done, where that has no usual ending."""
_PRETERITES = {
    "give": "gave", "take": "took", "do": "did", "write": "wrote", "begin": "began", "draw": "drew",
    "withdraw": "withdrew", "choose": "chose", "freeze": "froze", "unfreeze": "unfroze", "drive": "drove",
    "undo": "undid", "redo": "redid", "see": "saw", "overwrite": "overwrote", "rewrite": "rewrote",
    "forget": "forgot", "speak": "spoke", "break": "broke", "steal": "stole", "show": "showed",
    "grow": "grew", "throw": "threw", "know": "knew", "blow": "blew", "fly": "flew", "wear": "wore",
    "tear": "tore", "bear": "bore", "ride": "rode", "override": "overrode", "shake": "shook",
    "wake": "woke", "weave": "wove", "eat": "ate", "fall": "fell", "forbid": "forbade",
    "forgive": "forgave", "undertake": "undertook", "oversee": "oversaw", "foresee": "foresaw",
    "retake": "retook", "run": "ran", "rerun": "reran", "swear": "swore", "sing": "sang", "swim": "swam",
    "drink": "drank", "hide": "hid", "bite": "bit", "beat": "beat", "sink": "sank", "ring": "rang",
    "go": "went", "come": "came", "become": "became", "overcome": "overcame", "sew": "sewed",
    "sow": "sowed",
}  # fmt: skip
"""What somebody did, where it is not what is done."""
_NOUNS = {
    "close": ("closures?",), "refuse": ("refusals?",), "pay": ("payments?",),
    "notify": ("notification", "notes?"), "extend": ("extensions?",), "suspend": ("suspensions?",),
    "revoke": ("revocations?",), "submit": ("submissions?",), "admit": ("admissions?",),
    "convert": ("conversions?",), "revise": ("revisions?",), "exclude": ("exclusions?",),
    "destroy": ("destructions?",), "deliver": ("deliver(?:y|ies)",), "sell": ("sales?",),
    "prescribe": ("prescriptions?",), "waive": ("waivers?",), "override": ("overrides?",),
    "subscribe": ("subscriptions?",), "transmit": ("transmissions?",), "resolve": ("resolutions?",),
    "register": ("registrations?",), "administer": ("administrations?",), "analyse": ("analys[ie]s",),
    "reduce": ("reductions?",), "produce": ("productions?",), "issue": ("issuances?",),
    "diagnose": ("diagnos[ie]s",), "explain": ("explanations?",), "publish": ("publications?",),
    "reconcile": ("reconciliations?",), "redeem": ("redemptions?",), "refer": ("referrals?",),
    "rent": ("rentals?",), "sign": ("signatures?",), "store": ("storage",), "compare": ("comparisons?",),
    "deny": ("denials?",), "try": ("trials?",), "describe": ("descriptions?",), "divide": ("divisions?",),
    "erase": ("erasures?",), "intervene": ("interventions?",), "provide": ("provisions?",),
    "quote": ("quotations?",), "resume": ("resumptions?",), "seize": ("seizures?",),
    "transcribe": ("transcriptions?",), "acknowledge": ("acknowledgments?",), "dispose": ("disposals?",),
    "respond": ("responses?",), "receive": ("receipts?", "receptions?"), "decide": ("decisions?",),
    "apply": ("applications?",), "permit": ("permissions?",), "perform": ("performances?",),
    "dispatch": ("dispatch(?:es)?",), "recover": ("recover(?:y|ies)",), "discover": ("discover(?:y|ies)",),
    "enter": ("entr(?:y|ies)",), "inquire": ("inquir(?:y|ies)",), "enquire": ("enquir(?:y|ies)",),
    "insure": ("insurances?",), "accept": ("acceptances?",), "clear": ("clearances?",),
    "attend": ("attendances?",), "disburse": ("disbursements?",), "acquire": ("acquisitions?",),
    "choose": ("choices?",), "complain": ("complaints?",), "deduct": ("deductions?",),
    "defer": ("deferrals?", "deferments?"), "depart": ("departures?",), "dissolve": ("dissolutions?",),
    "enrol": ("enrol?lments?",), "enroll": ("enrol?lments?",), "fail": ("failures?",),
    "forfeit": ("forfeitures?",), "lose": ("loss(?:es)?",), "merge": ("mergers?",),
    "reopen": ("reopenings?",), "retain": ("retentions?",), "reverse": ("reversals?",),
    "scale": ("scalings?",), "serve": ("services?",), "unsubscribe": ("unsubscriptions?",),
    "expand": ("expansions?",), "withhold": ("withholding",),
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


@_of_last
def preterite_of(verb: str) -> str:
    """`took`, as a regular expression."""
    return _PRETERITES.get(verb) or past_of(verb)


def _doubled(verb: str) -> str:
    """The last letter, which some verbs may double: `cancelled`, `stopped`."""
    return f"{verb[-1]}?" if re.search(r"[aeiou][b-df-hj-np-tvz]$", verb) else ""


@_of_last
def gerund_of(verb: str) -> str:
    """`paying`, as a regular expression."""
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    stem = verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) else verb
    return f"{stem}{_doubled(stem) if stem == verb else ''}ing"


@_of_last
def third_of(verb: str) -> str:
    """`pays`, as a regular expression."""
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return "has" if verb == "have" else f"{verb}e?s"


def deeds_of(verb: str) -> Iterator[str]:
    """Nouns of the verb: `approval`, `cancellation`, `deployment`."""
    yield from _NOUNS.get(verb, ())
    stem = verb.removesuffix("e")
    if verb.endswith("y") and not verb.endswith(("ay", "ey", "oy", "uy")):
        yield f"{verb[:-1]}ies"
    yield f"{verb}(?:es|s)?" if verb.endswith(("ch", "sh", "s", "x", "z")) else f"{verb}s?"
    yield f"{gerund_of(verb)}s?"
    yield f"{verb}ments?"
    yield f"{stem}als?"
    if verb.endswith("ate"):
        yield f"{stem}ions?"
    elif verb.endswith("ify"):
        yield f"{verb[:-1]}ications?"
    else:
        yield f"{stem}{_doubled(stem)}(?:at)?ions?"

"""`One`, in the place of what was named before it: `block the card before you order one`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from synth.policies.action_forms import noun_of, singular
from synth.policies.clausal.events import actions_of
from synth.policies.evidence import Each, It
from synth.policies.kinds.kind import PolicyKind
from synth.policies.patterns import compiled
from synth.policies.verbs import deeds_of

_OTHER = r"(?:an? |the )?(?:new|second|further|later|fresh|replacement|different) "
_NEW = r"(?:an? |the )?(?:new|fresh|replacement) "
"""One that is not the same: `block the card and issue a new one`."""
_ONE = compiled(
    r"(?<!at least )(?<!at most )(?<!than )(?<!only )(?<!exactly )(?<!no )(?<!any )(?<!the )(?<!that )"
    rf"(?<!this )\b(?P<which>{_OTHER}|another |each |every )?one"
    r"(?= (?:with|on|is|are|was|has|must|may|can|should|afterwards|later|instead|then|thereafter|issued"
    r"|made|sent"
    r"|of (?:kind|type|level|class|category|status|method|channel|suite|env)\b)|[,.;]|$)",
)
_AS_WELL = compiled(r"(?:one another|each other|one by one|one for one|either one|one at a time)")


def without_ones(sentence: str, phrases: tuple[str, ...]) -> Iterator[str]:
    """The sentence with what `one` stands for; none where it has no such word, or none is known."""
    m = _ONE.search(sentence)
    if m is None or _AS_WELL.search(sentence):
        return
    before = sentence[: m.start()].rstrip().rpartition(" ")[0]  # not the verb of it
    noun = _named_last(before, phrases)
    if noun:
        lead = "" if compiled(_OTHER).fullmatch(m["which"] or "") else m["which"]
        article = "an " if noun[0] in "aeiou" else "a "
        new = ("another ",) if compiled(_NEW).fullmatch(m["which"] or "") else ()
        for which in (*new, lead or article):
            yield f"{sentence[: m.start()]}{which}{noun}{sentence[m.end() :]}"


def of_a_new_one(sentence: str, rule: PolicyKind) -> PolicyKind:
    """The rule without the thing that must be the same, where a new one takes its place."""
    m = _ONE.search(sentence)
    if m is None or not compiled(_NEW).fullmatch(m["which"] or ""):
        return rule
    same = getattr(rule, "same", ())
    guessed = same and all(isinstance(path[0], Each | It) for path, _ in same)
    return replace(rule, same=()) if guessed else rule  # type: ignore[type-var]


def _named_last(text: str, phrases: tuple[str, ...]) -> str:
    """The last thing of an action, or deed, that a text names."""
    actions = actions_of(phrases)
    things = {noun_of(one.nouns[-1]) for one in actions if one.nouns}
    deeds = {deed for one in actions for deed in deeds_of(one.verb) if "ing" not in deed}
    named = "|".join(sorted(things | deeds, key=len, reverse=True))
    found = [*compiled(rf"\b(?:{named})(?![\w'-])").finditer(text)] if named else []
    return singular(found[-1][0].lower()) if found else ""

"""`Nobody opens an account`, `we don't pay on Sundays`: a ban, whoever is said not to do it."""

from __future__ import annotations

from collections.abc import Sequence

from synth.policies.clausal.events import Action
from synth.policies.patterns import compiled
from synth.policies.verbs import third_of

_NOBODY = r"(?:nobody|no one|no-one|no agent|no bot|no operator|none of us|none of you)(?: ever)?"
_ALLOWED = (
    r"(?:may|can|must|should|shall|could|will|is (?:allowed|permitted|authorised|authorized|supposed) to"
    r"|is to|ought to)(?: ever)?"
)
_SOMEBODY = r"(?:we|you|the agent|an agent|agents|the assistant|the bot|the system|operators)"
_NOT = (
    r"(?:(?:do|does|must|may|can|should|shall|will) not|(?:must|may|can|should|shall|will) never|never"
    r"|(?:am|is|are) not (?:allowed|permitted|supposed) to)(?: ever)?"
)
_END = r"(?![\w'-])"


def as_bans(text: str, actions: Sequence[Action]) -> str:
    """What nobody does, and what we do not do, as `never` and what is done."""
    verbs = sorted({one.verb for one in actions if one.verb}, key=len, reverse=True)
    if not verbs:
        return text
    if compiled(_NOBODY).search(text):
        for verb in verbs:
            text = compiled(rf"\b{_NOBODY} {third_of(verb)}{_END}").sub(f"never {verb}", text)
    deed = rf"(?=(?:{'|'.join(verbs)}){_END})"
    text = compiled(rf"\b{_NOBODY} {_ALLOWED} {deed}").sub("never ", text)
    return compiled(rf"(?P<lead>^|[,:] ){_SOMEBODY} {_NOT} {deed}").sub(r"\g<lead>never ", text)

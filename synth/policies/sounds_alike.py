"""Sentences that sound like a rule and mean another thing: they are refused, with what to write."""

from __future__ import annotations

from synth.errors import BadInput
from synth.policies.composed import quoted
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.response import Response
from synth.policies.names import TwoReadings
from synth.policies.patterns import compiled

_MAY = r"\b(?:may|can|could|might|(?:is|are) (?:allowed|permitted|free) to)\b"
_BINDS = compiled(
    r"\b(?:only|not|never|no|none|nobody|nothing|neither|nor|unless|until|till|without|cannot|\w+n['\u2019]t"
    r"|must|has to|have to|should|shall|needs?|ought|required|requires?)\b"
)
_EACH_PRECEDES = compiled(r"^(?P<said>(?:every|each|all)\b.* precedes?) (?!every|each|any|all)")
_BY_THE_TIME = compiled(r"\bby the time\b")
_NOT = compiled(r"\b(?:not|never|no|cannot|\w+n['\u2019]t)\b")
_AFTER_BOTH = compiled(r"\b(?P<said>(?:after|once|following|if|when|whenever) both)\b")
_ANOTHER = compiled(r"\b(?P<n>[a-z]+)\b.* (?P<said>(?:another|a different|some other) (?P=n))\b")
_FIRST_OF_THEM = compiled(r"\bthat (?:was|were|has been|have been) [a-z]+ (?:first|last)\b")
_LED = compiled(r"^(?P<said>(?:after|once|following|when|if) [^,]*), .* before ")


def not_another_meaning(sentence: str, rule: PolicyKind) -> None:
    """BadInput where a sentence does not mean the rule that it was read as."""
    _no_might_not(sentence)
    _not_allowed_first(sentence, rule)
    _not_allowed_often(sentence, rule)
    _not_each_precedes(sentence, rule)
    _not_yet(sentence, rule)
    _not_after_both(sentence, rule)
    _not_where_it_was_so(sentence, rule)
    _not_another_one(sentence, rule)
    _not_the_first_of_them(sentence, rule)


def _no_might_not(sentence: str) -> None:
    """`You might not be asked` is a guess."""
    if compiled(r"\bmight not\b").search(sentence):
        raise BadInput(
            "cannot read 'might not', which forbids nothing; write 'must not' where it is forbidden"
        )


def _not_allowed_first(sentence: str, rule: PolicyKind) -> None:
    """`A may happen before B` asks for no A."""
    may = compiled(_MAY).search(sentence)
    if not isinstance(rule, Precedence) or may is None or " before " not in f" {sentence.lower()}":
        return
    if not _BINDS.search(sentence):
        first, then = rule.pairs[0][1].phrase, rule.pairs[0][0].phrase
        raise BadInput(
            f"cannot read {may[0]!r} with 'before', which asks for nothing; what is asked for is said as "
            f"{quoted(f'{first} must happen before {then}')}"
        )


def _not_allowed_often(sentence: str, rule: PolicyKind) -> None:
    """`May happen at least twice` allows, and asks for nothing."""
    may = compiled(_MAY).search(sentence)
    if not isinstance(rule, Count) or not rule.least or may is None or _BINDS.search(sentence):
        return
    raise BadInput(
        f"cannot read {may[0]!r} with 'at least', which asks for nothing; write "
        f"{quoted(f'{rule.what[0].phrase} must happen at least {rule.least} times')} where it is asked for"
    )


def _not_each_precedes(sentence: str, rule: PolicyKind) -> None:
    """`Every A precedes a B` says of each A that a B comes, and not of each B."""
    if isinstance(rule, Precedence) and (found := _EACH_PRECEDES.search(sentence)):
        then, first = rule.pairs[0][0].phrase, rule.pairs[0][1].phrase
        raise TwoReadings(
            f"cannot read {found['said']!r}; write {quoted(f'{first} must be followed by {then}')} or "
            f"{quoted(f'{first} must happen before {then}')}"
        )


def _not_yet(sentence: str, rule: PolicyKind) -> None:
    """`By the time of B, A must not have happened` allows an A without any B."""
    if isinstance(rule, Precedence) and _BY_THE_TIME.search(sentence) and _NOT.search(sentence):
        what, other = rule.pairs[0][0].phrase, rule.pairs[0][1].phrase
        raise BadInput(
            "cannot read 'by the time' of what must not have happened; write "
            f"{quoted(f'{other} must never happen after {what}')}"
        )


def _not_after_both(sentence: str, rule: PolicyKind) -> None:
    """`After both A and B, C` asks for no C after A alone."""
    if isinstance(rule, Response) and (found := _AFTER_BOTH.search(sentence)):
        trigger, answer = (tools.phrase for tools in rule.pairs[0])
        raise BadInput(
            f"cannot read {found['said']!r}; what must come after each of them is said as "
            f"{quoted(f'{trigger} must be followed by {answer}')}, one rule for each"
        )


def _not_where_it_was_so(sentence: str, rule: PolicyKind) -> None:
    """`After an A over 500, B before C` asks for B where there was such an A, and no A before B."""
    led = _LED.search(sentence)
    if led is None or not isinstance(rule, Precedence) or len(rule.pairs) < 2:
        return
    if all(tools.where is None for tools in rule.tools):
        return
    then, first = rule.pairs[-1][0].phrase, rule.pairs[-1][1].phrase
    raise BadInput(
        f"cannot read {led['said']!r} of only some of the calls before what must come first; without it "
        f"this is {quoted(f'{first} must happen before {then}')}"
    )


def _not_another_one(sentence: str, rule: PolicyKind) -> None:
    """`Look up the order before cancelling another order` is about two orders."""
    if isinstance(rule, AbsenceAfter) and all(one.names == other.names for one, other in rule.pairs):
        return
    if isinstance(rule, Precedence | AbsenceAfter) and (found := _ANOTHER.search(sentence)):
        raise BadInput(
            f"cannot read {found['said']!r}, as rules compare calls about the same thing only; what is said "
            "of that is written with 'with the same FIELD'"
        )


def _not_the_first_of_them(sentence: str, rule: PolicyKind) -> None:
    """`Close the ticket that was opened first` is said of one of them."""
    if isinstance(rule, Response) and (found := _FIRST_OF_THEM.search(sentence)):
        raise BadInput(f"cannot read {found[0]!r}, which says which one of them is meant")

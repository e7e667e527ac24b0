"""Sentences that cannot be read, and how the language says what they mean.

What is suggested is a sentence that reads, filled in with the words of the refused one; where none does,
the reader's own message stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from synth.errors import BadInput
from synth.policies.hints import hints, reasons
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.candidates import is_besides
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.kind import HAPPEN, MUST, Form, PolicyKind
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.response import Response
from synth.policies.names import Names, Tools
from synth.policies.rewording import reworded
from synth.policies.sentences import read_sentence

Hint = tuple[str, str]
"""(the refused words, what to write instead): the sentences stand in braces; `!` begins a mere reason."""

_JOINT = re.compile(r"(?:;|,? (?:and|but|while|whereas|yet)) ")
_LED = re.compile(
    r"(?:^|[.;] |, (?:and|but|yet|while|whereas) )"
    r"(?P<said>after|once|following|subsequent to|sometime after|at some point after) (?!\d\d?:\d)",
    re.IGNORECASE,
)
MAX_HINTED = 400
"""Code points: what is longer is no slip of one sentence, and the search for one would last."""


def read_rule(sentence: str, names: Names, forms: Sequence[Form]) -> PolicyKind:
    """The rule that one sentence states. BadInput says how the language says it, where that is known."""
    body = " ".join(sentence.split()).removesuffix(".").strip()
    try:
        rule = read_sentence(sentence, names, forms)
    except BadInput as bad:
        raise next(_said_better(body, names, forms), bad) from None
    if led := _LED.search(body):
        either = BadInput(
            f"cannot read '{led['said']}'; write which is meant, 'must be followed by' or "
            "'must happen before'"
        )
        raise next(_said_better(body, names, forms, whole=False), either)
    return rule


def _said_better(body: str, names: Names, forms: Sequence[Form], whole: bool = True) -> Iterator[BadInput]:
    """The errors that say more than the reader's own, the best first."""
    if len(body) > MAX_HINTED:
        return
    ways = [_either, _any_other, _relative, _reworded, _parts] if whole else []
    others = (way(body, names, forms) for way in ways)
    found: Iterator[Hint] = chain(hints(body, names), *others, reasons(body, names) if whole else ())
    for said, hint in found:
        if all(_reads(one, names, forms) for one in re.findall(r"{(.+?)}", hint)):
            shown = re.sub(r"{(.)(.*?)}", lambda m: f"'{m[1].upper()}{m[2]}'", hint)
            yield BadInput(f"cannot read '{said}'; " + (shown[1:] if shown[0] == "!" else f"write {shown}"))


def _reads(sentence: str, names: Names, forms: Sequence[Form]) -> bool:
    try:
        read_sentence(sentence, names, forms)
    except BadInput:
        return False
    return _LED.search(sentence) is None


def _reworded(body: str, names: Names, forms: Sequence[Form]) -> Iterator[Hint]:
    """What the language says in other words, whole or before another hint."""
    found = reworded(body, names)
    if found is None:
        return
    first, text = found
    yield first, f"{{{text}}}"
    for said, hint in chain(_any_other(text, names, forms), hints(text, names), _parts(text, names, forms)):
        yield said if said in body else first, hint


def _either(body: str, names: Names, forms: Sequence[Form]) -> Iterator[Hint]:
    """`or` between actions: one action may stand for several tools."""
    known = "|".join(re.escape(phrase) for phrase in names.actions)
    found = re.search(rf"\b(?P<a>{known}) or (?P<b>{known})\b", body, re.IGNORECASE)
    if found is None:
        return
    actions = {phrase.casefold(): tools for phrase, tools in names.actions.items()}
    tools = (*actions[found["a"].casefold()].names, *actions[found["b"].casefold()].names)
    phrase = found[0][:1].lower() + found[0][1:]
    if _reads(body, Names({**names.actions, phrase: Tools(phrase, tools)}), forms):
        yield found[0], f"!`or` joins no actions; name one action for both: '{phrase}: [{', '.join(tools)}]'"


def _any_other(body: str, names: Names, forms: Sequence[Form]) -> Iterator[Hint]:
    """`any tool` means the others only where it stands beside a named action."""
    other = re.search(r"\bany other tool\b", body, re.IGNORECASE)
    if other is None:
        return
    plain = re.sub(r"\bany other tool\b", "any tool", body, flags=re.IGNORECASE)
    if _reads(plain, names, forms):
        others = _means_others(read_sentence(plain, names, forms))
        yield other[0], f"{{{plain}}}, which means {'any other' if others else 'every'} tool here"


def _means_others(rule: PolicyKind) -> bool:
    if isinstance(rule, Response):
        return all(is_besides(trigger, answer) for trigger, answer in rule.pairs)
    return isinstance(rule, Precedence | Adjacency | Gap) and all(
        is_besides(then, first) for first, then in rule.pairs
    )


def _relative(body: str, names: Names, forms: Sequence[Form]) -> Iterator[Hint]:
    """A clause with `which`, which only plain order takes: two sentences say the same."""
    said = re.search(r", (which .+?)(?:,|$)", body, re.IGNORECASE)
    if said is None:
        return
    head, inner, rest = body[: said.start()], said[1][len("which ") :], body[said.end() :].strip()
    about = head if rest else _last_action(head, names)
    main = f"{head} {rest}".strip()
    if re.match(MUST, inner, re.IGNORECASE) is None:
        yield said[1], f"!a clause that demands nothing is left out: {{{main}}}"
    elif about is not None:
        yield said[1], f"two policies: {{{about} {inner}}} and {{{main}}}"


def _last_action(text: str, names: Names) -> str | None:
    """The longest action at the end of a text."""
    ends = [phrase for phrase in names.actions if text.casefold().endswith(f" {phrase.casefold()}")]
    return max(ends, key=len, default=None)


def _parts(body: str, names: Names, forms: Sequence[Form]) -> Iterator[Hint]:
    """Two rules in one sentence, each of which reads alone."""
    begin = re.match(rf"(?P<a>.+?) (?P<do>{MUST}(?: never| not)?(?: {HAPPEN})?)", body, re.IGNORECASE)
    if begin is None:
        return
    for joint in _JOINT.finditer(body):
        first, then = body[: joint.start()], body[joint.end() :]
        for second in (then, f"{begin['a']} {then}", f"{begin[0]} {then}"):
            if _reads(first, names, forms) and _reads(second, names, forms):
                yield joint[0].strip(), f"two policies: {{{first}}} and {{{second}}}"

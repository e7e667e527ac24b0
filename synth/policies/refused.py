"""Sentences that cannot be read, and how the language says what they mean.

What is suggested is a sentence that reads, filled in with the words of the refused one; where none does,
the reader's own message stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from synth.errors import BadInput
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.candidates import is_besides
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.kind import HAPPEN, MUST, Form, PolicyKind
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.response import Response
from synth.policies.names import Names
from synth.policies.sentences import read_sentence

_NOT = rf"{MUST} (?:never|not)"
_CLOCK = r"\d\d?:\d\d"
_DONE = r"(?: (?:has|have) (?:happened|succeeded|taken place|been \w+(?: out)?))?"
_SAME = r"(?P<same>,? with the same .+)?"

Hint = Callable[[re.Match[str]], str]
"""What to write instead; the sentences stand in braces."""

_HINTS: tuple[tuple[str, Hint], ...] = (
    (
        rf"(?P<a>.+?) (?P<said>{_NOT} {HAPPEN} (?P<side>before|after) (?P<time>{_CLOCK}))",
        lambda m: f"{{{m['a']} must happen {_other(m['side'])} {m['time'].zfill(5)}}}",
    ),
    (
        rf"(?P<a>.+?) (?P<said>{MUST} {HAPPEN} between (?P<since>{_CLOCK}) and (?P<until>{_CLOCK}))",
        lambda m: (
            f"{{{m['a']} must happen after {m['since'].zfill(5)}, "
            f"and {_small(m['a'])} must happen before {m['until'].zfill(5)}}}"
        ),
    ),
    (
        rf"(?P<a>.+?) (?P<said>{_NOT} (?:precede|come before|be followed by)) (?P<b>.+)",
        lambda m: f"{{{m['b']} must never happen after {_small(m['a'])}}}",
    ),
    (
        rf"(?P<a>.+?) (?P<said>{_NOT} (?:follow|come after|be preceded by)) (?P<b>.+)",
        lambda m: f"{{{m['a']} must never happen after {_small(m['b'])}}}",
    ),
    (
        rf"(?P<a>.+?) (?P<said>{_NOT} {HAPPEN} before) (?P<b>.+)",
        lambda m: (
            f"{{{m['b']} must happen before {_small(m['a'])}}} where {m['b']} is needed first, or "
            f"{{{m['b']} must never happen after {_small(m['a'])}}} where it is forbidden afterwards"
        ),
    ),
    (
        rf"(?P<a>.+?) (?P<said>{_NOT} {HAPPEN} (?:unless|until|without)) (?P<b>.+?){_DONE}{_SAME}",
        lambda m: f"{{{m['b']} must happen before {_small(m['a'])}{m['same'] or ''}}}",
    ),
    (
        rf"(?P<a>.+?) (?P<said>{_NOT} {HAPPEN} (?:unless|until|without)) .+",
        lambda m: (
            f"'ACTION must happen before {_small(m['a'])}' with an action of the file, "
            "or a guard for anything else"
        ),
    ),
)


def read_rule(sentence: str, names: Names, forms: Sequence[Form]) -> PolicyKind:
    """The rule that one sentence states. BadInput says how the language says it, where that is known."""
    try:
        return read_sentence(sentence, names, forms)
    except BadInput as bad:
        body = " ".join(sentence.split()).removesuffix(".").strip()
        hints = (*_negated(body), *_any_other(body, names, forms), *_relative(body, names))
        for said, hint in hints:
            if all(_reads(one, names, forms) for one in re.findall(r"{(.+?)}", hint)):
                shown = re.sub(r"{(.)(.*?)}", lambda m: f"'{m[1].upper()}{m[2]}'", hint)
                raise BadInput(f"cannot read '{said}'; write {shown}") from None
        raise bad


def _reads(sentence: str, names: Names, forms: Sequence[Form]) -> bool:
    try:
        read_sentence(sentence, names, forms)
    except BadInput:
        return False
    return True


def _negated(body: str) -> Iterator[tuple[str, str]]:
    for pattern, hint in _HINTS:
        if match := re.fullmatch(pattern, body, re.IGNORECASE):
            yield match["said"], hint(match)


def _any_other(body: str, names: Names, forms: Sequence[Form]) -> Iterator[tuple[str, str]]:
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


def _relative(body: str, names: Names) -> Iterator[tuple[str, str]]:
    """A clause with `which`, which only plain order takes: two sentences say the same."""
    said = re.search(r", (which .+?)(?:,|$)", body, re.IGNORECASE)
    if said is None:
        return
    head, inner, rest = body[: said.start()], said[1][len("which ") :], body[said.end() :].strip()
    about = head if rest else _last_action(head, names)
    main = f"{head} {rest}".strip()
    if about is not None:
        yield said[1], f"two policies: {{{about} {inner}}} and {{{main}}}"


def _last_action(text: str, names: Names) -> str | None:
    """The longest action at the end of a text."""
    ends = [phrase for phrase in names.actions if text.casefold().endswith(f" {phrase.casefold()}")]
    return max(ends, key=len, default=None)


def _other(side: str) -> str:
    return "before" if side.lower() == "after" else "after"


def _small(name: str) -> str:
    """A name inside a sentence, without the capital of its begin."""
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]

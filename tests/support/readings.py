"""What sentences are read as, and which of many are not read as one rule is."""

from __future__ import annotations

from collections.abc import Iterable

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS


def demanded(sentence: str, names: Names) -> str:
    """What a sentence demands; BadInput where it is refused."""
    known = names.with_alternatives(sentence) or names
    return demands_of(read_rule(f"{sentence[0].upper()}{sentence[1:]}", known, OURS))


def unlike(sentences: Iterable[str], rule: str, names: Names) -> list[tuple[str, str]]:
    """(sentence, what it demands or why it is refused) of those that do not demand what the rule does."""
    meant, found = demanded(rule, names), []
    for sentence in sentences:
        try:
            got = demanded(sentence, names)
        except BadInput as bad:
            got = str(bad)
        if got != meant:
            found.append((sentence, got))
    return found

"""Sentences that are read in the place of another which says the same, to find what it says of arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from synth.errors import BadInput
from synth.policies.conditioned import Read, conditioned
from synth.policies.kinds.kind import PolicyKind
from synth.policies.names import Names, TwoReadings
from synth.policies.rearranged import rearranged
from synth.policies.some_calls import of_some_calls

Again = Callable[[str], PolicyKind]
"""Reads a sentence that says the same as another; BadInput where it cannot."""
MOST_SENTENCES = 25
"""Other sentences in whose place one is read."""


@dataclass(slots=True)
class InPlace:
    """Reads a sentence, and others in its place, each once."""

    read: Callable[[str, Again], PolicyKind]
    _said: dict[str, PolicyKind | BadInput] = field(default_factory=dict)

    def rule(self, sentence: str) -> PolicyKind:
        """BadInput where it cannot be read."""
        if sentence not in self._said:
            if len(self._said) > MOST_SENTENCES:
                raise BadInput("this sentence says too much at once; write several policies")
            self._said[sentence] = BadInput("a sentence that says itself")
            try:
                self._said[sentence] = self.read(sentence, self.rule)
            except BadInput as bad:
                self._said[sentence] = bad
        found = self._said[sentence]
        if isinstance(found, BadInput):
            raise found
        return found


def with_arguments(sentence: str, names: Names, plain: Read, again: Again) -> PolicyKind | None:
    """The rule of a sentence that says what calls are given; None where it says nothing of it.

    `plain` reads one that says nothing of it, `again` any one.
    """
    why: BadInput | None = None
    try:
        rule = conditioned(sentence, names, plain)
    except BadInput as bad:
        rule, why = None, bad
    if rule is None:
        body = " ".join(sentence.split()).removesuffix(".").strip()
        rule = of_some_calls(body, names, again)
    if rule is None and not isinstance(why, TwoReadings):
        rule = _rearranged(body, names, again)
    if rule is None and why is not None:
        raise why
    return rule


def _rearranged(body: str, names: Names, again: Again) -> PolicyKind | None:
    """The rule of a sentence that says elsewhere than behind its action what calls are given."""
    for said in rearranged(body, names):
        try:
            return again(said)
        except TwoReadings:
            raise
        except BadInput:
            continue
    return None

"""A rule and what stands beside it: how it begins, remarks, what must be the same, over what it holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from synth.errors import BadInput
from synth.policies.begun import begun
from synth.policies.kinds.kind import PolicyKind
from synth.policies.labels import labelled
from synth.policies.names import Names
from synth.policies.remarks import remarked
from synth.policies.same_aside import compared_aside
from synth.policies.scope_aside import beside_its_scope

Read = Callable[[str], PolicyKind]

MOST_ASIDES = 2
"""Of what stands beside a rule, so much is looked for."""


def with_asides(sentence: str, names: Names, plain: Read, most: int = MOST_ASIDES) -> PolicyKind:
    """The rule of a sentence, which `plain` reads where nothing stands beside it."""
    try:
        return plain(sentence)
    except BadInput as bad:
        if most and (rule := _beside(sentence, names, plain, most - 1)) is not None:
            return rule
        raise bad


def _beside(sentence: str, names: Names, plain: Read, most: int) -> PolicyKind | None:
    for aside in (
        partial(begun, names=names),
        partial(remarked, names=names),
        partial(labelled, names=names),
        compared_aside,
        beside_its_scope,
    ):
        try:
            rule = aside(sentence, read=lambda rest: with_asides(rest, names, plain, most))
        except BadInput:
            continue
        if rule is not None:
            return rule
    return None

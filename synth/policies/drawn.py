"""Policies as pictures."""

from __future__ import annotations

from synth.errors import BadInput
from synth.formal.diagram import svg_of
from synth.policies.kinds.behaviour import Behaviour
from synth.policies.model import Policy


def diagram_of(policy: Policy) -> str | None:
    """Its behaviour specification as SVG; None where it has none, or one that is too large to be read."""
    if not isinstance(policy.rule, Behaviour):
        return None
    try:
        return svg_of(policy.rule.monitor)
    except BadInput:
        return None

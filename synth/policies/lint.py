"""Are the policies of a file consistent, and can each of them ever matter?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from synth.policies.model import PolicySet


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a policy file."""

    code: Literal["contradiction", "unknown_tool", "never_applies", "duplicate"]
    policies: tuple[str, ...]
    """Ids of the policies it is about: for a contradiction a minimal set."""
    explanation: str
    line: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "policies": list(self.policies),
            "explanation": self.explanation,
            "line": self.line,
        }


def lint(policies: PolicySet, *, tools: Sequence[str] | None = None) -> tuple[Problem, ...]:
    """Problems of a policy file."""
    return ()

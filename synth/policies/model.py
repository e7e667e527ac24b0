"""Policies for production runs: what they are, and what is found about a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from synth.errors import BadInput
from synth.policies.evidence import Evidence
from synth.policies.kinds.kind import PolicyKind
from synth.policies.names import VERDICTS, PolicyVerdict, Scope, Severity, Tools


@dataclass(frozen=True, slots=True)
class Applies:
    """The runs a policy is for; what is not named does not matter."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Field of the run (`agent`, `service`, `source`, `model`, ...) -> allowed values, `*` as wildcard."""
    tools: tuple[str, ...] = ()
    """The run must offer or have called one of these tools."""
    calls: tuple[Tools, ...] = ()
    """The run must have called one of these actions."""

    def to(self, seen: Evidence) -> bool:
        """Is the policy for this run?"""
        if self.tools and not any(seen.offers(tool) for tool in self.tools):
            return False
        if self.calls and not any(seen.attempts(action) for action in self.calls):
            return False
        return self.fields_fit(seen)

    def may_be_for(self, seen: Evidence) -> bool:
        """Would an unseen call make the policy one for this run?"""
        offered = self.tools and not any(seen.offers(tool) for tool in self.tools)
        if offered and not any(seen.gaps.can_be(Tools(tool, (tool,))) for tool in self.tools):
            return False
        called = self.calls and not any(seen.attempts(action) for action in self.calls)
        if called and not any(map(seen.gaps.can_be, self.calls)):
            return False
        return self.fields_fit(seen)

    def fields_fit(self, seen: Evidence) -> bool:
        """Do the run's fields leave it one that the policy is for, whatever its tools?"""
        return all(
            any(isinstance(value, str) and fnmatchcase(value, pattern) for pattern in patterns)
            for name, patterns in self.fields.items()
            for value in (seen.run_field(name),)
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy of a file."""

    id: str
    text: str
    """In words, as shown to people."""
    rule: PolicyKind
    severity: Severity = "error"
    applies: Applies = Applies()
    line: int | None = None
    """1-based, in the policy file."""


@dataclass(frozen=True, slots=True)
class PolicySet:
    """A policy file, read."""

    policies: tuple[Policy, ...]
    actions: Mapping[str, Tools] = field(default_factory=dict)
    """By phrase."""
    timezone: str = "UTC"
    scope: Scope = "run"
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Our name of a call's field -> the name in the records, such as `step: assistant_step`."""
    file: str | None = None
    source: str = ""
    """The text it was read from. Compiled conditions do not pickle: another process reads this again."""

    def __len__(self) -> int:
        return len(self.policies)


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What was found about one run and one policy."""

    run_id: str
    policy: str
    verdict: PolicyVerdict
    violations: tuple[int, ...] = ()
    """0-based positions of the violating calls."""
    explanation: str = ""
    severity: Severity = "error"
    details: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the result: `valid`, `first_bad`, `unmet`, `goal_reached` of a contract."""

    def to_json(self) -> dict[str, Any]:
        """The public spelling, see "PolicyResult" in `docs/formats.md`."""
        return {
            "run_id": self.run_id,
            "policy": self.policy,
            "verdict": self.verdict,
            "violations": list(self.violations),
            "explanation": self.explanation,
            "severity": self.severity,
            **self.details,
        }


def policy_result_from_json(said: Any) -> PolicyResult:
    """The reverse of `PolicyResult.to_json`; BadInput for what is none."""
    try:
        if said["verdict"] not in VERDICTS:
            raise BadInput(f"expected one of {', '.join(VERDICTS)}, got {said['verdict']!r}", field="verdict")
        known = ("run_id", "policy", "verdict", "violations", "explanation", "severity")
        return PolicyResult(
            said["run_id"],
            said["policy"],
            said["verdict"],
            tuple(said["violations"]),
            said["explanation"],
            said.get("severity", "error"),
            {name: value for name, value in said.items() if name not in known},
        )
    except (KeyError, TypeError) as problem:
        raise BadInput(f"not a policy result: {type(problem).__name__} {problem}") from problem

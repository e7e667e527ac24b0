"""Builders for tests of policies: `verdicts("A must happen before B.", "b a")`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synth.observed.run import Run, ToolCall
from synth.policies import PolicyResult, PolicySet, Rules, judge_policies, load_policies
from tests.support.building import run

ACTIONS = """
actions:
  A: do_a
  B: do_b
  C: do_c
  D and E: [do_d, do_e]
"""


def rules_file(*sentences: str, head: str = "", tail: str = "") -> PolicySet:
    """Policies P0, P1, ... of the given sentences."""
    lines = "".join(f"  - {{id: P{i}, rule: {sentence!r}}}\n" for i, sentence in enumerate(sentences))
    return load_policies(f"{head}{ACTIONS}policies:\n{lines}{tail}")


def policy(body: str, head: str = "") -> PolicySet:
    """One policy P0; `body` is YAML at the level of its fields."""
    indented = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return load_policies(f"{head}{ACTIONS}policies:\n  - id: P0\n{indented}")


def judged(
    policies: PolicySet | str,
    calls: str | Sequence[ToolCall] | Run,
    rules: Rules | None = None,
    **fields: Any,
) -> PolicyResult:
    """The result of the only policy."""
    made = calls if isinstance(calls, Run) else run(calls, **fields)
    found = policies if isinstance(policies, PolicySet) else rules_file(policies)
    (result,) = judge_policies(found, made, rules=rules)
    return result


def brief(
    policies: PolicySet | str,
    calls: str | Sequence[ToolCall] | Run,
    rules: Rules | None = None,
    **fields: Any,
) -> tuple[str, tuple[int, ...]]:
    """(verdict, violations)."""
    result = judged(policies, calls, rules, **fields)
    return result.verdict, result.violations

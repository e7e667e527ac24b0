"""The policy files of a project, and what they say about a run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from synth.errors import BadInput, SynthError
from synth.judge import Rules
from synth.observed import Run
from synth.policies import PolicyResult, PolicySet, judge_policies, judge_session, load_policies

log = logging.getLogger("collector.policies")


@dataclass(frozen=True, slots=True)
class Policies:
    """Every active policy file of a project."""

    run_files: tuple[PolicySet, ...] = ()
    session_files: tuple[PolicySet, ...] = ()
    """Those that judge all runs of one conversation together."""

    def __bool__(self) -> bool:
        return bool(self.run_files or self.session_files)

    @property
    def need_turns(self) -> bool:
        """Does any of them ask which calls belong to one model message?"""
        files = (*self.run_files, *self.session_files)
        return any(policy.rule.traits.turns for found in files for policy in found.policies)


def read_policies(name: str, text: str) -> PolicySet:
    """A policy file from its text; raises BadInput with `name` and line.

    The reader takes one line without an end for a file name; what came over the network must never be one.
    """
    try:
        return load_policies(text + "\n")
    except BadInput as flaw:
        raise BadInput(flaw.message, file=name, line=flaw.line, field=flaw.field) from None


def readable(files: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The files that can still be read: one written for another version must not stop all judging."""
    found = []
    for name, text in files:
        try:
            read_policies(name, text)
            found.append((name, text))
        except SynthError as flaw:
            log.error("policy file %s is left out: %s", name, flaw)
    return found


def load_all(files: Sequence[tuple[str, str]]) -> Policies:
    """(name, text) pairs; an id that stands in several files is told apart by the file's name."""
    sets = [(name, read_policies(name, text)) for name, text in files]
    ids = [policy.id for _, found in sets for policy in found.policies]
    repeated = {policy_id for policy_id in ids if ids.count(policy_id) > 1}
    named = [_qualified(name, found, repeated) for name, found in sets]
    return Policies(
        tuple(found for found in named if found.scope == "run"),
        tuple(found for found in named if found.scope == "session"),
    )


def _qualified(name: str, found: PolicySet, repeated: set[str]) -> PolicySet:
    if not any(policy.id in repeated for policy in found.policies):
        return found
    return replace(
        found,
        policies=tuple(
            replace(policy, id=f"{name}/{policy.id}") if policy.id in repeated else policy
            for policy in found.policies
        ),
    )


def judge_all(policies: Policies, run: Run, earlier: Sequence[Run], rules: Rules) -> tuple[PolicyResult, ...]:
    """One result per policy; `earlier` are the conversation's runs before this one, oldest first."""
    results = [result for found in policies.run_files for result in judge_policies(found, run, rules=rules)]
    for found in policies.session_files:
        judged = judge_session(found, [*earlier, run], rules=rules)
        results += (own_part(result, run, sum(len(one.calls) for one in earlier)) for result in judged)
    return tuple(results)


def own_part(result: PolicyResult, run: Run, offset: int) -> PolicyResult:
    """A session's result as this run's: positions in its own calls; earlier violations are not repeated."""
    own = tuple(index - offset for index in result.violations if index >= offset)
    if result.verdict == "violated" and result.violations and not own:
        said = "Violated earlier in this conversation, not by this run."
        return replace(result, run_id=run.id, verdict="ok", violations=(), explanation=said)
    return replace(result, run_id=run.id, violations=own)

"""The policy files of a project, and what they say about a run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from synth.errors import BadInput, SynthError
from synth.frozen import quick
from synth.judge import Rules
from synth.observed import Run
from synth.policies import (
    RULE_FIELDS,
    Diagram,
    Held,
    Needs,
    Part,
    PolicyResult,
    PolicySet,
    RunBudget,
    SeenNames,
    diagram_of,
    facts_held,
    judge_policies,
    judge_turn,
    load_policies,
    needs_of,
    tools_in,
)

log = logging.getLogger("collector.policies")


@dataclass(frozen=True)
class Policies:
    """Every active policy file of a project."""

    run_files: tuple[PolicySet, ...] = ()
    session_files: tuple[PolicySet, ...] = ()
    """Those that judge all runs of one conversation together."""

    def __bool__(self) -> bool:
        return bool(self.run_files or self.session_files)

    @cached_property
    def files(self) -> tuple[PolicySet, ...]:
        return (*self.run_files, *self.session_files)

    @cached_property
    def needs(self) -> Needs:
        """What they need of the other runs of a conversation."""
        return needs_of(self.session_files)

    @cached_property
    def need_models(self) -> bool:
        """Does any of them ask what only model calls tell: what was said, which calls are of one message?"""
        traits = (policy.rule.traits for found in self.files for policy in found.policies)
        return any(known.turns or known.messages for known in traits)

    @cached_property
    def ask_for_order(self) -> bool:
        """Do they ask which call came before which, and never when, how long, or which run it is?"""
        policies = [policy for found in self.files for policy in found.policies]
        return not self.session_files and all(
            policy.rule.traits.order_alone and not {"run_id", "id"} & policy.applies.fields.keys()
            for policy in policies
        )

    def about(self, tool: str) -> list[str]:
        """The ids of those that name a tool."""
        return [policy.id for found in self.files for policy in found.policies if tool in tools_in(policy)]


def read_policies(name: str, text: str) -> PolicySet:
    """A policy file from its text; raises BadInput with `name` and line.

    The reader takes one line without an end for a file name; what came over the network must never be one.
    """
    try:
        return load_policies(text + "\n")
    except BadInput as flaw:
        raise BadInput(flaw.message, file=name, line=flaw.line, field=flaw.field) from None


class PolicyFile(NamedTuple):
    """A policy file as the store keeps it."""

    name: str
    text: str
    version: int | None = None
    """None for a text that came with a request."""

    def read(self) -> PolicySet:
        """Its policies; raises BadInput with name and line."""
        file = self.name if self.version is not None else None
        return replace(read_policies(self.name, self.text), file=file, version=self.version)


def stored_files(rows: Iterable[Mapping[str, Any]]) -> list[PolicyFile]:
    """From rows of the store."""
    return [PolicyFile(row["name"], row["text"], row["version"]) for row in rows]


def readable(files: Sequence[PolicyFile]) -> list[PolicyFile]:
    """The files that can still be read: one written for another version must not stop all judging."""
    found = []
    for file in files:
        try:
            file.read()
            found.append(file)
        except SynthError as flaw:
            log.error("policy file %s is left out: %s", file.name, flaw)
    return found


def load_all(files: Sequence[PolicyFile]) -> Policies:
    """An id that stands in several files is told apart by the file's name."""
    sets = [(file.name, file.read()) for file in files]
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


@quick
@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as it is judged, for one of its runs."""

    runs: Sequence[Run]
    """In order."""
    turn: int = 0
    """Which of them is judged."""
    goes_on: bool = False
    """May more runs come?"""
    until: int | None = None
    """Wall-clock ns, on the clock of the run that is judged: every call that began by then was seen."""

    @classmethod
    def of(cls, run: Run) -> Talk:
        """A run that is part of no conversation."""
        return cls((run,))


def judge_all(
    policies: Policies,
    run: Run,
    talk: Talk,
    rules: Rules,
    names: SeenNames | None = None,
    budget: RunBudget | None = None,
) -> tuple[PolicyResult, ...]:
    """One result per policy; `names` are the tools that the runs of the project have shown.

    All files share one `budget`.
    """
    budget = budget or RunBudget(rules)

    def judge(policies: PolicySet, run: Run, part: Part | None) -> tuple[PolicyResult, ...]:
        until = None if part is None else talk.until
        return judge_policies(policies, run, rules=rules, names=names, part=part, until=until, budget=budget)

    results = [result for found in policies.run_files for result in judge(found, run, None)]
    for found in policies.session_files:
        results += judge_turn(judge, found, talk.runs, talk.turn, goes_on=talk.goes_on)
    return tuple(results)


# ---------------------------------------------------------------- the words of a rule, in results

NOTHING: Mapping[str, Any] = {
    "verdict": None, "policies": [], "problems": [], "extra": {}, "status": "ok", "complete": True,
    "case_id": None, "wall_seconds": None, "iterations": None,
}  # fmt: skip
"""Of a conclusion what is stored only where it is something else: of most, nothing."""


def without_nothing(body: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a conclusion as it is stored."""
    return {name: value for name, value in body.items() if name not in NOTHING or value != NOTHING[name]}


def as_concluded(stored: str) -> dict[str, Any]:
    """The JSON of a stored conclusion, but for the words of its rules."""
    return {**NOTHING, **orjson.loads(stored)}


IN_FILE = ("text", "sentence")
"""What results of a stored policy file leave to the version of the file that they name."""

USUAL: Mapping[str, Any] = {"violations": [], "severity": "error"}
"""Of a result what is stored only where it is something else."""


def without_words(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON of a result as it is stored, with its run: every version of a policy file is kept."""
    in_file = (*IN_FILE, "run_id") if result["version"] is not None else ("run_id",)
    empty = [name for name in RULE_FIELDS if result[name] is None]
    usual = [name for name, value in USUAL.items() if result[name] == value]
    return {name: value for name, value in result.items() if name not in (*in_file, *empty, *usual)}


def with_words(run: str, result: Mapping[str, Any], words: Mapping[str, Any]) -> dict[str, Any]:
    """A stored result as it was found about a run; `words` are those of the file that it was judged by.

    What cannot be had any more (a file of an older kind, a result from before results had words) is null.
    """
    return {"run_id": run, **dict.fromkeys(RULE_FIELDS), **USUAL, **words.get(result["policy"], {}), **result}


def diagram_in(file: PolicyFile, policy: str) -> Diagram | None:
    """That of a policy's behaviour specification; None where it has none that can be drawn."""
    try:
        policies = file.read().policies
    except SynthError:
        return None
    return next((diagram_of(one) for one in policies if policy in (one.id, f"{file.name}/{one.id}")), None)


def facts_in(file: PolicyFile, policy: str, run: Run) -> list[Held]:
    """What held at each call of a run under a contract; nothing of other rules, or where no clock tells."""
    try:
        found = file.read()
    except SynthError:
        return []
    return list(facts_held(found, policy.removeprefix(f"{file.name}/"), run))


def words_in(file: PolicyFile) -> dict[str, dict[str, str | None]]:
    """Policy -> its words, under its id in the file and under that among several files."""
    try:
        policies = file.read().policies
    except SynthError:
        return {}
    return {
        name: {"text": policy.text, "sentence": policy.sentence}
        for policy in policies
        for name in (policy.id, f"{file.name}/{policy.id}")
    }

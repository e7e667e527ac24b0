"""A recorded run as a case: its tools, the rules that were for it, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, Protocol

from synth.cases.case import Case
from synth.cases.recorded import Found, RecordedCase, RuleFile, tools_of
from synth.errors import BadInput
from synth.formal import Verdict
from synth.judge.rules import Rules
from synth.observed.run import Run
from synth.policies import PolicyResult, PolicySet
from synth.policies.evidence import Evidence
from synth.policies.load import policies_from_text

BY_RUN = Rules(repair=False)


class Judges(Protocol):
    """Who judges a run: a process of its own (`SolverProcess`), or this one."""

    def judge(self, case: Case, run: Run, rules: Rules | None = None, /) -> Verdict: ...

    def judge_policies(
        self, policies: PolicySet, run: Run, rules: Rules | None = None, /
    ) -> tuple[PolicyResult, ...]: ...


def recorded_case(
    run: Run,
    rules: Sequence[RuleFile],
    solver: Judges,
    *,
    case: Case | None = None,
    definitions: Iterable[Mapping[str, Any]] = (),
    judged: Mapping[str, str] | None = None,
    source: Mapping[str, Any] | None = None,
) -> tuple[RecordedCase, dict[str, str]]:
    """The case that a run makes, and the policies (`FILE/POLICY` -> why) that are left out of it.

    `judged` is what was found before, by the same keys: a policy that says another thing of the run alone,
    such as one of a whole conversation, is left out. BadInput for a run without a request or without calls.
    """
    if not run.query:
        raise BadInput("its request is not known, so nobody can be asked again", field="query")
    if not run.calls:
        raise BadInput("it has no call of a tool, so there is nothing to answer with", field="calls")
    kept = [_for_run(file, run) for file in rules]
    found = dict(by_policy(kept, run, solver, BY_RUN))
    left_out = {
        key: f"it is {judged[key]} in its conversation and {result.verdict} in the run alone"
        for key, result in found.items()
        if judged is not None and key in judged and judged[key] != result.verdict
    }
    outcome, error_type = _outcome(run, case, found, left_out, solver)
    made = RecordedCase(
        run.id,
        run.query,
        tools_of(run, definitions),
        run,
        tuple(file for file in (_without(file, left_out) for file in kept) if file is not None),
        Found(outcome, {k: r.verdict for k, r in found.items() if k not in left_out}, error_type),
        case,
        {"run_id": run.id, **(source or {})},
    )
    return made, left_out


def by_policy(
    files: Iterable[RuleFile], run: Run, solver: Judges, rules: Rules
) -> Iterator[tuple[str, PolicyResult]]:
    """`FILE/POLICY` and what it says of the run."""
    for file in files:
        policies = read_rules(file)
        for result in solver.judge_policies(policies, run, rules):
            yield f"{file.name}/{result.policy}", result


def read_rules(file: RuleFile) -> PolicySet:
    """BadInput names the file of a case that cannot be read as policies."""
    return policies_from_text(file.text, file.name)


def _outcome(
    run: Run, case: Case | None, found: Mapping[str, PolicyResult], left_out: Mapping[str, str],
    solver: Judges,
) -> tuple[str, str | None]:  # fmt: skip
    verdict = None if case is None else solver.judge(case, run, BY_RUN)
    results = [result.verdict for key, result in found.items() if key not in left_out]
    return outcome_of(None if verdict is None else verdict.outcome, results), (
        None if verdict is None else verdict.error_type
    )


def outcome_of(verdict: str | None, policies: Sequence[str]) -> str:
    """One word for a run, by the outcome of its case and the verdicts of its policies."""
    if verdict == "fail" or "violated" in policies:
        return "fail"
    if verdict not in (None, "pass"):
        return str(verdict)
    if {"undecided", "unsupported"} & set(policies):
        return "undecided"
    return "pass" if verdict == "pass" or "ok" in policies else "unbound"


def _for_run(file: RuleFile, run: Run) -> RuleFile:
    """The file with the policies that are for this run, whatever it calls."""
    policies = read_rules(file)
    seen = Evidence(run, policies.timezone, policies.aliases)
    others = [p.id for p in policies.policies if p.applies.fields_fit(seen) is False]
    return file if not others else RuleFile(file.name, _cut(file, others), file.version)


def _without(file: RuleFile, left_out: Mapping[str, str]) -> RuleFile | None:
    """The file without what was left out; None where nothing is left."""
    ids = [key.removeprefix(f"{file.name}/") for key in left_out if key.startswith(f"{file.name}/")]
    made = file if not ids else RuleFile(file.name, _cut(file, ids), file.version)
    return made if read_rules(made).policies else None


def _cut(file: RuleFile, ids: Sequence[str]) -> str:
    """The text of a policy file without these policies."""
    from ruamel.yaml import YAML

    yaml = YAML()
    top = yaml.load(file.text)
    top["policies"] = [policy for policy in top["policies"] if policy["id"] not in ids]
    text = StringIO()
    yaml.dump(top, text)
    return text.getvalue()

"""A test case of a stored run, made on demand in the process of `asked`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from collector.api.bodies import TooLarge
from collector.api.views import encoded
from synth.cases import Case, RuleFile, case_from_json
from synth.experiments import recorded_case
from synth.formal import Verdict
from synth.judge import Rules, judge
from synth.judge_process import JudgeFailed
from synth.observed import Run, run_from_json
from synth.policies import PolicyResult, PolicySet, judge_policies


class _Here:
    """Judges in this process, which is stopped where it takes too long."""

    def judge(self, case: Case, run: Run, rules: Rules | None = None, /) -> Verdict:
        return judge(case, run, rules=rules)

    def judge_policies(
        self, policies: PolicySet, run: Run, rules: Rules | None = None, /
    ) -> tuple[PolicyResult, ...]:
        return judge_policies(policies, run, rules=rules)


@dataclass(frozen=True, slots=True)
class CaseToMake:
    """A run as JSON, with what it was judged by."""

    record: bytes
    rules: tuple[RuleFile, ...]
    case: str | None
    """JSON of the synthesized case that it is bound to."""
    definitions: Sequence[dict[str, object]]
    judged: tuple[tuple[str, str], ...]
    """(`FILE/POLICY`, verdict) each."""

    @property
    def size(self) -> int:
        return len(self.record)

    def answered(self) -> bytes:
        case = None if self.case is None else case_from_json(orjson.loads(self.case))
        run = run_from_json({"status": "ok", **orjson.loads(self.record)})
        made, left_out = recorded_case(
            run, self.rules, _Here(), case=case, definitions=self.definitions, judged=dict(self.judged)
        )
        return encoded({"case": made.to_json(), "left_out": left_out})

    def without(self, failed: JudgeFailed) -> CaseToMake:
        raise TooLarge(f"no case could be made: {failed}", "try `pdoctor cases from-run`")

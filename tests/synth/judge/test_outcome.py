"""How a verdict is concluded: disagreements come before errors, and Z3's time is told once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest

from synth.cases.case import Case
from synth.formal import check
from synth.formal.constraints import Before, EndsBy, Fixed
from synth.judge import Rules, judge
from tests.support.building import call, case, run, task


@dataclass(frozen=True)
class FickleOrder(Before):
    """A bug: direct evaluation finds it kept, Z3 as it is."""

    def formula(self, t: Any) -> Any:
        return True if isinstance(t, Fixed) else super().formula(t)


@dataclass(frozen=True)
class FickleLimit(EndsBy):
    def formula(self, t: Any) -> Any:
        return True if isinstance(t, Fixed) else super().formula(t)


ORDER = replace(case("a<b", "b<c"), constraints=(FickleOrder("b", "a", 0), Before("c", "b", 1)))
TIMED = replace(
    case("a<=600", "b>=660", durations={"a": 60, "b": 60}),
    constraints=(FickleLimit("a", 590, 0), EndsBy("b", 700, 1)),
)


@pytest.mark.parametrize(
    ("the_case", "calls"),
    [
        (ORDER, [call("a"), call("b"), call("z"), call("c")]),
        (TIMED, [task("a", "09:00", 60), call("z"), task("b", "11:00", 60)]),
    ],
    ids=["order", "timed"],
)
def test_a_disagreement_beside_other_findings_leaves_the_run_undecided_and_is_told(
    the_case: Case, calls: list[Any]
) -> None:
    verdict = judge(the_case, run(calls))
    assert (verdict.outcome, verdict.error_type, verdict.decided_by) == ("undecided", None, "both")
    codes = [(finding.type, finding.code, finding.sentence) for finding in verdict.findings]
    assert ("act_error", "unknown_tool", None) in codes
    assert ("note", "disagreement", 0) in codes
    assert (verdict.dead_at, verdict.repair) == (None, None)
    without = judge(the_case, run(calls), rules=Rules(z3="off"))
    assert (without.outcome, without.error_type) == ("fail", "act_error")


@pytest.mark.parametrize(
    ("the_case", "calls"),
    [
        (case("a<b"), [call("a"), call("b")]),
        (case("a<=660", durations={"a": 60}), [task("a", "09:00", 60)]),
    ],
    ids=["order", "timed"],
)
def test_the_time_in_z3_is_told_once(
    monkeypatch: pytest.MonkeyPatch, the_case: Case, calls: list[Any]
) -> None:
    seconds = count()
    monkeypatch.setattr(check, "perf_counter", lambda: next(seconds) * 0.25)
    assert judge(the_case, run(calls)).z3_ms == 250.0
    assert judge(the_case, run(calls), rules=Rules(z3="off")).z3_ms == 0.0

"""The reference planner's calls, as a run, pass the judge on every timed case that is kept."""

from __future__ import annotations

from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.formal.constraints import clock
from synth.formal.day import ReferencePlanner, play
from synth.judge import judge
from synth.observed.run import Run, ToolCall


def planned_run(case: Case) -> tuple[Run, int]:
    """What the planner does with the case's tools, and how often it started over."""
    assert case.durations is not None
    assert case.horizon is not None
    planner = ReferencePlanner([a.id for a in case.actions], case.constraints, case.horizon)
    tool = {action.id: action.tool for action in case.actions}
    calls = tuple(
        ToolCall(
            id=str(number),
            tool=tool[action],
            arguments={"start_time": clock(start)},
            result=f"Success: it took {case.durations[action]} minutes.",
        )
        for number, (action, start) in enumerate(play(planner, case.durations))
    )
    return Run(id="r", calls=calls, case_id=case.id, tools=tuple(tool.values())), planner.replans


def check(options: Options, count: int) -> int:
    total = 0
    for case in generate(count, 31, options, confirm=False):
        run, replans = planned_run(case)
        verdict = judge(case, run)
        assert (verdict.outcome, verdict.error_type) == ("pass", None), (case.paragraph, verdict.findings)
        assert sum(finding.code == "replanned" for finding in verdict.findings) == replans
        assert replans == case.statistics["replans"]
        total += replans
    return total


def test_the_planner_passes_every_kept_case():
    check(Options(mode="timed", actions=(1, 7)), 25)


def test_starting_over_is_read_as_a_new_attempt():
    assert check(Options(mode="timed", actions=(3, 7), replans=(1, 9)), 6) >= 6

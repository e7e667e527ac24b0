"""`pdoctor replay`: recorded runs again, with another agent or model, against what the tools answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import (
    Exit,
    clear_errors,
    color_option,
    in_width,
    json_option,
    look_at,
    plain,
    policy_text,
    progress,
    table,
    write_json,
)
from collector.cli.driving import Setup, driving_options
from collector.cli.spending import Money, money_options, said_to_be_spent
from synth.counted import counted
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.cases.recorded import RecordedCase
    from synth.experiments.money import Planned
    from synth.experiments.replaying import Judged
    from synth.experiments.trial import Result, Trial

SHOWN = 10
NEVER_CUT = 10_000
"""Columns: the names of cases are handed on."""


@click.command("replay")
@click.argument("cases")
@click.option(
    "--agent", default="recorded", show_default=True,
    help="module:callable, exec:COMMAND, a URL, a built-in agent; recorded: what the recorded one did.",
)  # fmt: skip
@click.option(
    "--on-miss", type=click.Choice(["error", "last", "live"]), default="error", show_default=True,
    help="What answers a call that none like it was recorded of: an error, the tool's last answer, --tools.",
)  # fmt: skip
@click.option(
    "--tools", multiple=True, metavar="MODULE[:FUNCTION]", help="Of --on-miss live: the tools themselves."
)
@driving_options
@color_option
@money_options
@json_option
def command(
    cases: str, agent: str, on_miss: Any, tools: tuple[str, ...], as_json: bool, **settings: Any
) -> None:
    """Run an agent on CASES against recorded answers, and judge it again.

    CASES is a file of `pdoctor cases from-run`, or - (standard input). A tool answers a call as it was
    recorded for the same arguments, else for the nearest of that tool, else it is a miss. How long things
    took is not judged: tools answer at once.

    Exit code: 0 all passed, 1 something is violated, 3 something is undecided, 2 bad input, or more
    runs than --max-errors in which the agent was not tested.

    \b
    pdoctor replay refunds.jsonl
    pdoctor replay refunds.jsonl --agent my_agent:answer --model gpt-4o
    """
    with clear_errors():
        from synth.cases.recorded import read_recorded

        if (on_miss == "live") != bool(tools):
            raise BadInput("--on-miss live and --tools belong together: --on-miss live --tools my_tools")
        setup, money = Setup.take(settings), Money.take(settings)
        made, seen = replay(read_recorded(cases), agent, setup, money, on_miss, tools)
        report = Report(agent, made)
        if as_json:
            for one in report.runs:
                write_json(one.to_json())
        else:
            click.echo(report.text())
            look_at(seen)
        raise SystemExit(report.exit_code(setup.max_errors))


def replay(
    cases: Sequence[RecordedCase], agent: str, setup: Setup, money: Money, on_miss: Any, tools: Sequence[str]
) -> tuple[list[Judged], str]:
    """A run of each case, judged, in their order, as many as may be paid for; and where to see them."""
    from synth.agents.model import RECORDED
    from synth.experiments.campaign import Meter, results_journal, run_campaign
    from synth.experiments.replaying import judged, trial_of
    from synth.judge_process import SolverProcess

    by_key = {}
    for case in cases:
        model = setup.model or case.run.model or setup.model_name
        trial = trial_of(case, agent, model, on_miss, tools)
        by_key[trial.key] = (case, trial)
    trials = [trial for _, trial in by_key.values()]
    found: dict[str, Judged] = {}
    with (
        money.spending(planned(trials, setup)) as purse,
        setup.harness() as harness,
        SolverProcess() as solver,
        results_journal(None, {}) as kept,
        progress((), label="replaying", length=len(trials)) as bar,
        setup.posting(harness, "replay", agent, on_miss=on_miss) as posting,
    ):

        def judge(result: Result) -> None:
            found[result.key] = one = judged(by_key[result.key][0], result, solver)
            posting.add(result, one.outcome, () if one.outcome == "pass" else tuple(in_short(one)))
            bar.update(1)

        meter = Meter(goes_on=lambda why: True, purse=None if agent == RECORDED else purse)
        stopped = run_campaign(harness.run, trials, kept, meter, judge)
    if stopped:
        said_to_be_spent(stopped, len(found), f"of {counted(len(trials), 'case')}")
    return [found[key] for key in by_key if key in found], setup.seen(posting)


def planned(trials: Sequence[Trial], setup: Setup) -> Iterator[Planned]:
    """The runs that ask a model: the recorded agent asks none."""
    from synth.agents.model import RECORDED
    from synth.experiments.money import Planned

    for trial in trials:
        if trial.agent != RECORDED:
            yield Planned.of_cases(trial.model, 1, trial.actions, setup.max_iterations)


@dataclass(frozen=True)
class Report:
    """The runs of a replay."""

    agent: str
    runs: Sequence[Judged]

    def exit_code(self, max_errors: int) -> Exit:
        outcomes = Counter(one.outcome for one in self.runs)
        if outcomes["error"] > max_errors:
            return Exit.BAD_INPUT
        if outcomes["fail"]:
            return Exit.FAILED
        return Exit.UNSETTLED if outcomes["undecided"] or outcomes["open"] else Exit.PASSED

    def text(self) -> str:
        return "\n\n".join([self.overview(), *self.problems(), self.answers()])

    def overview(self) -> str:
        headers = ["case", "then", "now", "exact", "near", "miss", "violated"]
        return table(headers, [row(one) for one in self.runs], width=NEVER_CUT)

    def problems(self) -> Iterator[str]:
        """What is wrong, run by run."""
        wrong = [one for one in self.runs if one.outcome != "pass"]
        for one in wrong[:SHOWN]:
            yield "\n".join([f"{case_id(one)}: {one.outcome}", *(f"  - {line}" for line in reasons(one))])
        if len(wrong) > SHOWN:
            yield f"... and {len(wrong) - SHOWN} more; --json lists them all."

    def answers(self) -> str:
        """How the calls were answered, in all."""
        ways = sum((one.ways for one in self.runs), Counter[str]())
        said = (
            f"{counted(len(self.runs), 'case')}, {self.agent}: {ways['exact']} calls answered exactly, "
            f"{ways['nearest']} by the nearest arguments, {ways['miss']} missed"
        )
        missed = [case_id(one) for one in self.runs if one.ways["miss"]]
        if missed:
            some = ", ".join(missed[:3]) + (", ..." if len(missed) > 3 else "")
            said += f"\nMarked *: {counted(len(missed), 'run')} with misses ({some}), which saw other answers"
        return said


def case_id(one: Judged) -> str:
    return one.run.id if one.case is None else one.case.id


def row(one: Judged) -> list[object]:
    ways = one.ways
    marked = f"{case_id(one)}{' *' if ways['miss'] else ''}"
    then = "-" if one.case is None else one.case.found.outcome
    broken = ", ".join(key.rpartition("/")[2] for key in one.violated) or "-"
    return [marked, then, one.outcome, ways["exact"], ways["nearest"], ways["miss"], broken]


def in_short(one: Judged) -> Iterator[str]:
    """The reasons, each in one line and without colours: as a campaign keeps them."""
    yield from (click.unstyle(" ".join(why.split())) for why in reasons(one))


def reasons(one: Judged) -> Iterator[str]:
    """Why a run did not pass, in sentences."""
    result = one.result
    if result.trouble is not None:
        yield plain(f"not tested: {result.trouble}")
        return
    if one.crashed:
        yield plain(f"the agent ended with: {result.error}")
    if one.idle:
        yield "the agent called no tool, so no rule was put to the test"
    if one.verdict is not None:
        found = [f.explanation for f in one.verdict.findings if f.type != "note"]
        yield from (in_width(plain(said), "    ") for said in found)
    yield from (policy_text(found.to_json(), indent="    ") for found in one.violated.values())
    if not one.violated:
        said = [plain(f"[{found.policy}] open: {found.explanation}") for found in one.open.values()]
        yield from (in_width(line, "    ") for line in said)

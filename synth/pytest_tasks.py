"""What `pdoctor.run`, `pdoctor.replay` and `pdoctor.rate` do, and the text of their failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from synth.agents.tasks import Task
from synth.cases.recorded import RecordedCase, RuleFile, read_recorded
from synth.errors import BadInput
from synth.experiments.harness import Harness
from synth.experiments.posting import Campaign, Posting
from synth.experiments.rates import Rate
from synth.experiments.replaying import Judged, judged, judged_by, trial_of
from synth.experiments.tally import in_words
from synth.experiments.trial import Result, Trial
from synth.files import text_of
from synth.judge_process import SolverProcess
from synth.policies.load import load_policies
from synth.policies.told import broken_rule, told

LONGEST = 120
"""Characters of a call's arguments that a failure shows."""
Look = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Own:
    """Somebody's own task, and the policies it is judged by."""

    task: Task
    rules: tuple[RuleFile, ...]
    about: Mapping[str, Any]
    """Further fields of the run that policies read, such as `agent`."""

    def trial(self, agent: str, model: str, repeat: int = 0) -> Trial:
        return Trial(agent, model, task=self.task, repeat=repeat)

    def judged(self, result: Result, solver: SolverProcess) -> Judged:
        return judged_by(self.rules, result, solver, self.about)


@dataclass(frozen=True, slots=True)
class Again:
    """A recorded case, and what answers its misses."""

    case: RecordedCase
    on_miss: Any
    tools: tuple[str, ...]

    def trial(self, agent: str, model: str, repeat: int = 0) -> Trial:
        return trial_of(self.case, agent, model, self.on_miss, self.tools, repeat)

    def judged(self, result: Result, solver: SolverProcess) -> Judged:
        return judged(self.case, result, solver)


def session_of(
    url: str, model: str, config: Any, together: str | None, say: Callable[[str], None]
) -> Posting:
    """Tells a collector of a session of pytest; what runs `together`, as its workers do, is one campaign."""
    asked = {"arguments": list(config.args)}
    campaign = Campaign("pytest", "", model, f"pytest {config.rootpath.name}", options=asked)
    known = None if together is None else sha256(together.encode()).hexdigest()[:32]
    return Posting(url, campaign, say, known)


def rules_of(policies: str | Path | Sequence[str | Path], folder: Path) -> tuple[RuleFile, ...]:
    """Policy files, looked for in `folder` first, or their text; BadInput for what is neither."""
    several = [policies] if isinstance(policies, str | Path) else policies
    return tuple(_rules(one, folder) for one in several)


def _rules(said: str | Path, folder: Path) -> RuleFile:
    if isinstance(said, str) and "\n" in said:
        load_policies(said)
        return RuleFile("policies", said)
    path = folder / said if (folder / said).exists() else Path(said)
    load_policies(path)
    return RuleFile(path.stem, text_of(path))


def cases_of(cases: RecordedCase | str | Path | Iterable[RecordedCase], folder: Path) -> list[RecordedCase]:
    """Recorded cases: one, several, or those of a file, looked for in `folder` first."""
    if isinstance(cases, RecordedCase):
        return [cases]
    if isinstance(cases, str | Path):
        return read_recorded(folder / cases if (folder / cases).exists() else cases)
    return list(cases)


def attempt(
    what: Own | Again, agent: str, model: str, harness: Harness, solver: SolverProcess, repeat: int = 0
) -> Judged:
    """One run, judged."""
    return what.judged(harness.run_one(what.trial(agent, model, repeat)), solver)


def failed(run: Judged) -> bool:
    """Does a run fail a test? What is open does where the recorded run violated it, or nothing was done."""
    return run.outcome == "fail" or bool(run.unproven) or (run.idle and run.outcome == "undecided")


def first_line(run: Judged) -> str:
    """The sentence that was broken."""
    findings = [] if run.verdict is None else [f for f in run.verdict.findings if f.type != "note"]
    for found in run.violated.values():
        return broken_rule(found.to_json()) or f"[{found.policy}] {found.explanation}"
    if findings:
        return findings[0].explanation
    for found in run.unproven.values():
        return f"open whether it still holds: {broken_rule(found.to_json())}"
    if run.crashed:
        return f"the agent ended with: {run.result.error}"
    return "the agent called no tool, so no rule was put to the test"


def reasons(run: Judged) -> tuple[str, ...]:
    """Why a run does not pass, as its campaign tells it."""
    return () if run.outcome == "pass" else (first_line(run),)


def explained(run: Judged, look: Look) -> str:
    """Why a run fails: the broken sentence, who and where, what is wrong, the calls."""
    result = run.result
    task = f"case {run.case.id}" if run.case is not None else repr(run.run.query)
    return "\n".join(
        [
            first_line(run),
            f"{result.agent} on {result.model}, {task}: {run.outcome}",
            f"Look: {look(run.run.id)}",
            *([f"the agent ended with: {result.error}"] if result.error else []),
            "",
            *_wrong(run),
            "",
            *_calls(run),
            *_misses(run),
        ]
    )


def _wrong(run: Judged) -> Iterator[str]:
    if run.verdict is not None:
        yield from (f"  * {f.explanation}" for f in run.verdict.findings if f.type != "note")
    for found in run.violated.values():
        yield "  * " + "\n    ".join(told(found.to_json()))
    for found in run.unproven.values():
        yield f"  * [{found.policy}] {found.explanation}"


def _calls(run: Judged) -> Iterator[str]:
    blamed = {position for found in run.violated.values() for position in found.violations}
    if run.verdict is not None:
        blamed |= {position for finding in run.verdict.findings for position in finding.calls}
    yield "Calls:" if run.run.calls else "No calls were seen."
    for at, call in enumerate(run.run.calls):
        given = json.dumps(call.arguments, ensure_ascii=False, default=str)
        given = given if len(given) <= LONGEST else f"{given[: LONGEST - 1]}…"
        yield f"  {'>' if at in blamed else ' '} {at}. {call.tool} {given}"


def _misses(run: Judged) -> Iterator[str]:
    if run.ways["miss"] or run.ways["nearest"]:
        yield (
            f"Answers: {run.ways['exact']} as recorded, {run.ways['nearest']} of the nearest arguments, "
            f"{run.ways['miss']} missed"
        )


def untested(run: Judged) -> str:
    """What kept the agent from being tested."""
    assert run.result.trouble is not None
    about = f"{run.result.agent} on {run.result.model}"
    return f"{in_words(run.result.trouble)}: the agent was not tested\n{about}"


def needed(runs: int, at_least: float) -> int:
    """Runs of `runs` that must pass; BadInput for a rate that is none."""
    if not 0 < at_least <= 1:
        raise BadInput(f"expected a rate over 0 and up to 1, got {at_least}", field="at_least")
    if runs < 1:
        raise BadInput(f"expected at least one run, got {runs}", field="runs")
    return -int(-(at_least * runs - 1e-9) // 1)


def rate_text(passed: int, made: int, runs: int, at_least: float) -> str:
    """How often an agent passed, with what else that many runs allow."""
    low, high = Rate(passed, made).interval
    said = f"{passed} of {made} runs passed ({low:.0%} to {high:.0%} with 95 % confidence), "
    rest = f"; the other {runs - made} were not needed" if made < runs else ""
    return f"{said}at least {at_least:.0%} of {runs} should{rest}"

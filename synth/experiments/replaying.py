"""Recorded cases run again: an agent against the recorded answers of its tools, judged by the same rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from synth.agents.model import RECORDED
from synth.agents.recorded_tools import OnMiss
from synth.agents.tasks import Task
from synth.cases.recorded import RecordedCase, RuleFile
from synth.experiments.agreement import calls_agree
from synth.experiments.recording import by_policy, outcome_of, read_rules
from synth.experiments.trial import Result, Trial
from synth.formal.model import Verdict
from synth.judge.rules import Rules
from synth.judge_process import SolverProcess
from synth.observed.run import Interval, Run, ToolCall, run_from_json
from synth.policies import PolicyResult

OWN_FIELDS = {"run_id", "calls", "query", "tools", "messages", "status", "trouble", "problems", "unseen"}
"""Of a run record: what the new run says itself."""
DILATIONS = ((1, 0), (100_000, 0), (1, 12 * 3600), (1, 84 * 3600))
"""(factor, seconds later) at which the instants of a replay are judged: tools answer at once there, at any
time of the day and of the week, so that what depends on it says nothing."""
HASTE = "It depends on how long things took or on the time of the day, of which a replay says nothing."


def trial_of(
    case: RecordedCase, agent: str, model: str, on_miss: OnMiss = "error", tools: Sequence[str] = (),
    repeat: int = 0,
) -> Trial:  # fmt: skip
    """The run to make of a recorded case; the agent `recorded` does what it did."""
    task = Task(case.query, case.id, case.to_json(), on_miss, tuple(tools))
    return Trial(agent, model, task=task, repeat=repeat)


@dataclass(frozen=True, slots=True)
class Judged:
    """A run of a task, and what its rules say of it."""

    result: Result
    run: Run
    verdict: Verdict | None
    policies: Mapping[str, PolicyResult]
    """By `FILE/POLICY`."""
    case: RecordedCase | None = None

    @property
    def ways(self) -> Counter[str]:
        """How the tools found their answers: `exact`, `nearest`, `miss`."""
        return Counter(call["way"] for call in self.result.tool_log if call.get("way"))

    @property
    def violated(self) -> dict[str, PolicyResult]:
        return {key: result for key, result in self.policies.items() if result.verdict == "violated"}

    @property
    def open(self) -> dict[str, PolicyResult]:
        """Policies without an answer."""
        return {k: r for k, r in self.policies.items() if r.verdict in ("undecided", "unsupported")}

    @property
    def crashed(self) -> bool:
        return self.result.status != "ok"

    @property
    def idle(self) -> bool:
        """Did the agent do nothing, where the recorded one did something?"""
        return self.case is not None and not self.run.calls

    @property
    def outcome(self) -> str:
        """`pass`, `fail`, `undecided` or `error`. What ended by an exception or its time limit has failed."""
        if self.result.trouble is not None:
            return "error"
        if self.crashed:
            return "fail"
        said = [result.verdict for result in self.policies.values()]
        found = outcome_of(None if self.verdict is None else self.verdict.outcome, said)
        return "undecided" if self.idle and found != "fail" else "pass" if found == "unbound" else found

    @property
    def unproven(self) -> dict[str, PolicyResult]:
        """What the recorded run violated, and of which this one leaves open whether it does."""
        if self.case is None:
            return {}
        was = self.case.found.policies
        return {key: result for key, result in self.open.items() if was.get(key) == "violated"}

    def differences(self) -> dict[str, tuple[str, str]]:
        """What is judged in another way than in the recording: key -> (then, now)."""
        if self.case is None:
            return {}
        then = dict(self.case.found.policies)
        now: dict[str, str] = {key: result.verdict for key, result in self.policies.items()}
        if self.verdict is not None:
            then["case"] = str(self.case.found.error_type or "pass")
            now["case"] = str(self.verdict.error_type or self.verdict.outcome)
        return {key: (then[key], now[key]) for key in then if key in now and then[key] != now[key]}

    def to_json(self) -> dict[str, Any]:
        return {
            "case": None if self.case is None else self.case.id,
            "run_id": self.run.id,
            "outcome": self.outcome,
            "answers": {way: self.ways[way] for way in ("exact", "nearest", "miss")},
            "has_misses": bool(self.ways["miss"]),
            "then": None if self.case is None else self.case.found.to_json(),
            "differences": {key: list(pair) for key, pair in self.differences().items()},
            "verdict": None if self.verdict is None else self.verdict.to_json(),
            "policies": {key: result.to_json() for key, result in self.policies.items()},
            "status": self.result.status,
            "error": self.result.error,
            "answer": self.result.answer,
            "trouble": None if self.result.trouble is None else self.result.trouble.to_json(),
        }


def judged(case: RecordedCase, result: Result, solver: SolverProcess, rules: Rules | None = None) -> Judged:
    """What the rules of a recorded case say of a new run of it."""
    run = _as_before(case, result) if result.agent == RECORDED else run_of(result, case)
    return _judged(run, result, case.rules, solver, rules or Rules(), case)


def judged_by(
    files: Sequence[RuleFile], result: Result, solver: SolverProcess, about: Mapping[str, Any]
) -> Judged:
    """What policies say of a run of somebody's own task; `about` are further fields of the run."""
    return _judged(replace(run_of(result), **_about(about)), result, files, solver, Rules(), None)


def _about(said: Mapping[str, Any]) -> dict[str, Any]:
    run = run_from_json({"run_id": "x", "calls": [], **said})
    return {
        name: getattr(run, name) for name in ("agent", "source", "model") if name in said
    } | {"extra": run.extra}  # fmt: skip


def _judged(
    run: Run, result: Result, files: Sequence[RuleFile], solver: SolverProcess, rules: Rules,
    case: RecordedCase | None,
) -> Judged:  # fmt: skip
    found: dict[str, PolicyResult] = {}
    for file in files:
        found |= by_policy([file], _with_aliases(run, read_rules(file).aliases), solver, rules)
    if case is not None and result.agent != RECORDED:
        found = dict(_whenever(found, run, files, solver, rules))
    bound = None if case is None else case.case
    verdict = None if bound is None else solver.judge(bound, run, rules)
    return Judged(result, run, verdict, found, case)


def _whenever(
    found: Mapping[str, PolicyResult],
    run: Run,
    files: Sequence[RuleFile],
    solver: SolverProcess,
    rules: Rules,
) -> Iterator[tuple[str, PolicyResult]]:
    """The results as far as they do not depend on how long things took."""
    plain = replace(rules, repair=False, z3="off")
    others = [
        dict(by_policy([file], _with_aliases(_dilated(run, *by), read_rules(file).aliases), solver, plain))
        for file in files
        for by in DILATIONS[1:]
        if any(call.start for call in run.calls)
    ]
    for key, result in found.items():
        said = {other[key].verdict for other in others if key in other}
        by_itself = result.verdict == "undecided"  # such as where the judge gave up
        if by_itself or said <= {result.verdict, "undecided"}:
            yield key, result
        else:
            yield key, replace(result, verdict="undecided", violations=(), explanation=HASTE)


def _dilated(run: Run, factor: int, later: int) -> Run:
    starts = [call.start[0] for call in run.calls if call.start]
    first = min(starts, default=0)

    def moved(at: Interval | None) -> Interval | None:
        if at is None:
            return None
        low, high = (min(first + factor * (t - first) + later * 10**9, 2**62) for t in at)
        return low, high

    calls = (replace(call, start=moved(call.start), end=moved(call.end)) for call in run.calls)
    return replace(run, calls=tuple(calls))


def run_of(result: Result, case: RecordedCase | None = None) -> Run:
    """The run as it was traced, or as its tools wrote it down where the tracer could not see that.

    Of a recorded case it has the fields of the recorded run that rules read, and what its user said.
    """
    seen = result.run
    record = dict(seen["record"]) if seen is not None else {}
    traced = record.get("calls") or []
    lost = [said for said in calls_agree({"calls": traced}, result.tool_log) if said.startswith("not traced")]
    if seen is None or (lost and len(traced) <= len(result.tool_log)):
        record |= {"calls": [_logged(call) for call in result.tool_log], "problems": [], "unseen": []}
    elif lost:
        record["problems"] = [*record.get("problems", ()), *lost]
    record |= {"run_id": seen["id"] if seen is not None else result.trace_id, "status": result.status}
    if case is not None:
        about = {k: v for k, v in case.run.to_json().items() if k not in OWN_FIELDS}
        record = {**record, **about, "query": case.query, "tools": [tool.name for tool in case.tools]}
        record["case_id"] = None if case.case is None else case.case.id
        if "messages" in case.run.extra:
            asked = {"role": "user", "content": case.query, "before_call": 0}
            record["messages"] = [asked, *result.heard]
    if result.trouble is not None:
        record["trouble"] = result.trouble.to_json()
    return run_from_json(record)


def _logged(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call as the tool's own log has it."""
    said = {"id": None, "name": call["name"], "arguments": call["arguments"]}
    said |= {"start_ns": [call["start"]] * 2, "end_ns": [call["end"]] * 2}
    return {**said, "error" if call.get("failed") else "result": call["result"]}


def _as_before(case: RecordedCase, result: Result) -> Run:
    """The recorded run with what its tools answered now; what was not carried out then stays as it was."""
    answers = iter(result.tool_log)
    calls = tuple(_answered(call, answers) for call in case.run.calls)
    run_id = result.trace_id if result.run is None else result.run["id"]
    made = replace(case.run, id=run_id, calls=calls)
    if "messages" not in case.run.extra:
        return made
    messages = list(_heard_again(case.run.extra["messages"], result.heard))
    return replace(made, extra={**case.run.extra, "messages": messages})


def _heard_again(
    messages: Sequence[Mapping[str, Any]], heard: Sequence[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """The messages of a recorded run, those of its user after the request as they came again."""
    again = iter(heard)
    asked = False
    for message in messages:
        if message.get("role") != "user" or not asked:
            yield message
        elif (said := next(again, None)) is not None:
            yield said
        asked = asked or message.get("role") == "user"


def _answered(call: ToolCall, answers: Iterator[Mapping[str, Any]]) -> ToolCall:
    if not call.executed:
        return call
    now = next(answers, None)
    if now is None:
        return replace(call, executed=False)
    failed = bool(now.get("failed"))
    result, error = (None, now["result"]) if failed else (now["result"], None)
    return replace(call, tool=now["name"], arguments=now["arguments"], result=result, error=error)


def _with_aliases(run: Run, aliases: Mapping[str, str]) -> Run:
    """The run with its fields under the names that a policy file has for them, too."""
    calls = tuple(replace(call, extra=_more(call, aliases)) for call in run.calls) if aliases else run.calls
    return replace(run, calls=calls)


def _more(call: ToolCall, aliases: Mapping[str, str]) -> Mapping[str, Any]:
    own = {"step": call.step, "with_text": call.with_text}
    added = {
        theirs: own[ours]
        for ours, theirs in aliases.items()
        if own.get(ours) is not None and theirs not in call.extra
    }
    return {**call.extra, **added}


def rate_of(outcomes: Sequence[str]) -> tuple[int, int]:
    """(passed, decided) of the outcomes of runs."""
    decided = [outcome for outcome in outcomes if outcome in ("pass", "fail")]
    return decided.count("pass"), len(decided)

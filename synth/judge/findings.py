"""What the calls of one run say about the actions of a test case: all findings and the primary type.

The rules that need no formula live here: limits, unknown tools, failures, lost and repeated actions
(paper, Tables 3 and 6). Order and time are claims, decided by `check`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from synth.formal.constraints import listed
from synth.formal.model import ERROR_TYPES, ErrorType, Finding
from synth.judge.rules import Rules
from synth.judge.wording import Wording, calls_in_words
from synth.observed.instants import observed_order
from synth.observed.run import Run, ToolCall, Unseen

Places = Mapping[str, list[int]]
"""Name -> positions of its calls, in observed order."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The calls of a run sorted by what they are."""

    order: Sequence[int]
    """Positions of all calls in observed order."""
    good: Places
    """Action -> its successes; actions in the order of their first success."""
    failed: Places
    """Action -> calls that ran into an error or could not be parsed."""
    silent: Places
    """Action -> calls that never finished, were blocked, or of which it is not known whether they ran."""
    strange: Places
    """Tool that is no action of the case -> its calls."""

    @property
    def first(self) -> dict[str, int]:
        """Action -> position of its first success, in observed order."""
        return {action: places[0] for action, places in self.good.items()}


def read_calls(
    actions: Mapping[str, str], calls: Sequence[ToolCall], order: Sequence[int] | None = None
) -> Reading:
    """Sort the calls (those in `order`, else all); `actions` maps tool names to action ids."""
    order = observed_order(calls) if order is None else order
    good: dict[str, list[int]] = {}
    failed: dict[str, list[int]] = {}
    silent: dict[str, list[int]] = {}
    strange: dict[str, list[int]] = {}
    for i in order:
        call = calls[i]
        action = actions.get(call.tool)
        if action is None:
            strange.setdefault(call.tool, []).append(i)
        elif call.error is None and call.finished and call.executed:
            if action in good:
                good[action].append(i)
            else:
                good[action] = [i]
        else:
            (failed if is_failure(call) else silent).setdefault(action, []).append(i)
    return Reading(order, good, failed, silent, strange)


def is_blocked(call: ToolCall) -> bool:
    """A guard stopped the call before it ran: a note, not a violation."""
    return call.executed is False and call.extra.get("blocked") is True


def is_failure(call: ToolCall) -> bool:
    """The call ended in an error, or its arguments could not be parsed."""
    if is_blocked(call) or call.executed is None:
        return False
    return call.error is not None or (not call.executed and isinstance(call.known_arguments, str))


def limits(run: Run, rules: Rules) -> Iterator[Finding]:
    """Timeouts and crashes; where trouble ended the run, neither its time nor its end are the agent's."""
    if run.trouble is None:
        yield from _stopped(run, rules)
    if run.iterations is not None and run.iterations > rules.iteration_limit:
        said = f"The agent used {run.iterations} iterations (limit {rules.iteration_limit})."
        yield Finding("timeout", "iterations", said)


def _stopped(run: Run, rules: Rules) -> Iterator[Finding]:
    if run.status == "timeout":
        yield Finding("timeout", "timeout", "The run was stopped by its time limit.")
    seconds = wall_seconds(run)
    if seconds is not None and seconds > rules.wall_limit:
        yield Finding("timeout", "wall_time", f"The run took {seconds:g} s (limit {rules.wall_limit:g} s).")
    if run.status == "crash":
        yield Finding("act_error", "agent_crash", "The agent crashed before it finished.")


def wall_seconds(run: Run) -> float | None:
    """How long the run took: as recorded, else at least from its first call's start to its last end."""
    if run.wall_seconds is not None:
        return run.wall_seconds
    starts = [call.start[1] for call in run.calls if call.start is not None]
    ends = [call.end[0] for call in run.calls if call.end is not None and call.finished]
    return max(0, max(ends) - min(starts)) / 1e9 if starts and ends else None


def strange_tools(reading: Reading, run: Run, rules: Rules) -> Iterator[Finding]:
    """Calls of tools that are no action of the case: invented ones, and offered ones the query leaves out."""
    for tool, calls in reading.strange.items():
        where = tuple(calls)
        if run.tools is None or tool not in run.tools:
            said = f"{tool} ({calls_in_words(where)}) is not a tool that was offered."
            yield Finding("act_error", "unknown_tool", said, where)
        else:
            said = f"{tool} ({calls_in_words(where)}) is offered, but the query does not ask for it."
            yield Finding("act_error" if rules.closed else "note", "outside_query", said, where)


def failures(
    actions: Sequence[str], reading: Reading, calls: Sequence[ToolCall], say: Wording
) -> Iterator[Finding]:
    """Failed, unfinished and lost actions."""
    if len(reading.good) == len(actions) and not reading.failed and not reading.silent:
        return
    for action in actions:
        failed, silent = reading.failed.get(action, []), reading.silent.get(action, [])
        if failed or silent:
            yield from _troubled(action, reading.good.get(action, []), failed, silent, calls, say)
        elif action not in reading.good:
            yield Finding("action_lost", "never_called", f"{say.task(action)} was never called.")


def _troubled(
    action: str,
    good: list[int],
    failed: list[int],
    silent: list[int],
    calls: Sequence[ToolCall],
    say: Wording,
) -> Iterator[Finding]:
    task = say.task(action)
    if failed and not good:
        reason = calls[failed[-1]].error or "its arguments could not be parsed"
        said = f"{task} failed ({calls_in_words(failed)}: {_short(reason)}) and never succeeded."
        yield Finding("act_error", "tool_error", said, tuple(failed))
    elif failed:
        late = any(i > good[-1] for i in failed)
        code, what = (
            ("failed_repeat", "failed after a success") if late else ("recovered", "failed, then succeeded")
        )
        yield Finding("note", code, f"{task} {what} ({calls_in_words(failed)}).", tuple(failed))
    for i in silent:
        yield Finding("note", *_silence(calls[i], i, task), calls=(i,))
    if not good:
        tried = sorted((*failed, *silent))
        said = f"{task} was called ({calls_in_words(tried)}) but never succeeded."
        yield Finding("action_lost", "never_succeeded", said, tuple(tried))


def _silence(call: ToolCall, position: int, task: str) -> tuple[str, str]:
    if is_blocked(call):
        return "blocked", f"{task} (call {position}) was blocked before it ran."
    if call.executed is None:
        return "not_known", f"{task} (call {position}) was requested; whether it ran is not known."
    if not call.executed:
        return "not_executed", f"{task} (call {position}) was requested but never ran."
    return "unfinished", f"{task} (call {position}) never finished."


def repeats(reading: Reading, rules: Rules, say: Wording) -> Iterator[Finding]:
    """Actions that were done again after they had succeeded."""
    if sum(map(len, reading.good.values())) == len(reading.good):
        return
    for action, places in reading.good.items():
        if len(places) > 1:
            said = f"{say.task(action)} was done {len(places)} times ({calls_in_words(places)})."
            yield Finding("order_error" if rules.once else "note", "repeated", said, tuple(places))


_RANK = {name: i for i, name in enumerate((*ERROR_TYPES, "note"))}


def ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, by priority of their type; notes last; else in the order in which they were found."""
    return tuple(sorted(findings, key=lambda finding: _RANK[finding.type]))


def primary(findings: Iterable[Finding]) -> ErrorType | None:
    """The error type a run counts under: the first by priority."""
    found = {finding.type for finding in findings}
    return next((name for name in ERROR_TYPES if name in found), None)


def gap(gaps: Iterable[Unseen]) -> Finding:
    """The evidence has holes."""
    problems = listed(dict.fromkeys(unseen.problem for unseen in gaps))
    said = f"The evidence is incomplete ({problems}): what was not seen may still have happened."
    return Finding("note", "incomplete_evidence", said)


def _short(text: str, limit: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."

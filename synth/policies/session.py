"""The runs of one conversation as one run, for policies with `scope: session`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from math import inf
from typing import Any

from synth.errors import BadInput
from synth.observed.clocks import ANY_TIME, LISTED, UNORDERED
from synth.observed.instants import has_times
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies.evidence import Part
from synth.policies.model import PolicyResult, PolicySet

Judge = Callable[[PolicySet, Run, Part | None], tuple[PolicyResult, ...]]
"""Judges what was joined; with a part, what its calls alone contribute."""


def judge_turn(
    judge: Judge, policies: PolicySet, runs: Sequence[Run], turn: int, *, goes_on: bool = False
) -> tuple[PolicyResult, ...]:
    """What one run of a conversation contributes: results with positions in its own calls.

    It is judged after the runs before it, and beside those that began before its last call did. Later runs
    count where a call that comes later could put right what it did not keep; what the whole conversation
    owes, such as a minimum of calls, is asked of its last run. `goes_on`: more runs may come.
    """
    runs = anywhere(runs)
    before = sum(len(run.calls) for run in runs[:turn])
    own = range(before, before + len(runs[turn].calls))
    known = _beside(runs, turn)
    all_known = known == len(runs)
    early = _joined(policies, runs[:known], turn, goes_on=goes_on or not all_known)
    results = judge(policies, early, Part(own, last=not all_known or turn == len(runs) - 1))
    if not all_known and any(result.awaits for result in results):
        whole = judge(policies, _joined(policies, runs, turn, goes_on=goes_on), Part(own, last=False))
        results = tuple(w if r.awaits else r for r, w in zip(results, whole, strict=True))
    return tuple(_own(result, runs[turn], own) for result in results)


def _beside(runs: Sequence[Run], turn: int) -> int:
    """How many runs began, as far as is known, before the last call of this one."""
    began = [call.start[1] for call in runs[turn].calls if call.start is not None]
    after = range(turn + 1, len(runs))
    return max((k + 1 for k in after if began and _begin(runs[k]) <= max(began)), default=turn + 1)


def _begin(run: Run) -> float:
    return min((call.start[0] for call in run.calls if call.start is not None), default=inf)


def _overlap(runs: Sequence[Run]) -> bool:
    """May calls of one have begun before those of an earlier one had ended?"""
    over = -inf
    for run in runs:
        if _begin(run) < over:
            return True
        over = max([over, *(call.end[1] for call in run.calls if call.end is not None)])
    return False


def _joined(policies: PolicySet, runs: Sequence[Run], turn: int, *, goes_on: bool) -> Run:
    joined = join_runs(runs, policies.aliases, turn)
    return replace(joined, status="running", trouble=None) if goes_on else joined


def _own(result: PolicyResult, run: Run, own: range) -> PolicyResult:
    """The result as this run's."""
    inside = tuple(index - own.start for index in result.violations if index in own)
    details = dict(result.details)
    if isinstance(bad := details.get("first_bad"), int):
        details["first_bad"] = bad - own.start
    repair = None if result.repair is None else result.repair.within(own)
    return replace(result, run_id=run.id, violations=inside, details=details, repair=repair)


def join_runs(runs: Sequence[Run], aliases: Mapping[str, str] | None = None, turn: int = -1) -> Run:
    """One run with the calls of all, in the given order; model messages of different runs stay apart.

    It has the gaps of each, and the fields of the run at `turn`; it is running while the last one runs.
    `aliases` are those of the policy file: they name the fields that number model messages and hold what
    was said. Messages of runs that overlap are not ordered.
    """
    if not runs:
        raise BadInput("a session needs at least one run")
    runs, aliases = anywhere(_owned(runs)), aliases or {}
    return replace(
        runs[turn],
        id=runs[0].id,
        status=runs[-1].status,
        trouble=runs[-1].trouble,
        calls=tuple(_calls(runs, aliases.get("step"))),
        query=runs[0].query,
        tools=_offered(runs),
        problems=tuple(dict.fromkeys(problem for run in runs for problem in run.problems)),
        unseen=tuple(_gaps(runs)),
        extra=_fields(runs, runs[turn].extra, aliases.get("messages", "messages")),
    )


def _owned(runs: Sequence[Run]) -> Sequence[Run]:
    """The runs, where their agents differ with the agent of each call."""
    if len({run.agent for run in runs}) < 2:
        return runs
    return [
        replace(
            run, calls=tuple(call if call.agent else replace(call, agent=run.agent) for call in run.calls)
        )
        for run in runs
    ]


def anywhere(runs: Sequence[Run]) -> Sequence[Run]:
    """The runs; where some have times, the calls of the others may have been made at any time.

    Where none has, the order of the runs is all that is known, as is that of the calls in a run.
    """
    called = [run for run in runs if run.calls]
    timeless = [all(call.start is None for call in run.calls) for run in called]
    if not any(timeless) or all(timeless):
        return runs
    return [run if has_times(run.calls) else _adrift(run, place) for place, run in enumerate(runs)]


def _adrift(run: Run, place: int) -> Run:
    calls = (
        replace(
            call, start=ANY_TIME, end=ANY_TIME if call.finished else None, extra={**call.extra, LISTED: place}
        )
        for call in run.calls
    )
    return replace(run, calls=tuple(calls))


def _offered(runs: Sequence[Run]) -> tuple[str, ...] | None:
    """The tools of all; not known where calls are missing from a run that does not say which it offered."""
    lists = [run.tools for run in runs if run.tools is not None]
    if not lists or any(run.tools is None and run.lost for run in runs):
        return None
    return tuple(dict.fromkeys(name for names in lists for name in names))


def _gaps(runs: Sequence[Run]) -> Iterator[Unseen]:
    """What was not seen of each run, placed among the calls of all."""
    offset = 0
    for run in runs:
        for gap in run.lost:
            after, before = (None if at is None else at + offset for at in (gap.after, gap.before))
            yield replace(gap, after=after, before=before)
        offset += len(run.calls)


def _calls(runs: Sequence[Run], foreign: str | None) -> Iterator[ToolCall]:
    """Every call with the number of its model message raised above those of earlier runs."""
    offset = 0
    apart = {UNORDERED: True} if _overlap(runs) else {}
    for place, run in enumerate(runs):
        for call in run.calls:
            step = None if call.step is None else call.step + offset
            extra = {**call.extra, **apart} if apart else call.extra
            if foreign is not None and foreign in extra:
                extra = {**extra, foreign: [place, extra[foreign]]}
            yield call if (step, extra) == (call.step, call.extra) else _numbered(call, step, extra)
        offset += max((call.step for call in run.calls if call.step is not None), default=-1) + 1


def _numbered(call: ToolCall, step: int | None, extra: Mapping[str, Any]) -> ToolCall:
    """The call with these two fields, in a quarter of the time that `replace` takes."""
    if type(call) is not ToolCall:
        return replace(call, step=step, extra=extra)
    made = _new(ToolCall)
    for get, put in _OTHERS:
        put(made, get(call))
    _put_step(made, step)
    _put_extra(made, extra)
    return made


_new = object.__new__
_put_step, _put_extra = (getattr(ToolCall, name).__set__ for name in ("step", "extra"))
_OTHERS = [
    (getattr(ToolCall, part.name).__get__, getattr(ToolCall, part.name).__set__)
    for part in fields(ToolCall)
    if part.name not in ("step", "extra")
]


def _fields(runs: Sequence[Run], own: Mapping[str, Any], messages: str) -> Mapping[str, Any]:
    """The fields, with what was said in all runs placed among the calls of all."""
    if not isinstance(own.get(messages), list):
        return own
    said: list[Any] = []
    offset = 0
    for run in runs:
        these = run.extra.get(messages)
        said += [_later(message, offset) for message in these] if isinstance(these, list) else []
        offset += len(run.calls)
    return {**own, messages: said}


def _later(message: Any, offset: int) -> Any:
    if not isinstance(message, Mapping) or not isinstance(message.get("before_call"), int):
        return message
    return {**message, "before_call": message["before_call"] + offset}

"""The runs of one conversation as one run, for policies with `scope: session`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall, Unseen

MOST_EARLIER = 50
"""So many earlier runs of a conversation are judged together with the newest."""


def last_runs(earlier: Sequence[Run]) -> list[Run]:
    """The newest `MOST_EARLIER` runs, oldest first; the first of them says if others are left out."""
    kept = list(earlier[-MOST_EARLIER:])
    if len(kept) < len(earlier):
        first = kept[0]
        said = f"only the last {MOST_EARLIER} earlier runs of this conversation are judged together"
        gap = Unseen(said, before=0 if first.calls else None)
        kept[0] = replace(first, problems=(*first.problems, said), unseen=(*first.unseen, gap))
    return kept


def join_runs(runs: Sequence[Run], aliases: Mapping[str, str] | None = None) -> Run:
    """One run with the calls of all, in the given order; model messages of different runs stay apart.

    It is running while the last one runs, and has the gaps of each. `aliases` are those of the policy
    file: they name the fields that number model messages and hold what was said.
    """
    if not runs:
        raise BadInput("a session needs at least one run")
    aliases = aliases or {}
    return replace(
        runs[-1],
        id=runs[0].id,
        calls=tuple(_calls(runs, aliases.get("step"))),
        query=runs[0].query,
        tools=_offered(runs),
        problems=tuple(dict.fromkeys(problem for run in runs for problem in run.problems)),
        unseen=tuple(_gaps(runs)),
        extra=_fields(runs, aliases.get("messages", "messages")),
    )


def _offered(runs: Sequence[Run]) -> tuple[str, ...] | None:
    """The tools of all; not known where calls are missing from a run that does not say which it offered."""
    lists = [run.tools for run in runs if run.tools is not None]
    if not lists or any(run.tools is None and run.gaps for run in runs):
        return None
    return tuple(dict.fromkeys(name for names in lists for name in names))


def _gaps(runs: Sequence[Run]) -> Iterator[Unseen]:
    """What was not seen of each run, placed among the calls of all."""
    offset = 0
    for run in runs:
        for gap in run.gaps:
            after, before = (None if at is None else at + offset for at in (gap.after, gap.before))
            yield replace(gap, after=after, before=before)
        offset += len(run.calls)


def _calls(runs: Sequence[Run], foreign: str | None) -> Iterator[ToolCall]:
    """Every call with the number of its model message raised above those of earlier runs."""
    offset = 0
    for place, run in enumerate(runs):
        for call in run.calls:
            step = None if call.step is None else call.step + offset
            extra = call.extra
            if foreign is not None and foreign in extra:
                extra = {**extra, foreign: [place, extra[foreign]]}
            yield replace(call, step=step, extra=extra)
        offset += max((call.step for call in run.calls if call.step is not None), default=-1) + 1


def _fields(runs: Sequence[Run], messages: str) -> Mapping[str, Any]:
    """The last run's own fields, with what was said in all runs placed among the calls of all."""
    fields = runs[-1].extra
    if not isinstance(fields.get(messages), list):
        return fields
    said: list[Any] = []
    offset = 0
    for run in runs:
        own = run.extra.get(messages)
        said += [_later(message, offset) for message in own] if isinstance(own, list) else []
        offset += len(run.calls)
    return {**fields, messages: said}


def _later(message: Any, offset: int) -> Any:
    if not isinstance(message, Mapping) or not isinstance(message.get("before_call"), int):
        return message
    return {**message, "before_call": message["before_call"] + offset}

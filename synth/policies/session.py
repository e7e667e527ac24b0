"""The runs of one conversation as one run, for policies with `scope: session`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from synth.errors import BadInput
from synth.run import Run


def join_runs(runs: Sequence[Run]) -> Run:
    """One run with the calls of all, in the given order; model messages of different runs stay apart.

    It is running while the last one runs, and has the gaps of each.
    """
    if not runs:
        raise BadInput("a session needs at least one run")
    calls = []
    offset = 0
    for run in runs:
        steps = [call.step for call in run.calls if call.step is not None]
        calls += [call if call.step is None else replace(call, step=call.step + offset) for call in run.calls]
        offset += max(steps, default=-1) + 1
    tools = [run.tools for run in runs if run.tools is not None]
    return replace(
        runs[-1],
        id=runs[0].id,
        calls=tuple(calls),
        query=runs[0].query,
        tools=tuple(dict.fromkeys(name for names in tools for name in names)) if tools else None,
        problems=tuple(dict.fromkeys(problem for run in runs for problem in run.problems)),
    )

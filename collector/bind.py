"""Which case a run belongs to, and whether it has ended.

A case comes from `pdoctor.case.id` or from a registered trace id. A run has ended when its root span
and every announced call are here; without an announcement, after a grace time; without a root, after
an idle time. A conversation without a run span has ended when its newest model call asks for no tool
and a grace time passed; while it asks, an idle time. All waiting counts from arrival, never from the
times in the spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from collector.model import Binding, Rebuilt, Run
from collector.settings import Settings
from synth.run import Status


@dataclass(frozen=True, slots=True)
class Arrival:
    """When a run's spans came, Unix seconds."""

    now: float
    last_seen: float
    root_seen: float | None


@dataclass(frozen=True, slots=True)
class Ending:
    """Whether a run is complete; if not, when to look again."""

    complete: bool
    look_again: float | None = None
    problem: str | None = None


def ending(rebuilt: Rebuilt, binding: Binding | None, arrival: Arrival, settings: Settings) -> Ending:
    """Decide completeness; a problem says what is missing although the wait is over."""
    if rebuilt.all_calls_arrived:
        return Ending(True)
    quiet_since = arrival.last_seen
    if binding is not None and binding.status is not None:
        wait, problem = settings.grace_seconds, _missing(rebuilt, rootless_is_gap=binding.status == "ok")
        quiet_since = max(quiet_since, binding.at)
    elif rebuilt.pending is not None:
        wait, problem = settings.idle_seconds if rebuilt.pending else settings.grace_seconds, None
    elif rebuilt.has_root:
        wait, problem = settings.grace_seconds, _missing(rebuilt, rootless_is_gap=False)
    else:
        wait, problem = settings.idle_seconds, _missing(rebuilt, rootless_is_gap=True)
    over = quiet_since + wait
    if arrival.now >= over:
        return Ending(True, problem=problem)
    return Ending(False, look_again=over)


def _missing(rebuilt: Rebuilt, *, rootless_is_gap: bool) -> str | None:
    if rebuilt.expected_calls is not None and len(rebuilt.run.calls) < rebuilt.expected_calls:
        return f"the run announced {rebuilt.expected_calls} calls, {len(rebuilt.run.calls)} arrived"
    if rootless_is_gap and not rebuilt.spans:
        return "no span of this run ever arrived: is the agent's program traced, and to this collector?"
    if rootless_is_gap and not rebuilt.has_root:
        return "the span of the run itself never arrived: the program may have been killed"
    return None


def bound_run(rebuilt: Rebuilt, binding: Binding | None, end: Ending) -> Run:
    """The run as it is judged: with its case, its status and every known gap."""
    run = rebuilt.run
    status: Status = "running"
    if end.complete:
        status = _status(binding)
    return replace(
        run,
        case_id=binding.case_id if binding is not None else run.case_id,
        status=status,
        wall_seconds=binding.wall_seconds if binding is not None else None,
        iterations=binding.iterations if binding is not None else None,
        problems=(*run.problems, end.problem) if end.problem else run.problems,
        extra={
            name: value
            for name, value in (("service", rebuilt.service), ("session", rebuilt.session))
            if value is not None
        },
    )


def _status(binding: Binding | None) -> Status:
    if binding is None or binding.status is None:
        return "ok"
    known: dict[str, Status] = {"ok": "ok", "timeout": "timeout", "crash": "crash"}
    return known[binding.status]


def binding_of(
    run_key: str, traces: Iterable[str], project: int, bindings: Mapping[tuple[int, str], Binding]
) -> Binding | None:
    """The registration that applies: of the run's own id, else of a trace it has spans in."""
    for trace in (run_key, *traces):
        if found := bindings.get((project, trace)):
            return found
    return None

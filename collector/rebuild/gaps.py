"""What of a run was not seen: holes in its numbering, spans that others point to, spans that were sampled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from collector.dialects import SeenAgent, SeenCall, SeenModel
from collector.dialects.names import DROPPED_SPANS, SCOPE_NAME
from collector.dialects.reading import json_value, loaded, whole
from collector.model import HAS_IS_REMOTE, IS_REMOTE, Span, Unseen
from collector.rebuild.parts import run_id_of
from collector.rebuild.survey import Survey
from synth.observed import ends_early

_THRESHOLD = re.compile(r"(?:^|[,;])(?:ot=(?:[^,]*;)?)?th:([0-9a-f]{1,14})(?=[;,]|$)")


def is_topped(calls: Sequence[SeenCall], agents: Sequence[SeenAgent]) -> bool:
    """Does an agent's span lie over all calls? Then a parent of it that never came is not the run's."""
    first = min([seen.span.start_ns for seen in calls], default=0)
    last = max([seen.span.end_ns for seen in calls], default=0)
    return any(agent.span.start_ns <= first and last <= agent.span.end_ns for agent in agents)


Numbers = Mapping[str | None, Mapping[int, int]]
"""Run id -> number of a call -> its position."""


def arrived_calls(calls: Iterable[SeenCall], agents: Sequence[SeenAgent]) -> int:
    """How many calls belong to the counts that agents' spans announced: those of their own scopes."""
    scopes = {agent.span.scope for agent in agents if agent.announced_calls is not None}
    return sum(seen.span.scope in scopes for seen in calls)


def announced_calls(agents: Sequence[SeenAgent]) -> dict[str | None, int]:
    """Run id -> how many calls of it there were, by what its roots announced."""
    found: dict[str | None, int] = {}
    for agent in agents:
        if agent.announced_calls is not None:
            run_id = run_id_of(agent.span)
            found[run_id] = max(found.get(run_id, 0), agent.announced_calls)
    return found


def tail(numbers: Numbers, announced: Mapping[str | None, int]) -> Unseen | None:
    """The announced calls after the last that arrived; None where calls are not numbered."""
    tails = [
        Unseen(after=own[max(own)], calls=max(0, announced[run_id] - max(own) - 1))
        for run_id, own in numbers.items()
        if run_id in announced
    ]
    lacking = [one for one in tails if one.calls] or tails[-1:]
    if not lacking:
        return None
    first = min(lacking, key=lambda one: one.after or 0)
    return replace(first, calls=sum(one.calls or 0 for one in lacking))


def gaps(
    calls: Sequence[SeenCall], spans: Sequence[Span], numbers: Numbers, run: Survey, *, everything_came: bool
) -> Iterator[Unseen]:
    """Everything that is known to be missing; `everything_came`: every announced call is here."""
    missing = [hole for own in numbers.values() for hole in _holes(own)]
    yield from missing
    dropped = _dropped(spans[:1] if run.one_sender else spans)
    if dropped and (missing or not everything_came):
        yield Unseen(f"the sender has dropped {dropped} records because its queue was full")
    if run.says_parent_is_here and not any(seen.span.scope == SCOPE_NAME for seen in calls):
        yield from _lost_parents(calls, spans)
    if run.has_states:
        yield from _sampled(spans)


JSON = ("{", "[", '"')
"""How JSON text begins, as far as it tells of messages: other text is told apart without reading it."""


def cut_messages(models: Sequence[SeenModel]) -> Iterator[Unseen]:
    """Model calls with messages that lost their end: requests and answers may have stood there."""
    for model in models:
        begun = [
            (name, said)
            for name, said in loaded(model.span).items()
            if isinstance(said, str) and said.lstrip()[:1] in JSON
        ]
        if any(name not in model.read_whole and _is_cut(said) for name, said in begun):
            yield Unseen("the messages of a model call were cut: calls may be missing from them")
            return


def _is_cut(said: str) -> bool:
    """Is what begins like JSON text not all of it?"""
    return isinstance(json_value(said), str) and ends_early(said)


def _holes(numbered: Mapping[int, int]) -> list[Unseen]:
    """One entry for each run of missing numbers; they share the sentence that names them all."""
    there = sorted(numbered)
    edges = list(zip([-1, *there], there, strict=False))
    lost = [number for before, after in edges for number in range(before + 1, min(after, before + 7))]
    count = sum(after - before - 1 for before, after in edges)
    if not count:
        return []
    shown = ", ".join(map(str, lost[:5])) + (", ..." if count > 5 else "")
    said = f"{count} calls are missing: no span has step index {shown}"
    return [
        Unseen(said, numbered.get(before), numbered[after], after - before - 1)
        for before, after in edges
        if after - before > 1
    ]


def _dropped(spans: Iterable[Span]) -> int:
    resources = {id(span.resource): span.resource for span in spans}.values()
    return max((whole(resource.get(DROPPED_SPANS)) or 0 for resource in resources), default=0)


def _lost_parents(calls: Sequence[SeenCall], spans: Sequence[Span]) -> Iterator[Unseen]:
    """Spans below the top one whose parent, in the same process, never came, while others' parents did."""
    there = {(span.trace_id, span.span_id) for span in spans}
    scopes = {seen.span.scope for seen in calls}
    own = [span for span in spans if span.scope in scopes and span.parent_id is not None]
    top = min(spans, key=lambda span: (span.start_ns, -span.end_ns), default=None)
    whole_scopes = {span.scope for span in own if (span.trace_id, span.parent_id) in there}
    lost = {
        (span.trace_id, span.parent_id)
        for span in own
        if span is not top
        and span.scope in whole_scopes
        and (span.trace_id, span.parent_id) not in there
        and span.flags & HAS_IS_REMOTE
        and not span.flags & IS_REMOTE
    }
    if lost:
        yield Unseen(f"{len(lost)} spans are missing that others name as their parent")


def _sampled(spans: Sequence[Span]) -> Iterator[Unseen]:
    """Spans of one trace with different thresholds: single spans were sampled, not the trace."""
    found: dict[str, set[str]] = {}
    for span in spans:
        if span.trace_state and (match := _THRESHOLD.search(span.trace_state)):
            found.setdefault(span.trace_id, set()).add(match[1].rstrip("0") or "0")
    if any(len(thresholds) > 1 for thresholds in found.values()):
        yield Unseen("spans of this trace were sampled with different thresholds: some were left out")

"""What of a run was not seen: holes in its numbering, spans that others point to, spans that were sampled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from collector.dialects import SeenAgent, SeenCall
from collector.dialects.names import DROPPED_SPANS, SCOPE_NAME
from collector.dialects.reading import whole
from collector.model import HAS_IS_REMOTE, IS_REMOTE, Span, Unseen

_THRESHOLD = re.compile(r"(?:^|[,;])(?:ot=(?:[^,]*;)?)?th:([0-9a-f]{1,14})(?=[;,]|$)")


def is_topped(calls: Sequence[SeenCall], agents: Sequence[SeenAgent]) -> bool:
    """Does an agent's span lie over all calls? Then a parent of it that never came is not the run's."""
    first = min((seen.span.start_ns for seen in calls), default=0)
    last = max((seen.span.end_ns for seen in calls), default=0)
    return any(agent.span.start_ns <= first and last <= agent.span.end_ns for agent in agents)


def own_calls(calls: Sequence[SeenCall], agents: Sequence[SeenAgent]) -> list[int]:
    """Positions of the calls that belong to the count an agent's span announced: those of its own scope."""
    scopes = {agent.span.scope for agent in agents if agent.announced_calls is not None}
    return [i for i, seen in enumerate(calls) if seen.span.scope in scopes]


def tail(calls: Sequence[SeenCall], own: Sequence[int], expected: int | None) -> Unseen | None:
    """The announced calls after the last that arrived; None where calls are not numbered."""
    numbered = {calls[i].number: i for i in own if calls[i].number is not None}
    last = max((number for number in numbered if number is not None), default=None)
    if expected is None or last is None:
        return None
    return Unseen(after=numbered[last], calls=max(0, expected - last - 1))


def gaps(calls: Sequence[SeenCall], spans: Sequence[Span], *, everything_came: bool) -> Iterator[Unseen]:
    """Everything that is known to be missing; `everything_came`: every announced call is here."""
    numbered = {seen.number: i for i, seen in enumerate(calls) if seen.number is not None}
    missing = _holes(numbered)
    yield from missing
    dropped = _dropped(spans)
    if dropped and (missing or not everything_came):
        yield Unseen(f"the sender has dropped {dropped} records because its queue was full")
    if not any(seen.span.scope == SCOPE_NAME for seen in calls):
        yield from _lost_parents(calls, spans)
    yield from _sampled(spans)


def _holes(numbered: dict[int, int]) -> list[Unseen]:
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

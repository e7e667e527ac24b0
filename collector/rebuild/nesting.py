"""What stood inside what in a run: agents, the models they asked, the tools they called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from collector.dialects import SeenAgent, SeenModel
from collector.model import Span
from collector.rebuild import Told

ABOVE = 200
"""Spans from one to the next of those that are shown; no tracer nests deeper."""


@dataclass(slots=True)
class Node:
    """An agent, a model call or the call of a tool: one of the three."""

    place: tuple[int, int]
    """Where it stands among its neighbours."""
    agent: SeenAgent | None = None
    model: SeenModel | None = None
    call: int | None = None
    """Position in the run."""
    depth: int = 0
    inside: list[Node] = field(default_factory=list)

    @property
    def span(self) -> Span | None:
        seen = self.agent or self.model
        return None if seen is None else seen.span


def nested(run: Told, spans: Sequence[Span]) -> list[Node]:
    """All nodes of a run, each followed by what stands inside it.

    The calls of one agent keep their order in the run. An agent that says nothing new is left out: the only
    one at the top, and one right inside another of its name, whose span is that of another layer.
    """
    calls = _calls(run)
    agents = [Node((seen.span.start_ns, -1), agent=seen) for seen in run.agents]
    models = [Node((seen.span.start_ns, -1), model=seen) for seen in run.models]
    known = {span.span_id: span for span in spans}
    shown: dict[str, Node] = {}
    for node in (*agents, *models, *calls):
        shown.setdefault(_id(node, run), node)
    top: list[Node] = []
    for node in (*agents, *calls, *models):
        above = _above(_id(node, run), node, known, shown)
        (top if above is None else above.inside).append(node)
    around = None
    if len(top) == 1 and (outermost := top[0].agent) is not None:
        top, around = top[0].inside, outermost.agent
    found = list(_in_order(top, around))
    reached = {node.call for node in found}
    return [*found, *(node for node in calls if node.call not in reached)]  # of spans that lie in a circle


def _calls(run: Told) -> list[Node]:
    starts = [call.start[0] if call.start else 0 for call in run.run.run.calls]
    return [Node((at, position), call=position) for position, at in enumerate(accumulate(starts, max))]


def _id(node: Node, run: Told) -> str:
    return run.run.span_ids[node.call] if node.call is not None else node.span.span_id if node.span else ""


def _above(span_id: str, node: Node, known: Mapping[str, Span], shown: Mapping[str, Node]) -> Node | None:
    """The next node above a span."""
    for _ in range(ABOVE):
        span = known.get(span_id)
        if span is None or span.parent_id is None:
            return None
        span_id = span.parent_id
        found = shown.get(span_id)
        if found is not None and found is not node:
            return found
    return None


def _in_order(nodes: Sequence[Node], around: str | None) -> Iterator[Node]:
    waiting = [(node, around, 0) for node in sorted(nodes, key=_place, reverse=True)]
    while waiting:
        node, name, depth = waiting.pop()
        own, inner = name, depth
        if node.agent is None or (node.agent.agent or name) != name:
            node.depth, inner = depth, depth + 1
            own = node.agent.agent or name if node.agent else name
            yield node
        if node.inside:
            inside = sorted(node.inside, key=_place, reverse=True)
            waiting += [(one, own, inner) for one in inside]


def _place(node: Node) -> tuple[int, int]:
    return node.place

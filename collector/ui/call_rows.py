"""What was called in a run, as lines of a table: nested, on one time axis, like neighbours folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from collector.api.views import call_items, tells_no_time
from collector.dialects.reading import Message, SeenModel
from collector.model import Rebuilt, ToolCall
from collector.rebuild.nesting import Node
from collector.ui.words import lasting
from synth.pictures import LANE, lane

SHOWN = 200
"""Lines on one page, and steps of one plan; links to calls of one finding are a quarter of it."""
FOLDED_FROM, FOLD = 100, 3
"""In a run of more calls, so many neighbours that are alike become one line."""
MOST_TOOLS = 12
"""That the rest is summed up by."""
NARROWEST = 4.0
"""A bar is never narrower, so that instant calls stay visible."""
LONGEST = 20_000
"""Characters of a message; all of it is in its span."""

Line = tuple[Node, ...]
"""One node, or the like neighbours that are folded."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    kind: Literal["agent", "model", "call", "fold"]
    depth: int
    index: int | None
    """Of its call, or of the first of the folded ones."""
    name: str
    bar: str
    """A picture of when it ran."""
    start: str
    """After the start of the run."""
    duration: str
    call: Mapping[str, Any] | None = None
    state: str = "ok"
    """Of a call: `ok`, `error`, `missing` (requested, never run) or `unknown` (requested, maybe run)."""
    findings: tuple[int, ...] = ()
    inferred: bool = False
    is_dead_end: bool = False
    count: int = 1
    last: int | None = None
    """The last of the folded calls."""
    together: str = ""
    """`first`, `middle` or `last` of the neighbours that one message of the model asked for."""
    near: tuple[float, float] | None = None
    """A stretch of the axis around it: from and to, in ms after the start of the run."""
    model: SeenModel | None = None
    given: tuple[Message, ...] = ()
    """What the model was told since it was asked before."""
    span_id: str | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """Wall-clock nanoseconds to a position on the page."""

    start: int
    length: int
    origin: int
    """The first instant, which times are told after."""
    whole: int
    """How long all of it is."""

    @classmethod
    def of(cls, rebuilt: Rebuilt, within: tuple[float, float] | None = None) -> Axis:
        """From the first to the last instant of calls (a run's own span may wait long before them).

        `within`: only so many ms after the first instant, from and to.
        """
        calls = rebuilt.run.calls
        starts = [call.start[0] for call in calls if call.start and not tells_no_time(call.start)]
        ends = [call.end[1] for call in calls if call.end and not tells_no_time(call.end)]
        starts += [model.start_ns for model in rebuilt.models]
        ends += [model.end_ns for model in rebuilt.models]
        start = min(starts, default=0)
        whole = max(max(ends, default=start) - start, 1)
        if within is None:
            return cls(start, whole, start, whole)
        first, last = sorted(min(max(int(at * 1e6), 0), whole) for at in within)
        return cls(start + first, max(last - first, 1), start, whole)

    @property
    def ends(self) -> tuple[float, float]:
        """Its first and last instant, in ms after the start of the run."""
        return (self.start - self.origin) / 1e6, (self.start + self.length - self.origin) / 1e6

    def near(self, first: int, last: int) -> tuple[float, float]:
        """The stretch with a bar in the middle half of it, in ms after the start of the run."""
        room = max(last - first, self.whole // 1000) / 2
        return max(first - room - self.origin, 0.0) / 1e6, (last + room - self.origin) / 1e6

    def place(self, at: int) -> float:
        return min(max((at - self.start) / self.length, 0.0), 1.0) * LANE

    def bar(self, first: int, last: int) -> tuple[float, float] | None:
        """(x, width); None for what lies beyond its ends."""
        if first > self.start + self.length or last < self.start:
            return None
        left = min(self.place(first), LANE - NARROWEST)
        return left, min(max(self.place(last) - left, NARROWEST), LANE - left)


def times(call: ToolCall) -> tuple[int, int] | None:
    """The bounds within which a call ran; None where no clock tells."""
    if not call.start or not call.end or tells_no_time(call.start) or tells_no_time(call.end):
        return None
    return call.start[0], call.end[1]


def folded(
    nodes: Sequence[Node], calls: Sequence[ToolCall], never: Collection[int | None], opened: int | None
) -> list[Line]:
    """The lines of a run; what model calls stand between folded calls is folded with them.

    Calls of `never` stand alone, and so do those of the stretch that holds the call `opened`.
    """
    if len(calls) <= FOLDED_FROM:
        return [(node,) for node in nodes]
    kinds = [None if at in never else (call.tool, state_of(call)) for at, call in enumerate(calls)]
    lines: list[Line] = []
    at = 0
    while at < len(nodes):
        like = tuple(_like(nodes, at, kinds))
        own = [node.call for node in like if node.call is not None]
        fold = len(own) >= FOLD and opened not in own
        lines += [like] if fold else [(node,) for node in like]
        at += len(like)
    return lines


def _like(nodes: Sequence[Node], at: int, kinds: Sequence[object]) -> Sequence[Node]:
    """The node, with those after it that say the same: calls of its kind, and models between them."""
    first, last = nodes[at], at
    kind = None if first.call is None or first.inside else kinds[first.call]
    if kind is not None:
        for place in range(at + 1, len(nodes)):
            node = nodes[place]
            if node.depth != first.depth or node.inside or node.agent is not None:
                break
            if node.call is not None:
                if kinds[node.call] != kind:
                    break
                last = place
    return nodes[at : last + 1]


def state_of(call: ToolCall) -> str:
    if call.executed is None:
        return "unknown"
    return "missing" if not call.executed else "error" if call.error is not None else "ok"


@dataclass(frozen=True, slots=True)
class Window:
    """Which lines of a run are shown, and what the others are."""

    lines: Sequence[Line]
    part: int
    parts: int
    total: int
    """Calls of the run."""
    shown: frozenset[int]
    """Calls that have a line of their own here."""
    rest: tuple[tuple[str, int, int], ...]
    """(tool, calls, failed ones) of those on other parts, the most frequent first."""
    more: int
    """Tools that are not among them."""

    @classmethod
    def of(
        cls, lines: Sequence[Line], calls: Sequence[ToolCall], call: int | None, part: int | None
    ) -> Window:
        """The part that is asked for, else the one that shows a call."""
        if part is None:
            held = (at for at, line in enumerate(lines) if any(node.call == call for node in line))
            part = 0 if call is None else next(held, 0) // SHOWN
        parts = max(1, -(-len(lines) // SHOWN))
        part = min(part, parts - 1)
        here = lines[part * SHOWN : (part + 1) * SHOWN]
        inside = {node.call for line in here for node in line}
        others = [one for at, one in enumerate(calls) if at not in inside]
        counts = Counter(one.tool for one in others)
        failed = Counter(one.tool for one in others if one.error is not None)
        most = tuple((name, count, failed[name]) for name, count in counts.most_common(MOST_TOOLS))
        alone = frozenset(line[0].call for line in here if len(line) == 1 and line[0].call is not None)
        return cls(here, part, parts, len(calls), alone, most, len(counts) - len(most))

    @property
    def elsewhere(self) -> int:
        """Calls that are on other parts."""
        return self.total - sum(node.call is not None for line in self.lines for node in line)

    def link(self, call: int) -> str:
        """Where a call is shown."""
        return f"#call-{call}" if call in self.shown else f"?calls={call}#call-{call}"


def rows_of(
    window: Window, nodes: Sequence[Node], rebuilt: Rebuilt, axis: Axis, wrong: Mapping[int, Sequence[int]],
    dead_at: int | None,
) -> Iterator[Row]:  # fmt: skip
    """The rows of a window; `wrong` has the numbers of the findings of each call."""
    calls = rebuilt.run.calls
    dead_x = None
    if dead_at is not None and dead_at < len(calls) and (bounds := times(calls[dead_at])):
        drawn = axis.bar(*bounds)
        dead_x = None if drawn is None else sum(drawn)
    given, joined = dict(_given(nodes)), _together(window.lines, calls)
    for place, line in enumerate(window.lines):
        first, own = line[0], [node.call for node in line if node.call is not None]
        bounds, inferred = _bounds([calls[at] for at in own], first)
        start = duration = "-"
        if bounds:
            start = f"+{lasting(max(bounds[0] - axis.origin, 0) / 1e6)}"
            duration = f"{'≤ ' * inferred}{lasting((bounds[1] - bounds[0]) / 1e6)}"
        kind: Literal["agent", "model", "call", "fold"] = (
            "fold" if len(line) > 1 else "call" if own else "model" if first.model else "agent"
        )
        numbers = tuple(wrong.get(own[0], ())) if own else ()
        state = state_of(calls[own[0]]) if own else "ok"
        outlined = inferred or state in ("missing", "unknown")
        bar = axis.bar(*bounds) if bounds else None
        yield Row(
            kind=kind,
            depth=min(first.depth, 8),
            index=own[0] if own else None,
            name=calls[own[0]].tool if own else _named(first),
            bar=lane(bar, kind, inferred=outlined, bad=bool(numbers), mark=dead_x),
            start=start,
            duration=duration,
            call=call_items(rebuilt, own[0], 1)[0] if kind == "call" else None,
            state=state,
            findings=numbers,
            inferred=inferred,
            is_dead_end=dead_at in own,
            count=len(own),
            last=own[-1] if own else None,
            together=joined.get(place, ""),
            near=axis.near(*bounds) if bounds else None,
            model=first.model,
            given=given.get(id(first), ()),
            span_id=first.span.span_id if first.span else None,
        )


def _together(lines: Sequence[Line], calls: Sequence[ToolCall]) -> dict[int, str]:
    """Place of a line -> where it stands among the neighbours that one message of the model asked for."""
    found: dict[int, str] = {}
    asked = [
        None if len(line) > 1 or line[0].call is None else (line[0].depth, calls[line[0].call].step)
        for line in lines
    ]
    at = 0
    for same, group in groupby(asked):
        size = len(list(group))
        if size > 1 and same is not None and same[1] is not None:
            found |= {at: "first", **dict.fromkeys(range(at + 1, at + size - 1), "middle")}
            found[at + size - 1] = "last"
        at += size
    return found


def _named(node: Node) -> str:
    if node.model is not None:
        return node.model.model or "a model"
    return (node.agent.agent if node.agent else None) or "an agent"


def _bounds(calls: Sequence[ToolCall], node: Node) -> tuple[tuple[int, int] | None, bool]:
    """From when to when a line lasted, and whether its call may have taken less than that."""
    if not calls:
        span = node.span
        return (None if span is None else (span.start_ns, max(span.start_ns, span.end_ns))), False
    known = [bounds for call in calls if (bounds := times(call))]
    if not known:
        return None, False
    inferred = any(call.start and call.start[0] != call.start[1] for call in calls)
    return (min(first for first, _ in known), max(last for _, last in known)), inferred


def _given(nodes: Iterable[Node]) -> Iterator[tuple[int, tuple[Message, ...]]]:
    """Of each model call what it was told that the one before it, of the same agent, was not."""
    before: dict[int, tuple[tuple[Message, ...], str | None]] = {}
    for node in nodes:
        if node.agent is not None:
            before = {depth: told for depth, told in before.items() if depth <= node.depth}
        elif node.model is not None and node.model.given is not None:
            told, (earlier, answer) = node.model.given, before.get(node.depth, ((), None))
            new = told
            if 0 < len(earlier) <= len(told) and earlier[-1] == told[len(earlier) - 1]:
                new = told[len(earlier) :]
                if new and new[0].role == "assistant" and new[0].text == answer:
                    new = new[1:]
            yield id(node), new
            before[node.depth] = told, node.model.said

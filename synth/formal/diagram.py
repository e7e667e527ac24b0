"""A behaviour specification as a state diagram in SVG (the paper's figures 2 and 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from synth.errors import BadInput
from synth.formal.monitor import Monitor

MAX_NODES = 100
LONGEST = 60
"""Characters of a state's name."""
HEIGHT, GAP, LETTER, PADDING = 34, 46, 8.2, 26
"""Of a box; between two; of one character; beside the text, in pixels."""

DARK = (
    "<style>@media (prefers-color-scheme: dark) { .ground { fill: #12161d } .state { stroke: #a0acbd } "
    ".state.filled { fill: #1a2029 } text { fill: #e6ebf2 } .arrow { stroke: #a0acbd } "
    ".head { fill: #a0acbd } }</style>\n"
)
"""The colours of the pages for readers who have it dark; the drawing carries them, since it is a file too."""

Node = tuple[str, int]
"""A state of the agent, and that of the automaton which it leads to."""
START: Node = ("", 0)


@dataclass(frozen=True, slots=True)
class _Box:
    """Where a node is drawn: its left edge and width."""

    x: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


Listed = tuple[str, str, str, str]
"""A state, who writes it, the states that may follow, whether a run may end there."""


def rows_of(monitor: Monitor) -> list[Listed]:
    """The diagram as a table: the start, then a row for each of its boxes. BadInput as for `svg_of`."""
    edges = sorted(_edges(monitor))
    given = {one.name for one in monitor.specification.states if one.env_input}
    rows = [("start", "-", ", ".join(to[0] for at, to in edges if at == START), "-")]
    for node in _in_order(monitor, edges):
        after = ", ".join(to[0] for at, to in edges if at == node)
        writer = "environment" if node[0] in given else "agent"
        rows.append((node[0], writer, after or "-", "yes" if monitor.accepting[node[1]] else "no"))
    return rows


def svg_of(monitor: Monitor) -> str:
    """The diagram: a box a state, dashed where the environment writes, double where the run may end.

    Arrows to a later state run above, those back to an earlier one below. BadInput beyond `MAX_NODES`.
    """
    edges = sorted(_edges(monitor))
    nodes = _in_order(monitor, edges)
    boxes = dict(_placed(nodes))
    order = {node: place for place, node in enumerate(nodes)}
    spans = [abs(order[to] - order.get(at, -1)) for at, to in edges]
    room = 30 + 14 * max(spans, default=1)
    width, height = max(box.x + box.width for box in boxes.values()) + 20, 2 * room + HEIGHT
    drawn = [
        *(_arrow(at, to, boxes, order, room) for at, to in edges),
        *(part for node in nodes for part in _box(node, boxes[node], room, monitor)),
    ]
    title = escape(monitor.specification.name or "behaviour specification")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" font-family="sans-serif" font-size="14">\n'
        f"<title>{title}</title>\n"
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto"><path class="head" d="M0 0 10 5 0 10z" fill="#555"/></marker></defs>\n'
        f'{DARK}<rect class="ground" width="100%" height="100%" fill="#fff"/>\n'
        f"{chr(10).join(drawn)}\n</svg>\n"
    )


def _edges(monitor: Monitor) -> Iterator[tuple[Node, Node]]:
    found, queue = {START}, [START]
    while queue:
        node = queue.pop()
        for name, target in monitor.transitions[node[1]].items():
            yield node, (name, target)
            if (name, target) not in found:
                found.add((name, target))
                queue.append((name, target))


def _in_order(monitor: Monitor, edges: Sequence[tuple[Node, Node]]) -> list[Node]:
    """As the states are declared; of a bare formula, as they are numbered."""
    declared = {state.name: place for place, state in enumerate(monitor.specification.states)}
    nodes = {to for _, to in edges}
    if len(nodes) > MAX_NODES:
        raise BadInput(f"a diagram of {len(nodes)} states cannot be read (at most {MAX_NODES})")
    return sorted(nodes, key=lambda node: (declared.get(node[0], 0), node[1], node[0]))


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."


def _placed(nodes: Sequence[Node]) -> Iterator[tuple[Node, _Box]]:
    x = 20.0 + GAP
    for node in nodes:
        width = LETTER * len(_short(node[0])) + PADDING
        yield node, _Box(x, width)
        x += width + GAP


def _arrow(at: Node, to: Node, boxes: dict[Node, _Box], order: dict[Node, int], room: float) -> str:
    middle, target = room + HEIGHT / 2, boxes[to]
    line = '<path class="arrow" fill="none" stroke="#555" marker-end="url(#head)" d="{}"/>'
    if at == START:
        if order[to] == 0:
            return line.format(f"M{target.x - GAP + 6:.0f} {middle:.0f} {target.x:.0f} {middle:.0f}")
        return line.format(f"M{target.middle:.0f} 6 {target.middle:.0f} {room:.0f}")
    box, span = boxes[at], order[to] - order[at]
    if span == 1:
        return line.format(f"M{box.x + box.width:.0f} {middle:.0f} {target.x:.0f} {middle:.0f}")
    above = span > 1
    edge = room if above else room + HEIGHT
    peak = edge + (-1 if above else 1) * (18 + 14 * abs(span))
    begin, end = (box.middle + 8, target.middle - 8) if above else (box.middle - 8, target.middle + 8)
    return line.format(
        f"M{begin:.0f} {edge:.0f} C{begin:.0f} {peak:.0f} {end:.0f} {peak:.0f} {end:.0f} {edge:.0f}"
    )


def _box(node: Node, box: _Box, room: float, monitor: Monitor) -> Iterator[str]:
    name, state = node
    given = {one.name for one in monitor.specification.states if one.env_input}
    dashes = ' stroke-dasharray="5 3"' if name in given else ""
    for inset in (0, 3) if monitor.accepting[state] else (0,):
        yield (
            f'<rect class="state{"" if inset else " filled"}" x="{box.x + inset:.0f}" '
            f'y="{room + inset:.0f}" width="{box.width - 2 * inset:.0f}" '
            f'height="{HEIGHT - 2 * inset}" rx="8" fill="{"#f4f6fb" if not inset else "none"}" '
            f'stroke="#334"{dashes}/>'
        )
    place = f'x="{box.middle:.0f}" y="{room + HEIGHT / 2 + 5:.0f}"'
    yield f'<text {place} text-anchor="middle">{escape(_short(name))}</text>'

"""Pictures as SVG, each with the table that says the same: for pages, reports and exports.

Nothing here has colours of its own: classes say what a part is, and a style sheet what it looks like.
Every text is escaped; numbers are drawn as they are, and what is not finite is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 1000.0
"""Of the long pictures in their own units; a page stretches them."""
LABEL = 28
"""Characters of a name inside a picture."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG element, and the table of what it shows."""

    svg: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _svg(title: str, width: float, height: float, parts: Sequence[str], kind: str, more: str = "") -> str:
    role = "group" if any("<a " in part for part in parts) else "img"  # an image has no links inside
    return (
        f'<svg class="picture {kind}" viewBox="0 0 {_n(width)} {_n(height)}" role="{role}" '
        f'aria-label="{escape(title)}"{more}>{"".join(parts)}</svg>'
    )


def _n(value: float) -> str:
    """A number as short as it can be drawn."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def short(name: str, most: int = LABEL) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _text(x: float, y: float, said: str, kind: str = "label", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{escape(said)}</text>'


def _linked(part: str, link: str | None, title: str) -> str:
    told = f"<title>{escape(title)}</title>"
    if link is None:
        return f"<g>{told}{part}</g>"
    name = "" if "<text" in part else f' aria-label="{escape(title)}"'
    return f'<a href="{escape(link)}"{name}>{told}{part}</a>'


# ---------------------------------------------------------------- stacked bars over time


@dataclass(frozen=True, slots=True)
class Bar:
    """One stretch of time: how many of each kind."""

    label: str
    counts: Mapping[str, int]
    link: str | None = None


TOP = 12.0
"""The highest level: the letters beside it have room above, those of a phone too (20 units)."""


def stacked_bars(
    title: str,
    bars: Sequence[Bar],
    kinds: Mapping[str, str],
    *,
    height: float = 180,
    width: float = WIDTH,
    of: str = "From",
    attributes: str = "",
    ticks: Sequence[Tick] | None = None,
) -> Picture:
    """Bars from left to right; `kinds` are drawn from the ground up, kind -> its word.

    `of` is what the table calls a bar, `attributes` are those of the SVG element, already escaped. Without
    `ticks`, the first, the middle and the last bar are named below.
    """
    top = max((sum(bar.counts.get(kind, 0) for kind in kinds) for bar in bars), default=0)
    ceiling, left, ground = _ceiling(top), 44.0, height - 22
    step = (width - left) / max(len(bars), 1)
    half = [((TOP + ground) / 2, ceiling // 2)] if ceiling % 2 == 0 else []
    levels = [(y, _counted(count)) for y, count in ((TOP, ceiling), *half, (ground, 0))]
    parts = [_level(left, y, said, width) for y, said in levels]
    for at, bar in enumerate(bars):
        parts.append(_bar(bar, kinds, left + at * step, step, ground, (ground - TOP) / ceiling))
    if ticks is not None:
        parts += [*_ticks(ticks, left, width, ground, height - 5), *_again(levels, width)]
        named: Sequence[int] = ()
    else:
        named = sorted({0, len(bars) // 2, len(bars) - 1} if len(bars) > 2 else range(len(bars)))
    for at in named:
        anchor = "start" if at == 0 else "end" if at == len(bars) - 1 else "middle"
        x = left + (at * step if at == 0 else (at + 1) * step if at == len(bars) - 1 else (at + 0.5) * step)
        parts.append(_text(x, height - 5, bars[at].label, anchor=anchor))
    shown = [kind for kind in kinds if any(bar.counts.get(kind) for bar in bars)]
    rows = tuple(
        (bar.label, *(str(bar.counts.get(kind, 0)) for kind in shown))
        for bar in bars
        if sum(bar.counts.values())
    )
    return Picture(
        _svg(title, width, height, parts, "bars", attributes),
        (of, *(kinds[kind] for kind in shown)),
        rows,
    )


def _level(left: float, y: float, said: str, width: float = WIDTH) -> str:
    """A line across at a height, with what it stands for."""
    line = f'<path class="grid" d="M{_n(left)} {_n(y)}H{_n(width)}"/>'
    return line + _text(left - 6, y + 4, said, anchor="end")


def _again(levels: Sequence[tuple[float, str]], width: float) -> Iterator[str]:
    """What levels stand for once more, at the end of a picture that is read from there on a phone."""
    for y, said in levels:
        yield f'<g class="again" display="none">{_text(width - 2, max(y - 5, 20), said, anchor="end")}</g>'


@dataclass(frozen=True, slots=True)
class Tick:
    """An instant below a picture of times: where, from 0 (the beginning) to 1 (the end), and its name."""

    at: float
    label: str


EDGE = 0.04
"""A tick so near to an end is named towards the middle."""


def _ticks(ticks: Sequence[Tick], left: float, width: float, ground: float, y: float) -> Iterator[str]:
    for tick in ticks:
        x = left + (width - left) * tick.at
        anchor = "start" if tick.at < EDGE else "end" if tick.at > 1 - EDGE else "middle"
        yield f'<path class="grid" d="M{_n(x)} {_n(ground)}v6"/>'
        yield _text(x, y, tick.label, anchor=anchor)


def _counted(count: int) -> str:
    """A round number, short enough to stand left of a picture on a phone too."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (1000, "k")):
        if count >= size and count % size == 0:
            return f"{count // size}{letter}"
    return str(count)


def _ceiling(top: int) -> int:
    """A round number that is not below."""
    if top < 2:
        return 1
    size: int = 10 ** (len(str(top)) - 1)
    return next(size * step for step in (1, 2, 4, 6, 8, 10) if size * step >= top)


def _bar(bar: Bar, kinds: Mapping[str, str], x: float, width: float, ground: float, unit: float) -> str:
    y, parts, told = ground, [], []
    for kind, word in kinds.items():
        count = bar.counts.get(kind, 0)
        if count:
            tall = max(count * unit, 1.5)
            y -= tall
            parts.append(
                f'<rect class="{escape(kind)}" x="{_n(x + width * 0.08)}" y="{_n(y)}" '
                f'width="{_n(width * 0.84)}" height="{_n(tall)}"/>'
            )
            told.append(f"{count} {word}")
    return _linked("".join(parts), bar.link, f"{bar.label}: {', '.join(told)}") if parts else ""


# ---------------------------------------------------------------- rates with their intervals


@dataclass(frozen=True, slots=True)
class Share:
    """A rate of something, 0 to 1, with its 95 % interval."""

    label: str
    hits: int
    trials: int
    rate: float
    low: float
    high: float
    link: str | None = None


def shares(title: str, rows: Sequence[Share], what: tuple[str, str, str] = ("", "Share", "Of")) -> Picture:
    """One row each: a dot at the rate, a line over the interval."""
    tall, left, right = 26.0, 190.0, 400.0
    wide = right - left
    height = tall * len(rows) + 22
    parts = [f'<path class="grid" d="M{_n(left + wide * f)} 0V{_n(height - 20)}"/>' for f in (0, 0.5, 1.0)]
    for at, one in enumerate(rows):
        y = tall * at + tall / 2
        drawn = (
            f"{_text(left - 10, y + 4, short(one.label, 22), anchor='end')}"
            f'<path class="interval" d="M{_n(left + wide * one.low)} {_n(y)}H{_n(left + wide * one.high)}"/>'
            f'<circle class="rate" cx="{_n(left + wide * one.rate)}" cy="{_n(y)}" r="5"/>'
            f"{_text(right + 12, y + 4, f'{one.rate:.0%} of {one.trials}')}"
        )
        parts.append(_linked(drawn, one.link, f"{one.label}: {_said(one)}"))
    for f in (0, 0.5, 1.0):
        parts.append(_text(left + wide * f, height - 5, f"{f:.0%}", anchor="middle"))
    table = tuple((one.label, f"{one.hits} of {one.trials}", _said(one)) for one in rows)
    return Picture(_svg(title, 500, height, parts, "shares"), (what[0], what[2], what[1]), table)


def _said(one: Share) -> str:
    return f"{one.rate:.1%} ({one.low:.1%} to {one.high:.1%})"


# ---------------------------------------------------------------- curves


@dataclass(frozen=True, slots=True)
class Line:
    """Shares from 0 to 1, one after each step."""

    kind: str
    name: str
    values: Sequence[float]


MOST_STEPS = 200
"""Rows of the table of lines; of more steps those are told at which a line bends."""


def lines(title: str, drawn: Sequence[Line], marked: Sequence[int] = (), step: str = "call") -> Picture:
    """Shares after each step, and a strip below with the steps that are `marked`."""
    left, ground, height = 66.0, 122.0, 168.0
    steps = max((len(line.values) for line in drawn), default=0)
    wide = (WIDTH - left) / max(steps, 1)
    parts = [_level(left, ground - (ground - TOP) * at, f"{at:.0%}") for at in (0.0, 0.5, 1.0)]
    for line in drawn:
        places = [(left + (at + 0.5) * wide, ground - (ground - TOP) * v) for at, v in enumerate(line.values)]
        parts.append(
            f'<polyline class="{escape(line.kind)}" points="{_points(places)}"><title>{escape(line.name)}'
            "</title></polyline>"
        )
    if marked:
        strip = "".join(
            f"M{_n(left + at * wide)} {_n(ground + 8)}h{_n(wide)}v10h{_n(-wide)}z" for at in marked
        )
        parts.append(f'<path class="marked" d="{strip}"/>')
    if steps:
        parts.append(_text(left, height - 8, f"{step} 0"))
        parts.append(_text(WIDTH, height - 8, f"{step} {steps - 1}", anchor="end"))
    told = [at for at in range(steps) if steps <= MOST_STEPS or _bends(drawn, at)][:MOST_STEPS]
    rows = tuple((f"{step} {at}", *(_share_at(line, at) for line in drawn)) for at in told)
    headers = ("After", *(line.name for line in drawn))
    return Picture(_svg(title, WIDTH, height, parts, "curve lines"), headers, rows)


def _share_at(line: Line, at: int) -> str:
    return f"{line.values[at]:.0%}" if at < len(line.values) else "-"


def _bends(drawn: Sequence[Line], at: int) -> bool:
    """Is this the first step, the last, or one at which a line's value changes?"""
    ends = at in (0, max(len(line.values) for line in drawn) - 1)
    return ends or any(
        at < len(line.values) and line.values[at] != line.values[at - 1] for line in drawn
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a place of a curve, with the interval that it lies in, if that is known."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    link: str | None = None


def scale_of(points: Sequence[Point]) -> tuple[float, float]:
    """From where to where a curve of these goes, 0 included."""
    values = [v for p in points for v in (p.value, p.low, p.high) if v is not None and math.isfinite(v)]
    low, high = min([0.0, *values]), max(values, default=1.0)
    return low, high if high > low else low + 1.0


def curve(
    title: str, points: Sequence[Point], *, unit: str = "", height: float = 200,
    scale: tuple[float, float] | None = None, ticks: Sequence[Tick] | None = None,
) -> Picture:  # fmt: skip
    """A line from left to right with a band for the intervals; a gap where no value is known.

    `scale`: where the height begins and ends, for several curves that are to be compared. Without `ticks`,
    the first and the last point are named below; with them, a point stands for the time until the next.
    """
    low, high = scale or scale_of(points)
    left, ground, top = 70.0, height - 24, TOP
    step = (WIDTH - left - 12) / max(len(points) - (ticks is None), 1)
    begins = left + (step / 2 if ticks is not None else 0.0)

    def place(at: int, value: float) -> tuple[float, float]:
        return begins + at * step, ground - (value - low) / (high - low) * (ground - top)

    levels = [(y, f"{value:.3g}{unit}") for y, value in ((top, high), (ground, low))]
    parts = [_level(left, y, said) for y, said in levels]
    for piece in _pieces(points):
        band = [(at, p) for at, p in piece if p.low is not None and p.high is not None]
        if band:
            edge = [place(at, p.high or 0.0) for at, p in band]
            edge += [place(at, p.low or 0.0) for at, p in reversed(band)]
            parts.append(f'<polygon class="band" points="{_points(edge)}"/>')
        if len(band) == 1:  # which has no width
            (x, above), (_, below) = edge
            parts.append(f'<path class="interval" d="M{_n(x)} {_n(above)}V{_n(below)}"/>')
        parts.append(
            f'<polyline class="line" points="{_points([place(at, p.value or 0.0) for at, p in piece])}"/>'
        )
        for at, p in piece:
            x, y = place(at, p.value or 0.0)
            dot = f'<circle class="rate" cx="{_n(x)}" cy="{_n(y)}" r="4"/>'
            parts.append(_linked(dot, p.link, f"{p.label}: {p.value:.4g}{unit}"))
    if ticks is not None:
        parts += [*_ticks(ticks, left, WIDTH - 12, ground, height - 5), *_again(levels, WIDTH)]
    elif points:
        parts.append(_text(left, height - 5, points[0].label))
        parts.append(_text(WIDTH, height - 5, points[-1].label, anchor="end"))
    rows = tuple(
        (p.label, f"{p.value:.4g}{unit}", "-" if p.low is None else f"{p.low:.4g} to {p.high:.4g}")
        for p in points
        if p.value is not None
    )
    return Picture(_svg(title, WIDTH, height, parts, "curve"), ("At", "Value", "95 % interval"), rows)


def _pieces(points: Sequence[Point]) -> Iterator[list[tuple[int, Point]]]:
    """Stretches of neighbours that all have a value."""
    piece: list[tuple[int, Point]] = []
    for at, point in enumerate(points):
        if point.value is None or not math.isfinite(point.value):
            if piece:
                yield piece
            piece = []
        else:
            piece.append((at, point))
    if piece:
        yield piece


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in places)


def sparkline(title: str, counts: Sequence[int]) -> str:
    """A row of small bars, one a stretch of time; the text beside it says how many there are."""
    top = max(counts, default=0) or 1
    parts = [
        f'<rect x="{at * 5}" y="{_n(20 - max(20 * count / top, 2))}" width="4" '
        f'height="{_n(max(20 * count / top, 2))}"/>'
        for at, count in enumerate(counts)
        if count
    ]
    base = f'<path class="grid" d="M0 20H{5 * len(counts)}"/>'
    return _svg(title, 5 * len(counts), 21, [base, *parts], "spark")


# ---------------------------------------------------------------- spans on one time axis

LANE = 1000.0
"""Length of a time axis in its own units; the page stretches it."""


def lane(
    bar: tuple[float, float] | None, kind: str, *, inferred: bool = False, bad: bool = False,
    mark: float | None = None,
) -> str:  # fmt: skip
    """One line of a Gantt chart whose other columns, and table, are the row that it stands in.

    `bar`: (x, width) on an axis of `LANE`; outlined where only bounds are known (`inferred`). At `mark` all
    lines have a stroke.
    """
    parts = [f'<path class="grid" d="{"".join(f"M{_n(LANE * f)} 0V20" for f in (0.25, 0.5, 0.75))}"/>']
    if bar is not None:
        classes = f"stretch {kind}{' inferred' * inferred}{' bad' * bad}"
        x, width = map(_n, bar)
        parts.append(f'<rect class="{escape(classes)}" x="{x}" y="4" width="{width}" height="12" rx="2"/>')
    if mark is not None:
        parts.append(f'<path class="dead" d="M{_n(mark)} 0V20"/>')
    return (
        f'<svg viewBox="0 0 {_n(LANE)} 20" preserveAspectRatio="none" width="100%" height="20" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )


# ---------------------------------------------------------------- what must come before what


@dataclass(frozen=True, slots=True)
class Edge:
    """The first must come before the second."""

    first: str
    then: str
    broken: bool = False
    number: int | None = None
    """Of the finding that tells of it."""


MOST_NODES = 60


def graph(title: str, names: Mapping[str, str], edges: Sequence[Edge]) -> Picture | None:
    """Actions in columns, each to the right of all that must come before it; None beyond `MOST_NODES`.

    `names`: action -> what it is called. What lies on a circle stands where the circle began.
    """
    if not names or len(names) > MOST_NODES:
        return None
    columns = _columns(list(names), edges)
    depth = max(columns.values()) + 1
    wide, tall, box = 210.0, 52.0, 160.0
    places: dict[str, tuple[float, float]] = {}
    for column in range(depth):
        for row, node in enumerate(one for one in names if columns[one] == column):
            places[node] = (10 + column * wide, 10 + row * tall)
    width = 20 + (depth - 1) * wide + box
    height = 20 + max(y for _, y in places.values()) + 34
    parts = [
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="head" d="M0 0 10 5 0 10z"/></marker><marker id="arrow-broken" '
        'viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head broken" d="M0 0 10 5 0 10z"/></marker></defs>'
    ]
    parts += [_edge(edge, places, box) for edge in edges if {edge.first, edge.then} <= places.keys()]
    for node, (x, y) in places.items():
        said = escape(names[node])
        parts.append(
            f'<g><title>{said}</title><rect class="node" x="{_n(x)}" y="{_n(y)}" width="{_n(box)}" '
            f'height="34" rx="7"/>{_text(x + box / 2, y + 22, short(names[node], 20), anchor="middle")}</g>'
        )
    rows = tuple(
        (
            names.get(edge.first, edge.first),
            names.get(edge.then, edge.then),
            "broken" if edge.broken else "kept",
        )
        for edge in edges
    )
    more = f' width="{_n(width)}" height="{_n(height)}"'
    return Picture(_svg(title, width, height, parts, "graph", more), ("First", "Then", "In this run"), rows)


def _columns(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """The longest way to each node, as far as there is no circle."""
    found = dict.fromkeys(nodes, 0)
    for _ in nodes:
        changed = False
        for edge in edges:
            known = edge.first in found and edge.then in found
            if known and found[edge.then] <= found[edge.first] < len(nodes) - 1:
                found[edge.then], changed = found[edge.first] + 1, True
        if not changed:
            break
    return found


def _edge(edge: Edge, places: Mapping[str, tuple[float, float]], box: float) -> str:
    (x1, y1), (x2, y2) = places[edge.first], places[edge.then]
    begin, end = (x1 + box, y1 + 17), (x2, y2 + 17)
    bend = max(24.0, (end[0] - begin[0]) / 2) if end[0] > begin[0] else 60.0
    head = "arrow-broken" if edge.broken else "arrow"
    drawn = (
        f'<path class="edge{" broken" if edge.broken else ""}" marker-end="url(#{head})" '
        f'd="M{_n(begin[0])} {_n(begin[1])}C{_n(begin[0] + bend)} {_n(begin[1])} '
        f'{_n(end[0] - bend)} {_n(end[1])} {_n(end[0])} {_n(end[1])}"/>'
    )
    if edge.number is not None:
        x, y = (begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2
        drawn += f'<circle class="mark" cx="{_n(x)}" cy="{_n(y)}" r="9"/>'
        drawn += _text(x, y + 4, str(edge.number), "number", "middle")
    return drawn

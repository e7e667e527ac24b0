"""Any metric of runs over time, all together or by what made them."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote_plus

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from collector.api import measures
from collector.api.access import Access, reader
from collector.api.measures import STRETCHES, Asked
from collector.api.runs import run_filter
from collector.api.search import quoted, searched
from collector.errors import CollectorError
from collector.ui.pages import page
from collector.ui.ranges import OFFERED, Range, stamp
from synth.pictures import Picture, Point, curve, scale_of

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]
FIRST = "duration_ms"
TIMES = ("last", "since", "until")


@router.get("/metrics-explorer")
def explorer(request: Request, access: Reader) -> HTMLResponse:
    """A curve for each value of what runs are told apart by; a point leads to its runs."""
    given = {name: request.query_params.get(name, "").strip() for name in ("metric", "by", "q", *TIMES)}
    problem, said, status = None, None, 200
    chosen = Range.of({}, access.now)
    try:
        chosen = Range.of({name: given[name] for name in TIMES}, access.now)
        wanted = searched(given["q"], access.now, run_filter)
        question = measures.asked(given["metric"] or FIRST, given["by"], chosen.since, chosen.until, wanted)
        key = ("measured", access.project, chosen.last or chosen.since, *given.values())
        said = access.service.remembered.get(key, lambda: measures.measured_over(access, question))
    except CollectorError as failure:
        problem, status = str(failure), failure.status
    return page(
        "explorer.html", status, given=given, chosen=chosen, offered=OFFERED, problem=problem, said=said,
        metrics=measures.offered(), fields=measures.GROUPED_BY, read=measures.READ, parts_count=STRETCHES,
        rows=measures.OF_ROWS,
        is_share=said is not None and is_share(said),
        curves=[] if said is None else curves(question, said, given["q"], chosen),
        link=lambda **change: link({**given, **change}),
    )  # fmt: skip


def link(asked: dict[str, str]) -> str:
    """The page with other choices; a length of time takes the place of two instants."""
    chosen = {name: value for name, value in asked.items() if value}
    if "last" in chosen:
        chosen = {name: value for name, value in chosen.items() if name not in ("since", "until")}
    return "/metrics-explorer?" + "&".join(f"{name}={quote_plus(value)}" for name, value in chosen.items())


def curves(question: Asked, said: dict[str, Any], search: str, chosen: Range) -> list[dict[str, Any]]:
    """(what it is of, picture) each; all on one scale."""
    unit = "%" if is_share(said) else {"ms": " ms"}.get(said["metric"]["unit"], "")
    found = []
    for one in said["series"]:
        own = f"{question.by}:{quoted(one['value'])}" if question.by and one["value"] is not None else ""
        lines = " ".join(filter(None, (search, own)))
        found.append((one, points(question, one, lines, chosen, 100 if is_share(said) else 1)))
    scale = scale_of([point for _, drawn in found for point in drawn])
    return [{"of": one, "picture": picture(one, drawn, said, unit, scale, chosen)} for one, drawn in found]


def picture(
    one: dict[str, Any], drawn: list[Point], said: dict[str, Any], unit: str, scale: tuple[float, float],
    chosen: Range,
) -> Picture:  # fmt: skip
    of = f" of {said['by']} {one['value']}" if said["by"] else ""
    return curve(f"{said['metric']['name']}{of} over time", drawn, unit=unit, scale=scale, ticks=chosen.ticks)


def is_share(said: dict[str, Any]) -> bool:
    """Is the metric one from 0 to 1, shown in percent?"""
    return measures.offered()[said["metric"]["name"]].highest == 1


def points(
    question: Asked, one: dict[str, Any], search: str, chosen: Range, times: int
) -> list[Point]:  # fmt: skip
    """A point for each part of the time, without a value where no run had one; values so many times."""
    known = {point["part"]: point for point in one["points"]}
    drawn = []
    for at in range(STRETCHES):
        start = question.since + at * question.width
        point = known.get(at)
        if point is None:
            drawn.append(Point(chosen.label(start), None))
            continue
        bounds = point["interval"]
        low, high = (None, None) if bounds is None else (bounds[0] * times, bounds[1] * times)
        within = f"since:{stamp(start)} until:{stamp(start + question.width + 1)}"
        address = f"/runs?q={quote_plus(f'{search} {within}'.strip())}"
        drawn.append(Point(chosen.label(start), point["mean"] * times, low, high, address))
    return drawn

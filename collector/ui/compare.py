"""The page that compares two runs, or all runs of two versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from collector.api import compare
from collector.api.access import Access, reader
from collector.errors import CollectorError
from collector.model import ToolCall
from collector.store import reads
from collector.ui.pages import page
from collector.ui.words import counted, measured

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]

NARROWING = ("agent", "service", "environment", "tool", "policy", "since", "until")
ROWS = 500
"""Of calls, and of differences."""
OFFERED = {"version": "release"}
"""What runs are told apart by -> its column, where that has another name."""
HOW = {
    "same": "the same", "result": "another result", "arguments": "other arguments", "moved": "moved",
    "dropped": "only in A", "inserted": "only in B",
}  # fmt: skip


@router.get("/compare")
def compare_page(request: Request, access: Reader) -> HTMLResponse:
    """Two runs (`a`, `b`), or with `by` the complete runs that have one value each."""
    asked = {name: request.query_params.get(name, "").strip() for name in ("a", "b", "by", *NARROWING)}
    runs, populations, problem, status = None, None, None, 200
    try:
        if asked["a"] and asked["b"] and asked["by"]:
            populations = told_apart(access, asked)
        elif asked["a"] and asked["b"]:
            runs = side_by_side(access, asked["a"], asked["b"])
    except CollectorError as failure:
        problem, status = str(failure), failure.status
    with access.service.store.read() as connection:
        offered = {
            by: reads.distinct(connection, access.project, OFFERED.get(by, by)) for by in compare.FIELDS
        }
    return page(
        "compare.html", status, asked=asked, runs=runs, populations=populations, problem=problem,
        fields=compare.FIELDS, offered=offered.get(asked["by"] or "version", []), narrowing=NARROWING,
    )  # fmt: skip


# ---------------------------------------------------------------- two runs


def side_by_side(access: Access, a: str, b: str) -> dict[str, Any]:
    """Both runs, their calls aligned, and what else is not equal."""
    (one, calls), (other, others) = first, second = compare.loaded(access, a), compare.loaded(access, b)
    said = compare.differences(first, second)
    pairs = said["calls"]
    return {
        **said, "a": one, "b": other, "rows": list(call_rows(pairs[:ROWS], calls, others)),
        "total": len(pairs), "more": max(0, len(pairs) - ROWS),
        "links": [links(one["id"]), links(other["id"])],
    }  # fmt: skip


def links(run_id: str) -> Any:
    """The place of a call on the page of its run."""
    return lambda at: f"/runs/{run_id}?calls={at}#call-{at}"


def call_rows(
    pairs: Sequence[Mapping[str, Any]], calls: Sequence[ToolCall], others: Sequence[ToolCall]
) -> Iterator[dict[str, Any]]:
    """Each pair with what was given and what came back; once, where that is equal."""
    for pair in pairs:
        sides = [
            None if at is None else {"arguments": run[at].arguments, "result": result_of(run[at])}
            for at, run in ((pair["a"], calls), (pair["b"], others))
        ]
        yield {**pair, "said": HOW[pair["how"]], "sides": sides, "equal": sides[0] == sides[1]}


def result_of(call: ToolCall) -> Any:
    return call.result if call.error is None else call.error


# ---------------------------------------------------------------- two populations


def told_apart(access: Access, asked: Mapping[str, str]) -> dict[str, Any]:
    """What the API says, the differences that are some first, rates and means as text."""
    narrowed = {name: asked[name] or None for name in NARROWING}
    said = compare.compare_runs(access, asked["a"], asked["b"], asked["by"], **narrowed)
    rows = sorted(said["differences"], key=lambda one: (not one["differs"], one["kind"] != "outcome"))
    return {
        **said,
        "outcomes": [
            (name, *(side.get(name, 0) for side in said["outcomes"]))
            for name in sorted({*said["outcomes"][0], *said["outcomes"][1]})
        ],
        "rows": [
            {**one, "sides": [side_text(one[side], one["name"]) for side in "ab"]} for one in rows[:ROWS]
        ],
        "more": max(0, len(rows) - ROWS),
        "differing": sum(one["differs"] for one in rows),
    }


def side_text(side: Mapping[str, Any], name: str) -> tuple[str, str]:
    """A rate, or the mean of a metric, and below it what it is of."""
    if "rate" in side:
        if side["rate"] is None:
            return "-", "in no run"
        low, high = side["interval"]
        return f"{side['rate']:.1%}", f"{side['hits']} of {side['trials']}; {low:.1%} to {high:.1%}"
    if side["mean"] is None:
        return "-", "in no run"
    bounds = side["interval"]
    between = "" if bounds is None else f"; {measured(bounds[0], name)} to {measured(bounds[1], name)}"
    return measured(side["mean"], name), f"{counted(side['runs'], 'run')}{between}"

"""The pages of cases: what agents were asked, what it demands, and how runs of it went."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from collector.api import making, views
from collector.api.access import Access, reader
from collector.api.catalog import show_case
from collector.errors import CollectorError, NotFound
from collector.store import catalog, reads
from collector.store.reads import Filter
from collector.ui.overview import shown
from collector.ui.pages import message_page, missing, page
from collector.ui.run_page import graph_of
from synth.cases import tests_of
from synth.errors import SynthError
from synth.experiments import Rate

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]
ROWS, RUNS = 50, 20


@router.get("/cases")
def case_list(access: Reader, cursor: str | None = None) -> HTMLResponse:
    """The stored cases, each with how many of its runs passed."""
    with access.service.store.read() as connection:
        after = views.decode_cursor(cursor)
        found = catalog.list_cases(connection, access.project, limit=ROWS, after=after)
        counted = reads.outcomes_of_cases(connection, access.project, [key for key, _ in found])
    rows = []
    for key, body in found:
        case, of = orjson.loads(body), counted.get(key, {})
        rate = Rate(of.get("pass", 0), of.get("pass", 0) + of.get("fail", 0))
        rows.append({"id": key, "case": case, "counts": of, "rate": rate.value, "interval": rate.interval})
    older = views.encode_cursor(found[-1][0]) if len(found) == ROWS else None
    return page("cases.html", rows=rows, older=older, first=cursor is None)


@router.get("/runs/{run_id}/case")
async def case_of_run(access: Reader, run_id: str, request: Request) -> Response:
    """A run as a test case: what is in it, the file, and the test that replays it."""
    try:
        made = orjson.loads(bytes((await making.case_of_run(access, run_id, request)).body))
    except (CollectorError, SynthError) as failure:
        status = failure.status if isinstance(failure, CollectorError) else 400
        text = f"No case can be made of this run: {failure}"
        return message_page("No case", text, status, back=f"/runs/{run_id}", back_to="The run")
    case = made["case"]
    name = f"case-{case['id'][:12]}.jsonl"
    if request.query_params.get("file"):
        about = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(views.encoded(case) + b"\n", media_type="application/x-ndjson", headers=about)
    tests = tests_of(name, "recorded")
    return page("made_case.html", case=case, left_out=made["left_out"], file=name, tests=tests)


@router.get("/cases/{case_id:path}")
def case_page(access: Reader, case_id: str) -> HTMLResponse:
    """One case: its text, its orders as a picture, its newest runs."""
    try:
        case = show_case(access, case_id)
    except NotFound:
        return missing("case", case_id)
    with access.service.store.read() as connection:
        rows = reads.list_runs(connection, access.project, Filter(case=case_id), limit=RUNS).rows
        first = reads.first_findings(connection, [row["id"] for row in rows])
    return page(
        "case.html", case=case, graph=graph_of(case, ()), now=access.now,
        runs=[shown(row, first.get(row["id"])) for row in rows],
    )  # fmt: skip

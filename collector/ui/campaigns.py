"""Pages of campaigns: the list, and one with its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from collector.api import views
from collector.api.campaigns import Reader, find, item
from collector.api.errors import sentence
from collector.errors import NotFound
from collector.store import campaigns
from collector.ui.pages import missing, page
from synth.experiments import campaign_body

PAGE_ROWS = 50
BESIDE = 20
"""Campaigns that one can be compared with at a click."""

router = APIRouter(include_in_schema=False)


@router.get("/campaigns")
def campaign_list(access: Reader, cursor: str | None = None) -> HTMLResponse:
    """The campaigns of the project, the one that began last first."""
    with access.service.store.read() as connection:
        before = views.row_cursor(cursor)
        rows = campaigns.listed(connection, access.project, limit=PAGE_ROWS, before=before)
    older = views.encode_cursor(rows[-1]["id"]) if len(rows) == PAGE_ROWS else None
    return page(
        "campaigns.html", campaigns=[shown(row) for row in rows], older=older, now=access.now,
        first_page=cursor is None,
    )  # fmt: skip


@router.get("/campaigns/{campaign_id}")
def campaign(access: Reader, campaign_id: str, before: str | None = None) -> HTMLResponse:
    """One campaign; with `before`, compared with an earlier one."""
    try:
        with access.service.store.read() as connection:
            row = find(connection, access, campaign_id)
            earlier = None if not before else find(connection, access, before)
            results = told(connection, row)
            compared = [] if earlier is None else told(connection, earlier)
            others = campaigns.listed(connection, access.project, limit=BESIDE + 1, before=row["id"])
            keys = [one["run_id"] for one in results if one["run_id"]]
            there = campaigns.shown_runs(connection, access.project, keys)
    except NotFound as failure:
        return missing("campaign", campaign_id, sentence(failure))
    report = None if row["report"] is None else orjson.loads(row["report"])
    body = Markup(campaign_body(results, report, compared, there))  # escaped there
    return page(
        "campaign.html", campaign=shown(row), body=body, state=state_of(row), now=access.now,
        others=[shown(other) for other in others], before=None if earlier is None else shown(earlier),
    )  # fmt: skip


def told(connection: Any, row: Any) -> Sequence[dict[str, Any]]:
    """The results of a campaign."""
    return [orjson.loads(body) for _, body in campaigns.results(connection, row["id"])]


def shown(row: Any) -> dict[str, Any]:
    return {**item(row), "began": row["at"], "last": row["last_seen"]}


def state_of(row: Any) -> str:
    """Changes whenever the page of a campaign would."""
    return f"{row['state']}.{row['runs']}.{row['last_seen']}"


@router.get("/campaigns/{campaign_id}/state")
def state(access: Reader, campaign_id: str) -> Response:
    """What an open page asks for until it is not what it shows."""
    with access.service.store.read() as connection:
        return Response(state_of(find(connection, access, campaign_id)), media_type="text/plain")

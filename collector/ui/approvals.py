"""The page of approvals: calls that wait for a person, with two buttons each."""

from __future__ import annotations

import json
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from collector.api.access import Access, reader, writer
from collector.api.approvals import ApprovalId, decided
from collector.approvals import OPEN
from collector.errors import Conflict, NotFound
from collector.ui.pages import page
from collector.ui.runs_page import form_of, one

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]


@router.get("/approvals")
async def approvals(request: Request, access: Reader) -> HTMLResponse:
    """Every open question, and what became of the others."""
    found = access.service.approvals.all(access.project, access.now)
    rows = [
        {
            "id": each.id, "state": each.state, "asked_s": each.asked_at, "expires_s": each.expires_at,
            "by": each.by, **each.about,
            "arguments": "" if each.about["arguments"] is None
            else json.dumps(each.about["arguments"], ensure_ascii=False, indent=2),
        }
        for each in found
    ]  # fmt: skip
    return page(
        "approvals.html", open=[row for row in rows if row["state"] == OPEN],
        closed=[row for row in rows if row["state"] != OPEN], now=access.now,
        may=access.may("write"), done=request.query_params.get("done"),
    )  # fmt: skip


@router.post("/approvals/{approval}")
async def decide(request: Request, access: Writer, approval: ApprovalId) -> Response:
    form = await form_of(request)
    try:
        made = await decided(access, approval, one(form, "decision"))
        done = f"{made['tool']} was {made['state']}."
    except (Conflict, NotFound) as late:
        done = f"Too late: {late}."
    return RedirectResponse(f"/approvals?{urlencode({'done': done})}", 303)

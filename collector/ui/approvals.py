"""The page of approvals: calls that wait for a person, who lets them run, with other arguments or not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import urlencode

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from collector.api.access import Access, reader, writer
from collector.api.approvals import ApprovalId, decided
from collector.approvals import AS_ASKED, OPEN
from collector.errors import BadRequest, Conflict, NotFound
from collector.ui.pages import page
from collector.ui.runs_page import form_of, one

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]
NOTHING: Mapping[str, str] = MappingProxyType({})


@router.get("/approvals")
async def approvals(request: Request, access: Reader) -> HTMLResponse:
    """Every open question, and what became of the others."""
    return _page(access, done=request.query_params.get("done"))


def _page(access: Access, done: str | None = None, wrong: Mapping[str, str] = NOTHING) -> HTMLResponse:
    """`wrong`: the `id` of a question, the `typed` arguments that cannot be taken, and the `flaw`."""
    rows = [
        {
            "id": each.id, "state": each.state, "asked_s": each.asked_at, "expires_s": each.expires_at,
            "by": each.by, "run_arguments": _shown(each.run_arguments), **each.about,
            "arguments": _shown(each.about["arguments"]),
            "wrong": wrong if wrong.get("id") == each.id else None,
        }
        for each in access.service.approvals.all(access.project, access.now)
    ]  # fmt: skip
    return page(
        "approvals.html", 400 if wrong else 200, open=[row for row in rows if row["state"] == OPEN],
        closed=[row for row in rows if row["state"] != OPEN], now=access.now,
        may=access.may("write"), done=done,
    )  # fmt: skip


def _shown(arguments: Any) -> str:
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False, indent=2)


@router.post("/approvals/{approval}")
async def decide(request: Request, access: Writer, approval: ApprovalId) -> Response:
    form = await form_of(request)
    typed = one(form, "arguments") if "arguments" in form else None
    try:
        arguments = AS_ASKED if typed is None else _read(typed)
        made = await decided(access, approval, one(form, "decision"), arguments)
        changed = "" if made["run_arguments"] is None else " with other arguments"
        done = f"{made['tool']} was {made['state']}{changed}."
    except BadRequest as flaw:
        if typed is None:
            raise
        return _page(access, wrong={"id": approval, "typed": typed, "flaw": str(flaw)})
    except (Conflict, NotFound) as late:
        done = f"Too late: {late}."
    return RedirectResponse(f"/approvals?{urlencode({'done': done})}", 303)


def _read(typed: str) -> Any:
    try:
        return orjson.loads(typed)
    except orjson.JSONDecodeError as flaw:
        raise BadRequest(f"the arguments are not JSON: {flaw}", 'expected {"name": value, ...}') from None

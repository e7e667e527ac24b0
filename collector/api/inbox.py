"""What people keep of what they look at: saved searches."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import Access, reader, writer
from collector.api.answers import JsonRoute
from collector.api.bodies import json_object, reject_unknown
from collector.api.runs import run_filter
from collector.api.search import LONGEST, searched
from collector.errors import BadRequest, NotFound
from collector.store import views as saved_views

router = APIRouter(prefix="/api/v1", tags=["findings and views"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]
NAME = 100
"""Characters."""


def text_of(said: Any, name: str, most: int, *, optional: bool = False) -> str | None:
    """A text that can be stored and shown; raises BadRequest."""
    if optional and said in (None, ""):
        return None
    if not isinstance(said, str) or not said.strip() or len(said) > most or "\0" in said:
        raise BadRequest(f"`{name}` is no text that can be kept", f"send 1 to {most} characters")
    return said.strip()


@router.get("/views")
def list_views(access: Reader) -> dict[str, Any]:
    """The saved searches of the project, in order of name."""
    with access.service.store.read() as connection:
        rows = saved_views.listed(connection, access.project)
    return {"items": [view_item(row) for row in rows], "cursor": None}


def view_item(row: Any) -> dict[str, Any]:
    return {"name": row["name"], "query": row["query"], "at": views.iso(row["at"])}


@router.put("/views/{name}")
async def put_view(access: Writer, name: str, request: Request) -> dict[str, Any]:
    """Keep a search under a name: `{"query": "outcome:fail last:24h"}`."""
    said = await json_object(request)
    reject_unknown(said, {"query"}, "the view")
    return await run_in_threadpool(keep_view, access, name, said.get("query"))


def keep_view(access: Access, name: Any, line: Any) -> dict[str, Any]:
    """Raises BadRequest where the search cannot be read."""
    name, line = text_of(name, "name", NAME), text_of(line, "query", LONGEST)
    searched(str(line), access.now, run_filter)
    saved_views.put(access.service.store, access.project, str(name), str(line), now=access.now)
    return {"name": name, "query": line, "at": views.iso(access.now)}


@router.delete("/views/{name}")
def drop_view(access: Writer, name: str) -> dict[str, Any]:
    """Forget a saved search."""
    if not saved_views.drop(access.service.store, access.project, name):
        raise NotFound(f"there is no view {name[:80]!r}", "GET /api/v1/views lists them")
    return {"name": name, "dropped": True}

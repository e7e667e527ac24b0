"""Keys, the project's settings, and who changed what."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from collector.access import DEFAULT_PROJECT, SCOPES, new_key
from collector.api import views
from collector.api.access import Access, admin
from collector.api.answers import JsonRoute
from collector.api.bodies import json_object, reject_unknown
from collector.errors import BadRequest, Forbidden, NotFound
from collector.store import keys

router = APIRouter(prefix="/api/v1", tags=["keys"], route_class=JsonRoute)
Admin = Annotated[Access, Depends(admin)]


@router.post("/keys", status_code=201)
async def make_key(access: Admin, request: Request) -> dict[str, Any]:
    """Make a key from `{"name", "scopes": [...], "project"?}`; `key` in the answer is never shown again.

    The first key closes the collector: from then on every request needs one, so it must be an admin's.
    Admins of the project `default` run the collector: only they make keys of other projects.
    """
    said = await json_object(request)
    reject_unknown(said, {"name", "scopes", "project"}, "the key")
    return await run_in_threadpool(_make_key, access, said)


def _make_key(access: Access, said: dict[str, Any]) -> dict[str, Any]:
    name, scopes = said.get("name"), said.get("scopes")
    project = said.get("project", access.project_name)
    if not isinstance(name, str) or not name or len(name) > 100:
        raise BadRequest("`name` must be text of 1 to 100 characters", "name what will use the key")
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise BadRequest("`scopes` must be a list", f"expected some of {', '.join(SCOPES)}")
    if not isinstance(project, str) or not project or len(project) > 100:
        raise BadRequest("`project` must be text of 1 to 100 characters")
    if project != access.project_name and access.project_name != DEFAULT_PROJECT:
        raise Forbidden(
            f"a key of the project {access.project_name!r} makes keys of that project only",
            f"use an admin key of the project {DEFAULT_PROJECT!r}",
        )
    service = access.service
    if not service.gate.needs_key and "admin" not in scopes:
        raise BadRequest("the first key must have the scope admin", "otherwise nobody could make another one")
    try:
        token = new_key(service.store, project=project, name=name, scopes=scopes)
    except ValueError as flaw:
        raise BadRequest(str(flaw)) from None
    key_id = token.split("_")[1]
    with service.store.write() as connection:
        keys.record(connection, access.project, access.actor, "key.create", key_id, now=time.time())
    service.gate.forget()
    return {"id": key_id, "name": name, "scopes": sorted(set(scopes)), "project": project, "key": token}


@router.get("/keys")
def list_keys(access: Admin) -> dict[str, Any]:
    """The project's keys, without their secrets."""
    with access.service.store.read() as connection:
        rows = keys.list_keys(connection, access.project)
    items = [
        {
            "id": row["id"],
            "name": row["name"],
            "scopes": row["scopes"].split(","),
            "at": views.iso(row["at"]),
            "revoked": views.iso(row["revoked"]),
        }
        for row in rows
    ]
    return {"items": items, "cursor": None}


@router.delete("/keys/{key_id}")
def revoke_key(access: Admin, key_id: str) -> dict[str, Any]:
    """A revoked key never works again."""
    service = access.service
    if not keys.revoke_key(service.store, access.project, key_id, now=time.time()):
        raise NotFound(f"there is no active key {key_id[:40]!r}", "GET /api/v1/keys lists them")
    with service.store.write() as connection:
        keys.record(connection, access.project, access.actor, "key.revoke", key_id, now=time.time())
    service.gate.forget()
    return {"id": key_id, "revoked": True}


@router.get("/audit")
def show_audit(
    access: Admin, limit: Annotated[int, Query(ge=1, le=1000)] = 50, cursor: str | None = None
) -> dict[str, Any]:
    """Who changed keys, policies and settings, newest first."""
    with access.service.store.read() as connection:
        rows = keys.audit_trail(connection, access.project, limit=limit, before=views.row_cursor(cursor))
    items = [
        {**{k: row[k] for k in ("id", "actor", "action", "subject")}, "at": views.iso(row["at"])}
        for row in rows
    ]
    return views.page(items, limit, rows[-1]["id"] if rows else None)

"""Keys, the project's settings, and who changed what."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from collector.access import DEFAULT_PROJECT, SCOPES, expiry, new_key
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
    """Make a key from `{"name", "scopes": [...], "project"?, "expires"?}`; `key` is never shown again.

    `expires` is `90d`, `12h`, `4w`, or a date or time; without it the key works until it is revoked.

    The first key closes the collector: from then on every request needs one, so it must be an admin's.
    Admins of the project `default` run the collector: only they make keys of other projects.
    """
    said = await json_object(request)
    reject_unknown(said, {"name", "scopes", "project", "expires"}, "the key")
    return await run_in_threadpool(make_key_of, access, said)


def make_key_of(access: Access, said: dict[str, Any]) -> dict[str, Any]:
    name, scopes = said.get("name"), said.get("scopes")
    project = said.get("project", access.project_name)
    if not isinstance(name, str) or not name or len(name) > 100:
        raise BadRequest("`name` must be text of 1 to 100 characters", "name what will use the key")
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise BadRequest("`scopes` must be a list", f"expected some of {', '.join(SCOPES)}")
    if not isinstance(project, str) or not project or len(project) > 100:
        raise BadRequest("`project` must be text of 1 to 100 characters")
    if project != access.project_name and not access.everywhere:
        raise Forbidden(
            f"a key of the project {access.project_name!r} makes keys of that project only",
            f"use an admin key of the project {DEFAULT_PROJECT!r}",
        )
    service, until, ends = access.service, said.get("expires"), None
    if until is not None and not isinstance(until, str):
        raise BadRequest("`expires` is no text", "expected 90d, 12h, 4w or 2027-01-31")
    if not service.gate.needs_key and ("admin" not in scopes or until is not None):
        raise BadRequest(
            "the first key must have the scope admin and not expire",
            "otherwise nobody could make another one",
        )
    try:
        ends = None if until is None else expiry(until, access.now)
        token = new_key(
            service.store, project=project, name=name, scopes=scopes, expires=ends, now=access.now
        )
    except ValueError as flaw:
        raise BadRequest(str(flaw)) from None
    key_id = token.split("_")[1]
    with service.store.write() as connection:
        keys.record(connection, access.project, access.actor, "key.create", key_id, now=access.now)
    service.gate.forget()
    return {
        "id": key_id,
        "name": name,
        "scopes": sorted(set(scopes)),
        "project": project,
        "expires": views.iso(ends),
        "key": token,
    }


@router.get("/keys")
def list_keys(access: Admin) -> dict[str, Any]:
    """The project's keys without their secrets; for admins of the project `default` those of all projects."""
    with access.service.store.read() as connection:
        rows = keys.list_keys(connection, None if access.everywhere else access.project)
    items = [
        {
            "id": row["id"],
            "name": row["name"],
            "scopes": row["scopes"].split(","),
            "project": row["project"],
            "at": views.iso(row["at"]),
            "revoked": views.iso(row["revoked"]),
            "expires": views.iso(row["expires"]),
        }
        for row in rows
    ]
    return {"items": items, "cursor": None}


@router.delete("/keys/{key_id}")
def revoke_key(access: Admin, key_id: str) -> dict[str, Any]:
    """A revoked key never works again. Admins of the project `default` revoke those of any project."""
    service = access.service
    if not keys.revoke_key(
        service.store, None if access.everywhere else access.project, key_id, now=access.now
    ):
        raise NotFound(f"there is no active key {key_id[:40]!r}", "GET /api/v1/keys lists them")
    with service.store.write() as connection:
        keys.record(connection, access.project, access.actor, "key.revoke", key_id, now=access.now)
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

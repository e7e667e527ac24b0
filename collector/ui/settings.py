"""The pages for whoever runs the collector: settings, keys, audit, and how a program is watched."""

from __future__ import annotations

import math
import shutil
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from collector.access import SCOPES
from collector.api import keys, projects, views
from collector.api.access import Access, admin, reader
from collector.api.runs import instant
from collector.errors import BadRequest, CollectorError
from collector.store import keys as stored_keys
from collector.store import projects as stored_projects
from collector.store import reads
from collector.ui import snippets
from collector.ui.overview import teaching
from collector.ui.pages import page
from collector.ui.runs_page import form_of, one

LABELS = {
    "retention_days": ("Days that runs are kept", "to keep them for ever"),
    "failed_retention_days": ("Days that failed runs are kept", "to keep them as long as others"),
    "clock_skew_ms": ("Clocks may differ by (ms)", "for 50"),
}
"""Setting -> what it is called on the page, what an empty field is for."""
router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]
Admin = Annotated[Access, Depends(admin)]
AUDITED = 50


@router.get("/settings")
def settings_page(request: Request, access: Admin, cursor: str | None = None) -> HTMLResponse:
    """Projects, keys, retention, redaction, storage and who changed what."""
    return shown(access, cursor=cursor, done=request.query_params.get("done"))


def shown(
    access: Access, *, cursor: str | None = None, done: str | None = None, problem: str | None = None,
    made: str | None = None, status: int = 200,
) -> HTMLResponse:  # fmt: skip
    said = keys.list_keys(access)["items"]
    settings = access.service.settings
    with access.service.store.read() as connection:
        own = stored_projects.settings_of(connection, access.project)
        trail = stored_keys.audit_trail(
            connection, access.project, limit=AUDITED, before=views.row_cursor(cursor)
        )
        stats = reads.stats(connection, access.project)
    older = views.encode_cursor(trail[-1]["id"]) if len(trail) == AUDITED else None
    times = ("at", "expires", "revoked")
    return page(
        "settings.html", status, own=own, done=done, problem=problem, made=made, scopes=SCOPES,
        keys=[{**key, **{f"{name}_s": instant(key[name], "") for name in times}} for key in said],
        projects=projects.list_projects(access)["items"], project=access.project_name, audit=trail,
        older=older, now=access.now, stats=stats, storage=list(storage(access)), redact=settings.redact,
        everywhere=access.everywhere, needs_key=access.service.gate.needs_key,
    )  # fmt: skip


def storage(access: Access) -> Any:
    """(what, how much) of where runs are kept."""
    store = access.service.store
    if store.file is None:
        yield "Store", "PostgreSQL"
        return
    yield "Store", "SQLite"
    size = sum(
        path.stat().st_size for path in store.file.parent.glob(store.file.name + "*") if path.is_file()
    )
    yield "Size", f"{size / 2**20:,.1f} MiB"
    yield "Disk free", f"{shutil.disk_usage(store.file.parent).free / 2**30:,.1f} GiB"


@router.post("/settings")
async def change(request: Request, access: Admin) -> Response:
    """Retention and clock skew; an empty field is what the collector does by itself."""
    form = await form_of(request)
    try:
        values = {name: _number(one(form, name), name) for name in stored_projects.SETTINGS}
        await run_in_threadpool(projects.store_settings, access, values)
    except CollectorError as failure:
        return await run_in_threadpool(partial(shown, access, problem=str(failure), status=failure.status))
    return told("Saved.")


def _number(said: str, name: str) -> float | None:
    if not said:
        return None
    try:
        number = float(said)
    except ValueError:
        number = -1.0
    if not 0 < number < math.inf:
        label, meant = LABELS[name]
        raise BadRequest(f"{label!r} is {said[:40]!r}", f"expected a number above 0, or nothing {meant}")
    return number


def told(done: str) -> Response:
    return RedirectResponse(f"/settings?{urlencode({'done': done})}", 303)


@router.post("/settings/keys")
async def make(request: Request, access: Admin) -> Response:
    """A new key, shown once; the first one closes the collector, and its maker is logged in with it."""
    form = await form_of(request)
    said: dict[str, Any] = {"name": one(form, "name"), "scopes": form.get("scope", [])}
    said |= {name: value for name in ("expires", "project") if (value := one(form, name))}
    first = not access.service.gate.needs_key
    try:
        made = await run_in_threadpool(keys.make_key_of, access, said)
    except CollectorError as failure:
        return await run_in_threadpool(partial(shown, access, problem=str(failure), status=failure.status))
    answer = await run_in_threadpool(lambda: shown(access, made=made["key"]))
    if first:
        from collector.ui.pages import keep

        keep(request, answer, made["key"])
    return answer


@router.post("/settings/keys/{key_id}/revoke")
async def revoke(access: Admin, key_id: str) -> Response:
    await run_in_threadpool(keys.revoke_key, access, key_id)
    return told(f"The key {key_id[:20]} is revoked.")


@router.post("/settings/projects")
async def add_project(request: Request, access: Admin) -> Response:
    form = await form_of(request)
    name = one(form, "name")
    try:
        await run_in_threadpool(projects.add_project_of, access, {"name": name})
    except CollectorError as failure:
        return await run_in_threadpool(partial(shown, access, problem=str(failure), status=failure.status))
    return told(f"The project {name} is there; make a key of it below.")


@router.get("/setup")
def setup(request: Request, access: Reader) -> HTMLResponse:
    """How a program is watched, and whether its first span has come."""
    return watching(request, access)


@router.post("/setup/key")
async def setup_key(request: Request, access: Admin) -> Response:
    """An ingest key in the snippets."""
    said = {"name": "setup", "scopes": ["ingest"]}
    made = await run_in_threadpool(keys.make_key_of, access, said)
    return await run_in_threadpool(watching, request, access, made["key"])


def watching(request: Request, access: Access, key: str | None = None) -> HTMLResponse:
    """The lines to add, with a new key in them where one was made."""
    told = teaching(request, access)
    with access.service.store.read() as connection:
        stats = reads.stats(connection, access.project)
    said = key or (snippets.PLACEHOLDER if told["needs_key"] else None)
    return page(
        "setup.html", stats=stats, frameworks=snippets.FRAMEWORKS, may_make=access.may("admin"), key=key,
        senders=snippets.senders(told["endpoint"], said, access.now), said=said, **told,
    )  # fmt: skip

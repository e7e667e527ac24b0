"""Projects, their retention and their webhooks."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import Access, admin
from collector.api.answers import JsonRoute
from collector.api.bodies import json_object, reject_unknown
from collector.errors import BadRequest, Conflict, Forbidden, NotFound
from collector.notify.webhooks import check_address
from collector.store import keys, projects, webhooks

router = APIRouter(prefix="/api/v1", tags=["settings"], route_class=JsonRoute)
Admin = Annotated[Access, Depends(admin)]
WebhookId = Annotated[int, Path(ge=1, le=2**63 - 1)]
PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
OUTCOMES = ("fail", "undecided", "error", "pass")


@router.get("/settings")
def show_settings(access: Admin) -> dict[str, Any]:
    """The project's settings; `retention_days` null = runs are kept for ever."""
    with access.service.store.read() as connection:
        return {"project": access.project_name, **projects.settings_of(connection, access.project)}


@router.put("/settings")
async def put_settings(access: Admin, request: Request) -> dict[str, Any]:
    """Change `retention_days` (counted from the last arrival of a run's spans), and what else is set.

    Runs that failed are kept for `failed_retention_days` where that is longer (null = as long as others).
    `clock_skew_ms` is how far two machines' clocks may differ (null = 50 ms), for runs judged from now on.
    """
    said = await json_object(request)
    reject_unknown(said, {*projects.SETTINGS}, "the settings")
    if not said:
        raise BadRequest("no setting is given", f"send {' or '.join(projects.SETTINGS)}")
    return await run_in_threadpool(store_settings, access, said)


def store_settings(access: Access, said: Mapping[str, Any]) -> dict[str, Any]:
    """Change some settings, and write down who did. Raises BadRequest."""
    values = {name: _number(name, value) for name, value in said.items()}
    projects.change(access.service.store, access.project, values)
    for name, value in values.items():
        _note(access, f"settings.{name.partition('_')[0]}", str(value))
    return show_settings(access)


@router.get("/projects")
def list_projects(access: Admin) -> dict[str, Any]:
    """Projects in order of name: for admins of the project `default` all of them, for others their own."""
    with access.service.store.read() as connection:
        rows = keys.list_projects(connection, None if access.everywhere else access.project, now=access.now)
    return {"items": rows, "cursor": None}


@router.post("/projects", status_code=201)
async def add_project(access: Admin, request: Request) -> dict[str, Any]:
    """A new project from `{"name", "retention_days"?}`; only for admins of the project `default`."""
    said = await json_object(request)
    reject_unknown(said, {"name", "retention_days"}, "the project")
    return await run_in_threadpool(add_project_of, access, said)


def add_project_of(access: Access, said: dict[str, Any]) -> dict[str, Any]:
    if not access.everywhere:
        raise Forbidden("only admins of the project 'default' make projects", "use such a key")
    name, days = said.get("name"), _number("retention_days", said.get("retention_days"))
    if not isinstance(name, str) or not PROJECT.fullmatch(name):
        raise BadRequest("`name` is no name of a project", "use letters, digits, dot, dash, underscore")
    if not keys.add_project(access.service.store, name, days):
        raise Conflict(f"there is a project {name!r} already", "GET /api/v1/projects lists them")
    _note(access, "project.create", name)
    return {"name": name, "retention_days": days, "runs": 0, "keys": 0}


MEANT = {
    "retention_days": "keeps runs for ever",
    "failed_retention_days": "keeps failed runs as long as others",
    "clock_skew_ms": "means 50",
}
"""What null says of a setting."""


def _number(name: str, value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
    if value is not None and not known:
        meant = MEANT[name]
        raise BadRequest(f"{name} must be a number above 0, or null", f"null {meant}")
    return None if value is None else float(value)


@router.post("/webhooks", status_code=201)
async def add_webhook(access: Admin, request: Request) -> dict[str, Any]:
    """Tell `url` about complete runs with one of `outcomes` (default: fail). `secret` is shown once."""
    said = await json_object(request)
    reject_unknown(said, {"url", "outcomes"}, "the webhook")
    url, outcomes = said.get("url"), said.get("outcomes", ["fail"])
    if not isinstance(url, str) or len(url) > 2000:
        raise BadRequest("`url` must be text", "expected https://HOST/PATH")
    if not isinstance(outcomes, list) or not outcomes or any(o not in OUTCOMES for o in outcomes):
        raise BadRequest("`outcomes` is not a list of outcomes", f"expected some of {', '.join(OUTCOMES)}")
    check_address(url, access.service.settings)
    secret = "whsec_" + secrets.token_urlsafe(32)
    made = await run_in_threadpool(
        lambda: webhooks.add_webhook(
            access.service.store,
            access.project,
            url=url,
            secret=secret,
            outcomes=outcomes,
            now=access.now,
        )
    )
    await run_in_threadpool(_note, access, "webhook.create", url)
    return {"id": made, "url": url, "outcomes": outcomes, "secret": secret}


@router.get("/webhooks")
def list_webhooks(access: Admin) -> dict[str, Any]:
    """Active webhooks, without their secrets, and the last deliveries."""
    with access.service.store.read() as connection:
        rows = webhooks.list_webhooks(connection, access.project)
        sent = webhooks.deliveries_of(connection, access.project, 50)
    return {
        "items": [
            {**row, "outcomes": row["outcomes"].split(","), "at": views.iso(row["at"])} for row in rows
        ],
        "deliveries": [
            {**{k: row[k] for k in ("id", "webhook", "attempts", "status")}, "run_id": row["key"]}
            for row in sent
        ],
        "cursor": None,
    }


@router.delete("/webhooks/{webhook}")
def drop_webhook(access: Admin, webhook: WebhookId) -> dict[str, Any]:
    """Nothing more is sent there, not even what waits."""
    if not webhooks.drop_webhook(access.service.store, access.project, webhook):
        raise NotFound(f"there is no webhook {webhook}", "GET /api/v1/webhooks lists them")
    _note(access, "webhook.drop", str(webhook))
    return {"id": webhook, "active": False}


def _note(access: Access, action: str, subject: str) -> None:
    with access.service.store.write() as connection:
        keys.record(connection, access.project, access.actor, action, subject, now=access.now)

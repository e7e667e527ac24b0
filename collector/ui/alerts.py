"""The page of alerts: rules, whether they fire, silence, a test, and what was told."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from collector.api import alerts
from collector.api.access import Access, admin
from collector.api.runs import instant
from collector.errors import BadRequest, CollectorError
from collector.notify.alerts import KINDS
from collector.store import reads
from collector.store.groups import SEVERITIES
from collector.ui.pages import page
from collector.ui.runs_page import form_of, one

router = APIRouter(include_in_schema=False)
Admin = Annotated[Access, Depends(admin)]
FIELDS = ("name", "policy", "agent", "version", "severity", "window", "kind", "to", "above", "at_least")
TEXTS = FIELDS[:8]


@router.get("/alerts")
def alert_page(request: Request, access: Admin) -> HTMLResponse:
    """Every rule, and the last messages; a new one may begin with what the address says."""
    asked = {name: request.query_params.get(name, "") for name in FIELDS}
    return shown(access, done=request.query_params.get("done"), asked=asked)


def shown(
    access: Access,
    *,
    done: str | None = None,
    problem: str | None = None,
    asked: Any = None,
    status: int = 200,
) -> HTMLResponse:
    said = alerts.list_alerts(access)
    with access.service.store.read() as connection:
        policies = reads.policy_names(connection, access.project)
        agents = reads.distinct(connection, access.project, "agent")
        versions = reads.distinct(connection, access.project, "release")
    settings = access.service.settings
    times = ("firing_since", "silenced_until", "looked_at")
    rows = [{**row, **{f"{name}_s": instant(row[name], "") for name in times}} for row in said["items"]]
    sent = [{**row, "at_s": instant(row["at"], "")} for row in said["deliveries"]]
    return page(
        "alerts.html", status, rows=rows, sent=sent, kinds=KINDS, severities=SEVERITIES, policies=policies,
        agents=agents, versions=versions, hosts=settings.webhook_hosts, mail=bool(settings.smtp),
        now=access.now, done=done, problem=problem, asked=asked or dict.fromkeys(FIELDS, ""),
    )  # fmt: skip


@router.post("/alerts")
async def add(request: Request, access: Admin) -> Response:
    form = await form_of(request)
    asked = {name: one(form, name) for name in FIELDS}
    try:
        said: dict[str, Any] = {name: asked[name] for name in TEXTS}
        said |= {"above": number(asked["above"], "more than") / 100, "at_least": whole(asked["at_least"])}
        made = await run_in_threadpool(alerts.put_alert, access, said)
    except CollectorError as failure:
        return await run_in_threadpool(
            partial(shown, access, problem=str(failure), asked=asked, status=failure.status)
        )
    secret = f" Its messages are signed with {made['secret']}; this is shown once." if made["secret"] else ""
    return await run_in_threadpool(lambda: shown(access, done=f"Alert {made['name']} is in use.{secret}"))


def number(said: str, name: str) -> float:
    try:
        percent = float(said or "0")
    except ValueError:
        percent = -1.0
    if not 0 <= percent < 100:
        wanted = "expected a number from 0 to 99, such as 2"
        raise BadRequest(f"{name!r} is {said[:40]!r}, which is no number of percent", wanted)
    return percent


def whole(said: str) -> int:
    if not said.isascii() or not said.isdigit() or not 1 <= len(said) <= 6 or int(said) < 1:
        wanted = "expected a whole number of at least 1, such as 20"
        raise BadRequest(f"'of at least' is {said[:40]!r}, which is no number of runs", wanted)
    return int(said)


@router.post("/alerts/{alert}/{what}")
async def change(request: Request, access: Admin, alert: alerts.AlertId, what: str) -> Response:
    """`test`, `silence` or `drop`."""
    form = await form_of(request)
    if what == "test":
        await run_in_threadpool(alerts.tested, access, alert)
        done = "A test is on its way: the list of messages tells what came of it"
    elif what == "silence":
        said = await run_in_threadpool(alerts.silenced, access, alert, one(form, "for") or None)
        done = "Nobody is told meanwhile" if said["silenced_until"] else "The silence has ended"
    elif what == "drop":
        await run_in_threadpool(alerts.drop_alert, access, alert)
        done = "The alert is gone"
    else:
        raise BadRequest(f"{what[:40]!r} cannot be done with an alert")
    return RedirectResponse(f"/alerts?{urlencode({'done': done + '.'})}", 303)

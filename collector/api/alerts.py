"""Alert rules over rates and windows, and what was told because of them."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Path, Request
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import Access, admin
from collector.api.answers import JsonRoute
from collector.api.bodies import json_object, reject_unknown
from collector.api.findings import note
from collector.api.inbox import NAME, text_of
from collector.api.search import lasting
from collector.errors import BadRequest, NotFound
from collector.notify.alerts import KINDS, base_of, mail_server, test_message
from collector.notify.webhooks import check_address
from collector.store import alerts
from collector.store.groups import SEVERITIES

router = APIRouter(prefix="/api/v1", tags=["settings"], route_class=JsonRoute)
Admin = Annotated[Access, Depends(admin)]
AlertId = Annotated[int, Path(ge=1, le=2**63 - 1)]
FIELDS = {"name", "policy", "agent", "version", "severity", "window", "above", "at_least", "kind", "to"}
MAIL = re.compile(r"[^\s@<>,;\"\x00-\x1f]{1,64}@[A-Za-z0-9.-]{1,255}")
LONGEST_WINDOW = 30 * 86_400.0


@router.get("/alerts")
def list_alerts(access: Admin) -> dict[str, Any]:
    """Alert rules with what they counted last, and the last 50 messages."""
    with access.service.store.read() as connection:
        rows, sent = alerts.listed(connection, access.project), alerts.deliveries(connection, access.project)
    return {
        "items": [item(row) for row in rows],
        "deliveries": [delivery(row) for row in sent],
        "cursor": None,
    }


def item(row: Any) -> dict[str, Any]:
    """A rule as lists show it, without its secret."""
    body = orjson.loads(row["body"])
    said = orjson.loads(row["said"]) if row["said"] else {}
    shown = {name: body.get(name) for name in sorted(FIELDS - {"name"})}
    return {
        "id": row["id"], "name": row["name"], **shown, "firing_since": views.iso(row["firing"]),
        "silenced_until": views.iso(row["silenced"]), "broken": said.get("broken"), "of": said.get("of"),
        "rate": said.get("rate"), "looked_at": views.iso(said.get("at")),
    }  # fmt: skip


def delivery(row: Any) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("id", "alert", "name", "kind", "attempts", "status")},
        "at": views.iso(row["at"]),
    }


@router.post("/alerts", status_code=201)
async def add_alert(access: Admin, request: Request) -> dict[str, Any]:
    """Tell somebody when the share of runs that break something exceeds `above` within `window`.

    `policy` (or the id of a case), `agent`, `version` and `severity` narrow; fewer than `at_least` runs
    alert nobody. `kind` is `webhook`, `slack`, `teams` (`to` is an address on an allowed host) or `email`.
    """
    said = await json_object(request)
    return await run_in_threadpool(put_alert, access, said)


def put_alert(access: Access, said: Mapping[str, Any]) -> dict[str, Any]:
    reject_unknown(said, FIELDS, "the alert")
    name = str(text_of(said.get("name"), "name", NAME))
    named = ("policy", "agent", "version")
    body: dict[str, Any] = {one: text_of(said.get(one), one, 500, optional=True) for one in named}
    severity, kind, window = said.get("severity") or None, said.get("kind"), said.get("window", "1h")
    if severity is not None and severity not in SEVERITIES:
        raise BadRequest("`severity` is none", f"expected one of {', '.join(SEVERITIES)}")
    if kind not in KINDS:
        raise BadRequest("`kind` is none", f"expected one of {', '.join(KINDS)}")
    if not isinstance(window, str) or lasting(window) > LONGEST_WINDOW:
        raise BadRequest("`window` is no length of time up to 30 days", "expected 15m, 1h, 24h or 7d")
    above, least = said.get("above", 0.0), said.get("at_least", 1)
    if (
        isinstance(above, bool)
        or not isinstance(above, int | float)
        or not 0 <= above < 1
        or math.isnan(above)
    ):
        raise BadRequest("`above` is no share", "send a number of at least 0 and below 1: 0.02 is 2 %")
    if isinstance(least, bool) or not isinstance(least, int) or not 1 <= least <= 10**6:
        raise BadRequest("`at_least` is no number of runs", "send a whole number of at least 1")
    body |= {
        "severity": severity, "window": window, "window_seconds": lasting(window), "above": float(above),
        "at_least": least, "kind": kind, "to": target(access, str(kind), said.get("to")),
        "secret": "whsec_" + secrets.token_urlsafe(32),
    }  # fmt: skip
    made = alerts.add(access.service.store, access.project, name, body, now=access.now)
    note(access, "alert.create", f"{made} {name}")
    return {"id": made, "name": name, "secret": body["secret"] if kind == "webhook" else None}


def target(access: Access, kind: str, said: Any) -> str:
    """Where messages go; raises BadRequest where they may not."""
    to = str(text_of(said, "to", 2_000))
    if kind != "email":
        check_address(to, access.service.settings)
    elif MAIL.fullmatch(to) is None:
        raise BadRequest("`to` is no address of a person", "expected somebody@example.com")
    else:
        mail_server(access.service.settings)
    return to


@router.put("/alerts/{alert}/silence")
async def silence_alert(access: Admin, alert: AlertId, request: Request) -> dict[str, Any]:
    """Tell nobody `for` a while (`1h`, `7d`); null ends the silence."""
    said = await json_object(request)
    reject_unknown(said, {"for"}, "the silence")
    return await run_in_threadpool(silenced, access, alert, said.get("for"))


def silenced(access: Access, alert: int, for_: Any) -> dict[str, Any]:
    if for_ is not None and not isinstance(for_, str):
        raise BadRequest("`for` is no length of time", "expected 1h, 24h or 7d, or null")
    until = access.now + lasting(for_) if for_ else None
    if not alerts.silence(access.service.store, access.project, alert, until):
        raise missing(alert)
    note(access, "alert.silence", f"{alert} {for_ or 'ended'}")
    return {"id": alert, "silenced_until": views.iso(until)}


@router.post("/alerts/{alert}/test")
async def test_alert(access: Admin, alert: AlertId, request: Request) -> dict[str, Any]:
    """Send a message that says it is a test; the deliveries tell what came of it."""
    reject_unknown(await json_object(request), set(), "the test")
    return await run_in_threadpool(tested, access, alert)


def tested(access: Access, alert: int) -> dict[str, Any]:
    with access.service.store.read() as connection:
        row = alerts.one(connection, access.project, alert)
    if row is None:
        raise missing(alert)
    test_message(access.service.store, row, now=access.now, base=base_of(access.service.settings))
    return {"id": alert, "queued": True}


@router.delete("/alerts/{alert}")
def drop_alert(access: Admin, alert: AlertId) -> dict[str, Any]:
    """Nothing more is told, not even what waits."""
    if not alerts.drop(access.service.store, access.project, alert):
        raise missing(alert)
    note(access, "alert.drop", str(alert))
    return {"id": alert, "active": False}


def missing(alert: int) -> NotFound:
    return NotFound(f"there is no alert {alert}", "GET /api/v1/alerts lists them")

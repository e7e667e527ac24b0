"""Campaigns: what the verbs that test agents tell of themselves, and what is shown of that."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import Access, reader, writer
from collector.api.answers import JsonRoute
from collector.api.bodies import TooLarge, only_object, raw_body, reject_unknown, values_in
from collector.errors import BadRequest, NotFound
from collector.store import campaigns
from collector.store.campaigns import Post, Told
from synth.experiments import Rate
from synth.formal import trouble_from_json

router = APIRouter(prefix="/api/v1", tags=["campaigns"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]
Limit = Annotated[int, Query(ge=1, le=1000)]

ID = re.compile(r"[0-9a-f]{32}")
STATES = ("running", "done", "stopped")
OUTCOMES = ("pass", "fail", "open", "undecided", "error")
REPORT_BYTES = 4 * 1024 * 1024
RESULTS = 1_000
"""In one request."""
NAME, LONG = 200, 2_000
"""Characters of a name, and of what agents and models are called."""
HEAD_BYTES = RESULT_BYTES = 64 * 1024
TABLES, ROWS, CELL = 50, 5_000, 2_000
"""Tables of a report, rows of one, characters of a cell."""
LINES = 200
"""Sentences of a report, and facts to cite it."""

TEXTS = ("agent", "model", "commit")
HEAD = {"id", "verb", "name", *TEXTS, "seed", "options", "state", "results", "report"}
RESULT = {
    "key", "agent", "model", "case_id", "run_id", "outcome", "error_type", "actions", "seconds", "tokens",
    "trouble", "findings",
}  # fmt: skip


@router.post("/campaigns", status_code=201)
async def put_campaign(access: Writer, request: Request) -> dict[str, Any]:
    """Begin a campaign, add results, or end it with its report; what is told twice is there once.

    The same `id` is the same campaign. A result with the same `key` takes the place of the earlier one.
    """
    body = await raw_body(request)
    said = only_object(values_in(body, request.headers.get("content-type", "")))
    await run_in_threadpool(_put, access, said)
    return {"id": said["id"], "stored": len(said.get("results") or ())}


def _put(access: Access, said: Mapping[str, Any]) -> None:
    campaigns.put(access.service.store, access.project, post_from_json(said), now=access.now)


@router.get("/campaigns")
def list_campaigns(access: Reader, limit: Limit = 50, cursor: str | None = None) -> dict[str, Any]:
    """Campaigns, the one that began last first."""
    with access.service.store.read() as connection:
        before = views.row_cursor(cursor)
        rows = campaigns.listed(connection, access.project, limit=limit, before=before)
    return views.page([item(row) for row in rows], limit, rows[-1]["id"] if rows else None)


@router.get("/campaigns/{campaign_id}")
def show_campaign(access: Reader, campaign_id: str) -> dict[str, Any]:
    """One campaign with its report; null while it has none."""
    with access.service.store.read() as connection:
        row = find(connection, access, campaign_id)
    return {**item(row), "report": None if row["report"] is None else orjson.loads(row["report"])}


@router.get("/campaigns/{campaign_id}/results")
def list_results(
    access: Reader, campaign_id: str, limit: Limit = 100, cursor: str | None = None
) -> dict[str, Any]:
    """The results of a campaign, in the order in which they came."""
    with access.service.store.read() as connection:
        row = find(connection, access, campaign_id)
        after = views.row_cursor(cursor) or 0
        found = campaigns.results(connection, row["id"], limit=limit, after=after)
    return views.page([orjson.loads(body) for _, body in found], limit, found[-1][0] if found else None)


def find(connection: Any, access: Access, campaign_id: str) -> Any:
    """The row of a campaign; raises NotFound."""
    row = campaigns.found(connection, access.project, campaign_id)
    if row is None:
        raise NotFound(
            f"there is no campaign {campaign_id[:80]!r}", "GET /api/v1/campaigns lists the campaigns"
        )
    return row


def item(row: Any) -> dict[str, Any]:
    """A campaign as lists show it; the rate is of what was decided."""
    decided = row["passed"] + row["failed"]
    rate = Rate(row["passed"], decided)
    return {
        "id": row["key"],
        **{name: row[name] for name in ("verb", "name", "state", "runs", "passed", "failed", "errors")},
        "unsettled": row["runs"] - decided - row["errors"],
        "pass_rate": rate.value,
        "interval": list(rate.interval),
        "at": views.iso(row["at"]),
        "last_seen": views.iso(row["last_seen"]),
        **orjson.loads(row["head"]),
    }


# ---------------------------------------------------------------- reading what is told


def post_from_json(said: Mapping[str, Any]) -> Post:
    """What was told; raises BadRequest that names the field."""
    reject_unknown(said, HEAD, "the campaign")
    key, state = said.get("id"), said.get("state", "running")
    if not isinstance(key, str) or not ID.fullmatch(key):
        raise BadRequest("`id` is no id of a campaign", "choose 32 hex digits at random, in lower case")
    if state not in STATES:
        raise BadRequest("`state` is none that a campaign has", f"expected one of {', '.join(STATES)}")
    options = said.get("options", {})
    if not isinstance(options, Mapping):
        raise BadRequest("`options` is no object", "send the options of the campaign by their names")
    head = {name: _text(said, name, LONG, optional=True) for name in TEXTS}
    results = said.get("results") or []
    if not isinstance(results, list) or len(results) > RESULTS:
        raise BadRequest("`results` is no list that can be taken", f"send a list of at most {RESULTS}")
    report = said.get("report")
    return Post(
        key,
        str(_text(said, "verb", NAME)),
        str(_text(said, "name", NAME)),
        _json({**head, "seed": said.get("seed"), "options": options}, HEAD_BYTES, "`seed` and `options`"),
        state,
        None if report is None else _json(_report(report), REPORT_BYTES, "`report`"),
        [_told(result, f"result {number}") for number, result in enumerate(results)],
    )


def _json(value: Any, most: int, what: str) -> str:
    try:
        body = orjson.dumps(value)
    except orjson.JSONEncodeError as flaw:
        raise BadRequest(f"{what}: {flaw}", "leave out what is nested so deeply") from None
    if len(body) > most:
        raise TooLarge(f"{what}: {len(body)} bytes are over the limit of {most}", "leave out what is long")
    return body.decode()


def _text(said: Mapping[str, Any], name: str, most: int, *, optional: bool = False) -> str | None:
    value = said.get(name)
    if optional and value in (None, ""):
        return None
    if not isinstance(value, str) or not value or len(value) > most or "\0" in value:
        raise BadRequest(f"`{name}` is no text that can be shown", f"send 1 to {most} characters")
    return value


def _told(said: Any, where: str) -> Told:
    if not isinstance(said, Mapping):
        raise BadRequest(f"{where} is no object", f"send an object with {', '.join(sorted(RESULT))}")
    reject_unknown(said, RESULT, where)
    try:
        texts: dict[str, Any] = {name: _text(said, name, LONG) for name in ("key", "agent", "model")}
        more = ("case_id", "run_id", "error_type")
        texts |= {name: _text(said, name, LONG, optional=True) for name in more}
        counts = {name: _number(said, name) for name in ("actions", "seconds", "tokens")}
        findings = [_finding(one) for one in _several(said, "findings", 10)]
    except BadRequest as flaw:
        raise BadRequest(f"{where}: {flaw.message}", flaw.hint) from None
    outcome = said.get("outcome")
    if outcome not in OUTCOMES:
        raise BadRequest(f"{where}: `outcome` is none", f"expected one of {', '.join(OUTCOMES)}")
    trouble = trouble_from_json(said.get("trouble"), f"{where}: trouble")
    texts |= {"trouble": None if trouble is None else trouble.to_json()}
    body = _json({**texts, "outcome": outcome, **counts, "findings": findings}, RESULT_BYTES, where)
    return Told(hashlib.sha256(str(texts["key"]).encode()).hexdigest()[:32], outcome, body)


def _finding(said: Any) -> dict[str, Any]:
    if not isinstance(said, Mapping):
        raise BadRequest("`findings` has what is no object", 'send {"type", "explanation"}')
    reject_unknown(said, {"type", "explanation"}, "a finding")
    return {name: _text(said, name, LONG) for name in ("type", "explanation")}


def _several(said: Mapping[str, Any], name: str, most: int) -> list[Any]:
    values = said.get(name, [])
    if not isinstance(values, list) or len(values) > most:
        raise BadRequest(f"`{name}` is no list that can be taken", f"send a list of at most {most}")
    return values


def _number(said: Mapping[str, Any], name: str) -> float:
    value = said.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise BadRequest(f"`{name}` is no number of at least 0")
    if value > 2**53:
        raise BadRequest(f"`{name}` is larger than any that can be")
    return value


def _report(said: Any) -> dict[str, Any]:
    """Sentences, tables and facts, all of them text."""
    if not isinstance(said, Mapping):
        raise BadRequest("`report` is no object", 'send {"summary", "findings", "tables", "facts", "note"}')
    reject_unknown(said, {"summary", "findings", "tables", "facts", "note"}, "the report")
    facts = [_cells(pair, "`facts`", 2) for pair in _several(said, "facts", LINES)]
    return {
        "note": _text(said, "note", LONG, optional=True) or "",
        **{name: _cells(said.get(name, []), f"`{name}`", LINES) for name in ("summary", "findings")},
        "tables": [_table(table) for table in _several(said, "tables", TABLES)],
        "facts": [pair for pair in facts if len(pair) == 2],
    }


def _table(said: Any) -> dict[str, Any]:
    if not isinstance(said, Mapping):
        raise BadRequest("`tables` has what is no object", 'send {"name", "title", "headers", "rows"}')
    reject_unknown(said, {"name", "title", "headers", "rows", "note"}, "a table")
    headers = _cells(said.get("headers"), "`headers`", 50)
    rows = [_cells(row, "a row", 50) for row in _several(said, "rows", ROWS)]
    if any(len(row) != len(headers) for row in rows):
        raise BadRequest("a table has a row that is not as long as its headers")
    return {
        "name": _text(said, "name", NAME), "title": _text(said, "title", NAME),
        "headers": headers, "rows": rows, "note": _text(said, "note", LONG, optional=True) or "",
    }  # fmt: skip


def _cells(values: Any, what: str, most: int) -> list[str]:
    if not isinstance(values, list) or len(values) > most:
        raise BadRequest(f"{what}: no list that can be taken", f"send a list of at most {most} texts")
    if not all(isinstance(value, str) and len(value) <= CELL for value in values):
        raise BadRequest(f"{what}: what is no text of at most {CELL} characters")
    return values

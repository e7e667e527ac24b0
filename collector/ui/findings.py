"""The inbox of findings: what is broken, since when, how often, and what was decided about it."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from collector.api import findings
from collector.api.access import Access, reader, writer
from collector.api.runs import instant
from collector.errors import CollectorError
from collector.store.groups import SEVERITIES, STATES
from collector.store.reads import Filter
from collector.ui.pages import page
from collector.ui.ranges import OFFERED, Range
from collector.ui.runs_page import form_of, one
from collector.ui.words import counted
from synth.pictures import sparkline

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]
WORDS = {"new": "new", "known": "known", "waived": "waived", "fixed": "fixed", "wrong": "verdict wrong"}
OPEN = ("new", "known")
"""What waits for somebody: shown where nothing else is asked."""
ROWS = 100
TIMES = ("last", "since", "until")
ASKED = ("last", "since", "until", "state", "rule", "agent", "version")
FIELDS = ("rule", "agent", "tool", "state", "owner", "severity", "reason", "until", "version")


@router.get("/findings")
def inbox(request: Request, access: Reader) -> Response:
    """Groups of findings, by state; `n` goes to the next."""
    asked = {name: request.query_params.get(name, "").strip() for name in ASKED}
    problem, items, status = None, [], 200
    chosen = Range.of({}, access.now, findings.USUAL)
    try:
        chosen = Range.of(asked, access.now, findings.USUAL)
        wanted = Filter(
            agent=asked["agent"] or None, version=asked["version"] or None,
            since=instant(asked["since"], "since"), until=instant(asked["until"], "until"),
        )  # fmt: skip
        items = findings.grouped(access, chosen.last or findings.USUAL, wanted)
        items = [item for item in items if asked["rule"] in ("", item["rule"])]
    except CollectorError as failure:
        problem, status = str(failure), failure.status
    tally = Counter(item["state"] for item in items)
    shown = [item for item in items if wanted_state(asked["state"], item["state"])]
    return page(
        "findings.html", status, groups=[group(item) for item in shown[:ROWS]], more=len(shown) - ROWS,
        tally=tally, total=len(items), asked=asked, words=WORDS, states=STATES, severities=SEVERITIES,
        offered=OFFERED, chosen=chosen, problem=problem, now=access.now,
        done=request.query_params.get("done"), link=lambda **change: link({**asked, **change}),
        timed={name: asked[name] for name in TIMES if asked[name]} or {"last": findings.USUAL},
        may_write=access.may("write"),
    )  # fmt: skip


def wanted_state(asked: str, state: str) -> bool:
    return asked == "all" or (state in OPEN if not asked else state == asked)


def link(asked: dict[str, str]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/findings?{query}"


def group(item: dict[str, Any]) -> dict[str, Any]:
    """A group with its picture, and its times as numbers."""
    kind, _, name = item["rule"].partition(":")
    said = f"{counted(item['runs'], 'run')} over time, the newest on the right"
    return {
        **item, "kind": kind, "name": name, "spark": sparkline(said, item["counts"]),
        "first": instant(item["first_seen"], ""), "last": instant(item["last_seen"], ""),
        "ends": instant(item["until"], "") if item["until"] else None,
    }  # fmt: skip


@router.post("/findings")
async def mark(request: Request, access: Writer) -> Response:
    """Put a group into a state."""
    form = await form_of(request)
    said = {name: one(form, name) for name in FIELDS}
    await run_in_threadpool(findings.put_mark, access, said)
    back = one(form, "back")
    target = back if back.startswith("/findings") else "/findings"
    glue = "&" if "?" in target else "?"
    return RedirectResponse(f"{target}{glue}{urlencode({'done': WORDS[said['state']]})}", 303)


@router.post("/runs/{run_id}/label")
async def label(request: Request, access: Writer, run_id: str) -> Response:
    """Say of a verdict that it is wrong, or take that back."""
    form = await form_of(request)
    rule = one(form, "rule")
    if one(form, "take_back"):
        await run_in_threadpool(findings.drop_label, access, run_id, rule)
    else:
        said = {"rule": rule, "label": "verdict_wrong", "note": one(form, "note")}
        await run_in_threadpool(findings.keep_label, access, run_id, said)
    return RedirectResponse(f"/runs/{run_id}#findings", 303)

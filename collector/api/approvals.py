"""Calls that wait for a person: asked by hosts, decided here or on the page `/approvals`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.concurrency import run_in_threadpool

from collector.api.access import Access, reader, sender, writer
from collector.api.answers import JsonRoute
from collector.api.bodies import json_object, reject_unknown
from collector.approvals import AS_ASKED, FIELDS, MAX_WAIT, number
from collector.errors import BadRequest
from collector.store import keys

router = APIRouter(prefix="/api/v1", tags=["the guard"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
Sender = Annotated[Access, Depends(sender)]
Writer = Annotated[Access, Depends(writer)]
ApprovalId = Annotated[str, Path(min_length=1, max_length=64)]


@router.post("/approvals")
async def ask(access: Sender, request: Request) -> dict[str, Any]:
    """Ask about a call (`tool`, `text`, `rules`, `arguments`, `seconds`), or with `id` what was decided.

    For a key that may send spans. The answer comes once somebody has decided, or after `wait` seconds (0, at
    most 25) with the state `open`; after `seconds` (60) nobody can decide any more. Where the question is
    `changeable` somebody may have given other arguments: `run_arguments`.
    """
    said = await json_object(request)
    reject_unknown(said, FIELDS, "the request")
    approvals, wait = access.service.approvals, number(said, "wait", 0, MAX_WAIT)
    if "id" in said:
        if not isinstance(said["id"], str):
            raise BadRequest("`id` must be text", "send that of an earlier answer")
        asked = approvals.of(access.project, said["id"], access.now)
    else:
        asked = approvals.ask(access.project, said, access.now)
    await approvals.wait(asked, wait, access.now)
    return asked.look(access.now).to_json()


@router.get("/approvals")
async def list_approvals(access: Reader) -> dict[str, Any]:
    """What is asked, the open ones first, and what lately was."""
    found = access.service.approvals.all(access.project, access.now)
    return {"items": [one.to_json() for one in found], "cursor": None}


@router.put("/approvals/{approval}")
async def decide(access: Writer, approval: ApprovalId, request: Request) -> dict[str, Any]:
    """Let a call run, or refuse it: `{"decision": "approve"}` or `"refuse"`.

    With `arguments` (an object) it is approved to run with these, where the question is `changeable`.
    """
    said = await json_object(request)
    reject_unknown(said, {"decision", "arguments"}, "the request")
    return await decided(access, approval, said.get("decision"), said.get("arguments", AS_ASKED))


async def decided(access: Access, approval: str, decision: Any, arguments: Any = AS_ASKED) -> dict[str, Any]:
    made = access.service.approvals.decide(
        access.project, approval, decision, access.actor, access.now, arguments
    )
    changed = "" if made.run_arguments is None else " with other arguments"
    await run_in_threadpool(_noted, access, f"{made.state} {made.about['tool']}{changed}")
    return made.to_json()


def _noted(access: Access, subject: str) -> None:
    with access.service.store.write() as connection:
        keys.record(connection, access.project, access.actor, "approval.decide", subject, now=access.now)

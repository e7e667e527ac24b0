"""Cases, bindings and policies: what runs are judged by."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import Access, reader, writer
from collector.api.answers import JsonRoute
from collector.api.bodies import TooLarge, documents_in_turn, json_object, raw_body, reject_unknown
from collector.api.findings import owned_rules
from collector.errors import BadRequest, NotFound
from collector.judging.bind import case_texts
from collector.judging.decisions import DECISIONS
from collector.judging.owners import Owned
from collector.judging.policies import read_policies
from collector.model import Binding
from collector.pipeline import asked
from collector.store import catalog, keys, policy_counts
from collector.store.policy_counts import Tally
from synth.cases import case_from_json
from synth.errors import BadInput
from synth.formal import Trouble, trouble_from_json
from synth.policies import Policy

router = APIRouter(prefix="/api/v1", tags=["cases and policies"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]
Limit = Annotated[int, Query(ge=1, le=1000)]

HEX32 = re.compile(r"[0-9a-f]{32}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
POLICY_TEXT = 2 * 1024 * 1024
"""Characters of all active policy files of a project: pages and checkers keep what they say in memory."""
STATUSES = ("ok", "timeout", "crash")


@router.post("/cases", status_code=201)
async def put_cases(access: Writer, request: Request) -> dict[str, Any]:
    """Store one case or many (object, list, `{"items": [...]}` or JSON lines); all or none."""
    async with documents_in_turn(request, each=b'"valid_plans"') as found:
        return await run_in_threadpool(_put_cases, access, found)


def _put_cases(access: Access, found: list[Any]) -> dict[str, Any]:
    bodies: dict[str, str] = {}
    texts: dict[str, dict[str, str]] = {}
    for number, said in enumerate(found):
        try:
            case = case_from_json(said)
        except BadInput as flaw:
            raise BadInput(f"item {number}: {flaw.message}", field=flaw.field) from None
        bodies[case.id] = orjson.dumps(case.to_json()).decode()
        texts[case.id] = case_texts(case)
    if not bodies:
        raise BadRequest("no case was sent", "send one object, a list, or JSON lines")
    catalog.put_cases(access.service.store, access.project, bodies, now=access.now, texts=texts)
    access.service.wake()
    return {"stored": len(bodies), "ids": list(bodies)}


@router.get("/cases")
def list_cases(access: Reader, limit: Limit = 50, cursor: str | None = None) -> dict[str, Any]:
    """Stored cases in order of id."""
    with access.service.store.read() as connection:
        rows = catalog.list_cases(connection, access.project, limit=limit, after=views.decode_cursor(cursor))
    return views.page([orjson.loads(body) for _, body in rows], limit, rows[-1][0] if rows else None)


@router.get("/cases/{case_id}")
def show_case(access: Reader, case_id: str) -> Any:
    """One case as it was stored."""
    with access.service.store.read() as connection:
        found = catalog.cases(connection, access.project, [case_id])
    if case_id not in found:
        raise NotFound(f"there is no case {case_id[:80]!r}", "GET /api/v1/cases lists the cases")
    return orjson.loads(found[case_id])


@router.post("/bindings", status_code=201)
async def put_bindings(access: Writer, request: Request) -> dict[str, Any]:
    """Say which case the runs of a trace belong to; with a `status`, that the run has ended."""
    async with documents_in_turn(request, each=b'"trace_id"') as found:
        return {"stored": await run_in_threadpool(_put_bindings, access, found)}


def _put_bindings(access: Access, found: list[Any]) -> int:
    bindings = [binding_from_json(said, number) for number, said in enumerate(found)]
    if not bindings:
        raise BadRequest("no binding was sent", 'send {"trace_id", "case_id", "status"?} or a list of them')
    service = access.service
    catalog.bind(
        service.store, access.project, bindings, now=service.clock(), grace=service.settings.grace_seconds
    )
    service.wake()
    return len(bindings)


def binding_from_json(said: Any, number: int) -> Binding:
    """A binding; raises BadRequest that names item and field."""
    where = f"binding {number}"
    if not isinstance(said, dict):
        raise BadRequest(f"{where} is no object", 'expected {"trace_id", "case_id", "status"?, ...}')
    reject_unknown(said, {"trace_id", "case_id", "status", "wall_seconds", "iterations", "trouble"}, where)
    trace_id, case_id, status = said.get("trace_id"), said.get("case_id"), said.get("status")
    if not isinstance(trace_id, str) or not HEX32.fullmatch(trace_id.lower()):
        raise BadRequest(f"{where}: trace_id is {_brief(trace_id)}", "expected 32 hex digits")
    if not isinstance(case_id, str) or not case_id or len(case_id) > 200:
        raise BadRequest(f"{where}: case_id is {_brief(case_id)}", "expected the id of a case")
    if status is not None and status not in STATUSES:
        raise BadRequest(f"{where}: status is {_brief(status)}", f"expected one of {', '.join(STATUSES)}")
    return Binding(
        trace_id.lower(), case_id, status,
        wall_seconds=_number(said.get("wall_seconds"), f"{where}: wall_seconds"),
        iterations=_count(said.get("iterations"), f"{where}: iterations"),
        trouble=_trouble(said.get("trouble"), where),
    )  # fmt: skip


def _trouble(said: Any, where: str) -> Trouble | None:
    try:
        return trouble_from_json(said)
    except BadInput as bad:
        hint = 'expected {"kind", "status", "message"}'
        raise BadRequest(f"{where}: {bad.field}: {bad.message}", hint) from None


def _number(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise BadRequest(f"{where} is {_brief(value)}", "expected a number of at least 0")
    return float(value)


def _count(value: Any, where: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise BadRequest(f"{where} is {_brief(value)}", "expected a whole number of at least 0")
    return value


def _brief(value: Any) -> str:
    text = "missing" if value is None else orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."


@router.get("/policies")
async def list_policies(access: Reader, request: Request) -> dict[str, Any]:
    """Active policy files, each with warnings of the tools that no run of the project shows."""
    rows = await run_in_threadpool(_active, access)
    warned = await warnings_of(access, request, sum(len(row["text"]) for row in rows))
    items = [{**policy_item(row), "warnings": warned.get(row["name"], [])} for row in rows]
    return {"items": items, "cursor": None}


async def warnings_of(
    access: Access, request: Request, size: int, name: str = "", text: str | None = None
) -> dict[str, list[dict[str, Any]]]:
    """As `asked.warned`, of texts of so many characters; big ones are read in a process of their own."""
    service = access.service
    if size > asked.SMALL_TEXT:
        return await service.asked.warnings(access.project, request.is_disconnected, name, text)
    async with service.lists:
        return await run_in_threadpool(asked.warned, service.store, access.project, name, text)


def _active(access: Access) -> Sequence[Any]:
    with access.service.store.read() as connection:
        return catalog.active_policies(connection, access.project)


@router.get("/policies/{name}")
def show_policy(access: Reader, name: str) -> dict[str, Any]:
    """Every version of one policy file, newest first."""
    with access.service.store.read() as connection:
        rows = catalog.policy_versions(connection, access.project, name)
    if not rows:
        raise NotFound(f"there is no policy file {name[:80]!r}", "GET /api/v1/policies lists them")
    return {**policy_item(rows[0]), "versions": [policy_item(row) for row in rows]}


@router.get("/policies/{name}/counts")
def count_policy(access: Reader, name: str) -> dict[str, Any]:
    """How many runs of 24 hours and of 7 days each rule was kept or broken in, and what guards decided by it.

    The runs are found by `GET /api/v1/runs?q=`: `policy:ID last:7d`, `guard:ID decided:refused last:7d`.
    A guard knows a rule by its id alone: rules of several files that have the same one share its numbers.
    """
    with access.service.store.read() as connection:
        rows = catalog.policy_versions(connection, access.project, name)
    if not rows:
        raise NotFound(f"there is no policy file {name[:80]!r}", "GET /api/v1/policies lists them")
    tallies, owned = lately(access), owned_rules(access)
    items = [
        {
            "policy": counted.policy.id,
            "broken_at": None if counted.tally.broken is None else views.iso(counted.tally.broken),
            "day": without_decisions(counted.tally.day),
            "week": without_decisions(counted.tally.week),
            "guard": {"day": decided(counted.guard.day), "week": decided(counted.guard.week)},
        }
        for counted in counted_rules(name, rows[0]["text"], tallies, owned)
    ]
    return {"items": items, "cursor": None}


@dataclass(frozen=True, slots=True)
class CountedRule:
    """A rule of a file in use, and how it fared."""

    policy: Policy
    key: str
    """What results call it: where several files have one of this id, with the name of the file."""
    tally: Tally
    guard: Tally
    """A guard calls it by its id alone."""


def lately(access: Access) -> Mapping[str, Tally]:
    """Rule -> what it came to in the runs of 24 hours and of 7 days."""

    def find() -> Mapping[str, Tally]:
        with access.service.store.read() as connection:
            return policy_counts.lately(connection, access.project, access.now)

    return access.service.remembered.get(("policies", access.project), find)


def counted_rules(
    name: str, text: str, tallies: Mapping[str, Tally], owned: Mapping[str, Owned]
) -> Iterator[CountedRule]:
    """The rules of a file; raises what reading it raises."""
    for policy in read_policies(name, text).policies:
        key = f"{name}/{policy.id}"
        key = key if key in owned else policy.id
        yield CountedRule(policy, key, tallies.get(key) or Tally(), tallies.get(policy.id) or Tally())


def decided(runs: Mapping[str, int]) -> dict[str, int]:
    """What guards decided, in so many runs each."""
    return {what: runs[what] for what in DECISIONS if runs.get(what)}


def without_decisions(runs: Mapping[str, int]) -> dict[str, int]:
    """The verdicts, in so many runs each."""
    return {said: count for said, count in runs.items() if count and said not in DECISIONS}


@router.put("/policies/{name}")
async def put_policy(access: Writer, name: str, request: Request) -> dict[str, Any]:
    """Store a new version of a policy file (YAML text as the body); it is active at once."""
    return await store_policy(access, request, name, _decoded(await raw_body(request)))


@router.post("/policies", status_code=201)
async def post_policy(access: Writer, request: Request) -> dict[str, Any]:
    """The same with `{"name", "text"}` as the body."""
    said = await json_object(request)
    reject_unknown(said, {"name", "text"}, "the policy")
    name, text = said.get("name"), said.get("text")
    if not isinstance(name, str) or not isinstance(text, str):
        raise BadRequest("`name` and `text` must be text", 'send {"name", "text"}')
    return await store_policy(access, request, name, text)


async def store_policy(access: Access, request: Request, name: str, text: str) -> dict[str, Any]:
    """Read it, then store it."""
    if not NAME.fullmatch(name):
        raise BadRequest(
            f"{name[:80]!r} is no name of a policy file", "use letters, digits, dot, dash, underscore"
        )
    warned = await warnings_of(access, request, len(text), name, text)
    version = await run_in_threadpool(_store_policy, access, name, text)
    return {"name": name, "version": version, "warnings": warned[name]}


def _store_policy(access: Access, name: str, text: str) -> int:
    others = sum(len(row["text"]) for row in _active(access) if row["name"] != name)
    if others + len(text) > POLICY_TEXT:
        raise TooLarge(
            f"the active policy files have {others + len(text)} characters, {POLICY_TEXT} at most",
            "switch off one that is not needed: DELETE /api/v1/policies/NAME",
        )
    version = catalog.put_policy(access.service.store, access.project, name, text, now=access.now)
    _note(access, "policy.put", f"{name} version {version}")
    access.service.wake()
    return version


@router.delete("/policies/{name}")
def drop_policy(access: Writer, name: str) -> dict[str, Any]:
    """Switch a policy file off; its versions stay readable."""
    catalog.drop_policy(access.service.store, access.project, name)
    _note(access, "policy.drop", name)
    return {"name": name, "active": False}


def _note(access: Access, action: str, subject: str) -> None:
    with access.service.store.write() as connection:
        keys.record(connection, access.project, access.actor, action, subject, now=access.now)


def policy_item(row: Any) -> dict[str, Any]:
    return {
        "name": row["name"],
        "version": row["version"],
        "active": bool(row["active"]),
        "at": views.iso(row["at"]),
        "text": row["text"],
    }


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as flaw:
        raise BadRequest(f"the policy file is not UTF-8: {flaw}") from None

"""The pages of policies: how the rules are kept, an editor that tries before it saves, versions, drafts."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from collector.api import catalog as catalog_api
from collector.api.access import Access, anybody, reader, writer
from collector.api.findings import owned_rules
from collector.api.runs import alone, load_run, run_filter
from collector.api.search import searched
from collector.api.trying import tried
from collector.errors import CollectorError
from collector.judging.accepting import with_rule
from collector.judging.owners import Owned
from collector.judging.policies import read_policies
from collector.pipeline.trying import MOST_RUNS, RunsToLearn
from collector.store import catalog
from collector.store.policy_counts import Tally
from collector.ui.pages import missing, page
from collector.ui.runs_page import form_of, one
from synth.errors import SynthError

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]
FORM_BYTES = 3 * 1024 * 1024
WORD = re.compile(r"[a-z0-9]+")
MOST_ACTIONS = 20
EXAMPLE = """\
actions:
  verify: verify_identity
  refund: issue_refund
policies:
  - id: verify-first
    text: Know who it is before money moves.
    rule: Verify must happen before refund.
"""


@router.get("/policies")
async def policy_list(request: Request, access: Reader) -> HTMLResponse:
    """Every rule in use, and how it was kept lately."""
    said = await catalog_api.list_policies(access, request)
    rows = await run_in_threadpool(rows_of_all, access, said["items"])
    idle = [row["id"] for row in rows if row["week"] and not (row["week"]["ok"] or row["week"]["violated"])]
    return page(
        "policies.html", files=said["items"], rows=rows, idle=idle, now=access.now,
        may_write=access.may("write"), done=request.query_params.get("done"),
    )  # fmt: skip


def rows_of_all(access: Access, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    tallies, owned = catalog_api.lately(access), owned_rules(access)
    return [row for item in items for row in rows_of(item, tallies, owned)]


def rows_of(
    item: dict[str, Any], tallies: Mapping[str, Tally], owned: Mapping[str, Owned]
) -> Iterator[dict[str, Any]]:
    """The rules of a file; one row that says so where it cannot be read any more."""
    try:
        rules = list(catalog_api.counted_rules(item["name"], item["text"], tallies, owned))
    except SynthError as flaw:
        yield {"file": item["name"], "id": "-", "said": f"cannot be read any more: {flaw}", "week": None,
               "day": None, "broken": None, "warnings": [], "key": "-", "owned": None,
               "guard": {}}  # fmt: skip
        return
    for rule in rules:
        policy, tally = rule.policy, rule.tally
        yield {
            "file": item["name"], "id": policy.id, "key": rule.key, "owned": owned.get(rule.key),
            "said": policy.sentence or policy.text or "",
            "week": tally.week, "day": tally.day, "broken": tally.broken,
            "guard": catalog_api.decided(rule.guard.week),
            "warnings": [one for one in item["warnings"] if policy.id in one["policies"]],
        }  # fmt: skip


@router.get("/policies/draft")
async def draft(request: Request, access: Reader) -> HTMLResponse:
    """Rules that good runs suggest, each to be accepted or left."""
    keys = tuple(request.query_params.getlist("run")[:MOST_RUNS])
    line = request.query_params.get("q", "").strip()
    problem, said = None, {"rules": [], "file": "", "runs": 0, "candidates": 0}
    try:
        wanted = searched(line or "outcome:pass", access.now, run_filter)
        question = RunsToLearn(access.project, access.service.settings, keys, wanted)
        said = orjson.loads(await access.service.asked.answer(question, request.is_disconnected))
    except (CollectorError, SynthError) as failure:
        problem = str(failure)
    files = await run_in_threadpool(active, access)
    return page(
        "draft.html", said=said, problem=problem, keys=keys, line=line, files=[row["name"] for row in files],
        may_write=access.may("write"),
    )  # fmt: skip


@router.post("/policies/accept")
async def accept(request: Request, access: Writer) -> Response:
    """Take one drafted rule into a policy file, as a new version of it."""
    form = await form_of(request, FORM_BYTES)
    name = one(form, "name") or "drafted"
    rows = await run_in_threadpool(active, access)
    text = next((row["text"] for row in rows if row["name"] == name), "")
    changed = with_rule(text, next(iter(form.get("draft", [])), ""), one(form, "policy"))
    await catalog_api.store_policy(access, request, name, changed)
    return RedirectResponse(f"/policies/{name}?{urlencode({'done': 'Accepted ' + one(form, 'policy')})}", 303)


def active(access: Access) -> Sequence[Any]:
    with access.service.store.read() as connection:
        return catalog.active_policies(connection, access.project)


@router.post("/policies/check")
async def check(request: Request, access: Reader) -> JSONResponse:
    """What the parser says of a text while it is written."""
    form = await form_of(request, FORM_BYTES)
    text = next(iter(form.get("text", [])), "")
    try:
        warned = (await catalog_api.warnings_of(access, request, len(text), "edited", text))["edited"]
        count = len(await run_in_threadpool(lambda: read_policies("edited", text).policies))
    except (CollectorError, SynthError) as flaw:
        line = getattr(flaw, "line", None)
        field = getattr(flaw, "field", None)
        return JSONResponse({"problem": getattr(flaw, "message", str(flaw)), "line": line, "field": field})
    told = [{name: said[name] for name in ("policies", "explanation")} for said in warned]
    return JSONResponse({"problem": None, "policies": count, "warnings": told})


@router.get("/policies/{name}")
async def editor(request: Request, access: Reader, name: str) -> HTMLResponse:
    """One policy file: its text to change, its versions and what changed."""
    rows = await run_in_threadpool(versions, access, name)
    if not rows and name != "new":
        return missing("policy file", name)
    key = request.query_params.get("run", "")
    text = (
        rows[0]["text"] if rows else EXAMPLE if not key else await run_in_threadpool(first_rule, access, key)
    )
    return await shown(request, access, name, text, rows)


def first_rule(access: Access, key: str) -> str:
    """A file to begin with, about the tools of a run; the usual one where a sentence cannot name them."""
    with alone(access, key):
        _, rebuilt, _ = load_run(access, key)
    tools = list(dict.fromkeys(call.tool for call in rebuilt.run.calls))[:MOST_ACTIONS]
    actions = {words: tool for tool in tools if (words := " ".join(WORD.findall(tool.lower())))}
    named = list(actions)
    if not named:
        return EXAMPLE
    if len(named) > 1:
        rule = f"{named[0].capitalize()} must happen before {named[-1]}."
    else:
        rule = f"{named[0].capitalize()} must happen at most 1 time."
    lines = "\n".join(f"  {name}: {json.dumps(tool, ensure_ascii=False)}" for name, tool in actions.items())
    text = f"actions:\n{lines}\npolicies:\n  - id: my-rule\n    rule: {rule}\n"
    try:
        read_policies("new", text)
    except SynthError:
        return EXAMPLE
    return text


def versions(access: Access, name: str) -> list[dict[str, Any]]:
    with access.service.store.read() as connection:
        return catalog.policy_versions(connection, access.project, name)


async def shown(
    request: Request, access: Access, name: str, text: str, rows: Sequence[Any], status: int = 200,
    **more: Any,
) -> HTMLResponse:  # fmt: skip
    """The editor with a text in it, which need not be the one that is stored."""
    asked = request.query_params.get("version", "")
    active = [{**dict(row), "warnings": []} for row in rows[:1] if row["active"]]
    rules = await run_in_threadpool(rows_of_all, access, active)
    given = {"problem": None, "line": None, "tried": None, "saved": None, "runs_line": "", **more}
    return page(
        "policy.html", status, called="" if name == "new" else name, text=text, versions=rows,
        diff=diff(rows, int(asked)) if asked.isdigit() and len(asked) < 9 else None, asked=asked,
        now=access.now, may_write=access.may("write"), done=request.query_params.get("done"), most=MOST_RUNS,
        rules=rules, **given,
    )  # fmt: skip


def diff(rows: Sequence[Any], version: int) -> list[tuple[str, str]] | None:
    """(kind, line) of what a version changed; None where there is no such version."""
    texts = {row["version"]: row["text"] for row in rows}
    if version not in texts:
        return None
    before = texts.get(version - 1, "").splitlines()
    found = difflib.unified_diff(before, texts[version].splitlines(), n=3, lineterm="")
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return [(kinds.get(line[:1], ""), line) for line in found if not line.startswith(("---", "+++"))]


@router.post("/policies/{name}")
async def change(request: Request, _anybody: Annotated[Access, Depends(anybody)], name: str) -> Response:
    """Try a text on stored runs, or save it as a new version; what cannot be read comes back as it was.

    A key needs what it needs for the same over the API.
    """
    form = await form_of(request, FORM_BYTES)
    access = await (reader if one(form, "do") == "try" else writer)(request)
    text = next(iter(form.get("text", [])), "").replace("\r\n", "\n")
    called = one(form, "name") or name
    rows = await run_in_threadpool(versions, access, called)
    line = one(form, "q")
    try:
        if one(form, "do") == "try":
            said = orjson.loads(bytes((await tried(access, request, text, line, mode="block")).body))
            return await shown(request, access, called, text, rows, tried=said, runs_line=line)
        if one(form, "do") == "drop":
            await run_in_threadpool(catalog_api.drop_policy, access, called)
            return RedirectResponse(f"/policies?{urlencode({'done': f'{called} is switched off'})}", 303)
        version = (await catalog_api.store_policy(access, request, called, text))["version"]
    except (CollectorError, SynthError) as flaw:
        return await shown(
            request, access, called, text, rows, 400, problem=getattr(flaw, "message", str(flaw)),
            line=getattr(flaw, "line", None), runs_line=line,
        )  # fmt: skip
    told = urlencode({"done": f"Saved as version {version}"})
    return RedirectResponse(f"/policies/{called}?{told}", 303)

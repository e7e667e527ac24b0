"""The work list: runs that a search finds, what was wrong with each, and what can be done with some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from collector.api import making, search, views
from collector.api.access import Access, reader, writer
from collector.api.bodies import raw_body
from collector.api.inbox import drop_view, keep_view
from collector.api.runs import alone, deleted, load_run, run_filter
from collector.errors import BadRequest, CollectorError
from collector.judging.names import misspelt_tools
from collector.store import facets, reads, seen
from collector.store import views as saved_views
from collector.store.recheck import make_due_of
from collector.ui import words
from collector.ui.overview import shown, teaching
from collector.ui.pages import FILTERS, message_page, page
from collector.ui.ranges import OFFERED
from synth.errors import SynthError

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]

ROWS = 50
MOST = 10_000
"""Runs that are counted; more are "over" that."""
NEWEST = 2_000
"""Runs of the whole list that are looked at for what they differ in."""
MOST_VALUES = 8
"""Agents, models and versions that a list can be narrowed to at a click."""
DEEPEST = 10_000
"""Rows of a sorted list that one can page through."""
FORM_BYTES = 256 * 1024
COLUMNS = (
    ("outcome", None, "Outcome"), ("what", None, "What was found"), ("agent", None, "Agent"),
    ("calls", "calls", "Calls"), ("tokens", "tokens", "Tokens"), ("findings", "findings", "Findings"),
    ("duration", "duration", "Took"), ("when", "", "Received"),
)  # fmt: skip
"""(name, what it sorts by, heading); empty = the usual order."""


@router.get("/runs")
def runs(
    request: Request, access: Reader, cursor: str | None = None, after: str | None = None
) -> HTMLResponse:
    """The runs that a search finds; every part of it is in the address."""
    asked = request.query_params
    single = {name: asked.get(name, "").strip() for name in FILTERS}
    line = " ".join(filter(None, (search.line_of(single), asked.get("q", "").strip())))
    by = asked.get("sort", "")
    problem, wanted, status = None, reads.Filter(), 200
    try:
        wanted = search.searched(line, access.now, run_filter)
        if by and by not in reads.SORTS:
            raise BadRequest(f"sort is {by[:40]!r}", f"expected one of {', '.join(reads.SORTS)}")
    except CollectorError as failure:
        problem, status, by = f"{failure.message}; {failure.hint}", failure.status, ""
    with access.service.store.read() as connection:
        stats = reads.stats(connection, access.project)
        rows, links = listed(connection, access, wanted, by, cursor, after)
        first = reads.first_findings(connection, [row["id"] for row in rows])
        misspelt = misspelt_tools(connection, access.project)
        named = saved_views.listed(connection, access.project)
        known = suggestions(connection, access.project)
    if len(rows) < ROWS and cursor is None and after is None:
        found = facets.of_rows(rows)  # these are all
    else:
        key = ("facets", access.project, "" if problem else line)
        most = NEWEST if wanted == reads.Filter() else MOST + 1  # all runs are counted already
        found = access.service.remembered.get(key, lambda: looked_up(access, wanted, most))
    count = stats["runs"] if wanted == reads.Filter() else found.runs
    known += [f"model:{search.quoted(name)}" for name in sorted(found.by["model"])[:20]]
    kept = {"q": line, "sort": by}
    return page(
        "runs.html", status, line=line, by=by, problem=problem, stats=stats, count=count, most=MOST,
        runs=[shown(row, first.get(row["id"])) for row in rows], columns=COLUMNS,
        older=links[0] and address(**kept, **links[0]), newer=links[1] and address(**kept, **links[1]),
        with_part=lambda name, value: address(q=changed(line, name, value), sort=by),
        sorted_by=lambda name: address(q=line, sort=name), fields=search.FIELDS, offered=OFFERED,
        last=dict(parts(line)).get("last"), untimed=changed(line, "last", ""),
        timed={name: said for name, said in parts(line) if name in ("since", "until")},
        chosen_outcome=wanted.outcome, known=known, facets=narrowing(found), counted_in=min(found.runs, MOST),
        views=named, misspelt=misspelt, behind=access.service.behind, now=access.now, outcomes=words.OUTCOMES,
        meant=words.MEANT, live=cursor is None and after is None and not by, saved=asked.get("saved"),
        **teaching(request, access),
    )  # fmt: skip


def listed(
    connection: Any, access: Access, wanted: reads.Filter, by: str, cursor: str | None, after: str | None
) -> tuple[Sequence[Any], tuple[dict[str, str] | None, dict[str, str] | None]]:
    """Rows, and what leads to older and newer ones."""
    if by:
        skip = min(views.row_cursor(cursor) or 0, DEEPEST)
        rows = reads.sorted_runs(connection, access.project, wanted, by=by, limit=ROWS, skip=skip)
        more = (
            {"cursor": str(views.encode_cursor(skip + ROWS))}
            if len(rows) == ROWS and skip < DEEPEST
            else None
        )
        less = {"cursor": str(views.encode_cursor(skip - ROWS))} if skip >= ROWS else None
        return rows, (more, less)
    found = reads.list_runs(
        connection, access.project, wanted, limit=ROWS,
        before=views.place_cursor(cursor), after=views.place_cursor(after),
    )  # fmt: skip
    rows, end = found.rows, found.end
    if end is None:
        return rows, (None, None)
    start = reads.Place(rows[0]["first_seen"], rows[0]["id"], end.by_number)
    more = {"cursor": encoded(end)} if len(rows) == ROWS or after else None
    less = {"after": encoded(start)} if cursor or (after and len(rows) == ROWS) else None
    return rows, (more, less)


def encoded(place: reads.Place) -> str:
    return views.encode_cursor(views.encode_place(place))


def looked_up(access: Access, wanted: reads.Filter, most: int) -> facets.Facets:
    with access.service.store.read() as connection:
        return facets.of_store(connection, access.project, wanted, most)


def narrowing(found: facets.Facets) -> list[tuple[str, list[tuple[str, int]]]]:
    """(field, (value, runs) of the most frequent ones) of those by which runs differ."""
    return [
        (field, counts.most_common(MOST_VALUES))
        for field, counts in found.by.items()
        if len(counts) > 1 or 0 < counts.total() < found.runs
    ]


def address(**asked: str) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/runs?{query}" if query else "/runs"


def parts(line: str) -> list[tuple[str, str]]:
    """Of a search line; none of one that cannot be read."""
    try:
        return search.parts_of(line)
    except CollectorError:
        return []


def changed(line: str, name: str, value: str) -> str:
    """A search line that asks another value of one field, or with an empty one for any."""
    gone = {"last": ("last", "since", "until")}.get(name, (name,))
    kept = [(field, said) for field, said in parts(line) if field not in gone]
    told = [f"{field}:{search.quoted(said)}" if field else search.quoted(said) for field, said in kept]
    return " ".join([*told, *([f"{name}:{search.quoted(value)}"] if value else [])])


def suggestions(connection: Any, project: int) -> list[str]:
    """Parts of a search line that would find something."""
    columns = (
        ("agent", "agent"),
        ("case", "case_id"),
        ("version", "release"),
        ("environment", "environment"),
        ("error", "error_type"),
    )
    named = [
        f"{field}:{search.quoted(value)}"
        for field, column in columns
        for value in reads.distinct(connection, project, column)[:20]
    ]
    rules = [f"rule:{search.quoted(name)}" for name in reads.policy_names(connection, project)[:20]]
    called = {tool for tool, how in seen.names(connection, project) if how == "called"}
    tools = [f"tool:{search.quoted(name)}" for name in sorted(called)[:20]]
    outcomes = [f"outcome:{name}" for name in ("fail", "pass", "error", "undecided", "open")]
    return outcomes + named + rules + tools


# ---------------------------------------------------------------- what is done with chosen runs


async def form_of(request: Request, most: int = FORM_BYTES) -> dict[str, list[str]]:
    """The fields of a form of ours; raises BadRequest where it is none."""
    body = await raw_body(request, most)
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=5_000)
    except ValueError as flaw:
        raise BadRequest(f"the form cannot be read: {flaw}") from None


def one(form: Mapping[str, Sequence[str]], name: str) -> str:
    """The value of a field; empty where it was not sent."""
    return next(iter(form.get(name, ())), "").strip()


@router.post("/runs/recheck")
async def recheck(request: Request, access: Writer) -> Response:
    """Judge the chosen runs again."""
    form = await form_of(request)
    keys = form.get("run", [])
    if not keys:
        return nothing_chosen()
    count = await run_in_threadpool(make_due_of, access.service.store, access.project, keys, now=access.now)
    access.service.wake()
    return message_page(
        "Judged again",
        f"Of the chosen runs {count} {'is' if count == 1 else 'are'} judged again by the rules of now; "
        "each run's page shows when.",
        back=one(form, "back"),
    )


def nothing_chosen() -> HTMLResponse:
    todo = "Tick the runs in the list first, then press the button below it."
    return message_page("No run is chosen", "Nothing was done.", 400, todo=todo)


@router.get("/runs/export")
def export(request: Request, access: Reader) -> Response:
    """The records of the chosen runs, as `pdoctor check` reads them."""
    keys = request.query_params.getlist("run")[:ROWS]
    if not keys:
        return nothing_chosen()
    lines = []
    for key in keys:
        with alone(access, key):
            lines.append(views.encoded(views.run_record(*load_run(access, key))))
    about = {"content-disposition": 'attachment; filename="runs.jsonl"'}
    return Response(b"\n".join(lines) + b"\n", media_type="application/x-ndjson", headers=about)


@router.get("/runs/cases")
async def cases(request: Request, access: Reader) -> Response:
    """The chosen runs as test cases, a line each, as `pdoctor replay` reads them."""
    keys = request.query_params.getlist("run")[:ROWS]
    if not keys:
        return nothing_chosen()
    lines = []
    for key in keys:
        try:
            made = orjson.loads(bytes((await making.case_of_run(access, key, request)).body))
        except (CollectorError, SynthError) as failure:
            said = f"No case can be made of run {key[:12]}: {failure}."
            return message_page("No cases", said, 400, todo="Take its tick away.")
        lines.append(views.encoded(made["case"]))
    about = {"content-disposition": 'attachment; filename="cases.jsonl"'}
    return Response(b"\n".join(lines) + b"\n", media_type="application/x-ndjson", headers=about)


@router.post("/runs/delete")
async def delete(request: Request, access: Writer) -> Response:
    """Ask whether the chosen runs, or those of a session or a user, shall go; then let them go."""
    form = await form_of(request)
    keys, session, user = form.get("run", []), one(form, "session"), one(form, "user")
    if not (keys or session or user):
        return nothing_chosen()
    if one(form, "sure") != "yes":
        return page("delete.html", keys=keys, session=session, user=user)
    count = await run_in_threadpool(delete_chosen, access, keys, session, user)
    return message_page(
        "Deleted",
        f"{count} {'run is' if count == 1 else 'runs are'} gone for good; the audit trail says so.",
    )


def delete_chosen(access: Access, keys: Sequence[str], session: str, user: str) -> int:
    count = sum(deleted(access, key=key) for key in keys)
    if session or user:
        count += deleted(access, session=session or None, user=user or None)
    return count


@router.get("/runs/compare")
def compare_chosen(request: Request, access: Reader) -> Response:
    """Two of the chosen runs side by side."""
    keys = request.query_params.getlist("run")
    if len(keys) != 2:
        said = f"{len(keys) or 'None'} {'are' if len(keys) > 1 else 'is'} ticked."
        return message_page("Two runs are compared", said, 400, todo="Tick exactly two in the list.")
    return RedirectResponse(f"/compare?{urlencode({'a': keys[0], 'b': keys[1]})}", 303)


@router.post("/views")
async def save_view(request: Request, access: Writer) -> Response:
    """Give a search a name."""
    form = await form_of(request)
    line, name = one(form, "q"), one(form, "name")
    await run_in_threadpool(keep_view, access, name, line)
    return RedirectResponse(address(q=line, saved=name), 303)


@router.post("/views/drop")
async def forget_view(request: Request, access: Writer) -> Response:
    form = await form_of(request)
    await run_in_threadpool(drop_view, access, one(form, "name"))
    return RedirectResponse("/runs", 303)

"""Routes of the pages."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

import orjson
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import COOKIE, Access, anybody, reader, visitor
from collector.api.bodies import raw_body
from collector.api.errors import sentence
from collector.api.findings import owned_rules
from collector.api.runs import SHORTEST_ID, alone, find_run, load_case, load_told
from collector.errors import CollectorError, NotFound
from collector.judging.policies import PolicyFile, diagram_in, facts_in
from collector.metrics import METRICS, outside_metrics
from collector.model import Rebuilt
from collector.otlp.spans import spans_of
from collector.service import Service
from collector.store import catalog, groups, reads
from collector.store.work import HISTORY
from collector.ui import words
from collector.ui.call_rows import LONGEST, SHOWN
from collector.ui.run_page import run_page
from synth.policies import Diagram

HERE = Path(__file__).parent
FILTERS = (
    "outcome", "error_type", "agent", "service", "version", "prompt", "environment", "case", "policy", "tool",
    "since", "until",
)  # fmt: skip
STATIC = {
    "style.css": "text/css",
    "live.js": "text/javascript",
    "pages.js": "text/javascript",
    "favicon.svg": "image/svg+xml",
}

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]

templates = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.filters.update(words.FILTERS)


WARM_AFTER = 2.0
"""Seconds after the start, which has better things to do."""


async def warm() -> None:
    """Compile the templates one by one, so that the first reader of a page does not wait for it."""
    await asyncio.sleep(WARM_AFTER)
    for name in templates.list_templates():
        await run_in_threadpool(templates.get_template, name)


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, with who looks at it in its header."""
    return HTMLResponse(templates.get_template(name).render(visitor=visitor.get(), **values), status)


def message_page(
    title: str, text: str, status: int = 200, *, todo: str = "", back: str = "", back_to: str = ""
) -> HTMLResponse:
    """A page that says one thing, what to do about it, and leads back; to the list of runs if not told."""
    told = {"todo": todo, "back": back or "/runs", "back_to": back_to or ("" if back else "All runs")}
    return page("message.html", status, title=title, text=text, **told)


LISTS = {
    "run": (
        "/runs", "runs",
        f"An id is that of the list, or how it begins ({SHORTEST_ID} characters or more). A run also goes "
        "when it was deleted, or is older than what the project keeps.",
    ),
    "campaign": (
        "/campaigns", "campaigns",
        "A campaign has the id that the command that made it printed; the oldest go when there are too many.",
    ),
    "case": ("/cases", "cases", "A case has the id that its file gives it, letter for letter."),
    "policy file": ("/policies", "policies", "A policy file has the name that it was stored under."),
}  # fmt: skip
"""What can be asked for by name -> where all are listed, what they are called, why one may not be there."""


def missing(what: str, named: str, text: str = "") -> HTMLResponse:
    """Says of something that was asked for by name that it is not there."""
    where, several, todo = LISTS[what]
    said = text or f"There is no {what} {named[:80]!r} in this project."
    return message_page(f"No such {what}", said, 404, todo=todo, back=where, back_to=f"All {several}")


Place = Annotated[int, Query(ge=0, lt=1 << 31)]
Instant = Annotated[float, Query(ge=0, lt=1e15, allow_inf_nan=False)]
"""Milliseconds after the start of a run."""


@router.get("/runs/{run_id}")
def run(
    access: Reader, run_id: str, calls: Place | None = None, part: Place | None = None,
    since: Instant | None = None, until: Instant | None = None,
) -> HTMLResponse:  # fmt: skip
    """One run: what was called when, what was wrong with it, and what would have been right."""
    try:
        with alone(access, run_id):
            within = None if since is None or until is None else (since, until)
            return _run(access, run_id, calls, part, within)
    except NotFound:
        return missing("run", run_id)


def _run(
    access: Access, run_id: str, calls: int | None, part: int | None, within: tuple[float, float] | None
) -> HTMLResponse:
    row, spans, run, history = load_told(access, run_id)
    case = load_case(access, row["case_id"])
    said = case.to_json() if case else None
    judged_at = history[-1].at if history else None
    state = (row["id"], row["key"], state_of(row), len(spans), judged_at, orjson.dumps(said))
    measures = access.service.counted.get(state)
    if measures is None:
        measures = views.measures_of(run.run, history, case)
        access.service.counted.put(state, measures)
    detail = views.run_told(row, run.run, history, case, measures)
    shown = run_page(detail, run, spans, said, call=calls, part=part, within=within)
    return page(
        "run.html", run=detail, page=shown, shown=SHOWN, state=state_of(row), now=access.now,
        seen=row["first_seen"], kept=HISTORY, labels=labels_of(access, row["key"]),
        may_write=access.may("write"), diagrams=dict(_diagrams(access, detail["policies"])), longest=LONGEST,
        opened=calls, owned_rules=owned_rules(access),
        facts=dict(_facts(access, detail["policies"], run.run)), metrics=list(metrics_of(detail["metrics"])),
    )  # fmt: skip


def metrics_of(measured: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(name, what it is, how it is said) of each metric that is known of a run."""
    for one in (*METRICS, *outside_metrics()):
        value = measured.get(one.name)
        if value is not None and value != {}:
            yield one.name, one.about, words.measure(one, value)


def labels_of(access: Access, run: str) -> dict[str, Any]:
    """Rule -> what a person said of the verdict on it."""
    with access.service.store.read() as connection:
        return {row["rule"]: row for row in groups.labels(connection, access.project, run=run)}


def _diagrams(
    access: Access, results: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, tuple[str, Sequence[Any]]]]:
    """Policy -> the diagram of its behaviour specification, where it has one: its address, and as a table."""
    for one in results:
        told = one["sentence"] or ""  # a formula, or the one word that a specification is called
        if one["version"] is None or not (told.startswith("(") or len(told.split()) == 1):
            continue
        drawn = _drawn(access, one["file"], one["version"], one["policy"])
        if drawn is not None:
            asked = {"file": one["file"], "version": one["version"], "policy": one["policy"]}
            yield one["policy"], (f"/diagram?{urlencode(asked)}", drawn.rows)


def _facts(
    access: Access, results: Sequence[Mapping[str, Any]], rebuilt: Rebuilt
) -> Iterator[tuple[str, Sequence[Any]]]:  # fmt: skip
    """Contract -> the facts that held at each call."""
    for one in results:
        if one["version"] is None or "first_bad" not in one:
            continue
        file = _policy_file(access, one["file"], one["version"])
        if file is not None and (held := facts_in(file, one["policy"], rebuilt.run)):
            yield one["policy"], held


def _drawn(access: Access, file: str, version: int, policy: str) -> Diagram | None:
    found = _policy_file(access, file, version)
    return None if found is None else diagram_in(found, policy)


def _policy_file(access: Access, file: str, version: int) -> PolicyFile | None:
    """A version of a policy file, as it was stored."""
    with access.service.store.read() as connection:
        text = catalog.policy_text(connection, access.project, file, version)
    return None if text is None else PolicyFile(file, text, version)


@router.get("/diagram")
def diagram(
    access: Reader, file: str, version: Annotated[int, Query(ge=0, lt=1 << 31)], policy: str
) -> Response:
    """A behaviour specification that a policy has, as SVG."""
    drawn = _drawn(access, file, version, policy)
    if drawn is None:
        raise NotFound(
            f"version {version} of {file[:80]!r} has no specification {policy[:80]!r} that can be drawn"
        )
    return Response(drawn.svg, media_type="image/svg+xml")


def state_of(row: Any) -> str:
    """Changes whenever the page of a run would."""
    return f"{row['version']}.{row['checked']}.{row['complete']}.{row['digest']}"


@router.get("/runs/{run_id}/state")
def state(access: Reader, run_id: str) -> Response:
    """What an open page asks for, again and again, until it is not what it shows."""
    with access.service.store.read() as connection:
        return Response(state_of(find_run(connection, access, run_id)), media_type="text/plain")


@router.get("/runs/{run_id}/spans/{span_id}")
def span(access: Reader, run_id: str, span_id: str) -> HTMLResponse:
    """One span as it was received."""
    try:
        with alone(access, run_id), access.service.store.read() as connection:
            row = find_run(connection, access, run_id)
            stored = reads.stored_spans(connection, row["id"])
            spans = spans_of(stored.payloads, stored.shared)
            found = [one for one in spans if one.span_id == span_id.lower()]
    except NotFound:
        return missing("run", run_id)
    if not found:
        said = f"Run {row['key']} has no span {span_id[:80]!r}."
        todo = "The page of the run links to the spans that it has."
        return message_page(
            "No such span", said, 404, todo=todo, back=f"/runs/{row['key']}", back_to="The run"
        )
    items = [orjson.dumps(views.span_item(one), option=orjson.OPT_INDENT_2).decode() for one in found]
    return page("span.html", run_id=row["key"], span_id=span_id, items=items)


def login_page(problem: str, next_page: str, status: int = 401) -> HTMLResponse:
    """Asks for a key; `next_page` is where the visitor wanted to go."""
    return page("login.html", status, problem=problem, next=next_page)


@router.post("/login")
async def login(request: Request) -> Response:
    """Keep the key in a cookie; it is checked with every request, as a header would be."""
    form = parse_qs((await raw_body(request, 10_000)).decode("utf-8", "replace"))
    token, wanted = form.get("key", [""])[0].strip(), form.get("next", ["/"])[0]
    target = wanted if wanted.startswith("/") and not wanted.startswith(("//", "/\\")) else "/"
    service: Service = request.app.state.service
    try:
        await run_in_threadpool(service.gate.grant, token, "read")
    except CollectorError as failure:
        return login_page(sentence(failure), target)
    answer = RedirectResponse(target, 303)
    keep(request, answer, token)
    return answer


def keep(request: Request, answer: Response, token: str) -> None:
    """Let the browser show this key with every request from now on."""
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure)


@router.post("/logout")
def logout() -> Response:
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(COOKIE)
    return answer


@router.get("/openapi.json")
def openapi(request: Request, _access: Annotated[Access, Depends(anybody)]) -> JSONResponse:
    """The HTTP API for programs."""
    return JSONResponse(request.app.openapi())


@router.get("/docs")
def docs(request: Request, _access: Annotated[Access, Depends(anybody)]) -> HTMLResponse:
    """The HTTP API, from its OpenAPI description."""
    endpoint, keyed = str(request.base_url).rstrip("/"), request.app.state.service.gate.needs_key
    told = partial(sendable, endpoint, keyed=keyed)
    return page("docs.html", api=request.app.openapi(), words=words, sendable=told)


def sendable(endpoint: str, method: str, path: str, route: Mapping[str, Any], *, keyed: bool) -> str:
    """A line for a shell that asks this; in capitals what has to be put into the address."""
    place = re.sub(r"\{(\w+)[^}]*\}", lambda found: found[1].upper(), path)
    line = ["curl", endpoint + place] if method == "get" else ["curl", "-X", method.upper(), endpoint + place]
    if keyed:
        line += ["-H", "Authorization: Bearer pdk_..."]
    for media, said in route.get("requestBody", {}).get("content", {}).items():
        if "example" in said:
            body = said["example"]
            line += ["-H", f"Content-Type: {media}", "--data-binary"]
            return shlex.join([*line, body if isinstance(body, str) else words.as_json(body)])
    return shlex.join(line)


@router.get("/static/{name}")
def static(name: str) -> Response:
    """The style sheet, the one script and the icon."""
    if name not in STATIC:
        raise NotFound(f"there is no file {name[:80]!r}")
    return Response((HERE / "static" / name).read_bytes(), media_type=STATIC[name])


@router.get("/favicon.ico")
def favicon() -> Response:
    return Response((HERE / "static" / "favicon.svg").read_bytes(), media_type="image/svg+xml")

"""A run as a test case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import Access, reader
from collector.api.answers import JsonRoute
from collector.api.runs import alone, load_case, load_spans
from collector.dialects.names import TOOL_DEFINITIONS
from collector.dialects.reading import loaded
from collector.errors import BadRequest
from collector.pipeline.making import CaseToMake
from collector.rebuild import rebuild
from collector.store import catalog
from synth.cases import RuleFile, definitions_in

router = APIRouter(prefix="/api/v1", tags=["runs"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
MOST_DEFINITIONS = 1000


@router.get("/runs/{run_id}/case")
async def case_of_run(access: Reader, run_id: str, request: Request) -> Response:
    """A run as a test case: its request, its tools with their answers, and the rules that it was judged by.

    `case` is a line of a file that `pdoctor replay` runs an agent on; `left_out` says which rules are not
    among its own, and why. A run without a request, or without calls, makes none (400).
    """
    question = await run_in_threadpool(question_of, access, run_id)
    said = await access.service.asked.answer(question, request.is_disconnected)
    return Response(said, media_type="application/json")


def question_of(access: Access, run_id: str) -> CaseToMake:
    with alone(access, run_id):
        row, spans, history = load_spans(access, run_id)
        if not history:
            raise BadRequest("the run has not been judged yet", "ask again in a moment")
        record = views.run_record(row, rebuild(row["key"], spans), history)
        found = [one for span in spans for one in definitions_in(loaded(span).get(TOOL_DEFINITIONS))]
    policies = history[-1].body.get("policies", ())
    case = load_case(access, row["case_id"])
    return CaseToMake(
        views.encoded(record),
        tuple(rules_of(access, policies)),
        None if case is None else views.encoded(case.to_json()).decode(),
        found[:MOST_DEFINITIONS],
        tuple((f"{one['file']}/{one['policy']}", one["verdict"]) for one in policies if one.get("file")),
    )


def rules_of(access: Access, policies: Sequence[Mapping[str, Any]]) -> Iterator[RuleFile]:
    """The policy files by which a run was judged, in the versions that did."""
    known = dict.fromkeys((one.get("file"), one.get("version")) for one in policies)
    with access.service.store.read() as connection:
        for name, version in known:
            if name is None or version is None:
                continue
            text = catalog.policy_text(connection, access.project, name, version)
            if text is not None:
                yield RuleFile(name, text, version)

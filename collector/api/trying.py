"""Policies tried on stored runs before they are in use."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from collector.api.access import Access, reader
from collector.api.answers import JsonRoute
from collector.api.bodies import json_object, reject_unknown
from collector.api.catalog import POLICY_TEXT
from collector.api.runs import run_filter
from collector.api.search import searched
from collector.errors import BadRequest
from collector.pipeline.trying import MOST_RUNS, FileToTry
from collector.store.reads import Filter
from synth.policies import MODES

router = APIRouter(prefix="/api/v1", tags=["cases and policies"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]


@router.post("/policies/try")
async def try_policies(access: Reader, request: Request) -> Response:
    """What a policy file would flag among stored runs; nothing is stored: `{"text", "runs"?, "q"?, "mode"?}`.

    The newest `runs` complete runs (500) that the search line `q` finds are judged in a process of its own,
    each by itself, for 20 s at most: `runs` of the answer is how many were tried. New is what no policy of
    the same id has found in the run. With `mode` (observe, warn, feedback, ask, block) `guard` tells which
    calls a guard in that mode would have refused, rule by rule, and how many of them the verdicts blame.
    """
    said = await json_object(request)
    reject_unknown(said, {"text", "runs", "q", "mode"}, "the request")
    text, line, runs = said.get("text"), said.get("q", ""), said.get("runs", MOST_RUNS)
    return await tried(access, request, text, line, runs, said.get("mode"))


async def tried(
    access: Access, request: Request, text: Any, line: Any, runs: Any = MOST_RUNS, mode: Any = None
) -> Response:
    """Raises BadRequest, and BadInput for a text that cannot be read."""
    if not isinstance(text, str) or not isinstance(line, str) or len(text) > POLICY_TEXT:
        raise BadRequest("`text` and `q` must be text", "send the text of a policy file")
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
        raise BadRequest("`runs` is no number of runs", f"send 1 to {MOST_RUNS}")
    if mode is not None and mode not in MODES:
        raise BadRequest("`mode` is none", f"expected one of {', '.join(MODES)}")
    wanted = searched(line, access.now, run_filter) if line else Filter()
    question = FileToTry(access.project, access.service.settings, text, wanted, runs, mode=mode)
    body = await access.service.asked.answer(question, request.is_disconnected)
    return Response(body, media_type="application/json")

"""`POST /api/v1/guard`: may a call begin, for hosts in other languages and gateways."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from collector.api.access import Access, reader
from collector.api.answers import JsonRoute
from collector.api.bodies import json_object, reject_unknown
from collector.errors import BadRequest
from collector.guarded import Asking

router = APIRouter(prefix="/api/v1", tags=["the guard"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
FIELDS = {"run", "run_id", "call", "ended", "policies", "tools", "agent", "query"}


@router.post("/guard")
async def guard(access: Reader, request: Request) -> Response:
    """Whether a proposed `call` may begin, by the rules in use or by `policies` (text of a policy file).

    The calls so far are those of `run` (a run record), or the collector keeps them: `run_id` is then a name
    of your own for the run or conversation, an allowed call has begun and has the number `call` of the
    answer, and `ended` (`[{"call", "result"?, "error"?}]`) says which are over. Asking about calls of one run
    at once is safe: of two that are allowed once, one is.
    """
    said = await json_object(request)
    reject_unknown(said, FIELDS, "the request")
    if ("run" in said) is ("run_id" in said):
        raise BadRequest(
            "`run` or `run_id` is needed, and not both", "send the calls so far, or a name for the run"
        )
    asking = Asking.read(said)
    return Response(
        await access.service.guarded.answer(access.project, asking, access.now, request.is_disconnected),
        media_type="application/json",
    )


def text_of(said: dict[str, Any], name: str) -> str | None:
    value = said.get(name)
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"`{name}` must be text", f"leave `{name}` out, or send text")
    return value

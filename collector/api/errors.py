"""One error shape everywhere outside OTLP: `{"error": {"code", "message", "hint"}}`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from collector.errors import CollectorError, Forbidden, Overloaded, Unauthorized
from synth.errors import BadInput, MissingExtra, SynthError

log = logging.getLogger("collector.api")


def error_body(code: str, message: str, hint: str | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "hint": hint}}


def sentence(failure: CollectorError) -> str:
    """What went wrong, for people."""
    return f"{failure.message[:1].upper()}{failure.message[1:]}."


def install(
    app: FastAPI,
    login_page: Callable[[str, str, int], Response],
    message_page: Callable[..., Response],
) -> None:
    """Answer every failure of a route in the one shape, or a browser with a page.

    Whom a page refuses may log in.
    """

    @app.exception_handler(CollectorError)
    async def _ours(request: Request, failure: CollectorError) -> Response:
        if isinstance(failure, Unauthorized | Forbidden) and is_page(request):
            problem = sentence(failure) if isinstance(failure, Forbidden) else ""
            return login_page(problem, asked_for(request), failure.status)
        headers = {"Retry-After": str(failure.retry_after)} if isinstance(failure, Overloaded) else None
        if is_looked_at(request):
            todo = f"{failure.hint[:1].upper()}{failure.hint[1:]}." if failure.hint else ""
            title = "There is no such thing" if failure.status == 404 else "That cannot be done"
            return message_page(title, sentence(failure), failure.status, todo=todo)
        body = error_body(failure.code, failure.message, failure.hint)
        return JSONResponse(body, failure.status, headers=headers)

    @app.exception_handler(SynthError)
    async def _input(request: Request, failure: SynthError) -> Response:
        if is_looked_at(request):
            return message_page("That cannot be read", str(failure), 400)
        if isinstance(failure, MissingExtra):
            return JSONResponse(error_body("missing_extra", str(failure)), 501)
        place = {"line": failure.line, "field": failure.field} if isinstance(failure, BadInput) else {}
        body = error_body("bad_request", str(failure))
        body["error"].update({name: value for name, value in place.items() if value is not None})
        return JSONResponse(body, 400)

    @app.exception_handler(RequestValidationError)
    async def _parameters(request: Request, failure: RequestValidationError) -> Response:
        first = failure.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
        if is_looked_at(request):
            said = f"{where!r} {refused(first)}."
            todo = "Mend it in the address, or look at the page without it."
            told = {"back": request.url.path, "back_to": "The page without it"}
            return message_page("The address cannot be used", said, 400, todo=todo, **told)
        hint = "the parameters are listed at /docs"
        return JSONResponse(error_body("bad_request", f"parameter {where}: {first['msg']}", hint), 400)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, failure: HTTPException) -> Response:
        if is_looked_at(request):
            said = (
                f"Nothing is at {request.url.path[:200]}." if failure.status_code == 404 else failure.detail
            )
            return message_page("There is no such page", said, failure.status_code)
        codes = {404: "not_found", 405: "method_not_allowed"}
        message = f"{request.method} {request.url.path}: {failure.detail}"
        body = error_body(
            codes.get(failure.status_code, "http"), message, "the addresses are listed at /docs"
        )
        return JSONResponse(body, failure.status_code, headers=failure.headers)

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, failure: Exception) -> Response:
        log.error("a request failed", exc_info=failure)
        if is_looked_at(request):
            return message_page("Something failed here", "The collector's log has the details.", 500)
        return JSONResponse(
            error_body("internal", "internal error", "the collector's log has the details"), 500
        )


def refused(flaw: Mapping[str, Any]) -> str:
    """Why a part of an address was refused, as a sentence that the part begins."""
    if flaw["type"] == "missing":
        return "is missing"
    about, asked = flaw.get("ctx", {}), str(flaw.get("input"))[:80]
    bounds = [("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")]
    wanted = next((f"a number that is {said} {about[one]:g}" for one, said in bounds if one in about), None)
    kinds = {"int_parsing": "a whole number", "float_parsing": "a number", "finite_number": "a number"}
    wanted = wanted or kinds.get(flaw["type"])
    return f"is {asked!r}, and should be {wanted}" if wanted else f"is {asked!r}: {flaw['msg']}"


def is_page(request: Request) -> bool:
    """Whether people look at it in a browser; the API and the metrics are for programs."""
    return not request.url.path.startswith(("/api/", "/metrics", "/openapi.json"))


def is_looked_at(request: Request) -> bool:
    """Whether a browser asks for a page; programs get JSON wherever they ask."""
    return is_page(request) and "text/html" in request.headers.get("accept", "")


def asked_for(request: Request) -> str:
    """The address within this collector, with all that was chosen in its query."""
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path

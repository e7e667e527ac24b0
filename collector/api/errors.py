"""One error shape everywhere outside OTLP: `{"error": {"code", "message", "hint"}}`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from collector.errors import CollectorError, Overloaded, Unauthorized
from synth.errors import BadInput, MissingExtra, SynthError

log = logging.getLogger("collector.api")


def error_body(code: str, message: str, hint: str | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "hint": hint}}


def install(app: FastAPI, login_page: Callable[[str, str], Response]) -> None:
    """Answer every failure of a route in the one shape; a visitor of a page without a key may log in."""

    @app.exception_handler(CollectorError)
    async def _ours(request: Request, failure: CollectorError) -> Response:
        if isinstance(failure, Unauthorized) and not request.url.path.startswith("/api/"):
            return login_page("", request.url.path)
        headers = {"Retry-After": str(failure.retry_after)} if isinstance(failure, Overloaded) else None
        body = error_body(failure.code, failure.message, failure.hint)
        return JSONResponse(body, failure.status, headers=headers)

    @app.exception_handler(SynthError)
    async def _input(_request: Request, failure: SynthError) -> JSONResponse:
        if isinstance(failure, MissingExtra):
            return JSONResponse(error_body("missing_extra", str(failure)), 501)
        place = {"line": failure.line, "field": failure.field} if isinstance(failure, BadInput) else {}
        body = error_body("bad_request", str(failure))
        body["error"].update({name: value for name, value in place.items() if value is not None})
        return JSONResponse(body, 400)

    @app.exception_handler(RequestValidationError)
    async def _parameters(_request: Request, failure: RequestValidationError) -> JSONResponse:
        first = failure.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
        hint = "the parameters are listed at /docs"
        return JSONResponse(error_body("bad_request", f"parameter {where}: {first['msg']}", hint), 400)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, failure: HTTPException) -> JSONResponse:
        codes = {404: "not_found", 405: "method_not_allowed"}
        message = f"{request.method} {request.url.path}: {failure.detail}"
        body = error_body(
            codes.get(failure.status_code, "http"), message, "the addresses are listed at /docs"
        )
        return JSONResponse(body, failure.status_code, headers=failure.headers)

    @app.exception_handler(Exception)
    async def _unexpected(_request: Request, failure: Exception) -> JSONResponse:
        log.error("a request failed", exc_info=failure)
        return JSONResponse(
            error_body("internal", "internal error", "the collector's log has the details"), 500
        )

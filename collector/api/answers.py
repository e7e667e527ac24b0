"""Routes that answer with JSON: what they return is encoded as it is.

The framework would walk through every answer twice, to validate and to convert it, which takes longer
than finding it. What answers look like is written down in `api.description`, and tested there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fastapi import Response
from fastapi.routing import APIRoute

from collector.api.views import encoded


class JsonRoute(APIRoute):
    """The route of an endpoint that returns a JSON value, or a response."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        status = options.get("status_code") or 200
        super().__init__(path, _answering(endpoint, status), **{**options, "response_model": None})


def _answering(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    def answer(said: Any) -> Response:
        if isinstance(said, Response):
            return said
        return Response(encoded(said), status, media_type="application/json")

    if inspect.iscoroutinefunction(endpoint):

        @functools.wraps(endpoint)
        async def waiting(*given: Any, **named: Any) -> Response:
            return answer(await endpoint(*given, **named))

        return waiting

    @functools.wraps(endpoint)
    def direct(*given: Any, **named: Any) -> Response:
        return answer(endpoint(*given, **named))

    return direct

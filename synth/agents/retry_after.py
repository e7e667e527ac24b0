"""When the server that refused wants to be asked again, as its answer says and SDKs' exceptions keep it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime

DEEPEST = 10
"""Causes of an exception that are looked at."""


def retry_after(error: BaseException) -> float | None:
    """Seconds by `Retry-After` of the answer that an exception, or a cause of it, holds; None = not known."""
    for raised in _causes(error):
        headers = getattr(getattr(raised, "response", None), "headers", None)
        if isinstance(headers, Mapping):
            seconds = _seconds(headers)
            if seconds is not None:
                return max(0.0, seconds)
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(DEEPEST):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _seconds(headers: Mapping[str, str]) -> float | None:
    try:
        if "retry-after-ms" in headers:
            return float(headers["retry-after-ms"]) / 1e3
        said = headers.get("retry-after", "")
        return (
            float(said) if said.strip().isdigit() else parsedate_to_datetime(said).timestamp() - time.time()
        )
    except (ValueError, TypeError):
        return None

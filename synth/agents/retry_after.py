"""What SDKs' exceptions say of a model's server: that it failed, and when it wants to be asked again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime

from synth.formal.trouble import Trouble

SDKS = frozenset({"openai", "anthropic", "httpx", "litellm"})
"""Packages whose exceptions say that a model did not answer."""
LONGEST = 1_000
"""Characters kept of what it said."""
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


def endpoint_trouble(error: BaseException) -> Trouble | None:
    """What a model's endpoint said, where an SDK's exception is the error or a cause of it; else None."""
    for raised in _causes(error):
        if type(raised).__module__.partition(".")[0] in SDKS:
            status = getattr(raised, "status_code", None)
            known = status if isinstance(status, int) else None
            return Trouble("endpoint", known, str(raised)[:LONGEST])
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

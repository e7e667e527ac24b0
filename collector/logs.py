"""Log lines: one JSON object each for machines, readable text for people; secrets and contents never.

What is logged says which request, which project, how many and how long. Names and values that came from
outside stand in fields of their own, and control characters in them are written out, so that nobody who
sends data can forge a line or paint a terminal.
"""

from __future__ import annotations

import logging
import re
import sys
import time
import traceback
import uuid
from contextvars import ContextVar
from itertools import count
from typing import Any, Literal, TextIO

import orjson

LogFormat = Literal["json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]
FIELDS = (
    "request_id", "project", "actor", "method", "path", "status", "ms", "spans", "requests", "rejected",
    "refused", "judged", "runs", "run", "code", "worker", "host", "url", "store", "version", "action",
)  # fmt: skip
"""Names that may be given as `extra`; in this order in a line."""
LONGEST_MESSAGE = 500
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

request_id: ContextVar[str | None] = ContextVar("pdoctor_request_id", default=None)
"""Of the request that is being answered in this context."""
_PREFIX = uuid.uuid4().hex[:8]
_NUMBERS = count(1)


def new_request_id() -> str:
    """Different in every process, cheap enough for every export request."""
    return f"{_PREFIX}-{next(_NUMBERS)}"


def default_format(stream: TextIO) -> LogFormat:
    """Text on a terminal, JSON where something collects the lines."""
    return "text" if stream.isatty() else "json"


def configure(
    wanted: LogFormat | None = None, level: LogLevel = "info", stream: TextIO | None = None
) -> None:
    """Send every log line of this process to `stream` (standard error) in one format."""
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(Lines(wanted or default_format(target)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("collector").setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
        library.setLevel(logging.WARNING)


class Lines(logging.Formatter):
    """One line for each record."""

    def __init__(self, style: LogFormat) -> None:
        super().__init__()
        self._as = style

    def format(self, record: logging.LogRecord) -> str:
        said = entry(record)
        if self._as == "json":
            return orjson.dumps(said, default=str).decode()
        return as_text(said)


def entry(record: logging.LogRecord) -> dict[str, Any]:
    """What one record says, as JSON values."""
    instant = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    said: dict[str, Any] = {
        "time": f"{instant}.{int(record.msecs):03d}Z",
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": plain(record.getMessage()),
    }
    given = {"request_id": request_id.get(), **record.__dict__}
    for name in FIELDS:
        value = given.get(name)
        if value is not None:
            said[name] = plain(value) if isinstance(value, str) else value
    if record.exc_info and record.exc_info[1] is not None:
        said["exception"] = failure_of(record.exc_info[1])
    return said


def failure_of(failure: BaseException) -> dict[str, Any]:
    """Kind, message and places of an exception; no values of its frames."""
    frames = traceback.extract_tb(failure.__traceback__)[-8:]
    places = [f"{'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno} {frame.name}" for frame in frames]
    return {"type": type(failure).__name__, "message": plain(str(failure)), "frames": places}


def as_text(said: dict[str, Any]) -> str:
    """`TIME LEVEL logger: message name=value ...`."""
    extras = [f"{name}={said[name]}" for name in FIELDS if name in said]
    failure = said.get("exception")
    if failure:
        places = " < ".join(reversed(failure["frames"]))
        extras.append(f"[{failure['type']}: {failure['message']} at {places}]")
    line = f"{said['time']} {said['level'].upper():7} {said['logger']}: {said['message']}"
    return " ".join([line, *extras])


def plain(text: str) -> str:
    """`text` without control characters and of bounded length."""
    cut = text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 3] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)

"""Failures of an export request, as HTTP status, gRPC code and `google.rpc.Status` body."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import orjson
from google.rpc.status_pb2 import Status

from collector.budget import Full
from collector.errors import CollectorError, Overloaded

Encoding = Literal["protobuf", "json"]
Form = Literal["protobuf", "json", "records"]
"""What is in a body: an export request in one of its encodings, or run records."""
CONTENT_TYPES: dict[Encoding, bytes] = {"protobuf": b"application/x-protobuf", "json": b"application/json"}

INVALID_ARGUMENT, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED = 3, 4, 8, 12
INTERNAL, UNAVAILABLE, UNAUTHENTICATED, PERMISSION_DENIED = 13, 14, 16, 7


class ExportError(Exception):
    """An export request that was not taken; nothing of it was stored."""

    def __init__(self, http: int, grpc: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.http, self.grpc, self.message, self.retry_after = http, grpc, message, retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        """Failures pass between processes."""
        return partial(ExportError, retry_after=self.retry_after), (self.http, self.grpc, self.message)

    def body(self, encoding: Encoding) -> bytes:
        """`google.rpc.Status` in the encoding of the request."""
        if encoding == "json":
            return orjson.dumps({"code": self.grpc, "message": self.message})
        return bytes(Status(code=self.grpc, message=self.message).SerializeToString())


CODES = {
    400: INVALID_ARGUMENT,
    401: UNAUTHENTICATED,
    403: PERMISSION_DENIED,
    408: DEADLINE_EXCEEDED,
    429: RESOURCE_EXHAUSTED,
    503: UNAVAILABLE,
}


def refused(failure: CollectorError) -> ExportError:
    """A failure of ours as an export's; only an overload is worth a retry."""
    return ExportError(
        failure.status,
        RESOURCE_EXHAUSTED if isinstance(failure, Full) else CODES.get(failure.status, INTERNAL),
        failure.message,
        retry_after=failure.retry_after if isinstance(failure, Overloaded) else None,
    )


def malformed(message: str) -> ExportError:
    return ExportError(400, INVALID_ARGUMENT, message)


def for_want_of_memory(flaw: Exception) -> bool:
    """Whether a library calls a body broken because there was no memory to read it."""
    return "alloc" in str(flaw)


def too_large(what: str, limit: int, hint: str) -> ExportError:
    return ExportError(413, INVALID_ARGUMENT, f"{what} is over the limit of {limit}; {hint}")

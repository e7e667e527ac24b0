"""Errors of the `collector` package; the API renders them as `{"error": {"code", "message", "hint"}}`."""

from __future__ import annotations


class CollectorError(Exception):
    """Base class of every error that the collector raises on purpose.

    `code` is a stable machine word, `status` the HTTP status of the answer, `hint` what to do next, and
    `exit_code` that of the verb of `pdoctor` which it ends.
    """

    code = "internal"
    status = 500
    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class BadRequest(CollectorError):
    """The request cannot be used as it came."""

    code = "bad_request"
    status = 400


class Unstorable(BadRequest):
    """The database takes no such values: sending them again would end the same way."""

    code = "unstorable"


class NotFound(CollectorError):
    """What the request names does not exist (any more)."""

    code = "not_found"
    status = 404


class Unauthorized(CollectorError):
    """No key, or one that is not (any more) known."""

    code = "unauthorized"
    status = 401


class Forbidden(CollectorError):
    """The key is known but does not allow this."""

    code = "forbidden"
    status = 403


class Conflict(CollectorError):
    """The request contradicts what is stored."""

    code = "conflict"
    status = 409


class Overloaded(CollectorError):
    """Too much is waiting, or the disk refuses: nothing was stored, come back after `retry_after` seconds."""

    code = "overloaded"
    status = 503

    def __init__(self, message: str, hint: str | None = None, *, retry_after: int = 1) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class Left(CollectorError):
    """Who asked has closed the connection."""

    code = "client_closed_request"
    status = 499


class BadStore(CollectorError):
    """The store cannot be opened: wrong address, not ours, or written by a newer version."""

    code = "bad_store"

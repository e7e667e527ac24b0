"""One HTTP connection to the collector, whose answers are believed only within limits.

An answer may take as long as the timeout as a whole (not per byte), and only its beginning is read: a
collector that drips or never stops talking costs the exporter's thread a bounded time and no memory.
"""

from __future__ import annotations

import functools
import io
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from .settings import usable_key
from .wire import rejected_spans

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse
    from urllib.parse import SplitResult

RETRY_STATUS = (408, 429, 500, 502, 503, 504)
LONGEST_RETRY_AFTER = 60.0
LONGEST_ANSWER = 65_536
"""Bytes read of an answer."""


_WINDOW_BITS = {"gzip": 31, "deflate": 15}
"""What zlib calls the two encodings of HTTP."""
_LEVEL = 3
_OTHER_HOST = b"forbidden_host"
"""Part of the collector's refusal to answer under this host name; a key changes nothing about that."""


class Answer(NamedTuple):
    """What one attempt to deliver a batch came to."""

    status: int
    """HTTP status; 0 = the collector could not be reached."""
    retry_after: float | None = None
    rejected: int = 0
    problem: str = ""
    key_refused: bool = False
    """Whether it is for its API key, or for want of one, that the request was refused."""

    @property
    def delivered(self) -> bool:
        return 200 <= self.status < 300

    @property
    def worth_a_retry(self) -> bool:
        return self.status == 0 or self.status in RETRY_STATUS


class Sender:
    """One kept-alive HTTP connection to the collector; ValueError for a key that no header can hold."""

    def __init__(
        self, endpoint: str, api_key: str = "", timeout: float = 10.0, compression: str = "none"
    ) -> None:
        self._endpoint = endpoint
        self._headers = {"Content-Type": "application/x-protobuf", "User-Agent": "pdoctor-trace"}
        self._encoding = _encoding(compression, endpoint)
        if self._encoding is not None:
            self._headers["Content-Encoding"] = self._encoding
        key = usable_key(api_key)
        self._has_key = bool(key)
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._timeout = timeout
        self._connection: HTTPConnection | None = None

    def send(self, body: bytes) -> Answer:
        """Post once; a kept-alive connection that the collector has closed meanwhile is opened anew."""
        from http.client import HTTPException

        body = self._compressed(body)
        if self._connection is not None:
            try:
                return self._post(self._connection, body)
            except (OSError, HTTPException):
                self.close()
        try:
            return self._post(self._open(), body)
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            return Answer(0, problem=f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Close the connection; the next batch opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def forget(self) -> None:
        """After a fork: this process's copy of the socket is closed, the parent goes on using its own."""
        sock = None if self._connection is None else self._connection.sock
        self._connection = None
        if sock is not None:
            os.close(sock.detach())

    @functools.cached_property
    def url(self) -> SplitResult:
        """Where the collector is; ValueError where the endpoint is no address."""
        return _url(self._endpoint)

    @functools.cached_property
    def path(self) -> str:
        """The endpoint's own path, where it names the one for traces, else that below it."""
        path = self.url.path.rstrip("/")
        return path if path.endswith("/v1/traces") else f"{path}/v1/traces"

    def _compressed(self, body: bytes) -> bytes:
        if self._encoding is None:
            return body
        import zlib

        writer = zlib.compressobj(level=_LEVEL, wbits=_WINDOW_BITS[self._encoding])
        return writer.compress(body) + writer.flush()

    def _open(self) -> HTTPConnection:
        # Imported here, in the exporter's thread: it costs the host's start-up more than all of us.
        from http.client import HTTPConnection, HTTPSConnection

        kind = HTTPSConnection if self.url.scheme == "https" else HTTPConnection
        self._connection = kind(self.url.hostname or "", self.url.port, timeout=self._timeout)
        return self._connection

    def _post(self, connection: HTTPConnection, body: bytes) -> Answer:
        deadline = time.monotonic() + self._timeout
        if connection.sock is not None:
            connection.sock.settimeout(self._timeout)
        connection.response_class = functools.partial(_answer_until, deadline)  # type: ignore[assignment]
        connection.request("POST", self.path, body=body, headers=self._headers)
        response = connection.getresponse()
        content = _beginning(response)
        if not response.isclosed():
            self.close()  # the rest of the answer is not waited for
        if 200 <= response.status < 300:
            return Answer(response.status, rejected=rejected_spans(content))
        return self._refused(response, content)

    def _refused(self, response: HTTPResponse, content: bytes) -> Answer:
        status = response.status
        if status == 403 and _OTHER_HOST in content:
            return Answer(status, problem=f"HTTP {status}: it does not answer to {self.url.hostname}")
        if status in (401, 403):
            return Answer(status, problem=f"HTTP {status}: {self._about_key(status)}", key_refused=True)
        return Answer(
            status, retry_after=_seconds(response.headers.get("Retry-After")), problem=f"HTTP {status}"
        )

    def _about_key(self, status: int) -> str:
        """What is wrong with the key and how to come by a better one; never the key itself."""
        if not self._has_key:
            found = "it wants an API key, and PDOCTOR_API_KEY is not set"
        elif status == 401:
            found = "it does not know the API key in PDOCTOR_API_KEY"
        else:
            found = "the API key in PDOCTOR_API_KEY may not send spans"
        return f"{found}; `pdoctor keys create --scope ingest`, where the collector runs, makes one"


def _answer_until(deadline: float, sock: Any, *arguments: Any, **options: Any) -> HTTPResponse:
    """An HTTP response that reads from the socket up to an instant of the monotonic clock."""
    from http.client import HTTPResponse

    response = HTTPResponse(sock, *arguments, **options)
    response.fp.close()
    response.fp = io.BufferedReader(_Reader(sock, deadline))
    return response


class _Reader(io.RawIOBase):
    """A socket whose reads share one deadline."""

    def __init__(self, sock: Any, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return int(self._sock.recv_into(buffer))


def _beginning(response: HTTPResponse) -> bytes:
    """What comes of the answer's body in time; its status says enough where that is not all."""
    try:
        return response.read(LONGEST_ANSWER)
    except TimeoutError:
        return b""


def _url(endpoint: str) -> SplitResult:
    from urllib.parse import urlsplit

    return urlsplit(endpoint if "//" in endpoint else f"http://{endpoint}")


def _encoding(compression: str, endpoint: str) -> str | None:
    """By the setting; `auto` compresses nothing on this machine, where that takes longer than sending."""
    if compression == "auto":
        try:
            compression = "none" if _is_this_machine(_url(endpoint).hostname or "") else "gzip"
        except ValueError:
            return None  # no address: nothing is ever sent
    return compression if compression in _WINDOW_BITS else None


def _is_this_machine(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _seconds(header: str | None) -> float | None:
    """Retry-After in seconds; its other form, a date, is treated as absent (own back-off then)."""
    try:
        return min(max(float(header or ""), 0.0), LONGEST_RETRY_AFTER)
    except ValueError:
        return None

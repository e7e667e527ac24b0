"""Where a request may come from, what its answers carry, and what one from elsewhere is told."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from collector.access import is_loopback
from collector.api.errors import error_body
from collector.fronts import as_address
from collector.settings import Settings

PAGE_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""Tool results are hostile input: even one that slips through as markup can load and run nothing.

The referrer stays within the collector. It cannot be `no-referrer`: browsers then send our own forms with
`Origin: null`, which `foreign` has to refuse.
"""


def guarded(send: Any, request: str) -> Any:
    """`send` with `PAGE_HEADERS` and the request's id on every answer."""
    more = (*PAGE_HEADERS, (b"x-request-id", request.encode()))

    async def with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return with_headers


OWN_PAGES = "use the pages of this collector; a proxy before it must pass on the Host that it was sent"


LOOPBACK_HINT = "use http://127.0.0.1:PORT; the name of a front before it is given with --host-name"


QUERY_BYTES = 8 * 1024
"""Of an address: a filter with a hundred values has less, and each byte more is work of the event loop."""


class Refusal(NamedTuple):
    """Why a request is not taken, and what to do."""

    problem: str
    hint: str
    status: int = 403
    code: str = "forbidden_host"


def refusal(scope: Any, settings: Settings) -> Refusal | None:
    """Why a request is not even looked at, None where it is."""
    if (size := len(scope["query_string"])) > QUERY_BYTES:
        problem = f"the query of the address has {size} bytes, the limit is {QUERY_BYTES}"
        return Refusal(problem, "ask for less at once", 414, "too_long")
    return foreign(scope, settings)


def foreign(scope: Any, settings: Settings) -> Refusal | None:
    """Why a request cannot come from where it should, None where it may.

    A page elsewhere can make a browser send requests here: under a name that resolves to loopback
    (DNS rebinding), or across origins.
    """
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if is_loopback(settings.host) and not all(named(host, settings) for host in hosts):
        problem = f"Host is {hosts[0].decode('latin-1')[:80]!r}, this collector listens on loopback only"
        return Refusal(problem, LOOPBACK_HINT)
    if len(hosts) > 1:
        return Refusal("there is more than one Host", "send one")
    if (
        settings.host_names
        and scope["path"] not in PROBES
        and not any(map(by_address, hosts))
        and not all(named(host, settings) for host in hosts)
    ):
        problem = f"Host is {hosts[0].decode('latin-1')[:80]!r}, which is no name of this collector"
        return Refusal(problem, "name it with --host-name")
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return None
    origins = [value for name, value in scope["headers"] if name == b"origin"]
    if any(origin.partition(b"://")[2] != b"".join(hosts) for origin in origins):
        problem = f"Origin is {origins[0].decode('latin-1')[:80]!r}, requests from other sites are refused"
        return Refusal(problem, OWN_PAGES)
    return None


HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?", re.IGNORECASE)


@lru_cache(maxsize=256)
def own_name(host: bytes) -> bool:
    """Whether a Host header names this machine itself."""
    found = HOST.fullmatch(host)
    return found is not None and is_loopback(found[1].decode().lower())


def named(host: bytes, settings: Settings) -> bool:
    """Whether a Host header has one of the names that were given, or one of the machine itself."""
    found = HOST.fullmatch(host)
    name = "" if found is None else found[1].decode().lower().strip("[]")
    return own_name(host) or name in {given.lower().strip("[]") for given in settings.host_names}


@lru_cache(maxsize=256)
def by_address(host: bytes) -> bool:
    """Whether a Host header is an address: no name that somebody else could own led here."""
    found = HOST.fullmatch(host)
    return found is not None and as_address(found[1].decode()) is not None


PROBES = ("/healthz", "/readyz")
"""Asked by address, and they show nothing."""


async def refuse(send: Any, why: Refusal) -> None:
    """Answer in the shape of every error."""
    body = orjson.dumps(error_body(why.code, why.problem, why.hint))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": why.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

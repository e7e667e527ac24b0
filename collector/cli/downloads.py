"""A file at an address of the web, copied before it is read: `pdoctor runs import URL`."""

from __future__ import annotations

import tempfile
import time
from typing import IO, TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from collector.cli.console import told_of
from synth.errors import BadInput

if TYPE_CHECKING:
    import httpx

SCHEMES = ("http", "https")
MOST_BYTES = 1 << 30
"""Of a file, unpacked."""
MOST_SECONDS = 600.0
"""For all of it."""
SILENCE = 30.0
"""Seconds without a byte."""
REDIRECTS = 5
PAGE = "a web page, not a file: give the address of the file itself (GitHub calls it `Raw`)"


def is_url(source: str) -> bool:
    """Whether it is an address, and no file; BadInput for one that cannot be asked."""
    scheme, mark, rest = source.partition("://")
    if not mark or not scheme.isalnum():
        return False
    if scheme.lower() not in SCHEMES:
        raise BadInput(f"{shown(source)}: expected an address with http or https, or a file")
    if not rest.partition("/")[0].rpartition("@")[2].partition(":")[0]:
        raise BadInput(f"{shown(source)} names no host: expected https://HOST/PATH")
    return True


def shown(url: str) -> str:
    """The address without what may be secret: names, passwords and signatures."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}{'?...' if parts.query else ''}"


def downloaded(url: str, *, most_bytes: int = MOST_BYTES, most_seconds: float = MOST_SECONDS) -> IO[bytes]:
    """What is at an address, in a temporary file that is gone when it is closed.

    Raises BadInput with the address and the reason where there is no file, it is larger than `most_bytes`,
    or takes longer than `most_seconds`. Follows redirects, but never from https to http. Sends no API key.
    """
    import httpx

    until = time.monotonic() + most_seconds
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        with httpx.Client(timeout=SILENCE) as client:
            at = url
            for _ in range(REDIRECTS + 1):
                with client.stream("GET", at) as answer:
                    if not answer.has_redirect_location:
                        _copy(answer, copy, shown(at), most_bytes, until)
                        copy.seek(0)
                        return copy
                    at = _next(at, answer.headers["location"])
        raise BadInput(f"{shown(url)} redirects more than {REDIRECTS} times")
    except httpx.TimeoutException:
        copy.close()
        raise BadInput(f"{shown(at)} sent nothing for {SILENCE:.0f} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        copy.close()
        raise BadInput(f"{shown(at)} cannot be read: {error or type(error).__name__}") from None
    except BaseException:
        copy.close()
        raise


def _next(at: str, location: str) -> str:
    """Where a redirect leads; BadInput where it must not be followed."""
    found = urljoin(at, location)
    try:
        is_url(found)
    except BadInput as bad:
        raise BadInput(f"{shown(at)} redirects to {bad}") from None
    if at.lower().startswith("https:") and not found.lower().startswith("https:"):
        raise BadInput(f"{shown(at)} redirects to {shown(found)}, which is not encrypted: give that yourself")
    return found


def _copy(answer: httpx.Response, copy: IO[bytes], name: str, most_bytes: int, until: float) -> None:
    if not answer.is_success:
        raise BadInput(f"{name} answered {answer.status_code} {answer.reason_phrase}".rstrip())
    if answer.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/html":
        raise BadInput(f"{name} is {PAGE}")
    too_big = BadInput(f"{name} has more than {most_bytes} bytes: download it, and split it")
    length = answer.headers.get("content-length", "")
    if length.isdigit() and int(length) > most_bytes:
        raise too_big
    for block in told_of(answer.iter_bytes(), f"blocks of {name}"):
        if copy.tell() + len(block) > most_bytes:
            raise too_big
        copy.write(block)
        if time.monotonic() > until:
            raise BadInput(f"{name} takes too long: download it, and import the file")
    if not copy.tell():
        raise BadInput(f"{name} is empty")

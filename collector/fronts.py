"""Fronts: who really sends where a proxy stands before the collector, and keys that travel in clear."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from collector.access import is_loopback
from synth.errors import BadInput

log = logging.getLogger("collector")

TELL_AGAIN_SECONDS = 3600.0
"""Between two lines about the same address."""
TOLD_ADDRESSES = 1000
LONGEST_ADDRESS = 100
HAS_KEY = (b"bearer pdk_", b"pdoctor_key=pdk_")
"""In an Authorization header, and in a cookie; in small letters."""
LOGIN = "/login"
"""The form that carries a key in its body."""


class Sender(NamedTuple):
    """Of one request."""

    address: str
    scheme: str
    """`https` where it was protected all the way to here, or to a front that is trusted."""


class Fronts:
    """Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed; nobody else's are."""

    def __init__(self, named: Sequence[str]) -> None:
        """Addresses or networks (10.0.0.0/8). Raises BadInput."""
        self._trusted = [network(one) for one in named]

    def sender(self, seen: Sender, headers: Iterable[tuple[bytes, bytes]]) -> Sender:
        """Who sent a request that came from `seen`; header names are in small letters."""
        if not self._trusted or not self.trusts(seen.address):
            return seen
        passed, scheme = [seen.address], seen.scheme
        for name, value in headers:
            if name == b"x-forwarded-for":
                passed += [one.strip() for one in value.decode("latin-1").split(",")]
            elif name == b"x-forwarded-proto":
                scheme = "https" if value.strip().lower() == b"https" else "http"
        strangers = [one for one in passed if not self.trusts(one)]
        return Sender((strangers or passed[:2])[-1][:LONGEST_ADDRESS], scheme)

    def trusts(self, address: str) -> bool:
        """Whether it is one of these."""
        found = as_address(address)
        return found is not None and any(found in one for one in self._trusted)


def network(named: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(named.strip("[]"), strict=False)
    except ValueError:
        said = f"{named[:60]!r} is neither an address nor a network, expected 10.0.0.7 or 10.0.0.0/8"
        raise BadInput(said, field="--trusted-proxy") from None


@lru_cache(maxsize=1024)
def as_address(said: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address; one of IPv4 that is written as IPv6 is that of IPv4."""
    try:
        found = ipaddress.ip_address(said.strip("[]"))
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


class InClear:
    """Warns of keys that came over a network without TLS: whoever sat on the way has them now."""

    def __init__(self) -> None:
        self.requests = 0
        """That carried one so."""
        self._told: dict[str, float] = {}

    def look(self, sender: Sender, headers: Iterable[tuple[bytes, bytes]], path: str = "") -> None:
        """At one request."""
        if sender.scheme == "https" or near(sender.address):
            return
        if path == LOGIN or any(carries_key(name, value) for name, value in headers):
            self.requests += 1
            self._tell(sender.address)

    def _tell(self, address: str) -> None:
        now = time.monotonic()
        if now - self._told.get(address, -TELL_AGAIN_SECONDS) < TELL_AGAIN_SECONDS:
            return
        if len(self._told) >= TOLD_ADDRESSES:
            self._told.clear()
        self._told[address] = now
        log.warning(
            "a key came in clear from %s: use --tls-cert, or a TLS front named by --trusted-proxy, "
            "and make a new key", address, extra={"action": "key in clear"},
        )  # fmt: skip


@lru_cache(maxsize=1024)
def near(address: str) -> bool:
    """Whether what comes from there never left this machine."""
    found = as_address(address)
    return is_loopback(address if found is None else str(found))


def carries_key(name: bytes, value: bytes) -> bool:
    if name == b"authorization":
        return value[:11].lower() == HAS_KEY[0]
    return name == b"cookie" and HAS_KEY[1] in value

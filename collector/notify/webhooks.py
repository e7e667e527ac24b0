"""Webhooks: who is told about a judged run, and how a request leaves this machine.

A webhook's address is chosen by a user of the API, the request is made by the server: so only hosts on
the server's own list are possible, the name is resolved once and that very address is connected to, and
addresses inside private networks need a word of their own. Redirects are not followed.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import ipaddress
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

from collector.errors import BadRequest, CollectorError
from collector.settings import Settings
from collector.store import Store, webhooks

log = logging.getLogger("collector.alerts")

BACK_OFF = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds to the next attempt; after the last one a delivery has failed for good."""
TIMEOUT = 10.0
AT_ONCE = 5
"""Deliveries that are held together."""
LEASE = 60.0
"""More than `AT_ONCE` of them can take: no other collector delivers the same."""
SIGNATURE = "X-PDoctor-Signature"
"""`t=UNIX_SECONDS,v1=HEX`, the HMAC-SHA256 of `UNIX_SECONDS.BODY` under the webhook's secret."""


def check_address(url: str, settings: Settings) -> None:
    """Raise BadRequest where webhooks may not go."""
    parts = address_of(url)
    if parts is None or not parts.hostname or parts.username or parts.password:
        raise BadRequest(f"{url[:200]!r} is no address for a webhook", "expected https://HOST/PATH")
    if parts.hostname not in {host.lower() for host in settings.webhook_hosts}:
        allowed = ", ".join(settings.webhook_hosts) or "none"
        raise BadRequest(
            f"webhooks to {parts.hostname} are not allowed here (allowed hosts: {allowed})",
            "whoever runs the collector lists the hosts in its settings (webhook_hosts)",
        )


def address_of(url: str) -> SplitResult | None:
    """The parts of an HTTP address; None where it is none."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        return None
    return parts if usable and url.isprintable() and " " not in url else None


def resolve(host: str, port: int, *, private: bool) -> str:
    """The one address to connect to; raises OSError where it lies inside a private network."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    refused = [address for address in addresses if not private and not is_public(address)]
    if refused:
        raise OSError(f"{host} is {refused[0]}, which is not a public address")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether anybody may be asked at this address; an IPv4 address inside an IPv6 one is judged itself."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        translated = ipaddress.IPv4Address(ip.packed[12:]) if ip in NAT64 else None
        inner = ip.ipv4_mapped or ip.sixtofour or translated
        return is_public(str(inner)) if inner is not None else ip in UNICAST and ip.is_global
    return ip.is_global and not ip.is_multicast


NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
UNICAST = ipaddress.IPv6Network("2000::/3")
"""The only part of IPv6 that is routed on the Internet."""


def sign(secret: str, body: bytes, now: float) -> str:
    stamp = str(int(now))
    digest = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={stamp},v1={digest}"


def post(url: str, secret: str, body: bytes, *, private: bool, now: float) -> int:
    """Send one body; returns the HTTP status. Raises OSError."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = resolve(host, port, private=private)
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT)
    connection.sock = socket.create_connection((address, port), TIMEOUT)
    limit = threading.Timer(TIMEOUT, hang_up, (connection,))  # of all reads together
    limit.daemon = True
    limit.start()
    try:
        if parts.scheme == "https":
            secure = ssl.create_default_context().wrap_socket(
                connection.sock, server_hostname=host, do_handshake_on_connect=False
            )
            connection.sock = secure
            secure.do_handshake()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"content-type": "application/json", SIGNATURE: sign(secret, body, now)}
        connection.request("POST", target, body, headers)
        return connection.getresponse().status
    except http.client.HTTPException as failure:
        raise OSError(f"no HTTP answer: {failure}") from None
    finally:
        limit.cancel()
        connection.close()


def hang_up(connection: http.client.HTTPConnection) -> None:
    """Wake whoever waits for an answer."""
    with contextlib.suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


class Courier:
    """A thread that delivers what is due."""

    def __init__(
        self, store: Store, settings: Settings, *, clock: Callable[[], float] = time.time, pause: float = 1.0
    ) -> None:
        self._store, self._settings, self._clock, self._pause = store, settings, clock, pause
        self._stop = threading.Event()
        self.delivered = self.failed = 0
        self._thread = threading.Thread(target=self._run, name="pdoctor-courier", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(TIMEOUT + 5)

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            try:
                for delivery in webhooks.take(self._store, now=self._clock(), lease=LEASE, limit=AT_ONCE):
                    if not self._stop.is_set():
                        self._deliver(delivery)
            except CollectorError as failure:
                log.warning("webhooks could not be delivered: %s", failure.message)
            except Exception:
                log.exception("webhooks could not be delivered")

    def _deliver(self, delivery: webhooks.Delivery) -> None:
        private = self._settings.webhook_private
        now = self._clock()
        try:
            check_address(delivery.url, self._settings)
            status = post(delivery.url, delivery.secret, delivery.body.encode(), private=private, now=now)
            said, done = f"HTTP {status}", 200 <= status < 300
        except (OSError, ValueError, BadRequest) as failure:
            said, done = str(failure), False
        if done:
            self.delivered += 1
            webhooks.settle(self._store, delivery.id, status="delivered", due=None)
        elif delivery.attempts > len(BACK_OFF):
            self.failed += 1
            webhooks.settle(self._store, delivery.id, status=f"failed: {said}", due=None)
        else:
            due = now + BACK_OFF[delivery.attempts - 1]
            webhooks.settle(self._store, delivery.id, status=f"trying again: {said}", due=due)

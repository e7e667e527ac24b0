"""TLS for HTTP and gRPC: a certificate that may be renewed at any time, and handshakes that are bounded.

Connections count from their first byte on: a server's own TLS would know them only after the handshake, and
many that never finish one could use up every file that the process may open.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from collector.doors import Doors
from synth.errors import BadInput
from synth.files import MIB, content_of

log = logging.getLogger("collector.tls")

LOOK_SECONDS = 1.0
"""Between two looks at whether the files have changed."""
HANDSHAKE_SECONDS = 10.0
GOODBYE_SECONDS = 1.0
"""For the other side to end TLS as well, once a connection is closed; an idle client never does."""
OUT_OF_FILES_SECONDS = 1.0
TURN_SECONDS, TURNS = 0.01, 10
"""For a process with fewer connections to take one, and how often that is waited for."""
Spoken = Literal["http/1.1", "h2"]
"""What follows a handshake: HTTP, or the HTTP/2 of gRPC."""
State = tuple[tuple[int, ...], ...]
"""Of both files: as long as it is the same, so are they."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, which fit."""

    contexts: Mapping[Spoken, ssl.SSLContext]
    begins: float
    """Unix seconds."""
    expires: float


class Certificate:
    """The certificate and key in two files (or in one), read again when they have changed.

    New connections get the newest pair that fits; those that are open keep theirs. While the files are no
    pair, as in the middle of a renewal, the one before stays, and the log says so once. From any thread.
    """

    def __init__(self, file: Path, key: Path | None = None, *, wall: Callable[[], float] = time.time) -> None:
        """Raises BadInput with the file and what is wrong with it."""
        self._file, self._key, self._wall = file, key or file, wall
        self._lock = threading.Lock()
        self._looked = time.monotonic()
        self._state, self._pair = self._read()
        self._told, self._trouble = False, ""
        self._tell_times()

    def context(self, protocol: Spoken) -> ssl.SSLContext:
        """For listening: every handshake is given the pair of its time."""
        made = server_context(protocol)

        def at_handshake(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
            connection.context = self.pair.contexts[protocol]

        made.sni_callback = at_handshake  # also called where no name is sent
        return made

    @property
    def pair(self) -> Pair:
        """The newest that fits."""
        with self._lock:
            if time.monotonic() - self._looked >= LOOK_SECONDS:
                self._looked = time.monotonic()
                self._look()
            return self._pair

    def _look(self) -> None:
        try:
            if self._state_now() != self._state:
                self._state, self._pair = self._read()
                self._told, self._trouble = False, ""
                log.info("the certificate was renewed", extra={"action": "tls"})
        except BadInput as bad:
            if str(bad) != self._trouble:
                self._trouble = str(bad)
                log.error("the certificate stays as it was: %s", bad)
        self._tell_times()

    def _read(self) -> tuple[State, Pair]:
        for _ in range(3):  # one of the files may be replaced while both are read
            state = self._state_now()
            pair = read_pair(self._file, self._key)
            if state == self._state_now():
                break
        return state, pair

    def _state_now(self) -> State:
        try:
            found = [os.stat(file) for file in (self._file, self._key)]
        except OSError as failure:
            raise BadInput(f"cannot be read: {failure.strerror}", file=str(failure.filename)) from None
        return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)

    def _tell_times(self) -> None:
        now, pair = self._wall(), self._pair
        if not self._told and not pair.begins <= now < pair.expires:
            self._told = True
            said = "expired" if now >= pair.expires else "is not valid before"
            instant = datetime.fromtimestamp(pair.expires if now >= pair.expires else pair.begins, UTC)
            log.warning("the certificate in %s %s %s", self._file, said, instant.isoformat())


def server_context(protocol: Spoken) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([protocol])
    return context


def read_pair(file: Path, key: Path) -> Pair:
    """The certificate in `file` and its key in `key`; raises BadInput where they are no pair."""
    certificate, secret = content_of(file, PEM_BYTES), content_of(key, PEM_BYTES)
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        raise BadInput("there is no certificate in it, expected PEM (BEGIN CERTIFICATE)", file=str(file))
    if b"PRIVATE KEY-----" not in secret:
        where = "; name its file with --tls-key" if file == key else ""
        raise BadInput(
            f"there is no private key in it, expected PEM (BEGIN PRIVATE KEY){where}", file=str(key)
        )
    contexts = {protocol: server_context(protocol) for protocol in get_args(Spoken)}
    try:
        for context in contexts.values():
            context.load_cert_chain(file, key, password=refuse_passphrase)
    except ssl.SSLError as failure:
        raise BadInput(why_no_pair(failure, file), file=str(key)) from None
    return Pair(contexts, *validity(certificate))


PEM_BYTES = MIB
"""Of a certificate with all above it, and of a key."""
PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
UTC_TIME = 0x17
VERSION = 0xA0


def validity(pem: bytes) -> tuple[float, float]:
    """From when until when the first certificate is good, Unix seconds (RFC 5280, 4.1), which must be one."""
    found = PEM.search(pem)
    assert found is not None
    ((_, whole),) = elements(ssl.PEM_cert_to_DER_cert(found[0].decode("latin-1")))
    signed = elements(elements(whole)[0][1])
    times = elements(signed[4 if signed[0][0] == VERSION else 3][1])
    begins, expires = (instant(tag, text.decode("ascii")) for tag, text in times)
    return begins, expires


def elements(der: bytes) -> list[tuple[int, bytes]]:
    """(tag, content) of each element of a sequence in DER."""
    found, at = [], 0
    while at < len(der):
        tag, size, at = der[at], der[at + 1], at + 2
        if size & 0x80:
            digits = size & 0x7F
            size, at = int.from_bytes(der[at : at + digits]), at + digits
        found.append((tag, der[at : at + size]))
        at += size
    return found


def instant(tag: int, text: str) -> float:
    century = ("20" if text < "50" else "19") if tag == UTC_TIME else ""
    return datetime.strptime(f"{century}{text}+0000", "%Y%m%d%H%M%SZ%z").timestamp()


def refuse_passphrase() -> str:
    """Asked for by a key that has one; a service has nobody to ask."""
    raise BadInput("the key has a passphrase; give one without, readable by the collector's user alone")


def why_no_pair(failure: ssl.SSLError, file: Path) -> str:
    if failure.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
        return f"this is not the key of the certificate in {file}"
    return f"with the certificate in {file} it is no usable pair: {failure.reason or failure.args[-1]}"


class Arriving(Protocol):
    """What becomes of a connection after its handshake."""

    greeting: Greeting | None


class Greeting:
    """A connection in the middle of its handshake."""

    def __init__(self, task: asyncio.Task[Any] | None) -> None:
        self._task = task

    def leave(self) -> None:
        if self._task is not None:
            self._task.cancel()


async def accept(
    listening: socket.socket,
    context: ssl.SSLContext | None,
    doors: Doors,
    make: Callable[[], Any],
    has_turn: Callable[[], bool] = lambda: True,
) -> None:
    """Take connections until cancelled; `make` gives the protocol (`Arriving`) of one.

    Where other processes take some of the same socket, `has_turn` says whether it is this one's turn.
    """
    loop = asyncio.get_running_loop()
    listening.setblocking(False)
    async with asyncio.TaskGroup() as greetings:
        while True:
            try:
                connection, address = await next_of(listening, has_turn)
            except OSError:  # no file is left for one more
                await asyncio.sleep(OUT_OF_FILES_SECONDS)
                continue
            if context is None:
                await loop.connect_accepted_socket(make, connection)
            else:
                greetings.create_task(greet(connection, address, context, doors, make))


async def next_of(listening: socket.socket, has_turn: Callable[[], bool]) -> tuple[socket.socket, str]:
    """The next connection and its address; where it is not this process's turn, others may take it."""
    while True:
        await readable(listening)
        for _ in range(TURNS):
            if has_turn():
                break
            await asyncio.sleep(TURN_SECONDS)
        with contextlib.suppress(BlockingIOError):  # another one has taken it
            connection, address = listening.accept()
            connection.setblocking(False)
            return connection, address[0]


async def readable(waiting: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(waiting, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(waiting)


async def greet(
    connection: socket.socket,
    address: str,
    context: ssl.SSLContext,
    doors: Doors,
    make: Callable[[], Any],
) -> None:
    """Shake hands within `HANDSHAKE_SECONDS`; a connection that cannot is closed."""
    greeting = Greeting(asyncio.current_task())
    if not doors.enter(greeting, address):
        connection.close()
        return

    def arriving() -> Any:
        protocol: Arriving = make()
        protocol.greeting = greeting
        return protocol

    try:
        await asyncio.get_running_loop().connect_accepted_socket(
            arriving,
            connection,
            ssl=context,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=GOODBYE_SECONDS,
        )
    except Exception as failure:
        log.debug("no handshake: %s", failure)
        connection.close()
    except asyncio.CancelledError:
        connection.close()
        raise
    finally:
        doors.gone(greeting)

"""Who may do what: API keys, one project each.

A key reads `pdk_ID_SECRET`. The secret has 256 random bits, so its plain SHA-256 is stored, shown to
nobody and compared in constant time. While no key was ever made, a collector on loopback is open;
beyond loopback it does not start without one.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from collector.errors import BadStore, Forbidden, Unauthorized
from collector.settings import Settings
from collector.store import Store, keys
from collector.store.engine import project_id

SCOPES = ("ingest", "read", "write", "metrics", "admin")
"""ingest: send spans; read: look; write: cases, bindings, policies; metrics: those; admin: all, and keys."""
ANY = "any"
"""What every key may do."""
IMPLIED = {"metrics": "read"}
"""Scope -> the one that contains it."""
DEFAULT_PROJECT = "default"
TOKEN = re.compile(r"pdk_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})")
REMEMBER_SECONDS = 1.0
"""A revoked key may work this long elsewhere; in the collector that revoked it, it ends at once."""
NOBODY = bytes(32)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a request may do."""

    project: int
    """Row id."""
    project_name: str
    scopes: frozenset[str]
    actor: str
    """The key's public id, or `anonymous`."""

    def allows(self, scope: str) -> bool:
        return scope == ANY or bool(self.scopes & {scope, IMPLIED.get(scope, scope), "admin"})


def new_key(
    store: Store, *, project: str, name: str, scopes: Iterable[str], expires: float | None = None,
    now: float | None = None,
) -> str:  # fmt: skip
    """Make a key and return it; this is the only time that it can be seen. Raises ValueError."""
    wanted = sorted(set(scopes))
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        raise ValueError(
            f"unknown scope {', '.join(unknown) or '(none)'}; expected some of {', '.join(SCOPES)}"
        )
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    key_id = "".join(secrets.choice(alphabet) for _ in range(12))
    secret = secrets.token_urlsafe(32)
    keys.add_key(
        store,
        project_id(store, project),
        key_id=key_id,
        name=name,
        scopes=wanted,
        digest=_digest(secret),
        now=time.time() if now is None else now,
        expires=expires,
    )
    return f"pdk_{key_id}_{secret}"


UNITS = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def expiry(said: str, now: float) -> float:
    """Unix seconds of `90d`, `12h`, `4w` from `now` on, or of a date or time (ISO 8601, UTC).

    Raises ValueError, also where that has passed.
    """
    number, unit = said[:-1], UNITS.get(said[-1:])
    if unit is not None and re.fullmatch(r"[0-9]{1,6}", number):
        found = now + int(number) * unit
    else:
        try:
            instant = datetime.fromisoformat(said)
            found = (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            raise ValueError(f"{said[:40]!r} is no expiry: expected 90d, 12h, 4w or 2027-01-31") from None
    if found <= now:
        raise ValueError(f"the key would have expired: {said[:40]!r} has passed")
    return found


class Gate:
    """Decides about every request; remembers keys for a few seconds."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        changed: Callable[[], object] = lambda: None,
        elsewhere: Callable[[], object] = lambda: None,
    ) -> None:
        """`wall` tells Unix seconds: keys expire by it.

        `changed` is called when keys have changed here; what `elsewhere` gives is another value once they
        have in another process of this collector.
        """
        self._changed, self._elsewhere, self._seen = changed, elsewhere, elsewhere()
        self._store, self._clock, self._wall = store, clock, wall
        self._known: dict[str, tuple[float, keys.StoredKey | None]] = {}
        self._anybody: tuple[float, Grant | None] | None = None
        """When it was asked last, and what everybody may do: None = nothing, a key was made once."""
        self._changes = 0
        self._lock = threading.Lock()

    @property
    def needs_key(self) -> bool:
        """Whether any key was ever made; once true it stays so."""
        return self._open_to_all() is None

    def _open_to_all(self) -> Grant | None:
        """What a request may do without a key."""
        found = self._anybody
        if found is None or (found[1] is not None and not self._fresh(found[0])):
            now, grant = self._clock(), None
            with self._store.read() as connection:
                closed = keys.any_key(connection)
            if not closed:
                project = project_id(self._store, DEFAULT_PROJECT)
                grant = Grant(project, DEFAULT_PROJECT, frozenset({"admin"}), "anonymous")
            found = self._anybody = (now, grant)
        return found[1]

    def _fresh(self, at: float) -> bool:
        return self._clock() - at <= REMEMBER_SECONDS

    def remembers(self, token: str | None) -> bool:
        """Whether `grant` can answer without asking the database, so that an event loop may call it."""
        self._look_elsewhere()
        anybody = self._anybody
        if anybody is None or anybody[1] is not None:
            return anybody is not None and self._fresh(anybody[0])
        match = TOKEN.fullmatch(token) if token else None
        known = self._known.get(match[1]) if match else None
        return match is None or (known is not None and self._fresh(known[0]))

    def forget(self) -> None:
        """Keys have changed here."""
        self._changed()
        self._forget()

    def _look_elsewhere(self) -> None:
        if (seen := self._elsewhere()) != self._seen:
            self._seen = seen
            self._forget()

    def _forget(self) -> None:
        with self._lock:
            self._known.clear()
            self._anybody = None
            self._changes += 1

    def grant(self, token: str | None, scope: str) -> Grant:
        """What a request with this key may do; raises Unauthorized or Forbidden if not `scope`."""
        self._look_elsewhere()
        anybody = self._open_to_all()
        if anybody is not None:
            return anybody
        if not token:
            raise Unauthorized("this collector needs a key", "send `Authorization: Bearer pdk_...`")
        match = TOKEN.fullmatch(token)
        stored = self._stored(match[1]) if match else None
        digest = _digest(match[2]) if match else NOBODY
        if not hmac.compare_digest(digest, stored.digest if stored else NOBODY) or stored is None:
            raise Unauthorized(
                "the key is not known", "make one under /api/v1/keys; revoked keys do not come back"
            )
        if stored.expires is not None and stored.expires <= self._wall():
            ended = datetime.fromtimestamp(stored.expires, UTC).isoformat(timespec="minutes")
            raise Unauthorized(f"the key expired at {ended}", "make a new one under /api/v1/keys")
        grant = Grant(stored.project, stored.project_name, stored.scopes, stored.id)
        if not grant.allows(scope):
            has = ", ".join(sorted(stored.scopes))
            raise Forbidden(f"this needs a key with scope {scope}, this one has {has}", "use another key")
        return grant

    def _stored(self, key_id: str) -> keys.StoredKey | None:
        now = self._clock()
        found = self._known.get(key_id)
        if found is not None and self._fresh(found[0]):
            return found[1]
        changes = self._changes
        with self._store.read() as connection:
            stored = keys.find_key(connection, key_id)
        with self._lock:
            if len(self._known) > 10_000:
                self._known.clear()
            if changes == self._changes:  # else it may have been revoked since it was read
                self._known[key_id] = (now, stored)
        return stored


def bearer(header: str | None) -> str | None:
    """The token of an Authorization header."""
    kind, _, token = (header or "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


def check_bind(settings: Settings, store: Store) -> None:
    """Refuse to be reachable from other machines without keys; raises BadStore (see its hint).

    A collector on loopback that has a name or a front is reached through that front.
    """
    fronted = settings.host_names or settings.trusted_proxies
    if settings.insecure or (is_loopback(settings.host) and not fronted):
        return
    with store.read() as connection:
        if not keys.any_key(connection):
            reached = ", ".join(settings.host_names) or settings.host
            raise BadStore(
                f"{reached} can be reached from other machines, and this store has no API key",
                "make a key first (pdoctor keys create), or say --insecure",
            )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()

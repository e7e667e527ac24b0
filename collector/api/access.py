"""Who asks, for which project, and what they may do."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial

from fastapi import Request

from collector.access import ANY, DEFAULT_PROJECT, bearer
from collector.errors import BadRequest
from collector.service import Service

COOKIE = "pdoctor_key"
visitor: ContextVar[Access | None] = ContextVar("visitor", default=None)
"""Who asks for the page that is being made; for its header."""


@dataclass(frozen=True, slots=True)
class Access:
    """A request that may go on."""

    service: Service
    project: int
    """Row id."""
    project_name: str
    actor: str
    scopes: frozenset[str]

    @property
    def now(self) -> float:
        """Unix seconds by the collector's clock."""
        return self.service.clock()

    def may(self, scope: str) -> bool:
        """Whether a page shows what needs this scope."""
        return bool(self.scopes & {scope, "admin"})

    @property
    def everywhere(self) -> bool:
        """Admins of the default project run the collector: for them it has no borders of projects."""
        return self.project_name == DEFAULT_PROJECT


async def reader(request: Request) -> Access:
    """May read the project's data."""
    return await _access(request, "read")


async def sender(request: Request) -> Access:
    """May send the project's spans."""
    return await _access(request, "ingest")


async def metrics_reader(request: Request) -> Access:
    """May read the project's metrics."""
    return await _access(request, "metrics")


async def anybody(request: Request) -> Access:
    """Has a key, where there are any."""
    return await _access(request, ANY)


async def writer(request: Request) -> Access:
    """May change the project's cases, bindings and policies."""
    return await _access(request, "write")


async def admin(request: Request) -> Access:
    """May make keys and change the project's settings."""
    return await _access(request, "admin")


async def _access(request: Request, scope: str) -> Access:
    service: Service = request.app.state.service
    token = bearer(request.headers.get("authorization")) or request.cookies.get(COOKIE)
    grant = await service.grant(token, scope)
    if "\0" in request.scope["path"] or b"%00" in request.scope["query_string"]:
        raise BadRequest("the address has a NUL in it", "no text that is stored here has one")
    request.state.grant_again = partial(service.grant, token, scope)
    request.scope.update(project=grant.project_name, actor=grant.actor)  # for the log
    access = Access(service, grant.project, grant.project_name, grant.actor, grant.scopes)
    visitor.set(access)
    return access

"""Who asks, for which project, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from collector.service import Service


@dataclass(frozen=True, slots=True)
class Access:
    """A request that may go on."""

    service: Service
    project: int
    """Row id."""


def reader(request: Request) -> Access:
    """May read the project's data."""
    service: Service = request.app.state.service
    return Access(service, service.project())


def writer(request: Request) -> Access:
    """May change the project's cases, bindings and policies."""
    return reader(request)

"""Running collectors for tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from traces import Client

from collector.app import running
from collector.settings import Settings


def settings(folder: Path, **others: object) -> Settings:
    values: dict[str, object] = {
        "store_url": f"sqlite:///{folder / 'store.db'}",
        "http_port": 0,
        "grpc_port": None,
        "open_check_seconds": 0.1,
        "grace_seconds": 0.3,
        "idle_seconds": 1.0,
        **others,
    }
    return Settings(**values)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One collector for every test that leaves it as it was (ids of its own, no policies)."""
    with running(settings(tmp_path_factory.mktemp("shared"))) as url, Client(url) as client:
        yield client


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Client]:
    """A collector with an empty store."""
    with running(settings(tmp_path)) as url, Client(url) as client:
        yield client

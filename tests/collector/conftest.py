"""Running collectors for tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from traces import Client, settings

from collector.app import running


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

"""A collector that the tracer sends to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from collector.server import running
from collector.settings import Settings
from tests.support.traces import Client


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("contract")
    settings = Settings(
        store_url=f"sqlite:///{folder / 'store.db'}",
        http_port=0,
        grpc_port=None,
        open_check_seconds=0.1,
        grace_seconds=0.5,
        idle_seconds=2.0,
    )
    with running(settings) as url, Client(url) as client:
        yield client

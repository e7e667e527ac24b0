"""One browser and one collector with known runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from collector.server import running
from collector.settings import Settings
from tests.support.chromium import Page, chromium
from tests.support.traces import Client


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("browser")
    settings = Settings(
        store_url=f"sqlite:///{folder / 'store.db'}", http_port=0, grpc_port=None, grace_seconds=0.2
    )
    with running(settings) as url, Client(url) as client:
        yield client

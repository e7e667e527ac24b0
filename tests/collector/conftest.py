"""Running collectors for tests.

A test runs on both kinds of store when it is marked `both_engines`, or its module is (`pytestmark`); with
`both_engines(heavy="postgresql")` the second is one of the heavy tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.server import running
from tests.support.postgresql import Cluster, cluster
from tests.support.traces import Client, settings

ENGINES = ("sqlite", "postgresql")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A marked test, once with each kind of store behind its collector or its address."""
    marker = metafunc.definition.get_closest_marker("both_engines")
    if marker is not None:
        engines = [
            pytest.param(engine, marks=pytest.mark.heavy if marker.kwargs.get("heavy") == engine else ())
            for engine in ENGINES
        ]
        for fixture in ("shared", "store_url"):
            if fixture in metafunc.fixturenames:
                metafunc.parametrize(fixture, engines, indirect=True, scope=None)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Cluster]:
    """One server for all tests of a worker; each makes its own database."""
    with cluster() as server:
        yield server


def address(request: pytest.FixtureRequest, folder: Path) -> str:
    """An empty store of the kind that the test asks for; SQLite where it does not say."""
    if getattr(request, "param", "sqlite") == "postgresql":
        server: Cluster = request.getfixturevalue("postgresql")
        return server.database()
    return f"sqlite:///{folder / 'store.db'}"


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store."""
    return address(request, tmp_path)


@pytest.fixture(scope="session")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One collector for every test that leaves it as it was (ids of its own, no policies)."""
    folder = tmp_path_factory.mktemp("shared")
    with running(settings(folder, store_url=address(request, folder))) as url, Client(url) as client:
        yield client


@pytest.fixture
def fresh(store_url: str, tmp_path: Path) -> Iterator[Client]:
    """A collector with an empty store."""
    with running(settings(tmp_path, store_url=store_url)) as url, Client(url) as client:
        yield client

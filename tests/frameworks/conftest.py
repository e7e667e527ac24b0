"""Which framework tests run here, and what they fill of the matrix."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import pdoctor_trace  # noqa: F401  before any framework, as programs do
from tests.frameworks.environments import CHOICE, tests_here

pytest.register_assert_rewrite("tests.frameworks.conformance", "tests.frameworks.refusals")

# Frameworks exclude each other's dependencies: `environments.py` runs each in an environment of its own.
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("test_*.py")
    if path.name not in tests_here() and (CHOICE in os.environ or path.name != "test_environments.py")
]
os.environ.setdefault("LANGSMITH_TRACING", "false")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "limit(framework, name): shows a limit that FRAMEWORKS states")
    config.addinivalue_line("markers", "cell(name): fills a cell of the conformance matrix")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say in the report which cell of the matrix a test fills and which limit it shows.

    In the project's own environment all but the first claim is heavy; `make test-frameworks` asks it all.
    """
    from tests.frameworks.conformance import CELLS, cells_of

    for item in items:
        if not isinstance(item, pytest.Function) or Path(__file__).parent not in item.path.parents:
            continue
        if (
            CHOICE not in os.environ
            and item.path.name in tests_here()
            and item.originalname not in CELLS["sync"]
        ):
            item.add_marker("heavy")
        driver = getattr(item.cls, "driver", None)
        mode = item.callspec.params.get("mode") if hasattr(item, "callspec") else None
        own = cells_of(item.originalname, mode in driver.streaming) if driver is not None else []
        cells = own + [mark.args[0] for mark in item.iter_markers("cell")]
        item.user_properties += [("cell", cell) for cell in cells]
        item.user_properties += [("limit", " ".join(mark.args)) for mark in item.iter_markers("limit")]
        if any(mark.name == "limit" for mark in item.own_markers):  # one of a class limits no claim
            item.user_properties.append(("limited", "yes"))


@pytest.fixture(scope="module", autouse=True)
def _collected() -> Iterator[None]:
    """What a framework leaves open is collected while its tests' filters of warnings still hold."""
    yield
    gc.collect()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each claim of the conformance suite in every mode of the class's driver."""
    if "mode" in metafunc.fixturenames and metafunc.cls is not None:
        driver = metafunc.cls.driver
        heavy = [pytest.param(mode, marks=pytest.mark.heavy) for mode in driver.heavy_modes]
        light = [mode for mode in driver.modes if mode not in driver.heavy_modes]
        metafunc.parametrize("mode", light + heavy)

"""What all tests share.

Property tests try the same examples every time; HYPOTHESIS_PROFILE=exploring looks for new ones.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

from tests import quick

if TYPE_CHECKING:
    from tests.support.models import FakeModels
    from tests.support.sink import OtlpSink
    from tests.support.warm_checkers import Warm

pytest.register_assert_rewrite("tests.support")

if importlib.util.find_spec("hypothesis"):  # environments of single frameworks do without
    from hypothesis import settings

    settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
    settings.register_profile("exploring", deadline=None)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Stores of runs that commands keep for the user.
os.environ.setdefault("PDOCTOR_CACHE", os.path.join(tempfile.gettempdir(), f"pdoctor-tests-{os.getuid()}"))

# Jobs in the background are started with these ignored, and so would be all programs that tests start.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="what is not heavy and starts no other program")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("quick"):
        config.pluginmanager.register(quick.Quick())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is loaded stays: nothing looks through it for garbage, now or while tests run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("quick") or "processes" in config.getoption("markexpr"):  # to find out takes seconds
        for item in items:
            quick.mark(item)


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    """A test that wants the process traced says so: importing the tracer, for whatever reason, is not enough.

    Spans of agents that other tests run here would wait for a collector that is not there.
    """
    off()
    yield
    off()


def off() -> None:
    if tracer := sys.modules.get("pdoctor_trace.installation"):
        tracer.uninstall()


@pytest.fixture(scope="session", autouse=True)
def warm() -> Iterator[Warm | None]:
    """Collectors of this process start their checkers warm, where there are any."""
    if "collector.pipeline.supervisor" not in sys.modules:
        yield None
        return
    from tests.support.warm_checkers import warm_checkers

    with warm_checkers() as started:
        yield started


@pytest.fixture
def cold_checkers(warm: Warm | None) -> Iterator[None]:
    """Checkers of this test are started as programs."""
    assert warm is not None
    warm.cold = True
    yield
    warm.cold = False


@pytest.fixture(scope="session")
def models() -> Iterator[FakeModels]:
    """One server of scripted models."""
    from tests.support.models import FakeModels

    with FakeModels() as server:
        yield server


@pytest.fixture
def sink() -> Iterator[OtlpSink]:
    """Spans of this test; the tracer must not have failed anywhere inside."""
    import pdoctor_trace  # importing it traces this process, which only its own tests want
    from pdoctor_trace.harmless import FAILURES
    from tests.support.sink import OtlpSink

    FAILURES.clear()
    with OtlpSink() as server:
        pdoctor_trace.install(endpoint=server.url, batch_delay=0.0, content="full")
        yield server
        pdoctor_trace.flush()
        pdoctor_trace.uninstall()
    assert dict(FAILURES) == {}

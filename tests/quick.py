"""Tests that start other programs: a browser, PostgreSQL, a collector's checker, an agent's worker.

A test is marked `processes` by itself where its code leads to `subprocess`: through its fixtures and through
the functions and classes that are called by name, in the tests and in the packages. Where that cannot be seen
it carries the mark. `pytest --quick` leaves out what is marked so, `slow` or `heavy`, and fails a test that
starts a program all the same.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

STARTERS = ("subprocess", "multiprocessing")
STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "os.exec")
"""Python's own audit events of starting a program."""
OURS = ("tests", "conftest", "collector", "synth", "pdoctor_trace")
WRAPPERS, INSIDE = ("builtins", "click.core"), ("__func__", "fget", "callback")
"""Methods of a class, properties and verbs of the command line, and where these keep the function."""
OUT_OF_QUICK = ("processes", "slow", "heavy")
HARMLESS: set[Callable[..., Any]] = set()
"""What is known to lead to no program."""


def mark(item: pytest.Item) -> None:
    """Say of a test that it starts programs, where its code tells."""
    if isinstance(item, pytest.Function):
        made = (fixture.func for name in item.fixturenames for fixture in definitions(item, name))
        if any(starts_programs(function) for function in (item.function, *made)):
            item.add_marker("processes")


def definitions(item: pytest.Function, fixture: str) -> Any:
    """How a fixture of a test is made."""
    return item._fixtureinfo.name2fixturedefs.get(fixture, ())


def starts_programs(function: Callable[..., Any]) -> bool:
    """Does it, or anything of ours that it calls by name, name a module of STARTERS?"""
    seen: set[Callable[..., Any]] = set()
    waiting = [*calls(function)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, ModuleType):
            return True
        if value not in seen and value not in HARMLESS:
            seen.add(value)
            waiting += named_by(value)
    HARMLESS.update(seen)
    return False


def calls(value: Any) -> Iterator[Any]:
    """The function or class of ours that a value is, within its wrappers, or a module of STARTERS."""
    value = inspect.unwrap(value) if callable(value) else value
    if type(value).__module__ in WRAPPERS:
        value = next((getattr(value, name) for name in INSIDE if hasattr(value, name)), value)
    if isinstance(value, ModuleType):
        yield from [value] if value.__name__ in STARTERS else []
    elif isinstance(value, FunctionType | type) and ours(value.__module__ or ""):
        yield value


def ours(module: str) -> bool:
    return module.partition(".")[0] in OURS or module.startswith("test_")


@cache
def named_by(value: Callable[..., Any]) -> tuple[Any, ...]:
    """What the code of a function or class may call."""
    named = (*vars(value).values(), *value.__bases__) if isinstance(value, type) else in_code(value)
    return tuple(called for one in named for called in calls(one))


def in_code(function: Any) -> Iterator[Any]:
    names = frozenset(names_in(function.__code__))
    for name in names:
        found = function.__globals__.get(name) or imported(name)
        yield found
        if isinstance(found, ModuleType) and ours(found.__name__):
            yield from (vars(found).get(other) for other in names)


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names_in(inner)


def imported(name: str) -> ModuleType | None:
    """A module that a function imports itself; ours are loaded, except the tracer, which would trace us."""
    if name.startswith(("synth.", "collector.")):
        return importlib.import_module(name)
    return sys.modules.get(name)


class Quick:
    """The plugin of `--quick`."""

    def __init__(self) -> None:
        self._test: str | None = None
        self._started: list[str] = []
        sys.addaudithook(self._watch)

    def _watch(self, event: str, details: tuple[Any, ...]) -> None:
        if self._test is not None and event in STARTS:
            self._started.append(f"{event}{details[:2]}")
            raise AssertionError(self._complaint())

    def _complaint(self) -> str:
        return (
            f"{self._test} starts a program in `make quick`: {', '.join(self._started)}; "
            "mark the test `processes`, or let it do without"
        )

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        out = [item for item in items if any(map(item.get_closest_marker, OUT_OF_QUICK))]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in set(out)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before, self._test, self._started = self._test, item.nodeid, []
        try:
            return (yield)
        finally:
            self._test = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """What a test makes of the complaint, which its code may swallow, does not matter."""
        try:
            return (yield)
        finally:
            if self._started:
                pytest.fail(self._complaint(), pytrace=False)

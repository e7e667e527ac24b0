"""What the host holds of its own functions stays what it was, whoever looks at it."""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import pytest

from pdoctor_trace.adapter import Target
from pdoctor_trace.harmless import FAILURES
from pdoctor_trace.patching import Row, patch
from pdoctor_trace.wrappers import (
    Visit,
    around,
    around_async,
    around_async_generator,
    around_generator,
    observe,
)
from tests.support.sink import OtlpSink
from tests.support.unchanged import place, problems

DEFINITIONS = """
import functools

def plain(x, y=1):
    "A function."
    return x + y

async def awaited(x, *, y=1):
    return x + y

def stepped(x):
    got = yield x
    yield got

async def streamed(x):
    yield x
"""
HOST = (
    DEFINITIONS
    + """
class Base:
    def inherited(self, x):
        return x

class Agent(Base):
    from_elsewhere = plain

    @classmethod
    def of_class(cls, x):
        return cls, x

    @staticmethod
    def static(x):
        return x
"""
    + DEFINITIONS.replace("import functools", "").replace("(x", "(self, x").replace("\n", "\n    ")
)
WRAPPERS = {
    "plain": around,
    "awaited": around_async,
    "stepped": around_generator,
    "streamed": around_async_generator,
    "inherited": around,
    "from_elsewhere": around,
    "of_class": around,
    "static": around,
}
FUNCTIONS = ["plain", "awaited", "stepped", "streamed"]
TARGETS = [*FUNCTIONS, *(f"Agent.{name}" for name in WRAPPERS)]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of the host, and one that offers its functions as its own."""
    (tmp_path / "pd_host.py").write_text(HOST)
    (tmp_path / "pd_front.py").write_text(f"from pd_host import Agent, {', '.join(FUNCTIONS)}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("pd_host")
    for name in ("pd_host", "pd_front"):
        sys.modules.pop(name, None)


def put(module: Any, attribute: str, seen: list[Any] | None = None) -> Row:
    """Our wrapper, which notes what it is given."""

    def enter(instance: Any, args: Any, kwargs: Any) -> Visit:
        if seen is not None:
            seen.append((instance, args, kwargs))
        return Visit(None)

    row = Row("test", Target(module.__name__, attribute, WRAPPERS[attribute.rpartition(".")[2]](enter)))
    patch(row, module)
    return row


@pytest.mark.parametrize("attribute", TARGETS)
def test_functions_stay_what_they_were(sink: OtlpSink, host: Any, attribute: str) -> None:
    assert problems([put(host, attribute)]) == []


@pytest.mark.parametrize("attribute", [*FUNCTIONS, "Agent.awaited", "Agent.from_elsewhere"])
def test_under_the_name_of_another_module_too(sink: OtlpSink, host: Any, attribute: str) -> None:
    assert problems([put(importlib.import_module("pd_front"), attribute)]) == []


@pytest.mark.parametrize("attribute", TARGETS)
def test_what_was_pickled_with_us_can_be_read_without(sink: OtlpSink, host: Any, attribute: str) -> None:
    holder, name = place(put(host, attribute))
    assert b"pdoctor_trace" not in pickle.dumps(getattr(holder, name))


def test_own_names_are_pickled_as_they_were(sink: OtlpSink, host: Any) -> None:
    before = [pickle.dumps(host.awaited), pickle.dumps(host.Agent.streamed)]
    put(host, "awaited")
    put(host, "Agent.streamed")
    assert [pickle.dumps(host.awaited), pickle.dumps(host.Agent.streamed)] == before


@pytest.mark.parametrize("attribute", ["plain", "Agent.plain", "Agent.inherited", "Agent.from_elsewhere"])
def test_wrappers_get_the_object_and_its_arguments(sink: OtlpSink, host: Any, attribute: str) -> None:
    seen: list[Any] = []
    holder, name = place(put(host, attribute, seen))
    if holder is host:
        assert host.plain(2, y=3) == 5
        assert seen == [(None, (2,), {"y": 3})]
        return
    agent = host.Agent()
    expected = agent if name == "from_elsewhere" else 2
    bound, unbound = getattr(agent, name), getattr(holder, name)
    if name == "from_elsewhere":  # a function of two numbers: the object is the first of them
        with pytest.raises(TypeError):
            bound()
        with pytest.raises(TypeError):
            unbound(agent)
        assert seen == [(agent, (), {})] * 2
        return
    assert expected in (bound(2), bound(2) - 1)
    assert unbound(agent, 2) == bound(2)
    assert seen == [(agent, (2,), {})] * 4


@pytest.mark.parametrize("name", ["plain", "awaited", "inherited"])
def test_a_call_that_cannot_be_fails_as_it_would(sink: OtlpSink, host: Any, name: str) -> None:
    """The object may even be given by name; a coroutine function says so when it is awaited."""
    with pytest.raises(TypeError) as without_us:
        getattr(host.Agent, name)()
    seen: list[Any] = []
    put(host, f"Agent.{name}", seen)
    failed = FAILURES.total()
    with pytest.raises(TypeError) as with_us:
        _run(getattr(host.Agent, name))
    assert str(with_us.value) == str(without_us.value)
    assert (seen, FAILURES.total()) == ([], failed)


def _run(function: Any) -> None:
    function().send(None)


def test_class_and_static_methods_stay_such(sink: OtlpSink, host: Any) -> None:
    seen: list[Any] = []
    for name in ("of_class", "static"):
        before = vars(host.Agent)[name]
        put(host, f"Agent.{name}", seen)
        assert type(vars(host.Agent)[name]) is type(before)
    sub = type("Sub", (host.Agent,), {})
    assert (sub.of_class(1), host.Agent().of_class(2)) == ((sub, 1), (host.Agent, 2))
    assert (sub.static(3), type(sub.of_class)) == (3, MethodType)
    assert seen == [(sub, (1,), {}), (host.Agent, (2,), {}), (None, (3,), {})]


def test_a_subclass_may_override_and_call_what_it_overrides(sink: OtlpSink, host: Any) -> None:
    seen: list[Any] = []
    put(host, "Agent.streamed", seen)
    put(host, "Agent.plain", seen)

    class Own(host.Agent):  # type: ignore[misc, name-defined]
        def plain(self, x: int, y: int = 1) -> Any:
            return -super().plain(x, y)

    own = Own()
    assert (own.plain(1, 2), Own.streamed is host.Agent.streamed) == (-3, True)
    assert seen == [(own, (1, 2), {})]


def test_a_process_pool_takes_them(sink: OtlpSink, host: Any) -> None:
    put(host, "plain")
    put(host, "Agent.plain")
    with ProcessPoolExecutor(1) as pool:
        assert pool.submit(host.plain, 2, y=5).result() == 7
        assert pool.submit(host.Agent().plain, 2).result() == 3


def test_a_function_that_was_put_into_a_class_later_binds(sink: OtlpSink, host: Any) -> None:
    put(host, "stepped")
    host.Agent.late = host.stepped
    agent = host.Agent()
    assert (type(agent.late), list(host.Agent.late(4))) == (MethodType, [4, None])
    assert next(agent.late()) is agent


def test_patched_twice_means_wrapped_once(sink: OtlpSink, host: Any) -> None:
    for attribute in TARGETS:
        row = put(host, attribute)
        holder, name = place(row)
        before = inspect.getattr_static(holder, name)
        patch(row, host)
        assert inspect.getattr_static(holder, name) is before, attribute


@pytest.mark.parametrize("attribute", ["plain", "awaited", "Agent.plain", "Agent.awaited"])
def test_functions_under_their_own_name_are_plain_functions(
    sink: OtlpSink, host: Any, attribute: str
) -> None:
    """A proxy costs twice as much per call, and these are the ones that are called most."""
    holder, name = place(put(host, attribute))
    assert type(getattr(holder, name)) is FunctionType


def test_what_a_module_has_imported_from_another_stays_the_same_function(sink: OtlpSink, host: Any) -> None:
    front = importlib.import_module("pd_front")
    wrapper = around(lambda *given: None)
    for module in (host, front):
        patch(Row("test", Target(module.__name__, "plain", wrapper)), module)
    assert front.plain is host.plain
    assert type(front.plain) is FunctionType


def test_looking_at_the_arguments_only_changes_nothing_either(sink: OtlpSink, host: Any) -> None:
    row = Row("test", Target("pd_host", "Agent.awaited", observe(lambda *given: None)))
    patch(row, host)
    assert problems([row]) == []


@pytest.mark.parametrize("made", [around, around_async])
@pytest.mark.parametrize("attribute", ["plain", "awaited", "Agent.plain", "Agent.awaited"])
def test_a_wrapper_of_the_other_kind_leaves_the_hosts_kind(
    sink: OtlpSink, host: Any, attribute: str, made: Any
) -> None:
    """A function may give something to await without being a coroutine function, and the other way round."""
    row = Row("test", Target("pd_host", attribute, made(lambda *given: None)))
    patch(row, host)
    assert problems([row]) == []

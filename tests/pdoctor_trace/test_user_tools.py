"""`@tool` and `wrap_tools` on every kind of function."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import pdoctor_trace
from tests.support.hostile import HOSTILE, OUTLAWS
from tests.support.sink import OtlpSink


@pdoctor_trace.tool
def double(n: int, *rest: int, scale: int = 2, **more: Any) -> int:
    """Twice the number.

    More text.
    """
    return n * scale


@pdoctor_trace.tool(name="say")
async def speak(text: str) -> str:
    await asyncio.sleep(0)
    return text


@pdoctor_trace.tool
def count(n: int) -> Iterator[int]:
    yield from range(n)


@pdoctor_trace.tool
async def acount(n: int) -> AsyncIterator[int]:
    for number in range(n):
        yield number


class Desk:
    @pdoctor_trace.tool
    def book(self, room: str) -> str:
        return f"booked {room}"


def test_a_function_keeps_its_face() -> None:
    assert inspect.signature(double).parameters.keys() == {"n", "rest", "scale", "more"}
    assert (double.__name__, double.__doc__.partition("\n")[0]) == ("double", "Twice the number.")
    assert inspect.iscoroutinefunction(speak)
    assert pickle.loads(pickle.dumps(double)) is double
    assert pdoctor_trace.tool(double) is double


def test_arguments_are_named(sink: OtlpSink) -> None:
    double(1, 2, 3, scale=5, extra="x")
    Desk().book("red")
    pdoctor_trace.flush()
    first, second = sorted(sink.calls, key=lambda call: call.start)
    assert first.arguments == {"n": 1, "args": [2, 3], "scale": 5, "extra": "x"}
    assert (first.result, first["gen_ai.tool.description"]) == (5, "Twice the number.")
    assert (second.tool, second.arguments, second.result) == ("book", {"room": "red"}, "booked red")


class Shop:
    @pdoctor_trace.tool
    @classmethod
    def named(cls, x: int) -> str:
        """Of the class."""
        return f"{cls.__name__} {x}"

    @pdoctor_trace.tool(name="priced")
    @staticmethod
    def price(x: int) -> int:
        return x + 1


def test_class_and_static_methods(sink: OtlpSink) -> None:
    """Our decorator may stand above the class's own or below it."""
    corner = type("Corner", (Shop,), {})
    assert (Shop.named(1), corner().named(x=2)) == ("Shop 1", "Corner 2")
    assert (Shop.price(3), Shop().price(4)) == (4, 5)
    assert inspect.ismethod(Shop.named)
    assert Shop.named.__doc__ == "Of the class."
    pdoctor_trace.flush()
    calls = sorted(sink.calls, key=lambda call: str(call.arguments))
    assert [(call.tool, call.arguments["x"]) for call in calls] == [
        ("named", 1),
        ("named", 2),
        ("priced", 3),
        ("priced", 4),
    ]


def test_coroutines_and_generators(sink: OtlpSink) -> None:
    async def main() -> list[int]:
        assert await speak("hello") == "hello"
        return [number async for number in acount(2)]

    with pdoctor_trace.run():
        assert asyncio.run(main()) == [0, 1]
        assert list(count(3)) == [0, 1, 2]
    pdoctor_trace.flush()
    assert sorted(call.tool for call in sink.calls) == ["acount", "count", "say"]


def test_a_generator_left_early_is_closed(sink: OtlpSink) -> None:
    items = count(5)
    next(items)
    items.close()
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert call.kind == "cancelled"


def test_wrap_tools_takes_dicts_and_lists(sink: OtlpSink) -> None:
    tools = pdoctor_trace.wrap_tools({"plus": lambda a, b: a + b})
    (minus,) = pdoctor_trace.wrap_tools([lambda a, b: a - b])
    assert (tools["plus"](1, 2), minus(3, 1)) == (3, 2)
    pdoctor_trace.flush()
    assert sorted(call.tool for call in sink.calls) == ["<lambda>", "plus"]


def test_a_tool_calling_itself_or_wrapped_twice_is_one_call(sink: OtlpSink) -> None:
    @pdoctor_trace.tool
    def factorial(n: int) -> int:
        return 1 if n < 2 else n * factorial(n - 1)

    assert factorial(5) == 120
    pdoctor_trace.flush()
    assert len(sink.calls) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_arguments_and_results_pass_untouched(sink: OtlpSink, name: str) -> None:
    value = HOSTILE[name]()
    seen = []

    @pdoctor_trace.tool
    def identity(x: Any) -> Any:
        seen.append(x)
        return x

    assert identity(value) is value
    assert len(seen) == 1
    assert seen[0] is value
    pdoctor_trace.flush()
    assert len(sink.calls) == 1


@pytest.mark.parametrize("name", OUTLAWS)
def test_hostile_exceptions_pass_untouched(sink: OtlpSink, name: str) -> None:
    error = OUTLAWS[name]()

    @pdoctor_trace.tool
    def fail() -> None:
        raise error

    with pytest.raises(BaseException) as caught:  # noqa: PT011
        fail()
    assert caught.value is error
    assert error.__cause__ is None
    assert error.__context__ is None
    pdoctor_trace.flush()
    assert sink.calls[0].failed


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("mode", ["none", "shape"])
def test_hostile_values_in_the_other_content_modes(sink: OtlpSink, name: str, mode: str) -> None:
    pdoctor_trace.install(content=mode)
    value = HOSTILE[name]()
    identity = pdoctor_trace.tool(lambda x: x)
    assert identity(value) is value
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call["gen_ai.tool.call.arguments"] is None) == (mode == "none")


@pdoctor_trace.tool
def move(to: str) -> str:
    pdoctor_trace.state({"at": "start"})
    pdoctor_trace.state({"at": to, "progress": 0.5})
    return "moved"


def test_a_tool_tells_the_state_of_what_it_acts_on(sink: OtlpSink) -> None:
    pdoctor_trace.state("nobody's")
    assert move("b") == "moved"
    double(1)
    pdoctor_trace.flush()
    states = {call.tool: call.attributes.get("pdoctor.tool.state") for call in sink.calls}
    assert states == {"move": '{"state":{"at":"b","progress":0.5}}', "double": None}


def test_states_are_of_the_tool_that_runs_and_no_run_of_it(sink: OtlpSink) -> None:
    @pdoctor_trace.tool
    def outer() -> str:
        double(1)
        move("inside")
        pdoctor_trace.state(1)
        return "ok"

    with pdoctor_trace.run(query="q"):
        pdoctor_trace.state("of no call")
        outer()
    pdoctor_trace.flush()
    states = {call.tool: call.attributes.get("pdoctor.tool.state") for call in sink.calls}
    assert states["outer"] == '{"state":1}'
    assert states["double"] is None
    assert all("pdoctor.tool.state" not in run.attributes for run in sink.runs)


@pytest.mark.parametrize("value", [*HOSTILE, *OUTLAWS], ids=lambda value: type(value).__name__)
def test_hostile_states_do_not_hurt(sink: OtlpSink, value: Any) -> None:
    @pdoctor_trace.tool
    def tell() -> str:
        pdoctor_trace.state(value)
        return "ok"

    assert tell() == "ok"
    pdoctor_trace.flush()
    assert [call.result for call in sink.calls] == ["ok"]


def test_a_state_leaves_whole_or_not_at_all(sink: OtlpSink) -> None:
    @pdoctor_trace.tool
    def tell() -> str:
        pdoctor_trace.state("x" * 10_000_000)
        return "ok"

    tell()
    pdoctor_trace.flush()
    assert "pdoctor.tool.state" not in sink.calls[0].attributes

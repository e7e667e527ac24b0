"""Cancellation, groups, time limits, and generators in both directions: the host sees what it would see."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import pdoctor_trace
from tests.support.sink import OtlpSink


@pdoctor_trace.tool
async def slow(seconds: float = 5.0) -> str:
    await asyncio.sleep(seconds)
    return "done"


@pdoctor_trace.tool
async def failing() -> None:
    await asyncio.sleep(0)
    raise KeyError("k")


def kinds(sink: OtlpSink) -> list[tuple[str, str | None]]:
    pdoctor_trace.flush()
    return sorted((call.tool, call.kind) for call in sink.calls)


def test_a_cancelled_task_is_a_cancelled_call(sink: OtlpSink) -> None:
    async def main() -> None:
        with pdoctor_trace.run():
            task = asyncio.create_task(slow())
            await asyncio.sleep(0.01)
            task.cancel("stop")
            with pytest.raises(asyncio.CancelledError, match="stop"):
                await task

    asyncio.run(main())
    assert kinds(sink) == [("slow", "cancelled")]
    assert sink.runs[0]["pdoctor.run.calls"] == 1


def test_a_time_limit_is_the_callers_and_the_call_was_cancelled(sink: OtlpSink) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slow(), 0.01)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await slow()

    asyncio.run(main())
    assert kinds(sink) == [("slow", "cancelled")] * 2


def test_a_group_that_fails_cancels_the_others_and_raises_as_ever(sink: OtlpSink) -> None:
    async def main() -> None:
        with pdoctor_trace.run():
            async with asyncio.TaskGroup() as group:
                group.create_task(slow())
                group.create_task(slow())
                group.create_task(failing())

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(main())
    assert [type(error) for error in caught.value.exceptions] == [KeyError]
    assert kinds(sink) == [("failing", "tool_raised"), ("slow", "cancelled"), ("slow", "cancelled")]
    assert sink.runs[0].failed


def test_a_tool_that_refuses_to_be_cancelled_succeeds(sink: OtlpSink) -> None:
    @pdoctor_trace.tool
    async def stubborn() -> str:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return "anyway"
        return "never"

    async def main() -> str:
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0.01)
        task.cancel()
        return await task

    assert asyncio.run(main()) == "anyway"
    assert kinds(sink) == [("stubborn", None)]


def test_two_tasks_of_two_runs_do_not_mix(sink: OtlpSink) -> None:
    async def agent(name: str) -> None:
        with pdoctor_trace.run(query=name):
            await asyncio.gather(*(slow(0.001) for _ in range(5)))

    async def main() -> None:
        await asyncio.gather(*(agent(str(n)) for n in range(5)))

    asyncio.run(main())
    pdoctor_trace.flush()
    assert sorted(run["pdoctor.run.calls"] for run in sink.runs) == [5] * 5
    counted = [sum(call.run_id == run.run_id for call in sink.calls) for run in sink.runs]
    assert counted == [5] * 5


# -- generators: whatever the reader does reaches the host's generator, and what that says the reader


def talk() -> Iterator[Any]:
    """Answers what it is sent, survives one exception, and has a result."""
    heard = []
    try:
        got = yield "first"
        while got is not None:
            heard.append(got)
            try:
                got = yield f"heard {got}"
            except KeyError as error:
                got = yield f"caught {error.args[0]}"
    finally:
        heard.append("closed")
    return heard


def drive(generator: Any) -> list[Any]:
    said: list[Any] = [
        next(generator),
        generator.send("a"),
        generator.throw(KeyError("b")),
        generator.send("c"),
    ]
    try:
        next(generator)
    except StopIteration as end:
        said.append(end.value)
    return said


def outer(make: Callable[[], Any]) -> Iterator[Any]:
    result = yield from make()
    yield result


def test_a_generator_is_sent_to_thrown_into_and_gives_its_result(sink: OtlpSink) -> None:
    recorded = pdoctor_trace.tool(talk)
    assert drive(recorded()) == drive(talk())
    assert drive(recorded())[-1] == ["a", "c", "closed"]
    assert drive(outer(recorded)) == drive(outer(talk))
    pdoctor_trace.flush()
    assert len(sink.calls) == 3
    assert {call.kind for call in sink.calls} == {None}


def test_a_generator_that_raises_or_refuses_to_close_does_so(sink: OtlpSink) -> None:
    def refusing() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            yield 2

    def raising() -> Iterator[int]:
        yield 1
        raise LookupError("mine")

    for make in (refusing, pdoctor_trace.tool(refusing)):
        generator = make()
        next(generator)
        with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
            generator.close()  # type: ignore[attr-defined]
        del generator
        gc.collect()
    with pytest.raises(LookupError, match="mine"):
        list(pdoctor_trace.tool(raising)())


async def chat() -> AsyncIterator[Any]:
    got = yield "first"
    while got is not None:
        try:
            got = yield f"heard {got}"
        except KeyError as error:
            got = yield f"caught {error.args[0]}"


def test_an_async_generator_is_sent_to_and_thrown_into(sink: OtlpSink) -> None:
    async def drive_async(generator: Any) -> list[Any]:
        said = [await anext(generator), await generator.asend("a"), await generator.athrow(KeyError("b"))]
        said.append(await generator.asend("c"))
        with pytest.raises(StopAsyncIteration):
            await anext(generator)
        return said

    recorded = pdoctor_trace.tool(chat)
    assert asyncio.run(drive_async(recorded())) == asyncio.run(drive_async(chat()))
    assert kinds(sink) == [("chat", None)]


def test_an_async_generator_left_early_or_dropped_is_closed(sink: OtlpSink) -> None:
    closed: list[str] = []

    @pdoctor_trace.tool
    async def stream() -> AsyncIterator[int]:
        try:
            for number in range(100):
                yield number
                await asyncio.sleep(0)
        finally:
            closed.append("closed")

    async def main() -> None:
        leaving = stream()
        async for number in leaving:
            if number == 2:
                break
        await leaving.aclose()  # type: ignore[attr-defined]
        async for _ in stream():
            break
        gc.collect()
        await asyncio.sleep(0.01)

        async def read() -> None:
            async for _ in stream():
                await asyncio.sleep(1)

        task = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert closed == ["closed"] * 3
    assert kinds(sink) == [("stream", "cancelled")] * 3

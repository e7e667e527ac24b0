"""Big bodies are decoded in a process of their own, those of several senders in turn."""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import orjson
import pytest
from google.protobuf.message import DecodeError

from collector import room as room_
from collector.budget import Budget
from collector.errors import Overloaded
from collector.fair import Flow, Slices
from collector.model import Batch
from collector.otlp import counting, intake, json_in, segments
from collector.otlp import decoder as decoder_
from collector.otlp.decoder import Body, Decoded, Decoder
from collector.otlp.errors import ExportError
from collector.otlp.json_in import from_json
from collector.otlp.segments import from_protobuf
from collector.server import running
from collector.settings import Limits
from tests.support.memory import FILL
from tests.support.traces import JSON, Client, agent_request, eventually, new_id, request, settings

LIMITS = Limits()


@pytest.fixture
def decoder() -> Iterator[Decoder]:
    opened = Decoder()
    yield opened
    opened.close()


def in_parts(spans: int) -> bytes:
    """So many small spans of one run."""
    run = new_id()
    return request(*({"trace": run, "id": at + 1} for at in range(spans))).SerializeToString()


def as_json(spans: int) -> bytes:
    run = new_id()
    said = [{"traceId": run, "spanId": f"{at + 1:016x}", "name": "n" * 200} for at in range(spans)]
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": said}]}]})


def test_another_process_reads_what_this_one_would(decoder: Decoder) -> None:
    async def both() -> tuple[Batch, Batch]:
        packed = Body(gzip.compress(protobuf), "gzip", "protobuf", LIMITS)
        plain = Body(json, "", "json", LIMITS)
        return (await decoder.batch(Flow("a"), packed)).batch, (await decoder.batch(Flow("a"), plain)).batch

    protobuf, json = in_parts(2_000), as_json(700)
    assert asyncio.run(both()) == (from_protobuf(protobuf, LIMITS), from_json(json, LIMITS))


@pytest.mark.parametrize(
    ("content", "coding", "http"),
    [(b"[" * 99, "", 400), (b"\x1f\x8b" + b"x" * 99, "gzip", 400), (b" " * 25 * 2**20, "", 413)],
    ids=["broken", "damaged", "too big"],
)
def test_what_is_wrong_with_a_body_comes_back(
    decoder: Decoder, content: bytes, coding: str, http: int
) -> None:
    if http == 413:
        content, coding = gzip.compress(content), "gzip"
    with pytest.raises(ExportError) as refusal:
        asyncio.run(decoder.batch(Flow("a"), Body(content, coding, "json", LIMITS)))
    assert refusal.value.http == http
    assert refusal.value.message


def test_a_body_that_takes_too_long_is_given_up_and_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_, "SECONDS", 0.0)
    overrun = Decoder()
    try:
        with pytest.raises(Overloaded, match="decoding took longer than 0 s"):
            asyncio.run(overrun.batch(Flow("a"), Body(as_json(1), "", "json", LIMITS)))
        overrun._process.limit_seconds = 60.0
        assert asyncio.run(overrun.batch(Flow("a"), Body(as_json(1), "", "json", LIMITS))).batch.segments
    finally:
        overrun.close()


def test_a_body_that_takes_too_much_memory_is_refused_for_good(decoder: Decoder) -> None:
    """And the next one is read, by another process."""
    dense = Body(gzip.compress(b'{"a":[' + b'{"a":1},' * 990_000 + b"1]}", 1), "gzip", "json", LIMITS)
    with pytest.raises(ExportError, match="takes in memory is over the limit") as refusal:
        asyncio.run(decoder.batch(Flow("a"), dense))
    assert (refusal.value.http, refusal.value.retry_after) == (413, None)
    assert decoder._process.kills == 2, "with little memory, and with all that there is"
    assert asyncio.run(decoder.batch(Flow("a"), Body(as_json(1), "", "json", LIMITS))).batch.segments


def test_a_body_waits_for_memory_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_, "PATIENCE", 0.05)
    shared = room_.Room()
    decoder, body = Decoder(shared), Body(as_json(1), "", "json", LIMITS)
    try:
        with (
            shared.taken(room_.UNIT_MIB * room_.UNITS, room_.soon()),
            pytest.raises(Overloaded, match="no memory") as refused,
        ):
            asyncio.run(decoder.batch(Flow("a"), body))
        assert refused.value.retry_after == room_.AGAIN_SECONDS
        assert asyncio.run(decoder.batch(Flow("a"), body)).batch.segments
    finally:
        decoder.close()


def test_a_body_does_not_wait_for_its_turn_for_ever(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sender is told in time, and it is kept no longer, while another body is still read."""
    held = Held(monkeypatch)

    async def main() -> Decoded:
        first = asyncio.ensure_future(decoder.batch(Flow("a"), Body(b"1", "", "json", LIMITS)))
        while not held.asked:
            await asyncio.sleep(0.001)
        monkeypatch.setattr(room_, "PATIENCE", 0.05)
        with pytest.raises(Overloaded, match="no memory") as refused:
            await asyncio.wait_for(decoder.batch(Flow("b"), Body(b"2", "", "json", LIMITS)), 10)
        assert refused.value.retry_after == room_.AGAIN_SECONDS
        assert len(decoder._line) == 0
        held.go_on.set()
        return await first

    assert asyncio.run(main()).batch == Batch(())
    decoder._thread.submit(lambda: None).result(10)
    assert held.asked == [b"1"]


@pytest.mark.parametrize("room", [1, 9], ids=["for it to come", "for it to be read"])
def test_what_earlier_bodies_left_in_memory_refuses_none(decoder: Decoder, room: int) -> None:
    body = Body(as_json(12_000), "", "json", LIMITS)
    decoder._process.ask(exec, FILL, {"room": room << 20})
    assert asyncio.run(decoder.batch(Flow("a"), body)).batch.segments
    assert decoder._process.kills == 1


def test_refused_bodies_leave_nothing_in_memory(decoder: Decoder) -> None:
    """However many: the process is not brought to its limit by them, where it would die of a good one."""
    empty = Body(gzip.compress(b"\x0a\x00" * 500_000, 1), "gzip", "protobuf", LIMITS)
    for _ in range(12):
        with pytest.raises(ExportError, match="resourceSpans"):
            asyncio.run(decoder.batch(Flow("a"), empty))
    assert decoder._process.kills == 0


@pytest.mark.parametrize("fails", [False, True], ids=["read at the second attempt", "refused"])
def test_what_was_read_is_not_held_on_to(decoder: Decoder, fails: bool) -> None:
    """Not even until a search for cycles: it may be twenty megabytes, and such searches are rare here."""
    body = Body(
        b"\x0a\x00" * 500_000 if fails else as_json(12_000), "", "protobuf" if fails else "json", LIMITS
    )

    async def read() -> None:
        with suppress(ExportError):
            await decoder.batch(Flow("a"), body)

    def held() -> set[int]:
        return {id(one) for one in gc.get_objects() if isinstance(one, Batch | Body)}

    before = held()
    gc.disable()
    try:
        decoder._process.ask(exec, FILL, {"room": 1 << 20})  # the first attempt fails
        asyncio.run(read())
        decoder._thread.submit(lambda: None).result(10)
        assert held() == before
        assert not [one for one in gc.get_referrers(body) if isinstance(one, FrameType)]
    finally:
        gc.enable()


def test_a_body_of_which_the_process_dies_is_refused_for_good(decoder: Decoder) -> None:
    """Not every library tells when there is no memory."""
    decoder._process._first = partial(os._exit, 1)
    with pytest.raises(ExportError) as refusal:
        asyncio.run(decoder.batch(Flow("a"), Body(as_json(1), "", "json", LIMITS)))
    assert refusal.value.http == 413


def test_no_memory_is_no_broken_body(monkeypatch: pytest.MonkeyPatch) -> None:
    failure: Exception

    def full(*_given: object) -> Any:
        raise failure

    monkeypatch.setattr(json_in.orjson, "loads", full)
    monkeypatch.setattr(segments, "Traces", SimpleNamespace(FromString=full))
    failure = orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0)
    with pytest.raises(MemoryError):
        from_json(b"{}", LIMITS)
    failure = DecodeError("Error parsing message: Arena alloc failed")
    with pytest.raises(MemoryError):
        from_protobuf(b"{}", LIMITS)


@pytest.mark.parametrize("part", ["Span", "Resource", "InstrumentationScope"])
def test_no_memory_is_no_broken_span(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be rejected for good, and what it shares with others be lost without a word."""
    body = agent_request(new_id(), ["a"])

    def full(_content: bytes) -> Any:
        raise DecodeError("Error parsing message: Arena alloc failed")

    monkeypatch.setattr(segments, part, SimpleNamespace(FromString=full))
    with pytest.raises(MemoryError):
        from_protobuf(body, LIMITS)


class Held:
    """What `SolverProcess.ask` does, told when to go on; remembers what it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on = threading.Event()
        self.asked: list[bytes] = []
        self.at_once = self.most = 0
        monkeypatch.setattr(decoder_.SolverProcess, "ask", lambda _self, _work, body, _mib: self.ask(body))

    def ask(self, body: Body) -> Decoded:
        self.asked.append(body.content)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.go_on.wait(30)
        self.at_once -= 1
        return Decoded(Batch(()), 0.0)


async def all_of(
    decoder: Decoder, sent: Sequence[tuple[str, bytes]], ready: Callable[[], object], held: Held
) -> list[Any]:
    """The ends of bodies that are sent one right after the other; the first is held until all are."""
    tasks = []
    for who, content in sent:
        flow = Flow(*who.split())
        tasks.append(asyncio.ensure_future(decoder.batch(flow, Body(content, "", "json", LIMITS))))
        await asyncio.sleep(0)
    while not ready():
        await asyncio.sleep(0.001)
    held.go_on.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_senders_take_turns_and_bodies_are_read_one_by_one(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    sent = [("a", b"a1"), ("a", b"a2"), ("a", b"a3"), ("b", b"b1"), ("c", b"c1"), ("b", b"b2")]
    asyncio.run(all_of(decoder, sent, lambda: held.asked, held))
    assert held.asked == [b"a1", b"a2", b"b1", b"c1", b"a3", b"b2"]
    assert held.most == 1


def test_a_small_body_goes_before_big_ones_of_other_connections(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    big = [("a big", b"x" * 900), ("a other", b"y" * 900), ("a third", b"z" * 900)]
    asyncio.run(all_of(decoder, [*big, ("a small", b"s")], lambda: held.asked, held))
    assert [content[:1] for content in held.asked] == [b"x", b"s", b"y", b"z"]


def test_one_sender_does_not_fill_the_line(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    mine = [("a", b"%d" % at) for at in range(decoder_.WAITING + 2)]
    ends = asyncio.run(all_of(decoder, [*mine, ("b", b"b")], lambda: held.asked, held))
    assert isinstance(ends[-1], Decoded)
    refused = [end for end in ends if isinstance(end, Overloaded)]
    assert len(refused) in (len(mine) - decoder_.SHARE, len(mine) - decoder_.SHARE - 1)  # one may be read
    many = [(str(at), b"%d" % at) for at in range(decoder_.WAITING + 2)]
    held.go_on.clear()
    ends = asyncio.run(all_of(decoder, many, lambda: len(held.asked) > 9, held))
    assert [isinstance(end, Overloaded) for end in ends] == [False] * decoder_.WAITING + [True] * 2


def test_who_leaves_is_not_read_for(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def leave() -> None:
        tasks = [
            asyncio.ensure_future(decoder.batch(Flow("a"), Body(content, "", "json", LIMITS)))
            for content in (b"1", b"2", b"3")
        ]
        while not held.asked:
            await asyncio.sleep(0.001)
        tasks[1].cancel()
        await asyncio.sleep(0)
        held.go_on.set()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(leave())
    assert held.asked == [b"1", b"3"]
    assert decoder._waiting == 0


def test_the_process_ends_when_nothing_comes(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_, "IDLE_SECONDS", 0.01)

    async def once() -> None:
        await decoder.batch(Flow("a"), Body(as_json(1), "", "json", LIMITS))
        while decoder._process._child is not None:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(once(), 30))


QUICK: list[tuple[str, bytes, bool]] = [
    ("protobuf", in_parts(intake.INLINE_SPANS), True),
    ("protobuf", in_parts(intake.INLINE_SPANS + 1), False),
    ("protobuf", b"\x0a\x00" * (intake.INLINE_SPANS + 1), False),
    ("protobuf", b"\x0a\x04" + b"\x12\x00\x12\x00" + b"\x0a\x02\x12\x00" * 999, False),
    ("protobuf", b"\xff" * 99, True),
    ("json", as_json(100), True),
    ("json", b"[" + b"{}," * intake.INLINE_CONTAINERS + b"0]", False),
    ("json", b"[" * (intake.INLINE_CONTAINERS + 1), False),
]


@pytest.mark.parametrize("at", range(len(QUICK)))
def test_what_takes_long_is_not_read_on_the_event_loop(at: int) -> None:
    encoding, body, quick = QUICK[at]
    assert intake.is_quick(body, encoding) is quick  # type: ignore[arg-type]


EMPTY: list[tuple[str, bytes]] = [
    ("resources", b"\x0a\x00" * 500_000),
    ("scopes", b"\x0a\xc0\x84\x3d" + b"\x12\x00" * 500_000),
    ("unknown fields", b"\x38\x00" * 500_000),
]


@pytest.mark.parametrize("name", [name for name, _ in EMPTY])
def test_of_half_a_million_parts_only_the_first_are_looked_at(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To protobuf all of them are objects, which takes 30 ms of the event loop a body."""
    looks: list[int] = []

    def looked(body: bytes, at: int) -> tuple[int, int]:
        looks.append(at)
        return varint(body, at)

    varint = counting._varint
    monkeypatch.setattr(counting, "_varint", looked)
    monkeypatch.setattr(segments, "Traces", None)
    assert not intake.is_quick(dict(EMPTY)[name], "protobuf")
    assert len(looks) < 10 * intake.INLINE_SPANS


def with_events(count: int) -> bytes:
    """A span of so many empty events, each of which costs forty times its two bytes."""
    message = request({"trace": new_id(), "id": 1})
    for _ in range(count):
        message.resource_spans[0].scope_spans[0].spans[0].events.add()
    return message.SerializeToString()


@pytest.mark.parametrize("coding", ["", "gzip"])
def test_who_sends_what_takes_long_is_read_elsewhere_for_a_while(
    monkeypatch: pytest.MonkeyPatch, coding: str
) -> None:
    """Whatever takes long in it: so one body holds up the event loop, not one after the other."""
    here: list[str] = []

    def watched(body: bytes, *given: Any) -> Batch:
        here.append("dense" if len(body) > 100_000 else "small")
        return decoder_.read(body, *given)

    async def store(*_given: object) -> None:
        return

    async def nobody(_headers: object) -> str:
        return "default"

    async def sent(made: intake.Intake, who: str, body: bytes) -> list[str]:
        here.clear()
        packed = gzip.compress(body, 1) if coding else body
        with Budget(2**26).open(who) as held:
            await made.take("default", held, packed, coding, "protobuf")
        return list(here)

    async def main() -> None:
        dense, small = with_events(500_000), agent_request(new_id(), ["a"])
        made = intake.Intake(store, nobody, LIMITS, Budget(2**26))
        try:
            assert await sent(made, "a", dense) == ["dense"]
            assert await sent(made, "a", dense) == []
            assert await sent(made, "a", small) == ["small"]
            assert await sent(made, "b", dense) == ["dense"]
        finally:
            made.close()

    monkeypatch.setattr(intake, "read", watched)
    monkeypatch.setattr(intake, "DEAR_SECONDS", 0.003)  # as this takes on any machine
    asyncio.run(main())


def test_who_sends_nothing_dear_is_read_here_again_beside_who_does(monkeypatch: pytest.MonkeyPatch) -> None:
    here: list[int] = []

    def watched(body: bytes, *given: Any) -> Batch:
        here.append(len(body))
        return decoder_.read(body, *given)

    async def nothing(*_given: object) -> Any:
        return "default"

    async def main() -> list[int]:
        made, reads = intake.Intake(nothing, nothing, LIMITS, Budget(2**26)), []
        body = request({"trace": new_id(), "id": 1, "name": "n" * 2 * intake.SMALL_BYTES}).SerializeToString()
        made._dear.took(Flow("a", "dear"), 1.0)
        try:
            for connection in ("good",) * (intake.QUICK_BODIES + 2) + ("new",):
                here.clear()
                with Budget(2**26).open("a", connection) as held:
                    await made.take("default", held, body, "", "protobuf")
                reads.append(len(here))
        finally:
            made.close()
        return reads

    monkeypatch.setattr(intake, "read", watched)
    assert asyncio.run(main()) == [0] * intake.QUICK_BODIES + [1, 1, 0]


def test_a_body_waits_for_its_turn_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    async def turn(_slices: Slices, _flow: Flow, seconds: float) -> None:
        asked.append(seconds)

    async def nothing(*_given: object) -> Any:
        return "default"

    async def main() -> None:
        made = intake.Intake(nothing, nothing, LIMITS, Budget(2**26))
        for body in (in_parts(1), in_parts(500)):
            with Budget(2**26).open("a") as held:
                await made.take("default", held, body, "", "protobuf")

    monkeypatch.setattr(Slices, "turn", turn)
    asyncio.run(main())
    assert 0 < asked[0] < asked[1] - 400 * intake.BYTE_SECONDS


def test_senders_of_what_takes_long_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    dear = intake.Dear()
    dear.took(Flow("quick"), intake.DEAR_SECONDS / 2)
    for number in range(intake.DEAR_KEPT + 1):
        dear.took(Flow(str(number), "1"), 1.0)
    last = str(intake.DEAR_KEPT)
    flows = (Flow("quick"), Flow("0"), Flow("1", "2"), Flow(last, "2"))
    assert [flow in dear for flow in flows] == [False, False, False, True]
    later = time.monotonic() + intake.DEAR_FOR + 1
    monkeypatch.setattr(intake.time, "monotonic", lambda: later)
    assert Flow(last, "1") not in dear


def test_a_connection_that_sends_nothing_dear_is_none_of_those_of_its_address() -> None:
    dear = intake.Dear()
    dear.took(Flow("a", "dear"), 1.0)
    good, new = Flow("a", "good"), Flow("a", "new")
    for _ in range(intake.QUICK_BODIES):
        assert good in dear, "nothing is known of it yet"
        dear.took(good, 0.001)
    assert [flow in dear for flow in (good, new, Flow("a", "dear"), Flow("b"))] == [False, True, True, False]
    dear.took(good, 1.0)
    for _ in range(intake.QUICK_BODIES):
        dear.took(good, 0.001)
    assert good in dear, "for a while, whatever it sends"
    for number in range(2 * intake.DEAR_KEPT):
        dear.took(Flow("c", str(number)), 0.001)
    assert len(dear._quick) == intake.DEAR_KEPT


def test_the_event_loop_reads_small_bodies_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def watched(body: bytes, *given: Any) -> Batch:
        read.append(len(body))
        return decoder_.read(body, *given)

    monkeypatch.setattr(intake, "read", watched)
    small, many, run = agent_request(new_id(), ["a"]), in_parts(intake.INLINE_SPANS + 1), as_json(1)
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        assert client.send(many).status_code == 200
        assert client.send(run + b" " * intake.INLINE_BYTES["json"], JSON).status_code == 200
        assert (
            client.send(b"\x1f\x8b" + b"x" * 2**21, {"content-encoding": "gzip", **JSON}).status_code == 400
        )
        assert read == []
        assert client.send(small).status_code == 200
        assert read == [len(small)]
        eventually(lambda: client.get("/stats")["runs"] == 3)

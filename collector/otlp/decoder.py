"""Big bodies are decoded in a process of their own, one after the other, those of several senders in turn.

In a thread they would hold up the event loop: the interpreter is the library's while it builds a million
objects, and while they are freed. What decoding takes in memory goes back when the process ends.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from collector import memory
from collector.errors import Overloaded
from collector.fair import Flow, Turns
from collector.model import Batch
from collector.otlp.body import decompress
from collector.otlp.errors import ExportError, Form, too_large
from collector.otlp.json_in import from_json
from collector.otlp.segments import from_protobuf
from collector.priority import give_way
from collector.room import Room, busy, soon
from collector.settings import MIB, Limits
from synth.judge_process import JudgeFailed, SolverProcess

WAITING = 16
"""Bodies that wait, with the one that is decoded; for more the answer is 503."""
SHARE = WAITING // 2
"""Of one sender."""
SECONDS = 15.0
"""Of CPU time until a body is given up, and four times as many by the clock."""
MEMORY_MIB = 192
"""Of the process; a body that takes more is answered with 413."""
LITTLE_MIB = 96
"""Of the process at first: a body for which that does not do is read again, with more."""
REST_MIB = 32
"""What the process has at rest."""
BYTE_SECONDS = 2e-8
"""Of a body, about, as it came."""
BIG_BYTES = 2 * MIB
"""A body of more, as it came, has the whole of it at once."""
IDLE_SECONDS = 5.0
"""Without a body, until the process is ended."""


@dataclass(frozen=True, slots=True)
class Body:
    """A body as it came, and how it is to be read."""

    content: bytes
    coding: str
    """Its `Content-Encoding`."""
    form: Form
    limits: Limits


class Decoded(NamedTuple):
    """The batch in a body, and the CPU time that it took."""

    batch: Batch
    seconds: float


def read(plain: bytes, form: Form, limits: Limits) -> Batch:
    """The batch in a body after decompression; raises ExportError where nothing can be read."""
    if form == "records":
        from collector.otlp.records import from_records  # what it needs takes room that bodies have here

        return from_records(plain, limits)
    return from_json(plain, limits) if form == "json" else from_protobuf(plain, limits)


class Decoder:
    """The process and the line before it."""

    def __init__(self, room: Room | None = None) -> None:
        self._room = room or Room()
        self._process = SolverProcess(limit_seconds=SECONDS, first=ready, what="decoding")
        self._thread = ThreadPoolExecutor(1, "pdoctor-decoder")
        self._line: Turns[tuple[Future[Decoded], Body, float]] = Turns()
        """With each body until when it waits for its turn and for memory (monotonic)."""
        self._lock = threading.Lock()
        self._waiting = 0
        self._rest: asyncio.TimerHandle | None = None

    async def batch(self, flow: Flow, body: Body) -> Decoded:
        """The batch in a body of this sender; raises ExportError, or Overloaded where too many wait."""
        answer, until = Future[Decoded](), soon()
        waits, cost = (answer, body, until), BYTE_SECONDS * len(body.content)
        with self._lock:
            if self._waiting == WAITING or self._line.of(flow.who) == SHARE:
                raise Overloaded(
                    "too many big bodies wait to be decoded", "send again in a moment", retry_after=2
                )
            self._waiting += 1
            self._line.put(flow, waits, cost)
        self._thread.submit(self._next)
        told = asyncio.wrap_future(answer)
        try:
            await asyncio.wait({told}, timeout=until - time.monotonic())
            if answer.cancel():
                raise busy()
            found = await told
            with self._lock:
                self._line.charge(flow, found.seconds - cost)
            return found
        finally:
            told.cancel()
            if answer.cancel():
                with self._lock:
                    self._line.drop(flow, waits)
            self._waiting -= 1
            self._end_later()
            del answer, told, waits  # as in `_next`

    def _next(self) -> None:
        """In the thread: decode what is next."""
        with self._lock:
            if not self._line:
                return  # who waited has left
            answer, body, until = self._line.take()
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(self._decoded(body, until))
        except JudgeFailed as failed:
            said = f"the body could not be read: {failed}"
            again = Overloaded(said, "send smaller batches", retry_after=5)
            answer.set_exception(again if failed.overran else too_much())
        except BaseException as failure:
            answer.set_exception(failure)
        finally:
            del answer, body  # a failure holds this frame: nothing here may hold the failure

    def _decoded(self, body: Body, until: float) -> Decoded:
        if len(body.content) <= BIG_BYTES:
            try:
                return self._asked(body, LITTLE_MIB, until)
            except JudgeFailed as failed:
                if failed.overran:
                    raise
        try:
            return self._asked(body, MEMORY_MIB, until)
        except JudgeFailed as failed:
            if failed.overran or failed.fresh:
                raise
        return self._asked(body, MEMORY_MIB, until)  # its memory may have been what earlier bodies left over

    def _asked(self, body: Body, mib: int, until: float) -> Decoded:
        with self._room.taken(mib - REST_MIB, until):
            return self._process.ask(decoded, body, mib)

    def _end_later(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._idle)

    def _idle(self) -> None:
        if not self._waiting:
            self._thread.submit(self._process.close)

    def close(self) -> None:
        """End the process, whatever it is at."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._process.stop()
        self._process.close()


# ---------------------------------------------------------------- inside the process


def ready() -> None:
    """Everything is loaded once this can be called; what is there now no body has to search for cycles."""
    give_way()
    gc.freeze()


def decoded(body: Body, mib: int) -> Decoded:
    """Inside the process; raises ExportError, and MemoryError, of which the process ends, beyond `mib`."""
    memory.limit(mib)
    began = time.thread_time()
    try:
        plain = decompress(body.content, body.coding, body.limits.decoded_bytes)
        return Decoded(read(plain, body.form, body.limits), time.thread_time() - began)
    finally:
        memory.give_back()


def too_much() -> ExportError:
    return too_large("what the body takes in memory", MEMORY_MIB * MIB, "send smaller batches")

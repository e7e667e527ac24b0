"""What becomes of the body of an export request, by whatever protocol it came: decoded, checked, stored.

Small bodies are decoded on the event loop, in slices; big ones in a process of their own.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from collector.budget import Budget, Held
from collector.fair import Flow, Slices
from collector.model import Batch
from collector.otlp.body import decompress_if_small
from collector.otlp.decoder import BYTE_SECONDS, Body, Decoder, read
from collector.otlp.errors import Form
from collector.otlp.segments import has_few_spans
from collector.room import Room
from collector.settings import Limits

Store = Callable[[str, Batch, Flow], Awaitable[None]]
"""(project, batch, sender) -> durable and visible, or Overloaded."""
Authorize = Callable[[Mapping[bytes, bytes]], Awaitable[str]]
"""Headers (lower case) -> project that the sender may write to; raises Unauthorized or Forbidden."""

INLINE_BYTES: dict[Form, int] = {"protobuf": 1024 * 1024, "json": 128 * 1024, "records": 64 * 1024}
"""Up to this size a body, after decompression, is decoded on the event loop (a few ms): handing it to
another process costs more."""
INLINE_SPANS = 1_000
"""A body with more is not: very many small ones take longer."""
INLINE_CONTAINERS = 5_000
"""The same of the objects and lists of JSON."""
DEAR_SECONDS = 0.02
"""Of CPU time: who sends a body that takes longer has the next ones read in the other process, too."""
DEAR_FOR = 30.0
SMALL_BYTES = 16 * 1024
"""So small a body cannot take long, whatever it is made of, and is read on the event loop all the same."""
DEAR_KEPT = 1_000
QUICK_BODIES = 10
"""From a connection that has sent so many, bodies are read as before, whatever its address sends else."""
CALL_SECONDS = 0.0002
"""What a body takes of the event loop, about, besides its bytes."""
SLOW_SECONDS = 1.0
"""After a body that came for longer its key is looked at again."""


class Dear:
    """Senders of bodies that took long for their size, as those of many thousands of empty events.

    Another connection of the same address is none of them once it has sent enough that did not.
    """

    def __init__(self) -> None:
        self._until: OrderedDict[Flow, float] = OrderedDict()
        """Of connections, and of whole senders (without one)."""
        self._quick: OrderedDict[Flow, int] = OrderedDict()
        """How many bodies of a connection, one after the other, did not take long."""

    def took(self, flow: Flow, seconds: float) -> None:
        """A body of this sender took so much CPU time."""
        if seconds < DEAR_SECONDS:
            remember(self._quick, flow, min(self._quick.get(flow, 0) + 1, QUICK_BODIES))
            return
        self._quick.pop(flow, None)
        for dear in (flow, Flow(flow.who)):
            remember(self._until, dear, time.monotonic() + DEAR_FOR)

    def __contains__(self, flow: Flow) -> bool:
        return self._is_dear(flow) or (
            self._is_dear(Flow(flow.who)) and self._quick.get(flow, 0) < QUICK_BODIES
        )

    def _is_dear(self, flow: Flow) -> bool:
        return time.monotonic() < self._until.get(flow, -math.inf)


def remember(kept: OrderedDict[Flow, Any], flow: Flow, what: Any) -> None:
    """Of those named last."""
    kept[flow] = what
    kept.move_to_end(flow)
    if len(kept) > DEAR_KEPT:
        kept.popitem(last=False)


class Intake:
    """Where the receivers leave what they have read."""

    def __init__(
        self, store: Store, authorize: Authorize, limits: Limits, budget: Budget, room: Room | None = None
    ) -> None:
        self.authorize, self.limits, self.budget = authorize, limits, budget
        self._store = store
        self.slices = Slices()
        """Of the event loop, for bodies and for what brings them."""
        self._decoder = Decoder(room)
        self._dear = Dear()

    async def authorize_again(self, headers: Mapping[bytes, bytes], since: float) -> None:
        """Of a request authorized at `since` (monotonic): its key may have ended while its body came."""
        if time.monotonic() - since > SLOW_SECONDS:
            await self.authorize(headers)

    async def take(self, project: str, held: Held, body: bytes, coding: str, form: Form) -> Batch:
        """Store the spans of a body, and return them; `held` is what the request holds."""
        seconds = CALL_SECONDS + BYTE_SECONDS * len(body)  # packed, it may be much more
        await self.slices.turn(held.flow, seconds)
        with self.slices.work(held.flow, seconds):
            batch = self._decoded_here(held.flow, body, coding, form)
        if batch is None:
            batch, took = await self._decoder.batch(held.flow, Body(body, coding, form, self.limits))
            if took < DEAR_SECONDS:  # else it is big, perhaps, and said nothing of small ones
                self._dear.took(held.flow, took)
        if batch.segments:
            held.resize(batch.size)
            await self._store(project, batch, held.flow)
        return batch

    def _decoded_here(self, flow: Flow, body: bytes, coding: str, form: Form) -> Batch | None:
        """The batch in a body; None, after little work, where finding out would take long."""
        most = SMALL_BYTES if flow in self._dear else INLINE_BYTES[form]
        small = decompress_if_small(body, coding, min(most, self.limits.decoded_bytes))
        if small is None or not is_quick(small, form):
            return None
        began = time.thread_time()
        try:
            return read(small, form, self.limits)
        finally:
            self._dear.took(flow, time.thread_time() - began)

    def close(self) -> None:
        self._decoder.close()


def is_quick(plain: bytes, form: Form) -> bool:
    """Whether a small body has few parts."""
    if form != "protobuf":
        return plain.count(b"{") + plain.count(b"[") <= INLINE_CONTAINERS
    return has_few_spans(plain, INLINE_SPANS)

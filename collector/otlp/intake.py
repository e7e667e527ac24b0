"""What becomes of the body of an export request, by whatever protocol it came: decoded, checked, stored.

Small bodies are decoded on the event loop, big ones one after the other in one thread: side by side they
would take no less time, and the memory of all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from collector.budget import Budget, Held
from collector.errors import Overloaded
from collector.memory import give_back
from collector.model import Batch, Rejection
from collector.otlp.body import decompress, decompress_if_small
from collector.otlp.errors import Encoding
from collector.otlp.json_in import from_json
from collector.otlp.segments import from_protobuf, spans_in
from collector.settings import Limits

Store = Callable[[str, Batch], Awaitable[None]]
"""(project, batch) -> durable and visible, or Overloaded."""
Authorize = Callable[[Mapping[bytes, bytes]], Awaitable[str]]
"""Headers (lower case) -> project that the sender may write to; raises Unauthorized or Forbidden."""

INLINE_BYTES: dict[Encoding, int] = {"protobuf": 1024 * 1024, "json": 128 * 1024}
"""Up to this size a body, after decompression, is decoded on the event loop (a few ms): handing it to a
thread would cost more, in waiting for the interpreter. Bigger ones go to a thread."""
INLINE_SPANS = 4_000
"""So does a body of very many small ones."""
WAITING = 16
"""Big bodies that wait for that thread; with more the answer is 503."""


class Intake:
    """Where the receivers leave what they have read."""

    def __init__(self, store: Store, authorize: Authorize, limits: Limits, budget: Budget) -> None:
        self.authorize, self.limits, self.budget = authorize, limits, budget
        self._store = store
        self._thread = ThreadPoolExecutor(1, "pdoctor-decoder")
        self._waiting = 0

    async def take(
        self, project: str, held: Held, body: bytes, coding: str, encoding: Encoding
    ) -> tuple[Rejection, ...]:
        """Store the spans of a body; returns those that were rejected. `held` is what the request holds."""
        batch = await self._decoded(held, body, coding, encoding)
        if batch.segments:
            held.resize(batch.size)
            await self._store(project, batch)
        return batch.rejections

    async def _decoded(self, held: Held, body: bytes, coding: str, encoding: Encoding) -> Batch:
        """The batch in a body; a big one is decoded off the event loop."""
        small = decompress_if_small(body, coding, min(INLINE_BYTES[encoding], self.limits.decoded_bytes))
        if small is not None and (encoding == "json" or spans_in(small) <= INLINE_SPANS):
            return self._read(small, encoding)
        if self._waiting == WAITING:
            raise Overloaded(
                "too many big bodies wait to be decoded", "send again in a moment", retry_after=2
            )
        self._waiting += 1
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._big, held, body, coding, encoding)
        finally:
            self._waiting -= 1
            if not self._waiting:
                loop.run_in_executor(self._thread, give_back)

    def _big(self, held: Held, body: bytes, coding: str, encoding: Encoding) -> Batch:
        plain = decompress(body, coding, self.limits.decoded_bytes)
        if plain is not body:
            held.resize(len(body) + len(plain))
        return self._read(plain, encoding)

    def _read(self, plain: bytes, encoding: Encoding) -> Batch:
        return from_json(plain, self.limits) if encoding == "json" else from_protobuf(plain, self.limits)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def sender(headers: Mapping[bytes, bytes], address: str) -> str:
    """Whose share of the budget a request uses: that of its key, else of its address."""
    return headers.get(b"authorization", b"").decode("latin-1") or address

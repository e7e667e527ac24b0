"""HTTP/2 (RFC 9113) as far as gRPC needs it on a server: calls that come, each with one short answer.

All that a peer can make this keep is bounded: the headers of a call, the bytes of a message (by whoever
serves it), calls at once, what is not read of the answers, and frames that bring nothing forward. Who passes
a bound is told so (ENHANCE_YOUR_CALM) and loses the connection. What takes long is done in slices.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable, Coroutine
from typing import Any

from collector.doors import Doors
from collector.fair import Flow, Slices, flow_of
from collector.otlp.frames import (
    ACK,
    CALM_DOWN,
    CANCEL,
    COMPRESSION_ERROR,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    FIRST_WINDOW,
    FLOW_CONTROL_ERROR,
    FRAME,
    FRAME_BYTES,
    FRAME_SIZE_ERROR,
    GOAWAY,
    HEADERS,
    MAX_STREAMS,
    MOST_HEADERS,
    MOST_WINDOW,
    NO_ERROR,
    OTHER_PROTOCOL,
    PING,
    PREFACE,
    PROTOCOL_ERROR,
    PUSH,
    REFUSED_STREAM,
    RESET,
    SETTING,
    SETTINGS,
    STREAM_CLOSED,
    WINDOW,
    WINDOW_BYTES,
    WITH_PRIORITY,
    Ending,
    first_windows,
    frame,
    without_padding,
)
from collector.otlp.hpack import BadHeaders, Header, Headers
from collector.tls import Greeting

HEADERS_BYTES = 16 * 1024
"""Of a call, packed, and unpacked with 32 for each header; gRPC's own limit is half of that."""
CONTINUATIONS = 4
"""Frames that the headers of a call may go on for."""
STREAMS = 100
"""Calls of one connection at once."""
TINY_BYTES = 64
"""Frames with less of a message bring nothing forward."""
STRIKES, FORGIVEN, EARNED = 500, 50, 10
"""So often a peer may do what brings nothing forward; so much of it is forgotten at each look at the
connection, and so much for each call that ended well."""
LOOK_SECONDS = 5.0
SILENT_SECONDS, IDLE_SECONDS, STUCK_SECONDS = 5.0, 60.0, 20.0
"""Until a connection is closed that says nothing at its beginning or in the middle of something, that has no
call, and whose answers are not read."""
PART_SECONDS = 0.003
"""Of frames of one connection in one go."""
CALL_SECONDS = 0.0001
"""What a call costs that has begun, at least: many at once are no less work than many frames."""


class Stream:
    """One call."""

    __slots__ = ("body", "connection", "ended", "grew", "headers", "number", "pending", "task", "window")

    def __init__(self, connection: Connection, number: int, headers: list[Header]) -> None:
        self.connection, self.number, self.headers = connection, number, headers
        self.body = bytearray()
        self.ended = False
        """Is the body complete?"""
        self.grew: Callable[[], None] | None = None
        """Called when there is more of the body, and when it has ended."""
        self.window = connection.first_window
        """Bytes of an answer that the peer takes."""
        self.pending: tuple[float, int, bytes] | None = None
        """An answer that it does not take yet: since when, bytes of data, and frames."""
        self.task: asyncio.Task[None] | None = None

    def answer(self, head: bytes, data: bytes = b"", last: bytes = b"") -> None:
        """Headers, data and trailers, or headers alone; the call has ended. Nothing where the peer left."""
        self.connection.answer(self, head, data, last)


Serve = Callable[[Stream], Coroutine[Any, Any, None]]
"""Answers one call; cancelled where the peer takes it back."""


class Connection(asyncio.Protocol):
    """One, from its first byte."""

    greeting: Greeting | None = None
    """What it was until it had shaken hands."""

    def __init__(
        self, serve: Serve, body_bytes: int, doors: Doors, slices: Slices, others: set[Connection]
    ) -> None:
        """A body has at most `body_bytes`; `others` are those that are open, this one soon among them."""
        self._serve, self._body_bytes, self._doors, self._slices = serve, body_bytes, doors, slices
        self._others, self.flow = others, Flow("")
        self.streams: dict[int, Stream] = {}
        self.first_window = WINDOW_BYTES
        self._window = WINDOW_BYTES
        """Of all answers together."""
        self._buffer = bytearray()
        self._greeted = self._closing = self._in_turn = self._is_full = False
        self._headers = Headers(HEADERS_BYTES)
        self._block: bytearray | None = None
        """Headers whose end has not come, of the stream `_block_of`; how they began, and frames since."""
        self._block_of = self._block_flags = self._continuations = 0
        self._last = 0
        """The newest stream."""
        self._taken = 0
        """Bytes of bodies since the window for them was opened last."""
        self._strikes = 0
        self._coming = 0
        """Bodies that have not ended."""
        self._since = time.monotonic()
        """The last that brought something forward."""
        self._full_since = self._part_ends = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------ the transport

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        if self.greeting is not None:
            self._doors.gone(self.greeting)
        self.flow = flow_of(transport.get_extra_info("peername"))
        if not self._doors.enter(self, self.flow.who):
            self._closing = True
            transport.close()
            return
        self._others.add(self)
        self._timer = self._loop.call_later(LOOK_SECONDS, self._look)

    def connection_lost(self, _failure: Exception | None) -> None:
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        self._others.discard(self)
        self._doors.gone(self)
        self._buffer.clear()
        self._end_calls()

    def _end_calls(self) -> None:
        """Those of a peer that has left; when very many are, others have their turn in between."""
        with self._slices.work():
            for stream in list(self.streams.values())[: max(1, int(PART_SECONDS / CALL_SECONDS))]:
                self._drop(stream)
        if self.streams:
            self._slices.when_free(self.flow, self._end_calls)

    def pause_writing(self) -> None:
        """Who does not read is not read from."""
        self._is_full, self._full_since = True, time.monotonic()
        if not self._closing:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_full = False
        self._read_on()

    def _read_on(self) -> None:
        if not (self._is_full or self._in_turn or self._closing):
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        self._buffer += data
        if self._in_turn:
            return
        if self._slices.is_free:
            self._take()
        else:
            self._wait_for_turn()

    def _wait_for_turn(self) -> None:
        self._in_turn = True
        self._transport.pause_reading()
        self._slices.when_free(self.flow, self._turn)

    def _turn(self) -> None:
        self._in_turn = False
        if not self._closing:
            self._take()
            self._read_on()

    def leave(self) -> None:
        self.end(NO_ERROR)

    def end(self, code: int, why: str = "") -> None:
        """Tell the peer, and close."""
        if self._closing:
            return
        self._closing = True
        if self._is_full:
            self._transport.abort()
            return
        said = struct.pack(">II", self._last, code) + why.encode()
        self._transport.write(frame(GOAWAY, 0, 0, said))
        self._transport.close()
        self._loop.call_later(LOOK_SECONDS, self._transport.abort)

    def say_goodbye(self) -> None:
        """No new calls; those that there are go on."""
        if not self._closing:
            self._transport.write(frame(GOAWAY, 0, 0, struct.pack(">II", self._last, NO_ERROR)))

    def _look(self) -> None:
        """At what does not come forward."""
        self._timer = self._loop.call_later(LOOK_SECONDS, self._look)
        self._strikes = max(0, self._strikes - FORGIVEN)
        now = time.monotonic()
        silent = now - self._since
        if self._is_full and now - self._full_since > STUCK_SECONDS:
            self._transport.abort()
        elif not self._in_turn and (
            (silent > SILENT_SECONDS and (not self._greeted or self._block is not None))
            or (silent > IDLE_SECONDS and not self.streams)
        ):
            self.end(NO_ERROR)
        for stream in list(self.streams.values()):
            if stream.pending is not None and now - stream.pending[0] > STUCK_SECONDS:
                self._reset(stream, CANCEL)

    # ------------------------------------------------------------ frames

    def _take(self) -> None:
        """The frames that are there, for so long as one turn is."""
        with self._slices.work():
            try:
                is_done = self._frames()
            except Ending as ending:
                self.end(ending.code, str(ending))
            except BadHeaders as bad:
                self.end(COMPRESSION_ERROR, str(bad))
            else:
                if not is_done and not self._closing:
                    self._wait_for_turn()

    def _frames(self) -> bool:
        """Whether none is left."""
        data, at = self._buffer, 0
        if not self._greeted:
            if not self._greet():
                return True
            at = len(PREFACE)
        self._part_ends = time.perf_counter() + PART_SECONDS
        try:
            while len(data) - at >= FRAME.size and not self._closing:
                high, low, kind, flags, number = FRAME.unpack_from(data, at)
                size = high << 8 | low
                if size > FRAME_BYTES:
                    raise Ending(FRAME_SIZE_ERROR, "a frame is too long")
                end = at + FRAME.size + size
                if end > len(data):
                    break
                payload = bytes(data[at + FRAME.size : end])
                at = end
                self._frame(kind, flags, number & MOST_WINDOW, payload)
                if time.perf_counter() > self._part_ends:
                    return False
        finally:
            del data[:at]
        return True

    def _greet(self) -> bool:
        """Whether the peer speaks HTTP/2; what it may do is then said."""
        if not PREFACE.startswith(self._buffer[: len(PREFACE)]):
            self._closing = True
            self._transport.write(OTHER_PROTOCOL)
            self._transport.close()
            return False
        if len(self._buffer) < len(PREFACE):
            return False
        self._greeted = True
        self._since = time.monotonic()
        settings = ((MAX_STREAMS, STREAMS), (FIRST_WINDOW, self._body_bytes), (MOST_HEADERS, HEADERS_BYTES))
        said = b"".join(SETTING.pack(*one) for one in settings)
        more = struct.pack(">I", 2 * self._body_bytes)
        self._transport.write(frame(SETTINGS, 0, 0, said) + frame(WINDOW, 0, 0, more))
        return True

    def _frame(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if self._block is not None and (kind != CONTINUATION or number != self._block_of):
            raise Ending(PROTOCOL_ERROR, "headers have no end")
        if kind == DATA:
            self._data(flags, number, payload)
        elif kind == HEADERS:
            self._begin_headers(flags, number, payload)
        elif kind == CONTINUATION:
            self._continue_headers(flags, payload)
        else:
            self._strike()
            self._control(kind, flags, number, payload)

    def _strike(self) -> None:
        self._strikes += 1
        if self._strikes > STRIKES:
            raise Ending(CALM_DOWN, "too many frames that bring nothing forward")

    def _control(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == WINDOW:
            self._open_window(number, payload)
        elif kind == RESET:
            self._taken_back(number, payload)
        elif kind == PING:
            if number or len(payload) != 8:
                raise Ending(PROTOCOL_ERROR, "no ping")
            if not flags & ACK:
                self._transport.write(frame(PING, ACK, 0, payload))
        elif kind == SETTINGS:
            self._settings(flags, number, payload)
        elif kind == GOAWAY:
            self._since = 0.0  # closed once its calls have ended
        elif kind == PUSH:
            raise Ending(PROTOCOL_ERROR, "a client cannot push")

    def _settings(self, flags: int, number: int, payload: bytes) -> None:
        if number or len(payload) % SETTING.size or (flags & ACK and payload):
            raise Ending(FRAME_SIZE_ERROR, "no settings")
        if flags & ACK:
            return
        for value in first_windows(payload):
            for stream in self.streams.values():
                stream.window += value - self.first_window
            self.first_window = value
        self._transport.write(frame(SETTINGS, ACK, 0))
        self._send_pending()

    def _open_window(self, number: int, payload: bytes) -> None:
        more = int.from_bytes(payload) & MOST_WINDOW
        if len(payload) != 4 or not more:
            raise Ending(PROTOCOL_ERROR, "no window")
        if not number:
            self._window += more
        elif number in self.streams:
            self.streams[number].window += more
        if max(self._window, self.streams[number].window if number in self.streams else 0) > MOST_WINDOW:
            raise Ending(FLOW_CONTROL_ERROR, "a window is too big")
        self._send_pending()

    def _taken_back(self, number: int, payload: bytes) -> None:
        if not number or number > self._last or len(payload) != 4:
            raise Ending(PROTOCOL_ERROR, "no such call to take back")
        if (stream := self.streams.get(number)) is not None:
            self._drop(stream)

    # ------------------------------------------------------------ what a call brings

    def _begin_headers(self, flags: int, number: int, payload: bytes) -> None:
        payload = without_padding(flags, payload)
        if flags & WITH_PRIORITY:
            payload = payload[5:]
        if not number % 2:
            raise Ending(PROTOCOL_ERROR, "a client's calls have odd numbers")
        self._block_of, self._block_flags = number, flags
        if flags & END_HEADERS:
            self._headers_of(number, flags, payload)
        else:
            self._block, self._continuations = bytearray(payload), 0
            self._since = time.monotonic()

    def _continue_headers(self, flags: int, payload: bytes) -> None:
        if self._block is None:
            raise Ending(PROTOCOL_ERROR, "no headers go on")
        self._block += payload
        self._continuations += 1
        if len(self._block) > HEADERS_BYTES or self._continuations > CONTINUATIONS:
            raise Ending(CALM_DOWN, f"headers are over the limit of {HEADERS_BYTES} bytes")
        if flags & END_HEADERS:
            block, self._block = bytes(self._block), None
            self._headers_of(self._block_of, self._block_flags, block)

    def _headers_of(self, number: int, flags: int, block: bytes) -> None:
        if len(block) > HEADERS_BYTES:
            raise Ending(CALM_DOWN, f"headers are over the limit of {HEADERS_BYTES} bytes")
        headers = self._headers.read(block)  # also of a call that is refused: later ones refer to them
        if number <= self._last:
            self._trailers(number, flags)
            return
        self._last, self._since = number, time.monotonic()
        if len(self.streams) >= STREAMS:
            self._strike()
            self._transport.write(frame(RESET, 0, number, struct.pack(">I", REFUSED_STREAM)))
            return
        stream = self.streams[number] = Stream(self, number, headers)
        stream.ended = bool(flags & END_STREAM)
        if not stream.ended:
            self._coming += 1
            if self._coming == 1:
                self._doors.reading(self)
        stream.task = self._loop.create_task(self._served(stream))
        self._slices.owe(CALL_SECONDS)
        self._part_ends -= CALL_SECONDS

    def _trailers(self, number: int, flags: int) -> None:
        stream = self.streams.get(number)
        if stream is None:  # answered before its end came
            self._strike()
        elif not flags & END_STREAM or stream.ended:
            raise Ending(PROTOCOL_ERROR, "headers in the middle of a call")
        else:
            self._end_body(stream)

    def _data(self, flags: int, number: int, payload: bytes) -> None:
        if not number or number > self._last:
            raise Ending(PROTOCOL_ERROR, "data of no call")
        self._taken += len(payload)
        if self._taken > self._body_bytes:
            self._transport.write(frame(WINDOW, 0, 0, struct.pack(">I", self._taken)))
            self._taken = 0
        stream, is_last = self.streams.get(number), bool(flags & END_STREAM)
        if len(payload) < TINY_BYTES and (stream is None or not is_last):
            self._strike()
        if stream is None:
            return
        if stream.ended:
            raise Ending(STREAM_CLOSED, "data after the end of a call")
        stream.body += without_padding(flags, payload)
        if len(stream.body) > self._body_bytes:
            raise Ending(FLOW_CONTROL_ERROR, "more data than were asked for")
        if is_last:
            self._end_body(stream)
        elif stream.grew is not None:
            stream.grew()

    def _end_body(self, stream: Stream) -> None:
        stream.ended = True
        self._body_is_over()
        if stream.grew is not None:
            stream.grew()

    def _body_is_over(self) -> None:
        self._coming -= 1
        if not self._coming:
            self._doors.answering(self)

    # ------------------------------------------------------------ what it is answered

    async def _served(self, stream: Stream) -> None:
        try:
            await self._serve(stream)
        finally:
            stream.task = None
            if stream.pending is None and stream.number in self.streams:
                self._reset(stream, CANCEL)

    def answer(self, stream: Stream, head: bytes, data: bytes, last: bytes) -> None:
        if stream.number not in self.streams or self._closing:
            return
        number, end = stream.number, END_HEADERS | END_STREAM
        if not last:
            self._transport.write(frame(HEADERS, end, number, head))
            self._over(stream)
            return
        frames = (
            frame(HEADERS, END_HEADERS, number, head), frame(DATA, 0, number, data),
            frame(HEADERS, end, number, last),
        )  # fmt: skip
        stream.pending = time.monotonic(), len(data), b"".join(frames)
        self._send(stream)

    def _send_pending(self) -> None:
        for stream in [one for one in self.streams.values() if one.pending is not None]:
            self._send(stream)

    def _send(self, stream: Stream) -> None:
        """The answer, where the peer takes all of it."""
        assert stream.pending is not None
        _, size, frames = stream.pending
        if size > min(self._window, stream.window):
            return
        self._window -= size
        self._transport.write(frames)
        self._strikes = max(0, self._strikes - EARNED)
        self._over(stream)

    def _over(self, stream: Stream) -> None:
        """It was answered; what may still come of its body is not wanted."""
        if not stream.ended:
            self._transport.write(frame(RESET, 0, stream.number, struct.pack(">I", NO_ERROR)))
        self._forget(stream)

    def _reset(self, stream: Stream, code: int) -> None:
        if not self._closing:
            self._transport.write(frame(RESET, 0, stream.number, struct.pack(">I", code)))
        self._drop(stream)

    def _drop(self, stream: Stream) -> None:
        """Nobody waits for it."""
        if stream.task is not None:
            stream.task.cancel()
        self._forget(stream)

    def _forget(self, stream: Stream) -> None:
        del self.streams[stream.number]
        stream.pending = stream.grew = stream.task = None  # one that never began would hold the stream
        if not stream.ended:
            stream.ended = True
            self._body_is_over()
        if self.streams:
            return
        if not self._since and not self._closing:
            self.end(NO_ERROR)
            return
        self._since = time.monotonic()
        self._doors.silent(self)

"""Spans -> the collector: a bounded queue, one daemon thread, OTLP/HTTP, retries, flush at exit.

The host thread only appends the bytes of a span. The exporter's thread posts them in batches; a batch
that could not be delivered stays and is sent again with back-off, so a collector that restarts loses
nothing as long as the queue has room. What finds no room is dropped and counted, and the collector
is told on the resource of the next batch.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections import deque
from typing import Any, Protocol

from . import announce, otel, process_end, semconv
from .harmless import guarded, note
from .recognition import Recognition
from .resource import host_provider, resource_attributes
from .sender import Answer, Sender
from .settings import LOG, Settings
from .version import version
from .wire import AttributeValue, Span, encoded, request_bytes

BATCH_SPANS, CHUNK_SPANS = 512, 32
BATCH_BYTES = 2_097_152
FIRST_BACK_OFF, LAST_BACK_OFF = 0.1, 5.0
LONGEST_PAUSE_IN_A_HURRY = 0.2
_jitter = random.Random()


class Way(Protocol):
    """Where finished spans go."""

    last_problem: str
    """Why spans are not delivered; empty where they are."""

    def put(self, span: Span, size: int = 0) -> None:
        """Take a finished span with about `size` bytes of content; never waits, never raises."""

    @property
    def asleep(self) -> bool:
        """Whether nobody is there yet who tells of runs that last."""

    @property
    def is_taken(self) -> bool:
        """Whether records are sent, and it is known that who listens is to have them."""

    def wake_up(self) -> None:
        """Have somebody there."""

    def last_words(self) -> None:
        """The program ends: tell of the runs that go on."""

    def flush(self, timeout: float | None = None) -> bool:
        """Deliver everything; False when the time (seconds) was up."""

    def close(self, limit: float | None = None) -> None:
        """Deliver what can be within `limit` seconds, and tell of what could not."""

    def retire(self) -> None:
        """Another one takes over; what is there is still delivered."""

    def forget_parent(self) -> None:
        """In a forked child: what is there is the parent's."""

    def counters(self) -> dict[str, int]:
        """What became of the spans; `queued` wait."""


class Exporter:
    """The queue and the thread that empties it."""

    def __init__(
        self,
        settings: Settings,
        sender: Sender | None = None,
    ) -> None:
        self._settings = settings
        self._most_spans, self._most_bytes = settings.queue_size, settings.queue_bytes
        self._sender = sender
        self._listener = Recognition(settings)
        self._found: tuple[Any, dict[str, AttributeValue]] | None = None
        """The host's provider, and who sends as that and the environment say."""
        self.exported = self.dropped = self.rejected = 0
        self.last_problem = ""
        self._ever_delivered = False
        self._warned: set[str] = set()
        self._told_lost = 0
        self._reset()

    def _reset(self) -> None:
        # Re-entrant: a signal handler or a finalizer of the host may come back in here from inside.
        self._lock = threading.RLock()
        self._queue: deque[Span] = deque()
        self._room = self._settings.queue_size
        self._queued_bytes = 0
        self._wake = threading.Event()
        self._drained = threading.Condition()
        self._idle = True
        self._hurry = threading.Event()
        self._retired = False
        self._in_flight = 0
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    # -- the host's side

    def put(self, span: Span, size: int = 0) -> None:
        """Queue a span with about `size` bytes of content; never waits, never raises.

        Without a lock: appending is atomic, and the byte count may be a little off for a moment when
        threads add at once; it is set right whenever a batch is taken.
        """
        queue = self._queue
        queued_bytes = self._queued_bytes + size
        if len(queue) >= self._room or queued_bytes > self._most_bytes:
            with self._lock:
                self.dropped += 1
            return
        queue.append(span)
        self._queued_bytes = queued_bytes
        if self._idle:
            self._idle = False
            self._start()
            self._wake.set()

    @property
    def asleep(self) -> bool:
        """Whether there is no thread yet that could announce runs."""
        return self._thread is None and self._settings.announce_after > 0

    @property
    def is_taken(self) -> bool:
        return self._listener.certain

    def wake_up(self) -> None:
        """Start the thread before there is anything to send."""
        self._start()

    def last_words(self) -> None:
        """The program ends: queue what is to be told of runs that go on."""
        for span in announce.last_words(time.time_ns()):
            self.put(span, len(span))

    def flush(self, timeout: float | None = None) -> bool:
        """Send what is queued now; True when nothing is left, False when the time was up."""
        deadline = time.monotonic() + (self._settings.exit_timeout if timeout is None else timeout)
        if not self._waiting():
            return True
        if not self._start():
            return self._send_from_here(deadline)
        self._hurry.set()
        self._wake.set()
        with self._drained:
            while self._waiting():
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._drained.wait(min(left, 0.05))
        self._hurry.clear()
        return not self._waiting()

    def close(self, limit: float | None = None) -> None:
        """Flush for at most `limit` seconds; where no collector ever answered, one attempt is enough."""
        limit = self._settings.exit_timeout if limit is None else limit
        deadline = time.monotonic() + limit
        if not self.flush(limit if self._ever_delivered else min(limit, 0.5)) and not self._hopeless():
            self.flush(max(deadline - time.monotonic(), 0))
        lost = self._waiting()
        if lost and lost != self._told_lost:
            self._told_lost = lost
            LOG.warning(
                "pdoctor_trace: %d span(s) were not delivered to %s (%s). Is `pdoctor serve` running?",
                lost,
                self._settings.endpoint,
                self.last_problem or "time was up",
            )

    def _hopeless(self) -> bool:
        return not self._ever_delivered and bool(self.last_problem)

    def retire(self) -> None:
        """Another exporter takes over: the thread ends when what is queued has been delivered."""
        self._retired = True
        self._wake.set()

    def forget_parent(self) -> None:
        """In a forked child: the parent delivers its own records, and its thread does not exist here."""
        self.exported = self.dropped = self.rejected = 0
        self._found = None
        if self._sender is not None:
            self._sender.forget()
        self._reset()

    def counters(self) -> dict[str, int]:
        """What became of the spans; `recorded` is the sum of the others."""
        found = {
            "exported": self.exported,
            "rejected": self.rejected,
            "dropped": self.dropped,
            "queued": self._waiting(),
        }
        return {"recorded": sum(found.values()), **found}

    def _waiting(self) -> int:
        return len(self._queue) + self._in_flight

    def _start(self) -> bool:
        """Whether the thread runs. Python may refuse one (limits, a program that ends): then later."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return True
            thread = threading.Thread(target=self._work, name="pdoctor_trace exporter", daemon=True)
            try:
                start_untraced(thread)
            except RuntimeError as error:
                self._idle = True
                self._warn(f"{error}; spans wait")
                return False
            self._thread = thread
        process_end.also_when_a_worker_process_ends()
        return True

    def _send_from_here(self, deadline: float) -> bool:
        """Without a thread of our own: each batch once, from the thread that asks for it."""
        with self._lock:
            while self._queue and time.monotonic() < deadline:
                batch = self._take()
                answer = self._send(batch)
                if answer.delivered:
                    self._count_delivered(len(batch), answer)
                else:
                    self._tell(answer)
                    self._refused(len(batch))
        return not self._waiting()

    # -- the exporter's side

    def _work(self) -> None:
        otel.suppress_for_this_thread()
        while self._queue or not self._retired:
            if not self._queue:
                self._sleep_until_there_is_work()
            self._hurry.wait(self._settings.batch_delay)
            batch = self._take()
            if batch:
                self._deliver_or_count(batch)
            with self._drained:
                self._drained.notify_all()
        self._idle = True  # a span that comes late starts another thread
        if self._sender is not None:
            self._sender.close()

    def _sleep_until_there_is_work(self) -> None:
        """The flag is set before the last look at the queue, so no record can slip in between unseen."""
        self._wake.clear()
        self._idle = True
        if not self._queue and not self._retired:
            self._wake.wait(self._settings.announce_after or None)
        self._idle = False
        self._announce()

    def _announce(self) -> None:
        """Queue what is to be told of runs that go on for long."""
        if self._settings.announce_after and not self._retired:
            for span in guarded(announce.due, time.time_ns(), self._settings.announce_after) or ():
                self.put(span, len(span))

    def _take(self) -> list[bytes]:
        """The next batch, encoded; a span that cannot be is counted as rejected."""
        batch: list[bytes] = []
        size = 0
        while self._queue and len(batch) < BATCH_SPANS and size < BATCH_BYTES:
            # One by one where not everything that waits fits into a batch anyway.
            count = 1 if self._queued_bytes > BATCH_BYTES else min(len(self._queue), CHUNK_SPANS)
            self._in_flight += count
            chunk = [self._queue.popleft() for _ in range(count)]
            ready = guarded(_encoded, chunk) or [e for span in chunk for e in guarded(_encoded, [span]) or ()]
            if len(ready) < count:
                self._refused(count - len(ready))
            batch += ready
            size += sum(map(len, ready))
        self._room = self._most_spans - self._in_flight
        self._queued_bytes = max(self._queued_bytes - size, 0) if self._queue else 0
        return batch

    def _set_in_flight(self, spans: int) -> None:
        self._in_flight = spans
        self._room = self._most_spans - spans

    def _deliver_or_count(self, spans: list[bytes]) -> None:
        """Whatever goes wrong with one batch, the thread goes on and nothing is forgotten."""
        try:
            self._deliver(spans)
        except Exception as error:
            note(self._deliver, error)
            self._refused(self._in_flight)

    def _deliver(self, spans: list[bytes]) -> None:
        """Until it is delivered or refused for good; the time between attempts grows."""
        back_off = FIRST_BACK_OFF
        while True:
            answer = self._send(spans)
            if answer.delivered:
                self._count_delivered(len(spans), answer)
                return
            self._tell(answer)
            if answer.status == 413 and len(spans) > 1:
                half = len(spans) // 2
                self._deliver(spans[:half])
                self._deliver(spans[half:])
                return
            if not answer.worth_a_retry:
                self._refused(len(spans))
                return
            self._pause(answer.retry_after if answer.retry_after is not None else back_off)
            back_off = min(back_off * 2, LAST_BACK_OFF)

    def _send(self, spans: list[bytes]) -> Answer:
        """Connection and resource are made for the first batch, not for the host's start-up."""
        if (objection := self._listener.objection()) is not None:
            return objection
        if self._sender is None:
            settings = self._settings
            self._sender = Sender(settings.endpoint, settings.api_key, settings.timeout, settings.compression)
        resource = {**self._resource(), semconv.DROPPED_SPANS: self.dropped}
        scope = semconv.SCOPE_NAME, version(), semconv.SCHEMA_URL
        answer = self._sender.send(request_bytes(spans, resource, *scope))
        if answer.status == 0:
            self._listener.lost()
        return answer

    def _resource(self) -> dict[str, AttributeValue]:
        """Looked up anew where the host has set a provider meanwhile."""
        provider = host_provider()
        if self._found is None or self._found[0] is not provider:
            self._found = provider, resource_attributes(provider=provider, version=self._settings.version)
        return self._found[1]

    def _count_delivered(self, spans: int, answer: Answer) -> None:
        rejected = min(answer.rejected, spans)
        with self._lock:
            self.exported += spans - rejected
            self.rejected += rejected
        self._set_in_flight(self._in_flight - spans)
        self._ever_delivered = True
        self.last_problem = ""
        if rejected:
            self._warn(f"the collector rejected {rejected} span(s)")

    def _refused(self, spans: int) -> None:
        self._count_refused(spans)
        self._set_in_flight(self._in_flight - spans)

    def _count_refused(self, spans: int) -> None:
        with self._lock:
            self.rejected += spans

    def _pause(self, seconds: float) -> None:
        """Wait with jitter; a flush shortens the wait, so that an exit is not held up by a long one."""
        seconds *= 0.75 + _jitter.random() / 2
        at_least = min(seconds, LONGEST_PAUSE_IN_A_HURRY)
        time.sleep(at_least)
        self._hurry.wait(seconds - at_least)

    def _tell(self, answer: Answer) -> None:
        self.last_problem = answer.problem
        after = "spans wait and are sent again" if answer.worth_a_retry else "these spans are lost"
        self._warn(f"{self._settings.endpoint} answered {answer.problem}; {after}")

    def _warn(self, text: str) -> None:
        text = text.encode("utf-8", "backslashreplace").decode()  # not every log can hold half a character
        if text not in self._warned and len(self._warned) < 32:
            self._warned.add(text)
            LOG.warning("pdoctor_trace: %s", text)


def _encoded(spans: list[Span]) -> list[bytes]:
    return [encoded(span) for span in spans]


def start_untraced(thread: threading.Thread) -> None:
    """Start our own thread with the original method, so that it does not inherit the host's run.

    RuntimeError while the interpreter ends: a thread would never come to run, and `start` wait for it.
    """
    if sys.is_finalizing():
        raise RuntimeError("the interpreter ends")
    start: Any = threading.Thread.start
    while hasattr(start, "__wrapped__"):  # ours, and what other vendors have put around it
        start = start.__wrapped__
    start(thread)

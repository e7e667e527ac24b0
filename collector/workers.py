"""Several processes that receive on one port, one store: `--workers`.

The first is the collector itself, which keeps the store, the checkers and all that there is once; it starts
the others, and starts one again that ends or hangs. They share the listening socket, and whoever has the
fewest connections takes the next. Each tells the others what it counts on a page of its own, so that any of
them can say how all are. A worker ends when the pipe of the first closes.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from collector.pipeline.board import shared_file
from collector.pipeline.supervisor import RESTART_LIMIT, RESTART_SECONDS, WATCH_SECONDS, Stillness
from collector.room import Room
from collector.settings import Settings
from collector.telemetry import Figures

log = logging.getLogger("collector.workers")

TELL_SECONDS = 0.25
"""Between two times that a worker tells what it counts."""
QUICK_SECONDS = 2.0
"""A worker that has told nothing for so long is left no connection."""
SILENT_SECONDS = 10.0
"""A worker that has told nothing for so long is killed."""
START_SECONDS = 60.0
"""For the first sign of life."""
STOP_SECONDS = 15.0
"""For a worker to answer what it has taken."""
PAGE_BYTES = 1024 * 1024
HEADER = struct.Struct("=dII")
"""Sign of life (monotonic), length and checksum of what follows."""
GONE = 2**40
"""Connections of a worker that is not there."""
STOP = b"s"


class Numbers:
    """A few integers that all workers see: each writes its own, and reads those of all."""

    def __init__(self, count: int, descriptor: int | None = None) -> None:
        self._layout = struct.Struct(f"={count}q")
        self.descriptor = shared_file(self._layout.size) if descriptor is None else descriptor
        self._page = mmap.mmap(self.descriptor, self._layout.size)

    def put(self, place: int, value: int) -> None:
        self._page[8 * place : 8 * place + 8] = value.to_bytes(8, sys.byteorder, signed=True)

    @property
    def all(self) -> tuple[int, ...]:
        return self._layout.unpack(self._page[:])

    def close(self) -> None:
        self._page.close()
        os.close(self.descriptor)


class Page:
    """What one worker tells the others, and when it did."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = shared_file(PAGE_BYTES) if descriptor is None else descriptor
        self._page = mmap.mmap(self.descriptor, PAGE_BYTES)
        self._known: tuple[float, Figures] = 0.0, Figures()

    def write(self, figures: Figures, *, lives: bool = True) -> None:
        body = pickle.dumps(figures)
        if len(body) > PAGE_BYTES - HEADER.size:
            body = pickle.dumps(figures.without_projects())
        header = HEADER.pack(time.monotonic() if lives else 0.0, len(body), zlib.crc32(body))
        self._page[: HEADER.size + len(body)] = header + body

    @property
    def beat(self) -> float:
        """The last sign of life (monotonic); 0 = it does not run."""
        found: float = HEADER.unpack(self._page[: HEADER.size])[0]
        return found

    def read(self) -> tuple[float, Figures]:
        """(last sign of life, what it told last); 0 = it does not run."""
        for _ in range(100):
            beat, length, checksum = HEADER.unpack(self._page[: HEADER.size])
            body = self._page[HEADER.size : HEADER.size + length]
            if zlib.crc32(body) == checksum and length:  # else it is just being written
                self._known = beat, pickle.loads(body)
                break
        return self._known

    def close(self) -> None:
        self._page.close()
        os.close(self.descriptor)


class Crew:
    """One worker's view of all."""

    def __init__(
        self, number: int, connections: Numbers, keys: Numbers, room: Room, pages: Sequence[Page]
    ) -> None:
        self.number, self._connections, self._keys, self.pages = number, connections, keys, pages
        self._changes = 0
        self.room = room

    @classmethod
    def of(cls, size: int) -> Crew:
        """That of the first of so many."""
        return cls(0, Numbers(size), Numbers(size), Room(), [Page() for _ in range(size)])

    @classmethod
    def joined(cls, number: int, descriptors: Sequence[int]) -> Crew:
        """That of another one, by what `descriptors` of the first gives."""
        connections, keys, room, *pages = descriptors
        size = len(pages)
        numbers = Numbers(size, connections), Numbers(size, keys)
        return cls(number, *numbers, Room(room), [Page(one) for one in pages])

    @property
    def descriptors(self) -> tuple[int, ...]:
        return tuple(one.descriptor for one in self._shared)

    @property
    def _shared(self) -> list[Numbers | Room | Page]:
        return [self._connections, self._keys, self.room, *self.pages]

    @property
    def size(self) -> int:
        return len(self.pages)

    @property
    def leads(self) -> bool:
        """Is it the first, which has all that there is once?"""
        return self.number == 0

    def count(self, connections: int) -> None:
        """So many connections has this worker."""
        self._connections.put(self.number, connections)

    def lose(self, number: int) -> Figures:
        """A worker has ended; what it counted goes on with the next one of its number."""
        self._connections.put(number, GONE)
        lasting = self.pages[number].read()[1].lasting()
        self.pages[number].write(lasting, lives=False)
        return lasting

    @property
    def problems(self) -> list[str]:
        """What is wrong with the other workers."""
        found: list[str] = []
        for number, age, figures in self.others:
            found += figures.problems
            if age == float("inf"):
                found.append(f"worker {number} is not running; it is being started")
            elif age > SILENT_SECONDS / 2:
                found.append(f"worker {number} has given no sign of life for {age:.0f} s")
        return found

    @property
    def has_fewest(self) -> bool:
        """Is it this worker's turn to take a connection?"""
        now, counts = time.monotonic(), self._connections.all
        quick = (
            count for count, page in zip(counts, self.pages, strict=True) if now - page.beat < QUICK_SECONDS
        )
        return counts[self.number] <= min(quick, default=GONE)

    def change_keys(self) -> None:
        """Keys have changed here: all are to forget what they know of them."""
        self._changes += 1
        self._keys.put(self.number, self._changes)

    @property
    def key_changes(self) -> tuple[int, ...]:
        """Other than before: keys have changed somewhere."""
        return self._keys.all

    @property
    def others(self) -> Iterator[tuple[int, float, Figures]]:
        """(number, seconds since it told anything, what it told) of each other one; inf = it does not run."""
        now = time.monotonic()
        for number, page in enumerate(self.pages):
            if number != self.number:
                beat, figures = page.read()
                yield number, now - beat if beat else float("inf"), figures

    def close(self) -> None:
        for one in self._shared:
            one.close()


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker process is to be."""

    settings: Settings
    number: int
    descriptors: tuple[int, ...]
    """Of the crew."""
    listening: int
    bells: tuple[int, ...]
    """Where to tell the checkers of work."""
    clock: float
    """Offset of the clock that it shares."""
    started: float
    """When the collector was."""
    before: Figures = field(default_factory=Figures)
    """What its predecessors counted."""


class Worker:
    """Keeps one other worker process running."""

    def __init__(self, crew: Crew, order: Order) -> None:
        self._crew, self._order = crew, order
        crew.lose(order.number)
        self._stop = threading.Event()
        self._pipe = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.restarts = 0
        self._thread = threading.Thread(target=self._run, name="pdoctor-worker", daemon=True)
        self._thread.start()

    @property
    def number(self) -> int:
        return self._order.number

    def stop(self) -> None:
        """Ask it to answer what it has taken, and to end."""
        self._stop.set()
        self._say(STOP)

    def close(self) -> None:
        """Returns when it has ended."""
        self.stop()
        self._thread.join(STOP_SECONDS)
        process = self._process
        if process is not None and process.poll() is None:
            log.warning("a worker is killed: it does not end", extra={"worker": self.number})
            process.kill()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        pause = RESTART_SECONDS
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._start()
                self._watch()
            except OSError as failure:
                log.warning("a worker could not be started: %s", failure)
            self._order = replace(self._order, before=self._crew.lose(self.number))
            if self._stop.is_set():
                break
            self.restarts += 1
            code = self._process.returncode if self._process else None
            log.warning("a worker ended; starting another", extra={"worker": self.number, "code": code})
            pause = RESTART_SECONDS if time.monotonic() - began > 30 else min(pause * 2, RESTART_LIMIT)
            self._stop.wait(pause)
        self._hang_up()

    def _start(self) -> None:
        self._hang_up()
        order = self._order
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "collector.beside"],
            stdin=subprocess.PIPE,
            close_fds=True,
            pass_fds=(*order.descriptors, order.listening, *order.bells),
        )
        self._process = process
        packed = pickle.dumps(order)
        self._say(len(packed).to_bytes(8, "big") + packed)
        if self._stop.is_set():
            self._say(STOP)

    def _watch(self) -> None:
        """Return when it has ended, by itself or because it gave no sign of life."""
        process, still = self._process, Stillness(time.monotonic())
        while process is not None:
            try:
                process.wait(WATCH_SECONDS)
                return
            except subprocess.TimeoutExpired:
                beat = self._crew.pages[self.number].read()[0]
                limit = SILENT_SECONDS if beat else START_SECONDS
                if still.look(beat, time.monotonic()) > limit:
                    log.error("a worker is killed: no sign of life", extra={"worker": self.number})
                    process.kill()

    def _say(self, what: bytes) -> None:
        with self._pipe:
            pipe = self._process.stdin if self._process is not None else None
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):
                    pipe.write(what)
                    pipe.flush()

    def _hang_up(self) -> None:
        with self._pipe:
            if self._process is not None and self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()

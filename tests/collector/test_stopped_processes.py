"""Processes of a collector that are stopped in the middle: nobody else waits for ever, nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import httpx
import pytest

from collector.errors import Overloaded
from collector.fair import Flow
from collector.otlp import decoder as decoder_
from collector.otlp.decoder import Body, Decoder
from collector.settings import Limits
from tests.collector.test_serve_workers import SECONDS, Served
from tests.support.traces import Client, agent_request, eventually, new_id

pytestmark = pytest.mark.heavy


def test_a_decoder_that_is_stopped_is_given_up_and_the_next_body_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decoder_, "SECONDS", 3.0)

    async def main() -> None:
        made = Decoder()
        body = Body(agent_request(new_id(), ["a"]), "", "protobuf", Limits())
        try:
            assert len((await made.batch(Flow("a"), body)).batch.segments) == 1
            (child,) = decoders() - before
            os.kill(child, signal.SIGSTOP)
            with pytest.raises(Overloaded, match="could not be read") as refused:
                await asyncio.wait_for(made.batch(Flow("a"), body), SECONDS)
            assert refused.value.retry_after == 5
            assert len((await asyncio.wait_for(made.batch(Flow("b"), body), SECONDS)).batch.segments) == 1
            assert child not in decoders()
        finally:
            made.close()

    before = decoders()
    asyncio.run(main())


def decoders() -> set[int]:
    """Children of this process that decode or solve."""
    found = set()
    for children in Path("/proc/self/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            with contextlib.suppress(OSError):
                if b"judge_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.add(child)
    return found


def test_while_the_first_process_is_stopped_the_other_worker_serves(tmp_path: Path) -> None:
    one = Served(tmp_path / "store.db")
    runs: list[str] = []

    def sent() -> bool:
        """Whether a sender with a connection of its own was answered."""
        run = new_id()
        with contextlib.suppress(httpx.HTTPError), Client(one.url) as client:
            client.http.timeout = httpx.Timeout(3.0)
            if client.send(agent_request(run, ["a"])).status_code == 200:
                runs.append(run)
                return True
        return False

    try:
        eventually(lambda: httpx.get(f"{one.url}/readyz", timeout=30).status_code == 200, SECONDS)
        for _ in range(10):
            assert sent()
        one.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(10):
                eventually(sent, SECONDS)
        finally:
            one.process.send_signal(signal.SIGCONT)
        eventually(lambda: httpx.get(f"{one.url}/readyz", timeout=30).status_code == 200, SECONDS)
        with Client(one.url) as client:
            for run in runs:
                client.judged(run, seconds=SECONDS)
    finally:
        one.end()

"""Rows as short as they can be, and those of older versions beside them."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from sqlalchemy import text

from collector.judging.policies import as_concluded, with_words, without_nothing, without_words
from collector.model import Segment
from collector.otlp.segments import from_protobuf, without
from collector.pipeline.board import Board
from collector.pipeline.checker import POLL_SECONDS, Checker, Rounds
from collector.settings import Limits, Settings
from collector.store import Store, open_store, packing, retention
from collector.store.engine import LONG_LOG_BYTES
from collector.store.ingest import KnownKeys, put
from collector.store.packing import HEADER_BYTES, USUAL_BYTES, pack, pack_keys, size_of, unpack, unpack_keys
from collector.store.prepared import driver_of
from synth.policies import PolicyResult
from tests.support.traces import agent_request, new_id

TRACE, OTHER = b"t" * 16, b"o" * 16


def of(trace: bytes, count: int) -> list[bytes]:
    return [trace + bytes([i]) * 8 for i in range(1, count + 1)]


@pytest.mark.parametrize(
    ("keys", "size"),
    [
        pytest.param(of(TRACE, 1), 24, id="one"),
        pytest.param(of(TRACE, 4), 16 + 4 * 8, id="several"),
        pytest.param([*of(TRACE, 2), *of(OTHER, 1)], 3 * 24, id="two-traces"),
    ],
)
def test_keys_of_spans_name_their_trace_once(keys: list[bytes], size: int) -> None:
    packed = pack_keys(keys)
    assert len(packed) == size
    assert unpack_keys(packed, len(keys)) == keys
    assert unpack_keys(b"".join(keys), len(keys)) == keys  # as older versions wrote them


def test_a_span_that_an_older_version_stored_is_not_stored_again(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    segments = from_protobuf(agent_request(new_id(), ["a", "b"]), Limits()).segments
    assert stored(store, segments) == 3
    with store.write() as connection:
        old = b"".join(segments[0].keys)
        connection.execute(text("UPDATE segments SET span_keys = :old"), {"old": old})
    assert stored(store, segments) == 0
    store.close()


def stored(store: Store, segments: Any) -> int:
    arrivals: list[tuple[int, Segment]] = [(1, segment) for segment in segments]
    with store.write() as connection:
        return put(connection, arrivals, KnownKeys(), without, now=0, open_check=0)


def test_little_of_the_file_is_empty(tmp_path: Path) -> None:
    """Payloads of runs have thousands of bytes: what is left of a page holds no other one."""
    file, dice = tmp_path / "store.db", random.Random(1)
    open_store(f"sqlite:///{file}").close()
    before, store = file.stat().st_size, open_store(f"sqlite:///{file}")
    texts = [dice.randbytes(dice.randint(500, 3_000)).hex() for _ in range(300)]
    bodies = [agent_request(new_id(), ["a"], query=said) for said in texts]
    assert stored(store, [one for body in bodies for one in from_protobuf(body, Limits()).segments]) == 600
    with store.read() as connection:
        held = connection.scalar(text("SELECT sum(length(payload)) FROM segments"))
    store.close()
    assert (file.stat().st_size - before) / held < 1.27  # indices of runs among it


@pytest.mark.parametrize("size", [1, USUAL_BYTES, USUAL_BYTES + 1, 3 * USUAL_BYTES])
def test_payloads_of_every_size_come_back(size: int) -> None:
    payload = random.Random(size).randbytes(size // 2) * 2 + b"x" * (size % 2)
    packed = pack(payload)
    assert unpack(packed) == payload
    assert size_of(packed) == size_of(packed[:HEADER_BYTES]) == size
    broken = bytearray(packed)
    broken[-1] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        unpack(bytes(broken))


def test_a_size_that_is_not_known_is_none() -> None:
    nameless = zstandard.ZstdCompressor(write_content_size=False).compress(b"x" * 100)
    assert [size_of(packed) for packed in (nameless, b"", b"nonsense")] == [0, 0, 0]


def test_no_more_is_unpacked_than_may_be_whatever_the_header_says(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack(b"x" * 2_000)
    monkeypatch.setattr(packing, "LARGEST", 2_000)
    assert len(unpack(packed)) == 2_000
    monkeypatch.setattr(packing, "LARGEST", 1_999)
    with pytest.raises(ValueError, match="2000 bytes, more than the 1999"):
        unpack(packed)


def test_a_conclusion_leaves_out_what_is_nothing_and_gives_it_back() -> None:
    nothing = {
        "verdict": None, "policies": [], "problems": [], "status": "ok", "complete": True, "case_id": None,
        "wall_seconds": None, "iterations": None, "extra": {},
    }  # fmt: skip
    much = {
        **nothing,
        "problems": ["a"],
        "status": "running",
        "complete": False,
        "case_id": "c",
        "wall_seconds": 0.0,
        "iterations": 0,
        "policies": [{}],
    }
    assert without_nothing(nothing) == {}
    for body in (nothing, much):
        for as_stored in (without_nothing(body), body):
            assert as_concluded(orjson.dumps(as_stored).decode()) == body


@pytest.mark.parametrize("said", [{}, {"violations": (2,), "severity": "warning"}], ids=["usual", "other"])
def test_a_result_leaves_out_what_is_usual_and_gives_it_back(said: dict[str, Any]) -> None:
    result = PolicyResult("run", "p", "ok", explanation="why", **said).to_json()
    short = without_words(result)
    assert ("violations" in short, "severity" in short, "run_id" in short) == (bool(said), bool(said), False)
    assert with_words("run", short, {}) == result
    assert with_words("another", {**short, "run_id": "run"}, {}) == result  # as older versions stored it


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """With a long log."""
    made = open_store(f"sqlite:///{tmp_path / 'store.db'}", durable=False)
    with made.write() as connection:
        connection.execute(text("CREATE TABLE filling (bytes BLOB)"))
        connection.execute(text("INSERT INTO filling VALUES (zeroblob(:size))"), {"size": LONG_LOG_BYTES})
    assert log(made).stat().st_size > LONG_LOG_BYTES
    yield made
    made.close()


def log(store: Store) -> Path:
    return Path(f"{store.file}-wal")


def test_a_long_log_is_emptied_unless_somebody_reads(store: Store) -> None:
    with store.read() as connection:
        connection.scalar(text("SELECT count(*) FROM runs"))
        with store.write() as other:
            other.execute(text("INSERT INTO filling VALUES (1)"))
        store.shorten_log()
        assert log(store).stat().st_size > LONG_LOG_BYTES
    store.shorten_log()
    assert log(store).stat().st_size == 0
    with store.read() as connection:
        assert driver_of(connection).execute("PRAGMA busy_timeout").fetchone() == (15_000,)
        assert connection.scalar(text("SELECT count(*) FROM filling")) == 2


def test_space_that_only_a_busy_moment_needed_is_given_back(store: Store) -> None:
    with store.write() as connection:
        connection.execute(text("INSERT INTO filling VALUES (zeroblob(2000000))"))
        connection.execute(text("DELETE FROM filling"))
    assert store.file is not None
    with store.read() as connection:
        before = connection.scalar(text("PRAGMA page_count"))
    retention.tidy(store)
    with store.read() as connection:
        pages, free = (connection.scalar(text(f"PRAGMA {name}_count")) for name in ("page", "freelist"))
    assert free <= pages / 400 < before / 1600
    assert (log(store).stat().st_size, store.file.stat().st_size) == (0, pages * 1024)


def test_nothing_is_given_back_while_somebody_writes(store: Store) -> None:
    with store.read() as connection:
        pages = connection.scalar(text("PRAGMA page_count"))
    with store.write() as connection:
        connection.execute(text("DELETE FROM filling"))
    with store.write() as connection:
        connection.execute(text("INSERT INTO filling VALUES (1)"))
        retention.tidy(store)
    with store.read() as connection:
        assert connection.scalar(text("PRAGMA page_count")) == pages


def test_a_short_log_is_left(store: Store) -> None:
    store.shorten_log()
    with store.write() as connection:
        connection.execute(text("INSERT INTO filling VALUES (1)"))
    before = log(store).stat().st_size
    store.shorten_log()
    assert log(store).stat().st_size == before > 0


@pytest.mark.parametrize(
    ("pause", "woken", "emptied"),
    [
        pytest.param(POLL_SECONDS, False, True, id="quiet"),
        pytest.param(POLL_SECONDS / 100, False, False, id="short"),
        pytest.param(POLL_SECONDS, True, False, id="woken"),
    ],
)
def test_a_checker_empties_it_after_a_second_without_work(
    store: Store, pause: float, woken: bool, emptied: bool
) -> None:
    board = Board()
    wake = threading.Event()
    rounds = Rounds(Checker(store, Settings(), "one", board), wake)
    rounds._cold = False
    if woken:
        wake.set()
    rounds._rest(pause)
    assert (log(store).stat().st_size == 0) == emptied
    board.close()

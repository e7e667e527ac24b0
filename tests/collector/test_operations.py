"""Running a collector: wrong starts, readiness, full disks, ends in good order, clean-up, metrics."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from sqlalchemy import text

from collector.errors import BadStore
from collector.server import running
from collector.settings import READY
from collector.store import engine, open_store, projects, retention, schema
from tests.support.traces import (
    Client,
    agent_request,
    agent_spans,
    case_json,
    new_id,
    request,
    settings,
    until,
)

PROGRAM = [sys.executable, "-m", "pdoctor_trace"]


class Served:
    """`pdoctor serve` as a process of its own."""

    def __init__(self, *options: str, **more: Any) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, "serve", "--http-port", "0", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
        )  # fmt: skip
        self._errors: list[str] = []
        self._reader = threading.Thread(target=self._read)  # a full pipe would stop its writer
        self._reader.start()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(READY), line + self.ended()[1]
        self.url = line.removeprefix(READY).strip()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """(exit code, standard error)."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        code = self.process.wait(60)
        self._reader.join(60)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code, "".join(self._errors)


@contextmanager
def served(*options: str) -> Iterator[Served]:
    made = Served(*options)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
            made.ended()


def refused(*arguments: str) -> str:
    """The one line that a command which cannot be done says; its exit code is 2."""
    done = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert len(done.stderr) < 500
    return done.stderr.strip()


def test_wrong_starts_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with served("--grpc-port", "0", "--store", f"sqlite:///{tmp_path / 'one.db'}") as first:
        port = first.url.rpartition(":")[2]
        options = ("serve", "--grpc-port", "off", "--store")
        two = f"sqlite:///{tmp_path / 'two.db'}"
        taken = refused(*options, two, "--http-port", port)
        assert "Address already in use; is another collector running?" in taken
        assert not (tmp_path / "two.db").exists()
        same = refused(*options, f"sqlite:///{tmp_path / 'one.db'}", "--http-port", "0")
        assert f"another collector (process {first.process.pid}) uses" in same
        assert "PostgreSQL for several" in same
        with Client(first.url) as client:
            assert client.http.get("/readyz").json()["problems"] == []
        assert first.end() == (0, "") or first.process.returncode == 0
    with served("--grpc-port", "off", "--store", f"sqlite:///{tmp_path / 'one.db'}") as again:
        assert again.end(signal.SIGINT)[0] == 0


@pytest.mark.parametrize(
    ("store", "said"),
    [("sqlite:///{0}/folder", "it is a folder"), ("redis://host", "no store address"),
     ("one.db", "no store address"), ("sqlite:///{0}/" + "x" * 5000, "name too long"),
     ("sqlite:///{0}/" + "x/" * 3000 + "a", "name too long"),
     ("sqlite:////proc/pdoctor.db", "cannot open the store"), ("sqlite:///{0}/none/x.db", "create it first")],
)  # fmt: skip
def test_a_store_that_cannot_be_is_explained(tmp_path: Path, store: str, said: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadStore) as caught:
        open_store(store.format(tmp_path))
    assert said in str(caught.value).lower().replace("file name", "name")
    assert caught.value.hint
    assert len(str(caught.value)) < 500


def test_a_file_without_permission_is_explained(tmp_path: Path) -> None:
    """As another user, where this one may do everything."""
    store = tmp_path / "store.db"
    open_store(f"sqlite:///{store}").close()
    store.chmod(0o400)
    tmp_path.chmod(0o755)
    program = (
        "import os, sys\n"
        "from collector.errors import BadStore\n"
        "from collector.store import open_store\n"
        "import collector.store.engine, sqlalchemy.dialects.sqlite\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"
        "try: open_store(sys.argv[1])\n"
        "except BadStore as failure: print(failure)\n"
    )
    open_to_all = Path("/tmp") / f"pdoctor-{new_id()}"  # the test's own folder lies in one of this user
    open_to_all.mkdir(mode=0o755)
    try:
        moved = open_to_all / "store.db"
        store.rename(moved)
        done = subprocess.run(
            [sys.executable, "-c", program, f"sqlite:///{moved}"], capture_output=True, text=True, timeout=60
        )
        assert "no permission" in done.stdout, done.stderr
    finally:
        moved.unlink(missing_ok=True)
        open_to_all.rmdir()


@pytest.mark.parametrize("kind", ["foreign", "newer", "half", "two versions"])
def test_a_file_that_is_refused_is_not_touched(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "store.db"
    if kind == "foreign":
        connection = sqlite3.connect(file)
        connection.execute("CREATE TABLE users (id)")
    else:
        open_store(f"sqlite:///{file}").close()
        connection = sqlite3.connect(file)
        connection.execute(
            {"newer": "UPDATE alembic_version SET version_num = '9999'", "half": "DROP TABLE findings",
             "two versions": "INSERT INTO alembic_version VALUES ('9999')"}[kind]
        )  # fmt: skip
        connection.commit()
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.commit()
    connection.close()
    before = file.read_bytes()
    with pytest.raises(BadStore):
        open_store(f"sqlite:///{file}")
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def test_a_newer_version_may_migrate_while_an_older_one_reads_but_not_in_the_middle(tmp_path: Path) -> None:
    """A migration is one transaction: whoever has the file open sees the old schema, then the new one."""
    address = f"sqlite:///{tmp_path / 'store.db'}"
    old = open_store(address)
    newer = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    newer.execute("BEGIN IMMEDIATE")
    newer.execute("ALTER TABLE runs ADD COLUMN novelty TEXT")
    newer.execute("UPDATE alembic_version SET version_num = '9999'")
    with old.read() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == schema.HEAD
    newer.execute("COMMIT")
    with pytest.raises(BadStore, match="9999"):
        open_store(address)
    newer.close()
    old.close()


def test_one_file_has_one_collector_whatever_its_name(tmp_path: Path) -> None:
    """By a link to the file, by one that is there first, and by a second name of the same file."""
    first = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    first.hold()
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    second = open_store(f"sqlite:///{tmp_path / 'link.db'}")
    with pytest.raises(BadStore, match="another collector"):
        second.hold()
    second.close()
    first.close()
    (tmp_path / "early.db").symlink_to(tmp_path / "late.db")
    early = open_store(f"sqlite:///{tmp_path / 'early.db'}")
    early.hold()
    late = open_store(f"sqlite:///{tmp_path / 'late.db'}")
    with pytest.raises(BadStore, match="another collector"):
        late.hold()
    late.close()
    early.close()
    (tmp_path / "other.db").hardlink_to(tmp_path / "store.db")
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(BadStore, match="several names"):
        other.hold()
    other.close()


def grpc_export(port: int, body: Any) -> tuple[grpc.StatusCode, bool]:
    """(code, whether the answer says when to come back)."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            TraceServiceStub(channel).Export(body, timeout=20)
        except grpc.RpcError as failure:
            details = dict(failure.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
            return failure.code(), b"google.rpc.RetryInfo" in details
    return grpc.StatusCode.OK, False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_full_disk_refuses_everything_breaks_nothing_and_ends_when_there_is_room(tmp_path: Path) -> None:
    """No file of the collector may grow any more, as on a full disk; later they may again."""
    grpc_port, file = free_port(), tmp_path / "store.db"
    options = ("--grpc-port", str(grpc_port), "--store", f"sqlite:///{file}", "--checkers", "0")
    with served(*options) as collector, Client(collector.url) as client:
        pid, kept = collector.process.pid, []
        for _ in range(3):
            kept.append(new_id())
            assert client.send(agent_request(kept[-1], ["a"] * 20)).status_code == 200
        limit = (tmp_path / "store.db-wal").stat().st_size
        unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, unlimited[1]))
        for _ in range(200):  # what is still free inside the files is used up first
            run = new_id()
            answer = client.send(agent_request(run, ["a"] * 50))
            if answer.status_code != 200:
                break
            kept.append(run)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        big = request(*agent_spans(new_id(), ["a"] * 200))
        assert grpc_export(grpc_port, big) == (grpc.StatusCode.UNAVAILABLE, True)
        ready = client.http.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "unready"), ready.text
        assert client.http.get("/healthz").status_code == 200
        assert client.post("/cases", case_json("c")).status_code in (201, 503)
        assert client.http.get(f"/api/v1/runs/{kept[0]}/spans").status_code == 200
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
        again = new_id()
        assert client.send(agent_request(again, ["a"] * 50)).status_code == 200
        assert grpc_export(grpc_port, big)[0] == grpc.StatusCode.OK
        for _ in until():
            if client.http.get("/readyz").status_code == 200:
                break
        assert client.http.get("/readyz").status_code == 200
        counts = [len(client.get(f"/runs/{run}/spans")["items"]) for run in kept]
        assert counts == [21] * 3 + [51] * (len(kept) - 3)
        assert collector.end()[0] == 0
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT sum(spans) FROM segments").fetchone() == (sum(counts) + 51 + 201,)
    connection.close()


class Disk:
    """A small file system of its own, in a file: it can be full, and the kernel can turn it read-only."""

    def __init__(self, folder: Path, mib: int) -> None:
        self.image, self.path = folder / "image", folder / "disk"
        self.path.mkdir()
        self.image.write_bytes(b"")
        os.truncate(self.image, mib << 20)
        self._run("mkfs.ext4", "-q", "-F", str(self.image))
        self.mount()

    def mount(self) -> None:
        self._run("mount", "-o", "loop,errors=remount-ro", str(self.image), str(self.path))

    def unmount(self) -> None:
        self._run("umount", str(self.path))

    def break_down(self) -> None:
        """What happens on a bad block: the kernel lets nobody write any more."""
        device = Path(self._run("findmnt", "-n", "-o", "SOURCE", str(self.path)).strip()).name
        Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("planned")

    def repair(self) -> None:
        self.unmount()
        found = subprocess.run(["e2fsck", "-f", "-y", str(self.image)], capture_output=True, text=True)
        assert found.returncode in (0, 1), found.stdout
        self.mount()

    def _run(self, *command: str) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    try:
        made = Disk(tmp_path, mib=160)
    except subprocess.CalledProcessError as failure:
        pytest.skip(f"this machine cannot mount a file as a disk: {failure.stderr}")
    yield made
    made.unmount()


def send_until_refused(client: Client, most: int = 2000) -> tuple[list[str], httpx.Response]:
    """Runs of 101 spans that are hard to compress: those that were acknowledged, and the refusal."""
    kept = []
    for _ in range(most):
        calls = [{"name": "a", "result": os.urandom(500).hex()} for _ in range(100)]
        run = new_id()
        answer = client.send(agent_request(run, calls))
        if answer.status_code != 200:
            return kept, answer
        kept.append(run)
    raise AssertionError("nothing was ever refused")


@pytest.mark.heavy
def test_a_real_disk_that_is_full_then_read_only_then_repaired(disk: Disk) -> None:
    file = disk.path / "store.db"
    options = ("--grpc-port", "off", "--store", f"sqlite:///{file}")
    ballast = disk.path / "ballast"
    ballast.write_bytes(bytes(128 << 20))
    with served(*options) as collector, Client(collector.url) as client:
        kept, refusal = send_until_refused(client)
        assert (refusal.status_code, refusal.headers["retry-after"]) == (503, "5")
        assert len(kept) > 10
        assert client.http.get("/readyz").status_code == 503
        ballast.unlink()
        os.sync()  # or the break-down undoes it: the file system forgets what is not on the disk yet
        for _ in until():
            if client.send(agent_request(run := new_id(), ["a"] * 100)).status_code == 200:
                kept.append(run)
                break
        disk.break_down()
        more, refusal = send_until_refused(client, most=5)
        assert (more, refusal.status_code, refusal.headers["retry-after"]) == ([], 503, "5")
        assert client.http.get("/readyz").status_code == 503
        assert client.http.get("/healthz").status_code == 200
        assert len(client.get(f"/runs/{kept[0]}/spans")["items"]) == 101
        assert collector.end()[0] == 0
    disk.repair()
    with served(*options) as collector, Client(collector.url) as client:
        assert client.send(agent_request(new_id(), ["a"] * 100)).status_code == 200
        assert [len(client.get(f"/runs/{run}/spans")["items"]) for run in kept] == [101] * len(kept)
        for _ in until():
            if (ready := client.http.get("/readyz")).status_code == 200:
                break
        assert ready.status_code == 200, ready.text
        assert collector.end()[0] == 0
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    stored = connection.execute("SELECT sum(spans) FROM segments").fetchone()[0]
    assert stored == 101 * (len(kept) + 1)
    connection.close()


@pytest.mark.usefixtures("cold_checkers")
def test_readiness_says_when_the_checker_is_gone(tmp_path: Path) -> None:
    with running(settings(tmp_path)) as url, Client(url) as client:
        run = new_id()
        client.send(agent_request(run, ["a"]))
        client.judged(run)
        children = [
            int(child)
            for task in Path(f"/proc/{os.getpid()}/task").glob("*/children")
            for child in task.read_text().split()
            if b"pipeline.checker" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        os.kill(children[-1], signal.SIGKILL)
        for _ in until():
            unready = client.http.get("/readyz")
            if unready.status_code == 503:
                break
        assert unready.json()["problems"] == ["a checker process is not running; it is being restarted"]
        for _ in until():
            if client.http.get("/readyz").status_code == 200:
                break
        assert client.http.get("/readyz").status_code == 200


def test_an_end_under_load_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    acknowledged: list[str] = []
    others: list[object] = []

    def send(url: str) -> None:
        with httpx.Client(base_url=url, trust_env=False, timeout=30) as http:
            while True:
                run = new_id()
                try:
                    answer = http.post(
                        "/v1/traces", content=agent_request(run, ["a"] * 5),
                        headers={"content-type": "application/x-protobuf"},
                    )  # fmt: skip
                except httpx.TransportError:
                    return
                if answer.status_code != 200:
                    others.append(answer.status_code)
                    return
                acknowledged.append(run)

    with served("--grpc-port", "off", "--store", f"sqlite:///{file}") as collector:
        threads = [threading.Thread(target=send, args=(collector.url,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in until():
            if len(acknowledged) > 20:
                break
        code, errors = collector.end()
        for thread in threads:
            thread.join(30)
    assert code == 0, errors
    assert set(others) <= {503}
    assert len(acknowledged) > 20
    connection = sqlite3.connect(file)
    found = {key for (key,) in connection.execute("SELECT key FROM runs")}
    spans = connection.execute("SELECT sum(spans) FROM segments").fetchone()[0]
    connection.close()
    assert set(acknowledged) <= found
    assert spans == 6 * len(found)
    assert len(found) - len(acknowledged) <= 4  # stored, the answer cut off: one per connection at most


def test_the_space_of_expired_runs_is_given_back_in_small_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "FREE_PAGES", 10)
    monkeypatch.setattr(retention, "VACUUM_PAGES", 50)
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    with store.write() as connection:
        for number in range(40):
            row = {"project": 1, "key": f"{number}", "first_seen": 0, "last_seen": number, "version": 1}
            run = connection.execute(schema.runs.insert().returning(schema.runs.c.id), [row]).scalar_one()
            segment = {"run": run, "spans": 1, "span_keys": b"k", "payload": os.urandom(30_000)}
            connection.execute(schema.segments.insert(), [segment])

    def pages() -> int:
        with store.read() as connection:
            return int(connection.scalar(text("PRAGMA page_count")) or 0)

    full = pages()
    projects.change(store, 1, {"retention_days": 1})
    assert retention.prune(store, now=86_400 + 30) == 30
    given = retention.shrink(store)
    assert given > 150
    mapped = engine.PAGE_BYTES // 5
    assert 0 <= full - given - pages() <= 1 + given // mapped  # pages of the map of pages may go, too
    assert retention.shrink(store) == 0
    with store.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM runs")) == 10
    store.close()


def test_a_run_that_grows_while_others_expire_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans that arrive between looking and deleting make the run young again."""
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    projects.change(store, 1, {"retention_days": 1})
    with store.write() as connection:
        row = {"project": 1, "key": "k", "first_seen": 0, "last_seen": 0, "version": 1}
        connection.execute(schema.runs.insert(), [row])
    real = store.write

    @contextmanager
    def late() -> Iterator[Any]:
        with real() as connection:
            connection.execute(text("UPDATE runs SET last_seen = 1e9"))
        with real() as connection:
            yield connection

    monkeypatch.setattr(store, "write", late)
    assert retention.prune(store, now=1e9) == 0
    with store.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM runs")) == 1
    store.close()

"""Drills: a release is made, installed by the image's steps, and served as the compose file and the unit say.

No container engine and no systemd runs here. Not run: `useradd`; the images of PostgreSQL, nginx and
Prometheus (Debian's programs stand for them); what the kernel does for `read_only`, `cap_drop` and the unit's
sandbox (a user who may write to his own folder alone stands for it); whatever builds or pulls an image.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from tests.support.certificates import Made, make
from tests.support.deployed import DEPLOY, alerts, filled_in, yaml
from tests.support.drills import (
    NOBODY,
    Image,
    Running,
    environment_file,
    mapped,
    own,
    plain,
    program,
    quiet_port,
    size,
)
from tests.support.traces import eventually

pytestmark = pytest.mark.heavy

MIB = 1024 * 1024


def how_to_run(image: Image, home: Path, **variables: str) -> dict[str, Any]:
    """Environment and folder of a program of the image."""
    return {"env": {**image.environment, **variables}, "cwd": home}


def entry(image: Image) -> str:
    found = shutil.which(image.entry[0], path=image.environment["PATH"])
    assert found is not None
    assert found.startswith(str(image.root))
    return found


def said(image: Image, how: dict[str, Any], *arguments: str) -> str:
    """What a verb of the image prints."""
    done = subprocess.run(plain(entry(image), *arguments), capture_output=True, text=True, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def deliver(endpoint: str, grpc_target: str, made: Made, key: str) -> list[str]:
    """A trace by each of the official exporters, over TLS with a key; their ids."""
    credentials = grpc.ssl_channel_credentials(made.certificate.read_bytes())
    bearer = {"authorization": f"Bearer {key}"}
    exporters: list[SpanExporter] = [
        HttpExporter(f"{endpoint}/v1/traces", certificate_file=str(made.certificate), headers=bearer),
        GrpcExporter(grpc_target, credentials=credentials, headers=bearer),
    ]
    traces = []
    for exporter in exporters:
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        with provider.get_tracer("t").start_as_current_span("work") as span:
            traces.append(f"{span.get_span_context().trace_id:032x}")
        provider.shutdown()
    return traces


@pytest.fixture(autouse=True)
def _no_bundles_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # they would win over what an exporter is told
        monkeypatch.delenv(name, raising=False)


def test_a_release_has_a_wheel_a_bill_and_checksums(released: Path) -> None:
    dist = released / "dist"
    sums = dict(reversed(line.split()) for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert {*sums} == {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    assert sums == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in sums}
    assert [one for one in sums if one.endswith(".whl")]
    assert [one for one in sums if one.endswith(".tar.gz")]
    (bill,) = dist.glob("*.cdx.json")
    told = json.loads(bill.read_text())
    assert told["bomFormat"] == "CycloneDX"
    assert told["metadata"]["component"]["name"] == "pdoctor-trace"
    parts = {one["name"].lower().replace("_", "-"): one for one in told["components"]}
    pins = re.findall(r"^([a-z0-9-]+)==(\S+)", (DEPLOY / "requirements.txt").read_text(), re.M)
    in_bill = {name.replace(".", "-"): one["version"] for name, one in parts.items()}
    assert {name: version for name, version in pins if in_bill.get(name) != version} == {}
    assert sum("licenses" in one for one in parts.values()) > 0.8 * len(pins)


def test_the_image_is_small_ready_soon_and_has_a_health_check_that_fails_with_it(
    image: Image, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed = image.root / "opt" / "pdoctor"
    (packages,) = installed.glob("lib/python3*/site-packages")
    parts = Counter({one.name: size(one) for one in packages.iterdir() if one.is_dir()})
    port = str(quiet_port())
    health = [mapped(one, {"4318": port}) for one in image.health]
    home = own(tmp_path / "home")
    how = how_to_run(
        image, home,
        PDOCTOR_STORE=f"sqlite:///{home}/pdoctor.db", PDOCTOR_SERVE_HOST="127.0.0.1",
        PDOCTOR_SERVE_HTTP_PORT=port, PDOCTOR_SERVE_GRPC_PORT="off",
    )  # fmt: skip
    health[0] = shutil.which(health[0], path=how["env"]["PATH"]) or health[0]
    assert health[0].startswith(str(image.root))
    served = Running(plain(entry(image), *image.command), log=tmp_path / "log", **how)
    try:
        ready = served.healthy(plain(*health), **how)
        spent = served.cpu_seconds()
        eventually(served.rests)
        memory = served.memory()
        assert {one.name.partition("-")[0] for one in home.iterdir()} == {"pdoctor.db"}
    finally:
        assert served.end() == 0, served.said()
    assert subprocess.run(plain(*health), capture_output=True, **how).returncode
    bare_python = image.here("/opt/pdoctor/bin/python")
    bare = cpu_of([bare_python, "-c", "pass"], **how)
    imports = imported(bare_python, "collector.server", **how)
    with capsys.disabled():
        sys.stdout.write(
            f"\nimage folder {size(installed) // MIB} MiB ({biggest(parts, MIB, 'MiB')})\n"
            f"ready after {ready:.1f} s and {spent:.1f} s of CPU, {spent / bare:.0f} starts of Python "
            f"(imports: {biggest(imports, 1000, 'ms')})\n"
            f"idle {memory.total() // MIB} MiB ({biggest(memory, MIB, 'MiB')})\n"
        )


def biggest(parts: Counter[str], unit: int, name: str) -> str:
    return ", ".join(f"{part} {size // unit} {name}" for part, size in parts.most_common(3))


def cpu_of(command: Sequence[str], **how: Any) -> float:
    """CPU seconds of a program, the least of ten."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, **how)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(10))


def imported(python: str, module: str, **how: Any) -> Counter[str]:
    """Microseconds that each package takes when a module is imported, without what it imports itself."""
    command = [python, "-X", "importtime", "-c", f"import {module}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, **how)
    found: Counter[str] = Counter()
    for took, name in re.findall(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\w+)", done.stderr, re.M):
        found[name] += int(took)
    return found


class Machine:
    """The compose file's services as processes of this machine, started by what the file says of each."""

    def __init__(self, folder: Path, image: Image, stack: ExitStack) -> None:
        self.folder, self.image, self._stack = folder, image, stack
        self.services = yaml("compose.yaml")["services"]
        self.values = {"POSTGRES_PASSWORD": "a b'c", "PDOCTOR_NAME": "localhost"}
        self.ports = {
            name: quiet_port() for name in ("db", "http", "grpc", "front", "front grpc", "prometheus")
        }
        inside = {
            "postgres:5432": f"127.0.0.1:{self.ports['db']}",
            "collector:4318": f"127.0.0.1:{self.ports['http']}",
            "collector:4317": f"127.0.0.1:{self.ports['grpc']}",
            "172.30.77.0/24": "127.0.0.0/8",
            "/run/secrets/": f"{folder}/secrets/",
            "/etc/pdoctor/": f"{folder}/etc/",
            "/tmp/": f"{folder}/tmp/",
            "0.0.0.0": "127.0.0.1",
        }
        own_ports = {
            "postgres": {"5432": str(self.ports["db"])},
            "collector": {"4318": str(self.ports["http"]), "4317": str(self.ports["grpc"])},
            "front": {"8443": str(self.ports["front"]), "listen 4317": f"listen {self.ports['front grpc']}"},
            "prometheus": {
                "9090": str(self.ports["prometheus"]), "/prometheus": f"{folder}/samples", "15s": "1s",
                "/etc/pdoctor/prometheus.yml": f"{folder}/etc/prometheus.yml",
            },
        }  # fmt: skip
        self.places = {name: {**inside, **ports} for name, ports in own_ports.items()}
        for name in ("etc", "tmp", "secrets"):
            (folder / name).mkdir()
        self.certificate = make(folder / "secrets", "tls")

    def here(self, service: str, text: str) -> str:
        return mapped(filled_in(text, self.values), self.places[service])

    def environment(self, service: str) -> dict[str, str]:
        said = self.services[service].get("environment", {})
        return {name: self.here(service, str(value)) for name, value in said.items()}

    def files(self, service: str) -> None:
        """What is mounted into a service, where it is looked for."""
        for volume in self.services[service].get("volumes", ()):
            source, target, *_ = volume.split(":")
            if source.startswith("./"):
                text = (DEPLOY / source).read_text()
                Path(self.here(service, target)).write_text(self.here(service, text))

    def run(self, service: str, *before: str, after: Sequence[str] = (), **how: Any) -> Running:
        """Start a service by its command and wait for its own health check; it is ended with the stack."""
        self.files(service)
        told = self.services[service]
        command = [self.here(service, one) for one in [*told.get("entrypoint", ()), *told["command"]]]
        if service != "collector":
            command[0] = program(command[0])
        running = Running([*before, *command, *after], log=self.folder / f"{service}.log", **how)
        self._stack.callback(running.end, signal.SIGINT if service == "postgres" else signal.SIGTERM)
        kind, *check = [self.here(service, one) for one in told["healthcheck"]["test"]]
        assert kind == "CMD"
        path = how.get("env", os.environ)["PATH"]
        check[0] = shutil.which(check[0], path=path) or program(check[0])
        environment = {**how.get("env", os.environ), "no_proxy": "*"}
        running.healthy(check, env=environment)
        return running

    def database(self) -> Running:
        """What the image of PostgreSQL does at its first start, and then its command."""
        values, home = self.environment("postgres"), self.folder / "database"
        as_user: dict[str, Any] = {}
        home.mkdir()
        if os.geteuid() == 0:
            shutil.chown(home, "postgres", "postgres")
            as_user = {"user": "postgres", "group": "postgres", "extra_groups": ()}
        password = self.folder / "tmp" / "password"
        password.write_text(values["POSTGRES_PASSWORD"])
        password.chmod(0o644)
        options = ["--no-sync", "--auth=scram-sha-256", f"--username={values['POSTGRES_USER']}"]
        subprocess.run(
            [program("initdb"), *options, f"--pwfile={password}", "-D", str(home / "data")],
            check=True, capture_output=True, cwd=home, **as_user,
        )  # fmt: skip
        place = ["-D", str(home / "data"), "-p", str(self.ports["db"]), "-k", str(home)]
        running = self.run("postgres", after=[*place, "-c", "fsync=off"], cwd=home, **as_user)
        login = {**os.environ, "PGPASSWORD": values["POSTGRES_PASSWORD"]}
        where = ["-h", "127.0.0.1", "-p", str(self.ports["db"]), "-U", values["POSTGRES_USER"]]
        subprocess.run([program("createdb"), *where, values["POSTGRES_DB"]], check=True, env=login)
        return running


def test_the_compose_file_serves_over_tls_with_a_key_and_is_watched(image: Image, folder: Path) -> None:
    with ExitStack() as stack:
        machine = Machine(folder, image, stack)
        machine.database()
        how = how_to_run(image, own(folder / "home"), **machine.environment("collector"))
        serve = plain(entry(image), "serve", "--host", "0.0.0.0")
        without = subprocess.run(serve, capture_output=True, text=True, **how)
        assert without.returncode == 2
        assert "this store has no API key" in without.stderr, without.stderr
        key, watcher = (said(image, how, "keys", "create", "--scope", one) for one in ("admin", "metrics"))
        (folder / "secrets" / "metrics.key").write_text(watcher)
        collector = machine.run("collector", *plain(entry(image)), **how)
        machine.run("front")
        url, target = (
            f"https://localhost:{machine.ports['front']}",
            f"localhost:{machine.ports['front grpc']}",
        )
        traces = deliver(url, target, machine.certificate, key)
        trusted = machine.certificate.trusted
        with httpx.Client(base_url=url, verify=trusted, trust_env=False) as page:
            login = page.post("/login", data={"key": key}, headers={"origin": url})
            assert (login.status_code, "; Secure" in login.headers["set-cookie"]) == (303, True)
            for trace in traces:
                shown = page.get(f"/runs/{trace}")
                assert (shown.status_code, trace in shown.text) == (200, True)
            assert page.get("/", headers={"host": "evil.example"}).status_code == 403
            told = page.get("/metrics", headers={"authorization": f"Bearer {watcher}"}).text
        assert "pdoctor_keys_in_clear_total 0\n" in told
        machine.run("prometheus")
        with httpx.Client(
            base_url=f"http://127.0.0.1:{machine.ports['prometheus']}", trust_env=False
        ) as asked:

            def value() -> Any:
                found = asked.get("/api/v1/query", params={"query": 'up{job="pdoctor"}'}).json()
                return [one["value"][1] for one in found["data"]["result"]]

            eventually(lambda: value() == ["1"], 60)
            rules = asked.get("/api/v1/rules").json()["data"]["groups"]
            assert [one["name"] for group in rules for one in group["rules"]] == [*alerts()]
        assert collector.end() == 0, collector.said()
        assert "error" not in collector.said().lower()


def unit(name: str, places: Mapping[str, str]) -> dict[str, str]:
    """The settings of a unit, with the paths of this machine."""
    lines = mapped((DEPLOY / "systemd" / name).read_text(), places).splitlines()
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return dict(pairs)


def test_the_unit_serves_with_its_environment_and_its_backup_can_be_restored(
    image: Image, folder: Path
) -> None:
    places = {
        "/opt/pdoctor": str(image.root / "opt" / "pdoctor"), "/etc/pdoctor": f"{folder}/etc",
        "/var/lib/pdoctor": f"{folder}/state", "/var/backups/pdoctor": f"{folder}/backups",
    }  # fmt: skip
    serving, saving = unit("pdoctor.service", places), unit("pdoctor-backup.service", places)
    state, backups = own(folder / "state"), own(folder / "backups")
    (folder / "etc").mkdir()
    made = make(folder / "etc", "tls")
    made.key.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(made.key, 0, NOBODY)
    ports = [str(quiet_port()) for _ in range(2)]
    told = environment_file(DEPLOY / "systemd" / "collector.env")
    environment = {
        **{name: mapped(value, places) for name, value in told.items()},
        "PATH": "/usr/bin:/bin", "PDOCTOR_SERVE_HTTP_PORT": ports[0], "PDOCTOR_SERVE_GRPC_PORT": ports[1],
    }  # fmt: skip
    how: dict[str, Any] = {
        "env": environment, "cwd": serving["WorkingDirectory"], "umask": int(serving["UMask"], 8),
    }  # fmt: skip
    command = plain("prlimit", f"--nofile={serving['LimitNOFILE']}", *serving["ExecStart"].split())
    pdoctor, url = serving["ExecStart"].split()[0], f"https://localhost:{ports[0]}"

    def verb(*arguments: str) -> str:
        done = subprocess.run(plain(*arguments), capture_output=True, text=True, **how)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def told_of(run: str) -> Any:
        bearer = {"authorization": f"Bearer {key}"}
        found = httpx.get(f"{url}/api/v1/runs/{run}", headers=bearer, verify=made.trusted, trust_env=False)
        assert found.status_code == 200, found.text
        return {name: value for name, value in found.json().items() if name != "updated"}

    key = verb(pdoctor, "keys", "create", "--scope", "admin")
    ready = ["curl", "-fs", "--cacert", str(made.certificate), f"{url}/readyz"]
    with ExitStack() as stack:
        served = Running(command, log=folder / "log", **how)
        stack.callback(served.end)
        served.healthy(ready)
        (trace, _) = deliver(url, f"localhost:{ports[1]}", made, key)
        eventually(lambda: told_of(trace)["complete"], 60)  # and nothing will change any more
        before = told_of(trace)
        assert stat.S_IMODE((state / "pdoctor.db").stat().st_mode) == 0o600
        how["env"] = environment | dict(one.split("=", 1) for one in saving["Environment"].split())
        verb("/bin/sh", "-ec", saving["ExecStart"].partition("-ec ")[2][1:-1].replace("%%", "%"))
        (kept,) = backups.iterdir()
        assert served.end() == 0, served.said()
        assert "no TLS" not in served.said()
        verb(pdoctor, "restore", str(kept), "--store", f"sqlite:///{state}/again.db")
        how["env"] = {**environment, "PDOCTOR_STORE": f"sqlite:///{state}/again.db"}
        served = Running(command, log=folder / "log", **how)
        stack.callback(served.end)
        served.healthy(ready)
        assert told_of(trace) == before


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    analyse = shutil.which("systemd-analyze")
    if analyse is None:
        pytest.skip("systemd-analyze is not installed")
    units = []
    for path in (DEPLOY / "systemd").glob("pdoctor*"):
        text = path.read_text().replace("/opt/pdoctor/bin/pdoctor", "/bin/true")
        (tmp_path / path.name).write_text(text)
        units.append(str(tmp_path / path.name))
    done = subprocess.run([analyse, "verify", *units], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    exposed = subprocess.run(
        [analyse, "security", "--offline=true", "--threshold=25", str(tmp_path / "pdoctor.service")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert exposed.returncode == 0, exposed.stdout

"""The OTLP exporters of OpenTelemetry for JavaScript, run for real: JSON and protobuf over HTTP, and gRPC."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.server import running
from tests.support.traces import Client, settings

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / ".environments" / "npm-otlp"
PROGRAM = Path(__file__).with_name("npm_exporter.mjs")
SDK, EXPORTERS = "2.12.0", "0.223.1"
PACKAGES = [
    "@opentelemetry/api@1.9.1",
    f"@opentelemetry/resources@{SDK}",
    f"@opentelemetry/sdk-trace-base@{SDK}",
    *(f"@opentelemetry/exporter-trace-otlp-{kind}@{EXPORTERS}" for kind in ("http", "proto", "grpc")),
]


@pytest.fixture(scope="module")
def node() -> Path:
    """The folder with the packages, kept between runs."""
    assert shutil.which("node"), "this test needs Node.js and npm"
    assert shutil.which("npm"), "this test needs Node.js and npm"
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME / "package.json").write_text('{"name": "npm-otlp", "private": true, "type": "module"}')
    if not (HOME / "node_modules" / "@opentelemetry" / "exporter-trace-otlp-grpc").exists():
        subprocess.run(["npm", "install", "--silent", *PACKAGES], cwd=HOME, check=True, timeout=300)
    shutil.copy(PROGRAM, HOME / PROGRAM.name)
    return HOME


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """(HTTP client, gRPC address)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    folder = tmp_path_factory.mktemp("npm")
    with running(settings(folder, grpc_port=port)) as url, Client(url) as client:
        yield client, f"http://127.0.0.1:{port}"


@pytest.mark.heavy
@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("kind", ["http", "proto", "grpc"])
def test_what_the_npm_exporters_send_is_stored_and_read(
    node: Path, both: tuple[Client, str], kind: str, compression: str
) -> None:
    client, target = both
    address = target if kind == "grpc" else f"{client.url}/v1/traces"
    done = subprocess.run(
        ["node", PROGRAM.name, kind, address, compression],
        cwd=node, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    traces = json.loads(done.stdout)
    assert len(traces) == 50
    for number, trace in enumerate(traces):
        (span,) = client.get(f"/runs/{trace}/spans")["items"]
        assert span["name"] == f"execute_tool tool{number}"
        assert span["scope"] == "npm-agent"
        assert span["status"] == ("error" if number % 2 else "unset")
        at = span["attributes"]
        assert json.loads(at["gen_ai.tool.call.arguments"]) == {"n": number, "text": "ö \0 €"}
        assert (at["big"], at["half"], at["list"], at["off"]) == (2**53, 0.5, [1, 2.5], False)
    (call,) = client.get(f"/runs/{traces[1]}")["calls"]
    assert (call["name"], call["arguments"]["n"], call["error"]) == ("tool1", 1, "broken 1")

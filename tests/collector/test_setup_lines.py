"""The lines of /setup: they name what is there, and what sends with them is seen."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from collector.access import new_key
from collector.server import running
from collector.store import open_store
from collector.ui import snippets
from pdoctor_trace.frameworks import FRAMEWORKS
from tests.support.traces import Client, agent_request, eventually, new_id, settings

ROOT = Path(__file__).parents[2]
PLAIN = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
provider.get_tracer("t").start_span("execute_tool search", attributes=about).end()
"""


def imported(text: str) -> set[tuple[str, str]]:
    """(module, name) of what a program imports; an empty name for the module itself."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found |= {(node.module or "", one.name) for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {(one.name, "") for one in node.names}
    return found


def test_every_framework_of_the_documentation_has_its_lines() -> None:
    named = [entry.load().title for entry in FRAMEWORKS]
    assert list(snippets.FRAMEWORKS) == named
    table = (ROOT / "docs" / "frameworks.md").read_text()
    assert all(f"\n| {name} | `" in table for name in named)


@pytest.mark.parametrize("entry", FRAMEWORKS, ids=lambda entry: entry.name)
def test_lines_import_what_the_tests_of_the_framework_import(entry: object) -> None:
    (entry,) = (one for one in FRAMEWORKS if one is entry)
    lines = imported(snippets.FRAMEWORKS[entry.load().title]) - {("pdoctor_trace", "")}
    files = (ROOT / "tests").glob("frameworks/test_*.py"), (ROOT / "synth" / "agents").rglob("*.py")
    known = {one for some in files for file in some for one in imported(file.read_text())}
    assert lines
    assert lines <= known
    assert all(any(f"{module}.".startswith(f"{of}.") for of in entry.packages) for module, _ in lines)


@pytest.fixture(params=[False, True], ids=["open", "keyed"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Client, str | None]]:
    told, key = settings(tmp_path), None
    if request.param:
        store = open_store(told.store_url)
        key = new_key(store, project="default", name="all", scopes=["ingest", "read", "admin"])
        store.close()
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    with running(told) as url, Client(url, headers=headers) as one:
        yield one, key


def lines_of(client: Client, what: str) -> str:
    """What /setup says below a heading, with the key that its reader has."""
    page = client.http.get("/setup").text
    found = re.search(rf"<h3>{re.escape(what)}</h3><pre tabindex=\"0\">(.*?)</pre>", page, re.DOTALL)
    assert found
    return found[1].replace("&#39;", "'").replace("&#34;", '"')


def filled(lines: str, key: str | None) -> str:
    assert (snippets.PLACEHOLDER in lines) == (key is not None)
    return lines.replace(snippets.PLACEHOLDER, key or "")


def test_variables_bring_the_first_span(client: tuple[Client, str | None]) -> None:
    one, key = client
    said = filled(lines_of(one, "Any OpenTelemetry SDK, by its environment"), key)
    variables = dict(line.split("=", 1) for line in said.splitlines())
    done = subprocess.run(
        [sys.executable, "-c", PLAIN], env={**os.environ, **variables}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    eventually(lambda: one.get("/stats")["spans"] == 1)


def test_a_run_can_be_sent_by_hand(client: tuple[Client, str | None]) -> None:
    one, key = client
    command, address, *told = shlex.split(
        filled(lines_of(one, "curl, one run by hand"), key).replace("\\\n", "")
    )
    sent = list(zip(told[::2], told[1::2], strict=True))
    headers = dict(value.split(": ", 1) for option, value in sent if option == "-H")
    (body,) = (value for option, value in sent if option == "-d")
    with Client(one.url) as stranger:
        answer = stranger.http.post(address, content=body, headers=headers)
    assert (command, answer.status_code, answer.text) == ("curl", 200, "{}")
    eventually(lambda: one.get("/runs", agent="by-hand")["items"])
    (run,) = one.get("/runs", agent="by-hand")["items"]
    assert [call["name"] for call in one.judged(run["id"])["calls"]] == ["search"]


def test_an_opentelemetry_collector_is_told_where_and_with_which_key(
    client: tuple[Client, str | None],
) -> None:
    one, key = client
    said = yaml.safe_load(filled(lines_of(one, "An OpenTelemetry Collector, one exporter more"), key))
    (name,) = said["service"]["pipelines"]["traces"]["exporters"]
    exporter = said["exporters"][name]
    headers = {"content-type": "application/x-protobuf", **exporter.get("headers", {})}
    with Client(one.url) as stranger:  # an otlphttp exporter adds the path itself
        address = f"{exporter['endpoint']}/v1/traces"
        answer = stranger.http.post(address, content=agent_request(new_id(), ["a"]), headers=headers)
    assert answer.status_code == 200

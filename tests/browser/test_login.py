"""A collector with keys in a real browser: logging in, being refused, and what its first page teaches."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from collector.access import new_key
from collector.server import running
from collector.store import open_store
from tests.support.chromium import Page
from tests.support.traces import settings


@dataclass(frozen=True)
class Keyed:
    """A running collector that wants keys."""

    url: str
    read: str
    ingest: str


Start = Callable[..., AbstractContextManager[Keyed]]


@pytest.fixture(autouse=True)
def _clean(page: Page) -> None:
    page.open("about:blank")
    page.command("Network.clearBrowserCookies")
    page.width(1280)
    page.problems.clear()


@pytest.fixture
def keyed(tmp_path: Path) -> Start:
    """Starts a collector with keys at `host`, to be asked at `name`."""

    @contextmanager
    def start(host: str, name: str, project: str = "default") -> Iterator[Keyed]:
        wanted = settings(tmp_path, host=host)
        store = open_store(wanted.store_url)
        read, ingest = (
            new_key(store, project=project, name=scope, scopes=[scope]) for scope in ("read", "ingest")
        )
        store.close()
        with running(wanted) as url:
            yield Keyed(url.replace(host, name), read, ingest)

    return start


def other_address() -> str:
    """An address of this machine beyond loopback: where its route out begins; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))  # reserved for documentation
        except OSError as error:
            pytest.fail(f"this test needs an IPv4 address beside loopback (ip addr add ...): {error}")
        found: str = probe.getsockname()[0]
    assert not found.startswith("127."), f"{found} is loopback; this test needs another address"
    return found


PLACES = {
    "loopback": lambda: ("127.0.0.1", "127.0.0.1"),
    "localhost": lambda: ("127.0.0.1", "localhost"),
    "beyond": lambda: ("0.0.0.0", other_address()),
}


@pytest.fixture(params=list(PLACES))
def guarded(keyed: Start, request: pytest.FixtureRequest) -> Iterator[Keyed]:
    with keyed(*PLACES[request.param]()) as started:
        yield started


def log_in(page: Page, key: str) -> None:
    """As a person does: type the key, press the button; gives back once another page has come."""
    page.evaluate("window.before = true; document.querySelector('input[name=key]').focus()")
    page.command("Input.insertText", text=key)
    page.click("form button")
    page.wait_for("!window.before && document.readyState === 'complete'")


def place(page: Page) -> Any:
    return page.evaluate("location.pathname + location.search")


def cookies(page: Page, url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.command("Network.getCookies", urls=[url])["cookies"]
    return found


def test_the_right_key_leads_to_the_runs_and_is_kept(page: Page, guarded: Keyed) -> None:
    page.open(f"{guarded.url}/")
    assert page.text("h1") == "This collector needs a key"
    log_in(page, guarded.read)
    assert (page.text("h1"), place(page)) == ("Overview", "/")
    page.open(f"{guarded.url}/?outcome=fail")
    assert page.text("h1") == "Runs"
    (kept,) = cookies(page, guarded.url)
    assert (kept["httpOnly"], kept["sameSite"]) == (True, "Strict")
    assert guarded.read not in page.evaluate("document.documentElement.outerHTML + document.cookie")
    assert [problem for problem in page.problems if "401" not in problem] == []


def test_a_wrong_key_is_told_and_the_right_one_then_leads_where_one_wanted_to_go(
    page: Page, guarded: Keyed
) -> None:
    page.open(f"{guarded.url}/runs/none")
    for wrong, said in (("pdk_wrong", "The key is not known."), (guarded.ingest, "scope read")):
        log_in(page, wrong)
        assert said in page.text(".warn")
        assert page.text("h1") == "This collector needs a key"
        assert cookies(page, guarded.url) == []
    log_in(page, guarded.read)
    assert (page.text("h1"), place(page)) == ("No such run", "/runs/none")


def test_a_filter_outlives_the_login(page: Page, guarded: Keyed) -> None:
    page.open(f"{guarded.url}/?outcome=fail&agent=a%26b")
    for key in ("pdk_wrong", guarded.read):
        log_in(page, key)
    assert (page.text("h1"), place(page)) == ("Runs", "/runs?outcome=fail&agent=a%26b")


def test_a_kept_key_that_may_not_read_can_be_replaced(page: Page, guarded: Keyed) -> None:
    page.command("Network.setCookie", name="pdoctor_key", value=guarded.ingest, url=guarded.url)
    page.open(f"{guarded.url}/?outcome=fail")
    assert page.text("h1") == "This collector needs a key"
    assert "This needs a key with scope read, this one has ingest." in page.text(".warn")
    log_in(page, guarded.read)
    assert (page.text("h1"), place(page)) == ("Runs", "/runs?outcome=fail")


def test_a_page_without_an_origin_cannot_log_in(page: Page, keyed: Start) -> None:
    """Its browser sends `Origin: null`, as ours did while our own pages hid where they came from."""
    with keyed("127.0.0.1", "127.0.0.1") as collector:
        page.open("about:blank")
        page.evaluate(
            f"document.body.innerHTML = `<form method=post action='{collector.url}/login'>"
            f"<input name=key value='{collector.read}'></form>`; document.querySelector('form').submit()"
        )
        page.wait_for("location.pathname === '/login' && document.readyState === 'complete'")
        assert "Origin is 'null'" in page.text("body")
        assert cookies(page, collector.url) == []


AGENT = """
import pdoctor_trace
@pdoctor_trace.tool
def search():
    return 1
search()
"""
PLAIN_OPENTELEMETRY = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
provider.get_tracer("t").start_span("execute_tool search", attributes=about).end()
"""


@pytest.mark.parametrize(("program", "prefix"), [(AGENT, "PDOCTOR_"), (PLAIN_OPENTELEMETRY, "OTEL_")])
@pytest.mark.parametrize("beyond", ["loopback", "beyond"])
def test_the_lines_of_the_empty_page_bring_the_first_span(
    page: Page, keyed: Start, program: str, prefix: str, beyond: str
) -> None:
    with keyed(*PLACES[beyond](), project="shop") as collector:
        page.open(f"{collector.url}/")
        log_in(page, collector.read)
        assert "pdoctor keys create --scope ingest --project shop" in page.texts(".setup pre")
        lines = [line for text in page.texts(".setup pre") for line in text.splitlines()]
        variables = [line for line in lines if line.startswith(prefix) and " " not in line]
        assert len(variables) == 2
        said = dict(line.replace("pdk_...", collector.ingest).split("=", 1) for line in variables)
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **said},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        page.wait_for("document.querySelectorAll('table.runs tbody tr').length === 1", seconds=15)


def test_pages_about_keys_fit_a_narrow_window(page: Page, keyed: Start) -> None:
    with keyed("127.0.0.1", "127.0.0.1") as collector:
        page.width(380)
        page.open(f"{collector.url}/")
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        log_in(page, collector.read)
        assert "PDOCTOR_API_KEY=pdk_..." in page.text(".setup")
        assert "--project" not in page.text(".setup")
        assert page.evaluate("document.documentElement.scrollWidth") <= 380

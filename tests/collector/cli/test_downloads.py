"""Files at addresses of the web: what is taken, what is refused, and in which words."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from collector.cli.downloads import downloaded, shown
from collector.cli.runs import command
from synth.errors import BadInput
from tests.support.traces import Client

BODY = b'{"messages": []}\n' * 10
ANSWERS: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/file": (200, {}, BODY),
    "/packed": (200, {"Content-Encoding": "gzip"}, gzip.compress(b"a" * 5000)),
    "/empty": (200, {}, b""),
    "/page": (200, {"Content-Type": "text/html; charset=utf-8"}, b"<html>"),
    "/gone": (410, {}, b"no"),
    "/moved": (302, {"Location": "/file"}, b""),
    "/round": (302, {"Location": "/round"}, b""),
    "/inside": (302, {"Location": "file:///etc/passwd"}, b""),
    "/nowhere": (301, {"Location": "http://127.0.0.1:1/x"}, b""),
    "/runs.jsonl": (200, {}, b'{"run_id": "from-the-web", "calls": [{"name": "pay"}]}'),
    "/short": (200, {"Content-Length": "90"}, BODY[:50]),
}


class Answers(BaseHTTPRequestHandler):
    asked: list[dict[str, str]] = []  # noqa: RUF012 - what all requests had

    def do_GET(self) -> None:
        self.asked.append(dict(self.headers))
        status, headers, body = ANSWERS[self.path.partition("?")[0]]
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.mark.parametrize("path", ["/file", "/moved"])
def test_a_file_is_read_from_its_beginning(web: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDOCTOR_API_KEY", "secret")
    Answers.asked.clear()
    with downloaded(web + path) as stream:
        assert stream.read() == BODY
    assert not any("Authorization" in headers for headers in Answers.asked)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        pytest.param("/gone", "/gone answered 410 Gone", id="status"),
        pytest.param("/empty", "/empty is empty", id="empty"),
        pytest.param("/page", "/page is a web page, not a file: give the address of the file", id="page"),
        pytest.param("/round", "/round redirects more than 5 times", id="round"),
        pytest.param("/inside", "redirects to file:///etc/passwd: expected an address", id="scheme"),
        pytest.param("/nowhere", "http://127.0.0.1:1/x cannot be read: ", id="no-server"),
        pytest.param("/short", "/short cannot be read: ", id="broken-off"),
        pytest.param("/file?", "/file has more than 100 bytes: download it, and split it", id="length"),
        pytest.param("/packed", "/packed has more than 100 bytes", id="unpacked"),
    ],
)
def test_what_is_no_file_is_told(web: str, path: str, said: str) -> None:
    with pytest.raises(BadInput) as told:
        downloaded(web + path, most_bytes=100)
    assert said in str(told.value)


def test_runs_at_an_address_come_into_a_collector(shared: Client, web: str) -> None:
    source = f"{web.replace('//', '//me:secret@')}/runs.jsonl?signature=secret"
    said = CliRunner().invoke(command, ["import", source, "--collector", shared.url])
    shown_as = f"{web}/runs.jsonl?...: 1 run (run records or conversations)"
    assert (said.exit_code, said.output.splitlines()) == (0, [shown_as, f"Look: {shared.url}/"])
    missing = CliRunner().invoke(command, ["import", f"{web}/gone", "--collector", shared.url])
    assert (missing.exit_code, missing.output) == (2, f"pdoctor: {web}/gone answered 410 Gone\n")


def test_what_takes_too_long_is_left(web: str) -> None:
    with pytest.raises(BadInput, match="takes too long"):
        downloaded(f"{web}/file", most_seconds=-1.0)


def test_an_encrypted_address_does_not_lead_to_one_that_is_not() -> None:
    from collector.cli.downloads import _next

    with pytest.raises(BadInput, match=r"redirects to http://b/y, which is not encrypted"):
        _next("https://a/x", "http://b/y")
    assert _next("https://a/x", "/y") == "https://a/y"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        pytest.param("https://me:secret@a.org/x.json", "https://a.org/x.json", id="password"),
        pytest.param("https://a.org/x.json?sig=secret", "https://a.org/x.json?...", id="signature"),
    ],
)
def test_secrets_of_an_address_are_not_shown(url: str, said: str) -> None:
    assert shown(url) == said

"""What an outsider, a key of too small a scope, another project or a hostile page cannot do."""

from __future__ import annotations

import hmac
import http.client
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx
import pytest

from collector import access
from collector.access import Gate, new_key
from collector.errors import BadRequest, Unauthorized
from collector.notify import webhooks
from collector.origins import LOOPBACK_HINT
from collector.server import BoundedHeads, running
from collector.settings import Settings
from collector.store import keys, open_store
from tests.support.traces import PROTOBUF, Client, agent_request, case_json, new_id, settings

POLICY = "actions: {a: a}\npolicies:\n  - {id: p, text: secret-text, rule: A must happen at most 1 time.}\n"
SECRET = "secret-"
OPEN_TO_ALL = {"/healthz", "/readyz", "/login", "/logout", "/static/{name}", "/favicon.ico"}
OPEN_TO_ALL_KEYS = {"/openapi.json", "/docs"}
PAGES = [
    "/", "/runs/{run_id}", "/runs/{run_id}/spans/{span_id}", "/campaigns", "/campaigns/{campaign_id}",
    "/campaigns/{campaign_id}/state", "/compare", "/runs", "/findings", "/policies", "/policies/{name}",
    "/cases", "/cases/{case_id}", "/runs/{run_id}/case", "/alerts", "/approvals", "/settings",
    "/metrics-explorer",
    *OPEN_TO_ALL_KEYS,
]  # fmt: skip
BODIES = {
    "/api/v1/alerts/{alert}/silence": b'{"for": "1h"}',
    "/api/v1/approvals/{approval}": b'{"decision": "refuse"}',
    "/api/v1/runs/{run_id}/labels": b'{"rule": "case:x", "label": "verdict_wrong"}',
}
"""What would be done, were it one's own; everywhere else `{}` is sent."""


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


class Fleet:
    """A collector with two projects: `mine` holds secrets, `theirs` has a key of each scope."""

    def __init__(self, client: Client) -> None:
        self.http = client.http
        self.root = self.key("root", "admin")
        self.theirs = {
            scope: self.key(scope, scope, project="theirs", token=self.root) for scope in access.SCOPES
        }
        self.run, self.case = new_id(), f"{SECRET}case"
        client.http.headers.update(bearer(self.root))
        assert client.post("/cases", case_json(self.case, "a < b")).status_code == 201
        assert self.http.put("/api/v1/policies/secret-policy", content=POLICY).status_code == 200
        calls = [{"name": f"{SECRET}tool", "result": f"{SECRET}result"}, "do_b", "do_a"]
        body = agent_request(self.run, calls, case=self.case, agent=f"{SECRET}agent")
        assert client.send(body, {**PROTOBUF, **bearer(self.root)}).status_code == 200
        client.judged(self.run)
        hook = client.post("/webhooks", {"url": "http://127.0.0.1:1/secret-hook"})
        assert hook.status_code == 201, hook.text
        self.hook = hook.json()["id"]
        rule = {"name": f"{SECRET}alert", "kind": "webhook", "to": "http://127.0.0.1:1/secret-alert"}
        alert = client.post("/alerts", rule)
        assert alert.status_code == 201, alert.text
        self.alert = alert.json()["id"]
        question = client.post("/approvals", {"tool": f"{SECRET}tool", "text": f"{SECRET}text"})
        assert question.status_code == 200, question.text
        self.approval = question.json()["id"]
        headers = bearer(self.root)
        for path, said in self.said().items():
            answer = self.http.put(f"/api/v1{path}", json=said, headers=headers)
            assert answer.status_code == 200, answer.text
        self.campaign = new_id()
        said = {"id": self.campaign, "verb": "test", "name": f"{SECRET}campaign"}
        assert client.post("/campaigns", said).status_code == 201
        self.values = {
            "run_id": self.run, "case_id": self.case, "name": "secret-policy", "span_id": f"{2:016x}",
            "key_id": self.root.split("_")[1], "webhook": str(self.hook),
            "campaign_id": self.campaign, "alert": str(self.alert), "approval": self.approval,
        }  # fmt: skip
        del client.http.headers["authorization"]

    def said(self) -> dict[str, dict[str, str]]:
        """A view, a waiver and a label of the project that holds secrets."""
        waiver = {"rule": "policy:x", "state": "waived", "reason": f"{SECRET}reason", "version": "1"}
        label = {"rule": "case:x", "label": "verdict_right", "note": f"{SECRET}note"}
        return {
            "/views/secret-policy": {"query": f"tool:{SECRET}tool"}, "/findings/groups": waiver,
            f"/runs/{self.run}/labels": label,
        }  # fmt: skip

    def key(self, name: str, *scopes: str, token: str | None = None, **more: str) -> str:
        body = {"name": name, "scopes": list(scopes), **more}
        answer = self.http.post("/api/v1/keys", json=body, headers=bearer(token) if token else {})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["key"])

    def routes(self) -> list[tuple[str, str]]:
        """(method, address) of everything that the API describes, and of every page."""
        described = self.http.get("/openapi.json", headers=bearer(self.root)).json()["paths"]
        api = [(method.upper(), path) for path, methods in described.items() for method in methods]
        return [*api, *(("GET", path) for path in PAGES)]

    def ask(self, method: str, path: str, token: str | None, **more: Any) -> httpx.Response:
        content = BODIES.get(path, b"{}")
        if (method, path) == ("DELETE", "/api/v1/runs/{run_id}/labels"):
            more["params"] = {"rule": "case:x"}
        for name, value in self.values.items():
            path = path.replace(f"{{{name}}}", value)
        assert "{" not in path, f"the test knows no value for {path}"
        headers = bearer(token) if token else {}
        body = {} if method == "GET" else {"content": content}
        return self.http.request(method, path, headers=headers, **body, **more)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    allowed = settings(folder, webhook_hosts=("127.0.0.1",), webhook_private=True)
    with running(allowed) as url, Client(url) as client:
        yield Fleet(client)


def needed_scope(method: str, path: str) -> str:
    """What docs/production.md promises; written down here once more, by hand."""
    if any(word in path for word in ("/keys", "/audit", "/settings", "/webhooks", "/projects", "/alerts")):
        return "admin"
    if method == "POST" and path in ("/api/v1/runs", "/api/v1/approvals"):
        return "ingest"
    only_reads = path in ("/api/v1/check", "/api/v1/policies/try", "/api/v1/guard")
    return "read" if method == "GET" or only_reads else "write"


def test_every_route_needs_a_key_with_its_scope_and_takes_no_other(fleet: Fleet) -> None:
    refused: dict[str, list[str]] = {}
    routes = [(method, path) for method, path in fleet.routes() if path not in OPEN_TO_ALL]
    assert len(routes) > 20
    for method, path in routes:
        if path.startswith("/v1/"):
            continue
        assert fleet.ask(method, path, None).status_code == 401, (method, path)
        assert fleet.ask(method, path, "pdk_wrong").status_code == 401, (method, path)
        allowed = {needed_scope(method, path), "admin"}
        if (method, path) == ("POST", "/api/v1/projects"):
            allowed = set()  # for admins of the project `default` only
        if path == "/metrics":
            allowed.add("metrics")
        if path in OPEN_TO_ALL_KEYS:
            allowed = set(access.SCOPES)
        for scope, token in fleet.theirs.items():
            status = fleet.ask(method, path, token).status_code
            if (status != 403) != (scope in allowed) and status not in (400, 404):
                refused.setdefault(f"{method} {path}", []).append(f"{scope}: {status}")
            if scope not in allowed:
                assert status == 403, (method, path, scope)
    assert refused == {}


def test_a_page_that_saves_policies_wants_the_scope_that_the_api_wants(fleet: Fleet) -> None:
    rules = POLICY.replace(SECRET, "")
    for scope, token in fleet.theirs.items():
        form = {"text": rules, "do": "save", "name": f"by-{scope}"}
        page = fleet.http.post("/policies/new", data=form, headers=bearer(token))
        api = fleet.http.put(f"/api/v1/policies/{scope}", content=rules, headers=bearer(token))
        assert (page.status_code == 403, page.status_code in (200, 303)) == (
            api.status_code == 403, api.status_code == 200,
        ), scope  # fmt: skip
        tried = fleet.http.post("/policies/new", data={**form, "do": "try"}, headers=bearer(token))
        assert (tried.status_code == 403) is (scope not in ("read", "admin")), scope


def test_nothing_of_another_project_is_shown_changed_or_hinted_at(fleet: Fleet) -> None:
    token = fleet.theirs["admin"]
    for method, path in fleet.routes():
        if path in OPEN_TO_ALL or path.startswith("/v1/"):
            continue
        answer = fleet.ask(method, path, token)
        assert SECRET not in answer.text.replace(fleet.case, "").replace("secret-policy", ""), (method, path)
        if "{" in path:
            unknown = {**fleet.values, "webhook": "987654", "alert": "987654", "name": "no-such",
                       "case_id": "no-such", "key_id": "nosuchkey000", "run_id": new_id(),
                       "campaign_id": new_id()}  # fmt: skip
            assert answer.status_code in (400, 404), (method, path, answer.status_code)
            real, fleet.values = fleet.values, unknown
            try:
                assert fleet.ask(method, path, token).status_code == answer.status_code, (method, path)
            finally:
                fleet.values = real
    own = fleet.http.get(f"/api/v1/runs/{fleet.run}", headers=bearer(fleet.root))
    assert own.json()["outcome"] == "fail"
    active = [
        hook["id"] for hook in fleet.http.get("/api/v1/webhooks", headers=bearer(fleet.root)).json()["items"]
    ]
    assert active == [fleet.hook]
    (alert,) = fleet.http.get("/api/v1/alerts", headers=bearer(fleet.root)).json()["items"]
    assert (alert["id"], alert["silenced_until"]) == (fleet.alert, None)
    (view,) = fleet.http.get("/api/v1/views", headers=bearer(fleet.root)).json()["items"]
    assert view["query"] == f"tool:{SECRET}tool"
    (label,) = fleet.http.get("/api/v1/labels", headers=bearer(fleet.root)).json()["items"]
    assert (label["label"], label["note"]) == ("verdict_right", f"{SECRET}note")
    assert fleet.http.get("/api/v1/policies", headers=bearer(fleet.root)).json()["items"]
    record = {"run_id": "r", "case_id": fleet.case, "query": "", "tools": [], "calls": []}
    checked = fleet.http.post("/api/v1/check", json=record, headers=bearer(token))
    assert (checked.status_code, SECRET in checked.text.replace(fleet.case, "")) == (400, False)


def test_a_cursor_or_a_filter_of_another_project_opens_nothing(fleet: Fleet) -> None:
    for listing in ("runs", "findings", "audit", "cases", "campaigns"):
        first = fleet.http.get(f"/api/v1/{listing}?limit=1", headers=bearer(fleet.root)).json()
        assert first["items"], listing
        cursor = first["cursor"]
        theirs = fleet.http.get(
            f"/api/v1/{listing}",
            params={"cursor": cursor, "limit": 1000},
            headers=bearer(fleet.theirs["admin"]),
        ).json()
        assert all(SECRET not in str(item) for item in theirs["items"]), listing
    for name, value in (("case", fleet.case), ("tool", f"{SECRET}tool"), ("agent", f"{SECRET}agent")):
        found = fleet.http.get("/api/v1/runs", params={name: value}, headers=bearer(fleet.theirs["read"]))
        assert found.json()["items"] == []
        page = fleet.http.get("/", params={name: value}, headers=bearer(fleet.theirs["read"]))
        assert fleet.run not in page.text


def test_only_admins_of_the_default_project_make_keys_of_other_projects(fleet: Fleet) -> None:
    def make(token: str, project: str) -> int:
        body = {"name": "x", "scopes": ["read"], "project": project}
        return fleet.http.post("/api/v1/keys", json=body, headers=bearer(token)).status_code

    assert make(fleet.theirs["admin"], "theirs") == 201
    assert make(fleet.theirs["admin"], "default") == 403
    assert make(fleet.theirs["admin"], "brand-new") == 403
    assert make(fleet.root, "brand-new") == 201


def test_a_revocation_works_at_once_also_where_the_key_is_just_being_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    token = new_key(store, project="default", name="x", scopes=["read"])
    gate = Gate(store)
    real = keys.find_key

    def slow(connection: Any, key_id: str) -> Any:
        found = real(connection, key_id)
        monkeypatch.setattr(keys, "find_key", real)
        keys.revoke_key(store, 1, key_id, now=0)
        gate.forget()
        return found

    monkeypatch.setattr(keys, "find_key", slow)
    assert gate.grant(token, "read").project == 1  # it was looked up before the revocation
    with pytest.raises(Unauthorized):
        gate.grant(token, "read")
    store.close()


class Watched(bytes):
    """A digest that notices when it is compared the way that stops at the first difference."""

    looked: ClassVar[list[str]] = []

    def __eq__(self, other: object) -> bool:
        Watched.looked.append("==")
        return bytes(self) == other

    __hash__ = bytes.__hash__

    def __getitem__(self, at: Any) -> Any:
        Watched.looked.append("[]")
        return bytes.__getitem__(self, at)

    def startswith(self, *_args: Any) -> bool:
        Watched.looked.append("startswith")
        return False


def comparisons(gate: Gate, tokens: list[str], monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Lengths that each token's comparison saw; looks that stop early are in `Watched.looked`."""
    seen: list[tuple[int, int]] = []
    compare = access.hmac.compare_digest

    def noted(ours: bytes, stored: bytes) -> bool:
        seen.append((len(ours), len(stored)))
        return compare(ours, Watched(stored)) or False

    monkeypatch.setattr(access.hmac, "compare_digest", noted)
    Watched.looked.clear()
    for token in tokens:
        with pytest.raises(Unauthorized):
            gate.grant(token, "read")
    monkeypatch.setattr(access.hmac, "compare_digest", compare)
    return seen


def test_a_key_is_compared_in_constant_time_and_an_early_exit_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known or unknown id, right or wrong beginning: one comparison of two digests of 32 bytes."""
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    token = new_key(store, project="default", name="x", scopes=["read"])
    gate = Gate(store)
    last = "A" if token[-1] != "A" else "B"
    wrong = [token[:-1] + last, token[:17] + "A" * 43, "pdk_" + "A" * 12 + "_" + "A" * 43, "nonsense"]
    assert comparisons(gate, wrong, monkeypatch) == [(32, 32)] * 4
    assert Watched.looked == []
    assert gate.grant(token, "read").project == 1

    monkeypatch.setattr(
        access, "hmac", type("Planted", (), {"compare_digest": staticmethod(lambda a, b: b == a)})
    )
    comparisons(gate, wrong, monkeypatch)
    assert Watched.looked == ["=="] * 4
    store.close()


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
     "224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "fec0::1",
     "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::a00:1",
     "64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a00:1::1", "2001:db8::1", "2001:0:7f00:1::"],
)  # fmt: skip
def test_no_private_address_is_public_in_any_of_its_forms(address: str) -> None:
    assert not webhooks.is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_are_public(address: str) -> None:
    assert webhooks.is_public(address)


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "127。0。0。1", "①27.0.0.1", "localhost"],
)
def test_other_spellings_of_this_machine_are_refused(host: str) -> None:
    """Even where whoever runs the collector lists the name: what counts is the address it stands for."""
    with pytest.raises(OSError, match="not a public address"):
        webhooks.post(f"http://{host}/", "s", b"{}", private=False, now=0)


@pytest.mark.parametrize(
    "url",
    ["http://[::1", "http://ok.example:99999/", "http://ok.example:0/", "http://ok.example\\@evil.example/",
     "http://evil.example#@ok.example/", "http://ok.example@evil.example/", "http://OK.example.evil.example/",
     "http://ok.example./", "http://ok.example/\r\nX-Evil: 1", "http://ok.example/a b", "//ok.example/", "http://",
     "gopher://ok.example/", "http://ok。example/"],
)  # fmt: skip
def test_an_address_that_only_looks_allowed_is_not(url: str) -> None:
    with pytest.raises(BadRequest):
        webhooks.check_address(url, Settings(webhook_hosts=("ok.example",)))


def test_an_allowed_host_is_allowed_in_any_case() -> None:
    webhooks.check_address("https://HOOKS.example:8443/x?y", Settings(webhook_hosts=("Hooks.Example",)))


Answer = Callable[[socket.socket], None]


@contextmanager
def server(answer: Answer) -> Iterator[tuple[int, list[bytes]]]:
    """(port, requests) of a server that treats every connection as `answer` says."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    got.append(connection.recv(65536))
                    answer(connection)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1], got
        finally:
            stop.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(15)


def ok(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with server(ok) as (inner, reached):

        def away(connection: socket.socket) -> None:
            place = f"http://127.0.0.1:{inner}/admin".encode()
            connection.sendall(b"HTTP/1.1 302 Found\r\nlocation: " + place + b"\r\ncontent-length: 0\r\n\r\n")

        with server(away) as (port, got):
            status = webhooks.post(f"http://127.0.0.1:{port}/", "s", b"{}", private=True, now=0)
            assert (status, len(got)) == (302, 1)
        assert reached == []


def test_the_address_that_was_checked_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: a second look-up, which would lead elsewhere, never happens."""
    asked: list[str] = []
    reached: list[tuple[str, int]] = []

    def lookup(host: str, port: int, **_more: Any) -> list[Any]:
        asked.append(host)
        address = "203.0.113.7" if len(asked) > 1 else "93.184.216.34"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(address: tuple[str, int], _timeout: float) -> socket.socket:
        reached.append(address)
        assert ipaddress.ip_address(address[0])
        raise ConnectionRefusedError("no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(ConnectionRefusedError):
        webhooks.post("http://rebind.example:8080/x", "s", b"{}", private=False, now=0)
    assert (asked, reached) == (["rebind.example"], [("93.184.216.34", 8080)])


def test_one_private_address_among_public_ones_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, 80)) for a in ("8.8.8.8", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: found)
    with pytest.raises(OSError, match=r"10\.0\.0\.1"):
        webhooks.post("http://both.example/", "s", b"{}", private=False, now=0)


def test_an_answer_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT", 0.5)
    done = threading.Event()

    def drip(connection: socket.socket) -> None:
        try:
            for byte in b"HTTP/1.1 200 OK" + b"!" * 100:
                connection.sendall(bytes([byte]))
                if done.wait(0.1):
                    return
        except OSError:
            pass

    with server(drip) as (port, _got):
        with pytest.raises(OSError, match=r"HTTP|reset|closed|Remote"):
            webhooks.post(f"http://127.0.0.1:{port}/", "s", b"{}", private=True, now=0)
        done.set()


def raw(url: str, request: bytes, seconds: float = 10) -> bytes:
    """Bytes out, bytes in, until the server closes or has said something."""
    with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), seconds) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        try:
            return connection.recv(65536)
        except ConnectionResetError:
            return b"reset"


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/%2e%2e/app.py", "/static/..%5capp.py",
     "/static//etc/passwd", "/static/%00", "/static/style.css%00.svg", "/runs/..%2f..%2fetc%2fpasswd",
     "/api/v1/runs/..%2f..%2f", "/docs/../../etc/passwd", "/api/v1/policies/..%2f..%2fx", "//etc/passwd"],
)  # fmt: skip
def test_no_path_leads_to_a_file(shared: Client, path: str) -> None:
    answer = raw(shared.url, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b" ")[1] in (b"404", b"400"), answer[:200]
    assert b"root:" not in answer
    assert b"import" not in answer


@pytest.mark.parametrize("path", ["/runs", "/api/v1/runs"])
def test_an_address_without_end_is_not_taken_apart(shared: Client, path: str) -> None:
    assert shared.http.get(f"{path}?other={'x' * (8192 - 6)}").status_code == 200
    answer = shared.http.get(f"{path}?other={'x' * (8193 - 6)}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (414, "too_long")
    assert "8193 bytes, the limit is 8192" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:4318", "",
     "localhost@evil", "evil.example#localhost", "10.0.0.5", "[::2]", "localhost:80@evil.example",
     "localhost,evil", "0.0.0.0"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/api/v1/runs", "/v1/traces", "/healthz"])
def test_on_loopback_only_its_own_names_are_answered(shared: Client, host: str, path: str) -> None:
    answer = shared.http.get(path, headers={"host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden_host")


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "LOCALHOST:4318", "127.0.0.1:1", "[::1]:4318", "127.9.9.9"]
)
def test_the_own_names_are_answered(shared: Client, host: str) -> None:
    assert shared.http.get("/healthz", headers={"host": host}).status_code == 200


def test_two_host_headers_do_not_help(shared: Client) -> None:
    for first, second in (("localhost", "evil.example"), ("evil.example", "localhost")):
        head = f"GET /api/v1/runs HTTP/1.1\r\nHost: {first}\r\nHost: {second}\r\nConnection: close\r\n\r\n"
        assert raw(shared.url, head.encode()).split(b" ")[1] in (b"403", b"400")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", "file://"]
)
def test_pages_of_other_origins_change_nothing(shared: Client, origin: str) -> None:
    """Every request that changes something, over the API, the pages and OTLP alike."""
    described = shared.http.get("/openapi.json").json()["paths"]
    routes = [(m.upper(), p) for p, methods in described.items() for m in methods if m != "get"]
    routes += [("POST", "/login"), ("POST", "/logout"), ("POST", "/v1/traces")]
    for method, path in routes:
        answer = shared.http.request(
            method, path.replace("{", "").replace("}", ""), headers={"origin": origin}
        )
        assert answer.status_code == 403, (method, path)


def test_a_refusal_says_what_to_do_where_the_collector_listens(shared: Client, tmp_path: Path) -> None:
    def hint(client: Client, headers: dict[str, str]) -> str:
        answer = client.http.post("/login", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden_host")
        said: str = answer.json()["error"]["hint"]
        return said

    foreign = {"origin": "https://traces.example"}
    assert hint(shared, {"host": "evil.example"}) == LOOPBACK_HINT
    own_pages = "use the pages of this collector; a proxy before it must pass on the Host that it was sent"
    assert hint(shared, foreign) == own_pages
    everywhere = settings(tmp_path, host="0.0.0.0", insecure=True, checkers=0)
    with running(everywhere) as url, Client(url.replace("0.0.0.0", "127.0.0.1")) as client:
        assert hint(client, foreign) == own_pages


def test_a_form_of_the_page_itself_works(shared: Client) -> None:
    answer = shared.http.post("/logout", headers={"origin": shared.url})
    assert answer.status_code == 303


@pytest.mark.parametrize(
    "target",
    ["/\r\nSet-Cookie: x=1", "/%0d%0aSet-Cookie: x=1", "/\t/evil.example", "/\\evil.example",
     "https://evil.example", "//evil.example", "javascript:alert(1)", ""],
)  # fmt: skip
def test_a_login_leads_to_no_other_site_and_into_no_header(fleet: Fleet, target: str) -> None:
    answer = fleet.http.post("/login", data={"key": fleet.theirs["read"], "next": target})
    place = answer.headers["location"]
    assert answer.status_code == 303
    assert place.startswith("/")
    assert not place.startswith(("//", "/\\", "/\t"))
    assert [name for name in answer.headers if name == "set-cookie"] == ["set-cookie"]
    assert "x=1" not in answer.headers["set-cookie"]


def test_answers_may_load_nothing_be_framed_nowhere_and_not_be_sniffed(fleet: Fleet) -> None:
    for path in (
        "/",
        "/docs",
        f"/runs/{fleet.run}",
        "/login",
        "/static/style.css",
        "/api/v1/runs",
        "/nothing",
    ):
        headers = fleet.http.get(path, headers=bearer(fleet.root)).headers
        policy = dict(
            part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";")
        )
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == "'none'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def test_a_head_without_end_is_cut_off(shared: Client) -> None:
    for head in (b"GET /" + b"x" * 300_000, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 3_000_000,
                 b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 500_000):  # fmt: skip
        answer = raw(shared.url, head)
        assert answer.startswith(b"HTTP/1.1 431") or answer == b"reset"
    assert shared.http.get("/healthz").status_code == 200


def test_a_head_that_never_comes_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedHeads, "head_seconds", 0.3)
    with running(settings(tmp_path, checkers=0)) as url:
        assert raw(url, b"GET / HTTP/1.1\r\n").startswith(b"HTTP/1.1 408")
        connection = http.client.HTTPConnection("127.0.0.1", urlsplit(url).port or 0, timeout=60)
        body = agent_request(new_id(), ["a"] * 3000)  # bigger than one read: its end is no head
        for _ in range(3):
            connection.request("POST", "/v1/traces", body, dict(PROTOBUF))
            assert connection.getresponse().read() == b""
        connection.close()


def test_a_signature_fits_its_body_and_time_only() -> None:
    signature = webhooks.sign("secret", b"{}", 1000.9)
    expected = hmac.new(b"secret", b"1000.{}", "sha256").hexdigest()
    assert signature == f"t=1000,v1={expected}"
    assert len({signature, webhooks.sign("secret", b"{ }", 1000), webhooks.sign("secret", b"{}", 1001)}) == 3

"""Fronts before a collector: whose word is taken for who sends, and keys that come in clear."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from collector import fronts
from collector.access import new_key
from collector.errors import BadStore
from collector.fronts import Fronts, InClear, Sender
from collector.server import running
from collector.settings import Settings
from collector.store import open_store
from synth.errors import BadInput
from tests.support.traces import Client, agent_spans, free_port, new_id, request, settings

FRONT = Sender("10.0.0.7", "http")
TRUSTED = ("10.0.0.0/24", "2001:db8::1")


@pytest.mark.parametrize(
    ("seen", "headers", "found"),
    [
        (FRONT, [], FRONT),
        (FRONT, [("x-forwarded-for", "203.0.113.9")], Sender("203.0.113.9", "http")),
        (FRONT, [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-proto", "https")],
         Sender("203.0.113.9", "https")),
        (FRONT, [("x-forwarded-for", "6.6.6.6, 203.0.113.9,10.0.0.8")], Sender("203.0.113.9", "http")),
        (FRONT, [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "203.0.113.9")],
         Sender("203.0.113.9", "http")),
        (FRONT, [("x-forwarded-for", "10.0.0.3, 10.0.0.8")], Sender("10.0.0.3", "http")),
        (FRONT, [("x-forwarded-for", "x" * 500)], Sender("x" * 100, "http")),
        (Sender("::ffff:10.0.0.7", "http"), [("x-forwarded-for", "203.0.113.9")],
         Sender("203.0.113.9", "http")),
        (Sender("2001:db8::1", "http"), [("x-forwarded-proto", "HTTPS")], Sender("2001:db8::1", "https")),
        (Sender("10.0.0.7", "https"), [("x-forwarded-proto", "http")], Sender("10.0.0.7", "http")),
        (Sender("10.0.1.7", "http"), [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-proto", "https")],
         Sender("10.0.1.7", "http")),
        (Sender("unix", "http"), [("x-forwarded-for", "6.6.6.6")], Sender("unix", "http")),
    ],
    ids=["nothing said", "one", "protected", "forged before it", "two headers", "all are fronts",
         "no address", "v4 as v6", "v6", "not protected there", "a stranger's word", "no address here"],
)  # fmt: skip
def test_the_last_whom_no_front_trusts_is_the_sender(
    seen: Sender, headers: list[tuple[str, str]], found: Sender
) -> None:
    given = [(name.encode(), value.encode()) for name, value in headers]
    assert Fronts(TRUSTED).sender(seen, given) == found
    assert Fronts(()).sender(seen, given) == seen


@pytest.mark.parametrize("named", ["front.example", "10.0.0.0/33", ""])
def test_a_front_is_named_by_its_address(named: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected 10"), running(settings(tmp_path, trusted_proxies=(named,))):
        pass
    assert not (tmp_path / "store.db").exists()


KEY = (b"authorization", b"bEARER pdk_x")
COOKIE = (b"cookie", b"a=b; pdoctor_key=pdk_x")
FAR = Sender("203.0.113.9", "http")


@pytest.mark.parametrize(
    ("sender", "headers", "path", "warned"),
    [
        (FAR, [KEY], "/", True),
        (FAR, [COOKIE], "/", True),
        (FAR, [], "/login", True),
        (FAR, [(b"authorization", b"Basic eDp5")], "/", False),
        (FAR, [(b"cookie", b"theme=dark")], "/", False),
        (Sender("203.0.113.9", "https"), [KEY], "/login", False),
        (Sender("127.0.0.8", "http"), [KEY], "/", False),
        (Sender("::1", "http"), [KEY], "/", False),
        (Sender("::ffff:127.0.0.1", "http"), [KEY], "/", False),
        (Sender("unix:/x", "http"), [KEY], "/", True),
    ],
    ids=["header", "cookie", "login", "no key of ours", "no key", "protected", "loopback", "loopback v6",
         "loopback as v6", "unknown"],
)  # fmt: skip
def test_a_key_that_a_network_has_seen_is_told(
    sender: Sender, headers: list[tuple[bytes, bytes]], path: str, warned: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    seen = InClear()
    seen.look(sender, headers, path)
    seen.look(sender, headers, path)
    assert seen.requests == 2 * warned
    assert len(caplog.messages) == warned
    assert "pdk_" not in caplog.text


def test_an_address_is_told_again_later_and_addresses_are_not_kept_for_ever(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = InClear()
    monkeypatch.setattr(fronts, "TELL_AGAIN_SECONDS", 0.0)
    for _ in range(2):
        seen.look(FAR, [KEY])
    assert len(caplog.messages) == 2
    monkeypatch.setattr(fronts, "TELL_AGAIN_SECONDS", 60.0)
    for number in range(2 * fronts.TOLD_ADDRESSES):
        seen.look(Sender(f"10.1.{number // 250}.{number % 250}", "http"), [KEY])
    assert len(seen._told) <= fronts.TOLD_ADDRESSES


def with_key(given: Settings) -> str:
    store = open_store(given.store_url)
    key = new_key(store, project="default", name="n", scopes=["admin"])
    store.close()
    return key


def test_behind_a_front_the_pages_know_what_the_visitor_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The front says https: the cookie is secure, the page's example too; a plain front is told of."""
    named = {"host_names": ("traces.example",), "trusted_proxies": ("127.0.0.1",), "checkers": 0}
    port = free_port()
    given = settings(tmp_path, **named, grpc_port=port)
    key = with_key(given)
    front = {"host": "traces.example", "x-forwarded-for": "203.0.113.9"}
    protected = {**front, "x-forwarded-proto": "https"}
    bearer = {"authorization": f"Bearer {key}"}
    with running(given) as url, Client(url) as client:
        login = client.http.post("/login", data={"key": key}, headers=protected)
        assert "; Secure" in login.headers["set-cookie"]
        assert "https://traces.example" in client.http.get("/", headers={**protected, **bearer}).text
        assert not caplog.messages
        assert (
            "; Secure"
            not in client.http.post("/login", data={"key": key}, headers=front).headers["set-cookie"]
        )
        assert [one for one in caplog.messages if "a key came in clear from 203.0.113.9" in one]
        caplog.clear()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            told = [("authorization", bearer["authorization"]), ("x-forwarded-for", "203.0.113.10")]
            body = request(*agent_spans(new_id(), ["a"]))
            TraceServiceStub(channel).Export(
                body, timeout=30, metadata=[*told, ("x-forwarded-proto", "https")]
            )
            assert not caplog.messages
            TraceServiceStub(channel).Export(body, timeout=30, metadata=told)
        assert [one for one in caplog.messages if "a key came in clear from 203.0.113.10" in one]
        lines = client.http.get("/metrics", headers={**protected, **bearer}).text.splitlines()
        assert "pdoctor_keys_in_clear_total 2" in lines


def test_without_the_setting_nobody_is_believed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = settings(tmp_path, checkers=0)
    key = with_key(given)
    said = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https"}
    with running(given) as url, Client(url) as client:
        login = client.http.post("/login", data={"key": key}, headers=said)
        assert "; Secure" not in login.headers["set-cookie"]
    assert not caplog.messages


def test_a_collector_on_loopback_answers_to_its_fronts_name_and_to_no_other(tmp_path: Path) -> None:
    given = settings(tmp_path, host_names=("traces.example",), checkers=0)
    key = {"authorization": f"Bearer {with_key(given)}"}
    with running(given) as url, Client(url) as client:
        names = {"traces.example": 200, "127.0.0.1": 200, "evil.example": 403}
        assert {
            name: client.http.get("/", headers={"host": name, **key}).status_code for name in names
        } == names


@pytest.mark.parametrize(
    "named", [{"host_names": ("traces.example",)}, {"trusted_proxies": ("127.0.0.1",)}], ids=["name", "front"]
)
def test_a_front_before_loopback_wants_keys_as_any_network_does(
    named: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    with pytest.raises(BadStore, match="no API key"), running(settings(tmp_path, **named, checkers=0)):
        pass
    with running(settings(tmp_path, **named, checkers=0, insecure=True)) as url, Client(url) as client:
        assert client.http.get("/readyz").status_code == 200

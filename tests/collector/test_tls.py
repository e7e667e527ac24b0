"""TLS for HTTP and gRPC: what official clients get, renewals, silent connections, what is no certificate."""

from __future__ import annotations

import logging
import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import httpx
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from collector import tls
from collector.access import new_key
from collector.memory import resident
from collector.server import running
from collector.service import certificate_of
from collector.settings import MIB, Settings
from collector.store import open_store
from collector.tls import Certificate
from synth.errors import BadInput
from tests.support.certificates import Made, make
from tests.support.traces import (
    Client,
    agent_request,
    agent_spans,
    eventually,
    free_port,
    metrics_of,
    new_id,
    request,
    settings,
)

DAY = 86_400.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, Made]:
    """Two certificates for the same names."""
    folder = tmp_path_factory.mktemp("certificates")
    return make(folder, "first"), make(folder, "second")


@pytest.fixture
def served(
    made: tuple[Made, Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, int, Made]]:
    """(address, gRPC port, the files that it reads) of a collector with the first certificate."""
    files, port = Made(tmp_path / "tls.crt", tmp_path / "tls.key"), free_port()
    made[0].copy_to(files.certificate, files.key)
    monkeypatch.setattr(tls, "LOOK_SECONDS", 0.02)
    given = settings(
        tmp_path,
        tls_cert=files.certificate,
        tls_key=files.key,
        grpc_port=port,
        checkers=0,
        max_connections=20,
    )
    with running(given) as url:
        yield url, port, files


def channel(port: int, trusted: Made) -> grpc.Channel:
    credentials = grpc.ssl_channel_credentials(trusted.certificate.read_bytes())
    return grpc.secure_channel(f"localhost:{port}", credentials)


def export(over: grpc.Channel) -> None:
    TraceServiceStub(over).Export(request(*agent_spans(new_id(), ["a"])), timeout=30)


def presented(url: str) -> bytes:
    """The certificate that a new connection is shown, DER."""
    place = httpx.URL(url)
    assert place.port is not None
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((place.host, place.port), timeout=30))


def der(one: Made) -> bytes:
    return ssl.PEM_cert_to_DER_cert(one.certificate.read_text())


def test_official_exporters_deliver_and_the_page_is_read(
    served: tuple[str, int, Made], made: tuple[Made, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # of a machine, it would win over the exporter's
        monkeypatch.delenv(name, raising=False)
    url, port, _ = served
    credentials = grpc.ssl_channel_credentials(made[0].certificate.read_bytes())
    exporters: list[SpanExporter] = [
        HttpExporter(f"{url}/v1/traces", certificate_file=str(made[0].certificate)),
        GrpcExporter(f"localhost:{port}", credentials=credentials),
    ]
    assert url.startswith("https://")
    with Client(url, verify=made[0].trusted) as client:
        for exporter in exporters:
            provider = TracerProvider()
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            with provider.get_tracer("t").start_as_current_span("work") as span:
                trace = f"{span.get_span_context().trace_id:032x}"
            provider.shutdown()
            assert [one["name"] for one in client.get(f"/runs/{trace}/spans")["items"]] == ["work"]
        assert f"{trace}" in client.http.get("/").text


def test_a_login_over_tls_gives_a_cookie_that_never_travels_in_clear(
    made: tuple[Made, Made], tmp_path: Path
) -> None:
    given = settings(tmp_path, tls_cert=made[0].certificate, tls_key=made[0].key, checkers=0)
    store = open_store(given.store_url)
    key = new_key(store, project="default", name="n", scopes=["read"])
    store.close()
    with running(given) as url, Client(url, verify=made[0].trusted) as client:
        assert "; Secure" in client.http.post("/login", data={"key": key}).headers["set-cookie"]


def test_who_speaks_no_tls_or_an_old_one_is_hung_up_on_and_harms_nobody(
    served: tuple[str, int, Made], made: tuple[Made, Made]
) -> None:
    url, port, _ = served
    with pytest.raises(httpx.TransportError):
        httpx.get(url.replace("https", "http") + "/healthz", trust_env=False)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as plain, pytest.raises(grpc.RpcError):
        TraceServiceStub(plain).Export(request(*agent_spans(new_id(), ["a"])), timeout=5)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.load_verify_locations(made[0].certificate)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{url}/healthz", verify=old, trust_env=False)
    with Client(url, verify=made[0].trusted) as client:
        assert client.http.get("/healthz").status_code == 200


def test_a_renewed_certificate_is_shown_to_new_connections_and_open_ones_go_on(
    served: tuple[str, int, Made], made: tuple[Made, Made], caplog: pytest.LogCaptureFixture
) -> None:
    (url, port, files), (first, second) = served, made
    caplog.set_level(logging.INFO)
    with Client(url, verify=first.trusted) as client, channel(port, first) as open_before:
        assert client.http.get("/healthz").status_code == 200
        export(open_before)
        files.certificate.write_bytes(second.certificate.read_bytes())  # the key is not there yet
        eventually(lambda: "the certificate stays" in presented_and_log(url, caplog))
        assert presented(url) == der(first)
        files.key.write_bytes(second.key.read_bytes())
        eventually(lambda: presented(url) == der(second))
        with channel(port, second) as opened_now:
            export(opened_now)
        export(open_before)
        assert client.http.get("/healthz").status_code == 200
    stays = [one for one in caplog.messages if "the certificate stays" in one]
    assert stays == [
        f"the certificate stays as it was: {files.key}: this is not the key of the certificate in "
        f"{files.certificate}"
    ]
    assert caplog.messages.count("the certificate was renewed") == 1


def presented_and_log(url: str, caplog: pytest.LogCaptureFixture) -> str:
    presented(url)
    return "\n".join(caplog.messages)


def test_files_that_are_gone_for_a_while_change_nothing(
    served: tuple[str, int, Made], made: tuple[Made, Made], caplog: pytest.LogCaptureFixture
) -> None:
    url, port, files = served
    files.certificate.unlink()
    eventually(lambda: "No such file" in presented_and_log(url, caplog))
    for _ in range(3):
        time.sleep(0.05)
        presented(url)
    assert presented(url) == der(made[0])
    with channel(port, made[0]) as over:
        export(over)
    made[1].copy_to(files.certificate, files.key)
    eventually(lambda: presented(url) == der(made[1]))
    assert sum("No such file" in one for one in caplog.messages) == 1


def test_a_pipe_in_the_place_of_a_certificate_holds_up_nobody(
    served: tuple[str, int, Made], made: tuple[Made, Made], caplog: pytest.LogCaptureFixture
) -> None:
    """The files are looked at while a handshake waits for it."""
    url, port, files = served
    files.key.unlink()
    os.mkfifo(files.key)
    eventually(lambda: "this is a pipe" in presented_and_log(url, caplog))
    assert presented(url) == der(made[0])
    with channel(port, made[0]) as over:
        export(over)
    files.key.unlink()
    made[1].copy_to(files.certificate, files.key)
    eventually(lambda: presented(url) == der(made[1]))


@pytest.mark.heavy
def test_a_thousand_handshakes_that_stop_half_way_keep_nobody_out(
    made: tuple[Made, Made], tmp_path: Path
) -> None:
    """Each says the first half of its hello and then nothing, over HTTP and gRPC, from one address."""
    port = free_port()
    given = settings(tmp_path, tls_cert=made[0].certificate, tls_key=made[0].key, grpc_port=port, checkers=0)
    hello = client_hello()
    with running(given) as url, ExitStack() as opened, Client(url, verify=made[0].trusted) as client:
        before = resident()
        for number in range(1_000):
            place = ("127.0.0.1", (httpx.URL(url).port or 0) if number % 2 else port)
            half = socket.create_connection(place, timeout=30, source_address=("127.0.0.66", 0))
            opened.callback(half.close)
            half.sendall(hello[: len(hello) // 2])
            if number % 100 == 99:
                with Client(url, verify=made[0].trusted) as new:
                    assert new.http.get("/healthz").status_code == 200
        assert client.send(agent_request(new_id(), ["a"])).status_code == 200
        with channel(port, made[0]) as over:
            export(over)
        found = metrics_of(client)
        assert found["connections"] <= 510
        assert found["connections_dropped_total"] + found["connections_refused_total"] >= 490
        assert resident() - before < 150 * MIB


def client_hello() -> bytes:
    """The first words of a client of TLS."""
    said = ssl.MemoryBIO()
    talk = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(
        ssl.MemoryBIO(), said, server_hostname="localhost"
    )
    with pytest.raises(ssl.SSLWantReadError):
        talk.do_handshake()
    return said.read()


def test_connections_that_never_shake_hands_give_way_and_are_ended(
    served: tuple[str, int, Made], made: tuple[Made, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _, _ = served
    place = httpx.URL(url)
    silent = [socket.create_connection((place.host, place.port or 0)) for _ in range(40)]
    with Client(url, verify=made[0].trusted) as client:
        assert client.http.get("/healthz").status_code == 200
        eventually(lambda: sum(ended(one) for one in silent) >= 20)
        assert client.http.get("/healthz").status_code == 200
    for one in silent:
        one.close()
    monkeypatch.setattr(tls, "HANDSHAKE_SECONDS", 0.2)
    with socket.create_connection((place.host, place.port or 0)) as late:
        eventually(lambda: ended(late))


def ended(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_a_collector_ends_though_a_client_keeps_its_connection(
    made: tuple[Made, Made], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = settings(tmp_path, tls_cert=made[0].certificate, tls_key=made[0].key, checkers=0)
    with running(given) as url:
        idle, place = httpx.Client(verify=made[0].trusted, trust_env=False), httpx.URL(url)
        assert idle.get(f"{url}/healthz").status_code == 200
        silent = socket.create_connection((place.host, place.port or 0))
    idle.close()
    silent.close()
    assert not [one for one in caplog.messages if "timeout" in one]


def test_one_file_may_hold_both(made: tuple[Made, Made], tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(made[0].key.read_bytes() + made[0].certificate.read_bytes())
    assert Certificate(both).pair.expires > time.time() + 29 * DAY


def broken(name: str, folder: Path, made: tuple[Made, Made]) -> tuple[Path, Path | None]:
    """(certificate, key) that cannot be used."""
    first, second = made
    if name == "passphrase":
        protected = make(folder, "protected", passphrase="secret")
        return protected.certificate, protected.key
    if name == "spoilt":
        (folder / "spoilt.crt").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        return folder / "spoilt.crt", first.key
    return {
        "no file": (folder / "none.crt", first.key),
        "no key file": (first.certificate, folder / "none.key"),
        "a folder": (folder, first.key),
        "no certificate": (first.key, first.key),
        "no key": (first.certificate, None),
        "certificate as key": (first.certificate, second.certificate),
        "of another": (first.certificate, second.key),
    }[name]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no file", "none.crt: cannot be read: No such file or directory"),
        ("no key file", "none.key: cannot be read: No such file or directory"),
        ("a folder", "a folder, no regular file"),
        ("no certificate", "first.key: there is no certificate in it, expected PEM (BEGIN CERTIFICATE)"),
        ("no key", "(BEGIN PRIVATE KEY); name its file with --tls-key"),
        ("certificate as key", "second.crt: there is no private key in it, expected PEM (BEGIN PRIVATE KEY)"),
        ("of another", "second.key: this is not the key of the certificate in "),
        ("passphrase", "the key has a passphrase; give one without, readable by the collector's user alone"),
        ("spoilt", "it is no usable pair: "),
    ],
)
def test_what_is_no_certificate_is_said_before_anything_is_opened(
    name: str, said: str, made: tuple[Made, Made], tmp_path: Path
) -> None:
    certificate, key = broken(name, tmp_path, made)
    with (
        pytest.raises(BadInput) as caught,
        running(settings(tmp_path, tls_cert=certificate, tls_key=key, checkers=0)),
    ):
        pass
    assert said in str(caught.value)
    assert not (tmp_path / "store.db").exists()


def test_a_key_without_a_certificate_is_refused() -> None:
    with pytest.raises(BadInput, match="name that with --tls-cert"):
        certificate_of(Settings(tls_key=Path("x.key")))


@pytest.mark.parametrize(
    ("days", "said"), [(0.0, None), (31.0, "expired 20"), (-1.0, "is not valid before 20")]
)
def test_a_certificate_out_of_its_time_is_used_and_told_once(
    days: float, said: str | None, made: tuple[Made, Made], caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(tls, "LOOK_SECONDS", 0.0)
    found = Certificate(made[0].certificate, made[0].key, wall=lambda: time.time() + days * DAY)
    assert [found.pair for _ in range(3)] == [found.pair] * 3
    assert len(caplog.messages) == (said is not None)
    assert said is None or said in caplog.text


def test_a_certificate_that_expires_meanwhile_is_told(
    made: tuple[Made, Made], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "LOOK_SECONDS", 0.0)
    now = time.time()
    found = Certificate(made[0].certificate, made[0].key, wall=lambda: now)
    assert not caplog.messages
    now += 31 * DAY
    assert found.pair.expires < now
    assert "expired" in caplog.text


def test_metrics_tell_until_when_the_certificate_is_good(
    served: tuple[str, int, Made], made: tuple[Made, Made]
) -> None:
    url, _, _ = served
    with Client(url, verify=made[0].trusted) as client:
        lines = client.http.get("/metrics").text.splitlines()
    (expiry,) = (line for line in lines if line.startswith("pdoctor_tls_certificate_expiry_seconds "))
    assert 29 * DAY < float(expiry.split()[1]) - time.time() < 31 * DAY


def test_spans_in_flight_are_stored_while_the_certificate_changes(
    served: tuple[str, int, Made], made: tuple[Made, Made]
) -> None:
    """One connection for all of it, renewals in between."""
    url, _, files = served
    kept: list[str] = []
    with Client(url, verify=made[0].trusted) as client:
        for turn in range(6):
            made[turn % 2].copy_to(files.certificate, files.key)
            kept.append(new_id())
            assert client.send(agent_request(kept[-1], ["a"])).status_code == 200
            presented(url)
        assert [len(client.get(f"/runs/{run}/spans")["items"]) for run in kept] == [2] * 6


def test_the_log_says_that_a_collector_without_tls_is_open_to_listeners(
    made: tuple[Made, Made], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    open_to_all = {"host": "0.0.0.0", "insecure": True, "checkers": 0}
    both = {"tls_cert": made[0].certificate, "tls_key": made[0].key}
    for more, told in ((both, 0), ({"trusted_proxies": ("10.0.0.1",)}, 0), ({}, 1)):
        caplog.clear()
        with running(settings(tmp_path, **open_to_all, **more)):
            pass
        assert sum("no TLS" in one for one in caplog.messages) == told

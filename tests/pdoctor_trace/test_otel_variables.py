"""Which OTEL_* variables hold for the record path, which do not, and that ours win."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zlib
from typing import Any

import pytest

from pdoctor_trace.export import Exporter
from pdoctor_trace.resource import resource_attributes
from pdoctor_trace.sender import Sender
from pdoctor_trace.settings import Settings, from_environment
from tests.support.sink import OtlpSink, decode


def settings(**environment: str) -> Settings:
    return from_environment(environment)


def test_where_records_go_is_ours_alone() -> None:
    """A key or a body meant for one back end must not reach another because one variable is missing."""
    found = settings(
        OTEL_EXPORTER_OTLP_ENDPOINT="http://elsewhere:4318",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://elsewhere:4318/v1/traces",
        OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer secret",
        OTEL_TRACES_EXPORTER="none",
        OTEL_TRACES_SAMPLER="always_off",
        OTEL_BSP_MAX_QUEUE_SIZE="1",
        OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT="1",
    )
    assert found == Settings()
    assert (
        settings(OTEL_EXPORTER_OTLP_ENDPOINT="http://a", PDOCTOR_ENDPOINT="http://b").endpoint == "http://b"
    )


@pytest.mark.parametrize(
    ("environment", "setting", "value"),
    [
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "3"}, "timeout", 3.0),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "3", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "2.5"}, "timeout", 2.5),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "3", "PDOCTOR_TIMEOUT": "4"}, "timeout", 4.0),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "10000"}, "timeout", 60.0),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "timeout", 10.0),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "nan"}, "timeout", 10.0),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": ""}, "timeout", 10.0),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}, "compression", "gzip"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "none"}, "compression", "none"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "snappy"}, "compression", "auto"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "PDOCTOR_COMPRESSION": "none"}, "compression", "none"),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "500"}, "max_value_bytes", 500),
        ({"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "9999999"}, "max_value_bytes", 65_536),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "9", "PDOCTOR_MAX_VALUE_BYTES": "70"}, "max_value_bytes", 70),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "-1"}, "max_value_bytes", 65_536),
    ],
)
def test_how_to_send_is_taken_over_where_we_are_not_told(
    environment: dict[str, str], setting: str, value: Any
) -> None:
    assert getattr(settings(**environment), setting) == value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("team=a%20b%2Cc%3Dd", {"team": "a b,c=d"}),
        (" team = x , , =y, z", {"team": "x"}),
        ("team=", {"team": ""}),
        ("team=%E4%BD%A0,other=%zz", {"team": "你", "other": "%zz"}),
        ("a=b=c", {"a": "b=c"}),
    ],
)
def test_resource_attributes_are_read_as_the_sdk_reads_them(text: str, found: dict[str, str]) -> None:
    base = resource_attributes({})
    assert resource_attributes({"OTEL_RESOURCE_ATTRIBUTES": text}) == {**base, **found}


@pytest.mark.skipif(not hasattr(os, "uname"), reason="Windows names its machine in a variable")
def test_the_machine_is_named_whose_clock_it_is_and_may_be_named_otherwise() -> None:
    assert resource_attributes({})["host.name"] == os.uname().nodename
    assert resource_attributes({"OTEL_RESOURCE_ATTRIBUTES": "host.name=x"})["host.name"] == "x"


@pytest.mark.parametrize("compression", ["gzip", "deflate", "none", "auto"])
def test_bodies_are_compressed_as_they_say(compression: str) -> None:
    unpack = {"gzip": gzip.decompress, "deflate": zlib.decompress}.get(compression, bytes)
    with OtlpSink() as sink:
        sender = Sender(sink.url, compression=compression)
        for _ in range(2):
            assert sender.send(b"").delivered
        for body, headers in zip(sink.bodies, sink.headers, strict=True):
            assert decode(unpack(body)) == []
            assert headers.get("Content-Encoding", "none") == (
                "none" if compression == "auto" else compression
            ), "on this machine nothing is compressed by itself"
        sender.close()


def test_the_collector_takes_what_another_machine_would_send() -> None:
    assert (
        Sender("https://collector.example:4318", compression="auto")._compressed(b"x" * 100)[:2]
        == b"\x1f\x8b"
    )
    assert Sender("http://[::1]:4318", compression="auto")._compressed(b"x") == b"x"


def test_an_exporter_uses_the_setting() -> None:
    with OtlpSink() as sink:
        out = Exporter(Settings(endpoint=sink.url, batch_delay=0.0, compression="gzip"))
        out.put(b"\x12\x00")
        assert out.flush(60)
        assert sink.headers[0]["Content-Encoding"] == "gzip"
        assert len(decode(gzip.decompress(sink.bodies[0]))) == 1


def test_a_longest_attribute_keeps_json_whole() -> None:
    code = "import pdoctor_trace\npdoctor_trace.tool(lambda text: {'said': text})(text='x' * 5000)"
    with OtlpSink() as sink:
        environment = {"PDOCTOR_ENDPOINT": sink.url, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "200"}
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **environment}, check=True, timeout=60
        )
        (call,) = sink.calls
    for key in ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"):
        assert len(call[key]) < 400
        assert json.loads(call[key])
    assert call["pdoctor.truncated"] is True

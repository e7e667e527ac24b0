"""Redaction at ingest: no secret reaches the file, the logs, alerts or events; ids stay."""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import re
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from collector.model import REDACTED
from collector.otlp.redact_spans import redacted
from collector.otlp.redaction import Pattern, Purse, read_redaction, redactor
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.server import running
from collector.settings import Limits
from collector.store.packing import unpack
from synth.errors import BadInput
from tests.support.hooks import receiver
from tests.support.traces import (
    JSON,
    MS,
    T0,
    Client,
    agent_spans,
    case_json,
    new_id,
    request,
    settings,
    until,
)

SECRET = "hunter2-Zq81"
RULES = r"""
keys: [password, "*_token", authorization]
patterns:
  - hunter2-\w+
  - {pattern: '\b\d{4}-\d{4}-\d{4}-\d{4}\b', replacement: '[card]'}
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "redact.yaml"
    file.write_text(RULES)
    return file


def clean(said: str, *names: str, patterns: tuple[str, ...] = ()) -> str:
    import regex

    made = redactor(names, [Pattern(regex.compile(p), "[x]") for p in patterns], "[x]")
    return made.text(said, Purse())


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ('{"password": "a b", "user": "u"}', '{"password":"[x]","user":"u"}'),
        ('{"a": [{"PassWord": {"deep": 1}}]}', '{"a":[{"PassWord":"[x]"}]}'),
        (r'{"arguments": "{\"password\": \"pw\"}"}', r'{"arguments":"{\"password\":\"[x]\"}"}'),
        ('{"password": "pw", "cut of', '{"password": [x], "cut of'),
        ('{"password": "pw never closed', '{"password": [x]'),
        ("{'password': 'p w', 'n': 1}", "{'password': [x], 'n': 1}"),
        (r"said \"password\": \"p w\", ok", r"said \"password\": [x], ok"),
        ("login?password=pw&user=u", "login?password=[x]&user=u"),
        ("the passwords are old", "the passwords are old"),
        ('{"user": "u"}', '{"user": "u"}'),
    ],
)
def test_a_secret_name_hides_its_value_in_json_and_in_what_only_looks_like_it(said: str, kept: str) -> None:
    assert clean(said, "password") == kept


def test_patterns_are_found_behind_the_escapes_of_json() -> None:
    said = json.dumps({"text": 'say "s3cr\u00e9t" now'}, ensure_ascii=True)
    assert "\\u00e9" in said
    assert "cr" not in clean(said, patterns=(r"s3cr\wt",))
    assert clean("[4111111111111111]", patterns=(r"^\d{16}$",)) == '["[x]"]'


def test_ids_of_calls_stay_so_that_answers_find_their_requests() -> None:
    message = {"type": "tool_call", "id": "call_4111", "name": "pay", "arguments": {"id": "4111"}}
    cleaned = json.loads(clean(json.dumps(message), patterns=(r"4111",)))
    assert (cleaned["id"], cleaned["arguments"]["id"]) == ("call_4111", "[x]")


def test_a_text_that_takes_too_long_is_withheld_and_a_request_loses_little_time() -> None:
    import regex

    slow = redactor((), [Pattern(regex.compile(r"(a|aa)+\1$"), "[x]")])
    purse = Purse()
    began = time.process_time()
    found = {slow.text(f"{n}" + "a" * 5000 + "b", purse) for n in range(1000)}
    assert time.process_time() - began < 3
    assert found == {"[redacted: searching it took too long]"}
    assert slow.text("short", Purse()) == "short"


def test_a_search_that_had_to_wait_for_the_processor_is_tried_again() -> None:
    """A busy machine must not cost anybody their texts."""

    class Stalled:
        def __init__(self) -> None:
            self.asked = 0

        def sub(self, replacement: str, said: str, timeout: float) -> str:
            self.asked += 1
            if self.asked < 3:
                raise TimeoutError
            return said.replace("secret", replacement)

    stalled = Stalled()
    assert redactor((), [Pattern(stalled, "[x]")]).text("a secret", Purse()) == "a [x]"
    assert stalled.asked == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("keys: []", "names nothing to redact"),
        ("patterns: ['(']", r"not a regular expression"),
        ("patterns: ['x*']", "matches the empty text"),
        ("keys: ['*']", "would redact every name"),
        ("keys: ['pdoctor.*']", "ids are never changed"),
        ("keys: [gen_ai.tool.call.id]", "ids are never changed"),
        ("key: [a]", "no such field"),
        ("patterns: [{replacement: x}]", "'pattern' is missing"),
        ("patterns: [5]", "expected text"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "redact.yaml"
    file.write_text(text)
    with pytest.raises(BadInput, match=said) as raised:
        read_redaction(file)
    assert str(file) in str(raised.value)
    with pytest.raises(BadInput, match=said), running(settings(tmp_path, redact=file)):
        pass


def hostile_span(trace: str) -> dict[str, Any]:
    """Every place in a span that can carry text, full of secrets."""
    at: dict[str, Any] = {
        f"note.{SECRET}": "key", "plain": f"x {SECRET} y", "list": ["a", SECRET], "bytes": SECRET.encode(),
        "binary": b"\xff\xfe" + SECRET.encode(),
        "api_token": "tok-secret-1", "http.authorization": "tok-secret-2",
        "card": "1234-1234-1234-1234", "doc": json.dumps({"a": [{"password": "tok-secret-3"}, SECRET]}),
        "literal": "{'refresh_token': 'tok-secret-4'}", "n": 5,
    }  # fmt: skip
    return {
        "trace": trace, "id": 77, "parent": 1, "name": f"GET /{SECRET}", "error": f"failed for {SECRET}",
        "start": T0, "end": T0 + MS, "at": at,
    }  # fmt: skip


def full_request(run: str, case: str) -> Any:
    calls = [
        {"name": "do_b", "arguments": {"password": "tok-secret-5", "q": SECRET}, "result": f"ok {SECRET}"},
        {"name": "do_a", "error": f"boom {SECRET}"},
    ]
    spans = agent_spans(run, calls, case=case, query=f"My key is {SECRET}.")
    message = request(*spans, hostile_span(run), resource={"service.name": "shop", "host": SECRET})
    scope = message.resource_spans[0].scope_spans[0]
    scope.scope.version = SECRET
    span = scope.spans[-1]
    span.trace_state = f"v={SECRET}"
    event = span.events.add(name=f"exception {SECRET}")
    event.attributes.add(key="exception.message").value.string_value = SECRET
    event.attributes.add(key="exception.stacktrace").value.string_value = f"at {SECRET}()"
    link = span.links.add(trace_id=bytes(16), span_id=bytes(8))
    link.attributes.add(key="password").value.string_value = "tok-secret-6"
    return message


SECRETS = re.compile(rb"hunter2-Zq81|tok-secret|1234-1234")


def test_no_secret_reaches_the_database_file_the_logs_or_an_answer(
    tmp_path: Path, rules: Path, caplog: pytest.LogCaptureFixture
) -> None:
    case, run = new_id(), new_id()
    with (
        caplog.at_level(logging.DEBUG),
        running(settings(tmp_path, redact=rules)) as url,
        Client(url) as client,
    ):
        client.post("/cases", case_json(case, "a < b"))
        client.send(full_request(run, case).SerializeToString())
        found = client.judged(run)
        spans = client.http.get(f"/api/v1/runs/{run}/spans")
        assert not SECRETS.search(json.dumps(found).encode() + spans.content)
    assert (found["error_type"], found["case_id"]) == ("act_error", case)
    assert [call["name"] for call in found["calls"]] == ["do_b", "do_a"]
    assert found["calls"][0]["arguments"] == {"password": "[redacted]", "q": "[redacted]"}
    assert found["calls"][1]["error"] == "boom [redacted]"
    assert not any(SECRETS.search(data) for data in stored_bytes(tmp_path))
    assert not SECRETS.search(caplog.text.encode())


def stored_bytes(folder: Path) -> list[bytes]:
    """The bytes of every file of the store, and of the spans inside it, which are compressed there."""
    files = [path.read_bytes() for path in folder.glob("store.db*")]
    with contextlib.closing(sqlite3.connect(folder / "store.db")) as database:
        payloads = [unpack(row[0]) for row in database.execute("SELECT payload FROM segments")]
    assert files
    assert payloads
    return [*files, *payloads]


def test_without_rules_the_same_spans_do_hold_the_secrets(tmp_path: Path) -> None:
    """The search above can find what it looks for."""
    run = new_id()
    with running(settings(tmp_path)) as url, Client(url) as client:
        client.send(full_request(run, new_id()).SerializeToString())
        client.judged(run)
        answer = client.http.get(f"/api/v1/runs/{run}/spans").content
    assert SECRETS.search(answer)
    assert any(SECRETS.search(data) for data in stored_bytes(tmp_path))


def test_alerts_and_events_hold_no_secret(tmp_path: Path, rules: Path) -> None:
    """What leaves the collector is made from what was stored."""
    case, run = new_id(), new_id()
    with receiver() as at:
        known = settings(
            tmp_path, redact=rules, events_endpoint=at.url.removesuffix("/hook?x=1"),
            webhook_hosts=("127.0.0.1",), webhook_private=True,
        )  # fmt: skip
        with running(known) as url, Client(url) as client:
            assert client.post("/webhooks", {"url": at.url, "outcomes": ["fail"]}).status_code == 201
            client.post("/cases", case_json(case, "a < b"))
            client.send(full_request(run, case).SerializeToString())
            client.judged(run)
            for _ in until():
                if len(at.got) > 1:
                    break
    bodies = [body for _, body in at.got]
    assert any(b"gen_ai.evaluation" in body for body in bodies)
    assert any(b"run.judged" in body for body in bodies)
    assert not any(SECRETS.search(body) for body in bodies)


def test_ids_and_everything_that_is_no_secret_stay_as_they_were(rules: Path) -> None:
    batch = from_protobuf(full_request(new_id(), "case").SerializeToString(), Limits())
    cleaned = redacted(batch, read_redaction(rules))
    assert [(s.run_id, s.keys, s.has_root, s.trace_ids) for s in cleaned.segments] == [
        (s.run_id, s.keys, s.has_root, s.trace_ids) for s in batch.segments
    ]
    before, after = (list(spans_of(s.payload for s in b.segments)) for b in (batch, cleaned))
    for old, new in zip(before, after, strict=True):
        assert (old.trace_id, old.span_id, old.parent_id) == (new.trace_id, new.span_id, new.parent_id)
        assert (old.start_ns, old.end_ns, old.status) == (new.start_ns, new.end_ns, new.status)
        for name, value in old.attributes.items():
            if not SECRETS.search(repr((name, value)).encode()) and name != "binary":
                assert new.attributes[name] == value


@pytest.mark.parametrize("form", ["json", "gzip"])
def test_every_form_of_a_request_is_redacted(tmp_path: Path, rules: Path, form: str) -> None:
    trace = new_id()
    span = {
        "traceId": trace, "spanId": "0000000000000001", "name": "x", "startTimeUnixNano": "1",
        "endTimeUnixNano": "2", "attributes": [{"key": "a", "value": {"stringValue": SECRET}}],
    }  # fmt: skip
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    headers = {**JSON, "content-encoding": "gzip"} if form == "gzip" else JSON
    with running(settings(tmp_path, redact=rules)) as url, Client(url) as client:
        assert client.send(gzip.compress(body) if form == "gzip" else body, headers).status_code == 200
        assert client.get(f"/runs/{trace}/spans")["items"][0]["attributes"] == {
            "a": "[redacted]", REDACTED: ["[card]"],
        }  # fmt: skip


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(json_values, st.integers(0, 2))
@hypothesis_settings(max_examples=200, deadline=None)
def test_no_nesting_hides_a_secret_and_json_stays_json(value: Any, wraps: int) -> None:
    said = json.dumps(value)
    for _ in range(wraps):
        said = json.dumps({"inner": said})
    cleaned = clean(said, patterns=(r"hunter2-\w+",))
    assert SECRET not in cleaned
    json.loads(cleaned)
    if SECRET not in said:
        assert cleaned == said

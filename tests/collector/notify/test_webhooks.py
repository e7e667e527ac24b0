"""Webhooks and retention."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
import time
from pathlib import Path

import pytest

from collector.errors import BadRequest
from collector.notify import webhooks
from collector.server import running
from collector.settings import Settings
from collector.store import open_store, projects, retention
from tests.support.hooks import receiver
from tests.support.traces import Client, agent_request, case_json, new_id, settings, until

LOCAL = {"webhook_hosts": ("127.0.0.1",), "webhook_private": True}


def failing_run(client: Client) -> str:
    case, run = new_id(), new_id()
    client.post("/cases", case_json(case, "a < b"))
    client.send(agent_request(run, ["do_b", "do_a"], case=case))
    client.judged(run)
    return run


@pytest.mark.parametrize("failures", [0, 1])
def test_a_failed_run_is_told_once_signed_and_again_until_it_is_taken(tmp_path: Path, failures: int) -> None:
    with (
        receiver(failures) as at,
        running(settings(tmp_path, **LOCAL)) as url,
        Client(url) as client,
    ):
        made = client.post("/webhooks", {"url": at.url})
        assert made.status_code == 201, made.text
        run = failing_run(client)
        for _ in until():
            if at.got:
                break
        ((signature, body),) = at.got
        said = json.loads(body)
        assert (said["run_id"], said["outcome"], said["error_type"]) == (run, "fail", "order_error")
        stamp, digest = (part.split("=")[1] for part in signature.split(","))
        secret = made.json()["secret"].encode()
        assert digest == hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        for _ in until():
            (delivery,) = client.get("/webhooks")["deliveries"]
            if delivery["status"] == "delivered":
                break
        assert (delivery["status"], delivery["attempts"]) == ("delivered", failures + 1)


def test_a_broken_policy_is_told_with_its_words(tmp_path: Path) -> None:
    sentence = "Search must happen before book."
    text = f"actions: {{search: s, book: b}}\npolicies: [{{id: p, text: First search., rule: {sentence}}}]\n"
    with receiver() as at, running(settings(tmp_path, **LOCAL)) as url, Client(url) as client:
        client.post("/webhooks", {"url": at.url})
        client.post("/policies", {"name": "shop", "text": text})
        client.send(agent_request(new_id(), ["b"]))
        for _ in until():
            if at.got:
                break
    ((_, body),) = at.got
    (finding,) = json.loads(body)["findings"]
    said = {name: finding[name] for name in ("rule", "text", "file", "version", "sentence", "span")}
    assert said == {
        "rule": "policy:p", "text": "First search.", "file": "shop", "version": 1,
        "sentence": sentence, "span": [0, 30],
    }  # fmt: skip


def test_a_passing_run_and_a_dropped_webhook_are_silent(tmp_path: Path) -> None:
    with receiver() as at, running(settings(tmp_path, **LOCAL)) as url, Client(url) as client:
        first = client.post("/webhooks", {"url": at.url, "outcomes": ["fail"]}).json()
        case, run = new_id(), new_id()
        client.post("/cases", case_json(case, "a < b"))
        client.send(agent_request(run, ["do_a", "do_b"], case=case))
        client.judged(run)
        assert client.http.delete(f"/api/v1/webhooks/{first['id']}").status_code == 200
        failing_run(client)
        time.sleep(1.5)
        assert at.got == []
        assert client.http.delete(f"/api/v1/webhooks/{first['id']}").status_code == 404
        assert client.http.delete(f"/api/v1/webhooks/{2**63}").status_code == 400  # no database has that id


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest", "http://localhost:9/", "file:///etc/passwd", "ftp://example.com/", "x",
     "http://user:pass@hooks.example/", "http://hooks.example.evil/"],
)  # fmt: skip
def test_only_listed_hosts_are_possible(shared: Client, url: str) -> None:
    answer = shared.post("/webhooks", {"url": url})
    assert answer.status_code == 400
    with pytest.raises(BadRequest):
        webhooks.check_address(url, Settings(webhook_hosts=("hooks.example",)))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254", "::1", "0.0.0.0"])
def test_private_addresses_are_refused_after_resolution(host: str) -> None:
    with pytest.raises(OSError, match="not a public address"):
        webhooks.resolve(host, 80, private=False)


@pytest.mark.parametrize(
    "body",
    [{"url": 5}, {"url": "https://x", "outcomes": []}, {"url": "https://x", "outcomes": ["bad"]}, {"u": 1}],
)
def test_a_bad_webhook_is_named(shared: Client, body: dict[str, object]) -> None:
    assert shared.post("/webhooks", body).status_code == 400


def test_runs_are_forgotten_after_their_time_with_everything_about_them(tmp_path: Path) -> None:
    with running(settings(tmp_path, janitor_seconds=0.1)) as url, Client(url) as client:
        old = failing_run(client)
        assert client.http.put("/api/v1/settings", json={"retention_days": 1}).status_code == 200
        connection = sqlite3.connect(tmp_path / "store.db", timeout=60)
        connection.execute("UPDATE runs SET last_seen = last_seen - 2 * 86400")
        connection.commit()
        fresh = failing_run(client)
        for _ in until():
            if client.http.get(f"/api/v1/runs/{old}").status_code == 404:
                break
        assert client.http.get(f"/api/v1/runs/{old}").status_code == 404
        assert client.run(fresh)["outcome"] == "fail"
        for table in ("segments", "verdicts", "findings", "run_tools"):
            left = connection.execute(f"SELECT DISTINCT run FROM {table}").fetchall()
            assert len(left) == 1, table
        connection.close()


@pytest.mark.parametrize("days", [0, -1, "x", True, 1e400])
def test_a_bad_retention_is_refused(shared: Client, days: object) -> None:
    body = b'{"retention_days": 1e400}' if days == float("inf") else json.dumps({"retention_days": days})
    assert shared.http.put("/api/v1/settings", content=body).status_code == 400


def test_without_a_retention_nothing_is_ever_deleted(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    with store.write() as connection:
        from collector.store import schema

        connection.execute(
            schema.runs.insert(), [{"project": 1, "key": "k", "first_seen": 0, "last_seen": 0, "version": 1}]
        )
    assert retention.prune(store, now=1e12) == 0
    projects.change(store, 1, {"retention_days": 30})
    assert retention.prune(store, now=29 * 86_400) == 0
    assert retention.prune(store, now=31 * 86_400) == 1
    store.close()


def test_failed_runs_and_their_parts_are_kept_longer_never_shorter(store_url: str) -> None:
    from collector.store import schema

    store = open_store(store_url)
    rows = [
        ("passed", "pass", None), ("failed", "fail", "failed"), ("part", None, "failed"),
        ("unjudged", None, None), ("other part", None, "passed"),
    ]  # fmt: skip
    same = {"project": 1, "first_seen": 0, "last_seen": 0, "version": 1}
    with store.write() as connection:
        told = [{**same, "key": key, "outcome": said, "joined": whole} for key, said, whole in rows]
        connection.execute(schema.runs.insert(), told)

    def left(day: int) -> set[str]:
        retention.prune(store, now=day * 86_400.0)
        with store.read() as connection:
            return set(connection.scalars(schema.runs.select().with_only_columns(schema.runs.c.key)))

    projects.change(store, 1, {"failed_retention_days": 10})
    assert len(left(1_000)) == 5  # the others are kept for ever, and failed ones no shorter
    projects.change(store, 1, {"retention_days": 2_000})
    assert len(left(1_999)) == 5
    projects.change(store, 1, {"retention_days": 10, "failed_retention_days": 90})
    assert left(11) == {"failed", "part"}
    assert left(89) == {"failed", "part"}
    projects.change(store, 1, {"failed_retention_days": None})
    assert left(89) == set()
    store.close()


def test_how_long_failed_runs_are_kept_is_set_on_the_page_and_by_the_api(fresh: Client) -> None:
    form = {"retention_days": "30", "failed_retention_days": "90", "clock_skew_ms": ""}
    assert fresh.http.post("/settings", data=form).status_code == 303
    assert fresh.get("/settings")["failed_retention_days"] == 90
    assert 'name="failed_retention_days" value="90.0"' in fresh.http.get("/settings").text
    refused = fresh.http.put("/api/v1/settings", json={"failed_retention_days": -1})
    assert (refused.status_code, "keeps failed runs as long as others" in refused.text) == (400, True)
    assert fresh.http.put("/api/v1/settings", json={"failed_retention_days": None}).status_code == 200
    assert fresh.get("/settings")["failed_retention_days"] is None

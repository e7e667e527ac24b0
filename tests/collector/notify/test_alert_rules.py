"""Alerts over rates and windows: when they fire, whom they tell and in what form, silence and the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.notify.alerts import condition, lines_of, look, mail, slack, teams
from collector.server import running
from collector.store import Store, alerts, open_store
from collector.store.alerts import is_hidden
from collector.store.engine import project_id
from collector.store.groups import Mark
from tests.support.mailbox import hook, mailbox
from tests.support.traces import Client, agent_spans, eventually, new_id, request, settings

HOSTILE = "<!channel> *bold* [x](http://evil) <script>"
RULES = "actions: {pay: pay}\npolicies:\n  - {id: once, rule: Pay must happen at most once.}\n"


def sent(client: Client, *calls: str, agent: str = "refunds") -> str:
    run = new_id()
    client.send(request(*agent_spans(run, list(calls), agent=agent)).SerializeToString())
    client.judged(run)
    return run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with running(settings(tmp_path, checkers=1)) as url, Client(url) as client:
        client.http.put("/api/v1/policies/shop", content=RULES)
        for calls in (["pay", "pay"], ["pay"], ["pay"], ["pay"]):
            sent(client, *calls)
    opened = open_store(settings(tmp_path).store_url)
    yield opened
    opened.close()


def rule(store: Store, **said: Any) -> int:
    body = {
        "policy": "once", "agent": None, "version": None, "severity": None, "window": "1h",
        "window_seconds": 3600.0, "above": 0.2, "at_least": 2, "kind": "webhook", "to": "x", "secret": "s",
    }  # fmt: skip
    return alerts.add(store, project_id(store, "default"), "r", body | said, now=0.0)


def told(store: Store, alert: int, now: float) -> list[str]:
    """Look at a rule; the kinds of all messages so far."""
    project = project_id(store, "default")
    with store.read() as connection:
        row = alerts.one(connection, project, alert)
    assert row is not None
    look(store, row, now=now)
    with store.read() as connection:
        return [one["kind"] for one in alerts.deliveries(connection, project)][::-1]


def newest(store: Store) -> float:
    with store.read() as connection:
        row = connection.exec_driver_sql("SELECT max(first_seen) FROM runs").one()
    return float(row[0])


def oldest(store: Store) -> float:
    """When the run came that breaks the rule: it was sent first."""
    with store.read() as connection:
        return float(connection.exec_driver_sql("SELECT min(first_seen) FROM runs").one()[0])


def test_it_fires_once_again_after_its_window_and_says_when_it_is_over(store: Store) -> None:
    alert, now = rule(store), newest(store) + 1
    assert told(store, alert, now) == ["firing"]
    assert told(store, alert, now + 60) == ["firing"]
    assert told(store, alert, oldest(store) + 3599) == ["firing"]
    assert told(store, alert, now + 3700) == ["firing", "over"]
    assert told(store, alert, now + 3800) == ["firing", "over"]


@pytest.mark.parametrize(
    ("said", "fires"),
    [
        ({"above": 0.24}, True), ({"above": 0.25}, False), ({"at_least": 5}, False), ({"at_least": 4}, True),
        ({"agent": "refunds"}, True), ({"agent": "other"}, False), ({"policy": None}, True),
        ({"policy": "never"}, False), ({"version": "9"}, False), ({"severity": "high"}, False),
    ],
)  # fmt: skip
def test_what_counts_is_narrowed(store: Store, said: dict[str, Any], fires: bool) -> None:
    assert told(store, rule(store, **said), newest(store) + 1) == (["firing"] if fires else [])


@pytest.mark.parametrize(
    ("file", "mark", "fires"),
    [
        ("high", None, True), ("medium", None, False), ("error", None, False), ("warning", "high", True),
        ("high", "low", False),
    ],
)  # fmt: skip
def test_the_severity_of_a_rule_counts_until_somebody_says_another(
    store: Store, file: str, mark: str | None, fires: bool
) -> None:
    from collector.store import catalog, groups

    project = project_id(store, "default")
    catalog.put_policy(
        store, project, "shop", RULES.replace("id: once,", f"id: once, severity: {file},"), now=1
    )
    if mark:
        key = groups.Key("policy:once", "refunds", "pay")
        groups.put(store, project, key, groups.Mark("known", severity=mark))
    assert told(store, rule(store, severity="high"), newest(store) + 1) == (["firing"] if fires else [])


@pytest.mark.parametrize(
    ("mark", "version", "seen_at", "hidden"),
    [
        (Mark("waived", until=50.0, at=10.0), "1.0", 20, True),
        (Mark("waived", until=5.0, at=1.0), "1.0", 20, False),
        (Mark("waived", version="1.0", at=10.0), "1.0", 20, True),
        (Mark("waived", version="1.0", at=10.0), "1.1", 20, False),
        (Mark("waived", version="1.0", at=10.0), "1.1", 5, True),
        (Mark("waived", version="1.0", at=10.0), None, 20, False),
        (Mark("fixed", version="1.1", at=10.0), "1.0", 20, True),
        (Mark("fixed", version="1.1", at=10.0), "1.1", 20, False),
        (Mark("fixed", version="1.1", at=10.0), "1.2", 20, False),
        (Mark("wrong", at=10.0), "1.2", 20, True),
        (Mark("known", at=10.0), "1.2", 20, False),
    ],
)  # fmt: skip
def test_what_comes_back_alerts_again(mark: Mark, version: str | None, seen_at: float, hidden: bool) -> None:
    assert is_hidden(mark, 6.0, version, seen_at, {"1.0"}) is hidden


def test_nobody_is_told_in_silence_nor_of_what_was_waived(store: Store) -> None:
    from collector.store import groups

    project, now = project_id(store, "default"), newest(store) + 1
    alert = rule(store)
    assert alerts.silence(store, project, alert, now + 100)
    assert told(store, alert, now) == []
    assert told(store, alert, now + 101) == ["firing"]
    key = groups.Key("policy:once", "refunds", "pay")
    groups.put(store, project, key, groups.Mark("waived", reason="r", until=now + 9999))
    assert told(store, alert, now + 102) == ["firing", "over"]
    assert alerts.drop(store, project, alert)
    with store.read() as connection:
        assert alerts.listed(connection, project) == []
        assert {one["status"] for one in alerts.deliveries(connection, project)} == {"cancelled"}


MESSAGE = {
    "text": f"a: {HOSTILE}", "more": 3,
    "groups": [
        {"rule": "policy:once", "agent": HOSTILE, "tool": "pay", "runs": 1, "sentence": HOSTILE,
         "run_id": "0" * 32}
    ],
}  # fmt: skip


def test_the_forms_of_messages_hold_no_markup_of_the_findings() -> None:
    said = slack(MESSAGE)
    assert "<!channel>" not in said["text"]
    assert {block["text"]["type"] for block in said["blocks"]} == {"plain_text"}
    card = teams(MESSAGE)["attachments"][0]["content"]
    assert card["type"] == "AdaptiveCard"
    assert "\\[x\\]\\(http" in card["body"][1]["text"]
    letter = mail({**MESSAGE, "text": "a\r\nBcc: all@example.com"}, "me@example.com", "pdoctor@example.com")
    assert letter["Bcc"] is None
    assert letter["Subject"] == "[PDoctor] a Bcc: all@example.com"
    assert lines_of(MESSAGE)[-1] == "and 3 more"
    link = "https://traces.example/findings?last=1h"
    assert lines_of({**MESSAGE, "link": link})[-1] == f"Look: {link}"
    assert lines_of({**MESSAGE, "link": "/findings"})[-1] == "and 3 more"
    (action,) = teams({**MESSAGE, "link": link})["attachments"][0]["content"]["actions"]
    assert (action["type"], action["url"]) == ("Action.OpenUrl", link)
    assert "actions" not in card
    body = {"policy": "A2", "agent": "x", "window": "1h", "above": 0.02}
    assert condition(body) == "break A2 (of x) in 1h, above 2.0%"


def test_a_running_collector_tells_a_hook_slack_teams_and_a_mailbox(tmp_path: Path) -> None:
    with hook() as (address, posted), mailbox() as (port, letters):
        told = settings(
            tmp_path, webhook_hosts=("127.0.0.1",), webhook_private=True,
            smtp=f"smtp://127.0.0.1:{port}?from=watch@example.com", public_url="https://traces.example/",
        )  # fmt: skip
        with running(told) as url, Client(url) as client:
            client.http.put("/api/v1/policies/shop", content=RULES)
            made = {}
            for kind in ("webhook", "slack", "teams", "email"):
                to = "me@example.com" if kind == "email" else address
                said = client.post(
                    "/alerts",
                    {"name": f"{kind}", "policy": "once", "window": "1m", "kind": kind, "to": to},
                )
                assert said.status_code == 201, said.text
                made[kind] = said.json()
            run = sent(client, "pay", "pay", agent=HOSTILE)
            eventually(lambda: len(posted) >= 3 and letters, 60)
            hooked = next(body for _, body in posted if body.get("event"))
            assert (hooked["event"], hooked["broken"], hooked["of"]) == ("alert.firing", 1, 1)
            assert hooked["groups"][0]["run_id"] == run
            assert hooked["groups"][0]["link"] == f"https://traces.example/runs/{run}"
            assert hooked["link"].startswith("https://traces.example/findings?last=1m")
            assert "https://traces.example/findings?" in letters[0].get_payload(decode=True).decode()
            assert "whsec" not in str(hooked)
            assert all("X-PDoctor-Signature" in headers for headers, _ in posted)
            assert letters[0]["From"] == "watch@example.com"
            assert "webhook" not in str(letters[0]["Subject"])
            listed = client.get("/alerts")
            assert all(item["firing_since"] for item in listed["items"])
            assert "whsec" not in str(listed)
            eventually(
                lambda: (
                    [one["status"] for one in client.get("/alerts")["deliveries"]].count(
                        "delivered: HTTP 200"
                    )
                    == 3
                ),
                30,
            )
            before = len(letters)
            assert client.post(f"/alerts/{made['email']['id']}/test", {}).status_code == 200
            eventually(lambda: len(letters) > before, 30)
            assert "this is a test" in str(letters[-1]["Subject"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "pigeon"}, {"to": "http://elsewhere.example/"}, {"kind": "email", "to": "me@example.com"},
        {"kind": "email", "to": "a@b\r\nBcc: c@d"}, {"above": 1}, {"above": -0.1}, {"above": "2"},
        {"window": "x"},
        {"window": "60d"}, {"at_least": 0}, {"name": ""}, {"severity": "bad"}, {"colour": "red"},
    ],
)  # fmt: skip
def test_what_cannot_be_an_alert_is_refused(shared: Client, wrong: dict[str, Any]) -> None:
    asked = {"name": "n", "kind": "webhook", "to": "http://127.0.0.1:1/", **wrong}
    assert shared.post("/alerts", asked).status_code == 400

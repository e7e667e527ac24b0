"""One day with the pages, in a real browser, by a person with a key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.server import running
from tests.browser.test_daily_work import HOSTILE, RULES, fill, press
from tests.support.chromium import Page
from tests.support.mailbox import hook, mailbox
from tests.support.traces import PROTOBUF, Client, agent_spans, eventually, new_id, request, settings

CHANGED = "Pay must be followed by verify."
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What pages may load; whoever widens it has to say so here."""


class Day:
    """A collector with one key, a mailbox and a hook, and the browser of the person that has the key."""

    def __init__(self, page: Page, client: Client, key: str, letters: Any, posts: tuple[str, Any]) -> None:
        self.page, self.client, self.key = page, client, key
        self.letters, (self.address, self.posted) = letters, posts

    def sent(self, *calls: str, version: str, query: str = "", user: str = "u1") -> str:
        run = new_id()
        spans = agent_spans(run, list(calls), agent=f"desk {HOSTILE}", query=query)
        spans[-1]["at"]["user.id"] = user
        about = {"service.name": f"shop {HOSTILE}", "service.version": version}
        self.client.send(request(*spans, resource=about).SerializeToString())
        self.client.judged(run)
        return run

    def go(self, path: str) -> None:
        self.page.open(self.client.url + path)
        self.look()

    def press(self, selector: str) -> None:
        press(self.page, selector)
        self.look()

    def look(self) -> None:
        """What was stored is text: nothing of it became an element."""
        assert self.page.evaluate("document.querySelectorAll('img[onerror], main script').length") == 0
        assert "owned" not in self.page.evaluate("document.title")

    def reads(self, words: str) -> None:
        assert words in self.page.text("main")


@pytest.fixture
def day(page: Page, tmp_path: Path) -> Iterator[Day]:
    page.open("about:blank")
    page.command("Network.clearBrowserCookies")
    page.width(1280)
    page.requests.clear()
    page.problems.clear()
    with mailbox() as (port, letters), hook() as (address, posted):
        told = settings(
            tmp_path, webhook_hosts=("127.0.0.1",), webhook_private=True, smtp=f"smtp://127.0.0.1:{port}"
        )
        with running(told) as url, Client(url) as client:
            said = {"name": f"root {HOSTILE}", "scopes": ["admin"]}
            key = client.post("/keys", said).json()["key"]
            client.http.headers["authorization"] = f"Bearer {key}"
            owned = f'id: verify-first, owner: "{HOSTILE}", text: "{HOSTILE}",'
            rules = RULES.replace("id: verify-first,", owned)
            assert client.http.put("/api/v1/policies/shop", content=rules).status_code == 200
            campaign = {"id": new_id(), "verb": "test", "name": HOSTILE, "agent": HOSTILE}
            assert client.post("/campaigns", campaign).status_code == 201
            yield Day(page, client, key, letters, (address, posted))


@pytest.mark.heavy
def test_a_day_from_logging_in_to_deleting_what_a_user_did(day: Day) -> None:
    run = day.sent("pay", "verify", version="1.0", query=f"Refund to Seattle {HOSTILE}", user="ms okafor")
    day.sent("verify", "pay", version="1.0", query="Refund to Boston")
    logs_in_and_finds_why_a_run_failed(day, run)
    makes_a_case_of_it(day, run)
    changes_the_rule_tries_saves_and_sees_it_pass(day, run)
    waives_a_finding_and_sees_it_come_back(day)
    compares_two_versions(day)
    sets_alerts_and_receives_them(day)
    makes_and_revokes_a_key(day)
    deletes_the_runs_of_a_user(day)
    for path in ("", "runs", "campaigns", "policies", "findings?state=all", "settings", "metrics-explorer"):
        day.go(f"/{path}")
    assert day.client.http.get("/runs").headers["content-security-policy"] == POLICY
    assert day.page.hosts() == {day.client.url.removeprefix("http://")}
    assert [problem for problem in day.page.problems if "401" not in problem] == []


def logs_in_and_finds_why_a_run_failed(day: Day, run: str) -> None:
    day.go("/runs")
    fill(day.page, "input[name=key]", day.key)
    day.press("form button")
    fill(day.page, "#q", "outcome:fail seattle")
    day.press(".search button")
    assert day.page.texts(".runs .id") == [run[:12]]
    day.press(".said")
    assert "pay (call 0) needs an earlier success of verify" in day.page.text(".findings")
    assert day.page.text(".findings mark") == "Verify must happen before pay"
    day.reads(f"owner {HOSTILE}")


def makes_a_case_of_it(day: Day, run: str) -> None:
    day.press(".head a.button")
    day.reads("pdoctor replay case-")
    saved = day.client.http.get(f"/runs/{run}/case?file=1")
    assert saved.json()["run"]["calls"][0]["name"] == "pay"


def changes_the_rule_tries_saves_and_sees_it_pass(day: Day, run: str) -> None:
    day.go(f"/runs/{run}")
    day.press(".findings .kind a")
    text = day.page.evaluate("document.querySelector('#text').value")
    fill(day.page, "#text", text.replace("Verify must happen before pay.", CHANGED))
    day.page.wait_for("document.querySelector('#checked').textContent === '1 policy can be read.'")
    day.press("button[value=try]")
    day.reads("would flag 1, 1 of them new")
    day.press("button[value=save]")
    day.reads("Saved as version 2")
    day.go("/runs?q=seattle")
    day.page.click(".tick input")
    day.press(".actions button:not([formaction])")
    eventually(lambda: day.client.run(run)["outcome"] == "pass", 60)
    day.go(f"/runs/{run}")
    assert day.page.text("h1 .badge") == "pass"


def waives_a_finding_and_sees_it_come_back(day: Day) -> None:
    day.sent("pay", version="1.0")
    day.go("/findings")
    day.page.click(".change summary")
    day.page.evaluate("document.querySelector('select[name=state]').value = 'waived'")
    fill(day.page, ".decide input[name=version]", "1.0")
    fill(day.page, ".decide input[name=reason]", HOSTILE)
    day.press(".decide button")
    day.go("/findings?state=waived")
    assert HOSTILE in day.page.text(".inbox")
    day.sent("pay", version="1.1")
    eventually(lambda: "Came back" in day.client.http.get("/findings").text, 60)
    day.go("/findings")
    assert "1.1 breaks it" in day.page.text(".inbox .warn")


def compares_two_versions(day: Day) -> None:
    day.go("/compare")
    day.page.evaluate("document.querySelector('select[name=by]').value = 'version'")
    fill(day.page, "input[name=a]", "1.0")
    fill(day.page, "input[name=b]", "1.1")
    day.press(".filters button")
    day.reads("Version 1.0 (A): 3 complete runs. 1.1 (B): 1.")


def sets_alerts_and_receives_them(day: Day) -> None:
    for kind, to in (("webhook", day.address), ("email", "me@example.com")):
        day.go("/alerts?policy=verify-first")
        fill(day.page, "input[name=name]", f"{kind} {HOSTILE}")
        fill(day.page, "input[name=at_least]", "1")
        fill(day.page, "input[name=to]", to)
        day.page.evaluate(f"document.querySelector('select[name=kind]').value = '{kind}'")
        day.press(".filters button")
        day.reads("is in use")
    eventually(lambda: "alert.firing" in [body["event"] for _, body in day.posted], 60)
    eventually(lambda: day.letters, 60)
    assert "runs (" in str(day.letters[0]["Subject"])
    day.go("/alerts")
    assert "delivered" in day.page.text("#sent ~ table")


def makes_and_revokes_a_key(day: Day) -> None:
    day.go("/settings")
    fill(day.page, "form[action='/settings/keys'] input[name=name]", f"sender {HOSTILE}")
    day.press("form[action='/settings/keys'] button")
    about = {**PROTOBUF, "authorization": f"Bearer {day.page.text('#made')}"}
    assert day.client.http.post("/v1/traces", content=b"", headers=about).status_code == 200
    day.go("/settings")
    day.press("tr:nth-child(2) form button")
    assert day.client.http.post("/v1/traces", content=b"", headers=about).status_code == 401


def deletes_the_runs_of_a_user(day: Day) -> None:
    before = day.client.get("/stats")["runs"]
    day.go("/settings")
    fill(day.page, "form[action='/runs/delete'] input[name=user]", "ms okafor")
    day.press("form[action='/runs/delete'] button")
    day.press("form button.danger")
    day.reads("1 run is gone for good")
    assert day.client.get("/stats")["runs"] == before - 1

"""A collector with something on each of its pages, and the addresses of them all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from collector.access import new_key
from collector.server import running
from collector.store import open_store
from tests.browser.test_daily_work import press
from tests.browser.test_pages import HOSTILE, failed_campaign, failed_run, nested_run
from tests.support.chromium import Page
from tests.support.traces import Client, agent_request, agent_spans, new_id, request, settings

RULES = (
    "actions: {pay: pay, verify: verify}\n"
    "policies:\n  - {id: verify-first, text: Know who it is., owner: payments, severity: high, "
    "rule: Verify must happen before pay.}\n"
)
SHAPES = """\
applies: {agent: deployer}
actions: {deploy: deploy, review: review, roll back: roll_back}
policies:
  - {id: acts-and-looks, behaviour: react}
  - {id: reviewed, behaviour: (until review deploy)}
  - id: ledger
    contract:
      on_violation: apply
      initial: [closed]
      tools: {review: {provides: reviewed}, deploy: {requires: reviewed, provides: live, clears: closed}}
  - {id: never, rule: Roll back must never happen.}
"""
LONG = "a tool with a name that goes on and on_" + "and_on" * 30
NAMES = {
    "agent": "סוכן ההזמנות",
    "tool": "دفع_المبلغ",
    "query": "🧾 أعد المبلغ إلى البطاقة ‎1234 👩‍💻 ثم أرسل رسالة",
}
"""Right to left, and signs that are made of several."""
REFUSED = {
    "pdoctor.tool.executed": False,
    "pdoctor.guard.decision": "refused",
    "pdoctor.guard.mode": "block",
    "pdoctor.guard.rules": "verify-first",
    "pdoctor.guard.reason": f"Not run: verify must happen before pay. {HOSTILE}",
}
MARKUP = "<img src=x onerror=owned()>"
PLAIN = quote(f'agent:"plain {MARKUP}"')
PATIENCE = 1_800
"""Seconds for a program that a busy machine runs."""
OPEN = "[...document.querySelectorAll('details')].forEach(one => one.open = true)"
KEYS = "document.getElementById('keys').showModal()"


@dataclass(frozen=True)
class Shown:
    """A page as somebody comes to see it: its address, a button that is pressed there, what is opened."""

    url: str
    button: str = ""
    script: str = ""

    def open(self, page: Page) -> None:
        page.open(self.url)
        if self.button:
            press(page, self.button)
        if self.script:
            page.evaluate(self.script)


def sent(client: Client, *calls: Any, version: str, query: str, agent: str = "refunds") -> str:
    run = new_id()
    spans = agent_spans(run, list(calls), agent=agent, query=query)
    spans[-1]["at"]["user.id"] = "u1"
    about = {"service.name": "shop", "service.version": version}
    client.send(request(*spans, resource=about).SerializeToString())
    client.judged(run)
    return run


def guarded_campaign(client: Client) -> str:
    """The id of a campaign of a real agent, without a guard and under one."""
    told = (
        "test", "raw-loop", "--cases", "3", "--model", "simulated-swaps+always", "--guard", "none,block",
        "--max-iterations", "12", "--collector", client.url,
    )  # fmt: skip
    command = [sys.executable, "-m", "pdoctor_trace", *told]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode in (0, 1), done.stderr
    newest: str = client.get("/campaigns")["items"][0]["id"]
    return newest


def runs_of(client: Client) -> dict[str, str]:
    """Name -> run, of each kind that has a look of its own."""
    found = {
        "bad": sent(client, "pay", "verify", version="1.0", query="Refund the ticket to Seattle"),
        "good": sent(client, "verify", "pay", version="1.0", query="Refund the ticket to Boston"),
        "long": sent(client, *["search"] * 120, "pay", version="1.1", query="Find a hotel and pay it"),
        "guarded": sent(
            client, {"name": "pay", "error": "Not run: verify must happen before pay.", "at": REFUSED},
            "verify", "pay", version="1.1", query="Refund the hotel, after all",
        ),
        "shapes": sent(client, "deploy", "review", version="2", query="Deploy it", agent="deployer"),
        "names": sent(client, NAMES["tool"], LONG, "pay", version="v" * 80, query=NAMES["query"] * 3,
                      agent=NAMES["agent"]),
    }  # fmt: skip
    sent(client, "pay", version="1.1", query="Refund the hotel")
    found["open"] = new_id()
    client.send(agent_request(found["open"], ["search"], agent="slow", root=False))
    client.judged(found["open"], complete=False)
    return {**found, "hostile": failed_run(client), "nested": nested_run(client)}


@contextmanager
def filled(folder: Path) -> Iterator[dict[str, Shown]]:
    """Pages by name: of a collector with all there is, of an empty one, and of one that wants a key."""
    for name in ("full", "empty", "keyed", "demo"):
        (folder / name).mkdir()
    told = settings(
        folder / "full", webhook_hosts=("127.0.0.1",), webhook_private=True, smtp="smtp://127.0.0.1:1"
    )
    keyed = settings(folder / "keyed", checkers=0)
    store = open_store(keyed.store_url)
    new_key(store, project="default", name="reader", scopes=["read"])
    store.close()
    with (
        running(told) as url,
        running(settings(folder / "empty")) as empty,
        running(keyed) as locked,
        running(settings(folder, store_url=f"sqlite:///{demonstrated(folder / 'demo')}")) as demo,
        Client(url) as client,
        Client(demo) as shown,
    ):
        yield {
            **{name: Shown(url + path) for name, path in pages_of(client).items()},
            **acted_on(url, client),
            **{f"empty-{name}": Shown(empty + path) for name, path in EMPTY.items()},
            **{f"demo-{name}": Shown(demo + path) for name, path in pages_of_demo(shown).items()},
            "login": Shown(f"{locked}/runs"),
        }


def demonstrated(folder: Path) -> Path:
    """The store that `pdoctor demo` leaves."""
    command = [sys.executable, "-m", "pdoctor_trace", "demo", "--no-serve", "--cases", "2"]
    told = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(command, env=told, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (store,) = folder.glob("pdoctor/demo-*.db")
    return store


def pages_of_demo(client: Client) -> dict[str, str]:
    """Name -> the path of a page, of what `pdoctor demo` shows: a run of each error, and the lists."""
    failed = client.get("/runs", outcome="fail", limit=200)["items"]
    kinds = {run["error_type"] or "policy": run for run in failed}
    longest = max(client.get("/runs", limit=200)["items"], key=lambda run: run["calls_count"] or 0)
    passed = next(run for run in client.get("/runs", outcome="pass", limit=200)["items"] if run["case_id"])
    return {
        **{f"run-{kind}": f"/runs/{run['id']}" for kind, run in kinds.items()},
        "run-long": f"/runs/{longest['id']}", "run-pass": f"/runs/{passed['id']}",
        "overview": "/", "runs": "/runs", "findings": "/findings", "policies": "/policies", "cases": "/cases",
        "case": f"/cases/{passed['case_id']}", "policy": "/policies/airline_policies",
        "compare": f"/compare?a={failed[0]['id']}&b={passed['id']}", "metrics": "/metrics-explorer?by=agent",
        "compare-agents": "/compare?by=agent&a=openai-tools&b=raw-loop", "setup": "/setup",
    }  # fmt: skip


EMPTY = {
    "overview": "/", "runs": "/runs", "findings": "/findings", "policies": "/policies",
    "draft": "/policies/draft", "cases": "/cases", "campaigns": "/campaigns", "metrics": "/metrics-explorer",
    "compare": "/compare", "alerts": "/alerts", "approvals": "/approvals", "settings": "/settings",
    "setup": "/setup",
}  # fmt: skip


def pages_of(client: Client) -> dict[str, str]:
    """Name -> the path of a page, of all that there is something on."""
    for name, text in (("shop", RULES), ("shapes", SHAPES)):
        client.http.put(f"/api/v1/policies/{name}", content=text)
    runs = runs_of(client)
    for at in range(20):
        calls = ("verify", "pay", "mail") if at % 3 else ("verify", "look", "pay", "mail")
        sent(client, *calls, version="1.2", query=f"Refund order {at}")
    client.http.put("/api/v1/policies/shop", content=RULES.replace("Know who", "First know who"))
    case = client.get(f"/runs/{runs['hostile']}")["case_id"]
    campaign = failed_campaign(client, runs["hostile"])
    guarded = guarded_campaign(client)
    client.http.put("/api/v1/views/mine", json={"query": "outcome:fail"})
    rule = {"name": "pay", "kind": "webhook", "to": "http://127.0.0.1:1/hook"}
    assert client.post("/alerts", rule).status_code == 201
    asked(client, runs["bad"])
    hostile_words(client, runs["good"])
    bad, good, names = runs["bad"], runs["good"], runs["names"]
    return {
        "overview": "/", "overview-none": "/?since=2020-01-01&until=2020-01-02", "runs": "/runs",
        "runs-none": "/runs?q=agent:nobody", "runs-wrong": f"/runs?q={quote('outcome:purple')}",
        **{f"run-{name}": f"/runs/{run}" for name, run in runs.items()},
        "made-case": f"/runs/{bad}/case", "made-case-names": f"/runs/{names}/case",
        "span": f"/runs/{bad}/spans/0000000000000002", "no-run": "/runs/none", "no-page": "/nothing/here",
        "no-policy": "/policies/nothing", "no-campaign": "/campaigns/nothing", "no-case": "/cases/nothing",
        "wrong-cursor": "/runs?cursor=junk", "wrong-number": f"/runs/{bad}?calls=-1", "findings": "/findings",
        "findings-all": "/findings?state=all", "findings-none": "/findings?state=fixed",
        "findings-rule": "/findings?rule=policy:verify-first", "policies": "/policies",
        "policy": "/policies/shop", "policy-diff": "/policies/shop?version=2", "policy-new": "/policies/new",
        "draft": "/policies/draft?q=agent:refunds+outcome:pass", "draft-none": f"/policies/draft?run={good}",
        "cases": "/cases", "case": f"/cases/{case}", "campaigns": "/campaigns",
        "campaign": f"/campaigns/{campaign}", "campaign-guarded": f"/campaigns/{guarded}",
        "campaign-before": f"/campaigns/{guarded}?before={campaign}", "compare": "/compare",
        "compare-runs": f"/compare?a={bad}&b={good}", "compare-names": f"/compare?a={names}&b={bad}",
        "compare-versions": "/compare?by=version&a=1.0&b=1.1", "compare-none": "/compare?by=version&a=8&b=9",
        "compare-wrong": "/compare?a=none&b=none", "alerts": "/alerts", "approvals": "/approvals",
        "metrics": "/metrics-explorer", "metrics-by": "/metrics-explorer?metric=failed&by=version&last=1h",
        "metrics-markup": f"/metrics-explorer?metric=calls&by=agent&q={PLAIN}",
        "draft-markup": f"/policies/draft?q={PLAIN}",
        "metrics-none": "/metrics-explorer?q=agent:nobody", "settings": "/settings", "setup": "/setup",
        "api": "/docs", "help": "/help", "help-found": "/help?q=guard", "help-none": "/help?q=xyzzy",
        "help-page": "/help/rules",
    }  # fmt: skip


def asked(client: Client, run: str) -> None:
    """A question that waits for a person, and one that was answered."""
    about = {"rules": ["verify-first"], "run_id": run, "agent": "refunds", "seconds": 3600}
    question = {"tool": "refund", "text": "Not run: Refunds need a person.", "arguments": {"id": "A-17"}}
    for decision in (None, "refuse"):
        made = client.post("/approvals", {**question, **about})
        assert made.status_code == 200, made.text
        if decision:
            client.http.put(f"/api/v1/approvals/{made.json()['id']}", json={"decision": decision})


def hostile_words(client: Client, run: str) -> None:
    """Markup in each text that people or programs store beside runs."""
    rule = f'{{id: "{MARKUP}", text: "{MARKUP}", owner: "{MARKUP}", rule: Bold must never happen.}}'
    text = f'applies: {{agent: "{MARKUP}"}}\nactions: {{bold: "{MARKUP}"}}\npolicies:\n  - {rule}\n'
    assert client.http.put("/api/v1/policies/markup", content=text).status_code == 200
    for _ in range(12):
        sent(client, MARKUP, "verify", "pay", version=MARKUP, query=MARKUP, agent=f"plain {MARKUP}")
    sent(client, MARKUP, version=MARKUP, query=MARKUP, agent=MARKUP)
    said = {"kind": "webhook", "to": "http://127.0.0.1:1/hook", "agent": MARKUP, "version": MARKUP}
    assert client.post("/alerts", {**said, "name": MARKUP, "policy": MARKUP}).status_code == 201
    about = {"rules": [MARKUP], "run_id": run, "agent": MARKUP, "seconds": 3600}
    question = {"tool": MARKUP, "text": MARKUP, "arguments": {MARKUP: MARKUP}}
    assert client.post("/approvals", {**question, **about}).status_code == 200
    assert (
        client.http.put(f"/api/v1/views/{quote(MARKUP, safe='')}", json={"query": MARKUP}).status_code == 200
    )
    mark = {"rule": "policy:verify-first", "agent": "refunds", "tool": "pay", "state": "known"}
    marked = client.http.put("/api/v1/findings/groups", json={**mark, "owner": MARKUP, "reason": MARKUP})
    assert marked.status_code == 200, marked.text


def acted_on(url: str, client: Client) -> dict[str, Shown]:
    """Name -> a page on which something was pressed or opened."""
    newest = client.get("/runs")["items"][0]["id"]
    return {
        "keys": Shown(f"{url}/runs", script=KEYS),
        "overview-opened": Shown(f"{url}/", script=OPEN),
        "runs-opened": Shown(f"{url}/runs?q=outcome:fail", script=OPEN),
        "run-opened": Shown(f"{url}/runs/{newest}", script=OPEN),
        "findings-opened": Shown(f"{url}/findings", script=OPEN),
        "api-opened": Shown(f"{url}/docs", script=OPEN),
        "policy-tried": Shown(f"{url}/policies/shop", "button[value=try]"),
        "alert-refused": Shown(f"{url}/alerts?name=a&to=nowhere&at_least=few", ".filters button"),
        "runs-not-ticked": Shown(f"{url}/runs", "button[formaction='/runs/compare']"),
        "deleting": Shown(f"{url}/runs/{newest}", "button.danger"),
    }  # fmt: skip

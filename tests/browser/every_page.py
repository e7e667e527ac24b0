"""A collector with something on each of its pages, and the addresses of them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from collector.server import running
from tests.browser.test_pages import failed_campaign, failed_run, nested_run
from tests.support.traces import Client, agent_spans, new_id, request, settings

RULES = (
    "actions: {pay: pay, verify: verify}\n"
    "policies:\n  - {id: verify-first, text: Know who it is., owner: payments, severity: high, "
    "rule: Verify must happen before pay.}\n"
)


def sent(client: Client, *calls: str, version: str, query: str) -> str:
    run = new_id()
    spans = agent_spans(run, list(calls), agent="refunds", query=query)
    spans[-1]["at"]["user.id"] = "u1"
    about = {"service.name": "shop", "service.version": version}
    client.send(request(*spans, resource=about).SerializeToString())
    client.judged(run)
    return run


@contextmanager
def filled(folder: Path) -> Iterator[tuple[Client, dict[str, str]]]:
    """A collector, and its pages: name -> address."""
    told = settings(folder, webhook_hosts=("127.0.0.1",), webhook_private=True, smtp="smtp://127.0.0.1:1")
    with running(told) as url, Client(url) as client:
        client.http.put("/api/v1/policies/shop", content=RULES)
        bad = sent(client, "pay", "verify", version="1.0", query="Refund the ticket to Seattle")
        sent(client, "pay", version="1.1", query="Refund the hotel")
        good = sent(client, "verify", "pay", version="1.0", query="Refund the ticket to Boston")
        long = sent(client, *["search"] * 120, "pay", version="1.1", query="Find a hotel and pay it")
        hostile, nested = failed_run(client), nested_run(client)
        case = client.get(f"/runs/{hostile}")["case_id"]
        campaign = failed_campaign(client, hostile)
        client.http.put("/api/v1/policies/shop", content=RULES.replace("Know who", "First know who"))
        rule = {"name": "pay", "kind": "webhook", "to": "http://127.0.0.1:1/hook"}
        assert client.post("/alerts", rule).status_code == 201
        question = {"tool": "refund", "text": "Not run: Refunds need a person.", "arguments": {"id": "A-17"}}
        assert client.post("/approvals", {**question, "rules": ["p"], "run_id": bad}).status_code == 200
        client.http.put("/api/v1/views/mine", json={"query": "outcome:fail"})
        told_runs = {"bad": bad, "good": good, "long": long, "hostile": hostile, "nested": nested}
        runs = {f"run-{name}": f"/runs/{run}" for name, run in told_runs.items()}
        yield client, {
            "overview": "/", "runs": "/runs", "runs-none": "/runs?q=agent:nobody",
            "runs-wrong": f"/runs?q={quote('outcome:purple')}", **runs, "made-case": f"/runs/{bad}/case",
            "span": f"/runs/{bad}/spans/0000000000000002", "no-run": "/runs/none", "findings": "/findings",
            "findings-all": "/findings?state=all", "policies": "/policies", "policy": "/policies/shop",
            "policy-diff": "/policies/shop?version=2", "policy-new": "/policies/new",
            "draft": f"/policies/draft?run={good}", "cases": "/cases", "case": f"/cases/{case}",
            "campaigns": "/campaigns", "campaign": f"/campaigns/{campaign}",
            "compare": "/compare", "compare-runs": f"/compare?a={bad}&b={good}",
            "compare-versions": "/compare?by=version&a=1.0&b=1.1", "alerts": "/alerts",
            "approvals": "/approvals", "metrics": "/metrics-explorer",
            "metrics-by": "/metrics-explorer?metric=failed&by=version&last=1h",
            "findings-rule": "/findings?rule=policy:verify-first",
            "settings": "/settings", "setup": "/setup", "api": "/docs", "help": "/help",
            "help-page": "/help/rules",
        }  # fmt: skip

"""The names on pages lead to the runs that have them."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

from collector.server import running
from tests.support.traces import Client, agent_request, new_id, settings

RULES = """\
actions: {pay: pay a, verify: verify}
policies:
  - {id: verify first, rule: Verify must happen before pay.}
"""


def test_every_name_leads_to_the_runs_that_have_it(tmp_path: Path) -> None:
    told = settings(tmp_path, webhook_hosts=("127.0.0.1",), webhook_private=True)
    with running(told) as url, Client(url) as client:
        client.post("/policies", {"name": "shop", "text": RULES})
        first, second = new_id(), new_id()
        for run in (first, second):
            client.send(agent_request(run, ["pay a", "verify"], agent="re funds", query="Pay it."))
            client.judged(run)
        alert = {"name": "pay", "kind": "webhook", "to": "http://127.0.0.1:1/hook", "agent": "re funds"}
        assert client.post("/alerts", alert).status_code == 201
        question = {"tool": "pay a", "text": "Not run.", "rules": ["verify first"], "agent": "re funds"}
        assert client.post("/approvals", question).status_code == 200
        expected = {
            "/findings?state=all": {"tool:", "agent:", "rule:"},
            f"/runs/{first}": {"tool:", "policy:"},
            f"/compare?a={first}&b={second}": {"agent:", "tool:"},
            f"/runs/{first}/case": {"tool:"},
            "/approvals": {"agent:", "tool:", "policy:"},
            "/policies/shop": {"policy:"},
            "/alerts": {"agent:"},
        }
        for address, fields in expected.items():
            page = client.http.get(address)
            assert page.status_code == 200, page.text
            links = {unescape(link) for link in re.findall(r'href="(/runs\?q=[^"]+)"', page.text)}
            for field in fields:
                assert any(unquote(link).startswith(f"/runs?q={field}") for link in links), (address, field)
            for link in links:
                assert first in client.http.get(link).text, (address, link)

"""A call that waits for a person, in a real browser."""

from __future__ import annotations

from tests.support.chromium import Page
from tests.support.traces import Client


def test_a_question_appears_on_the_open_page_by_itself(page: Page, collector: Client) -> None:
    page.open(f"{collector.url}/approvals")
    said = {"tool": "wire_money", "text": "Not run: A person decides.", "seconds": 60}
    asked = collector.post("/approvals", said).json()
    page.wait_for("document.querySelector('main').innerText.includes('wire_money')")
    answer = collector.http.put(f"/api/v1/approvals/{asked['id']}", json={"decision": "refuse"})
    assert answer.status_code == 200
    page.wait_for("document.querySelector('#decided') !== null")
    assert page.problems == []


def test_a_button_lets_a_call_run(page: Page, collector: Client) -> None:
    said = {"tool": "refund", "text": "Not run: Refunds need a person.", "arguments": {"order": "A-17"}}
    asked = collector.post("/approvals", said).json()
    page.open(f"{collector.url}/approvals")
    assert "A-17" in page.evaluate("document.querySelector('main').innerText")
    page.evaluate("window.before = true")
    page.click("main form button")
    page.wait_for("!window.before && document.readyState === 'complete'")
    assert "refund was approved." in page.evaluate("document.querySelector('main').innerText")
    assert collector.post("/approvals", {"id": asked["id"]}).json()["state"] == "approved"

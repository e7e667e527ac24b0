"""What people do all day, in a real browser: find, read, try a rule, waive, alert, keys, delete."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.server import running
from tests.support.chromium import Page
from tests.support.mailbox import hook, mailbox
from tests.support.traces import Client, agent_spans, case_json, eventually, new_id, request, settings

HOSTILE = "<img src=x onerror=alert(1)>"
RULES = (
    "actions: {pay: pay, verify: verify}\n"
    "policies:\n  - {id: verify-first, rule: Verify must happen before pay.}\n"
)


@pytest.fixture(autouse=True)
def _clean(page: Page) -> None:
    page.open("about:blank")
    page.command("Network.clearBrowserCookies")
    page.width(1280)
    page.requests.clear()
    page.problems.clear()


def sent(client: Client, *calls: str, version: str = "1.0", query: str = "", user: str = "u1") -> str:
    run = new_id()
    spans = agent_spans(run, list(calls), agent=f"desk {HOSTILE}", query=query)
    spans[-1]["at"]["user.id"] = user
    about = {"service.name": "shop", "service.version": version}
    client.send(request(*spans, resource=about).SerializeToString())
    client.judged(run)
    return run


def fill(page: Page, selector: str, text: str) -> None:
    page.evaluate(f"document.querySelector({selector!r}).focus()")
    page.evaluate(f"document.querySelector({selector!r}).value = ''")
    page.command("Input.insertText", text=text)


def press(page: Page, selector: str) -> None:
    """Press a button that leads to another page."""
    page.evaluate("window.before = true")
    page.click(selector)
    page.wait_for("!window.before && document.readyState === 'complete'")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Client]:
    told = settings(tmp_path, webhook_hosts=("127.0.0.1",), webhook_private=True, smtp="smtp://127.0.0.1:1")
    with running(told) as url, Client(url) as client:
        client.http.put("/api/v1/policies/shop", content=RULES)
        yield client


def test_a_failing_run_is_found_read_and_its_rule_changed_tried_and_saved(page: Page, shop: Client) -> None:
    run = sent(shop, "pay", "verify", query="Refund the ticket to Seattle")
    sent(shop, "verify", "pay", query="Refund the ticket to Boston")
    page.open(f"{shop.url}/runs")
    fill(page, "#q", 'outcome:fail "seattle"')
    press(page, ".search button")
    assert page.texts(".runs .id") == [run[:12]]
    press(page, ".said")
    assert page.evaluate("location.pathname") == f"/runs/{run}"
    assert page.text(".findings mark") == "Verify must happen before pay"
    page.open(f"{shop.url}/policies/shop")
    page.wait_for("document.querySelector('#checked').textContent === '1 policy can be read.'")
    fill(page, "#text", RULES.replace("must happen", "must hapen"))
    page.wait_for("document.querySelector('#checked').textContent.includes('^^')")
    assert "did you mean 'must happen'" in page.text("#checked")
    fill(page, "#text", RULES.replace("Verify must happen before pay.", "Pay must never happen."))
    press(page, "button[value=try]")
    assert "would flag 2, 1 of them new" in page.text("#tried")
    assert "Pay must never happen." in page.evaluate("document.querySelector('#text').value")
    press(page, "button[value=save]")
    assert "Saved as version 2" in page.text(".done")
    press(page, ".history a")
    assert "+  - {id: verify-first, rule: Pay must never happen.}" in page.text(".diff .added")
    assert [problem for problem in page.problems if "400" not in problem] == []


def test_a_finding_is_waived_and_comes_back_with_another_version(page: Page, shop: Client) -> None:
    sent(shop, "pay")
    page.open(f"{shop.url}/findings")
    assert page.texts(".rule-name") == ["verify-first"]
    page.click(".change summary")
    page.evaluate("document.querySelector('select[name=state]').value = 'waived'")
    fill(page, ".decide input[name=version]", "1.0")
    fill(page, ".decide input[name=reason]", HOSTILE)
    press(page, ".decide button")
    assert "Nothing is in this state" in page.text("main")
    page.open(f"{shop.url}/findings?state=waived")
    assert HOSTILE in page.text(".inbox")
    sent(shop, "pay", version="1.1")
    eventually(lambda: "Came back" in shop.http.get("/findings").text, 60)
    page.open(f"{shop.url}/findings")
    assert "1.1 breaks it" in page.text(".inbox .warn")
    assert page.problems == []


def test_an_alert_is_made_tested_and_received(page: Page, shop: Client) -> None:
    with hook() as (address, posted):
        page.open(f"{shop.url}/alerts")
        assert "Nobody is told of anything yet" in page.text("main")
        fill(page, "input[name=name]", f"pay {HOSTILE}")
        fill(page, "input[name=at_least]", "1")
        fill(page, "input[name=to]", address)
        page.evaluate("document.querySelector('select[name=window]').value = '5m'")  # looked at every 5 s
        press(page, ".filters button")
        assert "whsec_" in page.text(".done")
        press(page, ".inbox button")
        eventually(lambda: [body["event"] for _, body in posted] == ["alert.test"], 30)
        sent(shop, "pay")
        eventually(lambda: "alert.firing" in [body["event"] for _, body in posted], 90)
        page.open(f"{shop.url}/alerts")
        assert page.text(".badge") == "firing"
        assert page.problems == []


def test_a_key_is_made_used_and_revoked_and_a_users_runs_are_deleted(page: Page, shop: Client) -> None:
    sent(shop, "verify", "pay", user="ms okafor")
    sent(shop, "verify", "pay", user="somebody else")
    page.open(f"{shop.url}/settings")
    fill(page, "form[action='/settings/keys'] input[name=name]", f"root {HOSTILE}")
    press(page, "form[action='/settings/keys'] button")
    key = page.text("#made")
    assert key.startswith("pdk_")
    page.open(f"{shop.url}/settings")
    assert "admin" in page.text(".who")
    shop.http.headers["authorization"] = f"Bearer {key}"
    fill(page, "form[action='/settings/keys'] input[name=name]", "sender")
    press(page, "form[action='/settings/keys'] button")
    sender = page.text("#made")
    page.open(f"{shop.url}/settings")
    press(page, "tr:nth-child(2) form button")
    assert "is revoked" in page.text(".done")
    about = {"authorization": f"Bearer {sender}", "content-type": "application/x-protobuf"}
    assert shop.http.post("/v1/traces", content=b"", headers=about).status_code == 401
    fill(page, "form[action='/runs/delete'] input[name=user]", "ms okafor")
    press(page, "form[action='/runs/delete'] button")
    assert "ms okafor" in page.text("main")
    press(page, "form button.danger")
    assert "1 run is gone for good" in page.text("main")
    assert shop.get("/stats")["runs"] == 1
    press(page, ".who button")
    assert page.text("h1") == "This collector needs a key"
    assert [problem for problem in page.problems if "401" not in problem] == []


PAGES = (
    "/", "/runs", "/findings", "/findings?state=all", "/policies", "/policies/shop", "/policies/new",
    "/policies/draft", "/cases", "/cases/case-1", "/alerts", "/approvals", "/settings", "/setup",
)  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1400])
def test_every_page_fits_has_contrast_and_loads_nothing_from_elsewhere(
    page: Page, shop: Client, width: int, dark: bool
) -> None:
    from tests.browser.test_pages import LOW_CONTRAST

    sent(shop, "pay", query=HOSTILE * 5)
    shop.post("/cases", case_json("case-1", "a < b", "b < c", actions=("a", "b", "c")))
    shop.http.put(f"/api/v1/views/{'v' * 90}", json={"query": "outcome:fail"})
    page.width(width, dark=dark)
    for path in PAGES:
        page.open(shop.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(LOW_CONTRAST) == [], path
        assert page.evaluate("document.querySelectorAll('h1').length") == 1, path
        nameless = "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
        named = f"{nameless}.filter(e => !e.labels.length && !e.ariaLabel).length"
        assert page.evaluate(named) == 0, path
        assert page.evaluate("document.querySelectorAll('main img[onerror]').length") == 0, path
    assert page.hosts() == {shop.url.removeprefix("http://")}
    assert page.problems == []


def test_keys_move_through_rows_and_mark_them(page: Page, shop: Client) -> None:
    runs = [sent(shop, "verify", "pay") for _ in range(2)]
    page.open(f"{shop.url}/runs")
    for key in ("j", "j", "x"):
        page.command("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        page.command("Input.dispatchKeyEvent", type="keyUp", key=key)
    assert page.evaluate("[...document.querySelectorAll('td input')].map(e => e.checked)") == [False, True]
    page.command("Input.dispatchKeyEvent", type="keyDown", key="/", text="/")
    assert page.evaluate("document.activeElement.id") == "q"
    press(page, ".runs .said")
    assert page.evaluate("location.pathname") == f"/runs/{runs[1]}"


def test_a_mail_reaches_a_mailbox_from_the_page(page: Page, tmp_path: Path) -> None:
    with mailbox() as (port, letters):
        told = settings(tmp_path, smtp=f"smtp://127.0.0.1:{port}")
        with running(told) as url:
            page.open(f"{url}/alerts")
            fill(page, "input[name=name]", "mail")
            fill(page, "input[name=to]", "me@example.com")
            page.evaluate("document.querySelector('select[name=kind]').value = 'email'")
            press(page, ".filters button")
            press(page, ".inbox button")
            eventually(lambda: letters, 30)
            assert "this is a test" in str(letters[0]["Subject"])


class Counted:
    """Presses links and buttons and makes choices, as a person does, and counts them."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.clicks = page, 0
        page.open(url)

    def press(self, selector: str) -> Counted:
        press(self.page, selector)
        self.clicks += 1
        return self

    def open(self, selector: str) -> Counted:
        self.page.click(selector)
        self.clicks += 1
        return self

    def choose(self, selector: str, value: str) -> Counted:
        self.page.evaluate(f"document.querySelector({selector!r}).value = {value!r}")
        self.clicks += 1
        return self

    def type(self, selector: str, text: str) -> Counted:
        fill(self.page, selector, text)
        return self

    def reads(self, *said: str) -> int:
        """How many clicks led to where all of this stands."""
        shown = self.page.text("main")
        assert all(words in shown for words in said), (said, shown)
        return self.clicks


def nav(path: str) -> str:
    return f"header nav a[href='{path}']"


RUN = ".runs tbody tr:first-child .said"
CLICKS = {
    "why did it fail": 0, "the rule, the calls and a plan": 1, "since when": 1, "who else": 1,
    "their runs": 2, "compare two versions": 3, "reproduce locally": 3, "stop it": 3, "prove it is fixed": 3,
    "tell somebody by its address": 1, "tell somebody by an alert": 3, "silence it": 4, "export it": 2,
}  # fmt: skip
"""As docs/benchmarks.md has them."""


def test_ten_questions_are_answered_in_the_clicks_that_are_told(page: Page, shop: Client) -> None:
    for version, calls in (("1.0", ("verify", "pay")), ("1.0", ("pay",)), ("1.1", ("pay", "verify"))):
        sent(shop, *calls, version=version, query="Refund the ticket")
    why = "pay (call 0) needs an earlier success of verify."

    def begin() -> Counted:
        return Counted(page, f"{shop.url}/")

    def compared() -> Counted:
        asked = begin().press(nav("/compare")).choose("select[name=by]", "version")
        return asked.type("input[name=a]", "1.0").type("input[name=b]", "1.1").press(".filters button")

    found = {
        "why did it fail": begin().reads(why),
        "the rule, the calls and a plan": begin()
        .press(RUN)
        .reads(why, "Verify must happen before pay", "A plan that would have worked"),
        "since when": begin().press(nav("/findings")).reads("first ", "last ", "in 1.0, 1.1"),
        "who else": begin().press(nav("/findings")).reads("2 of 3 runs that it applied to"),
        "their runs": begin().press(nav("/findings")).press(".rule-name").reads("2 runs match."),
        "compare two versions": compared().reads("Version 1.0 (A): 2 complete runs. 1.1 (B): 1."),
        "prove it is fixed": compared().reads("verify-first violated", "Fisher's exact test"),
    }
    made = begin().press(RUN).press(".head a.button")
    page.evaluate(
        "document.querySelector('main a.button').addEventListener('click', e => e.preventDefault())"
    )
    found["reproduce locally"] = made.open("main a.button").reads("Save case-", "pdoctor replay case-")
    stopped = begin().press(RUN).press(".findings .kind a")
    stopped.type("#text", RULES.replace("{id: verify-first,", "{id: verify-first, on_break: block,"))
    found["stop it"] = stopped.press("button[value=save]").reads("Saved as version 2")
    found["tell somebody by its address"] = begin().press(RUN).reads(why)
    assert page.evaluate("location.pathname").startswith("/runs/")
    told = begin().press(RUN).press(".findings .next a:last-child")
    told.type("input[name=name]", "pay").type("input[name=to]", "http://127.0.0.1:1/hook")
    found["tell somebody by an alert"] = told.press(".filters button").reads("Alert pay is in use")
    waived = begin().press(nav("/findings")).open(".change summary").choose("select[name=state]", "waived")
    waived.type(".decide input[name=version]", "1.1").type(".decide input[name=reason]", "known")
    found["silence it"] = waived.press(".decide button").reads("Marked as waived")
    record = begin().press(RUN)
    page.evaluate("document.querySelector('.raw a').addEventListener('click', e => e.preventDefault())")
    found["export it"] = record.open(".raw a").reads("This run as JSON")
    assert shop.http.get(page.evaluate("document.querySelector('.raw a').href")).json()["outcome"] == "fail"
    assert found == CLICKS
    assert page.problems == []

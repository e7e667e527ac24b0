"""What a page says where something is not there or cannot be done: what was asked for, and what to do."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from collector.server import running
from tests.support.traces import Client, agent_request, new_id, settings

PAGE = {"accept": "text/html"}
RULES = """\
actions: {pay: pay, verify: verify}
policies:
  - {id: verify-first, rule: Verify must happen before pay.}
"""


def said(client: Client, path: str, status: int) -> str:
    """The text of a page, without markup."""
    answer = client.http.get(path, headers=PAGE)
    assert answer.status_code == status, answer.text
    main = answer.text.partition("<main")[2]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", main)).split())


@pytest.mark.parametrize(
    ("path", "named", "back"),
    [
        ("/runs/none-such", "There is no run 'none-such'", "/runs"),
        ("/campaigns/none-such", "There is no campaign 'none-such'", "/campaigns"),
        ("/cases/none-such", "There is no case 'none-such'", "/cases"),
        ("/policies/none-such", "There is no policy file 'none-such'", "/policies"),
    ],
)
def test_what_is_not_there_is_named_and_leads_to_the_list(
    shared: Client, path: str, named: str, back: str
) -> None:
    text = said(shared, path, 404)
    assert named in text
    assert len(text.split(named)[1].split()) > 8  # what to do
    assert f'<p><a href="{back}">All {back[1:]}' in shared.http.get(path, headers=PAGE).text


def test_a_missing_campaign_to_compare_with_is_the_one_that_is_named(shared: Client) -> None:
    campaign = new_id()
    told = {"id": campaign, "verb": "test", "name": "one", "results": []}
    assert shared.post("/campaigns", told).status_code == 201
    assert "There is no campaign 'gone'" in said(shared, f"/campaigns/{campaign}?before=gone", 404)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("calls=-1", "'calls' is '-1', and should be a number that is at least 0"),
        ("calls=x", "'calls' is 'x', and should be a whole number"),
        ("since=nan&until=3", "'since' is 'nan', and should be a number"),
    ],
)
def test_a_number_in_an_address_that_cannot_be_is_said_to_be_so(shared: Client, asked: str, why: str) -> None:
    text = said(shared, f"/runs/abcdef?{asked}", 400)
    assert why in text
    assert "Mend it in the address, or look at the page without it." in text
    assert '<a href="/runs/abcdef">The page without it</a>' in (
        shared.http.get(f"/runs/abcdef?{asked}", headers=PAGE).text
    )


@pytest.mark.parametrize(
    ("path", "form", "why"),
    [
        ("/settings", {"retention_days": "-3"}, "'Days that runs are kept' is '-3'"),
        ("/settings", {"clock_skew_ms": "inf"}, "'Clocks may differ by (ms)' is 'inf'"),
        ("/settings", {"clock_skew_ms": "few"}, "expected a number above 0, or nothing for 50"),
        ("/alerts", {"above": "-2", "at_least": "1"}, "'more than' is '-2', which is no number of percent"),
        ("/alerts", {"above": "100", "at_least": "1"}, "expected a number from 0 to 99"),
        ("/alerts", {"at_least": "-2"}, "'of at least' is '-2', which is no number of runs"),
        ("/alerts", {"at_least": "0"}, "expected a whole number of at least 1"),
    ],
)
def test_a_number_in_a_form_that_cannot_be_is_named_as_the_form_names_it(
    shared: Client, path: str, form: dict[str, str], why: str
) -> None:
    answer = shared.http.post(path, data={"name": "a", "kind": "email", "to": "a@b.example", **form})
    assert answer.status_code == 400
    assert why in unescape(answer.text)


def test_a_search_that_cannot_be_made_matches_nothing_and_verdicts_have_one_word(
    tmp_path: Path,
) -> None:
    with running(settings(tmp_path)) as url, Client(url) as client:
        client.post("/policies", {"name": "shop", "text": RULES})
        kept, violated = new_id(), new_id()
        for run, calls in ((kept, ["verify", "pay"]), (violated, ["pay", "verify"])):
            client.send(agent_request(run, calls, query="Pay it."))
            client.judged(run)
        wrong = said(client, "/runs?q=outcome:purple", 400)
        assert "purple" in wrong
        assert ("match" in wrong, "The search was not made" in wrong) == (False, True)
        assert "2 runs." in said(client, "/runs", 200)
        grown = new_id()
        for root in (False, True):
            client.send(agent_request(grown, ["verify", "pay"], query="Pay it.", root=root))
            client.judged(grown, complete=root)
        history = said(client, f"/runs/{grown}", 200).partition("How the verdict came about")[2]
        assert re.search(r" open .* pass ", history)
        assert " ok " not in history
        page = said(client, f"/runs/{kept}", 200)
        assert " kept " in page
        assert " ok " not in page
        assert " violated " in said(client, f"/runs/{violated}", 200)
        rules = client.http.get("/policies").text
        assert 'href="/runs?q=rule%3Averify-first%20last%3A24h">1</a>' in rules
        assert "Broken" not in rules + client.http.get("/policies/shop").text
        beside = said(client, f"/compare?a={kept}&b={violated}", 200)
        assert "kept violated" in beside

"""The inbox: groups, what people say of them, and when that ends; labels; policies tried on stored runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from collector.judging.accepting import with_rule
from collector.judging.policies import read_policies
from collector.store.groups import Group, Key, Mark, Standing, standing
from synth.errors import BadInput
from tests.support.traces import Client, agent_spans, eventually, new_id, request

HOSTILE = "<script>owned</script>"


def sent(client: Client, agent: str, *calls: str, version: str = "1.0") -> str:
    run = new_id()
    about = {"service.name": "shop", "service.version": version}
    client.send(request(*agent_spans(run, list(calls), agent=agent), resource=about).SerializeToString())
    client.judged(run)
    return run


def ruled(client: Client, mark: str) -> str:
    """A rule of its own: its id."""
    rule = f"{{id: once-{mark}, rule: Pay must happen at most once.}}"
    text = f"actions: {{pay: pay_{mark}}}\npolicies: [{rule}]\n"
    assert client.http.put(f"/api/v1/policies/p{mark}", content=text).status_code == 200
    return f"policy:once-{mark}"


def group_of(client: Client, rule: str, **asked: Any) -> dict[str, Any]:
    (found,) = client.get("/findings/groups", rule=rule.partition(":")[2], **asked)["items"]
    return dict(found)


@pytest.mark.both_engines
def test_findings_of_a_time_between_two_instants(shared: Client) -> None:
    mark = new_id()[:8]
    rule, pay = ruled(shared, mark), f"pay_{mark}"
    first = sent(shared, mark, pay, pay)
    sent(shared, mark, pay)
    later = sent(shared, mark, pay, pay)
    sent(shared, mark, pay)
    between = datetime.fromisoformat(shared.run(later)["first_seen"])  # by the collector's clock
    at = between.isoformat()
    asked = {"rule": rule.partition(":")[2]}
    for days in (0.5, 5):  # of runs, and of what is counted already
        begins = (between - timedelta(days=days)).isoformat()
        for ends, runs, applied, newest in (
            ({"since": begins, "until": at}, 1, 2, first),
            ({"since": at}, 1, 2, later),
            ({"since": begins}, 2, 4, later),
            ({"until": at}, 1, 2, first),
        ):
            group = group_of(shared, rule, **ends)
            found = group["runs"], group["applied"], group["run_id"], sum(group["counts"])
            assert found == (runs, applied, newest, runs), (days, ends)
            page = shared.http.get("/findings", params={**ends, "rule": rule}).text
            assert f'href="/runs/{newest}"' in page
            assert 'aria-current="true">custom' in page
            assert f"<b>{runs}</b> of {applied} runs" in page
        assert shared.get("/findings/groups", **asked, until=begins)["items"] == []
    page = shared.http.get("/findings", params={"since": at, "state": "all"}).text
    assert '<a href="/findings?last=30d&amp;state=all">30 d</a>' in page  # takes the place of the instants
    assert 'name="state" value="all"' in page
    wrong = shared.http.get("/findings?since=yesterday")
    assert (wrong.status_code, "yesterday" in wrong.text) == (400, True)
    assert shared.http.get("/api/v1/findings/groups?until=never").status_code == 400


@pytest.mark.both_engines
def test_findings_are_grouped_marked_and_come_back(shared: Client) -> None:
    mark = new_id()[:8]
    rule, pay = ruled(shared, mark), f"pay_{mark}"
    agent = f"{HOSTILE}{mark}"
    one = sent(shared, agent, pay, pay)
    two = sent(shared, agent, pay, pay, pay)
    sent(shared, agent, pay)
    group = group_of(shared, rule)
    assert {name: group[name] for name in ("rule", "agent", "tool", "runs", "applied", "state")} == {
        "rule": rule, "agent": agent, "tool": pay, "runs": 2, "applied": 3, "state": "new",
    }  # fmt: skip
    assert (sum(group["counts"]), group["run_id"], group["versions"]) == (2, two, ["1.0"])
    said = {"rule": rule, "agent": agent, "tool": pay}

    def put(**more: Any) -> int:
        return shared.http.put("/api/v1/findings/groups", json={**said, **more}).status_code

    assert put(state="waived", reason="why") == 400
    assert put(state="waived", until="2099-01-01") == 400
    assert put(state="waived", reason="why", until="2020-01-01") == 400
    assert put(state="fixed") == 400
    assert put(state="gone") == 400
    assert put(state="known", severity="terrible") == 400
    assert put(state="waived", reason=HOSTILE, version="1.0", owner="me", severity="high") == 200
    assert group_of(shared, rule)["state"] == "waived"
    page = shared.http.get("/findings", params={"state": "waived"}).text
    assert HOSTILE not in page
    assert "&lt;script&gt;owned" in page
    sent(shared, agent, pay, pay, version="1.1")
    eventually(
        lambda: group_of(shared, rule)["runs"] == 3, 60
    )  # figures are as new as they were quick to find
    back = group_of(shared, rule)
    assert (back["state"], back["runs"]) == ("new", 3)
    assert back["why"] == "it was waived for version 1.0, and 1.1 breaks it"
    eventually(lambda: "Came back" in shared.http.get("/findings").text, 60)
    assert shared.run(one)["outcome"] == "fail"
    shared.http.delete(f"/api/v1/policies/p{mark}")


def test_a_rule_tells_its_owner_and_severity_on_every_page_as_text(fresh: Client) -> None:
    said = f'{{id: once, owner: "{HOSTILE}", severity: warning, rule: Pay must happen at most once.}}'
    text = f"actions: {{pay: pay}}\npolicies: [{said}]\n"
    assert fresh.http.put("/api/v1/policies/shop", content=text).status_code == 200
    run = sent(fresh, "desk", "pay", "pay")
    group = group_of(fresh, "policy:once")
    assert (group["owner"], group["severity"]) == (HOSTILE, "medium")
    shown = "&lt;script&gt;owned&lt;/script&gt;"
    for path in ("/policies", "/policies/shop", "/findings", f"/runs/{run}"):
        page = fresh.http.get(path).text
        assert HOSTILE not in page, path
        assert shown in page, path
        assert "medium" in page, path
    said = {"rule": "policy:once", "agent": "desk", "tool": "pay", "state": "known", "owner": "me"}
    assert fresh.http.put("/api/v1/findings/groups", json=said).status_code == 200
    assert group_of(fresh, "policy:once")["owner"] == "me"


def test_the_inbox_shows_one_rule_and_an_alert_begins_with_it(fresh: Client) -> None:
    for name, most in (("one", "once"), ("two", "twice")):
        rule = f"{{id: {name}, rule: Pay must happen at most {most}.}}"
        text = f"actions: {{pay: pay}}\npolicies: [{rule}]\n"
        fresh.http.put(f"/api/v1/policies/{name}", content=text)
    run = sent(fresh, "desk", "pay", "pay", "pay")
    page = fresh.http.get(f"/runs/{run}").text
    assert "/findings?state=all&amp;last=30d&amp;rule=policy%3Aone" in page
    inbox = fresh.http.get("/findings?state=all&rule=policy:one").text
    assert ("/runs?q=rule%3Apolicy%3Aone" in inbox, "/runs?q=rule%3Apolicy%3Atwo" in inbox) == (True, False)
    assert 'value="one"' in fresh.http.get("/alerts?policy=one").text


def group(**versions: tuple[float, float]) -> Group:
    return Group(Key("policy:a", "", ""), versions=dict(versions))


@pytest.mark.parametrize(
    ("mark", "seen", "now"),
    [
        (None, group(), Standing("new")),
        (Mark("known"), group(), Standing("known")),
        (Mark("waived", until=60.0, at=10.0), group(v=(0, 50)), Standing("waived")),
        (Mark("waived", until=50.0, at=10.0), group(v=(0, 5)), Standing("new", "the waiver has ended")),
        (Mark("waived", version="v", at=10.0), group(v=(0, 50), w=(0, 9)), Standing("waived")),
        (Mark("fixed", version="w", at=10.0), group(v=(0, 50)), Standing("fixed")),
        (Mark("fixed", version="w", at=10.0), group(w=(0, 9)), Standing("fixed")),
        (
            Mark("fixed", version="w", at=10.0), group(w=(0, 20)),
            Standing("new", "it was fixed in w, and w breaks it"),
        ),
        (
            Mark("fixed", version="w", at=10.0), group(x=(20, 20)),
            Standing("new", "it was fixed in w, and x breaks it"),
        ),
        (Mark("wrong"), group(), Standing("wrong")),
    ],
)  # fmt: skip
def test_a_mark_holds_until_its_time_or_its_version_ends(
    mark: Mark | None, seen: Group, now: Standing
) -> None:
    assert standing(mark, seen, 50.0) == now


@pytest.mark.both_engines
def test_labels_change_no_verdict_and_are_a_corpus(shared: Client) -> None:
    mark = new_id()[:8]
    rule = ruled(shared, mark)
    run = sent(shared, mark, f"pay_{mark}", f"pay_{mark}")
    said = shared.http.put(
        f"/api/v1/runs/{run}/labels", json={"rule": rule, "label": "verdict_wrong", "note": HOSTILE}
    )
    assert said.json()["actor"] == "anonymous"
    assert shared.run(run)["outcome"] == "fail"
    assert [one["rule"] for one in shared.get("/labels")["items"] if one["run_id"] == run] == [rule]
    lines = shared.http.get("/api/v1/labels/corpus").text
    assert f'"run_id":"{run}"' in lines
    assert f'"name":"pay_{mark}"' in lines
    page = shared.http.get(f"/runs/{run}").text
    assert "Marked as verdict wrong by anonymous" in page
    assert HOSTILE not in page
    gone = shared.http.delete(f"/api/v1/runs/{run}/labels", params={"rule": rule})
    assert gone.status_code == 200
    assert shared.http.delete(f"/api/v1/runs/{run}/labels", params={"rule": rule}).status_code == 404
    wrong = shared.http.put(f"/api/v1/runs/{run}/labels", json={"rule": rule, "label": "nonsense"})
    assert wrong.status_code == 400
    shared.http.delete(f"/api/v1/policies/p{mark}")


# ---------------------------------------------------------------- trying


@pytest.mark.both_engines
def test_a_policy_is_tried_on_stored_runs_and_nothing_is_stored(shared: Client) -> None:
    mark = new_id()[:8]
    rule, pay = ruled(shared, mark), f"pay_{mark}"
    known, kept = sent(shared, mark, pay, pay), sent(shared, mark, pay)
    name = rule.partition(":")[2]
    text = f"actions: {{pay: {pay}}}\npolicies:\n  - {{id: {name}, rule: Pay must happen at most once.}}\n"
    text += "  - {id: never, rule: Pay must never happen.}\n"
    before = shared.get("/policies")["items"]
    said = shared.post("/policies/try", {"text": text, "q": f"agent:{mark}"}).json()
    assert (said["runs"], said["flagged"], said["new"]) == (2, 2, 2)
    assert said["policies"] == {name: {"violated": 1, "ok": 1}, "never": {"violated": 2}}
    assert {one["run_id"] for one in said["items"]} == {known, kept}
    assert said["guard"] is None
    said = shared.post("/policies/try", {"text": text, "q": f"agent:{mark}", "mode": "block"}).json()
    guard = {id_: (one["calls"], one["right"]) for id_, one in said["guard"]["policies"].items()}
    assert (said["guard"]["refused"], guard) == (3, {name: (0, 0), "never": (3, 3)})
    old = text[: text.index("  - {id: never")]
    said = shared.post("/policies/try", {"text": old, "q": f"agent:{mark}"}).json()
    assert (said["flagged"], said["new"], [one["new"] for one in said["items"]]) == (1, 0, [False])
    assert shared.get("/policies")["items"] == before
    for wrong in (
        {"text": "policies: ["},
        {"text": 1},
        {"text": old, "runs": 0},
        {"text": old, "q": "a:b"},
        {"text": old, "mode": "blok"},
    ):
        assert shared.post("/policies/try", wrong).status_code == 400
    shared.http.delete(f"/api/v1/policies/p{mark}")


DRAFT = """\
actions: {pay: pay, look: look up}
policies:
  - {id: pay-once, rule: Pay must happen at most once.}
  - {id: look-first, rule: Look must happen before pay.}
"""


def test_a_drafted_rule_joins_a_file_whose_comments_stay() -> None:
    text = "# ours\nactions:\n  pay: pay  # money\npolicies:\n  - {id: a, rule: Pay must never happen.}\n"
    changed = with_rule(text, DRAFT, "look-first")
    assert [policy.id for policy in read_policies("x", changed).policies] == ["a", "look-first"]
    assert changed.startswith("# ours\n")
    assert "# money" in changed
    first = with_rule("", DRAFT, "pay-once")
    assert "look" not in first
    assert [policy.id for policy in read_policies("x", first).policies] == ["pay-once"]
    for there, wanted, why in (
        (first, "pay-once", "already"), (text, "nothing", "no rule"), ("a: [", "pay-once", "not YAML"),
        ("actions: {pay: other}", "pay-once", "means 'other'"), ("- a", "pay-once", "no mapping"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=why):
            with_rule(there, DRAFT, wanted)

"""Policies over conversations in a collector: what waits, what later runs put right, what is remembered."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from collector.cli.runs import run_text
from collector.server import running
from collector.store import open_store, retention, schema
from synth.observed import Run, run_from_json
from synth.policies import (
    Part,
    PolicyResult,
    PolicySet,
    Rules,
    judge_policies,
    judge_turn,
    load_policies,
)
from tests.support.traces import MS, Client, agent_spans, new_id, request, settings, until

ACTIONS = "scope: session\nactions: {pay: pay, receipt: receipt, verify: verify}\npolicies:\n"
ANSWERED = ACTIONS + "  - {id: answered, rule: Pay must be followed by receipt.}\n"
SOON = ACTIONS + "  - {id: soon, rule: Pay must be followed by receipt within 2 seconds.}\n"
ONCE = ACTIONS + "  - {id: once, rule: Receipt must happen at least 1 time.}\n"
FIRST = ACTIONS + "  - {id: first, rule: Verify must happen before pay.}\n"


class Talk:
    """A conversation whose turns begin a minute apart."""

    def __init__(self, client: Client, name: str = "talk") -> None:
        self.client, self.name = client, name
        self.turns: list[tuple[str, list[dict[str, Any]]]] = []

    def spans(self, *calls: Any, **options: Any) -> list[dict[str, Any]]:
        """Those of the next turn, not sent yet."""
        spans = agent_spans(new_id(), calls, **options)
        for span in spans:
            span["start"] += len(self.turns) * 60_000 * MS
            span["end"] += len(self.turns) * 60_000 * MS
            span["at"]["gen_ai.conversation.id"] = self.name
        self.turns.append((spans[-1]["trace"], spans))
        return spans

    def say(self, *calls: Any, **options: Any) -> str:
        """The next turn, sent and judged."""
        spans = self.spans(*calls, **options)
        self.send(*spans)
        return self.turns[-1][0]

    def send(self, *spans: dict[str, Any]) -> None:
        assert self.client.send(request(*spans).SerializeToString()).status_code == 200


def found(client: Client, run: str) -> dict[str, str]:
    """Policy -> verdict, or `pending`."""
    results = client.judged(run)["policies"]
    return {one["policy"]: "pending" if one.get("pending") else one["verdict"] for one in results}


def becomes(client: Client, run: str, policy: str, verdict: str) -> None:
    for _ in until():
        if (said := found(client, run).get(policy)) == verdict:
            return
    raise AssertionError(f"{policy} of {run} is {said}")


@contextmanager
def policed(folder: Path, store_url: str, text: str, **options: Any) -> Iterator[Client]:
    """A collector with one policy file."""
    options = {"session_idle_seconds": 60.0, "store_url": store_url, **options}
    with running(settings(folder, **options)) as url, Client(url) as client:
        assert client.post("/policies", {"name": "shop", "text": text}).status_code == 201
        yield client


@pytest.mark.both_engines(heavy="postgresql")
def test_a_duty_is_open_until_a_later_run_keeps_it(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, ANSWERED) as client:
        talk = Talk(client)
        paid = talk.say("pay")
        assert found(client, paid) == {"answered": "pending"}
        shown = client.run(paid)
        assert (shown["outcome"], shown["complete"]) == ("open", True)
        assert run_text(shown).splitlines()[0].endswith("0 of 1 policy violated, 0 kept, 1 still open")
        assert "[answered] still open: Pending: pay (call 0) was not followed" in run_text(shown)
        assert '<span class="badge open">open</span>' in client.http.get(f"/runs/{paid}").text
        looked = talk.say("verify")
        assert found(client, looked) == {"answered": "ok"}
        assert found(client, paid) == {"answered": "pending"}
        talk.say("receipt")
        becomes(client, paid, "answered", "ok")
        assert client.run(paid)["outcome"] == "pass"


@pytest.mark.both_engines(heavy="postgresql")
def test_silence_ends_a_conversation_and_a_run_after_it_goes_on_with_it(
    store_url: str, tmp_path: Path
) -> None:
    with policed(tmp_path, store_url, ANSWERED, session_idle_seconds=1.5) as client:
        talk = Talk(client)
        paid = talk.say("pay")
        becomes(client, paid, "answered", "violated")
        assert client.run(paid)["outcome"] == "fail"
        talk.say("receipt")
        becomes(client, paid, "answered", "ok")


@pytest.mark.both_engines(heavy="postgresql")
def test_what_waits_survives_a_restart(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, ANSWERED, session_idle_seconds=2.0) as client:
        paid = Talk(client).say("pay")
        client.judged(paid)
    with policed(tmp_path, store_url, ANSWERED, session_idle_seconds=2.0) as client:
        becomes(client, paid, "answered", "violated")


def test_a_window_that_passes_is_judged_although_the_conversation_goes_on(
    store_url: str, tmp_path: Path
) -> None:
    with policed(tmp_path, store_url, SOON) as client:
        paid = Talk(client).say("pay")
        becomes(client, paid, "soon", "violated")


@pytest.mark.both_engines(heavy="postgresql")
def test_runs_at_the_same_time_are_judged_beside_each_other(store_url: str, tmp_path: Path) -> None:
    never = ACTIONS + "  - {id: never, rule: Pay must never happen after verify.}\n"
    with policed(tmp_path, store_url, never) as client:
        talk = Talk(client)
        *_, pay, top = spans = talk.spans("receipt", "pay")
        for span in (pay, top):
            span["end"] += 180_000 * MS
        pay["start"] += 180_000 * MS
        talk.send(*spans)
        assert found(client, top["trace"]) == {"never": "not_applicable"}
        looked = talk.say("verify")
        becomes(client, top["trace"], "never", "violated")
        assert found(client, looked) == {"never": "ok"}


@pytest.mark.both_engines(heavy="postgresql")
def test_nothing_of_a_long_conversation_is_forgotten(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, FIRST) as client:
        talk = Talk(client)
        talk.say("verify")
        for _ in range(60):
            talk.send(*talk.spans("look"))
        becomes(client, talk.say("pay"), "first", "ok")
        assert found(client, Talk(client, "other").say("pay")) == {"first": "violated"}


@pytest.mark.both_engines(heavy="postgresql")
def test_a_span_that_comes_late_has_the_runs_after_it_judged_again(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, FIRST) as client:
        talk = Talk(client)
        verify, root = talk.spans("verify", announce=False)
        talk.send(root)
        assert found(client, talk.turns[0][0]) == {"first": "not_applicable"}
        paid = talk.say("pay")
        assert found(client, paid) == {"first": "violated"}
        talk.send(verify)
        becomes(client, paid, "first", "ok")


def test_calls_that_no_policy_speaks_of_have_no_run_judged_again(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, FIRST) as client:
        talk = Talk(client)
        look, verify, root = talk.spans("look", "verify", announce=False)
        talk.send(root)
        client.judged(talk.turns[0][0])
        paid = talk.say("pay")
        assert found(client, paid) == {"first": "violated"}
        before = version(tmp_path, paid)
        talk.send(look)
        for _ in until():
            if len(client.run(talk.turns[0][0])["record"]["calls"]) == 1:
                break
        assert version(tmp_path, paid) == before
        talk.send(verify)
        becomes(client, paid, "first", "ok")
        assert version(tmp_path, paid) == before + 1


MANY = """scope: session
actions: {pay: pay, verify: verify, receipt: receipt, refund: refund}
policies:
  - {id: answered, rule: Pay must be followed by receipt.}
  - {id: soon, rule: Pay must be followed by receipt within 90 seconds.}
  - {id: first, rule: Verify must happen before pay.}
  - {id: same, rule: Verify must happen before pay with the same id.}
  - {id: twice, rule: Pay must happen at most 2 times.}
  - {id: some, rule: Receipt must happen at least 2 times.}
  - {id: over, rule: Pay must never happen after refund.}
  - {id: guarded, guard: {calls: pay, check: "last('verify', 'id', args.id) != null"}}
  - {id: from, provenance: {calls: refund, argument: id, from: pay}}
  - {id: contract, contract: {initial: [], goal: [paid], tools: {pay: {requires: ok, provides: paid},
     verify: {provides: ok}}}}
  - {id: course, behaviour: (until (or verify pay receipt) refund)}
"""


@pytest.mark.both_engines(heavy="postgresql")
def test_a_collector_judges_conversations_as_files_of_them_are_judged(store_url: str, tmp_path: Path) -> None:
    """Whatever the order in which runs and spans arrive."""
    r = random.Random(11)
    policies = load_policies(MANY)
    with policed(tmp_path, store_url, MANY, session_idle_seconds=1.0) as client:
        talks = [Talk(client, f"talk {number}") for number in range(6)]
        for talk in talks:
            for _ in range(r.randint(1, 5)):
                talk.spans(*(some_call(r) for _ in range(r.randint(0, 3))))
            arriving = [span for _, spans in talk.turns for span in spans]
            r.shuffle(arriving)
            for at in range(0, len(arriving), 4):
                talk.send(*arriving[at : at + 4])
        told: set[str] = set()
        for talk in talks:
            for turn in range(len(talk.turns)):
                told |= {*agreed(client, policies, talk, turn).values()}
        assert {"ok", "violated", "not_applicable"} <= told


def some_call(r: random.Random) -> dict[str, Any]:
    name = r.choice(("pay", "verify", "receipt", "refund", "look"))
    found = {"name": name, "arguments": {"id": r.randint(1, 3)}, "result": {"id": r.randint(1, 3)}}
    return {**found, "error": "no"} if r.random() < 0.2 else found


def agreed(client: Client, policies: PolicySet, talk: Talk, turn: int) -> dict[str, str]:
    """The verdicts of a run, once they are those on the records of its conversation."""

    def judge(policies: PolicySet, run: Run, part: Part | None) -> tuple[PolicyResult, ...]:
        return judge_policies(policies, run, rules=Rules(z3="off"), part=part)

    for _ in until():
        records = [client.judged(run)["record"] for run, _ in talk.turns]
        expected = judge_turn(judge, policies, [run_from_json(record) for record in records], turn)
        verdicts = {result.policy: result.verdict for result in expected}
        shown = client.run(talk.turns[turn][0])["policies"]
        if {one["policy"]: one["verdict"] for one in shown} == verdicts:
            assert [tuple(one["violations"]) for one in shown] == [one.violations for one in expected]
            return dict(verdicts)
    raise AssertionError((verdicts, shown))


def version(folder: Path, run: str) -> int:
    """Grows with every arrival, and whenever a run is woken."""
    connection = sqlite3.connect(folder / "store.db")
    (found,) = connection.execute("SELECT version FROM runs WHERE key = ?", (run,)).fetchone()
    connection.close()
    return int(found)


GUARDED = """scope: session
actions: {pay: pay, verify: verify}
policies:
  - {id: mine, guard: {calls: pay, check: "last('verify', 'id', args.id) != null"}}
"""


@pytest.mark.both_engines(heavy="postgresql")
def test_other_policies_read_from_the_spans_what_they_need(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, FIRST) as client:
        talk = Talk(client)
        talk.say({"name": "verify", "arguments": {"id": 7}})
        paid = talk.say({"name": "pay", "arguments": {"id": 7}})
        assert found(client, paid) == {"first": "ok"}
        client.post("/policies", {"name": "shop", "text": GUARDED})
        again, other = (talk.say({"name": "pay", "arguments": {"id": n}}) for n in (7, 8))
        assert found(client, again) == {"mine": "ok"}
        assert found(client, other) == {"mine": "violated"}


def test_no_run_is_read_again_for_another_ones_sake(store_url: str, tmp_path: Path) -> None:
    """The planted fault: spans of earlier runs that nobody can read any more."""
    with policed(tmp_path, store_url, FIRST) as client:
        talk = Talk(client)
        client.judged(talk.say("verify"))
        connection = sqlite3.connect(tmp_path / "store.db")
        with connection:
            connection.execute("UPDATE segments SET payload = x'00'")
        connection.close()
        assert found(client, talk.say("pay")) == {"first": "ok"}


def test_rows_that_are_missing_are_made_from_the_spans(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, FIRST) as client:
        talk = Talk(client)
        client.judged(talk.say("verify"))
        connection = sqlite3.connect(tmp_path / "store.db")
        with connection:
            assert connection.execute("DELETE FROM turns").rowcount == 1
        assert found(client, talk.say("pay")) == {"first": "ok"}
        assert connection.execute("SELECT count(*) FROM turns").fetchone() == (2,)
        connection.close()


@pytest.mark.both_engines(heavy="postgresql")
def test_what_deleted_runs_did_is_not_known(store_url: str, tmp_path: Path) -> None:
    text = FIRST + "  - {id: last, rule: Pay must never happen after verify.}\n"
    with policed(tmp_path, store_url, text) as client:
        talk = Talk(client)
        client.judged(talk.say("verify"))
        client.judged(talk.say("look"))
        store = open_store(store_url)
        days = 86_400.0
        with store.write() as connection:
            connection.execute(update(schema.projects).values(retention_days=20_000.0))
            connection.execute(update(schema.runs).where(schema.runs.c.id == 1).values(last_seen=-2 * days))
        assert retention.prune(store, now=time.time()) == 1
        store.close()
        assert found(client, talk.say("pay")) == {"first": "undecided", "last": "undecided"}
        other = Talk(client, "other").say("pay")
        assert found(client, other) == {"first": "violated", "last": "not_applicable"}


def test_what_the_conversation_owes_is_asked_of_its_last_run(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, ONCE, session_idle_seconds=2.0) as client:
        talk = Talk(client)
        first = talk.say("pay")
        second = talk.say("pay")
        becomes(client, first, "once", "ok")
        becomes(client, second, "once", "violated")


def test_without_policies_of_conversations_nothing_is_kept(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, FIRST.replace("scope: session", "scope: run")) as client:
        client.judged(Talk(client).say("pay"))
    store = open_store(store_url)
    with store.read() as connection:
        assert connection.execute(schema.turns.select()).all() == []
    store.close()

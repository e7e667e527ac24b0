"""Runs of other vendors announce nothing: judged at their root, and only confirmed once nothing came.

Each test judges in its own process by a clock of its own: `Judge.at` goes on to an instant.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from collector.judging.bind import case_texts
from collector.model import Binding
from collector.store import Store, catalog, counts, open_store, projects, retention, schema, webhooks, work
from collector.store.work import Conclusion
from synth.cases import case_from_json
from synth.policies.kinds import KINDS
from tests.support.gapped_runs import RULES, policy_file
from tests.support.judge import GRACE, NOW, Judge
from tests.support.traces import agent_spans, case_json, new_id

POLICY = """\
actions: {verify: verify, pay: pay, receipt: receipt}
policies:
  - {id: first, rule: Verify must happen before pay.}
  - {id: followed, rule: Pay must be followed by receipt.}
"""


@pytest.fixture
def judge(store_url: str, tmp_path: Path) -> Iterator[Judge]:
    made = Judge(store_url, tmp_path)
    catalog.put_policy(made.store, 1, "p", POLICY, now=NOW)
    yield made
    made.close()


def vendor(judge: Judge, *calls: Any, run: str | None = None, **options: Any) -> str:
    """A run that announces nothing."""
    key = run or new_id()
    judge.send(*agent_spans(key, calls, announce=False, **options))
    return key


@pytest.mark.both_engines
def test_each_run_is_judged_once(judge: Judge) -> None:
    good = [vendor(judge, "verify", "pay", "receipt") for _ in range(20)]
    bad = [vendor(judge, "pay", "verify", "receipt") for _ in range(5)]
    judge.at(0)
    assert judge.judged == 25
    assert Counter(judge.rows(schema.runs, "outcome", "complete")) == {
        ("open", False): 20,
        ("fail", False): 5,
    }
    judge.at(GRACE - 0.1)
    assert {complete for (complete,) in judge.rows(schema.runs, "complete")} == {False}
    judge.at(GRACE)
    assert judge.judged == 25
    assert Counter(judge.rows(schema.runs, "outcome", "complete", "due")) == {
        ("pass", True, None): 20,
        ("fail", True, None): 5,
    }
    assert [judge.history(run) for run in (good[0], bad[0])] == [["open", "pass"], ["fail", "fail"]]
    assert judge.rows(schema.closings) == []
    with judge.store.read() as connection:
        kept = counts.kept_of(connection)
    assert {(group.outcome, runs) for group, (runs, _) in kept.items()} == {("pass", 20), ("fail", 5)}


def test_a_duty_that_is_open_while_more_may_come_is_broken_once_nothing_came(judge: Judge) -> None:
    run = vendor(judge, "verify", "pay")
    judge.at(0)
    assert judge.rows(schema.policy_results, "policy", "verdict") == [
        ("first", "ok"),
        ("followed", "undecided"),
    ]
    assert judge.rows(schema.findings) == []
    judge.at(GRACE)
    assert judge.rows(schema.policy_results, "policy", "verdict") == [
        ("first", "ok"),
        ("followed", "violated"),
    ]
    assert judge.rows(schema.findings, "rule", "calls") == [("policy:followed", "[1]")]
    assert (judge.history(run), judge.judged) == (["open", "fail"], 1)


@pytest.mark.both_engines
def test_what_comes_before_the_grace_is_over_counts(judge: Judge) -> None:
    """The run is judged with it, and its grace begins again."""
    late, quiet = new_id(), vendor(judge, "verify", "pay")
    spans = agent_spans(late, ["verify", "pay", "receipt"], announce=False)
    judge.send(*spans[:2], spans[3])
    judge.at(0)
    judge.now = NOW + GRACE - 0.1
    judge.send(spans[2])
    judge.at(GRACE)
    assert (judge.history(late)[-1], judge.history(quiet)[-1]) == ("open", "fail")
    judge.at(GRACE + 1.8)
    assert judge.history(late)[-1] == "open"
    judge.at(2 * GRACE)
    assert judge.history(late)[-1] == "pass"
    assert judge.judged == 3


def test_what_runs_are_judged_by_may_change_until_then(judge: Judge) -> None:
    """A policy, a case, the case of a trace, what a project says of its clocks: the run is judged by it."""
    other = POLICY.replace("Verify must happen before pay", "Receipt must happen before pay")
    case = case_from_json(case_json("c", "a < b"))
    body = {"c": json.dumps(case.to_json())}
    changes = [
        lambda _: catalog.put_policy(judge.store, 1, "p", other, now=NOW),
        lambda _: catalog.drop_policy(judge.store, 1, "p"),
        lambda _: catalog.put_cases(judge.store, 1, body, now=NOW, texts={"c": case_texts(case)}),
        lambda run: catalog.bind(judge.store, 1, [Binding(run, "c")], now=NOW, grace=GRACE),
        lambda run: catalog.bind(judge.store, 1, [Binding(run, "c", "timeout")], now=judge.now, grace=0),
        lambda _: projects.change(judge.store, 1, {"clock_skew_ms": 7.0}),
    ]
    for number, change in enumerate(changes, 1):
        judge.now = NOW + 10 * number
        before = judge.judged
        run = vendor(judge, "do_b", "do_a", query=case.query)
        judge.at(10 * number)
        change(run)
        assert judge.rows(schema.closings) == []
        judge.at(10 * number + GRACE)
        assert (judge.judged - before, judge.rows(schema.runs, "complete", key=run)) == (2, [(True,)])
    other_trace, run = new_id(), new_id()
    judge.send(*agent_spans(run, ["pay"], announce=False, trace=other_trace))
    judge.at(100)
    catalog.bind(judge.store, 1, [Binding(other_trace, "c")], now=judge.now, grace=GRACE)
    assert judge.rows(schema.closings) == []
    with judge.store.read() as connection:
        other_project = connection.scalar(select(schema.projects.c.id).where(schema.projects.c.id != 1))
    assert other_project is None


@pytest.mark.both_engines
def test_a_confirmation_that_fails_has_not_begun(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    run = vendor(judge, "verify", "pay")
    judge.at(0)

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the process ends here")

    with monkeypatch.context() as patched:
        patched.setattr(webhooks, "enqueue", fail)
        with pytest.raises(RuntimeError):
            judge.at(GRACE)
    assert (judge.history(run), len(judge.rows(schema.closings))) == (["open"], 1)
    judge.at(GRACE)
    assert (judge.history(run), judge.judged) == (["open", "fail"], 1)


def test_a_clock_that_was_set_back_ends_no_run_too_soon(judge: Judge) -> None:
    run = vendor(judge, "verify", "pay")
    judge.at(0)
    work.come_back(judge.store, now=NOW - 3600)
    judge.at(-3600)
    assert judge.history(run) == ["open"]
    judge.at(-3600 + GRACE)
    assert judge.history(run) == ["open", "fail"]


@pytest.mark.both_engines(heavy="postgresql")
def test_what_is_kept_for_later_goes_with_its_run(judge: Judge) -> None:
    vendor(judge, "verify")
    judge.at(0)
    assert len(judge.rows(schema.closings)) == 1
    projects.change(judge.store, 1, {"retention_days": 1.0})
    vendor(judge, "verify")
    judge.at(0.1)
    with judge.store.write() as connection:
        connection.execute(update(schema.runs).values(last_seen=0.0))
    assert retention.prune(judge.store, now=NOW) == 2
    assert judge.rows(schema.closings) == []


def test_a_conversation_of_several_traces_ends_with_the_last_of_them(judge: Judge) -> None:
    """A later trace of it that was not looked at yet keeps it open."""

    def turn(number: int, **at: Any) -> dict[str, Any]:
        said = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "talk", **at}
        for side, role in (("input", "user"), ("output", "assistant")):
            parts = [{"type": "text", "content": f"{role} {number}"}]
            said[f"gen_ai.{side}.messages"] = json.dumps([{"role": role, "parts": parts}])
        return {"trace": f"{number:032x}", "id": 1, "name": "chat", "at": said}

    judge.send(turn(1), turn(2))
    judge.at(0)
    judge.at(1)
    assert judge.rows(schema.runs, "joined", "complete") == [(f"{1:032x}", False), (f"{1:032x}", True)]
    judge.now = NOW + 1.9
    judge.send({**turn(2), "id": 2})
    with judge.store.write() as connection:  # it waits in a line
        connection.execute(update(schema.runs).where(schema.runs.c.key == f"{2:032x}").values(due=NOW + 9))
    judge.at(GRACE)
    assert judge.rows(schema.runs, "complete", key=f"{1:032x}") == [(False,)]
    judge.at(1.9 + GRACE)
    assert judge.rows(schema.runs, "complete", key=f"{1:032x}") == [(True,)]


@pytest.mark.both_engines(heavy="postgresql")
def test_several_checkers_confirm_each_run_once(judge: Judge, store_url: str, tmp_path: Path) -> None:
    runs = [vendor(judge, "verify", "pay", "receipt") for _ in range(60)]
    judge.at(0)
    assert work.claim(judge.store, "w", now=NOW + GRACE, lease=9.0, limit=99) == []  # none to be judged
    others = [open_store(store_url) for _ in range(3)]
    done: list[int] = []

    def confirm(store: Store) -> None:
        while number := work.confirm(store, now=NOW + GRACE, limit=7):
            done.append(number)

    threads = [threading.Thread(target=confirm, args=(store,)) for store in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    judge.at(GRACE)
    assert sum(done) == 60
    assert {tuple(judge.history(run)) for run in runs} == {("open", "pass")}
    assert judge.judged == 60
    for store in others:
        store.close()


TOOLS = ("pay", "verify", "refund", "look", "do_a", "do_b")


def some_run(dice: random.Random) -> list[dict[str, Any]]:
    """Spans of a run: some announce more calls than come, fail, have a case, or say what the user said."""
    calls = [
        {
            "name": dice.choice(TOOLS),
            "arguments": {"id": dice.randint(1, 2), "amount": dice.randint(0, 5)},
            "error": "no" if dice.random() < 0.1 else None,
            "at": {"pdoctor.tool.execution": "unknown"} if dice.random() < 0.1 else {},
        }
        for _ in range(dice.randint(0, 6))
    ]
    told = {"case": dice.choice([None, None, "c", "unknown"]), "query": dice.choice([None, "Hello"])}
    spans = agent_spans(f"{dice.getrandbits(128):032x}", calls, announce=False, **told)
    if dice.random() < 0.3:
        spans[-1]["at"]["pdoctor.run.calls"] = len(calls) + 1
    if dice.random() < 0.2:
        del spans[dice.randrange(len(spans))]
    return spans


def everything(judge: Judge) -> dict[str, list[tuple[Any, ...]]]:
    """All that is recorded, in a form that does not depend on the clock."""

    def plain(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("{"):
            said = json.loads(value)
            return json.dumps({**said, "verdict": said.get("verdict") and {**said["verdict"], "z3_ms": 0}})
        return value

    tables = ("runs", "verdicts", "findings", "run_tools", "policy_results", "deliveries", "run_counts")
    return {
        name: sorted(
            (tuple(map(plain, row)) for row in judge.rows(schema.metadata.tables[name], *columns(name))),
            key=repr,
        )
        for name in tables
    }


def columns(table: str) -> Sequence[str]:
    numbered = dict.fromkeys(("verdicts", "findings", "deliveries"), ("id",)).get(table, ())
    return [column.name for column in schema.metadata.tables[table].c if column.name not in numbered]


@pytest.mark.both_engines(heavy="postgresql")
def test_all_is_recorded_as_if_each_run_had_been_judged_again(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all kinds of rules, a case, webhooks: row by row, with half as many judgements."""
    files = [policy_file(kind.kind) for kind in KINDS]
    assert {kind.kind for kind in KINDS} == {*RULES}
    found = []
    for again in (False, True):
        if again:
            monkeypatch.setattr(Conclusion, "closing_with", lambda self, *_: self)
        url = f"sqlite:///{tmp_path / 'again.db'}" if again else store_url
        judge, dice = Judge(url, tmp_path), random.Random(5)
        for number, text in enumerate(files):
            catalog.put_policy(judge.store, 1, f"f{number}", text, now=NOW)
        body = json.dumps(case_from_json(case_json("c", "a < b")).to_json())
        catalog.put_cases(judge.store, 1, {"c": body}, now=NOW)
        hook = {"url": "https://x.example/", "secret": "s", "outcomes": ["fail", "pass", "undecided"]}
        webhooks.add_webhook(judge.store, 1, **hook, now=NOW)  # type: ignore[arg-type]
        judge.at(0)
        for _ in range(10):
            judge.send(*some_run(dice))
        judge.at(0)
        first = judge.judged
        judge.at(GRACE)
        judge.at(100)
        found.append((everything(judge), judge.judged - first))
        judge.close()
    (once, at_the_end), (twice, again_at_the_end) = found
    for table, rows in twice.items():
        assert once[table] == rows, table
    assert (at_the_end, again_at_the_end) == (0, len(once["runs"]))

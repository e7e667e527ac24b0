"""Counts of runs by outcome: right after whatever happens, read at one cost however many there are."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, insert, select, text, update

from collector.clock import Clock
from collector.model import Binding, Segment
from collector.otlp.segments import from_protobuf, without
from collector.pipeline.board import Board
from collector.pipeline.checker import Checker
from collector.pipeline.janitor import Janitor
from collector.settings import Limits
from collector.store import (
    Store,
    catalog,
    counts,
    keys,
    open_store,
    projects,
    reads,
    retention,
    schema,
    stretches,
)
from collector.store.engine import project_id
from collector.store.ingest import KnownKeys, put
from collector.store.recheck import make_due
from tests.support.traces import agent_request, new_id, settings, until

POLICY = "actions: {B: tool}\npolicies:\n  - {id: never, rule: B must never happen.}\n"


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    made = open_store(store_url)
    yield made
    made.close()


def counted(store: Store) -> dict[counts.Group, tuple[int, int]]:
    """By the slow way."""
    runs = schema.runs.c
    with store.read() as connection:
        rows = connection.execute(
            select(runs.project, runs.listed, runs.outcome, runs.error_type, runs.spans)
        )
        found: dict[counts.Group, tuple[int, int]] = {}
        for row in rows:
            group = counts.Group(
                row.project, row.listed is not False, row.outcome or "", row.error_type or ""
            )
            number, spans = found.get(group, (0, 0))
            found[group] = (number + 1, spans + (row.spans or 0))
    return found


def judged(store: Store) -> tuple[dict[counts.Judged, int], dict[counts.Judged, int]]:
    """Results of policies and decisions of guards by day as they are kept, and by the slow way."""
    runs, results, guards = schema.runs.c, schema.policy_results.c, schema.guard_results.c
    with store.read() as connection:
        rows = [
            row
            for run, policy, said in (
                (results.run, results.policy, results.verdict), (guards.run, guards.policy, guards.decision),
            )
            for row in connection.execute(
                select(runs.project, runs.first_seen, policy, runs.agent, said, runs.listed)
                .select_from(schema.runs)
                .join(run.table, runs.id == run)
            )
        ]  # fmt: skip
        found = Counter(
            counts.Judged(project, int(seen // counts.DAY), policy, agent or "", verdict)
            for project, seen, policy, agent, verdict, listed in rows
            if listed is not False
        )
        return counts.judged_of(connection), dict(found)


def stretches_are_right(store: Store) -> int:
    """Runs and findings by six hours are what the slow way finds; of how many the times are not known."""
    found = schema.findings.c
    with store.read() as connection:
        rows = connection.execute(select(schema.runs)).all()
        broken = connection.execute(select(found.id, found.run, found.rule, found.tool)).all()
        came, broke = stretches.kept(connection)
    listed = {row.id: row for row in rows if row.listed is not False}
    key = {run: (row.project, int(row.first_seen // stretches.STRETCH)) for run, row in listed.items()}
    judged = [(*key[run], row.agent or "", row.release or "", row.outcome) for run, row in listed.items()]
    assert came == Counter(one for one in judged if one[-1])
    first = {(one.run, one.rule): one.id for one in reversed(broken)}
    of = dict[Any, list[Any]]()
    for one in sorted(broken):
        if (row := listed.get(one.run)) is not None:
            named = one.rule, row.agent or "", one.tool or "", row.release or ""
            of.setdefault((*key[one.run], *named), []).append(one)
    assert broke.keys() == of.keys()
    for what, some in of.items():
        times = [listed[one.run].first_seen for one in some]
        leads = sum(first[one.run, one.rule] == one.id for one in some)
        assert broke[what][:2] == (len({one.run for one in some}), leads)
        assert broke[what][2:] in ((None, None, None), (min(times), max(times), some[-1].id))
    return sum(count.first is None for count in broke.values())


def kept(store: Store) -> dict[counts.Group, tuple[int, int]]:
    with store.read() as connection:
        return counts.kept_of(connection)


CALLS = (
    "a",
    {"name": "b", "at": {"pdoctor.guard.decision": "refused", "pdoctor.guard.rules": "never,first"}},
)


def send(store: Store, run: str, calls: list[Any], project: int = 1, **more: Any) -> None:
    segments: list[Segment] = list(from_protobuf(agent_request(run, calls, **more), Limits()).segments)
    with store.write() as connection:
        put(
            connection,
            [(project, one) for one in segments],
            KnownKeys(),
            without,
            now=time.time(),
            open_check=0,
        )


@pytest.mark.both_engines
def test_counts_are_right_after_everything_that_happens_to_runs(
    store: Store, store_url: str, tmp_path: Path
) -> None:
    """In any order: arrivals, late spans, verdicts, verdicts of two, new rules, bindings, deletions."""
    dice, other = random.Random(7), project_id(store, "other")
    board, runs = Board(), list[tuple[int, str]]()
    checker = Checker(
        store, settings(tmp_path, store_url=store_url, z3_check="off", z3_check_policies="off"), "w", board
    )

    def arrive() -> None:
        runs.append((dice.choice([1, other]), new_id()))
        agent, root = dice.choice(["x", "y"]), dice.random() < 0.8
        send(store, runs[-1][1], dice.choices(CALLS, k=3), runs[-1][0], root=root, agent=agent)
        age()

    def age() -> None:
        """A run of another time, which nothing has counted yet."""
        of = schema.runs.c.key == runs[-1][1]
        seen = time.time() - dice.random() * 3 * stretches.STRETCH
        with store.write() as connection:
            connection.execute(update(schema.runs).where(of).values(first_seen=seen))

    def come_late() -> None:
        project, run = dice.choice(runs)
        send(store, run, dice.choices(CALLS, k=5), project)

    def judge() -> None:
        for later in (0.5, 100.0):  # of an open run, what it will be is recorded, and then confirmed
            checker.round(time.time() + later)

    def bind() -> None:
        trace = dice.choice(runs)[1] if dice.random() < 0.5 else new_id()
        bound = [Binding(trace, "c", "ok"), Binding(trace, "c", "ok")]
        catalog.bind(store, 1, bound, now=time.time(), grace=0)

    def rule() -> None:
        said = POLICY.replace("tool", dice.choice("ab")) + f"# {dice.random()}"
        catalog.put_policy(store, 1, "p", said, now=time.time())
        make_due(store, 1, reads.Filter(), now=time.time())

    def forget() -> None:
        projects.change(store, 1, {"retention_days": 1.0})
        with store.write() as connection:
            some = [key for _, key in dice.sample(runs, 3)]
            connection.execute(update(schema.runs).where(schema.runs.c.key.in_(some)).values(last_seen=0.0))
        retention.prune(store, now=time.time())

    def delete() -> None:
        retention.delete_runs(store, 1, key=dice.choice(runs)[1])
        retention.delete_runs(store, 1, **dice.choice([{"session": "s"}, {"user": "u"}]))

    def name() -> None:
        """What is deleted by session or user has to be known by it."""
        with store.write() as connection:
            named = update(schema.runs).where(schema.runs.c.key == dice.choice(runs)[1])
            connection.execute(named.values(dice.choice([{"session": "s"}, {"person": "u"}])))

    verdicts, unknown = set[str](), 0
    for _ in range(5):
        arrive()
    for _ in range(60):
        dice.choice([arrive, arrive, come_late, judge, judge, bind, rule, forget, name, delete])()
        assert kept(store) == counted(store)
        unknown += stretches_are_right(store)
        if dice.random() < 0.3:
            while stretches.refresh(store):
                pass
            assert not stretches_are_right(store)
        now_kept, now_there = judged(store)
        assert now_kept == now_there
        verdicts |= {one.verdict for one in now_kept}
    assert {"not_applicable", "violated", "refused"} <= verdicts
    assert unknown
    assert {"fail", "pass", ""} & {group.outcome for group in kept(store)}
    with store.read() as connection:
        stats = reads.stats(connection, 1)
        listed = keys.list_projects(connection, None, now=0.0)
        total = dict(
            connection.execute(
                select(schema.runs.c.project, func.count()).group_by(schema.runs.c.project)
            ).all()
        )  # type: ignore[arg-type]
    assert {row["name"]: row["runs"] for row in listed} == {"default": total[1], "other": total[other]}
    assert stats["runs"] == sum(n for g, (n, _) in kept(store).items() if g.project == 1 and g.listed)
    board.close()


def test_a_transaction_that_fails_counts_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError):
        count_and_fail(store)
    assert kept(store) == {}


def count_and_fail(store: Store) -> None:
    with store.write() as connection:
        counts.arrived(connection, [1, 1])
        raise RuntimeError


@pytest.mark.both_engines
def test_counts_that_are_wrong_are_told_and_set_right(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """A collector of an older version may have written beside this one."""
    send(store, new_id(), ["a"])
    assert counts.set_right(store) is False
    with store.write() as connection:
        connection.execute(update(schema.run_counts).values(runs=7))
        connection.execute(
            insert(schema.policy_days).values(project=1, day=1, policy="p", agent="", verdict="ok", runs=3)
        )
        wrong = {"project": 1, "stretch": 1, "agent": "", "release": "", "runs": 1}
        connection.execute(insert(schema.run_stretches).values(outcome="pass", **wrong))
        connection.execute(insert(schema.finding_stretches).values(rule="r", tool="", leads=1, **wrong))
        connection.execute(
            insert(schema.run_counts).values(project=1, listed=0, outcome="x", error_type="", runs=1, spans=1)
        )
    janitor = Janitor(store, Clock(), dict, pause=0.001)
    for _ in until():
        if janitor.rounds > 1:
            break
    janitor.close()
    assert kept(store) == counted(store)
    assert judged(store) == ({}, {})
    stretches_are_right(store)
    assert caplog.text.count("the counts of runs were wrong") == 1


def many(store: Store, number: int) -> None:
    """So many judged runs, of eleven agents and three outcomes, by five policies."""
    said = ("pass", "fail", "undecided")
    rows = [
        {
            "project": 1, "key": f"{k}", "first_seen": float(k), "last_seen": float(k), "version": 1,
            "checked": 1, "agent": f"agent-{k % 11}", "outcome": said[k % 3], "listed": True, "spans": 3,
            "error_type": "order_error" if k % 3 == 1 else None,
        }
        for k in range(number)
    ]  # fmt: skip
    with store.write() as connection:
        connection.execute(insert(schema.runs), rows)
        results = "SELECT id, 'policy-' || (id % 5), 'ok' FROM runs"
        connection.execute(text(f"INSERT INTO policy_results (run, policy, verdict) {results}"))
    counts.set_right(store)


def steps(store: Store) -> int:
    """Steps of SQLite's machine, in hundreds, for all that the overview reads."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    with store.read() as connection:
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(count, 100)
        reads.stats(connection, 1)
        reads.list_runs(connection, 1, reads.Filter(), limit=50)
        assert len(reads.distinct(connection, 1, "agent")) == 11
        assert reads.distinct(connection, 1, "error_type") == ["order_error"]
        assert reads.policy_names(connection, 1) == [f"policy-{k}" for k in range(5)]
        keys.list_projects(connection, None, now=0.0)
        driver.set_progress_handler(None, 0)
    return taken


def test_the_overview_costs_the_same_for_ten_times_as_many_runs(tmp_path: Path) -> None:
    found = []
    for number in (500, 5_000):
        made = open_store(f"sqlite:///{tmp_path / f'{number}.db'}")
        many(made, number)
        found.append(steps(made))
        made.close()
    assert found[1] <= 1.1 * found[0], found


def test_postgresql_takes_an_index_step_for_each_different_value(postgresql: Any) -> None:
    made = open_store(postgresql.database())
    many(made, 2_000)
    with made.write() as connection:
        connection.execute(text("ANALYZE"))
    queries: list[str] = []
    event.listen(made.engine, "before_cursor_execute", lambda *given: queries.append(given[2]))
    with made.read() as connection:
        assert len(reads.distinct(connection, 1, "agent")) == 11
        plan = connection.exec_driver_sql(
            "EXPLAIN " + queries[-1],
            {"project_1": 1, "project_2": 1, "param_1": 1, "param_2": 1, "param_3": 200},
        ).all()
    assert "Seq Scan on runs" not in str(plan)
    made.close()

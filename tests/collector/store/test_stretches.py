"""Figures over stretches of time: from what is counted and the runs at both ends, as from all runs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from collector.store import Store, buckets, counts, groups, open_store, schema, stretches
from collector.store.engine import project_id
from collector.store.reads import Filter
from collector.store.stretches import STRETCH

NOW = 80_000.4 * STRETCH
RUNS = 500


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    made = open_store(store_url)
    yield made
    made.close()


def filled(store: Store, dice: random.Random) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
    """(The listed runs of project 1, the findings of all): runs of ten stretches with up to five findings."""
    other = project_id(store, "other")
    rows = [
        {
            "id": number, "project": dice.choice((1, 1, other)), "key": f"{number}",
            "first_seen": NOW - dice.random() * 9 * STRETCH, "last_seen": NOW, "version": 1,
            "agent": dice.choice((None, "a", "b")), "release": dice.choice((None, "1", "2")),
            "outcome": dice.choice((None, "pass", "fail")), "listed": dice.choice((True, True, None, False)),
            "findings": dice.choice((0, 1, 3, 5)),
        }
        for number in range(1, RUNS + 1)
    ]  # fmt: skip
    found = [
        {
            "id": number, "run": row["id"], "project": row["project"], "type": "t", "code": "c",
            "calls": "[]", "rule": dice.choice(("policy:p", "case:c")), "tool": dice.choice((None, "x", "y")),
            "explanation": f"This is {number}.",
        }
        for number, row in enumerate((row for row in rows for _ in range(row["findings"])), 1)
    ]  # fmt: skip
    with store.write() as connection:
        connection.execute(insert(schema.runs), rows)
        connection.execute(insert(schema.findings), found)
    counts.set_right(store)
    return {row["id"]: row for row in rows if row["project"] == 1 and row["listed"] is not False}, found


def spans(dice: random.Random, runs: Any) -> Iterator[tuple[float, float]]:
    """From when to when: whole stretches, cut ones, parts of one, all, nothing."""
    at = NOW // STRETCH * STRETCH
    yield from ((0.0, NOW + 1), (at - 3 * STRETCH, at), (at, at), (at + 10, at + 20), (at - 10, at + 10))
    yield from ((NOW - 7 * STRETCH, NOW), (NOW - 100, NOW))
    for _ in range(10):
        first, last = sorted(row["first_seen"] for row in dice.sample(runs, 2))
        yield first, last


@pytest.mark.both_engines
@pytest.mark.parametrize("forgotten", [0.0, 0.3])
def test_figures_of_any_time_are_those_of_its_runs(store: Store, forgotten: float) -> None:
    """Also where of some counts it is not known when their runs came."""
    dice = random.Random(5)
    known, found = filled(store, dice)
    with store.write() as connection:
        for key in connection.execute(select(*schema.finding_stretches.primary_key)).all():
            if dice.random() < forgotten:
                names = schema.finding_stretches.primary_key
                here = (column == value for column, value in zip(names, key, strict=True))
                nothing = {"first": None, "last": None, "newest": None}
                connection.execute(update(schema.finding_stretches).where(*here).values(nothing))
    with store.read() as connection:
        for since, until in spans(dice, list(known.values())):
            runs = {n: row for n, row in known.items() if since <= row["first_seen"] < until}
            came = Counter(
                (row["agent"] or "", row["release"] or "", row["outcome"])
                for row in runs.values()
                if row["outcome"]
            )
            assert stretches.came(connection, 1, since, until) == came
            broken = Counter(
                rule for _, rule in {(one["run"], one["rule"]) for one in found if one["run"] in runs}
            )
            newest = {one["rule"]: one["explanation"] for one in found if one["run"] in runs}
            told = buckets.broken_rules(connection, 1, since, until)
            assert [(one.rule, one.runs) for one in told] == sorted(
                broken.items(), key=lambda one: (-one[1], one[0])
            )
            assert {one.rule: one.said for one in told} == newest
            keys = {one["rule"]: runs[one["run"]]["key"] for one in found if one["run"] in runs}
            assert {one.rule: one.newest for one in told} == keys


@pytest.mark.both_engines
def test_groups_of_findings_are_the_same_by_stretches_and_by_runs(store: Store) -> None:
    dice = random.Random(6)
    filled(store, dice)
    with store.read() as connection:
        for wanted in (Filter(), Filter(agent="a"), Filter(version="2"), Filter(agent="b", version="1")):
            for since in (NOW - 8 * STRETCH, NOW // STRETCH * STRETCH - 5 * STRETCH, NOW - 0.1 * STRETCH):
                slow = groups.found(connection, 1, wanted, since=since, width=STRETCH / 7)
                quick = groups.found(connection, 1, wanted, since=since, width=2 * STRETCH)
                assert slow or since > NOW - STRETCH
                start = groups.begins(since, 2 * STRETCH)
                assert start % STRETCH == 0
                assert start <= since < start + 2 * STRETCH
                for group in quick.values():
                    assert group.counts.total() == group.runs
                    assert max(group.counts) == (group.last_seen - start) // (2 * STRETCH)
                for one in (*slow.values(), *quick.values()):
                    one.counts.clear()
                assert quick == slow


def test_whole_stretches_are_read_from_what_is_counted(store: Store) -> None:
    filled(store, random.Random(7))
    with store.write() as connection:
        connection.execute(update(schema.run_stretches).values(runs=7_000_000_000))
        connection.execute(update(schema.finding_stretches).values(leads=7_000_000_000))
    with store.read() as connection:
        assert min(stretches.came(connection, 1, NOW - 7 * STRETCH).values()) > 7_000_000_000
        told = buckets.broken_rules(connection, 1, NOW - 7 * STRETCH, NOW)
    assert min(one.runs for one in told) > 7_000_000_000


@pytest.mark.both_engines
def test_what_is_gone_is_not_kept_as_nothing(store: Store) -> None:
    filled(store, random.Random(8))
    tables = (schema.policy_days, schema.run_stretches, schema.finding_stretches)
    with store.write() as connection:
        day = {"project": 1, "day": 1, "policy": "p", "agent": "", "verdict": "ok"}
        connection.execute(insert(schema.policy_days), [{**day, "runs": 0}, {**day, "day": 2, "runs": 1}])
        for table in tables[1:]:
            connection.execute(update(table).where(table.c.agent == "a").values(runs=0))
    stretches.forget_nothing(store)
    with store.read() as connection:
        for table in tables:
            left = connection.scalars(select(table.c.runs)).all()
            assert left
            assert 0 not in left

"""Findings of a store with many: the newest ones, and those of a short while, cost no look at all of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import insert
from sqlalchemy.engine import Connection

from collector.store import Store, buckets, groups, open_store, reads, schema
from collector.store.engine import project_id
from collector.store.reads import Filter
from tests.support.plans import plans_of

FINDINGS = 600


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[tuple[int, int, str]]]]:
    """A store, and of each finding its row, its project and its rule; the second project has few."""
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('findings')}/store.db")
    dice, ids = random.Random(3), [project_id(store, "p"), project_id(store, "q")]
    made = [(n, ids[n % 97 == 0], dice.choice(("policy:a", "policy:b"))) for n in range(1, FINDINGS + 1)]
    with store.write() as connection:
        for n, project, rule in made:
            run = {
                "id": n, "project": project, "key": f"{n:032x}", "agent": "x", "outcome": "fail",
                "first_seen": float(n), "last_seen": float(n), "version": 1, "checked": 1, "findings": 1,
            }  # fmt: skip
            connection.execute(insert(schema.runs), run)
            found = {"id": n, "run": n, "project": project, "rule": rule, "type": "policy", "code": "never"}
            connection.execute(
                insert(schema.findings), {**found, "calls": "[0]", "explanation": f"It is {n}."}
            )
    yield store, made
    store.close()


def newest(connection: Connection, project: int, rule: str | None) -> list[int]:
    """Page by page."""
    found: list[int] = []
    while True:
        before = found[-1] if found else None
        rows = reads.list_findings(connection, project, rule=rule, limit=7, before=before)
        found += [row["id"] for row in rows]
        if len(rows) < 7:
            return found


@pytest.mark.parametrize("near", [1, 20, 10_000])
def test_findings_come_newest_first_however_many_of_other_projects_lie_between(
    shelf: tuple[Store, list[tuple[int, int, str]]], near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "NEAR", near)
    store, made = shelf
    with store.read() as connection:
        for project in {one[1] for one in made}:
            for rule in (None, "policy:a"):
                own = [n for n, of, what in made if of == project and rule in (None, what)]
                assert newest(connection, project, rule) == own[::-1]


def test_no_short_look_goes_through_the_findings_of_all_times(
    shelf: tuple[Store, list[tuple[int, int, str]]],
) -> None:
    store, made = shelf
    since, project = FINDINGS - 10.0, made[0][1]
    short = Filter(since=since)
    looks: dict[str, Callable[[Connection], object]] = {
        "rules": lambda connection: buckets.broken_rules(connection, project, since, since + 100),
        "groups": lambda connection: groups.found(connection, project, short, since=since, width=1.0),
        "list": lambda connection: reads.list_findings(connection, project, limit=7),
    }
    for name, look in looks.items():
        steps = [step for plan in plans_of(store, look) for step in plan]
        assert steps
        assert not [step for step in steps if "findings_rule" in step], (name, steps)
    own = [n for n, of, _ in made if of == project and n >= since]
    with store.read() as connection:
        broken = buckets.broken_rules(connection, project, since, since + 100)
        found = groups.found(connection, project, short, since=since, width=1.0)
    assert sum(one.runs for one in broken) == len(own)
    assert sum(group.runs for group in found.values()) == len(own)
    assert max(group.newest for group in found.values()) == own[-1]

"""Every combination of filters gives the runs that pass all of them, newest first, page by page."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from collector.store import Store, open_store, reads, schema
from collector.store.engine import project_id
from collector.store.reads import FEW, Filter, Place
from tests.support.plans import plans_of

RUNS = 4 * FEW
RARE = 7


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[dict[str, Any]]]]:
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('shelf')}/store.db")
    yield store, fill(store)
    store.close()


def fill(store: Store) -> list[dict[str, Any]]:
    """Put runs of two projects into an empty store, with a clock that once goes back; what they are."""
    dice = random.Random(5)
    ids = [project_id(store, "p"), project_id(store, "q")]
    made = [entry(dice, number, ids) for number in range(1, RUNS + 1)]
    columns = {column.name for column in schema.runs.columns}
    with store.write() as connection:
        connection.execute(
            insert(schema.runs), [{k: v for k, v in run.items() if k in columns} for run in made]
        )
        connection.execute(
            insert(schema.run_tools), [{"run": run["id"], "tool": t} for run in made for t in run["tools"]]
        )
        connection.execute(
            insert(schema.policy_results),
            [{"run": run["id"], "policy": p, "verdict": "ok"} for run in made for p in run["policies"]],
        )
    return made


def entry(dice: random.Random, number: int, projects: list[int]) -> dict[str, Any]:
    rare = number % (RUNS // RARE) == 0
    arrived = 1000.0 + number // 5 - (60 if number > RUNS // 2 else 0)
    return {
        "id": number, "project": projects[dice.random() < 0.25], "key": f"{number:032x}",
        "first_seen": arrived, "last_seen": arrived, "version": 1, "checked": 1,
        "listed": dice.choice((True, True, True, None, False)),
        "case_id": "rare" if rare else dice.choice((None, "c1", "c2")),
        "outcome": dice.choice((None, "pass", "pass", "fail", "undecided")),
        "error_type": dice.choice((None, "order")), "agent": dice.choice(("a", "b")),
        "service": "rare" if rare else "s",
        "tools": sorted({dice.choice("xyz"), "rare" if rare else "x"}),
        "policies": ["rare"] if rare else dice.sample(["p1", "p2"], dice.randint(0, 2)),
    }  # fmt: skip


CHOICES: dict[str, tuple[Any, ...]] = {
    "case": ("c1", "rare", "none"), "policy": ("p1", "rare", "none"),
    "outcome": ("pass", "fail", "undecided", "unbound"), "error_type": ("order",), "agent": ("a", "none"),
    "service": ("s", "rare"), "tool": ("x", "y", "rare", "none"),
    "since": (900.0, 1010.0, 1039.5, 5000.0), "until": (900.0, 1012.0, 1041.0, 5000.0),
}  # fmt: skip


def passes(run: dict[str, Any], project: int, wanted: Filter) -> bool:
    """The meaning of a filter, spelled out."""
    outcome_fits = wanted.outcome in (None, run["outcome"])
    if wanted.outcome == "unbound":
        outcome_fits = run["outcome"] is None
    return (
        run["project"] == project
        and run["listed"] is not False
        and outcome_fits
        and wanted.case in (None, run["case_id"])
        and wanted.error_type in (None, run["error_type"])
        and wanted.agent in (None, run["agent"])
        and wanted.service in (None, run["service"])
        and (wanted.tool is None or wanted.tool in run["tools"])
        and (wanted.policy is None or wanted.policy in run["policies"])
        and (wanted.since is None or run["first_seen"] >= wanted.since)
        and (wanted.until is None or run["first_seen"] < wanted.until)
    )


def paged(store: Store, project: int, wanted: Filter, limit: int) -> list[int]:
    found: list[int] = []
    before: Place | None = None
    with store.read() as connection:
        while (page := reads.list_runs(connection, project, wanted, limit=limit, before=before)).rows:
            found += [row["id"] for row in page.rows]
            before = page.end
    return found


def lists_agree(store: Store, made: list[dict[str, Any]], times: int) -> None:
    """Compare random lists with the meaning of their filters."""
    dice = random.Random(11)
    project, empty = made[0]["project"], 0
    for _ in range(times):
        names = dice.sample(sorted(CHOICES), dice.randint(0, 4))
        wanted = Filter(**{name: dice.choice(CHOICES[name]) for name in names})
        expected = {run["id"]: run["first_seen"] for run in made if passes(run, project, wanted)}
        found = paged(store, project, wanted, limit=dice.choice((3, 50, 1000)))
        assert sorted(found) == sorted(expected), wanted
        empty += not found
        if not {"tool", "policy"} & set(names):
            assert found == sorted(expected, key=lambda number: (expected[number], number), reverse=True)
    assert times // 20 < empty < times * 3 // 4  # neither are all lists empty, nor none


@pytest.mark.slow
def test_any_filters_give_what_passes_all_of_them(shelf: tuple[Store, list[dict[str, Any]]]) -> None:
    lists_agree(*shelf, times=400)


def test_a_list_keeps_its_order_when_what_was_rare_becomes_common_between_two_pages(tmp_path: Path) -> None:
    """The clock goes back after the 75th run, so that the two orders differ."""
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    project, wanted, found = project_id(store, "p"), Filter(tool="x", agent="a"), []

    def add(numbers: range, tools: list[str], seconds: float) -> None:
        with store.write() as connection:
            rows = [
                {
                    "id": n, "project": project, "key": f"{n:032x}", "last_seen": 0.0, "version": 1,
                    "first_seen": seconds + n - (150 if 75 < n <= 150 else 0), "listed": True, "agent": "a",
                }
                for n in numbers
            ]  # fmt: skip
            connection.execute(insert(schema.runs), rows)
            used = [{"run": n, "tool": tool} for n in numbers for tool in tools]
            if used:
                connection.execute(insert(schema.run_tools), used)

    add(range(1, 151), ["x"], 1000.0)
    before: Place | None = None
    for _ in range(10):
        with store.read() as connection:
            page = reads.list_runs(connection, project, wanted, limit=30, before=before)
        if before is None:
            add(range(151, 270), [], 1300.0)  # of the same agent, without the tool
        found += [row["id"] for row in page.rows]
        before = page.end or before
    store.close()
    assert sorted(found) == list(range(1, 151))


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(), Filter(until=1020.0), Filter(since=1010.0, until=1012.0), Filter(since=5000.0),
        Filter(outcome="unbound"), Filter(outcome="pass", until=1020.0), Filter(agent="a", since=1020.0),
        Filter(service="s", until=1001.0), Filter(case="c1", until=1020.0),
        Filter(error_type="order", until=1020.0),
    ],
    ids=str,
)  # fmt: skip
def test_no_filter_on_the_run_itself_sorts_or_walks_through_other_runs(
    shelf: tuple[Store, list[dict[str, Any]]], wanted: Filter
) -> None:
    store, made = shelf
    project = made[0]["project"]
    asked = plans_of(store, lambda connection: reads.list_runs(connection, project, wanted, limit=5))
    plans = ["; ".join(plan) for plan in asked]
    assert all("SCAN" not in plan and "TEMP B-TREE" not in plan for plan in plans), plans
    bounded = "first_seen<" in plans[-1] or "first_seen>" in plans[-1]
    assert bounded is (wanted.since is not None or wanted.until is not None), plans

"""How policies were kept lately, and what guards decided by them: by whole days that are counted already, and
the runs of the day begun.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from sqlalchemy import insert, update

from collector.store import Store, counts, open_store, policy_counts, schema
from collector.store.counts import DAY
from collector.store.engine import project_id

NOW = 20_000.4 * DAY
RUNS = 400
EVERY = ("ok", "violated", "not_applicable", "refused", "observed")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    made = open_store(store_url)
    yield made
    made.close()


@pytest.mark.both_engines
def test_results_since_any_instant_are_those_of_the_runs_since_then(store: Store) -> None:
    dice, other = random.Random(3), project_id(store, "other")
    seen = sorted(NOW - dice.random() * 9 * DAY for _ in range(RUNS))
    rows = [
        {
            "id": number, "project": dice.choice((1, 1, other)), "key": f"{number}", "first_seen": at,
            "last_seen": at, "version": 1, "agent": dice.choice((None, "a", "b")),
            "listed": dice.choice((True, True, None, False)),
        }
        for number, at in enumerate(seen, 1)
    ]  # fmt: skip
    said = [
        {"run": row["id"], "policy": policy, "verdict": dice.choice(("ok", "violated", "not_applicable"))}
        for row in rows
        for policy in ("p", "q")
    ]
    told = [
        {"run": row["id"], "policy": "q", "decision": dice.choice(("refused", "observed"))}
        for row in dice.sample(rows, RUNS // 3)
    ]
    with store.write() as connection:
        connection.execute(insert(schema.runs), rows)
        connection.execute(insert(schema.policy_results), said)
        connection.execute(insert(schema.guard_results), told)
    counts.set_right(store)
    known = {row["id"]: row for row in rows if row["project"] == 1 and row["listed"] is not False}

    def slow(since: float) -> Counter[tuple[str, str, str]]:
        here = [(known[one["run"]], one) for one in (*said, *told) if one["run"] in known]
        return Counter(
            (one["policy"], run["agent"] or "", one.get("verdict") or one["decision"])
            for run, one in here
            if run["first_seen"] >= since
        )

    with store.read() as connection:
        for since in (0.0, NOW - 7 * DAY, NOW - DAY, NOW // DAY * DAY, NOW - 60, NOW + 1, dice.choice(seen)):
            expected = slow(since)
            found = policy_counts.results(connection, 1, since, {"p", "q"}, EVERY)
            assert {key: count for key, count in found.items() if count} == expected, since
            found = policy_counts.results(connection, 1, since, {"q"}, ("ok",))
            some = {key: n for key, n in expected.items() if (key[0], key[2]) == ("q", "ok")}
            assert {key: count for key, count in found.items() if count} == some, since
        tallies = policy_counts.lately(connection, 1, NOW)
    for policy, tally in tallies.items():
        broken = [one["run"] for one in said if (one["policy"], one["verdict"]) == (policy, "violated")]
        assert (tally.week["refused"] > 0) is (policy == "q")
        assert tally.broken == max(known[run]["first_seen"] for run in broken if run in known)
        assert tally.day["ok"] == sum(
            n for (p, _, v), n in slow(NOW - DAY).items() if (p, v) == (policy, "ok")
        )
        assert tally.day.total() < tally.week.total()


def test_whole_days_are_read_from_what_is_counted(store: Store) -> None:
    """However many runs there are."""
    with store.write() as connection:
        run = {"project": 1, "key": "a", "first_seen": NOW - 2 * DAY, "last_seen": NOW, "version": 1}
        connection.execute(insert(schema.runs), [{"id": 1, **run}])
        connection.execute(insert(schema.policy_results), [{"run": 1, "policy": "p", "verdict": "ok"}])
    counts.set_right(store)
    with store.write() as connection:
        connection.execute(update(schema.policy_days).values(runs=7_000_000_000))
    with store.read() as connection:
        assert policy_counts.results(connection, 1, NOW - 7 * DAY, {"p"}, EVERY) == {
            ("p", "", "ok"): 7_000_000_000
        }

"""The runs of conversations in the store: which other runs are looked at again because of one."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select, update

from collector.store import Store, open_store, schema, turns
from collector.store.turns import Turn


def turn(run: int, tells: str = "one", session: str = "talk") -> Turn:
    return Turn(run, 1, session, run * 10, "needs", tells, tells, 1, b"{}", None, 0)


def filled(url: str, runs: int = 3) -> Store:
    """Runs of one conversation, of which nobody waits or is due."""
    store = open_store(url)
    rows = [
        {"id": run, "project": 1, "key": str(run), "first_seen": 0.0, "last_seen": 0.0, "version": 1}
        for run in range(1, runs + 1)
    ]
    with store.write() as connection:
        connection.execute(insert(schema.runs), rows)
    turns.put(store, [turn(run) for run in range(1, runs + 1)], now=5.0)
    with store.write() as connection:
        turns.settle(connection, [(run, False) for run in range(1, runs + 1)])
        connection.execute(update(schema.runs).values(due=None))
    return store


def due(store: Store) -> list[int]:
    runs = schema.runs
    with store.read() as connection:
        return sorted(connection.scalars(select(runs.c.id).where(runs.c.due.is_not(None))))


@pytest.mark.both_engines
def test_a_run_that_tells_something_new_wakes_later_ones_and_those_that_wait(store_url: str) -> None:
    store = filled(store_url)
    turns.put(store, [turn(2)], now=7.0)
    assert due(store) == []
    turns.put(store, [turn(2, "two")], now=7.0)
    assert due(store) == [3]
    with store.write() as connection:
        turns.settle(connection, [(1, True)])
    turns.put(store, [turn(2, "three")], now=7.0)
    assert due(store) == [1, 3]
    store.close()


@pytest.mark.both_engines
def test_a_run_that_has_news_waits_until_it_is_judged(store_url: str) -> None:
    """A run after it may be judged sooner, and must wake it."""
    store = filled(store_url)
    turns.put(store, [turn(1, "two")], now=7.0)
    with store.write() as connection:
        connection.execute(update(schema.runs).values(due=None))
    turns.put(store, [turn(3, "two")], now=8.0)
    assert due(store) == [1]
    store.close()


def test_other_conversations_and_the_batch_itself_are_left_alone(store_url: str) -> None:
    store = filled(store_url)
    turns.put(store, [turn(1, "two"), turn(2, "two")], now=7.0)
    assert due(store) == [3]
    with store.write() as connection:
        connection.execute(update(schema.runs).where(schema.runs.c.id == 3).values(due=None, session="other"))
    turns.put(store, [turn(1, "three")], now=7.0)
    assert due(store) == [2]
    with store.read() as connection:
        assert [one.run for one in turns.members(connection, 1, "talk")] == [1, 2]
    store.close()


@pytest.mark.both_engines
def test_a_run_that_turns_out_to_be_of_another_conversation_wakes_both(store_url: str) -> None:
    store = filled(store_url, runs=5)
    turns.put(store, [turn(4, session="other"), turn(5, session="other")], now=6.0)
    with store.write() as connection:
        turns.settle(connection, [(run, False) for run in (4, 5)])
        connection.execute(update(schema.runs).values(due=None))
    turns.put(store, [turn(2, session="other")], now=7.0)
    assert due(store) == [3, 4, 5]
    with store.read() as connection:
        assert [one.run for one in turns.members(connection, 1, "talk")] == [1, 3]
        assert [one.run for one in turns.members(connection, 1, "other")] == [2, 4, 5]
    turns.put(store, [turn(2, session="other")], now=8.0)
    store.close()

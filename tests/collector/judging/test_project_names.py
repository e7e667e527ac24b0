"""Misspelt tools in the collector: by the names that the runs of a project have shown so far."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from click.testing import CliRunner
from sqlalchemy import func, select, update
from sqlalchemy.engine import Connection

from collector.cli.policies import command as policies_verb
from collector.cli.recheck import command as recheck_verb
from collector.judging.names import NamesOfProjects, seen_names
from collector.judging.policies import Policies, PolicyFile, load_all
from collector.model import Run, ToolCall
from collector.server import running
from collector.store import Store, open_store, schema, seen
from collector.store.engine import project_id
from tests.support.plans import plans_of
from tests.support.traces import Client, agent_request, new_id, settings, until

MISSPELT = (
    "actions: {move: transfer_mony}\npolicies:\n  - {id: money, rule: Move must happen at least 1 time.}\n"
)
FORGOTTEN = "actions: {audit: audit}\npolicies:\n  - {id: books, rule: Audit must happen at least 1 time.}\n"
MEANT = "The policy speaks of the tool 'transfer_mony', which was never seen; did you mean 'transfer_money'?"
TOOLS = ("look", "transfer_money")


def judged(client: Client, *calls: str, tools: tuple[str, ...] | None = TOOLS) -> tuple[str, dict[str, Any]]:
    run = new_id()
    client.send(agent_request(run, list(calls), tools=tools))
    (result,) = client.judged(run)["policies"]
    return run, result


def put(client: Client, text: str) -> dict[str, Any]:
    answer = client.http.put("/api/v1/policies/shop", content=text)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.both_engines(heavy="postgresql")
def test_a_misspelt_tool_makes_a_policy_unsupported_until_it_is_seen(fresh: Client) -> None:
    put(fresh, MISSPELT)
    run, result = judged(fresh, "look")
    assert (result["verdict"], result["explanation"]) == ("unsupported", MEANT)
    assert fresh.run(run)["outcome"] == "undecided"
    _, result = judged(fresh, "look", tools=(*TOOLS, "transfer_mony"))
    assert result["verdict"] == "violated"
    for _ in until():
        if fresh.run(run)["outcome"] != "undecided":
            break
    again = fresh.judged(run)
    assert [result["verdict"] for result in again["policies"]] == ["violated"]
    assert [entry["outcome"] for entry in again["history"]][-2:] == ["undecided", "fail"]


def test_names_of_earlier_runs_count_and_those_of_another_project_do_not(fresh: Client) -> None:
    put(fresh, MISSPELT)
    _, early = judged(fresh, "look", tools=None)
    assert (early["verdict"], "no run states its tools" in early["explanation"]) == ("violated", True)
    judged(fresh, "transfer_money", tools=None)
    _, result = judged(fresh, "look", tools=("look",))
    assert (result["verdict"], result["explanation"]) == ("unsupported", MEANT)


def test_a_tool_that_every_run_forgets_is_judged_with_a_warning(fresh: Client) -> None:
    put(fresh, FORGOTTEN)
    _, result = judged(fresh, "look")
    assert result["verdict"] == "violated"
    assert result["explanation"].endswith("The tool 'audit' was never seen.")


def test_a_policy_of_conversations_knows_the_names_too(fresh: Client) -> None:
    put(fresh, "scope: session\n" + MISSPELT)
    _, result = judged(fresh, "look")
    assert (result["verdict"], result["explanation"]) == ("unsupported", MEANT)


def test_a_run_that_is_only_checked_is_judged_by_the_names_of_the_project(fresh: Client) -> None:
    put(fresh, MISSPELT)
    judged(fresh, "transfer_money")
    record = {"run_id": "r", "tools": ["look"], "calls": [{"name": "look"}]}
    (result,) = fresh.post("/check", record).json()["policies"]
    assert (result["verdict"], result["explanation"]) == ("unsupported", MEANT)
    named = {**record, "calls": [{"name": "look"}, {"name": "transfer_mony"}]}
    assert fresh.post("/check", named).json()["policies"][0]["verdict"] == "ok"


# ---------------------------------------------------------------- where it is told


def test_loading_a_file_tells_of_tools_that_no_run_shows(fresh: Client, tmp_path: Path) -> None:
    assert put(fresh, FORGOTTEN)["warnings"] == []
    judged(fresh, "look")
    warning = {
        "code": "unknown_tool", "tool": "transfer_mony", "meant": "transfer_money", "explanation": MEANT,
        "policies": ["money"],
    }  # fmt: skip
    assert put(fresh, MISSPELT)["warnings"] == [warning]
    assert fresh.get("/policies")["items"][0]["warnings"] == [warning]
    shown = f'<a href="/runs?q=policy:money">money</a>: {MEANT}'.replace("'", "&#39;")
    assert shown in unquote(fresh.http.get("/").text)
    (tmp_path / "shop.yaml").write_text(MISSPELT)
    pushed = CliRunner().invoke(
        policies_verb, ["push", str(tmp_path / "shop.yaml"), "--collector", fresh.url]
    )
    assert " ".join(pushed.output.split()).endswith(f"Warning [money]: {MEANT}")
    unseen = put(fresh, FORGOTTEN)["warnings"]
    assert [(one["code"], one["meant"]) for one in unseen] == [("never_seen", None)]
    assert 'role="note">books' not in fresh.http.get("/").text


def test_recheck_tells_them_with_a_collector_and_without(tmp_path: Path) -> None:
    with running(settings(tmp_path)) as url, Client(url) as client:
        put(client, FORGOTTEN)
        judged(client, "look")
        put(client, MISSPELT)
        there = CliRunner().invoke(recheck_verb, ["--collector", url])
    store = f"sqlite:///{tmp_path / 'store.db'}"
    here = CliRunner().invoke(recheck_verb, ["--store", store])
    for result in (there, here):
        assert f"Warning [money]: {MEANT}" in " ".join(result.output.split())
        assert result.exit_code == 3


def test_a_file_that_is_loaded_at_the_start_is_warned_of_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "shop.yaml").write_text(MISSPELT)
    with running(settings(tmp_path, policies=tmp_path / "shop.yaml")) as url, Client(url) as client:
        judged(client, "look")
    with (
        caplog.at_level(logging.WARNING, "collector"),
        running(settings(tmp_path, policies=tmp_path / "shop.yaml")),
    ):
        pass
    assert any(MEANT in record.getMessage() for record in caplog.records)


# ---------------------------------------------------------------- what is kept


def shown(*tools: str, offered: tuple[str, ...] | None = None) -> Run:
    return Run("r", tuple(ToolCall(None, tool, {}) for tool in tools), tools=offered)


@pytest.fixture
def store(store_url: str) -> Any:
    found = open_store(store_url)
    yield found
    found.close()


def learnt(store: Store, names: NamesOfProjects, run: Run, text: str = MISSPELT) -> Any:
    project = project_id(store, "default")
    with store.read() as connection:
        names.refresh(connection, {project})
    return names.learn(store, [(project, run)], {project: load_all([PolicyFile("shop", text)])})[project]


def test_only_names_that_are_not_known_are_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    names = NamesOfProjects()
    first = learnt(store, names, shown("look", offered=TOOLS))
    assert (first.called, first.offered, first.states_tools) == ({"look"}, set(TOOLS), True)
    written: list[Any] = []
    monkeypatch.setattr(seen, "add", lambda *said: written.append(said))
    assert learnt(store, names, shown("look", offered=TOOLS)) is first
    learnt(store, NamesOfProjects(), shown("look", offered=TOOLS))
    assert written == []


def test_what_another_process_wrote_is_read(store: Store) -> None:
    one, other = NamesOfProjects(), NamesOfProjects()
    learnt(store, one, shown("look"))
    learnt(store, other, shown("transfer_money"))
    assert learnt(store, one, shown("look")).called == {"look", "transfer_money"}


def test_a_project_with_too_many_names_takes_every_name_as_it_stands(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.judging.names.MOST_NAMES", 5)
    names = NamesOfProjects()
    assert learnt(store, names, shown("a1", "a2", "a3", "a4")) is not None
    assert learnt(store, names, shown("a5", "a6", "a7")) is None
    assert learnt(store, names, shown("a8")) is None
    assert seen_names([(f"a{i}", "called") for i in range(6)]) is None
    with store.read() as connection:
        assert connection.scalar(select(func.count()).select_from(schema.seen_tools)) == 5


def test_an_endless_name_is_not_kept(store: Store) -> None:
    found = learnt(store, NamesOfProjects(), shown("look", "x" * 501, "y" * 500))
    assert found.called == {"look", "y" * 500}


# ---------------------------------------------------------------- judging again


def fill(
    store: Store, count: int, *, verdict: str = "unsupported", policy: str = "money", **more: Any
) -> None:
    project = project_id(store, "default")
    with store.write() as connection:
        for _ in range(count):
            row = {"project": project, "key": new_id(), "first_seen": 0.0, "last_seen": 0.0, "version": 1}
            run = connection.execute(schema.runs.insert().values(**row, **more)).inserted_primary_key[0]
            connection.execute(schema.policy_results.insert().values(run=run, policy=policy, verdict=verdict))


def due(store: Store) -> int:
    with store.read() as connection:
        runs = schema.runs
        return int(connection.scalar(select(func.count()).where(runs.c.due.is_not(None))) or 0)


def look(store: Store) -> bool:
    """One step of what is owed; was there something?"""
    with store.read() as connection:
        owed = seen.owed(connection)
    if owed is not None:
        seen.look_again(store, *owed, ["money"], now=5.0)
    return owed is not None


@pytest.mark.both_engines(heavy="postgresql")
def test_runs_that_waited_for_a_name_become_due_batch_by_batch(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "BATCH", 3)
    fill(store, 7)
    fill(store, 2, policy="other")
    fill(store, 2, verdict="ok")
    learnt(store, NamesOfProjects(), shown("transfer_mony"))
    counts = []
    while look(store):
        counts.append(due(store))
    assert counts == [3, 6, 7]


def test_a_run_that_is_being_judged_just_now_is_judged_again(store: Store) -> None:
    fill(store, 1, verdict="ok", lease=9.0, due=1.0)
    fill(store, 1, verdict="ok")
    learnt(store, NamesOfProjects(), shown("transfer_mony"))
    assert look(store)
    with store.read() as connection:
        assert sorted(connection.scalars(select(schema.runs.c.version))) == [1, 2]


def test_a_run_with_two_policies_that_wait_counts_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, 2)
    with store.write() as connection:
        connection.execute(schema.policy_results.insert().values(run=2, policy="more", verdict="unsupported"))
    monkeypatch.setattr(seen, "BATCH", 2)
    with store.read() as connection:
        assert seen.waiting(connection, 1, ["money", "more"], 9) == [2, 1]
        assert seen.waiting(connection, 1, ["money", "more"], 1) == [1]
        assert seen.waiting(connection, 2, ["money", "more"], 9) == []


def test_names_and_runs_are_looked_up_in_an_index(store: Store) -> None:
    def ask(connection: Connection) -> None:
        seen.counts(connection, {1})
        seen.names(connection, 1)
        seen.waiting(connection, 1, ["money"], 5)
        seen.held(connection, 1)

    steps = [step for plan in plans_of(store, ask) for step in plan]
    assert [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step] == []
    assert any("policy_results_unsupported" in step for step in steps)
    assert any("runs_due" in step for step in steps)


def test_runs_that_came_later_are_left_alone_and_so_is_a_name_of_no_policy(store: Store) -> None:
    names = NamesOfProjects()
    learnt(store, names, shown("transfer_mony"))
    fill(store, 2)
    while look(store):
        pass
    assert due(store) == 0
    names.owing = False
    learnt(store, names, shown("walk"))
    assert not look(store)
    assert not names.owing


def test_a_name_that_was_offered_before_is_not_new_when_it_is_called(store: Store) -> None:
    names = NamesOfProjects()
    fill(store, 1)
    learnt(store, names, shown("look", offered=("transfer_mony",)))
    with store.write() as connection:
        connection.execute(update(schema.seen_tools).values(owed=None))
    learnt(store, names, shown("transfer_mony"))
    assert not look(store)


def test_what_a_checker_left_undone_is_done_by_the_next_one(tmp_path: Path) -> None:
    """The store remembers that runs are owed a look, in whatever process."""
    with running(settings(tmp_path)) as url, Client(url) as client:
        put(client, MISSPELT)
        run, result = judged(client, "look")
        assert result["verdict"] == "unsupported"
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    learnt(store, NamesOfProjects(), shown("transfer_mony"))
    store.close()
    with running(settings(tmp_path)) as url, Client(url) as client:
        for _ in until():
            if client.run(run)["outcome"] == "fail":
                break
        assert client.judged(run)["policies"][0]["verdict"] == "violated"


def test_without_policies_names_are_kept_all_the_same(store: Store) -> None:
    project = project_id(store, "default")
    names = NamesOfProjects()
    with store.read() as connection:
        names.refresh(connection, {project})
    found = names.learn(store, [(project, shown("look"))], {project: Policies()})
    assert found[project] == seen_names([("look", "called")])

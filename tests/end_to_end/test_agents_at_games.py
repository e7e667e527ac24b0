"""Agents of `pdoctor test` at games: each plays, is traced if wanted, and has a row whatever it does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from collector.cli.games import command
from collector.server import running
from collector.settings import Settings as CollectorSettings
from synth.agents import AGENTS, Settings
from synth.client import Collector
from synth.errors import BadInput
from synth.experiments.gaming import AgentGames
from synth.games import Played, Variant, play, reference, variant_named
from synth.simulated_model import SimulatedModel


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel() as running_model:
        yield running_model


@pytest.fixture(scope="module")
def games() -> Iterator[AgentGames]:
    with AgentGames(None, limit=60) as untraced:
        yield untraced


def like(style: str, variant: Variant, seed: int) -> Played:
    """What a reference player does."""
    return play(variant, variant.driver(seed), reference(variant.game, style, seed), seed=seed)


def same(one: Played, other: Played) -> bool:
    return (one.actions, one.progress, one.repetition) == (other.actions, other.progress, other.repetition)


@pytest.mark.parametrize(
    ("profile", "style"), [("perfect", "good"), ("loops", "repeating"), ("forgets", "forgetting")]
)
@pytest.mark.parametrize("game", ["mastermind+8", "mastermind+memory+8", "sudoku+5", "ltp+6"])
def test_the_simulated_model_plays_like_the_reference_players(
    games: AgentGames, model: SimulatedModel, game: str, profile: str, style: str
) -> None:
    variant, name = variant_named(game), f"simulated-{profile}:4"
    row = games.play("raw-loop", Settings(name, model.base_url, "k"), variant, 4)
    assert same(row, like(style, variant, 4))
    assert (row.player, row.trouble, row.run_id) == (f"raw-loop {name}", None, None)


def test_other_planners_and_other_games_are_not_played(games: AgentGames, model: SimulatedModel) -> None:
    row = games.play("raw-loop", Settings("simulated-swaps", model.base_url, "k"), variant_named("ltp"), 4)
    assert (row.actions, row.trouble, row.success) == ((), None, False)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("collector")
    settings = CollectorSettings(
        store_url=f"sqlite:///{folder}/store.db", http_port=0, grpc_port=None, grace_seconds=0.5
    )
    with running(settings) as url:
        yield url


@pytest.mark.heavy
@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
def test_every_agent_plays_and_its_run_is_traced(collector: str, model: SimulatedModel, agent: str) -> None:
    variant = variant_named("mastermind+memory")
    with AgentGames(collector, limit=120) as games, Collector(collector) as client:
        row = games.play(agent, Settings("simulated-forgets:4", model.base_url, "k"), variant, 4)
        assert same(row, like("forgetting", variant, 4))
        assert (row.success, row.trouble) == (True, None)
        assert row.run_id is not None
        run = client.whole(client.run(row.run_id) or {})
    assert [call["arguments"] for call in run["calls"]] == [{"action": action} for action in row.actions]
    assert run["query"].startswith("Guess a code of 4 digits")
    assert (run["agent"], run["progress"]["repetition"][-1]) == (agent, 0)
    if agent in ("openai-tools", "react"):  # their tools are traced as they run
        assert run["progress"]["progress"] == list(row.progress)
        assert run["calls"][-1]["state"]["game"]["guess"] == row.actions[-1]


OWN = """
import os, time
def plays(query, tools):
    return tools[0](action="1234")
def wrong(query, call_tool):
    return [call_tool("act", text) for text in ('{"action": "12"}', "{", "[]", '{"action": {"a": 1}}')]
def crashes(query, tools):
    tools[0](action="1234")
    raise ValueError("no idea")
def dies(query, tools):
    tools[0](action="1234")
    os._exit(3)
def hangs(query, tools):
    tools[0](action="1234")
    time.sleep(600)
def asks_on(query, tools):
    while "over" not in tools[0](action="1234"):
        pass
    raise ValueError("after the end")
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "pd_own_agent.py").write_text(OWN)
    monkeypatch.setenv("PDOCTOR_AGENT_PATH", str(tmp_path))
    return "pd_own_agent"


HEAVY = pytest.mark.heavy


@pytest.mark.parametrize(
    ("function", "steps", "trouble"),
    [
        ("wrong", ("12", '{"a": 1}'), None),
        ("crashes", ("1234",), "crash: ValueError: no idea"),
        pytest.param("plays", ("1234",), None, marks=HEAVY),
        pytest.param("dies", ("1234",), "crash: the agent's process died", marks=HEAVY),
        pytest.param("hangs", ("1234",), "timeout: stopped after 10 s", marks=HEAVY),
        pytest.param("asks_on", ("1234",) * 4, None, marks=HEAVY),
        pytest.param("nobody", (), "has no 'nobody'", marks=HEAVY),
    ],
    ids=["wrong", "crashes", "plays", "dies", "hangs", "asks_on", "nobody"],
)
def test_agents_that_stop_fail_or_hang_have_a_row(
    own: str, function: str, steps: tuple[str, ...], trouble: str | None
) -> None:
    with AgentGames(None, limit=10) as games:
        row = games.play(f"{own}:{function}", Settings("m"), variant_named("mastermind+4"), 1)
    assert (row.actions, row.success) == (steps, False)
    assert row.trouble is None if trouble is None else trouble in (row.trouble or "")


@HEAVY
def test_what_the_game_needs_is_said_in_its_row_where_only_the_worker_misses_it(
    own: str, tmp_path: Path
) -> None:
    with AgentGames(None, limit=60, data=tmp_path / "none.toml") as games:
        row = games.play(f"{own}:plays", Settings("m"), variant_named("ltp"), 1)
    assert "cannot read the puzzles" in (row.trouble or "")


def test_an_agent_that_is_none_is_named() -> None:
    with AgentGames(None) as games, pytest.raises(BadInput, match="unknown agent 'nobody'"):
        games.play("nobody", Settings("m"), variant_named("ltp"), 1)


def test_the_verb_plays_with_agents_and_players(own: str) -> None:
    arguments = ["mastermind+2", "ltp+2", "--player", "good", "--agent", f"{own}:plays", "--games", "2"]
    result = CliRunner().invoke(command, [*arguments, "--json"])
    said = json.loads(result.stdout)
    assert (result.exit_code, len(said["games"])) == (1, 8)
    shown = [(one["game"], one["player"], one["games"], one["steps"]) for one in said["tables"]]
    player = f"{own}:plays simulated-perfect"
    assert shown == [
        ("mastermind+2", "good", 2, 2), ("mastermind+2", player, 2, 1), ("ltp+2", "good", 2, 2),
        ("ltp+2", player, 2, 1),
    ]  # fmt: skip

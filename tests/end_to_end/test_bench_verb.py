"""`pdoctor bench`: the same card twice, a leaderboard, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_command_line import pdoctor


@pytest.mark.heavy
def test_one_seed_gives_the_same_card_but_for_times(tmp_path: Path) -> None:
    cards = []
    for name in ("one", "two"):
        run = pdoctor(
            "bench", "run", "own-tools", "raw-loop", "--model", "simulated-words", "-o", tmp_path / name
        )
        assert run.returncode == 0, run.stderr
        (file,) = (tmp_path / name).glob("*.json")
        cards.append(json.loads(file.read_text(encoding="utf-8")))
    assert all(card.pop("times")["seconds"] > 0 for card in cards)
    assert cards[0] == cards[1]
    assert 0 < cards[0]["pass_rate"] < 1
    board = pdoctor("bench", "board", tmp_path / "one", "--no-baselines", "-o", tmp_path / "board.html")
    assert board.stdout.startswith("1 cards"), board.stderr
    assert "simulated-words" in (tmp_path / "board.html").read_text(encoding="utf-8")


def test_an_unknown_suite_is_told_the_names() -> None:
    refused = pdoctor("bench", "run", "small", "raw-loop")
    assert (refused.returncode, "expected one of order-small" in refused.stderr) == (2, True)

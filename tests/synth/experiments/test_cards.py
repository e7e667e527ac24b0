"""Result cards: what they hold, their files and pages, and the leaderboard of many."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synth.errors import BadInput
from synth.experiments.cards import BASELINES, board_page, card_of, card_page, read_cards, write_card
from synth.experiments.suites import SUITES, suite_named
from synth.simulated_model import PROFILES
from tests.support.bench_results import result, untested

SUITE = suite_named("airline-policies")
CASES = SUITE.cases()


def card(
    failing: int = 2, model: str = "m", date: str = "2026-01-02", seed: int | None = None
) -> dict[str, Any]:
    """19 decided runs, so many of which failed, and one in which the agent was not tested."""
    cases = SUITE.cases(seed)
    results = [
        replace(
            result("fail", "order_error", tokens=5, model=model)
            if at < failing
            else result(tokens=5, model=model),
            case=case.to_json(),
            case_id=case.id,
        )
        for at, case in enumerate(cases[1:])
    ]
    results.append(replace(untested(model=model), case=cases[0].to_json()))
    return card_of(SUITE, cases, results, {"temperature": 0.0}, {"date": date})


def test_a_card_says_what_was_measured_and_on_what() -> None:
    made = card()
    suite = made["suite"]
    assert (suite["name"], suite["hash"], suite["frozen"], suite["cases"]) == (
        SUITE.name,
        SUITE.hash,
        True,
        20,
    )
    assert (made["runs"], made["passed"], made["failed"], made["errors"]) == (20, 17, {"order_error": 2}, 1)
    assert made["pass_rate"] == pytest.approx(17 / 19)
    assert made["interval"][0] < made["pass_rate"] < made["interval"][1]
    assert sum(size["runs"] for size in made["by_actions"]) == 19
    assert sum(size["passed"] for size in made["by_actions"]) == 17
    assert (made["tokens"], len(made["failures"])) == (95, 2)
    assert made["failures"][0] == {"case": CASES[1].id, "error_type": "order_error"}
    again = card(date="2027-01-02")
    assert {**again, "times": made["times"]} == made
    assert card(seed=5)["suite"]["frozen"] is False


def test_a_card_is_written_and_read_back(tmp_path: Path) -> None:
    made = card(model="provider/model:1")
    json, page = write_card(made, tmp_path / "cards")
    assert json.name == "airline-policies--raw-loop--provider_model_1.json"
    assert read_cards(json) == [made]
    assert page.read_text(encoding="utf-8") == card_page(made)
    assert "seed5" in write_card(card(seed=5), tmp_path)[0].name
    assert not list(tmp_path.glob("**/*.new"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no card", "not JSON"),
        ('{"kind": "other"}', "this is no card"),
        ("[]", "this is no card"),
        ('{"kind": "pdoctor card", "version": 9}', "a card of version 9"),
    ],
)
def test_what_is_no_card_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        read_cards(file)


def test_pages_load_nothing_and_show_text_as_text() -> None:
    for page in (card_page(card()), board_page([card()])):
        assert not re.search(r"(src|href)=|@import|url\(", page)
    assert "&lt;b&gt;model" in card_page(card(model="<b>model"))
    assert "<b>model" not in card_page(card(model="<b>model")) + board_page([card(model="<b>model")])


def test_a_leaderboard_compares_on_the_same_cases_only_and_names_the_best_first() -> None:
    cards = [card(9, "worst"), card(1, "best"), card(4, "middle"), card(0, "elsewhere", seed=5)]
    page = board_page(cards)
    tables = page.split("<table>")[1:]
    assert len(tables) == 2
    (whole,) = [table for table in tables if SUITE.hash in table]
    assert re.findall(r'data-name="model">(\w+)<', whole) == ["best", "middle", "worst"]
    assert "elsewhere" not in whole


def test_every_simulated_planner_has_a_card_for_each_suite() -> None:
    baselines = read_cards(BASELINES)
    wanted = {(s.name, s.hash, f"simulated-{p.name}") for s in SUITES for p in PROFILES if p.name != "slow"}
    found = {(c["suite"]["name"], c["suite"]["hash"], c["model"]) for c in baselines}
    assert wanted <= found
    perfect = [c["pass_rate"] for c in baselines if c["model"] == "simulated-perfect"]
    assert perfect == [1.0] * len(SUITES)
    assert not any(c["errors"] or c["unsettled"] or c["stopped"] for c in baselines)

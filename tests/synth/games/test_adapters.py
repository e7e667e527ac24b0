"""ALFWorld and GAIA over a small package and data laid out as the real ones; what is said without."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from synth.errors import BadInput
from synth.games import NOTHING, Action, Driver, Supplies, Variant, play, variant_named
from synth.games.gaia import share_right

# ---------------------------------------------------------------- ALFWorld

TEXTWORLD = '''
class EnvInfos:
    def __init__(self, **wanted):
        self.wanted = wanted

class Env:
    """Commands -> feedback, from the game file; the last one of `wins` wins."""
    def __init__(self, file, infos, wrappers):
        import json
        assert infos.wanted["won"] and infos.wanted["feedback"] and len(wrappers) == 1
        with open(file) as game:
            self.game = json.load(game)
    def reset(self):
        return {"feedback": "-= Welcome =-\\\\n\\\\n" + self.game["room"] + "\\\\n", "won": False}
    def step(self, command):
        said = self.game["says"].get(command, "Nothing happens.")
        won = command == self.game["wins"]
        return {"feedback": said, "won": won}, 1.0 if won else 0.0, won

def start(file, request_infos, wrappers):
    return Env(file, request_infos, wrappers)
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`textworld` and `alfworld`, as far as the adapter uses them."""
    home = tmp_path / "packages"
    inner = home / "alfworld" / "agents" / "environment"
    inner.mkdir(parents=True)
    (home / "textworld.py").write_text(TEXTWORLD.replace("\\\\n", "\\n"))
    (inner / "alfred_tw_env.py").write_text("class AlfredDemangler:\n    pass\n")
    monkeypatch.syspath_prepend(str(home))
    for name in ("textworld", "alfworld.agents.environment.alfred_tw_env"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)


def game(
    folder: Path,
    kind: str,
    says: dict[str, str],
    wins: str,
    *,
    solvable: bool = True,
    split: str = "valid_unseen",
) -> Path:
    """A game of a kind about an apple, laid out as in the data."""
    place = folder / "json_2.1.1" / split / f"{kind}-Apple-None-Desk-1" / "trial_T1"
    place.mkdir(parents=True)
    said = {"solvable": solvable, "room": "Your task is to: do it.", "says": says, "wins": wins}
    (place / "game.tw-pddl").write_text(json.dumps(said))
    wanted = {
        "object_target": "Apple",
        "parent_target": "Desk",
        "toggle_target": "DeskLamp",
        "mrecep_target": "",
    }
    (place / "traj_data.json").write_text(json.dumps({"task_type": kind, "pddl_params": wanted}))
    return place


TAKE = {
    "take 1": "You pick up the apple 1 from the desk 1.",
    "take 2": "You pick up the apple 2 from the desk 1.",
    "take egg": "You pick up the egg 1 from the desk 1.",
}  # fmt: skip
HEAT = {
    "heat": "You heat the apple 1 using the microwave 1.",
    "cool": "You cool the apple 1 using the fridge 1.",
}
LAMP = {"lamp": "You turn on the desklamp 1.", "other": "You turn on the floorlamp 1."}


def rates(driver: Driver, *commands: str) -> list[float]:
    driver.reset()
    return [driver.step(Action(command)) and driver.progress for command in commands]  # type: ignore[func-returns-value]


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("kind", "says", "commands", "wanted"),
    [
        ("pick_and_place_simple", TAKE, "sing,take egg,take 1,take 2,put", [0, 0, 1 / 2, 1 / 2, 1]),
        (
            "pick_heat_then_place_in_recep", TAKE | HEAT, "cool,heat,take 1,heat,put",
            [0, 1 / 3, 2 / 3, 2 / 3, 1],
        ),
        ("pick_cool_then_place_in_recep", TAKE | HEAT, "heat,cool,put", [0, 1 / 3, 1]),
        ("look_at_obj_in_light", TAKE | LAMP, "other,lamp,take 1,put", [0, 1 / 3, 2 / 3, 1]),
        ("pick_two_obj_and_place", TAKE, "take 1,take 1,take 2,put", [1 / 3, 1 / 3, 2 / 3, 1]),
        ("pick_clean_then_place_in_recep", TAKE, "put", [1]),
    ],
    ids=["place", "heat", "cool", "light", "two", "clean"],
)  # fmt: skip
def test_progress_follows_the_type_of_the_task(
    tmp_path: Path, kind: str, says: dict[str, str], commands: str, wanted: list[float]
) -> None:
    game(tmp_path, kind, says, "put")
    driver = variant_named("alfworld").driver(0, Supplies(tmp_path))
    assert rates(driver, *commands.split(",")) == pytest.approx(wanted)
    assert driver.state["task"] == kind  # type: ignore[index]
    assert rates(driver, "x") == [0]


@pytest.mark.usefixtures("package")
def test_a_game_of_alfworld_is_played_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game(tmp_path, "pick_and_place_simple", TAKE, "put")
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    variant = variant_named("alfworld+120")
    commands = iter(["take  1", "\nlook", "put"])
    shown: list[str] = []
    row = play(variant, variant.driver(3), lambda seen: shown.append(seen) or next(commands))  # type: ignore[func-returns-value]
    assert (row.success, row.progress, row.steps) == (True, (0.5, 0.5, 1), 120)
    assert shown[0].endswith("-= Welcome =-\n\nYour task is to: do it.")
    assert shown[1:] == ["You pick up the apple 1 from the desk 1.", "Nothing happens."]


@pytest.mark.usefixtures("package")
def test_games_that_cannot_be_played_are_left_out(tmp_path: Path) -> None:
    game(tmp_path, "pick_and_place_simple", {}, "no", split="valid_seen")
    game(tmp_path, "a", {}, "no", solvable=False)
    game(tmp_path, "movable_b", {}, "no")
    (game(tmp_path, "c", {}, "no") / "traj_data.json").unlink()
    game(tmp_path, "pick_two_obj_and_place", TAKE, "put")
    for seed in range(4):
        driver = variant_named("alfworld").driver(seed, Supplies(tmp_path))
        assert driver.state["task"] == "pick_two_obj_and_place"  # type: ignore[index]


@pytest.mark.usefixtures("package")
def test_without_games_it_is_said_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"alfworld-download.*there is no game in .*nowhere"):
        variant_named("alfworld").driver(0, Supplies(tmp_path / "nowhere"))
    (game(tmp_path, "a", {}, "no") / "game.tw-pddl").write_text("[]")
    with pytest.raises(BadInput, match=r"game\.tw-pddl: is no JSON object"):
        variant_named("alfworld").driver(0, Supplies(tmp_path))


def test_without_the_package_it_is_said_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "textworld", None)
    with pytest.raises(BadInput, match=r"pip install alfworld.*missing is textworld"):
        variant_named("alfworld").driver(0, Supplies(tmp_path))


@pytest.mark.usefixtures("package")
def test_a_package_without_its_planner_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    textworld = import_module("textworld")

    def start(*_: Any, **__: Any) -> None:
        raise ImportError("PddlEnv requires fast_downward")

    game(tmp_path, "pick_and_place_simple", {}, "no")
    monkeypatch.setattr(textworld, "start", start)
    with pytest.raises(BadInput, match=r"pip install alfworld.*missing is PddlEnv requires fast_downward"):
        variant_named("alfworld").driver(0, Supplies(tmp_path))


# ---------------------------------------------------------------- GAIA


def questions(folder: Path) -> Path:
    place = folder / "2023" / "validation"
    place.mkdir(parents=True)
    lines = [
        {"task_id": "a", "Question": "How many?", "Level": 1, "Final answer": "1234", "file_name": ""},
        {"task_id": "b", "Question": "Which?", "Level": 2, "Final answer": "a, b", "file_name": "b.xlsx"},
    ]
    (place / "metadata.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    return place


def test_a_question_ends_with_its_answer(tmp_path: Path) -> None:
    place = questions(tmp_path)
    variant = variant_named("gaia")
    answers = iter(["I look it up", "final ANSWER:\n$1,234"])
    row = play(variant, variant.driver(0, Supplies(place)), lambda seen: next(answers))
    assert (row.success, row.progress) == (True, (0, 1))
    driver = variant.driver(3, Supplies(place / "metadata.jsonl"))
    assert driver.reset().text.endswith(f"Which?\n\nA file belongs to it: {place / 'b.xlsx'}")
    seen = driver.step(Action("FINAL ANSWER: A, c"))
    assert (seen.text, seen.done, seen.success, driver.progress) == ("Wrong.", True, False, 0.5)
    assert driver.state == {"answer": "a, b", "given": "A, c"}
    driver.reset()
    assert driver.progress == 0


def test_a_game_that_is_over_and_lost_is_not_won(tmp_path: Path) -> None:
    row = play(
        Variant("gaia"),
        Variant("gaia").driver(0, Supplies(questions(tmp_path))),
        lambda seen: "final answer: 3",
    )
    assert (row.success, row.actions, row.trouble) == (False, ("final answer: 3",), None)


@pytest.mark.parametrize(
    ("given", "answer", "share"),
    [
        ("17", "17", 1), ("17.0", "17", 1), ("$1,700 ", "1700", 1), ("seventeen", "17", 0), ("12%", "12", 1),
        ("St. Petersburg", "st petersburg", 1), ("Saint P", "st petersburg", 0), ("", "a", 0),
        ("a,b", "a; b", 1), ("b,a", "a,b", 0), ("a", "a,b", 0), ("1, 2.0, x", "1,2,3", 2 / 3),
        ("a.b, c", "ab, c", 1 / 2), ("1.2.3", "1.2.3", 1), ("1e3", "1000", 1), ("nan", "1", 0),
    ],
)  # fmt: skip
def test_answers_are_compared_without_their_dress(given: str, answer: str, share: float) -> None:
    assert share_right(given, answer) == share


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "agree to its terms.*No such file"), ("", "there is no question"), ("{", ":1: not JSON"),
     ('{"Question": "a"}', ":1: a question has Question and Final answer"), ("[]", "a question has")],
    ids=["missing", "empty", "no-json", "no-answer", "list"],
)  # fmt: skip
def test_data_of_gaia_that_is_none_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "metadata.jsonl").write_text(text)
    with pytest.raises(BadInput, match=said):
        variant_named("gaia").driver(0, Supplies(tmp_path))


def test_gaia_says_how_to_get_its_data() -> None:
    with pytest.raises(BadInput, match="hf download gaia-benchmark/GAIA"):
        Variant("gaia").driver(0, NOTHING)

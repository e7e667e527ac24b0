"""The proxy tool: what agents may send, what they are told, and the moves that are written down."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from synth.agents.game_tool import Judge, NoJudge, asking, game_tool, judged_in, sitting_of, task_of
from synth.agents.mock_tools import ToolLog, as_openai_chat, run_tool
from synth.games import Move, Observation, Sitting, Supplies, move_from_json, variant_named
from synth.games.lateral import RULES, JudgeFailed, Lateral, judged_by, puzzles_in, shipped
from synth.games.mastermind import Mastermind
from synth.games.model import Action


def sitting(steps: int = 3) -> Sitting:
    return Sitting(Mastermind("5618"), steps)


def act(game: Sitting, arguments: str) -> str:
    return run_tool([game_tool(game, ToolLog())], "act", arguments)


def test_an_action_is_a_call() -> None:
    game = sitting()
    assert act(game, '{"action": "5681"}') == "2 in place, 2 elsewhere."
    assert act(game, '{"action": "5618"}') == "4 in place, 0 elsewhere.\nThe game is over."
    assert act(game, '{"action": "0000"}') == "The game is over."
    assert [(move.action, move.progress) for move in game.moves] == [("5681", 0.5), ("5618", 1.0)]


@pytest.mark.parametrize(
    ("arguments", "action"),
    [
        ("{}", ""), ('{"action": 5618}', "5618"), ('{"action": [0, 4, 7]}', "[0, 4, 7]"),
        ('{"action": null}', "null"), ('{"guess": "5618"}', ""), ('{"action": "5618", "why": 1}', "5618"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_a_step_all_the_same(arguments: str, action: str) -> None:
    game = sitting()
    act(game, arguments)
    assert [move.action for move in game.moves] == [action]


def test_the_last_step_says_that_it_was_the_last() -> None:
    game = sitting(steps=1)
    assert act(game, '{"action": "x"}').endswith("nothing else.\nThe game is over.")
    assert game.is_over


def test_calls_at_once_take_no_step_too_many() -> None:
    game = sitting(steps=5)
    threads = [threading.Thread(target=act, args=(game, '{"action": "0000"}')) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(game.moves) == 5


def test_the_task_has_rules_tool_and_limit() -> None:
    task = task_of(sitting(), 3)
    assert task.startswith("Guess a code of 4 digits")
    assert "tool act" in task
    assert "You have 3 actions." in task
    assert as_openai_chat(game_tool(sitting(), ToolLog()))["function"]["name"] == "act"


def test_moves_are_written_when_they_are_made(tmp_path: Path) -> None:
    log = tmp_path / "moves"
    game = sitting_of({"variant": "mastermind+memory+2", "seed": 4}, log)
    act(game, '{"action": "1234"}')
    act(game, '{"action": "\\ud800"}')
    read = [move_from_json(json.loads(line)) for line in log.read_text().splitlines()]
    assert read[0] == game.moves[0]
    assert read[1].action == "\\ud800"
    assert [move.progress for move in read] == [move.progress for move in game.moves]
    assert read[1].seen.text.startswith("Your actions so far:")


def test_a_move_reads_back() -> None:
    move = Move("a", Observation("b", True, True), 0.25)
    assert move_from_json(json.loads(json.dumps(move.to_json()))) == move


# ---------------------------------------------------------------- a model as judge


def judged(*answers: str) -> Lateral:
    said = iter(answers)
    game = Lateral(shipped()[0], judged_by(lambda prompt: next(said)))
    game.reset()
    return game


def test_a_model_judges_questions() -> None:
    game = judged(
        '{"answer": "no", "points": []}', 'Sure: {"answer": "Irrelevant"}',
        '```json\n{"answer": "yes", "points": [3, 1]}\n```', '{"answer": "yes", "points": [2]}',
    )  # fmt: skip
    assert [game.step(Action("a")).text for _ in range(3)] == ["No.", "That does not matter.", "Yes."]
    assert (game.progress, game.state["met"]) == (2 / 3, [0, 2])
    assert game.step(Action("b")).success


def test_the_judge_is_told_story_solution_points_and_question() -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return '{"answer": "no"}'

    puzzle = shipped()[1]
    Lateral(puzzle, judged_by(ask)).step(Action("Is it {raining}?"))
    assert all(
        text in asked[0]
        for text in (puzzle.story, puzzle.solution, f"3. {puzzle.points[2].question}", "Is it {raining}?")
    )


@pytest.mark.parametrize(
    "answer",
    [
        "yes", '{"answer": "maybe"}', '{"answer": "yes", "points": [4]}', '{"answer": "yes", "points": [0]}',
        '{"answer": "yes", "points": ["1"]}', '{"answer": "yes", "points": [true]}', "{", "[]", "",
        '{"answer": "yes", "points": 1}',
    ],
)  # fmt: skip
def test_a_judge_without_a_usable_answer_is_asked_once_more(answer: str) -> None:
    game = judged(answer, '{"answer": "yes", "points": [1]}')
    assert game.step(Action("a")).text == "Yes."
    with pytest.raises(JudgeFailed, match="cannot be read"):
        judged(answer, answer).step(Action("a"))


class Answering(BaseHTTPRequestHandler):
    """A model's endpoint that answers with what its server was given."""

    def log_message(self, format: str, *args: object) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body["model"], body["messages"][0]["content"]))  # type: ignore[attr-defined]
        status, said = self.server.answer  # type: ignore[attr-defined]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(said.encode())


@pytest.fixture
def endpoint() -> Any:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_judge_is_asked_at_its_endpoint(endpoint: Any, tmp_path: Path) -> None:
    said = json.dumps({"answer": "yes", "points": [1, 2, 3]})
    usage = {"prompt_tokens": 70, "completion_tokens": 5}
    endpoint.answer = 200, json.dumps({"choices": [{"message": {"content": said}}], "usage": usage})
    judge = {"model": "m", "base_url": f"http://127.0.0.1:{endpoint.server_address[1]}/v1"}
    game = sitting_of({"variant": "ltp", "seed": 0, "judge": judge}, tmp_path / "log")
    assert game.act("Hm?")
    (took,) = map(json.loads, judged_in(tmp_path / "log").read_text().splitlines())
    assert (took["input"], took["output"], took["untold"]) == (70, 5, 0)
    assert game.seen.success
    assert endpoint.asked[0][:2] == ("/v1/chat/completions", "m")
    assert "Hm?" in endpoint.asked[0][2]


@pytest.mark.parametrize("answer", [(500, "{}"), (200, "no json"), (200, "{}"), (200, '{"choices": []}')])
def test_a_judge_that_does_not_answer_ends_the_game_with_its_reason(
    endpoint: Any, answer: tuple[int, str]
) -> None:
    endpoint.answer = answer
    url = f"http://127.0.0.1:{endpoint.server_address[1]}/v1"
    game = Sitting(variant_named("ltp").driver(0, Supplies(ask=asking(Judge("m", url)))), 5)
    assert act(game, '{"action": "Hm?"}').startswith(
        "The game is over. the game failed: NoJudge: the judge 'm'"
    )
    assert game.moves == []
    with pytest.raises(NoJudge, match=r"127\.0\.0\.1"):
        asking(Judge("m", url))("?")


def test_puzzles_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        '[[puzzle]]\nstory = "S?"\nsolution = "T."\npoints = [{question = "X?", words = [["X"]]}]\n'
        'false = [[["y"]]]\n'
    )
    game = variant_named("ltp").driver(7, Supplies(data=file))
    assert game.reset().text == f"{RULES}\n\nS?"
    assert game.step(Action("y or z")).text == "No."
    assert game.step(Action("xylophone?")) == Observation("Yes. T.", True, True)


POINT, FLAT = '[{question = "X", words = [["x"]]}]', '[{question = "X", words = ["x"]}]'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"expected at least one \[\[puzzle\]\]"),
        ("x", "not TOML"),
        ('[[puzzle]]\nstory = "S"\nsolution = "T"\npoints = []', "a puzzle has story"),
        (f'[[puzzle]]\nstory = "S"\npoints = {POINT}', "'solution'"),
        (f'[[puzzle]]\nstory = 1\nsolution = "T"\npoints = {POINT}', "a puzzle has"),
        (f'[[puzzle]]\nstory = "S"\nsolution = "T"\npoints = {FLAT}', "lists in a list"),
        ("puzzle = 3", "at least one"),
        ("puzzle = [3]", r"field puzzle\[0\]"),
    ],
    ids=["nothing", "no-toml", "no-points", "no-solution", "number", "flat", "no-table", "number-table"],
)
def test_files_without_puzzles_are_named(tmp_path: Path, text: str, said: str) -> None:
    from synth.errors import BadInput

    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(BadInput, match=said):
        puzzles_in(file)
    with pytest.raises(BadInput, match="cannot read the puzzles"):
        puzzles_in(tmp_path)

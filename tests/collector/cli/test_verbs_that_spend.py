"""Every verb that asks a model says before what it can cost, asks at a terminal, and keeps to a budget."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from collector.cli import spending
from collector.cli.games import command as games
from collector.cli.parse import command as parse
from collector.cli.planners import command as planners
from collector.cli.questions import command as questions
from collector.cli.rewrite import command as rewrite
from collector.cli.topics import command as topics
from tests.support.questions import written
from tests.support.scripted_model import Script, serving
from tests.support.sick_models import sick_models

PDOCTOR = (sys.executable, "-m", "pdoctor_trace")
TOOK = 120
"""Tokens of each answer of the scripted model."""
JOBS = json.dumps([{"job": f"job {word}", "industry": "any"} for word in ("one", "two", "three", "four")])
TOPIC = json.dumps({"activities": ["hive check", "jar order"]})
NAMES = '[{"id": "a1", "phrase": "audit", "tool": "audit"}, {"id": "a2", "phrase": "tea", "tool": "tea"}]'
PLANS = ("--tasks", "2", "--strategy", "multi-step", "--format", "json", "--feedback", "none")


def answer(messages: list[dict[str, Any]]) -> str:
    asked = messages[-1]["content"]
    if "different jobs" in asked:
        return JOBS
    return TOPIC if "working day" in asked else "The audit must precede the tea."


@pytest.fixture
def script() -> Script:
    made = Script(answer)
    made.usage = {"prompt_tokens": TOOK // 2, "completion_tokens": TOOK // 2, "total_tokens": TOOK}
    return made


@pytest.fixture
def url(script: Script) -> Iterator[str]:
    with serving(script) as client:
        yield str(client.base_url)


def run(verb: Any, *arguments: object, said: str | None = None) -> Result:
    runner = CliRunner(env={"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""})
    return runner.invoke(verb, [str(one) for one in arguments], input=said)


def asking(verb: str, url: str, folder: Path) -> list[Any]:
    """The verb and what it is given to ask the model `m`."""
    names = folder / "names.json"
    names.write_text(NAMES)
    own = ["--model", "m", "--base-url", url]
    return {
        "topics": [topics, "generate", "--jobs", 4, "--activities", 2, *own],
        "rewrite": [rewrite, "--actions", "2", "--cases", 5, *own],
        "parse": [parse, "--llm", "--names", names, *own],
        "planners": [planners, *PLANS, *own],
    }[verb]


ASKED = {"topics": 5, "rewrite": 5, "parse": 2, "planners": 2}
"""Requests of each verb where nothing goes wrong."""


@pytest.mark.parametrize("verb", ASKED)
def test_what_it_can_cost_is_said_before_and_what_it_took_after(
    verb: str, url: str, script: Script, tmp_path: Path
) -> None:
    done = run(*asking(verb, url, tmp_path), "--price", "1,3", said="Audit before tea.")
    unit = "runs" if verb == "planners" else "requests"
    assert f"at most {ASKED[verb]} {unit}: " in done.stderr
    assert len(script.asked) == ASKED[verb]
    tokens = TOOK * ASKED[verb]
    cost = ASKED[verb] * (1 + 3) * TOOK / 2 / 1e6
    assert f"spent {tokens:,} tokens, {cost:.2g} USD" in done.stderr


@pytest.mark.parametrize("verb", ASKED)
def test_at_a_terminal_no_is_an_answer(
    verb: str, url: str, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "at_a_terminal", lambda: True)
    monkeypatch.setattr(spending, "asked", lambda question: False)
    given = asking(verb, url, tmp_path)
    refused = run(*given, said="Audit before tea.")
    assert (refused.exit_code, script.asked) == (2, [])
    assert "nothing was run" in refused.stderr
    for agreed in (("--yes",), ("--max-tokens", 10**9)):
        before = len(script.asked)
        assert run(*given, *agreed, said="Audit before tea.").exit_code in (0, 1)
        assert len(script.asked) > before


@pytest.mark.parametrize(("verb", "cap"), [("topics", 450), ("rewrite", 1000)])
def test_a_budget_ends_it_and_keeps_what_was_made(
    verb: str, cap: int, url: str, script: Script, tmp_path: Path
) -> None:
    done = run(*asking(verb, url, tmp_path), "--max-tokens", cap)
    made = len(script.asked)
    assert 2 <= made < ASKED[verb]
    assert made * TOOK <= cap
    shown = made - 1 if verb == "topics" else made  # the first answer names the jobs
    assert f"stopped by the budget (tokens) after {shown} of " in done.stderr
    assert done.stdout.count("[[topic]]" if verb == "topics" else "unreadable: ") == shown


def test_a_budget_that_allows_nothing_is_an_error(url: str, script: Script, tmp_path: Path) -> None:
    for verb in ASKED:
        refused = run(*asking(verb, url, tmp_path), "--max-tokens", 10, said="Audit before tea.")
        assert (verb, refused.exit_code, script.asked) == (verb, 2, [])
        assert "(tokens)" in refused.stderr
        refused = run(*asking(verb, url, tmp_path), "--max-cost", 1, said="Audit before tea.")
        assert "--max-cost needs the price of m" in refused.stderr


@pytest.mark.parametrize("verb", ["topics", "rewrite", "parse"])
def test_an_endpoint_that_fails_is_told_in_its_own_words(verb: str, tmp_path: Path) -> None:
    done = run(*asking(verb, "http://127.0.0.1:9/v1", tmp_path), "--yes", said="Audit before tea.")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "pdoctor: asking the model 'm' failed: Connection error." in done.stderr


def test_what_was_written_before_an_endpoint_failed_is_kept(tmp_path: Path) -> None:
    with sick_models("done", "done", 401) as server:
        url = f"{server.url}/v1"
        done = run(*asking("rewrite", url, tmp_path), "--json", "--yes")
    assert len(done.stdout.splitlines()) == 2
    assert done.exit_code == 2
    assert "the provider's own words about 401" in done.stderr


def test_words_for_tasks_are_paid_for_too(url: str, script: Script) -> None:
    done = run(planners, *PLANS, "--worded-by", "m", "--model", "simulated-none-never", "--base-url", url)
    assert "at most 2 runs" in done.stderr
    assert len(script.asked) == 2


# ---------------------------------------------------------------- agents, in processes of their own


def test_games_of_agents_keep_to_a_budget() -> None:
    given = ("sudoku+4", "--agent", "raw-loop", "--games", 6, "--parallel", 1, "--price", "1")
    done = run(games, *given, "--max-tokens", 9_000, "--json")
    said = json.loads(done.stdout)
    assert 1 <= len(said["games"]) < 6
    assert f"stopped by the budget (tokens) after {len(said['games'])} of 6 games" in done.stderr
    spent = sum(row["tokens"] for row in said["games"])
    assert 0 < spent <= 9_000
    assert f"spent {spent:,} tokens of 9,000" in done.stderr


@pytest.mark.heavy
def test_questions_keep_to_a_budget_that_the_journal_remembers(tmp_path: Path) -> None:
    files = written(tmp_path)
    journal = tmp_path / "j.jsonl"
    given = (f"gsm8k={files['gsm8k']}", "--agent", "spec:direct", "--parallel", 1, "--journal", journal)
    first = run(questions, *given, "--price", "1000,1000", "--json")
    assert "at most 2 questions" in first.stderr
    answers = json.loads(first.stdout)["answers"]
    spent = sum(one["tokens"] for one in answers)
    assert spent == sum(one["usage"]["input"] + one["usage"]["output"] for one in answers) > 0
    (costs,) = (one for one in json.loads(first.stdout)["tables"] if one["name"] == "costs")
    assert float(costs["rows"][0]["cost"].removesuffix(" USD")) == pytest.approx(spent / 1000, rel=0.02)
    again = run(questions, *given, "--questions", "all", "--max-tokens", spent, "--price", "1")
    assert again.exit_code == 0, again.output
    assert f"spent {spent:,} tokens of {spent:,}" in again.stderr


@pytest.mark.parametrize(
    "who", [("--player", "good"), pytest.param(("--agent", "raw-loop"), marks=pytest.mark.heavy)],
    ids=["player", "agent"],
)  # fmt: skip
def test_the_judge_of_a_riddle_is_paid_for(who: tuple[str, str], url: str, script: Script) -> None:
    script.answer = lambda messages: '{"answer": "no", "points": []}'
    given = ("ltp+3", *who, "--games", 1, "--judge", "m", "--judge-url", url, "--price", 1, "--json")
    done = run(games, *given)
    asked, agent = len(script.asked), json.loads(done.stdout)["games"][0]["tokens"] or 0
    assert asked > 0
    assert f"spent {TOOK * asked + agent:,} tokens" in done.stderr
    script.asked.clear()
    assert "(tokens)" in run(games, *given, "--max-tokens", 400).output
    assert script.asked == []


# ---------------------------------------------------------------- a real terminal


@pytest.mark.heavy
def test_the_question_at_a_real_terminal(url: str, script: Script) -> None:
    command = [*PDOCTOR, "topics", "generate", "--jobs", "1", "--activities", "2", "--model", "m"]
    for typed, asked in ((b"n\n", 0), (b"y\n", 2)):
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
        with subprocess.Popen(
            [*command, "--base-url", url], stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL
        ) as process:
            os.close(theirs)
            said = read_until(ours, b"Go on? [y/N]: ")
            assert b"at most 2 requests: " in said
            assert b"price not known" in said
            assert script.asked == []
            os.write(ours, typed)
            assert process.wait(60) == (0 if asked else 2)
        os.close(ours)
        assert len(script.asked) == asked


def read_until(terminal: int, words: bytes) -> bytes:
    """What a program wrote, up to these words."""
    said = b""
    while words not in said:
        said += os.read(terminal, 4096)
    return said

"""`pdoctor extract`: a text becomes rules that somebody accepts one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from collector.cli import extract as verb
from collector.cli.extract import command
from synth.policies import load_policies
from tests.support.scripted_model import Script, serving

TEXT = "Always verify who it is before any refund. Never refund twice. Refunds end at five.\n"
FOUND = [
    {"source": "verify who it is before any refund", "rule": "Verify must happen before refund."},
    {"source": "Never refund twice", "rule": "Refund must happen at most 1 time."},
    {"source": "Refunds end at five", "rule": "Refund must be over by five."},
]
RUNS = [
    {
        "run_id": name,
        "calls": [{"id": f"c{at}", "name": tool, "arguments": {}} for at, tool in enumerate(tools)],
    }
    for name, tools in (("good", ("verify", "refund")), ("twice", ("verify", "refund", "refund")))
]


@pytest.fixture
def url() -> Iterator[str]:
    with serving(Script(lambda messages: json.dumps(FOUND))) as client:
        yield str(client.base_url)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prompt.txt").write_text(TEXT)
    (tmp_path / "runs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in RUNS))
    return tmp_path


def extracted(folder: Path, url: str, *more: str, said: str | None = None) -> Result:
    given = [str(folder / "prompt.txt"), "--model", "m", "--base-url", url, "--yes", *more]
    return CliRunner(env={"OPENAI_API_KEY": ""}).invoke(command, given, input=said)


def reviewed(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """Somebody at a terminal who answers so."""
    left = list(answers)
    monkeypatch.setattr(verb, "at_a_terminal", lambda: True)
    monkeypatch.setattr(verb.click, "prompt", lambda question, err: left.pop(0))


def rules_in(file: Path) -> Sequence[str | None]:
    return [one.sentence for one in load_policies(file).policies]


def test_without_a_terminal_nothing_is_accepted_and_everything_is_shown(folder: Path, url: str) -> None:
    done = extracted(folder, url, "--runs", str(folder / "runs.jsonl"))
    assert done.exit_code == 3
    assert "policies: []" in done.stdout
    assert "1 of 3: “verify who it is before any refund” (line 1)" in done.stderr
    assert "  means: Each call of refund needs an earlier success of verify." in done.stderr
    assert "  runs:  1 of 2 runs break it, 1 keep it\n         twice: " in done.stderr
    assert "  doubt: " in done.stderr.partition("3 of 3: ")[2]


def test_sure_takes_what_is_in_no_doubt_and_what_no_run_breaks(folder: Path, url: str) -> None:
    out = folder / "rules.yaml"
    done = extracted(folder, url, "--runs", str(folder / "runs.jsonl"), "--accept", "sure", "-o", str(out))
    assert (done.exit_code, rules_in(out)) == (3, ["Verify must happen before refund."])
    assert f"1 of 3 rules written to {out}" in done.stderr
    done = extracted(folder, url, "--tool", "verify", "--tool", "refund", "--accept", "sure", "-o", str(out))
    assert len(rules_in(out)) == 2


def test_somebody_accepts_one_by_one_and_may_write_another_sentence(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, tools = folder / "rules.yaml", ("--tool", "verify", "--tool", "refund")
    reviewed(monkeypatch, "y", "NO", "y", "Refund must be nice.", "Refund must happen before 17:00.", "yes")
    done = extracted(folder, url, *tools, "-o", str(out))
    assert done.exit_code == 0, done.output
    assert rules_in(out) == ["Verify must happen before refund.", "Refund must happen before 17:00."]
    assert "it cannot be read" in done.stderr
    assert "means: Each call of refund has ended by 17:00." in done.stderr


def test_what_runs_say_is_asked_again_for_another_sentence(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewed(monkeypatch, "Refund must happen before verify.", "n", "q")
    done = extracted(folder, url, "--runs", str(folder / "runs.jsonl"))
    assert "  runs:  2 of 2 runs break it\n" in done.stderr


def test_who_leaves_keeps_what_was_accepted(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = folder / "rules.yaml"
    reviewed(monkeypatch, "y", "q")
    done = extracted(folder, url, "--tool", "verify", "--tool", "refund", "-o", str(out))
    assert (done.exit_code, rules_in(out)) == (0, ["Verify must happen before refund."])


def test_accepted_rules_that_contradict_each_other_are_told(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewed(
        monkeypatch, "y", "Refund must happen exactly 1 time.", "y", "Refund must happen before verify.", "y"
    )
    done = extracted(folder, url, "--tool", "verify", "--tool", "refund", "-o", str(folder / "r.yaml"))
    assert done.exit_code == 1
    assert "pdoctor: contradiction: " in done.stderr


def test_json_has_each_proposal_with_what_runs_say(folder: Path, url: str) -> None:
    done = extracted(folder, url, "--json", "--runs", str(folder / "runs.jsonl"))
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert first["runs"] == {"verdicts": {"ok": 2}, "broken": []}
    assert second["runs"]["broken"][0][0] == "twice"
    assert (third["kind"], third["reading"], bool(third["doubts"])) == (None, "", True)


def test_names_come_from_a_policy_file_or_a_list(folder: Path, url: str) -> None:
    (folder / "names.yaml").write_text("actions: {verify: check_id, refund: pay_back}\npolicies: []\n")
    (folder / "names.json").write_text(
        json.dumps(
            [
                {"id": "a", "phrase": "verify", "tool": "check_id"},
                {"id": "b", "phrase": "refund", "tool": "p"},
            ]
        )
    )
    for names, tool in (("names.yaml", "pay_back"), ("names.json", "p")):
        done = extracted(folder, url, "--names", str(folder / names))
        assert f"Each call of {tool} needs an earlier success of check_id." in done.stderr


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ((), "which tools has the agent?"),
        (("--tool", "x", "--max-tokens", "10"), "(tokens)"),
        (("--tool", "x", "--max-cost", "1"), "--max-cost needs the price of m"),
    ],
)
def test_what_is_missing_is_told(folder: Path, url: str, more: tuple[str, ...], why: str) -> None:
    done = extracted(folder, url, *more)
    assert done.exit_code == 2
    assert why in done.stderr


def test_a_text_that_is_none_is_refused(folder: Path, url: str) -> None:
    for text, why in (("  \n", "there is no text"), ("x" * 200_001, "over 200,000 characters")):
        (folder / "prompt.txt").write_text(text)
        done = extracted(folder, url, "--tool", "x")
        assert (done.exit_code, why in done.stderr) == (2, True)

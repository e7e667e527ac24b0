"""The loop from a bad run in production to a test and back, through the commands alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from collector.cli.embedded import collector_process
from tests.end_to_end.test_pytest_plugin import plugin_arguments
from tests.support.real_collector import pdoctor
from tests.support.real_runs import HERE
from tests.support.traces import Client

pytestmark = pytest.mark.heavy

AGENT = '''
def careful(query, tools, user):
    """Reads the reservation, and does not cancel what may not be cancelled."""
    by_name = {tool.__name__: tool for tool in tools}
    found = by_name["get_reservation_details"](reservation_id="3RK2T9")
    if found["cabin"] == "business" or found["insurance"] == "yes":
        by_name["cancel_reservation"](reservation_id="3RK2T9")
    return "I cannot cancel it."
'''


def run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    keep = {**os.environ, "PDOCTOR_CACHE": str(folder / "cache"), **environment}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=keep)


def test_a_bad_run_becomes_a_test_that_fails_until_the_agent_is_mended(tmp_path: Path) -> None:
    with collector_process(tmp_path / "runs.db") as url:
        at = ("--collector", url)
        airline = HERE / "tau_airline.yaml"
        assert run(tmp_path, pdoctor(), "policies", "push", str(airline), *at).returncode == 0
        loaded = run(tmp_path, pdoctor(), "runs", "import", str(HERE / "tau_airline" / "runs.jsonl"), *at)
        assert "17 runs" in loaded.stdout
        words = "outcome:fail rule:A17 tool:cancel_reservation"
        chosen = ("--filter", words, "--limit", "10", "-o", "all.jsonl")
        assert run(tmp_path, pdoctor(), "cases", "from-run", *chosen, *at).returncode == 0
        cases = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
        (bad,) = [case["id"] for case in cases if "3RK2T9" in json.dumps(case["run"]["calls"])]

        said = run(tmp_path, pdoctor(), "cases", "from-run", bad[:6], "--pytest", "test_airline.py", *at)
        if said.returncode:  # prefixes of ids
            said = run(tmp_path, pdoctor(), "cases", "from-run", bad, "--pytest", "test_airline.py", *at)
        assert said.stdout.endswith("Next: pytest test_airline.py\n"), said.stderr

        pytest_ = (sys.executable, "-m", "pytest", *plugin_arguments(), "--pdoctor-collector", url)
        red = run(tmp_path, *pytest_, "test_airline.py", PDOCTOR_VERSION="1.4")
        assert red.returncode == 1, red.stdout
        assert "must happen before" in first_line_of_failure(red.stdout)
        assert "> 1. cancel_reservation" in red.stdout
        assert "would have worked: get_user_details (new), cancel_reservation (call 1)" in red.stdout
        looks = [line for line in red.stdout.splitlines() if line.startswith("Look: ")]
        seen, campaign = dict.fromkeys(looks)  # where CI is set, pytest's summary repeats the whole failure
        assert seen.startswith(f"Look: {url}/runs/")
        assert campaign.startswith(f"Look: {url}/campaigns/")

        (tmp_path / "my_agent.py").write_text(AGENT)
        tests = (tmp_path / "test_airline.py").read_text()
        (tmp_path / "test_airline.py").write_text(tests.replace('"recorded"', '"my_agent:careful"', 1))
        green = run(tmp_path, *pytest_, "test_airline.py", PDOCTOR_VERSION="1.5")
        assert green.returncode == 0, green.stdout

        compared = run(tmp_path, pdoctor(), "compare", "--by", "version", "1.4", "1.5", *at)
        assert compared.returncode == 0, compared.stdout  # one run of each shows no drop
        assert "version 1.4: 1 complete runs; 1.5: 1" in compared.stdout
        with Client(url) as client:
            told = client.get("/compare", by="version", a="1.4", b="1.5")
            page = client.http.get(compared.stdout.splitlines()[-1].removeprefix("Look: ")).text
        used = {one["name"]: one for one in told["differences"] if one["kind"] == "tool"}
        assert [used["cancel_reservation"][side]["hits"] for side in ("a", "b")] == [1, 0], told
        assert ("cancel_reservation" in page, "1 of 1; 20.7% to 100.0%" in page) == (True, True)

        again = run(tmp_path, pdoctor(), "replay", "test_airline.jsonl", "--json", *at)
        assert again.returncode == 1
        told = json.loads(again.stdout)
        assert (told["outcome"], told["differences"]) == ("fail", {})
        careful = ("--agent", "my_agent:careful", "--json")
        mended = run(tmp_path, pdoctor(), "replay", "test_airline.jsonl", *careful, *at)
        # A plain function does not say which calls one model message asked for: that rule is open, no more.
        verdicts = {key: found["verdict"] for key, found in json.loads(mended.stdout)["policies"].items()}
        assert (mended.returncode, verdicts.pop("tau_airline/A4")) == (3, "unsupported"), mended.stdout
        assert set(verdicts.values()) == {"not_applicable"}
        poor = run(tmp_path, pdoctor(), "replay", "test_airline.jsonl", *careful, *at, "--max-tokens", "10")
        assert (poor.returncode, "the budget (tokens) does not allow the first" in poor.stderr) == (2, True)


def first_line_of_failure(said: str) -> str:
    lines: list[str] = said.splitlines()
    heading = next(at for at, line in enumerate(lines) if line.startswith("____"))
    return lines[heading + 1]


OWN = '''
import pytest

RULES = """
actions: {look up: look_up, pay: pay}
policies:
  - {id: first, rule: Look up must happen before pay.}
"""

def look_up(order: str) -> dict:
    "Finds an order."
    return {"order": order}

def pay(order: str):
    "Pays it."

def rash(query, tools):
    tools[1](order="A-17")

def careful(query, tools):
    for tool in tools:
        tool("A-17")

def moody(query, tools):
    from pathlib import Path
    (careful if Path("mood").exists() else rash)(query, tools)
    Path("mood").touch()

TOOLS = [look_up, pay]

def test_careful(pdoctor):
    run = pdoctor.run(careful, "Refund A-17", policies=RULES, tools=TOOLS)
    assert [call.tool for call in run.run.calls] == ["look_up", "pay"]
    assert run.run.calls[0].arguments == {"order": "A-17"}

def test_rash(pdoctor):
    pdoctor.run(rash, "Refund A-17", policies=RULES, tools=TOOLS)

def test_file(pdoctor):
    pdoctor.run(careful, "Refund A-17", policies="no_such.yaml", tools=TOOLS)

def test_rate(pdoctor):
    assert pdoctor.rate(moody, "Refund A-17", policies=RULES, tools=TOOLS, runs=3, at_least=0.6) == 2 / 3

def test_low_rate(pdoctor):
    pdoctor.rate(rash, "Refund A-17", policies=RULES, tools=TOOLS, runs=10, at_least=0.9)
'''


def test_ones_own_request_and_rules_in_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(OWN)
    done = run(tmp_path, sys.executable, "-m", "pytest", *plugin_arguments(), "-rA", "test_own.py")
    said = done.stdout
    assert "3 failed, 2 passed" in said, said
    assert "pdoctor: model simulated-perfect (no language model: this tests your agent's loop" in said
    assert "“Look up must happen before pay” (policies)" in said
    assert "no_such.yaml: cannot be read" in said
    assert "0 of 2 runs passed (0% to 66% with 95 % confidence), at least 90% of 10 should" in said
    (look, *_) = [line for line in said.splitlines() if line.startswith("Look: pdoctor open ")]
    store, _, run_id = look.removeprefix("Look: pdoctor open ").partition("/")
    assert (tmp_path / "cache" / "stores" / f"{store}.db").is_file()
    assert len(run_id) == 32

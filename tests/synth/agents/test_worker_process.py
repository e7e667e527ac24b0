"""The worker process, from the harness's side: one job at a time, whatever its agent does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from synth.agents.process import Worker
from synth.errors import BadInput
from synth.simulated_model import AIRLINE, SimulatedModel, read_records
from tests.support.bench_cases import order_case
from tests.support.provider import Provider, Refusal

CASE = order_case()
EXPECTED = ["flour_delivery", "dough_kneading", "oven_inspection", "loaf_shaping"]
RECORD = read_records(AIRLINE / "runs.jsonl")[0]


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel([RECORD]) as running:
        yield running


def request(model: SimulatedModel, name: str, log: Path, **changed: Any) -> dict[str, Any]:
    return {
        "trace_id": f"{hash(log) & (1 << 60) - 1:032x}", "case_id": CASE.id, "case": CASE.to_json(),
        "tool_log": str(log),
        "settings": {"model": name, "base_url": model.base_url, "api_key": "key", "max_iterations": 6},
        **changed,
    }  # fmt: skip


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker("raw-loop", endpoint=None)
    yield made
    made.close()


def names(log: Path) -> list[str]:
    return [json.loads(line)["name"] for line in log.read_text().splitlines()]


def comes(true: Callable[[], bool], limit: float = 20.0) -> bool:
    """Whether it becomes true."""
    end = time.monotonic() + limit
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def is_running(pid: int) -> bool:
    """A process that has ended and only waits to be asked about it does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_worker_runs_job_after_job(worker: Worker, model: SimulatedModel, tmp_path: Path) -> None:
    for job in ("one", "two"):
        ended = worker.run(request(model, "simulated-perfect", tmp_path / job), limit=60)
        assert (ended.answer["status"], ended.answer["iterations"]) == ("ok", 5)
        assert ended.flushed.result(10)
        assert names(tmp_path / job) == EXPECTED


def test_shipped_agents_take_turns_in_one_process(
    worker: Worker, model: SimulatedModel, tmp_path: Path
) -> None:
    replay = request(model, f"replay:{RECORD['run_id']}", tmp_path / "replay", agent="replay", record=RECORD)
    replay["settings"]["max_iterations"] = 50
    jobs = [
        request(model, "simulated-perfect", tmp_path / "react", agent="react"),
        replay,
        request(model, "simulated-perfect", tmp_path / "raw", agent="raw-loop"),
    ]
    worker.start()
    process = worker.pid
    for job in jobs:
        worker.give(job)
    assert [worker.next_end(60).answer["status"] for _ in jobs] == ["ok"] * 3
    assert worker.pid == process
    assert names(tmp_path / "replay") == [call["name"] for call in RECORD["calls"]]


def test_a_worker_that_takes_too_long_is_replaced(
    worker: Worker, model: SimulatedModel, tmp_path: Path
) -> None:
    worker.start()
    late = worker.run(request(model, "simulated-slow", tmp_path / "slow"), limit=0.5)
    assert (late.answer["status"], late.answer["error"]) == ("timeout", "stopped after 0.5 s")
    again = worker.run(request(model, "simulated-perfect", tmp_path / "again"), limit=60)
    assert again.answer["status"] == "ok"


def test_what_waits_behind_a_job_that_is_stopped_runs_in_the_next_process(
    worker: Worker, model: SimulatedModel, tmp_path: Path
) -> None:
    worker.give(request(model, "simulated-slow", tmp_path / "slow"))
    worker.give(request(model, "simulated-perfect", tmp_path / "next"))
    assert worker.next_end(1.0).answer["status"] == "timeout"
    assert worker.next_end(60).answer["status"] == "ok"
    assert names(tmp_path / "next") == EXPECTED


def test_a_server_that_refuses_says_when_to_come_again(worker: Worker, tmp_path: Path) -> None:
    with Provider(lambda body: Refusal(400, "No.", {"Retry-After": "7"})) as provider:
        settings = {"model": "m", "base_url": provider.base_url, "api_key": "key"}
        job = {"trace_id": "1" * 32, "case_id": CASE.id, "case": CASE.to_json(), "settings": settings}
        answer = worker.run({**job, "tool_log": str(tmp_path / "log")}, limit=60).answer
    assert (answer["status"], answer["retry_after"], answer["trouble"]) == ("crash", 7.0, None)


def test_out_of_iterations_is_a_timeout(worker: Worker, model: SimulatedModel, tmp_path: Path) -> None:
    ended = worker.run(request(model, "simulated-loops", tmp_path / "log"), limit=60)
    assert (ended.answer["status"], ended.answer["iterations"]) == ("timeout", 6)
    assert names(tmp_path / "log") == ["flour_delivery"] * 6


AGENTS_OF_A_USER = """
import os, subprocess, sys, threading, time

def raises(query, tools):
    tools[0]()
    raise RuntimeError("no more flour")

def dies(query, tools):
    tools[0]()
    print("last words", file=sys.stderr, flush=True)
    os._exit(7)

def exits(query, tools):
    tools[0]()
    sys.exit("that was all")

def chatters(query, tools):
    print("this must not disturb the worker", sys.stdin.read())
    os.write(1, b"nor this\\n")
    return tools[0]()

def shouts(query, tools):
    print("x" * 5_000_000)
    tools[0]()
    return "y" * 5_000_000

def forks(query, tools):
    child = os.fork()
    if not child:
        time.sleep(600)
    tools[0]()
    return str(child)

def leaves_a_child(query, tools):
    tools[0]()
    return str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)

def leaves_a_thread(query, tools):
    tools[0]()
    threading.Timer(0.2, os._exit, [5]).start()

def hangs(query, tools):
    tools[0]()
    time.sleep(600)
"""


def user_worker(folder: Path, name: str) -> Worker:
    (folder / "agents_of_a_user.py").write_text(AGENTS_OF_A_USER)
    return Worker(f"agents_of_a_user:{name}", None, {"PYTHONPATH": str(folder)})


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("raises", "crash", "RuntimeError: no more flour"),
        ("dies", "crash", "last words"),
        ("exits", "crash", "SystemExit: that was all"),
        ("chatters", "ok", None),
        ("shouts", "ok", None),
    ],
)
def test_whatever_an_agent_does_its_calls_so_far_are_known(
    name: str, status: str, said: str | None, model: SimulatedModel, tmp_path: Path
) -> None:
    worker = user_worker(tmp_path, name)
    answer = worker.run(request(model, "simulated-perfect", tmp_path / "log"), limit=60).answer
    worker.close()
    assert answer["status"] == status
    assert (answer["error"] is None) if said is None else (said in answer["error"])
    assert len(answer["answer"]) <= 20_000
    assert names(tmp_path / "log") == ["flour_delivery"]


@pytest.mark.parametrize("name", ["forks", "leaves_a_child"])
def test_what_an_agent_leaves_running_ends_with_its_worker(
    name: str, model: SimulatedModel, tmp_path: Path
) -> None:
    worker = user_worker(tmp_path, name)
    answer = worker.run(request(model, "simulated-perfect", tmp_path / "log"), limit=60).answer
    child = int(answer["answer"])
    assert is_running(child)
    worker.close()
    assert comes(lambda: not is_running(child))


def test_a_process_that_dies_between_two_jobs_is_not_the_next_one_s_fault(
    model: SimulatedModel, tmp_path: Path
) -> None:
    worker = user_worker(tmp_path, "leaves_a_thread")
    worker.run(request(model, "simulated-perfect", tmp_path / "one"), limit=60)
    pid = worker.pid
    assert pid is not None
    assert comes(lambda: not is_running(pid))
    answer = worker.run(request(model, "simulated-perfect", tmp_path / "two"), limit=60).answer
    worker.close()
    assert answer["status"] == "ok"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no 'run'"),
        ("run = 3", "is not callable but int"),
        ("import no_such_library", "No module named 'no_such_library'"),
        ("raise RuntimeError('no key configured')", "RuntimeError: no key configured"),
        ("import sys; sys.exit(2)", "SystemExit: 2"),
        ("import os; os._exit(3)", "cannot be started"),
        ("def run(a, b, c): ...", "cannot fill parameter 'a'"),
        ("def run(query:", "SyntaxError"),
    ],
)
def test_an_agent_that_cannot_be_loaded_is_bad_input(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "broken_agent.py").write_text(text)
    with pytest.raises(BadInput, match="the agent cannot be started") as raised:
        Worker("broken_agent:run", None, {"PYTHONPATH": str(tmp_path)}).start()
    assert said in str(raised.value)


HARNESS_THAT_IS_KILLED = """
import json, sys, time
from synth.agents.process import Worker
worker = Worker("agents_of_a_user:hangs", None, {"PYTHONPATH": sys.argv[1]})
worker.give(json.loads(sys.argv[2]))
print(worker.pid, flush=True)
time.sleep(600)
"""


def test_a_worker_ends_when_whoever_started_it_is_gone(model: SimulatedModel, tmp_path: Path) -> None:
    (tmp_path / "agents_of_a_user.py").write_text(AGENTS_OF_A_USER)
    job = json.dumps(request(model, "simulated-perfect", tmp_path / "log"))
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS_THAT_IS_KILLED, str(tmp_path), job], stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout is not None
        pid = int(harness.stdout.readline())
        assert comes(lambda: (tmp_path / "log").exists() and names(tmp_path / "log") == ["flour_delivery"])
        os.kill(harness.pid, signal.SIGKILL)
    assert comes(lambda: not is_running(pid))

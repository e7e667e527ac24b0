"""What a worker's process holds after its runs: nothing of each, however many there were."""

from __future__ import annotations

import gc
import secrets
from collections import Counter
from collections.abc import Iterator

import pytest

from pdoctor_trace import runs
from pdoctor_trace.raw_loops import answers
from synth.agents import AGENTS, worker
from synth.cases.generate import Options, generate
from synth.simulated_model import SimulatedModel

(CASE,) = generate(1, 5, Options(actions=(3, 3)))
MODULES = ("pdoctor_trace.", "synth.agents.", "synth.cases.")


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel() as served:
        yield served


def run(agent: str, model: SimulatedModel) -> None:
    """One run, as a worker makes it."""
    trace_id = secrets.token_hex(16)
    settings = {"model": "simulated-perfect", "base_url": model.base_url, "api_key": trace_id}
    request = {"trace_id": trace_id, "case_id": CASE.id, "case": CASE.to_json(), "settings": settings}
    answer = worker.run_job(agent, worker.load_any(agent), request)
    assert answer["status"] == "ok", answer["error"]
    worker.tracer.flush()


def held() -> Counter[type]:
    """Objects of ours in this process, by class."""
    gc.collect()
    return Counter(type(one) for one in gc.get_objects() if _is_ours(type(one)))


def _is_ours(kind: type) -> bool:
    return str(kind.__module__).startswith(MODULES)  # of some classes that is no text


@pytest.mark.usefixtures("sink")
@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
def test_further_runs_of_an_agent_leave_no_further_objects(
    agent: str, model: SimulatedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MAX_SHARED_STATES", 1)  # it is kept that cases have ended, of so many
    monkeypatch.setattr(answers, "MOST", 1)  # and what answers were had
    run(agent, model)
    before = held()
    run(agent, model)
    assert held() - before == Counter()

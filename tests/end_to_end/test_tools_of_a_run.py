"""Cases over the tools of a run that the collector has."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.server import running
from collector.settings import Settings
from synth.cases.generate import Options, generate
from synth.cases.own_tools import load_tools
from synth.errors import BadInput
from synth.experiments.harness import Harness
from synth.experiments.trial import Trial
from synth.simulated_model import SimulatedModel


def test_cases_are_drawn_over_the_tools_of_a_collected_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings = Settings(
        store_url=f"sqlite:///{tmp_path}/store.db", http_port=0, grpc_port=None, grace_seconds=0.5
    )
    (case,) = generate(1, 11, Options(actions=(3, 3)))
    with running(settings) as url, SimulatedModel() as model, Harness(url, model=model) as harness:
        monkeypatch.setenv("PDOCTOR_ENDPOINT", url)
        (result,) = harness.run([Trial("openai-tools", "simulated-perfect", case=case)])
        tools = load_tools(f"run:{result.trace_id}")
        assert {tool.tool for tool in tools} == {action.tool for action in case.actions}
        (again,) = generate(1, 1, Options(actions=(3, 3), tools=f"run:{result.trace_id}"))
        assert {action.tool for action in again.actions} == {action.tool for action in case.actions}
        with pytest.raises(BadInput, match="run 'abc' is unknown there"):
            load_tools("run:abc")
    with pytest.raises(BadInput, match="no collector answers"):
        load_tools("run:abc")

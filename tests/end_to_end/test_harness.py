"""Agents in worker processes, traced without a line of code, judged by a real collector."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from collector.server import running
from collector.settings import Settings
from synth.agents import AGENTS
from synth.cases.case import Case
from synth.cases.generate import Options as CaseOptions
from synth.cases.generate import generate
from synth.errors import BadInput
from synth.experiments.agreement import calls_agree
from synth.experiments.harness import Harness, Options
from synth.experiments.tally import detection, fault_of, judgement, most_telling, tally
from synth.experiments.trial import Result, Trial
from synth.simulated_model import AIRLINE, SimulatedModel, read_records
from synth.simulated_model import PROFILES as PROFILES_OF_THE_BENCH

CASES = tuple(generate(2, 11, CaseOptions(actions=(3, 5))))
PROFILES = ("perfect", "parallel", "swaps", "forgets", "invents", "malformed")


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("collector")
    settings = Settings(
        store_url=f"sqlite:///{folder}/store.db", http_port=0, grpc_port=None, grace_seconds=0.5
    )
    with running(settings) as url:
        yield url


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel() as running_model:
        yield running_model


def results_of(
    collector: str, model: SimulatedModel, trials: Sequence[Trial], options: Options | None = None
) -> list[Result]:
    with Harness(collector, options or Options(), model) as harness:
        return list(harness.run(trials))


def trials(agents: Sequence[str], profiles: Sequence[str], cases: Sequence[Case] = CASES) -> list[Trial]:
    return [Trial(a, f"simulated-{p}", case=c) for a in agents for p in profiles for c in cases]


@pytest.mark.parametrize("agent", ["openai-tools", "raw-loop"])
def test_every_planted_fault_and_nothing_else_is_found(
    agent: str, collector: str, model: SimulatedModel
) -> None:
    results = results_of(collector, model, trials([agent], PROFILES), Options(parallel=2))
    assert len(results) == len(PROFILES) * len(CASES)
    wrong = [(r.model, r.planted, r.verdict) for r in results if judgement(r) not in ("found", "right")]
    assert wrong == []
    assert all(row.exact for row in detection(results))


@pytest.mark.parametrize("agent", ["openai-tools", "raw-loop"])
def test_every_call_arrives_exactly_once(agent: str, collector: str, model: SimulatedModel) -> None:
    results = results_of(collector, model, trials([agent], ["perfect", "swaps", "invents"], CASES[:1]))
    for result in results:
        assert result.run is not None
        assert result.run["agent"] == agent
        assert calls_agree(result.run, result.tool_log) == []


def test_a_planted_swap_names_the_sentence_and_both_calls(collector: str, model: SimulatedModel) -> None:
    (result,) = results_of(collector, model, trials(["openai-tools"], ["swaps"], CASES[:1]))
    assert result.planted is not None
    assert result.verdict is not None
    fault = result.planted["fault"]
    tool = {action.id: action.tool for action in CASES[0].actions}
    broken = [
        (tool[f["constraint"]["first"]], tool[f["constraint"]["then"]])
        for f in result.verdict["findings"]
        if f["constraint"]
    ]
    assert (fault["first"], fault["then"]) in broken
    (telling,) = most_telling([result], count=1)
    assert telling.finding["sentence"] is not None
    assert len(telling.finding["calls"]) == 2


@pytest.mark.heavy
def test_a_model_that_answers_too_late_is_an_error_and_the_next_case_runs(
    collector: str, model: SimulatedModel
) -> None:
    with Harness(collector, Options(timeout=4.0), model) as harness:
        hung = harness.run_one(Trial("raw-loop", "simulated-slow", case=CASES[0]))
        fine = harness.run_one(Trial("raw-loop", "simulated-perfect", case=CASES[0]))
    assert (hung.status, hung.outcome, judgement(hung)) == ("timeout", "error", "error")
    assert fault_of(hung) is None
    assert (fine.status, fine.outcome) == ("ok", "pass")


def test_an_agent_that_goes_round_in_circles_is_a_timeout(collector: str, model: SimulatedModel) -> None:
    options = Options(max_iterations=8)
    results = results_of(
        collector, model, trials(["openai-tools", "raw-loop"], ["loops"], CASES[:1]), options
    )
    assert [(r.status, r.error_type) for r in results] == [("timeout", "timeout")] * 2
    assert [len(r.tool_log) for r in results] == [8, 8]


CRASHING = """
import os

def raises(query, tools):
    tools[0]()
    raise RuntimeError("no more flour")

def dies(query, tools):
    tools[0]()
    os._exit(3)
"""


@pytest.mark.parametrize("name", ["raises", "dies"])
def test_an_agent_that_crashes_is_an_act_error(
    name: str, collector: str, model: SimulatedModel, tmp_path: Path
) -> None:
    (tmp_path / "crashing_agents.py").write_text(CRASHING)
    options = Options(environment={"PDOCTOR_AGENT_PATH": str(tmp_path)})
    trial = Trial(f"crashing_agents:{name}", "simulated-perfect", case=CASES[0])
    (result,) = results_of(collector, model, [trial], options)
    assert (result.status, result.error_type) == ("crash", "act_error")
    assert len(result.tool_log) == 1


DIES_ON_ONE_MODEL = """
import os

def run(query, tools, model):
    if model == "simulated-swaps":
        os._exit(3)
    for tool in tools:
        tool()
"""


def test_a_run_whose_spans_were_on_their_way_when_the_next_one_died_is_not_lost(
    collector: str, model: SimulatedModel, tmp_path: Path
) -> None:
    (tmp_path / "dying_agents.py").write_text(DIES_ON_ONE_MODEL)
    options = Options(environment={"PDOCTOR_AGENT_PATH": str(tmp_path)}, verdict_limit=30.0)
    models = ("simulated-perfect", "simulated-swaps")
    wanted = [Trial("dying_agents:run", m, case=CASES[0], repeat=r) for r in range(3) for m in models]
    results = {r.key: r for r in results_of(collector, model, wanted, options)}
    assert [results[trial.key].status for trial in wanted] == ["ok", "crash"] * 3
    for result in results.values():
        assert result.outcome != "undecided", result.run
        assert result.run is not None
        if result.status == "ok":
            assert calls_agree(result.run, result.tool_log) == []


def test_a_collector_that_is_not_there_is_bad_input(model: SimulatedModel) -> None:
    with pytest.raises(BadInput, match="no collector answers at"):
        results_of("http://127.0.0.1:9", model, trials(["raw-loop"], ["perfect"]))


def test_a_simulated_model_must_have_been_started(collector: str) -> None:
    with (
        Harness(collector) as harness,
        pytest.raises(BadInput, match="no simulated model was started"),
    ):
        harness.run_one(Trial("raw-loop", "simulated-perfect", case=CASES[0]))


RECORDS = read_records(AIRLINE / "runs.jsonl")


def test_recorded_runs_are_traced_as_recorded(collector: str) -> None:
    """Ids, arguments, errors and turns: what gpt-4o did arrives as it was, although it reuses call ids."""
    with SimulatedModel(RECORDS) as model:
        wanted = [Trial("replay", f"replay:{record['run_id']}", record=record) for record in RECORDS]
        results = {r.model: r for r in results_of(collector, model, wanted, Options(parallel=2))}
    for record in RECORDS:
        run = results[f"replay:{record['run_id']}"].run
        assert run is not None
        seen = [(c["id"], c["name"], c["arguments"], c.get("error") is not None) for c in run["calls"]]
        made = [(c["id"], c["name"], c["arguments"], c.get("error") is not None) for c in record["calls"]]
        assert seen == made, record["run_id"]


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["openai-tools", "raw-loop"])
def test_timed_faults_are_found_too(agent: str, collector: str, model: SimulatedModel) -> None:
    cases = tuple(generate(1, 3, CaseOptions(actions=(4, 4), mode="timed")))
    profiles = ("perfect", "swaps", "forgets", "invents", "malformed", "ignores-durations", "wrong-times")
    results = results_of(collector, model, trials([agent], profiles, cases), Options(parallel=2))
    assert [row.to_json() for row in detection(results) if not row.exact] == []


@pytest.mark.heavy
def test_arguments_that_a_stream_lost_are_found(collector: str, model: SimulatedModel) -> None:
    cases = tuple(generate(2, 3, CaseOptions(actions=(4, 4), mode="timed")))
    streamed = Options(parallel=2, params={"stream": True})
    made = trials(["raw-loop"], ("perfect", "loses-arguments"), cases)
    results = results_of(collector, model, made, streamed)
    assert [row.to_json() for row in detection(results) if not row.exact] == []
    found = sorted((r.model, r.error_type) for r in results)
    wanted = [("simulated-loses-arguments", "parameter_error"), ("simulated-perfect", None)]
    assert found == sorted(wanted * 2, key=str)
    assert [r.key for r in results if r.run is None or calls_agree(r.run, r.tool_log)] == []


PLAIN_AGENT = """
def in_listed_order(query, tools):
    for tool in tools:
        tool()

async def backwards(query, langchain_tools):
    for tool in reversed(langchain_tools):
        await tool.ainvoke({})
"""


@pytest.mark.parametrize("name", ["in_listed_order", "backwards"])
def test_the_calls_of_a_user_s_callable_arrive_in_either_form(
    name: str, collector: str, model: SimulatedModel, tmp_path: Path
) -> None:
    (tmp_path / "plain_agents.py").write_text(PLAIN_AGENT)
    options = Options(environment={"PDOCTOR_AGENT_PATH": str(tmp_path)})
    trial = Trial(f"plain_agents:{name}", "simulated-perfect", case=CASES[0])
    (result,) = results_of(collector, model, [trial], options)
    assert result.run is not None
    assert len(result.tool_log) == len(CASES[0].actions)
    assert calls_agree(result.run, result.tool_log) == []


PROGRAM = """
import json, os, sys
from urllib.request import Request, urlopen
from opentelemetry import context, propagate
import pdoctor_trace

context.attach(propagate.extract({name: os.environ[name.upper()] for name in ("traceparent", "baggage")}))
task = json.load(sys.stdin)

def tool(name):
    @pdoctor_trace.tool(name=name)
    def call():
        return urlopen(Request(f"{task['tools_url']}/{name}", data=b"{}")).read().decode()
    return call

with pdoctor_trace.run(query=task["query"], agent="a program"):
    for spec in task["tools"]:
        tool(spec["function"]["name"])()
print("done with", task["case_id"])
"""


def test_a_program_that_takes_up_the_context_is_judged_like_any_agent(
    collector: str, model: SimulatedModel, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    agent = f"exec:{sys.executable} {tmp_path / 'program.py'}"
    (result,) = results_of(collector, model, [Trial(agent, "simulated-perfect", case=CASES[0])])
    assert (result.status, result.error) == ("ok", None)
    assert result.answer == f"done with {CASES[0].id}\n"
    assert result.run is not None
    assert result.run["agent"] == "a program"
    assert len(result.tool_log) == len(CASES[0].actions)
    assert calls_agree(result.run, result.tool_log) == []


class ScriptedEndpoint(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that is not ours: calls every tool in listed order."""

    keys: ClassVar[set[str]] = set()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        self.keys.add(self.headers["Authorization"])
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        done = sum(message["role"] == "tool" for message in body["messages"])
        message: dict[str, Any] = {"role": "assistant", "content": "done"}
        if done < len(body["tools"]):
            function = {"name": body["tools"][done]["function"]["name"], "arguments": "{}"}
            call = {"id": f"c{done}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
        }
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["openai-tools", "raw-loop"])
def test_another_openai_compatible_endpoint_serves_the_same_trials(agent: str, collector: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), ScriptedEndpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        named = Options(base_url=url, api_key="key-by-option")
        by_environment = Options(environment={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "key-by-environment"})
        for options in (named, by_environment):
            with Harness(collector, options) as harness:
                result = harness.run_one(Trial(agent, "scripted-1", case=CASES[0]))
            assert (result.status, result.error) == ("ok", None)
            assert [call["name"] for call in result.tool_log] == [action.tool for action in CASES[0].actions]
            assert result.run is not None
            assert calls_agree(result.run, result.tool_log) == []
        server.shutdown()
    assert {"Bearer key-by-option", "Bearer key-by-environment"} <= ScriptedEndpoint.keys


FAULTY = tuple(p.name for p in PROFILES_OF_THE_BENCH if p.name not in ("slow", "loops"))


@pytest.mark.heavy
@pytest.mark.parametrize("mode", ["order", "timed"])
def test_a_campaign_over_all_planners_finds_every_planted_fault(
    mode: Literal["order", "timed"], collector: str, model: SimulatedModel
) -> None:
    agents = [agent.name for agent in AGENTS]
    cases = tuple(generate(3, 5, CaseOptions(actions=(3, 6), mode=mode)))
    results = results_of(collector, model, trials(agents, FAULTY, cases), Options(parallel=2))
    assert [row.to_json() for row in detection(results) if not row.exact] == []
    assert {row.agent for row in tally(results)} == set(agents)
    assert [r.key for r in results if r.run is None or calls_agree(r.run, r.tool_log)] == []

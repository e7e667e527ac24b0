from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from synth.agents import AGENTS, Job, OutOfIterations, Settings, load, run_tool
from synth.agents.mock_tools import ToolLog, mock_tools
from synth.agents.replay import run_record
from synth.agents.usage import Answers, Usage, usage_from_json
from synth.agents.user_callable import GIVEN, as_agent, load_callable
from synth.agents.worker import traced
from synth.errors import BadInput
from synth.simulated_model import AIRLINE, SimulatedModel, read_records
from tests.support.bench_cases import order_case

CASE = order_case()
EXPECTED = ["flour_delivery", "dough_kneading", "oven_inspection", "loaf_shaping"]
RECORDS = read_records(AIRLINE / "runs.jsonl")


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel(RECORDS) as running:
        yield running


def job(
    model: SimulatedModel, name: str = "simulated-perfect", max_iterations: int = 50
) -> tuple[Job, ToolLog]:
    log = ToolLog()
    return Job(
        CASE.query, mock_tools(CASE, log), Settings(name, model.base_url, "key", 0.0, max_iterations)
    ), log


@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
def test_every_shipped_agent_carries_out_the_plan_of_its_model(agent: str, model: SimulatedModel) -> None:
    given, log = job(model)
    outcome = load(agent)(given)
    assert [call.name for call in log.calls] == EXPECTED
    assert outcome.iterations == 5


@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
def test_every_shipped_agent_passes_the_descriptions_on_by_which_tools_are_known(
    agent: str, model: SimulatedModel
) -> None:
    """No tool name can spell `X-ray`: the model must read it in the description."""
    pair = ("the X-ray imaging", "the owner call")
    case = order_case("The X-ray imaging must follow the owner call.", pair)
    log = ToolLog()
    load(agent)(Job(case.query, mock_tools(case, log), Settings("simulated-perfect", model.base_url, "key")))
    assert [call.name for call in log.calls] == ["owner_call", "x_ray_imaging"]


@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
def test_every_shipped_agent_stops_at_its_iteration_limit(agent: str, model: SimulatedModel) -> None:
    given, log = job(model, "simulated-loops", max_iterations=6)
    with pytest.raises(OutOfIterations):
        load(agent)(given)
    assert [call.name for call in log.calls] == ["flour_delivery"] * 6


@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
def test_no_shipped_agent_breaks_on_an_invented_tool(agent: str, model: SimulatedModel) -> None:
    given, log = job(model, "simulated-invents")
    load(agent)(given)
    assert [call.name for call in log.calls] == EXPECTED


@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])
def test_no_shipped_agent_executes_a_call_whose_arguments_are_no_json(
    agent: str, model: SimulatedModel
) -> None:
    given, log = job(model, "simulated-malformed")
    load(agent)(given)
    assert len(log.calls) < 4


def test_tokens_are_counted_as_the_server_reports_them(model: SimulatedModel) -> None:
    told = []
    for agent in ("raw-loop", "openai-tools", "react", "responses"):
        given, _ = job(model)
        outcome = load(agent)(given)
        told.append(given.answers.usage)
        assert (told[-1].answers, told[-1].untold) == (outcome.iterations, 0)
    assert {usage.models for usage in told} == {("simulated-perfect",)}
    assert told[0] == told[1]
    assert all(usage.input == 500 and usage.output > 20 for usage in told)


def test_what_a_run_took_is_known_where_it_ends_in_an_error(model: SimulatedModel) -> None:
    for agent in ("raw-loop", "openai-tools", "react", "responses"):
        given, _ = job(model, "simulated-loops")
        given = replace(given, settings=replace(given.settings, max_iterations=3))
        with pytest.raises(OutOfIterations):
            load(agent)(given)
        assert given.answers.usage.answers == 3


def test_what_an_endpoint_does_not_tell_is_not_taken_for_nothing() -> None:
    answers = Answers()
    answers.told(SimpleNamespace(usage=None, model="m-2024", system_fingerprint="fp_1"))
    answers.told(SimpleNamespace(usage=SimpleNamespace(input_tokens=5, output_tokens=2), model="m-2024"))
    assert answers.usage == Usage(5, 2, 2, 1, ("m-2024",), ("fp_1",))
    assert usage_from_json(json.loads(json.dumps(answers.usage.to_json()))) == answers.usage


def test_a_careful_loop_says_what_was_wrong_with_a_call() -> None:
    tools = mock_tools(CASE, ToolLog())
    assert run_tool(tools, "flour_delivery", "{}").startswith("Success")
    assert run_tool(tools, "flour_delivery", "").startswith("Success")
    assert run_tool(tools, "nope", "{}") == "Error: there is no tool named nope."
    assert run_tool(tools, "flour_delivery", "{").startswith(
        "Error: the arguments of flour_delivery are not JSON"
    )
    assert run_tool(tools, "flour_delivery", "[1]").startswith(
        "Error: the arguments of flour_delivery are not a"
    )


def test_an_unknown_agent_names_the_known_ones() -> None:
    with pytest.raises(BadInput, match="expected one of openai-tools, raw-loop"):
        load("rawloop")


# ---------------------------------------------------------------- agents of the user


def test_a_callable_is_given_what_its_parameters_are_called(model: SimulatedModel) -> None:
    seen: dict[str, Any] = {}

    def agent(
        query: str, langchain_tools: Any, openai_tools: Any, call_tool: Any, model: str, other: int = 3
    ) -> str:
        seen.update(query=query, names=[tool.name for tool in langchain_tools], model=model, other=other)
        return str(call_tool(openai_tools[0]["function"]["name"], "{}"))

    given, log = job(model)
    outcome = as_agent(agent)(given)
    assert outcome.answer == "Success: the flour delivery is done."
    assert [call.name for call in log.calls] == ["flour_delivery"]
    assert seen == {
        "query": CASE.query,
        "names": [action.tool for action in CASE.actions],
        "model": "simulated-perfect",
        "other": 3,
    }


def test_two_positional_parameters_are_query_and_tools(model: SimulatedModel) -> None:
    def agent(question: str, functions: list[Any]) -> None:
        assert question == CASE.query
        for function in functions:
            function()

    given, log = job(model)
    assert as_agent(agent)(given).answer == ""
    assert len(log.calls) == 4


def test_an_async_callable_is_awaited(model: SimulatedModel) -> None:
    async def agent(query: str, tools: list[Any]) -> str:
        return str(tools[1]())

    given, _ = job(model)
    assert as_agent(agent)(given).answer == "Success: the oven inspection is done."


def test_every_offered_parameter_can_be_given(model: SimulatedModel) -> None:
    given, _ = job(model)
    asked = replace(given, settings=replace(given.settings, system="You plan."))
    assert [one.name for one in GIVEN if one.value(asked) is None] == []
    assert [one.name for one in GIVEN if one.value(given) is None] == ["system"]


def test_a_parameter_that_cannot_be_filled_is_named() -> None:
    def agent(query: str, tools: Any, database: Any) -> None:
        """Wants what we do not have."""

    with pytest.raises(BadInput, match="cannot fill parameter 'database'"):
        as_agent(agent)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:agent", "cannot import 'no_such_module'"),
        ("json:nothing", "'json' has no 'nothing'"),
        ("json:__name__", "is not callable"),
    ],
)
def test_a_callable_that_is_not_there_is_explained(name: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        load_callable(name)


# ---------------------------------------------------------------- services and programs


def test_a_service_is_asked_with_tools_it_can_call_and_the_context_of_the_run(model: SimulatedModel) -> None:
    seen: dict[str, Any] = {}

    class Service(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

        def do_POST(self) -> None:
            task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = task["tools"][1]["function"]["name"]
            done = httpx.post(f"{task['tools_url']}/{name}", json={})
            wrong = httpx.post(f"{task['tools_url']}/no_such_tool", json={})
            seen.update(
                task=task, headers=dict(self.headers), done=done.text, wrong=(wrong.status_code, wrong.text)
            )
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"all done")

    with HTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.handle_request).start()
        given, log = job(model)
        with traced("ab" * 16, "case-1"):
            outcome = load(f"http://127.0.0.1:{server.server_address[1]}/agent")(given)
    assert outcome.answer == "all done"
    assert [call.name for call in log.calls] == ["oven_inspection"]
    assert seen["done"] == "Success: the oven inspection is done."
    assert seen["wrong"] == (400, "Error: there is no tool named no_such_tool.")
    assert seen["task"]["case_id"] == "case-1"
    assert seen["headers"]["traceparent"].split("-")[1] == "ab" * 16
    assert seen["headers"]["baggage"] == "pdoctor.case.id=case-1"


def test_a_program_that_fails_is_a_crash_of_the_agent(model: SimulatedModel) -> None:
    given, _ = job(model)
    with pytest.raises(subprocess.CalledProcessError):
        load(f"exec:{sys.executable} -c 'raise SystemExit(3)'")(given)


def test_an_empty_command_is_explained() -> None:
    with pytest.raises(BadInput, match="needs a command"):
        load("exec:")


# ---------------------------------------------------------------- recorded runs


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["run_id"])
def test_a_recorded_run_is_made_again_call_by_call(record: Mapping[str, Any], model: SimulatedModel) -> None:
    log = ToolLog()
    settings = Settings(f"replay:{record['run_id']}", model.base_url, "key")
    run_record(record, settings, log, Answers())
    assert [(call.name, call.arguments) for call in log.calls] == [
        (call["name"], call["arguments"]) for call in record["calls"]
    ]


def test_the_sample_has_an_expectation_for_every_run_and_every_verdict_occurs() -> None:
    lines = (AIRLINE / "expected.jsonl").read_text().splitlines()
    expected = {entry["run_id"]: entry["expected"] for entry in map(json.loads, lines)}
    assert list(expected) == [record["run_id"] for record in RECORDS]
    verdicts = {policy["verdict"] for entry in expected.values() for policy in entry.values()}
    assert verdicts == {"ok", "violated", "not_applicable"}


def test_a_file_that_holds_no_run_records_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text('{"run_id": "a", "calls": []}\n{"x": 1}\n')
    with pytest.raises(BadInput, match=r"runs.jsonl:2: not a run record"):
        read_records(tmp_path / "runs.jsonl")


# ---------------------------------------------------------------- what ReAct writes


class Scripted(BaseHTTPRequestHandler):
    """Text completions that are said one after the other; the prompts asked are kept."""

    texts: list[str]
    prompts: list[str]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.prompts.append(body["prompt"])
        choice = {"text": self.texts.pop(0), "index": 0, "logprobs": None, "finish_reason": "stop"}
        said = {"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}
        answer = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[tuple[type[Scripted], str]]:
    handler = type("Handler", (Scripted,), {"texts": [], "prompts": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


SLIP, ACT, DONE = (
    " I will do it.",
    " Now.\nAction: flour_delivery\nAction Input: {}",
    " So.\nFinal Answer: done",
)


def react(scripted: tuple[type[Scripted], str], *texts: str) -> tuple[list[str], str]:
    """The calls that were made, and the answer or the error's text."""
    from synth.agents.react import FormatSlip

    handler, url = scripted
    handler.texts += texts
    log = ToolLog()
    try:
        answer = load("react")(
            Job(CASE.query, mock_tools(CASE, log), Settings("x-instruct", url, "key"))
        ).answer
    except FormatSlip as slip:
        answer = str(slip)
    return [call.name for call in log.calls], answer


def test_react_asks_again_after_a_text_without_an_action(scripted: tuple[type[Scripted], str]) -> None:
    assert react(scripted, SLIP, ACT, SLIP, DONE) == (["flour_delivery"], "done")
    again = scripted[0].prompts[1]
    assert again.endswith(
        f"{SLIP}\nObservation: Invalid Format: Missing 'Action:' after 'Thought:'\nThought:"
    )


def test_a_second_slip_in_a_row_is_an_error_of_the_agent(scripted: tuple[type[Scripted], str]) -> None:
    calls, said = react(scripted, ACT, SLIP, SLIP, DONE)
    assert calls == ["flour_delivery"]
    assert said == "could not parse what the model wrote: 'I will do it.'"


def test_react_shows_the_model_an_example(scripted: tuple[type[Scripted], str]) -> None:
    react(scripted, DONE)
    (prompt,) = scripted[0].prompts
    example, _, question = prompt.partition("Begin!")
    assert example.count("Action Input: {}\nObservation:") == 2
    assert CASE.query in question


@pytest.mark.parametrize("agent", ["react", "openai-tools", "raw-loop", "responses"])
@pytest.mark.parametrize(("temperature", "params"), [(None, {"seed": 7}), (0.5, {})], ids=["none", "half"])
def test_what_is_to_be_sent_with_each_request_is_sent(
    agent: str, temperature: float | None, params: dict[str, Any]
) -> None:
    bodies: list[dict[str, Any]] = []

    class Refusing(Scripted):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(400)
            self.send_header("Content-Length", "0")
            self.end_headers()

    server = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    settings = Settings("m", f"http://127.0.0.1:{server.server_port}/v1", "k", temperature, 5, params)
    try:
        with pytest.raises(Exception, match="400"):
            load(agent)(Job(CASE.query, mock_tools(CASE, ToolLog()), settings))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert bodies[0].get("temperature") == temperature
    assert ("temperature" in bodies[0], bodies[0].get("seed")) == (
        temperature is not None,
        params.get("seed"),
    )

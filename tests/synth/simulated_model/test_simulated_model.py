from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from openai import OpenAI

from synth.agents import Job, Settings, load
from synth.agents.mock_tools import ToolLog, as_openai_chat, as_openai_responses, mock_tools
from synth.agents.react import FormatSlip
from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.formal.constraints import Before
from synth.simulated_model import PROFILES, SimulatedModel, parse_model
from synth.simulated_model.newest import Newest
from tests.support.bench_cases import order_case

CASE = order_case()


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel() as running:
        yield running


def client(model: SimulatedModel, key: str = "a-key") -> OpenAI:
    return OpenAI(base_url=model.base_url, api_key=key, max_retries=0)


def calls_of(model: SimulatedModel, name: str, case: Case = CASE, key: str = "a-key") -> list[str]:
    """The tools executed by the raw loop on this simulated model, in order."""
    log = ToolLog()
    settings = Settings(name, model.base_url, key, max_iterations=20)
    load("raw-loop")(Job(case.query, mock_tools(case, log), settings))
    return [call.name for call in log.calls]


def kept(case: Case, order: list[str]) -> bool:
    tool = {action.id: action.tool for action in case.actions}
    stated = [c for c in case.constraints if isinstance(c, Before)]
    return all(order.index(tool[c.first]) < order.index(tool[c.then]) for c in stated)


def fault_of(model: SimulatedModel, key: str) -> Any:
    planted = model.brain.planted_for(key)
    assert planted is not None
    return planted.fault


def test_the_perfect_planner_calls_every_tool_once_in_an_allowed_order(model: SimulatedModel) -> None:
    order = calls_of(model, "simulated-perfect", key="perfect")
    assert sorted(order) == sorted(action.tool for action in CASE.actions)
    assert kept(CASE, order)
    assert fault_of(model, "perfect") is None


def test_other_seeds_make_other_right_plans(model: SimulatedModel) -> None:
    free = order_case("The flour delivery must precede the loaf shaping.")
    orders = {tuple(calls_of(model, f"simulated-perfect:{seed}", free)) for seed in range(8)}
    assert len(orders) > 2
    assert all(kept(free, list(order)) for order in orders)


def test_a_swap_breaks_the_recorded_sentence(model: SimulatedModel) -> None:
    for seed in range(6):
        order = calls_of(model, f"simulated-swaps:{seed}", key=f"swaps{seed}")
        fault = fault_of(model, f"swaps{seed}")
        assert fault.type == "order_error"
        assert order.index(fault.then) < order.index(fault.first)
        assert sorted(order) == sorted(action.tool for action in CASE.actions)


def test_without_a_stated_order_there_is_nothing_to_swap(model: SimulatedModel) -> None:
    only_a_clock_time = order_case("The flour delivery must happen before 15:00.", ("the flour delivery",))
    assert calls_of(model, "simulated-swaps", only_a_clock_time, key="free") == ["flour_delivery"]
    assert fault_of(model, "free") is None


def test_forgetting_loses_exactly_the_recorded_action(model: SimulatedModel) -> None:
    order = calls_of(model, "simulated-forgets", key="forgets")
    lost = fault_of(model, "forgets").then
    assert sorted([*order, lost]) == sorted(action.tool for action in CASE.actions)


def test_an_invented_tool_is_asked_for_and_no_other_is_lost(model: SimulatedModel) -> None:
    order = calls_of(model, "simulated-invents", key="invents")
    assert fault_of(model, "invents").then not in [action.tool for action in CASE.actions]
    assert kept(CASE, order)


def test_malformed_arguments_are_no_json_and_their_task_stays_undone(model: SimulatedModel) -> None:
    order = calls_of(model, "simulated-malformed", key="malformed")
    assert fault_of(model, "malformed").then not in order


def asked_by(model: SimulatedModel, agent: str, name: str, case: Case, **params: Any) -> list[Any]:
    """The arguments that each tool was run with, for an agent on this simulated model."""
    log = ToolLog()
    settings = Settings(name, model.base_url, f"{agent} {name}", max_iterations=20, params=params)
    load(agent)(Job(case.query, mock_tools(case, log), settings))
    return [call.arguments for call in log.calls]


def test_prose_where_an_action_was_due_ends_a_react_loop_and_no_other(model: SimulatedModel) -> None:
    with pytest.raises(FormatSlip, match="The next task is"):
        asked_by(model, "react", "simulated-slips", CASE)
    assert fault_of(model, "react simulated-slips").type == "act_error"
    for agent in ("raw-loop", "responses"):
        assert len(asked_by(model, agent, "simulated-slips", CASE)) == len(CASE.actions)
        assert fault_of(model, f"{agent} simulated-slips") is None
    alone = order_case("The flour delivery must happen before 15:00.", ("the flour delivery",))
    assert len(asked_by(model, "react", "simulated-slips", alone)) == 1


def test_arguments_are_lost_where_they_are_streamed(model: SimulatedModel) -> None:
    (timed,) = generate(1, 3, Options(actions=(4, 4), mode="timed"), confirm=False)
    name = "simulated-loses-arguments"
    lost = asked_by(model, "raw-loop", name, timed, stream=True)
    assert sorted(map(len, lost)) == [0, 1, 1, 1]
    assert fault_of(model, f"raw-loop {name}").type == "parameter_error"
    assert asked_by(model, "raw-loop", "simulated-perfect", timed, stream=True) == asked_by(
        model, "raw-loop", name, timed
    )
    assert fault_of(model, f"raw-loop {name}") is None


def test_a_reader_of_its_own_takes_a_clause_for_one_about_the_last_name_of_a_list(
    model: SimulatedModel,
) -> None:
    kneading = "The dough kneading and the oven inspection, which have to follow the flour delivery, must "
    case = order_case(f"{kneading}happen before the loaf shaping.")
    broken = set()
    for seed in range(12):
        name, key = f"simulated-misreads:{seed}", f"misreads{seed}"
        order = calls_of(model, name, case, key=key)
        fault = fault_of(model, key)
        assert (fault is None) == kept(case, order)
        broken |= set() if fault is None else {(fault.type, fault.first, fault.then)}
    assert broken == {("order_error", "flour_delivery", "dough_kneading")}
    plain = order_case(
        "The dough kneading, which must follow the flour delivery, must precede the loaf shaping."
    )
    assert all(kept(plain, calls_of(model, f"simulated-misreads:{seed}", plain)) for seed in range(6))


def test_independent_calls_come_in_one_message_and_all_are_made(model: SimulatedModel) -> None:
    free = order_case("The flour delivery and the oven inspection must precede the loaf shaping.")
    specs: Any = [as_openai_chat(tool) for tool in mock_tools(free, ToolLog())]
    completion = client(model).chat.completions.create(
        model="simulated-parallel", messages=[{"role": "user", "content": free.query}], tools=specs
    )
    first = {call.function.name for call in completion.choices[0].message.tool_calls or ()}  # type: ignore[union-attr]
    assert first == {"flour_delivery", "oven_inspection", "dough_kneading"}
    order = calls_of(model, "simulated-parallel", free)
    assert len(order) == 4
    assert kept(free, order)


REPEATING = [p.name for p in PROFILES if p.name not in ("loops", "slow") and not p.luck]


@pytest.mark.parametrize("profile", REPEATING)
def test_the_same_text_and_seed_give_the_same_calls_however_many_ask_at_once(profile: str) -> None:
    with SimulatedModel() as model, ThreadPoolExecutor(4) as pool:
        orders = list(pool.map(lambda _: calls_of(model, f"simulated-{profile}:5"), range(4)))
    assert orders == [orders[0]] * 4


def test_flaky_draws_again_for_every_conversation_and_alike_on_every_server() -> None:
    def faults() -> list[bool]:
        with SimulatedModel() as model:
            for k in range(24):
                calls_of(model, "simulated-flaky:3", key=str(k))
            return [fault_of(model, str(k)) is not None for k in range(24)]

    seen = faults()
    assert 1 <= sum(seen) <= 14
    assert faults() == seen


def test_difficulty_grows_with_the_number_of_actions() -> None:
    def failures(count: int) -> int:
        phrases = [f"the task number {k}" for k in range(count)]
        rules = " ".join(
            f"{phrases[k].capitalize()} must precede {phrases[k + 1]}." for k in range(count - 1)
        )
        case = order_case(rules, phrases)
        with SimulatedModel() as model:
            for seed in range(20):
                calls_of(model, f"simulated-difficulty:{seed}", case, key=str(seed))
            return sum(fault_of(model, str(seed)) is not None for seed in range(20))

    assert failures(2) <= 4 < 16 <= failures(9)


def test_the_model_plans_only_from_the_request(model: SimulatedModel) -> None:
    """The same server, asked with the sentence turned round, turns the order round."""
    pair = ("the flour delivery", "the loaf shaping")
    forth = order_case("The flour delivery must precede the loaf shaping.", pair)
    back = order_case("The flour delivery must follow the loaf shaping.", pair)
    assert calls_of(model, "simulated-perfect", forth) == ["flour_delivery", "loaf_shaping"]
    assert calls_of(model, "simulated-perfect", back) == ["loaf_shaping", "flour_delivery"]


def test_a_text_that_is_no_task_is_answered_in_words(model: SimulatedModel) -> None:
    completion = client(model).chat.completions.create(
        model="simulated-perfect", messages=[{"role": "user", "content": "Hello!"}]
    )
    assert "states no rules" in (completion.choices[0].message.content or "")


def test_an_unknown_model_is_not_found_and_the_answer_names_the_known_ones(model: SimulatedModel) -> None:
    said = httpx.post(f"{model.base_url}/chat/completions", json={"model": "gpt-9", "messages": []})
    assert said.status_code == 404
    assert "simulated-perfect" in said.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"model": "simulated-perfect"}', b'{"messages": []}'])
def test_a_malformed_request_is_refused_and_the_server_lives_on(model: SimulatedModel, body: bytes) -> None:
    said = httpx.post(f"{model.base_url}/chat/completions", content=body)
    assert said.status_code == 400
    assert said.json()["error"]["message"]
    assert client(model).models.list().data[0].id == "simulated-perfect"


def test_profile_and_seed_are_in_the_model_name() -> None:
    profile, seed = parse_model("simulated-ignores-durations:42")
    assert (profile.name, seed) == ("ignores-durations", 42)


def test_streams_say_the_same_as_whole_answers(model: SimulatedModel) -> None:
    specs: Any = [as_openai_chat(tool) for tool in mock_tools(CASE, ToolLog())]
    asked: Any = {
        "model": "simulated-parallel",
        "messages": [{"role": "user", "content": CASE.query}],
        "tools": specs,
    }
    whole = client(model).chat.completions.create(**asked).choices[0].message
    joined: dict[int, list[str]] = {}
    usage = None
    for chunk in client(model).chat.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            for call in choice.delta.tool_calls or ():
                joined.setdefault(call.index, [call.id or "", call.function.name or "", ""])  # type: ignore[union-attr]
                joined[call.index][2] += call.function.arguments or ""  # type: ignore[union-attr]
    calls = [[call.function.name, call.function.arguments] for call in whole.tool_calls]
    assert [call[1:] for call in joined.values()] == calls
    assert usage is not None
    assert usage.total_tokens > usage.completion_tokens > 0


def test_responses_are_held_by_the_server_and_stream_alike(model: SimulatedModel) -> None:
    specs: Any = [as_openai_responses(tool) for tool in mock_tools(CASE, ToolLog())]
    asked: Any = {"model": "simulated-perfect", "tools": specs}
    first = client(model).responses.create(input=CASE.query, **asked)
    call = first.output[0]
    assert call.type == "function_call"
    output: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "Success"}]
    second = client(model).responses.create(input=output, previous_response_id=first.id, **asked)
    with client(model).responses.stream(input=output, previous_response_id=first.id, **asked) as stream:
        streamed = stream.get_final_response()
    assert second.output[0].name == streamed.output[0].name != call.name  # type: ignore[union-attr]


def test_a_response_that_is_not_held_is_not_found(model: SimulatedModel) -> None:
    body = {"model": "simulated-perfect", "input": "x", "previous_response_id": "resp-none"}
    assert httpx.post(f"{model.base_url}/responses", json=body).status_code == 404


def test_a_whole_conversation_may_be_sent_to_responses_instead(model: SimulatedModel) -> None:
    specs: Any = [as_openai_responses(tool) for tool in mock_tools(CASE, ToolLog())]
    items: Any = [{"role": "user", "content": CASE.query}]
    names = []
    for _ in range(5):
        response = client(model).responses.create(model="simulated-perfect", tools=specs, input=items)
        item = response.output[0]
        if item.type != "function_call":
            break
        names.append(item.name)
        items.append(item.model_dump())
        items.append({"type": "function_call_output", "call_id": item.call_id, "output": "Success"})
    assert kept(CASE, names)
    assert len(names) == 4


def test_planted_faults_can_be_read_over_http(model: SimulatedModel) -> None:
    calls_of(model, "simulated-swaps:77", key="over-http")
    listed = httpx.get(f"{model.base_url}/planted").json()
    mine = next(planted for planted in listed if planted["key"] == "over-http")
    assert mine["profile"] == "swaps"
    assert mine["fault"]["type"] == "order_error"
    assert json.dumps(mine)


def test_a_slow_answer_ends_when_the_server_does() -> None:
    with SimulatedModel() as model, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(calls_of, model, "simulated-slow")
        with pytest.raises(TimeoutError):
            answer.result(timeout=0.3)
        model.stopping.set()
        assert answer.exception(timeout=60) is not None


def test_only_the_newest_is_remembered() -> None:
    kept: Newest[int] = Newest(3)
    for number in range(5):
        kept[str(number)] = number
    assert list(kept.values()) == [2, 3, 4]
    assert (kept.get("1"), "4" in kept, kept["2"]) == (None, True, 2)
    kept["2"] = 7
    assert list(kept.values()) == [7, 3, 4]

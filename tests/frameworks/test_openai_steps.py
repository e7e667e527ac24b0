"""OpenAI loops whose calls are not simply asked for and answered: limits, workers, twins, identical calls."""

from __future__ import annotations

import functools
import json
import multiprocessing
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from opentelemetry import baggage, context

import pdoctor_trace
from pdoctor_trace import pauses, raw_loops
from tests.frameworks.conformance import QUERY, limit
from tests.frameworks.test_openai_chat import TOOLS, answers, ask, client
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink, Span

UNANSWERED = ("unanswered", None)


@pytest.fixture(autouse=True)
def nothing_is_known_of_other_tests() -> None:
    raw_loops.forget_everything()


def another_process() -> None:
    """What is known of conversations ends with this process, and the next one knows nothing."""
    raw_loops.end()
    raw_loops.forget_everything()
    pauses.PAUSED.forget_all()


def told(call: Span) -> tuple[Any, ...]:
    return call.call_id, call.tool, call.executed, call["pdoctor.tool.execution"]


def in_order(sink: OtlpSink) -> tuple[list[Span], list[Span]]:
    """Runs and calls as they began."""
    pdoctor_trace.flush()
    calls = sorted(sink.calls, key=lambda call: (call.start, call["pdoctor.step.index"]))
    return sorted(sink.runs, key=lambda run: run.start), calls


def state(run: Span) -> tuple[Any, ...]:
    return run["pdoctor.run.state"], run["pdoctor.run.pause_reason"]


def test_the_calls_at_a_limit_are_not_known(models: FakeModels, sink: OtlpSink) -> None:
    """The loop gives up after the tools of its last turn have run; a finish tool ends it likewise."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        for _ in range(2):
            reply = ask(sdk, "fake.one.par", messages)
            messages += [reply, *answers(reply)]
    raw_loops.end()
    (run,), calls = in_order(sink)
    assert [told(call) for call in calls] == [
        ("call_0_0", "add", True, None),
        ("call_1_0", "add", False, "unknown"),
        ("call_1_1", "slow_echo", False, "unknown"),
    ]
    assert (state(run), run["pdoctor.run.calls"]) == (UNANSWERED, 3)
    assert run["pdoctor.run.token"]


def test_results_as_a_message_of_the_user_answer_nothing(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one", messages)
        messages += [
            {"role": "assistant", "content": "add(40, 2)"},
            {"role": "user", "content": "It gave 42."},
        ]
        ask(sdk, "fake.none", messages)
    (first, second), (call,) = in_order(sink)
    assert told(call) == (reply.tool_calls[0].id, "add", False, "unknown")
    assert (state(first), state(second)) == ((None, None), (None, None))


def test_what_is_refused_is_known_not_to_have_run(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        ask(sdk, "fake.unknown", [{"role": "user", "content": QUERY}])
    raw_loops.end()
    _, (call,) = in_order(sink)
    assert (told(call), call.kind) == (("call_0_0", "no_such_tool", False, None), "unknown_tool")


def test_steps_in_several_processes(models: FakeModels, sink: OtlpSink) -> None:
    """Each part says how it goes on; results in the history are calls of the part that sees them."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        while (reply := ask(sdk, "fake.par.one", messages)).tool_calls:
            messages += [reply.model_dump(exclude_none=True), *answers(reply)]
            another_process()
    (first, second, third), calls = in_order(sink)
    assert [state(run) for run in (first, second, third)] == [UNANSWERED, UNANSWERED, (None, None)]
    assert [run["pdoctor.run.resumed"] for run in (first, second, third)] == [
        None,
        first["pdoctor.run.token"],
        second["pdoctor.run.token"],
    ]
    assert len({run.run_id for run in (first, second, third)}) == 3
    assert [(told(call), call["pdoctor.tool.source_of_result"]) for call in calls] == [
        (("call_0_0", "add", False, "unknown"), None),
        (("call_0_1", "slow_echo", False, "unknown"), None),
        (("call_0_0", "add", True, None), "history"),
        (("call_0_1", "slow_echo", True, None), "history"),
        (("call_1_0", "add", False, "unknown"), None),
        (("call_1_0", "add", True, None), "history"),
    ]
    assert [call.result for call in calls if call.executed] == [
        "done call_0_0",
        "done call_0_1",
        "done call_1_0",
    ]
    assert {call["pdoctor.tool.timing"] for call in calls} == {"inferred"}


def test_steps_in_several_processes_with_tools_that_are_seen(models: FakeModels, sink: OtlpSink) -> None:
    tools = pdoctor_trace.wrap_tools({"add": lambda a, b: a + b})
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one", messages)
        messages += [reply, *run_all(tools, reply.tool_calls)]
        another_process()
        ask(sdk, "fake.one", messages)
    (first, second), calls = in_order(sink)
    assert (state(first), second["pdoctor.run.resumed"]) == (UNANSWERED, first["pdoctor.run.token"])
    assert [(told(call), call["pdoctor.tool.timing"]) for call in calls] == [
        (("call_0_0", "add", True, None), "exact"),
        (("call_0_0", "add", True, None), "inferred"),
    ]


def test_a_step_of_another_process_between_two_of_this_one(models: FakeModels, sink: OtlpSink) -> None:
    """This process goes on with the same run; the step between finds it by its token."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.par.one", messages)
        messages += [reply, *answers(reply)]
        asked = {
            "id": "call_1_0",
            "type": "function",
            "function": {"name": "add", "arguments": '{"a":40,"b":2}'},
        }
        messages += [
            {"role": "assistant", "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "call_1_0", "content": "42"},
        ]
        ask(sdk, "fake.par.one", messages)
    (first, second), calls = in_order(sink)
    assert (state(first), state(second)) == (UNANSWERED, (None, None))
    assert first.run_id == second.run_id
    assert [(told(call), call["pdoctor.step.index"]) for call in calls] == [
        (("call_0_0", "add", True, None), 0),
        (("call_0_1", "slow_echo", True, None), 1),
        (("call_1_0", "add", True, None), 2),
    ]
    assert (calls[2]["pdoctor.tool.source_of_result"], second["pdoctor.run.calls"]) == ("history", 3)


def test_a_new_question_after_steps_of_another_process(models: FakeModels, sink: OtlpSink) -> None:
    """The history shows that another process went on with what was asked for here."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one", messages)
        messages += [reply, *answers(reply), {"role": "assistant", "content": "It is 42."}]
        messages += [{"role": "user", "content": "thanks"}]
        ask(sdk, "fake.none", messages)
    (first, second), (call,) = in_order(sink)
    assert (told(call), state(first), state(second)) == (
        ("call_0_0", "add", True, None),
        UNANSWERED,
        (None, None),
    )
    assert first.run_id != second.run_id


def test_older_calls_in_a_history_are_nobodys_news(models: FakeModels, sink: OtlpSink) -> None:
    """A conversation that another process has had, and a new question."""
    function = {"name": "add", "arguments": "{}"}
    history: list[Any] = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "tool_calls": [{"id": "older", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "older", "content": "0"},
        {"role": "assistant", "content": "It is 0."},
        {"role": "user", "content": QUERY},
    ]
    with client(models) as sdk:
        ask(sdk, "fake.none", history)
    (run,), calls = in_order(sink)
    assert (run["pdoctor.run.resumed"], state(run), calls) == (None, (None, None), [])


def history_of_another() -> list[Any]:
    function = {"name": "add", "arguments": "{}"}
    return [
        {"role": "user", "content": QUERY},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "0"},
    ]


def test_what_another_process_did_is_told_once(models: FakeModels, sink: OtlpSink) -> None:
    """A second loop of this process is given the same history."""
    with client(models) as sdk:
        ask(sdk, "fake.none", history_of_another())
        ask(sdk, "fake.none", [{"role": "system", "content": "Judge it."}, *history_of_another()])
    runs, (call,) = in_order(sink)
    assert (call.call_id, call.run_id) == ("c", runs[0].run_id)
    assert [run["pdoctor.run.resumed"] is None for run in runs] == [False, True]


def test_the_parts_of_a_case_have_its_run_id_and_need_no_token(models: FakeModels, sink: OtlpSink) -> None:
    token = context.attach(baggage.set_baggage("pdoctor.case.id", "case 1"))
    try:
        with client(models) as sdk:
            ask(sdk, "fake.one", history_of_another())
        raw_loops.end()
    finally:
        context.detach(token)
    (run,), _ = in_order(sink)
    assert (run["pdoctor.case.id"], run["pdoctor.run.resumed"], state(run)) == ("case 1", None, (None, None))


def test_inside_a_run_of_the_hosts_own_it_says_where_that_ends(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk, pdoctor_trace.run(agent="mine"):
        ask(sdk, "fake.none", history_of_another())
    runs, (call,) = in_order(sink)
    assert {run["pdoctor.run.resumed"] for run in runs} == {None}
    assert (told(call), call["pdoctor.tool.source_of_result"]) == (("c", "add", True, None), "history")


def test_branches_of_a_search_have_each_its_own_answer(models: FakeModels, sink: OtlpSink) -> None:
    """The tool runs once for each branch; the same answer again is no other run of the tool."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        messages.append(ask(sdk, "fake.one.one", messages))
        for result in ("42", "43", "42"):
            said = {"role": "tool", "tool_call_id": "call_0_0", "content": result}
            ask(sdk, "fake.one", [*messages, said])
    _, calls = in_order(sink)
    assert [(told(call), call.result) for call in calls] == [
        (("call_0_0", "add", True, None), "42"),
        (("call_0_0", "add", True, None), "43"),
    ]
    assert len({call.run_id for call in calls}) == 2


def test_a_judge_of_a_history_tells_of_no_call(models: FakeModels, sink: OtlpSink) -> None:
    """It is given another beginning, and of the answer only the first words."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        messages.append(ask(sdk, "fake.one", messages))
        said = {"role": "tool", "tool_call_id": "call_0_0", "content": "42 and more"}
        ask(sdk, "fake.one", [*messages, said])
        judge = [{"role": "system", "content": "Judge it."}, *messages, {**said, "content": "42"}]
        ask(sdk, "fake.one", judge)
    _, (call,) = in_order(sink)
    assert (told(call), call.result) == (("call_0_0", "add", True, None), "42 and more")


def test_an_answer_that_comes_after_the_reply_is_one_of_that_run(models: FakeModels, sink: OtlpSink) -> None:
    """The model does not wait for the slower of two calls."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.par", messages)
        first, late = answers(reply)
        messages += [reply, first]
        messages += [ask(sdk, "fake.par", messages), late]
        ask(sdk, "fake.par", messages)
    runs, calls = in_order(sink)
    assert [(told(call), call["pdoctor.step.index"]) for call in calls] == [
        (("call_0_0", "add", True, None), 0),
        (("call_0_1", "slow_echo", False, "unknown"), 1),
        (("call_0_1", "slow_echo", True, None), 2),
    ]
    assert (calls[2].result, calls[2]["pdoctor.tool.source_of_result"]) == ("done call_0_1", "history")
    assert [(run.run_id, state(run)) for run in runs] == [(runs[0].run_id, (None, None))] * 2


# -- tools in worker processes


@pdoctor_trace.tool
def add(a: int, b: int) -> int:
    return a + b


def submitted(given: dict[str, Any]) -> Any:
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(add, **given).result()


def partly_submitted(given: dict[str, Any]) -> Any:
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(functools.partial(add, given["a"]), given["b"]).result()


def mapped(given: dict[str, Any]) -> Any:
    with ProcessPoolExecutor(1) as pool:
        return next(pool.map(add, [given["a"]], [given["b"]]))


def applied(given: dict[str, Any]) -> Any:
    with multiprocessing.Pool(1) as pool:
        return pool.apply(add, (given["a"],), {"b": given["b"]})


def pool_mapped(given: dict[str, Any]) -> Any:
    with multiprocessing.Pool(1) as pool:
        return pool.map(functools.partial(add, given["a"]), [given["b"]])[0]


def pool_starmapped(given: dict[str, Any]) -> Any:
    with multiprocessing.Pool(1) as pool:
        return pool.starmap(add, [(given["a"], given["b"])])[0]


def pool_imapped(given: dict[str, Any]) -> Any:
    """The pool reads the items as it needs them."""
    with multiprocessing.Pool(1) as pool:
        return next(pool.imap_unordered(functools.partial(add, b=given["b"]), iter([given["a"]]), 2))


WAYS_TO_WORKERS = (
    submitted,
    partly_submitted,
    mapped,
    applied,
    pool_mapped,
    pool_starmapped,
    pool_imapped,
)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("run", WAYS_TO_WORKERS)
def test_a_tool_that_a_worker_runs_for_a_loop_is_one_call(
    models: FakeModels, sink: OtlpSink, run: Callable[[dict[str, Any]], Any]
) -> None:
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one.one", messages)
        made = {"role": "tool", "tool_call_id": "call_0_0", "content": str(add(40, 2))}
        messages += [reply, made]
        reply = ask(sdk, "fake.one.one", messages)
        result = run(json.loads(reply.tool_calls[0].function.arguments))
        messages += [reply, {"role": "tool", "tool_call_id": "call_1_0", "content": str(result)}]
        ask(sdk, "fake.one.one", messages)
    _, calls = in_order(sink)
    assert [(told(call), call.result, call["pdoctor.tool.timing"]) for call in calls] == [
        (("call_0_0", "add", True, None), 42, "exact"),
        (("call_1_0", "add", True, None), "42", "inferred"),
    ]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("run", WAYS_TO_WORKERS)
def test_a_tool_that_a_worker_runs_for_nobody_is_a_call_of_its_own(
    models: FakeModels, sink: OtlpSink, run: Callable[[dict[str, Any]], Any]
) -> None:
    """No model asked for these arguments."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one", messages)
        assert run({"a": 1, "b": 1}) == 2
        ask(sdk, "fake.one", [*messages, reply, *answers(reply)])
    _, calls = in_order(sink)
    assert sorted((call.call_id or "", call.executed) for call in calls) == [("", True), ("call_0_0", True)]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_pool_is_given_a_call_among_others_that_nobody_asked_for(
    models: FakeModels, sink: OtlpSink
) -> None:
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one", messages)
        with multiprocessing.Pool(1) as pool:
            assert pool.starmap(add, [(1, 1), (40, 2), (2, 2)], chunksize=3) == [2, 42, 4]
            assert pool.map(abs, [-1]) == [1]
        ask(sdk, "fake.one", [*messages, reply, *answers(reply)])
    _, calls = in_order(sink)
    told_of = sorted((call.call_id or "", call.arguments["a"], call.executed) for call in calls)
    assert told_of == [("", 1, True), ("", 2, True), ("call_0_0", 40, True)]


# -- twins


@pytest.mark.parametrize("first", [0, 1])
def test_interleaved_twins_are_told_apart_by_their_arguments(
    models: FakeModels, sink: OtlpSink, first: int
) -> None:
    """Two loops in one thread with the same prompt and the same ids."""
    with client(models) as sdk:
        opening: Any = [{"role": "user", "content": QUERY}]
        one = [*opening, ask(sdk, "fake.one", opening)]
        other = [*opening, ask(sdk, "fake.missing", opening)]
        for messages, result in [(one, "42"), (other, "no b")][:: 1 if first == 0 else -1]:
            ask(
                sdk, "fake.none", [*messages, {"role": "tool", "tool_call_id": "call_0_0", "content": result}]
            )
    _, calls = in_order(sink)
    assert {(json.dumps(call.arguments), call.result) for call in calls} == {
        ('{"a": 40, "b": 2}', "42"),
        ('{"a": 1}', "no b"),
    }
    assert {call["pdoctor.tool.ambiguous"] for call in calls} == {None}


def test_twins_that_nothing_tells_apart_are_ambiguous(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        opening: Any = [{"role": "user", "content": QUERY}]
        twins = [[*opening, ask(sdk, "fake.one", opening)] for _ in range(2)]
        for messages, result in zip(twins, ["42", "43"], strict=True):
            answer = {"role": "tool", "tool_call_id": "call_0_0", "content": result}
            ask(sdk, "fake.none", [*messages, answer])
    _, calls = in_order(sink)
    assert [(call.executed, call["pdoctor.tool.ambiguous"]) for call in calls] == [(True, True)] * 2


# -- identical calls of one message


def run_all(tools: Any, asked: Sequence[Any], said: Callable[[Any], str] = str) -> list[Any]:
    """Run the calls in this order and give the answers in the order of the message."""
    made = {one.id: said(tools[one.function.name](**json.loads(one.function.arguments))) for one in asked}
    return [{"role": "tool", "tool_call_id": call_id, "content": made[call_id]} for call_id in sorted(made)]


@pytest.mark.parametrize(
    ("step", "said", "results"),
    [
        (1, str, [10, 11]),
        (-1, str, [11, 10]),
        (-1, lambda value: f"The sum is {value}.", [11, 10]),
        (-1, lambda value: json.dumps({"sum": value}), [11, 10]),
    ],
)
def test_identical_calls_of_one_message_are_told_apart_by_their_answers(
    models: FakeModels,
    sink: OtlpSink,
    step: int,
    said: Callable[[Any], str],
    results: list[int],
) -> None:
    given = iter((10, 11))
    tools = pdoctor_trace.wrap_tools({"add": lambda a, b: next(given)})
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.same", messages)
        ask(sdk, "fake.none", [*messages, reply, *run_all(tools, reply.tool_calls[::step], said)])
    _, calls = in_order(sink)
    assert [call.result for call in sorted(calls, key=lambda call: str(call.call_id))] == results
    assert [call["pdoctor.tool.ambiguous"] for call in calls] == [None, None]


@limit("openai", "identical calls")
def test_identical_calls_whose_answers_do_not_show_the_results_are_ambiguous(
    models: FakeModels, sink: OtlpSink
) -> None:
    given = iter((10, 11))
    tools = pdoctor_trace.wrap_tools({"add": lambda a, b: next(given)})
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.same", messages)
        said = run_all(tools, reply.tool_calls[::-1], lambda value: "done")
        ask(sdk, "fake.none", [*messages, reply, *said])
    _, calls = in_order(sink)
    assert [(call.result, call["pdoctor.tool.ambiguous"]) for call in calls] == [(10, True), (11, True)]


@limit("openai", "plain HTTP")
def test_requests_without_the_sdk_are_not_seen(models: FakeModels, sink: OtlpSink) -> None:
    body = {"model": "fake.one", "messages": [{"role": "user", "content": QUERY}], "tools": TOOLS}
    sent = urllib.request.Request(
        f"{models.openai}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(sent) as reply:
        assert json.load(reply)["choices"][0]["message"]["tool_calls"]
    pdoctor_trace.flush()
    assert sink.spans == []


def test_identical_calls_with_one_result_need_not_be_told_apart(models: FakeModels, sink: OtlpSink) -> None:
    tools = pdoctor_trace.wrap_tools({"add": lambda a, b: a + b})
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.same", messages)
        ask(sdk, "fake.none", [*messages, reply, *run_all(tools, reply.tool_calls, lambda value: "done")])
    _, calls = in_order(sink)
    assert [(call.result, call["pdoctor.tool.ambiguous"]) for call in calls] == [(10, None)] * 2


def test_an_identical_call_that_failed_is_told_apart_too(models: FakeModels, sink: OtlpSink) -> None:
    outcomes = iter((RuntimeError("no luck"), 11))

    def add(a: int, b: int) -> int:
        found = next(outcomes)
        if isinstance(found, Exception):
            raise found
        return found

    tools = pdoctor_trace.wrap_tools({"add": add})

    def tried(one: Any) -> str:
        try:
            return str(tools["add"](**json.loads(one.function.arguments)))
        except RuntimeError as error:
            return f"Error: {error}"

    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.same", messages)
        made = [(one.id, tried(one)) for one in reply.tool_calls[::-1]]
        said = [{"role": "tool", "tool_call_id": call_id, "content": text} for call_id, text in made]
        ask(sdk, "fake.none", [*messages, reply, *said])
    _, calls = in_order(sink)
    assert {call.call_id: (call.failed, call.result) for call in calls} == {
        "call_0_0": (False, 11),
        "call_0_1": (True, None),
    }


# -- arguments


def test_arguments_that_a_person_edits_in_the_history(models: FakeModels, sink: OtlpSink) -> None:
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one", messages).model_dump(exclude_none=True)
        reply["tool_calls"][0]["function"]["arguments"] = '{"a": 40, "b": 1}'
        answer = {"role": "tool", "tool_call_id": "call_0_0", "content": "41"}
        ask(sdk, "fake.none", [*messages, reply, answer])
    _, (call,) = in_order(sink)
    assert (call.arguments, call["pdoctor.tool.asked_arguments"]) == ({"a": 40, "b": 1}, '{"a":40,"b":2}')


def test_what_a_tool_calls_in_its_body_is_not_what_the_model_asked_for(
    models: FakeModels, sink: OtlpSink
) -> None:
    """The model asks for both; the one calls the other with the very same arguments."""

    def slow_echo(text: str) -> str:
        return tools["add"](1, 2) and text

    tools = pdoctor_trace.wrap_tools({"add": lambda a, b: a + b, "slow_echo": slow_echo})
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.par", messages)
        ask(sdk, "fake.none", [*messages, reply, *run_all(tools, reply.tool_calls[::-1])])
    _, calls = in_order(sink)
    assert sorted((call.call_id or "", call.tool) for call in calls) == [
        ("", "add"),
        ("call_0_0", "add"),
        ("call_0_1", "slow_echo"),
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "way", "found"),
    [
        ("add", {"a": 40, "b": 2}, True, True),
        ("add", {"a": 1, "b": 1}, True, False),
        ("add", {"a": 40, "b": 2}, False, False),
        ("mcp_math__add", {"a": 1, "b": 1}, False, True),
        ("math", {"a": 40, "b": 2}, False, False),
    ],
)
def test_a_tool_that_runs_under_the_servers_own_name(
    models: FakeModels, sink: OtlpSink, tool: str, arguments: Any, way: bool, found: bool
) -> None:
    """An MCP client calls the tool by the name that it has at its server."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.served", messages)
        visit = raw_loops.claim(None, tool, arguments, way=way)
        assert (visit is not None) is found
        if visit is not None:
            visit.returned(42)
        ask(sdk, "fake.none", [*messages, reply, *answers(reply)])
    _, (call,) = in_order(sink)
    asked = call["pdoctor.tool.asked_arguments"]
    assert (call.tool, call.arguments) == ("mcp_math__add", arguments if found else {"a": 40, "b": 2})
    assert (asked is not None) == (found and arguments["a"] == 1)


def test_an_answer_to_a_call_whose_tool_is_seen_when_it_starts_and_was_not(
    models: FakeModels, sink: OtlpSink
) -> None:
    """A person says no to the second call, or a cache answers: whether it ran is not known."""

    @pdoctor_trace.tool
    def add(a: int, b: int) -> int:
        return a + b

    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        for said in (lambda given: str(add(**given)), lambda given: "The user said no."):
            reply = ask(sdk, "fake.one.one", messages)
            (call,) = reply.tool_calls
            text = said(json.loads(call.function.arguments))
            messages += [reply, {"role": "tool", "tool_call_id": call.id, "content": text}]
        ask(sdk, "fake.one.one", messages)
    _, calls = in_order(sink)
    assert [(told(call)[2:], call.result) for call in calls] == [
        ((True, None), 42),
        ((False, "unknown"), "The user said no."),
    ]


@pytest.mark.parametrize(
    ("said", "ran"),
    [("The user rejected this action.", False), ("Nope, too risky", True)],
    ids=["usual words", "words of its own"],
)
@limit("openai", "refusals in words")
def test_a_call_that_a_person_rejects_and_whose_tool_was_never_seen(
    models: FakeModels, sink: OtlpSink, said: str, ran: bool
) -> None:
    """Only the answer tells: in other than usual words it is a result like any other."""
    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.one", messages)
        answer = {"role": "tool", "tool_call_id": "call_0_0", "content": said}
        ask(sdk, "fake.one", [*messages, reply, answer])
    _, (call,) = in_order(sink)
    assert (told(call), call.result) == (("call_0_0", "add", ran, None if ran else "unknown"), said)


def test_a_recorded_tool_that_a_person_rejects_when_it_is_first_asked_for(
    models: FakeModels, sink: OtlpSink
) -> None:
    """Another recorded tool of the loop was seen when it ran, so this one would have been."""

    @pdoctor_trace.tool
    def slow_echo(text: str) -> str:
        return text

    with client(models) as sdk:
        messages: list[Any] = [{"role": "user", "content": QUERY}]
        reply = ask(sdk, "fake.par", messages)
        said = {"call_0_0": "Nope, too risky", "call_0_1": slow_echo("hi")}
        made = [{"role": "tool", "tool_call_id": key, "content": text} for key, text in said.items()]
        ask(sdk, "fake.par", [*messages, reply, *made])
    _, calls = in_order(sink)
    assert [told(call)[1:] for call in calls] == [("add", False, "unknown"), ("slow_echo", True, None)]

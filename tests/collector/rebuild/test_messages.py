"""What was said in a run: read from spans, placed among the calls, and judged as in a file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from collector.cli.check import command as check_verb
from collector.dialects.openinference import DIALECT, MESSAGES_READ
from collector.dialects.reading import messages_in
from collector.judging.policies import read_policies
from collector.model import REDACTED, Run
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.rebuild.messages import LONGEST_TEXT, MOST_MESSAGES, MOST_TEXT, certain_messages
from collector.server import running
from synth.policies import judge_policies
from tests.support.traces import MS, T0, Client, agent_spans, new_id, request, settings

CONFIRMED = """
actions: {transfer: transfer, look: look}
policies:
  - id: yes
    guard: {calls: transfer, check: "user.matches('(?i)yes')"}
  - id: large
    guard: {calls: transfer, when: args.amount > 100, check: "user.matches('(?i)yes')"}
"""
Step = tuple[str, Any]
"""`("user", text)`, `("assistant", text)`, or a tool with its arguments."""
ASKED = [
    ("user", "Send 500 to Ann."), ("look", {}), ("assistant", "Shall I?"), ("user", "Yes, do."),
    ("transfer", {"amount": 500}),
]  # fmt: skip
TALKS: dict[str, list[Step]] = {
    "asked": ASKED,
    "stopped": [*ASKED, ("assistant", "Done."), ("user", "Now stop."), ("transfer", {"amount": 7})],
    "stopped, large": [*ASKED, ("assistant", "Done."), ("user", "Stop."), ("transfer", {"amount": 700})],
    "not asked": [("user", "Send 500 to Ann."), ("transfer", {"amount": 500})],
    "small": [("user", "Send 5 to Ann."), ("transfer", {"amount": 5})],
    "twice": [("user", "yes"), ("look", {}), ("user", "yes"), ("transfer", {"amount": 500})],
}


def record(run: str, steps: Sequence[Step]) -> dict[str, Any]:
    """The run as in a file."""
    messages: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for what, said in steps:
        if what in ("user", "assistant"):
            messages.append({"role": what, "content": said, "before_call": len(calls)})
        else:
            calls.append({"id": f"c{len(calls)}", "name": what, "arguments": said, "result": "done"})
    return {"run_id": run, "tools": ["look", "transfer"], "calls": calls, "messages": messages}


def tool_span(run: str, number: int, tool: str, arguments: Any) -> dict[str, Any]:
    return {
        "trace": run, "id": number + 2, "parent": 1, "name": f"execute_tool {tool}",
        "start": T0 + number * 10 * MS, "end": T0 + number * 10 * MS + 5 * MS,
        "at": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool,
               "gen_ai.tool.call.id": f"c{number}", "gen_ai.tool.call.arguments": json.dumps(arguments),
               "gen_ai.tool.call.result": '"done"'},
    }  # fmt: skip


def genai(history: Sequence[Step], said: str | None) -> dict[str, Any]:
    """The attributes of a model call in the GenAI conventions."""
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in history]
    at = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}
    if said is not None:
        parts = [{"type": "text", "content": said}]
        at["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts}])
    return at


def openinference(history: Sequence[Step], said: str | None) -> dict[str, Any]:
    at: dict[str, Any] = {"openinference.span.kind": "LLM"}
    for number, (role, text) in enumerate(history):
        base = f"llm.input_messages.{number}.message"
        at |= {f"{base}.role": role, f"{base}.content": text}
    if said is not None:
        base = "llm.output_messages.0.message"
        at |= {f"{base}.role": "assistant", f"{base}.content": said}
    return at


def mlflow(history: Sequence[Step], said: str | None) -> dict[str, Any]:
    inputs = {"messages": [{"role": role, "content": text} for role, text in history]}
    made = {"choices": [{"message": {"role": "assistant", "content": said}}]}
    return {
        "mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": json.dumps(inputs),
        "mlflow.spanOutputs": json.dumps(made),
    }  # fmt: skip


def langsmith(history: Sequence[Step], said: str | None) -> dict[str, Any]:
    types = {"user": "human", "assistant": "ai"}
    inputs = {"messages": [[{"kwargs": {"type": types[role], "content": text}} for role, text in history]]}
    made = {"generations": [[{"message": {"kwargs": {"type": "ai", "content": said or ""}}}]]}
    return {
        "langsmith.span.kind": "llm", "gen_ai.prompt": json.dumps(inputs),
        "gen_ai.completion": json.dumps(made),
    }  # fmt: skip


def vercel(history: Sequence[Step], said: str | None) -> dict[str, Any]:
    messages = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in history]
    return {
        "ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": json.dumps(messages),
        "ai.response.text": said,
    }  # fmt: skip


def logfire(history: Sequence[Step], said: str | None) -> dict[str, Any]:
    given = [{"role": role, "content": text} for role, text in history]
    made = {
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}
        ]
    }
    return {
        "logfire.msg_template": "Responses API", "gen_ai.operation.name": "chat",
        "raw_input": json.dumps(given), "response": json.dumps(made),
    }  # fmt: skip


Dialect = Callable[[Sequence[Step], str | None], dict[str, Any]]
DIALECTS: list[Dialect] = [genai, openinference, mlflow, langsmith, vercel, logfire]


def model_span(run: str, number: int, start: int, at: dict[str, Any]) -> dict[str, Any]:
    return {"trace": run, "id": number, "parent": 1, "start": start, "end": start + MS // 2, "at": at}


def model_spans(run: str, steps: Sequence[Step], dialect: Dialect) -> list[dict[str, Any]]:
    """A model call before every call and every word of the assistant, each given all that was said."""
    spans: list[dict[str, Any]] = []
    history: list[Step] = []
    calls = models = 0
    for what, said in steps:
        if what == "user":
            history.append((what, said))
            continue
        start = T0 + calls * 10 * MS - 4 * MS + models % 3 * MS
        at = dialect(history, said if what == "assistant" else None)
        spans.append(model_span(run, 1000 + models, start, at))
        models += 1
        if what == "assistant":
            history.append((what, said))
        else:
            spans.append(tool_span(run, calls, what, said))
            calls += 1
    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "teller"}
    return [*spans, {"trace": run, "id": 1, "start": T0 - 50 * MS, "end": T0 + 900 * MS, "at": root}]


def rebuilt(spans: Sequence[dict[str, Any]], scope: str = "other") -> Run:
    payload = request(*spans, scope=scope).SerializeToString()
    found = rebuild(new_id(), list(spans_of([payload])))
    extra = certain_messages(found, complete=True, problems=found.run.problems)
    return Run(found.run.id, found.run.calls, extra=extra)


def users(run: Run) -> list[tuple[str | None, int, str | None]]:
    said = [one for one in run.extra.get("messages", []) if one["role"] == "user"]
    return [(one["content"], one["before_call"], one.get("partly")) for one in said]


def verdicts(run: Run) -> list[str]:
    return [result.verdict for result in judge_policies(read_policies("p", CONFIRMED), run)]


# ---------------------------------------------------------------- the same run in a file and as spans


Verdicts = dict[str, dict[str, tuple[str, list[int]]]]
"""Run -> policy -> (verdict, violations)."""


def file_verdicts(folder: Path, *said: dict[str, Any]) -> Verdicts:
    (folder / "r.jsonl").write_text("\n".join(map(json.dumps, said)))
    return judged_file(folder, "r.jsonl")


def judged_file(folder: Path, name: str) -> Verdicts:
    (folder / "p.yaml").write_text(CONFIRMED)
    result = CliRunner().invoke(
        check_verb, [str(folder / name), "--policies", str(folder / "p.yaml"), "--json"]
    )
    found: Verdicts = {}
    for one in map(json.loads, result.stdout.splitlines()):
        found.setdefault(one["run_id"], {})[one["policy"]] = (one["verdict"], one["violations"])
    return found


def live_verdicts(client: Client, *runs: str) -> Verdicts:
    return {
        run: {one["policy"]: (one["verdict"], one["violations"]) for one in client.judged(run)["policies"]}
        for run in runs
    }


def test_a_run_is_judged_alike_in_a_file_and_as_spans(tmp_path: Path) -> None:
    with running(settings(tmp_path)) as url, Client(url) as client:
        client.http.put("/api/v1/policies/bank", content=CONFIRMED)
        sent: dict[str, dict[str, Any]] = {}
        for steps in TALKS.values():
            for dialect in DIALECTS:
                run = new_id()
                sent[run] = record(run, steps)
                scope = "langsmith" if dialect is langsmith else "other"
                client.send(request(*model_spans(run, steps, dialect), scope=scope).SerializeToString())
        live = live_verdicts(client, *sent)
        exported = [client.run(run)["record"] for run in sent]
    assert live == file_verdicts(tmp_path, *sent.values())
    assert live == file_verdicts(tmp_path, *exported)
    seen = {verdict for found in live.values() for verdict, _ in found.values()}
    assert seen == {"ok", "violated", "not_applicable"}


@pytest.mark.parametrize("query", ["Yes, send it.", "Send it.", None])
def test_a_run_of_our_own_tracer_is_judged_by_its_query(tmp_path: Path, query: str | None) -> None:
    run = new_id()
    with running(settings(tmp_path)) as url, Client(url) as client:
        client.http.put("/api/v1/policies/bank", content=CONFIRMED)
        calls = [{"name": "transfer", "arguments": {"amount": 500}}]
        client.send(request(*agent_spans(run, calls, query=query)).SerializeToString())
        live = live_verdicts(client, run)
        shown = client.run(run)["record"]
    said = record(run, [*([("user", query)] if query else []), ("transfer", {"amount": 500})])
    if query is None:
        del said["messages"]
    assert live == file_verdicts(tmp_path, said)
    assert live[run]["yes"][0] == {"Yes, send it.": "ok", "Send it.": "violated"}.get(
        query or "", "unsupported"
    )
    assert ("messages" in shown) == (query is not None)


def test_in_a_conversation_each_run_has_its_own_message(tmp_path: Path) -> None:
    first, second = new_id(), new_id()
    calls = [{"name": "transfer", "arguments": {"amount": 500}}]
    with running(settings(tmp_path)) as url, Client(url) as client:
        client.http.put("/api/v1/policies/bank", content="scope: session\n" + CONFIRMED)
        for minute, run, query in ((0, first, "Yes, send it."), (1, second, "No, stop.")):
            spans = agent_spans(run, calls, query=query)
            for span in spans:
                span["start"] += minute * 60_000 * MS
                span["end"] += minute * 60_000 * MS
            spans[-1]["at"]["gen_ai.conversation.id"] = "talk"
            client.send(request(*spans).SerializeToString())
            client.judged(run)
        live = live_verdicts(client, first, second)
    assert [live[run]["yes"] for run in (first, second)] == [("ok", []), ("violated", [0])]


# ---------------------------------------------------------------- where what was said is not certain


def test_the_assistants_words_stand_between(tmp_path: Path) -> None:
    for dialect in DIALECTS:
        scope = "langsmith" if dialect is langsmith else "other"
        run = rebuilt(model_spans(new_id(), TALKS["stopped"], dialect), scope)
        assert run.extra["messages"] == record("r", TALKS["stopped"])["messages"], dialect


def test_a_conversation_that_began_earlier_brings_what_was_said() -> None:
    history = [("user", "Hello."), ("assistant", "Yes?"), ("user", "Send it. Yes.")]
    spans = [
        model_span("ab" * 16, 50, T0 - MS, genai(history, None)),
        tool_span("ab" * 16, 0, "transfer", {"amount": 500}),
    ]
    run = rebuilt(spans)
    assert [(one["role"], one["content"]) for one in run.extra["messages"]] == history
    assert verdicts(run) == ["ok", "ok"]


def with_model(at: dict[str, Any], *, place: int = 1) -> list[dict[str, Any]]:
    """`asked` with one more model call before the call at `place`."""
    spans = model_spans("ab" * 16, ASKED, genai)
    start = T0 + place * 10 * MS - MS
    return [*spans, model_span("ab" * 16, 77, start, at)]


def after(*texts: str) -> dict[str, Any]:
    """A model call that was given what the user of `asked` said, and more."""
    return genai([*ASKED[:1], *ASKED[2:4], *(("user", text) for text in texts)], None)


EMPTY = {"gen_ai.operation.name": "chat"}
BEFORE = json.loads(after()["gen_ai.input.messages"])


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (genai([("user", "Sum up.")], None), "is not certain"),
        (EMPTY, "was not kept"),
        (EMPTY | {"gen_ai.input.messages": json.dumps([*BEFORE, {"role": "user"}])}, "was not kept"),
        (EMPTY | {"gen_ai.input.messages": '[{"role": "user", "parts": [{"ty'}, "is not certain"),
        (after("No …"), "was cut"),
        (after("No… (+12 characters)"), "was cut"),
        (after("my key: [redacted]"), "was not kept"),
        (after("__REDACTED__"), "was not kept"),
        (after("my key: *** ok") | {REDACTED: ["***"]}, "was not kept"),
        (after("str:3:0123456789abcdef"), "is known as a hash only"),
    ],
)
def test_a_message_that_was_cut_or_is_missing_leaves_the_guard_open(at: dict[str, Any], said: str) -> None:
    run = rebuilt(with_model(at))
    (yes, large) = judge_policies(read_policies("p", CONFIRMED), run)
    assert (yes.verdict, large.verdict) == ("undecided", "undecided")
    assert yes.explanation == f"transfer (call 1): what the user said last {said}."


def test_a_condition_that_needs_no_message_is_decided_without() -> None:
    text = CONFIRMED.replace("user.matches('(?i)yes')", "args.amount < 900 || user == 'x'")
    run = rebuilt(with_model({"gen_ai.operation.name": "chat"}))
    assert [result.verdict for result in judge_policies(read_policies("p", text), run)] == ["ok", "ok"]


def test_the_conversation_that_goes_on_makes_it_certain_again() -> None:
    run = rebuilt(with_model(genai([("user", "Sum up.")], None), place=0))
    assert users(run) == [
        ("Send 500 to Ann.", 0, None), (None, 0, "ambiguous"), ("Send 500 to Ann.", 1, None),
        ("Yes, do.", 1, None),
    ]  # fmt: skip
    assert verdicts(run) == ["ok", "ok"]


def test_after_another_agents_instructions_the_users_words_count_again() -> None:
    """The main conversation's next model call is given the same words as before."""
    steps = [("user", "Yes, both."), ("look", {}), ("transfer", {"amount": 500})]
    spans = model_spans("ab" * 16, steps, genai)
    inner = genai([("user", "You look things up.")], None)
    run = rebuilt([*spans, model_span("ab" * 16, 77, T0 + MS, inner)])
    assert users(run) == [("Yes, both.", 0, None), (None, 1, "ambiguous"), ("Yes, both.", 1, None)]
    assert verdicts(run) == ["ok", "ok"]


def test_an_older_state_of_the_conversation_says_nothing_new() -> None:
    steps: list[Step] = [("user", "a"), ("look", {}), ("user", "Yes."), ("look", {})]
    spans = model_spans("ab" * 16, [*steps, ("transfer", {"amount": 500})], genai)
    older = model_span("ab" * 16, 77, T0 + 19 * MS, genai([("user", "a")], None))
    assert users(rebuilt([*spans, older])) == [("a", 0, None), ("Yes.", 1, None)]


def test_a_history_without_its_beginning_goes_on_from_what_it_shares() -> None:
    steps: list[Step] = [("user", "a"), ("look", {}), ("user", "b"), ("look", {})]
    spans = model_spans("ab" * 16, steps, genai)
    short = model_span("ab" * 16, 77, T0 + 19 * MS, genai([("user", "b"), ("user", "Yes.")], None))
    run = rebuilt([*spans, short, tool_span("ab" * 16, 2, "transfer", {"amount": 500})])
    assert users(run) == [("a", 0, None), ("b", 1, None), ("Yes.", 2, None)]


def test_calls_before_the_first_model_call_have_no_certain_message() -> None:
    spans = model_spans("ab" * 16, [("look", {}), *ASKED[3:]], genai)[1:]
    assert users(rebuilt(spans)) == [(None, 0, "absent"), ("Yes, do.", 1, None)]


def test_a_file_of_spans_is_judged_by_its_messages_and_knows_what_is_missing(tmp_path: Path) -> None:
    run = new_id()
    spans = model_spans(run, TALKS["not asked"], genai)
    for dropped, verdict in ((0, "violated"), (3, "undecided")):
        message = request(*spans, scope="other", resource={"pdoctor.dropped_spans": dropped})
        (tmp_path / "r.bin").write_bytes(message.SerializeToString())
        found = judged_file(tmp_path, "r.bin")
        assert found[run]["yes"][0] == verdict


def test_the_record_of_a_run_tells_which_messages_are_not_certain(tmp_path: Path) -> None:
    """It is judged elsewhere as here; what was said is not stored with every verdict."""
    run = new_id()
    with running(settings(tmp_path)) as url, Client(url) as client:
        client.http.put("/api/v1/policies/bank", content=CONFIRMED)
        message = request(
            *model_spans(run, ASKED, genai), scope="other", resource={"pdoctor.dropped_spans": 3}
        )
        client.send(message.SerializeToString())
        live = live_verdicts(client, run)
        shown = client.run(run)["record"]
    assert live[run]["yes"] == ("undecided", [])
    assert live == file_verdicts(tmp_path, shown)
    assert [one.get("partly") for one in shown["messages"]] == ["ambiguous", None, "ambiguous"]
    with sqlite3.connect(tmp_path / "store.db") as store:
        assert not any("Yes, do." in body for (body,) in store.execute("SELECT body FROM verdicts"))
    store.close()


def test_a_cut_message_that_may_not_be_the_last_proves_nothing() -> None:
    text = CONFIRMED.replace("user.matches('(?i)yes')", "user.startsWith('yes')")
    spans = model_spans("ab" * 16, [("user", "yes…"), ("transfer", {"amount": 500})], genai)
    found = rebuild(new_id(), list(spans_of([request(*spans, scope="other").SerializeToString()])))
    for problems, verdict in (([], "ok"), (["spans were dropped"], "undecided")):
        extra = certain_messages(found, complete=True, problems=problems)
        run = Run("r", found.run.calls, extra=extra)
        results = judge_policies(read_policies("p", text), run)
        assert [result.verdict for result in results] == [verdict, verdict]


def test_while_spans_are_missing_no_message_of_model_calls_is_certain() -> None:
    payload = request(*model_spans(new_id(), ASKED, genai), scope="other").SerializeToString()
    found = rebuild(new_id(), list(spans_of([payload])))
    for complete, problems in ((False, []), (True, ["spans were dropped"])):
        said = certain_messages(found, complete=complete, problems=problems)["messages"]
        run = Run("r", found.run.calls, extra={"messages": said})
        assert verdicts(run) == ["undecided", "undecided"]
        assert [one["content"] for one in said] == [text for _, text in (ASKED[0], *ASKED[2:4])]


def test_our_own_run_has_its_message_however_many_calls_are_missing() -> None:
    spans = agent_spans(new_id(), ["look", {"name": "transfer", "arguments": {"amount": 500}}], query="No.")
    found = rebuild(new_id(), list(spans_of([request(*spans[1:]).SerializeToString()])))
    said = certain_messages(found, complete=True, problems=["one call is missing"])["messages"]
    assert [one.get("partly") for one in said] == [None]


def test_of_several_clocks_only_the_first_message_has_a_certain_place() -> None:
    spans = model_spans("ab" * 16, ASKED, genai)
    there, here = ([span for span in spans if (span["id"] == 2) is on] for on in (True, False))
    message = request(*there, scope="other", resource={"host.id": "one"})
    message.MergeFrom(request(*here, scope="other", resource={"host.id": "two"}))
    run = rebuild(new_id(), list(spans_of([message.SerializeToString()]))).run
    assert [partly for _, _, partly in users(run)] == [None, "ambiguous"]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (None, None),
        (7, None),
        ("Send it.", [("user", "Send it.", None)]),
        ({"role": "user", "content": "Yes"}, [("user", "Yes", None)]),
        ([["human", "Yes"], ["tool", "x"]], [("user", "Yes", None)]),
        ([["ai", "Done"]], [("assistant", "Done", None)]),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}], []),
        ([{"role": "user", "content": [{"type": "image", "source": {}}]}], [("user", "", None)]),
        ([{"role": "user", "content": ""}], [("user", "", None)]),
        ([{"role": "user", "content": [{"type": "text", "text": None}]}], [("user", "", "absent")]),
        ([{"role": "user", "content": [{"type": ["x"]}]}], [("user", "", None)]),
        ([{"role": "system", "content": "x"}, "x", ["x"], {"role": "assistant", "tool_calls": []}], []),
    ],
)  # fmt: skip
def test_messages_are_what_the_user_and_the_assistant_said(messages: Any, said: Any) -> None:
    found = messages_in(messages)
    assert said == (found if found is None else [tuple(message) for message in found])


def test_what_a_model_says_while_calls_begin_stands_after_them() -> None:
    spans = model_spans("ab" * 16, [("user", "Look."), ("look", {}), ("look", {})], genai)
    talks = model_span("ab" * 16, 77, T0 + 5 * MS, genai([("user", "Look.")], "I look."))
    run = rebuilt([*spans, {**talks, "end": T0 + 15 * MS}])
    assert [one["before_call"] for one in run.extra["messages"] if one["role"] == "assistant"] == [2]


def test_of_more_messages_than_are_read_the_last_is_not_known() -> None:
    history = [("user", str(n)) for n in range(MESSAGES_READ + 1)]
    spans = [model_span("ab" * 16, 50, T0 - MS, openinference(history, None)), *calls(1)]
    assert users(rebuilt(spans))[-1] == (None, 0, "cut")
    few = [model_span("ab" * 16, 50, T0 - MS, openinference(history[:400], None)), *calls(1)]
    assert users(rebuilt(few))[-1] == ("399", 0, None)
    assert openinference_model(few[0]).given[-1].partly is None
    assert openinference_model(spans[0]).given[-1].partly == "absent"


def openinference_model(span: dict[str, Any]) -> Any:
    (found,) = spans_of([request(span, scope="other").SerializeToString()])
    return DIALECT.model(found)


# ---------------------------------------------------------------- agents in agents


def agent(number: int, first: int, last: int, query: str, source: str = "langchain") -> dict[str, Any]:
    said = [{"role": "user", "parts": [{"type": "text", "content": query}]}]
    at = {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": json.dumps(said),
          "pdoctor.source": source, "pdoctor.run.id": "ab" * 16}  # fmt: skip
    times = {"start": T0 + first * MS, "end": T0 + last * MS}
    return {"trace": "ab" * 16, "id": 500 + number, "parent": 1, "at": at, **times}


def calls(count: int) -> list[dict[str, Any]]:
    found = [tool_span("ab" * 16, number, "look", {}) for number in range(count)]
    for span in found:
        span["at"]["pdoctor.run.id"] = "ab" * 16
    return found


def test_what_one_agent_tells_another_is_no_message_of_the_user() -> None:
    spans = [*calls(2), agent(0, -5, 90, "Yes."), agent(1, 8, 16, "Look it up.")]
    assert users(rebuilt(spans, "pdoctor_trace")) == [("Yes.", 0, None)]


def test_runs_one_after_the_other_each_begin_with_a_message() -> None:
    spans = [*calls(2), agent(0, -5, 6, "Look."), agent(1, 8, 16, "Yes.")]
    assert users(rebuilt(spans, "pdoctor_trace")) == [("Look.", 0, None), ("Yes.", 1, None)]


def test_runs_inside_one_that_the_host_opened_are_the_users() -> None:
    inner = [agent(1, -5, 6, "Look."), agent(2, 8, 16, "Yes.")]
    run = rebuilt([*calls(2), agent(0, -9, 90, "A talk.", "user"), *inner], "pdoctor_trace")
    assert users(run) == [("A talk.", 0, None), ("Look.", 0, None), ("Yes.", 1, None)]


@pytest.mark.parametrize("asks", [False, True], ids=["answer", "asks"])
def test_a_run_whose_model_requests_nobody_saw_tells_its_answer_itself(asks: bool) -> None:
    around = agent(0, -5, 90, "Look.")
    parts = [{"type": "text", "content": "Seen."}, *[{"type": "tool_call", "name": "look"}] * asks]
    around["at"]["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts}])
    said = rebuilt([*calls(2), around], "pdoctor_trace").extra["messages"]
    assert [(one["role"], one["before_call"]) for one in said[1:]] == [("assistant", 2)] * (not asks)
    model = model_span("ab" * 16, 77, T0 + 30 * MS, genai([("user", "Look.")], "I saw it."))
    model |= {"parent": 500, "at": {**model["at"], "pdoctor.run.id": "ab" * 16}}
    seen = rebuilt([*calls(2), model, around], "pdoctor_trace").extra["messages"]
    assert [one["content"] for one in seen] == ["Look.", "I saw it."]


# ---------------------------------------------------------------- bounds


def test_messages_are_bounded_in_number_and_size() -> None:
    many: list[Step] = [("user", f"m{n}") for n in range(MOST_MESSAGES + 50)]
    run = rebuilt(model_spans(new_id(), [*many, ("transfer", {"amount": 500})], genai))
    assert len(run.extra["messages"]) == MOST_MESSAGES
    assert users(run)[-1] == (None, 0, "cut")
    assert verdicts(run) == ["undecided", "undecided"]
    long = rebuilt(
        model_spans(new_id(), [("user", "yes" * LONGEST_TEXT), ("transfer", {"amount": 5})], genai)
    )
    ((text, _, partly),) = users(long)
    assert (len(text or ""), partly) == (LONGEST_TEXT, "cut")
    big: list[Step] = [("user", str(n) * LONGEST_TEXT) for n in range(9)] * 3
    all_of = rebuilt(model_spans(new_id(), [*big, ("look", {})], genai))
    assert sum(len(text or "") for text, _, _ in users(all_of)) <= MOST_TEXT


def test_without_a_rule_about_messages_no_long_attribute_is_read() -> None:
    payload = request(*model_spans(new_id(), ASKED, genai), scope="other").SerializeToString()
    found = rebuild(new_id(), list(spans_of([payload])), details=False)
    assert "messages" not in found.run.extra
    assert read_policies("p", CONFIRMED).policies[0].rule.traits.messages
    plain = read_policies("p", CONFIRMED.replace("user.matches('(?i)yes')", "true"))
    assert not any(policy.rule.traits.messages for policy in plain.policies)


# ---------------------------------------------------------------- redaction


@pytest.mark.parametrize("replacement", ["", "replacement: '***'\n"])
def test_what_is_redacted_stands_in_no_message_and_leaves_the_guard_open(
    tmp_path: Path, replacement: str
) -> None:
    (tmp_path / "redact.yaml").write_text("patterns: ['sk-[a-z0-9]+']\n" + replacement)
    with running(settings(tmp_path, redact=tmp_path / "redact.yaml")) as url, Client(url) as client:
        client.http.put("/api/v1/policies/bank", content=CONFIRMED)
        hidden, plain = new_id(), new_id()
        for run, text in ((hidden, "My key is sk-abc123, yes."), (plain, "No.")):
            steps: list[Step] = [("user", text), ("transfer", {"amount": 500})]
            client.send(request(*model_spans(run, steps, genai), scope="other").SerializeToString())
        live = live_verdicts(client, hidden, plain)
        shown = client.run(hidden)["record"]["messages"]
    assert [live[run]["yes"] for run in (hidden, plain)] == [("undecided", []), ("violated", [0])]
    assert [one["partly"] for one in shown] == ["absent"]
    assert "sk-" not in json.dumps(shown)

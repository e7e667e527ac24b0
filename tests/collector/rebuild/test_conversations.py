"""Runs without any run span: conversations put together from single model calls."""

from __future__ import annotations

import io
import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from collector.model import Piece, Run
from collector.otlp.files import runs_from_otlp
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.rebuild.conversations import conversations, links, piece_from_json, piece_to_json
from collector.server import running
from collector.settings import Limits
from collector.store import joins, open_store, schema
from collector.store.engine import project_id
from collector.store.work import Claim
from tests.support.traces import (
    JSON,
    MS,
    T0,
    Client,
    agent_spans,
    case_json,
    new_id,
    request,
    settings,
    until,
)

RECORDED = Path(__file__).parents[1] / "recorded"
SECOND = 1000 * MS


def chat(number: int, said: Sequence[dict[str, Any]], answer: dict[str, Any], **at: Any) -> dict[str, Any]:
    """One model call as a vendor's instrumentation records it: a trace of its own, messages as JSON."""
    return {
        "trace": new_id(),
        "id": 1,
        "name": "chat fake",
        "start": T0 + number * SECOND,
        "end": T0 + number * SECOND + 300 * MS,
        "at": {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(list(said)),
            "gen_ai.output.messages": json.dumps([answer]),
            **at,
        },
    }


def asks(*calls: tuple[str, str], text: str | None = None) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": i, "name": tool, "arguments": {"of": i}} for i, tool in calls]
    return {"role": "assistant", "parts": parts}


def tells(*answers: tuple[str, str]) -> dict[str, Any]:
    parts = [{"type": "tool_call_response", "id": i, "response": result} for i, result in answers]
    return {"role": "tool", "parts": parts}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


DONE = {"role": "assistant", "parts": [{"type": "text", "content": "All done."}]}


def loop(
    query: str,
    *tools: str,
    prefix: str = "",
    at: int = 0,
    history: bool = True,
    chained: bool = False,
    **own: Any,
) -> list[dict[str, Any]]:
    """The model calls of a bare loop that calls one tool per message; each is a trace of its own."""
    said = [user(query)]
    spans = []
    previous: str | None = None
    for number, tool in enumerate([*tools, None]):
        answer = asks((f"{prefix}{number}", tool)) if tool else DONE
        names: dict[str, Any] = dict(own)
        if chained:
            names["gen_ai.response.id"] = f"{prefix}resp_{number}"
            if previous:
                names["gen_ai.openai.request.previous_response_id"] = previous
            previous = f"{prefix}resp_{number}"
        spans.append(chat(at + number, said if history else said[-1:], answer, **names))
        said = [*said, answer, tells((f"{prefix}{number}", f"{tool} done"))]
    return spans


def send_each(client: Client, spans: Sequence[dict[str, Any]]) -> None:
    for span in spans:
        assert client.send(request(span, scope="vendor").SerializeToString()).status_code == 200


def joined_run(
    client: Client, spans: Sequence[dict[str, Any]], calls: int, *, seconds: float = 20
) -> dict[str, Any]:
    """The run of the earliest trace, once it shows so many calls and no other trace is listed."""
    first, *others = (span["trace"] for span in sorted(spans, key=lambda span: span["start"]))
    for _ in until(seconds):
        answer = client.http.get(f"/api/v1/runs/{first}")
        found: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
        parts = [client.http.get(f"/api/v1/runs/{other}") for other in others]
        led = all(part.status_code == 200 and part.json()["joined_into"] == first for part in parts)
        if led and found.get("judged") and found["complete"] and len(found["calls"]) == calls:
            return found
    raise AssertionError(f"not joined within {seconds} s: {json.dumps(found)[:3000]}")


def listed(client: Client) -> set[str]:
    return {item["id"] for item in client.get("/runs", limit=1000)["items"]}


SESSIONS = [
    "gen_ai.conversation.id",
    "session.id",
    "gen_ai.thread.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "langsmith.metadata.thread_id",
    "langsmith.trace.session_id",
    "previous_response_id",
    "history",
]


def two_parts(how: str) -> list[dict[str, Any]]:
    """Two tool calls with an answer each: only `how` says that the second part goes on with the first."""
    same = {how: new_id()} if how not in ("previous_response_id", "history") else {}
    first = loop(f"Fetch. {new_id()}", "fetch", prefix=new_id(), chained=True, **same)
    second = loop("Book.", "book", prefix=new_id(), at=10, history=False, **same)
    if how == "previous_response_id":
        last = first[-1]["at"]["gen_ai.response.id"]
        second[0]["at"]["gen_ai.openai.request.previous_response_id"] = last
    if how == "history":
        before = json.loads(first[-1]["at"]["gen_ai.input.messages"])
        second[0]["at"]["gen_ai.input.messages"] = json.dumps([*before, DONE, user("Book.")])
    return [*first, *second]


@pytest.mark.parametrize("how", SESSIONS)
@pytest.mark.parametrize("order", ["forward", "backward"])
def test_model_calls_in_traces_of_their_own_are_one_run(shared: Client, how: str, order: str) -> None:
    spans = two_parts(how)
    send_each(shared, spans if order == "forward" else spans[::-1])
    found = joined_run(shared, spans, 2)
    assert [(c["name"], c["result"], c["step"], c["with_text"]) for c in found["calls"]] == [
        ("fetch", "fetch done", 0, False), ("book", "book done", 2, False),
    ]  # fmt: skip
    assert listed(shared) & {span["trace"] for span in spans} == {spans[0]["trace"]}
    assert found["problems"] == []


def test_without_evidence_they_stay_apart() -> None:
    assert [len(run.calls) for run in file_runs(two_parts("unknown.attribute"))] == [1, 1]


def test_times_of_joined_calls_are_bounded_by_the_model_calls_around_them(shared: Client) -> None:
    spans = loop(new_id(), "fetch", prefix=new_id())
    send_each(shared, spans)
    (call,) = joined_run(shared, spans, 1)["calls"]
    bounds = [spans[0]["end"] / 1e9, spans[1]["start"] / 1e9]
    assert call["start"] == call["end"] == bounds


@pytest.mark.both_engines
def test_a_piece_that_comes_late_re_opens_the_run_and_the_history_stays(shared: Client) -> None:
    case = new_id()
    shared.post("/cases", case_json(case, "a < b"))
    spans = loop(new_id(), "do_a", "do_b", prefix=new_id())
    shared.post("/bindings", {"trace_id": spans[0]["trace"], "case_id": case, "status": "ok"})
    send_each(shared, [spans[0], spans[2]])
    early = joined_run(shared, [spans[0], spans[2]], 1)
    assert early["error_type"] == "action_lost"
    send_each(shared, [spans[1]])
    for _ in until():
        late = joined_run(shared, spans, 2)
        if late["outcome"] == "pass":  # it is judged again after the piece came
            break
    assert (late["outcome"], late["case_id"]) == ("pass", case)
    assert "fail" in [entry["outcome"] for entry in late["history"]]


@pytest.mark.both_engines
def test_an_earlier_piece_that_comes_late_takes_the_run_over(shared: Client) -> None:
    spans = loop(new_id(), "fetch", "book", prefix=new_id())
    send_each(shared, spans[1:])
    joined_run(shared, spans[1:], 1)
    send_each(shared, spans[:1])
    joined_run(shared, spans, 2)
    assert listed(shared) & {span["trace"] for span in spans} == {spans[0]["trace"]}


def test_agent_runs_of_one_session_stay_runs_of_their_own(shared: Client) -> None:
    session, runs = new_id(), [new_id(), new_id()]
    for number, run in enumerate(runs):
        spans = agent_spans(run, ["search", "book"][: number + 1])
        spans[-1]["at"]["gen_ai.conversation.id"] = session
        shared.send(request(*spans).SerializeToString())
    bare = loop(new_id(), "fetch", prefix=new_id(), **{"gen_ai.conversation.id": session})
    send_each(shared, bare)
    joined_run(shared, bare, 1)
    assert [len(shared.judged(run)["calls"]) for run in runs] == [1, 2]
    assert listed(shared) >= {*runs, bare[0]["trace"]}


def test_a_trace_of_a_service_request_is_whole_and_joins_nothing(shared: Client) -> None:
    """Two requests of one session, each a root of its own with model calls below it: two runs."""
    session = new_id()
    traces = []
    for turn in range(2):
        trace = new_id()
        traces.append(trace)
        spans = loop(new_id(), "fetch", prefix=new_id(), at=turn * 10, **{"session.id": session})
        below = [{**span, "trace": trace, "id": n + 2, "parent": 1} for n, span in enumerate(spans)]
        root = {"trace": trace, "id": 1, "name": "POST /chat", "start": T0 + turn * 10 * SECOND - MS}
        root["end"] = T0 + (turn * 10 + 5) * SECOND
        shared.send(request(*below, root, scope="vendor").SerializeToString())
    assert [len(shared.judged(trace)["calls"]) for trace in traces] == [1, 1]
    assert listed(shared) >= set(traces)


def test_a_conversation_that_still_waits_for_answers_is_open(shared: Client) -> None:
    spans = loop(new_id(), "fetch", "book", prefix=new_id())
    send_each(shared, spans[:2])
    for _ in until():
        found = shared.judged(spans[0]["trace"], complete=False)
        if len(found["calls"]) == 2:
            break
    assert [call.get("executed", True) for call in found["calls"]] == [True, False]
    assert found["complete"] is False


def test_the_spans_of_a_joined_run_are_those_of_all_its_traces(shared: Client) -> None:
    spans = loop(new_id(), "fetch", prefix=new_id())
    send_each(shared, spans)
    found = joined_run(shared, spans, 1)
    items = shared.get(f"/runs/{found['id']}/spans")["items"]
    assert {item["trace_id"] for item in items} == {span["trace"] for span in spans}
    assert found["spans"] == 2


def test_many_conversations_at_once_end_in_the_same_runs_whatever_the_order(tmp_path: Path) -> None:
    """Two checkers, traces of twelve conversations shuffled, some twice: twelve runs with all their calls."""
    chance = random.Random(5)
    talks = [loop(f"query {n}", "fetch", "book", "pay", prefix=f"{n}-", at=n) for n in range(12)]
    spans = [span for talk in talks for span in talk]
    spans += chance.sample(spans, 10)
    chance.shuffle(spans)
    with running(settings(tmp_path, checkers=2)) as url, Client(url) as client:
        for at in range(0, len(spans), 7):
            client.send(request(*spans[at : at + 7], scope="vendor").SerializeToString())
        whole = {talk[0]["trace"]: 3 for talk in talks}
        for _ in until():
            found = {item["id"]: item["calls_count"] for item in client.get("/runs", limit=1000)["items"]}
            if found == whole:
                break
        assert found == whole
        assert [c["name"] for c in client.run(talks[3][0]["trace"])["calls"]] == ["fetch", "book", "pay"]


def test_a_session_id_that_everybody_shares_stays_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first traces are one run, which says that there are more; what comes later costs nothing more."""
    monkeypatch.setattr(joins, "MEMBERS", 4)
    store = open_store(f"sqlite:///{tmp_path / 'own.db'}")
    project = project_id(store, "default")
    with store.write() as connection:
        keys = [f"{n:032x}" for n in range(7)]
        rows = [
            {"project": project, "key": key, "first_seen": 0, "last_seen": 0, "version": 1} for key in keys
        ]
        connection.execute(schema.runs.insert(), rows)
    claims = [
        (Claim(n + 1, project, key, 1, 0.0, 0.0, None, 1, None, None), Piece(key, n, session="default"))
        for n, key in enumerate(keys)
    ]
    found: dict[int, joins.Thread] = {}
    for pair in claims:
        threads, left = joins.threads(store, [pair])
        found[pair[0].run] = threads[pair[0].run]
        assert left == {}
    looked: list[int] = []
    around = joins._threads_around
    monkeypatch.setattr(joins, "_threads_around", lambda *given: looked.append(given[2]) or around(*given))
    late = [claim for claim, _ in claims[4:]]
    again, _ = joins.threads(store, claims[4:])
    assert len(joins._shared(found[4])) == 1
    assert joins._shared(found[3]) == []
    store.close()
    assert ([again[claim.run].head.key for claim in late], len(looked)) == ([keys[0]] * 3, 1)
    assert {thread.head.key for thread in found.values()} == {keys[0]}
    assert [len(found[n + 1].members) for n in range(7)] == [1, 2, 3, 4, 4, 4, 4]
    assert [found[n + 1].shows(n + 1) for n in range(7)] == [True] * 4 + [False] * 3
    assert found[7].is_full


def test_a_turn_policy_works_on_a_vendors_trace(tmp_path: Path) -> None:
    """Two calls in one message, then one alone: as another library recorded them."""
    policy = "policies: [{id: alone, rule: Any tool must be alone in its turn.}]"
    document = (RECORDED / "native_pydantic_ai_plain.json").read_bytes()
    with running(settings(tmp_path)) as url, Client(url) as client:
        assert client.http.put("/api/v1/policies/turns", content=policy).status_code == 200
        assert client.send(document, JSON).status_code == 200
        trace = json.loads(document)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]
        (result,) = client.judged(trace)["policies"]
    assert (result["verdict"], result["violations"]) == ("violated", [0, 1])


# ---------------------------------------------------------------- files and recordings


def file_runs(spans: Sequence[dict[str, Any]]) -> list[Run]:
    body = request(*spans, scope="vendor").SerializeToString()
    return list(runs_from_otlp(io.BytesIO(body), file="spans.pb"))


RAW_LOOPS = sorted(
    path.stem
    for kind in ("openai_chat", "openai_stream", "openai_responses", "anthropic_messages", "anthropic_stream")
    for path in RECORDED.glob(f"*_{kind}.json")
)
UNLINKED = {
    "official_old_openai_chat": "its spans hold no messages",
    "official_old_openai_stream": "its spans hold no messages",
    "openllmetry_openai_responses": "requests and answers carry different ids, and no response names another",
    "native+openinference_anthropic_stream": "two libraries make two traces of each model call",
}
"""Recordings whose single traces do not say what belongs together, without a conversation id."""


def without_root(name: str) -> dict[str, Any]:
    """A recording without the span around its loop: each model call is the root of a trace of its own."""
    document: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    scopes = [scope for resource in document["resourceSpans"] for scope in resource["scopeSpans"]]
    spans = {span["spanId"]: span for scope in scopes for span in scope["spans"]}
    (root,) = (span_id for span_id, span in spans.items() if not span.get("parentSpanId"))

    def top(span: dict[str, Any]) -> str:
        parent = span["parentSpanId"]
        return str(span["spanId"]) if parent == root else top(spans[parent])

    for scope in scopes:
        scope["spans"] = [span for span in scope["spans"] if span["spanId"] != root]
    for span, above in [(span, top(span)) for span_id, span in spans.items() if span_id != root]:
        span["traceId"] = above * 2
        if span["parentSpanId"] == root:
            del span["parentSpanId"]
    return document


def runs_of_document(document: dict[str, Any]) -> list[Run]:
    return list(runs_from_otlp(io.BytesIO(json.dumps(document).encode()), file="spans.jsonl"))


@pytest.mark.parametrize("name", sorted({*RAW_LOOPS} - UNLINKED.keys()))
def test_a_recorded_raw_loop_without_the_span_around_it_is_the_same_run(name: str) -> None:
    """The spans of real instrumentations, as they come where the program has no span of its own."""
    whole = json.loads((RECORDED / f"{name}.json").read_text())
    (run,), (joined,) = runs_of_document(whole), runs_of_document(without_root(name))
    assert len(joined.calls) == 4
    assert joined.calls == run.calls
    assert (joined.query, joined.tools) == (run.query, run.tools)


@pytest.mark.parametrize("name", sorted(UNLINKED))
def test_a_conversation_id_joins_what_says_nothing_else(name: str) -> None:
    assert len(runs_of_document(without_root(name))) != 1
    named = without_root(name)
    for scope in (scope for resource in named["resourceSpans"] for scope in resource["scopeSpans"]):
        for span in scope["spans"]:
            pair = {"key": "gen_ai.conversation.id", "value": {"stringValue": "c"}}
            span.setdefault("attributes", []).append(pair)
    steps = [call.step for run in runs_of_document(named) for call in run.calls]
    assert steps == ([] if "old" in name else [0, 0, 1, 2])


def test_ids_that_real_runs_reuse_do_not_glue_them_together() -> None:
    """Three runs one after the other, and two that run side by side; all call ids are the same."""
    spans = [span for n in range(3) for span in loop(f"query {n}", "fetch", "book", at=n * 100)]
    side = [loop("one", "fetch", at=900), loop("two", "fetch", at=900)]
    for half, own in enumerate(side):
        for span in own:
            span.update(start=span["start"] + half * MS, end=span["end"] + half * MS)
    runs = file_runs([*spans, *side[0], *side[1]])
    assert sorted((run.query, len(run.calls)) for run in runs) == [
        ("one", 1), ("query 0", 2), ("query 1", 2), ("query 2", 2), ("two", 1),
    ]  # fmt: skip


def test_a_later_turn_of_a_bare_conversation_belongs_to_its_run() -> None:
    first = loop("weather?", "fetch", prefix="x")
    said = json.loads(first[-1]["at"]["gen_ai.input.messages"])
    second = chat(50, [*said, DONE, user("and tomorrow?")], asks(("y", "fetch")))
    third = chat(51, [*said, DONE, user("and tomorrow?"), asks(("y", "fetch")), tells(("y", "ok"))], DONE)
    (run,) = file_runs([*first, second, third])
    assert [(call.id, call.step) for call in run.calls] == [("x0", 0), ("y", 2)]
    assert run.query == "weather?"


def test_calls_of_one_message_share_their_step_also_where_tools_have_spans() -> None:
    """A vendor's agent trace with tool spans that know ids and arguments: turns come from the messages."""
    trace = new_id()
    root = {
        "trace": trace, "id": 1, "name": "invoke_agent a", "start": T0, "end": T0 + 9 * SECOND,
        "at": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"},
    }  # fmt: skip
    asked = chat(1, [user("go")], asks(("1", "read"), ("2", "read"), text="Reading both."))
    alone = chat(4, [user("go")], asks(("3", "write")))
    tools = [
        {
            "trace": trace, "id": 10 + n, "parent": 1, "name": "execute_tool", "start": T0 + at * SECOND,
            "end": T0 + at * SECOND + MS,
            "at": {
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": i, "gen_ai.tool.call.arguments": "{}",
            },
        }
        for n, (at, tool, i) in enumerate([(2, "read", "1"), (2, "read", "2"), (5, "write", "3")])
    ]  # fmt: skip
    chats = [{**span, "trace": trace, "id": 20 + n, "parent": 1} for n, span in enumerate([asked, alone])]
    (run,) = file_runs([root, *tools, *chats])
    assert [(c.tool, c.step, c.with_text) for c in run.calls] == [
        ("read", 0, True), ("read", 0, True), ("write", 1, False),
    ]  # fmt: skip


# ---------------------------------------------------------------- the rule itself


def pieces_of(spans: Sequence[dict[str, Any]]) -> list[Piece]:
    batch = from_protobuf(request(*spans, scope="vendor").SerializeToString(), Limits())
    found = [rebuild(s.run_id, list(spans_of([s.payload]))).piece for s in batch.segments]
    return [piece for piece in found if piece is not None]


def test_the_order_of_arrival_does_not_matter() -> None:
    pieces = pieces_of(
        [*loop("a", "x", "y"), *loop("b", "x", "y", at=20), *loop("c", "x", at=40, chained=True)]
    )
    wanted = conversations(pieces)
    assert [len(group) for group in wanted] == [3, 3, 2]
    for seed in range(50):
        shuffled = random.Random(seed).sample(pieces, len(pieces))
        assert conversations(shuffled) == wanted


def test_two_sessions_are_never_one_run_whatever_else_links_them() -> None:
    one, two = (Piece(new_id(), n, session=f"s{n}", requested=("c",), answered=("c",)) for n in range(2))
    between = Piece(new_id(), 2, requested=(), answered=("c",))
    assert {frozenset(piece.session for piece in group) for group in conversations([one, two, between])} == {
        frozenset({"s0"}), frozenset({"s1", None}),
    }  # fmt: skip


ids = st.lists(st.sampled_from("abc"), max_size=2, unique=True).map(tuple)
some_pieces = st.lists(
    st.builds(
        Piece, st.uuids().map(lambda u: u.hex), st.integers(0, 5), st.sampled_from([None, "s", "t"]),
        ids, ids, ids, ids, st.sampled_from([None, "o", "p"]),
    ),
    max_size=7,
    unique_by=lambda piece: piece.trace_id,
)  # fmt: skip


@given(some_pieces, st.randoms())
@hypothesis_settings(max_examples=200, deadline=None)
def test_every_piece_is_in_one_conversation_which_depends_on_the_set_alone(
    pieces: list[Piece], chance: random.Random
) -> None:
    groups = conversations(pieces)
    assert sorted(itertools.chain(*groups), key=repr) == sorted(pieces, key=repr)
    chance.shuffle(pieces)
    assert conversations(pieces) == groups
    for group in groups:
        assert len({piece.session for piece in group} - {None}) <= 1
        for earlier, piece in itertools.pairwise(group):
            assert (earlier.started_ns, earlier.trace_id) < (piece.started_ns, piece.trace_id)
            assert any(links(piece) & links(other) for other in group if other is not piece)


@given(some_pieces)
@hypothesis_settings(max_examples=50, deadline=None)
def test_pieces_are_stored_without_loss(pieces: list[Piece]) -> None:
    assert [piece_from_json(piece_to_json(piece)) for piece in pieces] == pieces

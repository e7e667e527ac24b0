"""The HTTP API: lists, filters, cursors, cases, broken input and its one error shape."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from collector.api.views import encode_cursor
from tests.support.traces import JSON, MS, T0, Client, agent_request, agent_spans, case_json, new_id, request


def error(answer: object) -> tuple[int, dict[str, object]]:
    body = answer.json()  # type: ignore[attr-defined]
    assert set(body) == {"error"}
    assert {"code", "message", "hint"} <= set(body["error"])
    return answer.status_code, body["error"]  # type: ignore[attr-defined]


MADE_UP = (
    "t nan 5",
    "t inf 5",
    "n -inf 5",
    "t 1e400 5",
    "t 0x1p2000 3",
    "t 1 -3",
    "5",
    "x 0x1.0p+3 3",
    "t 0x1p3 3",
)


def test_lists_are_newest_first_and_a_cursor_goes_on_where_the_page_ended(fresh: Client) -> None:
    runs = [new_id() for _ in range(7)]
    for run in runs:
        fresh.send(agent_request(run, ["search"]))
        fresh.judged(run)
    seen: list[str] = []
    cursor = None
    for expected in (3, 3, 1):
        page = fresh.get("/runs", limit=3, **({"cursor": cursor} if cursor else {}))
        assert len(page["items"]) == expected
        seen += [item["id"] for item in page["items"]]
        cursor = page["cursor"]
    assert (seen, cursor) == (runs[::-1], None)


def test_filters_select_runs(fresh: Client) -> None:
    fresh.post("/cases", [case_json("one", "a < b"), case_json("two", "a < b")])
    right, wrong, other, free = (new_id() for _ in range(4))
    fresh.send(agent_request(right, ["do_a", "do_b"], case="one", agent="x"))
    fresh.send(agent_request(wrong, ["do_b", "do_a"], case="one", agent="y"))
    fresh.send(agent_request(other, ["do_a"], case="two", agent="y"))
    fresh.send(agent_request(free, ["search"], agent="z"))
    for run in (right, wrong, other, free):
        fresh.judged(run)
    for wanted, expected in [
        ({"case": "one"}, {right, wrong}),
        ({"outcome": "fail"}, {wrong, other}),
        ({"outcome": "unbound"}, {free}),
        ({"error_type": "action_lost"}, {other}),
        ({"agent": "y", "case": "one"}, {wrong}),
        ({"tool": "search"}, {free}),
        ({"since": "2020-01-01"}, {right, wrong, other, free}),
        ({"until": "2020-01-01T00:00:00Z"}, set()),
        ({"case": "' OR 1=1 --"}, set()),
    ]:
        assert {item["id"] for item in fresh.get("/runs", **wanted)["items"]} == expected, wanted
    stats = fresh.get("/stats")
    assert stats["outcomes"] == {"pass": 1, "fail": 2, "unbound": 1}
    assert stats["error_types"] == {"order_error": 1, "action_lost": 1}


@pytest.mark.parametrize(
    "said",
    [
        {"gen_ai.tool.call.arguments": b'{"a": 1}'},
        {"gen_ai.tool.call.arguments": b"\xff\xfe"},
        {"gen_ai.tool.call.arguments": "[" * 230 + "]" * 230},
        {"gen_ai.tool.call.arguments": "[" * 900 + "]" * 900, "gen_ai.tool.call.result": '{"a":' * 900},
        {"gen_ai.tool.call.arguments": '{"a": ' * 900 + "1" + "}" * 900},
        {"gen_ai.tool.call.result": float("nan"), "pdoctor.turn.has_text": b"\xff"},
        {"gen_ai.tool.call.arguments": str(2**70)},
        {"gen_ai.tool.name": "\ufffe\u0000"},
    ],
    ids=lambda said: str(said)[:40],
)
def test_whatever_a_span_says_its_run_can_be_read(shared: Client, said: dict[str, Any]) -> None:
    run = new_id()
    assert shared.send(agent_request(run, [{"name": "a", "at": said}, "b"])).status_code == 200
    found = shared.judged(run)
    assert (found["calls_count"], found["outcome"] is None or found["outcome"] != "fail") == (2, True)
    assert len(shared.get(f"/runs/{run}/spans")["items"]) == 3
    assert shared.http.get(f"/runs/{run}").status_code == 200


def test_token_counts_beyond_every_integer_are_only_big(shared: Client) -> None:
    run, tokens = new_id(), {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 2**63 - 1}
    chats = [
        {"trace": run, "id": 50 + n, "parent": 1, "name": "chat", "start": n, "end": n + 1, "at": tokens}
        for n in range(3)
    ]
    shared.send(request(*chats, *agent_spans(run, ["a"])).SerializeToString())
    shared.judged(run)
    assert shared.get(f"/runs/{run}")["tokens"] == 2**53 - 1


def test_lists_tell_the_tokens_that_the_page_of_a_run_counts(shared: Client) -> None:
    runs = [new_id() for _ in range(2)]
    chat = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 1200}
    for times, run in enumerate(runs):
        chats = [
            {"trace": run, "id": 50 + n, "parent": 1, "name": "chat", "start": T0 + n, "end": T0 + n + 1,
             "at": {**chat, "gen_ai.usage.output_tokens": 34}}
            for n in range(times)
        ]  # fmt: skip
        shared.send(request(*chats, *agent_spans(run, ["a"], agent="spender")).SerializeToString())
        shared.judged(run)
    listed = {item["id"]: item["tokens"] for item in shared.get("/runs", agent="spender")["items"]}
    assert listed == {runs[0]: None, runs[1]: 1234}
    told = shared.get(f"/runs/{runs[1]}")["metrics"]
    assert told["input_tokens"] + told["output_tokens"] == 1234
    page = shared.http.get("/runs?q=agent:spender&sort=tokens").text
    assert page.index(f"/runs/{runs[1]}") < page.index(f"/runs/{runs[0]}")
    assert '<td class="num" data-name="Tokens">1,234</td>' in page
    assert "1,234</dd>" in shared.http.get(f"/runs/{runs[1]}").text
    assert "<td>1,234</td>" in shared.http.get(f"/compare?a={runs[0]}&b={runs[1]}").text


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/runs?limit=0", "limit"),
        ("/runs?limit=abc", "limit"),
        ("/runs?outcome=good", "outcome"),
        ("/runs?since=yesterday", "since"),
        ("/runs?cursor=%FF%FE", "cursor"),
        ("/runs?cursor=bm90IGEgbnVtYmVy", "cursor"),
        *((f"/runs?cursor={encode_cursor(said)}", "cursor") for said in MADE_UP),
        ("/findings?cursor=bm90IGEgbnVtYmVy", "cursor"),
    ],
)
def test_bad_parameters_are_named(shared: Client, path: str, named: str) -> None:
    status, problem = error(shared.http.get(f"/api/v1{path}"))
    assert status == 400
    assert named in str(problem["message"])


@pytest.mark.parametrize(
    "path", ["/runs/nothing", "/runs/nothing/spans", "/cases/nothing", "/policies/nothing", "/x"]
)
def test_what_does_not_exist_is_404(shared: Client, path: str) -> None:
    status, problem = error(shared.http.get(f"/api/v1{path}"))
    assert (status, problem["code"]) == (404, "not_found")


def test_a_method_that_is_not_possible_is_405(shared: Client) -> None:
    assert error(shared.http.put("/api/v1/runs"))[0] == 405


def test_cases_come_back_as_they_were_posted(fresh: Client) -> None:
    cases = [case_json(f"case-{number}", "a < b") for number in range(5)]
    answer = fresh.post("/cases", cases[:2])
    assert (answer.status_code, answer.json()) == (201, {"stored": 2, "ids": ["case-0", "case-1"]})
    assert fresh.post("/cases", {"items": cases[2:3]}).json()["stored"] == 1
    lines = b"\n".join(orjson.dumps(case) for case in cases[3:])
    assert fresh.http.post("/api/v1/cases", content=lines).json()["stored"] == 2
    first = fresh.get("/cases", limit=3)
    second = fresh.get("/cases", limit=3, cursor=first["cursor"])
    assert [case["id"] for case in first["items"] + second["items"]] == [case["id"] for case in cases]
    assert fresh.get("/cases/case-0")["constraints"] == cases[0]["constraints"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"surprise": 1}, "surprise"),
        ({"seed": "x"}, "seed"),
        ({"mode": "sideways"}, "mode"),
        ({"actions": 5}, "actions"),
        ({"constraints": [{"kind": "never"}]}, "kind"),
        (
            {"constraints": [{"kind": "before", "first": "a", "then": "zzz", "sentence": 0, "span": [0, 1]}]},
            "zzz",
        ),
        ({"id": None}, "id"),
    ],
)
def test_a_bad_case_is_named_and_none_is_stored(
    shared: Client, change: dict[str, object], named: str
) -> None:
    good = new_id()
    status, problem = error(shared.post("/cases", [case_json(good), {**case_json("bad"), **change}]))
    assert status == 400
    assert "item 1" in str(problem["message"])
    assert named in str(problem)
    assert shared.http.get(f"/api/v1/cases/{good}").status_code == 404


@pytest.mark.parametrize("path", ["/cases", "/bindings", "/policies", "/check"])
@pytest.mark.parametrize(
    "body", [b"", b"{", b"null", b"5", b'"text"', b"[[]]", b"[]", b"\xff\xfe", b'{"a": 1}\n{', b"[" * 5000]
)
def test_a_body_that_makes_no_sense_is_400(shared: Client, path: str, body: bytes) -> None:
    status, problem = error(shared.http.post(f"/api/v1{path}", content=body, headers=JSON))
    assert status == 400, problem


@pytest.mark.parametrize("path", ["/api/v1/cases", "/api/v1/bindings"])
@pytest.mark.parametrize(
    ("body", "kind", "what"),
    [
        (b"[" * 1_000_001, "application/json", "values"),
        (b'["' + b'a","' * 1_000_000 + b'"]', "application/json", "values"),
        (b"1\n" * 1_000_001, "application/x-ndjson", "values"),
        (b"1\n" * 10_001, "application/x-ndjson", "items"),
        (b"[" + b"{}," * 10_000 + b"{}]", "application/json", "items"),
    ],
    ids=["lists", "texts", "lines", "items in lines", "items"],
)
def test_a_list_that_is_too_long_is_413(shared: Client, path: str, body: bytes, kind: str, what: str) -> None:
    answer = shared.http.post(path, content=body, headers={"content-type": kind})
    status, said = error(answer)
    assert status == 413
    assert f"{what} are over the limit of" in str(said["message"])


@pytest.mark.parametrize(
    ("path", "item"),
    [("/api/v1/cases", b'{"valid_plans": 1}'), ("/api/v1/bindings", b'{"trace_id": "a"}')],
    ids=["cases", "bindings"],
)
def test_a_list_that_is_too_long_is_not_even_read(shared: Client, path: str, item: bytes) -> None:
    answer = shared.http.post(path, content=b"[" + (item + b",") * 10_001 + b"no JSON")
    assert error(answer)[0] == 413


def test_a_body_that_is_too_big_is_413(shared: Client) -> None:
    assert error(shared.http.post("/api/v1/cases", content=bytes(21 * 1024 * 1024)))[0] == 413


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"trace_id": "abc"}, "trace_id"),
        ({"trace_id": 5}, "trace_id"),
        ({"case_id": ""}, "case_id"),
        ({"status": "fine"}, "status"),
        ({"wall_seconds": -1}, "wall_seconds"),
        ({"wall_seconds": "long"}, "wall_seconds"),
        ({"iterations": 1.5}, "iterations"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_binding_is_named(shared: Client, change: dict[str, object], named: str) -> None:
    status, problem = error(shared.post("/bindings", {"trace_id": new_id(), "case_id": "c", **change}))
    assert status == 400
    assert named in str(problem["message"])


def test_check_judges_without_storing(shared: Client) -> None:
    run = {"run_id": new_id(), "calls": [{"name": "do_b"}, {"name": "do_a"}]}
    answer = shared.post("/check", {"run": run, "case": case_json("x", "a < b")}).json()
    assert (answer["outcome"], answer["verdict"]["error_type"]) == ("fail", "order_error")
    assert shared.http.get(f"/api/v1/runs/{run['run_id']}").status_code == 404


def test_check_of_an_unknown_case_is_bad_input(shared: Client) -> None:
    run = {"run_id": "r", "case_id": "nobody", "calls": []}
    status, problem = error(shared.post("/check", run))
    assert (status, "nobody" in str(problem["message"])) == (400, True)


def test_health_readiness_and_metrics(shared: Client) -> None:
    shared.send(agent_request(new_id(), ["search"]))
    assert shared.http.get("/healthz").json() == {"status": "ok", "service": "pdoctor"}
    assert shared.http.get("/readyz").json() == {"status": "ready", "problems": []}
    lines = shared.http.get("/metrics").text.splitlines()
    values = dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
    assert float(values["pdoctor_spans_stored_total"]) >= 2


def test_every_route_is_described(shared: Client) -> None:
    described = set(shared.http.get("/openapi.json").json()["paths"])
    assert {
        "/api/v1/runs",
        "/api/v1/runs/{run_id}",
        "/api/v1/cases",
        "/api/v1/check",
        "/metrics",
    } <= described


def test_the_time_axis_has_no_place_for_a_call_of_which_no_clock_tells(fresh: Client) -> None:
    run = new_id()
    spans = agent_spans(run, ["verify", "pay", "refund"])
    for span in spans[:-1]:
        span["at"].pop("pdoctor.turn.index", None)
        span["at"].pop("pdoctor.step.index")
    spans[1]["end"] = spans[1]["start"] - 5 * MS
    fresh.send(request(*spans).SerializeToString())
    shown = fresh.judged(run)["calls"]
    assert [(call["name"], call["start"] is None, call["end"] is None) for call in shown] == [
        ("verify", False, False), ("refund", False, False), ("pay", True, True),
    ]  # fmt: skip
    assert not [call for call in shown if "start_ns" in call and call["start"] is None]
    page = fresh.http.get(f"/runs/{run}").text
    assert "<span>25 ms</span>" in page
    assert " min" not in page
    assert page.count('<rect class="stretch call') == 2

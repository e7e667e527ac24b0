"""What a run is judged by: registered traces, named cases, its query's text, its own rules, policies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from collector.cli.runs import command as runs_verb
from collector.judging.bind import choose, text_key
from collector.model import Binding, Run
from collector.server import running
from synth.language.query import query_text
from tests.support.traces import (
    Client,
    agent_request,
    agent_spans,
    case_json,
    new_id,
    request,
    settings,
    until,
)

POLICY = """
applies: {{{selector}}}
actions: {{search: search, book: book}}
policies:
  - {{id: order, rule: Search must happen before book.}}
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A collector whose stored cases only these tests know."""
    with running(settings(tmp_path_factory.mktemp("binding"))) as url, Client(url) as client:
        yield client


def case_with(query: str, *orders: str, case_id: str | None = None) -> dict[str, Any]:
    made = case_json(case_id or new_id(), *orders)
    return {**made, "query": query.format(made["paragraph"])}


def send_with_query(client: Client, query: str, *tools: str, **more: Any) -> dict[str, Any]:
    run = new_id()
    client.send(agent_request(run, list(tools), query=query, **more))
    return client.judged(run)


@pytest.mark.parametrize(
    "spelled",
    [
        lambda text: text,
        lambda text: f"\n  {text.replace(' ', '   ')}\t\n",
        str.upper,
        lambda text: text.replace("é", "e\u0301").replace("fi", "\ufb01"),
    ],
    ids=["as it is", "white space", "case", "unicode"],
)
def test_a_query_with_the_text_of_a_case_binds_to_it(own: Client, spelled: Any) -> None:
    case = case_with(f"{new_id()} Café, first. {{}} Begin.", "a < b")
    own.post("/cases", case)
    found = send_with_query(own, spelled(case["query"]), "do_b", "do_a")
    assert (found["case_id"], found["error_type"]) == (case["id"], "order_error")


def test_the_paragraph_of_a_case_alone_binds_too(own: Client) -> None:
    name = new_id()
    case = case_with(f"{name}: {{}}", "a < b")
    case = {**case, "paragraph": "A must precede B.", "constraints": case["constraints"]}
    case["actions"] = [{**a, "phrase": a["phrase"] + name[:4]} for a in case["actions"]]
    paragraph = f"a{name[:4]} must precede b{name[:4]}."
    case |= {"paragraph": paragraph, "query": f"{name}: {paragraph}"}
    case["constraints"] = [{**case["constraints"][0], "span": [0, len(paragraph)]}]
    assert own.post("/cases", case).status_code == 201
    assert send_with_query(own, paragraph, "do_a", "do_b")["case_id"] == case["id"]


def test_two_cases_with_one_query_leave_the_run_undecided_and_say_why(own: Client) -> None:
    query = f"{new_id()} {{}}"
    first, second = (case_with(query, "a < b", case_id=f"{new_id()}-{n}") for n in "12")
    own.post("/cases", [first, second])
    found = send_with_query(own, first["query"], "do_b", "do_a")
    ids = sorted([first["id"], second["id"]])
    said = (
        f"2 stored cases have this query ({ids[0]} ... {ids[1]}): set pdoctor.case.id, or register the trace"
    )
    assert (found["outcome"], found["case_id"]) == ("undecided", None)
    assert found["problems"][0].startswith(said)
    assert [f["code"] for f in found["verdict"]["findings"]] == ["ambiguous_case"]
    named = send_with_query(own, first["query"], "do_b", "do_a", case=second["id"])
    assert (named["case_id"], named["outcome"]) == (second["id"], "fail")


def test_a_longer_text_around_a_case_binds_to_nothing(own: Client) -> None:
    case = case_with(f"{new_id()} {{}}", "a < b")
    own.post("/cases", case)
    found = send_with_query(own, case["query"] + " Please.", "do_b", "do_a")
    assert (found["case_id"], found["verdict"]) == (None, None)


def test_the_order_of_precedence_is_trace_then_name_then_text() -> None:
    """Every combination: the strongest that says anything decides alone."""
    binding = Binding("t" * 32, "by trace")
    matches = {"query": (1, "by query", "by query"), "paragraph": (1, "by paragraph", "by paragraph")}
    ways = ["by trace", "by name", "by query", "by paragraph"]
    for said in itertools.product([False, True], repeat=4):
        trace, name, query, paragraph = said
        texts = {part: matches[part] for part, on in (("query", query), ("paragraph", paragraph)) if on}
        run = Run("r", (), case_id="by name" if name else None)
        wanted = next((way for way, on in zip(ways, said, strict=True) if on), None)
        assert choose(run, binding if trace else None, texts).case_id == wanted


def test_a_registered_trace_wins_over_the_name_on_the_spans(own: Client) -> None:
    named, registered, run = (new_id() for _ in range(3))
    own.post("/cases", [case_json(named, "a < b"), case_json(registered, "b < a")])
    own.post("/bindings", {"trace_id": run, "case_id": registered})
    own.send(agent_request(run, ["do_b", "do_a"], case=named))
    found = own.judged(run)
    assert (found["case_id"], found["outcome"]) == (registered, "pass")


STATED = "Search flights must happen before book flight."
FLIGHTS = ["search_flights", "book_flight"]


def judged_by_its_query(client: Client, query: str) -> None:
    found = send_with_query(client, query, "book_flight", "search_flights", tools=FLIGHTS)
    (result,) = found["policies"]
    assert (result["policy"], result["verdict"], result["violations"]) == ("query/1", "violated", [0])
    assert (found["outcome"], found["verdict"], found["suggested_rules"]) == ("fail", None, [])
    kept = send_with_query(client, query, "search_flights", "book_flight", tools=FLIGHTS)
    assert (kept["outcome"], [r["verdict"] for r in kept["policies"]]) == ("pass", ["ok"])
    assert send_with_query(client, query, "search_flights", tools=FLIGHTS)["outcome"] is None


def test_a_query_of_our_own_making_is_judged_by_its_rules(own: Client) -> None:
    judged_by_its_query(own, query_text(STATED, "a traveller", 2))


def test_a_rule_in_somebodys_request_is_suggested_and_not_judged(own: Client) -> None:
    found = send_with_query(own, f"Do not obey this:\n{STATED}", "book_flight", tools=FLIGHTS)
    assert (found["outcome"], found["policies"], found["suggested_rules"]) == (None, [], [STATED])
    assert STATED in own.http.get(f"/runs/{found['id']}").text.partition("Suggested rules")[2]
    shown = CliRunner().invoke(runs_verb, ["show", found["id"], "--collector", own.url])
    assert f"\nsuggested rule, not judged: {STATED}\n" in shown.output
    assert shown.exit_code == 0
    record = {"run_id": "r", "query": STATED, "tools": FLIGHTS, "calls": [{"name": "book_flight"}]}
    answer = own.post("/check", record).json()
    assert (answer["policies"], answer["suggested_rules"]) == ([], [STATED])


def test_a_run_of_a_case_suggests_nothing(own: Client) -> None:
    case = case_with("{}", "a < b")
    own.post("/cases", case)
    found = send_with_query(own, "Do a must happen before do b.", "do_b", "do_a", case=case["id"])
    assert (found["outcome"], found["policies"], found["suggested_rules"]) == ("fail", [], [])


def test_requests_are_judged_by_their_rules_where_the_operator_says_so(tmp_path: Path) -> None:
    with running(settings(tmp_path, query_rules="judge")) as url, Client(url) as client:
        judged_by_its_query(client, f"I want to go to Oslo. {STATED}")
        record = {"run_id": "r", "query": STATED, "tools": FLIGHTS, "calls": [{"name": "book_flight"}]}
        assert [one["verdict"] for one in client.post("/check", record).json()["policies"]] == ["violated"]


def test_policies_apply_besides_a_case_and_own_rules_do_not(own: Client) -> None:
    name = f"file-{new_id()[:8]}"
    own.http.put(f"/api/v1/policies/{name}", content=POLICY.format(selector=f"agent: {name}"))
    case = case_with(f"{new_id()} {{}} Book must precede search.", "a < b")
    own.post("/cases", case)
    found = send_with_query(own, case["query"], "do_a", "do_b", "book", agent=name)
    assert found["case_id"] == case["id"]
    assert [(r["policy"], r["verdict"]) for r in found["policies"]] == [("order", "violated")]
    assert own.http.delete(f"/api/v1/policies/{name}").status_code == 200


@pytest.mark.parametrize(
    ("selector", "applies"),
    [
        ("service: test", True), ("service: shop", False), ("agent: pla*", True), ("agent: other", False),
        ("tools: [book]", True), ("tools: [pay]", False), ("service: [shop, test], agent: planner", True),
    ],
)  # fmt: skip
def test_policies_select_runs_by_service_agent_and_tools(own: Client, selector: str, applies: bool) -> None:
    name = f"file-{new_id()[:8]}"
    own.http.put(f"/api/v1/policies/{name}", content=POLICY.format(selector=selector))
    run = new_id()
    own.send(agent_request(run, ["book"]))
    verdicts = [result["verdict"] for result in own.judged(run)["policies"]]
    assert verdicts == (["violated"] if applies else ["not_applicable"])
    own.http.delete(f"/api/v1/policies/{name}")


def test_a_call_of_an_earlier_turn_that_never_arrived_may_have_been_the_one(own: Client) -> None:
    name, session = f"file-{new_id()[:8]}", new_id()
    own.http.put(f"/api/v1/policies/{name}", content="scope: session\n" + POLICY.format(selector=""))
    found = []
    for number, (tool, kept) in enumerate((("search", False), ("book", True))):
        run = new_id()
        call, root = agent_spans(run, [tool])
        for span in (call, root):
            span.update(start=span["start"] + number * 10**12, end=span["end"] + number * 10**12)
        root["at"]["gen_ai.conversation.id"] = session
        own.send(request(*([call] if kept else []), root).SerializeToString())
        found.append(own.judged(run)["policies"][0]["verdict"])
    assert found == ["undecided", "undecided"]
    own.http.delete(f"/api/v1/policies/{name}")


def test_a_session_policy_sees_the_earlier_runs_of_the_conversation(own: Client) -> None:
    name = f"file-{new_id()[:8]}"
    own.http.put(f"/api/v1/policies/{name}", content="scope: session\n" + POLICY.format(selector=""))
    session = new_id()
    found = []
    for number, tool in enumerate(("search", "book")):
        run = new_id()
        spans = agent_spans(run, [tool])
        for span in spans:
            span.update(start=span["start"] + number * 10**12, end=span["end"] + number * 10**12)
        spans[-1]["at"]["gen_ai.conversation.id"] = session
        own.send(request(*spans).SerializeToString())
        found.append(own.judged(run)["policies"][0]["verdict"])
    alone = new_id()
    own.send(agent_request(alone, ["book"]))
    found.append(own.judged(alone)["policies"][0]["verdict"])
    assert found == ["not_applicable", "ok", "violated"]
    own.http.delete(f"/api/v1/policies/{name}")


def test_a_run_that_binds_to_nothing_shows_calls_and_metrics(own: Client) -> None:
    found = send_with_query(own, "Hello there.", "search", "book")
    assert (found["outcome"], found["verdict"], found["policies"]) == (None, None, [])
    assert ([c["name"] for c in found["calls"]], found["metrics"]["calls"]) == (["search", "book"], 2)


def test_cases_loaded_at_start_bind_by_text(tmp_path: Path) -> None:
    import orjson

    case = case_with("Do this. {}", "a < b")
    file = tmp_path / "cases.jsonl"
    file.write_bytes(orjson.dumps(case) + b"\n")
    with running(settings(tmp_path, cases=file)) as url, Client(url) as client:
        found = send_with_query(client, case["query"].lower(), "do_b", "do_a")
    assert (found["case_id"], found["outcome"]) == (case["id"], "fail")


def test_the_history_shows_verdicts_before_and_after_late_spans_with_their_policies(own: Client) -> None:
    name = f"file-{new_id()[:8]}"
    own.http.put(f"/api/v1/policies/{name}", content=POLICY.format(selector=""))
    run = new_id()
    *calls, root = agent_spans(run, ["search", "book"], announce=False)
    for call in calls:
        del call["at"]["pdoctor.step.index"]  # so that the missing call leaves no hole
    own.send(request(calls[1], root).SerializeToString())
    first = own.judged(run)
    assert first["outcome"] == "fail"
    own.send(request(calls[0]).SerializeToString())
    for _ in until():
        found = own.judged(run)
        if found["outcome"] == "pass":
            break
    shown = [(entry["outcome"], [r["verdict"] for r in entry["policies"]]) for entry in found["history"]]
    assert ("fail", ["violated"]) in shown
    assert shown[-1] == ("pass", ["ok"])
    assert [e["at"] for e in found["history"]] == sorted(e["at"] for e in found["history"])
    own.http.delete(f"/api/v1/policies/{name}")
    audit = own.get("/audit")["items"]
    assert [e["action"] for e in audit if name in e["subject"]] == ["policy.drop", "policy.put"]


@pytest.mark.parametrize("nothing", [None, "", "  \n", "x" * 300_000])
def test_no_text_and_endless_text_have_no_key(nothing: str | None) -> None:
    assert text_key(nothing) is None

"""Verdicts as OpenTelemetry events at another back end."""

from __future__ import annotations

import json
from pathlib import Path

from collector.server import running
from tests.support.hooks import receiver
from tests.support.traces import Client, agent_request, case_json, new_id, settings, until

FILE = """
actions: {A: do_a, B: do_b}
policies:
  - {id: a-first, text: A comes first., rule: A must happen before B.}
"""


def test_verdicts_are_sent_as_evaluation_events_also_after_a_failure_and_never_twice(tmp_path: Path) -> None:
    with receiver(failures=1) as at:
        endpoint = at.url.removesuffix("/hook?x=1")
        known = settings(tmp_path, events_endpoint=endpoint)
        case, run, free = new_id(), new_id(), new_id()
        with running(known) as url, Client(url) as client:
            client.post("/cases", case_json(case, "a < b"))
            client.post("/policies", {"name": "shop", "text": FILE})
            client.send(agent_request(free, ["search"]))
            client.send(agent_request(run, ["do_b", "do_a"], case=case))
            client.judged(run)
            client.judged(free)
            for _ in until():
                if at.got:
                    break
        assert at.refused == 1
        with running(known) as url, Client(url) as client:
            second = new_id()
            client.send(agent_request(second, ["do_a", "do_b"], case=case))
            client.judged(second)
            for _ in until():
                if len(at.got) > 1:
                    break
    records = [
        record
        for _, body in at.got
        for record in json.loads(body)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    ]
    said = [{pair["key"]: next(iter(pair["value"].values())) for pair in r["attributes"]} for r in records]
    assert [record["eventName"] for record in records] == ["gen_ai.evaluation.result"] * 2
    assert [(one["pdoctor.run.id"], one["gen_ai.evaluation.score.label"]) for one in said] == [
        (run, "fail"), (second, "pass"),
    ]  # fmt: skip
    assert said[0]["error.type"] == "order_error"
    assert "was called before" in said[0]["gen_ai.evaluation.explanation"]
    of_case, of_policy = json.loads(said[0]["pdoctor.findings"])
    assert (of_case["rule"], of_case["text"], of_case["file"]) == (f"case:{case}", "a must precede b.", None)
    assert of_policy == {
        "rule": "policy:a-first", "explanation": of_policy["explanation"], "text": "A comes first.",
        "file": "shop", "version": 1,
    }  # fmt: skip
    assert "pdoctor.findings" not in said[1]

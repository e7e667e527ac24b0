"""Real tracer, real OTLP, real collector; the tools' own log is the truth that both are compared with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.traces import Client, case_json, new_id, until

PRELUDE = """
import json, os, sys
import pdoctor_trace
LOG = open(os.environ["TOOL_LOG"], "a", buffering=1)

def tool(name):
    def run(**arguments):
        LOG.write(json.dumps([name, arguments]) + "\\n")
        if arguments.get("fail"):
            raise ValueError("it broke")
        return {"done": name}
    run.__name__ = name
    return pdoctor_trace.tool(run)

do_a, do_b, do_c = tool("do_a"), tool("do_b"), tool("do_c")
"""


def run_agent(collector: Client, folder: Path, program: str, **variables: str) -> list[list[Any]]:
    """Run a program with the tracer in a process of its own; returns what its tools logged."""
    log = folder / "tools.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        env={
            **os.environ,
            "PDOCTOR_ENDPOINT": collector.url,
            "OTEL_SERVICE_NAME": new_id(),
            "TOOL_LOG": str(log),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in log.read_text().splitlines()]


def calls_of(run: dict[str, Any]) -> list[list[Any]]:
    return [[call["name"], call["arguments"]] for call in run["calls"]]


def only_run(collector: Client, **wanted: str) -> dict[str, Any]:
    for _ in until():
        items = collector.get("/runs", **wanted)["items"]
        if items:
            assert len(items) == 1
            return collector.judged(items[0]["id"])
    raise AssertionError(f"no run came for {wanted}")


def test_a_bound_run_arrives_once_and_is_judged_against_its_case(collector: Client, tmp_path: Path) -> None:
    case = new_id()
    collector.post("/cases", case_json(case, "a < b", "b < c", actions=("a", "b", "c")))
    logged = run_agent(
        collector,
        tmp_path,
        f"""
with pdoctor_trace.case({case!r}), pdoctor_trace.run(query="Do it.", agent="hand-made"):
    do_a(x=1); do_c(x=[1, "two"]); do_b()
""",
    )
    found = only_run(collector, case=case)
    assert calls_of(found) == logged
    assert (found["error_type"], found["agent"], found["complete"]) == ("order_error", "hand-made", True)
    (finding,) = found["verdict"]["findings"]
    assert finding["calls"] == [2, 1] or finding["calls"] == [1, 2]
    assert found["problems"] == []


def test_errors_results_and_times_arrive(collector: Client, tmp_path: Path) -> None:
    agent = new_id()
    run_agent(
        collector,
        tmp_path,
        f"""
with pdoctor_trace.run(query="Do it.", agent={agent!r}):
    try: do_a(fail=True)
    except ValueError: pass
    do_a()
""",
    )
    found = only_run(collector, agent=agent)
    first, second = found["calls"]
    assert "it broke" in first["error"]
    assert "error" not in second
    assert second["result"] == {"done": "do_a"}
    assert first["end"] <= second["start"]
    assert found["query"] == "Do it."


def test_threads_of_one_run_arrive_exactly_once(collector: Client, tmp_path: Path) -> None:
    agent = new_id()
    logged = run_agent(
        collector,
        tmp_path,
        f"""
from concurrent.futures import ThreadPoolExecutor
with pdoctor_trace.run(agent={agent!r}), ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda i: do_a(i=i), range(200)))
""",
    )
    found = only_run(collector, agent=agent)
    assert sorted(call["arguments"]["i"] for call in found["calls"]) == list(range(200))
    assert len(logged) == 200


def test_a_killed_program_leaves_a_run_that_says_so(collector: Client, tmp_path: Path) -> None:
    agent, case = new_id(), new_id()
    collector.post("/cases", case_json(case, "a < b"))
    run_agent(
        collector,
        tmp_path,
        f"""
with pdoctor_trace.case({case!r}), pdoctor_trace.run(agent={agent!r}):
    do_a()
    pdoctor_trace.flush()
    os._exit(0)
""",
    )
    found = only_run(collector, case=case)
    assert found["outcome"] == "undecided"
    assert any("never arrived" in problem for problem in found["problems"])


def test_shape_mode_keeps_the_order_and_hides_the_content(collector: Client, tmp_path: Path) -> None:
    case, secret = new_id(), new_id()
    collector.post("/cases", case_json(case, "a < b"))
    run_agent(
        collector,
        tmp_path,
        f"""
with pdoctor_trace.case({case!r}), pdoctor_trace.run(query={secret!r}):
    do_b(password={secret!r}); do_a()
""",
        PDOCTOR_CONTENT="shape",
    )
    found = only_run(collector, case=case)
    assert found["error_type"] == "order_error"
    assert secret not in json.dumps(collector.get(f"/runs/{found['id']}/spans"))


def test_the_official_exporter_and_the_tracer_meet_in_one_run(collector: Client, tmp_path: Path) -> None:
    """A host with its own TracerProvider that exports here too: the same ids, so each call once."""
    agent = new_id()
    logged = run_agent(
        collector,
        tmp_path,
        f"""
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
with trace.get_tracer("host").start_as_current_span("request"):
    with pdoctor_trace.run(agent={agent!r}):
        do_a(); do_b()
provider.shutdown()
""",
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
    )
    found = only_run(collector, agent=agent)
    assert calls_of(found) == logged


@pytest.mark.parametrize("compression", ["none", "gzip", "deflate"])
def test_spans_of_the_official_exporter_are_read(collector: Client, tmp_path: Path, compression: str) -> None:
    agent = new_id()
    run_agent(
        collector,
        tmp_path,
        f"""
pdoctor_trace.uninstall()
LOG.write("[]\\n")
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("vendor.sdk")
with tracer.start_as_current_span("invoke_agent", attributes={{
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": {agent!r}}}):
    for name in ("search", "book"):
        with tracer.start_as_current_span(f"execute_tool {{name}}", attributes={{
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name,
                "gen_ai.tool.call.arguments": json.dumps({{"q": name}})}}):
            pass
provider.shutdown()
""",
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
        OTEL_EXPORTER_OTLP_COMPRESSION=compression,
    )
    found = only_run(collector, agent=agent)
    assert calls_of(found) == [["search", {"q": "search"}], ["book", {"q": "book"}]]

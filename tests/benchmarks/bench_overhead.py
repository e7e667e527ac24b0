"""Cost of tracing one tool call, as a ratio to one bare OpenTelemetry SDK span measured in the same process.

Every variant runs in short rounds, interleaved in shuffled order, so that a noisy neighbour hits all
alike; CPU time includes the exporters' threads. The anchor is an idiomatic SDK span: six attributes, JSON
by the standard library, batch processor, an exporter that does nothing. Ours includes encoding to OTLP
bytes; both sides leave out HTTP. Exit code 1 when a target is missed.

    python tests/benchmarks/bench_overhead.py [--json]
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROUNDS = 15
ARGUMENTS = {"query": "flights from Oslo to Lisbon on 2026-03-14", "limit": 5, "currency": "EUR"}
RESULT = {"items": [{"id": i, "price": 100.5 + i, "carrier": f"XX{i:03}", "stops": i % 3} for i in range(5)]}
OPEN = contextlib.ExitStack()
"""Keeps the run of a child process open."""
TARGETS = {
    "tight loop": 0.30,
    "inside LangChain, added": 0.75,
    "disabled": 0.05,
    "memory": 0.50,
    "zero-code start, CPU ms": 100.0,
    "growth over 1,000,000 calls, MiB": 5.0,
}


def search(query: str, limit: int, currency: str) -> dict[str, Any]:
    return RESULT


@dataclass
class Bench:
    """Named variants, a way to drain all exporters, and what to do before a variant's round."""

    variants: dict[str, Callable[[], Any]]
    drain: Callable[[], Any]
    before: dict[str, Callable[[], Any]]
    calls: int
    """Per round; waking the exporter's thread at the end of a round is then a small part of it."""


def sdk_anchor() -> tuple[Callable[[], Any], Callable[[], Any], list[Any]]:
    """(one SDK span around the tool, drain, spans kept when the list is asked for)."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    kept: list[Any] = []

    class Nowhere(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            if kept:
                kept.extend(spans)
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    processor = BatchSpanProcessor(Nowhere(), max_queue_size=1 << 16, max_export_batch_size=512)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("bench")

    def otel_span() -> Any:
        with tracer.start_as_current_span("execute_tool search") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", "search")
            span.set_attribute("gen_ai.tool.type", "function")
            span.set_attribute("gen_ai.tool.call.id", "call_0001")
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps(ARGUMENTS))
            result = search(**ARGUMENTS)
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
            return result

    return otel_span, processor.force_flush, kept


def install_without_http() -> Any:
    """The tracer with everything but the socket; our exporter's other work is all done."""
    import pdoctor_trace
    from pdoctor_trace import runtime
    from pdoctor_trace.export import Answer, Exporter

    class Nowhere:
        def send(self, body: bytes) -> Answer:
            return Answer(200)

        def forget(self) -> None:
            pass

    pdoctor_trace.install(sdk_spans=False, queue_size=1 << 16)
    runtime.ACTIVE.exporter = Exporter(runtime.ACTIVE.settings, Nowhere())  # type: ignore[arg-type]
    return pdoctor_trace


def tight_loop() -> Bench:
    anchor, drain_sdk, _ = sdk_anchor()
    ours = install_without_http()
    traced = ours.tool(search)
    OPEN.enter_context(ours.run(query="bench"))
    calls: dict[str, Callable[[], Any]] = {
        "bare": lambda: search(**ARGUMENTS),
        "otel span": anchor,
        "ours": lambda: traced(**ARGUMENTS),
        "ours, disabled": lambda: traced(**ARGUMENTS),
    }
    on, off = (lambda: switch(True)), (lambda: switch(False))

    def drain() -> None:
        drain_sdk()
        ours.flush(30)

    return Bench(calls, drain, {"ours": on, "ours, disabled": off}, 4_000)


def switch(on: bool) -> None:
    from pdoctor_trace import runtime

    runtime.ACTIVE.on = on


def langchain() -> Bench:
    anchor, drain_sdk, _ = sdk_anchor()
    ours = install_without_http()
    from langchain_core.tools import BaseTool, StructuredTool

    class UntracedTool(StructuredTool):
        """The same tool without our wrapper; patching back and forth would spoil the type caches."""

        run = BaseTool.__dict__["run"].__wrapped__

    traced = StructuredTool.from_function(search, name="search", description="Search.")
    untraced = UntracedTool.from_function(search, name="search", description="Search.")
    OPEN.enter_context(ours.run(query="bench"))

    def drain() -> None:
        drain_sdk()
        ours.flush(30)

    calls: dict[str, Callable[[], Any]] = {
        "otel span": anchor,
        "plain": lambda: untraced.invoke(ARGUMENTS),
        "ours": lambda: traced.invoke(ARGUMENTS),
        "ours, disabled": lambda: traced.invoke(ARGUMENTS),
    }
    on, off = (lambda: switch(True)), (lambda: switch(False))
    return Bench(calls, drain, {"ours": on, "ours, disabled": off}, 1_000)


def measure(bench: Bench) -> dict[str, list[float]]:
    """CPU microseconds per call, one number per round and variant."""
    cpu: dict[str, list[float]] = collections.defaultdict(list)
    names = list(bench.variants)
    for name in names:
        bench.before.get(name, int)()
        for _ in range(50):
            bench.variants[name]()
    bench.drain()
    gc.collect()
    for _ in range(ROUNDS):
        random.shuffle(names)
        for name in names:
            bench.before.get(name, int)()
            call = bench.variants[name]
            start = time.process_time()
            for _ in range(bench.calls):
                call()
            bench.drain()
            cpu[name].append((time.process_time() - start) / bench.calls * 1e6)
    return cpu


def memory() -> dict[str, float]:
    """Bytes kept alive per finished span that still waits: for the SDK in a list, for us in the queue."""
    anchor, drain_sdk, kept = sdk_anchor()
    ours = install_without_http()
    from pdoctor_trace import runtime

    traced = ours.tool(search)
    OPEN.enter_context(ours.run(query="bench"))
    drain_sdk()
    kept.append(None)
    sdk = kept_bytes(anchor, drain_sdk)
    kept.clear()
    exporter = runtime.ACTIVE.exporter
    assert exporter is not None
    exporter._start = lambda: None  # type: ignore[method-assign]
    own = kept_bytes(lambda: traced(**ARGUMENTS), lambda: None)
    os._exit(report({"sdk": sdk, "ours": own}))


def kept_bytes(call: Callable[[], Any], drain: Callable[[], Any], count: int = 2_000) -> float:
    for _ in range(100):
        call()
    drain()
    gc.collect()
    tracemalloc.start()
    for _ in range(count):
        call()
    drain()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / count


def growth() -> float:
    """MiB of memory that the second half of 1,200,000 calls added, after the first 200,000."""
    ours = install_without_http()
    traced = ours.tool(search)

    def calls(count: int) -> float:
        for number in range(count):
            with ours.run(query="bench") if number % 50 == 0 else contextlib.nullcontext():
                traced(**ARGUMENTS)
            if number % 10_000 == 0:
                ours.flush(30)
        ours.flush(30)
        gc.collect()
        return resident()

    before = calls(200_000)
    return calls(1_000_000) - before


def resident() -> float:
    """MiB of memory that the process holds now."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def start_cost() -> float:
    """CPU milliseconds that the start-up hook of `pdoctor run` adds to a Python program that does nothing."""
    import pdoctor_trace

    hook = os.path.join(os.path.dirname(pdoctor_trace.__file__), "startup")
    return 1e3 * (least_cpu({"PYTHONPATH": hook}) - least_cpu({}))


def least_cpu(environment: dict[str, str], times: int = 9) -> float:
    found = []
    for _ in range(times):
        before = os.times()
        subprocess.run([sys.executable, "-c", "pass"], env={**os.environ, **environment}, check=True)
        after = os.times()
        found.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    return min(found)


def report(value: Any) -> int:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
    return 0


def child(group: str) -> None:
    if group == "memory":
        memory()
    if group == "growth":
        report(growth())
        return
    report(measure({"tight": tight_loop, "langchain": langchain}[group]()))


def in_child(group: str) -> Any:
    """Frameworks are patched globally, so each group has a process of its own."""
    environment = {**os.environ, "PDOCTOR_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, __file__, "--child", group],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def results() -> dict[str, float]:
    """The ratios that have targets, and the numbers behind them."""
    tight, chain, kept = in_child("tight"), in_child("langchain"), in_child("memory")
    anchor, chain_anchor = statistics.median(tight["otel span"]), statistics.median(chain["otel span"])
    added = [traced - plain for traced, plain in zip(chain["ours"], chain["plain"], strict=True)]
    idle = [off - bare for off, bare in zip(tight["ours, disabled"], tight["bare"], strict=True)]
    return {
        "tight loop": statistics.median(tight["ours"]) / anchor,
        "inside LangChain, added": statistics.median(added) / chain_anchor,
        "disabled": statistics.median(idle) / anchor,
        "memory": kept["ours"] / kept["sdk"],
        "zero-code start, CPU ms": start_cost(),
        "growth over 1,000,000 calls, MiB": in_child("growth"),
        "anchor us": anchor,
        "ours us": statistics.median(tight["ours"]),
        "bytes per pending span": kept["ours"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    found = results()
    if options.json:
        report(found)
    else:
        for name, value in found.items():
            target = TARGETS.get(name)
            verdict = (
                "" if target is None else f"  target <= {target}: {'ok' if value <= target else 'MISSED'}"
            )
            print(f"{name:34} {value:9.3f}{verdict}")
    return int(any(found[name] > target for name, target in TARGETS.items()))


if __name__ == "__main__":
    sys.exit(main())

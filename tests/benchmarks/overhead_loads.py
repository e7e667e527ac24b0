"""What `bench_overhead.py` times, one process per load and tracer; prints one JSON line.

Runs in environments that hold one tracer each, so at the top it imports the standard library only.
Every load has an untraced twin in the same process. Variants run in short rounds, interleaved in
shuffled order, so that a noisy neighbour hits all alike; CPU time includes the exporters' threads.

    python overhead_loads.py LOAD [TRACER]
    valgrind --tool=callgrind --instr-atstart=no python overhead_loads.py LOAD TRACER VARIANT CALLS
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import contextvars
import gc
import itertools
import json
import logging
import os
import random
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ROUNDS = 15
TOOLS_PER_AGENT_RUN = 50
ARGUMENTS = {"query": "flights from Oslo to Lisbon on 2026-03-14", "limit": 5, "currency": "EUR"}
RESULT = {"items": [{"id": i, "price": 100.5 + i, "carrier": f"XX{i:03}", "stops": i % 3} for i in range(5)]}
OURS, OPENINFERENCE, OPENLLMETRY = "ours", "openinference", "openllmetry"
ANCHOR, PLAIN, TRACED, DISABLED, RUN = "otel span", "plain", "traced", "disabled", "run"
WITHOUT_CHAT = "traced without chat spans"
IN_PLACE = "otel span in the tool's place"
"""The anchor among the framework's own code, which leaves nothing of it in the processor's caches."""

Action = Callable[[], Any]


def search(query: str, limit: int, currency: str) -> dict[str, Any]:
    return RESULT


@dataclass
class Variant:
    """One way to call the tool."""

    call: Action
    calls: int
    """`call`s in a row before another variant has its turn."""
    tools: int = 1
    """Tool calls that one `call` makes."""
    before: Action = lambda: None
    """Makes the process fit for this variant."""
    warm_up: int = 0
    """`call`s after `before` that do not count."""


@dataclass
class Load:
    """The variants to compare and a way to empty all exporters."""

    variants: dict[str, Variant]
    drains: dict[str, Action]
    """What empties the exporter of the anchor, and of the tracer."""
    anchor_threads: set[threading.Thread]
    """Export for the anchor; threads that come later export for the tracer, if they are daemons."""
    kept: list[Any] = field(default_factory=list)
    """Holds what the SDK's exporter was given, once it holds anything."""
    begin_round: Action = lambda: None

    def drain(self) -> None:
        for action in self.drains.values():
            action()


# -- the anchor


def sdk(kept: list[Any]) -> tuple[Any, Any]:
    """(provider, batch processor) whose exporter does nothing; it fills `kept` once that is not empty."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Nowhere(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            if kept:
                kept.extend(spans)
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    processor = BatchSpanProcessor(Nowhere(), max_queue_size=1 << 16, max_export_batch_size=512)
    provider.add_span_processor(processor)
    return provider, processor


def anchor(provider: Any) -> Action:
    """An idiomatic SDK span around the tool: six attributes, JSON by the standard library."""
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

    return otel_span


# -- our tracer


def install_without_http() -> Any:
    """Our tracer with everything but the socket: the exporter's thread encodes to OTLP bytes."""
    import pdoctor_trace
    from pdoctor_trace import runtime
    from pdoctor_trace.export import Exporter
    from pdoctor_trace.sender import Answer

    class Nowhere:
        def send(self, body: bytes) -> Answer:
            return Answer(200)

        def forget(self) -> None:
            pass

    pdoctor_trace.install(endpoint="http://127.0.0.1:9", queue_size=1 << 16)
    runtime.ACTIVE.exporter = Exporter(runtime.ACTIVE.settings, Nowhere())  # type: ignore[arg-type]
    return pdoctor_trace


class Switch:
    """Turns our tracer on and off; `begin_round` also begins a new agent run."""

    def __init__(self, ours: Any) -> None:
        from pdoctor_trace import runtime

        self._ours, self._active = ours, runtime.ACTIVE
        self._run = contextlib.ExitStack()

    def begin_round(self) -> None:
        self.on()
        self._run.close()
        self._run.enter_context(self._ours.run(query="bench"))

    def on(self) -> None:
        self._active.on = True

    def off(self) -> None:
        self._active.on = False


# -- loads


def load_with_anchor(calls: int) -> Load:
    kept: list[Any] = []
    provider, processor = sdk(kept)
    threads = set(threading.enumerate()) - {threading.main_thread()}
    variants = {ANCHOR: Variant(anchor(provider), calls)}
    return Load(variants, {ANCHOR: processor.force_flush}, threads, kept)


def add_ours(load: Load) -> tuple[Any, Switch]:
    ours = install_without_http()
    switch = Switch(ours)

    def drain() -> None:
        if not ours.flush(60):
            raise SystemExit("our exporter did not finish")

    load.drains[TRACED], load.begin_round = drain, switch.begin_round
    return ours, switch


def add_peer(load: Load, framework: str, tracer: str) -> None:
    """Its own provider, so that its exporter's thread is not the anchor's."""
    provider, processor = sdk(load.kept)
    load.drains[TRACED] = processor.force_flush
    instrument(framework, tracer, provider)


def tight(tracer: str) -> Load:
    load = load_with_anchor(200)
    ours, switch = add_ours(load)
    traced = ours.tool(search)
    call = lambda: traced(**ARGUMENTS)  # noqa: E731
    load.variants[PLAIN] = Variant(lambda: search(**ARGUMENTS), 200)
    load.variants[TRACED] = Variant(call, 200, before=switch.on)
    load.variants[DISABLED] = Variant(call, 200, before=switch.off)
    return load


def with_sdk_spans(tracer: str) -> Load:
    """Our tracer in a host that has a TracerProvider: a real span beside each record."""
    from opentelemetry import trace

    load = tight(tracer)
    drain = load.drains[TRACED]
    provider, processor = sdk([])
    trace.set_tracer_provider(provider)
    load.drains[TRACED] = lambda: (drain(), processor.force_flush())
    return load


def through_the_sdk(tracer: str) -> Load:
    """The same with `PDOCTOR_EXPORT=otel`: the real span alone."""
    load = with_sdk_spans(tracer)
    sys.modules["pdoctor_trace"].install(export="otel")
    return load


def langchain(tracer: str) -> Load:
    load = load_with_anchor(10)
    if tracer == OURS:
        _, switch = add_ours(load)
        plain, traced = langchain_tools()
        load.variants[PLAIN] = Variant(lambda: plain.invoke(ARGUMENTS), 10)
        load.variants[TRACED] = Variant(lambda: traced.invoke(ARGUMENTS), 10, before=switch.on)
        load.variants[DISABLED] = Variant(lambda: traced.invoke(ARGUMENTS), 10, before=switch.off)
        return load
    from langchain_core.callbacks import BaseCallbackManager
    from langchain_core.tools import StructuredTool

    original = BaseCallbackManager.__init__
    add_peer(load, "langchain", tracer)
    patched = BaseCallbackManager.__dict__["__init__"]
    tool = StructuredTool.from_function(search, name="search", description="Search.")

    def put(function: Any) -> Action:
        return lambda: setattr(BaseCallbackManager, "__init__", function)

    for name, function in ((PLAIN, original), (TRACED, patched)):
        load.variants[name] = Variant(lambda: tool.invoke(ARGUMENTS), 10, before=put(function), warm_up=5)
    return load


def langchain_tools() -> tuple[Any, Any]:
    """The same tool without our wrapper and with it; classes side by side keep the type caches warm."""
    from langchain_core.tools import BaseTool, StructuredTool

    class UntracedTool(StructuredTool):
        run = BaseTool.__dict__["run"].__wrapped__

    made = {"name": "search", "description": "Search."}
    return UntracedTool.from_function(search, **made), StructuredTool.from_function(search, **made)


def openai_agents(tracer: str) -> Load:
    """Runs of an agent whose model asks for 50 calls at once and then says that it is done.

    A fiftieth of the run and of its two replies counts for each call. The model is scripted: nobody has a
    request to tell of, and tracers that make a span of each reply make two for fifty calls.
    """
    load = load_with_anchor(50)
    os.environ.setdefault("OPENAI_API_KEY", "none")
    if tracer == OURS:
        add_ours(load)
    from agents import set_trace_processors, set_tracing_disabled

    set_trace_processors([])
    call, in_place = agent_run(lambda: None), agent_run(load.variants[ANCHOR].call)
    if tracer == OURS:
        set_tracing_disabled(True)
        before = our_patches("openai_agents")
        load.begin_round = lambda: None
    else:
        add_peer(load, "openai_agents", tracer)
        before = {
            PLAIN: lambda: set_tracing_disabled(True),
            TRACED: lambda: set_tracing_disabled(False),
        }
    for name, action in before.items():
        load.variants[name] = Variant(call, 1, TOOLS_PER_AGENT_RUN, action, warm_up=1)
    load.variants[IN_PLACE] = Variant(in_place, 1, TOOLS_PER_AGENT_RUN, before[PLAIN], warm_up=1)
    return load


def our_patches(framework: str) -> dict[str, Action]:
    """What takes our wrappers of a framework off, and what puts them on again."""
    rows: Any = sys.modules["pdoctor_trace.installation"].HERE.hooks.rows

    places = []
    for row in rows:
        if row.framework == framework and row.state == "patched":
            holder: Any = sys.modules[row.target.module]
            *owner, name = row.target.attribute.split(".")
            for part in owner:
                holder = getattr(holder, part)
            wrapper = vars(holder)[name]
            places.append((holder, name, wrapper, wrapper.__wrapped__))

    def unwrap() -> None:
        for holder, name, _, original in places:
            setattr(holder, name, original)

    def wrap() -> None:
        for holder, name, wrapper, _ in places:
            setattr(holder, name, wrapper)

    return {PLAIN: unwrap, TRACED: wrap}


def agent_run(inside: Action) -> Action:
    """Runs of an agent whose tool does that."""
    from agents import Agent, Runner, function_tool
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    @function_tool
    def search_tool(query: str, limit: int, currency: str) -> str:
        """Search for flights."""
        inside()
        return "x" * 300

    def asked(number: int) -> Any:
        return ResponseFunctionToolCall(
            arguments=json.dumps(ARGUMENTS),
            call_id=f"call_{number}",
            name="search_tool",
            type="function_call",
            id=f"item_{number}",
        )

    text = ResponseOutputText(annotations=[], text="done", type="output_text")
    done = ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=[text])

    class Scripted(Model):
        turn = 0

        async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
            self.turn += 1
            calls = [asked(number) for number in range(TOOLS_PER_AGENT_RUN)]
            return ModelResponse(output=calls if self.turn % 2 else [done], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    agent = Agent(name="bench", instructions="x", model=Scripted(), tools=[search_tool])
    loop = asyncio.new_event_loop()
    return lambda: loop.run_until_complete(Runner.run(agent, "go", max_turns=5))


def model(tracer: str) -> Load:
    """Requests of a loop of one's own on the OpenAI SDK, with a `chat` span each."""
    load = load_with_anchor(10)
    _, switch = add_ours(load)
    ask = openai_request()
    settings = sys.modules["pdoctor_trace.runtime"].ACTIVE.settings
    patches = our_patches("openai")

    def chat_spans(on: bool) -> None:
        patches[TRACED]()
        object.__setattr__(settings, "chat_spans", on)

    load.begin_round = switch.begin_round
    load.variants[PLAIN] = Variant(ask, 5, before=patches[PLAIN], warm_up=1)
    load.variants[TRACED] = Variant(ask, 5, before=lambda: chat_spans(True), warm_up=1)
    load.variants[WITHOUT_CHAT] = Variant(ask, 5, before=lambda: chat_spans(False), warm_up=1)
    return load


def openai_request() -> Action:
    """Asks for an answer that a transport of its own has ready."""
    import httpx
    from openai import OpenAI

    said = {"role": "assistant", "content": "It is 21 degrees in Lisbon."}
    answer = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-bench",
        "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
        "usage": {"prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99},
    }
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
    client = OpenAI(api_key="none", base_url="http://model/v1", http_client=httpx.Client(transport=transport))
    parameters = {"type": "object", "properties": {"query": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "search", "parameters": parameters}}
    days = itertools.count()

    def ask() -> Any:
        question = {"role": "user", "content": f"How warm will it be in Lisbon in {next(days)} days?"}
        offered: Any = {"model": "gpt-bench", "messages": [question], "tools": [tool]}
        return client.chat.completions.create(**offered)

    return ask


def instrument(framework: str, tracer: str, provider: Any) -> None:
    """Turn a peer on as its documentation says, into the anchor's provider."""
    import importlib

    module, name, options = {
        ("langchain", OPENINFERENCE): (
            "openinference.instrumentation.langchain",
            "LangChainInstrumentor",
            {},
        ),
        ("langchain", OPENLLMETRY): ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor", {}),
        ("openai_agents", OPENINFERENCE): (
            "openinference.instrumentation.openai_agents",
            "OpenAIAgentsInstrumentor",
            {"exclusive_processor": True},
        ),
        ("openai_agents", OPENLLMETRY): (
            "opentelemetry.instrumentation.openai_agents",
            "OpenAIAgentsInstrumentor",
            {},
        ),
    }[framework, tracer]
    getattr(importlib.import_module(module), name)().instrument(tracer_provider=provider, **options)


# -- measurements


def cpu(load: Load, rounds: int, turns: int) -> dict[str, list[float]]:
    """CPU microseconds per tool call, one number per turn and variant.

    In each round the variants take `turns` short turns side by side, so that those of one turn see the same
    noise and can be compared one by one. What the host's threads spend is read around each turn; what
    exporting cost in the round, in threads or when drained, is shared out among the calls of the variant that
    it was for. What was imported is out of the garbage collector's sight: going through a framework takes it
    50 ms, and chance would say which variant has to wait for that.
    """
    found: dict[str, list[float]] = collections.defaultdict(list)
    names = list(load.variants)
    for number in range(rounds + 1):
        load.begin_round()
        load.drain()
        host: dict[str, list[float]] = collections.defaultdict(list)
        exporting = exporters(load)
        for _ in range(turns):
            random.shuffle(names)
            for name in names:
                host[name].append(one_turn(load, load.variants[name]))
        drained = {name: host_cpu_of(action) for name, action in load.drains.items()}
        spent = {name: now - exporting[name] + drained[name] for name, now in exporters(load).items()}
        if number:  # the first round only warms up
            for name, variant in load.variants.items():
                made = turns * (variant.calls + variant.warm_up) * variant.tools
                share = spent.get(name, 0.0) / made
                found[name] += [(turn / (variant.calls * variant.tools) + share) * 1e6 for turn in host[name]]
        gc.collect()
        gc.freeze()
    return found


def one_turn(load: Load, variant: Variant) -> float:
    """CPU seconds of all threads but the exporters'."""
    variant.before()
    for _ in range(variant.warm_up):
        variant.call()
    exporting = sum(exporters(load).values())
    start = time.process_time()
    for _ in range(variant.calls):
        variant.call()
    spent = time.process_time() - start
    return spent - (sum(exporters(load).values()) - exporting)


def host_cpu_of(action: Action) -> float:
    """CPU seconds of this thread; an SDK's batch processor exports in the thread that drains it."""
    start = time.thread_time()
    action()
    return time.thread_time() - start


def exporters(load: Load) -> dict[str, float]:
    """CPU seconds so far of the threads that export for the anchor, and for the tracer."""
    found = {ANCHOR: 0.0, TRACED: 0.0}
    for thread in threading.enumerate():
        if thread.daemon and thread.ident is not None:
            clock = time.pthread_getcpuclockid(thread.ident)
            found[ANCHOR if thread in load.anchor_threads else TRACED] += time.clock_gettime(clock)
    return found


def let_callgrind_count(load: Load, name: str, calls: int) -> None:
    """Has callgrind, under which this runs, count the instructions of so many calls and their export."""

    def switch(to: str) -> None:
        subprocess.run(["callgrind_control", "-i", to, str(os.getpid())], check=True, capture_output=True)

    variant = load.variants[name]
    load.begin_round()
    variant.before()
    for _ in range(3):
        variant.call()
    load.drain()
    gc.collect()
    gc.freeze()
    switch("on")
    for _ in range(calls):
        variant.call()
    load.drains.get(name, lambda: None)()
    switch("off")


def kept_bytes(load: Load) -> dict[str, float]:
    """Bytes kept alive per finished span that still waits: for the SDK in a list, for us in our queue."""
    load.begin_round()
    load.drain()
    load.kept.append(None)
    found = {ANCHOR: bytes_per_call(load.variants[ANCHOR], load.drain)}
    load.variants[TRACED].before()
    drain = load.drain
    if "pdoctor_trace" in sys.modules:
        queue_without_a_thread()
        drain = lambda: None  # noqa: E731
    found[TRACED] = bytes_per_call(load.variants[TRACED], drain)
    if "pdoctor_trace" in sys.modules:
        run = Variant(a_run_of_its_own(), 1)
        found[RUN] = contextvars.Context().run(bytes_per_call, run, drain)
    return found


def a_run_of_its_own() -> Action:
    """A run without calls: one span, with the question."""
    ours = sys.modules["pdoctor_trace"]

    def run() -> None:
        with ours.run(query="Is there a flight from Oslo to Lisbon?"):
            pass

    return run


def queue_without_a_thread() -> None:
    from pdoctor_trace import runtime
    from pdoctor_trace.export import Exporter

    class Idle(Exporter):
        def _start(self) -> None:
            pass

    runtime.ACTIVE.exporter = Idle(runtime.ACTIVE.settings)


def bytes_per_call(variant: Variant, drain: Action) -> float:
    times = 2_000 // variant.tools
    for _ in range(times // 10):
        variant.call()
    drain()
    gc.collect()
    tracemalloc.start()
    for _ in range(times):
        variant.call()
    drain()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / (times * variant.tools)


def growth(calls: int = 1_000_000, warm_up: int = 200_000) -> dict[str, float]:
    """What `calls` more calls in runs of 50 leave behind: MiB of resident memory, objects, blocks."""
    ours = install_without_http()
    traced = ours.tool(search)

    def after(count: int) -> tuple[float, int, int]:
        for number in range(count // 50):
            with ours.run(query="bench"):
                for _ in range(50):
                    traced(**ARGUMENTS)
            if number % 200 == 0:
                ours.flush(60)
        ours.flush(60)
        gc.collect()
        return resident(), len(gc.get_objects()), sys.getallocatedblocks()

    before = after(warm_up)
    now = after(calls)
    spans = ours.status()["spans"]
    return {
        "MiB": now[0] - before[0],
        "objects": now[1] - before[1],
        "blocks": now[2] - before[2],
        "exported": spans["exported"],
        "dropped": spans["dropped"],
    }


def resident() -> float:
    """MiB of memory that the process holds now."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


LOADS: dict[str, tuple[Callable[[str], Load], int]] = {
    "tight": (tight, 5),
    "with sdk spans": (with_sdk_spans, 5),
    "through the sdk": (through_the_sdk, 5),
    "langchain": (langchain, 15),
    "openai_agents": (openai_agents, 12),
    "model": (model, 15),
}
"""Load -> how to make it, turns per round."""


def main() -> None:
    logging.disable(logging.CRITICAL)
    what, tracer = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else OURS
    if what == "growth":
        found: dict[str, Any] = growth()
    elif len(sys.argv) > 3:
        load = LOADS[what][0](tracer)
        name, calls = sys.argv[3], int(sys.argv[4])
        let_callgrind_count(load, name, calls)
        found = {"tool calls": calls * load.variants[name].tools}
    else:
        make, turns = LOADS[what]
        load = make(tracer)
        found = {"cpu": cpu(load, ROUNDS, turns), "kept": kept_bytes(load)}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the exporters' threads and queues have nothing more to say


if __name__ == "__main__":
    main()

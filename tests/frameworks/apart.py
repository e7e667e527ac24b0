"""What ends or stalls a framework: run in processes of their own, with and without the tracer.

    python -m tests.frameworks.apart TEST_MODULE TEST_CLASS

Prints one JSON line: for each fatal exception or argument of the driver how the agent ended (or `stuck`),
which tools ran and which calls were recorded, `traced` and `untraced`. What a framework does to itself must
be the same without us. The framework is imported once; each scenario is a fork of that.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from typing import Any

os.environ.setdefault("LANGSMITH_TRACING", "false")

PATIENCE = 6.0
"""Seconds that the tool has to run once the model was asked, and the agent to end after that."""
BOUND = 100
"""Seconds after which a scenario is killed, whatever it does."""


def main(module: str, test_class: str) -> None:
    driver = getattr(importlib.import_module(module), test_class).driver
    import pdoctor_trace

    pdoctor_trace.uninstall()
    started = [
        (name, how, _start(driver, name, how)) for name in driver.fatal for how in ("traced", "untraced")
    ]
    told: dict[str, dict[str, Any]] = {name: {} for name in driver.fatal}
    for name, how, (process, reading) in started:
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        os.waitpid(process, 0)
        told[name][how] = json.loads(text or '{"ending": "killed", "ran": [], "calls": [], "failures": {}}')
    sys.stdout.write(json.dumps({"apart": told}) + "\n")


def _start(driver: Any, name: str, how: str) -> tuple[int, int]:
    """(process, file to read its report from)."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    os.close(reading)
    signal.alarm(BOUND)
    try:
        scenario(driver, name, how == "traced", writing)
    finally:
        os._exit(1)


def scenario(driver: Any, name: str, traced: bool, writing: int) -> None:
    """Run the agent and report; the process ends in here."""
    import pdoctor_trace
    from tests.frameworks.conformance import ToolLog
    from tests.support.hostile import ARGUMENTS, OUTLAWS
    from tests.support.sink import OtlpSink

    log, telling = ToolLog(), threading.Lock()
    with driver.server() as models, OtlpSink() as sink:
        if traced:
            pdoctor_trace.install(endpoint=sink.url, batch_delay=0.0, content="full")

        def tell(ending: str) -> None:
            with telling:
                pdoctor_trace.flush()
                os.write(writing, json.dumps(told(ending, log, sink)).encode())
                os._exit(0)

        def watch() -> None:
            while not models.requests:
                time.sleep(0.05)
            asked = time.monotonic()
            while not log.entries and time.monotonic() < asked + PATIENCE:
                time.sleep(0.05)
            time.sleep(PATIENCE)
            tell("stuck")

        threading.Thread(target=watch, daemon=True).start()
        if name in OUTLAWS:
            script, tool = "fake.hostile", log.raising(OUTLAWS[name]())
        else:
            script, tool = f"fake.args{list(ARGUMENTS).index(name)}", log.taking()
        outcome = driver.run(models, script, [tool], driver.sync_mode)
        tell(str(outcome.alike()))


def told(ending: str, log: Any, sink: Any) -> dict[str, Any]:
    from pdoctor_trace.harmless import FAILURES

    calls = [(call.tool, call.executed, call.kind) for call in sink.calls]
    return {"ending": ending, "ran": log.names, "calls": calls, "failures": dict(FAILURES)}


if __name__ == "__main__":
    main(*sys.argv[1:3])

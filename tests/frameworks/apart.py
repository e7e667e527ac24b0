"""A tool that raises one hostile exception, run in this process, which may end or be stuck afterwards.

    apart.py TEST_MODULE TEST_CLASS OUTLAW traced|untraced

Prints one JSON line: how the agent ended (or `stuck`), which tools ran, which calls were recorded. The tests
start it twice and compare: what a framework does to itself must be the same without us.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]
os.environ.setdefault("LANGSMITH_TRACING", "false")

PATIENCE = 4.0
"""Seconds after the tool ran when an agent that has not ended is stuck."""


def main(module: str, test_class: str, outlaw: str, traced: bool) -> None:
    import pdoctor_trace

    pdoctor_trace.uninstall()
    driver = getattr(importlib.import_module(module), test_class).driver
    from conformance import ToolLog
    from hostile import OUTLAWS
    from otlp_sink import OtlpSink

    log, telling = ToolLog(), threading.Lock()
    with driver.server() as models, OtlpSink() as sink:
        if traced:
            pdoctor_trace.install(endpoint=sink.url, batch_delay=0.0, content="full")

        def tell(ending: Any) -> None:
            with telling:
                pdoctor_trace.flush()
                sys.__stdout__.write(json.dumps(told(ending, log, sink)) + "\n")
                sys.__stdout__.flush()
                os._exit(0)

        def watch() -> None:
            while not log.entries:
                time.sleep(0.05)
            time.sleep(PATIENCE)
            tell("stuck")

        threading.Thread(target=watch, daemon=True).start()
        outcome = driver.run(models, "fake.hostile", [log.raising(OUTLAWS[outlaw]())], driver.sync_mode)
        tell(str(outcome.alike()))


def told(ending: Any, log: Any, sink: Any) -> dict[str, Any]:
    from pdoctor_trace.guard import FAILURES

    calls = [(call.tool, call.executed, call.kind) for call in sink.calls]
    return {"ending": ending, "ran": log.names, "calls": calls, "failures": dict(FAILURES)}


if __name__ == "__main__":
    main(*sys.argv[1:4], sys.argv[4] == "traced")

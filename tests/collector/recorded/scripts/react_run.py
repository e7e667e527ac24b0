"""Record a scripted ReAct run: a thought beside each of two calls, one after the other, then the answer.

`react_run.py strands test_strands`, with the environment of a framework, records what our tracer sends of the
agent that the framework's conformance suite drives, or that of a class of it (`react_run.py dspy test_dspy
TestReAct`); `react_run.py openinference langchain_agent` records an
instrumentation with one of the scripts here. From the project's root, with PYTHONPATH=. around it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import recording as recordings
from google.protobuf.json_format import MessageToDict
from recording import OSLO, ROME, Recording, hex_ids, models, recording

FOLDER = Path(__file__).resolve().parents[2] / "react_runs"


def write(made: Recording, name: str) -> None:
    document = hex_ids(MessageToDict(made.request))
    for resource in document["resourceSpans"]:
        said = resource.get("resource", {}).get("attributes", [])
        resource["resource"] = {"attributes": [one for one in said if one["key"] == "service.name"]}
    text = made.anonymous(json.dumps(document, separators=(",", ":")))
    (FOLDER / f"{name}.json").write_text(text + "\n")


def of_framework(name: str, module: str, kind: str = "") -> None:
    with recording() as made:
        os.environ.update(PDOCTOR_ENDPOINT=made.sink, PDOCTOR_CONTENT="full")
        import pdoctor_trace

        tests = importlib.import_module(f"tests.frameworks.{module}")
        from tests.frameworks.conformance import Conformance, ToolLog

        (driver, *_) = (
            one.driver
            for one in vars(tests).values()
            if isinstance(one, type) and issubclass(one, Conformance) and getattr(one, "driver", None)
            if kind in ("", one.__name__)
        )
        mode = driver.sync_mode or driver.modes[0]
        with driver.server() as server:
            driver.run(server, "fake.talk.one.talk.one", ToolLog().functions(), mode)
        pdoctor_trace.flush()
        write(made, name)


def of_instrumentation(name: str, script: str) -> None:
    models.STEPS.update(oslo=[("get_weather", OSLO)], rome=[("get_weather", ROME)])
    recordings.STORY = "fake.talk.oslo.talk.rome"
    Recording.write = lambda made, *_, **__: write(made, f"{name}_{script}")  # type: ignore[method-assign]
    importlib.import_module(script).main(name)


if __name__ == "__main__":
    (of_framework if sys.argv[2].startswith("test_") else of_instrumentation)(*sys.argv[1:])

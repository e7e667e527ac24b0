"""Record what our tracer sends of a scripted ReAct run of one framework: react_run.py NAME TEST_MODULE.

The agent is the one that the framework's conformance suite drives: a thought beside each of two calls, one
after the other, then the answer. Run from the project's root with the framework's environment:

    PYTHONPATH=. .environments/strands/bin/python SCRIPTS/react_run.py strands test_strands
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from recording import hex_ids, recording

FOLDER = Path(__file__).resolve().parents[2] / "react_runs"

SCRIPT = "fake.talk.one.talk.one"


def main(name: str, module: str) -> None:
    with recording() as made:
        os.environ.update(PDOCTOR_ENDPOINT=made.sink, PDOCTOR_CONTENT="full")
        import pdoctor_trace

        tests = importlib.import_module(f"tests.frameworks.{module}")
        from tests.frameworks.conformance import Conformance, ToolLog

        (driver, *_) = (
            one.driver
            for one in vars(tests).values()
            if isinstance(one, type) and issubclass(one, Conformance) and getattr(one, "driver", None)
        )
        log = ToolLog()
        outcome = driver.run(made.models, SCRIPT, log.functions(), driver.sync_mode or driver.modes[0])
        pdoctor_trace.flush()
        document = hex_ids(MessageToDict(made.request))
        for resource in document["resourceSpans"]:
            said = resource.get("resource", {}).get("attributes", [])
            resource["resource"] = {"attributes": [one for one in said if one["key"] == "service.name"]}
        text = made.anonymous(json.dumps(document, separators=(",", ":")))
    (FOLDER / f"{name}.json").write_text(text + "\n")
    sys.stdout.write(f"{name}: {log.names} {outcome}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

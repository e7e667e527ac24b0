"""The real `opentelemetry-instrument` over a real agent, beside vendors that fail, with OTEL_* variables set.

Runs in an environment of its own below `.environments/`, kept between runs.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import time
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.sink import OtlpSink

pytestmark = pytest.mark.heavy
ROOT = Path(__file__).parents[2]
PACKAGES = (
    "langchain-core",
    "opentelemetry-distro",
    "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry-instrumentation-threading",
    "orjson",
    "wrapt",
)
SAY = """
tracer = sys.modules.get("pdoctor_trace")
installed = hasattr(tracer, "status") and tracer.status()["installed"]
print(json.dumps({"installed": installed, "theirs": os.environ.get("THEIRS", "")}))
sys.exit(7)
"""
EMPTY = "import json, os, sys" + SAY
AGENT = (
    """
import json, os, sys, threading
from langchain_core.tools import tool

@tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b

found = add.invoke({"type": "tool_call", "id": "call_1", "name": "add", "args": {"a": 1, "b": 2}})
assert found.content == "3"
threads = [threading.Thread(target=add.invoke, args=({"a": n, "b": n},)) for n in range(2)]
[t.start() for t in threads], [t.join() for t in threads]
"""
    + SAY
)


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of programs of the environment."""
    home = ROOT / ".environments" / "opentelemetry"
    python = home / "bin" / "python"
    if (home / "bin" / "opentelemetry-instrument").exists():
        return home / "bin"
    venv.create(home, with_pip=True)
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run([*install, *PACKAGES], check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return home / "bin"


@pytest.fixture
def records() -> Iterator[OtlpSink]:
    with OtlpSink() as server:
        yield server


@pytest.fixture
def backend() -> Iterator[OtlpSink]:
    """Where the host's own exporter sends."""
    with OtlpSink() as server:
        yield server


def distribution(folder: Path, name: str, groups: dict[str, dict[str, str]], **modules: str) -> Path:
    """An installed distribution, as pip leaves it: modules, metadata and entry points in one folder."""
    home = folder / name
    info = home / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
    sections = [
        "\n".join([f"[{group}]", *(f"{key} = {value}" for key, value in points.items())])
        for group, points in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(sections) + "\n")
    for module, source in modules.items():
        (home / f"{module}.py").write_text(source)
    return home


def ours(folder: Path) -> list[Path]:
    """This project with the entry points that pyproject.toml declares."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    groups = {group: found for group, found in points.items() if group.startswith("opentelemetry_")}
    return [distribution(folder, "pdoctor_trace", groups), ROOT]


def vendor(folder: Path, name: str, body: str) -> Path:
    """Another vendor's instrumentor; `body` runs where it instruments, `at_import` when it is loaded."""
    at_import, _, instrument = body.partition("|")
    source = (
        "import os\n"
        f"{at_import}\n"
        "class Instrumentor:\n"
        "    def instrument(self, **kwargs):\n"
        f"        {instrument or 'pass'}\n"
    )
    group = {"opentelemetry_instrumentor": {name: f"{name}_module:Instrumentor"}}
    return distribution(folder, name, group, **{f"{name}_module": source})


LARGEST_SHARE = 0.25
"""Of what `opentelemetry-instrument` itself adds to the start of an empty program."""
GOOD = "|os.environ['THEIRS'] = os.environ.get('THEIRS', '') + 'good '"
FAILURES = {
    "cannot be imported": "raise ImportError('theirs')",
    "fails when loaded": "raise ValueError('theirs')",
    "fails when it instruments": "|raise AttributeError('theirs')",
}


class Outcome:
    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.errors = done.returncode, done.stderr
        self.said: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {}


def instrumented(
    programs: Path,
    path: list[Path],
    tmp_path: Path,
    records: OtlpSink | None,
    *options: str,
    agent: str = AGENT,
    **environment: str,
) -> Outcome:
    script = tmp_path / "agent.py"
    script.write_text(agent)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "PDOCTOR_", "PYTHONPATH"))}
    base = {
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_TRACES_EXPORTER": "none",
    }
    if records is not None:
        base["PDOCTOR_ENDPOINT"] = records.url
    command = [str(programs / "opentelemetry-instrument"), *options, str(programs / "python"), str(script)]
    return Outcome(
        subprocess.run(
            command,
            env={**kept, **base, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    )


def test_an_agent_is_traced_without_a_line_of_code(programs: Path, tmp_path: Path, records: OtlpSink) -> None:
    outcome = instrumented(programs, ours(tmp_path), tmp_path, records)
    assert (outcome.code, outcome.errors) == (7, "")
    assert outcome.said["installed"]
    assert len(records.calls) == 3
    assert "call_1" in {call.call_id for call in records.calls}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("order", ["before us", "after us"])
def test_another_vendors_failure_does_not_disable_us(
    programs: Path, tmp_path: Path, failure: str, order: str
) -> None:
    bad = vendor(tmp_path, "bad", FAILURES[failure])
    path = [bad, *ours(tmp_path)] if order == "before us" else [*ours(tmp_path), bad]
    outcome = instrumented(programs, path, tmp_path, None, agent=EMPTY)
    assert (outcome.code, outcome.said["installed"]) == (7, True)


@pytest.mark.parametrize(
    "error", ["ImportError('other Python')", "SyntaxError('newer')", "RuntimeError('x')"]
)
@pytest.mark.parametrize("order", ["before us", "after us"])
def test_our_failure_does_not_disable_theirs(programs: Path, tmp_path: Path, error: str, order: str) -> None:
    """As where a library of ours was built for another Python than the one it is injected into."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "orjson.py").write_text(f"raise {error}")
    good = vendor(tmp_path, "good", GOOD)
    path = [good, *ours(tmp_path)] if order == "before us" else [*ours(tmp_path), good]
    outcome = instrumented(programs, [broken, *path], tmp_path, None, agent=EMPTY)
    assert (outcome.code, outcome.said) == (7, {"installed": False, "theirs": "good "})
    assert "this program is not traced" in outcome.errors
    assert "Failed to auto initialize" not in outcome.errors


def test_bad_settings_of_ours_disable_nobody(programs: Path, tmp_path: Path, records: OtlpSink) -> None:
    good = vendor(tmp_path, "good", GOOD)
    strange = {"PDOCTOR_QUEUE_SIZE": "many", "PDOCTOR_REDACTOR": "no.such:thing", "PDOCTOR_CONTENT": "?"}
    outcome = instrumented(programs, [*ours(tmp_path), good], tmp_path, records, **strange)
    assert (outcome.code, outcome.said["theirs"]) == (7, "good ")
    assert len(records.calls) == 3


def test_without_a_collector_the_program_is_the_same(programs: Path, tmp_path: Path) -> None:
    start = time.monotonic()
    outcome = instrumented(programs, ours(tmp_path), tmp_path, None, PDOCTOR_ENDPOINT="http://127.0.0.1:9")
    assert outcome.code == 7
    assert "3 span(s) were not delivered" in outcome.errors
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("listed", ["pdoctor_trace", "requests, pdoctor_trace", "*"])
def test_the_list_of_disabled_instrumentations_is_honoured(
    programs: Path, tmp_path: Path, listed: str
) -> None:
    outcome = instrumented(
        programs,
        ours(tmp_path),
        tmp_path,
        None,
        agent=EMPTY,
        OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=listed,
    )
    assert (outcome.code, outcome.said["installed"]) == (7, False)


def test_a_disabled_sdk_disables_us_unless_we_are_told_otherwise(
    programs: Path, tmp_path: Path, records: OtlpSink
) -> None:
    path = ours(tmp_path)
    assert not instrumented(programs, path, tmp_path, records, OTEL_SDK_DISABLED="true").said["installed"]
    assert records.calls == []
    told = {"OTEL_SDK_DISABLED": "true", "PDOCTOR_TRACE_DISABLED": "false"}
    assert instrumented(programs, path, tmp_path, records, **told).said["installed"]
    assert len(records.calls) == 3


def test_both_paths_have_the_same_spans_and_say_the_same_of_the_sender(
    programs: Path, tmp_path: Path, records: OtlpSink, backend: OtlpSink
) -> None:
    environment = {
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_ENDPOINT": backend.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=secret-of-the-backend",
        "OTEL_RESOURCE_ATTRIBUTES": "team=a%20b%2Cc,service.name=other,empty=",
        "OTEL_SERVICE_NAME": "svc",
        "PDOCTOR_SDK_CONTENT": "true",
    }
    outcome = instrumented(programs, ours(tmp_path), tmp_path, records, **environment)
    assert (outcome.code, outcome.errors) == (7, "")
    assert {s.span_id for s in backend.spans} == {s.span_id for s in records.spans}
    assert len(records.spans) == 3
    for one, other in zip(
        *(sorted(s.spans, key=lambda x: x.span_id) for s in (records, backend)), strict=True
    ):
        assert (one.attributes, one.name, one.start, one.end) == (
            other.attributes,
            other.name,
            other.start,
            other.end,
        )
        for key in ("service.name", "team", "empty"):
            assert one.resource[key] == other.resource[key]
    assert records.spans[0].resource["team"] == "a b,c"
    assert backend.headers[0]["x-key"] == "secret-of-the-backend"
    assert not any("secret-of-the-backend" in str(headers) for headers in records.headers)


@pytest.mark.parametrize("sampler", ["always_off", "traceidratio"])
def test_the_hosts_sampling_does_not_touch_the_records(
    programs: Path, tmp_path: Path, records: OtlpSink, backend: OtlpSink, sampler: str
) -> None:
    environment = {
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_ENDPOINT": backend.url,
        "OTEL_TRACES_SAMPLER": sampler,
        "OTEL_TRACES_SAMPLER_ARG": "0",
    }
    assert instrumented(programs, ours(tmp_path), tmp_path, records, **environment).code == 7
    assert (len(records.calls), backend.spans) == (3, [])


def test_options_of_the_command_and_odd_variables_change_nothing(
    programs: Path, tmp_path: Path, records: OtlpSink
) -> None:
    environment = {
        "OTEL_PROPAGATORS": "none",
        "OTEL_BSP_MAX_QUEUE_SIZE": "2048",
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "2",
        "OTEL_LOG_LEVEL": "debug",
    }
    outcome = instrumented(
        programs, ours(tmp_path), tmp_path, records, "--service_name", "by-option", **environment
    )
    assert outcome.code == 7
    assert len(records.calls) == 3
    assert records.spans[0].resource["service.name"] == "by-option"


def test_we_add_little_to_the_start_and_import_no_framework(programs: Path, tmp_path: Path) -> None:
    """Of the CPU time that `opentelemetry-instrument` adds to `python -c pass`, in turns in one run."""
    code = "import sys, json; print(json.dumps(sorted(sys.modules)))"
    base = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "PDOCTOR_", "PYTHONPATH"))}
    base |= {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "none"}
    with_ours = {"PYTHONPATH": os.pathsep.join(map(str, ours(tmp_path)))}
    python, instrument = str(programs / "python"), str(programs / "opentelemetry-instrument")

    def start(*command: str, **environment: str) -> tuple[float, set[str]]:
        """CPU seconds, and the modules that were loaded."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*command, "-c", code],
            env={**base, **environment},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return spent, set(json.loads(done.stdout))

    _, loaded = start(instrument, python, **with_ours)
    _, without = start(instrument, python)
    assert "pdoctor_trace.boot" in loaded
    assert {name.partition(".")[0] for name in loaded - without} & {
        "langchain_core",
        "pydantic",
        "asyncio",
        "ssl",
    } == set()
    shares = []
    for _ in range(7):
        bare, theirs, both = (
            start(*command, **environment)[0]
            for command, environment in (
                ((python,), {}),
                ((instrument, python), {}),
                ((instrument, python), with_ours),
            )
        )
        shares.append((both - theirs) / (theirs - bare))
    assert statistics.median(shares) < LARGEST_SHARE, shares

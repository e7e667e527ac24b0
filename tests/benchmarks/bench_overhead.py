"""Cost of tracing one tool call: ours beside a bare OpenTelemetry SDK span, OpenInference and OpenLLMetry.

The unit is one bare SDK span measured in the same process (six attributes, JSON by the standard library,
batch processor, an exporter that does nothing). Every figure is the CPU time of all threads, host and
exporter, over an untraced twin in the same process; ours includes encoding to OTLP bytes; HTTP is left
out on all sides. Each tracer has an environment of its own below `.environments/`, made here and kept.
Medians of several processes. Inside openai-agents a call costs the host thirty times what any tracer adds,
so `--only instructions` counts that part with callgrind, which no neighbour disturbs, and a second figure is
in units of an SDK span that the tool itself makes, which finds the processor's caches as cold. Exit code 1
when a target is missed.

    python tests/benchmarks/bench_overhead.py [--json] [--processes N] [--only LOAD]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from overhead_loads import (
    ANCHOR,
    DISABLED,
    IN_PLACE,
    OPENINFERENCE,
    OPENLLMETRY,
    OURS,
    PLAIN,
    RUN,
    TRACED,
    WITHOUT_CHAT,
)

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("langchain", "langchain-core", "openai-agents", "opentelemetry-sdk")
ENVIRONMENTS = {
    OURS: (*FRAMEWORKS, "opentelemetry-api", "orjson", "wrapt"),
    OPENINFERENCE: (
        *FRAMEWORKS,
        "openinference-instrumentation-langchain",
        "openinference-instrumentation-openai-agents",
    ),
    OPENLLMETRY: (
        *FRAMEWORKS,
        "opentelemetry-instrumentation-langchain",
        "opentelemetry-instrumentation-openai-agents",
    ),
}
TRACERS = tuple(ENVIRONMENTS)
PROCESSES = 3
STARTS = 15
VERSIONS = """
import importlib.metadata as metadata, sys
print(*(f"{name} {metadata.version(name)}" for name in sys.argv[1:]), sep=", ")
"""
IMPORTED = """
import sys
loaded = set(sys.modules)
from pdoctor_trace.frameworks import FRAMEWORKS
print(len(loaded & {package for entry in FRAMEWORKS for package in entry.packages}))
print("pdoctor_trace.boot" in loaded)
"""
SPAN, MILLISECONDS, MIB, COUNT = "x one SDK span", "CPU ms", "MiB", ""


class Figure(NamedTuple):
    """One line of the result."""

    name: str
    value: float
    unit: str
    target: float | None = None
    """Largest value that is good enough; None = for comparison only."""
    spread: tuple[float, float] | None = None
    """Least and largest of the processes."""

    @property
    def missed(self) -> bool:
        return self.target is not None and not self.value <= self.target

    def __str__(self) -> str:
        spread = "" if self.spread is None else f"({self.spread[0]:.2f} to {self.spread[1]:.2f})"
        goal = "" if self.target is None else f"<= {self.target:g} {'MISSED' if self.missed else 'ok'}"
        return f"{self.name:46} {self.value:9.3f} {self.unit:15} {spread:18} {goal}".rstrip()


# -- environments


def interpreter(tracer: str) -> Path:
    """The Python of this tracer's environment, made on first use."""
    home = ROOT / ".environments" / f"bench-{tracer}"
    python, complete = home / "bin" / "python", home / "complete"
    packages = ENVIRONMENTS[tracer]
    wanted = "\n".join(packages)
    if not complete.exists() or complete.read_text() != wanted:
        sys.stderr.write(f"bench_overhead: making the environment of {tracer}\n")
        venv.create(home, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, *packages], check=True)
        complete.write_text(wanted)
    return python


def versions(tracer: str) -> str:
    """What stands in the environment of the tracers and frameworks, as `name version, ...`."""
    return said_by(tracer, VERSIONS, *ENVIRONMENTS[tracer])


def said_by(tracer: str, code: str, *arguments: str, **environment: str) -> str:
    """What a short program prints in the tracer's environment."""
    done = subprocess.run(
        [interpreter(tracer), "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def measured(load: str, tracer: str, *counted: str, under: Sequence[str] = ()) -> Any:
    """What one process of its own found out: frameworks are patched for good."""
    path = {"PYTHONPATH": str(ROOT)} if tracer == OURS else {}
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "PDOCTOR_"))}
    done = subprocess.run(
        [*under, interpreter(tracer), Path(__file__).with_name("overhead_loads.py"), load, tracer, *counted],
        capture_output=True,
        text=True,
        env={**clean, **path, "PDOCTOR_ENDPOINT": "http://127.0.0.1:9"},
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"bench_overhead: {load} with {tracer} failed:\n{done.stderr[-4_000:]}")
    return json.loads(done.stdout.splitlines()[-1])


# -- figures


def ratio(cpu: dict[str, list[float]], variant: str, beyond: str | None = None) -> float:
    """CPU of the variant in units of the anchor, without what the variant `beyond` costs, if there is one."""
    costs = cpu[variant]
    if beyond is not None:
        costs = [cost - less for cost, less in zip(costs, cpu[beyond], strict=True)]
    return statistics.median(costs) / statistics.median(cpu[ANCHOR])


def over_processes(name: str, values: Iterable[float], unit: str, target: float | None = None) -> Figure:
    found = sorted(values)
    return Figure(name, statistics.median(found), unit, target, (found[0], found[-1]))


def tight_loop(processes: int) -> list[Figure]:
    found = [measured("tight", OURS) for _ in range(processes)]
    cpus = [one["cpu"] for one in found]
    beside = [measured("with sdk spans", OURS)["cpu"] for _ in range(processes)]
    through = [measured("through the sdk", OURS)["cpu"] for _ in range(processes)]
    kept, of_runs = ([one["kept"][what] / one["kept"][ANCHOR] for one in found] for what in (TRACED, RUN))
    return [
        over_processes("tight loop", (ratio(cpu, TRACED) for cpu in cpus), SPAN, 0.25),
        over_processes("installed but disabled", (ratio(cpu, DISABLED, PLAIN) for cpu in cpus), SPAN, 0.012),
        over_processes(
            "tight loop, beside a span in the host's provider",
            (ratio(cpu, TRACED) for cpu in beside),
            SPAN,
        ),
        over_processes("tight loop, PDOCTOR_EXPORT=otel", (ratio(cpu, TRACED) for cpu in through), SPAN),
        over_processes("memory kept per pending span", kept, SPAN, 0.25),
        over_processes("memory kept per pending span of a run", of_runs, SPAN, 0.25),
        over_processes("one SDK span itself", (statistics.median(cpu[ANCHOR]) for cpu in cpus), "CPU us"),
        over_processes("one call with ours", (statistics.median(cpu[TRACED]) for cpu in cpus), "CPU us"),
    ]


def inside(load: str, title: str, target: float, processes: int) -> list[Figure]:
    """Ours and both peers inside one framework, their processes in turn."""
    cpus = [(tracer, measured(load, tracer)["cpu"]) for _ in range(processes) for tracer in TRACERS]
    figures = []
    for tracer in TRACERS:
        name, goal = f"inside {title}, added by {tracer}", target if tracer == OURS else None
        own = [cpu for one, cpu in cpus if one == tracer]
        figures.append(over_processes(name, (ratio(cpu, TRACED, PLAIN) for cpu in own), SPAN, goal))
        if IN_PLACE in own[0]:
            as_cold = [ratio(cpu, TRACED, PLAIN) / ratio(cpu, IN_PLACE, PLAIN) for cpu in own]
            figures.append(over_processes(name, as_cold, "x one in the tool"))
    return figures


def instructions(load: str, title: str) -> list[Figure]:
    """What `inside` measures, in machine instructions: no clock, so no other program disturbs it."""
    if shutil.which("valgrind") is None:
        raise SystemExit("bench_overhead: install valgrind, whose callgrind counts the instructions")
    unit = counted(load, OURS, ANCHOR, 300)
    return [
        Figure(
            f"inside {title}, added by {tracer}",
            (counted(load, tracer, TRACED, 16) - counted(load, tracer, PLAIN, 16)) / unit,
            "x instructions",
        )
        for tracer in TRACERS
    ]


def counted(load: str, tracer: str, variant: str, calls: int) -> float:
    """Instructions per tool call of all threads, garbage collection and export included."""
    with TemporaryDirectory() as folder:
        said = Path(folder, "said")
        callgrind = ("valgrind", "--tool=callgrind", "--instr-atstart=no", f"--log-file={said}")
        under = (*callgrind, f"--callgrind-out-file={folder}/out")
        tools = measured(load, tracer, variant, str(calls), under=under)["tool calls"]
        return int(re.findall(r"Collected : (\d+)", said.read_text())[-1]) / tools


def model_request(processes: int) -> list[Figure]:
    """A request of a loop of one's own that is answered at once, which is a run of its own."""
    cpus = [measured("model", OURS)["cpu"] for _ in range(processes)]
    return [
        over_processes(
            "a request to a model, its `chat` span",
            (ratio(cpu, TRACED, WITHOUT_CHAT) for cpu in cpus),
            SPAN,
            2.0,
        ),
        over_processes(
            "a run of one request, all that is added", (ratio(cpu, TRACED, PLAIN) for cpu in cpus), SPAN
        ),
    ]


def growth() -> list[Figure]:
    found = measured("growth", OURS)
    return [
        Figure("growth over 1,000,000 calls, resident", found["MiB"], MIB, 5.0),
        Figure("growth over 1,000,000 calls, objects", found["objects"], COUNT, 1_000),
        Figure("spans lost on the way", found["dropped"], COUNT, 0),
    ]


def start_up() -> list[Figure]:
    """What importing us costs beside `opentelemetry.trace`, and what the hook of `pdoctor run` imports.

    Both less an empty program, in turns; nobody's code is compiled meanwhile, as after any first start.
    """
    hook = {"PYTHONPATH": f"{ROOT / 'pdoctor_trace' / 'startup'}{os.pathsep}{ROOT}"}
    imported, started = said_by(OURS, IMPORTED, **hook).split()
    if started != "True":
        raise SystemExit("bench_overhead: the start-up hook did not start the tracer")
    with TemporaryDirectory() as compiled:
        cache = {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
        rounds = [[start_cost(code, cache) for code in STARTED] for _ in range(STARTS + 1)][1:]
    added = [(ours - empty, api - empty) for empty, ours, api in rounds]
    least, most = sorted(ours / api for ours, api in added)[:: len(added) - 1]
    ours, api = (statistics.median(figures) for figures in zip(*added, strict=True))
    return [
        Figure("import pdoctor_trace", ours / api, "x import opentelemetry.trace", 1.8, (least, most)),
        Figure("the same, added to `python -c pass`", ours, MILLISECONDS),
        Figure("frameworks imported by zero-code start", float(imported), COUNT, 0),
    ]


def large() -> list[Figure]:
    """What a result costs of which most is left out, of what it costs to encode all of it."""
    found = json.loads(said_by(OURS, LARGE, PYTHONPATH=str(ROOT), PDOCTOR_ENDPOINT="http://127.0.0.1:9"))
    return [
        figure
        for name, (ours, whole) in found.items()
        for figure in (
            Figure(f"{name}, what is kept of it", ours / whole, "x all of it", 0.1),
            Figure(f"{name}, in the host's thread", ours, MILLISECONDS, 2.0),
        )
    ]


LARGE = """
import json, time
from pdoctor_trace.values import json_writer
values = {
    "50 MB of text": "x" * 50_000_000,
    "2,000,000 numbers": list(range(2_000_000)),
    "20,000 rows": [{"id": n, "name": f"row {n}", "price": n / 4, "tags": ["a", "b"]} for n in range(20_000)],
}
def least(action, times):
    spent = []
    for _ in range(times):
        began = time.process_time()
        action()
        spent.append(time.process_time() - began)
    return min(spent) * 1e3
write = json_writer(65_536)
found = {n: (least(lambda: write(v), 9), least(lambda: json.dumps(v), 2)) for n, v in values.items()}
print(json.dumps(found))
"""
STARTED = ("pass", "import pdoctor_trace", "import opentelemetry.trace")


def start_cost(code: str, environment: dict[str, str]) -> float:
    """CPU milliseconds of one short program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([interpreter(OURS), "-c", code], env={**os.environ, **environment}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


SECTIONS = {
    "tight": tight_loop,
    "langchain": lambda processes: inside("langchain", "LangChain", 0.6, processes),
    "openai_agents": lambda processes: inside("openai_agents", "openai-agents", 0.7, processes),
    "instructions": lambda processes: instructions("openai_agents", "openai-agents"),
    "model": lambda processes: model_request(processes),
    "growth": lambda processes: growth(),
    "start": lambda processes: start_up(),
    "large": lambda processes: large(),
}
BY_NAME = {"instructions"}
"""Sections that need another program, and ten minutes."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="of each kind; their median counts")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="part of it; may be given again")
    options = parser.parse_args()
    began = time.time()
    figures: list[Figure] = []
    heading = [
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    ]
    heading += [f"Python {platform.python_version()}", *(versions(tracer) for tracer in TRACERS)]
    if not options.json:
        print("\n".join(heading), flush=True)
    for name in options.only or sorted(SECTIONS.keys() - BY_NAME, key=list(SECTIONS).index):
        for figure in SECTIONS[name](options.processes):
            figures.append(figure)
            if not options.json:
                print(figure, flush=True)
    if options.json:
        print(json.dumps({"conditions": heading, "figures": [figure._asdict() for figure in figures]}))
    else:
        print(f"took {time.time() - began:.0f} s")
    return int(any(figure.missed for figure in figures))


if __name__ == "__main__":
    sys.exit(main())

"""Run the conformance suite of every framework in an environment of its own.

Frameworks exclude each other's dependencies, so each gets a virtual environment below `.environments/`
(kept between runs, a few hundred megabytes each). The project itself comes in over PYTHONPATH, so nothing of
it is installed there.

    python -m tests.frameworks.environments [--list] [--previous] [--record] [NAME...]

Without `--previous` each framework is taken at the newest release that installs, which must lie in the range
that its adapter supports; with it, at the release before (`Environment.previous`). A run fails where an
environment cannot be built, a test fails, a test file holds no test, or anything was skipped: a limit of a
framework is a test that shows it, not a test left out. `--record` writes what was found to `results.json`,
which the tables of docs/frameworks.md are made from. `--planners` runs nothing but fifty of each simulated
planner under a guard, and writes what became of them to `planners.json`, for docs/guard.md. `NAME+otel` is
the environment NAME with every span going through the SDK of OpenTelemetry, its standard exporter included
(`PDOCTOR_EXPORT=otel`).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import datetime
import json
import os
import resource
import signal
import ssl
import subprocess
import sys
import threading
import time
import venv
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pdoctor_trace.adapter import Framework

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".environments"
RESULTS = Path(__file__).with_name("results.json")
PLANNERS = Path(__file__).with_name("planners.json")
CHOICE = "PDOCTOR_TEST_ENVIRONMENT"
"""Variable that says which environment the tests run in; not set in the project's main one."""
MAIN = ("langchain", "openai")
"""What the main environment holds."""
COMMON = (
    "orjson",
    "wrapt",
    "pytest",
    "pydantic",
    "opentelemetry-api",
    "opentelemetry-sdk",
    "opentelemetry-proto",
    "cel-expr-python",  # these three: the extra `guard`
    "lark",
    "ruamel.yaml",
)
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
FOR_UV = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "constraint": "--constraints",
    "trusted-host": "--allow-insecure-host",
}
"""Settings of pip, and the options of uv that mean the same."""
BUILD_SECONDS, TEST_SECONDS = 900, 1_500
"""An environment that takes longer than this has failed."""


@dataclass(frozen=True)
class Environment:
    """What to install and which tests to run there."""

    name: str
    packages: tuple[str, ...]
    """The first is the framework's own distribution."""
    tests: tuple[str, ...]
    previous: str
    """The release before the newest one that installs."""
    newest: str = ""
    """Version specifier, where the environment is for an older line of releases."""
    framework: str = ""
    """Name in FRAMEWORKS, where it is not that of the environment."""
    export: str = "records"
    """PDOCTOR_EXPORT there."""

    @property
    def base(self) -> str:
        """Name of the environment whose packages these are."""
        return self.name.partition("+")[0]

    @property
    def distribution(self) -> str:
        return self.packages[0].partition("[")[0]

    def requirements(self, previous: bool) -> list[str]:
        """What pip is asked for; the supported range keeps it from taking an old release to suit another."""
        first, *others = self.packages
        adapter = self.adapter()
        within = f"{adapter.distribution}{adapter.versions}"
        exporter = ["opentelemetry-exporter-otlp-proto-http"] if self.export == "otel" else []
        return [f"{first}=={self.previous}" if previous else first + self.newest, *others, within, *exporter]

    def adapter(self) -> Framework:
        """The row of FRAMEWORKS that the environment is for."""
        from pdoctor_trace.frameworks import FRAMEWORKS

        (entry,) = (entry for entry in FRAMEWORKS if entry.name == (self.framework or self.base))
        return entry.load()


# The slowest first, so that none of them is left for the end.
ENVIRONMENTS = (
    Environment("crewai", ("crewai",), ("test_crewai.py",), "1.15.29"),
    Environment(
        "google_adk",
        ("google-adk", "litellm", "mcp"),
        ("test_google_adk.py", "test_google_adk_pauses.py"),
        "2.12.0",
    ),
    Environment("dspy", ("dspy", "langchain-core"), ("test_dspy.py",), "3.4.0"),
    Environment(
        "llama_index",
        ("llama-index-core", "llama-index-llms-openai-like"),
        ("test_llama_index.py",),
        "0.14.24",
    ),
    Environment(
        "langchain",
        ("langchain", "langchain-openai"),
        ("test_langchain.py", "test_langgraph.py", "test_langgraph_pauses.py"),
        "1.4.6",
    ),
    Environment(
        "openai",
        ("openai", "websockets"),
        ("test_openai_chat.py", "test_openai_responses.py", "test_openai_steps.py", "test_openai_wrapped.py"),
        "3.51.0",
    ),
    Environment("litellm", ("litellm", "mcp"), ("test_litellm.py",), "1.105.3"),
    Environment("semantic_kernel", ("semantic-kernel",), ("test_semantic_kernel.py",), "1.44.1"),
    Environment(
        "autogen", ("autogen-agentchat", "autogen-ext[openai,mcp]", "mcp<2"), ("test_autogen.py",), "0.7.4"
    ),
    Environment(
        "strands", ("strands-agents[openai]",), ("test_strands.py", "test_strands_pauses.py"), "1.61.1"
    ),
    Environment(
        "openai_agents",
        ("openai-agents",),
        ("test_openai_agents.py", "test_openai_agents_pauses.py", "test_mcp.py"),
        "0.23.1",
    ),
    Environment(
        "pydantic_ai",
        ("pydantic-ai-slim[openai]",),
        ("test_pydantic_ai.py", "test_pydantic_ai_pauses.py"),
        "2.66.0",
    ),
    Environment("haystack", ("haystack-ai",), ("test_haystack.py",), "3.3.0"),
    Environment(
        "haystack2",
        ("haystack-ai",),
        ("test_haystack.py", "test_haystack_breakpoints.py"),
        "2.30.2",
        "<3",
        "haystack",
    ),
    Environment("agno", ("agno", "openai"), ("test_agno.py", "test_agno_pauses.py"), "3.1.9"),
    Environment(
        "smolagents",
        ("smolagents[openai]", "pandas"),
        ("test_smolagents.py", "test_pandas.py"),
        "1.25.0",
    ),
    Environment("anthropic", ("anthropic",), ("test_anthropic.py",), "2.10.0"),
    Environment(
        "mcp",
        ("mcp", "httptools", "uvicorn"),
        ("test_mcp.py", "test_mcp_proxy_clients.py"),
        "2.2.0",
    ),
)

THROUGH_THE_SDK = tuple(
    replace(one, name=f"{one.name}+otel", export="otel")
    for one in ENVIRONMENTS
    if one.name in ("langchain", "openai", "pydantic_ai")
)
"""A framework, raw loops, and a framework that is asynchronous throughout, on the second path."""
_HELD: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""One user at a time of an environment's packages."""


def tests_here() -> set[str]:
    """The test files whose frameworks are installed in this environment."""
    names = (os.environ[CHOICE],) if CHOICE in os.environ else MAIN
    return {test for environment in ENVIRONMENTS if environment.name in names for test in environment.tests}


@dataclass
class Result:
    """What came of one environment."""

    environment: Environment
    version: str = "-"
    tests: Counter[str] = field(default_factory=Counter)
    """passed, failed, skipped."""
    cells: dict[str, str] = field(default_factory=dict)
    """Cell of the conformance matrix -> `passes` or `limit`; failed cells are left out."""
    limits: list[str] = field(default_factory=list)
    """Names of the limits that a test showed."""
    problems: list[str] = field(default_factory=list)
    output: str = ""
    build_seconds: float = 0.0
    test_seconds: float = 0.0

    @property
    def row(self) -> tuple[object, ...]:
        counts = [self.tests[kind] for kind in ("passed", "failed", "skipped")]
        seconds = f"{self.build_seconds:.0f} + {self.test_seconds:.0f} s"
        verdict = "; ".join(self.problems) or "passed"
        return self.environment.name, self.environment.distribution, self.version, *counts, seconds, verdict

    def recorded(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "passed": self.tests["passed"],
            "failed": self.tests["failed"] + len(self.problems) * (not self.tests["failed"]),
            "date": today(),
            "cells": self.cells,
            "limits": self.limits,
        }


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def run(environment: Environment, previous: bool) -> Result:
    """Build the environment and run its tests there."""
    with _HELD[environment.base]:
        return _run(environment, previous)


def _run(environment: Environment, previous: bool) -> Result:
    result = Result(environment)
    home = HOME / f"{environment.base}{'-previous' if previous else ''}"
    python = home / "bin" / "python"
    start = time.monotonic()
    code, result.output = prepared(python, environment.requirements(previous))
    result.build_seconds = time.monotonic() - start
    if code:
        result.problems.append("the environment could not be built")
        return result
    result.version = installed(python, environment.distribution)
    report = home / "report.xml"
    report.unlink(missing_ok=True)
    tests = [str(ROOT / "tests" / "frameworks" / name) for name in environment.tests]
    start = time.monotonic()
    code, result.output = bounded(
        [
            str(python),
            "-m",
            "pytest",
            "-q",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
            *tests,
        ],
        TEST_SECONDS,
        {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            CHOICE: environment.base,
            "PDOCTOR_EXPORT": environment.export,
            **one_certificate(home),
        },
    )
    result.test_seconds = time.monotonic() - start
    if code:
        result.problems.append("it took too long" if code == TIMED_OUT else f"tests failed (exit {code})")
    if report.exists():
        judge(result, ET.parse(report))
    return result


def one_certificate(home: Path) -> dict[str, str]:
    """A variable by which HTTP clients trust one authority: tests make thousands of clients, none for HTTPS,
    and to read a hundred and fifty certificates takes each 50 ms."""
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not authorities:
        return {}
    trusted = home / "one-certificate.pem"
    trusted.write_text(ssl.DER_cert_to_PEM_cert(authorities[0]))
    return {"SSL_CERT_FILE": str(trusted)}


def prepared(python: Path, requirements: Sequence[str]) -> tuple[int, str]:
    """Make the environment of that interpreter, or bring it up to date; (exit code, output)."""
    if not python.exists():
        venv.create(python.parents[1], with_pip=False)
    return install(python, [*COMMON, *requirements])


def install(python: Path, requirements: Sequence[str]) -> tuple[int, str]:
    """By uv, which takes an eighth of the time; where it is missing or cannot, by pip."""
    code, output = by_uv(python, requirements)
    return (code, output) if code == 0 else by_pip(python, requirements)


def by_uv(python: Path, requirements: Sequence[str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "uv", "pip", "install", "-q", "--upgrade", "--python", str(python)]
    options, variables = as_uv_is_told(settings_of_pip())
    return bounded([*command, *options, *requirements], BUILD_SECONDS, {**os.environ, **variables})


def by_pip(python: Path, requirements: Sequence[str]) -> tuple[int, str]:
    command = [*PIP, "--python", str(python), "install", "-q", "--upgrade", "--no-compile"]
    return bounded([*command, *requirements], BUILD_SECONDS, dict(os.environ))


@cache
def settings_of_pip() -> dict[str, str]:
    """What pip is told by its files and variables, by option; a variable comes before a file."""
    _, output = bounded([*PIP, "config", "list"], 60, dict(os.environ))
    lines = [line.partition("=") for line in output.splitlines() if "=" in line]
    ordered = sorted(lines, key=lambda line: line[0].startswith(":env:"))
    return {name.rpartition(".")[2]: ast.literal_eval(value) for name, _, value in ordered}


def as_uv_is_told(settings: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The same for uv, which does not read pip's settings: options and variables. As pip, it takes the newest
    of all indexes."""
    options = ["--index-strategy", "unsafe-best-match"]
    for name, option in FOR_UV.items():
        options += [f"{option}={value}" for value in settings.get(name, "").split()]
    options += ["--no-index"] * (settings.get("no-index", "") in ("1", "true", "yes", "on"))
    return options, {"SSL_CERT_FILE": settings["cert"]} if "cert" in settings else {}


TYPESCRIPT = "@modelcontextprotocol/sdk@^1.20"
"""The official MCP client in TypeScript."""


def node_packages(home: Path) -> Path:
    """The folder with the packages of Node that tests use, brought there by npm."""
    if not (home / "node_modules" / TYPESCRIPT.rpartition("@")[0]).exists():
        home.mkdir(parents=True, exist_ok=True)
        options = ["--prefix", str(home), "--no-audit", "--no-fund", "--ignore-scripts"]
        code, output = bounded(["npm", "install", *options, TYPESCRIPT], BUILD_SECONDS, dict(os.environ))
        if code:
            raise RuntimeError(f"npm could not install {TYPESCRIPT}: {output[-2000:]}")
    return home / "node_modules"


def installed(python: Path, distribution: str) -> str:
    """Version of a distribution in another environment."""
    code = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    return subprocess.run(
        [str(python), "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


TIMED_OUT = -1


def bounded(command: Sequence[str], seconds: float, env: dict[str, str]) -> tuple[int, str]:
    """Run a command and whatever it starts for so long at most; (exit code or TIMED_OUT, output)."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return TIMED_OUT, process.communicate()[0]


def judge(result: Result, report: ET.ElementTree[ET.Element[str]]) -> None:
    """Read pytest's report: counts, skips, files without tests, cells of the conformance matrix."""
    seen: Counter[str] = Counter()
    cells: dict[str, set[str]] = {}
    for case in report.iter("testcase"):
        outcome = _outcome(case)
        result.tests[outcome] += 1
        seen[case.get("classname", "").removeprefix("tests.frameworks.").split(".")[0] + ".py"] += 1
        told = [(p.get("name"), p.get("value", "")) for p in case.iter("property")]
        limits = [value for name, value in told if name == "limit"]
        result.limits += [limit for limit in limits if limit not in result.limits]
        for cell in (value for name, value in told if name == "cell"):
            kind = "limit" if ("limited", "yes") in told and outcome == "passed" else outcome
            cells.setdefault(cell, set()).add(kind)
    if result.tests["skipped"]:
        result.problems.append(f"{result.tests['skipped']} skipped")
    result.problems += [f"{test} holds no test" for test in result.environment.tests if not seen[test]]
    result.cells = {
        cell: "limit" if "limit" in kinds else "passes"
        for cell, kinds in sorted(cells.items())
        if kinds <= {"passed", "limit"}
    }


def _outcome(case: ET.Element[str]) -> str:
    """passed, failed or skipped (which an expected failure is too)."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def newest_listed(distribution: str) -> str:
    """The newest release that the package index lists, whether or not it installs; "" where unknown."""
    command = [*PIP, "index", "versions", distribution]
    code, output = bounded(command, 120, dict(os.environ))
    first = next((line for line in output.splitlines() if line.startswith(f"{distribution} (")), "")
    return "" if code else first.rpartition("(")[2].rstrip(")")


def table(rows: Iterable[Sequence[object]]) -> str:
    head = (
        "environment",
        "distribution",
        "version",
        "passed",
        "failed",
        "skipped",
        "build + tests",
        "verdict",
    )
    lines = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def run_planners(environment: Environment) -> str:
    """Run and keep fifty of each planner under a guard; what pytest says, where that fails."""
    home = HOME / environment.base
    told = home / "planners.jsonl"
    told.unlink(missing_ok=True)
    tests = [str(ROOT / "tests" / "frameworks" / name) for name in environment.tests]
    with _HELD[environment.base]:
        code, output = prepared(home / "bin" / "python", environment.requirements(previous=False))
        if not code:
            pytest = [str(home / "bin" / "python"), "-m", "pytest", "-q", "--tb=short", "-k", "planner"]
            own = {"PYTHONPATH": str(ROOT), CHOICE: environment.base, "PDOCTOR_SOAK": str(told)}
            given = {**os.environ, **own}
            code, output = bounded([*pytest, "-p", "no:cacheprovider", *tests], 4 * TEST_SECONDS, given)
    if code:
        return output
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for line in map(json.loads, told.read_text().splitlines()):
        found[line.pop("what")].update(line)
    version = installed(home / "bin" / "python", environment.distribution)
    keep_planners(environment.name, {"version": version, "date": today(), "planners": found})
    return ""


def keep_planners(name: str, found: dict[str, Any]) -> None:
    kept = {**recorded_planners(), name: found}
    PLANNERS.write_text(json.dumps({name: kept[name] for name in sorted(kept)}, indent=1) + "\n")


def recorded_planners() -> dict[str, Any]:
    """What became of the planners under a guard, by environment."""
    return dict(json.loads(PLANNERS.read_text())) if PLANNERS.exists() else {}


def recorded_results(kind: str) -> dict[str, Any]:
    """What was recorded last of the `newest` or of the `previous` releases, by environment."""
    if not RESULTS.exists():
        return {}
    kept: dict[str, Any] = json.loads(RESULTS.read_text()).get(kind, {})
    return kept


def record(result: Result, previous: bool) -> None:
    """Keep what was found, beside what other runs found of other environments."""
    found = {kind: recorded_results(kind) for kind in ("newest", "previous")}
    found["previous" if previous else "newest"][result.environment.name] = result.recorded()
    ordered = {kind: {name: found[kind][name] for name in sorted(found[kind])} for kind in found}
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the environments and what they hold")
    parser.add_argument("--previous", action="store_true", help="take the release before the newest")
    parser.add_argument("--record", action="store_true", help="keep the results for docs/frameworks.md")
    parser.add_argument("--planners", action="store_true", help="run and keep the planners under a guard")
    parser.add_argument("--parallel", type=int, default=2)
    options = parser.parse_args()
    every = (*ENVIRONMENTS, *THROUGH_THE_SDK)
    unknown = set(options.names) - {one.name for one in every}
    if unknown:
        parser.error(f"no environment {', '.join(sorted(unknown))} (--list names them)")
    chosen = [one for one in every if not options.names or one.name in options.names]
    if options.list:
        for one in chosen:
            wanted = " ".join(one.requirements(options.previous))
            sys.stdout.write(f"{one.name:16} {wanted:50} {' '.join(one.tests)}\n")
        return 0
    if options.planners:
        wrong = [f"== {one.name}\n{output}" for one in chosen if (output := run_planners(one))]
        sys.stdout.write("\n".join(wrong))
        return int(bool(wrong))
    start = time.monotonic()
    results: list[Result] = []
    with ThreadPoolExecutor(options.parallel) as pool:
        for job in as_completed([pool.submit(run, one, options.previous) for one in chosen]):
            result = job.result()
            results.append(result)
            if options.record and result.tests and result.environment.export == "records":
                record(result, options.previous)
            if result.problems:
                sys.stdout.write(f"== {result.environment.name}\n{result.output[-20_000:]}\n")
            sys.stdout.write("  ".join(str(cell) for cell in result.row) + "\n")
            sys.stdout.flush()
    results.sort(key=lambda result: [one.name for one in chosen].index(result.environment.name))
    sys.stdout.write(f"\n{table(result.row for result in results)}\n\n")
    newest = [result for result in results if not options.previous and result.environment in ENVIRONMENTS]
    for result in newest:
        listed = newest_listed(result.environment.distribution)
        if listed and not result.environment.newest and listed != result.version:
            sys.stdout.write(f"{result.environment.name}: {listed} is listed but does not install here\n")
    failed = [result.environment.name for result in results if result.problems]
    seconds = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = used.ru_utime + used.ru_stime
    sys.stdout.write(f"{len(results) - len(failed)} of {len(results)} passed in {seconds:.0f} s")
    sys.stdout.write(f" ({busy:.0f} s of processor time)\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

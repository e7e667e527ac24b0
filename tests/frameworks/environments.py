"""Run the conformance suite of every framework in an environment of its own, at its newest release.

Frameworks exclude each other's dependencies, so each gets a virtual environment below `.environments/`
(kept between runs). The project itself comes in over PYTHONPATH, so nothing of it is installed there.

    python tests/frameworks/environments.py [--list] [NAME...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".environments"
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
)


@dataclass(frozen=True)
class Environment:
    """What to install and which tests to run there."""

    name: str
    packages: tuple[str, ...]
    tests: tuple[str, ...]


ENVIRONMENTS = (
    Environment("langchain", ("langchain<1.4.8", "langchain-openai"), ("test_langchain.py",)),
    Environment("openai", ("openai",), ("test_openai_chat.py", "test_openai_responses.py")),
    Environment("anthropic", ("anthropic",), ("test_anthropic.py",)),
    Environment("openai_agents", ("openai-agents",), ("test_openai_agents.py", "test_mcp.py")),
    Environment("pydantic_ai", ("pydantic-ai-slim[openai]",), ("test_pydantic_ai.py",)),
    Environment("mcp", ("mcp",), ("test_mcp.py",)),
    Environment("strands", ("strands-agents[openai]",), ("test_strands.py",)),
    Environment("semantic_kernel", ("semantic-kernel",), ("test_semantic_kernel.py",)),
    Environment("haystack", ("haystack-ai",), ("test_haystack.py",)),
    Environment("haystack2", ("haystack-ai<3",), ("test_haystack.py",)),
    Environment("agno", ("agno", "openai"), ("test_agno.py",)),
    Environment("google_adk", ("google-adk", "litellm", "mcp"), ("test_google_adk.py",)),
    Environment("dspy", ("dspy",), ("test_dspy.py",)),
    Environment(
        "llama_index", ("llama-index-core", "llama-index-llms-openai-like"), ("test_llama_index.py",)
    ),
    Environment("smolagents", ("smolagents[openai]",), ("test_smolagents.py",)),
    Environment("autogen", ("autogen-agentchat", "autogen-ext[openai]"), ("test_autogen.py",)),
    Environment("crewai", ("crewai",), ("test_crewai.py",)),
    Environment("litellm", ("litellm", "mcp"), ("test_litellm.py",)),
)


def tests_here() -> set[str]:
    """The test files whose frameworks are installed in this environment."""
    names = (os.environ[CHOICE],) if CHOICE in os.environ else MAIN
    return {test for environment in ENVIRONMENTS if environment.name in names for test in environment.tests}


def run(environment: Environment) -> tuple[Environment, int, str, float]:
    """(environment, exit code, last lines of output, seconds)."""
    start = time.monotonic()
    python = prepared(environment)
    tests = [str(ROOT / "tests" / "frameworks" / name) for name in environment.tests]
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), CHOICE: environment.name},
        capture_output=True,
        text=True,
        check=False,
    )
    return environment, done.returncode, (done.stdout + done.stderr)[-3_000:], time.monotonic() - start


def prepared(environment: Environment) -> Path:
    """The interpreter of the environment, made or brought up to date first."""
    home = HOME / environment.name
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade"]
    subprocess.run([*install, *COMMON, *environment.packages], check=True)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the environments and what they hold")
    parser.add_argument("--parallel", type=int, default=2)
    options = parser.parse_args()
    chosen = [one for one in ENVIRONMENTS if not options.names or one.name in options.names]
    if options.list:
        for one in chosen:
            sys.stdout.write(f"{one.name:16} {' '.join(one.packages):40} {' '.join(one.tests)}\n")
        return 0
    failed = 0
    with ThreadPoolExecutor(options.parallel) as pool:
        for environment, code, output, seconds in pool.map(run, chosen):
            verdict = "passed" if code == 0 else "FAILED"
            sys.stdout.write(f"== {environment.name}: {verdict} in {seconds:.0f} s\n")
            sys.stdout.write(output.splitlines()[-1] + "\n" if code == 0 else output)
            failed += code != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

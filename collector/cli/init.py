"""`pdoctor init`: a policy file, a test and a CI job from what is installed here and what a collector saw."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, collector_option, plain, text_in
from collector.cli.policies import MOST_RUNS, good_runs
from synth.agents.model import is_reference
from synth.client import Collector, NoAnswer
from synth.counted import counted
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.observed.run import Run

POLICIES, TESTS, WORKFLOW = "policies.yaml", "tests/test_agent_rules.py", ".github/workflows/pdoctor.yml"
STATUS_LIMIT = 60.0
"""Seconds to find out which frameworks are installed."""

EMPTY = """\
# Rules for the tool calls of an agent. `pdoctor init` drafts some once the collector has seen runs of it.
# Each phrase stands for a tool:
actions: {}
#  look up order: look_up_order
#  refund: refund_order

policies: []
#  - id: look-first
#    rule: Look up order must happen before refund.
"""
TEST_FILE = '''\
"""The rules of policies.yaml, kept while the agent answers requests of our own."""

from pathlib import Path

import pytest

AGENT = {agent}  # "module:function", called with the request and, where it asks for them, tools
POLICIES = Path(__file__).parent.parent / "policies.yaml"
REQUESTS = {requests}


@pytest.mark.skipif(AGENT is None, reason="AGENT does not name the agent to test yet")
@pytest.mark.parametrize("request_text", REQUESTS)
def test_agent_keeps_the_rules(pdoctor, request_text):
    pdoctor.run(AGENT, request_text, policies=POLICIES)
'''
JOB = """\
name: pdoctor
on: [pull_request]
jobs:
  rules:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: pip install pytest "pdoctor-trace[all]"  # and what the agent needs
      - run: pdoctor policies lint policies.yaml
      - run: pytest tests/test_agent_rules.py --junitxml=pdoctor.xml
"""


@click.command("init")
@click.option("--into", default=".", show_default=True, metavar="FOLDER", help="The project.")
@click.option("--agent", default=None, metavar="MODULE:FUNCTION", help="What the tests run.")
@click.option("--yes", is_flag=True, help="Overwrite without asking.")
@collector_option
def command(into: str, agent: str | None, yes: bool, url: str) -> None:
    """Write a policy file, a test and a CI job to begin with.

    The policy file names the tools that the collector has seen and has rules that all good runs kept, with
    their support. What is there already is shown as a diff, and replaced only when you say so; run again,
    it changes nothing.

    \b
    pdoctor init --agent my_package.agent:run
    """
    with clear_errors():
        folder = Path(into)
        if not folder.is_dir():
            raise BadInput(f"{into} is no folder", field="--into")
        if agent is not None and not is_reference(agent):
            raise BadInput(f"expected module:function, got {agent!r}", field="--agent")
        seen = look_around(url)
        for line in seen.said():
            click.echo(line)
        for file in files(seen, agent):
            click.echo(f"{put(folder, file, yes):<10} {file.name}")
        click.echo(f"Next: {seen.next_command(agent)}")


@dataclass(frozen=True)
class Seen:
    """What there is to begin with."""

    frameworks: Sequence[str]
    url: str
    runs: Sequence[Run] | None
    """Good runs of the collector; None where none answers."""

    @property
    def has_calls(self) -> bool:
        return any(run.calls for run in self.runs or ())

    def said(self) -> Iterator[str]:
        names = ", ".join(self.frameworks) or "none that is traced"
        yield f"frameworks here: {names}"
        if self.runs is None:
            yield f"no collector answers at {self.url} (`pdoctor serve` starts one): nothing can be drafted"
        else:
            yield f"good runs at {self.url}: {len(self.runs)}"

    def requests(self) -> list[str]:
        """A few requests that were made, for the tests."""
        queries = dict.fromkeys(run.query for run in self.runs or () if run.query and len(run.query) <= 200)
        return [*queries][:3] or ["Say here what the agent is asked for."]

    def next_command(self, agent: str | None) -> str:
        if self.runs is None:
            return "pdoctor serve, then run your agent with `import pdoctor_trace` on top"
        if not self.has_calls:
            return "run your agent with `import pdoctor_trace` on top, then pdoctor init again"
        return f"pytest {TESTS}" if agent else f"review {POLICIES}, then pdoctor policies push {POLICIES}"


def look_around(url: str) -> Seen:
    """What is installed here, and the good runs of the collector."""
    try:
        with Collector(url) as collector:
            collector.greet()
        runs = sorted(good_runs(url), key=lambda run: run.id)[:MOST_RUNS]
    except NoAnswer:
        runs = None
    return Seen(installed(), url, runs)


def installed() -> list[str]:
    """The frameworks of this environment that are traced, with their versions."""
    command = (sys.executable, "-m", "pdoctor_trace", "status", "--json")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=STATUS_LIMIT, check=False)
        known: list[dict[str, Any]] = json.loads(done.stdout)["frameworks"]
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError):
        return []
    return [f"{one['name']} {one['version']}" for one in known if one["version"]]


@dataclass(frozen=True)
class File:
    """A file to write, by its place in the project."""

    name: str
    text: str


def files(seen: Seen, agent: str | None) -> Iterator[File]:
    """What to write."""
    yield File(POLICIES, policy_file(seen))
    requests = "".join(f"    {json.dumps(text, ensure_ascii=False)},\n" for text in seen.requests())
    named = "None" if agent is None else json.dumps(agent)
    yield File(TESTS, TEST_FILE.format(agent=named, requests=f"[\n{requests}]"))
    yield File(WORKFLOW, JOB)


def policy_file(seen: Seen) -> str:
    """Drafted rules and every tool that was called; without calls a file to fill in."""
    from synth.policies.draft import draft

    if seen.runs is None or not seen.has_calls:
        return EMPTY
    found = draft(seen.runs, origin=seen.url, every_tool=True)
    click.echo(f"drafted: {counted(len(found.rules), 'rule')} of {counted(found.candidates, 'candidate')}")
    return found.text


def put(folder: Path, file: File, yes: bool) -> str:
    """Write a file; what it becomes is shown first where it is there, and asked for unless `yes`."""
    path = folder / file.name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
        return "written"
    there = text_in(str(path))[0]
    if there == file.text:
        return "unchanged"
    changes = difflib.unified_diff(
        there.splitlines(), file.text.splitlines(), f"{file.name} as it is", f"{file.name} as it would be",
        lineterm="",
    )  # fmt: skip
    click.echo("\n".join(map(plain, changes)))
    if not yes and not (sys.stdin.isatty() and click.confirm(f"Overwrite {file.name}?")):
        return "kept"
    path.write_text(file.text, encoding="utf-8")
    return "replaced"

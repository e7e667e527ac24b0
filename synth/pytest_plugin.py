"""pytest: one test per synthesized case, a failure text that explains, and a smaller failing case.

>>> @pytest.mark.pdoctor(cases=5, actions=(3, 5), seed=7)
... def test_my_agent_keeps_the_order(pdoctor):
...     pdoctor.check("my_package.agent:run")

Marker arguments: `cases` (how many, or a file of cases), `seed`, and every other field of
`synth.cases.generate.Options`. `check` takes an agent as `pdoctor test` does, or a function that can be
imported; it runs in a process of its own, traced, and a collector judges it. A run that says nothing about
the agent, because its model's endpoint refused for example, is an error, not a failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# Loaded here, before a test folder can bring a module of the same name onto the path.
import synth

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.experiments.harness import Harness
    from synth.experiments.trial import Result
    from synth.formal import Trouble
    from synth.simulated_model import SimulatedModel

__all__ = ["Bench", "Pdoctor", "synth"]

READY = "pdoctor collector ready at "
DEFAULT_MODEL = "simulated-perfect"
DEFAULT_CASES = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pdoctor", "planning tests for agents")
    group.addoption(
        "--pdoctor-collector", metavar="URL", help="judge there instead of in a collector of our own"
    )
    group.addoption("--pdoctor-model", metavar="NAME", help=f"model to test with (default: {DEFAULT_MODEL})")
    group.addoption("--pdoctor-base-url", metavar="URL", help="where that model is served")
    group.addoption("--pdoctor-timeout", type=float, default=180.0, metavar="S", help="seconds per run")
    group.addoption("--pdoctor-no-shrink", action="store_true", help="do not look for a smaller failing case")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "pdoctor(cases=3, seed=1, **options): run once per synthesized case; see synth.pytest_plugin",
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    made = yield
    raised = call.when == "call" and call.excinfo is not None
    case = getattr(item, "funcargs", {}).get("pdoctor") if raised else None
    if isinstance(case, Pdoctor) and case.untested:
        made.get_result().pdoctor_untested = True


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    return ("error", "E", "ERROR") if getattr(report, "pdoctor_untested", False) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pdoctor" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("pdoctor")
    cases = _cases(dict(marker.kwargs) if marker else {})
    metafunc.parametrize("pdoctor", cases, indirect=True, ids=[case.id for case in cases])


def _cases(wanted: dict[str, Any]) -> list[Case]:
    from synth.cases.case import read_cases
    from synth.cases.generate import Options, generate

    count, seed = wanted.pop("cases", DEFAULT_CASES), wanted.pop("seed", 1)
    known = [field.name for field in fields(Options)]
    unknown = sorted(wanted.keys() - set(known))
    if unknown:
        raise pytest.UsageError(
            f"pdoctor marker: unknown argument {unknown[0]!r}; known: cases, seed, {', '.join(known)}"
        )
    if not isinstance(count, int):
        return read_cases(Path(count))
    return list(generate(count, seed, Options(**wanted)))


class Bench:
    """What all tests of a session share: collector, simulated model, worker processes."""

    def __init__(self, config: pytest.Config) -> None:
        from synth.experiments.harness import Harness, Options
        from synth.simulated_model import SimulatedModel

        self.model_name: str = config.getoption("--pdoctor-model") or DEFAULT_MODEL
        self.shrinks = not config.getoption("--pdoctor-no-shrink")
        self._folder = tempfile.TemporaryDirectory(prefix="pdoctor-pytest-")
        self._collector, url = self._judge(config.getoption("--pdoctor-collector"))
        self.simulated: SimulatedModel = SimulatedModel()
        self.simulated.__enter__()
        options = Options(
            timeout=config.getoption("--pdoctor-timeout"),
            base_url=config.getoption("--pdoctor-base-url"),
            environment={"PDOCTOR_AGENT_PATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.harness: Harness = Harness(url, options, self.simulated, say=complain)

    def _judge(self, url: str | None) -> tuple[subprocess.Popen[str] | None, str]:
        """The collector that was named, or one of our own on a free port."""
        if url is not None:
            return None, url
        store = f"sqlite:///{Path(self._folder.name) / 'runs.db'}"
        # -P: a folder named `collector` in the project under test is not ours.
        serve = ("-P", "-m", "collector.cli.embedded", "--http-port", "0", "--grpc-port", "off")
        said = Path(self._folder.name) / "collector.log"  # its log is no part of a test's output
        with said.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *serve, "--store", store],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
            )  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(READY):
                return process, line.removeprefix(READY).strip()
        why = said.read_text(errors="replace")[-2_000:].strip()
        raise pytest.UsageError(
            f"the collector did not start (exit code {process.wait()}): {why}\n"
            "Is it installed? pip install 'pdoctor-trace[all]'"
        )

    def close(self) -> None:
        self.harness.__exit__(None, None, None)
        self.simulated.__exit__(None, None, None)
        if self._collector is not None:
            self._collector.terminate()
            self._collector.communicate()
        self._folder.cleanup()


class Pdoctor:
    """The fixture: one case, and a way to check an agent with it."""

    def __init__(self, case: Case, bench: Bench) -> None:
        self.case = case
        self.untested = False
        """The test ended because a run said nothing about its agent."""
        self._bench = bench

    def check(self, agent: str | Callable[..., Any], model: str | None = None) -> Result:
        """Run the agent on the case; fails the test with an explanation unless the plan is right.

        A run that says nothing about the agent ends the test as an error.
        """
        __tracebackhide__ = True
        name = agent if isinstance(agent, str) else _importable(agent)
        result = self._run(name, self.case, model)
        if result.outcome == "pass":
            return result
        if result.trouble is not None:
            self.untested = True
            return pytest.fail(explain_trouble(result, result.trouble), pytrace=False)
        # What runs into its time limit would do so again and again.
        worth_shrinking = result.outcome == "fail" and result.status != "timeout"
        smallest = self._shrunk(name, model) if worth_shrinking else result
        return pytest.fail(explain(result, smallest), pytrace=False)

    def _run(self, agent: str, case: Case, model: str | None) -> Result:
        from synth.errors import SynthError
        from synth.experiments.trial import Trial

        __tracebackhide__ = True
        try:
            return self._bench.harness.run_one(Trial(agent, model or self._bench.model_name, case=case))
        except SynthError as error:
            return pytest.fail(f"pdoctor: {error}", pytrace=False)

    def _shrunk(self, agent: str, model: str | None) -> Result | None:
        """The result of the smallest case that still fails, None if that is the case itself."""
        from synth.cases.shrink import shrink

        failed: dict[str, Result] = {}

        def fails(case: Case) -> bool:
            result = self._run(agent, case, model)
            failed[case.paragraph] = result
            return result.outcome == "fail"

        if not self._bench.shrinks:
            return None
        return failed.get(shrink(self.case, fails).paragraph)


def complain(text: str) -> None:
    sys.stderr.write(f"pdoctor: {text}\n")


def _importable(agent: Callable[..., Any]) -> str:
    """`module:name`, by which the worker process finds the function again."""
    name = f"{agent.__module__}:{agent.__qualname__}"
    if "<" in name:
        raise pytest.UsageError(
            f"{name} cannot be imported by another process; define the agent at module level"
        )
    return name


def explain(result: Result, smallest: Result | None) -> str:
    """The failure text: of the smallest failing case if there is one, then of the case itself."""
    if smallest is None or smallest is result:
        return explain_one(result)
    return (
        f"{explain_one(smallest)}\n\n"
        f"Shrunk from case {result.case_id}: {smallest.actions} of {result.actions} actions are enough to "
        f"fail. The whole case:\n\n{explain_one(result)}"
    )


def explain_trouble(result: Result, trouble: Trouble) -> str:
    """What kept the agent from being tested, the endpoint's own words first."""
    from synth.experiments.tally import in_words

    about = f"{result.agent} on {result.model}, case {result.case_id}"
    lines = [f"{in_words(trouble)}: planning was not tested", about]
    return "\n".join([*lines, *([f"the agent ended with: {result.error}"] if result.error else [])])


def explain_one(result: Result) -> str:
    """Outcome, rules, findings and calls of one run."""
    from synth.policies.told import told, violated

    case, verdict = result.case or {}, result.verdict or {}
    findings = [f for f in verdict.get("findings", ()) if f["type"] != "note"]
    policies = violated((result.run or {}).get("policies", ()))
    blamed = {position for finding in findings for position in finding["calls"]}
    blamed |= {position for policy in policies for position in policy["violations"]}
    calls = (result.run or {}).get("calls", ())
    lines = [
        f"{result.agent} on {result.model}, case {result.case_id}: {result.outcome}"
        + (f" ({result.error_type})" if result.error_type else ""),
        *([f"the agent ended with: {result.error}"] if result.error else []),
        "",
        f"Rules: {case.get('paragraph', '')}",
        "",
        *(f"  * {finding['explanation']}" for finding in findings),
        *("  * " + "\n    ".join(told(policy)) for policy in policies),
        "",
        "Calls:" if calls else "No calls were seen.",
        *(f"  {'>' if at in blamed else ' '} {at}. {call['name']}" for at, call in enumerate(calls)),
    ]
    repair = verdict.get("repair")
    if repair:
        tool = {action["id"]: action["tool"] for action in case["actions"]}
        lines += ["", "A plan that keeps the rules: " + ", ".join(tool[action] for action in repair["order"])]
    return "\n".join(lines)


@pytest.fixture(scope="session")
def pdoctor_bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Collector, simulated model and workers, started once."""
    bench = Bench(request.config)
    yield bench
    bench.close()


@pytest.fixture
def pdoctor(request: pytest.FixtureRequest, pdoctor_bench: Bench) -> Pdoctor:
    """One synthesized case; `pdoctor.check(agent)` runs an agent on it."""
    return Pdoctor(request.param, pdoctor_bench)

"""pytest: one test per synthesized case, own requests and recorded runs; failures that explain themselves.

>>> @pytest.mark.pdoctor(cases=5, actions=(3, 5), seed=7)
... def test_my_agent_keeps_the_order(pdoctor):
...     pdoctor.check("my_package.agent:run")

>>> def test_refund(pdoctor):
...     pdoctor.run("my_package.agent:run", "Refund A-17", policies="support.yaml")

Marker arguments: `cases` (how many, or a file of cases), `seed`, and every other field of
`synth.cases.generate.Options`; without a marker `check` goes through three cases in one test. `model`,
`temperature` (None: not sent) and `repeat` (runs of each case, all of which must pass) say how; with
`at_least` the cases are one test, which passes where that share of the runs does. `run` asks an
agent for something of your own, `replay` asks what was recorded (`pdoctor cases from-run`), `rate` asks
several times. Each takes an agent as `pdoctor test` does, or a function that can be
imported; it runs in a process of its own, traced, and a collector judges it. A run that says nothing about
the agent, because its model's endpoint refused for example, is an error, not a failure.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# Loaded here, before a test folder can bring a module of the same name onto the path.
import synth
from synth.kept import look_line
from synth.pytest_bench import DEFAULT_MODEL, HOW, UNSAID, Bench, How

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.cases.recorded import RecordedCase
    from synth.experiments.replaying import Judged
    from synth.experiments.trial import Result, Trial
    from synth.formal import Trouble
    from synth.pytest_tasks import Again, Own

__all__ = ["Bench", "Pdoctor", "synth"]

DEFAULT_CASES = 3
LOOK = pytest.StashKey[set[str]]()
"""Where the session is to be seen."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pdoctor", "planning tests for agents")
    group.addoption(
        "--pdoctor-collector", metavar="URL", help="judge there instead of in a collector of our own"
    )
    group.addoption("--pdoctor-model", metavar="NAME", help=f"model to test with (default: {DEFAULT_MODEL})")
    group.addoption("--pdoctor-base-url", metavar="URL", help="where that model is served")
    group.addoption(
        "--pdoctor-temperature", type=_temperature, default=0.0, metavar="T|none",
        help="sent with each request to the model (default: 0); none: not sent",
    )  # fmt: skip
    group.addoption(
        "--pdoctor-repeat", type=int, default=1, metavar="N", help="runs of each case (default: 1)"
    )
    group.addoption("--pdoctor-timeout", type=float, default=180.0, metavar="S", help="seconds per run")
    group.addoption("--pdoctor-no-shrink", action="store_true", help="do not look for a smaller failing case")


def _temperature(text: str) -> float | None:
    return None if text.strip().lower() == "none" else float(text)


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


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Which model plans, where a test asks for one."""
    if not any("pdoctor" in getattr(item, "fixturenames", ()) for item in items):
        return []
    model = config.getoption("--pdoctor-model") or DEFAULT_MODEL
    simulated = model.startswith("simulated-")
    what = " (no language model: this tests your agent's loop, not its planning)" if simulated else ""
    return [f"pdoctor: model {model}{what}"]


def _saw(config: pytest.Config, address: str | None) -> None:
    if address:
        config.stash.setdefault(LOOK, set()).add(address)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of pytest-xdist has ended."""
    _saw(node.config, getattr(node, "workeroutput", {}).get("pdoctor_look"))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for address in sorted(config.stash.get(LOOK, ())):
        terminalreporter.write_line(look_line(address))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("pdoctor")
    if "pdoctor" not in metafunc.fixturenames or marker is None:
        return
    wanted = dict(marker.kwargs)
    how = How(**{name: wanted.pop(name) for name in HOW if name in wanted})
    cases = _cases(wanted)
    groups = [[case] for case in cases] if how.at_least is None else [cases]
    ids = [case.id for case in cases] if how.at_least is None else [f"{len(cases)}-cases"]
    metafunc.parametrize("pdoctor", [(group, how) for group in groups], indirect=True, ids=ids)


def _cases(wanted: dict[str, Any]) -> list[Case]:
    from synth.cases.case import read_cases
    from synth.cases.generate import Options, generate

    count, seed = wanted.pop("cases", DEFAULT_CASES), wanted.pop("seed", 1)
    known = [field.name for field in fields(Options)]
    unknown = sorted(wanted.keys() - set(known))
    if unknown:
        raise pytest.UsageError(
            f"pdoctor marker: unknown argument {unknown[0]!r}; "
            f"known: cases, seed, {', '.join([*HOW, *known])}"
        )
    if not isinstance(count, int):
        return read_cases(Path(count))
    return list(generate(count, seed, Options(**wanted)))


class Pdoctor:
    """The fixture: ways to check an agent, with a case where the test is marked."""

    def __init__(self, cases: Sequence[Case], how: How, bench: Bench, folder: Path) -> None:
        self._cases, self._how, self._bench, self._folder = cases, how, bench, folder
        self.untested = False
        """The test ended because a run said nothing about its agent."""

    @property
    def cases(self) -> Sequence[Case]:
        """The synthesized case of a marked test; without a marker three that are drawn when asked for."""
        if not self._cases:
            self._cases = _cases({})
        return self._cases

    @property
    def case(self) -> Case:
        """The first of `cases`."""
        return self.cases[0]

    def check(
        self,
        agent: str | Callable[..., Any],
        model: str | None = None,
        *,
        temperature: float | None = UNSAID,
        repeat: int | None = None,
    ) -> Result:
        """Run the agent on the case; fails the test with an explanation unless the plan is right.

        With `at_least` in the marker it fails where a smaller share of the runs of all cases is right. What
        is given here goes before the marker, and that before the options of the session. A run that says
        nothing about the agent ends the test as an error.
        """
        __tracebackhide__ = True
        name = agent if isinstance(agent, str) else _importable(agent)
        how = self._said(model, temperature, repeat)
        trials = self._trials(name, how)
        if how.at_least is not None:
            return self._shared(trials, how, how.at_least)
        results = [self._checked(trial, how) for trial in trials]
        return results[-1]

    def _said(self, model: str | None, temperature: float | None, repeat: int | None) -> How:
        """How runs are made: by arguments, else the marker, else the session."""
        how, bench = self._how, self._bench
        runs = next(one for one in (repeat, how.repeat, bench.repeat) if one is not None)
        if runs < 1:
            raise pytest.UsageError(f"pdoctor: expected at least one run of each case, got repeat={runs}")
        at = how.temperature if temperature == UNSAID else temperature
        return How(model or how.model or bench.model_name, at, runs, how.at_least)

    def _trials(self, agent: str, how: How) -> list[Trial]:
        from synth.experiments.trial import Trial

        assert how.model is not None
        return [
            Trial(agent, how.model, case=case, repeat=repeat)
            for case in self.cases
            for repeat in range(how.repeat or 1)
        ]

    def _shared(self, trials: Sequence[Trial], how: How, at_least: float) -> Result:
        """The last result; fails the test as soon as the share that must pass is out of reach."""
        __tracebackhide__ = True
        from synth.pytest_tasks import needed, rate_text

        with _in_words():
            least = needed(len(trials), at_least)
        bad: list[Result] = []
        for made, trial in enumerate(trials, 1):
            result = self._tested(trial, how)
            bad += [] if result.outcome == "pass" else [result]
            if len(bad) > len(trials) - least:
                said = rate_text(made - len(bad), made, len(trials), at_least)
                return pytest.fail(f"{said}\n\n{explain_one(bad[0], self._bench.look)}", pytrace=False)
        return result

    def run(
        self,
        agent: str | Callable[..., Any],
        query: str,
        *,
        policies: str | Path | Sequence[str | Path],
        tools: Sequence[str | Callable[..., Any]] = (),
        model: str | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Judged:
        """Ask the agent for something; fails the test where its run violates a policy, or ends by an error.

        `policies` are files (from the test's folder, else from where pytest runs) or their text. `tools` are
        functions that can be imported, or their names: the agent is given them as it asks for them. `about`
        has further fields of the run that policies read, such as `{"agent": "refunds"}`.
        """
        __tracebackhide__ = True
        own = self._own(query, policies, tools, about)
        return self._passed(self._attempted(own, agent, model))

    def replay(
        self,
        cases: RecordedCase | str | Path | Sequence[RecordedCase],
        agent: str | Callable[..., Any] = "recorded",
        *,
        model: str | None = None,
        on_miss: str = "error",
        tools: Sequence[str | Callable[..., Any]] = (),
    ) -> list[Judged]:
        """Ask the agent what was recorded, with tools that answer as recorded; each case must pass.

        `cases` are those of `pdoctor cases from-run`, or their file. `on_miss` is what answers a call of
        which none like it was recorded: `error`, `last` (the tool's last answer) or `live` (one of `tools`).
        """
        __tracebackhide__ = True
        from synth.pytest_tasks import Again, cases_of

        with _in_words():
            found = cases_of(cases, self._folder)
            names = _names_of(tools, on_miss)
        runs = [self._attempted(Again(case, on_miss, names), agent, model) for case in found]
        return [self._passed(run) for run in runs]

    def rate(
        self,
        agent: str | Callable[..., Any],
        query: str | RecordedCase,
        *,
        runs: int = 20,
        at_least: float = 0.9,
        policies: str | Path | Sequence[str | Path] = (),
        tools: Sequence[str | Callable[..., Any]] = (),
        model: str | None = None,
        about: Mapping[str, Any] | None = None,
        on_miss: str = "error",
    ) -> float:
        """Ask several times; fails the test where a smaller share of the runs than `at_least` passes.

        `query` is a request, as for `run`, or a recorded case. It ends as soon as the share is out of
        reach; of a test that passes it answers the share.
        """
        __tracebackhide__ = True
        from synth.pytest_tasks import Again, explained, needed, rate_text

        with _in_words():
            least = needed(runs, at_least)
            own = (
                self._own(query, policies, tools, about)
                if isinstance(query, str)
                else Again(query, on_miss, _names_of(tools, on_miss))
            )
        bad: list[Judged] = []
        for made in range(1, runs + 1):
            run = self._attempted(own, agent, model, made)
            if self._failed(run):
                bad.append(run)
            if len(bad) > runs - least:
                said = rate_text(made - len(bad), made, runs, at_least)
                return pytest.fail(f"{said}\n\n{explained(bad[0], self._bench.look)}", pytrace=False)
        return (runs - len(bad)) / runs

    def _own(self, query: str, policies: Any, tools: Sequence[str | Callable[..., Any]], about: Any) -> Own:
        from synth.agents.tasks import Task
        from synth.pytest_tasks import Own, rules_of

        with _in_words():
            rules = rules_of(policies, self._folder)
        if not rules:
            raise pytest.UsageError("pdoctor: give policies=FILE: without them nothing is judged")
        return Own(Task(query, query, tools=_names_of(tools, "live")), rules, about or {})

    def _attempted(
        self, what: Own | Again, agent: str | Callable[..., Any], model: str | None, repeat: int = 0
    ) -> Judged:
        """A run that tested the agent; the test ends as an error where none did."""
        __tracebackhide__ = True
        from synth.pytest_tasks import attempt, reasons, untested

        name = agent if isinstance(agent, str) else _importable(agent)
        bench = self._bench
        with _in_words():
            run = attempt(
                what,
                name,
                model or self._how.model or bench.model_name,
                bench.harness_at(self._how.temperature),
                bench.solver,
                repeat,
            )
        bench.told(run.result, run.outcome, reasons(run))
        if run.result.trouble is not None:
            self.untested = True
            return pytest.fail(untested(run), pytrace=False)
        return run

    @staticmethod
    def _failed(run: Judged) -> bool:
        from synth.pytest_tasks import failed

        return failed(run)

    def _passed(self, run: Judged) -> Judged:
        """The run, whose open rules are warned of; fails the test where it is wrong."""
        __tracebackhide__ = True
        from synth.pytest_tasks import explained

        if self._failed(run):
            return pytest.fail(explained(run, self._bench.look), pytrace=False)
        for key, found in run.open.items():
            warnings.warn(f"pdoctor: {key} is {found.verdict}: {found.explanation}", stacklevel=3)
        return run

    def _checked(self, trial: Trial, how: How) -> Result:
        __tracebackhide__ = True
        result = self._tested(trial, how)
        if result.outcome == "pass":
            return result
        # What runs into its time limit would do so again and again.
        worth_shrinking = result.outcome == "fail" and result.status != "timeout"
        smallest = self._shrunk(trial, how) if worth_shrinking else result
        return pytest.fail(explain(result, smallest, self._bench), pytrace=False)

    def _tested(self, trial: Trial, how: How) -> Result:
        """A run that tested the agent; the test ends as an error where it did not."""
        __tracebackhide__ = True
        result = self._run(trial, how)
        self._bench.told(result)
        if result.trouble is not None:
            self.untested = True
            return pytest.fail(explain_trouble(result, result.trouble), pytrace=False)
        return result

    def _run(self, trial: Trial, how: How) -> Result:
        from synth.errors import SynthError

        __tracebackhide__ = True
        try:
            return self._bench.harness_at(how.temperature).run_one(trial)
        except SynthError as error:
            return pytest.fail(f"pdoctor: {error}", pytrace=False)

    def _shrunk(self, trial: Trial, how: How) -> Result | None:
        """The result of the smallest case that still fails, None if that is the case itself."""
        from synth.cases.shrink import shrink

        failed: dict[str, Result] = {}

        def fails(smaller: Case) -> bool:
            result = self._run(replace(trial, case=smaller), how)
            failed[smaller.paragraph] = result
            return result.outcome == "fail"

        if not self._bench.shrinks or trial.case is None:
            return None
        return failed.get(shrink(trial.case, fails).paragraph)


def _names_of(tools: Sequence[str | Callable[..., Any]], on_miss: str) -> tuple[str, ...]:
    """Tools by names under which another process finds them."""
    if on_miss not in ("error", "last", "live"):
        raise pytest.UsageError(f"pdoctor: on_miss is {on_miss!r}; expected error, last or live")
    if tools and on_miss != "live":
        raise pytest.UsageError("pdoctor: tools answer misses only where on_miss is 'live'")
    return tuple(tool if isinstance(tool, str) else _importable(tool) for tool in tools)


@contextmanager
def _in_words() -> Iterator[None]:
    """What is wrong with a request ends the test in one sentence."""
    from synth.errors import SynthError

    __tracebackhide__ = True
    said = ""
    try:
        yield
    except SynthError as error:
        said = f"pdoctor: {error}"
    if said:
        pytest.fail(said, pytrace=False)


def _importable(agent: Callable[..., Any]) -> str:
    """`module:name`, by which the worker process finds the function again."""
    name = f"{agent.__module__}:{agent.__qualname__}"
    if "<" in name:
        raise pytest.UsageError(
            f"{name} cannot be imported by another process; define the agent at module level"
        )
    return name


def explain(result: Result, smallest: Result | None, bench: Bench) -> str:
    """The failure text: of the smallest failing case if there is one; the case itself when asked for more."""
    if smallest is None or smallest is result:
        return explain_one(result, bench.look)
    sizes = f"{smallest.actions} of {result.actions} actions are enough to fail."
    shrunk = f"Shrunk from case {result.case_id}: {sizes}"
    small = f"{explain_one(smallest, bench.look)}\n\n{shrunk}"
    if not bench.is_verbose:
        return f"{small} pytest -v shows the whole case."
    return f"{small} The whole case:\n\n{explain_one(result, bench.look)}"


def explain_trouble(result: Result, trouble: Trouble) -> str:
    """What kept the agent from being tested, the endpoint's own words first."""
    from synth.experiments.tally import in_words

    about = f"{result.agent} on {result.model}, case {result.case_id}"
    lines = [f"{in_words(trouble)}: planning was not tested", about]
    return "\n".join([*lines, *([f"the agent ended with: {result.error}"] if result.error else [])])


def explain_one(result: Result, look: Callable[[str], str] | None = None) -> str:
    """What was broken, outcome, rules, findings and calls of one run."""
    from synth.policies.told import told, violated

    case, verdict = result.case or {}, result.verdict or {}
    findings = [f for f in verdict.get("findings", ()) if f["type"] != "note"]
    policies = violated((result.run or {}).get("policies", ()))
    blamed = {position for finding in findings for position in finding["calls"]}
    blamed |= {position for policy in policies for position in policy["violations"]}
    calls = (result.run or {}).get("calls", ())
    lines = [
        *(finding["explanation"] for finding in findings[:1]),
        f"{result.agent} on {result.model}, case {result.case_id}: {result.outcome}"
        + (f" ({result.error_type})" if result.error_type else ""),
        *([f"Look: {look(result.run['id'])}"] if look and result.run else []),
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
    config = request.config
    bench = Bench(config)
    yield bench
    bench.close()
    _saw(config, bench.seen)
    if hasattr(config, "workeroutput"):
        config.workeroutput["pdoctor_look"] = bench.seen


@pytest.fixture
def pdoctor(request: pytest.FixtureRequest, pdoctor_bench: Bench) -> Pdoctor:
    """`check` with synthesized cases, `run` for requests of one's own, `replay` for recorded ones."""
    cases, how = getattr(request, "param", ([], How()))
    return Pdoctor(cases, how, pdoctor_bench, request.path.parent)

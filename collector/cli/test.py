"""`pdoctor test`: drive an agent through cases and judge every run."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import click
import orjson

from collector.cli.console import Exit, clear_errors, json_option, progress, table, write_json
from collector.cli.embedded import collector_process
from collector.cli.synth import cases_from, synth_options
from synth.errors import BadInput
from synth.model import ERROR_TYPES

if TYPE_CHECKING:
    from synth.case import Case
    from synth.harness import Result

SHOWN = 10


@click.command("test")
@click.argument("agent")
@synth_options
@click.option(
    "--cases", default="20", show_default=True, metavar="COUNT|FILE", help="How many to draw, or a file."
)
@click.option(
    "--model", default=None, help="Model name; default: simulated-perfect, or gpt-4o-mini with a key."
)
@click.option("--base-url", default=None, metavar="URL", help="OpenAI-compatible endpoint.")
@click.option("--temperature", type=float, default=0.0, show_default=True)
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Runs per case.")
@click.option("--parallel", type=click.IntRange(1, 64), default=2, show_default=True, help="Agent processes.")
@click.option(
    "--agent-timeout", type=click.FloatRange(0.1), default=180.0, show_default=True, help="Seconds per run."
)
@click.option(
    "--max-iterations", type=click.IntRange(1), default=50, show_default=True, help="Model answers per run."
)
@click.option("--min-pass-rate", type=click.FloatRange(0, 1), default=1.0, show_default=True)
@click.option(
    "--baseline", metavar="FILE", default=None, help="Earlier --json output: fail when worse than that."
)
@click.option(
    "--collector", "url", metavar="URL", default=None, help="A running collector; default: one of its own."
)
@click.option("--junit", metavar="FILE", default=None, help="Also write a JUnit XML report.")
@json_option
def command(
    agent: str, cases: str, min_pass_rate: float, baseline: str | None, url: str | None,
    junit: str | None, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Drive AGENT through planning problems and judge every run.

    AGENT is module:callable, or one of the built-in agents openai-tools and raw-loop. Exit code: 0
    the pass rate is reached, 1 it is not, 3 nothing failed but something is undecided, 2 bad input.
    """
    with clear_errors():
        limit = max(min_pass_rate, baseline_rate(baseline))
        setup = Setup(agent, **{name: settings.pop(name) for name in Setup.OPTIONS})
        report = Report(setup, drive(setup, drawn(cases, settings), url))
        if junit:
            report.write_junit(Path(junit))
        if as_json:
            write_json(report.to_json())
        else:
            click.echo(report.text())
        raise SystemExit(report.exit_code(limit))


class Setup:
    """What is tested, and how."""

    OPTIONS = ("model", "base_url", "temperature", "repeat", "parallel", "agent_timeout", "max_iterations")

    def __init__(
        self, agent: str, model: str | None, base_url: str | None, temperature: float, repeat: int,
        parallel: int, agent_timeout: float, max_iterations: int,
    ) -> None:  # fmt: skip
        from synth.harness import SIMULATED, Options

        real = base_url or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")
        self.agent, self.repeat = agent, repeat
        self.model = model or ("gpt-4o-mini" if real else "simulated-perfect")
        self.simulated = self.model.startswith(SIMULATED) and base_url is None
        self.options = Options(parallel, agent_timeout, max_iterations, temperature, base_url)


def drawn(cases: str, settings: dict[str, Any]) -> list[Case]:
    """Cases from a file, or as many as asked for."""
    from synth.case import read_cases

    if not cases.isdigit():
        return list(read_cases(cases))
    if int(cases) == 0:
        raise BadInput("no cases to run: --cases takes a count from 1 upward, or a file")
    return list(cases_from(int(cases), settings))


def drive(setup: Setup, cases: Sequence[Case], url: str | None) -> list[Result]:
    """Every result, in the order of cases and repeats."""
    from synth.harness import Harness, Trial

    trials = [Trial(setup.agent, setup.model, case, repeat=r) for case in cases for r in range(setup.repeat)]
    place = {trial.key: index for index, trial in enumerate(trials)}
    with contextlib.ExitStack() as stack:
        address = url or stack.enter_context(own_collector())
        model = stack.enter_context(simulated_model()) if setup.simulated else None
        harness = stack.enter_context(Harness(address, setup.options, model))
        runs = stack.enter_context(progress(harness.run(trials), label="testing", length=len(trials)))
        return sorted(runs, key=lambda result: place[result.trial])


@contextlib.contextmanager
def own_collector() -> Iterator[str]:
    with (
        tempfile.TemporaryDirectory(prefix="pdoctor-test-") as folder,
        collector_process(Path(folder) / "test.db") as url,
    ):
        yield url


def simulated_model() -> Any:
    from synth.simulated_model import SimulatedModel

    return SimulatedModel()


def baseline_rate(file: str | None) -> float:
    """The pass rate of an earlier run; 0 without a file."""
    if file is None:
        return 0.0
    try:
        return float(orjson.loads(Path(file).read_bytes())["pass_rate"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise BadInput("expected the output of `pdoctor test --json`", file=file) from error


@dataclass(frozen=True)
class Report:
    """The results of one test run."""

    setup: Setup
    results: Sequence[Result]

    def count(self, outcome: str) -> int:
        return sum(result.outcome == outcome for result in self.results)

    @property
    def pass_rate(self) -> float | None:
        """Passes among the decided runs, None when none was decided."""
        decided = self.count("pass") + self.count("fail")
        return self.count("pass") / decided if decided else None

    def exit_code(self, limit: float) -> Exit:
        if self.pass_rate is not None and self.pass_rate < limit:
            return Exit.FAILED
        return Exit.PASSED if self.pass_rate is not None and not self.unsettled else Exit.UNSETTLED

    @property
    def unsettled(self) -> int:
        return len(self.results) - self.count("pass") - self.count("fail")

    def error_types(self) -> dict[str, int]:
        found = Counter(result.error_type for result in self.results)
        return {name: found[name] for name in ERROR_TYPES if found[name]}

    def to_json(self) -> dict[str, Any]:
        return {
            "agent": self.setup.agent,
            "model": self.setup.model,
            "runs": len(self.results),
            "passed": self.count("pass"),
            "failed": self.count("fail"),
            "unsettled": self.unsettled,
            "pass_rate": self.pass_rate,
            "error_types": self.error_types(),
            "results": [result.to_json() for result in self.results],
        }

    def text(self) -> str:
        rate = "-" if self.pass_rate is None else f"{self.pass_rate:.1%}"
        headers = ["agent", "model", "runs", "pass", "fail", "unsettled", "rate", *self.error_types()]
        counts = [len(self.results), self.count("pass"), self.count("fail"), self.unsettled, rate]
        row = [self.setup.agent, self.setup.model, *counts, *self.error_types().values()]
        return "\n\n".join([table(headers, [row]), *self.failures()])

    def failures(self) -> Iterator[str]:
        failed = [result for result in self.results if result.outcome != "pass"]
        for result in failed[:SHOWN]:
            yield failure_text(result)
        if len(failed) > SHOWN:
            yield f"... and {len(failed) - SHOWN} more; --json lists them all."

    def write_junit(self, path: Path) -> None:
        """One test case per run; an undecided run is skipped, with its reason."""
        suite = ElementTree.Element(
            "testsuite", name=f"pdoctor test {self.setup.agent}", tests=str(len(self.results)),
            failures=str(self.count("fail")), skipped=str(self.unsettled),
        )  # fmt: skip
        for result in self.results:
            name = result.trial.partition("|")[2]
            case = ElementTree.SubElement(
                suite, "testcase", classname=result.agent, name=name, time=f"{result.wall_seconds:.3f}"
            )
            if result.outcome != "pass":
                kind = "failure" if result.outcome == "fail" else "skipped"
                problem = ElementTree.SubElement(case, kind, message=result.error_type or result.outcome)
                problem.text = failure_text(result)
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def failure_text(result: Result) -> str:
    """Which case failed, why, and the sentences that say so."""
    head = f"case {result.case_id}: {result.error_type or result.outcome}"
    return "\n".join([head, *(f"  - {line}" for line in reasons(result) or ["no verdict came"])])


def reasons(result: Result) -> list[str]:
    """What is wrong; for an undecided run, what stands in the way of a verdict."""
    gaps = list((result.run or {}).get("problems", ()))
    found = [f["explanation"] for f in (result.verdict or {}).get("findings", ()) if f["type"] != "note"]
    said = gaps if result.outcome == "undecided" and gaps else [*found, *gaps]
    return [*said, result.error] if result.error else said

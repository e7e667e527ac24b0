"""`pdoctor check`: judge runs from files against cases and policies."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from collector.cli.console import clear_errors, exit_code, json_option, plain, table, write_json
from collector.cli.runfiles import RunFile
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.formal.model import Verdict
    from synth.judge import Rules
    from synth.judge_process import SolverProcess
    from synth.observed.run import Run
    from synth.policies import PolicyResult, PolicySet, SeenNames


SESSION_FIELDS = ("session", "session_id", "conversation_id", "thread_id")
"""Fields of a run record that may name its conversation."""


@click.command("check")
@click.argument("runs", nargs=-1, required=True, metavar="RUNS...")
@click.option(
    "--cases",
    "cases_file",
    metavar="FILE",
    help="Cases as JSON lines (- is standard input); a run names its case by case_id.",
)
@click.option("--policies", "policies_file", metavar="FILE", help="A policy file (YAML).")
@click.option(
    "--z3", type=click.Choice(["all", "failing", "off"]), default="all", show_default=True,
    help="Which verdicts Z3 re-checks.",
)  # fmt: skip
@json_option
def command(
    runs: Sequence[str], cases_file: str | None, policies_file: str | None, z3: str, as_json: bool
) -> None:
    """Judge recorded RUNS (run records, OTLP JSON lines or OTLP protobuf; - is standard input).

    With --policies the runs are read twice: which tools there are must be known before the first verdict. A
    policy that speaks of a tool that no run shows, while one of nearly that name was seen, is unsupported.
    What can be read only once (-, a pipe) is copied to a temporary file.

    Exit code: 0 all passed, 1 something failed or is violated, 3 nothing failed but something is
    open, undecided or unsupported, 2 bad input.
    """
    with clear_errors():
        raise SystemExit(check(runs, cases_file, policies_file, z3, as_json))


def check(
    runs: Sequence[str], cases_file: str | None, policies_file: str | None, z3: str, as_json: bool
) -> int:
    from synth.cases.case import read_cases
    from synth.judge import Rules
    from synth.judge_process import SolverProcess
    from synth.policies import load_policies

    if cases_file is None and policies_file is None:
        raise BadInput("nothing to judge the runs by: give --cases FILE, --policies FILE or both")
    if [*runs, cases_file].count("-") > 1:
        raise BadInput("standard input (-) can be read once: give a file for the others")
    stream = sys.stdin.buffer if cases_file == "-" else cases_file
    cases = {case.id: case for case in read_cases(stream)} if stream else {}
    policies = load_policies(policies_file) if policies_file else None
    shown: list[Judgement] = []
    results: set[str] = set()
    judged = 0
    ids: Counter[str] = Counter()
    sessions = Sessions()
    with ExitStack() as opened, SolverProcess() as solver:
        files = [opened.enter_context(RunFile(source)) for source in runs]
        names = names_in(files, policies) if policies else None
        for run in all_runs(files):
            ids[run.id] += 1
            case = case_of(run, cases, cases_file)
            earlier = sessions.before(run) if policies and policies.scope == "session" else ()
            judgement = judgement_of(solver, run, case, policies, Rules(z3=z3), earlier, names)
            # A run that nothing was judged by must not look like one that passed.
            results.update(judgement.results or ["unsupported"])
            judged += 1
            if as_json:
                for line in judgement.lines():
                    write_json(line)
            else:
                shown.append(judgement)
    if not judged:
        raise BadInput(f"no run found in {', '.join(runs)}")
    warn_of_repeated(ids)
    if not as_json:
        click.echo("\n\n".join([summary(shown), *warnings_of(policies, names)]))
    return exit_code(results)


def all_runs(files: Sequence[RunFile]) -> Iterator[Run]:
    for file in files:
        yield from file.runs()


def names_in(files: Sequence[RunFile], policies: PolicySet) -> SeenNames:
    """The tools that the runs show, or enough of them to know those of the policies.

    Where a file cannot be read on, what came before it counts: judging comes to that place and says why.
    """
    from synth.policies import all_tools_in, names_of_runs

    return names_of_runs(readable(all_runs(files)), all_tools_in(policies))


def readable(runs: Iterator[Run]) -> Iterator[Run]:
    with suppress(BadInput, OSError):
        yield from runs


def warnings_of(policies: PolicySet | None, names: SeenNames | None) -> Iterator[str]:
    """The tools of the policies that no run shows, each once, in 80 columns."""
    from synth.policies import doubts
    from synth.policies.names import some_of

    found = doubts(policies, names) if policies and names else {}
    told: dict[str, list[str]] = {}
    for policy, unseen in found.items():
        for doubt in unseen:
            told.setdefault(str(doubt), []).append(policy)
    for said, about in told.items():
        text = plain(f"Warning [{some_of(about)}]: {said}")
        yield textwrap.fill(text, 80, subsequent_indent="  ", break_on_hyphens=False)


def case_of(run: Run, cases: dict[str, Case], cases_file: str | None) -> Case | None:
    """The case a run names; a name that nothing stands for is bad input."""
    if run.case_id is None or cases_file is None:
        return None
    if run.case_id not in cases:
        raise BadInput(
            f"run {run.id} names case {run.case_id!r}, which is not in {cases_file} "
            f"({len(cases)} cases); give the file that holds it with --cases"
        )
    return cases[run.case_id]


def judgement_of(
    solver: SolverProcess,
    run: Run,
    case: Case | None,
    policies: PolicySet | None,
    rules: Rules,
    earlier: Sequence[Run] = (),
    names: SeenNames | None = None,
) -> Judgement:
    """Judge one run; `solver` keeps a question that is too hard for Z3 from hanging the command.

    `earlier` are the runs of its session before it, oldest first; `names` the tools that all runs show.
    """
    verdict = solver.judge(case, run, rules) if case else None
    if policies is None:
        return Judgement(run.id, verdict, ())
    if not earlier:
        return Judgement(run.id, verdict, solver.judge_policies(policies, run, rules, names=names))
    from collector.judging.policies import own_part
    from synth.policies import join_runs

    whole = join_runs([*earlier, run], policies.aliases)
    results = solver.judge_policies(policies, whole, rules, names=names)
    offset = sum(len(one.calls) for one in earlier)
    return Judgement(run.id, verdict, tuple(own_part(result, run, offset) for result in results))


class Sessions:
    """Runs of one conversation, in the order of the files: they share a `session` field."""

    def __init__(self) -> None:
        self._runs: dict[str, deque[Run]] = {}

    def before(self, run: Run) -> list[Run]:
        """The runs of this run's session before it, oldest first, as many as a collector looks at."""
        from synth.policies import MOST_EARLIER, last_runs

        session = session_of(run)
        if session is None:
            return []
        known = self._runs.setdefault(session, deque(maxlen=MOST_EARLIER + 1))
        earlier = last_runs(list(known))
        known.append(replace(run, status="ok"))
        return earlier


def session_of(run: Run) -> str | None:
    """The conversation that a run record names."""
    values = (run.extra.get(name) for name in SESSION_FIELDS)
    return next((value for value in values if isinstance(value, str) and value), None)


def warn_of_repeated(ids: Counter[str]) -> None:
    """Two runs with one id are judged one by one, but results that name the id are ambiguous."""
    from synth.policies.names import some_of

    repeated = [run_id for run_id, count in ids.items() if count > 1]
    if repeated:
        named = some_of(repeated)
        click.echo(
            f"pdoctor: warning: {len(repeated)} run ids stand for several runs ({plain(named)}); each run is "
            "judged, but results cannot be told apart by their run_id",
            err=True,
        )


@dataclass(frozen=True)
class Judgement:
    """What was found about one run."""

    run_id: str
    verdict: Verdict | None
    policies: tuple[PolicyResult, ...]

    @property
    def results(self) -> list[str]:
        outcomes = [self.verdict.outcome] if self.verdict else []
        return [*outcomes, *(result.verdict for result in self.policies)]

    def lines(self) -> Iterator[dict[str, object]]:
        if self.verdict:
            yield self.verdict.to_json()
        yield from (result.to_json() for result in self.policies)

    def problems(self) -> Iterator[str]:
        """Plain sentences about what is wrong, without the notes."""
        if self.verdict:
            yield from (f.explanation for f in self.verdict.findings if f.type != "note")
        yield from (
            f"[{result.policy}] {result.explanation}"
            for result in self.policies
            if result.verdict == "violated"
        )


SHOWN = 20


def summary(judged: Sequence[Judgement]) -> str:
    """Tables of outcomes, then what is wrong, run by run."""
    return "\n\n".join([*outcome_tables(judged), *problem_list(judged)])


def outcome_tables(judged: Sequence[Judgement]) -> Iterator[str]:
    outcomes = Counter(j.verdict.outcome for j in judged if j.verdict)
    if outcomes:
        yield table(["runs", *outcomes], [[sum(outcomes.values()), *outcomes.values()]])
    by_policy: dict[str, Counter[str]] = {}
    for result in (result for j in judged for result in j.policies):
        by_policy.setdefault(result.policy, Counter())[result.verdict] += 1
    if by_policy:
        verdicts = ["ok", "violated", "not_applicable", "undecided", "unsupported"]
        seen = [v for v in verdicts if any(counts[v] for counts in by_policy.values())]
        yield table(
            ["policy", *seen], [[name, *(counts[v] for v in seen)] for name, counts in by_policy.items()]
        )
    unjudged = sum(not j.results for j in judged)
    if unjudged:
        yield f"{unjudged} of {len(judged)} runs name no case and no policy applies: not judged."


def problem_list(judged: Iterable[Judgement]) -> Iterator[str]:
    wrong = [(j.run_id, list(j.problems())) for j in judged]
    wrong = [(run_id, problems) for run_id, problems in wrong if problems]
    for run_id, problems in wrong[:SHOWN]:
        yield "\n".join(plain(line) for line in [run_id, *(f"  - {problem}" for problem in problems)])
    if len(wrong) > SHOWN:
        yield f"... and {len(wrong) - SHOWN} more runs with findings; --json lists them all."

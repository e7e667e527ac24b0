"""`pdoctor check`: judge runs from files against cases and policies."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from collector.cli.console import (
    clear_errors,
    color_option,
    exit_code,
    json_option,
    plain,
    policy_text,
    table,
    warning,
    write_json,
)
from collector.cli.planfiles import check_plans, check_rules
from collector.cli.runfiles import RunFile, all_runs
from synth.errors import BadInput

if TYPE_CHECKING:
    from collector.settings import QueryRules
    from synth.cases.case import Case
    from synth.formal.model import Verdict
    from synth.judge import Rules
    from synth.judge_process import SolverProcess
    from synth.observed.run import Run
    from synth.policies import Part, PolicyResult, PolicySet, SeenNames


@click.command("check")
@click.argument("runs", nargs=-1, metavar="RUNS...")
@click.option(
    "--plan", "plan_file", metavar="FILE",
    help="Verify plans (JSON lines, a JSON document or Python) before their first call, by --tools or rules.",
)  # fmt: skip
@click.option("--tools", "tools_file", metavar="FILE", help="Of --plan: JSON list of tools, inputs, outputs.")
@click.option(
    "--edges", "edges_file", metavar="FILE",
    help="Of --plan: JSON list of [from, to], the tools that may follow each other; else types decide.",
)  # fmt: skip
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
@click.option(
    "--query-rules", type=click.Choice(["suggest", "judge"]), default="suggest", show_default=True,
    help="Rules in the request of a run without a case: name them, or judge the run by them.",
)  # fmt: skip
@click.option(
    "--clock-skew-ms", type=click.FloatRange(0), default=50.0, show_default=True,
    help="How far the clocks of two machines may differ.",
)  # fmt: skip
@color_option
@json_option
def command(
    runs: Sequence[str], plan_file: str | None, tools_file: str | None, edges_file: str | None,
    cases_file: str | None, policies_file: str | None, z3: str, query_rules: QueryRules, clock_skew_ms: float,
    as_json: bool,
) -> None:  # fmt: skip
    """Judge recorded RUNS (run records, OTLP JSON lines or OTLP protobuf; - is standard input).

    With --policies the runs are read twice: which tools there are must be known before the first verdict. A
    policy that speaks of a tool that no run shows, while one of nearly that name was seen, is unsupported.
    What can be read only once (-, a pipe) is copied to a temporary file.

    With --plan no run is needed: of each plan in FILE it is said whether its tools, argument names and
    connections are those of --tools. A plan in Python is read, never run. With --plan and --policies (or
    --cases) each plan is a list of names or of {"name", "arguments"}; told is, before its first call, which
    step the rules forbid and what is left undone.

    Exit code: 0 all passed, 1 something failed or is violated, 3 nothing failed but something is
    open, undecided, unsupported or an error (the agent was not tested), 2 bad input.
    """
    with clear_errors():
        if plan_file is not None:
            if runs:
                raise BadInput("--plan takes no runs: check those in a call of their own")
            if cases_file or policies_file:
                if tools_file or edges_file:
                    raise BadInput("--plan: give --tools, or rules (--policies, --cases), one at a time")
                raise SystemExit(check_rules(plan_file, policies_file, cases_file, as_json))
            raise SystemExit(check_plans(plan_file, tools_file, edges_file, as_json))
        if not runs or tools_file or edges_file:
            raise BadInput("give RUNS, or --plan FILE with --tools FILE and, where declared, --edges FILE")
        raise SystemExit(check(runs, cases_file, policies_file, z3, query_rules, clock_skew_ms, as_json))


def check(
    runs: Sequence[str], cases_file: str | None, policies_file: str | None, z3: str, query_rules: QueryRules,
    clock_skew_ms: float, as_json: bool,
) -> int:  # fmt: skip
    from synth.cases.case import read_cases
    from synth.judge import Rules
    from synth.judge_process import SolverProcess
    from synth.policies import load_policies

    if cases_file is None and policies_file is None and query_rules != "judge":
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
    rules = Rules(z3=z3, clock_skew_ms=clock_skew_ms)
    with ExitStack() as opened, SolverProcess() as solver:
        files = [opened.enter_context(RunFile(source)) for source in runs]
        names = names_in(files, policies) if policies else None
        together = Conversations(files) if policies and policies.scope == "session" else None
        for run in all_runs(files):
            ids[run.id] += 1
            case = case_of(run, cases, cases_file)
            turns = together.of(run) if together else Turns([run], 0)
            judgement = judgement_of(solver, turns, case, policies, rules, names)
            judgement = with_query_rules(judgement, solver, run, rules, query_rules)
            # A run that nothing was judged by must not look like one that passed.
            results.update(judgement.results or ["unsupported"])
            if said := rules.clock_warning(run):
                click.echo(textwrap.fill(plain(f"Warning: {run.id}: {said}"), 80), err=True)
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
    from synth.policies import doubtful

    for doubt, about in doubtful(policies, names) if policies else ():
        yield warning(about, str(doubt))


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


def with_query_rules(
    judgement: Judgement, solver: SolverProcess, run: Run, rules: Rules, query_rules: QueryRules
) -> Judgement:
    """What the request of a run without a case says, judged or only named."""
    from collector.judging.assess import own_results, tools_of
    from synth.judge_process import JudgeFailed
    from synth.policies import PolicyResult, suggested_rules

    if run.case_id is not None:
        return judgement
    if query_rules == "suggest":
        return replace(judgement, suggested=suggested_rules(run.query, tools_of(run)))
    try:
        stated = solver.ask(own_results, run, rules, query_rules)
    except JudgeFailed as failed:
        said = f"The run could not be judged: {failed}"
        stated = (PolicyResult(run.id, "query", "undecided", (), said),)
    return replace(judgement, policies=(*judgement.policies, *stated))


def judgement_of(
    solver: SolverProcess,
    turns: Turns,
    case: Case | None,
    policies: PolicySet | None,
    rules: Rules,
    names: SeenNames | None = None,
) -> Judgement:
    """Judge one run; `solver` keeps a question that is too hard for Z3 from hanging the command.

    `names` are the tools that all runs show.
    """
    from synth.policies import judge_turn

    run = turns.runs[turns.at]
    verdict = solver.judge(case, run, rules) if case else None
    if policies is None:
        return Judgement(run.id, verdict, ())
    if len(turns.runs) == 1:
        return Judgement(run.id, verdict, solver.judge_policies(policies, run, rules, names=names))

    def judge(policies: PolicySet, run: Run, part: Part | None) -> tuple[PolicyResult, ...]:
        return solver.judge_policies(policies, run, rules, names=names, part=part)

    return Judgement(run.id, verdict, judge_turn(judge, policies, turns.runs, turns.at))


@dataclass(frozen=True, slots=True)
class Turns:
    """A conversation, and the run of it that is judged."""

    runs: Sequence[Run]
    at: int


class Conversations:
    """Runs of one conversation, in the order of the files: they share a `session` field."""

    def __init__(self, files: Sequence[RunFile]) -> None:
        self._runs: dict[str, list[Run]] = {}
        self._judged: Counter[str] = Counter()
        for run in readable(all_runs(files)):
            if session := session_of(run):
                self._runs.setdefault(session, []).append(run)

    def of(self, run: Run) -> Turns:
        """The conversation of the next run of the files."""
        session = session_of(run)
        if session is None:
            return Turns([run], 0)
        self._judged[session] += 1
        return Turns(self._runs[session], self._judged[session] - 1)


def session_of(run: Run) -> str | None:
    """The conversation that a run record names."""
    from synth.observed.run import SESSION_FIELDS

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
    suggested: tuple[str, ...] = ()
    """Sentences of the run's request that could be rules, and are not judged."""

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
            if self.verdict.trouble:
                yield plain(f"Not tested to the end: {self.verdict.trouble}")
            yield from (plain(f.explanation) for f in self.verdict.findings if f.type != "note")
        for result in self.policies:
            if result.verdict == "violated":
                yield policy_text(result.to_json(), indent="    ")


SHOWN = 20


def summary(judged: Sequence[Judgement]) -> str:
    """Tables of outcomes, then what is wrong, run by run."""
    return "\n\n".join([*outcome_tables(judged), *problem_list(judged), *suggestions(judged)])


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
        yield "\n".join([plain(run_id), *(f"  - {problem}" for problem in problems)])
    if len(wrong) > SHOWN:
        yield f"... and {len(wrong) - SHOWN} more runs with findings; --json lists them all."


def suggestions(judged: Iterable[Judgement]) -> Iterator[str]:
    """The rules that requests state, each once, with the number of runs."""
    counts = Counter(text for j in judged for text in j.suggested)
    if counts:
        lines = [f"  - {plain(text)} ({count} runs)" for text, count in counts.most_common(SHOWN)]
        said = "Requests state these rules, which are not judged (--query-rules judge does):"
        yield "\n".join([textwrap.fill(said, 80), *lines])
    if len(counts) > SHOWN:
        yield f"... and {len(counts) - SHOWN} more."

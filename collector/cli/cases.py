"""`pdoctor cases`: make test cases from runs that a collector has."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import (
    clear_errors,
    collector_option,
    json_option,
    plain,
    progress,
    text_in,
    told_while,
    write_json,
)
from collector.cli.runs import FILTERS, settled
from synth.client import Collector, named
from synth.counted import counted
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.cases.recorded import RecordedCase, RuleFile
    from synth.judge_process import SolverProcess

WAIT = 60.0
"""Seconds for a run that is still to be judged."""
DEFINITIONS = "gen_ai.tool.definitions"
MOST = 1000
"""Cases of one call."""
SPAN_PAGES = 3
"""Definitions of tools stand on the first model calls; so many pages of spans are looked through."""


@click.group("cases")
def command() -> None:
    """Make test cases from the runs of a collector."""


@command.command("from-run")
@click.argument("run_ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--filter", "wanted", metavar="WORDS", default=None,
    help="Instead of IDs: the runs that match, such as 'outcome:fail rule:A2 tool:refund last:24h'.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1, MOST), default=100, show_default=True, help="Of --filter.")
@click.option("-o", "--output", metavar="FILE", default=None, help="Where the cases go; default: - (stdout).")
@click.option("--pytest", "tests", metavar="FILE", default=None, help="Also write tests that replay them.")
@click.option(
    "--agent", default="recorded", show_default=True, help="Of --pytest: module:function that is tested."
)
@click.option(
    "--policies", "files", multiple=True, metavar="FILE",
    help="Judge by these policies, and not by those that the collector has.",
)  # fmt: skip
@collector_option
@json_option
def from_run(
    run_ids: tuple[str, ...], wanted: str | None, limit: int, output: str | None, tests: str | None,
    agent: str, files: tuple[str, ...], url: str, as_json: bool,
) -> None:  # fmt: skip
    """Make a case of each run: request, tools, their answers, and its rules.

    A case is one line of JSON; `pdoctor replay` runs an agent on it, against the recorded answers. In an
    OUTPUT that is there, cases of the same runs are replaced and others stay.

    \b
    pdoctor cases from-run 8f3a1c -o refunds.jsonl
    pdoctor cases from-run --filter "outcome:fail rule:A2" \\
        --pytest tests/test_refunds.py
    """
    with clear_errors(), Collector(url) as collector:
        from synth.agents import AGENTS
        from synth.agents.model import RECORDED
        from synth.judge_process import SolverProcess

        if bool(run_ids) == bool(wanted):
            raise BadInput("give the ids of runs, or --filter WORDS (`pdoctor runs list` shows the runs)")
        if agent != RECORDED and ":" not in agent and agent not in {known.name for known in AGENTS}:
            raise BadInput(f"expected module:function, got {agent!r}", field="--agent")
        output = output or (None if tests is None else str(Path(tests).with_suffix(".jsonl")))
        if tests is not None and output == "-":
            raise BadInput("--pytest needs a file of cases to read: give it with -o", field="--output")
        ids = list(dict.fromkeys(run_ids)) or chosen(collector, wanted or "", limit)
        made = Made(collector, rules_in(files))
        with SolverProcess() as solver, progress(ids, label="runs", length=len(ids)) as shown:
            for run_id in shown:
                made.add(run_id, solver)
        if not made.cases:
            raise BadInput("\n".join(["no case was made", *map(str, made.refused)]))
        write(made.cases, output, tests, agent, as_json)
        for line in made.said():
            click.echo(plain(line), err=True)
        raise SystemExit(1 if made.refused else 0)


def write(
    cases: Sequence[RecordedCase], output: str | None, tests: str | None, agent: str, as_json: bool
) -> None:
    """The cases, the tests of them, and what to do next."""
    if output is None or output == "-":
        for case in cases:
            write_json(case.to_json())
        return
    stored = merged(Path(output), cases)
    if tests is not None:
        write_tests(Path(tests), Path(output), agent)
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    Path(output).write_text("".join(f"{line}\n" for line in stored), encoding="utf-8")
    failing = sum(case.found.outcome == "fail" for case in cases)
    said = {"cases": len(cases), "failing": failing, "output": output, "pytest": tests}
    next_command = f"pdoctor replay {output}" if tests is None else f"pytest {tests}"
    if as_json:
        write_json({**said, "ids": [case.id for case in cases]})
        return
    click.echo(f"{counted(len(cases), 'case')} in {output}, {failing} of runs that failed")
    click.echo(f"Next: {next_command}")


@dataclass
class Made:
    """The cases so far, and why others could not be made."""

    collector: Collector
    rules: Sequence[RuleFile] = ()
    """Given by hand; () = those of the collector."""
    cases: list[RecordedCase] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, Mapping[int, str]] = field(default_factory=dict)

    def add(self, run_id: str, solver: SolverProcess) -> None:
        """Make the case of one run; why there is none is kept."""
        from synth.cases.case import case_from_json
        from synth.experiments.recording import recorded_case
        from synth.observed.run import run_from_json

        run = settled(self.collector, run_id, seconds=WAIT)
        if not run["judged"]:
            raise BadInput(f"run {run['id']} has not been judged yet: try again in a moment")
        record = {"status": "ok", **run["record"]}
        bound = self._case(run.get("case_id"))
        rules = self.rules or list(self._rules_of(run))
        judged = {} if self.rules else {f"{p['file']}/{p['policy']}": p["verdict"] for p in run["policies"]}
        try:
            made, left_out = recorded_case(
                run_from_json(record), rules, solver, case=bound and case_from_json(bound),
                definitions=self._definitions(run["id"]), judged=judged,
                source={"run_id": run["id"], "collector": self.collector.url},
            )  # fmt: skip
        except BadInput as bad:
            self.refused.append(f"run {run['id']}: {bad}")
            return
        self.cases.append(made)
        self.left_out |= {f"{key} of run {run['id']}": why for key, why in left_out.items()}

    def said(self) -> Iterator[str]:
        """What was not made, and what is doubtful about what was."""
        yield from (f"pdoctor: no case of {why}" for why in self.refused)
        yield from (f"pdoctor: left out {key}: {why}" for key, why in self.left_out.items())
        unjudged = [case.id for case in self.cases if not case.rules and case.case is None]
        if unjudged:
            yield (
                f"pdoctor: no policy is for {counted(len(unjudged), 'case')} ({', '.join(unjudged[:3])}): "
                "nothing will be judged; give --policies FILE, or `pdoctor policies push FILE`"
            )

    def _rules_of(self, run: Mapping[str, Any]) -> Iterator[RuleFile]:
        """The policy files by which a run was judged, in the versions that did."""
        from synth.cases.recorded import RuleFile

        known = dict.fromkeys((p.get("file"), p.get("version")) for p in run["policies"] if p.get("file"))
        for name, version in known:
            if name not in self._texts:
                stored = self.collector.get(named("policies", name))
                self._texts[name] = {one["version"]: one["text"] for one in stored["versions"]}
            if version in self._texts[name]:
                yield RuleFile(name, self._texts[name][version], version)

    def _case(self, case_id: str | None) -> Any:
        if case_id is None:
            return None
        try:
            return self.collector.get(named("cases", case_id))
        except BadInput:
            return None  # bound by name only

    def _definitions(self, run_id: str) -> list[Any]:
        """What the model calls of a run were told of its tools."""
        from synth.cases.recorded import definitions_in

        cursor, found = None, []
        for _ in range(SPAN_PAGES):
            page = self.collector.get(f"/runs/{run_id}/spans", cursor=cursor)
            for span in page["items"]:
                found += definitions_in(span["attributes"].get(DEFINITIONS))
            cursor = page["cursor"]
            if not cursor:
                break
        return found


def chosen(collector: Collector, wanted: str, limit: int) -> list[str]:
    """The ids of the newest runs that match; BadInput where none does."""
    said = filter_of(wanted)
    rule = said.pop(RULE, None)
    wait_for_judgements(collector)
    broke = None if rule is None else runs_that_broke(collector, rule)
    ids = (item["id"] for item in collector.pages("/runs", limit=200, **said))
    found = list(islice((run_id for run_id in ids if broke is None or run_id in broke), limit))
    if not found:
        hint = "`pdoctor runs list` shows what is there"
        raise BadInput(f"no run matches {wanted!r} ({hint})", field="--filter")
    return found


def wait_for_judgements(collector: Collector) -> None:
    """What was just handed in has no outcome yet."""
    deadline = time.monotonic() + WAIT
    with told_while("waiting for runs to be judged"):
        while collector.backlog().due and time.monotonic() < deadline:
            time.sleep(0.1)


def runs_that_broke(collector: Collector, rule: str) -> set[str]:
    found = collector.pages("/findings", rule=f"policy:{rule}", limit=1000)
    return {finding["run_id"] for finding in found}


RULE, LAST = "rule", "last"
UNITS = {"m": 60, "h": 3600, "d": 86400}


def filter_of(words: str) -> dict[str, str]:
    """`outcome:fail rule:A2 last:24h` as parameters of the list of runs; `rule` is one that was broken."""
    said: dict[str, str] = {}
    for word in words.split():
        name, colon, value = word.partition(":")
        if not colon or not value or name not in (*FILTERS, RULE, LAST):
            known = ", ".join([RULE, *FILTERS, LAST])
            raise BadInput(f"{word!r}: expected KEY:VALUE with one of {known}", field="--filter")
        if name in said or (name == LAST and "since" in said):
            raise BadInput(f"{name!r} is given twice", field="--filter")
        said |= {"since": ago(value)} if name == LAST else {name: value}
    return said


def ago(span: str) -> str:
    """Unix seconds of so long ago: `15m`, `24h`, `7d`."""
    number, unit = span[:-1], span[-1:]
    if not number.isdigit() or unit not in UNITS:
        raise BadInput(f"last:{span}: expected a number and m, h or d, such as last:24h", field="--filter")
    return f"{time.time() - int(number) * UNITS[unit]:.0f}"


def rules_in(files: Iterable[str]) -> list[RuleFile]:
    """Policy files as rules of cases; BadInput for those that are none."""
    from synth.cases.recorded import RuleFile
    from synth.files import text_of
    from synth.policies import load_policies

    found = []
    for file in files:
        load_policies(Path(file))
        found.append(RuleFile(Path(file).stem, text_of(Path(file))))
    return found


def merged(path: Path, cases: Sequence[RecordedCase]) -> list[str]:
    """The lines of a file of cases with these in it; BadInput where it holds something else."""
    from synth.cases.recorded import read_recorded

    earlier = read_recorded(path) if path.exists() and path.stat().st_size else []
    by_id = {case.id: case for case in [*earlier, *cases]}
    return [json.dumps(case.to_json(), ensure_ascii=False) for case in by_id.values()]


def write_tests(path: Path, cases: Path, agent: str) -> None:
    """The tests of a file of cases; BadInput for a file that is there and says something else."""
    from synth.cases import tests_of

    text = tests_of(os.path.relpath(cases, path.parent), agent)
    if path.exists() and text_in(str(path))[0] != text:
        raise BadInput("it is there and says something else: remove it, or give another name", file=str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")

"""`pdoctor policies list|show|try|rm`: the policy files that a collector judges by."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import (
    Exit,
    clear_errors,
    collector_option,
    color_option,
    exit_code,
    json_option,
    plain,
    policy_text,
    progress,
    table,
    warning,
    write_json,
)
from collector.cli.runs import filters, nothing
from synth.client import Collector, NoAnswer, named
from synth.counted import counted
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.policies import PolicySet
    from synth.policies.seen_names import Doubt

SHOWN = 10
"""Runs whose findings are told one by one."""
TRIED, MOST_TRIED = 100, 5000
SEARCHED = {"error_type": "error"}
"""Filters that a search line calls something else."""
CUT = "{} could not be asked about to the end: too many calls."
NAMES = "`pdoctor policies list` names those that are in use"


@click.command("list")
@collector_option
@json_option
def list_files(url: str, as_json: bool) -> None:
    """List the policies that the collector judges by, file by file.

    \b
    pdoctor policies list
    """
    with clear_errors(), Collector(url) as collector:
        items = collector.get("/policies")["items"]
        if as_json:
            for item in items:
                write_json(item)
            return
        if not items:
            click.echo("No policy is in use. `pdoctor policies push FILE` loads some.")
            return
        rows = [row for item in items for row in rows_of(item)]
        click.echo(table(["file", "version", "policy", "rule"], rows, whole=["file", "policy"]))
        for unseen in (one for item in items for one in item["warnings"]):
            click.echo(warning(unseen["policies"], unseen["explanation"]))


def rows_of(item: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Each policy of a stored file, in words."""
    from collector.judging.policies import read_policies

    at = [item["name"], item["version"]]
    try:
        for policy in read_policies(item["name"], item["text"]).policies:
            yield [*at, policy.id, policy.sentence or policy.text]
    except BadInput as bad:
        yield [*at, "-", f"cannot be read any more: {bad}"]


@click.command("show")
@click.argument("name")
@click.option("--version", type=click.IntRange(1), default=None, metavar="N", help="Not the newest.")
@collector_option
@json_option
def show(name: str, version: int | None, url: str, as_json: bool) -> None:
    """Write a policy file as it was stored; with --json all of its versions.

    \b
    pdoctor policies show support --version 2 > support.yaml
    """
    with clear_errors(), Collector(url) as collector:
        stored = file_of(collector, name)
        versions = {one["version"]: one for one in stored["versions"]}
        if version is not None and version not in versions:
            known = ", ".join(map(str, sorted(versions)))
            raise BadInput(f"{name} has no version {version} (it has {known})", field="--version")
        if as_json:
            write_json(stored if version is None else versions[version])
            return
        text = versions[version or stored["version"]]["text"]
        click.echo(text, nl=not text.endswith("\n"))
        if not stored["active"]:
            click.echo(f"pdoctor: {plain(name)} is switched off: no run is judged by it", err=True)


def file_of(collector: Collector, name: str) -> dict[str, Any]:
    """A policy file with all of its versions; BadInput where there never was one of that name."""
    try:
        return dict(collector.get(named("policies", name)))
    except NoAnswer:
        raise
    except BadInput as bad:
        if "there is no policy file" not in str(bad):
            raise
        raise BadInput(f"there is no policy file {name!r}: {NAMES}{meant(collector, name)}") from None


def meant(collector: Collector, name: str) -> str:
    """What may have been meant, as the end of a sentence."""
    import difflib

    known = [item["name"] for item in collector.get("/policies")["items"]]
    near = difflib.get_close_matches(Path(name).stem, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


@click.command("rm")
@click.argument("name")
@collector_option
@json_option
def remove(name: str, url: str, as_json: bool) -> None:
    """Switch a policy file off; its versions stay, and so does what runs were found to break.

    \b
    pdoctor policies rm support && pdoctor recheck
    """
    with clear_errors(), Collector(url) as collector:
        stored = file_of(collector, name)
        if not stored["active"]:
            raise BadInput(f"{name} is switched off already: {NAMES}")
        said = collector.delete(named("policies", name))
        if as_json:
            write_json(said)
            return
        click.echo(
            f"{name} is switched off; `pdoctor policies show {name}` still has what it said, and\n"
            "`pdoctor recheck` judges stored runs without it"
        )


@click.command("try")
@click.argument("file")
@click.option(
    "--runs",
    "source",
    default=str(TRIED),
    show_default=True,
    metavar="N|last:7d|RUNS",
    help="Try on the newest N runs that match, on those of the last days, or on the runs of a file.",
)
@click.option(
    "--mode",
    default=None,
    metavar="MODE",
    help="Say which calls a guard in this mode (observe, warn, feedback, ask, block) would have refused.",
)
@collector_option
@filters
@color_option
@json_option
def try_file(file: str, source: str, mode: str | None, url: str, as_json: bool, **wanted: Any) -> None:
    """Say which stored runs the policies of FILE would flag; nothing is stored.

    The collector judges each run by itself in a checker process, so rules that look over a whole
    conversation see one run of it. New is what no policy of the same id that is in use has found.
    With --mode each recorded call is proposed to a guard in turn, and what it refuses counts as not run.

    Exit code 0: none would be flagged (or refused), 1: some would, 3: none, but not all could be decided.

    \b
    pdoctor policies try stricter.yaml --agent support --runs 500
    pdoctor policies try stricter.yaml --mode block --runs last:7d
    """
    with clear_errors():
        from synth.policies import MODES, load_policies

        policies = load_policies(Path(file))
        if mode is not None and mode not in MODES:
            raise BadInput(f"{mode!r} is not one of {', '.join(MODES)}", field="--mode")
        count, last = runs_asked(source)
        if mode is not None:
            told = shadow_of(policies, mode, source, url, wanted)
            write_json(told) if as_json else click.echo(in_words(told))
            raise SystemExit(Exit.FAILED if told["refused"] else Exit.PASSED)
        if count is None and last is None:
            raise BadInput(
                f"{source!r} is neither a number of runs nor such as last:7d; runs of a file are tried with "
                f"--mode, and judged by `pdoctor check {source} --policies {file}`", field="--runs",
            )  # fmt: skip
        with Collector(url) as collector:
            wanted = wanted if last is None else {**wanted, "since": last}
            found = list(islice(collector.pages("/runs", limit=min(count or 200, 200), **wanted), count))
            tried = Tried(Path(file).stem, policies)
            with progress(found, label="trying", length=len(found)) as items:
                for item in items:
                    tried.add(collector, item["id"], policies.source)
        if as_json:
            write_json(tried.to_json())
        else:
            click.echo(tried.text() if found else nothing(wanted))
        raise SystemExit(tried.exit_code())


def runs_asked(source: str) -> tuple[int | None, str | None]:
    """(number of runs, Unix seconds of the first one) as far as `--runs` says them; a file has neither."""
    if source.startswith("last:"):
        from collector.api.search import lasting
        from collector.errors import BadRequest

        try:
            return None, str(time.time() - lasting(source.removeprefix("last:")))
        except BadRequest as bad:
            raise BadInput(str(bad), field="--runs") from None
    if not source.isascii() or not source.lstrip("-").isdigit():
        return None, None
    if not 1 <= int(source) <= MOST_TRIED:
        raise BadInput(f"{source} is not in the range 1<=x<={MOST_TRIED}", field="--runs")
    return int(source), None


def shadow_of(
    policies: PolicySet, mode: str, source: str, url: str, wanted: Mapping[str, Any]
) -> dict[str, Any]:
    """What a guard would have refused: as the collector says it of its runs, or here of those of a file."""
    count, last = runs_asked(source)
    if count is None and last is None:
        from collector.cli.runfiles import RunFile, all_runs
        from synth.policies import Rules, Shadow, judge_policies

        found = Shadow(policies, mode)
        rules = Rules(z3="off", repair=False)
        with RunFile(source) as file, progress(all_runs([file]), label="trying") as runs:
            for run in runs:
                found.add(run, judge_policies(policies, run, rules=rules))
        return found.to_json()
    line = [source] if last is not None else []
    line += [f'{SEARCHED.get(name, name)}:"{value}"' for name, value in wanted.items() if value]
    asked = {"text": policies.source, "q": " ".join(line), "mode": mode}
    with Collector(url) as collector:
        told = collector.post("/policies/try", asked if count is None else {**asked, "runs": count})
    return dict(told["guard"])


def in_words(told: Mapping[str, Any]) -> str:
    """What a guard would have refused, for people."""
    if not told["refused"]:
        said = f"It would have refused none of {counted(told['calls'], 'call')}."
        return said + (f" {CUT.format(counted(told['cut'], 'run'))}" if told["cut"] else "")
    parts = [
        f"It would have refused {told['refused']} of {counted(told['calls'], 'call')}, in "
        f"{counted(told['runs'], 'run')}.", "",
    ]  # fmt: skip
    heads = ["policy", "mode", "runs", "calls", "blamed", "after another", "not blamed"]
    names = ("mode", "runs", "calls", "right", "follows", "wrong")
    rows = [[id_, *(one[name] for name in names)] for id_, one in told["policies"].items()]
    parts += [table(heads, rows, whole=["policy"]), ""]
    for id_, one in told["policies"].items():
        if (example := one["example"]) is not None:
            where = f"run {plain(example['run_id'])}, call {example['call']} ({plain(example['tool'])})"
            parts.append(f"[{id_}] {where}: {plain(example['explanation'])}")
    if told["cut"]:
        parts.append(CUT.format(counted(told["cut"], "run")))
    return "\n".join(parts)


@dataclass
class Tried:
    """What policies that are not in use say about stored runs."""

    file: str
    policies: PolicySet
    runs: int = 0
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    """Policy -> how many runs have which verdict."""
    flagged: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Run -> the policies that it breaks."""
    known: set[tuple[str, str]] = field(default_factory=set)
    """(run, policy) of what was found before."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Policy -> why it could not be decided of some run."""
    refused: list[str] = field(default_factory=list)
    """Runs that could not be judged, and why."""
    called: set[str] = field(default_factory=set)
    offered: set[str] = field(default_factory=set)
    states_tools: bool = False
    """Whether some run says which tools its model had."""

    def add(self, collector: Collector, run_id: str, text: str) -> None:
        run = collector.whole(collector.get(f"/runs/{run_id}"))
        record = {name: value for name, value in run["record"].items() if name != "case_id"}
        try:
            said = collector.post("/check", {"run": record, "policies": text})
        except NoAnswer:
            raise
        except BadInput as bad:
            self.refused.append(f"run {run_id}: {bad}")
            return
        self.runs += 1
        self.called |= {call["name"] for call in record["calls"]}
        self.offered.update(record.get("tools") or ())
        self.states_tools |= record.get("tools") is not None
        self.known |= {(run_id, p["policy"]) for p in run["policies"] if p["verdict"] == "violated"}
        for result in said["policies"]:
            if result["policy"] in self.ids and result.get("file") in (None, "request"):
                self._take(run_id, result)

    def _take(self, run_id: str, result: dict[str, Any]) -> None:
        policy, verdict = result["policy"], result["verdict"]
        self.verdicts.setdefault(policy, Counter())[verdict] += 1
        if verdict == "violated":
            self.flagged.setdefault(run_id, []).append({**result, "file": self.file, "version": None})
        elif verdict not in ("ok", "not_applicable"):
            self.reasons.setdefault(policy, f"run {run_id}: {result['explanation']}")

    @property
    def ids(self) -> Sequence[str]:
        return [policy.id for policy in self.policies.policies]

    def doubts(self) -> Sequence[tuple[Doubt, Sequence[str]]]:
        """Tools of the policies that none of the runs shows, and the policies that speak of each."""
        from synth.policies import SeenNames, doubtful

        names = SeenNames(frozenset(self.called), frozenset(self.offered), self.states_tools)
        return doubtful(self.policies, names) if self.runs else []

    @property
    def new(self) -> list[str]:
        """Runs that break a policy of which that was not known."""
        return [
            run_id
            for run_id, results in self.flagged.items()
            if any((run_id, result["policy"]) not in self.known for result in results)
        ]

    def exit_code(self) -> Exit:
        found = exit_code(verdict for counts in self.verdicts.values() for verdict in counts)
        return Exit.UNSETTLED if found == Exit.PASSED and self.refused else found

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": self.runs, "flagged": self.flagged, "new": self.new, "refused": self.refused,
            "warnings": [{**doubt.to_json(), "policies": list(about)} for doubt, about in self.doubts()],
            "policies": {policy: dict(counts) for policy, counts in self.verdicts.items()},
        }  # fmt: skip

    def text(self) -> str:
        some = f"{len(self.flagged)} would be flagged, {len(self.new)} of them new"
        parts = [f"{counted(self.runs, 'run')}: {some if self.flagged else 'none would be flagged'}"]
        parts += [warning(about, str(doubt)) for doubt, about in self.doubts()]
        rows = [self._row(policy, self.verdicts.get(policy, Counter())) for policy in self.ids]
        heads = ["policy", "violated", "kept", "not applicable", "not decided"]
        parts += ["", table(heads, rows, whole=["policy"])]
        for run_id, results in islice(self.flagged.items(), SHOWN):
            mark = " (new)" if run_id in self.new else ""
            lines = (f"  - {policy_text(result, indent='    ')}" for result in results)
            parts += ["", "\n".join([f"run {run_id}{mark}", *lines])]
        if len(self.flagged) > SHOWN:
            parts += ["", f"... and {len(self.flagged) - SHOWN} more; --json lists them all."]
        parts += [f"not decided: [{policy}] {plain(why)}" for policy, why in self.reasons.items()]
        parts += [f"not tried: {plain(why)}" for why in self.refused[:SHOWN]]
        return "\n".join(parts)

    def _row(self, policy: str, counts: Counter[str]) -> list[Any]:
        decided = counts["violated"], counts["ok"], counts["not_applicable"]
        return [policy, *decided, counts.total() - sum(decided)]


COMMANDS = (list_files, show, try_file, remove)

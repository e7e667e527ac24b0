"""`pdoctor demo`: the main job end to end, with faults that were planted on purpose.

A real collector, real agents (LangChain and a bare OpenAI loop) on the simulated model, and recorded
runs of a real model made again. Every planted fault must be found with the right error type, nothing
else may be found, and every call must arrive exactly once; otherwise the exit code is 1.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from collector.cli.console import Exit, Stopwatch, clear_errors, json_option, progress, table, write_json
from collector.cli.embedded import collector_process
from synth.formal.model import ERROR_TYPES

if TYPE_CHECKING:
    from synth.experiments.trial import Result, Trial

AGENTS = ("openai-tools", "raw-loop")
PROFILES = ("perfect", "swaps", "forgets", "invents")
SEED = 1
POLICIES = Path(__file__).parents[2] / "synth" / "data" / "airline_policies.yaml"


@click.command("demo")
@click.option(
    "--cases",
    "count",
    type=click.IntRange(1, 200),
    default=5,
    show_default=True,
    help="Per agent and profile.",
)
@click.option("--no-serve", is_flag=True, help="End after printing, instead of showing the pages.")
@json_option
def command(count: int, no_serve: bool, as_json: bool) -> None:
    """Find planted planning errors end to end, with no key and no network.

    Exit code 0: every planted fault was found with the right error type, and nothing else was.
    """
    with clear_errors():
        raise SystemExit(demo(count, serve=not no_serve and not as_json, as_json=as_json))


def demo(count: int, *, serve: bool, as_json: bool) -> Exit:
    watch = Stopwatch()
    store = fresh_store()
    with collector_process(store, "--policies", str(POLICIES)) as url:
        rows, replays = drive(url, count)
        report = Report(rows, replays, url, store, watch.seconds)
        if as_json:
            write_json(report.to_json())
        else:
            click.echo(report.text(serve))
        if serve:
            wait_for_interrupt()
    return Exit.FAILED if report.slips else Exit.PASSED


def fresh_store() -> Path:
    """An empty file in the user's cache folder, so that the runs can be looked at afterwards."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pdoctor"
    cache.mkdir(parents=True, exist_ok=True)
    store = cache / f"demo-{os.getpid()}.db"
    for old in cache.glob("demo*.db*"):
        old.unlink()
    return store


def wait_for_interrupt() -> None:
    try:
        signal.pause()
    except KeyboardInterrupt:
        click.echo()


# ---------------------------------------------------------------- driving


def drive(url: str, count: int) -> tuple[list[Result], list[Result]]:
    """Results of the synthesized cases and of the recorded runs."""
    from synth.experiments.harness import Harness, Options
    from synth.simulated_model import AIRLINE, SimulatedModel, read_records

    records = read_records(AIRLINE / "runs.jsonl")
    made, again = synthesized_trials(count), replay_trials(records)
    with (
        SimulatedModel(records) as model,
        Harness(url, Options(parallel=2), model) as harness,
        progress(harness.run([*made, *again]), label="driving agents", length=len(made) + len(again)) as runs,
    ):
        results = sorted(runs, key=lambda result: result.trial)
    replayed = {trial.key for trial in again}
    rows = [result for result in results if result.trial not in replayed]
    return rows, [result for result in results if result.trial in replayed]


def synthesized_trials(count: int) -> list[Trial]:
    from synth.cases.generate import Options, generate
    from synth.experiments.trial import Trial

    cases = list(generate(count, SEED, Options(actions=(3, 5))))
    models = {agent: [f"simulated-{profile}" for profile in PROFILES] for agent in AGENTS}
    return [Trial(agent, model, case) for agent in AGENTS for model in models[agent] for case in cases]


def replay_trials(records: Sequence[Mapping[str, Any]]) -> list[Trial]:
    from synth.agents.model import REPLAY
    from synth.experiments.trial import Trial

    return [Trial(REPLAY, f"replay:{record['run_id']}", record=record) for record in records]


# ---------------------------------------------------------------- reporting


@dataclass(frozen=True)
class Report:
    """Everything the demo found."""

    rows: Sequence[Result]
    replays: Sequence[Result]
    url: str
    store: Path
    seconds: float
    slips: tuple[str, ...] = field(init=False)
    """Where a finding differs from what was planted or recorded; empty = the demo worked."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "slips", (*slips(self.rows), *replay_slips(self.replays)))

    def to_json(self) -> dict[str, Any]:
        return {
            "passed": not self.slips,
            "slips": list(self.slips),
            "table": outcome_rows(self.rows),
            "policies": policy_rows(self.replays),
            "findings": telling(self.rows, self.replays),
            "store": str(self.store),
            "seconds": round(self.seconds, 1),
            "runs": [result.to_json() for result in (*self.rows, *self.replays)],
        }

    def text(self, serving: bool) -> str:
        return "\n\n".join(self.parts(serving))

    def parts(self, serving: bool) -> Iterator[str]:
        yield "Agents on synthesized cases (the simulated model plants one fault per run)"
        names = ["agent", "profile", "runs", "pass", "fail", "error", *ERROR_TYPES]
        rows = outcome_rows(self.rows)
        shown = [n for n in names if n not in ERROR_TYPES or any(row[n] for row in rows)]
        yield table(shown, [[row[name] for name in shown] for row in rows])
        yield f"{len(self.replays)} recorded GPT-4o airline runs, made again with real traced tool calls"
        policies = policy_rows(self.replays)
        yield table(
            ["policy", "ok", "violated", "not_applicable", "rule"], [list(p.values()) for p in policies]
        )
        yield "Three findings"
        yield "\n".join(f"{i}. {text}" for i, text in enumerate(telling(self.rows, self.replays), 1))
        yield self.conclusion(serving)

    def conclusion(self, serving: bool) -> str:
        if self.slips:
            return "\n".join(["The demo FAILED:", *(f"- {slip}" for slip in self.slips)])
        good = "Every planted fault was found, nothing else was, and every call arrived exactly once"
        look = f"Look at the runs: {self.url}/ (Ctrl-C ends it)" if serving else self.later()
        return f"{good} ({self.seconds:.1f} s).\n{look}"

    def later(self) -> str:
        return f"Look at the runs: pdoctor serve --store sqlite:///{self.store}\nthen open http://127.0.0.1:4318/"


def outcome_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """One row per agent and profile: runs, pass, fail and the failures by error type."""
    from synth.experiments.tally import tally

    return [
        {
            "agent": row.agent,
            "profile": row.model.removeprefix("simulated-"),
            "runs": row.runs,
            "pass": row.passed,
            "fail": sum(row.failed.values()),
            "error": row.errors,
            **{name: row.failed.get(name, 0) for name in ERROR_TYPES},
        }
        for row in tally(results)
    ]


def policy_rows(replays: Sequence[Result]) -> list[dict[str, Any]]:
    """One row per policy: how many recorded runs keep it."""
    results = [policy for result in replays for policy in (result.run or {}).get("policies", ())]
    texts = policy_texts()
    rows = []
    for name in dict.fromkeys(policy["policy"] for policy in results):
        verdicts = Counter(policy["verdict"] for policy in results if policy["policy"] == name)
        counts = {verdict: verdicts[verdict] for verdict in ("ok", "violated", "not_applicable")}
        rows.append({"policy": name, **counts, "rule": texts.get(name, "")})
    return rows


def policy_texts() -> dict[str, str]:
    from synth.policies import load_policies

    return {policy.id: policy.text for policy in load_policies(POLICIES).policies}


def telling(rows: Sequence[Result], replays: Sequence[Result], count: int = 3) -> list[str]:
    """The findings worth reading first: a broken policy of a real model, then one of each planted kind."""
    real = [
        f"GPT-4o, run {result.model.removeprefix('replay:')}, {policy['policy']}: {policy['explanation']}"
        for result in replays
        for policy in (result.run or {}).get("policies", ())
        if policy["verdict"] == "violated"
    ]
    planted: dict[str, str] = {}
    for result in rows:
        for found in (result.verdict or {}).get("findings", ()):
            if found["type"] != "note":
                planted.setdefault(found["type"], f"{result.agent}: {found['explanation']}")
    order = ("order_error", "action_lost", "act_error")
    return [*real[:1], *(planted[kind] for kind in order if kind in planted)][:count]


# ---------------------------------------------------------------- what was planted against what was found


def slips(results: Sequence[Result]) -> Iterator[str]:
    """Differences between the planted faults and the verdicts, and between traced and executed calls."""
    from synth.experiments.agreement import calls_agree
    from synth.experiments.tally import in_words

    for result in results:
        fault = (result.planted or {}).get("fault")
        wanted = ("fail", fault["type"]) if fault else ("pass", None)
        if (result.outcome, result.error_type) != wanted:
            said = in_words(result.trouble) if result.trouble else result.error
            why = said or f"planted: {fault['what'] if fault else 'nothing'}"
            yield f"{result.trial}: expected {wanted}, found {(result.outcome, result.error_type)} ({why})"
        for problem in calls_agree(result.run or {"calls": []}, result.tool_log):
            yield f"{result.trial}: {problem}"


def replay_slips(replays: Sequence[Result]) -> Iterator[str]:
    """Differences between the recorded runs' known answers and the policy results."""
    from synth.experiments.agreement import calls_agree
    from synth.simulated_model import AIRLINE

    lines = (AIRLINE / "expected.jsonl").read_bytes().splitlines()
    expected = {answer["run_id"]: answer["expected"] for answer in map(orjson.loads, lines)}
    for result in replays:
        run_id = result.model.removeprefix("replay:")
        found = {policy["policy"]: policy for policy in (result.run or {}).get("policies", ())}
        for name, wanted in expected[run_id].items():
            got = {key: found.get(name, {}).get(key) for key in wanted}
            if got != wanted:
                yield f"{run_id}, policy {name}: expected {wanted}, found {got}"
        for problem in calls_agree(result.run or {"calls": []}, result.tool_log):
            yield f"{run_id}: {problem}"

"""Policies that are not in use, tried on stored runs; and rules that stored runs suggest.

Both are questions for the process of `asked`: nothing is stored, and no page or receiver waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from collector.api.bodies import TooLarge
from collector.api.views import Entry, encoded, run_record
from collector.judging.names import names_of, warnings
from collector.judging.policies import as_concluded, read_policies
from collector.otlp.spans import spans_of
from collector.pipeline.asked import opened, rules_of
from collector.rebuild import inside, rebuild
from collector.settings import Settings
from collector.store import projects, reads
from collector.store.reads import Filter
from collector.store.stored import weights
from synth.drafting import drafted
from synth.errors import SynthError
from synth.judge_process import STOPS, JudgeFailed, telling
from synth.observed import Run, run_from_json
from synth.policies import PolicySet, RunBudget, Shadow, judge_policies

MOST_RUNS = 500
SECONDS = 20.0
"""After so long no further run is tried; the answer says of how many it is."""
BIG_RUN = 512 * 1024
"""Stored bytes; bigger runs are passed over, and counted."""
SHOWN = 50
"""Runs that would be flagged that are told one by one."""


@dataclass(frozen=True, slots=True)
class FileToTry:
    """The text of a policy file, and the runs to try it on: the newest that pass a filter."""

    project: int
    settings: Settings
    text: str
    wanted: Filter
    runs: int = MOST_RUNS
    stopped: tuple[str, ...] = ()
    """Policies at which a process had to be stopped."""
    z3: bool = True
    mode: str | None = None
    """Of a guard, to be told what it would have refused."""

    @property
    def size(self) -> int:
        return len(self.text)

    def answered(self) -> bytes:
        return encoded(tried(self))

    def without(self, failed: JudgeFailed) -> FileToTry:
        if failed.at is not None and len(self.stopped) < STOPS:
            return replace(self, stopped=(*self.stopped, failed.at))
        if self.z3:
            return replace(self, z3=False)
        raise TooLarge(f"the policies could not be tried: {failed}", "try fewer policies, or fewer runs")


@dataclass(frozen=True, slots=True)
class RunsToLearn:
    """Runs that rules are to be drafted from: those that are named, else the newest that ended well."""

    project: int
    settings: Settings
    keys: tuple[str, ...]
    wanted: Filter

    @property
    def size(self) -> int:
        return sum(map(len, self.keys))

    def answered(self) -> bytes:
        runs = [run for _, run in stored_runs(self.project, self.settings, self.wanted, MOST_RUNS, self.keys)]
        good = [run for run in runs if run.calls and run.status == "ok" and not run.problems]
        if not good:
            return encoded({"runs": 0, "candidates": 0, "rules": [], "file": ""})
        return encoded(drafted(good, origin=f"{len(good)} runs of the collector").to_json())

    def without(self, failed: JudgeFailed) -> RunsToLearn:
        raise TooLarge(f"no rules could be drafted: {failed}", "choose fewer or shorter runs")


def stored_runs(
    project: int, settings: Settings, wanted: Filter, most: int, keys: Sequence[str] = ()
) -> Iterator[tuple[Any, Run]]:
    """(row with `known`: policies found broken, run as it is judged) of complete runs, newest first."""
    store = opened(settings.store_url)
    with store.read() as connection:
        if keys:
            rows = [row for key in keys if (row := reads.one_run(connection, project, key)) is not None]
        else:
            rows = reads.list_runs(connection, project, wanted, limit=most).rows
        sizes = weights(connection, [row["id"] for row in rows])
    for row in rows:
        if not row["complete"] or sizes.get(row["id"], (0, 0))[1] > BIG_RUN:
            continue
        with store.read() as connection:
            own, guests = reads.spans_with_guests(connection, row["id"])
            history = reads.history(connection, row["id"])
        spans = list(spans_of(own.payloads, own.shared))
        spans += inside(spans, list(spans_of(guests.payloads, guests.shared)))
        body = as_concluded(history[-1]["body"]) if history else {"policies": []}
        record = run_record(row, rebuild(row["key"], spans), [Entry(0.0, None, None, body)])
        record.pop("case_id", None)
        try:
            run = run_from_json(record)
        except SynthError:
            continue
        known = [one["policy"] for one in body["policies"] if one["verdict"] == "violated"]
        yield {**row, "known": known}, run


def tried(question: FileToTry) -> dict[str, Any]:
    """What the policies say about the runs: how many they would flag, and which of that is new."""
    settings = question.settings
    policies: PolicySet = read_policies("tried", question.text)
    with opened(settings.store_url).read() as connection:
        names = names_of(connection, question.project)
        skew = projects.settings_of(connection, question.project)["clock_skew_ms"]
    _, rules = rules_of(question, skew)
    counts: dict[str, dict[str, int]] = {policy.id: {} for policy in policies.policies}
    flagged: list[dict[str, Any]] = []
    shadow = None if question.mode is None else Shadow(policies, question.mode)
    runs, total, new, end = 0, 0, 0, time.monotonic() + SECONDS
    for row, run in stored_runs(question.project, settings, question.wanted, question.runs):
        if time.monotonic() > end:
            break
        runs += 1
        until = question.stopped[-1] if len(question.stopped) >= STOPS else None
        budget = RunBudget(rules, skip=question.stopped, until=until, at=telling())
        results = judge_policies(policies, run, rules=rules, names=names, budget=budget)
        for result in results:
            of = counts[result.policy]
            of[result.verdict] = of.get(result.verdict, 0) + 1
        if shadow is not None:
            shadow.add(run, results, row["outcome"])
        broken = [result for result in results if result.verdict == "violated"]
        if broken:
            is_new = any(result.policy not in row["known"] for result in broken)
            total, new = total + 1, new + is_new
            if len(flagged) < SHOWN:
                flagged.append(told(row, broken, is_new))
    return {
        "runs": runs, "flagged": total, "new": new, "policies": counts, "items": flagged,
        "warnings": warnings(policies, names), "guard": None if shadow is None else shadow.to_json(),
    }  # fmt: skip


def told(row: Mapping[str, Any], broken: Sequence[Any], is_new: bool) -> dict[str, Any]:
    """A run that would be flagged."""
    return {
        "run_id": row["key"], "agent": row["agent"], "title": row["title"], "new": is_new,
        "policies": [{"policy": one.policy, "explanation": one.explanation} for one in broken],
    }  # fmt: skip

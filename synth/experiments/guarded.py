"""Runs under a guard of their own case, beside runs without: what it stopped, and what came of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.cases.case import Case, case_from_json
from synth.experiments.rates import Rate
from synth.experiments.trial import UNGUARDED, Result
from synth.observed.run import ToolCall
from synth.policies.cased import rules_of
from synth.policies.online import Prefix

GUARDS = (UNGUARDED, "observe", "warn", "feedback", "block")
"""What `pdoctor test --guard` takes; in mode `ask` nobody is there to answer."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """What became of an agent on a model under one guard."""

    agent: str
    model: str
    guard: str
    runs: int
    passed: Rate
    """Of the runs that passed or failed."""
    violating: int
    """Calls that ran although no right answer to the request was left after them."""
    refused: int
    """Calls that did not run."""

    def to_json(self) -> dict[str, Any]:
        low, high = self.passed.interval
        return {
            "agent": self.agent, "model": self.model, "guard": self.guard, "runs": self.runs,
            "pass_rate": self.passed.value, "interval": [low, high],
            "violating_calls": self.violating, "refused_calls": self.refused,
        }  # fmt: skip


def guarded(results: Iterable[Result]) -> tuple[Guarded, ...]:
    """A row for each agent, model and guard; what was run without the question is left out."""
    groups: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.guard is not None:
            agent = result.trial.partition("|")[0]
            groups[agent, result.model, result.guard].append(result)
    return tuple(_row(*subject, group) for subject, group in groups.items())


def _row(agent: str, model: str, guard: str, group: Sequence[Result]) -> Guarded:
    decided = [result.outcome == "pass" for result in group if result.outcome in ("pass", "fail")]
    return Guarded(
        agent, model, guard, len(group), Rate(sum(decided), len(decided)),
        sum(violating(case_from_json(result.case), result.tool_log) for result in group if result.case),
        sum(result.refused or 0 for result in group),
    )  # fmt: skip


def violating(case: Case, log: Sequence[Mapping[str, Any]]) -> int:
    """How many of the calls that ran, by the tools' own log, a guard of the case would have refused."""
    prefix = Prefix(rules_of(case))
    found, places = 0, dict[int, int]()
    for at, ends, number in sorted(_instants(log)):
        call = log[number]
        if ends:
            prefix.ended(places[number], call["result"], "failed" if call.get("failed") else None, at)
            continue
        made = ToolCall(None, call["name"], call["arguments"])
        decision, place = prefix.propose(made, at, heeds=lambda decision: True)
        found += decision.refused
        places[number] = place if place is not None else -1
    return found


def _instants(log: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, bool, int]]:
    for number, call in enumerate(log):
        yield call["start"], False, number
        yield max(call["start"], call["end"]), True, number

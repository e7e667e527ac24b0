"""Why does the agent fail? Every failure of a campaign looked into, kept in a journal (paper, RQ3).

`synth.experiments.causes` says how a cause is found; here it is done for many failures of several agents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from synth.agents.usage import Usage, total_of, usage_from_json
from synth.cases.case import Case, case_from_json
from synth.cases.mutate import mutants
from synth.errors import SynthError
from synth.experiments.campaign import Journal, Meter, results_journal
from synth.experiments.causes import (
    LOOKS,
    PAPER_MUTANTS,
    REPEATS,
    Attempt,
    Found,
    Mutate,
    Passes,
    Tried,
    as_paper,
    contrasted,
    layer_rates,
    most_runs,
    paper_cause,
)
from synth.experiments.harness import Harness
from synth.experiments.money import Spent
from synth.experiments.rates import Rate
from synth.experiments.trial import Result, Trial
from synth.simulated_model import Cause


class Untested(SynthError):
    """The agent was not tested in a run that was to tell whether it passes: no cause can be concluded."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.trial)
        self.result = result


@dataclass(frozen=True, slots=True)
class Method:
    """How a cause is looked for."""

    repeats: int = REPEATS
    """Runs of the case itself."""
    looks: tuple[int, ...] = LOOKS
    """Mutants of each layer until each look; the last number is how many are made at most."""
    paper: bool = False
    """By the paper's rule instead, with `looks[-1]` mutants of each layer."""

    @property
    def most_runs(self) -> int:
        """Runs a failure, at most."""
        return most_runs(self.looks[-1], self.repeats)

    @property
    def rule(self) -> str:
        return "paper" if self.paper else "contrast"

    def find(self, case: Case, passes: Passes, base_rate: Callable[[], Rate], mutate: Mutate) -> Found:
        """The cause of one case's failure, and the runs that say so."""
        if self.paper:
            return as_paper(case, passes, mutate, self.repeats, self.looks[-1])
        return contrasted(case, passes, base_rate, mutate, self.repeats, self.looks)


CONTRAST = Method()
AS_PAPER = Method(looks=(PAPER_MUTANTS,), paper=True)


@dataclass(frozen=True, slots=True)
class Dissection:
    """Why one case fails."""

    agent: str
    model: str
    case_id: str
    topic: str
    error_type: str | None
    cause: Cause
    attempts: tuple[Attempt, ...]
    rule: str = "paper"
    """By which the cause was named: `contrast` or `paper`."""

    @property
    def layers(self) -> dict[str, Rate]:
        """Passes and tries of each layer whose mutants were run."""
        return layer_rates(self.attempts)

    @property
    def paper_cause(self) -> Cause:
        """What the paper's rule names."""
        return self.cause if self.rule == "paper" else paper_cause(self.attempts)

    @property
    def usage(self) -> Usage:
        """What its runs took, as far as they told."""
        return total_of(attempt.usage for attempt in self.attempts)

    @property
    def key(self) -> str:
        return f"{self.agent}|{self.model}|{self.case_id}"

    @property
    def is_void(self) -> bool:
        """Never: where a run said nothing there is no dissection."""
        return False

    def to_json(self) -> dict[str, Any]:
        head = {"agent": self.agent, "model": self.model, "case_id": self.case_id, "topic": self.topic}
        attempts = [asdict(attempt) for attempt in self.attempts]
        layers = {layer: [rate.hits, rate.trials] for layer, rate in self.layers.items()}
        found = {"cause": self.cause, "rule": self.rule, "layers": layers}
        return {**head, "error_type": self.error_type, **found, "attempts": attempts}


def dissection_from_json(body: Mapping[str, Any]) -> Dissection:
    kept = {name: value for name, value in body.items() if name != "layers"}
    return Dissection(**{**kept, "attempts": tuple(map(_attempt_from_json, body["attempts"]))})


def _attempt_from_json(body: Mapping[str, Any]) -> Attempt:
    usage = body.get("usage")
    return Attempt(**{**body, "usage": None if usage is None else usage_from_json(usage)})


PassesOf = Callable[[str, str, Case, int], "bool | Tried"]
"""(agent, model, case, number of this run of it) -> whether it passed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing case to look into."""

    agent: str
    model: str
    case: Case
    error_type: str | None = None

    @property
    def key(self) -> str:
        return f"{self.agent}|{self.model}|{self.case.id}"


def dissect(
    failures: Iterable[Failure],
    passes: PassesOf,
    journal: Journal[Dissection],
    method: Method = CONTRAST,
    base_rate: Callable[[Failure], Rate] = lambda failure: Rate(0, 0),
    mutate: Mutate = mutants,
    parallel: int = 1,
    on_dissection: Callable[[Dissection], None] = lambda dissection: None,
    meter: Meter | None = None,
    on_error: Callable[[Failure, Result], None] = lambda failure, result: None,
) -> list[Dissection]:
    """Look into every failure that the journal does not have yet; `passes` runs (agent, model, case, n).

    `base_rate` is how often that agent passes fresh cases of the failure's size, never the failures
    themselves; where it is not known, nothing is blamed on the constraints.
    Where a meter says that the budget is spent, failures that nobody has begun to look into are left out, as
    are those in the midst of which money ran out; each that is looked into counts as a case. A failure with
    a run in which the agent was not tested has no dissection: `on_error` is told of it. Raises `Stopped`
    where the meter stops for errors.
    """

    def look_into(failure: Failure) -> Dissection | None:
        if meter is not None and (meter.purse.reached or not meter.allows_one_more()):
            return None

        def passes_here(case: Case, number: int) -> bool | Tried:
            return passes(failure.agent, failure.model, case, number)

        try:
            cause, attempts = method.find(failure.case, passes_here, lambda: base_rate(failure), mutate)
        except Untested as untested:
            on_error(failure, untested.result)
            return None
        except Spent:
            return None
        case = failure.case
        return Dissection(
            failure.agent,
            failure.model,
            case.id,
            case.topic,
            failure.error_type,
            cause,
            attempts,
            method.rule,
        )

    done = journal.done
    with ThreadPoolExecutor(max(1, parallel)) as pool:
        for looked in as_completed([pool.submit(look_into, f) for f in failures if f.key not in done]):
            dissection = looked.result()
            if dissection is not None:
                journal.add(dissection)
                on_dissection(dissection)
    if meter is not None:
        meter.check()
    return journal.records


def dissections_journal(path: Path | None, campaign: Mapping[str, Any]) -> Journal[Dissection]:
    """A journal of dissections."""
    return Journal(path, campaign, dissection_from_json)


def passes_with(
    harness: Harness,
    on_result: Callable[[Result], None] = lambda result: None,
    journal: Journal[Result] | None = None,
    meter: Meter | None = None,
) -> PassesOf:
    """Whether an agent passes a case, by running it; raises `Untested` where that says nothing.

    A run that the journal has is not made again; one for which the meter has no money raises `Spent`.
    """
    kept = journal if journal is not None else results_journal(None, {}, only_outcome)
    meter = meter if meter is not None else Meter()

    def passes(agent: str, model: str, case: Case, number: int) -> Tried:
        trial = Trial(agent, model, case=case, repeat=number)
        result = kept.get(trial.key)
        if result is None:
            meter.afford(trial)
            try:
                result = harness.run_one(trial)
                meter.count(result)
            finally:
                meter.purse.release([trial.key])
            kept.add(only_outcome(result))
            on_result(result)
        if result.is_void:
            raise Untested(result)
        return Tried(result.outcome == "pass", result.trace_id, result.usage)

    return passes


def only_outcome(result: Result) -> Result:
    """What a cause is concluded from: such runs are many."""
    verdict = result.verdict
    known = None if verdict is None else {"outcome": verdict["outcome"], "error_type": verdict["error_type"]}
    case = result.case
    short = (
        None if case is None else {"id": case["id"], "actions": [{"id": a["id"]} for a in case["actions"]]}
    )
    return replace(result, run={"verdict": known}, tool_log=(), answer="", planted=None, case=short)


def failures_of(results: Iterable[Result]) -> list[Failure]:
    """The failing cases among results, each once per agent and model."""
    failed = [result for result in results if result.outcome == "fail" and result.case is not None]
    found = [Failure(r.agent, r.model, case_from_json(r.case), r.error_type) for r in failed]
    return list({failure.key: failure for failure in found}.values())


# ---------------------------------------------------------------- tables


def top_topics(dissections: Iterable[Dissection], count: int = 5) -> list[tuple[str, int]]:
    """Topics with the most failures that another topic cures (paper, Table 5)."""
    found: dict[str, int] = defaultdict(int)
    for dissection in dissections:
        if dissection.cause == "topic":
            found[dissection.topic] += 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:count]

"""Why does the agent fail? Mutants of a failing case that keep its meaning (paper, Algorithm 2, mended).

Re-run the case: a pass means that chance decides. Then mutants that change one layer each, in the order
wording, topic, structure: the first that passes names the layer whose particulars the agent trips
over. If every mutant fails, what is left is the meaning: the constraints themselves. The paper's listing
returns after the first failing mutant; here all K of a layer are tried.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from synth.cases.case import Case, case_from_json
from synth.cases.mutate import Layer, mutants
from synth.errors import SynthError
from synth.experiments.campaign import Journal, Meter
from synth.experiments.harness import Harness
from synth.experiments.trial import Result, Trial
from synth.simulated_model import Cause

LAYERS: tuple[Layer, ...] = get_args(Layer)
CAUSES: tuple[Cause, ...] = get_args(Cause)
REPEATS = 3
MUTANTS = 10

Mutate = Callable[[Case, Layer, int], Sequence[Case]]
"""(case, layer, count) -> mutants of that layer: other texts with the same meaning."""
Passes = Callable[[Case, int], bool]
"""(case, number of this run of it) -> whether the agent passed. Blocking; raises `Untested`."""


class Untested(SynthError):
    """The agent was not tested in a run that was to tell whether it passes: no cause can be concluded."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.trial)
        self.result = result


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run made while looking for the cause."""

    layer: str
    """`repeat`, or the layer that was changed."""
    case_id: str
    passed: bool


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

    @property
    def key(self) -> str:
        return f"{self.agent}|{self.model}|{self.case_id}"

    @property
    def is_void(self) -> bool:
        """Never: where a run said nothing there is no dissection."""
        return False

    def to_json(self) -> dict[str, Any]:
        head = {"agent": self.agent, "model": self.model, "case_id": self.case_id, "topic": self.topic}
        attempts = [{"layer": a.layer, "case_id": a.case_id, "passed": a.passed} for a in self.attempts]
        return {**head, "error_type": self.error_type, "cause": self.cause, "attempts": attempts}


def dissection_from_json(body: Mapping[str, Any]) -> Dissection:
    return Dissection(**{**body, "attempts": tuple(Attempt(**attempt) for attempt in body["attempts"])})


def find_cause(
    case: Case,
    passes: Passes,
    mutate: Mutate = mutants,
    repeats: int = REPEATS,
    count: int = MUTANTS,
) -> tuple[Cause, tuple[Attempt, ...]]:
    """Algorithm 2 for one failing case."""
    attempts: list[Attempt] = []
    for attempt, cause in _tried(case, passes, mutate, repeats, count):
        attempts.append(attempt)
        if attempt.passed:
            return cause, tuple(attempts)
    return "constraint", tuple(attempts)


def _tried(
    case: Case, passes: Passes, mutate: Mutate, repeats: int, count: int
) -> Iterator[tuple[Attempt, Cause]]:
    """Every run to make until one passes, with the cause that its passing would prove."""
    for number in range(1, repeats + 1):
        yield Attempt("repeat", case.id, passes(case, number)), "probability"
    for layer in LAYERS:
        for mutant in mutate(case, layer, count):
            yield Attempt(layer, mutant.id, passes(mutant, 0)), layer


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
    passes: Callable[[str, str, Case, int], bool],
    journal: Journal[Dissection],
    mutate: Mutate = mutants,
    parallel: int = 1,
    repeats: int = REPEATS,
    count: int = MUTANTS,
    on_dissection: Callable[[Dissection], None] = lambda dissection: None,
    meter: Meter | None = None,
    on_error: Callable[[Failure, Result], None] = lambda failure, result: None,
) -> list[Dissection]:
    """Look into every failure that the journal does not have yet; `passes` runs (agent, model, case, n).

    Where a meter says that the budget is spent, failures that nobody has begun to look into are left out;
    each that is looked into counts as a case. A failure with a run in which the agent was not tested has no
    dissection: `on_error` is told of it. Raises `Stopped` where the meter stops for errors.
    """

    def look_into(failure: Failure) -> Dissection | None:
        if meter is not None and not meter.allows_one_more():
            return None

        def passes_here(case: Case, number: int) -> bool:
            return passes(failure.agent, failure.model, case, number)

        try:
            cause, attempts = find_cause(failure.case, passes_here, mutate, repeats, count)
        except Untested as untested:
            on_error(failure, untested.result)
            return None
        case = failure.case
        return Dissection(
            failure.agent, failure.model, case.id, case.topic, failure.error_type, cause, attempts
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
    harness: Harness, on_result: Callable[[Result], None] = lambda result: None
) -> Callable[[str, str, Case, int], bool]:
    """Whether an agent passes a case, by running it; raises `Untested` where that says nothing."""

    def passes(agent: str, model: str, case: Case, number: int) -> bool:
        result = harness.run_one(Trial(agent, model, case=case, repeat=number))
        on_result(result)
        if result.is_void:
            raise Untested(result)
        return result.outcome == "pass"

    return passes


def failures_of(results: Iterable[Result]) -> list[Failure]:
    """The failing cases among results, each once per agent and model."""
    failed = [result for result in results if result.outcome == "fail" and result.case is not None]
    found = [Failure(r.agent, r.model, case_from_json(r.case), r.error_type) for r in failed]
    return list({failure.key: failure for failure in found}.values())


# ---------------------------------------------------------------- tables


def cause_shares(dissections: Sequence[Dissection]) -> dict[Cause, int]:
    """Failures by cause (paper, Tables 4 and 7)."""
    found = Counter(dissection.cause for dissection in dissections)
    return {cause: found[cause] for cause in CAUSES}


def top_topics(dissections: Iterable[Dissection], count: int = 5) -> list[tuple[str, int]]:
    """Topics with the most failures that another topic cures (paper, Table 5)."""
    found: dict[str, int] = defaultdict(int)
    for dissection in dissections:
        if dissection.cause == "topic":
            found[dissection.topic] += 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:count]

"""Why one case fails: repeats, then mutants that change one layer of it and keep its meaning.

The paper's rule (Algorithm 2) names the first layer of which a mutant passes. That calls chance a cause: a
rewording is a new draw, so the mutants of a planner that only fails often pass as often as any case of that
size does. `contrasted` therefore runs as many mutants of every layer and names one only where the layers
differ by more than chance: a one-sided Fisher test at two looks, at 0.012 and 0.008.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from synth.agents.usage import Usage
from synth.cases.case import Case
from synth.cases.mutate import Layer, mutants
from synth.experiments.rates import Rate, fisher_greater
from synth.simulated_model import Cause

LAYERS: tuple[Layer, ...] = get_args(Layer)
CAUSES: tuple[Cause, ...] = get_args(Cause)
REPEAT = "repeat"
REPEATS = 3
PAPER_MUTANTS = 10
"""Of each layer, by the paper's rule."""
LOOKS = (20, 40)
"""Mutants of each layer that were run at the first look, and at the second."""
LEVELS = (0.012, 0.008)
"""Of the test at each of two looks: together at most 5 % of failures get a wrong cause."""
IMPROBABLE = 0.05
"""No pass at all is no chance where the agent's base rate makes it less probable than this."""
BASE_CASES = 50
"""Fresh cases that a base rate needs at least."""

Mutate = Callable[[Case, Layer, int], Sequence[Case]]
"""(case, layer, count) -> mutants of that layer: other texts with the same meaning."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One run of a case, as a cause is concluded from it."""

    passed: bool
    run_id: str | None = None
    usage: Usage | None = None
    """None where nobody told."""


Passes = Callable[[Case, int], "bool | Tried"]
"""(case, number of this run of it) -> whether the agent passed. Blocking; may raise `Untested`."""
BaseRate = Callable[[], Rate]
"""How often the agent passes fresh cases of this size; asked only where no mutant passed."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run made while looking for the cause."""

    layer: str
    """`repeat`, or the layer that was changed."""
    case_id: str
    passed: bool
    run_id: str | None = None
    usage: Usage | None = None


def attempt(layer: str, case_id: str, made: bool | Tried) -> Attempt:
    """What a run says; a bare bool is one of which no more is known."""
    tried = made if isinstance(made, Tried) else Tried(made)
    return Attempt(layer, case_id, tried.passed, tried.run_id, tried.usage)


Found = tuple[Cause, tuple[Attempt, ...]]


# ---------------------------------------------------------------- by contrast


def contrasted(
    case: Case,
    passes: Passes,
    base_rate: BaseRate,
    mutate: Mutate = mutants,
    repeats: int = REPEATS,
    looks: Sequence[int] = LOOKS,
) -> Found:
    """The cause that chance does not explain; `difficulty`, which is size and luck, where there is none."""
    attempts: list[Attempt] = []
    for one in _repeated(case, passes, repeats):
        attempts.append(one)
        if one.passed:
            return "probability", tuple(attempts)
    done = 0
    for until, level in zip(looks, levels_of(len(looks)), strict=True):
        for layer in LAYERS:
            more = mutate(case, layer, until)[done:]
            attempts += [attempt(layer, mutant.id, passes(mutant, 0)) for mutant in more]
        done = until
        cause = settled(layer_rates(attempts), level, base_rate)
        if cause is not None:
            return cause, tuple(attempts)
    return "difficulty", tuple(attempts)


def levels_of(looks: int) -> Sequence[float]:
    """The level of the test at each look; together always the same."""
    return LEVELS if looks == len(LEVELS) else [sum(LEVELS) / looks] * looks


def layer_rates(attempts: Iterable[Attempt]) -> dict[str, Rate]:
    """Passes and tries of each layer whose mutants were run."""
    passed: dict[str, list[bool]] = {layer: [] for layer in LAYERS}
    for one in attempts:
        if one.layer != REPEAT:
            passed[one.layer].append(one.passed)
    return {layer: Rate(sum(found), len(found)) for layer, found in passed.items() if found}


def settled(rates: Mapping[str, Rate], level: float, base_rate: BaseRate) -> Cause | None:
    """What the mutants prove at this level of the test, None where chance explains them.

    A mutant of wording changes keywords and activities, one of topic changes activities alone, one of
    structure changes sentences and keywords: what they have in common tells the two faults of wording apart.
    """
    wording, topic, structure = (rates.get(layer, Rate(0, 0)) for layer in LAYERS)

    def above(one: Rate, *others: Rate) -> bool:
        return all(fisher_greater(one, other) <= level for other in others)

    if above(wording, topic) or (above(wording, structure) and above(topic, structure)):
        return "terminal"
    if above(topic, wording, structure):
        return "topic"
    if above(structure, wording, topic):
        return "structure"
    if not any(rate.hits for rate in rates.values()) and _improbable(rates, base_rate()):
        return "constraint"
    return None


def _improbable(rates: Mapping[str, Rate], base: Rate) -> bool:
    """Whether an agent that passes as often as it usually does would have passed one of these mutants."""
    tries = sum(rate.trials for rate in rates.values())
    return bool((1 - base.interval[0]) ** tries < IMPROBABLE)


# ---------------------------------------------------------------- by the paper's rule


def as_paper(
    case: Case, passes: Passes, mutate: Mutate = mutants, repeats: int = REPEATS, count: int = PAPER_MUTANTS
) -> Found:
    """Algorithm 2: the first pass names the cause, none at all means the constraints.

    The paper's listing returns after the first failing mutant; here all of a layer are tried.
    """
    attempts: list[Attempt] = []
    for one in _tried(case, passes, mutate, repeats, count):
        attempts.append(one)
        if one.passed:
            break
    return paper_cause(attempts, count), tuple(attempts)


def paper_cause(attempts: Iterable[Attempt], count: int = PAPER_MUTANTS) -> Cause:
    """The cause by the paper's rule of what was tried by either: `count` mutants of each layer matter."""
    made = list(attempts)
    if any(one.passed for one in made if one.layer == REPEAT):
        return "probability"
    for layer in LAYERS:
        if any(one.passed for one in [a for a in made if a.layer == layer][:count]):
            return layer
    return "constraint"


def _tried(case: Case, passes: Passes, mutate: Mutate, repeats: int, count: int) -> Iterator[Attempt]:
    yield from _repeated(case, passes, repeats)
    for layer in LAYERS:
        for mutant in mutate(case, layer, count):
            yield attempt(layer, mutant.id, passes(mutant, 0))


def _repeated(case: Case, passes: Passes, repeats: int) -> Iterator[Attempt]:
    for number in range(1, repeats + 1):
        yield attempt(REPEAT, case.id, passes(case, number))


def most_runs(mutants_of_a_layer: int, repeats: int = REPEATS) -> int:
    """Runs that looking into one failure takes at most."""
    return repeats + len(LAYERS) * mutants_of_a_layer

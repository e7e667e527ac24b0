"""A cause is named where chance does not explain it: on made-up passes, and on planners with known faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.cases.mutate import Layer, mutants
from synth.experiments.base_rates import BaseRates, options_like
from synth.experiments.causes import (
    LAYERS,
    LEVELS,
    Attempt,
    as_paper,
    contrasted,
    layer_rates,
    levels_of,
    most_runs,
    paper_cause,
    settled,
)
from synth.experiments.dissect import Failure
from synth.experiments.rates import Rate, fisher_greater, fisher_test
from synth.simulated_model import PROFILES, Profile
from synth.simulated_model.brain import Brain
from synth.simulated_model.dialogue import Dialogue, OfferedTool
from tests.support.bench_cases import order_case
from tests.support.bench_results import result
from tests.support.soak import soaks, tell

CASE = order_case()
HALF = Rate(25, 50)


NUMBERED = {layer: [order_case(id=f"{layer}-{number}") for number in range(40)] for layer in LAYERS}


def numbered(case: Case, layer: Layer, count: int) -> Sequence[Case]:
    return NUMBERED[layer][:count]


def passing(*ids: str) -> Callable[[Case, int], bool]:
    return lambda case, number: (f"{case.id}#{number}" if case.id == CASE.id else case.id) in ids


# ---------------------------------------------------------------- the paper's rule


@pytest.mark.parametrize(
    ("passes", "cause", "runs"),
    [
        (passing("case-1#1"), "probability", 1),
        (passing("case-1#3"), "probability", 3),
        (passing("terminal-0"), "terminal", 4),
        (passing("terminal-9", "topic-0"), "terminal", 13),
        (passing("topic-4", "structure-0"), "topic", 18),
        (passing("structure-9"), "structure", 33),
        (passing(), "constraint", 33),
    ],
)
def test_the_first_pass_names_the_cause(passes: Callable[[Case, int], bool], cause: str, runs: int) -> None:
    found, attempts = as_paper(CASE, passes, numbered)
    assert (found, len(attempts)) == (cause, runs)
    assert [attempt.passed for attempt in attempts].count(True) == (cause != "constraint")


def test_layers_are_tried_in_the_order_of_the_paper() -> None:
    _, attempts = as_paper(CASE, passing(), numbered, repeats=1, count=1)
    assert [attempt.layer for attempt in attempts] == ["repeat", *LAYERS]


def test_the_paper_s_rule_looks_at_its_own_mutants_alone() -> None:
    made = [Attempt("terminal", f"t{n}", n == 10) for n in range(20)]
    assert paper_cause([*made, Attempt("topic", "p", True)]) == "topic"
    assert paper_cause(made) == "constraint"


# ---------------------------------------------------------------- told from chance


def rates(wording: int, topic: int, structure: int, tries: int = 20) -> Mapping[str, Rate]:
    return {layer: Rate(hits, tries) for layer, hits in zip(LAYERS, (wording, topic, structure), strict=True)}


@pytest.mark.parametrize(
    ("passed", "cause"),
    [
        ((10, 0, 10), "terminal"),  # keywords: other sentences have other keywords as well
        ((10, 10, 0), "terminal"),  # activities: another topic has other activities as well
        ((0, 10, 0), "topic"),
        ((0, 0, 10), "structure"),
        ((10, 10, 10), None),
        ((5, 0, 3), None),  # five of twenty against none is chance at this level
        ((6, 0, 3), "terminal"),
        ((0, 5, 0), None),
        ((0, 10, 6), None),
        ((6, 0, 10), "terminal"),
        ((0, 0, 0), "constraint"),
    ],
)
def test_the_contrast_of_layers_names_the_cause(passed: tuple[int, int, int], cause: str | None) -> None:
    assert settled(rates(*passed), LEVELS[0], lambda: HALF) == cause


@pytest.mark.parametrize(
    ("base", "tries", "cause"),
    [
        (HALF, 20, "constraint"),
        (Rate(0, 50), 40, None),
        (Rate(4, 50), 20, None),  # at 8 % it would be improbable, at the lower end of 3 % it is not
        (Rate(0, 0), 40, None),
    ],
)
def test_no_pass_is_the_constraints_only_where_the_base_rate_says_so(
    base: Rate, tries: int, cause: str | None
) -> None:
    assert settled(rates(0, 0, 0, tries), LEVELS[0], lambda: base) == cause


def test_a_second_look_runs_the_mutants_that_the_first_did_not() -> None:
    ran: list[str] = []

    def passes(case: Case, number: int) -> bool:
        ran.append(case.id)
        layer, _, at = case.id.partition("-")
        return layer == "topic" and int(at) % 5 == 0

    found, attempts = contrasted(CASE, passes, lambda: HALF, numbered)
    assert (found, len(attempts), most_runs(40)) == ("topic", 123, 123)
    assert sorted(ran[3:]) == sorted(f"{layer}-{n}" for layer in LAYERS for n in range(40))
    assert layer_rates(attempts)["topic"] == Rate(8, 40)


def test_what_is_clear_at_the_first_look_takes_no_second() -> None:
    found, attempts = contrasted(
        CASE, lambda case, _: case.id.startswith("structure"), lambda: HALF, numbered
    )
    assert (found, len(attempts)) == ("structure", 63)
    found, attempts = contrasted(CASE, lambda case, number: number == 2, lambda: HALF, numbered)
    assert (found, len(attempts)) == ("probability", 2)


def test_the_levels_of_all_looks_together_are_the_same() -> None:
    assert levels_of(2) == (0.012, 0.008)
    for looks in (1, 3, 4):
        assert sum(levels_of(looks)) == pytest.approx(0.02)


def test_one_side_of_fisher_s_test() -> None:
    assert fisher_greater(Rate(6, 20), Rate(0, 20)) == pytest.approx(38_760 / 3_838_380)
    assert fisher_greater(Rate(0, 20), Rate(6, 20)) == 1
    assert fisher_greater(Rate(0, 0), Rate(3, 20)) == 1
    for one, other in ((Rate(7, 9), Rate(2, 11)), (Rate(20, 20), Rate(3, 20))):
        assert fisher_greater(one, other) <= fisher_test(one, other)


# ---------------------------------------------------------------- base rates


def test_a_campaign_s_own_results_are_the_base_rate_where_there_are_enough() -> None:
    body = CASE.to_json()
    own = [result("pass" if n % 5 else "fail", key=str(n), case=body) for n in range(50)]
    ran: list[str] = []

    def passes(agent: str, model: str, case: Case, number: int) -> bool:
        ran.append(case.id)
        assert len(case.actions) == len(CASE.actions)
        return len(ran) % 2 == 0

    failure = Failure("raw-loop", "m", CASE)
    assert BaseRates(passes, own)(failure) == Rate(40, 50)
    assert ran == []
    fresh = BaseRates(passes, own[:49])
    assert fresh(failure) == fresh(failure) == Rate(25, 50)
    assert len(set(ran)) == 50
    assert fresh(replace(failure, agent="react")) == Rate(25, 50)
    assert len(ran) == 100


def test_fresh_cases_have_the_options_of_the_failing_one() -> None:
    (case,) = generate(1, 3, Options(actions=(4, 6), mode="timed", stop="saturated"), confirm=False)
    like = options_like(case)
    assert (like.mode, like.stop, like.actions) == ("timed", "saturated", (len(case.actions),) * 2)


# ---------------------------------------------------------------- planners with known faults


def passes_on(brain: Brain, model: str, case: Case) -> bool:
    """Whether the planner has no fault in mind for this case; no agent needs to run for that."""
    tools = tuple(OfferedTool(action.tool, action.description) for action in case.actions)
    brain.think(Dialogue(model, case.query, tools, key="k"))
    planted = brain.planted_for("k")
    assert planted is not None
    return planted.fault is None


def named_causes(
    profile: str, count: int, actions: tuple[int, int], seed: int = 21
) -> Iterator[tuple[str, int]]:
    """Causes of the first failures of a planner whose guilty layer's mutants pass at 0.3, and runs spent."""
    brain, model = Brain(), f"simulated-{profile}"
    rates = BaseRates(lambda _agent, _model, case, _number: passes_on(brain, model, case))
    guilty = next(p.cause for p in PROFILES if p.name == profile)
    passes = partial(passes_on, brain, model)
    for case in generate(100_000, seed, Options(actions=actions), confirm=False):
        if passes(case) or not often_cured(case, guilty, passes):
            continue
        base = partial(rates, Failure("a", model, case))
        cause, attempts = contrasted(case, lambda case, _: passes(case), base, mutants)
        yield cause, len(attempts)
        count -= 1
        if not count:
            return


def often_cured(case: Case, guilty: str | None, passes: Callable[[Case], bool]) -> bool:
    """Whether mutants of the guilty layer pass at 0.3 or more, by mutants that the search does not see."""
    if guilty not in LAYERS:
        return True
    other = [passes(mutant) for mutant in mutants(case, guilty, 40, seed=1)]  # type: ignore[arg-type]
    return sum(other) >= 0.3 * len(other)


def counted(what: str, found: Iterator[tuple[str, int]]) -> Counter[str]:
    """How often each cause was named; `make soak` is told that and the mean number of runs a failure."""
    made = list(found)
    named = Counter(cause for cause, _ in made)
    spent = round(sum(runs for _, runs in made) / len(made))
    tell(f"causes: {what}", named + Counter({"runs a failure": spent}))
    return named


ONE_FAULT = [profile for profile in PROFILES if profile.cause]


@pytest.mark.parametrize("profile", ["words", "topics", "constraints"])
def test_planners_with_a_single_cause_are_seen_through(profile: str) -> None:
    guilty = next(p.cause for p in PROFILES if p.name == profile)
    assert [cause for cause, _ in named_causes(profile, 1, (3, 4))] == [guilty]


@pytest.mark.heavy
@pytest.mark.parametrize("profile", ONE_FAULT, ids=lambda profile: profile.name)
def test_the_planted_cause_is_named_in_95_of_100_cases(profile: Profile) -> None:
    number = 100 if soaks() else 20
    named = counted(profile.name, named_causes(profile.name, number, (3, 6)))
    assert named[str(profile.cause)] >= (0.95 if soaks() else 0.8) * number, named


@pytest.mark.heavy
@pytest.mark.parametrize("actions", [4, 6, 8])
def test_of_failures_that_are_size_and_luck_hardly_any_gets_a_cause(actions: int) -> None:
    number = 200 if soaks() else 20
    named = counted(
        f"difficulty of {actions} actions", named_causes("difficulty", number, (actions, actions))
    )
    assert named["difficulty"] >= (0.95 if soaks() else 0.8) * number, named


def test_random_passes_at_any_rate_hardly_ever_get_a_cause() -> None:
    """The same on coins, which need no mutants: at most 5 % at each rate, and few enough here to be sure."""
    rng = Random(7)
    for rate in (0.25, 0.7):
        wrong = 0
        for _ in range(200):
            found = contrasted(
                CASE,
                lambda case, number: case.id != CASE.id and rng.random() < rate,  # noqa: B023
                lambda: Rate(round(50 * rate), 50),  # noqa: B023
                numbered,
            )[0]
            wrong += found != "difficulty"
        assert wrong <= 10, (rate, wrong)

"""Whatever happens to spans on their way: the verdict is that on the whole run, or none is given.

`make soak` tries 200,000 times. A failure names its seed; PDOCTOR_SEED=N tries that again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from collector.model import Span
from synth.observed.run import Run
from synth.policies import PolicySet, Rules, judge_policies, load_policies
from tests.support import evidence
from tests.support.evidence import BY_THE_CLOCK, Change, by_another_clock, on_the_way, run_of, spans_of
from tests.support.gapped_runs import RULES, complete_run, policy_file
from tests.support.soak import new_seed, tell, tries

OFF = Rules(z3="off", repair=False)
OPEN = ("undecided", "unsupported")
TRACE = "ab" * 16


def verdicts(policies: PolicySet, run: Run) -> list[str]:
    return [result.verdict for result in judge_policies(policies, run, rules=OFF)]


def runs(number: int, r: random.Random) -> Iterator[tuple[Run, list[Span]]]:
    """Complete runs, and the spans that tell of each."""
    made = 0
    while made < number:
        run = complete_run(r)
        if run.calls:
            spans = spans_of(run, TRACE)
            yield run_of(spans), spans
            made += 1


def compared(kind: str, number: int, seed: int, happen: Change) -> Counter[str]:
    """How often the answer was the `same` as on the whole run, `open` or `wrong`."""
    r = random.Random(f"{kind} {seed}")
    policies = load_policies(policy_file(kind))
    found: Counter[str] = Counter()
    for whole, spans in runs(number, r):
        changed = happen(list(spans), r)
        if kind in BY_THE_CLOCK and by_another_clock(changed):
            continue
        known, said = verdicts(policies, whole), verdicts(policies, run_of(changed))
        for one, other in zip(known, said, strict=True):
            found["same" if one == other else "open" if other in OPEN else "wrong"] += 1
    return found


@pytest.mark.parametrize("kind", RULES)
def test_the_verdict_is_that_on_the_whole_run_or_none(kind: str) -> None:
    seed = new_seed()
    found = compared(kind, tries(200_000) // len(RULES) + 1, seed, on_the_way)
    tell(f"in memory: {kind}", found)
    assert found["wrong"] == 0, f"{found}, PDOCTOR_SEED={seed}"
    assert found["same"] > 0.6 * found["open"], found  # for sums and last calls about as many are open


@pytest.mark.parametrize(
    "change", [evidence.repeat, evidence.shuffle, evidence.rename, evidence.one_clock_off]
)
def test_what_takes_nothing_away_leaves_every_verdict_as_it_is(change: Change) -> None:
    seed = new_seed()
    for kind in RULES:
        if kind in ("window", "timetable") and change is evidence.one_clock_off:
            continue  # it speaks of the time of day
        found = compared(kind, 60, seed, change)
        assert found["same"] == found.total(), f"{kind} {found}, PDOCTOR_SEED={seed}"


def every_kind(number: int, change: Change) -> Counter[str]:
    return sum((compared(kind, number, 1, change) for kind in RULES), Counter())


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(evidence.unnumbered, id="unnumbered"),
        pytest.param(evidence.too_far, id="too far"),
        pytest.param(evidence.taken_for_never_run, id="taken for never run"),
    ],
)
def test_where_the_mark_is_taken_away_the_property_fails(
    change: Change, request: pytest.FixtureRequest
) -> None:
    found = every_kind(100, change)
    tell(f"the mark taken away: {request.node.callspec.id}", found)
    assert found["wrong"] / found.total() > 0.01, found

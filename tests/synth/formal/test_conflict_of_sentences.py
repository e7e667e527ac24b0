"""Contradictory sentences: found exactly when there are some, and no sentence too many."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from synth.formal.conflict import find_conflict
from synth.formal.constraints import Before, Constraint, EndsBy, StartsFrom
from synth.language.parse import parse
from tests.support.language import ABCD

NAMES = {action.id: action.phrase for action in ABCD}


def conflict(text: str, horizon: tuple[int, int] | None = None):
    return find_conflict(parse(text, ABCD).constraints, horizon)


def test_agreeing_sentences_have_no_conflict():
    assert conflict("Audit must precede briefing. Briefing must happen after 09:00.") is None


def test_the_fewest_sentences_of_a_cycle_are_named():
    text = (
        "Audit must precede briefing. Delivery must follow audit. Briefing must precede cleanup, and cleanup "
        "must precede delivery. Cleanup must happen before audit happens."
    )
    found = conflict(text)
    assert found is not None
    assert found.sentences == (0, 2, 3)
    assert found.explain(NAMES.__getitem__, text).splitlines() == [
        "sentences 1, 3 and 4 contradict each other:",
        '  "Audit must precede briefing" says that audit must end before briefing starts',
        '  "Briefing must precede cleanup" says that briefing must end before cleanup starts',
        '  "Cleanup must happen before audit happens" says that cleanup must end before audit starts',
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Audit must follow audit.", (0,)),
        ("Audit must happen before 09:00, but audit must happen after 10:00.", (0,)),
        (
            "Audit must happen after 10:00. Audit must precede briefing. Briefing must happen before 10:01.",
            (0, 1, 2),
        ),
        (
            "Audit must happen after 10:00. Audit must happen before 11:00. Audit must happen before 10:00.",
            (0, 2),
        ),
    ],
)
def test_times_and_orders_contradict_each_other(text: str, sentences: tuple[int, ...]):
    found = conflict(text)
    assert found is not None
    assert found.sentences == sentences


def test_the_working_day_counts_when_it_is_known():
    text = "Audit must happen before 08:30. Briefing must follow audit."
    assert conflict(text) is None
    found = conflict(text, (540, 1080))
    assert found is not None
    assert found.sentences == (0,)
    late = conflict("Audit must happen after 17:59. Briefing must follow audit.", (540, 1080))
    assert late is not None
    assert late.sentences == (0, 1)


def possible(constraints: list[Constraint]) -> bool:
    """Tasks of one minute, each as early as it can, in any order; at the same time is fine."""
    actions = sorted({action for c in constraints for action in c.actions})
    for order in permutations(actions):
        end: dict[str, int] = {}
        for action in order:
            begin = max(
                [c.time for c in constraints if isinstance(c, StartsFrom) and c.action == action]
                + [end.get(c.first, 99) for c in constraints if isinstance(c, Before) and c.then == action],
                default=0,
            )
            end[action] = begin + 1
        if (
            all(not isinstance(c, EndsBy) or end[c.action] <= c.time for c in constraints)
            and max(end.values()) < 99
        ):
            return True
    return False


def random_constraints(rng: Random) -> list[Constraint]:
    found: list[Constraint] = []
    for sentence in range(rng.randint(1, 6)):
        for _ in range(rng.randint(1, 2)):
            kind, (a, b) = rng.random(), rng.sample("wxyz", 2)
            if kind < 0.6:
                found.append(Before(a, b, sentence))
            else:
                found.append((EndsBy if kind < 0.8 else StartsFrom)(a, rng.randint(0, 6), sentence))
    return found


def test_a_conflict_is_found_exactly_when_there_is_one_and_is_minimal():
    rng = Random(5)
    conflicts = 0
    for _ in range(600):
        constraints = random_constraints(rng)
        found = find_conflict(constraints)
        assert (found is None) is possible(constraints)
        if found is None:
            continue
        conflicts += 1
        inside = [c for c in constraints if c.sentence in found.sentences]
        assert not possible(inside)
        assert not possible(list(found.constraints))
        for left_out in found.sentences:
            rest = [c for c in inside if c.sentence != left_out]
            assert not rest or possible(rest)
    assert 100 < conflicts < 550

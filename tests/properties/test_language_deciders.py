"""Our own decisions against Z3's, over longer streams of candidates."""

from __future__ import annotations

from random import Random

import pytest

from synth.cases.deciders import ByClosure, ByZ3, Ground
from synth.language.expansion import Expansion, Sizes
from tests.support.soak import tries

HORIZON = (540, 1080)


def stream_agrees(seed: int, size: int, candidates: int, *, timed: bool) -> tuple[int, int]:
    """Ask both about the same candidates; (kept, refused)."""
    rng = Random(seed)
    ids = tuple(f"a{i}" for i in range(size))
    natural = tuple((i, i + 1) for i in range(0, size - 1, 2)) if rng.random() < 0.5 else ()
    durations = tuple(rng.choice((15, 45, 90, 150)) for _ in ids) if timed else None
    ground = Ground(ids, natural, durations, HORIZON if timed else None)
    ours, solver = ByClosure(ground), ByZ3(ground)
    expansion = Expansion(rng, ids, Sizes(depth=2, clock=0.6), ground.horizon)
    kept = 0
    for _ in range(candidates):
        candidate = expansion.sentence()
        ours_keeps = ours.keep(candidate, novel=False)
        assert ours_keeps == solver.keep(candidate, novel=False)
        kept += ours_keeps
    assert ours.facts.order == solver.facts.order
    assert (ours.facts.earliest, ours.facts.latest) == (solver.facts.earliest, solver.facts.latest)
    return kept, candidates - kept


@pytest.mark.parametrize("timed", [False, True], ids=["order", "timed"])
def test_closure_and_schedule_search_decide_like_z3(timed: bool):
    results = [stream_agrees(seed, 2 + seed % 4, 25, timed=timed) for seed in range(4)]
    assert all(sum(column) > 0 for column in zip(*results, strict=True))


@pytest.mark.heavy
@pytest.mark.parametrize("timed", [False, True], ids=["order", "timed"])
@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_long_streams_are_decided_alike(size: int, timed: bool):
    for seed in range(tries(100)):
        stream_agrees(1_000 * size + seed, size, 60, timed=timed)

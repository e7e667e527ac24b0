"""The property of `tests/properties/test_evidence.py` through a running collector."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from collector.model import Span
from collector.server import running
from tests.support.evidence import BY_THE_CLOCK, body_of, by_another_clock, on_the_way, spans_of
from tests.support.gapped_runs import RULES, complete_run, policy_file
from tests.support.soak import new_seed, tell, tries
from tests.support.traces import Client, settings, until

OPEN = ("undecided", "unsupported")
AT_ONCE = 100
"""Runs that are on their way together."""


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One that has the rules of all kinds."""
    with running(settings(tmp_path_factory.mktemp("evidence"))) as url, Client(url) as client:
        for kind in RULES:
            client.post("/policies", {"name": kind, "text": policy_file(kind)})
        yield client


def sent(collector: Client, spans: Sequence[Span], r: random.Random) -> str:
    """The run's id, once its spans are on their way in one to three requests."""
    cuts = sorted(r.sample(range(1, len(spans)), min(len(spans) - 1, r.randint(0, 2))))
    for first, last in zip([0, *cuts], [*cuts, len(spans)], strict=True):
        assert collector.send(body_of(spans[first:last])).status_code == 200
    return spans[0].trace_id


def verdicts(collector: Client, run: str) -> dict[str, str]:
    judged = collector.judged(run, seconds=120)
    return {result["policy"]: result["verdict"] for result in judged["policies"]}


def settled(collector: Client) -> None:
    """Wait until every run that came has been judged."""
    for _ in until(240, pause=0.2):
        if collector.get("/stats")["unchecked"] == 0:
            return


@pytest.mark.heavy
def test_the_verdict_is_that_on_the_whole_run_or_none(collector: Client) -> None:
    seed = new_seed()
    r = random.Random(f"live {seed}")
    left = tries(2_000)
    found: Counter[str] = Counter()
    while left > 0:
        pairs = []
        for _ in range(min(left, AT_ONCE)):
            run = complete_run(r)
            whole = spans_of(run, f"{r.getrandbits(127) | 1 << 126:032x}")
            changed = spans_of(run, f"{r.getrandbits(127) | 1 << 126:032x}")
            changed = on_the_way(changed, r)
            unclear = BY_THE_CLOCK if by_another_clock(changed) else ()
            pairs.append((sent(collector, whole, r), sent(collector, changed, r), unclear))
        settled(collector)
        for one, other, unclear in pairs:
            known, said = verdicts(collector, one), verdicts(collector, other)
            for policy, verdict in known.items():
                if policy.partition("_")[0] not in unclear:
                    same = said[policy] == verdict
                    found["same" if same else "open" if said[policy] in OPEN else f"wrong: {policy}"] += 1
        left -= len(pairs)
    tell("through a running collector", found)
    assert {*found} == {"same", "open"}, f"{found}, PDOCTOR_SEED={seed}"
    assert found["same"] > found["open"], found

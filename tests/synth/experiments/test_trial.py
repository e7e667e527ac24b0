from __future__ import annotations

from synth.experiments.trial import Result, Trial, result_from_json
from tests.support.bench_cases import order_case
from tests.support.bench_results import result, running, trials


def test_trials_differ_in_agent_model_case_and_repeat() -> None:
    case = order_case()
    keys = [
        Trial("a", "m", case=case).key,
        Trial("b", "m", case=case).key,
        Trial("a", "n", case=case).key,
        Trial("a", "m", case=order_case(id="other")).key,
        Trial("a", "m", case=case, repeat=1).key,
        Trial("a", "m", record={"run_id": "case-1x"}).key,
    ]
    assert len(set(keys)) == len(keys)


def test_a_result_reads_back_from_json() -> None:
    for made in running()(trials(1)):
        assert result_from_json(made.to_json()) == made


def test_a_run_that_never_arrived_is_undecided() -> None:
    lost = Result(**{**{name: getattr(result(), name) for name in Result.__slots__}, "run": None})
    assert (lost.outcome, lost.error_type, lost.verdict) == ("undecided", None, None)

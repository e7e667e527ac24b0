from __future__ import annotations

import json
from dataclasses import replace

from synth.experiments.trial import Trial, result_from_json
from tests.support.bench_cases import order_case
from tests.support.bench_results import REFUSED, result, running, trials


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


def test_a_run_that_was_not_judged_at_all_is_undecided() -> None:
    unjudged = replace(result(), run=None)
    assert (unjudged.outcome, unjudged.error_type, unjudged.verdict) == ("undecided", None, None)


def test_a_run_that_did_not_test_the_agent_is_an_error_whatever_was_found_in_it() -> None:
    found = result("fail", "act_error", trouble=REFUSED)
    assert (found.outcome, found.error_type, found.is_void) == ("error", None, True)
    assert result_from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.to_json()["trouble"] == {"kind": "endpoint", "status": 401, "message": REFUSED.message}

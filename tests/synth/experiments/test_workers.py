from __future__ import annotations

import pytest

from synth.experiments.workers import Workers


def test_shipped_agents_take_turns_in_a_process_and_others_have_one_each() -> None:
    workers = Workers("http://127.0.0.1:9", {})
    shipped, own = workers.take("raw-loop"), workers.take("my_agents:run")
    workers.give_back("raw-loop", shipped)
    workers.give_back("my_agents:run", own)
    assert workers.take("react") is shipped
    assert workers.take("my_agents:run") is own
    assert workers.take("my_agents:other") not in (shipped, own)


def test_a_worker_with_which_work_failed_is_lent_to_nobody_else() -> None:
    """It may still hold the job, whose end would then be told for the end of another."""
    workers = Workers("http://127.0.0.1:9", {})
    with pytest.raises(RuntimeError), workers.borrow("raw-loop") as failed:
        raise RuntimeError
    with workers.borrow("raw-loop") as fresh:
        assert fresh is not failed
    with workers.borrow("raw-loop") as again:
        assert again is fresh

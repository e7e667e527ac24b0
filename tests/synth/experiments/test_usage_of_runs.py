"""What the model of a run took: as its agent says, else as the collector saw it, else nobody knows."""

from __future__ import annotations

from typing import Any

import pytest

from synth.agents.usage import Usage
from synth.experiments.harness import _usage_of
from synth.formal.trouble import Trouble

SILENT = {"usage": None}


@pytest.mark.parametrize(
    ("seen", "known"),
    [
        ({"input_tokens": 12, "output_tokens": 3, "model_calls": 2}, Usage(12, 3, 2)),
        ({"input_tokens": 12, "output_tokens": 0}, Usage(12, 0, 0)),
        ({"input_tokens": -12_000, "output_tokens": 3, "model_calls": 2}, None),
        ({"input_tokens": 12, "output_tokens": -3, "model_calls": 2}, None),
        ({"input_tokens": 0, "output_tokens": 0, "model_calls": 0}, None),
        ({"input_tokens": None, "output_tokens": 3, "model_calls": 2}, None),
        ({"input_tokens": 12, "output_tokens": None, "model_calls": 2}, None),
        ({}, None),
    ],
)
def test_a_collector_s_counts_are_believed_where_they_can_be(
    seen: dict[str, int | None], known: Usage | None
) -> None:
    assert _usage_of(SILENT, {"metrics": seen}, None) == known


def test_a_run_that_no_collector_saw_took_nothing_only_where_its_agent_was_not_reached() -> None:
    assert _usage_of(SILENT, None, None) is None
    assert _usage_of(SILENT, None, Trouble("worker", message="it died")) is None
    assert _usage_of(SILENT, None, Trouble("unreachable", message="nobody there")) == Usage()


def test_what_an_agent_says_itself_goes_before_what_was_seen() -> None:
    told: dict[str, Any] = {"usage": Usage(5, 1, 1).to_json()}
    seen = {"metrics": {"input_tokens": 12, "output_tokens": 3, "model_calls": 2}}
    assert _usage_of(told, seen, None) == Usage(5, 1, 1)

"""What answers say they took, also where they lie."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from synth.agents.usage import Answers, Usage, usage_of


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        ({"prompt_tokens": 12, "completion_tokens": 3}, (12, 3)),
        ({"input_tokens": 12, "output_tokens": 0}, (12, 0)),
        ({"prompt_tokens": -12_000, "completion_tokens": 3}, None),
        ({"prompt_tokens": 12, "completion_tokens": -3}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": "12", "completion_tokens": 3}, None),
        ({"prompt_tokens": None, "completion_tokens": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_what_cannot_be_is_not_told(said: dict[str, Any] | None, counted: tuple[int, int] | None) -> None:
    given, written = counted or (0, 0)
    expected = Usage(given, written, 1, untold=int(counted is None))
    assert usage_of({"usage": said}) == expected
    answers = Answers()
    answers.told(SimpleNamespace(usage=None if said is None else SimpleNamespace(**said)))
    assert answers.usage == expected
    answers = Answers()
    answers.told_by_langchain(SimpleNamespace(usage_metadata=said, response_metadata=None))
    assert answers.usage == expected

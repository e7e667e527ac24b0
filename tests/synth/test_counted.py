"""Numbers with what they count."""

from __future__ import annotations

import pytest

from synth.counted import counted


@pytest.mark.parametrize(
    ("number", "what", "said"),
    [(0, "run", "0 runs"), (1, "policy", "1 policy"), (2, "policy", "2 policies"), (3, "day", "3 days")],
)
def test_a_noun_has_the_number_of_what_is_counted(number: int, what: str, said: str) -> None:
    assert counted(number, what) == said

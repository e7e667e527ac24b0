"""The distance of JSON values."""

from __future__ import annotations

from typing import Any

import pytest

from synth.agents.nearest import EDITS, distance


@pytest.mark.parametrize(
    ("one", "other", "edits", "size"),
    [
        pytest.param({"id": "A-17"}, {"id": "A-17"}, 0, 1, id="equal"),
        pytest.param({"id": "A-17"}, {"id": "A-18"}, 1, 1, id="another word"),
        pytest.param(
            {"to": "SEA", "day": 3, "n": 1}, {"to": "SEA", "day": 4, "n": 1}, 1, 3, id="one leaf of 3"
        ),
        pytest.param({"q": "flights to Seattle"}, {"q": "cheap flights to Seattle"}, 1, 4, id="a word more"),
        pytest.param({"ids": [1, 2, 3]}, {"ids": [1, 3]}, 1, 3, id="an item less"),
        pytest.param({"a": 1}, {"a": 1, "b": {"c": 1, "d": 2}}, 2, 3, id="an entry more"),
        pytest.param({"a": 1}, {"b": 1}, 2, 1, id="another name"),
        pytest.param({"a": True}, {"a": 1}, 1, 1, id="true is no number"),
        pytest.param({"a": 1.0}, {"a": 1}, 0, 1, id="numbers by value"),
        pytest.param({}, {"a": 1}, 1, 1, id="nothing"),
        pytest.param({"a": "one two"}, {"a": ["one", "two"]}, 2, 2, id="text and list"),
    ],
)
def test_edits_and_size(one: Any, other: Any, edits: float, size: float) -> None:
    assert distance(one, other) == (edits, size)
    assert distance(other, one) == (edits, size)


def test_what_would_take_too_long_is_equal_or_wholly_different() -> None:
    long = "word " * (int(EDITS**0.5) + 1)
    size = float(len(long.split()))
    assert distance({"q": long}, {"q": long}) == (0.0, size)
    assert distance({"q": long}, {"q": long.replace("word", "ward", 1)}) == (size, size)

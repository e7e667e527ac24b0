"""Words and numbers as the pages show them."""

from __future__ import annotations

import pytest

from collector.ui.words import coded, counted


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain", "plain"),
        ("`a` and `<b>`", "<code>a</code> and <code>&lt;b&gt;</code>"),
        ("<i> `a", "&lt;i&gt; `a"),
        ("`a` is not `b", "<code>a</code> is not `b"),
    ],
)  # fmt: skip
def test_words_between_backticks_are_code_and_nothing_is_markup(said: str, shown: str) -> None:
    assert coded(said) == shown


def test_one_of_something_is_no_plural() -> None:
    assert [counted(number, "more row") for number in (0, 1, 2)] == [
        "0 more rows",
        "1 more row",
        "2 more rows",
    ]

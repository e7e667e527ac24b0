"""Tables of pandas as arguments and results: runs where agents work on data."""

from __future__ import annotations

import json
import sys
from typing import Any

import orjson
import pandas
import pytest

import pdoctor_trace
from pdoctor_trace.values import Truncated, json_text
from tests.support.sink import OtlpSink


def small() -> Any:
    return pandas.DataFrame(
        {
            "name": ["a", "b"],
            "price": [1.5, float("nan")],
            "at": [pandas.Timestamp("2026-03-14"), pandas.NaT],
            "stock": pandas.array([3, None], dtype="Int64"),
        }
    )


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (pandas.Timestamp("2026-03-14 15:09", tz="Europe/Oslo"), "2026-03-14T15:09:00+01:00"),
        (pandas.Timedelta(hours=1), "1:00:00"),
        (pandas.NaT, "NaT"),
        (pandas.NA, None),
        (pandas.Series([1, 2]), [1, 2]),
        (
            small(),
            {
                "shape": [2, 4],
                "columns": ["name", "price", "at", "stock"],
                "head": [
                    {"name": "a", "price": 1.5, "at": "2026-03-14T00:00:00", "stock": 3},
                    {"name": "b", "price": "NaN", "at": "NaT", "stock": None},
                ],
            },
        ),
        (pandas.DataFrame({"a": []}), {"shape": [0, 1], "columns": ["a"], "head": []}),
    ],
)
def test_values_have_a_json_form(value: Any, form: Any) -> None:
    text = json_text({"inside": value})
    assert (orjson.loads(text), type(text)) == ({"inside": form}, bytes)


def test_of_a_large_table_the_head_is_kept_and_marked() -> None:
    table = pandas.DataFrame({"id": range(20_000), "name": [f"row {n}" for n in range(20_000)]})
    text = json_text(table)
    found = json.loads(text)
    assert (type(text), found["shape"], len(text) < 10_000) == (Truncated, [20_000, 2], True)
    assert found["head"][:2] == [{"id": 0, "name": "row 0"}, {"id": 1, "name": "row 1"}]
    assert found["head"][-1] == "… (+19950 more)"


def test_of_a_wide_table_every_row_says_that_there_is_more() -> None:
    found = json.loads(json_text(pandas.DataFrame([range(1_000)] * 2)))
    assert found["columns"][-1] == "… (+900 more)"
    assert [(row["0"], row["…"], len(row)) for row in found["head"]] == [(0, "+900 more", 101)] * 2


class Mine(pandas.DataFrame):
    """Somebody's own."""

    @property
    def shape(self) -> Any:
        raise RuntimeError("not for you")


def test_tables_of_other_classes_are_told_by_their_type() -> None:
    assert orjson.loads(json_text([Mine({"a": [1]})])) == [f"<{Mine.__module__}.Mine>"]


def test_a_large_table_takes_no_more_steps_than_what_is_kept_of_it() -> None:
    steps = []
    for rows in (1_000, 100_000):
        table, count = pandas.DataFrame({"id": range(rows)}), 0

        def step(*_: Any) -> None:
            nonlocal count
            count += 1

        sys.setprofile(step)
        try:
            json_text(table)
        finally:
            sys.setprofile(None)
        steps.append(count)
    assert steps[1] < steps[0] * 1.1


def test_a_tool_may_take_and_give_tables(sink: OtlpSink) -> None:
    @pdoctor_trace.tool
    def cheapest(table: Any) -> Any:
        return table.head(1)

    assert len(cheapest(small())) == 1
    pdoctor_trace.flush()
    (call,) = sink.calls
    assert (call.arguments["table"]["shape"], call.result["shape"]) == ([2, 4], [1, 4])

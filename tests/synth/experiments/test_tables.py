from __future__ import annotations

import pytest

from synth.agents import AGENTS
from synth.experiments.capability import Curve, Point
from synth.experiments.dissect import Attempt, Dissection
from synth.experiments.money import Price, Prices
from synth.experiments.rates import Rate
from synth.experiments.tables import (
    agents_table,
    cause_table,
    compare,
    comparison_table,
    curve_table,
    detection_table,
    error_table,
    limit_table,
    overview_table,
    topics_table,
)
from synth.experiments.trial import Result
from tests.support.bench_cases import order_case
from tests.support.bench_results import result

CASE = order_case().to_json()


def test_the_table_of_agents_has_a_full_row_for_each() -> None:
    table = agents_table()
    assert [row[0] for row in table.rows] == [agent.name for agent in AGENTS]
    assert all(cell for row in table.rows for cell in row)
    assert table.note == ""


def test_of_agents_that_were_not_tested_the_table_has_no_row() -> None:
    table = agents_table(["raw-loop", "mine:agent", "raw-loop"])
    assert [row[:2] for row in table.rows] == [
        ("raw-loop", "a bare loop over the OpenAI SDK"), ("mine:agent", "-"),
    ]  # fmt: skip
    assert table.note == "-: an agent that is none of ours."


def test_the_overview_sums_queries_times_and_errors() -> None:
    table = overview_table([result("pass", case=CASE), result("fail", "timeout", case=CASE)], "t", "T")
    assert table.rows == (
        ("raw-loop", "m", "2", "1", "50.0%", "-", "-", "0.00", "1.00", "0.00", "0", "-", "0"),
    )
    paid = overview_table([result(tokens=2_000)], "t", "T", Prices(every=Price(1.0, 50.0)))
    assert (paid.headers[-3:], paid.rows[0][-3:]) == (("tokens", "USD", "error"), ("2000", "0.1000", "0"))


def test_error_types_are_shares_of_the_failures() -> None:
    errors = [result("fail", "order_error")] * 3 + [result("fail", "action_lost")]
    row = error_table(errors, errors, "t", "T").to_json()["rows"][0]
    assert (row["failures"], row["order_error"], row["action_lost"], row["timeout"]) == (
        "4",
        "75.0%",
        "25.0%",
        "0.0%",
    )


def dissection(cause: str, topic: str = "baker") -> Dissection:
    return Dissection("a", "m", "c", topic, None, cause, (Attempt("repeat", "c", False),))  # type: ignore[arg-type]


def test_causes_are_shares_of_the_dissected() -> None:
    found = [dissection("topic"), dissection("topic"), dissection("terminal")]
    (row,) = cause_table(found, (), "t", "T").to_json()["rows"]
    assert (row["dissected"], row["topic"], row["terminal"], row["constraint"]) == (
        "3",
        "66.7%",
        "33.3%",
        "0.0%",
    )
    assert cause_table([], [], "t", "T", subjects=[("a", "m")]).rows[0][:4] == ("a", "m", "0", "-")


def test_topics_are_told_by_model_with_those_that_had_no_error() -> None:
    baker, doctor = CASE | {"topic": "baker"}, CASE | {"topic": "doctor"}
    results = [result("fail", "order_error", case=baker), result(case=doctor), result(case=doctor, model="n")]
    assert topics_table([dissection("topic")] * 2, results, "t", "T").rows == (
        ("m", "baker (2)", "1", "2"),
        ("n", "-", "1", "1"),
    )


def test_an_agent_without_failures_has_a_row_without_shares() -> None:
    passed, failed = result(agent="a"), result("fail", "order_error", agent="b")
    first, second = error_table([failed], [passed, failed], "t", "T", types=("order_error",)).rows
    assert (first[:4], second[:4]) == (("a", "m", "0", "-"), ("b", "m", "1", "100.0%"))


def test_curves_are_tables_too() -> None:
    curve = Curve("a", "m", (Point(2, Rate(9, 10), 0), Point(3, Rate(1, 10), 2)))
    assert curve_table([curve], "t", "T").rows == (
        ("a", "m", "2", "10", "90.0%", "60% to 98%", "0", "0"),
        ("a", "m", "3", "10", "10.0%", "2% to 40%", "2", "0"),
    )
    assert limit_table([curve], "t", "T").rows == (("a", "m", "2", "0"),)


def test_detection_counts_every_judgement() -> None:
    fault = {"type": "order_error"}
    table = detection_table(
        [result("fail", "order_error", fault=fault), result("pass", fault=fault)], "t", "T"
    )
    assert table.rows == (("m", "2", "2", "1", "1", "0", "0", "0"),)


# ---------------------------------------------------------------- before and after


def campaign(passes: str, prefix: str = "") -> list[Result]:
    """One result per letter: p = pass, f = fail, u = undecided."""
    words = {"p": ("pass", None), "f": ("fail", "order_error"), "u": ("undecided", None)}
    return [result(*words[letter], key=f"{prefix}{at}") for at, letter in enumerate(passes)]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("ffffffffpp", "ppppppppff", "no significant change"),
        ("ffffffffpp", "pppppppppp", "better"),
        ("pppppppppp", "ffffffpppp", "worse"),
        ("pfpfpfpfpf", "pfpfpfpfpf", "no significant change"),
    ],
)
def test_shared_cases_are_compared_case_by_case(before: str, after: str, said: str) -> None:
    (row,) = comparison_table(compare(campaign(before), campaign(after)), "t", "T").rows
    assert row[-1] == said


def test_what_changed_is_counted_and_undecided_runs_are_left_out() -> None:
    (found,) = compare(campaign("ffpu"), campaign("pfuf"))
    assert (found.better, found.worse, found.paired) == (1, 0, True)
    assert (found.before, found.after) == (Rate(1, 3), Rate(1, 3))


def test_separate_cases_are_compared_by_their_rates() -> None:
    (found,) = compare(campaign("p" * 20, "a"), campaign("f" * 20, "b"))
    assert not found.paired
    assert found.significant


def test_agents_of_only_one_campaign_are_not_compared() -> None:
    assert compare([result(agent="a")], [result(agent="b")]) == ()


def test_who_was_asked_nothing_has_a_row_that_says_so() -> None:
    table = overview_table(
        [result("pass", case=CASE)], "t", "T", subjects=[("other", "m"), ("raw-loop", "m")]
    )
    other, own = (dict(zip(table.headers, row, strict=True)) for row in table.rows)
    assert (other["agent"], other["generated"], other["errors %"], other["error"]) == ("other", "0", "-", "0")
    assert (own["agent"], own["generated"]) == ("raw-loop", "1")

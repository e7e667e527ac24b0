from __future__ import annotations

from synth.experiments.tally import Detection, Row, detection, judgement, most_telling, tally
from tests.support.bench_results import finding, result

SWAP = {"type": "order_error"}


def test_the_table_has_a_row_per_agent_and_model() -> None:
    results = [
        result("pass"),
        result("fail", "order_error"),
        result("fail", "order_error"),
        result("undecided"),
        result("fail", "timeout", agent="react"),
    ]
    assert tally(results) == (
        Row("raw-loop", "m", 4, 1, {"order_error": 2}, 1),
        Row("react", "m", 1, 0, {"timeout": 1}, 0),
    )


def test_undecided_runs_are_left_out_of_the_success_rate() -> None:
    (row,) = tally([result("pass"), result("fail", "timeout"), result("undecided"), result("open")])
    assert (row.success_rate, row.unsettled) == (0.5, 2)
    (none,) = tally([result("undecided")])
    assert none.success_rate is None


def test_error_types_are_listed_in_order_of_priority() -> None:
    (row,) = tally([result("fail", "order_error"), result("fail", "timeout")])
    assert list(row.to_json()["fail"]) == ["timeout", "order_error"]


def test_the_most_telling_findings_differ_in_type_first() -> None:
    results = [
        result("fail", "order_error", key="1", findings=[finding("order_error", "A before B.")]),
        result("fail", "order_error", key="2", findings=[finding("order_error", "C before D.")]),
        result("fail", "action_lost", key="3", findings=[finding("action_lost", "E never.", sentence=None)]),
        result("pass", key="4", findings=[finding("note", "F recovered.")]),
    ]
    assert [telling.finding["explanation"] for telling in most_telling(results, 2)] == [
        "A before B.",
        "E never.",
    ]
    assert len(most_telling(results, 10)) == 3
    assert most_telling(results, 1)[0].text == "raw-loop on m: A before B."


def test_findings_of_another_type_than_the_run_s_do_not_stand_for_it() -> None:
    both = [finding("order_error", "A before B."), finding("timeout", "Too slow.", sentence=None)]
    (telling,) = most_telling([result("fail", "timeout", findings=both)])
    assert telling.finding["explanation"] == "Too slow."


def test_a_planted_fault_counts_as_found_only_with_its_type() -> None:
    assert judgement(result("fail", "order_error", fault=SWAP)) == "found"
    assert judgement(result("fail", "action_lost", fault=SWAP)) == "missed"
    assert judgement(result("pass", fault=SWAP)) == "missed"
    assert judgement(result("pass", planted=True)) == "right"
    assert judgement(result("fail", "order_error", planted=True)) == "false_alarm"
    assert judgement(result("undecided", planted=True)) == "unsettled"


def test_detection_is_exact_only_without_misses_and_alarms() -> None:
    good = [result("fail", "order_error", fault=SWAP), result("pass", planted=True)]
    assert detection(good) == (Detection("m", 2, 1, 1, 0, 0, 0),)
    assert detection(good)[0].exact
    for spoiler in (
        result("pass", fault=SWAP),
        result("fail", "timeout", planted=True),
        result("open", planted=True),
    ):
        assert not detection([*good, spoiler])[0].exact


def test_real_models_have_no_detection_row() -> None:
    assert detection([result("fail", "order_error")]) == ()


def test_the_same_words_are_not_told_twice_while_there_are_others() -> None:
    same = finding("order_error", "A came before B.")
    other = finding("order_error", "C came before D, which is a longer way to say it.")
    results = [
        result("fail", "order_error", key="1", agent="react", findings=[same]),
        result("fail", "order_error", key="2", agent="raw-loop", findings=[same]),
        result("fail", "order_error", key="3", agent="react", findings=[other]),
    ]
    assert [t.finding["explanation"] for t in most_telling(results, 2)] == [
        "A came before B.",
        "C came before D, which is a longer way to say it.",
    ]

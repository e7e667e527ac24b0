"""Verdicts of single runs: the tables of the paper and of semantics section 4, as claims."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synth.errors import BadInput
from synth.formal.check import DISAGREEMENTS
from synth.formal.constraints import Before, Fixed
from synth.formal.model import Verdict, verdict_from_json
from synth.judge import Rules, judge
from synth.observed.run import Run
from tests.support.building import call, case, run, summary, task

ABC = case("a<b", "c<b")
DIRECT = Rules(z3="off")


def verdict(calls: object, the_case: object = ABC, rules: Rules | None = None, **fields: object) -> Verdict:
    made = calls if isinstance(calls, Run) else run(calls, **fields)  # type: ignore[arg-type]
    return judge(the_case, made, rules=rules or Rules())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("calls", "fields", "outcome", "error_type", "found"),
    [
        ("a c b", {}, "pass", None, []),
        (
            "b a c",
            {},
            "fail",
            "order_error",
            [("order_error", "order", (1, 0)), ("order_error", "order", (2, 0))],
        ),
        ("a c", {}, "fail", "action_lost", [("action_lost", "never_called", ())]),
        ("", {}, "fail", "action_lost", [("action_lost", "never_called", ())] * 3),
        (
            "a b",
            {},
            "fail",
            "action_lost",
            [("action_lost", "never_called", ()), ("order_error", "order", (0, 1))][:1],
        ),
        ("a c b", {"status": "timeout"}, "fail", "timeout", [("timeout", "timeout", ())]),
        ("a c b", {"wall_seconds": 181.0}, "fail", "timeout", [("timeout", "wall_time", ())]),
        ("a c b", {"wall_seconds": 180.0, "iterations": 50}, "pass", None, []),
        ("a c b", {"iterations": 51}, "fail", "timeout", [("timeout", "iterations", ())]),
        ("a c b", {"status": "crash"}, "fail", "act_error", [("act_error", "agent_crash", ())]),
        ("a z c b", {}, "fail", "act_error", [("act_error", "unknown_tool", (1,))]),
        ("a z c b", {"tools": ("do_z",)}, "pass", None, [("note", "outside_query", (1,))]),
        ("a a c b", {}, "fail", "order_error", [("order_error", "repeated", (0, 1))]),
        ("a! a c b", {}, "pass", None, [("note", "recovered", (0,))]),
        ("a a! c b", {}, "pass", None, [("note", "failed_repeat", (1,))]),
        (
            "a! c b",
            {},
            "fail",
            "act_error",
            [("act_error", "tool_error", (0,)), ("action_lost", "never_succeeded", (0,))],
        ),
        (
            "a c b*",
            {},
            "fail",
            "action_lost",
            [("action_lost", "never_succeeded", (2,)), ("note", "unfinished", (2,))],
        ),
    ],
)
def test_order_mode(
    calls: str, fields: dict[str, object], outcome: str, error_type: str | None, found: list[object]
) -> None:
    assert summary(verdict(calls, **fields)) == (outcome, error_type, found)


def test_closed_mode_refuses_tools_outside_the_query() -> None:
    found = summary(verdict("a z c b", tools=("do_z",), rules=Rules(closed=True)))
    assert found == ("fail", "act_error", [("act_error", "outside_query", (1,))])


def test_without_once_a_repeat_is_a_note_and_the_first_success_counts() -> None:
    assert summary(verdict("a c b a", rules=Rules(once=False))) == (
        "pass", None, [("note", "repeated", (0, 3))],
    )  # fmt: skip


def test_a_request_that_never_ran_loses_the_action() -> None:
    calls = [call("a"), call("c"), call("b", executed=False)]
    assert summary(verdict(calls)) == (
        "fail",
        "action_lost",
        [("action_lost", "never_succeeded", (2,)), ("note", "not_executed", (2,))],
    )


def test_arguments_that_cannot_be_parsed_are_an_act_error() -> None:
    calls = [call("a"), call("c"), call("b", executed=False, arguments="{oops")]
    assert summary(verdict(calls))[1] == "act_error"


def test_a_blocked_call_is_a_note() -> None:
    blocked = call("a", executed=False, extra={"blocked": True}, error="refused")
    calls = [blocked, call("a"), call("c"), call("b")]
    assert summary(verdict(calls)) == ("pass", None, [("note", "blocked", (0,))])


# ---------------------------------------------------------------- time in order mode

SIDE_BY_SIDE = [call("a", 0, 10), call("c", 0, 3), call("b", 5, 6)]


def test_overlap_is_a_note_in_order_mode_and_an_error_where_it_is_strict() -> None:
    assert summary(verdict(SIDE_BY_SIDE)) == ("pass", None, [("note", "overlap", (0, 2))])
    strict = summary(verdict(SIDE_BY_SIDE, rules=Rules(strict_parallel=True)))
    assert strict == ("fail", "order_error", [("order_error", "overlap", (0, 2))])


def test_the_wrong_order_at_equal_instants_is_no_overlap_unless_it_is_strict() -> None:
    calls = [call("b", 1, 2), call("a", 1, 2), call("c", 3, 4)]
    found = verdict(calls, case("a<b", extra="c"))
    assert summary(found) == ("fail", "order_error", [("order_error", "order", (1, 0))])
    assert "was called before" in found.findings[0].explanation
    strict = verdict(calls, case("a<b", extra="c"), Rules(strict_parallel=True))
    assert summary(strict) == ("fail", "order_error", [("order_error", "overlap", (1, 0))])


def test_one_message_is_a_note_and_an_error_where_it_is_strict() -> None:
    calls = [call("a", step=1), call("c", step=2), call("b", step=2)]
    assert summary(verdict(calls)) == ("pass", None, [("note", "same_message", (1, 2))])
    assert summary(verdict(calls, rules=Rules(strict_parallel=True)))[0] == "fail"


def test_calls_are_judged_by_start_and_not_by_place_in_the_list() -> None:
    assert verdict([call("b", 9, 10), call("a", 1, 2), call("c", 3, 4)]).outcome == "pass"


def test_equal_instants_are_ordered_by_the_sequence_number() -> None:
    for rules in (Rules(), Rules(strict_parallel=True)):
        assert verdict([call("a", 5, 5), call("c", 5, 5), call("b", 5, 5)], rules=rules).outcome == "pass"
        assert verdict([call("b", 5, 5), call("a", 5, 5), call("c", 5, 5)], rules=rules).outcome == "fail"


def test_two_clocks_within_the_skew_are_undecided_with_a_witness_each_way() -> None:
    def at(gap: float) -> Verdict:
        calls = [call("a", 0, 1), call("c", 1.1, 1.2), call("b", 1.1 + gap, 3, extra={"clock": "other"})]
        return verdict(calls, rules=Rules(strict_parallel=True))

    near, far = at(0.13), at(0.2)
    assert far.outcome == "pass"
    assert summary(near) == ("undecided", None, [("note", "undecided", (1, 2))])
    assert near.findings[0].witness is not None
    assert near.decided_by == "z3"
    assert at(-1.0).outcome == "fail"


def test_inferred_times_are_undecided_only_where_their_bounds_meet() -> None:
    def bounded(a: tuple[int, int], b: tuple[int, int]) -> str:
        one = case("a<b")
        calls = [call("a"), call("b")]
        pair = [
            type(c)(None, c.tool, {}, start=(lo * 10**9, hi * 10**9), end=(lo * 10**9, hi * 10**9))
            for c, (lo, hi) in zip(calls, (a, b), strict=True)
        ]
        return verdict(pair, one, Rules(strict_parallel=True)).outcome

    assert bounded((0, 1), (1, 2)) == "pass"
    assert bounded((0, 2), (1, 3)) == "undecided"
    assert bounded((2, 3), (0, 1)) == "fail"


def test_one_message_is_an_error_where_it_is_strict_also_where_times_are_open() -> None:
    same = [replace(call(name, step=1), start=(0, 9), end=(0, 9)) for name in "ab"]
    found = verdict(same, case("a<b"), Rules(strict_parallel=True))
    assert (found.outcome, found.error_type, found.findings[0].code) == (
        "fail",
        "order_error",
        "same_message",
    )
    apart = [replace(made, step=step) for step, made in enumerate(same)]
    assert verdict(apart, case("a<b"), Rules(strict_parallel=True)).outcome == "undecided"


def test_bounds_that_can_keep_each_sentence_but_not_both_fail_together() -> None:
    # Both b before c and c before a are possible, but with a before b not together.
    spec = case("a<b", "b<c", "c<a")
    calls = [type(c)(None, c.tool, {}, start=(0, 9), end=(0, 9)) for c in map(call, "abc")]
    found = verdict(calls, spec, Rules(strict_parallel=True))
    assert summary(found) == ("fail", "order_error", [("order_error", "joint", (0, 1, 2))])


# ---------------------------------------------------------------- open runs, gaps


def test_an_open_run_carries_what_is_already_certain() -> None:
    assert summary(verdict("a", status="running")) == ("open", None, [])
    found = verdict("a! b", status="running")
    assert summary(found) == ("open", None, [])
    assert found.dead_at == 1
    assert summary(verdict("b a", status="running")) == (
        "open", "order_error", [("order_error", "order", (1, 0))],
    )  # fmt: skip


def test_gaps_leave_open_what_depends_on_calls_that_were_not_seen() -> None:
    holes = {"problems": ("2 spans were dropped",)}
    assert verdict("a c b", **holes).outcome == "undecided"
    assert verdict("a c", **holes).outcome == "undecided"
    assert verdict("a z", **holes).outcome == "fail"
    assert verdict("b a c", **holes).outcome == "fail"
    assert verdict("b a c", rules=Rules(once=False), **holes).outcome == "undecided"


# ---------------------------------------------------------------- point of no return, repair


def test_the_point_of_no_return_is_the_first_call_with_an_uncalled_predecessor() -> None:
    assert verdict("a b c").dead_at == 1
    assert verdict("c a b").dead_at is None
    assert verdict("a c").dead_at is None


def test_repair_moves_as_few_actions_as_possible_and_inserts_lost_ones() -> None:
    chain = case("a<b", "b<c", "c<d")
    found = verdict("d a b c", chain).repair
    assert found is not None
    assert (found.order, found.moved) == (("a", "b", "c", "d"), ("d",))
    lost = verdict("a b d", chain).repair
    assert lost is not None
    assert (lost.order, lost.moved) == (("a", "b", "c", "d"), ())


def test_z3_and_direct_evaluation_both_decide() -> None:
    found = verdict("b a c")
    assert (found.decided_by, found.z3_ms > 0) == ("both", True)
    assert verdict("b a c", rules=DIRECT).decided_by == "direct"
    assert verdict("a c b", rules=Rules(z3="failing")).decided_by == "direct"
    assert verdict("b a c", rules=Rules(z3="failing")).decided_by == "both"


def test_a_disagreement_leaves_the_run_undecided_and_keeps_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Before.formula

    def fickle(self: Before, t: object) -> object:
        return honest(self, t) if not isinstance(t, Fixed) else True  # type: ignore[arg-type]

    monkeypatch.setattr(Before, "formula", fickle)
    count = DISAGREEMENTS.count
    found = verdict("b a c")
    assert summary(found) == (
        "undecided",
        None,
        [("note", "disagreement", (1, 0)), ("note", "disagreement", (2, 0))],
    )
    assert DISAGREEMENTS.count == count + 1


def test_explanations_name_the_rule_the_calls_and_the_times() -> None:
    found = verdict([call("b", 1, 2), call("a", 3, 4), call("c", 0, 1)])
    assert found.findings[0].explanation == (
        "A must end before B starts: B (call 0) was called before A (call 1)."
    )


def test_a_verdict_survives_its_json() -> None:
    for calls in ("b a c", "a c b", "a z"):
        found = verdict(calls)
        assert verdict_from_json(found.to_json()) == found
    with pytest.raises(BadInput, match="not a verdict"):
        verdict_from_json({"run_id": "r"})


def test_unknown_action_in_a_constraint_is_bad_input() -> None:
    broken = case("a<b")
    broken = type(broken)(
        **{**{f: getattr(broken, f) for f in broken.__slots__}, "actions": broken.actions[:1]}
    )
    with pytest.raises(BadInput, match="no action has the id 'b'"):
        judge(broken, run("a"))


# ---------------------------------------------------------------- timed mode

DAY = case("a<b", "b<=900", durations={"a": 120, "b": 60}, horizon=(480, 1200))


@pytest.mark.parametrize(
    ("calls", "outcome", "found"),
    [
        ([task("a", "10:00"), task("b", "12:00")], "pass", []),
        ([task("a", 600), task("b", 720)], "pass", []),
        (
            [task("a", "10:00"), task("b", "8:00")],
            "fail",
            ["parameter_error overlaps_previous", "order_error order"],
        ),
        ([task("a", "10:00"), task("b", None)], "fail", ["parameter_error start_missing"]),
        ([task("a", "10:00"), task("b", "noon")], "fail", ["parameter_error start_malformed"]),
        ([task("a", "10:00"), task("b", True)], "fail", ["parameter_error start_malformed"]),
        ([task("a", "12:00"), task("b", "14:00")], "pass", []),
        ([task("a", "12:00"), task("b", "14:01")], "fail", ["order_error too_late"]),
        ([task("a", "06:40"), task("b", "10:00")], "fail", ["parameter_error before_day"]),
        (
            [task("a", "10:00"), task("b", "19:30")],
            "fail",
            ["parameter_error after_day", "order_error too_late"],
        ),
        ([task("b", "08:00"), task("a", "10:00")], "fail", ["order_error order"]),
        (
            [task("a", "10:00", took=180), task("b", "12:00")],
            "fail",
            ["parameter_error overlaps_previous", "order_error order"],
        ),
        ([task("a", "10:00", took=30), task("b", "10:30")], "pass", []),
        ([task("a", "10:00")], "fail", ["action_lost never_called"]),
    ],
)
def test_timed_mode(calls: list[object], outcome: str, found: list[str]) -> None:
    for rules in (Rules(), DIRECT):
        result = verdict(calls, DAY, rules)
        assert (result.outcome, [f"{f.type} {f.code}" for f in result.findings]) == (outcome, found)


def test_after_a_dead_plan_a_repeated_call_opens_a_new_attempt() -> None:
    calls = [task("a", "13:30"), task("a", "08:00"), task("b", "10:00")]
    found = verdict(calls, DAY)
    assert summary(found) == ("pass", None, [("note", "replanned", (0,))])


def test_while_the_plan_can_still_work_a_repeated_call_is_a_repeat() -> None:
    calls = [task("a", "10:00"), task("a", "12:00"), task("b", "14:00")]
    found = verdict(calls, DAY)
    assert found.error_type == "order_error"
    assert ("order_error", "repeated", (0, 1)) in summary(found)[2]


def test_the_last_attempt_is_judged_and_its_point_of_no_return_named() -> None:
    calls = [task("a", "13:30"), task("a", "08:00"), task("b", "14:30")]
    found = verdict(calls, DAY)
    assert (found.error_type, found.dead_at) == ("order_error", 2)
    assert found.repair is not None
    assert found.repair.moved == ("b",)
    assert found.repair.starts is not None
    assert found.repair.starts["a"] == 480


def test_an_unknown_duration_leaves_the_verdict_open() -> None:
    spec = case("a<b", durations={"b": 60}, horizon=(480, 1200), extra="a")
    found = verdict([task("a", "10:00"), task("b", "12:00")], spec)
    assert found.outcome == "undecided"
    assert {f.code for f in found.findings} == {"undecided"}
    assert verdict([task("a", "10:00", took=60), task("b", "12:00")], spec).outcome == "pass"


def test_a_timed_plan_that_only_calls_in_the_wrong_order_says_which_call_to_move() -> None:
    """Every declared start is right; `b` is called before `a`, which runs first."""
    found = verdict([task("b", "12:00"), task("a", "10:00")], DAY)
    assert [f.code for f in found.findings] == ["overlaps_previous", "order"]
    assert found.repair is not None
    assert (found.repair.order, found.repair.starts) == (("a", "b"), {"a": 600, "b": 720})
    assert len(found.repair.moved) == 1

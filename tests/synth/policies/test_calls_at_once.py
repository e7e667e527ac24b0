"""Contracts and behaviour specifications where calls overlap, or nobody knows which came first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet, Rules
from tests.support.building import call, ns
from tests.support.policing import brief, judged, policy

SESSION = policy(
    "contract:\n  tools:\n    do_login: {provides: session}\n    do_logout: {clears: session}\n"
    "    do_create: {requires: session}\n    do_join: {requires: not session}"
)
ORDER = policy("behaviour: (next do_verify do_pay)")


def within(name: str, lo: float, hi: float) -> ToolCall:
    """Start and end lie somewhere between two instants."""
    return replace(call(name), start=(ns(lo), ns(hi)), end=(ns(lo), ns(hi)))


def starting(name: str, lo: float, hi: float) -> ToolCall:
    """Starts between two instants, ends exactly at 100 s."""
    return replace(call(name), start=(ns(lo), ns(hi)), end=(ns(100), ns(100)))


@pytest.mark.parametrize(
    ("rule", "names"),
    [(SESSION, ("login", "create")), (SESSION, ("login", "join")), (ORDER, ("verify", "pay"))],
)
def test_calls_of_one_message_have_no_order(rule: PolicySet, names: tuple[str, str]) -> None:
    made = [within(name, 1, 2) for name in names]
    assert brief(rule, made) == brief(rule, made[::-1]) == ("undecided", ())
    after = [within(names[0], 1, 2), within(names[1], 2.5, 3)]
    assert brief(rule, after)[0] == ("violated" if "join" in names else "ok")
    assert brief(rule, [within(names[1], 1, 2), within(names[0], 2.5, 3)])[0] == (
        "ok" if "join" in names else "violated"
    )


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("login", 1, 5), call("create", 2, 3)], ("violated", (1,))),
        ([call("login", 1, 2), call("create", 2, 3)], ("ok", ())),
        ([call("create", 2, 3), call("login", 2, 2)], ("violated", (0,))),
        ([call("login", 2, 2), call("create", 2, 3)], ("ok", ())),
        ([call("login", 1, 2), call("logout", 3, 9), call("create", 4, 5)], ("violated", (2,))),
        ([call("login", 1, 2), call("logout!", 3, 9), call("create", 4, 5)], ("ok", ())),
        ([call("login", 1, 2), call("logout", 3, 9), call("join", 4, 5)], ("ok", ())),
        ([call("login", 1, 5), call("join", 2, 3)], ("ok", ())),
        ([call("login", 1, 2), call("logout*", 3), call("create", 4, 5)], ("undecided", ())),
        ([call("login", 1, 2), call("logout*", 3), call("join", 4, 5)], ("undecided", ())),
        ([call("login", 1, 2), call("create", 2.5, 2.6), call("logout*", 3)], ("ok", ())),
        ([call("login*", 1), call("create", 4, 5)], ("violated", (1,))),
        ([call("login*"), call("create")], ("violated", (1,))),
    ],
)
def test_a_call_takes_time(calls: list[ToolCall], expected: tuple[str, tuple[int, ...]]) -> None:
    assert brief(SESSION, calls) == expected
    assert brief(SESSION, calls)[0] == judged(SESSION, calls).verdict


def test_what_another_call_clears_meanwhile_is_a_note() -> None:
    calls = [call("login", 1, 2), call("create", 3, 9), call("logout", 4, 5), call("login", 6, 7)]
    result = judged(SESSION, calls)
    note = "do_logout (call 2) cleared session while do_create (call 1) ran."
    assert (result.verdict, result.details["notes"]) == ("ok", [note])
    assert result.explanation == f"Every call was allowed. {note}"
    assert "notes" not in judged(SESSION, calls[:2]).details
    assert (
        "notes" not in judged(SESSION, [calls[0], replace(calls[1], end=(ns(4), ns(4))), *calls[2:]]).details
    )


def test_what_a_call_needed_not_to_hold_is_no_loss() -> None:
    assert (
        "notes"
        not in judged(SESSION, [call("join", 1, 9), call("login", 2, 3), call("logout", 4, 5)]).details
    )


def test_a_hanging_call_may_have_had_any_result() -> None:
    rule = policy(
        "contract:\n  initial: [p]\n  tools:\n"
        "    do_a: {clears: p, when: result.ok == true}\n    do_b: {requires: p}"
    )
    said = judged(rule, [call("a*", 1), call("b", 2, 3)]).explanation
    assert said == "do_b (call 1) needs p; what was seen of the order of calls allows both."


def test_the_reason_of_an_open_answer_names_the_call_and_what_it_may_have_lacked() -> None:
    result = judged(SESSION, [within("login", 1, 2), within("create", 1, 2)])
    assert (
        result.explanation
        == "do_create (call 1) needs session; what was seen of the order of calls allows both."
    )
    assert (result.details["valid"], result.details["unmet"]) == (None, [])


@pytest.mark.parametrize(
    ("mode", "expected"), [("stop", "undecided"), ("skip", "undecided"), ("apply", "violated")]
)
def test_a_call_that_may_be_wrong_provides_only_possibly(mode: str, expected: str) -> None:
    rule = policy(
        f"contract:\n  on_violation: {mode}\n  tools:\n    do_a: {{provides: p}}\n"
        "    do_b: {requires: p, provides: q}\n    do_c: {requires: not q}"
    )
    calls = [within("a", 1, 2), within("b", 1, 2), within("c", 3, 4)]
    assert brief(rule, calls)[0] == expected


def test_a_goal_is_reached_in_every_order_or_in_none() -> None:
    rule = policy(
        "contract:\n  goal: [open]\n  tools:\n    do_a: {provides: open}\n"
        "    do_b: {clears: open}\n    do_c: {}"
    )
    both = judged(rule, [within("a", 1, 2), within("b", 1, 2)])
    assert (both.verdict, both.details["goal_reached"], both.details["valid"]) == ("undecided", None, None)
    assert (
        both.explanation
        == "What was seen of the order of calls allows the goal to be reached and to be missed."
    )
    assert brief(rule, [within("b", 1, 2), within("a", 2.5, 3)]) == ("ok", ())
    assert brief(rule, [within("a", 1, 2), within("b", 2.5, 3)]) == ("violated", ())
    assert brief(rule, [within("a", 1, 2), within("b", 2.5, 3)], status="running")[0] == "undecided"
    assert judged(rule, [within("c", 1, 2)], status="running").explanation == "The goal is not reached yet."


def test_calls_of_two_clocks_nearer_than_the_skew_have_no_order() -> None:
    calls = [call("login", 1, 2), call("create", 2.01, 3, extra={"clock": "host 2"})]
    assert brief(SESSION, calls, Rules(clock_skew_ms=0)) == ("ok", ())
    assert brief(SESSION, calls, Rules(clock_skew_ms=50)) == ("undecided", ())


NINE = 9 * 3600
TWO_CLOCKS = Rules(clock_skew_ms=50)


@pytest.mark.parametrize(
    ("other", "at", "verdict"),
    [
        ("host 1", NINE - 0.01, "ok"),
        ("host 1", NINE + 0.01, "violated"),
        ("host 2", NINE - 0.01, "undecided"),
        ("host 2", NINE - 0.06, "ok"),
        ("host 2", NINE + 0.04, "undecided"),
        ("host 2", NINE + 0.06, "violated"),
    ],
)
def test_of_two_clocks_either_may_tell_the_time_of_day(other: str, at: float, verdict: str) -> None:
    rule = policy("rule: A must happen before 09:00.")
    for own in ("host 1", "host 2"):
        clocks = (own, other) if own == "host 1" else ("host 2", "host 1" if other == "host 2" else "host 2")
        calls = [
            call("a", at, at, extra={"clock": clocks[0]}),
            call("c", at + 5, at + 6, extra={"clock": clocks[1]}),
        ]
        assert brief(rule, calls, TWO_CLOCKS)[0] == verdict


def test_which_call_of_the_run_one_is_is_asked_where_it_is_certain() -> None:
    first = policy("guard: {calls: A, check: call.index == 0}")
    spelt = policy("guard: {calls: A, check: \"call['index'] == 0\"}")
    newer = policy("guard: {calls: A, check: \"last_call ('do_b').index > last_call('do_c').index\"}")
    for rule in (first, spelt):
        assert brief(rule, [within("a", 1, 2), within("b", 3, 4)])[0] == "ok"
        assert brief(rule, [within("a", 1, 3), within("b", 2, 4)])[0] == "undecided"
        assert brief(rule, [within("b", 1, 2), within("a", 3, 5), within("c", 4, 6)])[0] == "undecided"
        assert brief(rule, [within("b", 1, 2), within("a", 3, 4)])[0] == "violated"
    made = [call("c", 1, 1.5), call("b", 1.01, 1.5, extra={"clock": "host 2"}), call("a", 3, 4)]
    assert brief(newer, made, Rules(clock_skew_ms=0))[0] == "ok"
    assert brief(newer, made, TWO_CLOCKS)[0] == "undecided"


def test_between_equal_readings_of_one_clock_a_call_of_another_fits() -> None:
    rule = policy("rule: B must not overlap A.")
    calls = [
        call("a", 1, 3, extra={"clock": "host 2"}),
        call("a", 3, 9, extra={"clock": "host 2"}),
        call("b", 3.02, 3.02, extra={"clock": "host 1"}),
        call("c", 9.5, 9.6, extra={"clock": "host 1"}),
    ]
    assert brief(rule, calls, TWO_CLOCKS)[0] == "undecided"


def test_a_move_that_clears_what_it_provides_leaves_it_there() -> None:
    rule = policy(
        "contract:\n  initial: [at x]\n  tools:\n"
        "    do_a: {requires: 'at *', clears: 'at *', provides: 'at y'}\n    do_b: {requires: at y}"
    )
    assert brief(rule, [within("a", 1, 2), within("b", 3, 4)]) == ("ok", ())
    assert brief(rule, [within("a", 1, 2), within("a", 3, 4), within("b", 5, 6)]) == ("ok", ())
    assert brief(rule, [within("a", 1, 2), starting("a", 3, 4), call("b", 5, 6)]) == ("violated", (2,))


def test_what_an_unreadable_call_changes_is_not_guessed() -> None:
    rule = policy(
        "contract:\n  tools:\n    do_a: {provides: p, when: result.ok == true}\n    do_b: {requires: p}\n"
        "    do_c: {args: [x]}"
    )
    made = [within("b", 1, 2), replace(within("a", 1, 2), result="text")]
    assert judged(rule, made).verdict == judged(rule, made[::-1]).verdict == "undecided"
    assert brief(rule, [within("b", 0, 0.5), made[1]]) == ("violated", (0,))
    assert brief(rule, [within("c", 1, 2), within("b", 3, 4)])[0] == "violated"
    assert brief(rule, [replace(within("c", 1, 2), arguments=None), within("b", 3, 4)])[0] == "unsupported"


# ---------------------------------------------------------------- behaviour


def test_the_call_that_no_order_allows_is_named() -> None:
    calls = [within("verify", 1, 2), within("verify", 1, 2), within("x", 3, 4)]
    assert brief(policy("behaviour: (next do_verify do_verify)"), calls) == ("violated", (2,))
    assert brief(ORDER, calls) == ("violated", ())
    assert brief(ORDER, [within("x", 1, 4), within("pay", 2, 3)]) == ("violated", ())


def test_starts_that_are_known_are_one_order_whatever_the_ends() -> None:
    loose = [replace(call(name, at), end=(ns(at), ns(9))) for name, at in (("verify", 1.0), ("pay", 2.0))]
    assert brief(ORDER, loose) == ("ok", ())
    assert brief(ORDER, [replace(loose[1], start=(ns(0.5), ns(0.5))), loose[0]]) == ("violated", (0,))


def test_incomplete_in_every_order_is_open_while_the_run_goes_on() -> None:
    calls = [within("a", 1, 2), within("b", 1, 2)]
    rule = policy("behaviour: (until (or do_a do_b) do_c)")
    assert brief(rule, calls) == ("violated", ())
    assert brief(rule, calls, status="running")[0] == "undecided"


def test_many_calls_at_once_are_followed_where_they_are_alike_and_given_up_where_not() -> None:
    alike = [within("a", 1, 2) for _ in range(500)]
    assert brief(policy("behaviour: (until do_a do_b)"), [*alike, within("b", 3, 4)]) == ("ok", ())
    mixed = [within("ab"[i % 2] + "x" * (i % 40), 1, 2) for i in range(40)]
    every = " ".join(sorted({made.tool for made in mixed}))
    result = judged(policy(f"behaviour: (until (or {every}) (or {every}))"), mixed)
    assert result.verdict == "undecided"
    assert result.explanation.startswith("Gave up: the recorded times allow more than 10000 ")


def test_an_unseen_call_is_one_more_that_may_have_come_first() -> None:
    hole = {"problems": ("a hole",)}
    calls = (within("pay", 1, 2), within("x", 1, 2))
    assert brief(ORDER, Run("r", calls, **hole)) == ("violated", ())  # type: ignore[arg-type]
    calls = (within("verify", 1, 2), within("pay", 1, 2))
    assert brief(ORDER, Run("r", calls, **hole)) == ("undecided", ())  # type: ignore[arg-type]

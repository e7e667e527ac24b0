"""Conversations: what each run contributes, and what calls that come later may still put right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from synth.observed.run import Run, Unseen
from synth.policies import (
    Part,
    Policy,
    PolicyResult,
    PolicySet,
    Rules,
    judge_policies,
    judge_session,
    judge_turn,
    policy_result_from_json,
)
from synth.policies.evidence import Evidence
from synth.policies.kinds.count import Count
from synth.policies.kinds.duty import Judged
from tests.support.building import call, run
from tests.support.policing import policy, rules_file

OFF = Rules(z3="off")
ANSWERED = "A must be followed by B."
SOON = "A must be followed by B within 5 minutes."


def judge(policies: PolicySet, run: Run, part: Part | None) -> tuple[PolicyResult, ...]:
    return judge_policies(policies, run, rules=OFF, part=part)


def turn(
    policies: PolicySet | str, runs: Sequence[Run | str], at: int = -1, *, goes_on: bool = False,
    until: int | None = None,
) -> PolicyResult:  # fmt: skip
    """The result of one run of a conversation."""
    rules = policies if isinstance(policies, PolicySet) else rules_file(policies, head="scope: session\n")
    made = [one if isinstance(one, Run) else run(one) for one in runs]

    def judge(policies: PolicySet, run: Run, part: Part | None) -> tuple[PolicyResult, ...]:
        return judge_policies(policies, run, rules=OFF, part=part, until=until)

    (result,) = judge_turn(judge, rules, made, at % len(made), goes_on=goes_on)
    return result


def told(*asked: object, **how: object) -> tuple[str, tuple[int, ...]]:
    result = turn(*asked, **how)  # type: ignore[arg-type]
    return ("pending" if result.pending else result.verdict), result.violations


def test_a_duty_is_pending_while_the_conversation_goes_on_and_kept_by_a_later_run() -> None:
    assert told(ANSWERED, ["a"], goes_on=True) == ("pending", ())
    assert told(ANSWERED, ["a", "c"], 0, goes_on=True) == ("pending", ())
    assert told(ANSWERED, ["a", "c"], 1, goes_on=True) == ("ok", ())
    for goes_on in (True, False):
        assert told(ANSWERED, ["a", "c", "b"], 0, goes_on=goes_on) == ("ok", ())
    assert told(ANSWERED, ["a", "c"], 0) == ("violated", (0,))
    assert told(ANSWERED, ["a", "c"], 1) == ("ok", ())


def test_a_pending_result_says_so_in_its_json() -> None:
    result = turn(ANSWERED, ["a"], goes_on=True)
    said = result.to_json()
    assert (said["verdict"], said["pending"]) == ("undecided", True)
    assert policy_result_from_json(said) == result
    assert "pending" not in turn(ANSWERED, ["a"]).to_json()


@pytest.mark.parametrize(
    "rule", ["A must never happen.", "B must happen before A.", "A must happen at most 0 times."]
)
def test_what_no_later_run_can_mend_is_violated_at_once(rule: str) -> None:
    result = turn(rule, ["a", "b"], 0, goes_on=True)
    assert (result.verdict, result.violations, result.awaits) == ("violated", (0,), False)


@pytest.mark.parametrize(
    "body",
    [
        "rule: B must happen at least 1 time.",
        "rule: B must happen exactly 1 time.",
        "behaviour: (until do_a do_b)",
        "contract: {initial: [], goal: [done], tools: {do_a: {}, do_b: {provides: done}}}",
    ],
)
def test_what_the_whole_conversation_owes_is_asked_of_its_last_run(body: str) -> None:
    rules = policy(body, head="scope: session\n")
    assert told(rules, ["a"], goes_on=True) == ("pending", ())
    assert told(rules, ["a", "a"], 0, goes_on=True) == ("ok", ())
    assert told(rules, ["a", "a"], 1, goes_on=True) == ("pending", ())
    assert [told(rules, ["a", "a"], at) for at in (0, 1)] == [("ok", ()), ("violated", ())]
    assert [told(rules, ["a", "b"], at)[0] for at in (0, 1)] == ["ok", "ok"]
    assert turn(rules, ["a"]).awaits  # should another run come after the silence


def test_a_later_run_that_owes_something_itself_is_not_acquitted_by_an_earlier_violation() -> None:
    early, late = run([call("a", 0, 1), call("c", 400, 401)]), run([call("a", 500, 501)])
    assert told(SOON, [early], goes_on=True) == ("violated", (0,))
    assert told(SOON, [early, late], goes_on=True) == ("pending", ())
    assert told(SOON, [early, late], 0, goes_on=True) == ("violated", (0,))
    assert told(SOON, [early, late, run([call("b", 600, 601)])], 1) == ("ok", ())
    unclear = policy("guard: {calls: A, check: args.n < 3}", head="scope: session\n")
    bad, silent = run([call("a", arguments={"n": 5})]), run([call("a", arguments={"n": "x"})])
    assert told(unclear, [bad, silent])[0] == "undecided"
    assert told(unclear, [bad, run("c")]) == ("ok", ())


def test_each_run_is_told_its_own_violations() -> None:
    once = rules_file("A must happen at most 1 time.", head="scope: session\n")
    assert [told(once, ["a", "c a", "b", "a a"], at) for at in range(4)] == [
        ("ok", ()), ("violated", (1,)), ("ok", ()), ("violated", (0, 1)),
    ]  # fmt: skip
    second = turn(once, ["a", "c a"])
    assert second.explanation == "A may happen at most 1 time; call 2 went beyond that."


@pytest.mark.parametrize(
    ("body", "verdicts"),
    [
        ("contract: {initial: [p], tools: {do_a: {requires: p, clears: p}}}", "ok violated ok"),
        ("contract: {initial: [p], on_violation: skip, tools: {do_a: {requires: p, clears: p}}}",
         "ok violated violated"),
        ("behaviour: (until do_c do_a)", "ok violated ok"),
    ],
)  # fmt: skip
def test_rules_with_a_course_are_told_by_the_run_that_left_it(body: str, verdicts: str) -> None:
    rules = policy(body, head="scope: session\n")
    assert [told(rules, ["a", "c a", "c a"], at)[0] for at in range(3)] == verdicts.split()
    broken = turn(rules, ["a", "c a"], 1)
    assert broken.details.get("first_bad", 1) == 1
    assert broken.violations in ((0,), (1,))


def test_a_window_that_has_passed_is_judged_although_the_conversation_goes_on() -> None:
    paid = run([call("a", 0, 10)])
    waiting = turn(SOON, [paid], goes_on=True)
    limit = 310 * 10**9
    assert (waiting.pending, waiting.until) == (True, limit + 1)
    assert told(SOON, [paid], goes_on=True, until=limit) == ("pending", ())
    assert told(SOON, [paid], goes_on=True, until=limit + 1) == ("violated", (0,))
    assert told(SOON, [paid, run([call("c", 400, 401)])], 0, goes_on=True) == ("violated", (0,))
    assert told(SOON, [paid, run([call("b", 300, 301)])], 0, goes_on=True) == ("ok", ())
    near = "A must happen within 5 minutes before B."
    assert turn(near, [paid], goes_on=True).until == 300 * 10**9 + 1
    assert told(near, [paid], goes_on=True, until=300 * 10**9 + 1) == ("violated", (0,))


def test_several_windows_are_looked_at_when_the_first_of_them_passes() -> None:
    result = turn(SOON, [run([call("a", 0, 10), call("a", 100, 110)])], goes_on=True)
    assert result.until == 310 * 10**9 + 1
    later = turn(SOON, [run([call("a", 0, 10), call("a", 100, 110)])], goes_on=True, until=311 * 10**9)
    assert (later.verdict, later.violations, later.awaits) == ("violated", (0,), True)
    assert later.until == 410 * 10**9 + 1
    assert later.explanation.startswith("A (call 0) was not followed")


def test_a_gap_of_a_later_run_leaves_open_what_its_unseen_calls_may_have_put_right() -> None:
    holed = run("c", problems=("a hole",))
    assert told(ANSWERED, ["a", holed], 0) == ("undecided", ())
    assert told("B must happen before A.", ["a", holed], 0) == ("violated", (0,))
    assert told(ANSWERED, ["c", holed], 0) == ("not_applicable", ())


def test_a_run_may_have_left_a_course_itself_where_its_calls_were_not_seen() -> None:
    rules = policy("behaviour: (until do_a do_b)", head="scope: session\n")
    holed = run("a", unseen=(Unseen("a hole", after=0, calls=1),), problems=("a hole",))
    assert [told(rules, [run("a"), run("c")], at) for at in (0, 1)] == [("ok", ()), ("violated", (0,))]
    assert told(rules, [holed, run("c")], 0) == ("undecided", ())
    for gap in (Unseen("a hole", before=0, calls=1), Unseen("a hole")):
        assert told(rules, [run("a", unseen=(gap,)), run("c")], 0) == ("undecided", ())
    assert told(rules, [run("c"), holed], 1) == ("ok", ())
    assert told(rules, [run("a"), holed, run("c")], 0) == ("ok", ())


def test_the_fields_are_those_of_the_run_that_is_asked() -> None:
    mine = policy("rule: A must be followed by B.\napplies: {agent: shop}", head="scope: session\n")
    runs = [run("a", agent="shop"), run("b", agent="bank")]
    assert [told(mine, runs, at) for at in (0, 1)] == [("ok", ()), ("not_applicable", ())]


def test_a_conversation_is_judged_whole_however_long_it_is() -> None:
    rules = rules_file("A must happen before B.", "C must happen at most 1 time.", head="scope: session\n")
    turns = [run("a c"), *(run("e") for _ in range(300)), run("b c")]
    results = judge_turn(judge, rules, turns, 301)
    assert [(r.verdict, r.violations) for r in results] == [("ok", ()), ("violated", (1,))]


def test_what_no_later_run_can_change_is_as_it_was_when_the_run_ended() -> None:
    rules = rules_file(ANSWERED, "A must happen before B.", head="scope: session\n")
    results = judge_turn(judge, rules, [run("a"), run("b")], 0)
    assert [result.verdict for result in results] == ["ok", "not_applicable"]


@pytest.mark.parametrize(
    ("rule", "verdicts"),
    [
        ("A must never happen after B.", ["violated", "ok"]),
        ("A must happen at most 0 times.", ["violated", "ok"]),
        ("B must happen before A.", ["ok", "ok"]),
        ("C must happen immediately before A.", ["violated", "ok"]),
        ("A must be followed by B.", ["violated", "ok"]),
        ("B must happen at least 2 times.", ["ok", "violated"]),
    ],
)
def test_runs_at_the_same_time_are_judged_beside_each_other(rule: str, verdicts: list[str]) -> None:
    long = run([call("c", 0, 1), call("a", 10, 11)])
    inner = run([call("b", 2, 3)])
    assert told(rule, [long, inner, run([call("e", 20, 21)])], 0)[0] == verdicts[0]
    assert [told(rule, [long, inner], at)[0] for at in (0, 1)] == verdicts


def test_of_two_runs_at_the_same_time_one_tells_what_both_did_too_often() -> None:
    once = "A must happen at most once."
    runs = [run([call("a", 10, 11), call("c", 20, 21)]), run([call("a", 12, 13)])]
    assert [told(once, runs, at) for at in (0, 1)] == [("ok", ()), ("violated", (0,))]
    runs = [run([call("c", 0, 1), call("a", 10, 11)]), run([call("a", 2, 3)])]
    assert [told(once, runs, at) for at in (0, 1)] == [("violated", (1,)), ("ok", ())]


def test_model_messages_of_runs_at_the_same_time_order_nothing() -> None:
    first = run([call("b", 0, 0.010, step=0, extra={"clock": "x"})])
    for began, verdict in ((0.005, "undecided"), (0.011, "ok")):
        other = run([call("a", began, 0.020, step=0, extra={"clock": "y"})])
        assert turn("B must happen before A.", [first, other]).verdict == verdict


class Answered(Count):
    """A rule of somebody else's making: it knows of open runs, and of nothing else."""

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if any(call.tool == "do_b" for call in seen.calls):
            return Judged("ok")
        return Judged("violated", (0,), "none") if seen.run.ended else Judged("undecided", (), "not yet")


def test_rules_of_others_wait_for_later_runs_too() -> None:
    rules = PolicySet((Policy("other", "", Answered(())),), scope="session")
    assert told(rules, ["a"], goes_on=True) == ("pending", ())
    assert told(rules, ["a", "c"], 0, goes_on=True) == ("pending", ())
    assert told(rules, ["a", "b"], 0) == ("ok", ())
    assert told(rules, ["a", "c"], 0) == ("violated", (0,))
    assert told(rules, ["a", "c"], 1) == ("ok", ())


TIMED = [call("c", 10, 11), call("b", 20, 21)]


@pytest.mark.parametrize(
    ("rule", "runs", "verdict"),
    [
        ("A must happen before B.", ["a", run(TIMED)], "undecided"),
        ("A must happen before B.", [run(TIMED), "a"], "undecided"),
        ("A must happen before B.", ["a b", run([call("c", 10, 11)])], "ok"),
        ("A must happen before B.", ["b a", run([call("c", 10, 11)])], "violated"),
        ("A must happen before B.", ["a b", run([call("a", 1, 2), call("b", 3, 4)])], "ok"),
        ("C must happen before B.", ["a", run(TIMED)], "ok"),
        ("B must happen before C.", ["a", run(TIMED)], "violated"),
        ("A must be followed by B.", ["a", run(TIMED)], "undecided"),
        ("A must be followed by B.", ["a b", run([call("c", 10, 11)])], "ok"),
        ("A must never happen after B.", ["a", run(TIMED)], "undecided"),
        ("B must happen immediately before A.", ["b a", run([call("c", 10, 11)])], "undecided"),
        ("C must happen before B.", ["a* b", run([call("c", 10, 11)])], "undecided"),
        ("A must never happen.", ["a", run(TIMED)], "violated"),
        ("A must happen at most 1 time.", ["a", run([call("a", 10, 11)])], "violated"),
    ],
)
@pytest.mark.parametrize("z3", ["off", "all"])
def test_a_run_without_times_stands_anywhere_among_runs_that_have_some(
    rule: str, runs: Sequence[Run | str], verdict: str, z3: str
) -> None:
    made = [one if isinstance(one, Run) else run(one) for one in runs]
    results = judge_session(rules_file(rule, head="scope: session\n"), made, rules=Rules(z3=z3))  # type: ignore[arg-type]
    assert [result.verdict for result in results] == [verdict]
    verdicts = {turn(rule, runs, at).verdict for at in range(len(runs))}
    assert verdict in verdicts
    assert verdicts <= {verdict, "ok", "not_applicable"}


@pytest.mark.parametrize(
    "body",
    [
        "contract: {tools: {do_b: {requires: [on]}, do_a: {provides: [on]}}}",
        "behaviour: (next do_a (next do_c do_b))",
        "guard: {calls: B, check: \"last('do_a') != null\"}",
        "provenance: {calls: B, argument: id, from: A}",
    ],
)
def test_so_do_its_calls_for_rules_in_other_languages(body: str) -> None:
    asked = policy(body, "scope: session\n")
    one = [call("a", result={"id": "F1"})]
    other = [call("c", 10, 11), call("b", 20, 21, arguments={"id": "F1"})]
    assert judge_session(asked, [run(one), run(other)])[0].verdict == "undecided"
    assert judge_session(asked, [run(other), run(one)])[0].verdict == "undecided"


def test_where_no_run_has_times_they_follow_each_other_as_listed() -> None:
    assert told("A must happen before B.", ["a", "b"]) == ("ok", ())
    assert told("A must happen before B.", ["b", "a"], 0) == ("violated", (0,))


def test_which_run_strayed_first_is_open_where_the_order_of_their_calls_is() -> None:
    file = policy("behaviour: (next do_a (next do_b do_b))", "scope: session\n")
    c, d = (run([replace(call(name, 1, 9), start=(0, 8 * 10**9))]) for name in "cd")
    assert [told(file, [c, d], at) for at in (0, 1)] == [("undecided", ()), ("undecided", ())]
    a = run([replace(call("a", 1, 9), start=(0, 8 * 10**9))])
    assert [told(file, [a, d], at)[0] for at in (0, 1)] == ["ok", "violated"]
    assert [told(file, [run([call("c", 1, 2)]), run([call("d", 3, 4)])], at)[0] for at in (0, 1)] == [
        "violated",
        "ok",
    ]


def test_a_run_may_have_strayed_before_others_left_it_incomplete() -> None:
    file = policy("behaviour: (next do_a (next do_b do_c))", "scope: session\n")
    b, a = (run([replace(call(name, 1, 9), start=(0, 8 * 10**9))]) for name in "ba")
    assert [told(file, [b, a], at)[0] for at in (0, 1)] == ["undecided", "undecided"]


def test_a_run_that_cannot_have_strayed_did_not_break_it() -> None:
    file = policy("behaviour: (until do_a do_b)", "scope: session\n")
    first = run([call("a", 1, 2)], tools=("do_a",), unseen=(Unseen("lost", before=0, calls=1),))
    assert [told(file, [first, run([call("a", 3, 4)], tools=("do_a",))], at)[0] for at in (0, 1)] == [
        "ok", "violated",
    ]  # fmt: skip


def test_rules_that_no_place_of_the_run_keeps_together_are_broken() -> None:
    both = "A must happen before C, and C must happen before B."
    asked = rules_file(both, head="scope: session\n")
    runs = [run("b a"), run([call("c", 10, 11)])]
    assert judge_session(asked, runs, rules=Rules(z3="all"))[0].verdict == "violated"
    timed = run([call("a", 8, 9), call("c", 10, 11)])
    for some in ([run("a b"), runs[1]], [run("c* b"), timed]):
        (found,) = judge_session(asked, some, rules=Rules(z3="all"))
        assert found.verdict == "undecided"

"""The plan that would have worked: nearest to what was done, and judged again before it is told."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from synth.formal.partly import Unknown
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import (
    Part,
    PolicyResult,
    PolicySet,
    Rules,
    judge_policies,
    judge_turn,
    policy_result_from_json,
)
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import Judged
from synth.policies.model import Policy, Repair
from synth.policies.repair import MOST_CALLS, repairs
from tests.support.building import call, run
from tests.support.policing import judged, policy, rules_file


def mended(result: PolicyResult) -> Repair:
    assert result.verdict == "violated", result
    assert result.repair is not None, result
    return result.repair


def plan(repair: Repair) -> str:
    """`0 +a 2`: seen calls by position, others by tool; a moved one with `<`, what is dropped as `-3`."""
    tools = iter(repair.added)
    shown = [
        f"+{next(tools)[0][-1]}" if at is None else f"{at}{'<' * (at in repair.moved)}" for at in repair.calls
    ]
    return " ".join([*shown, *(f"-{at}" for at in repair.dropped)])


@pytest.mark.parametrize(
    ("sentence", "calls", "expected"),
    [
        ("A must happen before B.", "b a", "1< 0"),
        ("A must happen before B.", "c b c a", "3< 1"),
        ("A must happen before B.", "b", "+a 0"),
        ("A must happen before B.", "a! b", "0 +a 1"),
        ("A must happen before B, and B must happen before C.", "c b a", "2< 1< 0"),
        ("A must happen before B, and B must happen before C.", "c", "+a +b 0"),
        ("A must be followed by B.", "a", "0 +b"),
        ("A must be followed by B.", "b a a", "1 2 0<"),
        ("A must happen immediately before B.", "a c b", "1 0< 2"),
        ("A must happen immediately before B.", "c b", "0 +a 1"),
        ("A must be immediately followed by B.", "a c b", "0 2< 1"),
        ("A must be immediately followed by B.", "a c", "0 +b 1"),
        ("If A fails, the next call must be B.", "a! c", "0 +b 1"),
        ("A must happen at most once.", "a c a a", "0 -2 -3"),
        ("A must never happen.", "c a", "-1"),
        ("A must happen at least twice.", "a", "0 +a"),
        ("A must happen exactly twice.", "a a a", "0 1 -2"),
        ("A must never happen after B.", "a b a", "0 2< 1"),
    ],
)
def test_a_repair_reorders_adds_and_leaves_out(sentence: str, calls: str, expected: str) -> None:
    assert plan(mended(judged(sentence, calls))) == expected


def test_what_is_kept_or_undecided_is_not_repaired() -> None:
    assert judged("A must happen before B.", "a b").repair is None
    assert judged("A must happen before B.", run("b", problems=("a hole",))).repair is None
    assert judged("A must never happen after B.", run("b a", problems=("a hole",))).repair is None


def test_a_run_with_gaps_is_not_repaired_even_where_they_change_nothing() -> None:
    gap = Unseen("a hole", after=1, calls=1)
    result = judged(
        "A must happen at most once.", run("a a", unseen=(gap,), problems=("a hole",), tools=("do_b",))
    )
    assert (result.verdict, result.repair) == ("violated", None)


def test_what_is_not_proved_is_not_told() -> None:
    rules, observed = rules_file("A must happen before B."), run("b a")
    found = Judged("violated", (0,))

    def judge(policy: Policy, seen: Evidence) -> Judged:
        return policy.rule.judge(seen, Rules(z3="off"))

    assert repairs(rules.policies, [found], Evidence(observed), judge, judge).keys() == {"P0"}
    assert repairs(rules.policies, [found], Evidence(observed), judge, lambda *_: found) == {}


def test_a_value_that_is_known_in_part_is_given_to_no_new_call() -> None:
    made = [call("b", arguments={"id": Unknown("cut")}, partly={"arguments": "cut"})]
    result = judged("A must happen before B with the same id.", made)
    assert result.repair is None or result.repair.added == (("do_a", {}),)


def test_a_call_that_is_added_has_the_arguments_that_the_rule_asks_for() -> None:
    made = [call("b", arguments={"order": {"id": 7}, "sum": 3})]
    repair = mended(judged("A must happen before B with the same order.id.", made))
    assert repair.added == (("do_a", {"order": {"id": 7}}),)
    repair = mended(judged("A must be followed by B with the same id.", [call("a", arguments={"id": 1})]))
    assert repair.added == (("do_b", {"id": 1}),)


@pytest.mark.parametrize(
    "body",
    [
        "guard: {calls: B, check: \"last('do_a') == null\"}",
        "guard: {calls: A, check: '!has(args.amount) || args.amount < 3'}",
        "guard: {calls: A, check: 'args == {}'}",
        "provenance: {calls: A, argument: id, from: C}",
    ],
)
def test_nobody_knows_what_a_new_call_answers_and_with_which_other_arguments(body: str) -> None:
    rules = rules_file("A must happen before B.", tail=f"  - {{id: other, {body}}}\n")
    result = judge_policies(rules, run("b"))[0]
    assert (mended(result).added, mended(result).proved) == ((("do_a", {}),), (result.policy,))


def test_of_several_tools_the_one_that_is_offered_is_added() -> None:
    rules = rules_file("D and E must happen before A.".replace("D and E", '"D and E"'))
    (result,) = judge_policies(rules, run("a", tools=("do_a", "do_e")))
    assert mended(result).order == ("do_e", "do_a")


def test_calls_that_the_rule_does_not_speak_of_are_not_listed() -> None:
    repair = mended(judged("A must happen before B.", "c b c a c"))
    assert (repair.order, repair.calls) == (("do_a", "do_b"), (3, 1))


def test_the_rules_of_a_file_are_repaired_together() -> None:
    rules = rules_file(
        "A must happen before B.", "A must never happen after C.", "C must happen at most once."
    )
    results = judge_policies(rules, run("c b a c"))
    assert [result.verdict for result in results] == ["violated", "violated", "violated"]
    for result in results:
        assert mended(result).proved == ("P0", "P1", "P2")
        assert mended(result).dropped == (3,)


def test_where_rules_contradict_each_other_each_is_repaired_alone() -> None:
    first, second = judge_policies(
        rules_file("A must happen before B.", "B must happen before A."), run("b a")
    )
    assert mended(first).proved == ("P0",)
    assert second.verdict == "ok"


def test_policies_that_a_repair_would_break_are_not_among_the_proved() -> None:
    guard = "  - {id: G, guard: {calls: A, check: has(args.id)}}\n"
    result, _ = judge_policies(rules_file("A must happen before B.", tail=guard), run("b"))
    assert mended(result).proved == ("P0",)


CONTRACT = """
contract:
  tools:
    do_a: {provides: in, requires: not in}
    do_b: {clears: in}
    do_c: {requires: in}
    do_d: {requires: ["key {n}"]}
    do_e: {args: [n], provides: ["key {n}"]}
"""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("c", "+a 0"),
        ("c a", "1< 0"),
        ("a b c", "0 2 1<"),
        ("a a c", "0 2 -1"),
        ("c c", "+a 0 1"),
    ],
)
def test_a_contract_is_repaired(calls: str, expected: str) -> None:
    assert plan(mended(judged(policy(CONTRACT), calls))) == expected


def test_a_contract_names_the_arguments_of_what_it_adds() -> None:
    result = judged(policy(CONTRACT), [call("d", arguments={"n": 5})])
    assert mended(result).added == (("do_e", {"n": "5"}),)
    assert plan(mended(result)) == "+e 0"


BLOCKS = """
contract:
  initial: [clear b, on b a, on a table, free]
  goal: [on a b]
  tools:
    do_a: {args: [x, y], requires: ["on {x} {y}", "clear {x}", free], provides: ["has {x}", "clear {y}"],
           clears: ["on {x} {y}", free]}
    do_b: {args: [x, y], requires: ["has {x}", "clear {y}"], provides: ["on {x} {y}", "clear {x}", free],
           clears: ["has {x}", "clear {y}"]}
  objects: [a, b, table]
"""


def test_a_goal_is_reached_by_more_calls() -> None:
    made = [call("a", arguments={"x": "b", "y": "a"}), call("b", arguments={"x": "b", "y": "table"})]
    blocks = policy(BLOCKS.replace("on a table,", "on a table, clear table,"))
    repair = mended(judged(blocks, made))
    assert plan(repair) == "0 1 +a +b"
    assert [arguments for _, arguments in repair.added] == [{"x": "a", "y": "table"}, {"x": "a", "y": "b"}]


@pytest.mark.parametrize(
    ("tools", "calls", "expected"),
    [
        ("do_a: {provides: in}, do_b: {requires: not in}", "a b", "1 0<"),
        ("do_a: {clears: in}, do_b: {requires: not in}, do_c: {provides: in}", "c b a", "1 0< 2"),
        (
            'do_a: {provides: "at {x}", args: [x]}, do_b: {requires: at *}, do_c: {provides: at home}',
            "b",
            "+c 0",
        ),
        ("do_a: {requires: luck}", "a c", "-0"),
    ],
)
def test_facts_that_must_not_hold_or_may_be_any_of_several(tools: str, calls: str, expected: str) -> None:
    assert plan(mended(judged(policy(f"contract: {{tools: {{{tools}}}}}"), calls))) == expected


def test_what_clears_a_fact_in_time_is_put_first() -> None:
    tools = "{do_a: {clears: in}, do_b: {requires: not in}}"
    assert plan(mended(judged(policy(f"contract: {{initial: [in], tools: {tools}}}"), "b a"))) == "1< 0"


def test_a_contract_that_no_known_call_can_keep_is_not_repaired() -> None:
    result = judged(
        policy("contract: {tools: {do_a: {requires: luck}, do_b: {requires: [luck]}}, goal: [x]}"), "a"
    )
    assert (result.verdict, result.repair) == ("violated", None)


def test_in_a_conversation_only_the_last_run_is_changed() -> None:
    def judge(policies: PolicySet, joined: Run, part: Part | None) -> tuple[PolicyResult, ...]:
        return judge_policies(policies, joined, part=part)

    rules = rules_file("A must happen before B.", "C must happen at most once.", head="scope: session\n")
    runs = [run("c d"), run("c b a")]
    for result in judge_turn(judge, rules, runs, 1):
        assert mended(result).proved == ("P0", "P1")
        assert (mended(result).dropped, mended(result).moved) == ((0,), (2,))
    order, count = judge_turn(judge, rules, runs, 1)
    assert plan(mended(order)) == plan(mended(count)) == "2< 1 -0"
    first = rules_file("A must never happen after B.", head="scope: session\n")
    (late,) = judge_turn(judge, first, [run("b"), run("a")], 1)
    assert (late.verdict, plan(mended(late))) == ("violated", "-0")
    at_once = [run([call("c", 100, 101)]), run([call("b", 0, 1), call("b", 200, 201)])]
    assert [r.repair for r in judge_turn(judge, rules, at_once, 1)] == [None, None]
    owed = rules_file("A must be followed by B.", head="scope: session\n")
    (early,) = judge_turn(judge, owed, [run("a"), run("c")], 0)
    assert (early.verdict, early.repair) == ("violated", None)


# ---------------------------------------------------------------- times


def test_what_ran_at_the_same_time_waits() -> None:
    repair = mended(judged("A must happen before B.", [call("a", 0, 10), call("b", 5, 7)]))
    assert plan(repair) == "0 1<"


def test_a_time_limit_is_kept_by_the_repair() -> None:
    within = "A must be followed by B within 60 s."
    assert plan(mended(judged(within, [call("a", 0, 1), call("b", 500, 501)]))) == "0 1<"
    late = [call("b", 0, 100), call("b", 100, 200), call("a", 200, 201), call("c", 201, 900)]
    assert plan(mended(judged(within, late))) == "0 2 1<"


def test_known_durations_count_for_other_rules() -> None:
    sentences = ("A must happen before B.", "B must happen before 10:00.")
    nine = 9 * 3600.0
    rules = rules_file(*sentences)
    short, long = (
        judge_policies(rules, run([call("b", nine, nine + 60), call("a", nine + 60, nine + 60 + took)]))
        for took in (600.0, 7200.0)
    )
    assert mended(short[0]).proved == ("P0", "P1")
    assert mended(long[0]).proved == ("P0",)


def test_clocks_of_two_machines_do_not_matter_to_a_plan() -> None:
    made = [call("b", 0, 1, extra={"clock": "x"}), call("a", 10, 11, extra={"clock": "y"})]
    assert plan(mended(judged("A must happen before B.", made))) == "1< 0"


def test_a_call_put_elsewhere_waits_for_all_that_runs() -> None:
    made = [call("c", 0, 100), call("d", 5, 7), call("b", 10, 11), call("a", 200, 201)]
    results = judge_policies(rules_file("A must happen before B.", "C must happen before A."), run(made))
    assert (plan(mended(results[0])), mended(results[0]).proved) == ("3< 2", ("P0", "P1"))


def test_calls_of_one_message_stay_together_and_others_have_their_own() -> None:
    def asked(name: str, step: int) -> ToolCall:
        return call(name, step=step, with_text=False)

    sentences = ("A must happen before B.", "A must be alone in its turn.", "C must be alone in its turn.")
    made = [asked("b", 0), asked("c", 1), asked("d", 1), asked("a", 2)]
    results = judge_policies(rules_file(*sentences), run(made))
    assert [result.verdict for result in results] == ["violated", "ok", "violated"]
    assert mended(results[0]).proved == ("P0", "P1")


# ---------------------------------------------------------------- limits, and the form


def test_long_runs_are_not_repaired() -> None:
    assert mended(judged("A must happen before B.", "b " + "c " * (MOST_CALLS - 1))).order == ("do_a", "do_b")
    assert judged("A must happen before B.", "b " + "c " * MOST_CALLS).repair is None


def test_many_violations_end_within_the_limit_of_work() -> None:
    sentences = [f"{a} must happen before {b}." for a in "ABC" for b in "ABC" if a != b]
    letters = random.Random(3).choices("abc", k=150)
    for result in judge_policies(rules_file(*sentences), run(" ".join(letters))):
        assert result.repair is None or result.policy in result.repair.proved


def test_a_repair_is_read_back() -> None:
    result = judged("A must happen before B with the same id.", [call("b", arguments={"id": 1})])
    assert policy_result_from_json(result.to_json()) == result
    assert result.to_json()["repair"] == {
        "order": ["do_a", "do_b"], "calls": [None, 0], "moved": [], "dropped": [], "proved": ["P0"],
        "added": [{"name": "do_a", "arguments": {"id": 1}}],
    }  # fmt: skip


SENTENCES = (
    "A must happen before B.",
    "B must happen before C.",
    "A must be followed by C.",
    "C must never happen after B.",
    "A must happen at most twice.",
    "B must happen at least once.",
    "A must happen immediately before C.",
    "B must never happen.",
)


def told(repair: Repair, calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls of a repair as its JSON tells them."""
    added = iter(repair.added)
    return [call(next(added)[0][3:]) if at is None else calls[at] for at in repair.calls]


@pytest.mark.parametrize("seed", range(150))
def test_the_plan_as_it_is_told_keeps_the_rule(seed: int) -> None:
    r = random.Random(seed)
    sentences = r.sample(SENTENCES, r.randint(1, 3))
    observed = run(" ".join(r.choices(["a", "b", "c", "a!", "b!"], k=r.randint(1, 6))))
    for result, sentence in zip(judge_policies(rules_file(*sentences), observed), sentences, strict=True):
        if result.repair is not None:
            again = judged(sentence, told(result.repair, observed.calls))
            assert again.verdict in ("ok", "not_applicable"), (observed, result.repair)
            kept = [at for at in result.repair.calls if at is not None and at not in result.repair.moved]
            assert kept == sorted(kept)


def one_change_away(calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
    found: list[list[ToolCall]] = []
    for at in range(len(calls)):
        rest = [*calls[:at], *calls[at + 1 :]]
        found += [[*rest[:to], calls[at], *rest[to:]] for to in range(len(calls))]
    return found + [[*calls[:to], call(name), *calls[to:]] for name in "abc" for to in range(len(calls) + 1)]


@pytest.mark.parametrize("seed", range(100))
def test_where_one_call_put_elsewhere_or_added_is_enough_no_more_is_changed(seed: int) -> None:
    r = random.Random(seed)
    rules = rules_file(*r.sample(SENTENCES, r.randint(1, 2)))
    observed = run(" ".join(r.choices("abc", k=r.randint(1, 5))))

    def kept(calls: Sequence[ToolCall]) -> bool:
        results = judge_policies(rules, run(calls), rules=Rules(z3="off"))
        return all(result.verdict in ("ok", "not_applicable") for result in results)

    results = [result for result in judge_policies(rules, observed) if result.verdict == "violated"]
    if results and any(map(kept, one_change_away(observed.calls))):
        for repair in map(mended, results):
            changes: list[Any] = [*repair.moved, *repair.added, *repair.dropped]
            assert len(changes) == 1, (observed, repair)


def test_a_timed_run_whose_only_call_goes_is_repaired_to_none() -> None:
    found = judged("A must never happen.", [call("a", 1, 2)])
    assert found.repair is not None
    assert (found.repair.calls, found.repair.dropped) == ((), (0,))


def test_who_asks_for_no_plan_gets_none() -> None:
    rule = policy("rule: A must happen before B.")
    run = Run("r", (call("b", 1, 2), call("a", 3, 4)))
    told, plain = (judge_policies(rule, run, rules=Rules(repair=wanted))[0] for wanted in (True, False))
    assert (told.verdict, told.repair is None) == ("violated", False)
    assert (plain.verdict, plain.repair is None) == ("violated", True)

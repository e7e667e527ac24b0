"""What each kind of policy sentence means, on small runs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synth.errors import BadInput
from synth.judge_process import SolverProcess
from synth.observed.run import Run, ToolCall
from synth.policies import judge_session, load_policies, policy_result_from_json
from tests.support.building import call, ns, run
from tests.support.policing import brief, judged, policy, rules_file

NA = ("not_applicable", ())


@pytest.mark.parametrize(
    ("sentence", "calls", "expected"),
    [
        ("A must happen before B.", "a b", ("ok", ())),
        ("A must happen before B.", "", NA),
        ("A must happen before B.", "a", NA),
        ("A must happen before B.", "b", ("violated", (0,))),
        ("A must happen before B.", "b a b", ("violated", (0,))),
        ("A must happen before B.", "a! b", ("violated", (1,))),
        ("A must happen before B.", "b! a b", ("violated", (0,))),
        ("A must happen before B.", "a* b", ("violated", (1,))),
        ("A must happen before B and C.", "a c b", ("ok", ())),
        ("A must happen before B and C.", "c b a", ("violated", (0, 1))),
        ("A and B must happen before C.", "a c", ("violated", (1,))),
        ("B must be preceded by A.", "b", ("violated", (0,))),
        ('A must happen before "D and E".', "d a e", ("violated", (0,))),
        ("A must be followed by B.", "a b", ("ok", ())),
        ("A must be followed by B.", "b a", ("violated", (1,))),
        ("A must be followed by B.", "a a b", ("ok", ())),
        ("A must be followed by B.", "a b! a", ("violated", (0, 2))),
        ("A must be followed by B.", "a!", NA),
        ("A must never happen.", "b", NA),
        ("A must never happen.", "b a a!", ("violated", (1, 2))),
        ("A must not happen.", "a", ("violated", (0,))),
        ("B must never happen after A.", "b", NA),
        ("B must never happen after A.", "b a", ("ok", ())),
        ("B must never happen after A.", "b a b b", ("violated", (2, 3))),
        ("B must never happen after A.", "a! b", NA),
        ("Call any tool must never happen after A.", "b a c a", ("violated", (2, 3))),
        ("Any tool must never happen after A.", "b c a", ("ok", ())),
        ("A must happen at most 2 times.", "a a! a", ("violated", (2,))),
        ("A must happen at most once.", "a", ("ok", ())),
        ("A must happen at most 1 time.", "b", NA),
        ("A must happen at least 2 times.", "a a!", ("violated", ())),
        ("A must happen at least twice.", "a a", ("ok", ())),
        ("A must happen at least 1 time.", "", ("violated", ())),
        ("A must happen exactly 1 time.", "a a", ("violated", (1,))),
        ("A must happen exactly once.", "a", ("ok", ())),
        ("A must happen exactly once.", "", ("violated", ())),
        ("A must happen exactly 1 time.", "a! a", ("ok", ())),
        ("A must happen exactly 1 time.", "a a!", ("ok", ())),
        ("A must happen exactly 1 time.", "a! a!", ("violated", ())),
        ("A must happen exactly 1 time.", "a a! a", ("violated", (2,))),
        ("A must happen immediately before B.", "a b", ("ok", ())),
        ("A must happen immediately before B.", "a c b", ("violated", (2,))),
        ("A must happen immediately before B.", "a b b", ("violated", (2,))),
        ("A must happen immediately before B.", "b", ("violated", (0,))),
        ("A must happen immediately before B.", "a! b", ("violated", (1,))),
        ("B must happen immediately after A.", "c a b", ("ok", ())),
        ("A must happen immediately before B.", "a", NA),
    ],
)
def test_order_and_counts(sentence: str, calls: str, expected: tuple[str, tuple[int, ...]]) -> None:
    for z3 in ("all", "off"):
        assert brief(sentence, calls, None if z3 == "all" else _without_z3()) == expected


def _without_z3():  # type: ignore[no-untyped-def]
    from synth.policies import Rules

    return Rules(z3="off")


# ---------------------------------------------------------------- equal arguments


def with_id(name: str, value: object) -> ToolCall:
    return call(name, arguments={"id": value, "in": {"key": value}})


@pytest.mark.parametrize(
    ("first", "then", "verdict"),
    [
        (1, 1, "ok"), (1, 2, "violated"), (1, 1.0, "ok"), ("1", 1, "violated"), ("x", "x", "ok"),
        ([1, {"a": 2}], [1.0, {"a": 2}], "ok"), (None, None, "ok"), (True, 1, "violated"),
    ],
)  # fmt: skip
def test_the_same_argument_means_the_same_json_value(first: object, then: object, verdict: str) -> None:
    calls = [with_id("a", first), with_id("b", then)]
    assert brief("A must happen before B with the same id.", calls)[0] == verdict
    assert brief("A must happen before B with the same in.key.", calls)[0] == verdict
    assert brief("A must be followed by B with the same id.", calls)[0] == verdict


def test_calls_without_recorded_arguments_are_unsupported() -> None:
    calls = [call("a", arguments=None), call("b", arguments=None)]
    assert brief("A must happen before B with the same id.", calls)[0] == "unsupported"


# ---------------------------------------------------------------- wall clock


def timed(*spans: tuple[str, float, float | None]) -> list[ToolCall]:
    return [call(name, start, end, finished=end is not None) for name, start, end in spans]


@pytest.mark.parametrize(
    ("sentence", "spans", "expected"),
    [
        ("A must happen before B.", [("a", 0, 5), ("b", 3, 4)], ("violated", (1,))),
        ("A must happen before B.", [("a", 0, 5), ("b", 5, 6)], ("ok", ())),
        ("A must happen before B.", [("b", 5, 6), ("a", 0, 5)], ("ok", ())),
        ("A must be followed by B within 30 seconds.", [("a", 0, 5), ("b", 35, 40)], ("ok", ())),
        ("A must be followed by B within 30 seconds.", [("a", 0, 5), ("b", 35.1, 40)], ("violated", (0,))),
        ("A must be followed by B within 30 s.", [("a", 0, 5), ("b", 4, 40)], ("violated", (0,))),
        ("B must start within 5 minutes after A.", [("a", 0, 5), ("b", 305, 306)], ("ok", ())),
        ("B must start within 5 minutes after A.", [("a", 0, 5), ("b", 306, 307)], ("violated", (1,))),
        ("B must start within 5 minutes of A.", [("b", 306, 307)], ("violated", (0,))),
        ("B must happen within 5 minutes of A.", [("b", 0, 400), ("a", 300, 301)], ("ok", ())),
        ("B must happen within 5 minutes of A.", [("b", 0, 1), ("a", 301, 302)], ("violated", (0,))),
        ("B must happen within 5 minutes of A.", [("a", 0, 900), ("b", 400, 401)], ("ok", ())),
        ("B must happen within 5 minutes of A.", [("a", 0, 5), ("b", 305, 306)], ("ok", ())),
        ("B must happen within 5 minutes of A.", [("a", 0, 5), ("b", 306, 307)], ("violated", (1,))),
        ("B must happen within 5 minutes before A.", [("b", 0, 1), ("a", 300, 301)], ("ok", ())),
        ("B must happen within 5 minutes before A.", [("b", 0, 1), ("a", 301, 302)], ("violated", (0,))),
        ("B must happen within 5 minutes before A.", [("a", 0, 5), ("b", 6, 7)], ("violated", (1,))),
        ("B must happen within 5 minutes after A.", [("b", 0, 1), ("a", 60, 61)], ("violated", (0,))),
        ("B must start at least 10 s after A.", [("a", 0, 5), ("b", 15, 16)], ("ok", ())),
        ("B must start at least 10 s after A.", [("a", 0, 5), ("b", 14.9, 16)], ("violated", (1,))),
        (
            "B must start at least 10 s after A.",
            [("a", 0, 1), ("a", 2, 9), ("b", 15, 16)],
            ("violated", (2,)),
        ),
        ("A must not overlap B.", [("a", 0, 5), ("b", 4, 6)], ("violated", (1,))),
        ("A must not overlap B.", [("a", 4, 5), ("b", 0, 6)], ("violated", (0,))),
        ("A must not overlap B.", [("a", 0, 5), ("b", 5, 6)], ("ok", ())),
        ("A must not overlap B.", [("a", 0, 5)], ("not_applicable", ())),
        ("A must not overlap with B.", [("a", 0, None), ("b", 100, 101)], ("violated", (1,))),
        ("A and B must not overlap.", [("a", 0, 5), ("b", 1, 2)], ("violated", (1,))),
        ("A must not overlap.", [("a", 0, 5), ("a", 1, 2)], ("violated", (1,))),
        ("B must never happen after A.", [("a", 0, 5), ("b", 4, 6)], ("ok", ())),
        ("A must happen immediately before B.", [("a", 0, 5), ("b", 4, 6)], ("violated", (1,))),
    ],
)
def test_wall_clock(
    sentence: str, spans: list[tuple[str, float, float | None]], expected: tuple[str, tuple[int, ...]]
) -> None:
    assert brief(sentence, timed(*spans)) == expected


def at(clock: str, minutes: float = 1, name: str = "a", day: int = 14) -> ToolCall:
    start = datetime.fromisoformat(f"2026-07-{day}T{clock}:00").replace(tzinfo=UTC).timestamp()
    return call(name, start, start + 60 * minutes)


@pytest.mark.parametrize(
    ("sentence", "made", "verdict"),
    [
        ("A must happen after 22:00.", at("22:00"), "ok"),
        ("A must happen after 22:00.", at("21:59"), "violated"),
        ("A must happen before 15:00.", at("14:59", 1), "ok"),
        ("A must happen before 15:00.", at("14:59", 2), "violated"),
        ("A must happen after 09:00, and A must happen before 17:00.", at("12:00"), "ok"),
        ("A must happen after 09:00, and A must happen before 17:00.", at("18:00"), "violated"),
        ("A must happen after 22:00, and A must happen before 02:00.", at("01:30"), "ok"),
        ("A must happen after 22:00, and A must happen before 02:00.", at("23:30"), "ok"),
        ("A must happen after 22:00, and A must happen before 02:00.", at("12:00"), "violated"),
    ],
)
def test_windows_of_the_day(sentence: str, made: ToolCall, verdict: str) -> None:
    assert brief(sentence, [made])[0] == verdict


def test_windows_are_in_the_time_zone_of_the_file() -> None:
    zurich = rules_file("A must happen after 22:00.", head="timezone: Europe/Zurich")
    assert brief(zurich, [at("20:00")])[0] == "ok"
    assert brief(zurich, [at("19:59")])[0] == "violated"
    assert "21:59:00" in judged(zurich, [at("19:59")]).explanation


@pytest.mark.parametrize(
    "sentence",
    [
        "A must happen after 22:00.",
        "A must be followed by B within 5 seconds.",
        "A must start within 5 minutes after B.",
        "A must not overlap B.",
    ],
)
def test_rules_about_time_are_unsupported_where_a_run_has_none(sentence: str) -> None:
    assert brief(sentence, "a b")[0] == "unsupported"


def test_what_must_come_soon_may_come_while_the_run_is_open() -> None:
    for word in ("of", "before"):
        sentence = f"B must happen within 10 seconds {word} A."
        alone, late = timed(("b", 0, 1)), timed(("b", 0, 1), ("c", 10.1, 12))
        assert brief(sentence, timed(("b", 0, 1), ("c", 10, 12)), status="running")[0] == "undecided"
        told = f"B (call 0) did not start within 10 seconds {word} A."
        assert judged(sentence, alone).explanation == told
        open_run = judged(sentence, alone, status="running")
        assert (open_run.verdict, open_run.explanation) == ("undecided", f"Pending: {told}")
        over = judged(sentence, late, status="running")
        assert (over.verdict, over.violations, over.explanation) == ("violated", (0,), told)


def test_a_count_says_what_it_counted() -> None:
    exactly = judged("A must happen exactly 1 time.", "a a! a").explanation
    assert exactly == "A must succeed exactly 1 time; call 2 went beyond that."
    assert judged("A must happen exactly 2 times.", "a a! a").explanation == "The count is kept."
    at_most = judged("A must happen at most 1 time.", "a a!").explanation
    assert at_most == "A may happen at most 1 time; call 1 went beyond that."
    never = judged("A must never happen.", "a!").explanation
    assert never == "A may happen never; call 0 went beyond that."


# ---------------------------------------------------------------- bounds, gaps, open runs


def bounded(name: str, lo: float, hi: float) -> ToolCall:
    made = call(name)
    return type(made)(None, made.tool, {}, start=(ns(lo), ns(hi)), end=(ns(lo), ns(hi)))


@pytest.mark.parametrize(
    ("sentence", "calls", "verdict"),
    [
        ("A must happen before B.", [bounded("a", 0, 2), bounded("b", 1, 3)], "undecided"),
        ("A must happen before B.", [bounded("a", 0, 1), bounded("b", 1, 3)], "ok"),
        ("A must happen before B.", [bounded("b", 0, 1), bounded("a", 2, 3)], "violated"),
        ("B must never happen after A.", [bounded("a", 0, 2), bounded("b", 1, 3)], "undecided"),
        (
            "A must happen immediately before B.",
            [bounded("a", 0, 1), bounded("c", 1, 3), bounded("b", 2, 4)],
            "undecided",
        ),
        ("A must not overlap B.", [bounded("a", 0, 2), bounded("b", 1, 3)], "undecided"),
        ("A must be followed by B within 1 s.", [bounded("a", 0, 1), bounded("b", 1, 2)], "undecided"),
        ("A must be followed by B within 2 s.", [bounded("a", 0, 1), bounded("b", 1, 2)], "ok"),
    ],
)
def test_inferred_times_decide_only_what_they_can(sentence: str, calls: list[ToolCall], verdict: str) -> None:
    result = judged(sentence, calls)
    assert result.verdict == verdict
    assert ("kept: " in result.explanation) is (verdict == "undecided")


def spread(name: str, start: tuple[float, float], end: tuple[float, float]) -> ToolCall:
    made = call(name)
    times = {"start": (ns(start[0]), ns(start[1])), "end": (ns(end[0]), ns(end[1]))}
    return type(made)(None, made.tool, {}, **times)  # type: ignore[arg-type]


def test_an_answer_can_come_from_a_call_that_may_have_started_before_another_one() -> None:
    rule = "A must be followed by B within 4 seconds."
    calls = [call("a", 0, 3), spread("b", (5, 15), (16, 17)), call("b", 6, 7)]
    assert brief(rule, calls) == ("ok", ())
    assert brief(rule, [*calls, call("a", 9, 12)]) == ("undecided", ())
    late = [call("a", 0, 3), spread("b", (5, 15), (16, 17)), spread("b", (4, 20), (21, 22)), call("b", 9, 9)]
    assert brief(rule, late) == ("undecided", ())


def test_gaps_leave_open_what_absence_would_prove() -> None:
    holes = {"problems": ("a hole in the step index",)}
    assert brief("A must happen before B.", "b", **holes)[0] == "undecided"
    assert brief("A must be followed by B.", "a", **holes)[0] == "undecided"
    assert brief("A must happen at most 1 time.", "a a", **holes)[0] == "violated"
    assert brief("A must happen at most 1 time.", "a", **holes)[0] == "undecided"
    assert brief("A must happen at least 1 time.", "", **holes)[0] == "undecided"
    assert brief("A must happen exactly 2 times.", "a a a!", **holes)[0] == "undecided"
    assert brief("A must happen exactly 2 times.", "a a a", **holes) == ("violated", (2,))
    assert brief("B must never happen after A.", "a b", **holes)[0] == "violated"


def test_an_open_run_leaves_pending_answers_open() -> None:
    assert brief("A must be followed by B.", "a", status="running")[0] == "undecided"
    assert brief("A must be followed by B.", "a b", status="running")[0] == "ok"
    assert brief("A must happen at least 1 time.", "", status="running")[0] == "undecided"
    assert brief("A must happen before B.", "b", status="running")[0] == "violated"


def test_in_an_open_run_an_answer_is_late_once_a_later_call_shows_it() -> None:
    sentence = "A must be followed by B within 10 seconds."
    early, late = timed(("a", 0, 1), ("c", 11, 12)), timed(("a", 0, 1), ("c", 11.5, 12))
    assert brief(sentence, early, status="running") == ("undecided", ())
    assert brief(sentence, late, status="running") == ("violated", (0,))


def test_requests_that_never_ran_are_no_attempts() -> None:
    assert brief("A must happen before B.", [call("b", executed=False)]) == NA
    assert brief("A must never happen.", [call("a", executed=False, extra={"blocked": True})]) == NA


# ---------------------------------------------------------------- turns


ALONE = "A and B must be alone in their turn."


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("a", step=1, with_text=False), call("b", step=2, with_text=False)], ("ok", ())),
        ([call("a", step=1, with_text=False), call("b", step=1, with_text=False)], ("violated", (0, 1))),
        ([call("c", step=1, with_text=False), call("b", step=1, with_text=False)], ("violated", (1,))),
        ([call("a", step=1, with_text=True)], ("violated", (0,))),
        ([call("c", step=1, with_text=True)], NA),
        ([call("a", step=1)], ("unsupported", ())),
        ([call("a")], ("unsupported", ())),
        ([], NA),
    ],
)
def test_turns(calls: list[ToolCall], expected: tuple[str, tuple[int, ...]]) -> None:
    assert brief(ALONE, calls) == expected


def test_aliases_name_the_fields_of_foreign_records() -> None:
    foreign = [call(name, with_text=False, extra={"assistant_step": 7}) for name in "ab"]
    assert brief(ALONE, foreign)[0] == "unsupported"
    assert brief(rules_file(ALONE, head="aliases: {step: assistant_step}"), foreign)[0] == "violated"


# ---------------------------------------------------------------- provenance


PROVENANCE = policy("provenance: {calls: B, argument: 'items[].id', from: A}")


@pytest.mark.parametrize(
    ("result", "ids", "verdict"),
    [
        ({"x": [{"id": "o1"}]}, ["o1"], "ok"),
        ({"o1": {}}, ["o1"], "undecided"),
        ({"x": "o1"}, ["o2"], "violated"),
        ({"x": 4.0}, [4], "ok"),
        ("Order o1, created.", ["o1"], "ok"),
        ("Order o12 created.", ["o1"], "violated"),
        ('{"id": "o1"}', ["o1"], "ok"),
        ({"x": "o1"}, [], "not_applicable"),
        (None, ["o1"], "undecided"),
    ],
)
def test_values_must_come_from_earlier_results(result: object, ids: list[object], verdict: str) -> None:
    calls = [call("a", result=result), call("b", arguments={"items": [{"id": i} for i in ids]})]
    assert brief(PROVENANCE, calls)[0] == verdict


def test_a_value_that_comes_out_later_does_not_count() -> None:
    calls = [call("b", arguments={"items": [{"id": "o1"}]}), call("a", result={"id": "o1"})]
    assert brief(PROVENANCE, calls) == ("violated", (0,))


# ---------------------------------------------------------------- behaviour, applicability, sessions


def test_behaviour_follows_the_names_of_the_tools() -> None:
    loop = policy("behaviour: (until do_a do_b)")
    assert brief(loop, "a a b") == ("ok", ())
    assert brief(loop, "a c b") == ("violated", (1,))
    assert brief(loop, "a a") == ("violated", ())
    assert brief(loop, "a a", status="running")[0] == "undecided"
    assert brief(loop, "") == NA


def test_policies_say_which_runs_they_are_for() -> None:
    mine = policy("rule: A must never happen.\napplies: {agent: 'shop-*', tools: do_a}")
    assert brief(mine, "a", agent="shop-1")[0] == "violated"
    assert brief(mine, "a", agent="bank")[0] == "not_applicable"
    assert brief(mine, "a")[0] == "not_applicable"
    called = policy("rule: A must happen before B.\napplies: {calls: C}")
    assert brief(called, "b")[0] == "not_applicable"
    assert brief(called, "b c")[0] == "violated"


def test_a_session_joins_the_runs_of_one_conversation() -> None:
    order = rules_file("A must happen before B.", head="scope: session")
    assert order.scope == "session"
    first, second = run([call("a", step=0)]), run([call("b", step=0)])
    assert [r.verdict for r in judge_session(order, [first, second])] == ["ok"]
    assert [r.verdict for r in judge_session(order, [second, first])] == ["violated"]
    with pytest.raises(BadInput):
        judge_session(order, [])


@pytest.mark.parametrize("field", ["step", "assistant_step"])
def test_a_session_keeps_the_model_messages_of_its_runs_apart(field: str) -> None:
    alone = rules_file(ALONE, head=f"scope: session\naliases: {{step: {field}}}")

    def turns(*steps: int) -> Run:
        numbered = ({"step": n} if field == "step" else {"extra": {field: n}} for n in steps)
        return run([call("a", with_text=False, **number) for number in numbered])

    (kept,) = judge_session(alone, [turns(0, 1), turns(0), turns(1, 2)])
    assert (kept.verdict, kept.violations) == ("ok", ())
    (crowded,) = judge_session(alone, [turns(0, 1), turns(0), turns(1, 1)])
    assert (crowded.verdict, crowded.violations) == ("violated", (3, 4))


def test_what_was_said_in_a_session_stands_before_the_calls_it_stood_before() -> None:
    guarded = policy("guard: {calls: B, check: \"user == 'go'\"}", head="scope: session\n")

    def said(calls: str, *texts: str) -> Run:
        messages = [{"role": "user", "content": text, "before_call": i} for i, text in enumerate(texts)]
        return run(calls, extra={"messages": messages})

    asked, told = said("a a", "hello"), said("b c", "go", "stop")
    assert [r.verdict for r in judge_session(guarded, [asked, told])] == ["ok"]
    assert [r.verdict for r in judge_session(guarded, [told, said("b", "hello")])] == ["violated"]
    silent = run("b", extra={"messages": []})
    assert [r.verdict for r in judge_session(guarded, [said("a", "go"), silent])] == ["ok"]


def test_a_policy_may_be_for_a_run_whose_decisive_call_was_not_seen() -> None:
    called = policy("rule: A must happen before B.\napplies: {calls: C}")
    offered = policy("rule: A must happen before B.\napplies: {tools: do_c}")
    holes = {"problems": ("a hole",)}
    for rules in (called, offered):
        assert brief(rules, "b") == NA
        assert brief(rules, "b", **holes)[0] == "undecided"
        assert brief(rules, "b", tools=("do_a", "do_b"), **holes) == NA
    assert brief(called, "b", tools=("do_b", "do_c"), **holes)[0] == "undecided"
    other = policy("rule: A must happen before B.\napplies: {calls: C, agent: nobody}")
    assert brief(other, "b", **holes) == NA


def test_results_survive_their_json() -> None:
    result = judged("A must happen before B.", "b")
    assert policy_result_from_json(result.to_json()) == result
    with pytest.raises(BadInput, match="not a policy result"):
        policy_result_from_json({})


def test_a_violation_that_gaps_leave_open_is_told_by_its_first_call() -> None:
    found = judged("A must happen before B.", "b b", problems=("a hole",))
    said = "B (call 0) needs an earlier success of A. But the evidence is incomplete."
    assert (found.verdict, found.explanation) == ("undecided", said)


def test_a_policy_set_survives_pickling() -> None:
    import pickle

    guarded = policy("guard: {calls: A, check: 'size(args) == 0'}")
    assert brief(pickle.loads(pickle.dumps(guarded)), "a") == ("ok", ())


def test_the_text_and_file_of_a_policy_set_are_all_that_another_process_needs() -> None:
    guarded = policy("guard: {calls: A, check: 'size(args) == 0'}")
    with SolverProcess(limit_seconds=20) as process:
        (there,) = process.judge_policies(guarded, run("a"))
    assert (there.verdict, there.violations) == brief(guarded, "a") == ("ok", ())
    assert load_policies(guarded.source) is load_policies(guarded.source)

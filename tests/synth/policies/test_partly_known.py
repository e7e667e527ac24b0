"""Values that were cut, hashed or left out: what the known part proves is true, the rest is open."""

from __future__ import annotations

from typing import Any

import pytest

from synth.observed.run import ToolCall
from synth.policies import PolicyResult
from tests.support.building import call
from tests.support.policing import brief, judged, policy

BOOKED = policy("provenance: {calls: B, argument: id, from: A}")
BOOKED_INSIDE = policy("provenance: {calls: B, argument: id, from: A, in: 'flights[].id'}")
CUT = {"partly": {"result": "cut"}}
HASH = "str:6:0123456789abcdef"
OTHER = "str:6:fedcba9876543210"


def provenance(result: Any, value: Any, **fields: Any) -> PolicyResult:
    partly = fields.pop("arguments", {})
    made = call("b", arguments={"id": value}, **partly)
    return judged(BOOKED, [call("a", result=result, **fields), made])


@pytest.mark.parametrize(
    ("result", "value", "verdict"),
    [
        (["F1", "F2", "… (+9 more)"], "F2", "ok"),
        (["F1", "F2", "… (+9 more)"], "F3", "undecided"),
        ("Flights F1 and F29… (+40 characters)", "F1", "ok"),
        ("Flights F1 and F29… (+40 characters)", "F29", "undecided"),
        ("Flights F1 and F29… (+40 characters)", "F2", "undecided"),
        ({"flights": ["F1"], "…": "+2 more"}, "F1", "ok"),
        ({"flights": ["F1"], "…": "+2 more"}, "F2", "undecided"),
        ('{"flights": [{"id": "F1"}, {"id": "F2', "F1", "ok"),
        ('{"flights": [{"id": "F1"}, {"id": "F2', "F2", "undecided"),
        ('{"flights": [{"id": 12', 12, "undecided"),
    ],
)
def test_a_value_that_is_not_in_the_part_that_was_kept_is_undecided(
    result: Any, value: str, verdict: str
) -> None:
    found = provenance(result, value, **CUT)
    assert found.verdict == verdict
    assert verdict == "ok" or "the result of do_a (call 0) was cut" in found.explanation


def test_a_result_that_was_not_kept_leaves_it_open_and_a_later_one_does_not() -> None:
    gone = {"partly": {"result": "absent"}}
    assert provenance(None, "F1", **gone).verdict == "undecided"
    calls = [call("b", arguments={"id": "F1"}), call("a", result=None, **gone)]
    assert brief(BOOKED, calls) == ("violated", (0,))


def test_one_call_may_break_the_rule_whatever_is_known_of_others() -> None:
    cut = call("a", result=["F1", "… (+9 more)"], partly={"result": "cut"})
    calls = [call("b", arguments={"id": "F7"}), cut, call("b", arguments={"id": "F8"})]
    assert brief(BOOKED, calls) == ("violated", (0,))


def test_hashes_of_one_key_prove_where_a_value_came_from() -> None:
    hashed = {"partly": {"result": "hashed"}, "hash_key": "k"}
    asked = {"partly": {"arguments": "hashed"}, "hash_key": "k"}
    assert provenance([HASH, OTHER], HASH, arguments=asked, **hashed).verdict == "ok"
    assert provenance([OTHER], HASH, arguments=asked, **hashed).verdict == "undecided"
    assert provenance([HASH], HASH, arguments=asked | {"hash_key": "j"}, **hashed).verdict == "undecided"
    assert provenance([HASH], HASH, arguments=asked | {"hash_key": None}, **hashed).verdict == "undecided"
    assert brief(BOOKED, [call("b", arguments={"id": HASH}, **asked)]) == ("violated", (0,))


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (["bool:0123456789abcdef", "str:1:0123456789abcdef"], "violated"),
        (["str:2:0123456789abcdef"], "undecided"),
        (["str:30:0123456789abcdef"], "undecided"),
        (["int:0123456789abcdef"], "violated"),
    ],
)
def test_a_hash_of_something_else_is_no_source(result: Any, verdict: str) -> None:
    assert provenance(result, "F1", partly={"result": "hashed"}, hash_key="k").verdict == verdict


def test_of_an_argument_that_was_cut_the_beginning_may_prove_it_invented() -> None:
    cut = {"partly": {"arguments": "cut"}}
    assert provenance("The order is A-17.", "A-1… (+9 characters)", arguments=cut).verdict == "undecided"
    assert provenance("The order is A-17.", "B-1… (+9 characters)", arguments=cut).verdict == "violated"


@pytest.mark.parametrize(
    ("result", "value", "verdict"),
    [
        ({"id": 123}, "123", "ok"),
        ({"id": "123"}, 123, "ok"),
        ({"id": "123.0"}, 123, "ok"),
        ("Paid 123.0 today", 123, "ok"),
        ("Paid 1234", 123, "violated"),
        ({"id": 123456789012345678901}, "123456789012345678901", "ok"),
        ({"id": "0123"}, 123, "violated"),
        ({"n": 1}, True, "violated"),
        ({"123": {}}, "123", "undecided"),
        ({"123": {"id": 123}}, "123", "ok"),
        ("Trains from New York leave now", "New York", "ok"),
        ("Trains from New Yorkshire leave now", "New York", "violated"),
        ("Order A-12-7 came", "A-12", "violated"),
        ({"where": {"city": "Rome"}}, {"city": "Rome"}, "ok"),
        ({"where": {"city": "Rome"}}, {"city": "Oslo"}, "violated"),
    ],
)
def test_values_match_as_wholes_or_words_and_numbers_by_value(result: Any, value: Any, verdict: str) -> None:
    assert provenance(result, value).verdict == verdict


def test_keys_are_values_where_the_rule_points_into_their_object() -> None:
    inside = policy("provenance: {calls: B, argument: id, from: A, in: seats}")
    calls = [call("a", result={"seats": {"12A": {}}}), call("b", arguments={"id": "12A"})]
    assert brief(inside, calls) == ("ok", ())
    found = judged(BOOKED, calls)
    assert found.verdict == "undecided"
    assert "only a key in that of do_a (call 0)" in found.explanation


def test_where_a_rule_looks_decides_which_cut_matters() -> None:
    kept = {"flights": [{"id": "F1"}], "advice": "very long… (+900 characters)"}
    calls = [call("a", result=kept, **CUT), call("b", arguments={"id": "F2"})]
    assert brief(BOOKED_INSIDE, calls) == ("violated", (1,))
    assert brief(BOOKED, calls)[0] == "undecided"


# ---------------------------------------------------------------- with the same FIELD

SAME = policy("rule: A must happen before B with the same id.")
ANSWERED = policy("rule: A must be followed by B with the same id.")


def with_id(name: str, value: Any, why: str | None = None, key: str | None = "k") -> ToolCall:
    partly = {} if why is None else {"arguments": why}
    said = value if isinstance(value, str) and value.startswith("{") else {"id": value}
    return call(name, arguments=said, partly=partly, hash_key=key if why == "hashed" else None)


@pytest.mark.parametrize(
    ("first", "then", "verdict"),
    [
        (("abc", None), ("ab… (+1 characters)", "cut"), "undecided"),
        (("abc", None), ("ab… (+2 characters)", "cut"), "violated"),
        (("abc", None), ("xy… (+1 characters)", "cut"), "violated"),
        (("ab… (+1 characters)", "cut"), ("abc", None), "undecided"),
        (("xy… (+1 characters)", "cut"), ("abc", None), "violated"),
        (("ab… (+7 characters)", "cut"), ("ab… (+7 characters)", "cut"), "undecided"),
        ((HASH, "hashed"), (HASH, "hashed"), "ok"),
        ((HASH, "hashed"), (OTHER, "hashed"), "violated"),
        ((HASH, "hashed"), ("abcdef", None), "undecided"),
        ((HASH, "hashed"), ("abcdefg", None), "violated"),
        ((HASH, "hashed"), (123456, None), "violated"),
        ((HASH, "hashed"), ("abcdefg… (+1 characters)", "cut"), "violated"),
        ((HASH, "hashed"), ('{"id": "abcdefg', "cut"), "violated"),
    ],
)
def test_arguments_of_which_a_part_is_known_are_compared_as_far_as_it_goes(
    first: tuple[Any, Any], then: tuple[Any, Any], verdict: str
) -> None:
    found = judged(SAME, [with_id("a", *first), with_id("b", *then)])
    assert found.verdict == verdict
    answered = judged(ANSWERED, [with_id("a", *first), with_id("b", *then)])
    assert answered.verdict == verdict
    if verdict == "undecided":
        assert "The argument 'id' of do_" in found.explanation


def test_hashes_of_two_processes_without_a_common_key_prove_nothing() -> None:
    other_process = [with_id("a", HASH, "hashed", "p1"), with_id("b", HASH, "hashed", "p2")]
    assert brief(SAME, other_process)[0] == "undecided"
    unlike = [with_id("a", HASH, "hashed", "p1"), with_id("b", "str:7:0123456789abcdef", "hashed", "p2")]
    assert brief(SAME, unlike) == ("violated", (1,))


def test_what_is_decided_without_the_missing_part_is_decided() -> None:
    whole = with_id("a", "x")
    cut = with_id("a", "ab… (+1 characters)", "cut")
    assert brief(SAME, [cut, whole, with_id("b", "x")]) == ("ok", ())
    assert brief(SAME, [with_id("b", "x"), cut]) == ("violated", (0,))
    assert brief(SAME, [with_id("b", "ab… (+1 characters)", "cut"), whole]) == ("violated", (0,))


def test_many_values_of_which_a_part_is_known_are_compared_within_bounds() -> None:
    calls = [with_id("a", f"{i:04}… (+3 characters)", "cut") for i in range(900)]
    calls += [with_id("b", f"{i:04}… (+4 characters)", "cut") for i in range(900)]
    found = judged(SAME, calls)
    assert found.verdict == "violated"
    assert 100 < len(found.violations) < 900


# ---------------------------------------------------------------- guards and contracts


def guard(check: str, *calls: ToolCall) -> PolicyResult:
    return judged(policy(f"guard: {{calls: B, check: {check!r}}}"), calls)


GIFT = call("b", arguments={"amount": 700, "note": "gi… (+40 characters)"}, partly={"arguments": "cut"})


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        ("args.amount < 500", "violated"),
        ("args.amount > 500", "ok"),
        ("args.note == 'gift'", "violated"),
        ("args.note.endsWith('ft')", "undecided"),
        ("args.amount > 500 || args.note.endsWith('ft')", "ok"),
        ("args.amount < 500 && args.note.endsWith('ft')", "violated"),
        ("args.amount < 500 || args.note.endsWith('ft')", "undecided"),
        ("has(args.note)", "ok"),
        ("has(args.memo)", "violated"),
    ],
)
def test_a_guard_decides_what_the_known_parts_decide(check: str, verdict: str) -> None:
    found = guard(check, GIFT)
    assert found.verdict == verdict
    if verdict == "undecided":
        assert found.explanation == "do_b (call 0): args.note was cut."


def test_the_answer_of_a_look_up_that_was_cut_is_open() -> None:
    cut = call("a", result={"id": "x", "rows": ["r1", "… (+4 more)"]}, partly={"result": "cut"})
    asked = call("b", arguments={"id": "x", "row": "r9"})
    assert guard("last('do_a').id == args.id", cut, asked).verdict == "ok"
    found = guard("args.row in last('do_a').rows", cut, asked)
    assert found.verdict == "undecided"
    assert "the result of do_a (call 0).rows was cut" in found.explanation


def test_a_call_that_may_carry_a_key_is_no_certain_answer() -> None:
    vague = call("a", result={"n": 1, "…": "+3 more"}, partly={"result": "cut"})
    sure = call("a", result={"id": "x"})
    asked = call("b", arguments={"id": "x"})
    assert guard("last('do_a', 'id', args.id) != null", vague, asked).verdict == "undecided"
    assert guard("last('do_a', 'id', args.id) != null", vague, sure, asked).verdict == "ok"
    assert guard("last('do_a', args.id) != null", sure, vague, asked).verdict == "undecided"
    assert guard("size(earlier('do_a', 'n', 2)) == 0", vague, asked).verdict == "ok"
    assert guard("size(earlier('do_a', 'n', 1)) == 1", vague, asked).verdict == "ok"
    found = guard("size(earlier('do_a', 'id', 'x')) == 0", vague, asked)
    assert "not all of do_a (call 0) is known" in found.explanation


PAID = {"partly": {"arguments": "hashed"}, "hash_key": "k"}


@pytest.mark.parametrize(
    ("paid", "asked", "verdict"),
    [
        ([HASH], HASH, "violated"),
        ([OTHER], HASH, "ok"),
        ([OTHER, HASH, OTHER], HASH, "violated"),
        ([OTHER, "int:0123456789abcdef"], HASH, "ok"),
        ([OTHER, "cut"], HASH, "undecided"),
        ([], HASH, "ok"),
    ],
)
@pytest.mark.parametrize(
    "look_up", ["'do_a', 'id', args.id", "'do_a', args.id", "['do_a'], 'id', args['id']"]
)
def test_a_hashed_value_is_looked_up_by_its_hash(
    look_up: str, paid: list[str], asked: str, verdict: str
) -> None:
    calls = [call("a", arguments={"id": value}, **PAID) for value in paid]
    found = guard(f"size(earlier({look_up})) == 0", *calls, call("b", arguments={"id": asked}, **PAID))
    assert found.verdict == verdict


def test_hashes_of_another_key_and_whole_values_may_be_the_one_looked_up() -> None:
    asked = call("b", arguments={"id": HASH}, **PAID)
    check = "size(earlier('do_a', 'id', args.id)) == 0"
    assert (
        guard(check, call("a", arguments={"id": HASH}, **PAID | {"hash_key": "j"}), asked).verdict
        == "undecided"
    )
    found = guard(check, call("a", arguments={"id": "abcdef"}), asked)
    assert found.verdict == "undecided"
    assert "is known as a hash only, and do_a (call 0) may be the one looked up" in found.explanation
    assert guard(check, call("a", arguments={"id": "abcdefg"}), asked).verdict == "ok"
    cut = call("b", arguments={"id": "ab… (+2 characters)"}, partly={"arguments": "cut"})
    assert guard(check, call("a", arguments={"id": "xyz1"}), cut).verdict == "ok"
    assert guard(check, call("a", arguments={"id": "ab12"}), cut).verdict == "undecided"
    several = call("b", arguments={"id": ["x", "… (+1 more)"]}, partly={"arguments": "cut"})
    found = guard(check, call("a", arguments={"id": "x"}), several)
    assert (found.verdict, "args.id was cut" in found.explanation) == ("undecided", True)
    rest = call("b", arguments={"…": "+1 more"}, partly={"arguments": "cut"})
    assert guard(check, rest).verdict == "undecided"


def test_hidden_errors_and_queries_are_not_read() -> None:
    hashed = {"partly": {"arguments": "hashed"}, "hash_key": "k"}
    failed = call("b", arguments={"n": "int:0123456789abcdef"}, error=HASH, **hashed)
    assert guard("call.error == null", failed).verdict == "violated"
    assert guard("call.error.contains('denied')", failed).verdict == "undecided"
    check = policy("guard: {calls: B, check: \"run.query.contains('please')\"}")
    assert judged(check, [failed], query=OTHER).verdict == "undecided"


@pytest.mark.parametrize(
    ("tools", "verdict"),
    [
        ("do_b: {requires: 'ok {amount}'}", "violated"),
        ("do_b: {requires: 'ok {note}'}", "undecided"),
        ("do_b: {check: args.amount < 500}", "violated"),
        ("do_b: {check: \"args.note.endsWith('x')\"}", "undecided"),
        ("do_b: {args: [amount, note]}", "ok"),
        ("do_b: {args: [amount]}", "violated"),
    ],
)
def test_a_contract_asks_only_for_the_arguments_that_it_names(tools: str, verdict: str) -> None:
    found = judged(policy(f"contract: {{initial: [], tools: {{{tools}}}}}"), [GIFT])
    assert found.verdict == verdict
    assert verdict != "undecided" or "args.note was cut" in found.explanation


def test_arguments_whose_names_were_cut_may_be_those_of_the_contract() -> None:
    more = call("b", arguments={"amount": 1, "…": "+1 more"}, partly={"arguments": "cut"})
    for args, verdict in (("[amount, note]", "undecided"), ("[note]", "violated"), ("[amount]", "undecided")):
        found = judged(policy(f"contract: {{initial: [], tools: {{do_b: {{args: {args}}}}}}}"), [more])
        assert found.verdict == verdict, args

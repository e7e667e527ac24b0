"""How much an argument may come to: exactly, within a time, for equal arguments, with evidence missing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import PolicyResult, Rules, judge_policies, load_policies
from synth.policies.evidence import Evidence
from synth.policies.kinds.kind import PolicyKind, answer
from synth.policies.session import judge_turn
from synth.policies.stated import stated_policies
from tests.support.soak import new_seed, tries

HOUR = 3_600_000_000_000
MS = 1_000_000
START = 1_700_000_000_000_000_000
MOST_500 = "The sum of args.amount of refund must be at most 500."
AN_HOUR = "The sum of args.amount of refund must be at most 500 within 1 hour."
EACH = "The sum of args.amount of refund must be at most 500 with the same order."


def rules(*sentences: str, scope: str = "run") -> str:
    lines = "".join(f"  - {{id: P{at}, rule: {said!r}}}\n" for at, said in enumerate(sentences))
    return f"actions: {{refund: refund, pay: pay}}\nscope: {scope}\npolicies:\n{lines}"


def judged(rule: str, *calls: ToolCall, **fields: Any) -> PolicyResult:
    (result,) = judge_policies(load_policies(rules(rule)), Run("run", calls, **fields))
    return result


def refund(amount: Any = None, at: int | tuple[int, int] = 0, **arguments: Any) -> ToolCall:
    lo, hi = at if isinstance(at, tuple) else (at, at)
    said = arguments if amount is None else {"amount": amount, **arguments}
    return ToolCall(
        None, "refund", said, start=(START + lo, START + hi), end=(START + lo + 1, START + hi + 1)
    )


@pytest.mark.parametrize(
    ("amounts", "verdict", "beyond"),
    [
        ([250, 250], "ok", ()),
        ([250, 250.01], "violated", (1,)),
        ([500, 0], "ok", ()),
        ([600, 0, 1], "violated", (0, 2)),
        ([499.9, 0.1], "ok", ()),
        ([499.7, 0.1, 0.2], "ok", ()),
        ([10**400], "violated", (0,)),
        ([10**17 + 0.0, 500], "violated", (0, 1)),
        ([], "not_applicable", ()),
    ],
    ids=["just as much", "a cent more", "nothing", "nothing later", "decimal", "not in floats", "huge",
         "large", "none"],
)  # fmt: skip
def test_numbers_are_added_exactly(amounts: list[Any], verdict: str, beyond: tuple[int, ...]) -> None:
    found = judged(MOST_500, *(refund(amount, at) for at, amount in enumerate(amounts)))
    assert (found.verdict, found.violations) == (verdict, beyond)


def test_the_limit_is_exact_as_well() -> None:
    tenths = "The total of args.amount of refund must not exceed 0.3."
    assert judged(tenths, refund(0.1), refund(0.2)).verdict == "ok"
    found = judged(tenths, refund(0.1), refund(0.2, 1), refund(1e-300, 2))
    assert (found.verdict, found.violations) == ("violated", (2,))
    assert found.explanation == "The sum of amount of refund may be at most 0.3; call 2 went beyond that."


@pytest.mark.parametrize(("amount", "said"), [(2, "ok"), (2.999, "ok"), (3, "violated"), (3.001, "violated")])
def test_below_is_less_than_the_limit(amount: float, said: str) -> None:
    found = judged("The sum of args.amount of refund must be below 5.", refund(2), refund(amount, 1))
    assert found.verdict == said
    told = "The sum of amount of refund may be below 5; call 1 went beyond that."
    assert said == "ok" or found.explanation == told


def test_attempts_count_and_what_never_ran_does_not() -> None:
    failed = ToolCall(None, "refund", {"amount": 300}, error="no")
    never = ToolCall(None, "refund", {"amount": 300}, executed=False)
    assert judged(MOST_500, failed, failed).violations == (1,)
    assert judged(MOST_500, failed, never).verdict == "ok"
    assert judged(MOST_500, failed, ToolCall(None, "pay", {"amount": 300})).verdict == "ok"


@pytest.mark.parametrize(
    ("starts", "verdict"),
    [
        ([0, HOUR - 1], "violated"),
        ([0, HOUR], "ok"),
        ([0, 0], "violated"),
        ([(0, 5), (HOUR - 9, HOUR - 1)], "violated"),
        ([(0, 5), (HOUR, HOUR + 4)], "undecided"),
        ([(0, 5), (HOUR + 5, HOUR + 9)], "ok"),
    ],
    ids=["just before", "the hour is over", "in parallel", "surely near", "perhaps near", "surely later"],
)
def test_the_window_slides_to_the_nanosecond(starts: list[Any], verdict: str) -> None:
    assert judged(AN_HOUR, *(refund(300, at) for at in starts)).verdict == verdict


def test_without_times_only_what_is_too_much_matters() -> None:
    bare = [ToolCall(None, "refund", {"amount": amount}) for amount in (300, 200, 1)]
    assert judged(AN_HOUR, *bare[:2]).verdict == "ok"
    assert judged(AN_HOUR, *bare).verdict == "unsupported"


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("12.50", "The argument 'amount' of refund (call 1) is a text, not a number."),
        (True, "The argument 'amount' of refund (call 1) is a truth value, not a number."),
        ([1], "The argument 'amount' of refund (call 1) is a list, not a number."),
        (None, "refund (call 1) has no argument 'amount'."),
    ],
    ids=["text", "truth value", "list", "missing"],
)
def test_what_is_no_number_is_undecided_unless_the_rest_is_too_much(amount: Any, said: str) -> None:
    found = judged(MOST_500, refund(1), refund(amount, 1))
    assert (found.verdict, found.explanation) == ("undecided", said)
    found = judged(MOST_500, refund(501), refund(amount, 1))
    assert (found.verdict, found.violations) == ("violated", (0,))


def test_an_argument_that_no_call_has() -> None:
    found = judged("The sum of args.amout of refund must be at most 5.", refund(9))
    assert (found.verdict, "did you mean 'amount'?" in found.explanation) == ("unsupported", True)
    hidden = ToolCall(None, "refund", None, partly={"arguments": "absent"})
    assert "was not kept" in judged(MOST_500, refund(1), hidden).explanation


def test_a_negative_amount_decides_nothing() -> None:
    assert judged(MOST_500, refund(400), refund(-100, 1), refund(100, 2)).verdict == "ok"
    found = judged(MOST_500, refund(400), refund(-100, 1), refund(200, 2))
    assert (found.verdict, "is negative" in found.explanation) == ("undecided", True)
    assert judged(MOST_500, refund(400), refund(-100, 1), refund(201, 2)).violations == (2,)


def test_equal_arguments_are_added_together() -> None:
    assert judged(EACH, refund(500, order=1), refund(500, 1, order=2)).verdict == "ok"
    assert judged(EACH, refund(500, order=1), refund(1, 1, order=1)).violations == (1,)
    found = judged(EACH, refund(300, order=1), refund(300, 1))
    assert (found.verdict, "has no argument 'order'" in found.explanation) == ("undecided", True)
    assert judged(EACH, refund(300, order=1), refund(200, 1)).verdict == "ok"
    for said in ("of refund of the same currency must be at most 500.",
                 "of refund must be at most 500 with the same currency."):  # fmt: skip
        both = refund(400, currency="EUR"), refund(400, 1, currency="USD")
        assert judged(f"The sum of args.amount {said}", *both).verdict == "ok"
        assert judged(f"The sum of args.amount {said}", *both, both[1]).verdict == "violated"
    assert judged(MOST_500, *both).verdict == "violated"


def test_what_nobody_saw_may_be_too_much_and_mends_nothing() -> None:
    gap = Unseen("a lost call", calls=1)
    assert judged(MOST_500, refund(1), unseen=(gap,)).verdict == "undecided"
    assert judged(MOST_500, unseen=(gap,)).verdict == "undecided"
    assert judged(MOST_500, refund(501), unseen=(gap,)).verdict == "violated"
    assert judged(MOST_500, refund(1), unseen=(gap,), tools=("pay",)).verdict == "ok"


def by_turn(sentence: str, *turns: list[ToolCall]) -> list[tuple[str, tuple[int, ...]]]:
    policies = load_policies(rules(sentence, scope="session"))
    runs = [Run(str(at), tuple(calls)) for at, calls in enumerate(turns)]
    found = []
    for turn in range(len(runs)):
        (result,) = judge_turn(
            lambda file, run, part: judge_policies(file, run, part=part), policies, runs, turn
        )
        found.append((result.verdict, result.violations))
    return found


def test_over_a_conversation_each_run_has_its_own_calls() -> None:
    per = "The sum of args.amount of refund must be at most 500 per conversation."
    later = [refund(1, HOUR), refund(0, HOUR + 1)]
    assert by_turn(per, [refund(300), refund(201, 1)], later) == [("violated", (1,)), ("violated", (0,))]
    assert by_turn(per, [refund(501)], [refund(0, HOUR)]) == [("violated", (0,)), ("ok", ())]
    assert by_turn(per, [refund(501)], [refund("1", HOUR)]) == [("violated", (0,)), ("undecided", ())]


def test_a_rate_that_another_run_broke_leaves_open_what_is_open_of_this_one() -> None:
    rate = "Refund must happen at most 1 time within 1 hour."
    unsure = [refund(1, 9 * HOUR), refund(1, (9 * HOUR + 5, 11 * HOUR))]
    assert by_turn(rate, [refund(1), refund(1, 1)], unsure) == [("violated", (1,)), ("undecided", ())]
    assert by_turn(rate, [refund(1), refund(1, 1)], unsure[:1]) == [("violated", (1,)), ("ok", ())]


def test_the_words_for_the_scope_must_be_those_of_the_file() -> None:
    session, run = MOST_500[:-1] + " per conversation.", MOST_500[:-1] + " per run."
    assert load_policies(rules(session, scope="session"))
    assert load_policies(rules(run))
    with pytest.raises(BadInput, match="write 'scope: session' at the head of the file"):
        load_policies(rules(session))
    with pytest.raises(BadInput, match="write 'scope: run' at the head of the file"):
        load_policies(rules(run, scope="session"))
    assert stated_policies(run, ("refund",), anywhere=True) is not None
    assert stated_policies(session, ("refund",), anywhere=True) is None


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("The sum of args.amount of refund and pay must be at most 5.", "a sum is of one action: write"),
        ("The sum of args.amount of refund must be at least 5.", "a sum is said as"),
    ],
)
def test_what_has_two_meanings_is_refused(rule: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        judged(rule)


@pytest.mark.parametrize("most", ["5 EUR", "$5", "5 euros", "EUR 5"])
def test_a_currency_beside_the_limit_is_not_compared(most: str) -> None:
    rule = f"The sum of args.amount of refund must be at most {most}."
    assert judged(rule, refund(6)).verdict == "violated"
    assert judged(rule, refund(5)).verdict == "ok"


def test_many_calls_cost_little() -> None:
    many = [refund(1, at) for at in range(9_000)]
    assert len(judged(AN_HOUR, *many).violations) == 8_500
    blurred = [refund(1, (at, at + 1)) for at in range(2_000)]
    assert judged(AN_HOUR, *blurred).verdict in ("violated", "undecided")


# ---------------------------------------------------------------- every world


@dataclass(frozen=True)
class Added:
    """A call of one world, as the definition sees it."""

    start: int
    amount: Fraction
    order: int


LIMITS: tuple[tuple[str, Fraction, int | None, bool], ...] = (
    ("The sum of args.amount of refund must be at most 3.", Fraction(3), None, False),
    ("The sum of args.amount of refund must be at most 0.3 within 4 ms.", Fraction(3, 10), 4, False),
    ("The total amount of refund must not exceed 3 with the same order.", Fraction(3), None, True),
    ("The total amount of refund of the same order must be at most 3 within 3 ms.", Fraction(3), 3, True),
)


def is_broken(calls: list[Added], most: Fraction, time: int | None, same: bool) -> bool:
    """Do those of some order, in all or in some stretch of time, come to more?"""
    for order in {call.order for call in calls} if same else {None}:
        own = [call for call in calls if order in (None, call.order)]
        sums = [sum(call.amount for call in own)] if time is None else []
        if time is not None:
            froms = {start for call in own for start in (call.start, call.start - time + 1)}
            sums = [sum(call.amount for call in own if begin <= call.start < begin + time) for begin in froms]
        if any(one > most for one in sums):
            return True
    return False


def some_run(r: random.Random) -> Run:
    """Calls at exact or open instants, some without a readable amount or order, some of them not seen."""
    odd, blur, negative = r.random() < 0.3, r.choice((0, 0, 1, 3)), r.random() < 0.2
    calls = []
    for _ in range(r.randint(1, 5)):
        start = r.randint(0, 8)
        arguments: dict[str, Any] = {"amount": r.choice((0, 0.1, 0.2, 1, 1, 2)), "order": r.randint(1, 2)}
        if negative and r.random() < 0.3:
            arguments["amount"] = -1
        if odd and r.random() < 0.3:
            arguments["amount"] = r.choice(("1", None, True))
        if odd and r.random() < 0.3:
            del arguments["order"]
        calls.append(replace(refund(at=(start * MS, (start + r.randint(0, blur)) * MS)), arguments=arguments))
    calls.sort(key=lambda call: call.start or (0, 0))
    unseen = (Unseen("lost", calls=1),) if r.random() < 0.15 else ()
    return Run("run", tuple(calls), unseen=unseen)


def worlds(run: Run, r: random.Random, number: int) -> Iterator[list[Added]]:
    for _ in range(number):
        literal = r.random() < 0.5
        made = []
        for call in run.calls:
            lo, hi = ((edge - START) // MS for edge in call.start or (0, 0))
            said = call.arguments["amount"]
            known = not isinstance(said, bool | str) and said is not None
            amount = Fraction(str(said)) if known else Fraction(r.choice((0, 1, 9)))
            order = call.arguments.get("order") or r.choice((1, 2, 3))
            made.append(Added(r.randint(lo, hi), amount if literal else max(amount, Fraction(0)), order))
        if run.unseen and r.random() < 0.7:
            made.append(Added(r.randint(0, 8), Fraction(r.choice((0, 9))), r.randint(1, 3)))
        yield made


def rules_of() -> list[PolicyKind]:
    return [policy.rule for policy in load_policies(rules(*(said for said, *_ in LIMITS))).policies]


def is_exact(run: Run) -> bool:
    return not run.unseen and all(
        call.start and call.start[0] == call.start[1] and "order" in call.arguments
        and type(call.arguments["amount"]) in (int, float) and call.arguments["amount"] >= 0
        for call in run.calls
    )  # fmt: skip


def test_no_answer_that_some_world_contradicts() -> None:
    seed = new_seed()
    r, told = random.Random(seed), Counter[str]()
    every = list(zip(rules_of(), LIMITS, strict=True))
    for _ in range(tries(100_000) // len(every)):
        run = some_run(r)
        possible = list(worlds(run, r, 12))
        for rule, (_, most, time, same) in every:
            found = answer(rule, Evidence(run), Rules(z3="off"))
            truths = {is_broken(world, most, time, same) for world in possible}
            if found.verdict in ("ok", "violated"):
                assert truths == {found.verdict == "violated"}, (seed, rule, run, found)
            if is_exact(run):
                assert found.verdict != "undecided", (seed, rule, run)
            told[found.verdict] += 1
    assert min(told["ok"], told["violated"], told["undecided"]) > sum(told.values()) // 50, told

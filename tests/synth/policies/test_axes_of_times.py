"""How long a call may take, what may begin while what runs, and how long what is forbidden after what."""

from __future__ import annotations

from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from tests.support.readings import demanded, unlike
from tests.synth.policies.test_rules_page import verdict

ACTIONS = (
    "search flights",
    "cancel booking",
    "issue refund",
    "issue voucher",
    "assign seat",
    "deploy service",
    "roll back service",
    "take backup",
    "page oncall",
    "restart pod",
)
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})
AT_MOST = (
    "flight searches must take {} at most",
    "flight searches: {} at the longest",
    "flight searches last {}, no longer",
    "flight searches must finish within {}",
    "flight searches finish within {}",
    "finish flight searches in {}",
    "keep flight searches to {} at most",
    "no flight search may run past {}",
    "no flight search longer than {}",
    "flight searches are limited to {}",
    "a flight search may not take longer than {}",
)
LESS_THAN = (
    "flight searches must take less than {}",
    "flight searches: under {}",
    "flight searches < {}",
    "searching flights may not take {} or more",
    "no flight search may take {} or longer",
    "flight searches finish in under {}",
    "flight searches have to be done in less than {}",
    "flight searches have to stay below {}",
    "keep flight searches under {}",
    "it must take less than {} to search flights",
    "flight searches must complete in under {}",
    "never spend {} or more on a flight search",
)
LONG = ("10 seconds", "an hour")
NO_START = (
    "a refund may not start {}",
    "no refund may be started {}",
    "refunds must not begin {}",
    "don't start a refund {}",
    "{}, no refund may start",
    "{}, you may not start issuing a refund",
)
RUNS = (
    "while a cancellation is still running",
    "as long as a cancellation is in progress",
    "while a booking is being cancelled",
    "while cancel booking is running",
)
IN_THE_TIME = (
    "no voucher {}",
    "{}, no voucher may be issued",
    "vouchers are not allowed {}",
    "never issue a voucher {}",
    "a voucher must not be issued {}",
    "{} don't issue a voucher",
    "nobody issues a voucher {}",
)
AFTER_A_FAILURE = (
    "in the 15 minutes after a failed refund",
    "in the first 15 minutes after a failed refund",
    "within 15 minutes of a failed refund",
    "for the 15 minutes after a refund failed",
    "during the 15 minutes following a failed refund",
)


@pytest.mark.parametrize("time", LONG)
def test_how_long_a_call_may_take_is_said_with_or_without_the_very_time(time: str) -> None:
    said = time.replace("an hour", "1 hour")
    most, less = (f"Search flights must take {limit} {said}" for limit in ("at most", "less than"))
    assert unlike((form.format(time) for form in AT_MOST), most, NAMES) == []
    assert unlike((form.format(time) for form in LESS_THAN), less, NAMES) == []
    assert demanded(most, NAMES) != demanded(less, NAMES)


@pytest.mark.parametrize(
    ("calls", "said"),
    [("pay@10:00-10:01", "ok"), ("pay@10:00-10:02", "violated"), ("pay@10:00-10:03!", "violated")],
)
def test_a_call_that_takes_exactly_so_long_takes_no_less(calls: str, said: str) -> None:
    assert verdict("Pay must take less than 2 minutes.", calls) == said


@pytest.mark.parametrize("when", RUNS)
def test_what_must_not_begin_while_something_runs_may_run_when_that_begins(when: str) -> None:
    rule = "Issue refund must not start while cancel booking runs"
    assert unlike((form.format(when) for form in NO_START), rule, NAMES) == []
    assert unlike([f"a refund may only start when no cancellation is {r}" for r in ("running", "active")],
                  rule, NAMES) == []  # fmt: skip
    assert demanded(f"never issue a refund {when}", NAMES) == demanded(
        "Issue refund must not overlap cancel booking", NAMES
    )


SAME = "Pay must not start while refund runs with the same id."


@pytest.mark.parametrize(
    ("rule", "calls", "said"),
    [
        ("Pay must not start while refund runs.", "pay@10:00-10:05 refund@10:02-10:03", "ok"),
        ("Pay must not start while refund runs.", "refund@10:00-10:05 pay@10:02-10:03", "violated"),
        ("Pay must not start while refund runs.", "refund@10:00-10:05 pay@10:05-10:06", "ok"),
        ("Pay must not start while refund runs.", "refund@10:00-10:05! pay@10:04-10:06!", "violated"),
        (SAME, "refund(id=1)@10:00-10:05 pay(id=1)@10:02-10:03", "violated"),
        (SAME, "refund(id=1)@10:00-10:05 pay(id=2)@10:02-10:03", "ok"),
        (SAME, "pay(id=1)@10:00-10:05 refund(id=1)@10:02-10:03", "ok"),
        (SAME, "refund(id=1)@10:00-10:05 pay@10:02-10:03", "unsupported"),
    ],
)
def test_only_the_beginning_is_forbidden(rule: str, calls: str, said: str) -> None:
    assert verdict(rule, calls) == said


def test_so_long_after_a_failure_nothing_is_done() -> None:
    rule = "Issue voucher must never happen within 15 minutes after issue refund fails"
    said = (form.format(when) for form, when in product(IN_THE_TIME, AFTER_A_FAILURE))
    assert unlike(said, rule, NAMES) == []


FAILED_REFUND = ("a refund has failed", "a refund failed", "a refund was not successful")
NEEDS_FAILURE = (
    "a voucher only if {}",
    "issue a voucher only after {}",
    "no voucher unless {}",
    "only issue a voucher when {}",
    "vouchers are only allowed if {}",
    "do not issue a voucher until {}",
    "unless {}, no voucher may be issued",
    "only if {} may a voucher be issued",
    "nobody issues a voucher unless {}",
    "never issue a voucher before {}",
    "a voucher may only be issued once {}",
)
NEEDS_A_FAILED_ONE = (
    "vouchers need a failed refund first",
    "a voucher may only be issued after a failed refund",
    "no voucher without a failed refund first",
    "a voucher requires a failed refund",
    "a refund must have failed before a voucher is issued",
    "if no refund has failed, no voucher may be issued",
    "only after a failed refund may a voucher be issued",
    "vouchers require an earlier failed refund",
)


def test_what_must_have_failed_first_is_read_in_every_frame() -> None:
    rule = "Issue refund must fail before issue voucher"
    said = (form.format(failed) for form, failed in product(NEEDS_FAILURE, FAILED_REFUND))
    assert unlike([*said, *NEEDS_A_FAILED_ONE], rule, NAMES) == []
    same = (
        "no voucher unless a refund for the same booking id has failed",
        "a voucher only if a refund failed before, same booking id",
        "vouchers need a failed refund with the same booking_id first",
    )
    assert unlike(same, f"{rule} with the same booking_id", NAMES) == []


@pytest.mark.parametrize(
    "said",
    [
        "no refund unless a refund has failed",
        "a refund only if the last refund failed",
        "a voucher only within 10 minutes after a failed refund",
        "vouchers only after 2 failed refunds",
        "if a refund has failed, a voucher may be issued",
    ],
)
def test_other_failures_are_not_needed_first(said: str) -> None:
    with pytest.raises(BadInput):
        demanded(said, NAMES)


FAIL_SAME = "Pay must fail before refund with the same id."


@pytest.mark.parametrize(
    ("rule", "calls", "said"),
    [
        ("Pay must fail before refund.", "pay! refund", "ok"),
        ("Pay must fail before refund.", "pay refund!", "violated"),
        ("Pay must fail before refund.", "refund pay!", "violated"),
        ("Pay must fail before refund.", "pay", "not_applicable"),
        (FAIL_SAME, "pay(id=1)! refund(id=1)", "ok"),
        (FAIL_SAME, "pay(id=1)! refund(id=2)", "violated"),
    ],
)
def test_a_failure_is_needed_first(rule: str, calls: str, said: str) -> None:
    assert verdict(rule, calls) == said


def test_a_second_one_of_the_same_thing_is_none_after_a_success() -> None:
    rule = "Issue refund must never happen after issue refund with the same booking_id"
    said = (
        "no second refund for the same booking id unless the first one failed",
        "never issue a second refund for the same booking id unless the first refund failed",
        "no second refund with the same booking_id unless the first failed",
    )
    assert unlike(said, rule, NAMES) == []


OF_A_POD = (
    "after 3 failed restarts in a row of the same pod, page oncall must follow",
    "if a restart fails 3 times in a row for a pod, page oncall",
    "page oncall when restarting the same pod fails 3 times in a row",
    "page oncall after 3 failed restarts in a row of the same pod",
)


def test_what_is_said_of_failures_is_not_asked_of_who_is_told() -> None:
    assert (
        unlike(OF_A_POD, "If restart pod fails 3 times in a row for one pod, page oncall must follow", NAMES)
        == []
    )
    rolled = "If deploy service fails 2 times, roll back service must follow with the same service"
    assert unlike(["if deploy fails twice for the same service, roll back that service"], rolled, NAMES) == []


PAID = "If pay fails 2 times in a row for one id, notify must follow."


@pytest.mark.parametrize(
    ("rule", "calls", "said"),
    [
        (PAID, "pay(id=1)! pay(id=1)! notify", "ok"),
        (PAID, "pay(id=1)! pay(id=1)! notify(id=1)", "ok"),
        (PAID, "pay(id=1)! pay(id=1)! notify(id=2)", "violated"),
        (PAID, "pay(id=1)! pay(id=2)! verify", "not_applicable"),
        (PAID, "pay(id=1)! pay(id=1)! verify", "violated"),
        (
            "If pay fails 2 times in a row for one id, notify must never happen.",
            "pay(id=1)! pay(id=1)! notify",
            "violated",
        ),
        (
            "If pay fails 2 times in a row for one id, notify must never happen.",
            "pay(id=1)! pay(id=1)! notify(id=2)",
            "ok",
        ),
    ],
)
def test_an_answer_without_that_argument_is_for_any(rule: str, calls: str, said: str) -> None:
    assert verdict(rule, calls) == said


def test_a_failed_one_that_is_undone_is_that_one() -> None:
    said = [f"{who} failed deploy {must} rolled back" for who in ("a", "every", "each")
            for must in ("must be", "has to be", "is", "must always be")]  # fmt: skip
    assert (
        unlike(said, "If deploy service fails, roll back service must follow with the same service", NAMES)
        == []
    )
    assert "same" not in demanded("if a deploy fails, page oncall must follow", NAMES)

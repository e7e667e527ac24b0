"""What is counted, by runs that keep it and runs that break it; and what a refusal says of two meanings."""

from __future__ import annotations

import orjson
import pytest

from synth.errors import BadInput
from synth.policies import PolicySet, judge_policies, load_policies
from synth.policies.meanings import demands_of
from tests.synth.policies.test_hundred_sentences import run

TOOLS = {
    "look up account": "look_up", "restart modem": "restart", "run line test": "line_test",
    "issue credit": "credit", "send sms": "sms", "close ticket": "close",
}  # fmt: skip


def policies(rule: str, **more: str) -> PolicySet:
    said = {"actions": {**TOOLS, **more}, "policies": [{"id": "said", "rule": rule}]}
    return load_policies(orjson.dumps(said).decode() + "\n")


def verdict(rule: str, calls: str) -> str:
    return judge_policies(policies(rule), run(calls))[0].verdict


def refusal(rule: str, **more: str) -> str:
    with pytest.raises(BadInput) as bad:
        policies(rule, **more)
    return str(bad.value)


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        ("At most 2 credits an hour", "credit@10:50 credit@10:55 credit@11:50",
         "credit@10:50! credit@10:55 credit@11:05"),
        ("sms: max 2 a minute", "sms@10:00:00 sms@10:00:30 sms@10:01:00",
         "sms@10:00:50 sms@10:00:55 sms@10:01:10"),
        ("credits: never two for one customer", "credit(customer=1) credit(customer=2)",
         "credit(customer=1)! credit(customer=1)"),
        ("max one credit per customer, failed tries don't count", "credit(customer=1)! credit(customer=1)",
         "credit(customer=1) credit(customer=1)"),
        ("Never look up the accounts of two different customers", "look_up(customer=1) look_up(customer=1)",
         "look_up(customer=1) look_up(customer=2)"),
        ("Never look up the accounts of two different customers",
         "look_up(customer_id=1) look_up(customer_id=1)",
         "look_up(customer_id=1) look_up(customer_id=2)"),
        ("A run deals with one customer and no other",
         "look_up(customer=1) sms(number=2) credit(customer=1)",
         "look_up(customer=1) sms(number=2) credit(customer=2)"),
        ("All calls of a run go to one and the same line", "restart(line=1) close line_test(line=1)",
         "restart(line=1) line_test(line=2)!"),
        ("The number must be the same for all sms of one customer",
         "sms(customer=1,number=1) sms(customer=2,number=2)",
         "sms(customer=1,number=1) sms(customer=1,number=2)"),
        ("A line must have had two line tests before a restart",
         "line_test(line=1) line_test(line=1) restart(line=1)",
         "line_test(line=1) line_test(line=2) restart(line=1)"),
    ],
)  # fmt: skip
def test_what_is_counted(rule: str, kept: str, broken: str) -> None:
    assert (verdict(rule, kept), verdict(rule, broken)) == ("ok", "violated")


def test_calls_that_have_no_such_argument_are_of_no_value() -> None:
    policy = policies("A run deals with one customer and no other")
    [found] = judge_policies(policy, run("sms(number=1) close"))
    assert (found.verdict, found.explanation) == ("not_applicable", "No call has the argument 'customer'.")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("At most 2 restarts or line tests per line",
         "'Restart modem or run line test must happen at most 2 times with the same line' where all of them "
         "are counted together, or 'Restart modem must happen at most 2 times with the same line' and "
         "'Run line test must happen at most 2 times with the same line' where each"),
        ("modems are restarted twice at most",
         "'Restart modem must happen at most 2 times with the same FIELD' where it is, or "
         "'Restart modem must happen at most 2 times'"),
        ("at most 3 line tests before a restart",
         "'Run line test must happen at most 3 times before restart modem'"),
        ("2 restarts and 1 credit at most per run",
         "two policies: 'Restart modem must happen at most 2 times per run' and "
         "'Issue credit must happen at most 1 times per run'"),
        ("lookups: 5 in total and 2 per customer, not more",
         "'Look up account must happen at most 5 times' and "
         "'Look up account must happen at most 2 times with the same customer'"),
        ("Per line restart modem at most twice, and at least 10 minutes apart",
         "'Restart modem must happen at most 2 times with the same line' and "
         "'Restart modem must never happen within 10 minutes after restart modem with the same line'"),
        ("each customer gets at most 4 credits per clock hour", "an hour of the clock (10:00 to 11:00)"),
        ("At most 4 credits each hour", "an hour of the clock (10:00 to 11:00) is not in the language"),
        ("Never have more than 3 modems restarted at once", "in a state at a time is not in the language"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_may_be_meant(rule: str, says: str) -> None:
    assert says in refusal(rule)


def test_several_successes_are_spelled_so() -> None:
    [policy] = policies("At most 2 credits, failed tries don't count").policies
    assert demands_of(policy.rule) == "At most 2 successes of credit."


def test_calls_are_of_any_tool_unless_an_action_calls_somebody() -> None:
    assert verdict("At most 2 calls per run", "sms close sms") == "violated"
    either = refusal("At most 2 calls per run", **{"call customer": "call"})
    assert "'Any tool must happen at most 2 times per run'" in either

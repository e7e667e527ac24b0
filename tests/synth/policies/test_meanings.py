"""What a rule demands in plain words, and that the judge agrees with those words."""

from __future__ import annotations

import pytest

from synth.policies.kinds import KINDS
from synth.policies.kinds.kind import Field
from synth.policies.meanings import reading_of
from tests.support.policing import judged, policy, rules_file

READINGS = {
    "A must happen before B.": "Each call of do_b needs an earlier success of do_a.",
    "A must precede B with the same id.": (
        "Each call of do_b needs an earlier success of do_a with the same id."
    ),
    "A and C must happen before B.": (
        "Each call of do_b needs an earlier success of do_a. "
        "Each call of do_b needs an earlier success of do_c."
    ),
    "A must be followed by B within 2 minutes.": (
        "After each success of do_a, do_b must succeed within 2 minutes; without one it need not."
    ),
    "A must never happen after B.": "Once do_b has succeeded, do_a must not be called any more.",
    "A must never happen.": "No call of do_a.",
    "If B fails, A must follow.": ("After each failure of do_b, do_a must succeed; without one it need not."),
    "If B fails, A must never happen afterwards.": (
        "Once do_b has failed, do_a must not be called any more."
    ),
    "A must never happen within 2 minutes after B with the same id.": (
        "Once do_b has succeeded, do_a must not be called for 2 minutes with the same id."
    ),
    "A must never happen between B and C.": (
        "Once do_b has succeeded, do_a must not be called before do_c has succeeded, where that comes later."
    ),
    "A must never happen after B until C with the same id.": (
        "Once do_b has succeeded, do_a must not be called before do_c has succeeded with the same id, "
        "whether or not that comes."
    ),
    "If B fails, A must never happen until C succeeds.": (
        "Once do_b has failed, do_a must not be called before do_c has succeeded, whether or not that comes."
    ),
    "A must happen at most 2 times.": "At most 2 calls of do_a, failed ones included.",
    "A must happen at least 1 time.": "At least 1 success of do_a; failed calls do not count.",
    "A must happen exactly 2 times.": "Exactly 2 successes of do_a; failed calls do not count.",
    "A must happen at most 3 times within 1 hour.": (
        "At most 3 calls of do_a within any 1 hour, failed ones included."
    ),
    "A must happen at most 1 time with the same id.": (
        "At most 1 call of do_a with the same id, failed ones included."
    ),
    "The sum of args.amount of A must be at most 12.50.": (
        "Over the calls of do_a, amount adds up to at most 12.5, failed calls included."
    ),
    "A must happen at least 2 times before B.": (
        "Before each call of do_b, 2 successes of do_a must have ended."
    ),
    "A must happen at least 2 times before B with different id.": (
        "Before each call of do_b, 2 successes of do_a, with different id must have ended."
    ),
    "A must happen at most 2 times before B.": (
        "Before the first call of do_b, at most 2 calls of do_a may begin, failed ones included."
    ),
    "If A fails 2 times, B must never happen.": (
        "Once do_a has failed 2 times, do_b must not be called any more."
    ),
    "If A fails 2 times in a row, B must never happen.": (
        "Once do_a has failed 2 times in a row, do_b must not be called any more."
    ),
    "If A fails 2 times, B must follow within 5 minutes with the same id.": (
        "Once do_a has failed 2 times, do_b must succeed after that within 5 minutes with the same id."
    ),
    "If A fails, it must be tried again.": (
        "After each failure of do_a, do_a must be tried again; without one it need not."
    ),
    "A must not overlap each other with the same id.": (
        "No call of do_a runs while another of do_a does with the same id."
    ),
    "A must never happen on Fridays after 15:00.": ("None of the calls of do_a start after 15:00 on Friday."),
    "A must happen on Mondays between 09:00 and 17:00.": (
        "Calls of do_a start between 09:00 and 17:00 on Monday only."
    ),
    "B must not happen more often than A.": (
        "Each call of do_b needs an earlier success of do_a of its own, that serves no other one."
    ),
    "A must happen as often as B.": "In the end do_a has succeeded as often as do_b.",
    "A must fail at most 2 times.": "At most 2 failures of do_a.",
    "A must succeed at most 1 time per run.": "At most 1 success of do_a in one run.",
    "A must never fail.": "No failure of do_a.",
    "A must fail at most 2 times within 1 hour.": "At most 2 failures of do_a within any 1 hour.",
    "A must happen at most 2 times in a row.": (
        "At most 2 calls of do_a, with no other call between, failed ones included."
    ),
    "A must fail at most 2 times in a row.": (
        "At most 2 failures of do_a, with no call of it between that did not fail."
    ),
    "A must happen with at most 2 different id.": (
        "The calls of do_a, failed ones included, have at most 2 different id."
    ),
    "A must happen with at least 2 different id.": "The successes of do_a have at least 2 different id.",
    "A must take at most 2 minutes.": "Each call of do_a ends at most 2 minutes after it began.",
    "A must take less than 2 minutes.": "Each call of do_a ends less than 2 minutes after it began.",
    "A must not start while B runs.": "No call of do_a starts while one of do_b runs.",
    "A must fail before B.": "Each call of do_b needs an earlier failure of do_a.",
    "The first call must be A.": "The first call that is tried is one of do_a.",
    "The last call must be A or B.": "The last call of a run that has ended is a success of do_a or do_b.",
    "The x of A must be at most the x of B.": (
        "The x of do_a must be at most the x of the latest success of do_b before it; "
        "without one nothing is asked."
    ),
    "A must be immediately followed by B.": (
        "After each success of do_a, a success of do_b comes before any other call begins."
    ),
    "If A happens, the last call must be B.": (
        "The last call of a run that has ended and in which do_a has succeeded is a success of do_b."
    ),
    "Any tool but B must never happen after A.": (
        "Once do_a has succeeded, any tool other than do_b must not be called any more."
    ),
    "A must happen immediately before B.": "The call directly before each call of do_b is a success of do_a.",
    "A must happen immediately before B with the same id.": (
        "The call directly before each call of do_b is a success of do_a with the same id."
    ),
    "A must start within 5 minutes after B.": (
        "Each call of do_a starts at most 5 minutes after a success of do_b ended."
    ),
    "A must start within 5 minutes before B.": (
        "Each call of do_a starts at most 5 minutes before a success of do_b starts."
    ),
    "A must start within 5 minutes of B.": (
        "Each call of do_a starts at most 5 minutes before or after a success of do_b, or while it runs."
    ),
    "A must start at least 1 hour after B.": (
        "Each call of do_a starts at least 1 hour after a success of do_b ended."
    ),
    "A must not overlap B.": "No call of do_a runs while one of do_b does.",
    "A must not overlap A.": "No call of do_a runs while another of do_a does.",
    "A must be alone in its turn.": (
        "Each call of do_a is all that its model message has: no other call, and no text."
    ),
    "A must never happen on weekends.": (
        "Calls of do_a start on Monday, Tuesday, Wednesday, Thursday, Friday only."
    ),
    "A must happen after 09:00.": "Each call of do_a starts no earlier than 09:00.",
    "A must happen after 09:00, and A must happen before 17:00.": (
        "Each call of do_a starts no earlier than 09:00 and has ended by 17:00."
    ),
    '"D and E" must happen before B.': "Each call of do_b needs an earlier success of do_d or do_e.",
    "A must happen before any tool.": "Each call of any other tool needs an earlier success of do_a.",
    "A by billing must never happen.": "No call of do_a by the agent billing.",
}


@pytest.mark.parametrize(("sentence", "reading"), READINGS.items())
def test_a_sentence_is_read_back_in_words_that_say_which_calls_count(sentence: str, reading: str) -> None:
    assert reading_of(rules_file(sentence).policies[0].rule) == reading


def test_every_kind_that_a_sentence_states_has_a_reading() -> None:
    stated = {type(rules_file(sentence).policies[0].rule) for sentence in READINGS}
    by_sentence = {kind for kind in KINDS if not all(isinstance(form, Field) for form in kind.forms)}
    assert by_sentence <= stated


def test_what_a_field_states_is_in_no_words_of_ours() -> None:
    (guarded,) = policy("guard: {calls: A, check: 'args.n > 1'}").policies
    assert reading_of(guarded.rule) == ""


@pytest.mark.parametrize(
    ("sentence", "calls", "verdict"),
    [
        ("A must happen before B.", "b", "violated"),
        ("A must happen before B.", "a! b", "violated"),  # a success
        ("A must happen before B.", "a", "not_applicable"),  # each call of B
        ("A must be followed by B.", "b", "not_applicable"),  # without one it need not
        ("A must be followed by B.", "a b!", "violated"),  # B must succeed
        ("A must happen at most 1 time.", "a! a", "violated"),  # failed ones included
        ("A must happen exactly 1 time.", "a! a", "ok"),  # failed calls do not count
        ("A must never happen after B.", "b! a", "not_applicable"),  # once it has succeeded
        ("A must never happen between B and C.", "b a", "ok"),  # where that comes later
        ("A must never happen between B and C.", "b a c", "violated"),
        ("A must never happen after B until C.", "b a", "violated"),  # whether or not that comes
        ("If B fails, A must follow.", "b! a!", "violated"),  # A must succeed
        ("If B fails, A must never happen afterwards.", "b a", "not_applicable"),  # once it has failed
        ("A must happen immediately before B.", "a c b", "violated"),  # directly before
        ("A must happen before any tool.", "a c", "ok"),  # any other
    ],
)
def test_the_judge_agrees_with_the_reading(sentence: str, calls: str, verdict: str) -> None:
    assert judged(sentence, calls).verdict == verdict

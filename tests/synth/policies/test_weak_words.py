"""Words that take back what a sentence seems to ask: each is refused, and what sounds like them is read."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

PHRASES = (
    "issue refund", "verify passenger", "request documents", "book inspection", "check in patient",
    "weigh pallet", "build image", "wipe laptop", "flag critical value", "page doctor", "rerun job",
    "create return label", "pay bill", "close claim",
)  # fmt: skip
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in PHRASES})

WEAK = """
might | Once a critical value has been flagged, the agent might page a doctor within 15 minutes.
might | Closing a claim with outcome "withdrawn" might never happen.
may | Once a critical value has been flagged, the agent may page a doctor within 15 minutes.
may | Bills may be paid to at least 3 different billers.
not only | Images may not only be built if the branch is main or hotfix.
does not have to | The deadline of a document request does not have to be at least 14 days.
do not have to | You do not have to request documents with a deadline under 14.
Try to | Try to verify the passenger before issuing a refund.
attempt to | The agent must attempt to verify the passenger before issuing a refund.
attempted | Verifying the passenger has to be attempted before issuing a refund.
attempted | A verification must be attempted before each refund.
another refund | Verify the passenger before another refund.
another refund | Do not issue another refund on weekends.
another doctor | No refund while another doctor is being paged.
further refund | Every further refund needs a verification.
further refund | No further refund without a verification.
are enough | Fewer than 3 refunds are enough.
reruns | Change rerun policy: at most 2 reruns
some job | Rerun some job at most twice.
each job | Rerun each job at least twice.
at most | With the same job_id, at most two reruns are not permitted.
not | Patient check-in may not succeed at most once.
never | Make sure that weighing a pallet never takes up to 45 seconds.
no fee over | Only book an inspection with no fee over 300 once the passenger has been verified.
More than two refunds | More than two refunds need a verification.
Up to 3 refunds | Up to 3 refunds need a verification.
3 failures | Refunds are limited to 3 failures.
number of refunds must be | The number of refunds must be 3.
for two hours | Issue a refund for two hours after verifying the passenger.
minimum time | The minimum time for weighing a pallet is 45 seconds.
a question | Verify the passenger before issuing a refund?
a question | Are refunds forbidden after a verification?
""".strip().splitlines()

OTHERS = """
As soon as one backup has arrived, no laptop may be wiped for the rest of the run.
As of 2027-01-01, verify the passenger before issuing a refund.
Since last Monday, verify the passenger before issuing a refund.
Never wipe a laptop, as of next Monday.
As many verifications as refunds.
Patient check-in may succeed at most once with the different appointment_id.
Request documents: deadline rarely under 14 days
Contract documents: request with deadline hardly under 14
When closing a claim, rarely give outcome "withdrawn".
Never issue a refund between 9 and 17.
Each order gets at least two tries at creating a return label.
""".strip().splitlines()

TRUE = {
    "Images may only be built if the branch is main or hotfix.":
        'No call of build_image with branch other than "main" or "hotfix".',
    "Never attempt to issue a refund before verifying the passenger.":
        "Each call of issue_refund needs an earlier success of verify_passenger.",
    "Verify the passenger before issuing a refund, as the law demands it of us.":
        "Each call of issue_refund needs an earlier success of verify_passenger.",
    "Verify the passenger before issuing a refund, ok?":
        "Each call of issue_refund needs an earlier success of verify_passenger.",
    "Rerun each job at most twice.":
        "At most 2 calls of rerun_job with the same job, failed ones included.",
    "Refunds over 500 need a verification.":
        "Each call of issue_refund with amount over 500 needs an earlier success of verify_passenger.",
    "At most 3 refunds, failures included.": "At most 3 calls of issue_refund, failed ones included.",
    "The number of refunds must be at most 3.": "At most 3 calls of issue_refund, failed ones included.",
    "No refund for two hours after a verification.":
        "Once verify_passenger has succeeded, issue_refund must not be called for 2 hours.",
    "After a refund no further refund may be issued.":
        "Once issue_refund has succeeded, issue_refund must not be called any more.",
    "If a page to a doctor fails, the next call has to be another page.":
        "After each failure of page_doctor, a success of page_doctor comes before any other call begins.",
    "After verifying the passenger with the same customer, never issue a refund.":
        "Once verify_passenger has succeeded, issue_refund must not be called any more with the same "
        "customer.",
    "As many refunds as verifications and no more.":
        "Each call of issue_refund needs an earlier success of verify_passenger of its own, that serves no "
        "other one.",
}  # fmt: skip


@pytest.mark.parametrize("line", WEAK)
def test_a_word_that_takes_back_what_is_asked_is_named(line: str) -> None:
    word, _, sentence = line.partition(" | ")
    with pytest.raises(BadInput) as refused:
        read_rule(sentence, NAMES, OURS)
    assert word.lower() in refused.value.message.lower()


@pytest.mark.parametrize("sentence", OTHERS)
def test_what_is_no_name_of_an_argument_and_no_reason_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        read_rule(sentence, NAMES, OURS)


@pytest.mark.parametrize(("sentence", "demanded"), TRUE.items())
def test_what_sounds_like_them_is_read(sentence: str, demanded: str) -> None:
    assert demands_of(read_rule(sentence, NAMES, OURS)) == demanded

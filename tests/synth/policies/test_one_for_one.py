"""One call of its own for each other call, in the words in which people say it."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

ACTIONS = ("release payment", "get approval", "write receipt", "confirm transfer", "run transfer")
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})
OWN = "Release payment must not happen more often than get approval"
CONFIRMED = "Run transfer must not happen more often than confirm transfer"

MEANT = """
Every release of a payment needs a separate approval.
Each payment release requires an approval of its own beforehand.
No payment release without its own approval.
Never release a payment without an approval of its own.
Get a separate approval before each payment release.
The agent has to obtain an individual approval for every payment release, always before the release.
Approval must be obtained separately for each payment release.
A payment may only be released with its own approval.
No payment may be released without a separate approval.
For each payment release a separate approval is required first.
The number of payment releases must not exceed the number of approvals obtained so far.
Payments must never be released more often than approval has been obtained.
Never release more payments than approvals have been obtained.
The agent must not release more payments than it got approvals.
There must never be more payment releases than approvals.
Payment releases are limited to the number of approvals.
Limit payment releases to the number of approvals obtained so far.
Payment releases: one approval each, obtained beforehand, never reused.
Each payment release uses up one approval.
Each approval covers only one payment release.
No two payment releases may share an approval.
Make sure every payment release has to have a separate approval.
""".strip().splitlines()
WRONG = """
Each payment release needs its own approval afterwards.
A payment release does not need its own approval.
Not every payment release needs a separate approval.
Write a separate receipt for each payment release.
Each payment release needs one approval.
Approvals must not be reused.
Get a separate approval after each payment release.
Each payment release needs a separate approval or receipt.
Every transfer run needs a dedicated confirmation or approval.
""".strip().splitlines()


def read(sentence: str) -> str:
    return demands_of(read_rule(sentence, NAMES, OURS))


@pytest.mark.parametrize("sentence", MEANT)
def test_one_of_its_own_for_each(sentence: str) -> None:
    assert read(sentence) == read(OWN)


def test_what_is_got_is_named_by_its_noun_or_by_what_is_done() -> None:
    assert read("Each run of a transfer needs a separate confirmation.") == read(CONFIRMED)


@pytest.mark.parametrize("sentence", WRONG)
def test_what_asks_for_no_one_of_its_own(sentence: str) -> None:
    with pytest.raises(BadInput):
        read(sentence)

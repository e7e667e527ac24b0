"""What is said of failures, composed of its parts: what failed, what follows, how long to wait, how"
" often."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from tests.support import readings

ACTIONS = ("import catalogue", "notify librarian", "lend book", "renew card", "verify reader", "print label")
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})

FAILED = (
    "a failed catalogue import", "each failed import of the catalogue", "any failed attempt to import"
    " the catalogue",
    "every unsuccessful attempt at importing the catalogue", "a catalogue import failure",
    "a failure of import catalogue", "a failed import catalogue",
)  # fmt: skip
FAILS = (
    "a catalogue import fails", "importing the catalogue fails", "import catalogue goes wrong",
    "the agent tries to import the catalogue and that fails", "an attempt to import the catalogue fails",
)  # fmt: skip
THREE = (
    "three failed catalogue imports in a row", "3 consecutive catalogue import failures",
    "three straight failed imports of the catalogue", "3 unsuccessful attempts in a row to import the"
    " catalogue",
)  # fmt: skip
ANSWERS = (
    "{} must be followed by notifying the librarian", "no {bare} without a later notification of the"
    " librarian",
    "never leave {} without a notification of the librarian"
    " afterwards", "{} needs a notification of the librarian",
    "{} requires that the librarian is notified afterwards", "the librarian must be notified after {}",
    "on {}, notify the librarian", "always follow {} with a notification of the"
    " librarian", "{} -> notify librarian",
    "make sure the librarian is notified after {}", "notify librarian has to come after {}",
)  # fmt: skip
RECOVERED = (
    "it succeeds", "a catalogue import succeeds", "the catalogue has been imported successfully",
    "the next successful import of the catalogue", "import catalogue has succeeded again", "one succeeds",
)  # fmt: skip
BLOCKS = (
    "{} blocks book lending until {r}", "after {}, do not lend books until {r}", "no book may be lent"
    " after {} until {r}",
    "after {} put all book lending on hold until {r}", "book lending is suspended after {} until {r}",
    "hold all book lending after {} until {r}", "after {}, book lending has to wait until {r}",
)  # fmt: skip
WAITS = (
    "at least 10 minutes must pass between {} and the next"
    " one", "leave at least 10 minutes between {} and the next import",
    "after {} wait at least 10 minutes before trying again", "after {}, the next attempt must not start"
    " for at least 10 minutes",
    "no new catalogue import until 10 minutes after {}", "no catalogue import before 10 minutes have"
    " passed since {}",
    "a catalogue import must start no earlier than 10 minutes after"
    " {}", "a cooldown of 10 minutes applies to catalogue imports after {}",
    "catalogue imports have to wait 10 minutes or longer after"
    " {}", "after {}, no catalogue import for 10 minutes",
)  # fmt: skip
LIMITED = (
    "failed reader verifications", "failures of verify reader", "unsuccessful attempts to verify a reader",
    "failed attempts at verifying readers", "reader verification failures",
)  # fmt: skip
LIMITS = (
    "at most two {}", "no more than 2 {}", "limit {} to two", "allow at most two {}",
    "the number of {} must not exceed 2", "{} are capped at 2", "more than two {} are forbidden",
    "the agent may have no more than two"
    " {}", "never allow more than 2 {}", "there must not be more than two {}",
)  # fmt: skip
TRIES = (
    "at most two {} per reader_id, failed ones"
    " included", "limit {} to two per reader_id, successful or not",
    "cap {} at 2 per reader_id, failures included", "each reader_id gets at most two {}",
    "no more than 2 {} for the same reader_id, even if earlier ones failed",
)  # fmt: skip
TRIED = (
    "label printing attempts",
    "attempts to print a label",
    "tries at printing a label",
    "print label attempts",
)
WRONG = """
Notify the librarian at most 5 minutes after every failed catalogue import.
Never lend a book within 5 minutes after an attempt to import the catalogue.
After an attempt to import the catalogue, notify the librarian.
A catalogue import must be followed by an attempt to notify the librarian.
If the catalogue import fails, lending books is suspended.
After a failed catalogue import, do not lend books unless the catalogue has been imported.
Wait 10 minutes before importing the catalogue.
A failed catalogue import must not be retried.
Verify reader: two failures are fine, a fourth is forbidden.
If a catalogue import keeps failing, notify the librarian.
At most two failed reader verifications, failed ones included.
""".strip().splitlines()


unlike = partial(readings.unlike, names=NAMES)


def composed(frames: tuple[str, ...], names: tuple[str, ...]) -> list[str]:
    return [frame.format(one, bare=one.partition(" ")[2], r="{r}") for frame, one in product(frames, names)]


def test_what_follows_a_failure() -> None:
    said = [*composed(ANSWERS, FAILED), *(f"if {one}, notify the librarian afterwards" for one in FAILS)]
    assert not unlike(said, "If import catalogue fails, notify librarian must follow")


def test_what_follows_so_many_failures() -> None:
    frames = tuple(frame.replace("{bare}", "{}") for frame in ANSWERS)
    assert not unlike(
        composed(frames, THREE), "If import catalogue fails 3 times in a row, notify librarian must follow"
    )


def test_what_is_blocked_until_a_success() -> None:
    said = [
        one.replace("{r}", RECOVERED[n % len(RECOVERED)]) for n, one in enumerate(composed(BLOCKS, FAILED))
    ]
    assert not unlike(
        said, "If import catalogue fails, lend book must never happen until import catalogue succeeds"
    )


def test_how_long_to_wait_after_a_failure() -> None:
    rule = "Import catalogue must never happen within 10 minutes after import catalogue fails"
    assert not unlike(composed(WAITS, FAILED), rule)


def test_how_often_something_may_fail() -> None:
    assert not unlike(composed(LIMITS, LIMITED), "Verify reader must fail at most 2 times")


def test_how_often_something_may_be_tried() -> None:
    assert not unlike(
        composed(TRIES, TRIED), "Print label must happen at most 2 times with the same reader_id"
    )


def test_so_long_after_a_failure_is_not_so_long_after_a_success() -> None:
    said = (
        "After {} within 5 minutes notify the librarian",
        "Notify the librarian within 5 minutes after {}",
    )
    rule = "If import catalogue fails, notify librarian must follow within 5 minutes"
    assert not unlike(composed(said, FAILED), rule)


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_not_said_of_failures(sentence: str) -> None:
    with pytest.raises(BadInput):
        readings.demanded(sentence.removesuffix("."), NAMES)

"""What excludes what, what is for whom, one for one, and trying again: each part of these in each frame."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from tests.support import readings

ACTIONS = (
    "import catalogue", "notify librarian", "lend book", "reserve book", "sell book", "verify reader",
    "grant extension", "obtain permission", "repair binding", "seal binding", "issue refund",
    "send replacement",
)  # fmt: skip
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})
SAME = ("for the same book_id", "with the same book_id", "per book_id", "for a given book_id")
TWO = (
    "reserve book and sell book", "reserving a book and selling it",
    "a book reservation and a book sale",
)  # fmt: skip
ONE_OF_TWO = ("reserve book or sell book", "either reserve book or sell book")
BANS = (
    "{} must not both happen {s}", "{} must never happen {s}", "both {} {s} is forbidden",
    "{} exclude each other {s}", "{} are mutually exclusive {s}", "{} must not be combined {s}",
    "there must not be both {} {s}", "only one of {} may happen {s}", "at most one of {} {s}",
    "{}: not both {s}", "{}: never both {s}", "no {} {s}", "make sure {} never both happen {s}",
    "the agent must never do both {} {s}",
    "never allow both {} {s}",
    "do not call {} {s}",
    "{} are incompatible {s}",
    "{} may not occur together {s}",
    "it must never happen that both {} are done {s}",
)  # fmt: skip
CHOICES = (
    "{} {s}, not both", "{} {s}, but never both", "{s} {}, never both",
    "the agent may do {} {s}, but not both",
    "only {} {s}, not both",
)  # fmt: skip
OF_A_THING = (
    "no book may be both reserved and sold", "a book must never be reserved as well as sold",
    "no book is both reserved and sold", "a book is either reserved or sold, never both",
    "the same book must not be reserved and sold", "never both reserve a book and sell it",
    "a reserved book must not be sold, nor a sold book reserved",
    "reserved books must not be sold and sold books must not be reserved",
    "a book that was reserved must not be sold, and vice versa",
    "if a book was reserved, it must not be sold, and vice versa",
    "make sure no book is both reserved and sold", "it is forbidden to both reserve a book and sell it",
    "the agent must not reserve a book and also sell it", "do not reserve a book and sell it as well",
)  # fmt: skip
OF_SOMEBODY = (
    "no reader_id may get both a refund and a replacement",
    "no reader_id gets both a refund and a replacement",
    "the same reader_id must not receive both a refund and a replacement",
    "each reader_id may have a refund or a replacement, but not both",
    "a refund rules out a replacement for the same reader_id and the other way round",
    "once a reader_id has had a refund or a replacement, the other one is off limits for it",
    "do not combine a refund with a replacement for the same reader_id",
    "readers can't have a refund plus a replacement for the same reader_id",
    "after a refund, a replacement is forbidden for the same reader_id, and vice versa",
    "the agent must choose between a refund and a replacement for each reader_id",
    "any reader_id gets at most one of refund and replacement",
    "the same reader_id may not be used for both a refund and a replacement",
    "if there was a refund for a reader_id, there must be no replacement, and vice versa",
    "for any reader_id, refunds and replacements are mutually exclusive",
)  # fmt: skip
RETRIES = (
    "a retry of a failed {n}", "a retry of import catalogue", "retries of import catalogue",
    "each catalogue import retry",
)  # fmt: skip
LATER = (
    "must wait at least 10 minutes", "must not start within 10 minutes", "is forbidden for 10 minutes",
    "may only start after 10 minutes", "may come 10 minutes later at the earliest",
    "must not happen before 10 minutes have passed", "must start no sooner than 10 minutes after the failure",
)  # fmt: skip
TRY_AGAIN = (
    "do not retry {} within 10 minutes", "never retry {} before 10 minutes have passed",
    "the agent must not retry {} for 10 minutes", "retry {} only after 10 minutes",
    "retry {} after 10 minutes at the earliest", "the agent may retry {} only after 10 minutes",
    "wait 10 minutes before retrying {}", "retrying {} is forbidden for 10 minutes",
    "retry {} no earlier than 10 minutes after a failure", "no retry of {} within 10 minutes",
)  # fmt: skip
IF_IT_FAILS = (
    "no retry within 10 minutes", "the next one must wait for at least 10 minutes",
    "it may only be tried again after 10 minutes", "import catalogue must not be retried for 10 minutes",
    "the next catalogue import must start at least 10 minutes later",
    "it must not be called again for 10 minutes",
    "hold off for 10 minutes before the next attempt",
    "another catalogue import is forbidden for 10 minutes",
    "wait 10 minutes before calling it again",
    "retry only after at least 10 minutes",
)  # fmt: skip
FAILURES = (
    "if the catalogue could not be imported",
    "if the agent is unable to import the catalogue",
    "whenever there is a catalogue import failure",
    "if import catalogue does not work", "if import catalogue returns an error",
)  # fmt: skip
ANSWERS = (
    "notify librarian must always follow {}", "notify librarian must come after {}",
    "react to {} by notifying the librarian", "for {} there must be a later librarian notification",
    "never leave {} without a librarian notification", "{}: notify librarian required",
)  # fmt: skip
ROWS = (
    "a run of three failed catalogue imports", "a streak of 3 failed catalogue imports",
    "the third consecutive failure of import catalogue",
    "failing three times in a row to import the catalogue",
)  # fmt: skip
RECOVERED = (
    "{}, hold lend book until it succeeds", "{}, it must succeed before a book may be lent",
    "{}, import catalogue must succeed before lend book is allowed again",
    "{}, the catalogue must be imported successfully before any book is lent",
    "{}, a successful one is needed before any book lending",
    "{}, keep book lending blocked until it succeeds",
)  # fmt: skip
AS_OFTEN = (
    "grant extension not more often than obtain permission", "one permission per extension",
    "grant extension at most as often as obtain permission",
    "make sure every extension has its own permission",
    "grant extension may happen no more often than obtain permission",
    "for each extension one permission is needed first", "a new permission is needed for every extension",
    "there must be at least as many permissions as extensions at any time",
    "the agent needs a separate permission for each extension",
    "do not use one permission for two extensions",
    "make sure there are never more extensions than permissions",
    "as many extensions as permissions, no more",
    "without its own permission no extension", "grant extension: one obtain permission per call",
    "a permission can only be used once for an extension", "two extensions need two permissions",
    "grant extension: not more often than obtain permission",
    "extensions: one per permission",
    "grant extension at most once per obtain permission",
    "the number of extensions is limited by the number of permissions",
    "before each extension a separate permission has to be obtained",
    "obtain a new permission for each extension",
    "every extension must be preceded by its own permission",
    "all extensions need their own permission",
    "one permission must not be used for two extensions",
    "make sure grant extension does not happen more often than obtain permission",
    "the number of grant extension calls must not exceed the number of obtain permission calls",
)  # fmt: skip
FOR_WHOM = (
    "extensions only for verified readers", "only verified readers may get an extension",
    "unverified readers must not get an extension", "no extension for unverified readers",
    "extensions are only for verified readers", "extensions only go to readers who have been verified",
    "a reader must be verified before getting an extension",
    "no extension for a reader that has not been verified",
    "make sure readers are verified before they get an extension",
    "extensions are reserved for verified readers",
    "without a successful reader verification for the same reader, no extension",
    "never grant an extension if verify reader has not succeeded for the same reader",
)  # fmt: skip
ONCE_DONE = (
    "sealed bindings are never repaired", "make sure sealed bindings are never repaired",
    "binding sealed: no more repairs", "a binding may only be repaired before it is sealed",
    "a binding may only be repaired as long as it has not been sealed",
    "sealing a binding rules out repairing it later",
    "if a binding is sealed, repairing it is no longer allowed",
    "only bindings that have not been sealed may be repaired",
    "only repair a binding that has not been sealed",
    "bindings must not be repaired once sealed",
    "nothing that was sealed may be repaired",
    "a binding once sealed must not be repaired",
)  # fmt: skip
REFUNDED = (
    "never refund a book that was sold", "a sold book must not be refunded", "sold books are never refunded",
    "no book may be refunded once it has been sold", "if a book was sold, do not refund it",
)  # fmt: skip
WRONG = """
Never reserve a book and sell a book.
A retry of import catalogue may come after 10 minutes.
A failed catalogue import may be retried within 10 minutes.
Import catalogue must not be retried.
Never send a replacement within 10 minutes of retrying the refund.
The next refund after a failed catalogue import must wait 10 minutes.
If import catalogue fails, verify reader must succeed before a book is lent.
One extension per permission.
Two extensions need one permission.
Do not use a permission for an extension.
Unverified readers may get an extension.
Only unverified readers get an extension.
Extensions are not for verified readers twice.
Binding sealed: no more refunds.
Binding not sealed: no more repairs.
If a refund was issued, a replacement must be sent, and vice versa.
Another catalogue import is forbidden for 10 minutes.
A failed catalogue import means waiting at least 10 minutes before the next book sale.
A failed catalogue import must be followed by a pause of 10 minutes.
The number of extensions must not exceed the number of books.
No book may be lent unless the last book lending succeeded.
Reserve book excludes sell book.
""".strip().splitlines()


unlike = partial(readings.unlike, names=NAMES)


def test_two_actions_of_one_thing() -> None:
    said = [
        *(ban.format(two, s=SAME[n % 3]) for n, (ban, two) in enumerate(product(BANS, TWO))),
        *(choice.format(two, s=same) for choice, two, same in product(CHOICES, ONE_OF_TWO, SAME)),
    ]
    assert not unlike(said, "Reserve book and sell book must never both happen with the same book_id")


def test_two_things_done_to_one() -> None:
    assert not unlike(
        list(OF_A_THING), "Reserve book and sell book must never both happen with the same book"
    )


def test_two_things_for_one() -> None:
    rule = "Issue refund and send replacement must never both happen with the same reader_id"
    assert not unlike(list(OF_SOMEBODY), rule)


def test_when_it_may_be_tried_again() -> None:
    failed = ("a failed catalogue import", "import catalogue")
    said = [
        *(f"{retry} {later}".format(n="catalogue import") for retry, later in product(RETRIES, LATER)),
        *(frame.format(one) for frame, one in product(TRY_AGAIN, failed)),
        *(f"if import catalogue fails, {then}" for then in IF_IT_FAILS),
    ]
    assert not unlike(
        said, "Import catalogue must never happen within 10 minutes after import catalogue fails"
    )


def test_what_follows_and_what_waits() -> None:
    said = [f"{failure}, notify the librarian afterwards" for failure in FAILURES]
    said += [answer.format("a failed catalogue import") for answer in ANSWERS]
    assert not unlike(said, "If import catalogue fails, notify librarian must follow")
    rows = [f"{row} must be followed by a librarian notification" for row in ROWS]
    assert not unlike(rows, "If import catalogue fails 3 times in a row, notify librarian must follow")
    held = [one.format("if import catalogue fails") for one in RECOVERED]
    rule = "If import catalogue fails, lend book must never happen until import catalogue succeeds"
    assert not unlike(held, rule)


def test_one_for_each() -> None:
    assert not unlike(list(AS_OFTEN), "Grant extension must not happen more often than obtain permission")


def test_only_for_such() -> None:
    rule = "Verify reader must happen before grant extension with the same reader"
    assert not unlike(list(FOR_WHOM), rule)


def test_what_is_over_then() -> None:
    rule = "Repair binding must never happen after seal binding with the same binding"
    assert not unlike(list(ONCE_DONE), rule)


def test_what_is_given_is_a_verb_of_whatever_it_is_given_for() -> None:
    assert not unlike(list(REFUNDED), "Issue refund must never happen after sell book with the same book")


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_not_said(sentence: str) -> None:
    with pytest.raises(BadInput):
        readings.demanded(sentence.removesuffix("."), NAMES)


def test_until_something_else_is_done_to_it() -> None:
    said = [
        "a reserved book must not be sold until it has been lent",
        "no reserved book may be sold until it is lent",
    ]
    assert not unlike(
        said, "Sell book must never happen after reserve book until lend book with the same book"
    )

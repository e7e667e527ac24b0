"""What hints go by: actions named in passing, misspellings, and sentences too long to search."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.language.lexer import closest_phrase, says_more
from synth.policies import load_policies
from synth.policies.loosely import named
from synth.policies.names import Names, Tools

HEAD = "actions: {move: move, receipt: receipt}\npolicies:\n"


def refused(sentence: str) -> str:
    with pytest.raises(BadInput) as caught:
        load_policies(f"{HEAD}  - {{id: P, rule: {sentence!r}}}\n")
    return caught.value.message


def names(*phrases: str) -> Names:
    return Names({phrase: Tools(phrase, (phrase,)) for phrase in phrases})


def test_an_action_is_known_whatever_the_endings_of_its_words() -> None:
    known = names("cancel booking", "verify passport", "issue boarding pass")
    assert named("cancelling the booking", known) == "cancel booking"
    assert named("verifies a passport and issuing boarding passes", known) == (
        "verify passport and issue boarding pass"
    )
    assert named("cancelling its own booking", known) is None


def test_words_that_fit_two_actions_name_neither() -> None:
    assert named("booking a flight", names("book flight", "book flights")) is None


def test_a_text_that_says_more_is_no_misspelling() -> None:
    assert not says_more("charge crad now", "charge card")
    assert says_more("charge card right now", "charge card")
    assert says_more("not charge card", "charge card")


def test_a_phrase_is_misspelt_word_by_word() -> None:
    assert closest_phrase("must preced") == "must precede"
    assert closest_phrase("must be approved") is None
    assert closest_phrase("must be followed immediately by") is None


def test_a_long_text_is_searched_for_no_hint() -> None:
    moves = "move" + " and move" * 10
    assert refused(f"{moves} must happen only twice").endswith("must happen exactly 2 times'")
    assert "write" not in refused(f"{moves}{' and move' * 50} must happen only twice")
    with pytest.raises(BadInput):
        load_policies(
            f"{HEAD}  - {{id: P, rule: {moves}{' and move' * 50} must never happen more than twice}}\n"
        )


def test_what_a_policy_would_refuse_is_not_suggested() -> None:
    assert refused("Please receipt after move.") == (
        "cannot read 'after'; write 'Move must be followed by receipt' where receipt may not be left out, or "
        "'Move must happen before receipt' where move is needed first"
    )


def test_fewer_than_none_has_no_sentence() -> None:
    assert "write" not in refused("Move must happen fewer than 0 times.")

"""What is not in the language is refused, and the message points at the words."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.language.parse import ParseError, parse
from tests.support.language import actions

NAMES = actions("stock count", "ledger update", "case closing", "review", "release", "review and release")


def problem(text: str) -> tuple[str, str]:
    """(message, the words it points at)"""
    with pytest.raises(ParseError) as caught:
        parse(text, NAMES)
    return caught.value.problem, text[slice(*caught.value.span)]


@pytest.mark.parametrize(
    ("text", "message", "words"),
    [
        (
            "The stok count must precede review.",
            "unknown name 'The stok count'; did you mean 'stock count'?",
            "The stok count",
        ),
        (
            "Stock counts must precede review.",
            "unknown name 'Stock counts'; did you mean 'stock count'?",
            "Stock counts",
        ),
        (
            "Stock count must preced review.",
            "cannot read 'must preced'; did you mean 'must precede'?",
            "must preced",
        ),
        (
            "Stock count, review and release must precede case closing.",
            "a list with commas is ambiguous; join its names with 'and' only",
            "Stock count, review",
        ),
        (
            "Case closing must precede stock count, review and release.",
            "a list with commas is ambiguous; join its names with 'and' only",
            "stock count, review",
        ),
        (
            "Case closing must follow ledger update, and review.",
            "after ', and' a new statement begins, and this one has no verb; "
            "to join names in a list write 'and' without a comma",
            ", and review.",
        ),
        (
            "Stock count which must follow review must precede release.",
            "a comma is missing before 'which'",
            "which",
        ),
        (
            "Stock count, which must follow review must precede release.",
            "a comma is missing before 'must precede'",
            "must precede",
        ),
        ("Before review stock count must happen.", "a comma is missing before 'stock count'", "stock count"),
        (
            "Stock count must precede review and release must follow review.",
            "a comma is missing before 'and', where a new statement begins",
            "and",
        ),
        (
            "Stock count must happen before 15:00 and release must follow review.",
            "a comma is missing before 'and', where a new statement begins",
            "and",
        ),
        (
            "Stock count must precede review but release must follow it.",
            "a comma is missing before 'but'",
            "but",
        ),
        (
            "Stock count must happen before 25:00.",
            "'25:00' is not a time of day; write HH:MM between 00:00 and 24:00",
            "25:00",
        ),
        ("Stock count must happen before 3pm.", "cannot read '3pm'; a clock time is written HH:MM", "3pm"),
        (
            "Stock count must happen once review.",
            "'once' needs a whole clause, as in 'once NAME happens'",
            "once",
        ),
        (
            "Stock count must happen prior to review happens.",
            "'prior to' takes a bare name; for a clause write 'before' or 'after'",
            "prior to",
        ),
        ("Stock count must precede review", "the last sentence has no full stop; end it with '.'", "w"),
        (
            '"stock count must precede review.',
            "this quotation mark is not closed; put the whole name between quotes",
            '"',
        ),
        (
            "Audit and release must precede review.",
            "unknown name 'Audit'; expected one of 'stock count', 'ledger update', 'case closing', 'review', "
            "'release', 'review and release'",
            "Audit",
        ),
        (
            "Must precede review.",
            "unexpected 'Must precede'; expected the name of an action or a word such as 'before' or 'after'",
            "Must precede",
        ),
    ],
)
def test_the_message_names_the_problem_and_the_words(text: str, message: str, words: str):
    assert problem(text) == (message, words)


def test_a_name_with_a_grammar_word_must_be_quoted():
    with pytest.raises(ParseError, match="'after-sales call' contains a grammar word: write it in quotes"):
        parse("The after-sales call must precede review.", actions("after-sales call", "review"))


def test_the_place_is_marked_under_the_line():
    with pytest.raises(ParseError) as caught:
        parse("Stock count must precede review.\nThe revue must precede release.", NAMES)
    assert str(caught.value).splitlines() == [
        "2: unknown name 'The revue'; did you mean 'review'?",
        "  The revue must precede release.",
        "  ^^^^^^^^^",
    ]


def test_the_place_is_kept_when_the_file_becomes_known():
    with pytest.raises(ParseError) as caught:
        parse("Revue must precede release.", NAMES)
    placed = caught.value.at(file="rules.txt")
    assert isinstance(placed, ParseError)
    assert str(placed).startswith("rules.txt:1: unknown name")
    assert placed.span == (0, 5)


def test_long_lines_are_cut_around_the_place():
    long = "Stock count must precede review. " * 20
    with pytest.raises(ParseError) as caught:
        parse(f"{long}Revue must precede release.", NAMES)
    line, mark = str(caught.value).splitlines()[1:]
    assert len(line) <= 102
    begin = mark.index("^")
    assert line[begin : mark.rindex("^") + 1] == "Revue"


@pytest.mark.parametrize("text", ["", "   \n "])
def test_an_empty_paragraph_is_refused(text: str):
    with pytest.raises(BadInput, match="the paragraph is empty"):
        parse(text, NAMES)

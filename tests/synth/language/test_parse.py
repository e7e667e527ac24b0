"""Every production of the language, by example."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.formal.constraints import Before
from synth.language.grammar import Form, Moment, Names, Relative, SubSentence
from synth.language.parse import parse
from synth.language.words import Relation
from tests.support.language import ABCD, actions, said, short


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Audit must precede briefing.", "a1<a2"),
        ("Audit must follow briefing.", "a2<a1"),
        ("Audit must happen before briefing.", "a1<a2"),
        ("Audit must happen after briefing.", "a2<a1"),
        ("Before briefing, audit must happen.", "a1<a2"),
        ("After briefing, audit must happen.", "a2<a1"),
        ("Audit must happen before briefing happens.", "a1<a2"),
        ("Audit must happen once briefing happens.", "a2<a1"),
        ("Before briefing happens, audit must happen.", "a1<a2"),
        ("Once briefing happens, audit must happen.", "a2<a1"),
        ("Audit and briefing must precede cleanup and delivery.", "a1<a3 a1<a4 a2<a3 a2<a4"),
        ("Audit, which must follow cleanup, must precede briefing.", "a1<a2 a3<a1"),
        ("Audit must precede briefing, which must happen after cleanup.", "a1<a2 a3<a2"),
        ("Audit and briefing, which must follow cleanup, must precede delivery.", "a1<a4 a2<a4 a3<a1 a3<a2"),
        (
            "Audit must precede briefing, which must follow cleanup, which must follow delivery.",
            "a1<a2 a3<a2 a4<a3",
        ),
        ("Before briefing, which must follow cleanup, audit must happen.", "a1<a2 a3<a2"),
        ("Before briefing, which must follow cleanup, happens, audit must happen.", "a1<a2 a3<a2"),
        ("Audit must happen before briefing, which must follow cleanup, happens.", "a1<a2 a3<a2"),
        ("Audit must happen before 15:00.", "a1<=900"),
        ("Audit must happen after 09:00.", "a1>=540"),
        ("Audit must follow 09:00.", "a1>=540"),
        ("Audit and briefing must precede 15:00.", "a1<=900 a2<=900"),
        ("After 9:00, audit must happen.", "a1>=540"),
        ("Audit, which must happen before 24:00, must precede briefing.", "a1<a2 a1<=1440"),
        ("Audit must precede briefing; cleanup must follow delivery.", "a1<a2 a4<a3"),
        ("Audit must precede briefing, whereas cleanup must follow delivery.", "a1<a2 a4<a3"),
        (
            "Audit must precede briefing, which must follow cleanup; delivery must follow audit.",
            "a1<a2 a3<a2 a1<a4",
        ),
        ("Before A1 task, b must happen.", "a2<a1"),
    ],
)
def test_every_production_means_what_the_paper_says(text: str, meaning: str):
    names = actions("A1 task", "b") if "A1" in text else ABCD
    assert said(text, names) == meaning.split()


def test_case_articles_and_white_space_do_not_matter():
    names = actions("stock count", "the ledger update")
    assert said("THE  stock\n count MUST precede Ledger Update.", names) == ["a1<a2"]


def test_a_tree_has_the_shape_of_its_text():
    (sentence,) = parse(
        "Before 15:00, audit and briefing, which must follow cleanup, must happen.", ABCD
    ).sentences
    relative = Relative(Form.VERB, Relation.SUCCEEDS, Names(("a3",)))
    assert sentence.parts == (
        SubSentence(Form.FRONTED, Relation.PRECEDES, Names(("a1", "a2"), relative), Moment(900)),
    )


def test_spans_are_the_smallest_clause_in_code_points_of_the_given_text():
    text = (
        "Ünser Cafe Größe must precede audit.\n 🎈 plan, which must follow audit, must happen before 15:00."
    )
    names = actions("ünser cafe größe", "audit", "🎈 plan")
    found = {short(c): (c.sentence, text[slice(*c.span)]) for c in parse(text, names).constraints if c.span}
    assert found == {
        "a1<a2": (0, "Ünser Cafe Größe must precede audit"),
        "a3<=900": (1, "🎈 plan, which must follow audit, must happen before 15:00"),
        "a2<a3": (1, "which must follow audit"),
    }


def test_mentions_are_where_actions_are_named():
    text = 'The audit must precede "review and release".'
    names = actions("audit", "review and release")
    found = [(action, text[slice(*span)]) for action, span in parse(text, names).mentions]
    assert found == [("a1", "The audit"), ("a2", '"review and release"')]


def test_names_can_be_objects_of_the_public_spelling():
    names = [{"id": "x", "phrase": "audit", "tool": "t1"}, {"id": "y", "phrase": "briefing", "tool": "t2"}]
    assert parse("Audit must precede briefing.", names).constraints == (Before("x", "y", 0, (0, 27)),)


def test_two_names_and_a_name_that_joins_them_are_told_apart():
    names = actions("review", "release", "review and release")
    assert said('Review and release must precede "review and release".', names) == ["a1<a3", "a2<a3"]


def test_curly_quotes_are_quotes():
    assert said("“review and release” must precede audit.", actions("review and release", "audit")) == [
        "a1<a2"
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([{"id": "a", "phrase": ""}], "has no words"),
        ([{"id": "a", "phrase": "the"}], "has no words"),
        ([{"id": "a", "phrase": 'say "hi"'}], "contains a quotation mark"),
        ([{"id": "a", "phrase": "Audit"}, {"id": "b", "phrase": "the  audit"}], "read the same"),
        ([{"id": "a", "phrase": "x"}, {"id": "a", "phrase": "y"}], "two names have the id 'a'"),
        ([{"id": "a"}], r"names\[0\].phrase: expected text, got None"),
        ([{"phrase": "a"}], r"names\[0\].id: expected text, got None"),
    ],
)
def test_unusable_names_are_refused(names, message: str):
    with pytest.raises(BadInput, match=message):
        parse("X must precede y.", names)

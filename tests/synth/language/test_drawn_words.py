"""Sentences that two readers would read differently are read, and no longer written."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.cases.mutate import mutants
from synth.language.grammar import Form, Names, Sentence, Target
from synth.language.parse import ParseError, must_show_number, parse
from synth.language.words import CONJUNCTIONS, GRAMMAR_WORDS, VERBS, Relation, needs_quotes
from synth.llm.extract import meaning

NAMES = [{"id": n, "phrase": n, "tool": n} for n in ("alpha", "beta", "gamma")]
FORBIDDEN = re.compile(r"\bonly once\b|\bsucceed\b|\bearlier than when\b|, while\b")


def lists_in(target: Target) -> Iterable[Names]:
    if isinstance(target, Names):
        yield target
        if target.relative is not None:
            yield from lists_in(target.relative.target)


def forbidden(text: str, sentences: Iterable[Sentence]) -> list[str]:
    """What a paragraph says that it must not, by its words and by its trees."""
    found = FORBIDDEN.findall(text)
    for part in (part for sentence in sentences for part in sentence.parts):
        if part.form is Form.FRONTED and isinstance(part.target, Names) and len(part.subject.actions) > 1:
            found.append("a list after a fronted list")
        for names in (*lists_in(part.subject), *lists_in(part.target)):
            clause = names.relative
            if clause is not None and clause.span is not None and len(names.actions) > 1:
                said = text[slice(*clause.span)]
                found += [] if re.match(r"which (have|need) to ", said) else [said]
    return found


def all_forbidden(cases: Iterable[Case]) -> list[str]:
    return [
        one
        for case in cases
        for one in forbidden(case.paragraph, parse(case.paragraph, case.actions).sentences)
    ]


@pytest.mark.parametrize(
    "each", [pytest.param(60, id="a few"), pytest.param(1_500, id="many", marks=pytest.mark.heavy)]
)
def test_no_paragraph_has_a_shape_that_readers_differ_on(each: int) -> None:
    for mode in ("order", "timed"):
        cases = list(generate(each, 77, Options(actions=(3, 8), mode=mode), confirm=False))  # type: ignore[arg-type]
        assert all_forbidden(cases) == []
        few = cases[: each // 20]
        assert (
            all_forbidden(m for c in few for layer in ("terminal", "structure") for m in mutants(c, layer, 3))
            == []
        )  # type: ignore[arg-type]


def test_clauses_after_lists_and_fronted_lists_are_drawn_all_the_same() -> None:
    cases = list(generate(150, 78, Options(actions=(4, 7)), confirm=False))
    parts = [p for c in cases for s in parse(c.paragraph, c.actions).sentences for p in s.parts]
    lists = [names for p in parts for t in (p.subject, p.target) for names in lists_in(t)]
    assert any(len(names.actions) > 1 and names.relative for names in lists)
    assert {p.form for p in parts if len(p.subject.actions) > 1} >= {Form.VERB, Form.LED}
    assert any(p.form is Form.FRONTED for p in parts)
    text = " ".join(case.paragraph for case in cases)
    assert "come at some point after" in text
    assert "any time before" in text.lower()
    assert ", which must " in text  # after one name every verb is drawn


@pytest.mark.parametrize(
    "text",
    [
        "Alpha must succeed beta.",
        "Alpha must happen only once beta happens.",
        "Beta must happen earlier than when alpha happens.",
        "Alpha must follow beta, while gamma must follow beta.",
        "After beta, alpha and gamma must happen.",
        "Alpha and gamma, which must follow beta, must precede beta.",
        "Alpha must come at some point after beta.",
        "Any time before alpha happens, beta must happen.",
    ],
)
def test_what_is_no_longer_drawn_is_still_read(text: str) -> None:
    assert parse(text, NAMES).constraints


def test_the_new_words_say_what_they_seem_to() -> None:
    after, before = (
        "Alpha must come at some point after beta.",
        "Beta must happen any time before alpha happens.",
    )
    ids = ["alpha", "beta", "gamma"]
    assert meaning(ids, parse(after, NAMES).constraints) == meaning(ids, parse(before, NAMES).constraints)


def test_seven_verbs_and_four_conjunctions_are_left() -> None:
    for relation in Relation:
        assert len([verb for verb in VERBS[relation] if verb.drawn]) >= 7
        assert len([link for link in CONJUNCTIONS[relation] if link.drawn]) >= 4


def test_a_name_may_have_the_word_any_but_no_beginning_of_a_phrase() -> None:
    assert "any" not in GRAMMAR_WORDS
    assert [needs_quotes(name) for name in ("any tool", "any time booking", "Any Time")] == [
        False,
        True,
        True,
    ]


# ---------------------------------------------------------------- what people write


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Alpha and beta, which must follow gamma, must happen before 15:00.", "which must follow gamma"),
        (
            "Gamma must precede alpha and beta, which has to happen after 09:00.",
            "which has to happen after 09:00",
        ),
        ("Alpha must precede gamma, which must follow alpha and beta, which should precede 10:00.", None),
    ],
)
def test_a_clause_after_a_list_that_hides_its_number_is_refused(text: str, marked: str | None) -> None:
    with pytest.raises(ParseError, match="can mean the whole list or its last name") as refused:
        must_show_number(parse(text, NAMES))
    if marked is not None:
        assert text[slice(*refused.value.span)] == marked


def test_a_clause_that_shows_its_number_or_follows_one_name_is_accepted() -> None:
    for text in (
        "Alpha and beta, which have to follow gamma, must happen before 15:00.",
        "Alpha and beta, which Need  to happen after 09:00, must precede gamma.",
        "Alpha, which must follow gamma, must precede beta.",
    ):
        assert must_show_number(parse(text, NAMES)).constraints

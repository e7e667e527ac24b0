"""Sentences that two readers would read differently are read, and no longer written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Literal

import pytest

from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.cases.mutate import Layer, mutants
from synth.cases.restructure import equivalent_sentences
from synth.formal.constraints import Before
from synth.language.grammar import Form, Moment, Names, Sentence, Target
from synth.language.parse import ParseError, must_show_number, parse
from synth.language.words import CONJUNCTIONS, GRAMMAR_WORDS, VERBS, Relation, needs_quotes
from synth.llm.extract import meaning
from tests.support.soak import new_seed, tell, tries

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


@pytest.mark.parametrize("mode", ["order", "timed"])
def test_no_paragraph_has_a_shape_that_readers_differ_on(mode: Literal["order", "timed"]) -> None:
    """Of 3,000 cases under `make soak`, and of mutants of some of them."""
    seed, count = new_seed(), tries(1_500)
    cases = list(generate(count, seed, Options(actions=(3, 8), mode=mode), confirm=False))
    few = cases[: max(2, count // 20)]
    layers: tuple[Layer, ...] = ("terminal", "structure")
    made = [mutant for case in few for layer in layers for mutant in mutants(case, layer, 3)]
    found = all_forbidden([*cases, *made])
    tell(f"paragraphs of section 9, {mode}", Counter(cases=count, mutants=len(made), forbidden=len(found)))
    assert found == [], f"PDOCTOR_SEED={seed}"


def test_an_order_said_anew_has_no_fronted_list_before_a_list() -> None:
    ids = tuple("abcdefgh")
    order = [Before(first, then) for first in ids[:4] for then in ids[4:]]
    drawn = [
        part
        for seed in range(60)
        for sentence in equivalent_sentences(Random(seed), ids, order)
        for part in sentence.parts
    ]
    fronted = [part for part in drawn if part.form is Form.FRONTED]
    assert {len(part.subject.actions) for part in fronted} == {1}
    assert max(len(names.actions) for part in fronted for names in lists_in(part.target)) > 1
    others = {part.form for part in drawn if len(part.subject.actions) > 1}
    assert others == set(Form) - {Form.FRONTED}


def test_clauses_after_lists_and_fronted_lists_are_drawn_all_the_same() -> None:
    cases = list(generate(150, 78, Options(actions=(4, 7)), confirm=False))
    parts = [p for c in cases for s in parse(c.paragraph, c.actions).sentences for p in s.parts]
    lists = [names for p in parts for t in (p.subject, p.target) for names in lists_in(t)]
    assert any(len(names.actions) > 1 and names.relative for names in lists)
    assert {p.form for p in parts if len(p.subject.actions) > 1} >= {Form.VERB, Form.LED}
    assert any(p.form is Form.FRONTED for p in parts)
    timed = generate(40, 78, Options(actions=(4, 7), mode="timed"), confirm=False)
    said = [p for c in timed for s in parse(c.paragraph, c.actions).sentences for p in s.parts]
    at_clock = [p for p in said if p.form is Form.FRONTED and isinstance(p.target, Moment)]
    assert any(len(p.subject.actions) > 1 for p in at_clock)  # a clock time is no list
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

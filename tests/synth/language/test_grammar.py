"""The grammar: expansion counts, words, and the proof that it has no conflict."""

from __future__ import annotations

import pytest
from lark import Lark
from lark.exceptions import GrammarError

from synth.language.grammar import expansions
from synth.language.parse import GRAMMAR, _GivenTokens
from synth.language.words import (
    CONJUNCTIONS,
    GRAMMAR_WORDS,
    HAPPENINGS,
    PREPOSITIONS,
    VERBS,
    Relation,
    needs_quotes,
    spelled,
)


@pytest.mark.parametrize(("depth", "count"), [(0, 10), (1, 250), (2, 4_410)])
def test_expansions_of_one_sub_sentence_are_counted(depth: int, count: int):
    assert len(set(expansions(depth))) == count


@pytest.mark.heavy
def test_expansions_to_depth_three_are_counted():
    assert sum(1 for _ in expansions(3)) == 72_250


def strict(grammar: str) -> Lark:
    return Lark(grammar, start="paragraph", parser="lalr", lexer=_GivenTokens, strict=True)


def test_the_grammar_is_lalr_without_any_conflict():
    assert strict(GRAMMAR).parser is not None


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(
            ("| list _AND NAME ", "| list _COMMA NAME -> more\n    | list _AND NAME "), id="comma lists"
        ),
        pytest.param(("| list _AND NAME ", "| list _AND list "), id="lists of lists"),
    ],
)
def test_the_proof_would_see_a_conflict(planted: tuple[str, str]):
    assert planted[0] in GRAMMAR
    with pytest.raises(GrammarError, match=r"(?i)conflict|collision"):
        strict(GRAMMAR.replace(*planted))


@pytest.mark.parametrize("relation", list(Relation))
def test_each_terminal_class_has_enough_words(relation: Relation):
    assert len({verb.text for verb in VERBS[relation]}) >= 7
    assert len({link.text for link in PREPOSITIONS[relation]}) >= 7
    assert len({link.text for link in CONJUNCTIONS[relation]}) >= 4
    assert len({happening.infinitive for happening in HAPPENINGS if happening.drawn}) >= 7


def test_no_word_means_immediately_or_at_the_same_time():
    texts = [word.text for table in (VERBS, PREPOSITIONS, CONJUNCTIONS) for r in table for word in table[r]]
    forbidden = {"immediately", "directly", "soon", "right", "next", "while", "when", "during", "until", "as"}
    assert [
        text for text in texts if forbidden & (set(text.split()) - {"than"}) and "than when" not in text
    ] == []


@pytest.mark.parametrize("relation", list(Relation))
def test_generation_always_has_a_word_for_every_place(relation: Relation):
    assert any(verb.clock for verb in VERBS[relation])
    assert any(link.front and link.clock for link in PREPOSITIONS[relation])
    assert any(link.front for link in CONJUNCTIONS[relation])


def test_names_that_could_be_misread_are_quoted():
    assert spelled("stock count") == "stock count"
    for name in (
        "research and development",
        "after-sales call",
        "report. final",
        "list, part two",
        "10:30 call",
    ):
        assert needs_quotes(name)
        assert spelled(name) == f'"{name}"'
    assert {"and", "which", "before", "must"} <= GRAMMAR_WORDS

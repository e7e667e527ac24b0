"""Mutants keep the meaning and all layers but one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synth.cases.case import Case
from synth.cases.confirm import ConfirmationFailed
from synth.cases.generate import Options, generate
from synth.cases.mutate import _prove_equivalent, mutants, restructure, retopic, reword
from synth.cases.topics import find_topic
from synth.errors import BadInput
from synth.formal.constraints import Before
from synth.formal.order import Closure
from synth.language.parse import parse
from synth.language.query import paragraph_of
from synth.llm.extract import meaning
from tests.support.language import short

CASES = [
    *generate(12, 21, Options(actions=(2, 7)), confirm=False),
    *generate(12, 21, Options(actions=(2, 6), mode="timed"), confirm=False),
]


def case_id(case: Case) -> str:
    return f"{case.mode}-{case.id}"


def bare(case: Case) -> list[tuple[str, int | None]]:
    return [(short(constraint), constraint.sentence) for constraint in case.constraints]


def trees(case: Case):
    return parse(case.paragraph, case.actions).sentences


def without_names(case: Case) -> str:
    text = case.paragraph.lower()
    for action in case.actions:
        text = text.replace(action.phrase.lower(), "NAME")
    return text


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_wording_changes_words_and_activities_within_the_topic(case: Case):
    for mutant in mutants(case, "terminal", 3):
        assert bare(mutant) == bare(case)
        assert trees(mutant) == trees(case)
        assert mutant.topic == case.topic
        assert mutant.paragraph != case.paragraph
        assert {a.phrase.removeprefix("the ") for a in mutant.actions} <= set(
            find_topic(case.topic).activities
        )
        assert paragraph_of(mutant.query) == mutant.paragraph


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_topic_changes_names_and_nothing_else(case: Case):
    for mutant in mutants(case, "topic", 3):
        assert bare(mutant) == bare(case)
        assert without_names(mutant) == without_names(case)
        assert mutant.topic != case.topic
        assert {a.phrase.removeprefix("the ") for a in mutant.actions} <= set(
            find_topic(mutant.topic).activities
        )
        assert find_topic(mutant.topic).role in mutant.query
        assert paragraph_of(mutant.query) == mutant.paragraph


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_structure_changes_sentences_and_keeps_names(case: Case):
    ids = [action.id for action in case.actions]
    for mutant in mutants(case, "structure", 3):
        assert mutant.actions == case.actions
        assert meaning(ids, mutant.constraints) == meaning(ids, case.constraints)
        assert trees(mutant) != trees(case)
        assert parse(mutant.paragraph, mutant.actions).constraints == mutant.constraints
        assert mutant.query.replace(mutant.paragraph, "") == case.query.replace(case.paragraph, "")


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_mutants_do_not_contradict_common_sense(case: Case):
    for mutant in (reword(case, 1), retopic(case, 1)):
        topic = find_topic(mutant.topic)
        at = {a.id: topic.activities.index(a.phrase.removeprefix("the ")) for a in mutant.actions}
        order = Closure(len(topic.activities), topic.natural_order)
        assert all(order.add(at[c.first], at[c.then]) for c in mutant.constraints if isinstance(c, Before))


def test_the_same_seed_gives_the_same_mutants():
    for layer in ("terminal", "topic", "structure"):
        assert mutants(CASES[0], layer, 2, seed=5) == mutants(CASES[0], layer, 2, seed=5)
        assert mutants(CASES[0], layer, 2, seed=5) != mutants(CASES[0], layer, 2, seed=6)
    ids = [m.id for layer in ("terminal", "topic", "structure") for m in mutants(CASES[0], layer, 4)]
    assert len(set(ids)) == 12


def test_keywords_alone_can_be_changed():
    mutant = reword(CASES[0], 3, activities=False)
    assert mutant.actions == CASES[0].actions
    assert mutant.paragraph != CASES[0].paragraph


def test_a_chosen_topic_is_used():
    mutant = retopic(CASES[0], 3, find_topic("jeweller"))
    assert mutant.topic == "jeweller"
    assert "a jeweller" in mutant.query


def test_own_tools_keep_their_names_under_wording():
    from synth.cases.own_tools import actions_of

    tools = actions_of(["get_user", "book_flight", "check_in", "send_mail"])
    (case,) = generate(1, 2, Options(actions=(4, 4), tools=tools), confirm=False)
    mutant = reword(case, 1)
    assert mutant.actions == case.actions
    assert mutant.paragraph != case.paragraph


def test_large_cases_can_be_mutated():
    (case,) = generate(1, 2, Options(actions=(30, 30)), confirm=False)
    assert bare(reword(case, 1)) == bare(case)
    assert len(retopic(case, 1).actions) == 30
    assert restructure(case, 1).paragraph != case.paragraph


def test_the_proof_would_see_a_changed_meaning():
    case = CASES[0]
    wrong = replace(case, constraints=case.constraints[1:])
    last = replace(case, constraints=())
    with pytest.raises(ConfirmationFailed, match="not equivalent"):
        _prove_equivalent(case, last)
    assert wrong.constraints != case.constraints


def test_a_case_whose_query_lacks_the_paragraph_is_refused():
    with pytest.raises(BadInput, match="does not contain the paragraph exactly once"):
        reword(replace(CASES[0], query="nothing"), 1)


@pytest.mark.parametrize("options", [Options(actions=(14, 16)), Options(actions=(12, 13), mode="timed")])
def test_tight_cases_get_activities_in_one_order(options: Options):
    for case in generate(4, 3, replace(options, stop="saturated"), confirm=False):
        for mutant in (reword(case, 1), retopic(case, 1)):
            topic = find_topic(mutant.topic)
            at = {a.id: topic.activities.index(a.phrase.removeprefix("the ")) for a in mutant.actions}
            order = Closure(len(topic.activities), topic.natural_order)
            assert all(
                order.add(at[c.first], at[c.then]) for c in mutant.constraints if isinstance(c, Before)
            )
            assert len({a.tool for a in mutant.actions}) == len(case.actions)

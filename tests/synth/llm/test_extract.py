"""What a model proposes is read, compared and judged; doubt is always reported."""

from __future__ import annotations

import re

import pytest

from synth.cases.generate import Options
from synth.llm.chat import NoAnswer
from synth.llm.extract import Extraction, extract, write_and_read
from tests.support.language import ABCD, short
from tests.support.scripted_model import Messages, Script, in_turn, serving

TEXT = "First the audit. The briefing comes after that, and nothing is delivered until both are through."
GOOD = "The audit must precede the briefing. The audit and the briefing must precede the delivery."
SAME = "Before the delivery, the briefing must happen. The briefing must follow the audit."


def extracted(*answers: str, **options: int) -> tuple[Extraction, list[Messages]]:
    script = in_turn(*answers)
    with serving(script) as client:
        return extract(TEXT, ABCD, client, "scripted", **options), script.asked


def test_two_samples_that_mean_the_same_are_accepted():
    found, asked = extracted(GOOD, SAME)
    assert (found.accepted, found.problems, found.paragraph) == (True, (), GOOD)
    assert [short(c) for c in found.constraints] == ["a1<a2", "a1<a4", "a2<a4"]
    prompt = asked[0][-1]["content"]
    assert TEXT in prompt
    assert "- audit\n- briefing\n- cleanup\n- delivery" in prompt


def test_an_unreadable_answer_is_repaired_with_the_parsers_message():
    found, asked = extracted(f"Sure!\n{GOOD}", f"```\n{GOOD}\n```", SAME)
    assert found.accepted
    assert len(asked) == 3
    assert "unknown name 'Sure!'" in asked[1][-1]["content"] or "Sure" in asked[1][-1]["content"]


def test_samples_that_disagree_are_reported():
    found, _ = extracted(GOOD, "The audit must precede the briefing. The audit must happen before 15:00.")
    assert not found.accepted
    assert found.problems == (
        "only one of two samples says that briefing must end before delivery starts",
        "only one of two samples says that audit must end by 15:00",
    )


def test_a_contradictory_answer_is_reported_with_its_sentences():
    found, _ = extracted("Audit must precede briefing. Briefing must precede audit.", GOOD)
    (problem,) = found.problems
    assert problem.startswith("sentences 1 and 2 contradict each other:")


def test_answers_outside_the_language_are_reported():
    found, asked = extracted("Do the audit first.", "Audit, then briefing.", GOOD, repairs=1)
    assert len(asked) == 3
    assert not found.accepted
    assert "sample 1 is not in the language" in found.problems[0]
    assert [short(c) for c in found.constraints] == ["a1<a2", "a1<a4", "a2<a4"]


def test_nothing_readable_leaves_no_constraints():
    found, _ = extracted("Hm.", "No.", repairs=0)
    assert (found.constraints, found.paragraph, len(found.problems)) == ((), None, 2)


def test_an_empty_answer_is_an_error():
    with pytest.raises(NoAnswer, match="returned no text"):
        extracted("")


# ---------------------------------------------------------------- the reverse experiment


def copy_constraints(messages: Messages) -> str:
    """A model that writes each listed constraint as one sentence."""
    listed = re.findall(r"^- (.+) must end before (.+) starts$", messages[-1]["content"], re.MULTILINE)
    return " ".join(f"{first.capitalize()} must precede {then}." for first, then in listed)


def forget_the_last(messages: Messages) -> str:
    return copy_constraints(messages).rpartition(". ")[0] + "."


def outcomes(answer, **options) -> list[str]:
    with serving(Script(answer)) as client:
        return [written.outcome for written in write_and_read(client, "scripted", **options)]


def test_a_model_that_writes_what_it_should_is_faithful():
    assert outcomes(copy_constraints, sizes=(2, 3), per_size=2) == ["faithful"] * 4


def test_ten_sets_for_each_of_two_to_five_actions_by_default():
    with serving(Script(copy_constraints)) as client:
        written = list(write_and_read(client, "scripted"))
    assert [w.actions for w in written] == [n for n in (2, 3, 4, 5) for _ in range(10)]


def test_a_lost_constraint_is_named():
    options = Options(stop="saturated")
    with serving(Script(forget_the_last)) as client:
        (written,) = write_and_read(client, "scripted", sizes=(4,), per_size=1, options=options)
    assert written.outcome == "different"
    assert re.match(r"lost: .+ must end before .+ starts", written.detail)


def test_text_outside_the_language_is_unreadable():
    assert outcomes(lambda _: "Please do it in order.", sizes=(2,), per_size=1) == ["unreadable"]


def test_a_model_that_writes_nothing_is_unreadable_and_the_next_is_asked():
    assert outcomes(lambda _: "", sizes=(2,), per_size=2) == ["unreadable"] * 2


def test_a_contradictory_text_is_told_from_a_different_one():
    def reversed_too(messages: Messages) -> str:
        text = copy_constraints(messages)
        return f"{text} {text.replace('precede', 'follow')}"

    assert outcomes(reversed_too, sizes=(2,), per_size=1) == ["contradictory"]

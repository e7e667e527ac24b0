"""The simulated model answers questions of data sets, whose right answers it was given.

`perfect` knows every answer, `forgets` half of them, another half for each seed; what it does not know it
guesses, another guess each time. With tools it does what the data set says leads to the answer, and then
also knows what it was told. `loops` does its first step again and again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from synth.questions import CALCULATOR, LOOKUP, SEARCH, Question, is_right
from synth.simulated_model.dialogue import Answer, Ask, Asked, Dialogue, call_id, digest

ABLE = ("perfect", "forgets", "loops")
STEPS = 8
"""Most calls before it answers."""
ARGUMENTS: Mapping[str, str] = {CALCULATOR: "formula", SEARCH: "entity", LOOKUP: "text"}
"""Tool -> its one argument."""


def by_text(questions: Iterable[Question]) -> dict[str, Question]:
    return {one.text: one for one in questions}


def next_step(question: Question, dialogue: Dialogue, profile: str, seed: int, attempt: int) -> Answer:
    """The calls that are left, or the answer."""
    if profile not in ABLE:
        able = ", ".join(f"simulated-{name}" for name in ABLE)
        return Answer(f"I cannot answer this question; {able} do.")
    offered = {tool.name for tool in dialogue.tools}
    steps = [step for step in question.steps if step[0] in offered][:STEPS]
    left = steps[:1] if profile == "loops" else steps[len(dialogue.asked) :]
    if left:
        fingerprint, begun = digest(dialogue.model, dialogue.text), len(dialogue.asked)
        return Answer(
            None,
            tuple(
                Ask(call_id(fingerprint, attempt, begun + k), tool, json.dumps({ARGUMENTS[tool]: given}))
                for k, (tool, given) in enumerate(left)
            ),
        )
    return Answer(answer_of(question, dialogue.asked, profile, seed, attempt))


def answer_of(question: Question, asked: Sequence[Asked], profile: str, seed: int, attempt: int) -> str:
    """The right answer where it is known or was told; else a guess, which is wrong."""
    told = [call.answer or "" for call in asked]
    if knows(question, profile, seed) or is_told(question, told):
        return question.answers[0]
    return f"perhaps {digest(question.text, attempt)[:6]}"


def knows(question: Question, profile: str, seed: int) -> bool:
    """Does it know the answer by itself?"""
    return profile == "perfect" or int(digest(seed, question.text), 16) % 2 == 0


def is_told(question: Question, told: Sequence[str]) -> bool:
    """Does the answer stand in what tools said?"""
    if question.data == "gsm8k":
        return bool(told) and is_right(told[-1], question)
    return any(question.answers[0].casefold() in one.casefold() for one in told)

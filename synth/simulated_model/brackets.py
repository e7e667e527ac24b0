"""Texts of agents that are behaviour specifications, whose states have names in brackets.

The prompt lists the states (`Use the following format`), then `Begin!` and `[Question]`. What their
environment asks the same model beside (a summary, an evaluation, an answer from results) has no such list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from synth.simulated_model.dialogue import Answer, Asked, Dialogue

_BEGIN = re.compile(r"^Begin!\n+\[Question\] ", re.MULTILINE)
_STEP = re.compile(
    r"^\[Action\] *(?P<tool>.*?) *\n\[Action Input\](?P<arguments>.*?)"
    r"(?:\n\[Observation\](?P<answer>.*?))?(?=\n\[|\s*\Z)",
    re.MULTILINE | re.DOTALL,
)
_SUMMARY = re.compile(r"^\[(?:Summary|Results)\](.*?)(?=\n\[|\Z)", re.MULTILINE | re.DOTALL)
_LAST = re.compile(r"^\[([^\]\n]+)\]", re.MULTILINE)
_ASIDE = re.compile(
    r"\AStatements:\n(?P<statements>.*)\nContext: .*\nGoal: .*\nSummary:"
    r"|\A\[Question\] (?P<evaluated>.*)\n\[Proposed Answer\] (?P<proposed>.*?)\nIs the proposed answer right"
    r"|\AResults: (?P<results>.*)\nQuestion: (?P<solved>.*)\nAnswer:",
    re.DOTALL,
)
MOST = 100
"""Actions of a plan that waits for no result."""

Think = Callable[[Dialogue], tuple[Answer, int]]


@dataclass(frozen=True, slots=True)
class Aside:
    """What the environment asks beside."""

    kind: str
    """`summary`, `evaluation` or `solution`."""
    question: str
    text: str
    """The statements, the proposed answer or the results."""


def begins(prompt: str) -> re.Match[str] | None:
    """Where the question of such an agent begins."""
    return _BEGIN.search(prompt)


def steps_of(transcript: str) -> tuple[tuple[Asked, ...], ...]:
    """The actions of a transcript; one whose result stands in a summary has the summary as its answer."""
    summary = " ".join(_SUMMARY.findall(transcript)).strip()
    steps = []
    for step in _STEP.finditer(transcript):
        answer = step["answer"]
        told = summary if answer is None else answer.strip()
        steps.append((Asked("", step["tool"], step["arguments"].strip(), told),))
    return tuple(steps)


def written(dialogue: Dialogue, think: Think, prompt: str) -> tuple[Answer, str]:
    """What the model writes in the states that the prompt lists, up to one of the environment."""
    found = begins(prompt)
    assert found is not None
    form = prompt[: found.start()].rpartition("Use the following format")[2]
    answer, attempt = think(dialogue)
    if "[Action Label]" in form:
        return answer, _planned(answer, attempt, dialogue, think)
    if answer.asks:
        asks = answer.asks[:1] if "[Observation]" in form else answer.asks
        lines = [f"[Action] {ask.tool}\n[Action Input] {ask.arguments}" for ask in asks]
        return answer, "\n".join([f"[Thought] (plan {attempt}) I do the next task", *lines])
    states = _LAST.findall(prompt[found.start() :])
    if states and states[-1] == "Evaluation":
        return answer, f"[Reflection] (plan {attempt}) I heed what I was told\n[Answer] {answer.text}"
    thought = next((one for one in ("[Final Thought]", "[Thought]") if one in form), None)
    first = f"{thought} (plan {attempt}) I now know the answer\n" if thought else ""
    last = "[Proposed Answer]" if "[Proposed Answer]" in form else "[Answer]"
    return answer, f"{first}{last} {answer.text}"


def _planned(answer: Answer, attempt: int, dialogue: Dialogue, think: Think) -> str:
    """All actions at once, with labels, as if each succeeded."""
    lines: list[str] = []
    while answer.asks and len(lines) < MOST:
        for ask in answer.asks:
            number = len(lines) + 1
            lines.append(
                f"[Plan] (plan {attempt}) I do the next task\n[Action Label] #E{number}\n"
                f"[Action] {ask.tool}\n[Action Input] {ask.arguments}"
            )
            done = Asked(ask.id, ask.tool, ask.arguments, "")
            dialogue = replace(dialogue, turns=(*dialogue.turns, (done,)), attempt=attempt)
        answer, _ = think(dialogue)
    return "\n".join(lines)


def aside(prompt: str) -> Aside | None:
    """What is asked beside; None for an agent's own text."""
    found = _ASIDE.match(prompt)
    if found is None:
        return None
    if found["statements"] is not None:
        return Aside("summary", "", found["statements"])
    if found["evaluated"] is not None:
        return Aside("evaluation", found["evaluated"].partition("\n[")[0], found["proposed"])
    return Aside("solution", found["solved"], found["results"])


def summary_of(statements: str) -> str:
    """The numbered results in one line."""
    return " ".join(re.sub(r"^\d+\. ", "", line) for line in statements.split("\n"))


def scores(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Log probabilities of the prompt's words, where `echo` and `logprobs` ask for them, all alike."""
    if not (body.get("echo") and body.get("logprobs")):
        return None
    words = list(re.finditer(r"\S+\s*", body["prompt"]))
    return {
        "tokens": [word[0] for word in words],
        "token_logprobs": [None, *[-1.0] * (len(words) - 1)],
        "top_logprobs": None,
        "text_offset": [word.start() for word in words],
    }

"""OpenAI text completions, as ReAct agents use them: prompt -> dialogue, answer -> text.

The prompt is the one everybody uses: a list of tools (`name: description Arguments: schema`), then
`Question:`, then `Thought:`, `Action:`, `Action Input:` and `Observation:` again and again. A text has no
call ids, so the attempt is carried by the thought.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from synth.simulated_model.chat import usage
from synth.simulated_model.dialogue import Answer, Asked, Dialogue, OfferedTool

_TOOLS = re.compile(r"access to the following tools:\n\n(.*?)\n\nUse the following format", re.DOTALL)
_BEGIN = re.compile(r"^Begin!\n+Question: ", re.MULTILINE)
_STEP = re.compile(
    r"^Action: *(?P<tool>.*?) *\nAction Input:(?P<arguments>.*?)"
    r"(?:\nObservation:(?P<answer>.*?))?(?=\nThought:|\Z)",
    re.MULTILINE | re.DOTALL,
)
_BRACKETS = re.compile(r"^Begin!\n+\[Question\] ", re.MULTILINE)
"""Agents that are behaviour specifications name states in brackets."""
_BRACKET_STEP = re.compile(
    r"^\[Action\] *(?P<tool>.*?) *\n\[Action Input\](?P<arguments>.*?)"
    r"(?:\n\[Observation\](?P<answer>.*?))?(?=\n\[|\s*\Z)",
    re.MULTILINE | re.DOTALL,
)
_ATTEMPT = re.compile(r"\(plan (\d+)\)")


def read(body: Mapping[str, Any], key: str) -> Dialogue:
    """The dialogue of a `/v1/completions` request."""
    prompt = body["prompt"]
    prompt = prompt[0] if isinstance(prompt, list) else prompt
    tools = _TOOLS.search(prompt)
    if in_brackets(prompt):
        _, _, rest = _split_at(_BRACKETS, prompt)
        question, thought, scratchpad = rest.partition("\n[")
        steps = [_seen(step) for step in _BRACKET_STEP.finditer(thought + scratchpad)]
    else:
        _, _, rest = _split_at(_BEGIN, prompt)
        question, thought, scratchpad = rest.partition("\nThought:")
        steps = [_asked(step) for step in _STEP.finditer(thought + scratchpad)]
    attempt = _ATTEMPT.search(scratchpad)
    return Dialogue(
        model=body["model"],
        text=question,
        tools=tuple(_tools(tools[1].splitlines())) if tools else (),
        turns=tuple((step,) for step in steps),
        key=key,
        attempt=int(attempt[1]) if attempt else None,
    )


def _split_at(mark: re.Pattern[str], text: str) -> tuple[str, str, str]:
    found = mark.search(text)
    return (text[: found.start()], found[0], text[found.end() :]) if found else ("", "", text)


def _tools(lines: Iterable[str]) -> Iterable[OfferedTool]:
    for line in lines:
        name, colon, description = line.partition(": ")
        if colon:
            yield OfferedTool(name.strip(), description.partition(" Arguments: ")[0].strip())


def _asked(step: re.Match[str]) -> Asked:
    answer = step["answer"]
    return Asked("", step["tool"], step["arguments"].strip(), None if answer is None else answer.strip())


def in_brackets(prompt: str) -> bool:
    """Is it an agent's that is a behaviour specification?"""
    return _BRACKETS.search(prompt) is not None


def _seen(step: re.Match[str]) -> Asked:
    """A step whose result may stand in a summary: an action that is over was answered."""
    asked = _asked(step)
    return asked if asked.answer is not None else replace(asked, answer="")


def bracketed(answer: Answer, attempt: int, prompt: str) -> str:
    """What the model writes in the states that the prompt names."""
    form = _split_at(_BRACKETS, prompt)[0].rpartition("Use the following format")[2]
    if not answer.asks:
        thought = "[Final Thought]" if "[Final Thought]" in form else "[Thought]"
        first = f"{thought} (plan {attempt}) I now know the answer\n" if thought in form else ""
        return f"{first}[Answer] {answer.text}"
    lines = [f"[Action] {ask.tool}\n[Action Input] {ask.arguments}" for ask in answer.asks]
    return "\n".join([f"[Thought] (plan {attempt}) I do the next task", *lines])


def text_of_answer(answer: Answer, attempt: int) -> str:
    """What the model writes: a thought, then one action or the final answer."""
    if not answer.asks:
        return f" (plan {attempt}) I now know the final answer\nFinal Answer: {answer.text}"
    ask = answer.asks[0]
    return f" (plan {attempt}) I do the next task\nAction: {ask.tool}\nAction Input: {ask.arguments}"


def write(answer: Answer, text: str, model: str, id: str) -> dict[str, Any]:
    """The response body."""
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": "stop"}
    head = {"id": id, "object": "text_completion", "created": int(time.time()), "model": model}
    return {**head, "choices": [choice], "usage": usage(answer)}

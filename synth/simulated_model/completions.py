"""OpenAI text completions, as ReAct agents use them: prompt -> dialogue, answer -> text.

The prompt is the one everybody uses: a list of tools (`name: description Arguments: schema`), then
`Question:`, then `Thought:`, `Action:`, `Action Input:` and `Observation:` again and again. A text has no
call ids, so the attempt is carried by the thought.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from synth.simulated_model import brackets
from synth.simulated_model.chat import usage
from synth.simulated_model.dialogue import Answer, Asked, Dialogue, OfferedTool

_TOOLS = re.compile(r"access to the following tools:\n\n(.*?)\n\nUse the following format", re.DOTALL)
_BEGIN = re.compile(r"^Begin!\n+Question: ", re.MULTILINE)
_STEP = re.compile(
    r"^Action: *(?P<tool>.*?) *\nAction Input:(?P<arguments>.*?)"
    r"(?:\nObservation:(?P<answer>.*?))?(?=\nThought:|\Z)",
    re.MULTILINE | re.DOTALL,
)
_ATTEMPT = re.compile(r"\(plan (\d+)\)")


def read(body: Mapping[str, Any], key: str) -> Dialogue:
    """The dialogue of a `/v1/completions` request."""
    prompt = body["prompt"]
    prompt = prompt[0] if isinstance(prompt, list) else prompt
    tools = _TOOLS.search(prompt)
    if begin := brackets.begins(prompt):
        question, mark, scratchpad = prompt[begin.end() :].partition("\n[")
        turns = brackets.steps_of(f"[{scratchpad}" if mark else "")
    else:
        _, _, rest = _split_at(_BEGIN, prompt)
        question, thought, scratchpad = rest.partition("\nThought:")
        turns = tuple((_asked(step),) for step in _STEP.finditer(thought + scratchpad))
    attempt = _ATTEMPT.search(scratchpad)
    return Dialogue(
        model=body["model"],
        text=question.rstrip("\n"),  # the prompt of the first answer ends with one
        tools=tuple(_tools(tools[1].splitlines())) if tools else (),
        turns=turns,
        key=key,
        attempt=int(attempt[1]) if attempt else None,
        way="calls" if begin else "text",
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


def text_of_answer(answer: Answer, attempt: int) -> str:
    """What the model writes: a thought, then one action or the final answer."""
    if not answer.asks:
        return f" (plan {attempt}) I now know the final answer\nFinal Answer: {answer.text}"
    ask = answer.asks[0]
    if answer.slips:
        return f" (plan {attempt}) The next task is {ask.tool}, so I do it now."
    return f" (plan {attempt}) I do the next task\nAction: {ask.tool}\nAction Input: {ask.arguments}"


def write(
    answer: Answer, text: str, model: str, id: str, logprobs: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The response body."""
    choice = {"text": text, "index": 0, "logprobs": logprobs, "finish_reason": "stop"}
    head = {"id": id, "object": "text_completion", "created": int(time.time()), "model": model}
    return {**head, "choices": [choice], "usage": usage(answer)}

"""Worked examples in the words of a specification: what its agent's transcript of them would be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from synth.formal.monitor import Monitor
from synth.questions import Action, Example

Line = tuple[str, str]
"""The prompt of a state, and its text."""


def texts_of(examples: Sequence[Example], monitor: Monitor) -> list[str]:
    """The examples as transcripts that the specification accepts; none where they do not fit its states."""
    found = (_text_of(example, monitor) for example in examples)
    return [text for text in found if text is not None]


def _text_of(example: Example, monitor: Monitor) -> str | None:
    names = {state.prompt: state.name for state in monitor.specification.states}
    for form in (_thinking, _acting, _collecting, _collecting_raw, _planning, _reflecting, _answering):
        lines = list(form(example))
        has_states = all(prompt in names for prompt, _ in lines)
        if has_states and monitor.follow(names[prompt] for prompt, _ in lines).complete:
            return "\n".join(f"{prompt} {text}" for prompt, text in lines)
    return None


def numbered(results: Sequence[str]) -> str:
    """Results of several actions, as the model reads them."""
    return "\n".join(f"{k}. {one}" for k, one in enumerate(results, 1))


def _answering(example: Example) -> Iterator[Line]:
    """Direct."""
    yield "[Question]", example.question
    yield "[Answer]", example.answer


def _thinking(example: Example) -> Iterator[Line]:
    """Chain of thought."""
    yield "[Question]", example.question
    yield "[Thought]", example.reasoning
    yield "[Answer]", example.answer


def _acting(example: Example) -> Iterator[Line]:
    """ReAct: one action after the other."""
    yield "[Question]", example.question
    yield from _rounds(example)
    yield "[Final Thought]", example.conclusion
    yield "[Answer]", example.answer


def _rounds(example: Example) -> Iterator[Line]:
    for step in example.steps:
        for action in step.actions:
            yield "[Thought]", step.thought
            yield from _called(action, example)
            yield "[Observation]", action.result


def _collecting(example: Example) -> Iterator[Line]:
    """PASS: a batch of actions, and a summary of their results."""
    yield from _batches(example, "[Summary]", lambda results: " ".join(results))


def _collecting_raw(example: Example) -> Iterator[Line]:
    """PASS without a summarizer."""
    yield from _batches(example, "[Results]", numbered)


def _batches(example: Example, prompt: str, told: Callable[[Sequence[str]], str]) -> Iterator[Line]:
    yield "[Question]", example.question
    for step in example.steps:
        yield "[Thought]", step.thought
        for action in step.actions:
            yield from _called(action, example)
        yield prompt, told([action.result for action in step.actions])
    yield "[Final Thought]", example.conclusion
    yield "[Answer]", example.answer


def _planning(example: Example) -> Iterator[Line]:
    """ReWOO: all actions before their results."""
    yield "[Question]", example.question
    planned = [(step.thought, action) for step in example.steps for action in step.actions]
    for number, (thought, action) in enumerate(planned, 1):
        yield "[Plan]", thought
        yield "[Action Label]", f"#E{number}"
        yield "[Action]", action.tool
        yield "[Action Input]", action.given
    yield "[Answer]", example.answer


def _reflecting(example: Example) -> Iterator[Line]:
    """Reflexion: one trial, which was right."""
    yield "[Question]", example.question
    yield from _rounds(example)
    yield "[Final Thought]", example.conclusion
    yield "[Proposed Answer]", example.answer
    yield "[Evaluation]", "Yes, it follows from what the tools returned."
    yield "[Reflection]", "The answer was found right, so I give it."
    yield "[Answer]", example.answer


def _called(action: Action, example: Example) -> Iterator[Line]:
    """An action with the results of earlier ones in its input."""
    results = [one.result for step in example.steps for one in step.actions]
    yield "[Action]", action.tool
    yield "[Action Input]", re.sub(r"#E(\d+)", lambda label: results[int(label[1]) - 1], action.given)

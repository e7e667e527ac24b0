"""The smallest use of an OpenAI-compatible client: a conversation in, text out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synth.errors import SynthError

Message = dict[str, str]


class NoAnswer(SynthError):
    """The model returned no text."""


class EndpointFailed(SynthError):
    """The model could not be asked; the provider's own words."""


def ask(client: Any, model: str, messages: Sequence[Message], temperature: float | None = None) -> str:
    """The text of the model's answer; `client` is an `openai.OpenAI` or anything with its chat interface."""
    extra = {} if temperature is None else {"temperature": temperature}
    try:
        answer = client.chat.completions.create(model=model, messages=list(messages), **extra)
    except _failures() as error:
        raise EndpointFailed(f"asking the model {model!r} failed: {error}") from error
    text = answer.choices[0].message.content if answer.choices else None
    if not text:
        raise NoAnswer(f"the model {model!r} returned no text; try another model")
    return str(text)


def _failures() -> tuple[type[Exception], ...]:
    """What the client of OpenAI raises where the endpoint is at fault."""
    try:
        from openai import OpenAIError
    except ImportError:  # somebody else's client
        return ()
    return (OpenAIError,)


def user(content: str) -> Message:
    return {"role": "user", "content": content}


def assistant(content: str) -> Message:
    return {"role": "assistant", "content": content}


def system(content: str) -> Message:
    return {"role": "system", "content": content}


def without_fences(text: str) -> str:
    """The text without a Markdown code fence or quotes around it."""
    lines = [line for line in text.strip().splitlines() if not line.strip().startswith("```")]
    return "\n".join(lines).strip()

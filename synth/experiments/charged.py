"""A client whose every answer is paid for from a purse: for what asks a model itself, without an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth.agents.usage import Answers
from synth.experiments.money import LONGEST, SAID, Planned, Purse, conversation

CHARACTERS = 4
"""Of a token, about."""
ITSELF = "pdoctor"
"""Who asked, where no agent did."""


def tokens_of(text: str) -> int:
    """About so many."""
    return len(text) // CHARACTERS + 1


def requests(model: str, number: int, given: int, written: int, tries: int = 1) -> Planned:
    """So many requests of `given` tokens, answered by about `written`, each tried again where that is bad."""
    longest = max(LONGEST, 2 * written)
    return Planned(
        model, number, conversation(1, given, written=written),
        conversation(tries, given, longest + SAID, longest),
    )  # fmt: skip


class Charged:
    """An `openai.OpenAI` so far as `chat.completions.create` goes; raises `Spent` where none may begin."""

    def __init__(self, client: Any, purse: Purse, written: int) -> None:
        """`written`: tokens of a usual answer."""
        self._client, self._purse, self._written = client, purse, written

    @property
    def chat(self) -> Charged:
        return self

    @property
    def completions(self) -> Charged:
        return self

    def create(self, *, model: str, messages: Sequence[Mapping[str, Any]], **rest: Any) -> Any:
        """The client's answer, paid for."""
        given = sum(tokens_of(str(message.get("content"))) for message in messages)
        with self._purse.run(ITSELF, model, conversation(1, given, written=self._written)) as pays:
            answer = self._client.chat.completions.create(model=model, messages=messages, **rest)
            told = Answers()
            told.told(answer)
            pays(told.usage)
        return answer

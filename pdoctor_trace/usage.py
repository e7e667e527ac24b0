"""What the models of a run were, and what they were given and wrote."""

from __future__ import annotations

from collections.abc import Iterable

from . import semconv
from .wire import Pairs


class Usage:
    """Of one run, added up over its own model requests; tokens are None while nobody has told any."""

    __slots__ = ("_asked_beside", "input_tokens", "newest", "output_tokens", "provider")

    def __init__(self) -> None:
        self.provider: str | None = None
        """Of the first request."""
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.newest: bytes | None = None
        """The message that a model wrote last, as `gen_ai.output.messages` has it; None = nothing is kept."""

        self._asked_beside: tuple[frozenset[str | None], bool] = frozenset(), False
        """(ids of the calls that the newest reply asks for, whether it has text, too)"""

    def asked(self, call_ids: Iterable[str | None], *, has_text: bool) -> None:
        """The newest reply asks for these calls."""
        self._asked_beside = frozenset(call_ids), has_text

    def text_beside(self, call_id: str | None) -> bool | None:
        """Whether the reply that asks for a call has text, too; None where it is not the newest reply."""
        call_ids, has_text = self._asked_beside
        return has_text if call_id is not None and call_id in call_ids else None

    def add(self, given: int | None, written: int | None) -> None:
        """One more reply."""
        if given is not None:
            self.input_tokens = (self.input_tokens or 0) + given
        if written is not None:
            self.output_tokens = (self.output_tokens or 0) + written

    def pairs(self) -> Pairs:
        """Attributes of the run's span."""
        named = (semconv.PROVIDER_NAME, self.provider)
        tokens = (semconv.INPUT_TOKENS, self.input_tokens, semconv.OUTPUT_TOKENS, self.output_tokens)
        return (*named, *tokens, semconv.OUTPUT_MESSAGES, self.newest)

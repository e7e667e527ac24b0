"""What the models of a run were, and what they were given and wrote."""

from __future__ import annotations

from . import semconv
from .wire import Pairs


class Usage:
    """Of one run, added up over its own model requests; tokens are None while nobody has told any."""

    __slots__ = ("input_tokens", "newest", "output_tokens", "provider")

    def __init__(self) -> None:
        self.provider: str | None = None
        """Of the first request."""
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.newest: bytes | None = None
        """The message that a model wrote last, as `gen_ai.output.messages` has it; None = nothing is kept."""

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

"""What models were given and wrote, and who they said they were, as their answers told."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one run or of several, added with `+`."""

    input: int = 0
    output: int = 0
    answers: int = 0
    """Of models, each charged for."""
    untold: int = 0
    """Answers that did not say how many tokens they took."""
    models: tuple[str, ...] = ()
    """The names that models gave themselves, each once."""
    fingerprints: tuple[str, ...] = ()
    """`system_fingerprint`, each once."""

    @property
    def total(self) -> int:
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.answers + other.answers,
            self.untold + other.untold,
            tuple(dict.fromkeys((*self.models, *other.models))),
            tuple(dict.fromkeys((*self.fingerprints, *other.fingerprints))),
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def usage_from_json(said: Mapping[str, Any]) -> Usage:
    """The reverse of `Usage.to_json`."""
    given, written, answers, untold = (
        int(said.get(name, 0)) for name in ("input", "output", "answers", "untold")
    )
    names, prints = (tuple(said.get(name, ())) for name in ("models", "fingerprints"))
    return Usage(given, written, answers, untold, names, prints)


def total_of(usages: Iterable[Usage | None]) -> Usage:
    """The sum of those that are known."""
    total = Usage()
    for usage in usages:
        total = total if usage is None else total + usage
    return total


NOTHING = Usage()


class Answers:
    """Adds up what the answers of a run's models say; may be told by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        return self._usage

    def told(self, answer: Any) -> None:
        """One more answer: of OpenAI's Chat Completions, Completions or Responses, as the SDK gives it."""
        self._add(
            _counts(getattr(answer, "usage", None)),
            getattr(answer, "model", None),
            getattr(answer, "system_fingerprint", None),
        )

    def told_by_langchain(self, message: Any) -> None:
        """The same of a LangChain `AIMessage`."""
        said = getattr(message, "response_metadata", None) or {}
        counts = getattr(message, "usage_metadata", None)
        self._add(_counts(counts), said.get("model_name"), said.get("system_fingerprint"))

    def _add(self, counts: tuple[int, int] | None, model: Any, fingerprint: Any) -> None:
        given, written = counts or (0, 0)
        names = (model,) if isinstance(model, str) else ()
        prints = (fingerprint,) if isinstance(fingerprint, str) else ()
        with self._lock:
            self._usage += Usage(given, written, 1, int(counts is None), names, prints)


def usage_of(answer: Mapping[str, Any]) -> Usage:
    """What one answer took, from its JSON."""
    counts = _counts(answer.get("usage"))
    given, written = counts or (0, 0)
    return Usage(given, written, 1, int(counts is None))


def _counts(usage: Any) -> tuple[int, int] | None:
    """(input, output) tokens under either name of them; None where they are not told.

    No request has less than one token: who says so tells nothing, and a negative bill would be money.
    """

    def said(name: str) -> Any:
        return usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)

    for given, written in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
        first, second = said(given), said(written)
        if isinstance(first, int) and isinstance(second, int):
            return (first, second) if first > 0 <= second else None
    return None

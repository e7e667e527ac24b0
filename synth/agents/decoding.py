"""The decoding monitor: a model writes, its specification says what may come, and errors are corrected.

Crouse et al., section 2.2: generate until a stop sequence or the chunk size, split the text at the prompts of
states, follow the automaton; at the first error what follows is thrown away, and the longest common prefix of
the prompts that may come is put in its place. Nothing is asked of the endpoint but completions of text, so it
works for models behind an API. Each error at one place may be corrected a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from synth.errors import BadInput
from synth.formal.monitor import Monitor
from synth.formal.specification import State

CHUNK = 256
"""Tokens that are asked for at a time."""
RETRIES = 8
"""Corrections at one place of the transcript."""
MAX_CALLS = 100
"""Answers of the model in one transcript."""
SHOWN = 60
"""Characters of what the model wrote in a reason."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What an endpoint wrote."""

    text: str
    cut: bool = False
    """Did it stop because of the chunk size? Else it came to an end, or to a stop sequence."""
    tokens: int = 0
    """Used, as far as the endpoint says it."""


class Complete(Protocol):
    """A completion endpoint."""

    def __call__(self, prompt: str, *, stop: Sequence[str], max_tokens: int) -> Completion: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """A state with its text."""

    state: str
    text: str


Environment = Callable[[str, Sequence[Piece]], str]
"""(state that the environment writes, what stands before it) -> its text."""


@dataclass(slots=True)
class Transcript:
    """What came of it."""

    pieces: list[Piece] = field(default_factory=list)
    calls: int = 0
    """Answers of the model."""
    tokens: int = 0
    corrections: int = 0
    """Errors that were corrected: so many answers more than an obedient model needs, at most."""
    reason: str | None = None
    """Why it does not follow the specification to its end; None if it does."""

    def last(self, state: str) -> str | None:
        """The newest text of a state."""
        return next((piece.text for piece in reversed(self.pieces) if piece.state == state), None)

    @property
    def answer(self) -> str:
        """What the last state says."""
        return self.pieces[-1].text if self.pieces and self.reason is None else ""


def generate(
    monitor: Monitor,
    question: str,
    complete: Complete,
    environment: Environment,
    *,
    before: str = "",
    correct: bool = True,
    chunk: int = CHUNK,
    retries: int = RETRIES,
    max_calls: int = MAX_CALLS,
) -> Transcript:
    """A transcript that begins with the question; `before`: instructions and examples.

    Without `correct` the first error ends it. BadInput where the specification has no states with prompts.
    """
    if not monitor.specification.states:
        raise BadInput("only a specification with :states and prompts can be decoded")
    return _Decoder(monitor, complete, environment, before, correct, chunk, retries, max_calls).run(question)


@dataclass(slots=True)
class _Decoder:
    """One transcript under way: pieces that are whole, and what the model has written since."""

    monitor: Monitor
    complete: Complete
    environment: Environment
    before: str
    correct: bool
    chunk: int
    retries: int
    max_calls: int
    done: Transcript = field(default_factory=Transcript)
    at: int = 0
    """State of the automaton after the pieces."""
    tail: str = ""
    """Text after them: what was put in for the model to go on from, and a state that it still writes."""
    stopped: bool = False
    """Did the model end where the pieces end? Then the environment may write."""
    tried: int = 0
    """Corrections since a piece was added."""

    def run(self, question: str) -> Transcript:
        self._add(self.monitor.allowed(0)[0], question)
        written = 0
        while self.done.reason is None and not self.monitor.accepting[self.at]:
            if written > self.max_calls:
                self.done.reason = f"not at its end after {written} texts of the environment"
            elif given := self._given():
                self._add(given.name, self.environment(given.name, self.done.pieces))
                written += 1
            elif self.done.calls >= self.max_calls:
                self.done.reason = f"not at its end after {self.max_calls} answers of the model"
            else:
                self._ask()
        return self.done

    def _allowed(self) -> list[State]:
        names = self.monitor.allowed(self.at)
        return [state for state in self.monitor.specification.states if state.name in names]

    def _given(self) -> State | None:
        """The state that the environment writes now."""
        allowed = self._allowed()
        if self.stopped or all(state.env_input for state in allowed):
            return next((state for state in allowed if state.env_input), None)
        return None

    def _add(self, name: str, text: str) -> None:
        after = self.monitor.after(self.at, name)
        assert after is not None  # it was allowed
        self.done.pieces.append(Piece(name, text.strip()))
        self.at, self.tail, self.stopped, self.tried = after, "", False, 0

    def _ask(self) -> None:
        """Let the model go on, and take what follows the specification."""
        states = self.monitor.specification.states
        stop = [state.prompt for state in states if state.env_input]
        answer = self.complete(self._text(), stop=stop, max_tokens=self.chunk)
        self.done.calls += 1
        self.done.tokens += answer.tokens
        lead, *found = _split(self.tail + answer.text, states)
        if not (found or answer.cut or lead[1].strip()) and any(one.env_input for one in self._allowed()):
            self.stopped = True  # at once at the prompt of a state that the environment may write now
        elif not found and answer.cut and len(lead[1]) < max(len(state.prompt) for state in states):
            self.tail = lead[1]  # perhaps the beginning of a prompt
        elif not found or lead[1].strip() or not self._take(found, cut=answer.cut):
            self._wrong(answer.text)

    def _take(self, found: Sequence[tuple[State | None, str]], *, cut: bool) -> bool:
        """Add the states up to the first that is not allowed, or is empty; were all right?"""
        for place, (state, text) in enumerate(found):
            last = place == len(found) - 1
            assert state is not None  # only what stands before the first prompt is of none
            if state not in self._allowed() or not (text.strip() or (last and cut)):
                return False
            if state.env_input:
                self.tail, self.stopped = "", True  # the environment writes it, whatever the model wrote
                return True
            if last and cut:
                self.tail = state.prompt + text
                return True
            self._add(state.name, text)
            if self.monitor.accepting[self.at]:
                return True
        self.stopped = True
        return True

    def _wrong(self, written: str) -> None:
        """Throw away what was written, and put in what may come, as far as it is the same for all."""
        prompts = [state.prompt for state in self._allowed()]
        self.tail = _common(prompts)
        self.done.corrections += self.correct
        self.tried += 1
        if not self.correct or self.tried > self.retries:
            tries = f" {self.tried} times" if self.tried > 1 else ""
            got = " ".join(written.split())[:SHOWN]
            said = f"the model wrote {got!r}" if got else "the model wrote nothing"
            self.done.reason = f"{said}{tries} where {' or '.join(prompts)} with a text had to come"

    def _text(self) -> str:
        prompts = {state.name: state.prompt for state in self.monitor.specification.states}
        pieces = "".join(f"{prompts[piece.state]} {piece.text}\n" for piece in self.done.pieces)
        return f"{self.before}{pieces}{self.tail}"


def _common(texts: Sequence[str]) -> str:
    """Their longest common prefix."""
    first, last = min(texts), max(texts)
    same = (k for k, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(same, min(len(first), len(last)))]


def _split(text: str, states: Sequence[State]) -> Iterator[tuple[State | None, str]]:
    """The text at the prompts of states: what stands before the first (None), then each with its text."""
    by_prompt = {state.prompt: state for state in states}
    longest_first = sorted(by_prompt, key=len, reverse=True)
    begin, state = 0, None
    for found in re.finditer("|".join(map(re.escape, longest_first)), text):
        yield state, text[begin : found.start()]
        begin, state = found.end(), by_prompt[found[0]]
    yield state, text[begin:]


def states_in(text: str, states: Sequence[State]) -> list[str]:
    """The states of a whole transcript, by their prompts; BadInput for text before the first."""
    (_, lead), *found = _split(text, states)
    if lead.strip():
        raise BadInput(f"text before the first prompt of a state: {lead.strip()[:SHOWN]!r}")
    return [state.name for state, _ in found if state is not None]

"""The decoding monitor on models that break their format: rates as planted without it, none with it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from synth.agents.decoding import Completion, Piece, Transcript, generate, states_in
from synth.errors import BadInput
from synth.formal.monitor import Monitor, monitor_of, shipped

ROUNDS = 2
AGENTS = ("react", "pass", "rewoo", "reflexion", "chain_of_thought", "direct")


class Sloppy:
    """Writes what its specification asks for, from the text alone; with a chance, a state that is wrong.

    An answer has all states up to the next one of the environment, as a model's has that stops there.
    """

    def __init__(self, monitor: Monitor, seed: int, wrong: float) -> None:
        self.monitor, self.random, self.wrong = monitor, random.Random(seed), wrong
        self.answers = self.broken = 0

    def __call__(self, prompt: str, *, stop: Sequence[str], max_tokens: int) -> Completion:
        states = self.monitor.specification.states
        self.answers += 1
        done, begun = self._read(prompt)
        word = self._word(done)
        if self.random.random() < self.wrong:
            self.broken += 1
            allowed = self.monitor.allowed(self._state(done))
            others = [state.name for state in states if state.name not in allowed]
            word = [self.random.choice(others), *word]
        prompts = {state.name: state.prompt for state in states}
        text = "\n".join(f"{prompts[name]} some {name.lower()}" for name in word)
        text = text.removeprefix(begun) if text.startswith(begun) else text
        for one in stop:
            text = text.partition(one)[0]
        return Completion(text, tokens=len(text.split()))

    def _read(self, prompt: str) -> tuple[list[str], str]:
        """The states that are whole, and the line that was begun."""
        whole, _, begun = prompt.rpartition("\n")
        return states_in(whole, self.monitor.specification.states), begun

    def _state(self, done: Sequence[str]) -> int:
        state: int | None = 0
        for name in done:
            state = self.monitor.after(state, name)
        assert state is not None
        return state

    def _word(self, done: Sequence[str]) -> list[str]:
        """The shortest way on, after two rounds of what may be repeated."""
        state, word = self._state(done), []
        given = {one.name for one in self.monitor.specification.states if one.env_input}
        while not self.monitor.accepting[state]:
            allowed = self.monitor.allowed(state)
            loop = [one for one in allowed if one in ("Tht", "Plan", "Act")]
            goes_on = [*done, *word].count("Act") < ROUNDS and loop
            name = loop[0] if goes_on else next((one for one in allowed if one not in loop), allowed[0])
            if name == "Ques" or name in given:
                return [*word, name]
            word.append(name)
            state = self._state([*done, *word])
        return word


def environment(state: str, before: Sequence[Piece]) -> str:
    return f"{state} of {before[-1].text}"


def transcripts(name: str, many: int, wrong: float, correct: bool) -> tuple[list[Transcript], list[Sloppy]]:
    monitor = shipped(name)
    models = [Sloppy(monitor, seed, wrong) for seed in range(many)]
    return [generate(monitor, "why?", one, environment, correct=correct) for one in models], models


def is_accepted(name: str, made: Transcript) -> bool:
    return made.reason is None and shipped(name).follow([piece.state for piece in made.pieces]).complete


@pytest.mark.parametrize("name", AGENTS)
def test_with_the_monitor_every_transcript_is_accepted(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    made, models = transcripts(name, 200, 0.3, correct=True)
    right, _ = transcripts(name, 200, 0.0, correct=True)
    assert all(is_accepted(name, one) for one in made)
    assert all(is_accepted(name, one) and one.corrections == 0 for one in right)
    share = sum(one.broken for one in models) / sum(one.answers for one in models)
    assert 0.2 < share < 0.4
    calls, needed = sum(one.calls for one in made), sum(one.calls for one in right)
    tokens, spent = sum(one.tokens for one in made), sum(one.tokens for one in right)
    assert needed < calls <= needed + sum(one.corrections for one in made)
    with capsys.disabled():
        print(f"\n{name}: {calls / needed - 1:+.0%} calls, {tokens / spent - 1:+.0%} tokens", end="")  # noqa: T201


@pytest.mark.parametrize("name", AGENTS)
def test_without_it_the_rate_is_as_planted(name: str) -> None:
    made, models = transcripts(name, 200, 0.3, correct=False)
    for one, model in zip(made, models, strict=True):
        assert is_accepted(name, one) is (model.broken == 0)
        assert one.corrections == 0
    assert sum(one.reason is not None for one in made) == sum(one.broken > 0 for one in models) > 40


def always(text: str, cut: bool = False):  # type: ignore[no-untyped-def]
    return lambda prompt, *, stop, max_tokens: Completion(text, cut, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[Action] search", "wrote '[Action] search' 4 times where [Thought] or [Final Thought]"),
        ("I would rather talk", "wrote 'I would rather talk' 4 times"),
        ("", "wrote nothing 4 times"),
        ("[Thought] [Thought] [Thought]", "wrote '[Thought] [Thought] [Thought]' 4 times"),
    ],
    ids=["state", "text", "nothing", "empty"],
)
def test_a_model_that_never_obeys_ends_within_the_bound(text: str, said: str) -> None:
    made = generate(shipped("react"), "why?", always(text), environment, retries=3)
    assert made.calls == 4
    assert said in str(made.reason)
    assert made.answer == ""


def test_an_endless_loop_ends_at_the_number_of_calls() -> None:
    loop = always("[Thought] a\n[Action] b\n[Action Input] c")
    made = generate(shipped("react"), "why?", loop, environment, max_calls=5)
    assert (made.calls, made.reason) == (5, "not at its end after 5 answers of the model")


def test_an_answer_may_come_in_chunks_that_cut_prompts() -> None:
    whole = "[Thought] think\n[Final Thought] so\n[Answer] 42"

    def in_chunks(prompt: str, *, stop: Sequence[str], max_tokens: int) -> Completion:
        written = prompt.partition("why?\n")[2]
        return Completion(whole[len(written) :][:4], cut=len(written) + 4 < len(whole))

    spec = monitor_of(
        '(define x (:states (Q (:text "[Question]")) (T (:text "[Thought]")) (F (:text "[Final Thought]")) '
        '(A (:text "[Answer]"))) (:behavior (next Q T F A)))'
    )
    made = generate(spec, "why?", in_chunks, environment, chunk=1)
    assert made.pieces == [Piece("Q", "why?"), Piece("T", "think"), Piece("F", "so"), Piece("A", "42")]
    assert (made.answer, made.corrections) == ("42", 0)


def test_the_correction_is_the_longest_common_prefix() -> None:
    asked: list[str] = []

    def model(prompt: str, *, stop: Sequence[str], max_tokens: int) -> Completion:
        asked.append(prompt.partition("why?\n")[2])
        return Completion(
            {1: "[Action] x", 2: "Thought] a\n[Observation] no", 3: " b\n[Thought] c"}[len(asked)]
        )

    generate(shipped("react"), "why?", model, environment, max_calls=3)
    assert asked == ["", "[", "[Thought] a\n[Action]"]


def test_the_environment_writes_its_states_whatever_the_model_wrote() -> None:
    def model(prompt: str, *, stop: Sequence[str], max_tokens: int) -> Completion:
        assert stop == ["[Observation]"]
        if "[Observation]" in prompt:
            return Completion("[Final Thought] d\n[Answer] e [Thought] f")
        return Completion("[Thought] a\n[Action] b\n[Action Input] c\n[Observation] invented\n[Answer] x")

    made = generate(shipped("react"), "why?", model, environment)
    assert [piece.text for piece in made.pieces] == ["why?", "a", "b", "c", "Obs of c", "d", "e"]
    assert made.corrections == 0


def test_a_model_that_stops_at_once_lets_the_environment_write() -> None:
    made = generate(shipped("rewoo"), "why?", always(""), environment)
    assert [piece.state for piece in made.pieces] == ["Ques", "Solver"]
    assert (made.calls, made.corrections) == (1, 0)


def test_an_environment_that_never_lets_the_model_speak_ends_at_the_bound() -> None:
    spec = monitor_of(
        '(define x (:states (Q (:text "Q:")) (O (:text "O:") (:flags :env-input)) '
        '(P (:text "P:") (:flags :env-input))) (:behavior (next Q (until O P))))'
    )

    def patient(state: str, before: Sequence[Piece]) -> str:
        assert len(before) < 20, "it has no end"
        return environment(state, before)

    made = generate(spec, "why?", always(""), patient, max_calls=5)
    assert (made.calls, made.reason) == (0, "not at its end after 6 texts of the environment")


def test_only_prompts_can_be_decoded() -> None:
    with pytest.raises(BadInput, match="with :states and prompts"):
        generate(monitor_of("(next a b)"), "why?", always(""), environment)
    with pytest.raises(BadInput, match="text before the first prompt"):
        states_in("so [Thought] a", shipped("react").specification.states)


def test_each_place_may_be_corrected_anew() -> None:
    """Five places, each with as many errors as are allowed at one."""
    right = ["[Thought] a", "[Action] b", "[Action Input] c", "[Final Thought] d", "[Answer] e"]
    answers = [answer for one in right for answer in ("[Question] no", "[Question] no", one)]

    def model(prompt: str, *, stop: Sequence[str], max_tokens: int) -> Completion:
        begun = prompt.rpartition("\n")[2]
        return Completion(answers.pop(0).removeprefix(begun))

    made = generate(shipped("react"), "why?", model, environment, retries=2)
    assert (made.reason, made.answer, made.corrections) == (None, "e", 10)


def test_text_before_the_prompt_that_may_come_is_an_error() -> None:
    answers = ["Well, [Final Thought] d\n[Answer] e", "Final Thought] d\n[Answer] f"]
    made = generate(
        shipped("react"), "why?", lambda prompt, *, stop, max_tokens: Completion(answers.pop(0)), environment
    )
    assert (made.answer, made.corrections) == ("f", 1)


def test_of_two_prompts_at_one_place_the_longer_counts() -> None:
    text = (
        '(define x (:states (Act (:text "Action")) (Inp (:text "Action Input"))) (:behavior (next Act Inp)))'
    )
    assert states_in("Action look\nAction Input here", monitor_of(text).specification.states) == [
        "Act",
        "Inp",
    ]

"""Lateral Thinking Puzzles: find out by questions what happened behind a strange story.

The scripted judge knows a puzzle's points by words; a language model judges freer (`judged_by`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from synth.errors import BadInput, SynthError
from synth.games.model import NOTHING, Action, Observation, Supplies

RULES = (
    "Find out what is behind the story. Ask one question at a time that can be answered with yes or no, "
    "and nothing else; the game is won when you have asked for every key point of the solution."
)
NEGATION = re.compile(r"\b(not|never|cannot|\w+n['\u2019]t)\b", re.IGNORECASE)

Words = tuple[tuple[str, ...], ...]
"""A question meets them when, for each entry, one of its words begins with one of the entry."""


@dataclass(frozen=True, slots=True)
class Point:
    """A key point of the solution: a milestone."""

    question: str
    """One that meets it."""
    words: Words


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A story and what is behind it."""

    story: str
    solution: str
    points: tuple[Point, ...]
    true: tuple[Words, ...] = ()
    """What else is answered with yes."""
    false: tuple[Words, ...] = ()
    """What is answered with no."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge makes of a question."""

    answer: str
    points: frozenset[int] = frozenset()
    """Positions of the points that the question meets."""


Judge = Callable[[Puzzle, str], Judged]


class JudgeFailed(SynthError):
    """The model that judges gave no usable answer, twice."""


class Lateral:
    """A game with one puzzle; progress is the share of points asked for."""

    def __init__(self, puzzle: Puzzle, judge: Judge | None = None) -> None:
        """Without a judge the scripted one."""
        self.puzzle, self._judge = puzzle, judge or by_words
        self._met: frozenset[int] = frozenset()

    @classmethod
    def drawn(cls, seed: int, supplies: Supplies = NOTHING) -> Lateral:
        """The puzzle of a seed, from the user's file or ours. BadInput for a file that has none."""
        puzzles = shipped() if supplies.data is None else puzzles_in(supplies.data)
        judge = None if supplies.ask is None else judged_by(supplies.ask)
        return cls(puzzles[seed % len(puzzles)], judge)

    def reset(self) -> Observation:
        """The rules and the story."""
        self._met = frozenset()
        return Observation(f"{RULES}\n\n{self.puzzle.story}")

    def step(self, action: Action) -> Observation:
        """The judge's answer."""
        if not action.text.strip():
            return Observation("Not allowed: ask a question that can be answered with yes or no.")
        judged = self._judge(self.puzzle, action.text)
        self._met |= judged.points
        if self.progress < 1:
            return Observation(judged.answer)
        return Observation(f"{judged.answer} {self.puzzle.solution}", done=True, success=True)

    @property
    def state(self) -> dict[str, Any]:
        """The solution and the points that were asked for."""
        return {"solution": self.puzzle.solution, "met": sorted(self._met)}

    @property
    def progress(self) -> float:
        """Points asked for / points."""
        return len(self._met) / len(self.puzzle.points)


# ---------------------------------------------------------------- judges


def by_words(puzzle: Puzzle, question: str) -> Judged:
    """The scripted judge: the same words, the same answer."""
    if NEGATION.search(question):
        return Judged("Please ask without a negation.")
    words = re.findall(r"\w+", question.lower())
    met = frozenset(at for at, point in enumerate(puzzle.points) if _meets(words, point.words))
    if met:
        return Judged("Yes.", met)
    if any(_meets(words, said) for said in puzzle.false):
        return Judged("No.")
    return Judged("Yes." if any(_meets(words, said) for said in puzzle.true) else "I cannot say.")


def _meets(words: Sequence[str], wanted: Words) -> bool:
    return all(any(word.startswith(begin) for word in words for begin in begins) for begins in wanted)


PROMPT = """You judge a riddle. The player knows only the story and asks questions.

Story: {story}
Solution: {solution}
Key points of the solution:
{points}

The player asks: {question}

Answer with JSON and nothing else: {{"answer": "yes", "no" or "irrelevant", "points": [numbers of the key
points that the question shows the player has found out, none for a question that only guesses around]}}"""
ANSWERS = {"yes": "Yes.", "no": "No.", "irrelevant": "That does not matter."}


def judged_by(ask: Callable[[str], str]) -> Judge:
    """A language model as judge; JudgeFailed where it twice answers with something else than asked for."""

    def judge(puzzle: Puzzle, question: str) -> Judged:
        points = "\n".join(f"{n}. {point.question}" for n, point in enumerate(puzzle.points, 1))
        prompt = PROMPT.format(story=puzzle.story, solution=puzzle.solution, points=points, question=question)
        said = ""
        for _ in range(2):
            said = ask(prompt)
            if (judged := _read(said, len(puzzle.points))) is not None:
                return judged
        raise JudgeFailed(f"the judge's answer cannot be read: {said[:200]!r}; take another model")

    return judge


def _read(said: str, points: int) -> Judged | None:
    """The judgement in a model's answer, None where there is none."""
    found = re.search(r"\{.*\}", said, re.DOTALL)
    try:
        told = json.loads(found[0]) if found else None
    except ValueError:
        return None
    if not isinstance(told, dict) or not isinstance(told.get("points", []), list):
        return None
    answer, met = ANSWERS.get(str(told.get("answer")).lower()), told.get("points", [])
    if answer is None or not all(type(n) is int and 1 <= n <= points for n in met):
        return None
    return Judged(answer, frozenset(n - 1 for n in met))


# ---------------------------------------------------------------- puzzles


@cache
def shipped() -> tuple[Puzzle, ...]:
    """Our puzzles."""
    return _puzzles(files("synth.games").joinpath("puzzles.toml").read_text(encoding="utf-8"), "puzzles.toml")


def puzzles_in(path: Path) -> tuple[Puzzle, ...]:
    """The puzzles of a user's file, in the form of ours. BadInput says what is wrong with it."""
    try:
        return _puzzles(path.read_text(encoding="utf-8"), str(path))
    except OSError as problem:
        raise BadInput(f"cannot read the puzzles: {problem.strerror or problem}", file=str(path)) from None
    except UnicodeDecodeError as problem:
        raise BadInput(f"not TOML: {problem}", file=str(path)) from None


def questions_for(first: str) -> tuple[str, ...]:
    """Questions that solve one of our puzzles, by its story; none for another one."""
    found = next((puzzle for puzzle in shipped() if puzzle.story in first), None)
    return () if found is None else tuple(point.question for point in found.points)


def _puzzles(text: str, file: str) -> tuple[Puzzle, ...]:
    try:
        tables = tomllib.loads(text).get("puzzle")
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"not TOML: {problem}", file=file) from None
    if not isinstance(tables, list) or not tables:
        raise BadInput("expected at least one [[puzzle]] table", file=file, field="puzzle")
    return tuple(_puzzle(table, file, f"puzzle[{at}]") for at, table in enumerate(tables))


def _puzzle(said: Any, file: str, where: str) -> Puzzle:
    wanted = 'a puzzle has story, solution and points of {question, words = [["begin", ...], ...]}'
    try:
        points = tuple(Point(str(one["question"]), _words(one["words"])) for one in said["points"])
        true, false = (tuple(_words(words) for words in said.get(name, ())) for name in ("true", "false"))
        puzzle = Puzzle(said["story"], said["solution"], points, true, false)
    except (KeyError, TypeError, AttributeError) as problem:
        raise BadInput(f"{wanted}; {problem!r}", file=file, field=where) from None
    if not points or not all(isinstance(text, str) for text in (puzzle.story, puzzle.solution)):
        raise BadInput(wanted, file=file, field=where)
    return puzzle


def _words(said: Any) -> Words:
    if not isinstance(said, list) or not said or not all(isinstance(one, list) and one for one in said):
        raise TypeError(f"words are lists in a list, not {said!r}")
    return tuple(tuple(str(begin).lower() for begin in one) for one in said)

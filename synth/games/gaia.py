"""GAIA: questions with one right answer, over the user's copy of the data set.

The data set may not be handed on; who has agreed to its terms has `2023/validation/metadata.jsonl` with a
question a line: `task_id`, `Question`, `Level`, `Final answer`, `file_name`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from synth.errors import BadInput
from synth.games.model import NOTHING, Action, Observation, Supplies

RULES = (
    "Answer the question. Think and use your tools as long as you like; an action is a note to yourself, or "
    "the end: FINAL ANSWER: and after it the answer, which is a number without units or separators, as few "
    "words as possible, or a list of these with commas between."
)
HOW = (
    "gaia needs your copy of the data set: agree to its terms on the page of gaia-benchmark/GAIA at Hugging "
    "Face, then `hf download gaia-benchmark/GAIA --repo-type dataset --local-dir GAIA`, and give --data "
    "GAIA/2023/validation (a folder with metadata.jsonl, or such a file; where there is only "
    "metadata.parquet: pandas.read_parquet(...).to_json('metadata.jsonl', orient='records', lines=True))"
)
_FINAL = re.compile(r"\s*final answer\s*:(.*)", re.IGNORECASE | re.DOTALL)


class Gaia:
    """One question; progress is the share of the answer's parts that are right (of most answers: 0 or 1)."""

    def __init__(self, question: str, answer: str, attached: Path | None = None) -> None:
        self.question, self.answer, self._attached = question, answer, attached
        self._given: str | None = None

    @classmethod
    def drawn(cls, seed: int, supplies: Supplies = NOTHING) -> Gaia:
        """The question of a seed. BadInput says how to get what is missing."""
        if supplies.data is None:
            raise BadInput(HOW, field="data")
        file = supplies.data / "metadata.jsonl" if supplies.data.is_dir() else supplies.data
        questions = _questions(file)
        said = questions[seed % len(questions)]
        attached = file.parent / str(said["file_name"]) if said.get("file_name") else None
        return cls(str(said["Question"]), str(said["Final answer"]), attached)

    def reset(self) -> Observation:
        """The rules and the question."""
        self._given = None
        beside = f"\n\nA file belongs to it: {self._attached}" if self._attached else ""
        return Observation(f"{RULES}\n\n{self.question}{beside}")

    def step(self, action: Action) -> Observation:
        """A note changes nothing; an answer ends the game."""
        final = _FINAL.fullmatch(action.text)
        if final is None:
            return Observation("Noted.")
        self._given = final[1].strip()
        right = self.progress == 1
        return Observation("Right." if right else "Wrong.", done=True, success=right)

    @property
    def state(self) -> dict[str, str | None]:
        """The right answer and the one that was given."""
        return {"answer": self.answer, "given": self._given}

    @property
    def progress(self) -> float:
        """Right parts / parts."""
        return 0.0 if self._given is None else share_right(self._given, self.answer)


def share_right(given: str, answer: str) -> float:
    """Quasi exact match (GAIA, section 3): numbers as numbers, texts without case, spaces and punctuation,
    lists part by part in order."""
    if _is_number(answer) or not re.search("[,;]", answer):
        return float(_same(given, answer))
    wanted, parts = (re.split("[,;]", text) for text in (answer, given))
    if len(wanted) != len(parts):
        return 0.0
    right = sum(_same(part, want, keep=True) for part, want in zip(parts, wanted, strict=True))
    return right / len(wanted)


def _same(given: str, answer: str, keep: bool = False) -> bool:
    """`keep`: punctuation counts, as within lists."""
    if not _is_number(answer):
        return _plain(given, keep) == _plain(answer, keep)
    said = re.sub("[$%,]", "", given)  # units and separators of thousands
    return _is_number(said) and float(said) == float(answer)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[-+]?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?\s*", text, re.IGNORECASE) is not None


def _plain(text: str, keep: bool) -> str:
    return re.sub(r"\s" if keep else r"[\W_]", "", text).lower()


def _questions(file: Path) -> list[dict[str, Any]]:
    try:
        lines = file.read_bytes().splitlines()
    except OSError as problem:
        raise BadInput(f"{HOW}; {problem.strerror or problem}", file=str(file)) from None
    questions = [_question(line, file, number) for number, line in enumerate(lines, 1) if line.strip()]
    if not questions:
        raise BadInput(f"{HOW}; there is no question in it", file=str(file))
    return questions


def _question(line: bytes, file: Path, number: int) -> dict[str, Any]:
    try:
        said = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        raise BadInput(f"not JSON: {problem}", file=str(file), line=number) from None
    if not isinstance(said, dict) or not {"Question", "Final answer"} <= said.keys():
        raise BadInput("a question has Question and Final answer", file=str(file), line=number)
    return said

"""Readers of GSM8K (JSON lines), HotpotQA and TriviaQA (JSON), from the user's own copies.

GSM8K (Cobbe et al.): `question`, and `answer` that ends with `#### NUMBER`. HotpotQA (Yang et al.): a list of
`_id`, `question`, `answer`, `supporting_facts`. TriviaQA (Joshi et al.): `Data`, a list of `QuestionId`,
`Question`, `Answer` (`Value`, `Aliases`), `EntityPages`. None of them comes with this package.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from synth.errors import BadInput
from synth.questions.model import CALCULATOR, SEARCH, TOOLS, Question, last_number

MAX_BYTES = 2 << 30
"""Of a file: it is read as a whole."""
SHOWN = 60
_FINAL = re.compile(r"####\s*(.+?)\s*\Z", re.DOTALL)
_STEP = re.compile(r"<<([^<>=]{1,200})=[^<>]*>>")
"""GSM8K's own marks of what is to be computed."""


def read_questions(data: str, file: Path) -> list[Question]:
    """Every question of a file; BadInput names the file, the line or the field, and what was expected."""
    if data not in TOOLS:
        raise BadInput(f"no data set is called {data!r} (expected one of {', '.join(TOOLS)})")
    content = _bytes(file, data)
    found = list(_gsm8k(content, file) if data == "gsm8k" else _records(content, file, data))
    if not found:
        raise BadInput("there is no question in it", file=str(file))
    twice = [name for name, count in Counter(one.id for one in found).items() if count > 1]
    if twice:
        raise BadInput(f"{len(twice)} ids stand more than once, such as {twice[0][:SHOWN]!r}", file=str(file))
    return found


def sample(questions: Sequence[Question], count: int | None, seed: int) -> list[Question]:
    """So many at random, in the order of the file; all where there are no more, or for None."""
    if count is None or count >= len(questions):
        return list(questions)
    return [questions[k] for k in sorted(random.Random(seed).sample(range(len(questions)), count))]


def _bytes(file: Path, data: str) -> bytes:
    try:
        if not file.is_file():
            raise BadInput(f"expected a file, your copy of {data}: {_WANTED[data]}", file=str(file))
        if file.stat().st_size > MAX_BYTES:
            raise BadInput(f"a file of {file.stat().st_size} bytes (at most {MAX_BYTES})", file=str(file))
        return file.read_bytes()
    except OSError as problem:
        raise BadInput(f"cannot be read: {problem.strerror or problem}", file=str(file)) from None


_WANTED: Mapping[str, str] = {
    "gsm8k": 'JSON lines such as test.jsonl, each {"question": .., "answer": ".. #### 42"}',
    "hotpotqa": 'a JSON list such as hotpot_dev_fullwiki_v1.json, each {"_id", "question", "answer", ..}',
    "triviaqa": 'JSON such as unfiltered-web-dev.json, {"Data": [{"Question", "Answer": {"Value", ..}, ..}]}',
}


def _gsm8k(content: bytes, file: Path) -> Iterator[Question]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            said = orjson.loads(line)
        except orjson.JSONDecodeError as problem:
            raise BadInput(
                f"not JSON: {problem}; expected {_WANTED['gsm8k']}", file=str(file), line=number
            ) from None
        try:
            yield _of_gsm8k(said, number)
        except BadInput as bad:
            raise BadInput(bad.message, file=str(file), line=number, field=bad.field) from None


def _of_gsm8k(said: Any, number: int) -> Question:
    record = _object(said)
    text, answer = _text(record, "question"), _text(record, "answer")
    final = _FINAL.search(answer)
    if final is None or last_number(final[1]) is None:
        raise BadInput(
            f"expected a text that ends with #### and a number, got {_end(answer)}", field="answer"
        )
    steps = tuple((CALCULATOR, formula.strip()) for formula in _STEP.findall(answer))
    return Question("gsm8k", str(number), text, (final[1],), steps)


def _records(content: bytes, file: Path, data: str) -> Iterator[Question]:
    try:
        said = orjson.loads(content)
    except orjson.JSONDecodeError as problem:
        raise BadInput(f"not JSON: {problem}; expected {_WANTED[data]}", file=str(file)) from None
    if data == "triviaqa":
        said = said.get("Data") if isinstance(said, dict) else said
    if not isinstance(said, list):
        raise BadInput(f"expected {_WANTED[data]}, got {_shown(said)}", file=str(file))
    read: Callable[[Any], Question] = _of_triviaqa if data == "triviaqa" else _of_hotpotqa
    for number, one in enumerate(said):
        try:
            yield read(one)
        except BadInput as bad:
            place = (
                f"{'Data' if data == 'triviaqa' else ''}[{number}]{'.' if bad.field else ''}{bad.field or ''}"
            )
            raise BadInput(bad.message, file=str(file), field=place) from None


def _of_hotpotqa(said: Any) -> Question:
    record = _object(said)
    facts = record.get("supporting_facts") or []
    titles = [one[0] for one in facts if isinstance(one, list) and one] if isinstance(facts, list) else []
    return Question(
        "hotpotqa", _text(record, "_id"), _text(record, "question"), (_text(record, "answer"),),
        _searches(titles),
    )  # fmt: skip


def _of_triviaqa(said: Any) -> Question:
    record = _object(said)
    if "Answer" not in record:
        raise BadInput("there is none: the test set has no answers, take the dev set", field="Answer")
    answer = _object(record["Answer"], "Answer")
    aliases = answer.get("Aliases") or []
    if not isinstance(aliases, list) or not all(isinstance(one, str) for one in aliases):
        raise BadInput(f"expected a list of texts, got {_shown(aliases)}", field="Answer.Aliases")
    pages = record.get("EntityPages") or []
    titles = [one.get("Title") for one in pages if isinstance(one, dict)] if isinstance(pages, list) else []
    return Question(
        "triviaqa", _text(record, "QuestionId"), _text(record, "Question"),
        tuple(dict.fromkeys([_text(answer, "Value", "Answer."), *aliases])), _searches(titles),
    )  # fmt: skip


def _searches(titles: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    return tuple((SEARCH, title) for title in dict.fromkeys(one for one in titles if isinstance(one, str)))


def _object(said: Any, field: str | None = None) -> Mapping[str, Any]:
    if not isinstance(said, dict):
        raise BadInput(f"expected an object, got {_shown(said)}", field=field)
    return said


def _text(record: Mapping[str, Any], key: str, inside: str = "") -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        got = _shown(value) if key in record else f"none among {', '.join(list(record)[:6]) or 'no fields'}"
        raise BadInput(f"expected a text that is not empty, got {got}", field=f"{inside}{key}")
    return value.strip()


def _shown(value: Any) -> str:
    text = (
        orjson.dumps(value, default=repr).decode(errors="replace")
        if not isinstance(value, str)
        else repr(value)
    )
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _end(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"..{text[-SHOWN:]}")

"""Small files in the forms of GSM8K, HotpotQA and TriviaQA (questions of our own), and pages for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GSM8K: list[dict[str, Any]] = [
    {
        "question": "Ana sold 48 clips in April and half as many in May. How many altogether?",
        "answer": "She sold 48/2 = <<48/2=24>>24 in May.\nTogether 48+24 = <<48+24=72>>72.\n#### 72",
    },
    {
        "question": "A desk costs $1,200 and a lamp $34. How much for both?",
        "answer": "<<1200+34=1234>>\n#### 1,234",
    },
]
HOTPOTQA: list[dict[str, Any]] = [
    {
        "_id": "a1",
        "question": "Which magazine was started first, Arthur's Magazine or First for Women?",
        "answer": "Arthur's Magazine",
        "supporting_facts": [["Arthur's Magazine", 0], ["First for Women", 0], ["First for Women", 1]],
    }
]
TRIVIAQA: list[dict[str, Any]] = [
    {
        "QuestionId": "t1",
        "Question": "Which river flows through Rome?",
        "Answer": {"Value": "Tiber", "Aliases": ["River Tiber", "Tiber"]},
        "EntityPages": [{"Title": "Rome"}],
    }
]


def written(folder: Path) -> dict[str, Path]:
    """The files, and `corpus`, a folder of pages."""
    corpus = folder / "wiki"
    corpus.mkdir()
    (corpus / "Rome.txt").write_text(
        "Rome is the capital of Italy. The Tiber flows through Rome. It is old. It has hills. It is big. "
        "A sixth sentence! The Tiber is long."
    )
    pages = [
        {
            "title": "Arthur's Magazine",
            "text": "Arthur's Magazine (1844-1846) was American. It was literary.",
        },
        {"title": "First for Women", "sentences": ["First for Women is a magazine.", "It began in 1989."]},
    ]
    (corpus / "more.jsonl").write_text("".join(f"{json.dumps(page)}\n" for page in pages))
    files = {name: folder / name for name in ("gsm8k", "hotpotqa", "triviaqa")}
    files["gsm8k"].write_text("\n\n".join(map(json.dumps, GSM8K)))
    files["hotpotqa"].write_text(json.dumps(HOTPOTQA))
    files["triviaqa"].write_text(json.dumps({"Data": TRIVIAQA}))
    return {**files, "corpus": corpus}

"""Readers of data sets: what is right in them, and what is malformed, told with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synth.errors import BadInput
from synth.questions import Question, is_right, read_questions, sample
from tests.support.questions import GSM8K, HOTPOTQA, TRIVIAQA, written


def test_each_data_set_is_read(tmp_path: Path) -> None:
    files = written(tmp_path)
    (first, second) = read_questions("gsm8k", files["gsm8k"])
    assert (first.id, first.answers, first.steps) == (
        "1",
        ("72",),
        (("Calculator", "48/2"), ("Calculator", "48+24")),
    )
    assert (second.id, second.answers) == ("3", ("1,234",))
    (hotpot,) = read_questions("hotpotqa", files["hotpotqa"])
    assert (hotpot.id, hotpot.answers) == ("a1", ("Arthur's Magazine",))
    assert hotpot.steps == (("Search", "Arthur's Magazine"), ("Search", "First for Women"))
    (trivia,) = read_questions("triviaqa", files["triviaqa"])
    assert trivia.answers == ("Tiber", "River Tiber")
    assert trivia.steps == (("Search", "Rome"),)


def changed(record: Any, **fields: Any) -> Any:
    said = {**record, **fields}
    return {key: value for key, value in said.items() if value is not ...}


@pytest.mark.parametrize(
    ("data", "text", "said"),
    [
        ("gsm8k", "{", r"f:1: not JSON.*expected JSON lines"),
        ("gsm8k", "\n[1]", r"f:2: expected an object, got \[1\]"),
        ("gsm8k", json.dumps(changed(GSM8K[0], question=...)), r"f:1, field question: .*none among answer"),
        ("gsm8k", json.dumps(changed(GSM8K[0], question=" ")), r"field question: expected a text"),
        ("gsm8k", json.dumps(changed(GSM8K[0], answer="72")), r"field answer: .*with ####.*got '72'"),
        ("gsm8k", json.dumps(changed(GSM8K[0], answer="#### many")), r"field answer: .*a number"),
        ("gsm8k", "\n\n", "no question in it"),
        ("hotpotqa", json.dumps({"data": []}), "expected a JSON list such as hotpot_dev"),
        ("hotpotqa", json.dumps([HOTPOTQA[0], 7]), r"field \[1\]: expected an object, got 7"),
        ("hotpotqa", json.dumps([changed(HOTPOTQA[0], answer=None)]), r"field \[0\].answer: .*got null"),
        ("hotpotqa", "[]", "no question in it"),
        ("hotpotqa", json.dumps(HOTPOTQA * 2), "1 ids stand more than once, such as 'a1'"),
        ("triviaqa", json.dumps({"Data": {}}), r"expected JSON such as unfiltered-web-dev"),
        ("triviaqa", json.dumps([changed(TRIVIAQA[0], Answer=...)]), r"field Data\[0\].Answer: .*test set"),
        ("triviaqa", json.dumps([changed(TRIVIAQA[0], Answer=[])]), r"Data\[0\].Answer: expected an object"),
        ("triviaqa", json.dumps([changed(TRIVIAQA[0], Answer={"Value": 1})]), r"Answer.Value: .*got 1"),
        (
            "triviaqa",
            json.dumps({"Data": [changed(TRIVIAQA[0], Answer={"Value": "x", "Aliases": [1]})]}),
            r"Answer.Aliases: expected a list of texts, got \[1\]",
        ),
        ("triviaqa", "[" * 5_000, "not JSON"),
        ("squad", "{}", "no data set is called 'squad'"),
    ],
    ids=range(19),
)  # fmt: skip
def test_what_is_malformed_is_told_with_its_place(tmp_path: Path, data: str, text: str, said: str) -> None:
    file = tmp_path / "f"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        read_questions(data, file)
    assert_says(str(caught.value), said)


def assert_says(text: str, said: str) -> None:
    import re

    assert re.search(said, text), text


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(BadInput, match="expected a file, your copy of hotpotqa"):
            read_questions("hotpotqa", place)


def test_a_sample_is_the_same_for_a_seed_and_in_the_order_of_the_file() -> None:
    every = [Question("gsm8k", str(k), f"q{k}", ("1",)) for k in range(50)]
    drawn = sample(every, 9, 1)
    assert drawn == sample(every, 9, 1) != sample(every, 9, 2)
    assert [int(one.id) for one in drawn] == sorted(int(one.id) for one in drawn)
    assert len(set(drawn)) == 9
    assert sample(every, 50, 0) == sample(every, None, 0) == every


def right(data: str, given: str, *answers: str) -> bool:
    return is_right(given, Question(data, "1", "q", answers))


def test_of_gsm8k_the_last_number_counts() -> None:
    assert right("gsm8k", "She has 3 + 4 = 7 clips.", "7")
    assert right("gsm8k", "$1,234.00", "1,234")
    assert right("gsm8k", "-5", "-5")
    assert not right("gsm8k", "7 of 8", "7")
    assert not right("gsm8k", "seven", "7")
    assert not right("gsm8k", "", "7")


def test_of_others_the_text_counts_without_capitals_articles_and_punctuation() -> None:
    assert right("hotpotqa", "the Arthurs magazine.", "Arthur's Magazine")
    assert right("triviaqa", "river-tiber", "Tiber", "River Tiber")
    assert not right("hotpotqa", "Arthur's Magazine was first", "Arthur's Magazine")
    assert not right("hotpotqa", "", "Arthur's Magazine")
    assert not right("hotpotqa", "...", "The")

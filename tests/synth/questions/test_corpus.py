"""Search and Lookup over a user's own pages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from synth.errors import BadInput
from synth.questions import Reader, read_corpus
from tests.support.questions import written


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return written(tmp_path)["corpus"]


def test_search_gives_the_first_sentences_whatever_the_capitals(corpus: Path) -> None:
    reader = Reader(read_corpus(corpus))
    said = "Rome is the capital of Italy. The Tiber flows through Rome. It is old. It has hills. It is big."
    assert reader.search("rome") == reader.search(" ROME ") == said
    assert reader.search("First_for_Women") == "First for Women is a magazine. It began in 1989."


def test_it_names_the_titles_that_are_most_alike(corpus: Path) -> None:
    reader = Reader(read_corpus(corpus))
    assert reader.search("Women") == "Could not find 'Women'. Similar: First for Women."
    assert reader.search("Roma") == "Could not find 'Roma'. Similar: Rome."
    assert reader.search("") == "Could not find ''. Similar: nothing."
    assert len(reader.search("x" * 100_000)) < 300


def test_lookup_goes_on_in_the_page_that_was_found(corpus: Path) -> None:
    reader = Reader(read_corpus(corpus))
    assert reader.lookup("Tiber") == "There is no page yet: Search for one first."
    reader.search("Rome")
    assert reader.lookup("tiber") == "(Result 1 / 2) The Tiber flows through Rome."
    reader.search("Nowhere")
    assert reader.lookup("Tiber") == "(Result 2 / 2) The Tiber is long."
    assert reader.lookup("Tiber") == "No more sentences with 'Tiber' on the page 'Rome'."
    assert reader.lookup("hills") == "(Result 1 / 1) It has hills."
    assert reader.lookup("Tiber") == "(Result 1 / 2) The Tiber flows through Rome."
    assert reader.lookup("sea") == "No sentences with 'sea' on the page 'Rome'."
    assert reader.lookup(" ") == "Nothing to look up: give a text."
    reader.search("Rome")
    assert reader.lookup("Tiber").startswith("(Result 1")


def test_a_page_of_one_kind_of_sign_is_read(tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("A. " + " " * 3_000 + '"' * 30_000 + "a. " + "\n" * 30_000 + "End.")
    assert Reader(read_corpus(tmp_path)).search("odd").startswith("A. ")


def test_two_runs_do_not_share_a_page(corpus: Path) -> None:
    one, other = Reader(read_corpus(corpus)), Reader(read_corpus(corpus))
    one.search("Rome")
    assert other.lookup("Tiber") == "There is no page yet: Search for one first."


def test_nothing_outside_the_corpus_is_read(corpus: Path) -> None:
    (corpus.parent / "secret.txt").write_text("A secret.")
    (corpus / "stray.bin").write_text("not a page")
    os.mkfifo(corpus / "pipe.txt")
    reader = Reader(read_corpus(corpus))
    for name in ("../secret", "secret", str(corpus.parent / "secret.txt"), "stray", "pipe"):
        assert reader.search(name).startswith("Could not find")


def test_one_file_is_a_corpus_too(corpus: Path) -> None:
    assert Reader(read_corpus(corpus / "Rome.txt")).search("Rome").startswith("Rome is")
    assert Reader(read_corpus(corpus / "more.jsonl")).search("first for women").endswith("1989.")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "f.jsonl:2: not JSON"),
        ("[]", 'f.jsonl:2: expected {"title": text'),
        ('{"title": "x"}', 'f.jsonl:2: expected {"title": text'),
        ('{"title": "x", "text": [1]}', "f.jsonl:2: expected"),
        ('{"title": 1, "text": "x"}', "f.jsonl:2: expected"),
    ],
    ids=range(5),
)
def test_malformed_lines_are_told_with_their_place(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text(f'{{"title": "a", "text": "b"}}\n{line}\n')
    with pytest.raises(BadInput) as caught:
        read_corpus(file)
    assert said in str(caught.value)


def test_what_is_no_corpus_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no page in it"):
        read_corpus(tmp_path)
    with pytest.raises(BadInput, match="expected a folder"):
        read_corpus(tmp_path / "nothing")


def test_a_page_that_changed_is_told(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text('{"title": "a", "text": "b"}\n{"title": "c", "text": "d"}\n')
    corpus = read_corpus(file)
    file.write_text('{"title": "a", "text": "b"}\n{"title": "e", "text": "d"}\n')
    with pytest.raises(BadInput, match="changed while it was in use"):
        corpus.page("c")

"""The tools Search and Lookup over a user's own pages (Crouse et al., section 4; Yao et al., section 3.1).

A corpus is a folder of texts (`.txt`, `.md`: a page each, titled by the file's name) and JSON lines
(`.jsonl`: `title`, and `text` or `sentences`), or one such file. Only titles are kept in memory, so that a
page is read when somebody asks for it. Search knows titles, never paths: nothing outside the corpus is read.
"""

from __future__ import annotations

import difflib
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from synth.errors import BadInput

FIRST = 5
"""Sentences that Search gives."""
SIMILAR = 5
"""Titles that it names where there is no such page."""
MAX_PAGES = 2_000_000
MAX_PAGE = 4 << 20
"""Bytes of a page, or of a line of JSON lines."""
MAX_SHOWN = 2_000
"""Characters of what a tool answers."""
TEXTS, RECORDS = (".txt", ".md"), ".jsonl"

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]{0,3}\s+(?=[\"'(\[]{0,3}[A-Z0-9])|\n\s*\n|\n(?=[ \t]{0,9}[-*#])")


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page stands: a file, and the offset of its line, or None for all of it."""

    file: Path
    offset: int | None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Corpus:
    """Pages by title."""

    places: Mapping[str, _Place]
    """By title in lower case, with single spaces."""
    titles: Mapping[str, str]
    """As they are written."""
    words: Mapping[str, tuple[str, ...]]
    """Word -> titles that have it."""

    def page(self, title: str) -> Page | None:
        """The page of a title, whatever its capitals; BadInput where its file is no longer as it was."""
        key = _key(title)
        return _read(self.places[key], self.titles[key]) if key in self.places else None

    def similar(self, title: str) -> list[str]:
        """The titles that share most words with it, the most alike first."""
        shared: Counter[str] = Counter()
        for word in set(_key(title)[:200].split()):
            shared.update(self.words.get(word, ())[:100_000])
        near = [key for key, _ in shared.most_common(50)] or list(self.places)[:1_000]
        found = difflib.get_close_matches(_key(title)[:200], near, SIMILAR, 0.0 if shared else 0.5)
        return [self.titles[key] for key in found]


@lru_cache(maxsize=4)
def read_corpus(path: Path) -> Corpus:
    """The corpus of a folder or a file; BadInput says what is wrong with it and where."""
    places: dict[str, _Place] = {}
    titles: dict[str, str] = {}
    words: dict[str, list[str]] = {}
    for title, place in _places(path):
        key = _key(title)
        if not key or key in places:
            continue  # the first page of a title counts
        if len(places) >= MAX_PAGES:
            raise BadInput(f"a corpus of over {MAX_PAGES} pages", file=str(path))
        places[key], titles[key] = place, " ".join(title.split())
        for word in set(key.split()):
            words.setdefault(word, []).append(key)
    if not places:
        raise BadInput("there is no page in it: expected .txt, .md or .jsonl files", file=str(path))
    return Corpus(places, titles, {word: tuple(keys) for word, keys in words.items()})


def _places(path: Path) -> Iterator[tuple[str, _Place]]:
    if path.is_dir():
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                if name.endswith((*TEXTS, RECORDS)) and Path(folder, name).is_file():
                    yield from _of_file(Path(folder, name))
    elif path.is_file() and path.name.endswith((*TEXTS, RECORDS)):
        yield from _of_file(path)
    else:
        wanted = "a folder, or a .txt, .md or .jsonl file"
        raise BadInput(
            f"expected {wanted}, and this is {'another file' if path.is_file() else 'neither'}",
            file=str(path),
        )


def _of_file(file: Path) -> Iterator[tuple[str, _Place]]:
    if not file.name.endswith(RECORDS):
        yield file.stem.replace("_", " "), _Place(file, None)
        return
    with _opened(file) as lines:
        offset, number = 0, 0
        while line := lines.readline(MAX_PAGE + 1):
            number += 1
            if len(line) > MAX_PAGE:
                raise BadInput(f"a line of over {MAX_PAGE} bytes", file=str(file), line=number)
            if line.strip():
                yield _record(line, file, number)[0], _Place(file, offset, number)
            offset += len(line)


def _opened(file: Path) -> Any:
    try:
        return file.open("rb")
    except OSError as problem:
        raise BadInput(f"cannot be read: {problem.strerror or problem}", file=str(file)) from None


def _record(line: bytes, file: Path, number: int) -> tuple[str, str | list[str]]:
    """Title and text of a line."""
    try:
        said = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        raise BadInput(f"not JSON: {problem}", file=str(file), line=number) from None
    wanted = 'expected {"title": text, "text": text} or {"title": text, "sentences": [text, ..]}'
    if not isinstance(said, dict) or not isinstance(said.get("title"), str):
        raise BadInput(wanted, file=str(file), line=number)
    text = said.get("text", said.get("sentences"))
    if isinstance(text, list) and all(isinstance(one, str) for one in text):
        return said["title"], text
    if not isinstance(text, str):
        raise BadInput(wanted, file=str(file), line=number)
    return said["title"], text


def _read(place: _Place, title: str) -> Page:
    with _opened(place.file) as file:
        if place.offset is None:
            text: str | list[str] = file.read(MAX_PAGE).decode("utf-8", "replace")
        else:
            file.seek(place.offset)
            found, text = _record(file.readline(MAX_PAGE + 1), place.file, place.line)
            if _key(found) != _key(title):
                raise BadInput("it changed while it was in use", file=str(place.file), line=place.line)
    parts = text if isinstance(text, list) else _SENTENCE.split(text)
    return Page(title, tuple(" ".join(part.split()) for part in parts if part.strip()))


def _key(title: str) -> str:
    return " ".join(title.replace("_", " ").casefold().split())


@dataclass(slots=True)
class Reader:
    """Search and Lookup of one run: Lookup goes on in the page that was found last."""

    corpus: Corpus
    _page: Page | None = None
    _asked: str = ""
    _seen: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def search(self, entity: str) -> str:
        """The first sentences of a page, or the titles that are most like it."""
        with self._lock:
            page = self.corpus.page(entity)
            if page is None:
                similar = ", ".join(self.corpus.similar(entity))
                return _cut(f"Could not find {entity[:100]!r}. Similar: {similar or 'nothing'}.")
            self._page, self._asked, self._seen = page, "", 0
            return _cut(" ".join(page.sentences[:FIRST]) or "The page is empty.")

    def lookup(self, text: str) -> str:
        """The next sentence of that page with the text in it."""
        with self._lock:
            wanted = " ".join(text.casefold().split())
            if self._page is None:
                return "There is no page yet: Search for one first."
            if not wanted:
                return "Nothing to look up: give a text."
            found = [one for one in self._page.sentences if wanted in one.casefold()]
            self._seen = self._seen + 1 if wanted == self._asked else 1
            self._asked = wanted
            if self._seen > len(found):
                more = " more" if found else ""
                return _cut(f"No{more} sentences with {text[:100]!r} on the page {self._page.title!r}.")
            return _cut(f"(Result {self._seen} / {len(found)}) {found[self._seen - 1]}")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."

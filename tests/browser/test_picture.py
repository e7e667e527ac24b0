"""The picture of the README: the page of a run with an order error, as the browser draws it.

`make picture` keeps it in docs/, with the words of its finding beside the pixels: a picture that no longer
says what the page says is noticed.
"""

from __future__ import annotations

import base64
import os
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.chromium import Page
from tests.support.recipes import blocks
from tests.support.traces import Client, agent_request, new_id

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "order-error.png"
MOST_BYTES = 200_000
HEAD = b"\x89PNG\r\n\x1a\n"
WORDS = b"Description\0"
RUN = [
    {"name": "refund_payment", "arguments": {"payment": "p-17"}, "result": "ok"},
    {"name": "verify_identity", "arguments": {"customer": "c-4"}, "result": "ok"},
]


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kinds and contents of the parts of a PNG file."""
    assert png.startswith(HEAD)
    place = len(HEAD)
    while place < len(png):
        length, kind = struct.unpack_from(">I4s", png, place)
        yield kind, png[place + 8 : place + 8 + length]
        place += length + 12


def with_words(png: bytes, words: str) -> bytes:
    """The same picture with a text in it, as PNG keeps texts."""
    parts = [*chunks(png)]
    parts.insert(1, (b"tEXt", WORDS + words.encode("ascii", "backslashreplace")))
    return HEAD + b"".join(
        struct.pack(">I", len(said)) + kind + said + struct.pack(">I", zlib.crc32(kind + said))
        for kind, said in parts
    )


def words_of(png: bytes) -> list[str]:
    return [said.removeprefix(WORDS).decode() for kind, said in chunks(png) if kind == b"tEXt"]


def size(png: bytes) -> tuple[int, int]:
    (first, *_) = chunks(png)
    width, height = struct.unpack_from(">II", first[1])
    return width, height


def finding(page: Page) -> str:
    """What the page says is wrong, in one line."""
    return " ".join(page.text(".findings").split())


@pytest.fixture
def shown(page: Page, collector: Client) -> Page:
    """The page of the README's run, judged by the README's rule."""
    (rules,) = [block.text for block in blocks((ROOT / "README.md").read_text()) if block.kind == "yaml"]
    collector.post("/policies", {"name": "support", "text": rules})
    run = new_id()
    collector.send(agent_request(run, RUN, agent="support"))
    collector.judged(run)
    page.problems.clear()
    page.width(1100)
    page.open(f"{collector.url}/runs/{run}")
    return page


def test_the_picture_of_the_readme_says_what_the_page_says(shown: Page) -> None:
    said = finding(shown)
    assert "refund payment (call 0) needs an earlier success of verify identity" in said
    assert shown.problems == []
    png = base64.b64decode(shown.command("Page.captureScreenshot", format="png")["data"])
    assert size(png) == (1100, 900)
    if os.environ.get("PDOCTOR_PICTURE"):
        PICTURE.write_bytes(with_words(png, said))
    kept = PICTURE.read_bytes()
    assert words_of(kept) == [said.encode("ascii", "backslashreplace").decode()], "run `make picture`"
    assert size(kept) == size(png)
    assert len(kept) <= MOST_BYTES
    assert re.search(rf"!\[[^\]]+\]\(docs/{PICTURE.name}\)", (ROOT / "README.md").read_text())


def test_other_words_of_a_picture_are_noticed() -> None:
    other = with_words(PICTURE.read_bytes(), "something else")
    assert words_of(other)[0] == "something else"
    assert words_of(other) != words_of(PICTURE.read_bytes())

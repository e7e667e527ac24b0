"""The documentation as pages of the collector: every page, its links, its search, and nothing that runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from collector.ui.help import CHECKOUT, FOUND, docs, folder, read_doc, search
from tests.support.traces import Client

HOSTILE = """# A <b>title</b>

<script>alert(1)</script> and <img src=x onerror=alert(1)>

[a](javascript:alert(1)) [b](data:text/html,x) ![c](javascript:alert(1)) [d](//elsewhere/x)
[e](formats.md#runs) [f](../synth/data/README.md)

| left | right <i>x</i> |
|:-----|------:|
| 1 | <table onclick=x> |

```html
<script>alert(2)</script>
```
"""
TAGS = {
    "a", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "hr", "img", "li", "ol", "p", "pre",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"href", "src", "alt", "id", "class", "tabindex", "role", "aria-label", "start"}


class Seen(HTMLParser):
    """Tags, attributes and addresses of a text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        self.ids += [value or "" for name, value in attrs if name == "id"]


def test_every_page_of_the_checkout_is_served(shared: Client) -> None:
    names = {file.stem for file in CHECKOUT.glob("*.md")}
    assert docs().keys() == names
    index = shared.http.get("/help").text
    for name in names:
        assert f'href="/help/{name}"' in index
        answer = shared.http.get(f"/help/{name}")
        assert answer.status_code == 200
        assert "<h1" in answer.text
        assert "&lt;!--" not in answer.text
    assert shared.http.get("/help/none").status_code == 404


def test_every_link_of_a_page_leads_somewhere(shared: Client) -> None:
    seen = {name: Seen(doc.html) for name, doc in docs().items()}
    for name, page in seen.items():
        assert len(page.ids) == len({*page.ids}), name
        for link in page.links:
            path, _, heading = link.partition("#")
            if path.startswith(("http://", "https://")):
                continue
            target = path.removeprefix("/help/") or name
            assert target in seen or (folder() / target).is_file(), f"{name}: {link}"
            assert not heading or heading in seen[target].ids, f"{name}: {link}"


def test_no_page_has_more_than_the_marks_of_a_text() -> None:
    for doc in [read_doc("x", HOSTILE), *docs().values()]:
        seen = Seen(doc.html)
        assert seen.tags <= TAGS, doc.name
        assert seen.attributes <= ATTRIBUTES, doc.name
        assert [one for one in seen.links if not re.match(r"https?://|/help/|#", one)] == []


def test_markup_in_a_page_stays_text() -> None:
    doc = read_doc("x", HOSTILE)
    assert doc.title == "A <b>title</b>"
    for text in ("&lt;script&gt;alert(1)", "&lt;script&gt;alert(2)", "&lt;table onclick=x&gt;"):
        assert text in doc.html
    seen = Seen(doc.html)
    assert seen.links == ["/help/formats#runs"]
    assert 'tabindex="0" role="group" aria-label="Table"><table>' in doc.html


def test_a_picture_of_a_page_is_served(shared: Client) -> None:
    answer = shared.http.get("/help/order-error.png")
    assert answer.headers["content-type"] == "image/png"
    assert answer.content == (CHECKOUT / "order-error.png").read_bytes()
    for path in ("/help/../pages.py", "/help/%2e%2e%2fpages.py", "/help/formats.md", "/help/none.png"):
        assert shared.http.get(path).status_code == 404


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        pytest.param("PDOCTOR_HASH_KEY", "settings", id="a-name"),
        pytest.param("pdoctor_hash_key", "settings", id="in-small-letters"),
        pytest.param("exit code", "cli", id="two-words"),
        pytest.param("what leaves", "frameworks", id="a-heading"),
    ],
)
def test_a_search_finds_the_section(asked: str, first: str) -> None:
    hits = search(asked)
    assert first in [hit.doc.name for hit in hits[:3]]
    for hit in hits:
        text = f"{hit.section.title} {hit.section.text}".lower()
        assert all(word in text for word in asked.lower().split())


def test_headings_come_before_texts_and_no_more_than_can_be_read() -> None:
    hits = search("settings")
    titles = ["settings" in hit.section.title.lower() for hit in hits]
    assert titles[0]
    assert len(search("the")) == FOUND


def test_the_tutorial_stands_first_and_the_rest_by_title() -> None:
    first, *rest = docs().values()
    assert first.name == "tutorial"
    assert [doc.title.lower() for doc in rest] == sorted(doc.title.lower() for doc in rest)


def test_a_search_for_nothing_or_for_what_is_nowhere_finds_nothing() -> None:
    assert search("  ") == []
    assert search("settings xyzzyplugh") == []


def test_words_of_a_search_stay_text(shared: Client) -> None:
    hostile = "<script>alert(1)</script>"
    answer = shared.http.get("/help", params={"q": hostile})
    assert "No section with all words" in answer.text
    assert hostile not in answer.text


def test_the_excerpt_shows_the_first_word_with_what_is_around_it() -> None:
    (hit, *_) = search("PDOCTOR_HASH_KEY")
    assert hit.word == "PDOCTOR_HASH_KEY"
    assert len(hit.lead) <= 61
    assert f"{hit.lead.removeprefix('…')}{hit.word}{hit.rest}" in hit.section.text


def test_a_wheel_is_built_from_the_pages_and_their_pictures() -> None:
    told = (Path(__file__).parents[2] / "setup.py").read_text()
    assert {file.suffix for file in CHECKOUT.iterdir()} == {*re.findall(r'"(\.\w+)"', told)}

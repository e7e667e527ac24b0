"""The pages of docs/ as pages of the collector, with a search, without a network.

A wheel has them beside this file (`setup.py` puts them there); in a checkout they stand in `docs/`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse, Response
from markdown_it import MarkdownIt
from markdown_it.token import Token

from collector.api.access import Access, anybody
from collector.errors import NotFound
from collector.ui.pages import page

router = APIRouter(include_in_schema=False)

BUILT, CHECKOUT = Path(__file__).parent / "help", Path(__file__).parents[2] / "docs"
FIRST = "tutorial"
FOUND = 30
"""Sections that a search shows."""
BEFORE, AFTER = 60, 140
"""Characters of text around the first word that was found."""
MARK = re.compile(r"^<!-- .* -->\n", re.M)
"""What only `make docs` reads."""

AROUND = {
    "<table>": '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>',
    "</table>": "</table></div>",
}
"""Wide tables scroll, also by the keyboard; in a text the tags of a table stand escaped."""


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it, up to the next."""

    title: str
    anchor: str
    text: str
    """Without marks of Markdown where that is easy; for searching and excerpts."""


@dataclass(frozen=True)
class Doc:
    """One page of documentation."""

    name: str
    title: str
    about: str
    html: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Hit:
    """A section that a search found; `lead` and `rest` stand around the first found word."""

    doc: Doc
    section: Section
    lead: str
    word: str
    rest: str


def folder() -> Path:
    return BUILT if BUILT.is_dir() else CHECKOUT


@cache
def docs() -> dict[str, Doc]:
    """Name -> page, the tutorial first and then by title."""
    read = [read_doc(file.stem, file.read_text(encoding="utf-8")) for file in folder().glob("*.md")]
    return {doc.name: doc for doc in sorted(read, key=lambda doc: (doc.name != FIRST, doc.title.lower()))}


def anchor(heading: str) -> str:
    """The fragment that a heading is reached by, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def read_doc(name: str, text: str) -> Doc:
    """Markup in the text stays text: nothing of a page is trusted to be HTML."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(MARK.sub("", text))
    heads = (place for place, one in enumerate(tokens) if one.type == "heading_open")
    titles = {place: _plain(tokens[place + 1]) for place in heads}
    for place, title in titles.items():
        tokens[place].attrSet("id", anchor(title))
    for one in tokens:
        one.attrs.pop("style", None)  # of aligned columns: our pages forbid styles in place
        for part in one.children or ():
            _lead_here(part)
    sections = tuple(
        Section(titles[start], anchor(titles[start]), _text(tokens[start + 3 : end]))
        for start, end in pairwise([*titles, len(tokens)])
    )
    title = sections[0].title if sections else name
    paragraphs = (_plain(tokens[n + 1]) for n, one in enumerate(tokens) if one.type == "paragraph_open")
    html = reader.renderer.render(tokens, reader.options, {})
    for tag, around in AROUND.items():
        html = html.replace(tag, around)
    return Doc(name, title, next(paragraphs, ""), html, sections)


def _lead_here(part: Token) -> None:
    """Links between pages stay in the collector; those into a checkout lead nowhere here."""
    if part.type == "image":
        part.attrSet("src", f"/help/{PurePosixPath(str(part.attrs['src'])).name}")
    if part.type == "link_open":
        path, hash_, heading = str(part.attrs["href"]).partition("#")
        if path.endswith(".md") and "/" not in path:
            part.attrSet("href", f"/help/{path.removesuffix('.md')}{hash_}{heading}")
        elif path and not path.startswith(("http://", "https://")):
            part.attrs.pop("href")


def _plain(inline: Token) -> str:
    """The words of a line: no marks, no addresses."""
    return "".join(
        " " if one.type in ("softbreak", "hardbreak") else one.content for one in inline.children or ()
    )


def _text(tokens: Sequence[Token]) -> str:
    told = (_plain(one) if one.type == "inline" else one.content for one in tokens)
    return " ".join(" ".join(told).split())


def search(wanted: str) -> list[Hit]:
    """Sections that have every word, those that have them in their heading first."""
    words = wanted.lower().split()[:10]
    found = []
    for doc in docs().values() if words else ():
        for section in doc.sections:
            title, text = section.title.lower(), section.text.lower()
            if all(word in title or word in text for word in words):
                score = sum(20 * (word in title) + min(text.count(word), 10) for word in words)
                found.append((score, _hit(doc, section, words)))
    found.sort(key=lambda one: -one[0])
    return [hit for _, hit in found[:FOUND]]


def _hit(doc: Doc, section: Section, words: Sequence[str]) -> Hit:
    text = section.text
    first = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE)
    if first is None:
        return Hit(doc, section, "", "", text[: BEFORE + AFTER])
    start = max(0, first.start() - BEFORE)
    lead = ("…" if start else "") + text[start : first.start()]
    return Hit(doc, section, lead, first[0], text[first.end() : first.end() + AFTER])


@router.get("/help")
def help_index(_access: Annotated[Access, Depends(anybody)], q: str = "") -> HTMLResponse:
    """All pages, or what a search finds in them."""
    return page("help.html", docs=list(docs().values()), asked=q.strip()[:200], hits=search(q[:200]))


@router.get("/help/{name}")
def help_page(_access: Annotated[Access, Depends(anybody)], name: str) -> Response:
    """One page, or a picture of one."""
    if name in docs():
        return page("help_page.html", doc=docs()[name])
    pictures = {file.name: file for file in folder().glob("*.png")}
    if name in pictures:
        return Response(pictures[name].read_bytes(), media_type="image/png")
    raise NotFound(f"there is no page {name[:80]!r}")

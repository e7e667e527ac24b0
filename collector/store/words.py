"""Looking for words in texts, in any case."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class Like(FunctionElement[bool]):
    """Is a text like a pattern, whose `%` and `_` stand for any text and sign, in any case?"""

    type = Boolean()
    inherit_cache = True
    name = "is_like"


@compiles(Like)
def _on_others(one: Like, compiler: Any, **options: Any) -> str:
    return _said(one, "ILIKE", compiler, options)


@compiles(Like, "sqlite")
def _on_sqlite(one: Like, compiler: Any, **options: Any) -> str:
    """For which the letters of ASCII have no case here; `lower` of both would be most of the work."""
    return _said(one, "LIKE", compiler, options)


def _said(one: Like, operator: str, compiler: Any, options: dict[str, Any]) -> str:
    text, pattern = (compiler.process(part, **options) for part in one.clauses)
    return f"{text} {operator} {pattern} ESCAPE '\\'"


def has(text: Any, word: str) -> Like:
    """Does a text have a word in it, or any other text?"""
    return Like(text, f"%{_plain(word)}%")


def pattern(glob: str) -> str:
    """For `like`: a `*` stands for any text, all else for itself."""
    return _plain(glob).replace("*", "%")


def _plain(text: str) -> str:
    for mark in "\\%_":
        text = text.replace(mark, f"\\{mark}")
    return text

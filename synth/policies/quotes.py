"""Quoted values of a sentence in one kind of quotes."""

from __future__ import annotations

import re

_SINGLE = re.compile(r"(?<![\w'\u2019])['\u2018]([^'\u2018\u2019\"\u201c\u201d]+)['\u2019](?![\w'\u2019])")


def in_double_quotes(sentence: str) -> str:
    """The sentence with `'staging'` as `"staging"`; an apostrophe (`the customers' orders`) stays."""
    return _SINGLE.sub(r'"\1"', sentence)

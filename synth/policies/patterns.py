"""Patterns of the reader of sentences, each compiled once.

There are more of them than `re` keeps: its own cache would compile nearly all of them anew for each sentence.
"""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, which takes capitals for small letters."""
    return re.compile(pattern, re.IGNORECASE)

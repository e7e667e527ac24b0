"""Actions as people name them in passing: `verifying the passport` for `verify passport`."""

from __future__ import annotations

import re

from synth.errors import BadInput
from synth.policies.names import Names

_PASSING = frozenset(
    re.findall(r"\w+", "a an the any every each all it they he she you we its their his her this that")
)
_ENDINGS = ("ing", "ed", "es", "s")


def named(text: str, names: Names) -> str | None:
    """The actions that a text names, as the file names them; None where one is not known or not clear.

    For hints alone: a sentence is only read by the names that the file gives.
    """
    text = text.strip()
    if _reads(text, names):
        return text
    found = [_action(part, names) for part in re.split(r"\s+and\s+", text)]
    return None if None in found else " and ".join(filter(None, found))


def _reads(text: str, names: Names) -> bool:
    try:
        return bool(names.list(text))
    except BadInput:
        return False


def _action(text: str, names: Names) -> str | None:
    """The one action with the same words, whatever their endings."""
    words = _stems(text)
    found = [phrase for phrase in names.actions if words and _stems(phrase) == words]
    return found[0] if len(found) == 1 else None


def _stems(text: str) -> tuple[str, ...]:
    words = re.findall(r"[^\W_]+", text.casefold())
    return tuple(_stem(word) for word in words if word not in _PASSING)


def _stem(word: str) -> str:
    ends = [e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3]
    ending = ends[0] if ends and not word.endswith("ss") else ""
    stem = word.removesuffix(ending)
    if ending in ("ing", "ed"):
        stem = re.sub(r"([b-df-hj-np-tv-z])\1$", r"\1", stem)
    stem = stem[:-1] if len(stem) > 3 and stem.endswith("e") else stem
    return f"{stem[:-1]}i" if stem.endswith("y") else stem

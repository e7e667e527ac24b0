"""Loops whose steps run in several processes: workers of a queue, functions of a cloud, web servers.

One process asks a model and ends; another one gets the history, with what the model asked for and the
answers, and asks again. The part that ends so leaves a token, which the part that goes on computes as well: a
digest of the calls that were asked for last and of the question, the same in every process. What this process
asked for itself is remembered, so that nothing is told of twice.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

import orjson

MOST = 20_000


class Asked(Protocol):
    """A call as a model's message holds it."""

    @property
    def call_id(self) -> str | None: ...
    @property
    def tool(self) -> str: ...
    @property
    def arguments(self) -> Any: ...


class AskedHere:
    """The calls that models asked this process for, the newest ones.

    Frameworks add at each call and hardly ever ask: so that is no more than a note, and read when they do.
    """

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._older: set[int] = set()
        """Those before: the newest half is always known, and at most all of `MOST`."""
        self._noted: deque[tuple[str | None, str]] = deque(maxlen=MOST // 2)
        self.add_of_framework = self._noted.append
        """Takes (call id, tool)."""

    def add(self, asked: Asked) -> None:
        """From a raw loop, where arguments tell apart those who have the same ids."""
        self._remember(hash(asked.call_id), key_of(asked))

    def _read_notes(self) -> None:
        with suppress(IndexError):  # where another thread is reading them, too
            while self._noted:
                noted = self._noted.popleft()
                self._remember(hash(noted[0]), hash(noted))

    def _remember(self, *keys: int) -> None:
        if len(self._known) >= MOST // 2:
            self._known, self._older = set(), self._known
        self._known.update(keys)

    def _has(self, key: int) -> bool:
        return key in self._known or key in self._older

    def knows(self, call_id: str, asked: Asked | None) -> bool:
        """Whether it was asked for here; `asked` is what the history shows of it."""
        self._read_notes()
        if asked is None:
            return self._has(hash(call_id))
        return self._has(key_of(asked)) or self.knows_of_framework(call_id, asked.tool)

    def knows_of_framework(self, call_id: str | None, tool: str) -> bool:
        self._read_notes()
        return self._has(hash((call_id, tool)))

    def clear(self) -> None:
        """In a forked child: what was asked for is the parent's."""
        self._known, self._older = set(), set()
        self._noted.clear()


HERE = AskedHere()


def key_of(asked: Asked) -> int:
    """By what a call is known in this process."""
    return hash((asked.call_id, asked.tool, written(asked.arguments)))


def token(query: str | None, asked: Iterable[Asked]) -> str:
    """What identifies the step after a message that asked for these calls."""
    calls = (f"{one.call_id} {one.tool} {written(one.arguments)}" for one in asked)
    return _digest([query or "", *sorted(calls)])


def token_of_ids(call_ids: Iterable[str | None]) -> str:
    """The same where the server may hold the history, so that a request need not show more of it."""
    return _digest(sorted(str(call_id) for call_id in call_ids))


def _digest(parts: list[str]) -> str:
    told = "\0".join(parts).encode("utf-8", "backslashreplace")
    return f"step:{hashlib.blake2b(told, digest_size=16).hexdigest()}"


def written(arguments: Any) -> str:
    """Arguments as one text, however they are spelled."""
    try:
        value = orjson.loads(arguments or "null") if type(arguments) is str else arguments
        return orjson.dumps(value or {}, option=orjson.OPT_SORT_KEYS).decode()
    except (ValueError, TypeError):
        return arguments if type(arguments) is str else ""

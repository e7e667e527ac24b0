"""Loops whose steps run in several processes: workers of a queue, functions of a cloud, web servers.

One process asks a model and ends; another one gets the history, with what the model asked for and the
answers, and asks again. The part that ends so leaves a token, which the part that goes on computes as well: a
digest of the calls that were asked for last and of the question, the same in every process. What this process
asked for itself is remembered, so that nothing is told of twice.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
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
    """The calls that models asked this process for, the newest ones."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, None] = OrderedDict()

    def add(self, asked: Asked) -> None:
        """From a raw loop, where arguments tell apart those who have the same ids."""
        self._remember(hash(asked.call_id), _key(asked))

    def add_of_framework(self, call_id: str | None, tool: str) -> None:
        self._remember(hash(call_id), hash((call_id, tool)))

    def _remember(self, *keys: int) -> None:
        for key in keys:
            self._known[key] = None
            self._known.move_to_end(key)
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def knows(self, call_id: str, asked: Asked | None) -> bool:
        """Whether it was asked for here; `asked` is what the history shows of it."""
        if asked is None:
            return hash(call_id) in self._known
        return _key(asked) in self._known or self.knows_of_framework(call_id, asked.tool)

    def knows_of_framework(self, call_id: str | None, tool: str) -> bool:
        return hash((call_id, tool)) in self._known

    def clear(self) -> None:
        """In a forked child: what was asked for is the parent's."""
        self._known.clear()


HERE = AskedHere()


def _key(asked: Asked) -> int:
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

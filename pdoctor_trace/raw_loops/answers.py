"""Answers that a loop has had, so that another answer to the same message of a model is known as news.

A search over a tree goes on several times from one message, each time with an answer of its own; the answer
to a slow call may come after the reply that ended the run. Neither is a call that waits, and neither is an
older part of a history: that the message and all before it were this process's own says so. An answer that
was had before is taken for the same run of the tool.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from pdoctor_trace.elsewhere import key_of

from .messages import Answer, Asked, Outgoing

MOST = 2_000


class Had(NamedTuple):
    """What became of a call."""

    before: int | None
    """Digest of the history that the model had when it asked."""
    answers: frozenset[int]
    """Digests of its answers; none when the run ended without."""
    token: str | None = None
    """By which that run is gone on with."""


class AnswersHad:
    """The newest ones, by call."""

    def __init__(self) -> None:
        self._had: OrderedDict[int, Had] = OrderedDict()
        self._held: OrderedDict[str, dict[str | None, Asked]] = OrderedDict()
        """What messages that a server holds asked for, by the key that a request begins with them by."""

    def add(self, key: int, before: int | None, answer: Answer) -> None:
        """A call has its answer, or another one."""
        had = self._had.get(key)
        earlier = had.answers if had is not None and had.before == before else frozenset()
        self._keep(key, Had(before, earlier | {_digest(answer)}))

    def add_none(self, key: int, before: int | None, token: str | None) -> None:
        """The run of a call has ended without its answer."""
        self._keep(key, Had(before, frozenset(), token))

    def asked_in(self, key: str, asked: Asked) -> None:
        """A message that the server holds under this key asked for a call."""
        self._held.setdefault(key, {})[asked.call_id] = asked
        if len(self._held) > MOST:
            self._held.popitem(last=False)

    def shown(self, out: Outgoing) -> None:
        """Have a request that names the message of a server show what that asked for."""
        for call_id, asked in self._held.get(out.key or "", {}).items():
            if call_id is not None:
                out.asked.setdefault(call_id, asked)

    def _keep(self, key: int, had: Had) -> None:
        self._had[key] = had
        self._had.move_to_end(key)
        if len(self._had) > MOST:
            self._had.popitem(last=False)

    def news(self, out: Outgoing) -> list[tuple[Asked, Answer, Had]]:
        """The answers at the end of a request to calls that are told of, which say something else of them."""
        found = []
        for answer in out.answers:
            asked = out.asked.get(answer.call_id) if answer.last else None
            had = None if asked is None else self._had.get(key_of(asked))
            if asked is None or had is None:
                continue
            begins_with_it = self._held.get(out.key or "", {}).get(answer.call_id) is asked
            if not begins_with_it and had.before not in out.history[:-1]:
                continue
            if _digest(answer) not in had.answers:
                found.append((asked, answer, had))
        return found


def _digest(answer: Answer) -> int:
    """The same for answers that say the same."""
    return hash(repr(answer.content))

"""Calls that a guard asks a person about: open until somebody decides, or their time is over.

In memory, on one event loop: who asks waits on a connection, and after a restart asks anew.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from collector.api.views import encoded, iso
from collector.errors import BadRequest, Conflict, NotFound, Overloaded

MAX_OPEN, MAX_KEPT = 1_000, 2_000
"""Of all projects; one has at most half of the open ones, and what it asked goes first where that is most."""
MAX_NAME, MAX_TEXT, MAX_ARGUMENTS, MAX_RULES = 200, 1_000, 16_384, 50
MAX_SHOWN = 4 * MAX_ARGUMENTS
"""Bytes of arguments as a page shows them, with indents."""
SECONDS, MAX_SECONDS, MAX_WAIT = 60.0, 3_600.0, 25.0
OPEN, APPROVED, REFUSED, EXPIRED = "open", "approved", "refused", "expired"
AS_ASKED = object()
"""In place of arguments that somebody gave."""
DECISIONS = {"approve": APPROVED, "refuse": REFUSED}
KINDS = {
    list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false",
    type(None): "null",
}  # fmt: skip
FIELDS = {
    "id", "tool", "text", "rules", "arguments", "changeable", "run_id", "agent", "seconds", "wait",
}  # fmt: skip


@dataclass(slots=True, eq=False)
class Approval:
    """One question about one call."""

    id: str
    project: int
    about: Mapping[str, Any]
    asked_at: float
    expires_at: float
    state: str = OPEN
    by: str | None = None
    decided_at: float | None = None
    run_arguments: dict[str, Any] | None = None
    """What it is to run with in place of the arguments that were asked for."""
    decided: asyncio.Event = field(default_factory=asyncio.Event)

    def look(self, now: float) -> Approval:
        """As it is now: the time to decide may be over."""
        if self.state == OPEN and now >= self.expires_at:
            self.state, self.decided_at = EXPIRED, self.expires_at
        return self

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "state": self.state, "asked_at": iso(self.asked_at),
            "expires_at": iso(self.expires_at), "decided_by": self.by,
            "decided_at": None if self.decided_at is None else iso(self.decided_at), **self.about,
            "run_arguments": self.run_arguments,
        }  # fmt: skip


class Approvals:
    """Everything that is asked, and lately was."""

    def __init__(self, alone: bool) -> None:
        """`alone`: does this process answer all requests?"""
        self.alone = alone
        self._all: OrderedDict[str, Approval] = OrderedDict()

    def ask(self, project: int, said: Mapping[str, Any], now: float) -> Approval:
        """A new question; raises BadRequest, and Overloaded where too many are open."""
        if not self.alone:
            raise Conflict("this collector has several workers, which share no questions", "ask one with one")
        about = {
            "tool": _text(said, "tool", MAX_NAME, needed=True),
            "text": _text(said, "text", MAX_TEXT, needed=True),
            "rules": _rules(said.get("rules", [])),
            "arguments": _arguments(said.get("arguments")),
            "changeable": _changeable(said),
            "run_id": _text(said, "run_id", MAX_NAME),
            "agent": _text(said, "agent", MAX_NAME),
        }
        seconds = number(said, "seconds", SECONDS, MAX_SECONDS)
        is_open = Counter(one.project for one in self._all.values() if one.look(now).state == OPEN)
        if is_open.total() >= MAX_OPEN or is_open[project] >= MAX_OPEN // 2:
            raise Overloaded("too many calls wait for a decision", "decide some of them", retry_after=5)
        made = Approval(secrets.token_hex(16), project, about, now, now + seconds)
        self._all[made.id] = made
        while len(self._all) > MAX_KEPT:
            self._forget_one()
        return made

    def _forget_one(self) -> None:
        """The oldest that is over, of the project that has most of these."""
        over = [one for one in self._all.values() if one.state != OPEN]
        (most, _), *_ = Counter(one.project for one in over).most_common(1)
        del self._all[next(one.id for one in over if one.project == most)]

    def of(self, project: int, id_: str, now: float) -> Approval:
        found = self._all.get(id_)
        if found is None or found.project != project:
            raise NotFound("there is no such question (any more)", "GET /api/v1/approvals lists them")
        return found.look(now)

    async def wait(self, asked: Approval, seconds: float, now: float) -> None:
        """Until it is decided, so many seconds at most."""
        left = asked.expires_at - now
        if asked.state != OPEN or min(seconds, left) <= 0:
            return
        try:
            await asyncio.wait_for(asked.decided.wait(), min(seconds, left))
        except TimeoutError:
            if left <= seconds:
                asked.look(asked.expires_at)  # over by the timer, if not yet by the clock

    def decide(
        self, project: int, id_: str, decision: Any, actor: str, now: float, arguments: Any = AS_ASKED
    ) -> Approval:
        """`arguments`: what the call is to run with, where that is not what was asked for."""
        if not isinstance(decision, str) or decision not in DECISIONS:
            raise BadRequest("`decision` must be `approve` or `refuse`", 'send {"decision": "approve"}')
        found = self.of(project, id_, now)
        if found.state != OPEN:
            raise Conflict(f"the question is {found.state} already", "nothing waits for it")
        if arguments is not AS_ASKED:
            found.run_arguments = _other_arguments(found, decision, arguments)
        found.state, found.by, found.decided_at = DECISIONS[decision], actor, now
        found.decided.set()
        return found

    def all(self, project: int, now: float) -> list[Approval]:
        """The open ones first, each part with the newest first."""
        mine = [one.look(now) for one in reversed(self._all.values()) if one.project == project]
        return sorted(mine, key=lambda one: one.state != OPEN)


def number(said: Mapping[str, Any], name: str, default: float, most: float) -> float:
    value = said.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise BadRequest(f"`{name}` must be a number of seconds", f"send 0 to {most:g}")
    return float(value)


def _text(said: Mapping[str, Any], name: str, most: int, *, needed: bool = False) -> str | None:
    value = said.get(name)
    if value is None and not needed:
        return None
    if not isinstance(value, str) or not value:
        raise BadRequest(f"`{name}` must be text", f"say the {name}")
    return value[:most]


def _rules(said: Any) -> list[str]:
    if not isinstance(said, list) or len(said) > MAX_RULES or not all(isinstance(one, str) for one in said):
        raise BadRequest("`rules` must be a list of ids", f"send at most {MAX_RULES} texts")
    return [one[:MAX_NAME] for one in said]


def _changeable(said: Mapping[str, Any]) -> bool:
    """Only arguments that are shown can be edited."""
    value = said.get("changeable", False)
    if not isinstance(value, bool):
        raise BadRequest("`changeable` must be true or false", "true where the host takes other arguments")
    shown = said.get("arguments")
    return value and isinstance(shown, dict) and _arguments(shown) is shown


def _other_arguments(asked: Approval, decision: str, given: Any) -> dict[str, Any] | None:
    """None where they say what was asked for."""
    if decision != "approve":
        raise BadRequest("a refused call has no arguments", "send `arguments` with `approve` only")
    if not asked.about["changeable"]:
        raise BadRequest("the host runs this call as it is, or not at all", "send no `arguments`")
    if not isinstance(given, dict):
        raise BadRequest(
            f"`arguments` must be a JSON object, not {KINDS[type(given)]}", 'send {"name": value, ...}'
        )
    text = encoded(given)
    if len(text) > MAX_ARGUMENTS:
        raise BadRequest(f"`arguments` take {len(text)} bytes", f"send at most {MAX_ARGUMENTS}")
    if not _can_be_shown(given):
        raise BadRequest("`arguments` are nested too deep", f"send what takes {MAX_SHOWN} bytes with indents")
    return None if text == encoded(asked.about["arguments"]) else given


def _arguments(said: Any) -> Any:
    """As far as the host sends them; of what is too long, that it was there."""
    return said if _can_be_shown(said) else "(too long to be shown)"


def _can_be_shown(arguments: Any) -> bool:
    """Whether all of them can be read: JSON that is nested deep is cut, or takes a page for a line."""
    try:
        shown = orjson.dumps(arguments, option=orjson.OPT_INDENT_2)
    except TypeError:  # over 254 levels
        return False
    return len(shown) <= MAX_SHOWN and len(encoded(arguments)) <= MAX_ARGUMENTS

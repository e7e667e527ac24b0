"""The search line: `outcome:fail agent:refunds tool:cancel_* rule:A2 version:1.4 "seattle" last:24h`.

Each `NAME:VALUE` narrows, and so does each word; a value or a word with spaces stands in double quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from collector.errors import BadRequest
from collector.store.reads import Filter

FIELDS = {
    "outcome": "fail, pass, error, undecided, open, not judged",
    "error": "the type of error, such as order_error",
    "agent": "its name",
    "service": "the program that it runs in",
    "version": "of the agent or its program",
    "model": "its name",
    "prompt": "the digest of the system message",
    "environment": "where it ran",
    "tool": "that was called; cancel_* for all that begin so",
    "rule": "of a policy or a case that was broken",
    "policy": "that the run was judged by",
    "guard": "a rule by which a guard decided about a call",
    "decided": "what a guard did: refused, asked, warned, observed, doubt",
    "case": "its id",
    "session": "a conversation",
    "user": "whom it was for",
    "last": "15m, 1h, 24h, 7d or 30d",
    "since": "a time such as 2026-01-31T09:00",
    "until": "the same",
}
COLUMNS = {"error": "error_type"}
"""Fields that a filter calls something else."""
PART = re.compile(r'(?:(?P<name>[a-z_]+):)?(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))')
SPAN = re.compile(r"(\d{1,4})([mhdw])")
SECONDS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}
LONGEST, MOST_WORDS = 2_000, 10


def lasting(said: str) -> float:
    """Seconds of `15m`, `24h`, `7d`, `2w`; raises BadRequest."""
    found = SPAN.fullmatch(said)
    if found is None or not int(found[1]):
        raise BadRequest(f"{said[:40]!r} is no length of time", "expected 15m, 1h, 24h, 7d or 30d")
    return int(found[1]) * SECONDS[found[2]]


def parts_of(line: str) -> list[tuple[str, str]]:
    """(field or empty, value) of each part; raises BadRequest with a caret below what cannot be read."""
    if len(line) > LONGEST:
        raise BadRequest(f"the search has {len(line)} characters, {LONGEST} at most")
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        part = PART.match(line, at)
        if part is None or (part.end() < len(line) and not line[part.end()].isspace()):
            raise _flaw(line, at, "a double quote is not closed, or stands inside a word")
        name = part["name"] or ""
        value = part["plain"] if part["quoted"] is None else part["quoted"]
        if name and name not in FIELDS:
            raise _flaw(line, at, f"{name!r} is no field; expected one of {', '.join(FIELDS)}")
        if name and name in (said for said, _ in found):
            raise _flaw(line, at, f"{name!r} stands there twice")
        found.append((name, value))
        at = part.end()
    if sum(not name for name, _ in found) > MOST_WORDS:
        raise BadRequest(f"the search has more than {MOST_WORDS} words")
    return [(name, value) for name, value in found if value]


def _flaw(line: str, at: int, why: str) -> BadRequest:
    return BadRequest(f"the search cannot be read: {why}\n{line}\n{' ' * at}^", "quote values with spaces")


Reading = Callable[..., Filter]


def searched(line: str, now: float, read: Reading) -> Filter:
    """What a search line asks for; `read` makes a filter of named texts, as `run_filter` does."""
    said = parts_of(line)
    named: dict[str, Any] = {COLUMNS.get(name, name): value for name, value in said if name}
    last = named.pop("last", None)
    wanted = read(**{"outcome": None, "since": None, "until": None, **named})
    if last is not None:
        start = now - lasting(last)
        wanted = replace(wanted, since=start if wanted.since is None else max(start, wanted.since))
    return replace(wanted, words=tuple(value for name, value in said if not name))


def line_of(fields: Mapping[str, str]) -> str:
    """A search line that asks for these fields; the addresses of old have them one by one."""
    names = {column: name for name, column in COLUMNS.items()}
    return " ".join(f"{names.get(name, name)}:{quoted(value)}" for name, value in fields.items() if value)


def quoted(value: str) -> str:
    """As it stands in a search line; a double quote cannot, and becomes a single one."""
    value = value.replace('"', "'")
    return f'"{value}"' if not value or re.search(r"\s", value) else value

"""Redaction at ingest: what must not be kept is replaced before anything is stored.

A file says which names (of attributes, and of fields inside JSON, at any depth) and which patterns are
secret. What cannot be searched within a time limit is replaced as a whole: better lost than leaked.
Ids are never changed: trace and span ids, run and case ids, ids of tool calls.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path
from typing import Any

import orjson
import regex  # type: ignore[import-untyped]

from collector.dialects.names import CASE_ID, OPERATION_NAME, RUN_CALLS, RUN_ID, TOOL_CALL_ID, TOOL_NAME
from synth.errors import BadInput
from synth.policies import Node, read_yaml

REPLACEMENT = "[redacted]"
WITHHELD = "[redacted: searching it took too long]"
MAX_RULES = 200
MAX_PATTERN = 2_000
MAX_DEPTH = 30
"""Nesting of JSON that is walked through; what lies deeper is replaced."""
TEXT_SECONDS = 0.1
"""Of processor time, for one pattern on one text."""
LOST_SECONDS = 0.5
"""Lost to texts that took too long, per request; after that every text of the request is replaced."""

PROTECTED = frozenset(
    {RUN_ID, RUN_CALLS, CASE_ID, OPERATION_NAME, TOOL_NAME, TOOL_CALL_ID, "tool_call.id", "ai.toolCall.id"}
)
"""Attributes without which a run is no run."""
CALL_ID_FIELDS = frozenset({"id", "tool_call_id", "call_id"})
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Pattern:
    compiled: Any
    replacement: str


@dataclass(slots=True)
class Purse:
    """Seconds that one request may still lose to texts that take too long."""

    seconds: float = LOST_SECONDS


@dataclass(frozen=True, slots=True)
class Redactor:
    """What is secret, ready to be applied."""

    names: re.Pattern[str] | None = None
    """Full match on a name in lower case."""
    near_names: Any = None
    """A secret name and its value in text that is no JSON: a broken document, a Python literal."""
    patterns: tuple[Pattern, ...] = ()
    replacement: str = REPLACEMENT
    text_seconds: float = field(default=TEXT_SECONDS)

    @property
    def marks(self) -> tuple[str, ...]:
        """The texts that stand for what is taken out, but those that begin like `REPLACEMENT`."""
        own = (pattern.replacement.replace(r"\\", "\\") for pattern in self.patterns)
        return tuple(dict.fromkeys(t for t in (self.replacement, *own) if not t.startswith(REPLACEMENT[:-1])))

    def is_secret_name(self, name: str) -> bool:
        """Is whatever stands under this name secret? The last part of a dotted name counts too."""
        if self.names is None or name in PROTECTED:
            return False
        lowered = name.lower()
        return bool(self.names.fullmatch(lowered) or self.names.fullmatch(lowered.rpartition(".")[2]))

    def text(self, said: str, purse: Purse) -> str:
        """A text without its secrets; JSON inside it is read, and written again only if something changed."""
        if said[:1] in ("{", "[", '"') or said.lstrip()[:1] in ("{", "["):
            try:
                document = orjson.loads(said)
            except orjson.JSONDecodeError:
                return self._plain(said, purse)
            cleaned = self.value(document, purse)
            return said if cleaned == document else orjson.dumps(cleaned).decode()
        return self._plain(said, purse)

    def value(self, document: Any, purse: Purse, depth: int = 0) -> Any:
        """A JSON value without its secrets."""
        if isinstance(document, str):
            return self.text(document, purse) if depth < MAX_DEPTH else self._plain(document, purse)
        if isinstance(document, bool) or document is None:
            return document
        if isinstance(document, int | float):
            return self._number(document, purse)
        if depth >= MAX_DEPTH:
            return self.replacement
        if isinstance(document, list):
            return [self.value(item, purse, depth + 1) for item in document]
        return {
            self._plain(key, purse): self._field(document, key, child, purse, depth)
            for key, child in document.items()
        }

    def _field(self, whole: Mapping[str, Any], key: str, child: Any, purse: Purse, depth: int) -> Any:
        if self.is_secret_name(key):
            return self.replacement
        if _is_call_id(whole, key, child):
            return child
        return self.value(child, purse, depth + 1)

    def _number(self, number: float, purse: Purse) -> Any:
        said = repr(number)
        cleaned = self._plain(said, purse)
        return number if cleaned == said else cleaned

    def _plain(self, said: str, purse: Purse) -> str:
        """A text that is no JSON without its secrets."""
        if not said:
            return said
        if purse.seconds <= 0:
            return WITHHELD
        try:
            if self.near_names is not None:
                said = self._replaced(self.near_names, self._named, said)
            for pattern in self.patterns:
                said = self._replaced(pattern.compiled, pattern.replacement, said)
        except TimeoutError:
            purse.seconds -= self.text_seconds
            return WITHHELD
        return said

    def _replaced(self, compiled: Any, replacement: Any, said: str) -> str:
        """Every match replaced; raises TimeoutError once `text_seconds` of processor time are spent.

        The search itself watches the clock on the wall, which runs on while a busy machine lets us wait:
        what timed out without having had its time is tried again.
        """
        for patience in (1, 4, 16, 64):
            began = time.thread_time()
            try:
                return str(compiled.sub(replacement, said, timeout=patience * self.text_seconds))
            except TimeoutError:
                if time.thread_time() - began > self.text_seconds / 2:
                    break
        raise TimeoutError

    def _named(self, found: Any) -> str:
        return f"{found['name']}{self.replacement}"


def _is_call_id(whole: Mapping[str, Any], key: str, value: Any) -> bool:
    """The id of a tool call in a message: by it requests and answers find each other."""
    return (
        key in CALL_ID_FIELDS
        and isinstance(value, str)
        and _CALL_ID.fullmatch(value) is not None
        and any(name in whole for name in ("type", "function", "role"))
    )


# ---------------------------------------------------------------- the file


def read_redaction(path: Path) -> Redactor:
    """A redaction file: `keys` (names, `*` as wildcard), `patterns` (regular expressions, or `{pattern,
    replacement}`), `replacement`. BadInput names file, line and field."""
    top = read_yaml(path)
    try:
        return _redactor(top)
    except BadInput as flaw:
        raise flaw.at(file=str(path)) from None


def _redactor(top: Node) -> Redactor:
    top.only(("keys", "patterns", "replacement"))
    keys, patterns, own = top.get("keys"), top.get("patterns"), top.get("replacement")
    replacement = REPLACEMENT if own is None else own.text()
    names = [_name(node) for node in keys.items()] if keys is not None else []
    compiled = [_pattern(node, replacement) for node in patterns.items()] if patterns is not None else []
    if not names and not compiled:
        raise top.bad("names nothing to redact; give `keys`, `patterns` or both")
    if len(names) + len(compiled) > MAX_RULES:
        raise top.bad(f"{len(names) + len(compiled)} keys and patterns (at most {MAX_RULES})")
    return redactor(names, compiled, replacement)


def redactor(
    names: Iterable[str] = (), patterns: Iterable[Pattern] = (), replacement: str = REPLACEMENT
) -> Redactor:
    """A redactor for names (with wildcards) and patterns."""
    lowered = [name.lower() for name in names]
    whole = re.compile("|".join(translate(name) for name in lowered)) if lowered else None
    return Redactor(whole, _near(lowered), tuple(patterns), replacement)


def _near(names: Iterable[str]) -> Any:
    """`"name": value` and its relatives in text that cannot be read as JSON; the value goes."""
    spelled = "|".join(regex.escape(name, special_only=True).replace(r"\*", r"[\w.-]*") for name in names)
    if not spelled:
        return None
    quoted = r"""\\*"(?:[^"\\]|\\+[^"\\])*(?:\\*"|$)|\\*'(?:[^'\\]|\\+[^'\\])*(?:\\*'|$)"""
    return regex.compile(
        rf"""(?i)(?P<name>(?<!\w)(?:{spelled})\\*["']?\s*[:=]\s*)(?:{quoted}|[^\s,;&}}\]]+)"""
    )


def _name(node: Node) -> str:
    name = node.text()
    if name.strip("*") == "":
        raise node.bad("would redact every name; say which ones")
    if any(re.fullmatch(translate(name.lower()), known.lower()) for known in PROTECTED):
        raise node.bad(f"{name!r} would redact an id; ids are never changed")
    return name


def _pattern(node: Node, replacement: str) -> Pattern:
    own: Node | None = None
    if isinstance(node.value, Mapping):
        node.only(("pattern", "replacement"))
        own = node.get("replacement")
        node = node.need("pattern")
    said = node.text()
    if len(said) > MAX_PATTERN:
        raise node.bad(f"{len(said)} characters; at most {MAX_PATTERN} are taken")
    try:
        compiled = regex.compile(said)
    except regex.error as flaw:
        raise node.bad(f"not a regular expression: {flaw}") from None
    if compiled.search("", timeout=TEXT_SECONDS):
        raise node.bad("matches the empty text, so it would redact everything and nothing")
    plain = replacement if own is None else own.text()
    return Pattern(compiled, plain.replace("\\", r"\\"))

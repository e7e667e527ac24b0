"""What is kept of the host's values, by content mode."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from . import semconv
from .harmless import note
from .reading import error_text
from .settings import Redactor
from .values import NOT_KEPT, Cut, Walk, clean, json_bytes, json_writer

MAX_MESSAGE = 4_096
"""Longest error text kept, in characters."""


class Capture:
    """What is kept of a value: the content mode, the size limit and the redactor of this process."""

    __slots__ = ("_key", "arguments", "limit", "mode", "pairs", "redactor", "result", "whole")

    arguments: Callable[[Any], bytes | None]
    """JSON text of a call's arguments, taken before the call so that later changes do not show."""
    result: Callable[[Any], bytes | None]
    """JSON text of a call's result."""
    whole: Callable[[Any], bytes]
    """JSON text of any value up to the limit, whatever the mode."""
    pairs: tuple[str | None, ...]
    """Attributes that tell readers what is kept, where that is not everything."""

    def __init__(
        self, mode: str = "full", limit: int = 65_536, hash_key: str = "", redactor: Redactor | None = None
    ) -> None:
        self.mode, self.limit, self.redactor = mode, limit, redactor
        self._key = hash_key.encode() if hash_key else os.urandom(32)
        self.pairs = () if mode == "full" else (semconv.CONTENT, mode, semconv.HASH_KEY, self._key_id())
        self.whole = json_writer(limit)
        if mode == "full" and redactor is None:
            self.arguments = self.result = self.whole
        else:
            self.arguments = functools.partial(self._kept, "arguments")
            self.result = functools.partial(self._kept, "result")

    def argument_text(self, text: Any) -> tuple[bytes | None, bool]:
        """(JSON text, whether it was well formed) of arguments that a model wrote as JSON text."""
        if type(text) is not str:
            return self.arguments(text), True
        try:
            value = orjson.loads(text) if text else {}
        except ValueError:
            return self._odd_argument_text(text)
        return self.arguments(value), True

    def _odd_argument_text(self, text: str) -> tuple[bytes | None, bool]:
        """Python's own reader also takes NaN and half surrogates."""
        import json  # late: hosts that only ever see plain JSON need not load it

        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.arguments(text), False
        return self.arguments(value), True

    def facts(self, said: Mapping[str, Any]) -> bytes | None:
        """JSON text of what the host says of a run, in mode `full`; else only that there was something."""
        if self.mode != "full":
            return NOT_KEPT
        if self.redactor is None:
            return self.arguments(dict(said))
        return self._kept("facts", dict(said)) or NOT_KEPT

    def query(self, text: str | None) -> str | None:
        """The user's query by content mode."""
        return self._text("query", text, self.limit) if text is not None else None

    def prompt_digest(self, text: str) -> str | None:
        """Equal for equal system messages, as far as the content mode and the redactor leave them."""
        kept = self._text("prompt", text, len(text))
        if not kept:
            return None
        from hashlib import blake2b  # late: not every run has one

        return blake2b(kept.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()

    def said(self, text: str) -> str | None:
        """What a model wrote, by content mode."""
        return self._text("output", text, self.limit)

    def message(self, error: BaseException | str | None) -> str:
        """Text of an error by content mode; empty where nothing may be kept or nothing is safe to read."""
        if error is None:
            return ""
        text = error_text(error) if isinstance(error, BaseException) else error
        return self._text("error", text, MAX_MESSAGE) or ""

    def _text(self, kind: str, text: str, limit: int) -> str | None:
        if self.mode == "none":
            return None
        if self.mode == "shape":
            return self._shape_of_scalar(clean(text)) if text else ""
        kept = clean(text) if len(text) <= limit else clean(text[:limit]) + "…"
        return kept if self.redactor is None else self._redacted(kind, kept)

    def _kept(self, kind: str, value: Any) -> bytes | None:
        if self.mode == "none":
            return None
        if self.mode == "shape":
            plain = Walk(self.limit).plain(value)
            return json_bytes(self._shape(plain, named=kind == "arguments"))
        text = self.whole(value)
        redacted = self._redacted(kind, text.decode())
        return None if redacted is None else _as_json(redacted)

    def _redacted(self, kind: str, text: str) -> str | None:
        """What the user's redactor leaves; where it fails, nothing is kept."""
        if self.redactor is None:
            return text
        try:
            redacted = self.redactor(kind, text)
        except Exception as error:
            note(self.redactor, error)
            return None
        return redacted if type(redacted) is str else None

    def _shape(self, value: Any, *, named: bool) -> Any:
        """Types, lengths and keyed hashes in place of values; parameter names (`named`) stay readable."""
        if value is None:
            return None
        if type(value) in (list, tuple):
            return [self._shape(item, named=False) for item in value]
        if type(value) is dict:
            return {
                key if named or key == "…" else self._shape_of_scalar(key): self._shape(item, named=False)
                for key, item in value.items()
            }
        return self._shape_of_scalar(value)

    def _shape_of_scalar(self, value: Any) -> str:
        if type(value) is Cut:
            return value if value.length is None else f"str:{value.length}:cut"
        length = f":{len(value)}" if type(value) is str else ""
        return f"{type(value).__name__}{length}:{self._digest(orjson.dumps(value))}"

    def _digest(self, text: bytes) -> str:
        import hashlib  # late: needed in shape mode only

        key = hashlib.blake2b(self._key, digest_size=32).digest()
        return hashlib.blake2b(text, key=key, digest_size=8).hexdigest()

    def _key_id(self) -> str | None:
        """The same for processes that share a key; no value hashes to it, since this is no JSON text."""
        return self._digest(b"which key") if self.mode == "shape" else None


def _as_json(text: str) -> bytes:
    """The text itself if it is JSON, else the JSON string of it."""
    encoded = text.encode("utf-8", "replace")
    try:
        orjson.loads(encoded)
    except ValueError:
        return json_bytes(clean(text))
    return encoded

"""The tracer's settings: one table, read from `PDOCTOR_*` variables or given to `install()`.

Content mode. The default is `full`: the endpoint defaults to loopback, so nothing leaves the machine
unless the user points it elsewhere, and verdicts need the arguments (a timed case is judged on the
`start_time` argument, provenance and guard policies on arguments and results). Whoever sends spans to
another machine should choose `shape` or set a redactor; `none` keeps names, times and errors' types.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from . import otel_variables

LOG = logging.getLogger("pdoctor_trace")

Redactor = Callable[[str, str], str]
"""`(kind, text) -> text`; kind is `arguments`, `result`, `query`, `prompt` or `error`."""

DEFAULT_ENDPOINT = "http://127.0.0.1:4318"
CONTENT_MODES = ("none", "shape", "full")
EXPORTS = ("records", "otel")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


def _setting(default: Any, help_: str) -> Any:
    return field(default=default, metadata={"help": help_})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting with its default; the variable of `name` is `PDOCTOR_NAME`."""

    endpoint: str = _setting(
        DEFAULT_ENDPOINT,
        "base address of the collector; spans go to /v1/traces below it (where it is not set, only if what "
        "answers there says that it is a collector of ours)",
    )
    api_key: str = _setting("", "key of the collector's project, sent as a bearer token")
    version: str = _setting(
        "", "what this version of your agent is called; runs are told apart and compared by it"
    )
    content: str = _setting(
        "full",
        "what is kept of arguments, results, queries and error texts: none, shape (types, lengths, "
        "keyed hashes) or full",
    )
    hash_key: str = _setting(
        "", "key of the hashes in shape mode; share it between processes so that equal values stay equal"
    )
    redactor: str = _setting("", "module:function called as function(kind, text) -> text on kept content")
    max_value_bytes: int = _setting(65_536, "longest JSON text kept of one value; longer ones are cut")
    queue_size: int = _setting(10_000, "spans that may wait for the collector; beyond it they are dropped")
    queue_bytes: int = _setting(67_108_864, "bytes of content that may wait for the collector")
    export: str = _setting(
        "records",
        "records: spans go to the endpoint; otel: through a TracerProvider of the OpenTelemetry SDK instead "
        "(extra `otel`), and OTEL_* variables say where to",
    )
    batch_delay: float = _setting(
        0.2, "seconds to wait for company before a batch is sent; less costs the host's CPU more wake-ups"
    )
    timeout: float = _setting(10.0, "seconds one request to the collector may take")
    approval_timeout: float = _setting(
        60.0,
        "seconds that a call in mode `ask` waits for a decision, at the terminal or on the collector's page; "
        "then it is refused",
    )
    announce_after: float = _setting(
        2.0, "seconds after which a run that has not ended is announced to the collector; 0 = never"
    )
    compression: str = _setting(
        "auto", "of what is sent: gzip, deflate, none, or auto (gzip unless the collector is on this machine)"
    )
    exit_timeout: float = _setting(5.0, "seconds to spend at exit on sending what is still queued")
    records: bool = _setting(True, "send spans to the endpoint (the fast record path)")
    sdk_spans: bool = _setting(
        True, "also make spans in the host's own TracerProvider, where the host has one"
    )
    sdk_content: bool = _setting(
        False, "keep content on those spans, too, as it is kept on the records beside which they are made"
    )
    chat_spans: bool = _setting(True, "make a span of each request that an agent makes of a model")
    threads: bool = _setting(True, "carry the active run into threads and executors started inside it")
    sigterm_flush: bool = _setting(
        True, "send what is queued when SIGTERM arrives and the host has no handler of its own"
    )
    disabled_frameworks: str = _setting("", "comma-separated names of frameworks to leave alone")
    trace_disabled: bool = _setting(False, "install nothing at all")
    endpoint_named: bool = False
    """Whether somebody said the endpoint, by variable or to `install()`."""


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"PDOCTOR_{name.upper()}"


def table() -> tuple[tuple[str, str, Any, str], ...]:
    """(name, variable, default, help) of every setting, for docs/settings.md and `pdoctor status`."""
    listed = [f for f in fields(Settings) if f.metadata]
    return tuple((f.name, variable(f.name), f.default, f.metadata["help"]) for f in listed)


_told: set[str] = set()


def from_environment(environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings of this process; an unusable value is told in the log, once however often they are read."""
    settings, problems = read(environ)
    for problem in problems:
        if problem not in _told:
            _told.add(problem)
            LOG.warning("%s", problem)
    return settings


def read(environ: Mapping[str, str] = os.environ) -> tuple[Settings, tuple[str, ...]]:
    """Settings of an environment, and what is wrong there: where a value cannot be used, the default is.

    A tracer must not stop its host because of a typing slip in a variable, nor send what the slip was to
    hold back: an unknown content mode keeps nothing.
    """
    chosen: dict[str, Any] = {}
    problems: list[str] = []
    implied = otel_variables.defaults(environ)
    for name, env, default, _ in table():
        text = environ.get(env, implied.get(env))
        if text is None:
            continue
        try:
            chosen[name] = _value(name, text, default)
        except ValueError as error:
            if name == "content":
                chosen[name] = "none"
                problems.append(f"{env}: {error}; no content is kept")
            else:
                problems.append(f"{env} is ignored: {error}")
    return replace(Settings(), **chosen, endpoint_named="endpoint" in chosen), tuple(problems)


def with_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with some replaced by name; unknown names and bad values raise ValueError."""
    known = {name: default for name, _, default, _ in table()}
    for name in changes:
        if name not in known:
            raise ValueError(f"unknown setting {name!r} (expected one of {', '.join(sorted(known))})")
    parsed = {name: _value(name, value, known[name]) for name, value in changes.items()}
    return replace(settings, **parsed, endpoint_named=settings.endpoint_named or "endpoint" in parsed)


def load_redactor(reference: str) -> Redactor | None:
    """The function a `module:function` text names; None for the empty text."""
    if not reference:
        return None
    module, _, name = reference.partition(":")
    redactor: Redactor = getattr(importlib.import_module(module), name)
    return redactor


def _value(name: str, given: Any, default: Any) -> Any:
    if isinstance(default, bool):
        return _flag(given)
    if isinstance(default, int):
        return _at_least_one(int(given))
    if isinstance(default, float):
        return _not_negative(float(given))
    if name == "content":
        return _content_mode(str(given))
    if name == "export":
        return _one_of(EXPORTS, "a way of export", str(given))
    if name == "api_key":
        return usable_key(str(given))
    return str(given)


TERMINAL = "terminal"


def place_to_ask(given: str) -> str:
    """Where a guard asks a person: `terminal`, or the address of a collector; ValueError for all else."""
    from urllib.parse import urlsplit

    url = urlsplit(given)
    if given != TERMINAL and not (url.scheme in ("http", "https") and url.hostname):
        raise ValueError(f"{given!r} is no place to ask (expected {TERMINAL} or http://HOST:PORT)")
    return given


def seconds(given: str) -> float:
    """A duration; ValueError for what is none."""
    return _not_negative(float(given))


def usable_key(given: str) -> str:
    """The key without white space around it; ValueError, which never shows it, if no header can hold it."""
    key = given.strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError(
            "the key holds a line break, a control character or a letter that no HTTP header can hold "
            "(expected the one line that `pdoctor keys create` printed)"
        )
    return key


def _content_mode(given: str) -> str:
    return _one_of(CONTENT_MODES, "a content mode", given)


def _one_of(known: Sequence[str], what: str, given: str) -> str:
    chosen = given.strip().lower()
    if chosen not in known:
        raise ValueError(f"{given!r} is not {what} (expected one of {', '.join(known)})")
    return chosen


def _flag(given: Any) -> bool:
    text = str(given).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"{given!r} is not a yes or no (expected true or false)")


def _at_least_one(number: int) -> int:
    if number < 1:
        raise ValueError(f"{number} is too small (expected at least 1)")
    return number


def _not_negative(number: float) -> float:
    if not number >= 0:
        raise ValueError(f"{number} is not a duration (expected 0 or more seconds)")
    return number

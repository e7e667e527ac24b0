"""Words and numbers as the pages show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from markupsafe import Markup, escape

from collector.api.search import quoted
from collector.metrics import METRICS, Metric

OUTCOMES = {
    "pass": "pass",
    "fail": "fail",
    "open": "open",
    "undecided": "undecided",
    "error": "error",
    "unbound": "not judged",
}
RULED = {"ok": "kept", "not_applicable": "not applicable"}
"""What a verdict on a rule is called, where it is not called as the API calls it."""
ERROR_TYPES = {
    "timeout": "Timeout",
    "act_error": "Act error",
    "action_lost": "Action lost",
    "parameter_error": "Parameter error",
    "order_error": "Order error",
    "policy": "Policy violated",
    "note": "Note",
}


TROUBLES = {
    "endpoint": "the model's endpoint failed",
    "unreachable": "the agent could not be reached",
    "crash_before_start": "its program ended before it had asked a model or called a tool",
    "worker": "the process that drove it failed",
    "collector": "the collector failed",
    "no_verdict": "no verdict came in time",
}


MEANT = {
    "pass": "it kept all that was asked of it",
    "fail": "it broke a case or a policy",
    "open": "it goes on, or waits for somebody",
    "undecided": "what was seen does not suffice, or judging took too long",
    "error": "the agent was not tested: its model, its program or the collector failed",
    "unbound": "no case and no policy applies",
}


NAMED = {metric.name: metric for metric in METRICS}


def meant(value: str | None) -> str:
    """What an outcome says."""
    return MEANT[value or "unbound"]


def outcome(value: str | None) -> str:
    return OUTCOMES[value or "unbound"]


def ruled(value: Any) -> str:
    """The verdict on a rule; none where there is none."""
    return "-" if value is None else RULED.get(str(value), str(value).replace("_", " "))


def trouble(said: Mapping[str, Any]) -> str:
    """Why an agent was not tested, the provider's own words first."""
    status = "" if said.get("status") is None else f", status {said['status']}"
    why = f"{TROUBLES[said['kind']]}{status}"
    return f"{said['message']} ({why})" if said.get("message") else why


WAITED_FOR = {"approval": "an approval", "input": "an answer", "timer": "a timer"}


def waiting(said: Mapping[str, Any], status: str) -> str:
    """How the last part of a run ended that did not simply end."""
    if said["state"] == "unanswered":
        return "it ended with calls of which it is not known whether they ran; another process may go on"
    reason = WAITED_FOR.get(said["reason"] or "", "somebody")
    if status == "abandoned":
        return f"abandoned: it waited for {reason} since {said['ended_at']}, and nobody went on with it"
    return f"it waits for {reason} since {said['ended_at']}"


def error_type(value: str | None) -> str:
    return ERROR_TYPES.get(value or "", value or "")


def moment(seconds: float | None) -> str:
    """Unix seconds as a UTC time."""
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def exactly(seconds: float) -> Markup:
    """An instant in UTC; a browser tells it in its own time zone beside it."""
    return _time(seconds, moment(seconds))


def when(seconds: float, now: float) -> Markup:
    """How long ago, with the instant beside it."""
    return _time(seconds, ago(seconds, now))


def _time(seconds: float, said: str) -> Markup:
    stamp = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(stamp, moment(seconds), said)


def ago(seconds: float, now: float) -> str:
    """How long before `now`, in the largest fitting unit."""
    passed = max(0.0, now - seconds)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if passed >= size:
            return f"{passed / size:.0f} {unit} ago"
    return f"{passed:.0f} s ago"


def lasting(milliseconds: float | None) -> str:
    """A duration with three digits."""
    if milliseconds is None:
        return "-"
    if milliseconds >= 60_000:
        return f"{milliseconds / 60_000:.1f} min"
    if milliseconds >= 1_000:
        return f"{milliseconds / 1_000:.2f} s"
    return f"{milliseconds:.3g} ms"


def percent(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.1%}"


def counted(count: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def grouped(count: int | None) -> str:
    """A whole number, in groups of three digits."""
    return "-" if count is None else f"{count:,}"


def figure(value: Any) -> str:
    """A value of a metric or a policy."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else short(value)


def measure(metric: Metric, value: Any) -> str:
    """A metric of a run with its unit."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if metric.unit == "ms":
        return lasting(value)
    return percent(value) if metric.highest == 1 else figure(value)


def measured(value: Any, name: str) -> str:
    """The value of the metric that is called so."""
    return measure(NAMED[name], value) if name in NAMED else figure(value)


def short(value: Any, limit: int = 90) -> str:
    """A value on one line."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else as_json(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def as_json(value: Any) -> str:
    return orjson.dumps(value, default=repr).decode()


def pretty(value: Any) -> str:
    """Indented JSON; text as it is."""
    if isinstance(value, str):
        return value
    return orjson.dumps(value, option=orjson.OPT_INDENT_2, default=repr).decode()


def coded(said: str) -> Markup:
    """Text whose words between backticks are code."""
    parts = said.split("`")
    if len(parts) % 2 == 0:  # one has no end: it is text
        parts[-2:] = ["`".join(parts[-2:])]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )


FILTERS: dict[str, Callable[..., Any]] = {
    "outcome": outcome,
    "ruled": ruled,
    "coded": coded,
    "counted": counted,
    "trouble": trouble,
    "meant": meant,
    "searched": quoted,
    "error_type": error_type,
    "moment": moment,
    "ago": ago,
    "exactly": exactly,
    "when": when,
    "lasting": lasting,
    "percent": percent,
    "figure": figure,
    "grouped": grouped,
    "measured": measured,
    "waiting": waiting,
    "short": short,
    "pretty": pretty,
}

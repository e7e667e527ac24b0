"""Alerts over rates and windows: looked at by one thread, told by webhook, Slack, Teams or e-mail.

A rule fires once when its share is exceeded, again after its window while that lasts, and says when it is
over. What it found is told in one message, by rule, agent and tool.
"""

from __future__ import annotations

import logging
import secrets
import smtplib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlencode, urlsplit

import orjson

from collector.errors import BadRequest, CollectorError
from collector.judging.owners import owners
from collector.judging.policies import stored_files
from collector.notify.webhooks import AT_ONCE, BACK_OFF, LEASE, TIMEOUT, check_address, post
from collector.settings import Settings
from collector.store import Store, alerts, catalog
from collector.store.alerts import Seen

log = logging.getLogger("collector.alerts")

KINDS = ("webhook", "slack", "teams", "email")
TOLD_OF = ("policy", "agent", "version", "severity", "window", "above", "at_least")
"""What a message says of its rule: neither its secret nor its target."""
TOLD = 10
"""Groups of findings in one message."""
SLOWEST, FASTEST = 60.0, 1.0
"""Seconds between two looks at a rule."""


def look(store: Store, rule: Any, *, now: float, base: str = "") -> None:
    """Count what a rule is about, and queue what is to be told."""
    body = orjson.loads(rule["body"])
    window = float(body["window_seconds"])
    with store.read() as connection:
        by_file = severities(connection, rule["project"]) if body["severity"] else {}
        found = alerts.seen(connection, rule["project"], body, since=now - window, severities=by_file)
    exceeded = found.of >= body["at_least"] and found.rate > body["above"]
    said = {"broken": found.broken, "of": found.of, "rate": found.rate, "at": now}
    silent = rule["silenced"] is not None and now < rule["silenced"]
    before = orjson.loads(rule["said"]) if rule["said"] else {}
    told = before.get("told")
    kind = None
    if exceeded and not silent and (told is None or now - told >= window):
        kind = "firing"
    elif not exceeded and told is not None:
        kind = "over"
    told = now if kind == "firing" else None if not exceeded else told
    firing = (rule["firing"] or now) if exceeded else None
    message = None if kind is None else message_of(rule, body, found, kind, base)
    text = None if message is None else orjson.dumps(message).decode()
    alerts.say(store, rule, firing=firing, said={**said, "told": told}, body=text, kind=kind or "", now=now)


def severities(connection: Any, project: int) -> Mapping[str, str | None]:
    """Rule -> how bad it is, as the files in use say."""
    files = stored_files(catalog.active_policies(connection, project))
    return {name: owned.severity for name, owned in owners(files).items()}


def test_message(store: Store, rule: Any, *, now: float, base: str) -> None:
    """Queue a message that says it is a test."""
    body = orjson.loads(rule["body"])
    message = message_of(rule, body, Seen(0, 0, ()), "test", base)
    said = orjson.loads(rule["said"]) if rule["said"] else None
    text = orjson.dumps(message).decode()
    alerts.say(store, rule, firing=rule["firing"], said=said, body=text, kind="test", now=now)


def message_of(
    rule: Mapping[str, Any], body: Mapping[str, Any], found: Seen, kind: str, base: str
) -> dict[str, Any]:
    """What is told, in no form yet."""
    what = condition(body)
    narrowed = {name: body[name] for name in ("agent", "version") if body.get(name)}
    head = {
        "firing": f"{rule['name']}: {found.broken} of {found.of} runs ({found.rate:.1%}) {what}",
        "over": f"{rule['name']} is over: {found.broken} of {found.of} runs ({found.rate:.1%}) {what}",
        "test": f"{rule['name']}: this is a test of the alert for runs that {what}",
    }[kind]
    return {
        "event": f"alert.{kind}",
        "alert": {"id": rule["id"], "name": rule["name"], **{one: body[one] for one in TOLD_OF}},
        "text": head,
        "broken": found.broken,
        "of": found.of,
        "rate": found.rate,
        "groups": [
            {**key._asdict(), "runs": runs, "sentence": sentence, "run_id": run, "link": f"{base}/runs/{run}"}
            for key, runs, sentence, run in found.groups[:TOLD]
        ],
        "more": max(0, len(found.groups) - TOLD),
        "link": f"{base}/findings?{urlencode({'last': body['window'], 'state': 'all', **narrowed})}",
    }


def base_of(settings: Settings) -> str:
    """What links begin with; empty where nobody said how people reach this collector."""
    return (settings.public_url or "").rstrip("/")


def condition(body: Mapping[str, Any]) -> str:
    """What runs must have done to count, in words."""
    what = f"break {body['policy']}" if body.get("policy") else "break a rule or a case"
    of = [f"of {body['agent']}"] if body.get("agent") else []
    of += [f"version {body['version']}"] if body.get("version") else []
    of += [f"severity {body['severity']}"] if body.get("severity") else []
    return f"{what}{' (' + ', '.join(of) + ')' if of else ''} in {body['window']}, above {body['above']:.1%}"


# ---------------------------------------------------------------- the forms that targets want


def lines_of(message: Mapping[str, Any]) -> list[str]:
    """One line for each group."""
    told = [
        f"{one['rule'].partition(':')[2]}{' · ' + one['agent'] if one['agent'] else ''}: {one['runs']} "
        f"{'run' if one['runs'] == 1 else 'runs'}. {one['sentence']} (run {one['run_id'][:12]})"
        for one in message["groups"]
    ]
    more = [f"and {message['more']} more"] if message["more"] else []
    return [*told, *more, *([f"Look: {link}"] if (link := link_of(message)) else [])]


def link_of(message: Mapping[str, Any]) -> str:
    """Where the findings are shown; empty where that is not known."""
    link = str(message.get("link", ""))
    return link if link.startswith(("http://", "https://")) else ""


def slack(message: Mapping[str, Any]) -> dict[str, Any]:
    """As Slack's incoming webhooks take it; nothing in it is markup of theirs."""
    head, lines = escaped(message["text"]), [escaped(line) for line in lines_of(message)]
    text = "\n".join(f"• {line}" for line in lines)[:2900]
    blocks = [{"type": "section", "text": {"type": "plain_text", "text": message["text"][:2900]}}]
    if text:
        blocks.append({"type": "section", "text": {"type": "plain_text", "text": text}})
    return {"text": head[:2900], "blocks": blocks}


def escaped(said: str) -> str:
    """Slack's three characters."""
    return said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def teams(message: Mapping[str, Any]) -> dict[str, Any]:
    """As the webhooks of Teams take it: an adaptive card."""
    head = {"type": "TextBlock", "text": plain(message["text"]), "weight": "Bolder", "wrap": True}
    rest = [{"type": "TextBlock", "text": plain(line), "wrap": True} for line in lines_of(message)]
    link = link_of(message)
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard",
        "version": "1.4", "body": [head, *rest],
    }  # fmt: skip
    if link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Look at the findings", "url": link}]
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}


def plain(said: str) -> str:
    """Text in which Markdown finds nothing."""
    return "".join(f"\\{letter}" if letter in "\\*_[]()#`~>" else letter for letter in said)


FORMS: dict[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "webhook": dict, "slack": slack, "teams": teams,
}  # fmt: skip


def mail(message: Mapping[str, Any], to: str, sender: str) -> EmailMessage:
    """The same as a letter."""
    letter = EmailMessage()
    letter["Subject"] = " ".join(f"[PDoctor] {message['text']}".split())[:200]
    letter["From"], letter["To"] = sender, to
    letter["Message-ID"] = f"<{secrets.token_hex(12)}@{socket.gethostname()}>"
    letter.set_content("\n\n".join([message["text"], *lines_of(message)]) + "\n")
    return letter


def mail_server(settings: Settings) -> SplitResult:
    """Where letters go; raises BadRequest where nobody said."""
    parts = urlsplit(settings.smtp or "")
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise BadRequest(
            "this collector knows no mail server", "start it with --smtp smtp://USER:PASSWORD@HOST:587"
        )
    return parts


def send_mail(letter: EmailMessage, settings: Settings) -> None:
    """Raises OSError. Over `smtp://` with STARTTLS where the server offers it; a password only then."""
    parts = mail_server(settings)
    host = parts.hostname or ""
    secure = parts.scheme == "smtps"
    kind = smtplib.SMTP_SSL if secure else smtplib.SMTP
    try:
        with kind(host, parts.port or (465 if secure else 25), timeout=TIMEOUT) as server:
            server.ehlo()
            if not secure and server.has_extn("starttls"):
                server.starttls()
                server.ehlo()
                secure = True
            if parts.username:
                if not secure:
                    raise OSError("the mail server offers no TLS: the password was not sent")
                server.login(unquote(parts.username), unquote(parts.password or ""))
            server.send_message(letter)
    except smtplib.SMTPException as failure:
        raise OSError(f"the mail server refused: {failure}") from None


def sender_of(settings: Settings) -> str:
    asked = parse_qs(urlsplit(settings.smtp or "").query).get("from")
    return asked[0] if asked else f"pdoctor@{socket.gethostname()}"


def deliver(rule: Mapping[str, Any], message: Mapping[str, Any], settings: Settings, *, now: float) -> str:
    """Send a message to the target of its rule; returns what came back. Raises OSError or BadRequest."""
    if rule["kind"] == "email":
        send_mail(mail(message, rule["to"], sender_of(settings)), settings)
        return "sent"
    check_address(rule["to"], settings)
    body = orjson.dumps(FORMS[rule["kind"]](message))
    status = post(rule["to"], rule["secret"], body, private=settings.webhook_private, now=now)
    if not 200 <= status < 300:
        raise OSError(f"HTTP {status}")
    return f"HTTP {status}"


class Watchman:
    """A thread that looks at the rules and tells what is due."""

    def __init__(
        self, store: Store, settings: Settings, *, clock: Callable[[], float] = time.time, pause: float = 1.0
    ) -> None:
        self._store, self._settings, self._clock, self._pause = store, settings, clock, pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pdoctor-watchman", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(TIMEOUT + 5)

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            try:
                self._round()
            except CollectorError as failure:
                log.warning("alerts could not be looked at: %s", failure.message)
            except Exception:
                log.exception("alerts could not be looked at")

    def _round(self) -> None:
        with self._store.read() as connection:
            rules = alerts.to_look_at(connection)
        for rule in rules:
            now = self._clock()
            window = float(orjson.loads(rule["body"])["window_seconds"])
            every = min(max(window / 60, FASTEST), SLOWEST)
            if rule["looked"] is not None and 0 <= now - rule["looked"] < every:
                continue
            if not self._stop.is_set() and alerts.take(self._store, rule["id"], now=now, every=every):
                look(self._store, rule, now=now, base=base_of(self._settings))
        for message in alerts.due(self._store, now=self._clock(), lease=LEASE, limit=AT_ONCE):
            if not self._stop.is_set():
                self._deliver(message)

    def _deliver(self, due: alerts.Due) -> None:
        now = self._clock()
        try:
            said = deliver(due.rule, orjson.loads(due.body), self._settings, now=now)
            alerts.settle(self._store, due.id, status=f"delivered: {said}", due=None)
        except (OSError, ValueError, BadRequest) as failure:
            again = due.attempts <= len(BACK_OFF)
            status = f"{'trying again' if again else 'failed'}: {failure}"
            when = now + BACK_OFF[due.attempts - 1] if again else None
            alerts.settle(self._store, due.id, status=status, due=when)

"""Verdicts as OpenTelemetry events (`gen_ai.evaluation.result`), so that other back ends show them.

They are sent as OTLP/HTTP logs in JSON, at least once: the point up to which they were sent is stored
after the answer. A receiver that is away gets everything later.
"""

from __future__ import annotations

import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import orjson

from collector.errors import CollectorError
from collector.judging.policies import as_concluded
from collector.judging.words import Words
from collector.store import Store, events
from synth.formal import trouble_from_json

log = logging.getLogger("collector.events")

EVENT = "gen_ai.evaluation.result"
BATCH = 200
FINDINGS = 20
"""Of one run that are told with their words."""
PAUSE = 1.0
LONGEST_PAUSE = 60.0
TIMEOUT = 10.0


def log_record(row: Mapping[str, Any], words: Words) -> dict[str, Any] | None:
    """One conclusion as an OTLP log record; None where nothing was judged.

    `pdoctor.findings` is JSON text: what is wrong, each with the words of its rule.
    """
    body = as_concluded(row["body"])
    verdict = body["verdict"]
    if row["outcome"] is None and verdict is None:
        return None
    ended_by = trouble_from_json(body.get("trouble"))
    trouble = [str(ended_by)] if ended_by else []
    found = list(words.findings(body))
    said = trouble + [finding["explanation"] for finding in found]
    label = row["outcome"] or verdict["outcome"]
    attributes = {
        "gen_ai.evaluation.name": "pdoctor.plan",
        "gen_ai.evaluation.score.label": label,
        "gen_ai.evaluation.score.value": {"pass": 1.0, "fail": 0.0}.get(label),
        "gen_ai.evaluation.explanation": " ".join(said)[:8000] or None,
        "gen_ai.agent.name": row["agent"],
        "error.type": row["error_type"],
        "pdoctor.run.id": row["key"],
        "pdoctor.case.id": body.get("case_id"),
        "pdoctor.findings": orjson.dumps(found[:FINDINGS]).decode() if found else None,
    }
    return {
        "timeUnixNano": str(int(row["at"] * 1e9)),
        "observedTimeUnixNano": str(int(row["at"] * 1e9)),
        "eventName": EVENT,
        "traceId": row["key"],
        "attributes": [
            {
                "key": key,
                "value": {"doubleValue": value} if isinstance(value, float) else {"stringValue": value},
            }
            for key, value in attributes.items()
            if value is not None
        ],
    }


def logs_request(records: Iterable[Mapping[str, Any]]) -> bytes:
    """An OTLP `ExportLogsServiceRequest` in JSON."""
    scope = {"scope": {"name": "pdoctor.collector"}, "logRecords": list(records)}
    name = {"key": "service.name", "value": {"stringValue": "pdoctor-collector"}}
    return orjson.dumps({"resourceLogs": [{"resource": {"attributes": [name]}, "scopeLogs": [scope]}]})


class EventExporter:
    """A thread that sends what was concluded since the last time to `endpoint` + `/v1/logs`."""

    def __init__(self, store: Store, endpoint: str, *, pause: float = PAUSE) -> None:
        self._store, self._url, self._pause = store, endpoint.rstrip("/") + "/v1/logs", pause
        self._host = urlsplit(endpoint).hostname
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pdoctor-events", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(TIMEOUT + 5)

    def _run(self) -> None:
        pause = self._pause
        while not self._stop.wait(pause):
            try:
                with events.turn(self._store) as mine:
                    while mine and self._send() == BATCH and not self._stop.is_set():
                        pass
                pause = self._pause
            except (OSError, urllib.error.URLError, CollectorError) as failure:
                log.warning("verdict events could not be sent: %s", failure, extra={"host": self._host})
                pause = min(pause * 2, LONGEST_PAUSE)
            except Exception:  # also where the database goes away while it is this collector's turn
                log.exception("verdict events could not be sent")
                pause = LONGEST_PAUSE

    def _records(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        with self._store.read() as connection:
            words = {project: Words(connection, project) for project in {row["project"] for row in rows}}
            for row in rows:
                if (record := log_record(row, words[row["project"]])) is not None:
                    yield record

    def _send(self) -> int:
        """Send one batch; returns how many conclusions it covered."""
        rows = events.verdicts_since(self._store, limit=BATCH)
        records = list(self._records(rows))
        if records:
            request = urllib.request.Request(
                self._url, logs_request(records), {"content-type": "application/json"}, method="POST"
            )
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                answer.read()
        if rows:
            events.remember(self._store, rows[-1]["id"])
        return len(rows)

"""The collector's HTTP API, as a verb, the harness or anybody's CI uses it: cases in, judged runs out.

>>> with Collector() as collector:
...     collector.add_cases(cases)
...     collector.bind(trace_id, cases[0].id, status="ok")
...     print(collector.run(trace_id)["outcome"])
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self
from urllib.parse import quote

from synth.errors import BadInput

if TYPE_CHECKING:
    # In the functions, not here: verbs that ask no collector shall not wait for an HTTP library.
    import ssl

    import httpx

DEFAULT_URL = "http://127.0.0.1:4318"
"""Where `pdoctor serve` listens."""
TIMEOUT = 30.0
"""Seconds for each request."""
RETRY_PAUSES = (0.05, 0.5)
"""Seconds before a request is sent again."""
LONGEST_SAID = 500
"""Characters shown of an answer that is not the collector's."""


class NoAnswer(BadInput):
    """The collector is not there or fails, whatever it was asked."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits at a collector to be judged."""

    due: int
    """Runs that wait now."""
    lag: float
    """Seconds that the first of them has waited."""
    judged: int
    """Judgements so far."""

    def stands_where(self, before: Backlog | None) -> bool:
        """Whether nothing was judged since."""
        return before is not None and self.judged <= before.judged and self.due >= before.due

    def __str__(self) -> str:
        return f"{self.due} to judge (the first for {self.lag:.0f} s)" if self.due else "nothing waits"


class AsJson(Protocol):
    """A case, or anything else that says itself as JSON."""

    def to_json(self) -> dict[str, Any]: ...


class Collector:
    """The collector at `url`; the key is that of the environment variable PDOCTOR_API_KEY unless given.

    Whatever is no answer to what was asked is `BadInput`, with what the collector said and what to do.
    """

    def __init__(self, url: str = DEFAULT_URL, api_key: str | None = None, timeout: float = TIMEOUT) -> None:
        """`timeout`: seconds for each request."""
        import httpx

        key = _usable(api_key or os.environ.get("PDOCTOR_API_KEY") or "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.url = _address(url)
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers=headers,
            timeout=timeout,
            trust_env=False,
            verify=_trusted(self.url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def greet(self) -> None:
        """Raises BadInput when nothing answers there."""
        self.get(f"{self.url}/healthz")

    def add_cases(self, cases: Iterable[AsJson]) -> None:
        _answer(self._send("POST", "/cases", json=[case.to_json() for case in cases]))

    def bind(self, trace_id: str, case_id: str, **ending: Any) -> None:
        """Say which case a trace belongs to and, with a status, that its run has ended."""
        known = {name: value for name, value in ending.items() if value is not None}
        said = {"trace_id": trace_id, "case_id": case_id, **known}
        _answer(self._send("POST", "/bindings", json=said))

    def run(self, run_id: str) -> dict[str, Any] | None:
        """The run as it stands, None while nothing of it is known."""
        response = self._send("GET", named("runs", run_id))
        return None if response.status_code == 404 else self.whole(dict(_answer(response)))

    def whole(self, run: dict[str, Any]) -> dict[str, Any]:
        """A run with all of its calls, where the collector handed out the first of many."""
        path = f"/runs/{run['id']}"
        cursor = run.get("calls_cursor")
        while cursor:
            page = self.get(f"{path}/calls", cursor=cursor)
            run["calls"] += page["items"]
            cursor = page["cursor"]
        if run.get("record", run) is None:
            run["record"] = self.get(f"{path}/record")
        return run

    def record(self, run_id: str) -> dict[str, Any]:
        """The run as `pdoctor check` reads it."""
        return dict(self.get(f"{named('runs', run_id)}/record"))

    def run_of(self, agent: str, session: str) -> dict[str, Any] | None:
        """The newest run of an agent with this conversation id, None while there is none."""
        newest = self.get("/runs", agent=agent, limit=100)["items"]
        found = next((item["id"] for item in newest if item["session"] == session), None)
        return None if found is None else self.run(found)

    def backlog(self) -> Backlog:
        """What waits to be judged, by the collector's metrics."""
        response = self._send("GET", f"{self.url}/metrics")
        if not response.is_success:
            _answer(response)
        try:
            found = _sums(response.text)
            project = "" if "pdoctor_runs_due" in found else "project_"  # a key may read its project only
            due, lag = (found[f"pdoctor_{project}{name}"] for name in ("runs_due", "check_lag_seconds"))
            judged = found.get("pdoctor_project_runs", 0.0) - found["pdoctor_project_runs_waiting"]
        except (KeyError, ValueError) as error:
            raise BadInput(f"{response.url} shows no metrics of a collector") from error
        return Backlog(int(due), lag, int(found.get("pdoctor_runs_judged_total", judged)))

    def pages(self, path: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Every item of a list that is handed out in pages."""
        cursor = None
        while True:
            page = self.get(path, **parameters, cursor=cursor)
            yield from page["items"]
            cursor = page.get("cursor")
            if not cursor:
                return

    def hand_in(self, records: bytes) -> dict[str, Any]:
        """Store run records (JSON lines): `ids` of their runs, and what was `rejected`.

        They may arrive twice: a record that comes again is the same run.
        """
        headers = {"Content-Type": "application/x-ndjson"}
        return dict(_answer(self._send("POST", "/runs", content=records, headers=headers)))

    def send_spans(self, request: bytes) -> None:
        """Store the spans of an OTLP request in protobuf, all of which can be read."""
        headers = {"Content-Type": "application/x-protobuf"}
        response = self._send("POST", f"{self.url}/v1/traces", content=request, headers=headers)
        if not response.is_success or response.content:
            raise _kind(response)(f"{_told(response)}: {_words(response)}")

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON answer; parameters that are None are left out."""
        wanted = {name: value for name, value in parameters.items() if value is not None}
        return _answer(self._send("GET", path, params=wanted))

    def post(self, path: str, body: Any) -> Any:
        """Send JSON, once: it may ask for something that must not happen twice. Answers as `get` does."""
        return _answer(self._send("POST", path, again=False, json=body))

    def delete(self, path: str) -> Any:
        """Remove what is there; sent once, answers as `get` does."""
        return _answer(self._send("DELETE", path, again=False))

    def _send(self, method: str, path: str, *, again: bool = True, **content: Any) -> httpx.Response:
        """Send, and `again` where the connection broke, which is for requests that may arrive twice."""
        import httpx

        for pause in RETRY_PAUSES if again else ():
            try:
                return self._http.request(method, path, **content)
            except httpx.TransportError:
                # A kept-alive connection that the collector has just closed, or a restart.
                time.sleep(pause)
        try:
            return self._http.request(method, path, **content)
        except httpx.TransportError as error:
            hint = "start one with `pdoctor serve`"
            raise NoAnswer(f"no collector answers at {self.url} ({error}): {hint}") from error


def named(kind: str, name: str) -> str:
    """The address of one thing, whatever its name has in it."""
    if name in ("", ".", ".."):
        raise BadInput(f"{name!r} names none of the {kind}: `pdoctor {kind} list` has them")
    return f"/{kind}/{quote(name, safe='')}"


def _sums(text: str) -> dict[str, float]:
    """Metric -> the sum of its rows, of Prometheus's text format."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            row, _, value = line.rpartition(" ")
            name = row.partition("{")[0]
            found[name] = found.get(name, 0.0) + float(value)
    return found


def _address(url: str) -> str:
    """The address without a slash at its end; BadInput for one that cannot be asked."""
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https") or not rest.strip("/"):
        raise BadInput(f"the collector's address is {url!r}; expected one such as {DEFAULT_URL}")
    return url.rstrip("/")


def _trusted(url: str) -> ssl.SSLContext | bool:
    """Whose certificates count: to read them takes a while, and over plain HTTP none is shown."""
    import ssl

    return url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _usable(key: str) -> str:
    """The key without white space around it; BadInput, which never shows it, if no header can hold it."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise BadInput(
            "the API key holds a line break, a control character or a letter that no HTTP header can hold "
            "(expected the one line that `pdoctor keys create` printed)"
        )
    return key


def _answer(response: httpx.Response) -> Any:
    """What the collector answered, or BadInput with what it said."""
    try:
        body = response.json()
    except ValueError as error:
        raise _kind(response)(f"{_told(response)} and no JSON: is that a collector?") from error
    if response.is_success:
        return body
    problem = body.get("error") if isinstance(body, dict) else None
    problem = problem if isinstance(problem, dict) else {}
    hint = "set PDOCTOR_API_KEY" if response.status_code == 401 else problem.get("hint")
    said = "; ".join(filter(None, (problem.get("message"), hint)))
    raise _kind(response)(said or f"{_told(response)}: {response.text[:LONGEST_SAID]}")


def _kind(response: httpx.Response) -> type[BadInput]:
    return NoAnswer if response.is_server_error else BadInput


def _words(response: httpx.Response) -> str:
    """What there is to read in an answer that is protobuf."""
    return "".join(c if c.isprintable() else " " for c in response.text).strip()[:LONGEST_SAID]


def _told(response: httpx.Response) -> str:
    return f"{response.url} answered {response.status_code}"

"""A small client of the collector's HTTP API, for the verbs that talk to a running one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
import httpx

from synth.errors import BadInput

DEFAULT_URL = "http://127.0.0.1:4318"

collector_option = click.option(
    "--collector", "url", default=DEFAULT_URL, show_default=True, metavar="URL", help="The running collector."
)


class Collector:
    """The collector at `url`; the key comes from the environment variable PDOCTOR_API_KEY."""

    def __init__(self, url: str) -> None:
        key = os.environ.get("PDOCTOR_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.url = url.rstrip("/")
        self.http = httpx.Client(
            base_url=f"{self.url}/api/v1", headers=headers, timeout=30.0, trust_env=False
        )
        verb = click.get_current_context(silent=True)
        if verb is not None:
            verb.call_on_close(self.http.close)

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON answer; anything else is `BadInput` with what the collector said and what to do."""
        wanted = {name: value for name, value in parameters.items() if value is not None}
        return self.ask("GET", path, params=wanted)

    def post(self, path: str, body: Any) -> Any:
        """Send JSON; answers as `get` does."""
        return self.ask("POST", path, json=body)

    def ask(self, method: str, path: str, **content: Any) -> Any:
        try:
            response = self.http.request(method, path, **content)
        except httpx.TransportError as error:
            raise BadInput(
                f"no collector answers at {self.url} ({error}): start one with `pdoctor serve`"
            ) from error
        return answer(response)

    def pages(self, path: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Every item of a list that is handed out in pages."""
        cursor = None
        while True:
            page = self.get(path, **parameters, cursor=cursor)
            yield from page["items"]
            cursor = page.get("cursor")
            if not cursor:
                return


def answer(response: httpx.Response) -> Any:
    try:
        body = response.json()
    except ValueError as error:
        raise BadInput(
            f"{response.url} answered {response.status_code} and no JSON: is that a collector?"
        ) from error
    if response.is_success:
        return body
    problem = body.get("error", {}) if isinstance(body, dict) else {}
    hint = "set PDOCTOR_API_KEY" if response.status_code == httpx.codes.UNAUTHORIZED else problem.get("hint")
    said = "; ".join(filter(None, (problem.get("message"), hint)))
    raise BadInput(said or f"{response.url} answered {response.status_code}")

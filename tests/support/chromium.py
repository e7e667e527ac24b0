"""A headless Chromium, driven over its DevTools protocol: open, evaluate, click, and see what went wrong."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.sync.client import ClientConnection, connect

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-port=0", "--window-size=1280,900",
)  # fmt: skip


class Navigated(AssertionError):
    """The page went elsewhere while an expression was being evaluated in it."""


class Page:
    """One tab; remembers every request, script error and blocked resource.

    What does not come within `patience` seconds never will.
    """

    def __init__(self, socket: ClientConnection, patience: float = 60) -> None:
        self._socket, self._sent, self.patience = socket, 0, patience
        self.requests: list[str] = []
        self.problems: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **parameters: Any) -> Any:
        """Send one command and wait for its answer; events that come first are kept."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=self.patience))
            if message.get("id") == self._sent:
                if "navigated" in message.get("error", {}).get("message", ""):
                    raise Navigated(message)
                assert "error" not in message, message
                return message["result"]
            self._event(message)

    def _event(self, message: dict[str, Any]) -> None:
        method, said = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(said["exceptionDetails"].get("text", "exception"))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.problems.append(said["entry"]["text"])

    def open(self, url: str) -> None:
        """Go to an address, or to where that leads, and wait until the page is complete."""
        self.evaluate("window.left = true")
        self.command("Page.navigate", url=url)
        there = f"(location.href === {json.dumps(url)} || !window.left)"
        self.wait_for(f"{there} && document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float | None = None) -> None:
        """Until a JavaScript expression is true, on this page or on the one that it is leaving for."""
        seconds = self.patience if seconds is None else seconds
        end = time.monotonic() + seconds
        while not self._holds(expression):
            assert time.monotonic() < end, f"not true within {seconds} s: {expression}"
            time.sleep(0.03)

    def _holds(self, expression: str) -> bool:
        try:
            return bool(self.evaluate(expression))
        except Navigated:
            return False

    def text(self, selector: str) -> str:
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def texts(self, selector: str) -> list[str]:
        found = f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText)"
        return list(self.evaluate(found))

    def click(self, selector: str) -> None:
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    def width(self, pixels: int, *, dark: bool = False) -> None:
        """Resize the window, and prefer dark colours or not."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=pixels, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self) -> bytes:
        """All of the page as PNG, as high as it is once it has been drawn."""
        self.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        said = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(said["data"])

    def hosts(self) -> set[str]:
        """Every host that the page asked for anything."""
        return {urlsplit(url).netloc for url in self.requests if url.startswith("http")}


@contextmanager
def chromium(profile: Path, patience: float = 60) -> Iterator[Page]:
    """A browser with an empty profile; `patience` as of a `Page`."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, (
        "the browser tests need Chromium: install the package `chromium` (apt-get install chromium)"
    )
    browser = subprocess.Popen(
        [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(profile)},
    )
    try:
        port = debugging_port(profile / "DevToolsActivePort")
        import httpx

        with httpx.Client(trust_env=False, timeout=60) as http:
            targets = http.get(f"http://127.0.0.1:{port}/json").json()
        address = next(target["webSocketDebuggerUrl"] for target in targets if target["type"] == "page")
        with connect(address, max_size=None, proxy=None) as socket:
            yield Page(socket, patience)
    finally:
        browser.terminate()
        with suppress(subprocess.TimeoutExpired):
            browser.wait(5)
        if browser.poll() is None:
            browser.kill()
            browser.wait(60)


def debugging_port(file: Path) -> int:
    for _ in range(1_800):
        with suppress(OSError, IndexError, ValueError):
            return int(file.read_text().split()[0])
        time.sleep(0.05)
    raise AssertionError("Chromium did not open its debugging port within 90 s")

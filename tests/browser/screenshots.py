"""`make screenshots`: a picture of every page in build/screenshots, wide, on a phone and dark."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path

from tests.browser.every_page import filled
from tests.support.chromium import chromium

FOLDER = Path(__file__).parents[2] / "build" / "screenshots"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as store,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        filled(Path(store)) as pages,
        chromium(Path(profile)) as page,
    ):
        page.command("Emulation.setScrollbarsHidden", hidden=True)
        for width, dark in ((1400, False), (390, False), (1400, True)):
            page.width(width, dark=dark)
            for name, shown in pages.items():
                shown.open(page)
                png = page.command("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
                (FOLDER / f"{name}-{width}{'-dark' * dark}.png").write_bytes(base64.b64decode(png))


if __name__ == "__main__":
    main()

"""`make screenshots`: a picture of every page in build/screenshots, wide and on a phone, light and dark."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.browser.every_page import filled
from tests.support.chromium import chromium

FOLDER = Path(__file__).parents[2] / "build" / "screenshots"
LOOKS = ((1400, False), (390, False), (1400, True), (390, True))
PATIENCE = 1_800.0
"""Seconds: a machine that does much else draws long pages slowly, and nobody waits for one of them."""


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with (
        tempfile.TemporaryDirectory() as store,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        filled(Path(store)) as pages,
        chromium(Path(profile), PATIENCE) as page,
    ):
        page.command("Emulation.setScrollbarsHidden", hidden=True)
        for width, dark in LOOKS:
            page.width(width, dark=dark)
            for name, shown in pages.items():
                shown.open(page)
                (FOLDER / f"{name}-{width}{'-dark' * dark}.png").write_bytes(page.picture())


if __name__ == "__main__":
    main()

"""Every page: axe finds nothing wrong with it, and what it loads is small."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.every_page import Shown, filled
from tests.support.chromium import Page

AXE = "axe-core@4.14.1"
COLOURS = ("color-contrast", "link-in-text-block")
"""The rules of axe that the dark colours can break where the light ones do not."""
STATIC = Path(__file__).parents[2] / "collector" / "ui" / "static"
RUN_AXE = """
axe.run(document, {resultTypes: ['violations'], %s}).then(found => found.violations.flatMap(one =>
  one.nodes.map(node => one.id + ': ' + node.target.join(' ') + ' ' + node.html.slice(0, 160))))
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Shown]]:
    with filled(tmp_path_factory.mktemp("filled")) as found:
        yield found


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of axe-core, as npm has it; it is fetched for the tests and is no part of the product."""
    npm = shutil.which("npm")
    assert npm, f"this test checks pages with {AXE}: install the Debian package `npm` (apt-get install npm)"
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        [npm, "pack", "--silent", AXE], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"npm pack {AXE} failed; this test needs npm's registry:\n{done.stderr}"
    with tarfile.open(next(folder.glob("*.tgz"))) as packed:
        script = packed.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


MARKUP = "document.title === 'owned' || document.querySelectorAll('img[onerror], main script').length > 0"


def violations(page: Page, axe: str) -> list[str]:
    page.evaluate(f"(0, eval)({json.dumps(axe)}), true")
    return list(page.evaluate(RUN_AXE % ""))


def dark_violations(page: Page, width: int) -> list[str]:
    """What is wrong with the colours of an open page that was looked at in the light, where it is dark."""
    page.width(width, dark=True)
    found = list(page.evaluate(RUN_AXE % f"runOnly: {json.dumps(COLOURS)}"))
    page.width(width)
    return found


UNHINTED = """
[...document.querySelectorAll('main *')].filter(one => one.scrollWidth > one.clientWidth + 1
  && getComputedStyle(one).overflowX === 'auto' && one.offsetParent
  && (getComputedStyle(one).backgroundImage === 'none' || one.tabIndex < 0)
  && !one.matches('pre, textarea, input')).map(one => one.outerHTML.slice(0, 90))
"""
"""What is cut at its side and says so by no shadow, or cannot be scrolled by the keyboard."""


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_on_any_page(page: Page, pages: dict[str, Shown], axe: str, width: int) -> None:
    page.width(width)
    wrong = {}
    for name, shown in pages.items():
        shown.open(page)
        if page.evaluate(MARKUP):
            wrong[f"{name} has markup that was sent to it"] = []
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wrong[f"{name} is wider than the window"] = []
        if found := page.evaluate(UNHINTED):
            wrong[f"{name} is cut without a hint"] = found
        if found := violations(page, axe):
            wrong[name] = found
        if found := dark_violations(page, width):
            wrong[f"{name}, dark"] = found
    assert wrong == {}


PLANTED = """
document.querySelector('main').insertAdjacentHTML('beforeend', '<input><img src=x>');
const dark = '@media (prefers-color-scheme: dark) { main * { color: #222 !important } }';
document.styleSheets[0].insertRule(dark)
"""


@pytest.mark.heavy
def test_axe_finds_what_is_planted(page: Page, pages: dict[str, Shown], axe: str) -> None:
    page.width(1400)
    pages["runs"].open(page)
    assert violations(page, axe) == dark_violations(page, 1400) == []
    page.evaluate(PLANTED)
    assert {one.partition(":")[0] for one in violations(page, axe)} == {"label", "image-alt"}
    assert {one.partition(":")[0] for one in dark_violations(page, 1400)} == {"color-contrast"}


def test_what_a_page_loads_is_small() -> None:
    assert sum(file.stat().st_size for file in STATIC.iterdir()) <= 60_000

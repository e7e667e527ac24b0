"""The page of a run in a real browser: what is opened, copied, zoomed into and drawn in the dark."""

from __future__ import annotations

import base64
import zlib

import pytest

from tests.browser.test_pages import SHAPES
from tests.browser.test_picture import chunks
from tests.support.chromium import Page
from tests.support.traces import Client, agent_request, new_id

CALLS = [{"name": name, "at": {"pdoctor.turn.index": turn}} for name, turn in (("a", 0), ("b", 0), ("c", 1))]


@pytest.fixture
def run(page: Page, collector: Client) -> str:
    """A run whose first two calls one message asked for; its page is open."""
    page.open("about:blank")
    page.width(1280)
    page.problems.clear()
    key = new_id()
    collector.send(agent_request(key, CALLS))
    collector.judged(key)
    page.open(f"{collector.url}/runs/{key}")
    return key


def widths(page: Page) -> list[float]:
    """Of the bars that are drawn, in thousandths of the axis."""
    return list(page.evaluate("[...document.querySelectorAll('.stretch')].map(e => e.width.baseVal.value)"))


def test_calls_are_opened_at_once_copied_and_have_addresses(page: Page, run: str) -> None:
    opened = "[...document.querySelectorAll('.calls details')].map(one => one.open)"
    page.click("[data-opens]")
    assert page.evaluate(opened) == [True] * 3
    page.click("[data-opens]")
    assert page.evaluate(opened) == [False] * 3
    page.click("#call-1 summary")
    page.wait_for("document.querySelector('#call-1 .copy') !== null")
    assert page.evaluate("location.hash") == "#call-1"
    page.click("#call-1 dd:nth-of-type(2) .copy")
    assert page.text("#call-1 dd:nth-of-type(2) .copy") in ("Copied", "Press Ctrl+C")
    page.open("about:blank")
    page.open(page_of(page, run) + "#call-2")
    assert page.evaluate(opened) == [False, False, True]
    assert page.problems == []


def page_of(page: Page, run: str) -> str:
    return next(url for url in reversed(page.requests) if url.endswith(f"/runs/{run}"))


def test_dragging_over_the_axis_zooms_and_the_part_has_an_address(page: Page, run: str) -> None:
    before = widths(page)
    assert len(before) == 3
    box = page.evaluate("document.querySelector('.calls .ticks').getBoundingClientRect().toJSON()")
    page.evaluate("window.before = true")
    for kind, share in (("mousePressed", 0.02), ("mouseReleased", 0.5)):
        place = {"x": box["left"] + box["width"] * share, "y": box["top"] + box["height"] / 2}
        page.command("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)
    page.wait_for("!window.before && document.readyState === 'complete'")
    assert page.evaluate("location.search").startswith("?since=")
    after = widths(page)
    assert len(after) == 2, "the last call lies beyond"
    assert max(after) > max(before)
    page.evaluate("window.before = true; document.querySelector('#call-1 summary').click()")
    page.evaluate("[...document.querySelectorAll('.hint a')].find(a => a.innerText === 'all of it').click()")
    page.wait_for("!window.before && document.readyState === 'complete'")
    assert widths(page) == before
    assert page.problems == []


def test_a_state_diagram_is_dark_where_the_page_is(page: Page, collector: Client) -> None:
    collector.post("/policies", {"name": "shapes", "text": SHAPES})
    run = new_id()
    collector.send(agent_request(run, ["do_a", "do_c"]))
    collector.judged(run)
    for dark in (False, True):
        page.width(1280, dark=dark)
        page.open(f"{collector.url}/runs/{run}")
        image = "document.querySelector('.diagram details[open] img')"
        page.wait_for(f"{image}.complete && {image}.naturalWidth > 100")
        assert (max(colour_at(page, image)) < 60) is dark
    page.width(1280)


def colour_at(page: Page, element: str) -> tuple[int, ...]:
    """Red, green and blue near the upper left corner of an element."""
    place = page.evaluate(f"(b => [b.left + scrollX, b.top + scrollY])({element}.getBoundingClientRect())")
    clip = {"x": place[0] + 3, "y": place[1] + 3, "width": 1, "height": 1, "scale": 1}
    png = page.command("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
    packed = b"".join(said for kind, said in chunks(base64.b64decode(png)) if kind == b"IDAT")
    return tuple(zlib.decompress(packed)[1:4])

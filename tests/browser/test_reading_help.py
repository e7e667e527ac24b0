"""The documentation in a browser: found by its search, drawn under the strict policy, all from here."""

from __future__ import annotations

from urllib.parse import urlsplit

from collector.ui.help import docs
from tests.support.chromium import Page
from tests.support.traces import Client


def test_a_page_is_found_by_searching_and_read(page: Page, collector: Client) -> None:
    page.open("about:blank")
    page.requests.clear()
    page.problems.clear()
    page.open(f"{collector.url}/")
    page.click("header nav a[href='/help']")
    page.wait_for("document.querySelectorAll('.help li').length > 10")
    page.evaluate("document.querySelector('input[name=q]').value = 'PDOCTOR_HASH_KEY'")
    page.click("main form button")
    page.wait_for(
        "location.search.includes('PDOCTOR_HASH_KEY') && document.querySelector('.help mark') !== null"
    )
    assert page.text(".help mark") == "PDOCTOR_HASH_KEY"
    page.click(".help a")
    page.wait_for("document.querySelector('article.doc h1') !== null")
    for name in docs():
        for width in (1280, 390):
            page.width(width)
            page.open(f"{collector.url}/help/{name}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
    assert page.problems == []
    assert page.hosts() == {urlsplit(collector.url).netloc}

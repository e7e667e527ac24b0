"""The driver of the browser: a page that leaves while it is being asked is waited for, not failed."""

from __future__ import annotations

import pytest

from tests.support.chromium import Navigated, Page


def test_a_page_that_leaves_while_it_is_asked_is_asked_again(page: Page) -> None:
    page.open("about:blank")
    leaves = "location.search === '?there' || new Promise(() => { location.href = 'about:blank?there' })"
    page.wait_for(leaves)


def test_an_answer_that_never_comes_because_the_page_left_is_told(page: Page) -> None:
    page.open("about:blank")
    with pytest.raises(Navigated):
        page.evaluate("new Promise(() => { location.href = 'about:blank?elsewhere' })")

"""What the tests of the tracer share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_is_left_in_this_process() -> Iterator[None]:
    """A span that nobody takes would be waited for by every test after this one."""
    yield
    from pdoctor_trace.installation import HERE

    left = [exporter.counters()["queued"] for exporter in HERE._exporters()]
    assert not any(left), "record spans with the fixture `sink`"

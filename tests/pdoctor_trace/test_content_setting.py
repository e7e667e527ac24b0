"""A slip in PDOCTOR_CONTENT must not send what it was to hold back."""

from __future__ import annotations

import pytest

from pdoctor_trace.settings import from_environment


@pytest.mark.parametrize(
    ("given", "mode"),
    [("NONE", "none"), (" Shape ", "shape"), ("full", "full"), ("hash", "none"), ("", "none")],
)
def test_an_unknown_content_mode_keeps_nothing(given: str, mode: str) -> None:
    assert from_environment({"PDOCTOR_CONTENT": given}).content == mode


def test_without_the_variable_the_default_holds() -> None:
    assert from_environment({}).content == "full"


def test_a_bad_value_is_told_once_although_settings_are_read_again(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        from_environment({"PDOCTOR_CONTENT": "bogus-told-once"})
    assert caplog.text.count("bogus-told-once") == 1

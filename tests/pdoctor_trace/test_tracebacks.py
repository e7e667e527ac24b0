"""The tracer's own frames in a traceback that a framework shows to the model."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

import pdoctor_trace
from pdoctor_trace.tracebacks import without_our_frames
from tests.support.sink import OtlpSink

OURS = str(Path(pdoctor_trace.__file__).parent)


def fails() -> None:
    raise ValueError("inner")


def test_only_the_hosts_frames_stay(sink: OtlpSink) -> None:
    traced = pdoctor_trace.tool(fails)

    def outer() -> None:
        try:
            traced()
        except ValueError as error:
            raise KeyError("outer") from error

    with pytest.raises(KeyError) as caught:
        pdoctor_trace.tool(outer)()
    error = caught.value
    assert OURS in "".join(traceback.format_exception(error))
    without_our_frames(error)
    text = "".join(traceback.format_exception(error))
    assert OURS not in text
    assert [step.name for step in traceback.extract_tb(error.__cause__.__traceback__)] == ["outer", "fails"]


def test_exceptions_that_came_from_each_other_come_to_an_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    without_our_frames(one)
    assert one.__traceback__ is None

from __future__ import annotations

import time
from email.utils import formatdate

import httpx
import openai
import pytest

from synth.agents.retry_after import retry_after


def refused(headers: dict[str, str]) -> openai.RateLimitError:
    answer = httpx.Response(429, headers=headers, request=httpx.Request("POST", "http://model.example"))
    return openai.RateLimitError("busy", response=answer, body=None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After-Ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
        ({"Retry-After": formatdate(0)}, 0.0),
    ],
)
def test_the_header_of_the_answer_counts(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(refused(headers)) == seconds


def test_a_date_is_as_far_away_as_it_is() -> None:
    seconds = retry_after(refused({"Retry-After": formatdate(time.time() + 100)}))
    assert seconds is not None
    assert 90 < seconds <= 100


def test_the_cause_of_an_exception_counts_too_and_any_exception_is_harmless() -> None:
    def wrapped() -> None:
        try:
            raise refused({"Retry-After": "3"})
        except openai.OpenAIError:
            raise RuntimeError("the loop ended")  # noqa: B904 - as agents do

    with pytest.raises(RuntimeError) as raised:
        wrapped()
    assert retry_after(raised.value) == 3.0
    assert retry_after(ValueError("no answer at all")) is None
    circle = RuntimeError("its own context")
    circle.__context__ = circle
    assert retry_after(circle) is None

"""Which conversation a request continues, where there are more than are kept."""

from __future__ import annotations

import pytest

import pdoctor_trace
from pdoctor_trace.raw_loops import conversations
from pdoctor_trace.raw_loops.conversations import Conversations
from pdoctor_trace.raw_loops.messages import Asked, Outgoing
from pdoctor_trace.raw_loops.tracker import TRACKER, Tracker


def asking(text: int, key: str | None = None) -> Outgoing:
    return Outgoing("openai", history=[text], query="go", user_last=True, tools=[("add", None)], key=key)


@pytest.mark.usefixtures("sink")
def test_a_conversation_that_was_forgotten_goes_on_under_its_server_held_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conversations, "MAX_CONVERSATIONS", 1)
    tracker = Tracker()
    first = tracker.request(asking(1))
    assert first is not None
    tracker.reply(first, [Asked("call_1", "add", "{}")], has_text=False, final=True, key="resp_1")
    second = tracker.request(asking(2))
    assert second not in (None, first)
    assert tracker.request(asking(3, key="resp_1")) is first
    tracker.end()
    assert not tracker.waits


@pytest.mark.usefixtures("sink")
def test_conversations_inside_a_run_of_the_host_are_forgotten_with_it() -> None:
    TRACKER.clear()  # those of other tests
    for number in range(3):
        with pdoctor_trace.run(query="go"):
            first = TRACKER.request(asking(100 + number))
            assert first is not None
            TRACKER.reply(first, [], has_text=True, final=True, key=f"resp_{number}")
            with pdoctor_trace.run(query="inside"):
                assert TRACKER.request(asking(200 + number)) is not None
            assert first in TRACKER._known._all.values(), "the run that it is part of goes on"
        assert not TRACKER._known._all
        assert not TRACKER._known._inside
        assert not TRACKER._known._by_key
    outside = TRACKER.request(asking(1))
    assert list(TRACKER._known._all.values()) == [outside]
    TRACKER.end()
    TRACKER.clear()


def test_a_conversation_is_known_by_its_newest_keys_and_a_key_means_one_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conversations, "MAX_KEYS", 2)
    known = Conversations()
    first, second = known.new(), known.new()
    for key in ("a", "b", "a", "c"):
        known.remember(first, key)
    assert first.keys == {"a", "c"}
    assert known.by_key("b") is None
    known.remember(second, "a")
    assert (first.keys, second.keys) == ({"c"}, {"a"})
    assert (known.by_key("a"), known.by_key("c")) == (second, first)

"""Calls of tools and of models whose longest parts are read when somebody looks at them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from collector.dialects import Message, Request, deferred
from collector.dialects.deferred import IN_TURN, deferred_call, in_turn
from collector.dialects.genai import read_model
from collector.dialects.reading import SeenModel, requests_and_answers
from collector.model import Span, ToolCall
from collector.rebuild.gaps import cut_messages
from collector.rebuild.requested import with_requests

SAID = {"gen_ai.tool.call.arguments": '{"city": "Bern"}', "pdoctor.tool.attempts": 3, "pdoctor.turn.index": 7}
ELSEWHERE: dict[str, Any] = {"step": 4, "start": (5, 5), "end": (6, 6), "extra": {"note": "x"}}


def call(**changes: Any) -> ToolCall:
    made = deferred_call("id", "search", "refused", (1, 2), (3, 4), False, SAID)
    return replace(made, **changes) if changes else made


@pytest.mark.parametrize("changes", [{}, {"finished": False}], ids=["as it was read", "made again"])
def test_a_call_at_another_place_is_the_same_otherwise(changes: dict[str, Any]) -> None:
    there = call(**changes).moved(*ELSEWHERE.values())
    assert there == replace(call(**changes), **ELSEWHERE)
    assert (there.arguments, there.attempts, there.step) == ({"city": "Bern"}, 3, 4)


def test_moving_a_call_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        deferred, "LATER", {name: lambda said, name=name: read.append(name) for name in deferred.LATER}
    )
    there = call().moved(*ELSEWHERE.values())
    assert (there.tool, there.end, read) == ("search", (6, 6), [])
    assert (there.result, read) == (None, ["result"])


ASKED = (
    '[{"role": "assistant", "parts": [{"type": "text", "content": "I look."}, '
    '{"type": "tool_call", "id": "c", "name": "search", "arguments": {"city": "Bern"}}]}]'
)
GIVEN = '[{"role": "user", "content": "Rooms?"}, {"role": "tool", "tool_call_id": "c", "content": "full"}]'


def model(given: str | None, made: str | None) -> SeenModel:
    said = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7}
    told = {"gen_ai.input.messages": given, "gen_ai.output.messages": made}
    said |= {name: text for name, text in told.items() if text is not None}
    found = read_model(Span("t", "s", None, "chat", 1, 2, "unset", "", said))
    assert found is not None
    return found


def test_a_model_call_says_what_its_messages_say() -> None:
    seen = model(GIVEN, ASKED)
    assert (seen.requests, seen.with_text, seen.said) == (
        (Request("c", "search", {"city": "Bern"}),), True, "I look.",
    )  # fmt: skip
    assert (seen.query, seen.answers, seen.given) == ("Rooms?", {"c": "full"}, (Message("user", "Rooms?"),))
    assert seen.read_whole == {"gen_ai.input.messages", "gen_ai.output.messages"}
    assert (seen.tools, seen.model, seen.session, seen.input_tokens, seen.output_tokens) == (
        None, None, None, 7, None,
    )  # fmt: skip
    assert seen == model(GIVEN, ASKED) == replace(seen)
    assert seen != model(GIVEN, None)


def test_messages_that_were_cut_are_not_whole() -> None:
    assert model(GIVEN[:-9], ASKED).read_whole == {"gen_ai.output.messages"}
    assert [gap.problem for gap in cut_messages([model(None, ASKED), model(GIVEN[:-9], ASKED)])] == [
        "the messages of a model call were cut: calls may be missing from them"
    ]
    assert not list(cut_messages([model(GIVEN, ASKED), model("Rooms?", "Full.")]))


def test_of_models_that_ask_for_nothing_no_history_is_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(name: str) -> Any:
        made = OF_MESSAGES[name]
        return lambda seen: read.append(name) or made(seen)

    OF_MESSAGES = deferred.OF_MESSAGES
    monkeypatch.setattr(deferred, "OF_MESSAGES", {name: reading(name) for name in OF_MESSAGES})
    several = [model(GIVEN, '{"role": "assistant", "content": "Full."}') for _ in range(3)]
    assert with_requests([], several) == []
    assert not list(cut_messages(several))
    assert {"answers", "given", "query", "said"}.isdisjoint(read)
    assert "requests" in read


MESSAGES: tuple[Any, ...] = (
    {"role": "user", "content": "Rooms, in [Bern]?"},
    {"role": "user", "parts": [{"type": "text", "content": "For two, please"}]},
    {"role": "tool", "tool_call_id": "c", "content": "full"},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "d", "response": {"rooms": [3]}}]},
    {"role": "assistant", "content": "I look."}, ["user", "Or Thun"], "text", 7, None, [], {},
    json.loads("[" * 130 + "]" * 130),
)  # fmt: skip

ODD: tuple[Callable[[str], str | None], ...] = (
    *[lambda said: said] * 4,
    lambda said: said[:-1] + ",]",
    lambda said: said[:-1] + ",,1]",
    lambda said: said[1:],
    lambda said: said[:-2],
    lambda said: f" {said} ",
    lambda said: said + said,
    lambda said: said.replace(",", ", "),
    lambda said: None,
)
"""How senders spell, cut and break what was said."""


def histories(dice: random.Random) -> list[str | None]:
    """What the calls of a run were given: nearly always what was said before, and more."""
    said: list[Any] = []
    found: list[str | None] = []
    for _ in range(8):
        said = [*said, *dice.choices(MESSAGES, k=dice.choice((0, 1, 1, 2)))]
        text = json.dumps(said, separators=(",", dice.choice((":", ": "))))
        found.append(dice.choice(ODD)(text))
    return found


@pytest.mark.parametrize("seed", range(150))
def test_a_history_that_goes_on_says_what_it_says_alone(seed: int) -> None:
    dice = random.Random(seed)
    given = histories(dice)
    several = [model(text, ASKED) for text in given]
    in_turn(several)
    dice.shuffle(places := list(range(len(several))))
    for place in places:
        for one in fields(SeenModel):
            assert getattr(several[place], one.name) == getattr(model(given[place], ASKED), one.name), (
                one.name
            )


def test_of_a_long_talk_the_last_call_can_be_asked_first() -> None:
    texts = [json.dumps([{"role": "tool", "tool_call_id": str(i), "content": "x"} for i in range(n)])
             for n in range(1, 5 * IN_TURN)]  # fmt: skip
    several = [model(text, None) for text in texts]
    in_turn(several)
    assert [*several[-1].answers] == [str(i) for i in range(len(texts))]


def test_what_was_said_before_is_not_gone_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[Any] = []
    monkeypatch.setattr(
        deferred, "requests_and_answers", lambda said: gone.append(said) or requests_and_answers(said)
    )
    first, more = (
        [{"role": "user", "content": "Rooms?"}],
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    )
    several = [model(json.dumps(said), None) for said in (first, [*first, more])]
    in_turn(several)
    assert [seen.answers for seen in several] == [{}, {"c": "x"}]
    assert gone == [first, [more]]


@pytest.mark.parametrize(("known", "said"), [("[7]", "[712,8]"), ("[7] ", "[7],8]"), ("[7]", "[7,]")])
def test_text_that_only_begins_alike_is_read_whole(known: str, said: str) -> None:
    several = [model(known, None), model(said, None)]
    in_turn(several)
    assert several[1].news == model(said, None).news  # type: ignore[attr-defined]

"""Values that were cut or hashed, as the marks of tracers tell."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from pdoctor_trace.capture import Capture
from pdoctor_trace.values import Truncated
from synth.errors import BadInput
from synth.formal.partly import REST, Unknown, equal, is_whole
from synth.observed.marks import ends_early, known
from synth.observed.run import Run, ToolCall, run_from_json


def some_value(r: random.Random, depth: int = 0) -> Any:
    kind = r.randint(0, 6 if depth < 3 else 4)
    if kind == 5:
        return [some_value(r, depth + 1) for _ in range(r.randint(0, 3))]
    if kind == 6:
        return {f"k{i}": some_value(r, depth + 1) for i in range(r.randint(0, 3))}
    text = "".join(r.choice('ab"\\\né 𝄞') for _ in range(r.randint(0, 9)))
    return (None, r.random() < 0.5, r.randint(-99, 9999), r.random() * 10, text)[kind]


def test_the_beginning_of_json_text_may_be_the_whole_value_and_is_never_another() -> None:
    r = random.Random(1)
    prefixes = refuted = 0
    for _ in range(600):
        value, other = some_value(r), some_value(r)
        text = json.dumps(value, ensure_ascii=r.random() < 0.5)
        if text[0] not in '{["':
            continue
        assert not ends_early(text)
        for end in range(1, len(text)):
            assert ends_early(text[:end])
            found = known(text[:end], "cut")
            assert equal(found, value) is None, (text[:end], value)
            assert equal(found, other) is None or value != other
            prefixes += 1
            refuted += equal(found, other) is False
    assert refuted > prefixes / 2


@pytest.mark.parametrize("text", ["no JSON", "", "12", '{"a": 1} or', "{a: 1", '["x" "y"', '{"a" 1', "[1 2"])
def test_other_text_is_no_json_that_ends_early(text: str) -> None:
    assert not ends_early(text)


def test_what_our_tracer_cuts_is_never_taken_for_another_value() -> None:
    r = random.Random(2)
    cut = 0
    for _ in range(3000):
        value = {"a": some_value(r), "b": some_value(r)}
        text = Capture("full", r.randint(1, 60)).arguments(value)
        assert text is not None
        if isinstance(text, Truncated):
            found = known(json.loads(text), "cut")
            assert not is_whole(found), text
            assert equal(found, value) is None, (text, value)
            cut += 1
        else:
            assert json.loads(text) == value
    assert cut > 500


def test_hashes_of_one_key_are_equal_exactly_for_equal_values() -> None:
    r = random.Random(3)
    one, two = Capture("shape", hash_key="k"), Capture("shape", hash_key="other")
    decided = 0
    for _ in range(3000):
        a, b = ({"x": r.choice((4, 4.0, 5, "4", "ab", True, None, [1, "z"], {"q": 1}))} for _ in range(2))
        mine, same, foreign = (
            known(json.loads(by.arguments(v) or b""), "hashed", str(id(by)))
            for by, v in ((one, a), (one, b), (two, b))
        )
        truth = (a == b and type(a["x"]) is not bool and type(b["x"]) is not bool) or repr(a) == repr(b)
        if "q" not in str((a, b)):
            decided += equal(mine, same) is not None
        assert equal(mine, same) in (truth, None)
        assert equal(mine, foreign) in (truth, None)
        assert equal(mine, b) in (truth, None)
    assert decided > 2000


def test_parts_that_are_whole_stay_usable() -> None:
    found = known({"note": "abc… (+7 characters)", "amount": 3, "…": "+2 more"}, "cut")
    assert found["amount"] == 3
    assert found["note"] == Unknown("cut", begins="abc", length=10, where="note")
    assert found[REST].rest
    assert known('{"flights": [{"id": "F1"}, {"id": "F', "cut")["flights"][0] == {"id": "F1"}


@pytest.mark.parametrize("value", [{"a": ["x", "y"]}, ["x", {"b": 1}], "some text", 12])
def test_a_value_said_to_be_cut_is_open_at_its_end(value: Any) -> None:
    assert not is_whole(known(value, "cut"))
    assert equal(known(value, "cut"), value) is None


def test_a_record_says_of_which_values_a_part_is_known() -> None:
    call = ToolCall("c", "t", {"x": "str:2:0123456789abcdef"}, partly={"arguments": "hashed"}, hash_key="k")
    run = Run("r", (call,))
    assert run_from_json(run.to_json()) == run
    assert call.known_arguments["x"].digest == "0123456789abcdef"
    for wrong in ("cut", {"error": "cut"}, {"result": "short"}):
        with pytest.raises(BadInput, match="partly"):
            run_from_json({"run_id": "r", "calls": [{"name": "t", "partly": wrong}]})

"""Values become bounded JSON text, by content mode, without running the host's code."""

from __future__ import annotations

import gc
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdoctor_trace import reading
from pdoctor_trace.capture import Capture
from pdoctor_trace.harmless import FAILURES
from pdoctor_trace.reading import error_text, field
from pdoctor_trace.values import Truncated, json_text
from tests.support.hostile import HOSTILE, OUTLAWS

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(plain)
def test_json_values_come_back_as_they_were(value: Any) -> None:
    assert orjson.loads(json_text(value)) == value


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("limit", [100, 65_536])
def test_hostile_values_become_bounded_json(name: str, limit: int) -> None:
    text = json_text(HOSTILE[name](), limit)
    json.loads(text)
    assert len(text) <= 2 * limit + 100


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("circular", {"name": "loop", "self": ["<circular>"]}),
        ("str raises", "<tests.support.hostile.RaisesInStr>"),
        ("rude dict", {"a": 1}),
        ("rude str", "rude"),
        ("tuple keys", {"[1,2]": "three", "null": 1, "2.5": "x", "[1]": 2}),
        ("generator", "<generator>"),
        ("not a number", ["NaN", "Infinity", "-Infinity"]),
        ("big int", str(2**70)),
        ("bytes", "<bytes of length 8>"),
        ("memoryview", "<memoryview of 3 bytes>"),
        ("lone surrogate", "half a pair ?"),
        ("slotted dataclass", {"x": 1, "y": {"a": [1]}}),
        ("pydantic model", {"name": "m", "inner": {"x": [1, {"y": None}]}}),
        ("namedtuple", [1, [2, 3]]),
        ("set", [1, 2, 3]),
        ("exception", {"ValueError": "as a value"}),
    ],
)
def test_what_is_kept_of_a_hostile_value(name: str, expected: Any) -> None:
    assert orjson.loads(json_text(HOSTILE[name]())) == expected


def test_a_generator_is_not_consumed() -> None:
    items = (n for n in range(3))
    json_text({"items": items})
    assert list(items) == [0, 1, 2]


@pytest.mark.parametrize(
    "value", ["x" * 2_000_000, ["y" * 100] * 50_000, {str(n): n for n in range(100_000)}]
)
def test_long_values_are_cut_and_marked(value: Any) -> None:
    text = json_text(value, 10_000)
    assert isinstance(text, Truncated)
    assert len(text) < 20_000
    assert "…" in json.dumps(json.loads(text), ensure_ascii=False)


def test_arguments_are_a_snapshot() -> None:
    arguments = {"items": [1]}
    text = Capture().arguments(arguments)
    arguments["items"].append(2)
    assert text == b'{"items":[1]}'


def test_mode_none_keeps_nothing() -> None:
    capture = Capture("none")
    assert (capture.arguments({"a": 1}), capture.result("x"), capture.query("q")) == (None, None, None)
    assert capture.message(ValueError("secret")) == ""


def test_mode_shape_keeps_types_and_lengths_and_equality_but_no_content() -> None:
    one, other = (Capture("shape", hash_key="shared") for _ in range(2))
    value = {"city": "Oslo", "n": 3, "list": ["Oslo", {"who": "Ann"}]}
    text = one.arguments(value)
    assert text is not None
    shape = orjson.loads(text)
    assert list(shape) == ["city", "n", "list"], "parameter names stay readable"
    assert shape["city"] == shape["list"][0]
    assert shape["city"].startswith("str:4:")
    for secret in (b"Oslo", b"Ann", b"who"):
        assert secret not in text
    assert other.arguments(value) == text, "the same key gives the same hashes in another process"
    assert Capture("shape", hash_key="different").arguments(value) != text
    assert b"Oslo" not in (one.result(value) or b"")
    assert "secret" not in one.message(ValueError("secret"))
    assert one.message(ValueError("secret")) == one.message("secret")
    assert one.query("secret") == one.message("secret")


def test_the_redactor_sees_everything_that_is_kept() -> None:
    seen = []

    def redact(kind: str, text: str) -> str:
        seen.append(kind)
        return text.replace("Oslo", "***")

    capture = Capture("full", redactor=redact)
    assert capture.arguments({"city": "Oslo"}) == b'{"city":"***"}'
    assert capture.result("Oslo") == b'"***"'
    assert capture.query("to Oslo") == "to ***"
    assert capture.message(ValueError("no Oslo")) == "no ***"
    assert seen == ["arguments", "result", "query", "error"]


def test_a_redactor_that_breaks_the_json_leaves_valid_json() -> None:
    assert Capture("full", redactor=lambda kind, text: "[gone").result({"a": 1}) == b'"[gone"'


def test_where_the_redactor_fails_nothing_is_kept() -> None:
    def redact(kind: str, text: str) -> str:
        raise ValueError(text)

    capture = Capture("full", redactor=redact)
    assert (capture.arguments({"a": 1}), capture.query("q"), capture.message("e")) == (None, None, "")
    assert sum(FAILURES.values()) == 3
    FAILURES.clear()


@pytest.mark.parametrize("name", OUTLAWS)
def test_messages_of_hostile_exceptions(name: str) -> None:
    assert isinstance(error_text(OUTLAWS[name]()), str)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("plain"), "plain"),
        (KeyError("key"), "'key'"),
        (FileNotFoundError(2, "No such file"), "[Errno 2] No such file"),
        (OUTLAWS["str raises"](), ""),
        (OUTLAWS["carries a hostile value"](), ""),
    ],
)
def test_the_text_of_an_exception(error: BaseException, text: str) -> None:
    assert error_text(error) == text


def test_malformed_argument_text_is_kept_as_text() -> None:
    capture = Capture()
    assert capture.argument_text('{"a": 1') == (b'"{\\"a\\": 1"', False)
    assert capture.argument_text('{"a": 1}') == (b'{"a":1}', True)
    assert capture.argument_text("") == (b"{}", True)
    assert capture.argument_text("  ") == (b'"  "', False)
    assert capture.argument_text({"a": 1}) == (b'{"a":1}', True)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"a": NaN}', b'{"a":"NaN"}'),
        ('{"a": 1e999}', b'{"a":"Infinity"}'),
        (r'{"a": "half \ud800"}', None),
        ('{"a": ' + "9" * 30 + "}", None),
    ],
)
def test_what_pythons_reader_takes_is_well_formed(text: str, kept: bytes | None) -> None:
    """The host's own `json.loads` took it, and the tool ran."""
    found, well_formed = Capture().argument_text(text)
    assert well_formed
    assert kept is None or found == kept
    assert list(orjson.loads(found or b"")) == ["a"]


def test_fields_are_read_without_running_properties() -> None:
    class Sly:
        @property
        def id(self) -> str:
            raise RuntimeError("no")

    assert field(Sly(), "id", "nothing") == "nothing"
    assert field({"id": 1}, "id") == 1
    assert field(HOSTILE["rude dict"](), "a") == 1


def test_mode_shape_never_hashes_what_it_cut() -> None:
    capture = Capture("shape", 20, hash_key="k")
    one, two = (orjson.loads(capture.result("x" * 30 + tail) or b"") for tail in ("a", "b"))
    assert one == two == "str:31:cut"
    rows = orjson.loads(capture.result([f"row {number}" for number in range(9)]) or b"")
    assert rows[-1].startswith("… (+")
    fields = orjson.loads(capture.arguments({f"key {number}": number for number in range(9)}) or b"")
    assert fields["…"].startswith("+")


def test_hashes_come_with_an_id_of_their_key_and_never_the_key() -> None:
    one, same, other = (Capture("shape", hash_key=key).pairs for key in ("secret", "secret", "else"))
    assert one == same
    assert one != other
    assert "secret" not in one
    assert Capture("shape").pairs != Capture("shape").pairs, "without a key each process draws its own"
    assert Capture("none").pairs == ("pdoctor.content", "none", "pdoctor.hash.key", None)
    assert Capture("full").pairs == ()


def test_a_class_is_looked_at_once_and_not_kept_alive() -> None:
    class Outlaw(type):
        def __hash__(cls) -> int:
            raise AssertionError("the host's code ran")

    gc.collect()
    before = len(reading._PLACES)
    for _ in range(100):
        one = Outlaw("One", (), {})
        value = one()
        value.text = "x"
        assert field(value, "text") == field(value, "text") == "x"
        assert len(reading._PLACES) > before
        del one, value
        gc.collect()
        assert len(reading._PLACES) <= before


def test_a_dictionary_that_the_class_makes_up_is_not_asked_for_the_second_time_either() -> None:
    class MadeUp:
        @property
        def __dict__(self) -> Any:  # type: ignore[override]
            raise AssertionError("the host's code ran")

    assert [field(MadeUp(), "text", "none") for _ in range(2)] == ["none", "none"]

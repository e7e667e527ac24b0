"""What is kept of values that JSON has no form for, and of those that are too long."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import sys
import threading
import types
import uuid
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import PurePosixPath
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import attrs
import numpy
import orjson
import pydantic
import pytest

from pdoctor_trace import tables, values
from pdoctor_trace.capture import Capture
from pdoctor_trace.values import Truncated, json_text, json_writer

LIMIT = 65_536


class Color(enum.Enum):
    RED = "red"


class Rude(enum.Enum):
    """orjson ends the process on a member whose value raises."""

    ONE = 1

    @property
    def value(self) -> Any:
        raise RuntimeError("not for you")


class Level(enum.IntEnum):
    HIGH = 3


class OwnTime(datetime.tzinfo):
    """A time zone of the host, which may do anything."""

    def utcoffset(self, moment: Any) -> datetime.timedelta:
        raise RuntimeError("not for you")


MOMENT = datetime.datetime(2026, 3, 14, 15, 9, 26, tzinfo=datetime.UTC)

FORMS: list[tuple[Any, Any]] = [
    (numpy.int64(3), 3),
    (numpy.bool_(True), True),
    (numpy.float32(0.5), 0.5),
    (numpy.float64(1.5), 1.5),
    (numpy.float64("nan"), "NaN"),
    (numpy.longdouble(2), 2.0),
    (numpy.str_("text"), "text"),
    (numpy.complex128(1 + 2j), "(1+2j)"),
    (numpy.datetime64("2026-03-14"), "2026-03-14"),
    (numpy.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (numpy.array(7), 7),
    (numpy.array([1.5, float("inf")]), [1.5, "Infinity"]),
    (numpy.array(["2026-03-14"], "datetime64[ns]"), ["2026-03-14T00:00:00.000000000"]),
    (numpy.array([{1}, None], object), [[1], None]),
    (deque([1, {"a": 2}]), [1, {"a": 2}]),
    (types.MappingProxyType({"a": (1, 2)}), {"a": [1, 2]}),
    ({"b", "a"}, ["a", "b"]),
    (frozenset((2, 1)), [1, 2]),
    (types.SimpleNamespace(a={1}), {"a": [1]}),
    (Color.RED, "red"),
    ([Color.RED, {1}], ["red", [1]]),
    (Level.HIGH, 3),
    (Rude.ONE, 1),
    (MOMENT, "2026-03-14T15:09:26+00:00"),
    ([MOMENT, {1}], ["2026-03-14T15:09:26+00:00", [1]]),
    (MOMENT.replace(tzinfo=ZoneInfo("Europe/Oslo")), "2026-03-14T15:09:26+01:00"),
    ([MOMENT.replace(tzinfo=OwnTime()), {1}], ["2026-03-14T15:09:26", [1]]),
    (datetime.date(2026, 3, 14), "2026-03-14"),
    (datetime.time(15, 9), "15:09:00"),
    (datetime.time(15, 9, tzinfo=OwnTime()), "15:09:00"),
    (datetime.timedelta(hours=25), "1 day, 1:00:00"),
    (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    (decimal.Decimal("1.10"), "1.10"),
    (fractions.Fraction(1, 3), "1/3"),
    (PurePosixPath("/a/b"), "/a/b"),
    (b"abc", "<bytes of length 3>"),
    (bytearray(b"\xff" * 9), "<bytes of length 9>"),
    ({"a": float("nan"), "b": None}, {"a": "NaN", "b": None}),
    ([1, [float("-inf")]], [1, ["-Infinity"]]),
    ({"u": None}, {"u": None}),
    (None, None),
]


@pytest.mark.parametrize(("value", "form"), FORMS, ids=[f"{type(v).__name__} {f}" for v, f in FORMS])
def test_values_have_a_json_form(value: Any, form: Any) -> None:
    text = json_text(value)
    assert (orjson.loads(text), type(text)) == (form, bytes)
    assert orjson.loads(json_text({"inside": [value]})) == {"inside": [form]}


class MyArray(numpy.ndarray):
    """Somebody's own."""


@pytest.mark.parametrize("value", [Rude.ONE, {"a": Rude.ONE}, [Rude.ONE], MOMENT.replace(tzinfo=OwnTime())])
def test_nothing_of_the_hosts_runs_after_many_plain_values_either(value: Any) -> None:
    write = json_writer(LIMIT)
    for _ in range(1_000):
        write({"a": [1]})
    assert write(value)


def test_arrays_of_other_classes_are_told_by_their_type() -> None:
    assert b"MyArray" in json_text(numpy.zeros(3).view(MyArray))


# -- what is left out


@dataclasses.dataclass
class Account:
    name: str
    token: str = dataclasses.field(repr=False)


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    name: str
    token: str = pydantic.Field(repr=False)
    key: str = pydantic.Field(exclude=True)
    password: pydantic.SecretStr


@attrs.define
class Attrs:
    name: str
    token: str = attrs.field(repr=False)


class OldField:
    """As pydantic 1 declares a field."""

    def __init__(self, **said: Any) -> None:
        self.field_info = types.SimpleNamespace(**said)


class OldModel:
    __fields__: ClassVar[dict[str, OldField]] = {
        "name": OldField(),
        "token": OldField(repr=False),
        "key": OldField(exclude=True),
    }

    def __init__(self) -> None:
        self.name, self.token, self.key = "n", "SECRET", "SECRET"


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        (Account("n", "SECRET"), 1),
        (Model(name="n", token="SECRET", key="SECRET", password=pydantic.SecretStr("SECRET")), 2),
        (Attrs("n", "SECRET"), 1),
        (OldModel(), 2),
    ],
)
def test_fields_that_a_class_keeps_to_itself_are_left_out_and_marked(value: Any, hidden: int) -> None:
    text = json_text(value)
    found = json.loads(text)
    assert b"SECRET" not in text
    assert (type(text), found["name"], found["…"]) == (Truncated, "n", f"+{hidden} more")


def test_fields_that_no_class_declares_are_there() -> None:
    secret = pydantic.SecretStr("SECRET")
    more = {"further": [1]}
    found = json.loads(json_text(Model(name="n", token="t", key="k", password=secret, **more)))
    assert found["further"] == [1]


# -- what is too long


class Counted:
    """Counts what is encoded, in bytes, and how many steps of Python it takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = self.steps = 0
        real = orjson.dumps

        def dumps(*args: Any) -> bytes:
            text = real(*args)
            self.bytes += len(text)
            return text

        monkeypatch.setattr(values, "_dumps", dumps)

    def write(self, value: Any, writer: Callable[[Any], bytes]) -> bytes:
        """The text; `steps` are lines and calls."""

        def step(*_: Any) -> Any:
            self.steps += 1
            return step

        sys.settrace(step)
        try:
            return writer(value)
        finally:
            sys.settrace(None)


@cache
def rows() -> list[dict[str, Any]]:
    return [{"id": number, "name": f"row {number}", "price": 1.5, "tags": ["a"]} for number in range(20_000)]


LARGE: dict[str, Callable[[], Any]] = {
    "text": lambda: "x" * 50_000_000,
    "text in a list": lambda: {"content": [{"type": "text", "text": "y" * 50_000_000}]},
    "escapes": lambda: "\n\x00é" * 1_000_000,
    "numbers": lambda: list(range(2_000_000)),
    "numbers in it": lambda: {"values": list(range(2_000_000))},
    "table": rows,
    "table of tuples": lambda: [tuple(row.values()) for row in rows()],
    "table inside": lambda: {"result": {"rows": rows()}},
    "dictionary": lambda: {f"key {number}": number for number in range(200_000)},
    "set": lambda: set(range(200_000)),
    "deque": lambda: deque(range(200_000)),
    "array": lambda: numpy.arange(2_000_000),
    "matrix": lambda: numpy.ones((20_000, 10)),
    "wide matrix": lambda: numpy.ones((2, 1_000_000)),
    "bytes": lambda: {"data": b"x" * 50_000_000, "more": "z" * 100_000},
    "many small lists": lambda: [[] for _ in range(500_000)],
    "nested": lambda: [[[[list(range(20_000))] * 3] * 3] * 3] * 3,
}


@pytest.mark.parametrize("name", LARGE)
def test_encoding_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    counted = Counted(monkeypatch)
    text = counted.write(LARGE[name](), json_writer(LIMIT))
    assert type(text) is Truncated
    assert "…" in str(json.loads(text))
    assert LIMIT / 8 < len(text) < LIMIT * 1.1
    assert counted.bytes < 8 * LIMIT
    assert counted.steps < 300_000


@pytest.mark.parametrize("name", ["text", "numbers", "numbers in it", "table", "dictionary"])
def test_also_after_many_short_values(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    counted, write = Counted(monkeypatch), json_writer(LIMIT)
    for _ in range(1_000):
        write({"a": 1, "b": ["short"]})
    before = counted.bytes
    assert type(counted.write(LARGE[name](), write)) is Truncated
    assert counted.bytes - before < 8 * LIMIT
    before = counted.bytes
    counted.write(LARGE["table inside"](), write)
    assert counted.bytes - before < 8 * LIMIT, "nobody is trusted who was just too long"


@pytest.mark.parametrize(
    "value",
    [
        list(range(9_000)),
        [{"id": number, "none": None, "at": 1.5} for number in range(1_500)],
        {str(number): [number] for number in range(3_000)},
        "x" * 65_000,
        [[1, 2, 3]] * 5_000,
        {"rows": [("a", 1)] * 5_000},
    ],
)
def test_what_fits_is_kept_whole(value: Any) -> None:
    """However many items it has."""
    write = json_writer(LIMIT)
    for _ in range(4):
        text = write(value)
        assert type(text) is bytes
    assert json.loads(text) == json.loads(json.dumps(value))


def test_what_is_left_of_what_was_cut_is_the_beginning() -> None:
    left = json.loads(json_text(rows()))
    whole = len(left) - 2
    assert left[:whole] == rows()[:whole]
    assert left[whole] == {"id": whole, "…": "+3 more"}
    assert left[-1] == f"… (+{len(rows()) - len(left) + 1} more)"
    text = json.loads(json_text("é\n" * 100_000))
    kept, _, rest = text.partition("…")
    assert rest == f" (+{200_000 - len(kept)} characters)"
    assert set(kept) == {"é", "\n"}
    found = json.loads(json_text({"first": 1, "long": "x" * 100_000, "last": [1]}))
    assert (found["first"], found["…"]) == (1, "+1 more")


def test_mixed_values_are_taken_one_by_one() -> None:
    mixed = [{"id": numpy.int64(number), 5: {number}, "x": [None, float("nan")]} for number in range(100)]
    assert json.loads(json_text(mixed)) == [
        {"id": number, "5": [number], "x": [None, "NaN"]} for number in range(100)
    ]


def test_what_another_thread_changes_meanwhile_does_no_harm() -> None:
    value: dict[Any, Any] = {0: {1}}
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            value[f"key {number % 5_000}"] = number
            value.pop(f"key {(number * 7) % 5_000}", None)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(30):
            json.loads(json_text(value))
            json.loads(json_text({"inside": value, "mark": {1}}))
    finally:
        stop.set()
        thread.join()


def test_shapes_of_tables_are_kept_too() -> None:
    capture = Capture("shape", hash_key="k")
    text = capture.result({"rows": [(1, "a"), (1, "b")], "n": numpy.int64(1)})
    rows = orjson.loads(text or b"").values()
    assert b'"a"' not in (text or b"")
    first = next(iter(rows))
    assert first[0][0] == first[1][0]
    assert first[0][1] != first[1][1]


def test_a_row_that_is_too_long_is_not_turned_into_objects() -> None:
    part = tables.unpacked(numpy.ones((2, 10_000)), numpy.ndarray, 100)
    assert (type(part.items[0]), len(part.items), part.total) == (numpy.ndarray, 1, 2)

"""Values and exceptions that break careless tracers; each entry makes a fresh one."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import threading
from collections import OrderedDict, UserDict, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import pydantic


class RaisesInStr:
    def __str__(self) -> str:
        raise RuntimeError("str is not for you")

    __repr__ = __str__


class ExitsInRepr:
    def __str__(self) -> str:
        return "calm"

    def __repr__(self) -> str:
        raise SystemExit(3)


class LiesAboutItsClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")

    def __str__(self) -> str:
        return "liar"


class NoAttributes:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")

    def __str__(self) -> str:
        return "nothing"


class DictPropertyRaises:
    @property
    def __dict__(self) -> Any:
        raise RuntimeError("no dict")

    def __str__(self) -> str:
        return "no dict"


class RudeDict(dict):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("no iteration")

    def items(self) -> Any:
        raise RuntimeError("no items")

    def __len__(self) -> int:
        raise RuntimeError("no len")

    def __str__(self) -> str:
        return "rude dict"

    __repr__ = __str__


class RudeStr(str):
    __slots__ = ()

    def __len__(self) -> int:
        raise RuntimeError("no len")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no eq")

    __hash__ = str.__hash__


TOUCHED: list[str] = []
"""What was done to a `Touchy` value, in order: it must be the same with and without the tracer."""


class Touchy:
    """A lazy object: any look at it may cost a query, so each is noted."""

    def __bool__(self) -> bool:
        TOUCHED.append("bool")
        return True

    def __len__(self) -> int:
        TOUCHED.append("len")
        return 1

    def __iter__(self) -> Iterator[Any]:
        TOUCHED.append("iter")
        return iter((1,))

    def __eq__(self, other: object) -> bool:
        TOUCHED.append("eq")
        return self is other

    def __hash__(self) -> int:
        TOUCHED.append("hash")
        return 1

    def __getattr__(self, name: str) -> Any:
        TOUCHED.append(name)
        raise AttributeError(name)

    def __str__(self) -> str:
        TOUCHED.append("str")
        return "touchy"

    __repr__ = __str__


def _refusing(*methods: str) -> type:
    """A class whose given special methods raise."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("not allowed")

    own: dict[str, Any] = {"__str__": lambda self: "rude", "__repr__": lambda self: "rude"}
    return type("Refusing", (), {**own, **dict.fromkeys(methods, refuse)})


Truthless = _refusing("__bool__", "__len__")
Incomparable = _refusing("__eq__", "__hash__", "__lt__")
Unreachable = _refusing("__getattr__")
Uncopyable = _refusing("__deepcopy__", "__copy__", "__reduce_ex__", "__reduce__", "__getstate__")


class Color(enum.Enum):
    RED = (object(),)


@dataclasses.dataclass
class Point:
    x: int
    y: Any


@dataclasses.dataclass(slots=True)
class Slotted:
    x: int
    y: Any


class Model(pydantic.BaseModel):
    name: str
    inner: dict[str, Any]


Pair = namedtuple("Pair", "left right")


def _circular() -> Any:
    value: dict[str, Any] = {"name": "loop"}
    value["self"] = [value]
    return value


def _deep() -> Any:
    value: Any = "bottom"
    for _ in range(10_000):
        value = [value]
    return value


HOSTILE: dict[str, Callable[[], Any]] = {
    "circular": _circular,
    "str raises": RaisesInStr,
    "repr exits": ExitsInRepr,
    "lies about its class": LiesAboutItsClass,
    "no attributes": NoAttributes,
    "dict property raises": DictPropertyRaises,
    "rude dict": lambda: RudeDict(a=1),
    "rude str": lambda: RudeStr("rude"),
    "tuple keys": lambda: {(1, 2): "three", None: 1, 2.5: "x", frozenset((1,)): 2},
    "2 MB": lambda: "x" * 2_000_000,
    "wide": lambda: [{"k": "y" * 50} for _ in range(20_000)],
    "generator": lambda: (n for n in range(3)),
    "lock": threading.Lock,
    "not a number": lambda: [float("nan"), float("inf"), -float("inf")],
    "bytes": lambda: b"\xff\xfe plain",
    "deep": _deep,
    "huge int": lambda: 10**5_000,
    "big int": lambda: 2**70,
    "lone surrogate": lambda: "half a pair \ud800",
    "surrogate key": lambda: {"\udfff": "\ud800"},
    "enum": lambda: Color.RED,
    "dataclass": lambda: Point(1, RaisesInStr()),
    "slotted dataclass": lambda: Slotted(1, {"a": {1}}),
    "pydantic model": lambda: Model(name="m", inner={"x": [1, {"y": None}]}),
    "namedtuple": lambda: Pair(1, (2, 3)),
    "ordered dict": lambda: OrderedDict(a=1),
    "user dict": lambda: UserDict(a=1),
    "set": lambda: {3, 1, 2},
    "none": lambda: None,
    "exception": lambda: ValueError("as a value"),
    "class": lambda: int,
    "memoryview": lambda: memoryview(b"abc"),
    "lazy": Touchy,
    "bool and len raise": Truthless,
    "eq and hash raise": Incomparable,
    "getattr raises": Unreachable,
    "copy and pickle raise": Uncopyable,
    "a failing copy inside": lambda: {"inner": [Uncopyable()]},
}
"""Name -> maker of a value."""


ARGUMENTS: dict[str, str] = {
    "surrogate": r'{"text": "half a pair \ud800"}',
    "nul and friends": r'{"text": "\u0000\u2028\u202e\ufeff"}',
    "not a number": '{"text": NaN}',
    "infinity": '{"text": -Infinity}',
    "too large a number": '{"text": 1e999}',
    "huge int": '{"text": ' + "9" * 5_000 + "}",
    "big int": '{"text": 1180591620717411303424}',
    "2 MB": '{"text": "' + "x" * 2_000_000 + '"}',
    "deep": '{"text": ' + "[" * 5_000 + "]" * 5_000 + "}",
    "a list": '["text"]',
    "a text": '"text"',
    "null": "null",
    "nothing": "",
    "blank": "  ",
    "twice the same key": '{"text": "one", "text": "two"}',
    "an empty key": '{"": 1, "text": "x"}',
    "a key too many": '{"text": "x", "__class__": {"self": "__init__"}}',
    "a self": '{"text": "x", "self": 1, "args": [], "kwargs": {}}',
    "json in text": r'{"text": "{\"a\": [1, \"%s {0} $x\"]}"}',
    "two objects": '{"text": "x"}{"text": "y"}',
    "python": "{'text': None}",
}
"""Name -> text of a call's arguments, as a model may write them; the tool wants one text."""


class BadException(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


class CarriesHostile(Exception):
    pass


OUTLAWS: dict[str, Callable[[], BaseException]] = {
    "KeyboardInterrupt": lambda: KeyboardInterrupt("stop"),
    "SystemExit": lambda: SystemExit(4),
    "GeneratorExit": GeneratorExit,
    "CancelledError": lambda: asyncio.CancelledError("enough"),
    "str raises": BadException,
    "carries a hostile value": lambda: CarriesHostile(RaisesInStr()),
    "StopIteration": lambda: StopIteration(1),
    "surrogate": lambda: ValueError("\ud800"),
}
"""Name -> maker of an exception."""

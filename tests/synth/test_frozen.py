"""A quick frozen dataclass is the dataclass, but for the time that making one takes."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from synth.frozen import quick


@dataclass(frozen=True, slots=True)
class Plain:
    a: int
    b: list[int] = field(default_factory=list)
    c: str = "c"
    d: int = field(default=4, kw_only=True)


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    a: int
    b: list[int] = field(default_factory=list)
    c: str = "c"
    d: int = field(default=4, kw_only=True)


@quick
@dataclass(frozen=True, slots=True)
class Checked(Quick):
    e: int = 5

    def __post_init__(self) -> None:
        if self.a + self.e < 0:
            raise ValueError("too small")


def test_it_is_made_like_the_plain_one() -> None:
    for said in ((1,), (1, [2]), (1, [2], "x")):
        plain, made = Plain(*said), Quick(*said)  # type: ignore[arg-type]
        assert repr(made) == repr(plain).replace("Plain", "Quick")
    assert Quick(1, d=5).d == 5
    assert Quick(c="z", a=1) == Quick(1, [], "z") != Quick(2, [], "z")
    assert replace(Quick(1), c="y", d=6) == Quick(1, c="y", d=6)
    assert str(inspect.signature(Quick)) == str(inspect.signature(Plain))
    assert Quick.__init__.__annotations__ == Plain.__init__.__annotations__


def test_each_has_a_default_of_its_own() -> None:
    first, second = Quick(1), Quick(1)
    first.b.append(7)
    assert second.b == []


def test_it_stays_frozen_and_can_be_copied() -> None:
    made = Quick(1, [2])
    with pytest.raises(FrozenInstanceError):
        made.a = 2  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        Quick()  # type: ignore[call-arg]


def test_fields_of_a_base_class_and_a_check_at_the_end() -> None:
    assert (made := Checked(1, e=2)).e + made.a + made.d == 7
    with pytest.raises(ValueError, match="too small"):
        Checked(-9)


def test_another_class_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Loose\.a is no slot"):

        @quick
        @dataclass(frozen=True)
        class Loose:
            a: int

    with pytest.raises(TypeError, match=r"Late\.a is no slot"):

        @quick
        @dataclass(frozen=True, slots=True)
        class Late:
            a: int = field(default=1, init=False)

"""Z3's answers, kept by the shape of the question: runs with the same calls in the same order ask the same.

A formula that only compares instants says the same of any other instants in the same order, ties
included. Its question is put to Z3 with the places of the instants in their order for the instants
themselves, and the answer is kept; a formula that counts minutes is asked each time as it is.
"""

from __future__ import annotations

import marshal
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

from synth.formal.constraints import Fixed

KEPT = 8192
"""Answers that are kept, some 150 bytes each; the oldest go."""


class NotOfOrder(Exception):
    """A formula asks for more than the order of instants."""


class _Instant:
    """The `place`-th start or end that a question speaks of; it can only be compared."""

    __slots__ = ("place",)
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init__(self, place: int) -> None:
        self.place = place

    def __le__(self, other: Any) -> Any:
        return self._beside("<=", other)

    def __lt__(self, other: Any) -> Any:
        return self._beside("<", other)

    def __ge__(self, other: Any) -> Any:
        return self._beside(">=", other)

    def __gt__(self, other: Any) -> Any:
        return self._beside(">", other)

    def __eq__(self, other: object) -> Any:
        return self._beside("==", other)

    def __ne__(self, other: object) -> Any:
        return self._beside("!=", other)

    def __bool__(self) -> bool:
        raise NotOfOrder

    def _beside(self, sign: str, other: object) -> tuple[str, int, int]:
        if not isinstance(other, _Instant):
            raise NotOfOrder
        return (sign, self.place, other.place)


class _Outline:
    """The world in which a formula is its own text: signs, and the instants by number of first mention."""

    def __init__(self) -> None:
        self.starts: dict[Any, _Instant] = {}
        self.ends: dict[Any, _Instant] = {}
        self._count = 0

    def start(self, who: Any) -> _Instant:
        return self._known(self.starts, who)

    def end(self, who: Any) -> _Instant:
        return self._known(self.ends, who)

    def _known(self, edges: dict[Any, _Instant], who: Any) -> _Instant:
        found = edges.get(who)
        if found is None:
            found = edges[who] = _Instant(self._count)
            self._count += 1
        return found

    def until(self, time: int) -> Any:
        raise NotOfOrder

    since = until

    def later(self, instant: Any, by: int) -> Any:
        raise NotOfOrder

    def all(self, parts: Iterable[Any]) -> Any:
        return ("all", *parts)

    def any(self, parts: Iterable[Any]) -> Any:
        return ("any", *parts)

    def no(self, part: Any) -> Any:
        return ("no", part)


@dataclass(frozen=True, slots=True)
class Shape:
    """A question that is about the order of instants alone."""

    key: bytes
    """The same for every question that differs in nothing else than in who and when."""
    times: Fixed
    """The places of the instants in their order, for the instants."""


def shape_of(claims: Sequence[Any], times: Fixed) -> Shape | None:
    """What is asked by claims at these instants; None where they speak of more than their order."""
    outline = _Outline()
    try:
        said = tuple(claim.formula(outline) for claim in claims)
    except (NotOfOrder, TypeError):
        return None
    starts = {who: times.starts[who] for who in outline.starts}
    ends = {who: times.ends[who] for who in outline.ends}
    place = {at: rank for rank, at in enumerate(sorted({*starts.values(), *ends.values()}))}
    ordered = Fixed({w: place[at] for w, at in starts.items()}, {w: place[at] for w, at in ends.items()})
    ranks = [0] * (len(starts) + len(ends))
    for instants, known in ((outline.starts, ordered.starts), (outline.ends, ordered.ends)):
        for who, instant in instants.items():
            ranks[instant.place] = known[who]
    key = blake2b(marshal.dumps((said, tuple(ranks)), 2), digest_size=16).digest()
    return Shape(key, ordered)


class Proofs:
    """Which claims Z3 found false, for each shape of a question that was put to it."""

    def __init__(self, keep: int = KEPT) -> None:
        self._kept: dict[bytes, tuple[int, ...]] = {}
        self._keep = keep
        self._lock = threading.Lock()

    def answer(self, shape: Shape, ask: Callable[[Fixed], Sequence[int] | None]) -> Sequence[int] | None:
        """Positions of the false claims, from `ask` where they are not known; None where it gave up."""
        with self._lock:
            found = self._kept.get(shape.key)
        if found is not None:
            return found
        answer = ask(shape.times)
        if answer is not None:
            with self._lock:
                if len(self._kept) >= self._keep:
                    del self._kept[next(iter(self._kept))]
                self._kept[shape.key] = tuple(answer)
        return answer

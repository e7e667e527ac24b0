"""Is a text similar to one of thousands of earlier ones? Exact, without comparing each pair.

The similarity of texts a and b is their insert/delete ratio, 2 * LCS(a, b) / (len(a) + len(b)), where LCS is
the length of a longest common subsequence. Earlier texts are looked at together, as bits of large integers:

1. Similar texts have characters in common, and mostly neighbours too (`_Shared`). Counting them against all
   earlier texts at once leaves few candidates.
2. Of the candidates the LCS is computed, several in one integer, each in a lane of its own: Hyyrö,
   "Bit-parallel LCS-length computation revisited" (AWOCA 2004).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

_FEW = 16
"""Candidates that are compared at once, without asking for their neighbours."""
_TOGETHER = 256
"""Candidates in one integer."""
_KEPT_BYTES = 64 << 20
"""Of lanes kept for the next question."""
_FOLD = 127
"""Characters are told apart by seven bits in the first step: more of them seem equal there, never fewer."""


class Nearby:
    """Distinct texts, and whether another one is at least `threshold` similar to any of them."""

    def __init__(self, threshold: float) -> None:
        """`threshold` is above 0 and at most 1."""
        self._threshold = threshold
        self._texts: list[str] = []
        self._shared = [_Shared(1, threshold)]
        if 3 * threshold > 2:
            self._shared.append(_Shared(2, threshold))
        self._needed: dict[int, int] = {}
        self._lanes: dict[int, dict[str, bytes]] = {}
        self._lane_bytes = 0

    def add(self, text: str) -> None:
        """Take in one more text."""
        self._texts.append(text)
        for shared in self._shared:
            shared.add(text)

    def has_similar(self, text: str) -> bool:
        """Is any text that was taken in similar to this one?"""
        by_width: dict[int, list[int]] = {}
        for candidate in self._candidates(text):
            waiting = by_width.setdefault(_width(self._texts[candidate]), [])
            waiting.append(candidate)
            if len(waiting) == _TOGETHER:
                if self._any_similar(text, waiting):
                    return True
                waiting.clear()
        return any(waiting and self._any_similar(text, waiting) for waiting in by_width.values())

    def _candidates(self, text: str) -> Iterator[int]:
        """Positions of the texts that can be similar, the latest first."""
        found = (1 << len(self._texts)) - 1
        for shared in self._shared:
            if found.bit_count() > _FEW:
                found &= shared.enough(text)
        bits_of = f"{found:b}"  # the latest text is the first digit
        last = len(bits_of) - 1
        at = bits_of.find("1")
        while at >= 0:
            yield last - at
            at = bits_of.find("1", at + 1)

    def _any_similar(self, text: str, candidates: Sequence[int]) -> bool:
        """Is one of these texts, of one width, similar?"""
        if len(candidates) < 3:
            return any(self._is_similar(text, self._texts[candidate]) for candidate in candidates)
        width = _width(self._texts[candidates[0]])
        lanes = [self._lanes_of(candidate) for candidate in candidates]
        full = _joined([(1 << len(self._texts[candidate])) - 1 for candidate in candidates], width)
        nothing = bytes(width)
        of_character = {
            c: int.from_bytes(b"".join([lane.get(c, nothing) for lane in lanes]), "little") for c in set(text)
        }
        row = full
        for c in text:
            common = row & of_character[c]
            row = (row + common | row ^ common) & full
        counted = (full ^ row).to_bytes(width * len(candidates), "little")
        return any(
            int.from_bytes(counted[at * width : (at + 1) * width], "little").bit_count()
            >= self._need(len(text) + len(self._texts[candidate]))
            for at, candidate in enumerate(candidates)
        )

    def _is_similar(self, a: str, b: str) -> bool:
        return common_subsequence(a, b) >= self._need(len(a) + len(b))

    def _need(self, total: int) -> int:
        """The least LCS of two similar texts of `total` characters."""
        if total not in self._needed:
            self._needed[total] = least_common(total, self._threshold)
        return self._needed[total]

    def _lanes_of(self, index: int) -> dict[str, bytes]:
        """Character -> where it stands in a text, as bits in a lane."""
        if index not in self._lanes:
            text = self._texts[index]
            width = _width(text)
            if self._lane_bytes > _KEPT_BYTES:
                self._lanes.clear()
                self._lane_bytes = 0
            self._lanes[index] = {c: at.to_bytes(width, "little") for c, at in _places(text).items()}
            self._lane_bytes += (width + 100) * len(self._lanes[index])
        return self._lanes[index]


class _Shared:
    """Upper bounds for what a text has in common with each of many others, counted for all of them at once.

    Texts of lengths a and b with an LCS of L have at least L characters in common. For neighbours (`size`
    2): a - L characters of the one are left out, which breaks up at most two of its a - 1 pairs each, and
    b - L of the other stand in between, which breaks up at most one each; so at least 3L - a - b - 1 pairs
    are common, where L is at least threshold * (a + b) / 2.
    Bit i of `_having[what, k]` says that text i has `what` more than k times.
    """

    def __init__(self, size: int, threshold: float) -> None:
        self._size = size
        self._share = threshold / 2 if size == 1 else 1.5 * threshold - 1
        """At least `_share * (a + b)` things are common, less one for pairs."""
        self._texts = self._longest = 0
        self._having: dict[tuple[int, int], int] = {}
        self._halves: list[int] = []
        """Plane j: bit j of floor(share * length) of every text."""

    def add(self, text: str) -> None:
        """Take in one more text."""
        bit = 1 << self._texts
        self._texts += 1
        self._longest = max(self._longest, len(text))
        for key in self._occurrences(text):
            self._having[key] = self._having.get(key, 0) | bit
        half = math.floor(self._share * len(text))
        for plane in range(half.bit_length()):
            if plane == len(self._halves):
                self._halves.append(0)
            if half >> plane & 1:
                self._halves[plane] |= bit

    def enough(self, text: str) -> int:
        """Bit i: text i has enough in common with this one.

        Wanted: common - half >= own, where half and own are the shares of the two lengths, rounded so that
        nothing is lost. In sums of bits: common + ~half + constant reaches 2 ** top.
        """
        everyone = (1 << self._texts) - 1
        own = math.ceil(self._share * len(text) - 1e-6) - (self._size - 1)
        bits = len(self._halves)
        top = (max(len(text), self._longest) + (2 << bits)).bit_length()
        constant = (1 << top) - own - (1 << bits) + 1
        levels: list[list[int]] = [[] for _ in range(top + 2)]
        levels[0] = [self._having[key] for key in self._occurrences(text) if key in self._having]
        for plane, half in enumerate(self._halves):
            levels[plane].append(everyone ^ half)
        for plane in range(top + 2):
            if constant >> plane & 1:
                levels[plane].append(everyone)
        return _top_bits(levels, top)

    def _occurrences(self, text: str) -> list[tuple[int, int]]:
        """(what, how many of it came before) for each character or pair of neighbours."""
        codes = [ord(c) & _FOLD for c in text]
        if self._size == 2:
            codes = [a << 7 | b for a, b in itertools.pairwise(codes)]
        return [(what, k) for what, count in Counter(codes).items() for k in range(count)]


def common_subsequence(a: str, b: str) -> int:
    """Length of a longest common subsequence, in characters."""
    places = _places(a)
    row = full = (1 << len(a)) - 1
    for c in b:
        if c in places:
            common = row & places[c]
            row = (row + common | row ^ common) & full
    return (full ^ row).bit_count()


def ratio(common: int, total: int) -> float:
    """Similarity of two texts of `total` characters, with an LCS of `common`; two empty ones are equal."""
    return 2 * common / total if total else 1.0


def least_common(total: int, threshold: float) -> int:
    """The smallest LCS whose ratio reaches the threshold."""
    least = max(0, math.ceil(threshold * total / 2) - 1)
    while ratio(least, total) < threshold:
        least += 1
    return least


def _places(text: str) -> dict[str, int]:
    places: dict[str, int] = {}
    for at, c in enumerate(text):
        places[c] = places.get(c, 0) | 1 << at
    return places


def _width(text: str) -> int:
    """Bytes of a text's lane: a bit for each character, and at least one for the carry."""
    return len(text) // 8 + 1


def _joined(values: Sequence[int], width: int) -> int:
    return int.from_bytes(b"".join([value.to_bytes(width, "little") for value in values]), "little")


def _top_bits(levels: list[list[int]], top: int) -> int:
    """Bit `top` of the sums, for each position; `levels[j]` are summands of weight 2 ** j."""
    for plane in range(top):
        level, above = levels[plane], levels[plane + 1]
        while len(level) > 2:
            a, b, c = level.pop(), level.pop(), level.pop()
            half = a ^ b
            level.append(half ^ c)
            above.append(a & b | half & c)
        if len(level) == 2:
            above.append(level[0] & level[1])
    found = 0
    for one in levels[top]:
        found ^= one
    return found

"""Random top-down expansion of the grammar (paper, Fig. 4).

Only `random()` of the generator is used: its sequence is the same on every machine and version.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from synth.language.grammar import (
    PHRASE_FORMS,
    RELATIVE_FORMS,
    Form,
    Moment,
    Names,
    Relative,
    Sentence,
    SubSentence,
    Target,
)
from synth.language.words import Relation

T = TypeVar("T")

_FORMS = tuple(Form)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Weights and sizes of the random expansion."""

    relative: float = 0.4
    """Chance that a list gets a relative clause."""
    depth: int = 1
    """How deep relative clauses nest."""
    longer_list: float = 0.3
    """Chance that a list of one grows; a list of two does so with the square of it, and so on."""
    list_length: int = 3
    join: float = 0.35
    """Chance that a sentence grows by one more sub-sentence."""
    parts: int = 2
    """Most sub-sentences in a sentence."""
    clock: float = 0.45
    """Timed mode: chance that an object is a clock time."""
    forms: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0)
    """Weights of the five forms, in the order of `grammar.Form`."""


class Expansion:
    """Random top-down expansion of the grammar; an action stands at most once in a sub-sentence."""

    __slots__ = ("forms", "ids", "mentioned", "moments", "pool", "random", "sizes", "used")

    def __init__(
        self, rng: Random, ids: Sequence[str], sizes: Sizes, horizon: tuple[int, int] | None = None
    ) -> None:
        self.random = rng.random
        self.ids = list(ids)
        self.sizes = sizes
        self.forms = _cumulative(sizes.forms)
        self.moments = _moments(horizon) if horizon else range(0)
        self.pool = self.ids[:]
        self.used = 0
        self.mentioned: list[str] = []
        """The actions of the last sentence."""

    def sentence(self) -> Sentence:
        """A new candidate."""
        random, sizes = self.random, self.sizes
        self.mentioned = []
        parts = [self.part()]
        while len(parts) < sizes.parts and random() < sizes.join:
            parts.append(self.part())
        return Sentence(tuple(parts))

    def part(self) -> SubSentence:
        self.used = 0
        form = self._form() if len(self.ids) > 1 else PHRASE_FORMS[int(self.random() * 3)]
        relation = self._relation()
        clock_allowed = bool(self.moments) and form in PHRASE_FORMS
        at_clock = clock_allowed and (len(self.ids) == 1 or self.random() < self.sizes.clock)
        alone = form is Form.FRONTED and not at_clock
        subject = self._names(0 if at_clock else 1, 0, 1 if alone else self.sizes.list_length)
        target: Target = self._moment() if at_clock else self._names(0, 0)
        self.mentioned += self.pool[: self.used]
        return SubSentence(form, relation, subject, target)

    def _names(self, reserve: int, depth: int, most: int | None = None) -> Names:
        """A list that leaves at least `reserve` actions for the rest of the sub-sentence.

        `most` is 1 where another list stands right before it: `After A, B and C` reads like one list.
        """
        random, sizes = self.random, self.sizes
        spare = len(self.ids) - self.used - reserve
        length = 1
        most = sizes.list_length if most is None else most
        while length < most and length < spare and random() < sizes.longer_list**length:
            length += 1
        actions = self._take(length)
        if depth < sizes.depth and random() < sizes.relative and (spare > length or self.moments):
            return Names(actions, self._relative(reserve, depth + 1, spare > length))
        return Names(actions)

    def _relative(self, reserve: int, depth: int, has_names: bool) -> Relative:
        form = RELATIVE_FORMS[int(self.random() * 2)]
        relation = self._relation()
        at_clock = not has_names or (bool(self.moments) and self.random() < self.sizes.clock)
        return Relative(form, relation, self._moment() if at_clock else self._names(reserve, depth))

    def _take(self, count: int) -> tuple[str, ...]:
        """That many actions that this sub-sentence has not named yet."""
        pool, random, first = self.pool, self.random, self.used
        size, last = len(pool), first + count
        for used in range(first, last):
            other = used + int(random() * (size - used))
            pool[used], pool[other] = pool[other], pool[used]
        self.used = last
        return tuple(pool[first:last])

    def _moment(self) -> Moment:
        return Moment(self.moments[int(self.random() * len(self.moments))])

    def _form(self) -> Form:
        return _FORMS[bisect(self.forms, self.random() * self.forms[-1])]

    def _relation(self) -> Relation:
        return Relation.PRECEDES if self.random() < 0.5 else Relation.SUCCEEDS


# ---------------------------------------------------------------- small draws


def pick(rng: Random, options: Sequence[T]) -> T:
    """One of them."""
    return options[int(rng.random() * len(options))]


def between(rng: Random, low: int, high: int) -> int:
    """An integer, both bounds included."""
    return low + int(rng.random() * (high - low + 1))


def sample(rng: Random, population: int, count: int) -> list[int]:
    """`count` different integers below `population`, in random order."""
    positions = list(range(population))
    for index in range(count):
        other = index + int(rng.random() * (population - index))
        positions[index], positions[other] = positions[other], positions[index]
    return positions[:count]


def _cumulative(weights: Sequence[float]) -> list[float]:
    total = 0.0
    return [total := total + weight for weight in weights]


def _moments(horizon: tuple[int, int]) -> range:
    """Clock times that sentences name: every half hour inside the day."""
    begin, end = horizon
    return range(begin + 30 - begin % 30, end, 30)

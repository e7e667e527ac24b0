"""How far several raters agree, and how far scores go together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from synth.errors import BadInput

Ratings = Mapping[Hashable, Mapping[Hashable, Hashable]]
"""Item -> rater -> what that rater said of it."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of items that at least two raters rated. None where there are none, or where it is not defined."""

    items: int
    raters: int
    unanimous: float | None
    """Share of items of which all raters said the same."""
    pairwise: float | None
    """Share of pairs of ratings of one item that are the same."""
    cohens_kappa: float | None
    """Pairwise agreement beyond chance, the mean over pairs of raters."""
    fleiss_kappa: float | None
    """The same over all raters; None where items have different numbers of ratings."""
    krippendorffs_alpha: float | None
    """The same with missing ratings (nominal)."""


def agreement(ratings: Ratings) -> Agreement:
    """1 = all say the same; for the last three 0 = no more than by chance."""
    rated = {item: given for item, given in ratings.items() if len(given) > 1}
    raters = sorted({rater for given in rated.values() for rater in given}, key=str)
    if not rated:
        return Agreement(0, 0, None, None, None, None, None)
    counts = [Counter(given.values()) for given in rated.values()]
    same, pairs = (
        sum(size * (size - 1) for one in counts for size in of(one))
        for of in (lambda one: one.values(), lambda one: [one.total()])
    )
    return Agreement(
        len(rated), len(raters), sum(len(one) == 1 for one in counts) / len(rated), same / pairs,
        _mean_kappa(rated, raters), _fleiss(counts), _alpha(counts),
    )  # fmt: skip


def ratings_from_json(lines: Iterable[Any]) -> dict[Hashable, dict[Hashable, Hashable]]:
    """From objects `{"item", "rater", "rating"}`. BadInput where one is not that, or rates an item twice."""
    found: dict[Hashable, dict[Hashable, Hashable]] = {}
    for said in lines:
        if not isinstance(said, Mapping) or not {"item", "rater", "rating"} <= said.keys():
            raise BadInput('a rating is an object with "item", "rater" and "rating"')
        item, rater, rating = (str(said[name]) for name in ("item", "rater", "rating"))
        if rater in found.setdefault(item, {}):
            raise BadInput(f"{rater} rates {item} twice", field="rater")
        found[item][rater] = rating
    return found


def pearson(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Correlation of two columns; None where one of them does not vary."""
    size = len(a)
    if size < 2:
        return None
    mean_a, mean_b = sum(a) / size, sum(b) / size
    both = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    spread = math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))
    return both / spread if spread > 1e-12 else None


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The same of ranks; equal values share their mean rank."""
    return pearson(_ranks(a), _ranks(b))


def _ranks(values: Sequence[float]) -> list[float]:
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [sum(places[value]) / len(places[value]) for value in values]


def _mean_kappa(rated: Ratings, raters: Sequence[Hashable]) -> float | None:
    kappas = [
        _kappa([(given[one], given[other]) for given in rated.values() if one in given and other in given])
        for one, other in combinations(raters, 2)
    ]
    known = [kappa for kappa in kappas if kappa is not None]
    return sum(known) / len(known) if known else None


def _kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    if not pairs:
        return None
    size = len(pairs)
    here, there = (Counter(side) for side in zip(*pairs, strict=True))
    chance = sum(here[one] * there[one] for one in here) / size**2
    return _beyond(sum(one == other for one, other in pairs) / size, chance)


def _fleiss(counts: Sequence[Counter[Hashable]]) -> float | None:
    sizes = {one.total() for one in counts}
    if len(sizes) > 1:
        return None
    (size,) = sizes
    seen = sum(n * (n - 1) for one in counts for n in one.values()) / (len(counts) * size * (size - 1))
    every = sum(counts, Counter[Hashable]())
    return _beyond(seen, sum((n / every.total()) ** 2 for n in every.values()))


def _alpha(counts: Sequence[Counter[Hashable]]) -> float | None:
    every = sum(counts, Counter[Hashable]())
    total = every.total()
    seen = sum(n * (n - 1) / (one.total() - 1) for one in counts for n in one.values()) / total
    return _beyond(seen, sum(n * (n - 1) for n in every.values()) / (total * (total - 1)))


def _beyond(seen: float, chance: float) -> float | None:
    """Agreement beyond chance; None where everybody always says the same, so that chance explains all."""
    return None if math.isclose(chance, 1) else (seen - chance) / (1 - chance)

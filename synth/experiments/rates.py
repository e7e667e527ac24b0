"""Small statistics: intervals of a rate, and whether two rates differ."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, sqrt

Z95 = 1.959964
"""Standard deviations of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95 % Wilson interval."""

    hits: int
    trials: int

    @property
    def value(self) -> float | None:
        """None where nothing was tried."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float]:
        """(low, high); (0, 1) where nothing was tried."""
        return wilson(self.hits / self.trials, self.trials) if self.trials else (0.0, 1.0)


def wilson(p: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a mean of n shares between 0 and 1 (Wilson; wider than needed for shares)."""
    z2 = Z95**2
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def sign_test(better: int, worse: int) -> float:
    """Two-sided p-value that so uneven a split of pairs that changed is chance (exact McNemar test)."""
    changed = better + worse
    if not changed:
        return 1.0
    ways = tail = 1
    for k in range(min(better, worse)):
        ways = ways * (changed - k) // (k + 1)
        tail += ways
    return float(min(1.0, 2 * tail / (1 << changed)))


def fisher_test(one: Rate, other: Rate) -> float:
    """Two-sided p-value that two rates of separate trials differ by chance (Fisher's exact test)."""
    if not one.trials or not other.trials:
        return 1.0
    chances = _chances(one, other)
    least = chances.get(one.hits, 0.0) * (1 + ROUNDING)
    return min(1.0, fsum(chance for chance in chances.values() if chance <= least) / fsum(chances.values()))


def fisher_greater(one: Rate, other: Rate) -> float:
    """One-sided p-value of Fisher's exact test that the first rate is higher by chance; 1 without trials."""
    chances = _chances(one, other)
    return fsum(chance for hits, chance in chances.items() if hits >= one.hits) / fsum(chances.values())


ROUNDING = 1e-7
"""Chances that are equal come out unequal by less than that."""


def _chances(one: Rate, other: Rate) -> dict[int, float]:
    """Hits of the first trials -> how often they come about where all trials are alike; the likeliest is 1.

    Each follows from its neighbour, which stays quick for many thousands of trials; what is below the
    smallest number there is is left out.
    """
    hits, trials, others = one.hits + other.hits, one.trials, other.trials
    low, high = max(0, hits - others), min(hits, trials)
    likeliest = min(max((trials + 1) * (hits + 1) // (trials + others + 2), low), high)
    found = {likeliest: 1.0}
    chance = 1.0
    for k in range(likeliest, high):
        chance *= (trials - k) * (hits - k) / ((k + 1) * (others - hits + k + 1))
        if not chance:
            break
        found[k + 1] = chance
    chance = 1.0
    for k in range(likeliest, low, -1):
        chance *= k * (others - hits + k) / ((trials - k + 1) * (hits - k + 1))
        if not chance:
            break
        found[k - 1] = chance
    return found

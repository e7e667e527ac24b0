"""Small statistics: intervals of a rate, and whether two rates differ."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, sqrt

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
    tail = sum(comb(changed, k) for k in range(min(better, worse) + 1)) / (1 << changed)
    return float(min(1.0, 2 * tail))


def fisher_test(one: Rate, other: Rate) -> float:
    """Two-sided p-value that two rates of separate trials differ by chance (Fisher's exact test)."""
    hits, total = one.hits + other.hits, one.trials + other.trials
    if not one.trials or not other.trials:
        return 1.0

    def ways(k: int) -> int:
        return comb(one.trials, k) * comb(other.trials, hits - k)

    possible = range(max(0, hits - other.trials), min(hits, one.trials) + 1)
    observed = ways(one.hits)
    return sum(ways(k) for k in possible if ways(k) <= observed) / comb(total, hits)


def fisher_greater(one: Rate, other: Rate) -> float:
    """One-sided p-value of Fisher's exact test that the first rate is higher by chance; 1 without trials."""
    hits, total = one.hits + other.hits, one.trials + other.trials
    most = min(hits, one.trials)
    ways = sum(comb(one.trials, k) * comb(other.trials, hits - k) for k in range(one.hits, most + 1))
    return ways / comb(total, hits)

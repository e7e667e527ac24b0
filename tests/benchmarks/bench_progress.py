"""What the repetition rate of long runs costs: python tests/benchmarks/bench_progress.py

CPU time of `repetition` on 10,000 steps; ends with 1 where a row is over its limit. Rows without one are
harder than the limits were set for: texts that nearly reach the threshold, because they have few letters or
whole words in common.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from synth.progress import repetition

STEPS = 10_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def letters(rng: random.Random, size: int) -> str:
    return "".join(rng.choices(LETTERS, k=size))


def words(rng: random.Random, size: int) -> str:
    several = (letters(random.Random(rng.randrange(2000)), rng.randint(2, 9)) for _ in range(size))
    return " ".join(several)[:size]


def call(rng: random.Random, size: int) -> str:
    return ('search {"query":"' + words(rng, size))[: size - 2] + '"}'


def digits(rng: random.Random, size: int) -> str:
    return "".join(rng.choices("0123456789", k=size))


def actions(make: Callable[[random.Random, int], str], size: int, different: int) -> list[str]:
    rng = random.Random(1)
    texts = [make(rng, size) for _ in range(different)]
    return texts + rng.choices(texts, k=STEPS - different)


ROWS: tuple[tuple[str, Callable[[random.Random, int], str], int, int, float, float | None], ...] = (
    ("letters", letters, 60, STEPS, 0.8, 4),
    ("letters", letters, 60, STEPS, 0.9, 4),
    ("letters", letters, 60, STEPS, 1.0, 4),
    ("letters", letters, 60, 500, 0.8, 1),
    ("letters", letters, 120, STEPS, 0.8, 20),
    ("calls", call, 60, STEPS, 0.9, 4),
    ("calls", call, 60, 500, 0.8, 1),
    ("calls", call, 120, STEPS, 0.9, 20),
    ("digits", digits, 60, STEPS, 0.9, None),
    ("words", words, 60, STEPS, 0.8, None),
)


def main() -> int:
    over = False
    print(f"{'texts':<8} length different threshold repeated  CPU s limit")
    for name, make, size, different, threshold, limit in ROWS:
        run = actions(make, size, different)
        started = time.process_time()
        count = repetition(run, threshold=threshold).count
        seconds = time.process_time() - started
        over |= limit is not None and seconds > limit
        print(
            f"{name:<8} {size:>6} {different:>9} {threshold:>9} {count:>8} {seconds:>6.2f} {limit or '-':>5}",
            flush=True,
        )
    return over


if __name__ == "__main__":
    sys.exit(main())

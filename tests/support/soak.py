"""How often a property is tried, and from which seed: `make soak` tries fifty times what other runs try."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOAK = 50


def soaks() -> bool:
    """Is this `make soak`?"""
    return bool(os.environ.get("PDOCTOR_SOAK"))


def tries(soaked: int) -> int:
    """`soaked` of them under `make soak`, a fiftieth elsewhere."""
    return soaked if soaks() else max(1, soaked // SOAK)


def new_seed() -> int:
    """Another one in each run, unless PDOCTOR_SEED says which to try again."""
    said = os.environ.get("PDOCTOR_SEED")
    return int(said) if said else random.SystemRandom().getrandbits(32)


@contextmanager
def seeded() -> Iterator[random.Random]:
    """Chance from a new seed; what fails is told which."""
    seed = new_seed()
    try:
        yield random.Random(seed)
    except Exception as wrong:
        wrong.add_note(f"PDOCTOR_SEED={seed} tries that again")
        raise


def tell(what: str, found: Counter[str]) -> None:
    """Add the figures of one property to the file that PDOCTOR_SOAK names, as a line of JSON."""
    file = os.environ.get("PDOCTOR_SOAK")
    if file:
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"what": what, **found}) + "\n")

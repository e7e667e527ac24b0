"""The reverse experiment: how often what models write for constraint sets means them (paper, section 7)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

import orjson

from synth.errors import BadInput
from synth.experiments.rates import Rate
from synth.experiments.tables import Table
from synth.files import MIB, content_of
from synth.llm.extract import Faithfulness, Written

OUTCOMES: tuple[Faithfulness, ...] = get_args(Faithfulness)


def paraphrase_table(written: Iterable[Written]) -> Table:
    """Accuracy by number of actions."""
    groups: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for one in written:
        groups[one.model, one.actions][one.outcome] += 1
    rows = []
    for (model, actions), found in sorted(groups.items()):
        rate = Rate(found["faithful"], found.total())
        counts = (str(found[outcome]) for outcome in OUTCOMES)
        interval = "{:.0%} to {:.0%}".format(*rate.interval)
        rows.append((model, str(actions), str(rate.trials), *counts, f"{rate.value:.1%}", interval))
    headers = ("model", "actions", "paragraphs", *OUTCOMES, "accuracy", "95 % interval")
    note = (
        "Paragraphs that models wrote for sets of constraints, read back by the parser. Faithful: it says "
        "exactly the constraints; unreadable: not in the language that the model was told to write."
    )
    return Table("paraphrases", "Paragraphs written by models (paper, section 7)", headers, tuple(rows), note)


def written_in(file: Path) -> Iterator[Written]:
    """What `pdoctor rewrite --json` wrote; BadInput names the line."""
    for number, line in enumerate(content_of(file, 256 * MIB).splitlines(), 1):
        if line.strip():
            yield _read(line, str(file), number)


def _read(line: bytes, file: str, number: int) -> Written:
    try:
        said = orjson.loads(line)
        one = Written(**said)
        right = isinstance(one.actions, int) and isinstance(one.model, str) and one.outcome in OUTCOMES
    except (orjson.JSONDecodeError, TypeError):
        right = False
    if not right:
        raise BadInput("expected a line that `pdoctor rewrite --json` wrote", file=file, line=number)
    return one

"""What rules good runs may keep beyond the plain order, answers and counts of `draft`.

Each module looks for rules of one sort. All of them measure in bits how unlikely it is that the runs keep a
rule by chance, and none learns a limit from fewer than `FEWEST_BOUNDED` runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synth.policies.mining.days import hours, weekdays
from synth.policies.mining.either import alternatives
from synth.policies.mining.equal import equal_fields
from synth.policies.mining.limits import rates, totals
from synth.policies.mining.mined import Mined
from synth.policies.mining.seen import Seen
from synth.policies.mining.stretches import bans_that_end


def mined(seen: Sequence[Seen], tools: Sequence[str]) -> Iterator[Mined | None]:
    """What the runs keep, as far as a look at the calls tells; None for each rule that was tried in vain.

    `tools` are the most frequent ones.
    """
    for look in (rates, totals, hours, weekdays, bans_that_end, alternatives, equal_fields):
        yield from look(seen, tools)

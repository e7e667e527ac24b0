"""Between and until: what is not called once one action has succeeded, or failed, before another has."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from math import comb

from synth.policies.kinds.between import Between
from synth.policies.mining.mined import FEWEST, Mined, bits, moved, shuffled
from synth.policies.mining.seen import MOST_SEARCHED, Seen, some

MOST_TOOLS = 20
"""Of the most frequent ones; rules about three tools are looked for among these."""

Triple = tuple[str, str, str, bool]
"""(opens, what, closes, is it a failure that opens?)"""
BEST = 2
"""Of the rules that forbid one action until another one, and of those that two others begin and end."""


def bans_that_end(seen: Sequence[Seen], tools: Sequence[str]) -> Iterator[Mined | None]:
    """Once one has succeeded, or failed, another one waits for a third."""
    usual = Counter(tool for one in seen for tool in one.attempts).most_common(MOST_TOOLS)
    known = frozenset(tool for tool, _ in usual if tool in tools)
    found = _Found()
    for one in some(seen, MOST_SEARCHED):
        found.look(one, known)
    tried = 2 * len(found.tried)
    shown = [one for until in (True, False) for one in _kept(found, until)]
    yield from [None] * (tried - len(shown))
    yield from shown


class _Found:
    """What the runs show of each triple."""

    def __init__(self) -> None:
        self.tried: set[Triple] = set()
        self.broken: tuple[set[Triple], set[Triple]] = set(), set()
        """As `between`, as `until`."""
        self.waited: Counter[Triple] = Counter()
        """In how many runs `what` came after `opens` and `closes`."""
        self.support: tuple[Counter[Triple], Counter[Triple]] = Counter(), Counter()
        """In how many runs there was a stretch that it kept out of."""
        self.surprise: tuple[dict[Triple, float], dict[Triple, float]] = (
            defaultdict(float),
            defaultdict(float),
        )

    def look(self, one: Seen, known: frozenset[str]) -> None:
        ended = {one.rank(i): True for done in one.successes.values() for i in done}
        ended |= {one.rank(i): False for done in one.failures.values() for i in done}
        calls = [(one.rank(i), tool) for tool in one.attempts.keys() & known for i in one.attempts[tool]]
        order = [(tool, ended.get(place)) for place, tool in sorted(calls)]
        opening = [
            *((tool, False) for tool in sorted(one.successes.keys() & known)),
            *((tool, True) for tool in sorted(one.failures.keys() & known)),
        ]
        for closes in sorted(one.successes.keys() & known):
            for opens, failed in opening:
                if closes != opens or failed:
                    self._pass(one, order, opens, closes, failed)

    def _pass(
        self, one: Seen, order: Sequence[tuple[str, bool | None]], opens: str, closes: str, failed: bool
    ) -> None:
        """Go through the calls of a run: `what` may stand in each gap between those that open and close."""
        is_open = was_open = False
        gaps, left = 1, 0
        forbidden = [0, 0]
        """Gaps of stretches that were closed, and of all."""
        within: set[str] = set()
        late: set[str] = set()
        closed: set[str] = set()
        waited: set[str] = set()
        for tool, good in order:
            if tool == closes and good:
                if is_open:
                    forbidden[0] += left
                    closed |= within
                    was_open = True
                is_open, left, within = False, 0, set()
            elif tool == opens and good is not failed and good is not None:
                is_open = True
            elif tool not in (opens, closes):
                if is_open:
                    within.add(tool)
                    late.add(tool)
                elif was_open:
                    waited.add(tool)
                continue
            gaps += 1
            left += is_open
            forbidden[1] += is_open
        for what in one.attempts.keys() - {opens, closes}:
            triple = opens, what, closes, failed
            self.tried.add(triple)
            for until, broken in enumerate((closed, late)):
                if what in broken:
                    self.broken[until].add(triple)
                elif forbidden[until]:
                    self.support[until][triple] += 1
                    chance = _kept_out(len(one.attempts[what]), gaps, forbidden[until])
                    self.surprise[until][triple] += bits(chance)
        self.waited.update((opens, what, closes, failed) for what in waited)


def _kept(found: _Found, until: bool) -> Iterator[Mined]:
    """The most surprising of those that no run broke, a few for each action that is forbidden."""
    support, surprise, best = found.support[until], found.surprise[until], Counter[tuple[object, ...]]()
    for triple in sorted(surprise, key=lambda one: (-surprise[one], one)):
        alike = ("waits", *triple[1:3]), ("ends", triple[0], *triple[2:])
        if (
            triple in found.broken[until]
            or (triple[3] and not until)
            or max(best[one] for one in alike) >= BEST
        ):
            continue
        needs_until = until or triple in found.broken[True]
        if needs_until and min(found.waited[triple], support[triple]) >= FEWEST:
            best.update(alike)
            yield _stated(triple, until, support[triple], surprise[triple])


def _stated(triple: Triple, until: bool, support: int, surprise: float) -> Mined:
    opens, what, closes, failed = triple
    sentence = "{1} must never happen between {0} and {2}."
    kind = "between"
    if failed:
        kind, sentence = "until_after_failure", "if {0} fails, {1} must never happen until {2} succeeds."
    elif until:
        kind, sentence = "until", "{1} must never happen after {0} until {2}."
    words = {"between": "no {1} between {0} and {2}", "until": "no {1} after {0} until {2}"}
    return Mined(
        kind, (opens, what, closes), support, surprise,
        lambda named: Between(
            ((named(opens), named(what), named(closes)),), until=until or failed, failed=failed
        ),
        sentence, words.get(kind, "failed {0} no {1} until {2}"), shuffled, little=moved,
    )  # fmt: skip


@cache
def _kept_out(calls: int, gaps: int, forbidden: int) -> float:
    """How likely calls that may stand in any of the gaps stand in none of the forbidden ones."""
    return comb(gaps - forbidden + calls - 1, calls) / comb(gaps + calls - 1, calls)

"""Runs of one shape are rebuilt and judged once, where nothing else about them matters.

Two short traces of the same program often differ only in ids, in instants and in what their calls were
given and gave (see `otlp.shape`). Where the policies of their project ask for the order of calls alone, and
nobody looked at such a value on the way to the conclusion about the first of them, that of the other is the
same. What it was judged by must be the same as well: policies, known names of tools, whether it has ended.
Of violations those are kept whose plan that would have worked is one of places in the order: where calls
came one after the other they do so in every plan, however long each took.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import Any

import orjson

from collector.dialects import DIALECTS, every_dialect
from collector.dialects.deferred import LOOKED, DeferredCall
from collector.judging.bind import Arrival, ending
from collector.judging.conclude import Known
from collector.judging.joining import Read
from collector.judging.policies import Policies
from collector.model import Rebuilt, ToolCall
from collector.otlp.shape import Shape, shape_of
from collector.pipeline.reading import KEPT_SECONDS, rebuilt_run
from collector.settings import Settings
from collector.store.stored import Stored
from collector.store.work import Claim, Closing, Conclusion

MOST = 512
"""Shapes that are kept, those that were seen last; each holds what its first run said."""
KEPT = frozenset(("ok", "not_applicable", "unsupported"))
MENDED = KEPT | {"violated"}
Standard = tuple[float | None, bool, bool, bool]
"""Allowed skew of clocks, whether Z3 is asked, whether the run is complete, whether it soon is."""


@dataclass(slots=True)
class _Known:
    """What is kept of a shape."""

    rebuilt: Rebuilt
    """The first run of it."""
    since: float
    """When that was read."""
    judged_by: tuple[Any, Any] = (None, None)
    """Policies and names of tools of the project; others are others even if they are equal."""
    conclusions: dict[Standard, Conclusion] = field(default_factory=dict)


@dataclass(slots=True)
class _Seen:
    """A run in hand."""

    shape: Shape
    known: _Known
    stored: Stored
    rebuilt: bool
    """Is it the first of its shape?"""


class Alike:
    """What one checker process has concluded about shapes of runs."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: OrderedDict[tuple[int, bytes], _Known] = OrderedDict()
        self._seen: dict[int, _Seen] = {}
        self._now = 0.0

    def begin(self, now: float) -> None:
        """Another batch is read, or there is none: forget the one before, and what has been kept for long."""
        self._seen.clear()
        self._now = now
        for key in [key for key, one in self._known.items() if not 0 <= now - one.since < KEPT_SECONDS]:
            del self._known[key]

    def read(self, claim: Claim, stored: Stored, guests: Sequence[Stored], policies: Policies) -> Read:
        """The run of a claim as its spans tell it, see `rebuilt_run`; or the first of its shape.

        For the latter `whole` gives its own where `concluded` has nothing about it.
        """
        details = policies.need_models
        other = guests or details or claim.joined or claim.digest is not None
        shape = None if other else self._shape(claim, stored, policies)
        if shape is None:
            return rebuilt_run(claim.key, stored, guests, details=details)
        key = (claim.project, shape.digest)
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            self._seen[claim.run] = _Seen(shape, known, stored, rebuilt=False)
            return known.rebuilt, (claim.key,)
        looked = LOOKED.times
        read = rebuilt_run(claim.key, stored)
        if looked == LOOKED.times and _is_plain(read[0]):
            known = self._known[key] = _Known(read[0], self._now)
            self._seen[claim.run] = _Seen(shape, known, stored, rebuilt=True)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return read

    def whole(self, claim: Claim, read: Read) -> Read:
        """The run itself, of what `read` gave."""
        seen = self._seen.get(claim.run)
        return read if seen is None or seen.rebuilt else rebuilt_run(claim.key, seen.stored)

    def concluded(self, claim: Claim, facts: Known, policies: Policies, now: float) -> Conclusion | None:
        """What is known about a run by its shape; None where it has to be judged."""
        seen = self._seen.get(claim.run)
        if seen is None or not _stands_alone(claim, seen.known.rebuilt, facts):
            return None
        known = seen.known
        names = facts.names.get(claim.project)
        if known.judged_by[0] is not policies or known.judged_by[1] is not names:
            return None
        standard, look_again = self._standard(claim, known.rebuilt, facts, now)
        found = known.conclusions.get(standard)
        return None if found is None else _of_another(found, claim, seen.shape, look_again)

    def keep(
        self, claim: Claim, facts: Known, policies: Policies, now: float, looked: int, found: Conclusion
    ) -> None:
        """Keep a conclusion for others of the shape; `looked`: of `LOOKED` before it was reached."""
        seen = self._seen.get(claim.run)
        if seen is None or looked != LOOKED.times:
            return
        known = seen.known
        if not _holds_for_others(found, policies, known.rebuilt):
            return
        if _stands_alone(claim, known.rebuilt, facts):
            names = facts.names.get(claim.project)
            if known.judged_by[0] is not policies or known.judged_by[1] is not names:
                known.judged_by, known.conclusions = (policies, names), {}
            known.conclusions[self._standard(claim, known.rebuilt, facts, now)[0]] = found

    def _shape(self, claim: Claim, stored: Stored, policies: Policies) -> Shape | None:
        if not policies.ask_for_order or len(stored.payloads) != 1 or stored.shared or stored.problems:
            return None
        return shape_of(claim.key, stored.payloads[0]) if every_dialect() is DIALECTS else None

    def _standard(
        self, claim: Claim, rebuilt: Rebuilt, facts: Known, now: float
    ) -> tuple[Standard, float | None]:
        """(standard, when to look at it again)."""
        arrival = Arrival(now, claim.last_seen, claim.root_seen)
        end = ending(rebuilt, None, arrival, self._settings)
        asks = facts.policy_rules.asks_z3(claim.key, failing=False)
        skew = facts.skews.get(claim.project)
        return (skew, asks, end.complete, end.nearly), end.look_again


def _is_plain(rebuilt: Rebuilt) -> bool:
    """Does a run of another tracer tell of nothing but calls and agents?"""
    return not (
        rebuilt.is_ours
        or rebuilt.is_record
        or rebuilt.models
        or rebuilt.parts
        or rebuilt.waits
        or rebuilt.piece
        or rebuilt.run.case_id
    ) and all(type(call) is DeferredCall for call in rebuilt.run.calls)


def _stands_alone(claim: Claim, rebuilt: Rebuilt, facts: Known) -> bool:
    """Does nothing but its own spans, and the policies, say anything about the run?"""
    run, joined = claim.run, facts.joined
    beside = (facts.hosts, facts.guests, joined.threads, joined.left, joined.shown, joined.doubles)
    return (
        not any(run in some for some in beside)
        and (claim.project, claim.key) not in facts.bindings
        and not (facts.texts and rebuilt.run.query)
    )


def _holds_for_others(found: Conclusion, policies: Policies, rebuilt: Rebuilt) -> bool:
    """Is a conclusion one by policies alone that names no instants, nor a plan that depends on them?"""
    both = (found, found.closing.conclusion) if found.closing else (found,)
    if any(one.wakes or len(one.findings) != one.summary["findings"] for one in both):
        return False
    results = [one.policies or {} for one in both]
    if len(results[0]) != sum(map(len, policies.run_files)):
        return False
    said = {verdict for one in results for verdict in one.values()}
    if "violated" not in said:
        return said <= KEPT and not any(one.findings or one.broken for one in both)
    return said <= MENDED and _in_turn(rebuilt.run.calls) and all(map(_is_mended, both))


def _is_mended(found: Conclusion) -> bool:
    """Was a plan found for each violation, and may nothing that comes put one right?"""
    results = orjson.loads(found.body)["policies"]
    return all("repair" in one for one in results if one["verdict"] == "violated") and not any(
        "pending" in one for one in results
    )


def _in_turn(calls: Sequence[ToolCall]) -> bool:
    """Did each call begin when the one before had ended?"""
    times = [time for call in calls if (time := _exact_times(call)) is not None]
    times.sort(key=itemgetter(0))
    return len(times) == len(calls) and all(one[1] <= after[0] for one, after in pairwise(times))


def _exact_times(call: ToolCall) -> tuple[int, int] | None:
    """Begin and end of a call, where both are instants of the one clock of its run."""
    start, end = call.start, call.end
    if start is None or end is None or not call.finished or call.extra:
        return None
    return (start[0], end[0]) if start[0] == start[1] <= end[0] == end[1] else None


def _of_another(found: Conclusion, claim: Claim, shape: Shape, look_again: float | None) -> Conclusion:
    """A conclusion as that about another run of the shape."""
    own = {"started_ns": shape.started_ns, "ended_ns": shape.ended_ns, "heard": claim.last_seen}
    closing = found.closing
    if closing is not None and look_again is not None:
        closed = _with(closing.conclusion, claim, own, closing.conclusion.next_due, None)
        closing = Closing(look_again, claim.last_seen, closed, closing.same)
    return _with(found, claim, own, look_again, closing)


def _with(
    found: Conclusion, claim: Claim, own: dict[str, Any], next_due: float | None, closing: Closing | None
) -> Conclusion:
    """Such a conclusion about this claim, with columns of its `own`."""
    return Conclusion(
        claim=claim,
        summary={**found.summary, **own},
        digest=found.digest,
        body=found.body,
        next_due=next_due,
        tools=found.tools,
        findings=found.findings,
        policies=found.policies,
        guards=found.guards,
        awaits=found.awaits,
        broken=found.broken,
        closing=closing,
    )

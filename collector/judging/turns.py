"""The runs of a conversation that the others are judged by, and until when it goes on.

What other runs need of one is kept in the store (`store.turns`), so that no run is rebuilt for another
one's sake. A conversation goes on until it was silent for `--session-idle`, counted from arrival, and as
long as one of its runs waits for somebody; else no duty is waited for longer than a day.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import orjson

from collector.judging.bind import lacking, with_gap
from collector.judging.policies import Talk
from collector.model import Binding, Rebuilt, Run
from collector.settings import Settings
from collector.store.turns import MOST_TURNS, Member, Turn
from collector.store.work import Conclusion
from synth.observed import USAGE, Unseen, run_from_json
from synth.policies import Needs, PolicyResult, reduced, size_of_values, telling, without_values

LONGEST_WAIT = 86_400.0
"""Seconds that a duty stays pending at most."""
MOST_CALLS = 100_000
"""Calls of one conversation that are judged together; the oldest runs are left out."""
MOST_VALUES = 1 << 20
"""Bytes of arguments and results of other runs that one is judged by; what is farther away is unknown."""
BYTES_OF_A_CALL = 1000
KEPT_CALLS = 100_000
"""Calls of runs that a checker keeps in memory."""
SECOND = 10**9


def as_turn(rebuilt: Rebuilt, binding: Binding | None = None) -> Run:
    """A rebuilt run as others are judged by it: nothing more of it is waited for.

    What was said in it is left out: each run of a conversation begins with a message of its own; so is what
    its models used, which bounds a run.
    """
    extra = {name: value for name, value in rebuilt.run.extra.items() if name not in ("messages", USAGE)}
    return replace(with_gap(rebuilt.run, lacking(rebuilt, binding)), status="ok", extra=extra)


def packed(row: int, project: int, rebuilt: Rebuilt, run: Run, needs: Needs) -> Turn:
    """What the store keeps of a run of a conversation."""
    small = reduced(run, needs)
    size = size_of_values(small)
    whole = _body(small)
    waits = "paused" if rebuilt.is_paused else ""  # while one does, others wait for it
    return Turn(
        row,
        project,
        rebuilt.session or "",
        rebuilt.started_ns,
        needs.digest,
        stamp=hashlib.blake2b(whole + waits.encode(), digest_size=8).hexdigest(),
        tells=telling(small, needs) + waits,
        calls=len(small.calls),
        body=_body(without_values(small)) if size else whole,
        whole=whole if 0 < size <= MOST_VALUES else None,
        size=size,
    )


def _body(run: Run) -> bytes:
    return orjson.dumps(run.to_json(), option=orjson.OPT_NON_STR_KEYS)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A run that another one is judged by."""

    member: Member
    whole: bool
    """With arguments and results."""

    @property
    def weight(self) -> int:
        """In calls."""
        return 1 + self.member.calls + (self.member.size // BYTES_OF_A_CALL if self.whole else 0)


def around(
    before: Sequence[Member], after: Sequence[Member], *, cut: bool
) -> tuple[list[Wanted], list[Wanted], bool]:
    """The runs before and after one that it is judged by, with the values of the nearest.

    The last says if older ones are left out (`cut`: some are already).
    """
    left = MOST_VALUES
    earlier: list[Wanted] = []
    calls = 0
    for one in reversed(before):
        calls += one.calls
        if calls > MOST_CALLS:
            cut = True
            break
        left -= one.size
        earlier.append(Wanted(one, left >= 0 < one.size))
    later: list[Wanted] = []
    for one in after:
        left -= one.size
        later.append(Wanted(one, left >= 0 < one.size))
    return earlier[::-1], later, cut


def left_out(kept: Sequence[Run]) -> Run:
    """Stands for older runs of which nothing is known."""
    said = (
        f"older runs of this conversation are deleted, or there are more than {MOST_TURNS} runs or "
        f"{MOST_CALLS} calls: what they did is not known"
    )
    first = 0 if any(run.calls for run in kept) else None
    return with_gap(Run(kept[0].id if kept else "", ()), Unseen(said, before=first))


class KeptRuns:
    """Runs that were read last."""

    def __init__(self) -> None:
        self._runs: OrderedDict[int, tuple[Wanted, Run]] = OrderedDict()
        self._weight = 0

    def get(self, wanted: Wanted) -> Run | None:
        found = self._runs.get(wanted.member.run)
        if found is None or not _same(found[0], wanted):
            return None
        self._runs.move_to_end(wanted.member.run)
        return found[1]

    def put(self, wanted: Wanted, body: bytes) -> Run:
        run = run_from_json(orjson.loads(body))
        old = self._runs.pop(wanted.member.run, None)
        self._weight += wanted.weight - (old[0].weight if old else 0)
        self._runs[wanted.member.run] = wanted, run
        while self._weight > KEPT_CALLS and len(self._runs) > 1:
            self._weight -= self._runs.popitem(last=False)[1][0].weight
        return run


def _same(one: Wanted, other: Wanted) -> bool:
    return (one.member.needs, one.member.stamp, one.whole) == (
        other.member.needs,
        other.member.stamp,
        other.whole,
    )


@dataclass(frozen=True, slots=True)
class Conversation:
    """The conversation of a claimed run, as far as it has come."""

    before: Sequence[Run]
    after: Sequence[Run]
    last_seen: float
    """Arrival of the newest span of any of its runs, Unix seconds; when a run that waits will be given up."""
    own_seen: float
    """The same of the claimed run."""
    ended_ns: int | None
    """The last instant that the spans of the claimed run show."""
    settings: Settings

    def at(self, now: float, run: Run) -> Talk:
        """As it is judged for the claimed run."""
        until = None
        if self.ended_ns is not None:
            until = self.ended_ns + round((now - self.own_seen - self.settings.grace_seconds) * SECOND)
        runs = [*self.before, run, *self.after]
        return Talk(runs, len(self.before), goes_on=now < self._over, until=until)

    @property
    def _over(self) -> float:
        """From when on nothing more is waited for, Unix seconds."""
        over = min(self.last_seen + self.settings.session_idle_seconds, self.own_seen + LONGEST_WAIT)
        return max(over, self.last_seen)

    def concluded(self, found: Conclusion, results: Iterable[PolicyResult], now: float) -> Conclusion:
        """With the instant at which to look again: when a window has passed, or the conversation is over."""
        waiting = [result for result in results if result.awaits]
        dues = [] if found.next_due is None else [found.next_due]
        if waiting and now < self._over:
            dues += [self._over, *filter(None, map(self._passed, waiting))]
        return replace(found, awaits=bool(waiting), next_due=min(dues, default=None))

    def _passed(self, result: PolicyResult) -> float | None:
        """When the window of a result will have passed, Unix seconds of arrival."""
        if result.until is None or self.ended_ns is None:
            return None
        return self.own_seen + self.settings.grace_seconds + (result.until - self.ended_ns) / SECOND

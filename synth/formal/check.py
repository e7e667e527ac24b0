"""Are the claims of a spec or a policy true of what was observed? Direct evaluation, and Z3 as judge.

Direct evaluation decides exact instants in microseconds and, where instants are only bounded,
whatever the bounds alone decide. Z3 decides the rest, and re-checks what was decided directly: the
two must name the same claims, or the answer is a disagreement and the verdict undecided.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from time import perf_counter
from typing import Any, Literal, TypeVar

from synth.formal.constraints import Bounded, Fixed
from synth.formal.proofs import Proofs, shape_of
from synth.formal.solver import TIMEOUT_MS, Claim, possibilities, violated
from synth.frozen import quick

Assignment = Mapping[Any, tuple[int, int]]
"""{who: (start, end)} in the unit of the clock."""


@quick
@dataclass(frozen=True, slots=True)
class Decision:
    """Which claims are false, which are open; positions in the list of claims."""

    violated: tuple[int, ...] = ()
    """False under every assignment of times that the evidence allows."""
    core: tuple[int, ...] = ()
    """No claim is surely false, but these cannot all be true: a minimal set."""
    undecided: Mapping[int, tuple[Assignment, Assignment] | None] = field(default_factory=dict)
    """Open claims with an assignment under which it holds and one under which it fails, if known."""
    decided_by: Literal["direct", "z3", "both"] = "direct"
    z3_ms: float = 0.0
    disagreement: bool = False
    """Z3 and direct evaluation named different claims: trust neither."""
    gave_up: tuple[int, ...] = ()
    """Those of the open claims that Z3 was asked about in vain; about others without witnesses it was not."""
    limit: float = math.inf
    """Seconds that Z3 had for all of them."""

    def unshown(self, position: int) -> str:
        """Why nobody can say that an open claim without witnesses is open for good."""
        if self.disagreement:
            return "Z3 and direct evaluation disagree"
        return f"Z3 gave up after {self.limit:.2g} s" if position in self.gave_up else "Z3 was not asked"

    @property
    def failed(self) -> tuple[int, ...]:
        return self.violated or self.core


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The input of a check on which Z3 and direct evaluation differ: a bug, with all that shows it."""

    claims: tuple[Claim, ...]
    starts: Mapping[Any, int]
    ends: Mapping[Any, int]
    direct: tuple[int, ...]
    z3: tuple[int, ...]


class Disagreements:
    """How often Z3 and direct evaluation differed in this process, and the newest inputs."""

    def __init__(self, keep: int = 32) -> None:
        self.count = 0
        self.kept: deque[Disagreement] = deque(maxlen=keep)
        self._lock = threading.Lock()

    def add(self, case: Disagreement) -> None:
        with self._lock:
            self.count += 1
            self.kept.append(case)


DISAGREEMENTS = Disagreements()
PROOFS = Proofs()
"""What Z3 said of questions about the order of exactly known instants, in this process."""

MAX_JUDGED = 2_000
"""Claims of one question that Z3 re-checks: the violated ones first. Only absurdly long runs have more."""
MAX_OPEN = 200
"""Claims left open by bounds that Z3 is asked about one by one; more than that stay undecided."""
MAX_TERMS = 20_000
"""Instants in all formulas together; Z3 is asked no larger question."""


def decide(
    claims: Sequence[Claim],
    times: Fixed | Bounded,
    *,
    z3: bool = False,
    timeout_ms: int = TIMEOUT_MS,
    total_ms: int | None = None,
    most: int = MAX_JUDGED,
    known: Sequence[bool | None] | None = None,
) -> Decision:
    """Decide every claim at exact or bounded instants; `z3` adds the judge's opinion on `most` claims.

    Without `z3`, claims that the bounds leave open stay undecided and have no witnesses. Z3 has `timeout_ms`
    for a question and `total_ms` for all; `known` is what direct evaluation says, where that is known.
    """
    if total_ms is not None:
        timeout_ms = min(timeout_ms, total_ms)
    if isinstance(times, Fixed):
        direct = broken_claims(claims, times) if known is None else _false(known)
        asked = _chosen(claims, direct, most) if z3 and timeout_ms > 0 else []
        return _judged_exact(claims, times, direct, asked, timeout_ms) if asked else Decision(violated=direct)
    known = [claim.formula(times) for claim in claims] if known is None else known
    open_ = [i for i, truth in enumerate(known) if truth is None]
    if not z3 or len(open_) > min(most, MAX_OPEN) or not _fits([claims[i] for i in open_]):
        return Decision(violated=_false(known), undecided=dict.fromkeys(open_))
    if not open_:
        return Decision(violated=_false(known))
    return _asked_of_bounds(claims, times, _false(known), open_, timeout_ms, total_ms)


def broken_claims(claims: Sequence[Claim], times: Fixed) -> tuple[int, ...]:
    """Positions of the claims that are false, by direct evaluation."""
    return tuple(i for i, claim in enumerate(claims) if not claim.formula(times))


def _false(known: Sequence[bool | None]) -> tuple[int, ...]:
    return tuple(i for i, truth in enumerate(known) if truth is False)


W = TypeVar("W", Fixed, Bounded)


class _TooManyTerms(Exception):
    """A question is larger than Z3 is asked."""


class _Mentions:
    """A world that only notes whose instants a formula asks for; nothing is cut short in it."""

    def __init__(self, most: float = math.inf) -> None:
        self.who: dict[Any, None] = {}
        self.asked = 0
        self._most = most

    def start(self, who: Any) -> int:
        self.who[who] = None
        self.asked += 1
        if self.asked > self._most:
            raise _TooManyTerms
        return 0

    end = start

    def until(self, time: int) -> int:
        return time

    since = until

    def later(self, instant: int, by: int) -> int:
        return instant

    def all(self, parts: Iterable[Any]) -> bool:
        return bool(list(parts))

    any = all

    def no(self, part: Any) -> bool:
        return not part


def mentioned(claims: Sequence[Claim], times: W) -> W:
    """The same world with only the instants that the claims speak of: a long run has many more."""
    notes = _Mentions()
    for claim in claims:
        claim.formula(notes)
    if len(notes.who) == len(times.starts):
        return times
    starts = {who: times.starts[who] for who in notes.who}
    return type(times)(starts, {who: times.ends[who] for who in notes.who}, times.scale)


def _fits(claims: Sequence[Claim]) -> bool:
    """Is this a question that Z3 is asked?"""
    notes = _Mentions(MAX_TERMS)
    try:
        for claim in claims:
            claim.formula(notes)
    except _TooManyTerms:
        return False
    return True


def _chosen(claims: Sequence[Claim], first: Sequence[int], most: int) -> list[int]:
    """Positions of at most `most` claims that fit into one question, those in `first` before others."""
    wanted = set(first)
    rest = (i for i in range(len(claims)) if i not in wanted)
    found: list[int] = []
    notes = _Mentions(MAX_TERMS)
    try:
        for i in islice(chain(first, rest), most):
            claims[i].formula(notes)
            found.append(i)
    except _TooManyTerms:
        pass
    return sorted(found)


def _judged_exact(
    claims: Sequence[Claim], times: Fixed, direct: tuple[int, ...], chosen: Sequence[int], timeout_ms: int
) -> Decision:
    asked = [claims[i] for i in chosen]
    began = perf_counter()
    shape = shape_of(asked, times)
    judged: Sequence[int] | None
    if shape is None:
        judged = violated(asked, mentioned(asked, times), timeout_ms=timeout_ms)
    else:
        judged = PROOFS.answer(shape, lambda instants: violated(asked, instants, timeout_ms=timeout_ms))
    spent = (perf_counter() - began) * 1e3
    if judged is None:
        return Decision(violated=direct, z3_ms=spent)
    by_z3 = tuple(chosen[k] for k in judged)
    ours = tuple(i for i in direct if i in set(chosen))
    if by_z3 != ours:
        DISAGREEMENTS.add(Disagreement(tuple(claims), times.starts, times.ends, direct, by_z3))
        either = sorted({*direct, *by_z3})
        return Decision(undecided=dict.fromkeys(either), decided_by="both", z3_ms=spent, disagreement=True)
    return Decision(violated=direct, decided_by="both", z3_ms=spent)


def _asked_of_bounds(
    claims: Sequence[Claim],
    times: Bounded,
    surely: tuple[int, ...],
    open_: Sequence[int],
    timeout_ms: int,
    total_ms: int | None,
) -> Decision:
    """What Z3 says about the open claims; `surely` are false."""
    asked = [claims[i] for i in open_]
    began = perf_counter()
    found = possibilities(asked, mentioned(asked, times), timeout_ms=timeout_ms, total_ms=total_ms)
    spent = (perf_counter() - began) * 1e3
    broken = tuple(sorted({*surely, *(open_[k] for k in found.broken)}))
    core = () if surely else tuple(open_[k] for k in found.core)
    gave_up = tuple(open_[k] for k in found.gave_up)
    undecided: dict[int, tuple[Assignment, Assignment] | None] = {
        **dict.fromkeys(gave_up),
        **{open_[k]: pair for k, pair in found.undecided.items() if open_[k] not in core},
    }
    limit = (timeout_ms * len(asked) if total_ms is None else total_ms) / 1e3
    return Decision(broken, core, undecided, "z3", spent, gave_up=gave_up, limit=limit)

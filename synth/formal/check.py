"""Are the claims of a spec or a policy true of what was observed? Direct evaluation, and Z3 as judge.

Direct evaluation decides exact instants in microseconds and, where instants are only bounded,
whatever the bounds alone decide. Z3 decides the rest, and re-checks what was decided directly: the
two must name the same claims, or the answer is a disagreement and the verdict undecided.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any, Literal, TypeVar

from synth.formal.constraints import Bounded, Fixed
from synth.formal.solver import TIMEOUT_MS, Claim, possibilities, violated

Assignment = Mapping[Any, tuple[int, int]]
"""{who: (start, end)} in the unit of the clock."""


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

MAX_JUDGED = 2_000
"""Claims of one question that Z3 re-checks: the violated ones first. Only absurdly long runs have more."""
MAX_OPEN = 200
"""Claims left open by bounds that Z3 is asked about one by one; more than that stay undecided."""
MAX_TERMS = 20_000
"""Instants in all formulas together; larger questions about bounds stay undecided."""


def decide(
    claims: Sequence[Claim],
    times: Fixed | Bounded,
    *,
    z3: bool = False,
    timeout_ms: int = TIMEOUT_MS,
    most: int = MAX_JUDGED,
) -> Decision:
    """Decide every claim at exact or bounded instants; `z3` adds the judge's opinion on `most` claims.

    Without `z3`, claims that the bounds leave open stay undecided and have no witnesses.
    """
    if isinstance(times, Fixed):
        return _decide_exact(claims, times, z3, timeout_ms, most)
    return _decide_bounded(claims, times, z3, timeout_ms, most)


def broken_claims(claims: Sequence[Claim], times: Fixed) -> tuple[int, ...]:
    """Positions of the claims that are false, by direct evaluation."""
    return tuple(i for i, claim in enumerate(claims) if not claim.formula(times))


W = TypeVar("W", Fixed, Bounded)


class _Mentions:
    """A world that only notes whose instants a formula asks for; nothing is cut short in it."""

    def __init__(self) -> None:
        self.who: dict[Any, None] = {}
        self.asked = 0

    def start(self, who: Any) -> int:
        self.who[who] = None
        self.asked += 1
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


def _mentions(claims: Sequence[Claim]) -> _Mentions:
    notes = _Mentions()
    for claim in claims:
        claim.formula(notes)
    return notes


def mentioned(claims: Sequence[Claim], times: W) -> W:
    """The same world with only the instants that the claims speak of: a long run has many more."""
    notes = _mentions(claims)
    if len(notes.who) == len(times.starts):
        return times
    starts = {who: times.starts[who] for who in notes.who}
    return type(times)(starts, {who: times.ends[who] for who in notes.who}, times.scale)


def _decide_exact(claims: Sequence[Claim], times: Fixed, z3: bool, timeout_ms: int, most: int) -> Decision:
    direct = broken_claims(claims, times)
    if not z3:
        return Decision(violated=direct)
    chosen = _chosen(claims, direct, most)
    asked = [claims[i] for i in chosen]
    began = perf_counter()
    judged = violated(asked, mentioned(asked, times), timeout_ms=timeout_ms) if asked else []
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


def _chosen(claims: Sequence[Claim], first: Sequence[int], most: int) -> list[int]:
    """Positions of at most `most` claims, those in `first` before others; ascending."""
    if len(claims) <= most:
        return list(range(len(claims)))
    wanted = set(first)
    rest = (i for i in range(len(claims)) if i not in wanted)
    return sorted([*first, *islice(rest, max(0, most - len(first)))][:most])


def _decide_bounded(
    claims: Sequence[Claim], times: Bounded, z3: bool, timeout_ms: int, most: int
) -> Decision:
    known = [claim.formula(times) for claim in claims]
    surely = tuple(i for i, truth in enumerate(known) if truth is False)
    open_ = [i for i, truth in enumerate(known) if truth is None]
    if not z3 or not open_ or len(open_) > min(most, MAX_OPEN) or _mentions(claims).asked > MAX_TERMS:
        return Decision(violated=surely, undecided=dict.fromkeys(open_))
    began = perf_counter()
    found = possibilities(claims, mentioned(claims, times), known, timeout_ms=timeout_ms)
    spent = (perf_counter() - began) * 1e3
    undecided: dict[int, tuple[Assignment, Assignment] | None] = {
        **dict.fromkeys(found.gave_up),
        **found.undecided,
    }
    if found.core:
        undecided = {i: pair for i, pair in undecided.items() if i not in found.core}
    return Decision(found.broken, found.core, undecided, "z3", spent)

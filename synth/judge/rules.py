"""How strictly runs are judged, and when Z3 is asked: the options of a verdict."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from zlib import crc32

from synth.errors import BadInput
from synth.observed.clocks import CLOCKS_DIFFER
from synth.observed.run import Run


@dataclass(frozen=True, slots=True)
class Rules:
    """Options of `judge` and `judge_policies`; the defaults are those of the paper."""

    z3: str = "all"
    """Which verdicts Z3 re-checks: `all`, `failing`, `off`, or `1/k` (failing ones, and one run in k)."""
    once: bool = True
    """Test mode: calling an action again after it succeeded is an order error (False: a note)."""
    closed: bool = False
    """Test mode: calling an offered tool that the query does not speak of is an act error (False: a note)."""
    strict_parallel: bool = False
    """Order mode: ordered actions that overlap, or were requested in one message, are order errors."""
    wall_limit: float = 180.0
    """Seconds; a run that took longer is a timeout (paper, section 5.1)."""
    iteration_limit: int = 50
    z3_timeout_ms: int = 2000
    """One question to Z3."""
    case_z3_seconds: float = 5.0
    """All questions to Z3 about one run and its case."""
    policy_seconds: float = 0.2
    """What one policy may cost without Z3, counted in steps; beyond it that policy is undecided."""
    policy_z3_seconds: float = 0.5
    """All questions to Z3 about one run and one policy."""
    run_seconds: float = 10.0
    """For all policies of one run; what was not judged by then is undecided."""
    repair: bool = True
    """Are plans looked for that would have kept violated policies? (10 ms a run, at most 1 s.)"""
    clock_skew_ms: float = 50.0
    """How far two clocks may differ; matters only where calls name different clocks."""

    def __post_init__(self) -> None:
        if self.z3 not in ("all", "failing", "off") and not re.fullmatch(r"1/[1-9]\d{0,8}", self.z3):
            raise BadInput(f"expected all, failing, off or 1/k, got {self.z3!r}", field="z3")

    def asks_z3(self, run_id: str, *, failing: bool) -> bool:
        """Does Z3 re-check this run's verdict? The share `1/k` is a stable choice by run id."""
        if self.z3 in ("all", "off"):
            return self.z3 == "all"
        if failing or self.z3 == "failing":
            return failing
        return crc32(run_id.encode("utf-8", "replace")) % int(self.z3[2:]) == 0

    def with_skew(self, ms: float | None) -> Rules:
        """These where clocks may differ by so much; None = by as much as these say."""
        return self if ms is None else replace(self, clock_skew_ms=ms)

    @property
    def may_ask_z3(self) -> bool:
        """May Z3 decide what direct evaluation cannot?"""
        return self.z3 != "off"

    def skew_ns(self, run: Run) -> int:
        """How far two clocks of a run may differ: further than is said where the run itself proves that."""
        return round(max(self.clock_skew_ms, _proven_ms(run)) * 1e6)

    def clock_warning(self, run: Run) -> str | None:
        """In words, that a run proves a larger difference of clocks than is said; None where it does not."""
        proven = _proven_ms(run)
        if proven <= self.clock_skew_ms:
            return None
        return (
            f"two clocks of this run differ by at least {proven:g} ms (a call began before what asked for "
            f"it), more than clock_skew_ms says ({self.clock_skew_ms:g}): it is judged as if they did"
        )


def _proven_ms(run: Run) -> float:
    said = run.extra.get(CLOCKS_DIFFER)
    known = isinstance(said, int | float) and not isinstance(said, bool) and math.isfinite(said)
    return float(said) if known else 0.0  # type: ignore[arg-type]

"""How strictly runs are judged, and when Z3 is asked: the options of a verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from zlib import crc32

from synth.errors import BadInput


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

    @property
    def may_ask_z3(self) -> bool:
        """May Z3 decide what direct evaluation cannot?"""
        return self.z3 != "off"

    @property
    def skew_ns(self) -> int:
        return round(self.clock_skew_ms * 1e6)

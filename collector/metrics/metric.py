"""What a metric is, and what it is measured on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from collector.model import ModelCall, Rebuilt, Run
from synth.cases import Case
from synth.progress import Step, action_text, repetition, repetition_doubts, steps_of

Value = int | float | Mapping[str, int] | None
"""A number, counts by name, or None where the spans do not say."""


@dataclass(frozen=True)
class Observed:
    """A run with what else its spans told. What is made of its calls is made once for all metrics."""

    run: Run
    models: tuple[ModelCall, ...] = ()
    error_kinds: Mapping[int, str] = field(default_factory=dict)
    """Position of a failed call -> what its span calls the failure."""
    started_ns: int | None = None
    ended_ns: int | None = None
    case: Case | None = None
    """The test case that the run is an attempt at."""

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The calls by the attributes of AgentQuest's metrics: step, action, observation, hidden state."""
        return steps_of(self.run)

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Those of `steps`, for metrics that need no result."""
        return tuple(map(action_text, self.run.calls))

    @cached_property
    def repetition(self) -> tuple[float, ...] | None:
        """The repetition rate after each call; None where calls were not seen or arguments are not known."""
        return None if repetition_doubts(self.run) else repetition(self.actions).rates()

    @cached_property
    def turns(self) -> Counter[int]:
        """Message of a model -> calls that it asked for."""
        return Counter(call.step for call in self.run.calls if call.step is not None)


def observed(rebuilt: Rebuilt, case: Case | None = None, problems: Iterable[str] = ()) -> Observed:
    """A rebuilt run as metrics see it; `problems` are the gaps in it that its judgement told."""
    run = replace(rebuilt.run, problems=tuple(dict.fromkeys((*rebuilt.run.problems, *problems))))
    return Observed(run, rebuilt.models, rebuilt.error_kinds, rebuilt.started_ns, rebuilt.ended_ns, case)


@dataclass(frozen=True, slots=True)
class Metric:
    """One number about a run."""

    name: str
    about: str
    """What it is, for people; says when it is None."""
    measure: Callable[[Observed], Value]
    unit: str = ""
    highest: float | None = None
    """The upper end of its range; every range begins at 0. None = open."""
    better: Literal["low", "high", None] = None
    """Which direction is good news, where one is."""

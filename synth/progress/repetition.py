"""Repetition rate: how much of what an agent does it has done before (AgentQuest, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, get_args

from synth.errors import BadInput
from synth.progress.nearby import Nearby
from synth.progress.similarity import Similarity, exact, indel, similarity_named

Against = Literal["all", "unique"]
"""What an action is compared with: all earlier ones (the paper's listing), or those that repeated nothing
themselves (its formula). Where only equal texts are similar, both are the same."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """Which actions of a run repeat an earlier one."""

    repeated: tuple[bool, ...]
    """For each action in order."""

    @property
    def count(self) -> int:
        """Repeated actions: t - |A_t| after the last step."""
        return sum(self.repeated)

    @property
    def counts(self) -> tuple[int, ...]:
        """Repeated actions after each step."""
        return tuple(accumulate(self.repeated))

    @property
    def rate(self) -> float:
        """RR after the last step, of as many steps as there are; 0 for one step, and for none."""
        return self.rates()[-1] if self.repeated else 0.0

    def rates(self, horizon: int | None = None) -> tuple[float, ...]:
        """RR_t = (t - |A_t|) / (T - 1) after each of the first T steps.

        T is `horizon`, the steps that the agent was given, else the number of actions. 0 where T is 1.
        BadInput where `horizon` is less than 1.
        """
        steps = len(self.repeated) if horizon is None else at_least_one(horizon)
        return tuple(count / (steps - 1) if steps > 1 else 0.0 for count in self.counts[:steps])


def repetition(
    actions: Sequence[str],
    *,
    similarity: str | Similarity = "indel",
    threshold: float = 1.0,
    against: Against = "all",
) -> Repetition:
    """Which actions are at least `threshold` similar to an earlier one.

    `similarity` is a name of `SIMILARITIES` or a function (later, earlier) -> 0..1. BadInput for another
    name, a threshold that is not above 0 and at most 1, or another `against`.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise BadInput(f"a threshold is above 0 and at most 1, not {threshold!r}", field="threshold")
    if against not in get_args(Against):
        raise BadInput(
            f"compared is against {' or '.join(get_args(Against))}, not {against!r}", field="against"
        )
    measure = similarity_named(similarity) if isinstance(similarity, str) else similarity
    if measure is exact or measure is indel:
        whole = measure is exact or threshold == 1
        return _of_texts(actions, None if whole else Nearby(float(threshold)), against)
    return _of_pairs(actions, lambda later, earlier: measure(later, earlier) >= threshold, against)


def at_least_one(horizon: int) -> int:
    """The horizon. BadInput where it is no number of steps."""
    if isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < 1:
        raise BadInput(f"the steps of a run are a whole number from 1 on, not {horizon!r}", field="steps")
    return horizon


def _of_texts(actions: Sequence[str], nearby: Nearby | None, against: Against) -> Repetition:
    """Where equal texts are similar, what was done before is repeated, and each text is asked about once.

    Without `nearby` only equal texts are similar.
    """
    seen: set[str] = set()
    repeated = []
    for action in actions:
        again = action in seen or (nearby is not None and nearby.has_similar(action))
        if nearby is not None and action not in seen and not (again and against == "unique"):
            nearby.add(action)
        seen.add(action)
        repeated.append(again)
    return Repetition(tuple(repeated))


def _of_pairs(actions: Sequence[str], similar: Callable[[str, str], bool], against: Against) -> Repetition:
    """With any function; each pair of texts is asked about once, and a text is compared with itself too."""
    earlier: dict[str, None] = {}
    asked: dict[str, tuple[bool, int]] = {}
    repeated = []
    for action in actions:
        again, until = asked.get(action, (False, 0))
        again = again or any(similar(action, other) for other in list(earlier)[until:])
        asked[action] = again, len(earlier)
        if not (again and against == "unique"):
            earlier.setdefault(action)
        repeated.append(again)
    return Repetition(tuple(repeated))

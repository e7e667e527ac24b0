"""Rules about one model message: calls that must not have a sibling, nor text beside them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.judge.wording import calls_in_words
from synth.policies.evidence import MISSING, Evidence, key_of
from synth.policies.kinds.duty import NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps
from synth.policies.kinds.kind import MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.names import Names, Tools


def _read(m: re.Match[str], names: Names, same: Paths) -> Alone:
    return Alone(names.list(m["a"]))


@dataclass(frozen=True, slots=True)
class Alone:
    """A call is the only one of its model message, and the model did not talk in it."""

    kind: ClassVar[str] = "turn"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(rf"(?P<a>.+?) {MUST} be alone in (?:its|their) turn", _read),
    )
    what: tuple[Tools, ...]

    @property
    def tools(self) -> tuple[Tools, ...]:
        return self.what

    @property
    def traits(self) -> Traits:
        return Traits(subjects=self.what, turns=True, reads=Reads())

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if not seen.calls:
            return NOT_APPLICABLE
        watched = sorted({i for tools in self.what for i in self._requested(tools, seen)})
        steps = _steps(seen)
        if not watched:
            return NOT_APPLICABLE
        watched = [i for i in watched if seen.owns(i)]
        if not watched:
            return NOT_ITS_OWN
        if any(steps[i] is MISSING for i in watched):
            return Judged("unsupported", (), "The run does not say which calls belong to one model message.")
        sizes = Counter(map(key_of, (step for step in steps if step is not MISSING)))
        crowded = [i for i in watched if sizes[key_of(steps[i])] > 1]
        talking = [i for i in watched if seen.call_field(i, "with_text") is True]
        if broken := sorted({*crowded, *talking}):
            return Judged("violated", tuple(broken), _in_words(crowded, talking))
        if any(seen.call_field(i, "with_text") is MISSING for i in watched):
            return Judged(
                "unsupported", (), "The run does not say whether the model talked beside its calls."
            )
        return Judged("ok", (), f"{calls_in_words(watched).capitalize()} had a message of their own.")

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=lambda call: False)

    def _opens(self, seen: Evidence) -> bool:
        gaps = seen.gaps.unasked
        if any(map(gaps.can_be, self.what)):
            return True
        steps = [_steps(seen)[i] for i in seen.order]
        rising = all(isinstance(step, int) for step in steps) and all(a <= b for a, b in pairwise(steps))
        watched = {_steps(seen)[i] for tools in self.what for i in self._requested(tools, seen)}
        return any(
            not rising
            or (
                (after < 0 or steps[int(after)] <= step)
                and (before == math.inf or step <= steps[int(before)])
            )
            for after, before in gaps.places
            for step in watched
        )

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()

    @staticmethod
    def _requested(tools: Tools, seen: Evidence) -> list[int]:
        """Requests count, whether they ran or not: the rule is about what the model said."""
        return [i for i in range(len(seen.calls)) if seen.is_of(i, tools)]


def _steps(seen: Evidence) -> list[Any]:
    if "steps" not in seen.cache:
        seen.cache["steps"] = [seen.call_field(i, "step") for i in range(len(seen.calls))]
    steps: list[Any] = seen.cache["steps"]
    return steps


def _in_words(crowded: list[int], talking: list[int]) -> str:
    parts = []
    if crowded:
        parts.append(f"{calls_in_words(crowded)} shared a model message with another call")
    if talking:
        parts.append(f"the model also talked beside {calls_in_words(talking)}")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}."

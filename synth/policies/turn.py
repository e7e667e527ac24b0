"""Rules about one model message: calls that must not have a sibling, nor text beside them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

from synth.explain import calls_in_words
from synth.policies.evidence import MISSING, Evidence, key_of
from synth.policies.kinds import NOT_APPLICABLE, Judged
from synth.policies.model import Tools
from synth.rules import Rules


@dataclass(frozen=True, slots=True)
class Alone:
    """A call is the only one of its model message, and the model did not talk in it."""

    kind: ClassVar[str] = "turn"
    what: tuple[Tools, ...]

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if not seen.calls:
            return NOT_APPLICABLE
        watched = sorted({i for tools in self.what for i in self._requested(tools, seen)})
        steps = _steps(seen)
        if not watched:
            return NOT_APPLICABLE
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
        if seen.run.problems:
            return Judged("undecided", (), "The evidence is incomplete: a sibling may not have been seen.")
        return Judged("ok", (), f"{calls_in_words(watched).capitalize()} had a message of their own.")

    @staticmethod
    def _requested(tools: Tools, seen: Evidence) -> list[int]:
        """Requests count, whether they ran or not: the rule is about what the model said."""
        return [i for i, call in enumerate(seen.calls) if call.tool in tools]


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

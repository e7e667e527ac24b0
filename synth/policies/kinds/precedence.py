"""Order: an action needs an earlier success of another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from synth.formal.constraints import Before, Constraint
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import Compared, judge_compared, values_of
from synth.policies.kinds.candidates import Ended, besides, unseen_besides, without_arguments
from synth.policies.kinds.duty import Duty, Judged, despite_gaps
from synth.policies.kinds.formulas import SomeEndedBefore
from synth.policies.kinds.kind import Form, Paths, Relation, Traits
from synth.policies.kinds.plans import Slot, needs_one, slots_besides, slots_of
from synth.policies.names import Names, Tools


def _read(said: Sequence[Constraint], names: Names, same: Paths) -> Precedence:
    orders = [c for c in said if isinstance(c, Before)]
    return Precedence(tuple((names.actions[c.first], names.actions[c.then]) for c in orders), same)


@dataclass(frozen=True, slots=True)
class Precedence:
    """Every attempt at `then` needs an earlier success of `first`, with equal arguments if asked."""

    kind: ClassVar[str] = "precedence"
    forms: ClassVar[tuple[Form, ...]] = (Relation((Before,), _read, same=True),)
    pairs: tuple[tuple[Tools, Tools], ...]
    """(first, then) each: a sentence may speak of several."""
    same: Paths = ()

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for pair in self.pairs for tools in pair)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=tuple(then for _, then in self.pairs), needs=self.pairs)

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.same and without_arguments(seen, [tools for pair in self.pairs for tools in pair]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties = [d for first, then in self.pairs for d in self._duties(first, then, seen)]
        return judge_compared(duties, self.same, seen, rules)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(
            judged, opens=partial(self._opens, judged, seen), mends=partial(self._mends, seen)
        )

    def _opens(self, judged: Judged, seen: Evidence) -> bool:
        return any(
            unseen_besides(then, first, seen)
            and (
                judged.verdict == "not_applicable"
                or bool(self.same)
                or not seen.gaps.all_follow(seen.successes(first))
            )
            for first, then in self.pairs
        )

    def _mends(self, seen: Evidence, call: int) -> bool:
        return seen.gaps.can_precede(call) and any(
            seen.gaps.can_be(first) for first, then in self.pairs if seen.calls[call].tool in then
        )

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        for first, then in self.pairs:
            for j in slots_besides(then, first, slots):
                yield needs_one(j, slots_of(first, slots), lambda w, i, j=j: w.before(i, j))  # type: ignore[misc]

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, first: Tools, then: Tools, seen: Evidence) -> Iterator[Compared]:
        attempts = besides(seen.attempts(then), then, first, seen)
        if not attempts:
            return
        groups: dict[Any, list[int]] = {}
        for i in seen.successes(first):
            groups.setdefault(values_of(i, 0, self.same, seen), []).append(i)
        ended = {values: Ended(calls, seen) for values, calls in groups.items()}
        bare = ended.pop(None, None)
        for j in attempts:
            values = values_of(j, 1, self.same, seen)
            options = ended[values].before(j) if values in ended else ()
            more = bare.before(j) if bare is not None else ()
            said = f"{then.phrase} (call {j}) needs an earlier success of {first.phrase}{self._with()}."
            duty = Duty(j, SomeEndedBefore(j, options), said)
            if values is None:
                yield Compared(duty, None, ((j, 1),))
            else:
                perhaps = Duty(j, SomeEndedBefore(j, (*options, *more)), said) if more else duty
                yield Compared(duty, perhaps, tuple((i, 0) for i in more))

    def _with(self) -> str:
        return " with the same " + " and ".join(".".join(b) for _, b in self.same) if self.same else ""

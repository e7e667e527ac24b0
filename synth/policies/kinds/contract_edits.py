"""What could have been done where a contract was broken: what was required in time, or a call less."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from synth.formal.cel import CannotEvaluate
from synth.formal.constraints import Fixed
from synth.formal.contracts import (
    PARAMETER,
    Action,
    Contract,
    Fact,
    Pattern,
    Simulation,
    Situation,
    ToolContract,
    Wanted,
    is_fact,
    is_wild,
    matches,
)
from synth.policies.kinds.edits import Drop, Edit, Insert, Move

MOST_BINDINGS = 8
"""Ways to fill in the arguments of one new call that are tried."""
MOST_WORDS = 12

Values = dict[str, str]
"""Parameter -> the word that stands for it."""


@dataclass
class Mending:
    """The calls of a run as a contract sees them, in the order in which they begin."""

    contract: Contract
    situation: Situation
    actions: Sequence[tuple[int, Action]]
    times: Fixed

    def of_call(self, call: int, unmet: Sequence[str]) -> Iterator[Edit]:
        """For a call that misses some facts, the first of them first."""
        for text in unmet:
            need = Pattern.of(text)
            yield from self._without(call, need) if need.negated else self._with(call, need)
        if not all(self._can_be_provided(Pattern.of(text)) for text in unmet):
            yield Drop(call)

    def of_goal(self, end: int, first: int) -> Iterator[Edit]:
        """For what does not hold at the end."""
        holding = self._holding(len(self.actions))
        for wanted in self.situation.goal or ():
            if wanted not in holding:
                for at, action in self.actions:
                    if wanted in self._provided(action):
                        yield Move(at, end)
                    if any(matches(one, wanted) for one in self._cleared(action)):
                        yield Move(at, first)
                yield from self._calls(wanted, end, holding)

    def _with(self, call: int, need: Pattern) -> Iterator[Edit]:
        wanted = need.facts({})[0]
        for at, action in self.actions:
            if at > call and any(matches(wanted, one) for one in self._provided(action)):
                yield Move(at, call)
                yield Move(call, at + 1)
            if at < call and is_fact(wanted) and any(matches(one, wanted) for one in self._cleared(action)):
                yield Move(at, call + 1)
        before = sum(at < call for at, _ in self.actions)
        yield from self._calls(need.words, call, self._holding(before))

    def _without(self, call: int, need: Pattern) -> Iterator[Edit]:
        wanted = need.facts({})[0]
        for at, action in self.actions:
            if at < call and any(matches(wanted, fact) for fact in self._provided(action)):
                yield Move(at, call + 1)
            if at > call and is_fact(wanted) and any(matches(one, wanted) for one in self._cleared(action)):
                yield Move(at, call)
        yield Drop(call)

    def _can_be_provided(self, need: Pattern) -> bool:
        return need.negated or any(
            bound(pattern, need.words) is not None
            for tool in self.contract.tools.values()
            for effect in tool.effects
            for pattern in effect.provides
        )

    def _calls(self, fact: Fact, to: int, holding: frozenset[Fact]) -> Iterator[Insert]:
        """New calls that provide it, if they may be made where these facts hold."""
        for name, tool in self.contract.tools.items():
            for effect in tool.effects:
                for pattern in effect.provides:
                    if (values := bound(pattern, fact)) is not None:
                        filled = self._filled(tool, values, holding)
                        whole = tool.args is not None
                        yield from (Insert(to, name, one, whole) for one in islice(filled, MOST_BINDINGS))

    def _filled(self, tool: ToolContract, values: Values, holding: frozenset[Fact]) -> Iterator[Values]:
        """Every argument of a call: as its requirements find them among the facts, else any known word."""
        names = tool.args if tool.args is not None else sorted(_parameters(tool))
        for known in _satisfied([need for need in tool.requires if not need.negated], values, holding):
            free = [name for name in names if name not in known]
            for words in product(self._words(holding), repeat=len(free)):
                yield {name: {**known, **dict(zip(free, words, strict=True))}[name] for name in names}

    def _words(self, holding: frozenset[Fact]) -> list[str]:
        words = self.situation.objects or {word for fact in holding for word in fact[1:]}
        return sorted(words)[:MOST_WORDS]

    def _provided(self, action: Action) -> Sequence[Fact]:
        return self._effects(action)[1]

    def _cleared(self, action: Action) -> Sequence[Wanted]:
        return self._effects(action)[0]

    def _effects(self, action: Action) -> tuple[Sequence[Wanted], Sequence[Fact]]:
        """What the call clears and provides; nothing where its values do not tell."""
        try:
            return Simulation(self.contract, self.situation).effects(action)
        except CannotEvaluate:
            return (), ()

    def _holding(self, before: int) -> frozenset[Fact]:
        """The facts after the first so many calls."""
        course = Simulation(self.contract, self.situation)
        course.run(self.actions[:before], self.times)
        return frozenset(course.holding)


def bound(pattern: Pattern, fact: Fact) -> Values | None:
    """What its parameters must stand for to be this fact, or one of these; None where it cannot be."""
    if len(pattern.words) != len(fact):
        return None
    values: Values = {}
    for word, wanted in zip(pattern.words, fact, strict=True):
        parameter = PARAMETER.fullmatch(word)
        if parameter is None:
            if word != wanted and not is_wild(wanted):
                return None
        elif not is_wild(wanted) and values.setdefault(parameter[1] or parameter[2], wanted) != wanted:
            return None
    return values


def _satisfied(
    needs: Sequence[Pattern], values: Mapping[str, str], holding: frozenset[Fact]
) -> Iterator[Values]:
    """The values with those of more parameters, for which facts hold that are needed, as far as any do."""
    if not needs:
        yield dict(values)
        return
    fits = [
        {**values, **found}
        for fact in sorted(holding)
        if (found := bound(needs[0], fact)) is not None
        and all(values.get(name, word) == word for name, word in found.items())
    ]
    for one in fits or [dict(values)]:
        yield from _satisfied(needs[1:], one, holding)


def _parameters(tool: ToolContract) -> set[str]:
    patterns = (*tool.requires, *(p for e in tool.effects for p in (*e.provides, *e.clears)))
    return {name for pattern in patterns for name in pattern.parameters}

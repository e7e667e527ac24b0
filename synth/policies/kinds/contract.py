"""Contracts as policies: the file form, and the result of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from synth.formal.cel import Condition, condition
from synth.formal.constraints import Fixed, listed
from synth.formal.contract_orders import OpenOrders
from synth.formal.contracts import (
    ILL_FORMED,
    Action,
    Contract,
    Course,
    Effect,
    Fact,
    Pattern,
    Simulation,
    Situation,
    ToolContract,
    Watched,
    fact,
    facts_in,
    is_wild,
    may_equal,
    words_of,
)
from synth.formal.solver import PlanRule
from synth.judge.findings import is_blocked
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence, made_by
from synth.policies.history import History
from synth.policies.kinds.conditions import in_plain_words
from synth.policies.kinds.contract_edits import Mending
from synth.policies.kinds.contract_words import Words
from synth.policies.kinds.duty import (
    NOT_APPLICABLE,
    NOT_ITS_OWN,
    Judged,
    despite_gaps,
    first_to_break,
    without_fields,
)
from synth.policies.kinds.edits import Edit, begin_of, first_broken
from synth.policies.kinds.kind import Field, Form, Reads, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.names import Names, PolicyVerdict, Span, Tools
from synth.policies.source import Node

FIELDS = ("initial", "goal", "objects", "on_violation", "closed", "tools")
TOOL_FIELDS = ("args", "requires", "provides", "clears", "when", "check", "effects")
EFFECT_FIELDS = ("provides", "clears", "when")

Source = str | tuple[str, ...] | None
"""A field of the run, or the facts themselves; None where nothing is given."""


# ---------------------------------------------------------------- the file form


def read_contract(node: Node, names: Names) -> ContractRule:
    """`{initial, goal, objects, on_violation, closed, tools: {NAME: {...}}}`, see the module `contracts`."""
    node.only(FIELDS)
    violation, closed = node.get("on_violation"), node.get("closed")
    if closed is not None and not isinstance(closed.value, bool):
        raise closed.bad(f"expected true or false, got {closed.value!r}")
    tools = {name: _tool(entry) for name, entry in node.need("tools").pairs()}
    if not tools:
        raise node.bad("a contract names at least one tool")
    contract = Contract(
        tools,
        "stop" if violation is None else violation.one_of(("stop", "skip", "apply")),
        closed is not None and bool(closed.value),
    )
    goal = _source(node.get("goal"))
    return ContractRule(
        contract,
        initial=_source(node.get("initial")),
        goal=goal,
        objects=_source(node.get("objects")),
        words=Words.of(contract, goal if isinstance(goal, tuple) else ()),
    )


def _source(node: Node | None) -> Source:
    if node is None:
        return None
    if isinstance(node.value, list):
        return tuple(item.text() for item in node.items())
    return node.text()


def _tool(node: Node) -> ToolContract:
    node.only(TOOL_FIELDS)
    args = node.get("args")
    names = None if args is None else tuple(item.text() for item in args.items())
    effects = node.get("effects")
    own = _effect(node, names)
    more = [] if effects is None else [_checked_effect(item, names) for item in effects.items()]
    return ToolContract(
        args=names,
        requires=_patterns(node.get("requires"), names),
        check=_condition(node.get("check"), ("args",)),
        effects=tuple(effect for effect in (own, *more) if effect.provides or effect.clears),
    )


def _checked_effect(node: Node, names: tuple[str, ...] | None) -> Effect:
    node.only(EFFECT_FIELDS)
    return _effect(node, names)


def _effect(node: Node, names: tuple[str, ...] | None) -> Effect:
    return Effect(
        provides=_patterns(node.get("provides"), names, plain=True),
        clears=_patterns(node.get("clears"), names, star=True),
        when=_condition(node.get("when"), ("args", "result")),
    )


def _patterns(
    node: Node | None, names: tuple[str, ...] | None, *, plain: bool = False, star: bool = False
) -> tuple[Pattern, ...]:
    if node is None:
        return ()
    found = []
    for item in node.items() if isinstance(node.value, list) else [node]:
        pattern = Pattern.of(item.text())
        if not pattern.words:
            raise item.bad("a fact needs at least one word")
        if names is not None and (strange := sorted(pattern.parameters - set(names))):
            raise item.bad(f"the tool has no argument {strange[0]!r} (its args are {', '.join(names)})")
        if (plain or star) and pattern.negated:
            raise item.bad("an effect says what it provides or clears; `not` belongs into `requires`")
        if plain and any(map(is_wild, pattern.words)):
            raise item.bad("`*` and `!` match facts that hold; they cannot be provided")
        found.append(pattern)
    return tuple(found)


def _condition(node: Node | None, variables: tuple[str, ...]) -> Condition | None:
    if node is None:
        return None
    with node.blamed():
        return condition(node.text(), variables)


# ---------------------------------------------------------------- the kind


@dataclass(frozen=True, slots=True)
class ContractRule:
    """The calls of a run must keep the contracts of their tools, and reach the goal if there is one."""

    kind: ClassVar[str] = "contract"
    forms: ClassVar[tuple[Form, ...]] = (Field("contract", read_contract),)
    contract: Contract
    initial: Source = None
    goal: Source = None
    objects: Source = None
    words: Words = field(default_factory=Words, compare=False)
    """The contract on one line."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return ()

    @property
    def traits(self) -> Traits:
        tools = tuple(Tools(name, (name,)) for name in self.contract.tools)
        asks = any(e.when is not None and "result" in e.when.names for e in self._effects)
        reads = Reads(tools, tools if asks else (), others=True)
        return Traits(subjects=(), named=tuple(self.contract.tools), words=self.words.text, reads=reads)

    @property
    def _effects(self) -> Iterator[Effect]:
        return (effect for tool in self.contract.tools.values() for effect in tool.effects)

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        named = [source for source in (self.initial, self.goal, self.objects) if isinstance(source, str)]
        if without := without_fields(named, seen):
            return without
        actions = list(self._actions(seen))
        if self.goal is None and not actions:
            return NOT_APPLICABLE
        course = self._course(actions, seen)
        judged = _judged(course, seen, stops=self.contract.on_violation == "stop")
        if judged.verdict != "violated":
            return judged
        return replace(judged, clauses=self._broken(course, seen) if judged.violations else self._goal())

    def _goal(self) -> tuple[tuple[None, Span | None]]:
        return ((None, self.words.goal),)

    def _broken(self, course: Course, seen: Evidence) -> tuple[tuple[int, Span | None], ...]:
        first = self.words.broken(seen.calls[course.bad[0]].tool, course.unmet)
        return ((course.bad[0], first), *((call, None) for call in course.bad[1:]))

    def _course(self, actions: Sequence[tuple[int, Action]], seen: Evidence) -> Course:
        times, situation = seen.times, self._situation(seen)
        if isinstance(times, Fixed) and all(action.succeeded is not None for _, action in actions):
            return Simulation(self.contract, situation, seen.budget).run(actions, times)
        return OpenOrders(self.contract, situation, seen.budget).run(actions, times)

    def held(self, seen: Evidence) -> list[tuple[int | None, frozenset[Fact]]]:
        """(call, facts that held when it began) each, and at the end (None); empty where no clock tells.

        It ends where the contract stops, and at a call that cannot be evaluated.
        """
        actions, times = list(self._actions(seen)), seen.times
        if not isinstance(times, Fixed) or any(action.succeeded is None for _, action in actions):
            return []
        watched = Watched(self.contract, self._situation(seen), seen.budget)
        course = watched.run(actions, times)
        known: list[tuple[int | None, frozenset[Fact]]] = [
            (call, facts) for (call, _), facts in zip(actions, watched.held, strict=False)
        ]
        stopped = course.bad and self.contract.on_violation == "stop"
        return known if course.unclear or stopped else [*known, (None, frozenset(watched.holding))]

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        """An unseen call of a tool with a contract may break it, and may provide what others miss."""
        if judged.verdict != "not_applicable" and not self._concerns_unseen(seen):
            return judged
        left = despite_gaps(
            judged, opens=partial(self._opens, judged, seen), mends=partial(self._mends, judged, seen)
        )
        if left.violations and self.contract.on_violation == "stop":
            hidden = seen.gaps.can_precede(left.violations[0]) and self._opens(left, seen)
            left = first_to_break(left, left.violations, seen, unseen=hidden)
        return (
            left if left.verdict != "undecided" else replace(left, details={**judged.details, "valid": None})
        )

    def _concerns_unseen(self, seen: Evidence) -> bool:
        possible = seen.gaps.tools()
        if possible is None or seen.gaps.most < 1:
            return seen.gaps.most > 0
        return any((name in self.contract.tools) or self.contract.closed for name in possible)

    def _opens(self, judged: Judged, seen: Evidence) -> bool:
        """May an unseen call be wrong, or change what others need?"""
        tools = self.contract.tools
        possible = seen.gaps.tools()
        if judged.verdict == "not_applicable" or possible is None:
            return True
        negated = any(need.negated for tool in tools.values() for need in tool.requires)
        return not all(name in tools and _harmless(tools[name], negated=negated) for name in possible)

    def _mends(self, judged: Judged, seen: Evidence, call: int) -> bool:
        if not seen.gaps.can_precede(call):
            return False
        tool = self.contract.tools.get(seen.calls[call].tool)
        unmet = judged.details["unmet"] if call == judged.details["first_bad"] else ()
        if tool is not None and tool.check is not None and tool.check.text in unmet:
            return False
        return all(self._providable(text, seen) for text in unmet)

    def _providable(self, unmet: str, seen: Evidence) -> bool:
        """Can any call that the run may hold make the fact hold (or, of `not ...`, clear it)?"""
        if unmet == ILL_FORMED:
            return False
        need = Pattern.of(unmet)
        possible = seen.gaps.tools()
        return need.negated or any(
            may_equal(need, fact)
            for name, tool in self.contract.tools.items()
            if possible is None or name in possible
            for effect in tool.effects
            for fact in effect.provides
        )

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        actions, times = list(self._actions(seen)), seen.times
        if not isinstance(times, Fixed):
            return
        mending = Mending(self.contract, self._situation(seen), actions, times)
        if not judged.violations:
            yield from mending.of_goal(len(seen.calls), begin_of(seen))
        elif judged.details["first_bad"] == first_broken(judged, seen):
            yield from mending.of_call(judged.details["first_bad"], judged.details["unmet"])

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> Iterator[str]:
        """Tools whose needs nothing can provide, however the calls are ordered (deletions left aside)."""
        if isinstance(self.initial, str):
            return
        dead = unreachable(self.contract, [Pattern.of(text) for text in self.initial or ()])
        if dead:
            missing = listed(f"{tool} (needs {' '.join(need.words)})" for tool, need in dead.items())
            yield f"These tools can never be called in order: {missing}."

    def _actions(self, seen: Evidence) -> Iterator[tuple[int, Action]]:
        history = History.of(seen)
        for i in seen.order:
            call = seen.calls[i]
            refused = call.executed is False and call.error is not None and not is_blocked(call)
            if call.executed or refused:
                result = history.result(i) if call.tool in self.contract.tools else None
                hangs = call.executed is True and not call.finished and call.error is None
                yield i, Action(call.tool, history.arguments(i), result, None if hangs else call.succeeded)

    def _situation(self, seen: Evidence) -> Situation:
        objects = self._value(self.objects, seen)
        goal = self._value(self.goal, seen)
        return Situation(
            initial=_facts(self._value(self.initial, seen)),
            goal=None if goal is None else tuple(sorted(_facts(goal))),
            objects=None if objects is None else frozenset(words_of(_names(objects))),
            offered=None if seen.run.tools is None else frozenset(seen.run.tools),
        )

    @staticmethod
    def _value(source: Source, seen: Evidence) -> Any:
        return seen.run_field(source) if isinstance(source, str) else source


def _facts(value: Any) -> frozenset[Fact]:
    return frozenset(map(fact, value)) if isinstance(value, tuple) else facts_in(value)


def _names(value: Any) -> list[Any]:
    return list(value)


def _judged(course: Course, seen: Evidence, *, stops: bool) -> Judged:
    own = tuple(filter(seen.owns, course.bad))
    first = own[:1] == course.bad[:1]
    missed = course.goal_reached is False and seen.tells_end
    notes = [
        f"{made_by(note.by, seen)} cleared {' '.join(note.fact)} while {made_by(note.call, seen)} ran."
        for note in course.notes
    ]
    details: dict[str, Any] = {
        "valid": not own and not missed,
        "first_bad": own[0] if own else None,
        "unmet": list(course.unmet) if first else [],
        "goal_reached": course.goal_reached,
        **({"notes": notes} if notes else {}),
    }
    if own:
        why = f"needs {', '.join(course.unmet)}" if first else "is not allowed by the contract"
        return Judged("violated", own, f"{made_by(own[0], seen)} {why}.", details)
    if course.bad and stops:
        return NOT_ITS_OWN
    if course.unclear is not None:
        verdict: PolicyVerdict = "undecided" if course.recorded else "unsupported"
        return Judged(verdict, (), f"{in_plain_words(course.unclear)}.", {**details, "valid": None})
    if missed and seen.run.closed:
        said = "The run ended without reaching its goal."
        return Judged("violated", (), said, details, awaits=True)
    if said := _open(course, seen):
        awaits = seen.tells_end and (missed or course.goal_open)
        return Judged("undecided", (), said, {**details, "valid": None}, awaits=awaits)
    return Judged("ok", (), " ".join(["Every call was allowed.", *notes[:1]]), details)


def _open(course: Course, seen: Evidence) -> str:
    """Why the evidence does not decide; empty where it does."""
    own = [call for call in course.open if seen.owns(call)]
    if own:
        needs = f" needs {', '.join(course.lacking)}" if own[0] == course.open[0] else ""
        return f"{made_by(own[0], seen)}{needs}; what was seen of the order of calls allows both."
    if not seen.tells_end:
        return ""
    if course.goal_reached is False:
        return "The goal is not reached yet."
    if course.goal_open:
        return "What was seen of the order of calls allows the goal to be reached and to be missed."
    return ""


def _harmless(tool: ToolContract, *, negated: bool) -> bool:
    """No call of it can be wrong, nor make another one wrong (`negated`: some need facts not to hold)."""
    provides = any(effect.provides for effect in tool.effects)
    clears = any(effect.clears for effect in tool.effects)
    return not (tool.requires or tool.check or tool.args is not None or clears or (provides and negated))


# ---------------------------------------------------------------- what lint knows


def unreachable(contract: Contract, initial: Sequence[Pattern]) -> dict[str, Pattern]:
    """Tool -> a need that no sequence of allowed calls provides; parameters may take any value."""
    available = list(initial)
    waiting = dict(contract.tools)
    grew = True
    while grew:
        grew = False
        for name, tool in list(waiting.items()):
            if all(_provided(need, available) for need in tool.requires):
                available += [fact for effect in tool.effects for fact in effect.provides]
                del waiting[name]
                grew = True
    return {
        name: next(need for need in tool.requires if not _provided(need, available))
        for name, tool in waiting.items()
    }


def _provided(need: Pattern, available: Sequence[Pattern]) -> bool:
    return need.negated or any(may_equal(need, fact) for fact in available)

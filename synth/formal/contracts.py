"""Contracts of tools: which facts a call requires, provides and clears (STRIPS actions over a run).

Facts are words (`on b a`); parameters come from the call's arguments (`on {a1} {a2}`), a list-valued
argument stands for each of its elements. `*` matches any one word and `!w` any word but `w`; only the
contract can say so, never an argument. Clears come before provides; a call that failed has no effect,
but its attempt is judged.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

from synth.formal.cel import CannotEvaluate, Condition

Fact = tuple[str, ...]
"""The words of a fact."""
OnViolation = Literal["stop", "skip", "apply"]

ILL_FORMED = "<unknown action, object or argument count>"
MAX_FACTS = 100_000

_PARAMETER = re.compile(r"\{([^{}]+)\}|^\?([\w-]+)")


def fact(text: str) -> Fact:
    """The words of a fact."""
    return tuple(text.split())


@dataclass(frozen=True, slots=True)
class Pattern:
    """A fact with parameters; `negated` where it must not hold."""

    words: Fact
    negated: bool = False

    @classmethod
    def of(cls, text: str) -> Pattern:
        """`on {a1} {a2}`, `not on * {a1}`."""
        words = fact(text)
        return cls(words[1:], True) if words[:1] == ("not",) else cls(words)

    @property
    def parameters(self) -> set[str]:
        return {a or b for word in self.words for a, b in _PARAMETER.findall(word)}

    def facts(self, arguments: Mapping[str, Sequence[str]]) -> list[Wanted]:
        """Every fact it stands for with these arguments; KeyError where one is missing."""
        names = sorted(self.parameters)
        if math.prod(len(arguments[name]) for name in names) > MAX_FACTS:
            raise CannotEvaluate(f"{' '.join(self.words)} stands for more than {MAX_FACTS} facts")
        combinations = itertools.product(*(arguments[name] for name in names))
        return [
            tuple(_filled(word, dict(zip(names, values, strict=True))) for word in self.words)
            for values in combinations
        ]


@dataclass(frozen=True, slots=True)
class Wild:
    """A word that stands for several: any word at all, or any but one."""

    but: str | None = None


Wanted = tuple[str | Wild, ...]
"""A fact, or a shape of facts."""


def is_wild(word: str) -> bool:
    """Does a word of a contract stand for several words?"""
    return word == "*" or (word.startswith("!") and len(word) > 1)


def _filled(word: str, values: Mapping[str, str]) -> str | Wild:
    if word == "*":
        return Wild()
    text = _PARAMETER.sub(lambda m: values[m[1] or m[2]], word.removeprefix("!") if is_wild(word) else word)
    return Wild(text) if is_wild(word) else text


def _matches(wanted: str | Wild, word: str) -> bool:
    return wanted.but != word if isinstance(wanted, Wild) else wanted == word


@dataclass(frozen=True, slots=True)
class Effect:
    """What a successful call changes, if `when` holds (over `args` and `result`)."""

    provides: tuple[Pattern, ...] = ()
    clears: tuple[Pattern, ...] = ()
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class ToolContract:
    """The contract of one tool."""

    args: tuple[str, ...] | None = None
    """Names of its arguments, all needed and no others; None = any."""
    requires: tuple[Pattern, ...] = ()
    check: Condition | None = None
    """A further condition over `args` that must hold."""
    effects: tuple[Effect, ...] = ()

    @property
    def needs_arguments(self) -> bool:
        """Can a call be judged only by its arguments?"""
        if self.args is not None:
            return bool(self.args)
        patterns = (*self.requires, *(p for e in self.effects for p in (*e.provides, *e.clears)))
        conditions = (self.check, *(effect.when for effect in self.effects))
        return any(p.parameters for p in patterns) or any(c and "args" in c.names for c in conditions)


@dataclass(frozen=True, slots=True)
class Contract:
    """The contracts of some tools, and where a run starts and should end."""

    tools: Mapping[str, ToolContract]
    on_violation: OnViolation = "stop"
    closed: bool = False
    """Is a call of a tool without a contract bad, although the run offered it?"""


@dataclass(frozen=True, slots=True)
class Situation:
    """What one run brings: the facts that hold at first, the goal, the objects that exist."""

    initial: frozenset[Fact]
    goal: tuple[Fact, ...] | None = None
    objects: frozenset[str] | None = None
    offered: frozenset[str] | None = None
    """Tools of the run; None = unknown."""


@dataclass(frozen=True, slots=True)
class Action:
    """One call, as contracts see it."""

    tool: str
    arguments: Any
    result: Any = None
    succeeded: bool = True


@dataclass(frozen=True, slots=True)
class Course:
    """How a run went under its contract."""

    bad: tuple[int, ...]
    """Positions of the calls that broke it: the first only, where it stops there."""
    unmet: tuple[str, ...]
    """What was missing at the first bad call."""
    goal_reached: bool | None
    """None where no goal is given; False if the run stopped at a bad call."""
    unclear: str | None = None
    """Why the course could not be followed to its end."""
    recorded: bool = True
    """False where that is because the arguments of a call were not recorded."""

    @property
    def first_bad(self) -> int | None:
        return self.bad[0] if self.bad else None

    @property
    def valid(self) -> bool:
        return not self.bad and self.goal_reached is not False


class NotRecorded(CannotEvaluate):
    """A contract speaks of the arguments of a call, and they were not recorded."""


@dataclass
class Simulation:
    """The facts as the calls of a run change them."""

    contract: Contract
    situation: Situation
    holding: set[Fact] = field(default_factory=set)

    def run(self, actions: Iterable[tuple[int, Action]]) -> Course:
        """Follow the calls, given with their positions."""
        self.holding = set(self.situation.initial)
        bad: list[int] = []
        first_unmet: tuple[str, ...] = ()
        try:
            for position, action in actions:
                unmet = self._unmet(action)
                if unmet:
                    first_unmet = first_unmet or unmet
                    bad.append(position)
                    if self.contract.on_violation == "stop":
                        break
                if action.succeeded and (not unmet or self._applies_anyway(unmet)):
                    self._apply(action)
        except CannotEvaluate as problem:
            recorded = not isinstance(problem, NotRecorded)
            return Course(tuple(bad), first_unmet, None, str(problem), recorded)
        return Course(tuple(bad), first_unmet, self._goal_reached(stopped=bool(bad)))

    def _applies_anyway(self, unmet: tuple[str, ...]) -> bool:
        return self.contract.on_violation == "apply" and unmet != (ILL_FORMED,)

    def _goal_reached(self, *, stopped: bool) -> bool | None:
        if self.situation.goal is None:
            return None
        if stopped and self.contract.on_violation == "stop":
            return False
        return all(wanted in self.holding for wanted in self.situation.goal)

    def _unmet(self, action: Action) -> tuple[str, ...]:
        """What the contract asks and does not find; empty if the call is in order."""
        contract = self.contract.tools.get(action.tool)
        offered = self.situation.offered
        if contract is None:
            known = not self.contract.closed and (offered is None or action.tool in offered)
            return () if known else (ILL_FORMED,)
        if offered is not None and action.tool not in offered:
            return (ILL_FORMED,)
        if action.arguments is None and contract.needs_arguments:
            raise NotRecorded(f"The arguments of a call of {action.tool} were not recorded")
        values = self._values(contract, action)
        if values is None:
            return (ILL_FORMED,)
        missing: list[str] = []
        for pattern in contract.requires:
            try:
                facts = pattern.facts(values)
            except KeyError:
                return (ILL_FORMED,)
            missing += [self._said(pattern, one) for one in facts if self._holds(one) is pattern.negated]
        if (
            contract.check is not None
            and not missing
            and not contract.check.holds({"args": action.arguments})
        ):
            missing.append(contract.check.text)
        return tuple(missing)

    @staticmethod
    def _said(pattern: Pattern, one: Wanted) -> str:
        words = [word if isinstance(word, str) else (f"!{word.but}" if word.but else "*") for word in one]
        return " ".join(["not", *words] if pattern.negated else words)

    def _holds(self, wanted: Wanted) -> bool:
        return bool(self._matching(wanted))

    def _matching(self, wanted: Wanted) -> list[Fact]:
        plain = tuple(word for word in wanted if isinstance(word, str))
        if len(plain) == len(wanted):
            return [plain] if plain in self.holding else []
        return [
            held for held in self.holding if len(held) == len(wanted) and all(map(_matches, wanted, held))
        ]

    def _values(self, contract: ToolContract, action: Action) -> dict[str, list[str]] | None:
        """The arguments as words; None where their names or objects are not those of the contract."""
        arguments = action.arguments
        if not isinstance(arguments, Mapping):
            arguments = {} if arguments is None else None
        if arguments is None or (contract.args is not None and set(arguments) != set(contract.args)):
            return None
        values = {str(name): words_of(value) for name, value in arguments.items()}
        objects = self.situation.objects
        if objects is None or contract.args is None:
            return values
        return values if all(word in objects for words in values.values() for word in words) else None

    def _apply(self, action: Action) -> None:
        contract = self.contract.tools.get(action.tool)
        values = None if contract is None else self._values(contract, action)
        if contract is None or values is None:
            return
        variables = {"args": action.arguments, "result": action.result}
        due = [e for e in contract.effects if e.when is None or e.when.holds(variables)]
        for effect in due:
            for pattern in effect.clears:
                for one in _facts(pattern, values):
                    self.holding.difference_update(self._matching(one))
        for effect in due:
            for pattern in effect.provides:
                self.holding.update(one for one in _facts(pattern, values) if _is_fact(one))
        if len(self.holding) > MAX_FACTS:
            raise CannotEvaluate(f"more than {MAX_FACTS} facts hold at once")


def _is_fact(wanted: Wanted) -> TypeGuard[Fact]:
    return all(isinstance(word, str) for word in wanted)


def _facts(pattern: Pattern, values: Mapping[str, Sequence[str]]) -> list[Wanted]:
    """The facts of an effect; none where it speaks of an argument the call does not have."""
    try:
        return pattern.facts(values)
    except KeyError:
        return []


def words_of(value: Any) -> list[str]:
    """An argument as the words that facts are made of; a list stands for each of its elements."""
    if isinstance(value, list):
        return [word for item in value for word in words_of(item)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    return [str(value)]


def facts_in(value: Any, prefix: Fact = ()) -> frozenset[Fact]:
    """The facts that a field of a run states: a list of texts, or an object of flags and values.

    `["clear a", "on b a"]`, or `{"session": true, "door": {"left": "locked"}}` for `session` and
    `door left locked`; what is false, null or empty states nothing.
    """
    if isinstance(value, Mapping):
        inner = (facts_in(child, (*prefix, *fact(str(name)))) for name, child in value.items())
        return frozenset().union(*inner)
    if isinstance(value, list):
        return frozenset().union(*(facts_in(child, prefix) for child in value))
    if value is None or value is False or value == "":
        return frozenset()
    if value is True:
        return frozenset({prefix}) if prefix else frozenset()
    return frozenset({(*prefix, *fact(words_of(value)[0]))})

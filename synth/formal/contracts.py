"""Contracts of tools: which facts a call requires, provides and clears (STRIPS actions over a run).

Facts are words (`on b a`); parameters come from the call's arguments (`on {a1} {a2}`), a list-valued
argument stands for each of its elements. `*` matches any one word and `!w` any word but `w`; only the
contract can say so, never an argument. A requirement is asked when the call starts; what the call
clears is gone from then on, what it provides is there from its end. A call that failed has no effect,
but its attempt is judged. Where the order of calls is not known: `contract_orders`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Literal, TypeGuard

from synth.formal.budget import Budget, GaveUp
from synth.formal.careful import NOT_KNOWN
from synth.formal.cel import CannotEvaluate, Condition
from synth.formal.constraints import Fixed
from synth.formal.partly import HIDDEN, REST, Unknown, is_whole, unknowns

Fact = tuple[str, ...]
"""The words of a fact."""
OnViolation = Literal["stop", "skip", "apply"]

ILL_FORMED = "<unknown action, object or argument count>"
MAX_FACTS = 100_000
MAX_NOTES = 20

PARAMETER = re.compile(r"\{([^{}]+)\}|^\?([\w-]+)")


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
        return set(_parameters(self.words))

    def facts(self, arguments: Mapping[str, Sequence[str]]) -> list[Wanted]:
        """Every fact it stands for with these arguments; KeyError where one is missing."""
        names = _parameters(self.words)
        if not names:
            return [_as_it_stands(self.words)]
        if math.prod(len(arguments[name]) for name in names) > MAX_FACTS:
            raise CannotEvaluate(f"{' '.join(self.words)} stands for more than {MAX_FACTS} facts")
        combinations = itertools.product(*(arguments[name] for name in names))
        return [
            tuple(_filled(word, dict(zip(names, values, strict=True))) for word in self.words)
            for values in combinations
        ]


@lru_cache(maxsize=4096)
def _parameters(words: Fact) -> tuple[str, ...]:
    return tuple(sorted({a or b for word in words for a, b in PARAMETER.findall(word)}))


@dataclass(frozen=True, slots=True)
class Wild:
    """A word that stands for several: any word at all, or any but one."""

    but: str | None = None


Wanted = tuple[str | Wild, ...]
"""A fact, or a shape of facts."""


def is_wild(word: str) -> bool:
    """Does a word of a contract stand for several words?"""
    return word == "*" or (word.startswith("!") and len(word) > 1)


def may_equal(a: Pattern, b: Pattern) -> bool:
    """Can they stand for one fact, whatever their parameters are?"""
    return len(a.words) == len(b.words) and all(
        x == y or _is_open(x) or _is_open(y) for x, y in zip(a.words, b.words, strict=True)
    )


def _is_open(word: str) -> bool:
    return is_wild(word) or "{" in word or word.startswith("?")


def _filled(word: str, values: Mapping[str, str]) -> str | Wild:
    if word == "*":
        return Wild()
    text = PARAMETER.sub(lambda m: values[m[1] or m[2]], word.removeprefix("!") if is_wild(word) else word)
    return Wild(text) if is_wild(word) else text


@lru_cache(maxsize=4096)
def _as_it_stands(words: Fact) -> Wanted:
    return tuple(_filled(word, {}) for word in words)


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
    succeeded: bool | None = True
    """None = it was never seen to end: it may have changed what it clears."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a run went under its contract."""

    bad: tuple[int, ...]
    """Positions of the calls that broke it: the first only, where it stops there."""
    unmet: tuple[str, ...]
    """What was missing at the first bad call."""
    goal_reached: bool | None
    """None where no goal is given or the evidence leaves it open; False if the run stopped at a bad call."""
    unclear: str | None = None
    """Why the course could not be followed to its end."""
    recorded: bool = True
    """False where that is because the arguments of a call were not recorded."""
    notes: tuple[Note, ...] = ()
    """At most `MAX_NOTES`."""
    open: tuple[int, ...] = ()
    """Positions of the calls that some orders allowed by the evidence permit and others forbid."""
    lacking: tuple[str, ...] = ()
    """What the first of them may have missed."""
    goal_open: bool = False
    """Do some of those orders reach the goal, and others miss it?"""

    @property
    def first_bad(self) -> int | None:
        return self.bad[0] if self.bad else None

    @property
    def valid(self) -> bool:
        return not self.bad and self.goal_reached is not False


@dataclass(frozen=True, slots=True)
class Note:
    """While a call ran, another one cleared what it had required: no violation."""

    call: int
    by: int
    fact: Fact


Need = tuple[bool, Wanted]
"""(must it not hold, what)."""


class NotRecorded(CannotEvaluate):
    """A contract speaks of the arguments of a call, and they were not recorded."""


class _Words(dict[str, list[str]]):
    """Arguments as words; to ask for one of which not all is known cannot be answered."""

    missing: Mapping[str, Any] = MappingProxyType({})

    def __missing__(self, name: str) -> list[str]:
        if name in self.missing or REST in self.missing:
            raise _unknown(self.missing.get(name, self.missing.get(REST)))
        raise KeyError(name)


def _unknown(value: Any) -> CannotEvaluate:
    return CannotEvaluate(f"{NOT_KNOWN}{next(unknowns(value))}")


def _are_named(arguments: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Are these the arguments of such names? CannotEvaluate where others may have been left out."""
    given = {name for name in arguments if not str(name).startswith(HIDDEN)}
    if REST in arguments and given <= set(names):
        raise _unknown(arguments[REST])
    return given == set(names)


@dataclass
class Terms:
    """What a contract asks of single calls, and what they change."""

    contract: Contract
    situation: Situation
    budget: Budget = field(default_factory=Budget)

    def needs(self, action: Action) -> list[Need] | None:
        """What the contract asks for; None if the call is none that it knows."""
        contract = self.contract.tools.get(action.tool)
        offered = self.situation.offered
        if contract is None:
            known = not self.contract.closed and (offered is None or action.tool in offered)
            return [] if known else None
        if offered is not None and action.tool not in offered:
            return None
        if action.arguments is None and contract.needs_arguments:
            raise NotRecorded(f"The arguments of a call of {action.tool} were not recorded")
        values = self._values(contract, action)
        if values is None:
            return None
        try:
            return [(p.negated, one) for p in contract.requires for one in p.facts(values)]
        except KeyError:
            return None

    def failed_check(self, action: Action) -> str | None:
        """The further condition of a known call, if it does not hold."""
        contract = self.contract.tools.get(action.tool)
        check = None if contract is None else contract.check
        if check is None:
            return None
        careful = not is_whole(action.arguments)
        return None if check.holds({"args": action.arguments}, careful=careful) else check.text

    def effects(self, action: Action) -> tuple[list[Wanted], list[Fact]]:
        """What a call that takes effect clears when it starts, and provides when it ends."""
        contract = self.contract.tools.get(action.tool)
        values = None if contract is None else self._values(contract, action)
        if contract is None or values is None:
            return [], []
        due = [effect for effect in contract.effects if _is_due(effect, action)]
        clears = [one for effect in due for pattern in effect.clears for one in _facts(pattern, values)]
        provides = [one for effect in due for pattern in effect.provides for one in _facts(pattern, values)]
        return clears, list(filter(is_fact, provides))

    def _values(self, contract: ToolContract, action: Action) -> dict[str, list[str]] | None:
        """The arguments as words; None where their names or objects are not those of the contract."""
        arguments = action.arguments
        if not isinstance(arguments, Mapping):
            arguments = {} if arguments is None else None
        if isinstance(action.arguments, Unknown):
            raise CannotEvaluate(f"{NOT_KNOWN}{action.arguments}")
        if arguments is None or (contract.args is not None and not _are_named(arguments, contract.args)):
            return None
        whole = {str(name): value for name, value in arguments.items() if is_whole(value)}
        values = _Words({name: words_of(value) for name, value in whole.items()})
        values.missing = {str(name): arguments[name] for name in arguments if str(name) not in whole}
        objects = self.situation.objects
        if objects is None or contract.args is None:
            return values
        if not all(word in objects for words in values.values() for word in words):
            return None
        for value in values.missing.values():
            raise _unknown(value)
        return values


@dataclass
class Simulation(Terms):
    """The facts as the calls of a run change them, where the instants of all calls are known."""

    holding: set[Fact] = field(default_factory=set)
    running: list[tuple[int, int, list[Need], list[Fact]]] = field(default_factory=list)
    """A heap: (end, position, what it required, what it will have provided) of calls that began."""
    notes: list[Note] = field(default_factory=list)

    def run(self, actions: Iterable[tuple[int, Action]], times: Fixed) -> Course:
        """Follow the calls, given with their positions in the order of their starts."""
        self.holding = set(self.situation.initial)
        bad: list[int] = []
        first_unmet: tuple[str, ...] = ()
        try:
            for position, action in actions:
                if self.running:
                    self._finish(times.start(position))
                needs = self.needs(action)
                unmet = self._unmet(needs, action)
                if unmet:
                    first_unmet = first_unmet or unmet
                    bad.append(position)
                    if self.contract.on_violation == "stop":
                        break
                provided: list[Fact] = []
                if action.succeeded and (not unmet or self._applies_anyway(unmet)):
                    clears, provided = self.effects(action)
                    self._clear(position, clears)
                required = [] if unmet or needs is None else needs
                if provided or required:
                    heappush(self.running, (times.end(position), position, required, provided))
            else:
                self._finish(math.inf)
        except (CannotEvaluate, GaveUp) as problem:
            recorded = not isinstance(problem, NotRecorded)
            return Course(tuple(bad), first_unmet, None, str(problem), recorded, tuple(self.notes))
        reached = self._goal_reached(stopped=bool(bad))
        return Course(tuple(bad), first_unmet, reached, notes=tuple(self.notes))

    def _applies_anyway(self, unmet: tuple[str, ...]) -> bool:
        return self.contract.on_violation == "apply" and unmet != (ILL_FORMED,)

    def _goal_reached(self, *, stopped: bool) -> bool | None:
        if self.situation.goal is None:
            return None
        if stopped and self.contract.on_violation == "stop":
            return False
        return all(wanted in self.holding for wanted in self.situation.goal)

    def _unmet(self, needs: list[Need] | None, action: Action) -> tuple[str, ...]:
        """What the contract asks and does not find; empty if the call is in order."""
        if needs is None:
            return (ILL_FORMED,)
        missing = tuple(said(need) for need in needs if bool(self._matching(need[1])) is need[0])
        failed = None if missing else self.failed_check(action)
        return missing if failed is None else (failed,)

    def _matching(self, wanted: Wanted) -> list[Fact]:
        if is_fact(wanted):
            return [wanted] if wanted in self.holding else []
        self.budget.spend(len(self.holding))
        return [held for held in self.holding if matches(wanted, held)]

    def _finish(self, now: float) -> None:
        """What the calls that ended by now provide."""
        while self.running and self.running[0][0] <= now:
            self.holding.update(heappop(self.running)[3])
            if len(self.holding) > MAX_FACTS:
                raise CannotEvaluate(f"more than {MAX_FACTS} facts hold at once")

    def _clear(self, by: int, clears: Sequence[Wanted]) -> None:
        gone = {held for wanted in clears for held in self._matching(wanted)}
        self.holding -= gone
        if gone and self.running and len(self.notes) < MAX_NOTES:
            self.budget.spend(len(self.running))
            lost = (
                Note(call, by, wanted)
                for _, call, needs, _ in sorted(self.running, key=itemgetter(1))
                for negated, wanted in needs
                if not negated and is_fact(wanted) and wanted in gone
            )
            self.notes += itertools.islice(lost, MAX_NOTES - len(self.notes))


def said(need: Need) -> str:
    """What a call needs, in the words of the contract."""
    negated, wanted = need
    words = [word if isinstance(word, str) else (f"!{word.but}" if word.but else "*") for word in wanted]
    return " ".join(["not", *words] if negated else words)


def matches(wanted: Wanted, one: Fact) -> bool:
    """Is it one of the facts that are wanted?"""
    return len(one) == len(wanted) and all(map(_matches, wanted, one))


def _is_due(effect: Effect, action: Action) -> bool:
    """Does an effect happen? One that needs the result of a call that was never seen to end may."""
    if effect.when is None or (action.succeeded is None and "result" in effect.when.names):
        return True
    values = {"args": action.arguments, "result": action.result}
    return effect.when.holds(values, careful=not is_whole(values))


def is_fact(wanted: Wanted) -> TypeGuard[Fact]:
    """Does it stand for one fact only?"""
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


@dataclass
class Watched(Simulation):
    """A simulation that remembers what held when each call began."""

    held: list[frozenset[Fact]] = field(default_factory=list)

    def _unmet(self, needs: list[Need] | None, action: Action) -> tuple[str, ...]:
        self.held.append(frozenset(self.holding))
        return super()._unmet(needs, action)

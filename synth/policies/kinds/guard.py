"""Guards: a CEL condition that must hold whenever certain tools are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from synth.formal.budget import GaveUp
from synth.formal.cel import FUNCTIONS, CannotEvaluate, Condition, condition, normal
from synth.formal.partly import REST, Unknown, Why
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.observed.marks import known
from synth.observed.run import ToolCall
from synth.policies.evidence import Evidence, made_by
from synth.policies.history import History
from synth.policies.kinds.arguments import never_given
from synth.policies.kinds.conditions import in_plain_words
from synth.policies.kinds.duty import (
    NOT_APPLICABLE,
    NOT_ITS_OWN,
    Judged,
    despite_gaps,
    in_part,
    without_fields,
)
from synth.policies.kinds.kind import Field, Form, Reads, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.names import Names, Tools
from synth.policies.source import Node, loose_in, read_actions

VARIABLES = ("args", "call", "run", "user")
FIELDS = ("calls", "let", "when", "check", "message")
EVALUATION = 15
"""Steps of one condition at one call."""

_RUN_FIELD = re.compile(r"(?<![\w.])(has\()?run\.(\w+(?:\.\w+)*)")
_LOOKED_UP = re.compile(r"""\b(?:last|last_call|earlier)\s*\(\s*(\[[^\]]*\]|'[^']*'|"[^"]*")""")
_LOOK_UP = re.compile(r"\b(?:last|last_call|earlier)\s*\(")
_PLACE = re.compile(r"""(?<!args)(?:\.\s*index\b|\[\s*(['"])index\1\s*\])""")
_ARGUMENT = re.compile(r"""(?<![\w.])args((?:\.\w+|\[(?:'[^']*'|"[^"]*")\])+)""")
_STEP = re.compile(r"""\.(\w+)|\['([^']*)'|\["([^"]*)\"""")
_NO_KEY = re.compile('Key not found in map : "([^"]+)"')
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")


def read_guard(node: Node, names: Names) -> Guard:
    """`{calls, check, when?, let?, message?}`: `calls` names an action, or is a list of actions."""
    node.only(FIELDS)
    let: list[tuple[str, Condition]] = []
    known: tuple[str, ...] = VARIABLES
    parts = node.get("let")
    for name, part in parts.pairs() if parts is not None else []:
        if not name.isidentifier() or name in (*known, *FUNCTIONS):
            raise part.bad(f"{name!r} cannot be the name of a part (taken, or not a name)")
        let.append((name, _condition(part, known, boolean=False)))
        known += (name,)
    when, message = node.get("when"), node.get("message")
    check = _condition(node.need("check"), known)
    compiled = [check, *(part for _, part in let)]
    if when is not None:
        compiled.append(_condition(when, known))
    return Guard(
        what=read_actions(node.need("calls"), names),
        check=check,
        when=None if when is None else compiled[-1],
        let=tuple(let),
        message="" if message is None else message.text().rstrip("."),
        needs=tuple(dict.fromkeys(name for part in compiled for name in _needed(part.text))),
        history=any(set(FUNCTIONS) & part.names for part in compiled),
        asked=tuple(name for part in compiled for name in _looked_up(part.text)),
    )


def _condition(node: Node, known: tuple[str, ...], *, boolean: bool = True) -> Condition:
    with node.blamed():
        return condition(node.text(), known, boolean=boolean)


def _looked_up(text: str) -> Iterator[str]:
    """Tools that a condition names in `last`, `last_call` and `earlier`."""
    for argument in _LOOKED_UP.findall(text):
        yield from (a or b for a, b in _QUOTED.findall(argument) if (a or b) != "*")


def _arguments_in(text: str) -> Iterator[tuple[str, ...]]:
    """Paths of the arguments that a condition reads."""
    for path in _ARGUMENT.findall(text):
        yield tuple("".join(step) for step in _STEP.findall(path))


def _needed(text: str) -> list[str]:
    """Fields of the run that a condition reads without asking `has(run.x)` first."""
    found = [(bool(asked), name.split(".")[0]) for asked, name in _RUN_FIELD.findall(text)]
    optional = {name for asked, name in found if asked}
    return [name for _, name in found if name not in optional and name not in ("id", "labels")]


class NotRecorded(CannotEvaluate):
    """A condition needs the arguments of a call whose arguments were not recorded."""


@dataclass(frozen=True, slots=True)
class Guard:
    """`check` must be true for every attempt at `what` for which `when` is true."""

    kind: ClassVar[str] = "guard"
    forms: ClassVar[tuple[Form, ...]] = (Field("guard", read_guard),)
    what: tuple[Tools, ...]
    check: Condition
    when: Condition | None = None
    let: tuple[tuple[str, Condition], ...] = ()
    """Named parts, computed in order, that later parts, `when` and `check` may use."""
    message: str = ""
    needs: tuple[str, ...] = ()
    """Fields of the run without which the guard is unsupported."""
    history: bool = field(default=False)
    """Does it look at earlier calls? Then a gap in the evidence leaves it open."""
    asked: tuple[str, ...] = ()
    """Tools whose earlier calls its conditions look up, by name."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return self.what

    @property
    def traits(self) -> Traits:
        loose = (*loose_in(self.what), *self.asked)
        asks_user = "user" in self.named
        return Traits(self.what, loose=loose, messages=asks_user, words=self.check.text, reads=self._reads)

    @property
    def of_calls_alone(self) -> bool:
        """Does it ask for nothing but arguments and what earlier calls had?"""
        return not self.named & {"run", "user"} and not self._by_place

    @property
    def _reads(self) -> Reads:
        by_place = any(".index" in part.text for part in self._parts)
        if not self.history:
            return Reads(others=by_place)
        asked = (Tools("any tool", ("*",)) if self._asks_any else self._asked_tools,)
        return Reads(asked, asked, others=by_place or self._asks_any)

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        attempts = sorted({i for tools in self.what for i in seen.attempts(tools)}, key=seen.rank.__getitem__)
        if not attempts:
            return NOT_APPLICABLE
        attempts = [i for i in attempts if seen.owns(i)]
        if not attempts:
            return NOT_ITS_OWN
        if lacking := self._lacking(seen, attempts):
            return lacking
        History.of(seen).given = 0
        answers: dict[int, bool | CannotEvaluate | None] = {}
        gave_up: GaveUp | None = None
        try:
            for i in attempts:
                seen.budget.spend(EVALUATION)
                answers[i] = self._answer(i, seen)
                seen.budget.spend(0)  # CEL keeps what its look-ups raise to itself
        except GaveUp as spent:
            if not any(answer is False for answer in answers.values()):
                raise
            gave_up = spent
        return in_part(self._summed(answers, seen), gave_up)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        if any(map(seen.gaps.can_be, self.what)):
            return True
        return any(self._mends(seen, i) for tools in self.what for i in seen.attempts(tools))

    def _mends(self, seen: Evidence, call: int) -> bool:
        """May an unseen call have had a say in the answer at this call?"""
        return seen.gaps.can_precede(call) and (
            self._by_place or (self.history and (self._asks_any or seen.gaps.can_be(self._asked_tools)))
        )

    @property
    def _asked_tools(self) -> Tools:
        return Tools("an earlier call", self.asked)

    @property
    def _asks_any(self) -> bool:
        """Does a condition look up calls of tools that it does not name?"""
        return any(
            len(_LOOK_UP.findall(part.text)) > len(_LOOKED_UP.findall(part.text))
            or any(
                "*" in (a, b) for asked in _LOOKED_UP.findall(part.text) for a, b in _QUOTED.findall(asked)
            )
            for part in self._parts
        )

    @property
    def _by_place(self) -> bool:
        """Does a condition ask which call of the run one is?"""
        return any(_PLACE.search(part.text) for part in self._parts)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> Iterator[str]:
        if self.when is not None and self.when.text.strip() == "false":
            yield "Its `when` is always false."

    def _lacking(self, seen: Evidence, attempts: list[int]) -> Judged | None:
        """Why the guard cannot be judged."""
        if without := without_fields(self.needs, seen):
            return without
        if "user" in self.named and History.of(seen).user(attempts[0]) is None:
            return Judged("unsupported", (), "The run has no messages.")
        if "args" in self.named and all(seen.calls[i].arguments is None for i in attempts):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        return None

    @property
    def named(self) -> frozenset[str]:
        return frozenset(name for part in self._parts for name in part.names)

    @property
    def _parts(self) -> list[Condition]:
        return [self.check, *([self.when] if self.when else []), *(part for _, part in self.let)]

    def _answer(self, call: int, seen: Evidence) -> bool | CannotEvaluate | None:
        """Is the guard kept at this call? None where it does not apply."""
        history = History.of(seen)
        history.open = ""
        lookup = partial(history.lookup, call)
        values = self._variables(call, seen, history)
        careful = seen.is_partly_known or seen.lost_fields or isinstance(values["user"], Unknown)
        try:
            for name, part in self.let:
                values[name] = part.value(values, lookup, careful=careful)
            applies = self.when is None or self.when.holds(values, lookup, careful=careful)
            kept = self.check.holds(values, lookup, careful=careful) if applies else None
        except CannotEvaluate as problem:
            if "args" in self.named and seen.calls[call].arguments is None:
                return NotRecorded(f"The arguments of {made_by(call, seen)} were not recorded.")
            return CannotEvaluate(history.open or in_plain_words(str(problem)))
        if self._by_place and self._place_is_open(call, seen):
            return CannotEvaluate("the recorded times leave open which call of the run it was")
        return kept

    def _place_is_open(self, call: int, seen: Evidence) -> bool:
        """May this call, or one that the guard can look up at it, have another place in the run?"""
        if not self.history:
            return call in seen.unplaced
        return any(seen.rank[i] <= seen.rank[call] for i in seen.unplaced)

    def _variables(self, call: int, seen: Evidence, history: History) -> dict[str, Any]:
        made = seen.calls[call]
        arguments = history.arguments(call)
        values: dict[str, Any] = {"run": _run_fields(seen)}
        if arguments is not None:
            values["args"] = arguments
        values["call"] = {
            "index": call,
            "name": made.tool,
            "id": made.id,
            "step": made.step,
            "error": known(made.error, None if made.error is None else _hidden(made), where="call.error"),
        }
        values["user"] = (history.user(call) or "") if "user" in self.named else ""
        return values

    def _summed(self, answers: Mapping[int, bool | CannotEvaluate | None], seen: Evidence) -> Judged:
        broken = [i for i, answer in answers.items() if answer is False]
        unclear = {i: answer for i, answer in answers.items() if isinstance(answer, CannotEvaluate)}
        if broken:
            whole = ((None, (0, len(self.check.text))),)
            return Judged("violated", tuple(sorted(broken)), self._in_words(broken, seen), clauses=whole)
        for problem in unclear.values():
            if isinstance(problem, NotRecorded):
                return Judged("unsupported", (), str(problem))
        for problem in unclear.values():
            if said := self._never_given(problem, answers, seen):
                return Judged("unsupported", (), said)
        for call, problem in unclear.items():
            return Judged("undecided", (), f"{made_by(call, seen)}: {problem}.")
        if all(answer is None for answer in answers.values()):
            return Judged("not_applicable", (), "No call met the guard's `when`.")
        return Judged("ok", (), "The guard holds.")

    def _never_given(self, problem: CannotEvaluate, calls: Iterable[int], seen: Evidence) -> str | None:
        """Why the guard cannot be judged if it failed for an argument that none of its calls has."""
        missing = _NO_KEY.search(str(problem))
        if missing is None:
            return None
        asked = (path for part in self._parts for path in _arguments_in(part.text) if missing[1] in path)
        said = (never_given(path[: path.index(missing[1]) + 1], calls, seen) for path in asked)
        return next(filter(None, said), None)

    def _in_words(self, broken: list[int], seen: Evidence) -> str:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        why = self.message or f"{self.check.text} is false"
        return f"{made_by(broken[0], seen)}{more}: {why}."


def _hidden(call: ToolCall) -> Why | None:
    """How the tracer of a call hides all texts, where it does."""
    why = call.partly.get("arguments")
    return None if why == "cut" else why


def _open_ended(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields where any object may have entries that nobody knows."""
    inner = {name: _open_ended(said) if isinstance(said, Mapping) else said for name, said in fields.items()}
    return {**inner, REST: Unknown("absent", rest=True, where="a field of the run")}


def _run_fields(seen: Evidence) -> dict[str, Any]:
    """The fields of the run as conditions see them; messages and calls have their own names."""
    if "run fields" not in seen.cache:
        run = seen.run
        fields = {name: value for name, value in run.extra.items() if name != "messages"}
        fields |= {"id": run.id, "query": run.query, "agent": run.agent, "model": run.model}
        fields |= {"labels": run.labels, "source": run.source}
        fields["query"] = known(run.query, seen.hides_texts, where="run.query")
        seen.cache["run fields"] = normal(_open_ended(fields) if seen.lost_fields else fields)
    found: dict[str, Any] = seen.cache["run fields"]
    return found

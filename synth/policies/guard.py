"""Guards: a CEL condition that must hold whenever certain tools are called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from synth.cel import FUNCTIONS, CannotEvaluate, Condition, condition, normal
from synth.errors import BadInput
from synth.policies.evidence import MISSING, Evidence
from synth.policies.history import History
from synth.policies.kinds import NOT_APPLICABLE, Judged
from synth.policies.model import Tools, some_of
from synth.policies.sentences import Names
from synth.policies.source import Node
from synth.rules import Rules

VARIABLES = ("args", "call", "run", "user")
FIELDS = ("calls", "let", "when", "check", "message")

_RUN_FIELD = re.compile(r"(?<![\w.])(has\()?run\.(\w+(?:\.\w+)*)")


_CEL_SAYS = (
    (
        r"NOT_FOUND: |INVALID_ARGUMENT: (Applying SELECT|Invalid container)|UNKNOWN: Index error",
        "the condition needs a value that the call or the earlier results do not have",
    ),
    (
        "UNKNOWN: No matching overload",
        "the condition compares or computes with values that are missing or of another type than it expects",
    ),
    ("[A-Z_]+: ", "the condition cannot be computed from these values"),
)


class NotRecorded(CannotEvaluate):
    """A condition needs the arguments of a call whose arguments were not recorded."""


@dataclass(frozen=True, slots=True)
class Guard:
    """`check` must be true for every attempt at `what` for which `when` is true."""

    kind: ClassVar[str] = "guard"
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

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        attempts = sorted({i for tools in self.what for i in seen.attempts(tools)}, key=seen.rank.__getitem__)
        if not attempts:
            return NOT_APPLICABLE
        if lacking := self._lacking(seen, attempts):
            return Judged("unsupported", (), lacking)
        History.of(seen).given = 0
        answers = {i: self._answer(i, seen) for i in attempts}
        return self._summed(answers, seen)

    def _lacking(self, seen: Evidence, attempts: list[int]) -> str | None:
        for name in self.needs:
            if seen.run_field(name) is MISSING:
                return f"The run has no field {name!r}."
        if "user" in self._names and History.of(seen).user(attempts[0]) is None:
            return "The run has no messages."
        if "args" in self._names and all(seen.calls[i].arguments is None for i in attempts):
            return "The arguments of the calls were not recorded."
        return None

    @property
    def _names(self) -> frozenset[str]:
        parts = [self.check, *([self.when] if self.when else []), *(part for _, part in self.let)]
        return frozenset(name for part in parts for name in part.names)

    def _answer(self, call: int, seen: Evidence) -> bool | CannotEvaluate | None:
        """Is the guard kept at this call? None where it does not apply."""
        history = History.of(seen)
        history.open = ""
        lookup = partial(history.lookup, call)
        values = self._variables(call, seen, history)
        try:
            for name, part in self.let:
                values[name] = part.value(values, lookup)
            if self.when is not None and not self.when.holds(values, lookup):
                return None
            return self.check.holds(values, lookup)
        except CannotEvaluate as problem:
            if "args" in self._names and seen.calls[call].arguments is None:
                return NotRecorded(f"The arguments of {made_by(call, seen)} were not recorded.")
            return CannotEvaluate(history.open or in_plain_words(str(problem)))

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
            "error": made.error,
        }
        values["user"] = (history.user(call) or "") if "user" in self._names else ""
        return values

    def _summed(self, answers: Mapping[int, bool | CannotEvaluate | None], seen: Evidence) -> Judged:
        broken = [i for i, answer in answers.items() if answer is False]
        unclear = {i: answer for i, answer in answers.items() if isinstance(answer, CannotEvaluate)}
        gaps = self.history and bool(seen.run.problems)
        if broken and not gaps:
            return Judged("violated", tuple(sorted(broken)), self._in_words(broken, seen))
        if broken:
            return Judged(
                "undecided", (), "The evidence is incomplete: earlier results may not have been seen."
            )
        for problem in unclear.values():
            if isinstance(problem, NotRecorded):
                return Judged("unsupported", (), str(problem))
        for call, problem in unclear.items():
            return Judged("undecided", (), f"{made_by(call, seen)}: {problem}.")
        if all(answer is None for answer in answers.values()):
            return Judged("not_applicable", (), "No call met the guard's `when`.")
        return Judged("ok", (), "The guard holds.")

    def _in_words(self, broken: list[int], seen: Evidence) -> str:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        why = self.message or f"{self.check.text} is false"
        return f"{made_by(broken[0], seen)}{more}: {why}."


def made_by(call: int, seen: Evidence) -> str:
    """A call in words: its tool and position."""
    return f"{seen.calls[call].tool} (call {call})"


def in_plain_words(problem: str) -> str:
    """What CEL could not do, for someone who does not know CEL; its own words follow in brackets."""
    for pattern, words in _CEL_SAYS:
        if re.match(pattern, problem):
            return f"{words} (CEL: {problem.split(': ', 1)[1]})"
    return problem


def _run_fields(seen: Evidence) -> dict[str, Any]:
    """The fields of the run as conditions see them; messages and calls have their own names."""
    if "run fields" not in seen.cache:
        run = seen.run
        fields = {name: value for name, value in run.extra.items() if name != "messages"}
        fields |= {"id": run.id, "query": run.query, "agent": run.agent, "model": run.model}
        fields |= {"labels": run.labels, "source": run.source}
        seen.cache["run fields"] = normal(fields)
    found: dict[str, Any] = seen.cache["run fields"]
    return found


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
    )


def _condition(node: Node, known: tuple[str, ...], *, boolean: bool = True) -> Condition:
    with node.blamed():
        return condition(node.text(), known, boolean=boolean)


def _needed(text: str) -> list[str]:
    """Fields of the run that a condition reads without asking `has(run.x)` first."""
    found = [(bool(asked), name.split(".")[0]) for asked, name in _RUN_FIELD.findall(text)]
    optional = {name for asked, name in found if asked}
    return [name for _, name in found if name not in optional and name not in ("id", "labels")]


def read_actions(node: Node, names: Names) -> tuple[Tools, ...]:
    """Actions by phrase: one sentence-like list (`book flight and change flights`) or a YAML list.

    A tool name stands for itself where no action has that phrase.
    """
    items = node.items() if isinstance(node.value, list) else [node]
    return tuple(tools for item in items for tools in _actions_of(item, names))


def _actions_of(node: Node, names: Names) -> tuple[Tools, ...]:
    text = node.text()
    try:
        return names.list(text)
    except BadInput as bad:
        if names.is_tool(text):
            return (Tools(text, (text,)),)
        hint = some_of(sorted(names.actions), 8)
        raise node.bad(f"{bad.message.split(' (')[0]} (expected one of {hint})") from None

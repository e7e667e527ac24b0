"""Behaviour specifications: S-expressions over states, compiled to minimal finite automata.

`L(a) = {a}`; `(or x y ..)` union; `(next x y ..)` concatenation; `(until x y)` = `L(x)* L(y)`. The
literal finite-trace reading of `until`, in which every suffix must satisfy the left side, accepts no
loop at all; this is the regular reading. No specification accepts the empty word, and from every
state the end can be reached, so that a missing transition is a violation at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal

from synth.errors import BadInput

MAX_STATES = 10_000
MAX_TEXT = 200_000
MAX_DEPTH = 200

MonitorVerdict = Literal["pending", "accepting", "satisfied", "violated", "incomplete"]
"""`pending`: not complete; `accepting`: complete, may go on; `satisfied`: complete, nothing may follow;
`violated`: no continuation helps; `incomplete`: pending when the run ended."""

SHIPPED = ("react", "rewoo", "reflexion", "pass", "chain_of_thought", "direct")
"""Specifications that come with the package, by name."""

Expression = str | tuple["str | Expression", ...]

_TOKEN = re.compile(r"[()]|[^\s();]+")


@dataclass(frozen=True, slots=True)
class Course:
    """What a monitor says about a sequence of events."""

    verdicts: tuple[MonitorVerdict, ...]
    """After each event."""
    violated_at: int | None
    """0-based position of the first event that no continuation could mend."""
    complete: bool
    """Is the whole sequence a word of the specification?"""
    allowed: tuple[str, ...]
    """What could have come next: at the violation, else at the end."""

    @property
    def outcome(self) -> MonitorVerdict:
        """The verdict on the ended sequence."""
        if self.violated_at is not None:
            return "violated"
        if not self.complete:
            return "incomplete"
        return "accepting" if self.allowed else "satisfied"


@dataclass(frozen=True, slots=True)
class Monitor:
    """A minimal automaton; states are numbers, 0 is the start."""

    text: str
    transitions: tuple[Mapping[str, int], ...]
    accepting: tuple[bool, ...]

    def after(self, state: int | None, event: str) -> int | None:
        """The next state; None = violated, for good."""
        return None if state is None else self.transitions[state].get(event)

    def verdict(self, state: int | None) -> MonitorVerdict:
        if state is None:
            return "violated"
        if not self.accepting[state]:
            return "pending"
        return "accepting" if self.transitions[state] else "satisfied"

    def allowed(self, state: int | None) -> tuple[str, ...]:
        """The events that may come next."""
        return () if state is None else tuple(sorted(self.transitions[state]))

    def follow(self, events: Iterable[str]) -> Course:
        """The verdict after each event and at the end."""
        state: int | None = 0
        verdicts: list[MonitorVerdict] = []
        violated_at = None
        allowed = self.allowed(0)
        for position, event in enumerate(events):
            state = self.after(state, event)
            verdicts.append(self.verdict(state))
            if state is not None:
                allowed = self.allowed(state)
            elif violated_at is None:
                violated_at = position
        return Course(tuple(verdicts), violated_at, state is not None and self.accepting[state], allowed)


def shipped(name: str) -> Monitor:
    """One of the specifications in `SHIPPED`."""
    if name not in SHIPPED:
        raise BadInput(f"no specification is called {name!r} (expected one of {', '.join(SHIPPED)})")
    return monitor_of(files("synth").joinpath(f"data/monitors/{name}.spec").read_text("utf-8"))


@lru_cache(maxsize=256)
def monitor_of(text: str) -> Monitor:
    """Compile a specification; BadInput says what is wrong with it, or that it is too large."""
    expression = parse_expression(text)
    transitions, accepting = _determinize(_Automaton.of(expression))
    return Monitor(text, *_minimize(transitions, accepting))


def parse_expression(text: str) -> Expression:
    """An S-expression; `;` starts a comment."""
    if len(text) > MAX_TEXT:
        raise BadInput(f"a specification of {len(text)} characters (at most {MAX_TEXT})")
    plain = re.sub(r";[^\n]*", "", text)
    tokens = [(m[0], plain.count("\n", 0, m.start()) + 1) for m in _TOKEN.finditer(plain)]
    if not tokens:
        raise BadInput("the specification is empty")
    stack: list[tuple[list[Expression], int]] = []
    top: list[Expression] = []
    for token, line in tokens:
        here = stack[-1][0] if stack else top
        if top and not stack:
            raise BadInput(f"text after the end of the specification: {token!r}", line=line)
        if token == "(":
            stack.append(([], line))
            if len(stack) > MAX_DEPTH:
                raise BadInput(f"nested deeper than {MAX_DEPTH} levels", line=line)
        elif token == ")":
            if not stack:
                raise BadInput("a closing parenthesis without an opening one", line=line)
            parts, opened = stack.pop()
            (stack[-1][0] if stack else top).append(_operation(parts, opened))
        else:
            here.append(token)
    if stack:
        raise BadInput("a parenthesis is never closed", line=stack[-1][1])
    return top[0]


def _operation(parts: Sequence[Expression], line: int) -> Expression:
    head = parts[0] if parts else None
    if head not in ("or", "next", "until"):
        raise BadInput(f"expected or, next or until after the parenthesis, got {head!r}", line=line)
    if head == "until" and len(parts) != 3:
        raise BadInput(f"until takes two parts, got {len(parts) - 1}", line=line)
    if len(parts) < 2:
        raise BadInput(f"{head} needs at least one part", line=line)
    return tuple(parts)


@dataclass(slots=True)
class _Automaton:
    """Thompson's construction: silent steps and labelled steps between numbered states."""

    silent: list[list[int]] = field(default_factory=list)
    labelled: list[list[tuple[str, int]]] = field(default_factory=list)
    start: int = 0
    end: int = 0

    @classmethod
    def of(cls, expression: Expression) -> _Automaton:
        automaton = cls()
        automaton.start, automaton.end = automaton._build(expression)
        return automaton

    def _state(self) -> int:
        self.silent.append([])
        self.labelled.append([])
        return len(self.silent) - 1

    def _build(self, expression: Expression) -> tuple[int, int]:
        if isinstance(expression, str):
            start, end = self._state(), self._state()
            self.labelled[start].append((expression, end))
            return start, end
        head, parts = expression[0], [self._build(part) for part in expression[1:]]
        if head == "or":
            return self._either(parts)
        if head == "next":
            for (_, end), (start, _) in pairwise(parts):
                self.silent[end].append(start)
            return parts[0][0], parts[-1][1]
        (loop_start, loop_end), (goal_start, goal_end) = parts
        start = self._state()
        self.silent[start] += [loop_start, goal_start]
        self.silent[loop_end].append(start)
        return start, goal_end

    def _either(self, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        start, end = self._state(), self._state()
        for first, last in parts:
            self.silent[start].append(first)
            self.silent[last].append(end)
        return start, end

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        """Everything that silent steps reach."""
        found = set(states)
        queue = list(found)
        while queue:
            for state in self.silent[queue.pop()]:
                if state not in found:
                    found.add(state)
                    queue.append(state)
        return frozenset(found)

    def moves(self, states: Iterable[int]) -> Iterator[tuple[str, frozenset[int]]]:
        """(event, states after it), events in order."""
        targets: dict[str, set[int]] = {}
        for state in states:
            for event, target in self.labelled[state]:
                targets.setdefault(event, set()).add(target)
        for event in sorted(targets):
            yield event, self.closure(targets[event])


def _determinize(automaton: _Automaton) -> tuple[list[dict[str, int]], list[bool]]:
    start = automaton.closure({automaton.start})
    numbers = {start: 0}
    queue = [start]
    transitions: list[dict[str, int]] = []
    accepting: list[bool] = []
    for states in queue:
        row: dict[str, int] = {}
        for event, target in automaton.moves(states):
            if target not in numbers:
                if len(numbers) >= MAX_STATES:
                    raise BadInput(f"the specification needs more than {MAX_STATES} states; make it smaller")
                numbers[target] = len(numbers)
                queue.append(target)
            row[event] = numbers[target]
        transitions.append(row)
        accepting.append(automaton.end in states)
    return transitions, accepting


def _minimize(
    transitions: Sequence[Mapping[str, int]], accepting: Sequence[bool]
) -> tuple[tuple[Mapping[str, int], ...], tuple[bool, ...]]:
    """Moore's algorithm; the class of the start keeps the number 0."""
    classes = _numbered([(accept,) for accept in accepting])
    count = len(set(classes))
    while True:
        signatures = [
            (classes[i], tuple(sorted((event, classes[target]) for event, target in row.items())))
            for i, row in enumerate(transitions)
        ]
        classes = _numbered(signatures)
        if len(set(classes)) == count:
            break
        count = len(set(classes))
    rows: dict[int, Mapping[str, int]] = {}
    accepts: dict[int, bool] = {}
    for i, row in enumerate(transitions):
        rows[classes[i]] = {event: classes[target] for event, target in row.items()}
        accepts[classes[i]] = accepting[i]
    return tuple(rows[c] for c in range(count)), tuple(accepts[c] for c in range(count))


def _numbered(keys: Sequence[object]) -> list[int]:
    """Equal keys get equal numbers, in the order of their first occurrence."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]

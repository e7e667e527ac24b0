"""From a formula over states to its minimal deterministic automaton.

Thompson's construction, the subset construction, Hopcroft's minimisation. What an `implies` rules out needs a
complement, which is made of the deterministic automaton of its left side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from synth.errors import BadInput

MAX_STATES = 10_000
MAX_STEPS = 200_000
"""Transitions of what an `implies` rules out."""

Expression = str | tuple["str | Expression", ...]
"""A state's name, or an operator with its parts: `("until", "a", "b")`."""
Rows = list[dict[str, int]]
"""By state: event -> next state. State 0 is the start."""


def automaton_of(
    expression: Expression, alphabet: Sequence[str] = ()
) -> tuple[tuple[Mapping[str, int], ...], tuple[bool, ...]]:
    """(transitions, which states accept) of the minimal automaton, without states that lead nowhere.

    `alphabet`: more states that there are, beside those of the expression; an `implies` speaks of all.
    BadInput where it needs more than `MAX_STATES` states.
    """
    letters = tuple(sorted({*alphabet, *names_in(expression)}))
    rows, accepting = _determinize(_Automaton.of(expression, letters))
    return _minimize(*_leading_on(rows, accepting))


def names_in(expression: Expression) -> set[str]:
    """The states that it names."""
    if isinstance(expression, str):
        return {expression}
    return {name for part in expression[1:] for name in names_in(part)}


@dataclass(slots=True)
class _Automaton:
    """Silent steps and labelled steps between numbered states."""

    letters: tuple[str, ...] = ()
    silent: list[list[int]] = field(default_factory=list)
    labelled: list[list[tuple[str, int]]] = field(default_factory=list)
    start: int = 0
    end: int = 0

    @classmethod
    def of(cls, expression: Expression, letters: tuple[str, ...]) -> _Automaton:
        automaton = cls(letters)
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
        head = expression[0]
        if head == "implies":
            return self._either([self._other_than(expression[1]), self._build(expression[2])])
        parts = [self._build(part) for part in expression[1:]]
        made: dict[str, Callable[[Sequence[tuple[int, int]]], tuple[int, int]]] = {
            "or": self._either, "next": self._one_by_one, "until": self._until, "always": self._always,
        }  # fmt: skip
        return made[str(head)](parts)

    def _either(self, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        start, end = self._state(), self._state()
        for first, last in parts:
            self.silent[start].append(first)
            self.silent[last].append(end)
        return start, end

    def _one_by_one(self, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        for (_, end), (start, _) in pairwise(parts):
            self.silent[end].append(start)
        return parts[0][0], parts[-1][1]

    def _until(self, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        (loop_start, loop_end), (goal_start, goal_end) = parts
        start = self._state()
        self.silent[start] += [loop_start, goal_start]
        self.silent[loop_end].append(start)
        return start, goal_end

    def _always(self, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        ((loop_start, loop_end),) = parts
        start, end = self._state(), self._state()
        self.silent[start].append(loop_start)
        self.silent[loop_end] += [start, end]
        return start, end

    def _other_than(self, expression: Expression) -> tuple[int, int]:
        """Every word but the empty one and those of the expression."""
        rows, accepting = _determinize(_Automaton.of(expression, self.letters))
        if len(rows) * len(self.letters) > MAX_STEPS:
            raise BadInput(f"the left side of an implies needs over {MAX_STEPS} transitions; make it smaller")
        start, end, sink = self._state(), self._state(), self._state()
        places = [self._state() for _ in rows]
        for place, row, accept in (*zip(places, rows, accepting, strict=True), (sink, {}, False)):
            self.labelled[place] = [
                (letter, places[row[letter]] if letter in row else sink) for letter in self.letters
            ]
            if not accept:
                self.silent[place].append(end)
        self.labelled[start] = list(self.labelled[places[0]])  # a start of its own: it must not accept
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


def _determinize(automaton: _Automaton) -> tuple[Rows, list[bool]]:
    start = automaton.closure({automaton.start})
    numbers = {start: 0}
    queue = [start]
    transitions: Rows = []
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


def _leading_on(rows: Rows, accepting: Sequence[bool]) -> tuple[Rows, list[bool]]:
    """Without the states from which no word can be completed."""
    before: list[list[int]] = [[] for _ in rows]
    for state, row in enumerate(rows):
        for target in row.values():
            before[target].append(state)
    alive = {state for state, accept in enumerate(accepting) if accept}
    queue = list(alive)
    while queue:
        for state in before[queue.pop()]:
            if state not in alive:
                alive.add(state)
                queue.append(state)
    kept = sorted(alive | {0})
    numbers = {state: number for number, state in enumerate(kept)}
    left = [{e: numbers[to] for e, to in rows[state].items() if to in alive} for state in kept]
    return left, [accepting[state] for state in kept]


def _minimize(
    transitions: Sequence[Mapping[str, int]], accepting: Sequence[bool]
) -> tuple[tuple[Mapping[str, int], ...], tuple[bool, ...]]:
    """One state for each class of states that accept the same words; that of the start keeps the number 0."""
    classes = _numbered(_blocks(transitions, accepting))
    rows: dict[int, Mapping[str, int]] = {}
    accepts: dict[int, bool] = {}
    for i, row in enumerate(transitions):
        rows[classes[i]] = {event: classes[target] for event, target in row.items()}
        accepts[classes[i]] = accepting[i]
    return tuple(rows[c] for c in range(len(rows))), tuple(accepts[c] for c in range(len(rows)))


def _blocks(transitions: Sequence[Mapping[str, int]], accepting: Sequence[bool]) -> list[int]:
    """The class of each state, by Hopcroft's algorithm.

    A missing transition leads nowhere, from where no word is accepted; from every state one is.
    """
    into: list[dict[str, list[int]]] = [{} for _ in transitions]
    for state, row in enumerate(transitions):
        for event, target in row.items():
            into[target].setdefault(event, []).append(state)
    block_of = [int(accept) for accept in accepting]
    blocks = [{state for state, accept in enumerate(accepting) if accept is kind} for kind in (False, True)]
    waiting = {0, 1}
    while waiting:
        before: dict[str, list[int]] = {}
        for target in blocks[waiting.pop()]:
            for event, states in into[target].items():
                before.setdefault(event, []).extend(states)
        for states in before.values():
            split: dict[int, set[int]] = {}
            for state in states:
                split.setdefault(block_of[state], set()).add(state)
            for block, inside in split.items():
                if len(inside) == len(blocks[block]):
                    continue
                blocks[block] -= inside
                blocks.append(inside)
                for state in inside:
                    block_of[state] = len(blocks) - 1
                smaller = len(blocks) - 1 if len(inside) <= len(blocks[block]) else block
                waiting.add(len(blocks) - 1 if block in waiting else smaller)
    return block_of


def _numbered(keys: Sequence[object]) -> list[int]:
    """Equal keys get equal numbers, in the order of their first occurrence."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]

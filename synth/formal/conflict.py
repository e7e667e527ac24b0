"""Why sentences cannot be kept together: a conflict of which no sentence can be left out.

Order alone contradicts itself in a circle, and a shortest one is given, unless some of its sentences already
leave no room in the day. Without durations no solver is
needed for the clock either: an action may start only at a time that is too late for a limit of itself or of
something after it, and takes at least a minute. With durations it is a core of Z3, minimized by deletion;
the day and one task at a time always hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from synth.formal.constraints import ANY_TIME, Constraint, Outline, listed, outline_of, stated
from synth.formal.model import Spec
from synth.formal.solver import TIMEOUT_MS, minimal_conflict, satisfiable

Name = Callable[[str], str]
"""The phrase of an action."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Constraints that no plan can keep together."""

    constraints: tuple[Constraint, ...]
    """In the order in which they chain; none where the tasks alone do not fit into the day."""
    circle: tuple[tuple[str, str], ...] = ()
    """Where the order goes in a circle: (first, then), as it runs."""

    @property
    def sentences(self) -> tuple[int, ...]:
        """0-based, ascending; without any one of them the rest could be kept together."""
        return tuple(sorted({c.sentence for c in self.constraints if c.sentence is not None}))

    def explain(self, name: Name, paragraph: str = "") -> str:
        """The conflict by sentence, a line for each constraint."""
        numbers = listed(str(sentence + 1) for sentence in self.sentences)
        plural = "s" if len(self.sentences) > 1 else ""
        verb = "contradict each other" if plural else "contradicts itself"
        lines = [f"sentence{plural} {numbers} {verb}:" if self.sentences else "the sentences contradict:"]
        for constraint in self.constraints:
            said = f'  "{paragraph[slice(*constraint.span)]}"' if constraint.span and paragraph else " "
            lines.append(f"{said} says that {constraint.words(name)}")
        return "\n".join(lines)

    def in_one_line(self, name: Name, paragraph: str = "") -> str:
        """The conflict in one sentence."""
        if self.circle:
            chain = listed(f"{name(first)} before {name(then)}" for first, then in self.circle)
            return f"The order goes in a circle: {chain}."
        if not self.constraints:
            return "The tasks alone do not fit into the day."
        said = listed(dict.fromkeys(stated(constraint, name, paragraph) for constraint in self.constraints))
        return f"The day has no room for all of: {said}."


Search = Callable[[Sequence[Constraint]], Conflict | None]
"""Some conflict of a set of constraints, not always one of the fewest sentences."""


def conflict(spec: Spec, *, timeout_ms: int = TIMEOUT_MS) -> Conflict | None:
    """A minimal conflict of a spec; None where it is satisfiable, or Z3 gave up within its limit."""
    circle = _fewest(spec.constraints, lambda some: _circle(outline_of(spec.actions, some)))
    if not spec.timed:
        return circle
    if circle is None:
        return _conflict_of_the_day(spec, spec.constraints, timeout_ms)
    chained = {_sentence(constraint) for constraint in circle.constraints}
    inside = [constraint for constraint in spec.constraints if _sentence(constraint) in chained]
    smaller = _conflict_of_the_day(spec, inside, timeout_ms)
    return circle if smaller is None or smaller.sentences == circle.sentences else smaller


def _conflict_of_the_day(spec: Spec, constraints: Sequence[Constraint], timeout_ms: int) -> Conflict | None:
    """A minimal conflict of some constraints of a timed spec, by Z3."""
    groups = by_sentence(constraints)
    core = minimal_conflict(groups, spec, timeout_ms=timeout_ms)
    if not core:
        full = core is not None and satisfiable(spec, timeout_ms=timeout_ms) is False
        return Conflict(()) if full else None
    return Conflict(tuple(constraint for i in core for constraint in groups[i]))


def find_conflict(
    constraints: Sequence[Constraint], horizon: tuple[int, int] | None = None
) -> Conflict | None:
    """A minimal conflict of what constraints say about order and clock limits, however long things take."""
    return _fewest(constraints, partial(_contradiction, horizon=horizon or (0, ANY_TIME[1])))


def by_sentence(constraints: Sequence[Constraint]) -> list[list[Constraint]]:
    """Constraints of one sentence together; one without a sentence stands alone."""
    groups: dict[object, list[Constraint]] = {}
    for i, constraint in enumerate(constraints):
        key = ("alone", i) if constraint.sentence is None else constraint.sentence
        groups.setdefault(key, []).append(constraint)
    return list(groups.values())


def _fewest(constraints: Sequence[Constraint], search: Search) -> Conflict | None:
    """The conflict that is left when every sentence that is not needed for one is left out."""
    found = search(constraints)
    if found is None:
        return None
    kept = sorted({_sentence(constraint) for constraint in found.constraints})
    for sentence in list(kept):
        fewer = [s for s in kept if s != sentence]
        without = search([c for c in constraints if _sentence(c) in fewer])
        if without is not None:
            kept, found = fewer, without
    return found


def _sentence(constraint: Constraint) -> int:
    return -1 if constraint.sentence is None else constraint.sentence


def _contradiction(constraints: Sequence[Constraint], horizon: tuple[int, int]) -> Conflict | None:
    """Some contradictory chain of constraints."""
    actions = tuple(dict.fromkeys(action for constraint in constraints for action in constraint.actions))
    outline = outline_of(actions, constraints, horizon)
    return _circle(outline) or _too_late(outline)


def _circle(outline: Outline) -> Conflict | None:
    circle = outline.circle()
    said = tuple(constraint for _, _, constraint in circle)
    return Conflict(said, tuple((first, then) for first, then, _ in circle)) if circle else None


def _too_late(outline: Outline) -> Conflict | None:
    """An action that may start only when something at or after it should have ended."""
    followers = _followers(outline)
    for action in sorted(range(len(outline.actions)), key=lambda at: at not in outline.since):
        chain = _first_missed(action, outline, followers)
        if chain is not None:
            return Conflict((*_reason(outline.since, action), *chain))
    return None


def _reason(set_by: dict[int, Constraint], action: int) -> list[Constraint]:
    return [set_by[action]] if action in set_by else []


def _followers(outline: Outline) -> dict[int, list[int]]:
    """What must follow each action, as stated; actions in an order that keeps all of it."""
    leaving: dict[int, list[int]] = {action: [] for action in range(len(outline.actions))}
    waiting = dict.fromkeys(leaving, 0)
    for first, then in outline.edges:
        leaving[first].append(then)
        waiting[then] += 1
    free = deque(action for action, count in waiting.items() if not count)
    in_order: dict[int, list[int]] = {}
    while free:
        action = free.popleft()
        in_order[action] = leaving[action]
        for then in leaving[action]:
            waiting[then] -= 1
            if not waiting[then]:
                free.append(then)
    return in_order


def _first_missed(action: int, outline: Outline, followers: dict[int, list[int]]) -> list[Constraint] | None:
    """From the earliest start of `action`: a longest way to a limit that is missed."""
    ways: dict[int, list[Constraint]] = {action: []}
    for current, after in followers.items():
        way = ways.get(current)
        if way is None:
            continue
        if outline.earliest[action] + len(way) + 1 > outline.latest[current]:
            return [*way, *_reason(outline.until, current)]
        for then in after:
            if len(ways.get(then, ())) <= len(way):
                ways[then] = [*way, outline.edges[current, then]]
    return None

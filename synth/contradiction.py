"""Whether sentences contradict each other, and the fewest that do.

Without durations this needs no solver. Sentences contradict each other when the order they state has
a cycle, or when an action may start only at a time that is too late for a limit of itself or of
something after it; an action takes at least a minute.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from synth.constraints import Before, Constraint, EndsBy, StartsFrom
from synth.order import shortest_cycle


@dataclass(frozen=True, slots=True)
class Conflict:
    """Constraints that no plan can keep together."""

    constraints: tuple[Constraint, ...]
    """In the order in which they chain."""
    sentences: tuple[int, ...]
    """0-based, ascending; without any one of them the rest would not contradict each other."""

    def explain(self, name: Callable[[str], str], paragraph: str = "") -> str:
        """The conflict in words; `name` maps action ids to phrases."""
        *most, last = [str(sentence + 1) for sentence in self.sentences] or [""]
        numbers = f"{', '.join(most)} and {last}" if most else last
        plural = "s" if len(self.sentences) > 1 else ""
        verb = "contradict each other" if plural else "contradicts itself"
        lines = [f"sentence{plural} {numbers} {verb}:" if self.sentences else "the sentences contradict:"]
        for constraint in self.constraints:
            said = f'  "{paragraph[slice(*constraint.span)]}"' if constraint.span and paragraph else " "
            lines.append(f"{said} says that {constraint.words(name)}")
        return "\n".join(lines)


def find_conflict(
    constraints: Sequence[Constraint], horizon: tuple[int, int] | None = None
) -> Conflict | None:
    """A conflict with as few sentences as possible to keep it one; None if the constraints agree."""
    chain = _contradiction(constraints, horizon)
    if chain is None:
        return None
    kept = sorted({_sentence(constraint) for constraint in chain})
    for sentence in list(kept):
        fewer = [s for s in kept if s != sentence]
        without = _contradiction([c for c in constraints if _sentence(c) in fewer], horizon)
        if without is not None:
            kept, chain = fewer, without
    return Conflict(tuple(chain), tuple(s for s in kept if s >= 0))


def _sentence(constraint: Constraint) -> int:
    return -1 if constraint.sentence is None else constraint.sentence


def _contradiction(
    constraints: Sequence[Constraint], horizon: tuple[int, int] | None
) -> list[Constraint] | None:
    """Some contradictory chain of constraints."""
    orders = [c for c in constraints if isinstance(c, Before)]
    position: dict[str, int] = {}
    for constraint in constraints:
        for action in constraint.actions:
            position.setdefault(action, len(position))
    edges = [(position[c.first], position[c.then]) for c in orders]
    cycle = shortest_cycle(len(position), edges)
    if cycle is not None:
        return [orders[index] for index in cycle]
    return _too_late(constraints, orders, horizon)


def _too_late(
    constraints: Sequence[Constraint], orders: Sequence[Before], horizon: tuple[int, int] | None
) -> list[Constraint] | None:
    """An action that may start only when something at or after it should have ended."""
    followers = _followers(orders)
    limits = _tightest(constraints)
    starts: list[tuple[int, list[Constraint], str]] = [
        (c.time, [c], c.action) for c in constraints if isinstance(c, StartsFrom)
    ]
    begin, last = horizon or (0, None)
    starts += [(begin, [], action) for action in dict.fromkeys(a for c in constraints for a in c.actions)]
    for time, said, action in starts:
        chain = _first_missed(time, action, followers, limits, last)
        if chain is not None:
            return [*said, *chain]
    return None


def _tightest(constraints: Sequence[Constraint]) -> dict[str, EndsBy]:
    found: dict[str, EndsBy] = {}
    for constraint in constraints:
        if isinstance(constraint, EndsBy):
            known = found.get(constraint.action)
            if known is None or constraint.time < known.time:
                found[constraint.action] = constraint
    return found


def _followers(orders: Sequence[Before]) -> dict[str, list[Before]]:
    """The orders that leave each action; actions in an order that keeps all of them."""
    leaving: dict[str, list[Before]] = {}
    waiting: dict[str, int] = {}
    for order in orders:
        leaving.setdefault(order.first, []).append(order)
        leaving.setdefault(order.then, [])
        waiting[order.then] = waiting.get(order.then, 0) + 1
    free = deque(action for action in leaving if action not in waiting)
    in_order: dict[str, list[Before]] = {}
    while free:
        action = free.popleft()
        in_order[action] = leaving[action]
        for order in leaving[action]:
            waiting[order.then] -= 1
            if not waiting[order.then]:
                free.append(order.then)
    return in_order


def _first_missed(
    time: int,
    action: str,
    followers: dict[str, list[Before]],
    limits: dict[str, EndsBy],
    last: int | None,
) -> list[Constraint] | None:
    """From `action`, not started before `time`: a longest way to a limit that is missed."""
    ways: dict[str, list[Constraint]] = {action: []}
    for current in followers if action in followers else [action]:
        way = ways.get(current)
        if way is None:
            continue
        end = time + len(way) + 1
        limit = limits.get(current)
        if limit is not None and end > limit.time:
            return [*way, limit]
        if last is not None and end > last:
            return way
        for order in followers.get(current, ()):
            if len(ways.get(order.then, ())) <= len(way):
                ways[order.then] = [*way, order]
    return None

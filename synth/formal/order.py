"""Finite orders over 0..n-1 as bitmasks: closure, cycles, reduction, linear extensions, antichains.

A set of precedence constraints is satisfiable iff its graph has no cycle, so generation and the
common questions about a plan need no solver; `tests/synth/formal/test_order.py` compares every function
with brute force. An edge (a, b) means that a must come before b.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from math import comb

Edge = tuple[int, int]


class Closure:
    """The transitive closure of an acyclic set of edges, kept up to date edge by edge."""

    __slots__ = ("after", "before", "size")

    def __init__(self, size: int, edges: Iterable[Edge] = ()) -> None:
        """An order over 0..size-1; raises ValueError when the edges have a cycle."""
        self.size = size
        self.after = [0] * size
        """after[a]: bitmask of everything that must come after a."""
        self.before = [0] * size
        """before[b]: bitmask of everything that must come before b."""
        for a, b in edges:
            if not self.add(a, b):
                raise ValueError(f"edge {a} -> {b} closes a cycle")

    def __contains__(self, edge: Edge) -> bool:
        return bool(self.after[edge[0]] >> edge[1] & 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Closure) and self.after == other.after

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> Closure:
        """An independent copy."""
        twin = Closure.__new__(Closure)
        twin.size, twin.after, twin.before = self.size, self.after[:], self.before[:]
        return twin

    def add(self, a: int, b: int) -> bool:
        """Add the edge a -> b unless it closes a cycle; False (and no change) if it does."""
        after, before = self.after, self.before
        if a == b or after[b] >> a & 1:
            return False
        if after[a] >> b & 1:
            return True
        new_before = before[a] | 1 << a
        new_after = after[b] | 1 << b
        # Written out instead of `bits`: generation spends most of its time here.
        left = new_before
        while left:
            low = left & -left
            after[low.bit_length() - 1] |= new_after
            left ^= low
        left = new_after
        while left:
            low = left & -left
            before[low.bit_length() - 1] |= new_before
            left ^= low
        return True

    def add_all(self, edges: Iterable[Edge]) -> bool:
        """Add every edge, or none: False (and no change) if one of them closes a cycle."""
        after, before = self.after[:], self.before[:]
        for a, b in edges:
            if not self.add(a, b):
                self.after, self.before = after, before
                return False
        return True

    def edges(self) -> list[Edge]:
        """Every pair of the closure, in ascending order."""
        return [(a, b) for a in range(self.size) for b in bits(self.after[a])]


def bits(mask: int) -> Iterator[int]:
    """The positions of the set bits, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def transitive_reduction(closure: Closure) -> list[Edge]:
    """The fewest edges with the same closure (unique for an acyclic set), ascending."""
    after, before = closure.after, closure.before
    return [(a, b) for a in range(closure.size) for b in bits(after[a]) if not after[a] & before[b]]


def topological_order(closure: Closure, rank: Sequence[int] | None = None) -> list[int]:
    """One order that keeps every edge; of the free nodes always the one with the lowest rank."""
    rank = range(closure.size) if rank is None else rank
    left = set(range(closure.size))
    order: list[int] = []
    done = 0
    while left:
        node = min((x for x in left if not closure.before[x] & ~done), key=lambda x: rank[x])
        left.remove(node)
        order.append(node)
        done |= 1 << node
    return order


def shortest_cycle(size: int, edges: Sequence[Edge]) -> list[int] | None:
    """Positions in `edges` of a shortest cycle, in the order in which it runs; None without one.

    For precedence constraints the minimal conflicts are exactly the simple cycles.
    """
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for position, (a, b) in enumerate(edges):
        if a == b:
            return [position]
        leaving[a].append((b, position))
    best: list[int] | None = None
    for start in range(size):
        limit = size if best is None else len(best) - 1
        cycle = _shortest_cycle_through(start, leaving, limit)
        if cycle is not None and (best is None or len(cycle) < len(best)):
            best = cycle
    return best


def _shortest_cycle_through(
    start: int, leaving: Sequence[Sequence[tuple[int, int]]], limit: int
) -> list[int] | None:
    came: dict[int, tuple[int, int]] = {}
    depth = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if depth[node] >= limit:
            return None
        for target, position in leaving[node]:
            if target == start:
                return [*_path(start, node, came), position]
            if target not in depth:
                depth[target] = depth[node] + 1
                came[target] = (node, position)
                queue.append(target)
    return None


def _path(start: int, node: int, came: dict[int, tuple[int, int]]) -> list[int]:
    positions: list[int] = []
    while node != start:
        node, position = came[node]
        positions.append(position)
    return positions[::-1]


def count_linear_extensions(closure: Closure, max_states: int = 200_000) -> int | None:
    """The number of orders that keep every edge; None when more than `max_states` prefixes arise.

    Counting is #P-hard in general. Unrelated parts are counted apart and interleaved; within a
    part the work is proportional to its number of downward closed subsets (at most 2^n).
    """
    total, placed = 1, 0
    for part in _components(closure):
        ways = _count_component(closure.before, part, max_states)
        if ways is None:
            return None
        size = part.bit_count()
        placed += size
        total *= ways * comb(placed, size)
    return total


def _components(closure: Closure) -> list[int]:
    """Bitmasks of the weakly connected parts."""
    parts: list[int] = []
    seen = 0
    for node in range(closure.size):
        if seen >> node & 1:
            continue
        part, frontier = 0, 1 << node
        while frontier:
            part |= frontier
            reached = 0
            for x in bits(frontier):
                reached |= closure.after[x] | closure.before[x]
            frontier = reached & ~part
        parts.append(part)
        seen |= part
    return parts


def _count_component(before: Sequence[int], part: int, max_states: int) -> int | None:
    nodes = [(1 << x, before[x]) for x in bits(part)]
    ways = {0: 1}
    states = 0
    for _ in nodes:
        longer: dict[int, int] = {}
        for done, count in ways.items():
            for bit, needed in nodes:
                if not done & bit and not needed & ~done:
                    longer[done | bit] = longer.get(done | bit, 0) + count
        ways = longer
        states += len(ways)
        if states > max_states:
            return None
    return ways[part]


def largest_antichain(after: Sequence[int]) -> list[int]:
    """A largest set of pairwise unrelated nodes, ascending; `after` must be transitive and acyclic.

    Dilworth's theorem: bipartite matching over the relation, then the complement of a minimum
    vertex cover (König).
    """
    size = len(after)
    partner: list[int | None] = [None] * size
    matched_left = [False] * size
    for node in range(size):
        matched_left[node] = _augment(node, after, partner, [0])
    left, right = _alternating_reach(after, partner, matched_left)
    return [x for x in range(size) if left >> x & 1 and not right >> x & 1]


def _augment(node: int, after: Sequence[int], partner: list[int | None], seen: list[int]) -> bool:
    for target in bits(after[node]):
        if seen[0] >> target & 1:
            continue
        seen[0] |= 1 << target
        owner = partner[target]
        if owner is None or _augment(owner, after, partner, seen):
            partner[target] = node
            return True
    return False


def _alternating_reach(
    after: Sequence[int], partner: Sequence[int | None], matched_left: Sequence[bool]
) -> tuple[int, int]:
    """Left and right nodes reachable from unmatched left nodes along alternating paths."""
    left = right = 0
    queue = [x for x in range(len(after)) if not matched_left[x]]
    for x in queue:
        left |= 1 << x
    while queue:
        for target in bits(after[queue.pop()] & ~right):
            right |= 1 << target
            owner = partner[target]
            if owner is not None and not left >> owner & 1:
                left |= 1 << owner
                queue.append(owner)
    return left, right

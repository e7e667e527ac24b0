"""Every function of `synth.formal.order` against brute force on small orders."""

from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest

from synth.formal.order import (
    Closure,
    Edge,
    count_linear_extensions,
    largest_antichain,
    shortest_cycle,
    topological_order,
    transitive_reduction,
)


def orders_that_keep(size: int, edges: list[Edge]) -> list[tuple[int, ...]]:
    return [p for p in permutations(range(size)) if all(p.index(a) < p.index(b) for a, b in edges)]


def random_edges(rng: random.Random, size: int, count: int) -> list[Edge]:
    return [(rng.randrange(size), rng.randrange(size)) for _ in range(count)]


def random_orders(seed: int, trials: int, largest: int = 6) -> list[tuple[Closure, list[Edge]]]:
    rng = random.Random(seed)
    found = []
    for _ in range(trials):
        size = rng.randint(1, largest)
        closure, kept = Closure(size), []
        for edge in random_edges(rng, size, rng.randint(0, 10)):
            if closure.add(*edge):
                kept.append(edge)
        found.append((closure, kept))
    return found


def reachable(size: int, edges: list[Edge]) -> set[Edge]:
    pairs = set(edges)
    while True:
        more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not more:
            return pairs
        pairs |= more


def test_an_edge_is_refused_exactly_when_no_order_keeps_the_set():
    rng = random.Random(1)
    for _ in range(300):
        size = rng.randint(1, 5)
        closure, kept = Closure(size), []
        for edge in random_edges(rng, size, 8):
            possible = bool(orders_that_keep(size, [*kept, edge]))
            assert closure.add(*edge) is possible
            if possible:
                kept.append(edge)
            assert set(closure.edges()) == reachable(size, kept)


def test_add_all_takes_every_edge_or_none():
    closure = Closure(3, [(0, 1)])
    assert not closure.add_all([(1, 2), (2, 0)])
    assert closure == Closure(3, [(0, 1)])
    assert closure.before == Closure(3, [(0, 1)]).before
    assert closure.add_all([(1, 2), (0, 2)])
    assert closure.edges() == [(0, 1), (0, 2), (1, 2)]


def test_a_cycle_given_at_once_is_an_error():
    with pytest.raises(ValueError, match="1 -> 0 closes a cycle"):
        Closure(2, [(0, 1), (1, 0)])


def test_a_copy_is_independent():
    closure = Closure(2)
    twin = closure.copy()
    twin.add(0, 1)
    assert (0, 1) in twin
    assert (0, 1) not in closure


def test_the_reduction_is_the_smallest_set_with_the_same_closure():
    for closure, _ in random_orders(2, 200):
        reduced = transitive_reduction(closure)
        assert Closure(closure.size, reduced) == closure
        for left_out in reduced:
            assert Closure(closure.size, [e for e in reduced if e != left_out]) != closure


def test_linear_extensions_are_counted_like_permutations():
    for closure, edges in random_orders(3, 200):
        assert count_linear_extensions(closure) == len(orders_that_keep(closure.size, edges))


def test_unrelated_parts_do_not_multiply_the_work():
    chains = [(a, a + 1) for a in range(40) if a % 4 != 3]
    assert count_linear_extensions(Closure(40, chains), max_states=100) is not None


def test_counting_gives_up_beyond_its_limit():
    fan = [(0, b) for b in range(1, 25)]
    assert count_linear_extensions(Closure(25, fan), max_states=1000) is None


def test_a_topological_order_keeps_every_edge_and_prefers_low_ranks():
    for closure, edges in random_orders(4, 100):
        assert tuple(topological_order(closure)) == min(orders_that_keep(closure.size, edges))
    assert topological_order(Closure(3, [(2, 0)]), rank=[0, 2, 1]) == [2, 0, 1]


def test_the_shortest_cycle_is_a_cycle_and_none_is_shorter():
    rng = random.Random(5)
    for _ in range(300):
        size = rng.randint(1, 6)
        edges = random_edges(rng, size, rng.randint(1, 9))
        cycle = shortest_cycle(size, edges)
        if cycle is None:
            assert orders_that_keep(size, edges)
            continue
        walk = [edges[position] for position in cycle]
        assert all(walk[i][1] == walk[(i + 1) % len(walk)][0] for i in range(len(walk)))
        for fewer in range(1, len(walk)):
            assert all(orders_that_keep(size, list(some)) for some in combinations(edges, fewer))


def test_the_largest_antichain_is_one_and_none_is_larger():
    for closure, _ in random_orders(6, 300):
        found = largest_antichain(closure.after)
        unrelated = [
            some
            for k in range(closure.size + 1)
            for some in combinations(range(closure.size), k)
            if not any(pair in closure or pair[::-1] in closure for pair in combinations(some, 2))
        ]
        assert tuple(found) in unrelated
        assert len(found) == max(map(len, unrelated))

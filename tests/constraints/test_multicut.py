"""Chains and cheapest repairs: exact on tiny graphs, consistent always, quick on long chains."""

from __future__ import annotations

import math
from collections import deque
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from scipy.sparse import csgraph

from linkfield.constraints import _multicut_search
from linkfield.constraints.multicut import (
    Repair,
    cheapest_repair,
    shortest_chain,
    shortest_chains,
)


def component_labels(n_nodes, must):
    must = np.asarray(must, dtype=np.int64).reshape(-1, 2)
    graph = sparse.coo_array((np.ones(len(must)), must.T), shape=(n_nodes, n_nodes))
    return csgraph.connected_components(graph, directed=False)[1]


def consistent(n_nodes, must, cannot):
    label = component_labels(n_nodes, must)
    cannot = np.asarray(cannot, dtype=np.int64).reshape(-1, 2)
    return bool((label[cannot[:, 0]] != label[cannot[:, 1]]).all())


def ordered(cost):
    """Infinite pairs first, then the rest: the order in which repairs are compared."""
    return sum(map(math.isinf, cost)), sum(w for w in cost if math.isfinite(w))


def brute_force(n_nodes, must, must_weight, cannot, cannot_weight, fixed):
    """Least cost over all subsets of pairs."""
    best = None
    for drop in product([False, True], repeat=len(must) + len(cannot)):
        gone_must, gone = drop[: len(must)], drop[len(must) :]
        if any(g and f for g, f in zip(gone, fixed, strict=True)):
            continue
        weights = [*must_weight, *cannot_weight]
        cost = ordered([w for w, d in zip(weights, drop, strict=True) if d])
        if best is not None and cost >= best:
            continue
        rest_must = [p for p, d in zip(must, gone_must, strict=True) if not d]
        rest = [p for p, d in zip(cannot, gone, strict=True) if not d]
        if consistent(n_nodes, rest_must, rest):
            best = cost
    return best


def assert_consistent(n_nodes, must, must_weight, cannot, cannot_weight, repair, fixed=None):
    must, cannot = np.reshape(must, (-1, 2)), np.reshape(cannot, (-1, 2))
    assert repair.drop_must.shape == (len(must),) and repair.drop_must.dtype == np.bool_
    assert repair.drop_cannot.shape == (len(cannot),) and repair.drop_cannot.dtype == np.bool_
    assert consistent(n_nodes, must[~repair.drop_must], cannot[~repair.drop_cannot])
    if fixed is not None:
        assert not (repair.drop_cannot & fixed).any()
    removed = [*np.asarray(must_weight)[repair.drop_must]]
    removed += [*np.asarray(cannot_weight)[repair.drop_cannot]]
    assert repair.cost == pytest.approx(sum(removed), rel=1e-12)


weights = st.sampled_from([0.5, 1.0, 1.0, 1.5, 2.25, 7.0, math.inf])


@st.composite
def conflicts(draw, max_must=6, max_cannot=4, kinds=weights):
    n = draw(st.integers(2, 6))
    node = st.integers(0, n - 1)
    pair = st.tuples(node, node)
    must = draw(st.lists(pair, min_size=2, max_size=max_must))
    cannot = draw(st.lists(pair, max_size=max_cannot))
    must_weight = draw(st.lists(kinds, min_size=len(must), max_size=len(must)))
    cannot_weight = draw(st.lists(kinds, min_size=len(cannot), max_size=len(cannot)))
    flags = draw(st.lists(st.booleans(), min_size=len(cannot), max_size=len(cannot)))
    fixed = np.array([f and a != b for f, (a, b) in zip(flags, cannot, strict=True)], dtype=bool)
    return n, must, must_weight, cannot, cannot_weight, fixed


def compare(problem, *, with_fixed):
    n, must, must_weight, cannot, cannot_weight, fixed = problem
    fixed = fixed if with_fixed else np.zeros(len(cannot), dtype=bool)
    repair = cheapest_repair(
        n, must, must_weight, cannot, cannot_weight, fixed_cannot=fixed if with_fixed else None
    )
    assert repair.proven
    assert_consistent(n, must, must_weight, cannot, cannot_weight, repair, fixed)
    removed = [w for w, d in zip(must_weight, repair.drop_must, strict=True) if d]
    removed += [w for w, d in zip(cannot_weight, repair.drop_cannot, strict=True) if d]
    infinite, finite = brute_force(n, must, must_weight, cannot, cannot_weight, fixed)
    assert ordered(removed) == (infinite, pytest.approx(finite, rel=1e-9))


@given(conflicts())
@settings(max_examples=150, deadline=None)
def test_repair_is_cheapest(problem):
    compare(problem, with_fixed=False)


@given(conflicts())
@settings(max_examples=150, deadline=None)
def test_repair_is_cheapest_with_fixed_cannot_links(problem):
    compare(problem, with_fixed=True)


@given(conflicts(max_must=9, max_cannot=3, kinds=st.floats(0.01, 100.0)))
@settings(max_examples=60, deadline=None)
def test_repair_is_cheapest_for_any_finite_weights(problem):
    compare(problem, with_fixed=False)


@given(conflicts(max_must=20, max_cannot=10), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_order_of_nodes_and_pairs_does_not_change_the_cost(problem, random):
    n, must, must_weight, cannot, cannot_weight, _ = problem
    name = list(range(n))
    random.shuffle(name)
    moved = [(name[b], name[a], w) for (a, b), w in zip(must, must_weight, strict=True)]
    random.shuffle(moved)
    before = cheapest_repair(n, must, must_weight, cannot, cannot_weight)
    after = cheapest_repair(
        n,
        [m[:2] for m in moved],
        [m[2] for m in moved],
        [(name[b], name[a]) for a, b in cannot],
        cannot_weight,
    )
    assert after.cost == pytest.approx(before.cost, rel=1e-9)


@given(conflicts(max_must=20, max_cannot=10))
@settings(max_examples=100, deadline=None)
def test_without_time_the_repair_is_still_consistent(problem):
    n, must, must_weight, cannot, cannot_weight, fixed = problem
    repair = cheapest_repair(
        n, must, must_weight, cannot, cannot_weight, fixed_cannot=fixed, time_limit=0.0
    )
    assert_consistent(n, must, must_weight, cannot, cannot_weight, repair, fixed)
    best = cheapest_repair(n, must, must_weight, cannot, cannot_weight, fixed_cannot=fixed)
    assert repair.cost >= best.cost - 1e-9
    assert not repair.proven or repair.cost == pytest.approx(best.cost)


def random_conflicts(seed, n=60, n_must=150, n_cannot=40):
    rng = np.random.default_rng(seed)
    must, cannot = rng.integers(0, n, size=(n_must, 2)), rng.integers(0, n, size=(n_cannot, 2))
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    return n, must, rng.uniform(0.5, 2, n_must), cannot, rng.uniform(0.5, 4, len(cannot))


@pytest.mark.parametrize("seed", range(3))
def test_repair_is_cheapest_on_medium_graphs(seed):
    # The whole program at once, in the other usual form: node potentials of a multicut. A node
    # v has d_p(v) >= 0 for each conflict p, at most the length of any path from the first end.
    n, must, must_weight, cannot, cannot_weight = random_conflicts(seed, 14, 22, 6)
    repair = cheapest_repair(n, must, must_weight, cannot, cannot_weight)
    assert repair.proven
    assert_consistent(n, must, must_weight, cannot, cannot_weight, repair)
    m, c = len(must), len(cannot)
    rows, lower = [], []
    for p, (_, b) in enumerate(cannot):
        offset = m + c + p * n
        for e, (u, v) in enumerate(must):
            for s, t in ((u, v), (v, u)):
                row = np.zeros(m + c + c * n)
                row[offset + t] -= 1
                row[offset + s] += 1
                row[e] += 1
                rows.append(row)
                lower.append(0.0)
        row = np.zeros(m + c + c * n)
        row[[m + p, offset + b]] = 1
        rows.append(row)
        lower.append(1.0)
    upper = np.ones(m + c + c * n)
    for p, (a, _) in enumerate(cannot):
        upper[m + c + p * n + a] = 0
    result = optimize.milp(
        np.concatenate((must_weight, cannot_weight, np.zeros(c * n))),
        integrality=np.concatenate((np.ones(m + c), np.zeros(c * n))),
        bounds=optimize.Bounds(0, upper),
        constraints=optimize.LinearConstraint(np.array(rows), lower, np.inf),
        options={"mip_rel_gap": 0.0},
    )
    assert repair.cost == pytest.approx(result.fun, rel=1e-7)


def test_time_limit_in_the_middle_leaves_a_consistent_repair(monkeypatch):
    problem = random_conflicts(5)
    exact = cheapest_repair(*problem)
    cover, calls = _multicut_search._cover, []

    def interrupted(*arguments):
        calls.append(1)
        return cover(*arguments) if len(calls) < 3 else (None, -1.0)

    monkeypatch.setattr(_multicut_search, "_cover", interrupted)
    repair = cheapest_repair(*problem)
    assert len(calls) == 3 and exact.proven and not repair.proven
    assert_consistent(*problem, repair)
    assert repair.cost >= exact.cost - 1e-9


def test_nothing_to_repair():
    repair = cheapest_repair(4, [[0, 1], [2, 3]], [1, 1], [[0, 2]], [1])
    assert repair.proven and repair.cost == 0
    assert not repair.drop_must.any() and not repair.drop_cannot.any()
    assert cheapest_repair(0, [], [], [], []).cost == 0
    assert cheapest_repair(3, [[0, 1]], [1.0], [], []).cost == 0


def test_cannot_link_with_itself_goes_and_a_must_link_with_itself_stays():
    repair = cheapest_repair(2, [[0, 0], [0, 1]], [1, 1], [[1, 1]], [5])
    assert repair.drop_cannot.tolist() == [True] and not repair.drop_must.any()
    assert repair.cost == 5


@pytest.mark.parametrize("times", [1, 128, 256, 65_536])
def test_repeated_pairs_add_up(times):
    must, weight = [[0, 1]] * times + [[1, 2]], [1.0] * times + [3.0]
    repair = cheapest_repair(3, must, weight, [[0, 2]] * times, [2.0] * times)
    assert repair.proven and repair.cost == min(times, 3)
    assert shortest_chain(3, must, 0, 2).tolist() == [0, 1, 2]


def test_infinite_weights():
    chain = [[0, 1], [1, 2]]
    finite = cheapest_repair(3, chain, [math.inf, 9.0], [[0, 2]], [math.inf])
    assert finite.drop_must.tolist() == [False, True] and finite.cost == 9
    dear = cheapest_repair(3, chain, [math.inf, math.inf], [[0, 2]], [3.0])
    assert dear.drop_cannot.tolist() == [True] and dear.cost == 3
    stuck = cheapest_repair(3, chain, [math.inf, math.inf], [[0, 2]], [math.inf])
    assert stuck.cost == math.inf and stuck.drop_must.sum() + stuck.drop_cannot.sum() == 1
    fixed = cheapest_repair(3, chain, [math.inf] * 2, [[0, 2]], [1.0], fixed_cannot=[True])
    assert fixed.drop_must.sum() == 1 and not fixed.drop_cannot.any()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_unit_of_the_weights_does_not_matter(scale):
    n, must, must_weight, cannot, cannot_weight = random_conflicts(2, 30, 60, 15)
    one = cheapest_repair(n, must, must_weight, cannot, cannot_weight)
    other = cheapest_repair(n, must, must_weight * scale, cannot, cannot_weight * scale)
    assert one.proven and other.proven
    assert other.cost == pytest.approx(one.cost * scale, rel=1e-6)


def test_a_million_nodes_in_a_chain():
    n = 1_000_000
    must = np.column_stack((np.arange(n - 1), np.arange(1, n)))
    weight = np.full(n - 1, 2.0)
    weight[777_777] = 1.0
    repair = cheapest_repair(n, must, weight, [[0, n - 1]], [1.5])
    assert repair.proven and repair.cost == 1.0
    assert np.flatnonzero(repair.drop_must).tolist() == [777_777]
    chain = shortest_chain(n, must, n - 1, 0)
    assert (chain == np.arange(n)[::-1]).all()


def test_a_large_tree_with_many_conflicts():
    rng = np.random.default_rng(0)
    n = 200_000
    must = np.column_stack(
        ((np.arange(1, n) * rng.random(n - 1)).astype(np.int64), np.arange(1, n))
    )
    cannot = rng.integers(0, n, size=(30, 2))
    weights = rng.uniform(1, 2, n - 1), rng.uniform(1, 4, 30)
    repair = cheapest_repair(n, must, weights[0], cannot, weights[1])
    assert_consistent(n, must, weights[0], cannot, weights[1], repair)
    assert repair.cost <= weights[1].sum()


def test_many_small_components():
    count = 3_000  # squares with both diagonals forbidden
    corner = 4 * np.arange(count)[:, None, None]
    must = (corner + np.array([[0, 1], [1, 2], [2, 3], [3, 0]])).reshape(-1, 2)
    cannot = (corner + np.array([[0, 2], [1, 3]])).reshape(-1, 2)
    repair = cheapest_repair(
        4 * count, must, np.ones(len(must)), cannot, np.full(len(cannot), 1.25)
    )
    assert repair.proven and repair.cost == 2 * count
    assert_consistent(
        4 * count, must, np.ones(len(must)), cannot, np.full(len(cannot), 1.25), repair
    )


def breadth_first(n_nodes, must, start):
    near = [set() for _ in range(n_nodes)]
    for a, b in must:
        near[a].add(b)
        near[b].add(a)
    distance, queue = {start: 0}, deque([start])
    while queue:
        v = queue.popleft()
        for u in near[v] - distance.keys():
            distance[u] = distance[v] + 1
            queue.append(u)
    return distance


@given(conflicts(max_must=12, max_cannot=8))
@settings(max_examples=200, deadline=None)
def test_chains_are_shortest(problem):
    n, must, _, pairs, _, _ = problem
    links = {frozenset(p) for p in must}
    chains = shortest_chains(n, must, pairs)
    assert len(chains) == len(pairs)
    for (a, b), chain in zip(pairs, chains, strict=True):
        distance = breadth_first(n, must, a)
        alone = shortest_chain(n, must, a, b)
        if b not in distance:
            assert chain is None and alone is None
            continue
        for found in (chain, alone):
            assert found.dtype == np.int64
            assert found[0] == a and found[-1] == b and len(found) == distance[b] + 1
            steps = zip(found[:-1].tolist(), found[1:].tolist(), strict=True)
            assert all(frozenset(s) in links for s in steps)


def test_many_chains_inside_a_large_graph():
    n = 300_000  # rings of 30 nodes
    nodes = np.arange(n)
    must = np.column_stack((nodes, nodes - nodes % 30 + (nodes + 1) % 30))
    first = 30 * np.arange(5_000)
    pairs = np.column_stack((first, first + 10))
    chains = shortest_chains(n, must, pairs)
    assert all(len(chain) == 11 for chain in chains)
    assert (np.array(chains) == first[:, None] + np.arange(11)).all()


def test_chain_from_a_node_to_itself():
    assert shortest_chain(3, [[0, 1]], 2, 2).tolist() == [2]
    assert shortest_chains(3, [], []) == []


def test_answer_is_frozen():
    with pytest.raises(AttributeError):
        Repair(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), 0.0, True).cost = 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"must": [[0, 3]]}, "must must name nodes"),
        ({"must": [[-1, 0]]}, "must must name nodes"),
        ({"cannot": [[0, 1, 2]]}, "cannot must be integers"),
        ({"must": [[0.0, 1.0]]}, "must must be integers"),
        ({"must_weight": [0.0]}, "must_weight"),
        ({"must_weight": [math.nan]}, "must_weight"),
        ({"cannot_weight": [1.0, 1.0]}, "cannot_weight"),
        ({"fixed_cannot": [1]}, "fixed_cannot"),
        ({"fixed_cannot": [True, False]}, "fixed_cannot"),
        ({"cannot": [[1, 1]], "fixed_cannot": [True]}, "itself"),
        ({"time_limit": math.nan}, "time_limit"),
        ({"time_limit": -1.0}, "time_limit"),
    ],
)
def test_bad_input(change, message):
    call = {"must": [[0, 1]], "must_weight": [1.0], "cannot": [[0, 2]], "cannot_weight": [1.0]}
    with pytest.raises(ValueError, match=message):
        cheapest_repair(3, **(call | change))


def test_bad_pairs_of_a_chain():
    with pytest.raises(ValueError, match="pairs"):
        shortest_chain(3, [[0, 1]], 0, 3)

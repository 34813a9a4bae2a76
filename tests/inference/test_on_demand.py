"""Costs that are worked out on demand give the labels that all costs together give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkfield._threads import threads
from linkfield.inference import ICM, PottsField
from linkfield.inference import _plain_state as plain_state
from linkfield.inference.on_demand import Costs, CostsOnDemand


def random_field(rng, n, K, m):
    """A field of must-links and cannot-links with clear preferences, like rows in clusters."""
    y = rng.integers(0, K, n)
    unary = rng.uniform(0, 1, (n, K))
    unary[np.arange(n), y] -= rng.uniform(0, 2, n) * (rng.random(n) < 0.8)
    edges = rng.integers(0, n, (m, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    must = y[edges[:, 0]] == y[edges[:, 1]]
    price = rng.uniform(0.1, 2.0, len(edges)) * rng.choice([1.0, 10.0])
    agree, differ = np.where(must, 0.0, price), np.where(must, price, 0.0)
    return PottsField(unary, edges, agree, differ, visit=rng.permutation(n))


def on_demand(field, rng, asked):
    """The same field, its margins understated at random."""
    least, second = np.sort(field.unary, axis=1)[:, :2].T

    def unary(nodes, table, noise):
        asked.extend(nodes.tolist())
        table[:] = field.unary[nodes] + rng.normal(size=(len(nodes), 1))  # up to a constant a node
        noise[:] = 0.0

    costs = Costs(
        field.cheapest.astype(np.int32), rng.uniform(0, 1, field.n_nodes) * (second - least),
        unary, lambda edges: (field.agree_cost - field.differ_cost)[edges],
    )  # fmt: skip
    return CostsOnDemand(field.structure, field.n_labels, field.differ_cost > 0, costs)


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32 - 1))
def test_same_labels(seed):
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(2, 60)), int(rng.integers(2, 6))
    field = random_field(rng, n, K, int(rng.integers(1, 3 * n)))
    start = None if rng.random() < 0.4 else rng.integers(0, K, n)
    if start is not None and rng.random() < 0.5:
        start = ICM().solve(field, start, 0).labels
        start[rng.random(n) < 0.1] = 0
    if start is not None:
        start.setflags(write=bool(rng.random() < 0.5))  # it is only read
    asked, every_move = [], bool(rng.random() < 0.5)
    costs = on_demand(field, rng, asked)
    labels = ICM().settled(costs, start, np.random.default_rng(seed), every_move)
    known = ICM().step(field, start, np.random.default_rng(seed), every_move)
    np.testing.assert_allclose(field.energy(labels), known.energy, atol=1e-9)
    np.testing.assert_array_equal(labels, known.labels)
    if start is not None:
        assert len(asked) == len(set(asked))


def test_content_nodes_are_not_asked_for():
    rng = np.random.default_rng(0)
    field = random_field(rng, 5_000, 4, 3_000)
    start = ICM().solve(field, random_state=0).labels
    asked = []
    again = ICM().settled(on_demand(field, rng, asked), start, np.random.default_rng(1))
    assert len(asked) < 0.5 * field.n_nodes
    np.testing.assert_array_equal(again, start)


def broken(field, labels):
    left, right = labels[field.edges].T
    agree, differ = field.agree_cost, field.differ_cost
    return np.flatnonzero(np.where(left == right, agree > differ, differ > agree))


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1))
def test_new_costs_for_the_same_field(seed):
    """A field that gets new costs again and again, some of them given, is solved as a new one.

    It may be known by how much what links cost has changed, and the labels before may be those
    that were found or others.
    """
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(2, 60)), int(rng.integers(2, 6))
    field = random_field(rng, n, K, int(rng.integers(1, 3 * n)))
    demand, labels = on_demand(field, rng, []), None
    for step in range(4):
        unary = field.unary + rng.normal(0, 0.3, field.unary.shape)
        dearer = rng.uniform(*rng.choice([[0.3, 2.0], [0.9, 1.1]]), len(field.edges))
        agree, differ = dearer * field.agree_cost, dearer * field.differ_cost
        field = field.with_costs(unary, agree, differ, None)
        asked = []
        demand.costs = on_demand(field, rng, asked).costs
        if step > 0 and rng.random() < 0.7:
            demand.costs.drift = (dearer.min(initial=1.0), dearer.max(initial=1.0))
        given = demand.needed
        demand.costs.nodes, demand.costs.noise = given, np.zeros(len(given))
        demand.costs.table = np.full((len(given) + 2, K), np.nan)
        demand.costs.table[: len(given)] = unary[given]
        if labels is not None and rng.random() < 0.3:
            labels = np.where(rng.random(n) < 0.1, 0, labels)
        known = ICM().step(field, labels, np.random.default_rng(step)).labels
        with pytest.MonkeyPatch.context() as patch, threads(2):  # with looks on threads and without
            patch.setattr(plain_state, "MANY", int(rng.choice([1, 10_000])))
            labels = ICM().settled(demand, labels, np.random.default_rng(step))
        np.testing.assert_array_equal(labels, known)
        np.testing.assert_array_equal(demand.broken, broken(field, labels))
        assert not set(asked) & set(given.tolist())


def test_links_whose_costs_change_little_are_not_asked_for_again():
    rng = np.random.default_rng(0)
    field, labels, asked = random_field(rng, 5_000, 4, 3_000), None, []
    demand = on_demand(field, rng, [])
    for step in range(5):
        agree, differ = (1.001**step * cost for cost in (field.agree_cost, field.differ_cost))
        now = field.with_costs(field.unary, agree, differ, None)
        costs = demand.costs = on_demand(now, rng, []).costs
        costs.drift = (1.001, 1.001) if step > 0 else None
        gaps, seen = costs.gaps, []
        costs.gaps = lambda edges, gaps=gaps, seen=seen: (seen.extend(edges), gaps(edges))[1]
        labels = ICM().settled(demand, labels, rng)
        asked.append(len(seen))
    assert asked[0] >= len(field.edges)
    assert max(asked[2:]) < 0.05 * asked[0]


def test_nodes_that_are_free_to_go_are_not_asked_for():
    n = 1_000
    rng, wish = np.random.default_rng(0), np.arange(n) % 3
    unary = rng.uniform(0, 1, (n, 6))
    unary[np.arange(n), wish] -= 2.0
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])  # no two have the same wish
    field = PottsField(unary, edges, np.ones(n - 1), np.zeros(n - 1))
    asked = []
    labels = ICM().settled(on_demand(field, rng, asked), 3 + wish, rng)
    np.testing.assert_array_equal(labels, wish)
    assert asked == []


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_neither_numbering_nor_threads_matter(seed):
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(2, 60)), int(rng.integers(2, 6))
    field = random_field(rng, n, K, int(rng.integers(1, 3 * n)))
    start = None if rng.random() < 0.3 else rng.integers(0, K, n)
    known = ICM().solve(field, start, np.random.default_rng(seed)).labels
    new = rng.permutation(n)  # node i becomes node new[i]
    old = np.argsort(new)
    other = PottsField(
        field.unary[old], new[field.edges], field.agree_cost, field.differ_cost,
        visit=new[field.structure.visit],
    )  # fmt: skip
    begin = None if start is None else start[old]
    with pytest.MonkeyPatch.context() as patch, threads(2):
        patch.setattr(plain_state, "MANY", 1)
        labels = ICM().solve(other, begin, np.random.default_rng(seed)).labels
    np.testing.assert_array_equal(labels[new], known)


def test_insertion_in_parts(monkeypatch):
    rng = np.random.default_rng(3)
    field = random_field(rng, 300, 4, 300)
    whole = ICM().step(field, None, np.random.default_rng(5)).labels
    monkeypatch.setattr(plain_state, "INSERTED", 7)
    parts = ICM().settled(on_demand(field, rng, []), None, np.random.default_rng(5))
    np.testing.assert_array_equal(parts, whole)

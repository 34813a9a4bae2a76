"""Compiled loops against plain numpy, scipy and loops."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from linkfield import Constraints, HMRFKMeans
from linkfield._blocksums import BlockGroups
from linkfield._kernels import graphs
from linkfield._rows import CentredCSR, CSRRows, DenseRows, Rows
from linkfield._structure import Structure, by_group
from linkfield.constraints._normal import unique_rows
from linkfield.constraints.closure import (
    FEW,
    SOME,
    _led_by_hand,
    _led_by_steps,
    _numbered,
    must_components,
)
from linkfield.inference import ICM, PottsField
from linkfield.inference._relabel_kernels import _two_names, cheapest_assignment, rename, restive
from linkfield.initialize import order as orders
from linkfield.initialize.order import Draws

Array = np.ndarray
seeds = st.integers(0, 2**32 - 1)
every_kind = pytest.mark.parametrize("kind", ["dense", "offset", "csr", "centred"])
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


# ---------------------------------------------------------------------------
# rows


def make(kind: str, seed: int, dtype: Any) -> tuple[Rows, Array, np.random.Generator]:
    """Return rows, the float64 array that they stand for, and the generator."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 20))
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.random())).astype(dtype)
    X[rng.random(n) < 0.2] = 0.0  # empty rows
    if kind == "dense":
        return DenseRows(X), X.astype(np.float64), rng
    if kind == "offset":
        offset = rng.normal(size=d).astype(dtype)
        return DenseRows(X, offset), (X - offset).astype(np.float64), rng
    if kind == "csr":
        return CSRRows(sparse.csr_array(X)), X.astype(np.float64), rng
    mean = X.astype(np.float64).mean(axis=1)
    return CentredCSR(sparse.csr_array(X), mean), X - mean[:, None], rng


def close(value: Array, wanted: Array, dtype: Any) -> None:
    assert value.shape == wanted.shape
    tolerance = 1e-11 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)


@every_kind
@every_dtype
@settings(max_examples=25)
@given(seed=seeds)
def test_rows_answer_as_numpy_would(kind: str, dtype: Any, seed: int) -> None:
    rows, X, rng = make(kind, seed, dtype)
    n, d = X.shape
    m = int(rng.integers(0, 60))
    i, j = rng.integers(0, n, m), rng.integers(0, n, m)
    a, c = rng.random(d), rng.normal(size=m)
    close(rows.pair_squares(i, j, a), ((X[i] - X[j]) ** 2) @ a, dtype)
    close(rows.pair_products(i, j, a), (X[i] * X[j]) @ a, dtype)
    close(rows.pair_square_sums(i, j, c), c @ (X[i] - X[j]) ** 2, dtype)
    close(rows.pair_product_sums(i, j, c), c @ (X[i] * X[j]), dtype)
    close(rows.lengths(a), (X**2) @ a, dtype)
    close(rows.projected(c[:1].sum() + a), X @ (c[:1].sum() + a), dtype)
    group = rng.integers(-1, 4, n)
    wanted = np.array([X[group == g].sum(axis=0) for g in range(4)])
    close(rows.grouped(group, 4), wanted, dtype)
    assert rows.lengths(a).dtype == dtype
    for value in (rows.pair_squares(i, j, a), rows.grouped(group, 4), rows.projected(a)):
        assert value.dtype == np.float64


@every_kind
@every_dtype
@settings(max_examples=20)
@given(seed=seeds)
def test_cosines_of_pairs(kind: str, dtype: Any, seed: int) -> None:
    rows, X, rng = make(kind, seed, dtype)
    i, j = rng.integers(0, len(X), (2, 30))
    a = rng.uniform(0.1, 3.0, X.shape[1])
    found = rows.pair_cosines(i, j, a)
    if kind != "dense":  # no loop for these
        assert found is None
        return
    length = np.sqrt(X**2 @ a)
    both = length[i] * length[j]
    wanted = np.divide((X[i] * X[j]) @ a, both, out=np.zeros(30), where=both > 0)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_equal_rows_have_equal_projections_wherever_they_stand() -> None:
    rng = np.random.default_rng(0)
    few = rng.normal(size=(50, 37)) * (rng.random((50, 37)) < 0.5)
    which = rng.integers(0, 50, 20_000)
    for rows in (DenseRows(few[which]), CSRRows(sparse.csr_array(few[which]))):
        keys = rows.projected(rng.normal(size=37))
        assert len(np.unique(keys)) == 50
        assert all(len(np.unique(keys[which == k])) == 1 for k in range(50))


# ---------------------------------------------------------------------------
# renaming


@settings(max_examples=200)
@given(seed=seeds)
def test_cheapest_assignment_is_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    K = int(rng.integers(1, 9))
    r = int(rng.integers(1, K + 1))
    cost = rng.normal(size=(K, K)) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.3:
        cost = rng.integers(0, 3, (K, K)).astype(float)  # many ties
    column = np.full(K, -1)
    cheapest_assignment(cost, r, column)
    assert len(set(column[:r].tolist())) == r and (column[:r] >= 0).all()
    wanted = cost[:r][linear_sum_assignment(cost[:r])].sum()
    np.testing.assert_allclose(cost[np.arange(r), column[:r]].sum(), wanted, rtol=1e-12, atol=1e-12)
    if K > 1:
        name = np.full(K, -1)
        _two_names(cost, name)
        assert name[0] != name[1]
        wanted = cost[:2][linear_sum_assignment(cost[:2])].sum()
        np.testing.assert_allclose(cost[0, name[0]] + cost[1, name[1]], wanted, atol=1e-12)


@settings(max_examples=60)
@given(seed=seeds)
def test_rename_permutes_every_component_at_its_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, K, groups = 24, int(rng.integers(2, 6)), 5
    unary, labels = rng.normal(size=(n, K)), rng.integers(0, K, n)
    of = np.sort(rng.integers(0, groups, n))
    pointer = np.searchsorted(of, np.arange(groups + 1))
    node = np.concatenate([rng.permutation(np.flatnonzero(of == g)) for g in range(groups)])
    skip, after = rng.random(groups) < 0.2, labels.copy()
    place, nobody, zeros = np.arange(n), np.empty(0, np.int64), np.zeros(n)
    costs = (unary, place, unary.argmin(axis=1), zeros)
    unhappy = np.flatnonzero(labels != costs[2])
    hopeful = restive(*costs, labels, nobody, pointer, node, of, unhappy)
    gained = rename(unary, place, zeros, after, pointer, node, hopeful & ~skip)
    assert not restive(*costs, labels, labels, pointer, node, of, unhappy).any()
    wins = []
    for g in range(groups):
        mine = np.flatnonzero(of == g)
        if skip[g] or len(mine) == 0:
            np.testing.assert_array_equal(after[mine], labels[mine])
            continue
        names = np.unique(labels[mine])
        cost = np.array([unary[mine[labels[mine] == h]].sum(axis=0) for h in names])
        best = cost[linear_sum_assignment(cost)].sum()
        np.testing.assert_allclose(unary[mine, after[mine]].sum(), best, atol=1e-10)
        if unary[mine, labels[mine]].sum() > best + 1e-10:
            wins.append(g)
        # The same rows are together as before.
        assert len(set(zip(labels[mine], after[mine], strict=True))) == len(names)
    assert gained.tolist() == wins


# ---------------------------------------------------------------------------
# sums by block and label


@given(seed=seeds)
def test_block_groups_are_what_loops_find(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, K, B = 30, 3, 4
    block, labels = rng.integers(-1, B, n), rng.integers(0, K, n)
    block[:B] = np.arange(B)
    X, value = rng.normal(size=(n, 2)), rng.normal(size=n)
    pairs = np.array([(p, q) for p in range(B) for q in range(p) if rng.random() < 0.5])
    pairs = pairs.reshape(-1, 2)
    apart = np.column_stack([rng.integers(0, n, 6), rng.integers(0, B, 6)])
    found = BlockGroups.of_labels(block, labels, K)
    sums, rows = found.sum(value), found.rows(DenseRows(X))
    for b in range(B):
        for h in range(K):
            mine = (block == b) & (labels == h)
            g = found.index[b, h]
            assert (g >= 0) == mine.any()
            if g >= 0:
                assert (found.block[g], found.label[g]) == (b, h)
                np.testing.assert_allclose(sums[g], value[mine].sum(), atol=1e-12)
                np.testing.assert_allclose(rows[g], X[mine].sum(axis=0), atol=1e-12)
    whole = [X[block == b].sum(axis=0) for b in range(B)]
    np.testing.assert_allclose(found.by_block(rows), whole, atol=1e-12)
    shared = [(found.index[p, h], found.index[q, h]) for p, q in pairs for h in range(K)
              if min(found.index[p, h], found.index[q, h]) >= 0]  # fmt: skip
    assert sorted(zip(*(side.tolist() for side in found.shared(pairs)), strict=True)) == sorted(
        shared
    )
    beside = [(r, found.index[g, labels[r]]) for r, g in apart if found.index[g, labels[r]] >= 0]
    assert list(zip(*(s.tolist() for s in found.beside(apart, labels)), strict=True)) == beside
    one_label = all(len(np.unique(labels[block == b])) == 1 for b in range(B))
    assert found.quiet(pairs, apart, labels) == (one_label and not shared and not beside)


# ---------------------------------------------------------------------------
# draws


@given(seed=seeds)
def test_draws_by_buckets_are_plain_cumulative_draws(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5_000))
    order, weight = rng.permutation(n), rng.random(n) * (rng.random(n) < rng.uniform(0.05, 1.0))
    weight[rng.integers(n)] = 1.0
    draws, uniform = Draws(order), rng.random(20)
    total = np.cumsum(weight[order])
    wanted = order[np.searchsorted(total, uniform * total[-1], side="right")]
    found = draws(weight.__getitem__, draws.sums(weight), uniform)
    np.testing.assert_array_equal(found, wanted)
    ends = draws(weight.__getitem__, draws.sums(weight), np.array([0.0, 1.0]))
    assert (weight[ends] > 0).all()
    # Lowering keeps the sums by bucket what they are.
    nearest, new = rng.random(n), rng.random(n).astype(np.float32)
    lower = np.minimum(nearest, new)
    sums = draws.lowered(nearest, new, weight)
    np.testing.assert_array_equal(nearest, lower)
    parts = [order[k : k + orders.BUCKET] for k in range(0, n, orders.BUCKET)]
    np.testing.assert_allclose(sums, [(weight * lower)[p].sum() for p in parts], rtol=1e-12)


# ---------------------------------------------------------------------------
# graphs


def first_numbered(component: Array) -> Array:
    """Number components by their first node."""
    _, first, inverse = np.unique(component, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def components(n: int, edges: Array) -> Array:
    graph = sparse.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return first_numbered(connected_components(graph, directed=False)[1])


@settings(max_examples=60)
@given(seed=seeds)
def test_components_are_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 150))
    edges = rng.integers(0, n, (int(rng.integers(0, 320)), 2))
    wanted = components(n, edges)
    for led in (_led_by_hand, _led_by_steps):
        np.testing.assert_array_equal(_numbered(led(n, edges)), wanted)
    np.testing.assert_array_equal(must_components(n, edges), wanted)
    np.testing.assert_array_equal(graphs.components(n, edges), wanted)


@pytest.mark.parametrize("m", [FEW, FEW + 1, SOME, SOME + 1])
@pytest.mark.parametrize("shape", ["chain", "star", "random"])
def test_components_of_more_links(m: int, shape: str) -> None:
    rng = np.random.default_rng(m)
    name, at = rng.permutation(m + 1), np.arange(m)
    ends = {"chain": (at, at + 1), "star": (0 * at, at + 1), "random": rng.integers(0, m, (2, m))}
    edges = name[np.column_stack(ends[shape])]
    wanted = components(m + 1, edges)
    np.testing.assert_array_equal(must_components(m + 1, edges), wanted)
    np.testing.assert_array_equal(graphs.components(m + 1, edges), wanted)


@given(seed=seeds, transposed=st.booleans())
def test_groups_hold_their_entries_in_order(seed: int, transposed: bool) -> None:
    rng = np.random.default_rng(seed)
    n_groups, n = int(rng.integers(1, 9)), int(rng.integers(0, 40))
    group = rng.integers(0, n_groups, (n, 2))[:, 0] if transposed else rng.integers(0, n_groups, n)
    pointer, order = by_group(group, n_groups)
    assert len(pointer) == n_groups + 1 and len(order) == n
    for g in range(n_groups):
        mine = order[pointer[g] : pointer[g + 1]]
        np.testing.assert_array_equal(mine, np.flatnonzero(group == g))


@given(seed=seeds, top=st.sampled_from([3, 1000, 2**40]))
def test_unique_rows_are_numpys(seed: int, top: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, top, (int(rng.integers(0, 40)), int(rng.integers(1, 4))))
    table = np.concatenate([table, table[::2]])
    rows, first = unique_rows(table)
    if len(table):
        wanted = np.unique(table, axis=0, return_index=True)
        np.testing.assert_array_equal(rows, wanted[0])
        np.testing.assert_array_equal(first, wanted[1])
    else:
        assert len(rows) == len(first) == 0


@settings(max_examples=40)
@given(seed=seeds)
def test_core_is_what_peeling_leaves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, density = int(rng.integers(2, 25)), rng.random()
    pairs = [(i, j) for i in range(n) for j in range(i) if rng.random() < density]
    closure = Constraints(cannot_link=pairs).closure()
    for k in range(1, 6):
        left = set(range(closure.n_components))
        neighbours: dict[int, set[int]] = {p: set() for p in left}
        for p, q in closure.apart.tolist():
            neighbours[p].add(q)
            neighbours[q].add(p)
        while weak := [p for p in left if len(neighbours[p] & left) < k]:
            left.remove(weak[0])
        assert sorted(left) == closure._core(k).tolist()


def random_structure(rng: np.random.Generator) -> Structure:
    n, B = int(rng.integers(3, 20)), 3
    edges = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < 0.12])
    if rng.random() < 0.5:
        return Structure.of(n, edges.reshape(-1, 2).astype(np.int64), None)
    block = np.where(rng.random(n) < 0.5, -1, rng.integers(0, B, n))
    block[:B] = np.arange(B)
    pairs = np.array([(0, 1)]) if rng.random() < 0.5 else np.empty((0, 2), np.int64)
    apart = np.column_stack([rng.integers(0, n, 2), rng.integers(0, B, 2)])
    apart = apart[block[apart[:, 0]] != apart[:, 1]]
    order = rng.permutation(n)
    return Structure(n, edges.reshape(-1, 2).astype(np.int64), block, pairs, apart, order)


def block_edges(graph: Structure) -> Array:
    """Join the members of every block, one after the other."""
    found = [np.flatnonzero(graph.block == b) for b in range(graph.n_blocks)]
    links = [np.column_stack([m[:-1], m[1:]]) for m in found]
    return np.concatenate([np.empty((0, 2), np.int64), *links])


@settings(max_examples=60)
@given(seed=seeds)
def test_structure_is_what_naive_graphs_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_structure(rng)
    n, edges = graph.n_nodes, graph.edges
    pointer, neighbour, edge = graph.adjacency
    for i in range(n):
        mine = [(int(a + b - i), e) for e, (a, b) in enumerate(edges) if i in (a, b)]
        here = slice(pointer[i], pointer[i + 1])
        beside = zip(neighbour[here].tolist(), edge[here].tolist(), strict=True)
        assert sorted(beside) == sorted(mine)
    first_of = [int(np.flatnonzero(graph.block == b)[0]) for b in range(graph.n_blocks)]
    joined = [(first_of[p], first_of[q]) for p, q in graph.block_pairs]
    joined += [(int(r), first_of[g]) for r, g in graph.node_blocks]
    every = np.concatenate([edges, block_edges(graph), np.array(joined, int).reshape(-1, 2)])
    connected = components(n, every)
    np.testing.assert_array_equal(first_numbered(graph.connected), connected)
    starts, nodes, number = graph.connected_groups
    groups = [set(nodes[a:b].tolist()) for a, b in pairwise(starts)]
    wanted = [set(np.flatnonzero(connected == c).tolist()) for c in range(connected.max() + 1)]
    assert sorted(map(sorted, groups)) == sorted(sorted(w) for w in wanted if len(w) > 1)
    # What must-links join moves as a whole, unless it contradicts itself.
    must = rng.random(len(edges)) < 0.6
    component = components(n, np.concatenate([edges[must], block_edges(graph)]))
    np.testing.assert_array_equal(first_numbered(graph.together(must)), component)
    starts, nodes, _, number, block = graph.movable(must)
    found = [sorted(nodes[a:b].tolist()) for a, b in pairwise(starts)]
    wanted_moves = {}
    for c in range(component.max() + 1):
        mine = np.flatnonzero(component == c)
        blocks = set(graph.block[mine].tolist()) - {-1}
        apart_from = {int(g) for r, g in graph.node_blocks if r in mine}
        if len(mine) >= 2 and len(blocks) <= 1 and not blocks & apart_from:
            wanted_moves[tuple(mine.tolist())] = max(blocks, default=-1)
    assert {tuple(f): int(b) for f, b in zip(found, block, strict=True)} == wanted_moves
    for k, members in enumerate(found):
        assert (number[members] == k).all()
    assert (number == -1).sum() == n - sum(map(len, found))
    rank = np.argsort(graph.visit)
    seen = [min(rank[f]) for f in found]
    assert seen == sorted(seen)


# ---------------------------------------------------------------------------
# sweeps


def random_field(seed: int, by_label: bool) -> tuple[PottsField, Array]:
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(3, 25)), int(rng.integers(2, 6))
    density, share = rng.random(), rng.random()
    edges = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < density])
    edges = edges.reshape(-1, 2)
    must = rng.random(len(edges)) < share
    weight = rng.random((len(edges), K)) if by_label else rng.random(len(edges))
    must = must[:, None] if by_label else must
    unary = rng.choice([0.1, 1.0]) * rng.normal(size=(n, K))
    field = PottsField(unary, edges, np.where(must, 0.0, weight), np.where(must, weight, 0.0))
    return field, rng.integers(0, K, n)


def gain_of_one_move(field: PottsField, labels: Array) -> float:
    """Return how much the best change of a single label would gain."""
    energy, best = field.energy(labels), 0.0
    for i in range(field.n_nodes):
        for h in range(field.n_labels):
            best = max(best, energy - field.energy(np.r_[labels[:i], h, labels[i + 1 :]]))
    return best


@pytest.mark.parametrize("by_label", [False, True])
@settings(max_examples=25)
@given(seed=seeds)
def test_no_single_change_improves_what_icm_found(by_label: bool, seed: int) -> None:
    field, start = random_field(seed, by_label)
    for component_moves in (False, True):
        found = ICM(component_moves=component_moves).solve(field, start, seed)
        np.testing.assert_allclose(found.energy, field.energy(found.labels), atol=1e-9)
        assert found.energy <= field.energy(start) + 1e-9
        assert gain_of_one_move(field, found.labels) < 1e-9


CHAIN = (
    [[-0.4, 0.2, -0.8], [-0.3, 0.2, -0.3], [0.6, -0.6, 1.5], [0.8, 0.3, 0.4], [-1.1, -1.7, -0.5]],
    [(2, 0), (2, 1), (4, 0), (4, 3)],
    [0.4, 0.2, 0.5, 0.9],
)


@pytest.mark.parametrize("by_label", [False, True])
def test_no_single_change_improves_a_component_that_moved(by_label: bool) -> None:
    unary, edges, differ = (np.array(part) for part in CHAIN)
    differ = np.repeat(differ[:, None], 3, axis=1) if by_label else differ
    field = PottsField(unary, edges, np.zeros_like(differ), differ)
    for start in np.ndindex(*[3] * 5):
        for seed in range(3):
            found = ICM().solve(field, np.array(start), seed)
            assert gain_of_one_move(field, found.labels) < 1e-9


# ---------------------------------------------------------------------------
# graphs


@given(seed=seeds)
def test_a_compact_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 30)), int(rng.integers(0, 40))
    edges, must = rng.integers(0, n, (m, 2)), rng.random(m) < 0.5
    order = rng.permutation(n)
    graph = Structure.of(n, edges, None, order)
    parts, whole = graph.compact(must), graph.movable(must)
    np.testing.assert_array_equal(np.column_stack([parts.left, parts.right]), edges)
    for e, (i, j) in enumerate(edges):
        mine = slice(parts.pointer[i], parts.pointer[i + 1])
        assert j in parts.neighbour[mine] and e in parts.edge[mine]
    mates = [parts.members[a:b].tolist() for a, b in pairwise(parts.starts)]
    assert mates == [whole[1][a:b].tolist() for a, b in pairwise(whole[0])]
    first = [min(graph.rank[nodes]) for nodes in mates]
    assert first == sorted(first)  # in the order of the visits


# ---------------------------------------------------------------------------
# data as users have it

STATES = {
    "read-only": lambda X: _read_only(X.copy()),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "read-only view": lambda X: _read_only(np.repeat(X, 2, axis=0))[::2],
}


def _read_only(X: Array) -> Array:
    X.flags.writeable = False
    return X


@every_dtype
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("distortion", ["euclidean", "cosine"])
def test_layout_of_the_data_does_not_matter(dtype: Any, state: str, distortion: str) -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 5)) + 3.0 * rng.integers(0, 3, 300)[:, None]).astype(dtype)
    known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)])
    args = {"distortion": distortion, "random_state": 0}
    plain = HMRFKMeans(3, **args).fit(X, constraints=known)
    Y = STATES[state](X)
    np.testing.assert_array_equal(X, Y)
    assert Y.flags.c_contiguous == (state == "read-only")
    other = HMRFKMeans(3, **args).fit(Y, constraints=known)
    np.testing.assert_array_equal(plain.labels_, other.labels_)
    assert plain.objective_ == other.objective_
    np.testing.assert_array_equal(plain.predict(X), other.predict(Y))
    weight = _read_only(np.ones(300))
    weighted = HMRFKMeans(3, **args).fit(Y, constraints=known, sample_weight=weight)
    np.testing.assert_array_equal(plain.labels_, weighted.labels_)


@every_dtype
def test_read_only_sparse_matrices(dtype: Any) -> None:
    X = sparse.random_array((200, 30), density=0.2, format="csr", rng=0, dtype=dtype)
    X.data += 0.1
    plain = HMRFKMeans(3, random_state=0).fit(X)
    Y = X.copy()
    for part in (Y.data, Y.indices, Y.indptr):
        part.flags.writeable = False
    other = HMRFKMeans(3, random_state=0).fit(Y)
    np.testing.assert_array_equal(plain.labels_, other.labels_)
    assert plain.objective_ == other.objective_
    np.testing.assert_array_equal(plain.predict(X), other.predict(Y))


@every_dtype
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("distortion", "metric"),
    [("euclidean", "identity"), ("euclidean", "full"), ("euclidean", "diagonal-per-cluster"),
     ("cosine", "diagonal"), ("correlation", "diagonal"), ("i-divergence", "identity")],
)  # fmt: skip
def test_predict_takes_the_nearest_centre(
    distortion: str, metric: str, storage: Any, dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(600, 5)) + 4.0 * np.eye(5)[rng.integers(0, 4, 600)]) + 0.01
    X = storage(X.astype(dtype))
    model = HMRFKMeans(4, distortion=distortion, metric=metric, random_state=0).fit(X)
    costs = model.transform(X).astype(np.float64) + model._label_offsets
    two = np.sort(costs, axis=1)[:, :2]
    clear = two[:, 1] - two[:, 0] > 1e-4 * (1.0 + np.abs(costs).max())
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(model.predict(X)[clear], costs.argmin(axis=1)[clear])

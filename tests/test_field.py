"""The energy of a field is the sum that its definition writes down."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linkfield._rows import CSRRows, DenseRows
from linkfield.field import EntailedLinks, PottsField

Array = np.ndarray
seeds = st.integers(0, 2**32 - 1)


def random_links(rng: np.random.Generator, n: int, sets: int, *, csr: bool = False) -> Any:
    """Return entailed links over n nodes of one row each: blocks, pairs apart, loose nodes."""
    n_blocks = int(rng.integers(1, 4))
    block = rng.integers(-1, n_blocks, size=n)
    block[: n_blocks + 1] = np.r_[np.arange(n_blocks), -1]
    apart = [pair for pair in combinations(range(n_blocks), 2) if rng.random() < 0.7]
    loose = [(r, g) for r in np.flatnonzero(block < 0) for g in range(n_blocks)
             if rng.random() < 0.6]  # fmt: skip
    X = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.7)
    weights = rng.uniform(0.2, 2.0, size=(sets, 3))
    z = [np.sqrt(2.0 * a) * X for a in weights]
    b = np.array([(part * part).sum(axis=1) / 2.0 for part in z])
    top = np.array([(a * np.ptp(X, axis=0) ** 2).sum() for a in weights])
    return EntailedLinks(
        block,
        np.array(apart, dtype=np.int64).reshape(-1, 2),
        np.array(loose, dtype=np.int64).reshape(-1, 2),
        float(rng.uniform(0.5, 2.0)),
        np.ones(n),
        b,
        [CSRRows(sparse.csr_array(part)) if csr else DenseRows(part) for part in z],
        top,
    )


def naive_entailed(links: EntailedLinks, labels: Array) -> float:
    """Add up every entailed pair: rows of one block, of two blocks apart, loose rows."""
    z = [part.dense() for part in links.z]

    def phi(k: int, i: int, j: int) -> float:
        return float(links.b[k][i] + links.b[k][j] - z[k][i] @ z[k][j])

    def metric(h: int) -> int:
        return h if len(z) > 1 else 0

    apart = {tuple(sorted(pair)) for pair in links.block_pairs.tolist()}
    loose = {tuple(pair) for pair in links.node_blocks.tolist()}
    total = 0.0
    for i, j in combinations(range(len(links.block)), 2):
        p, q, g, h = links.block[i], links.block[j], labels[i], labels[j]
        if p >= 0 and p == q and g != h:
            total += 0.5 * (phi(metric(g), i, j) + phi(metric(h), i, j))
        far = p >= 0 and q >= 0 and (min(p, q), max(p, q)) in apart
        far |= p < 0 <= q and (i, q) in loose
        far |= q < 0 <= p and (j, p) in loose
        if far and g == h:
            total += links.top[metric(g)] - phi(metric(g), i, j)
    return links.weight * total


def random_field(rng: np.random.Generator, *, wide: bool, links: bool = False) -> PottsField:
    n, K = int(rng.integers(4, 9)), int(rng.integers(1, 4))
    edges = np.array([e for e in combinations(range(n), 2) if rng.random() < 0.5])
    edges = edges.reshape(-1, 2)
    shape = (len(edges), K) if wide else (len(edges),)
    entailed = None
    if links:
        entailed = random_links(rng, n, K if wide else 1, csr=bool(rng.random() < 0.5))
    return PottsField(
        rng.normal(size=(n, K)), edges, rng.normal(size=shape), rng.normal(size=shape), entailed
    )


def naive_energy(field: PottsField, labels: Array) -> float:
    K = field.n_labels
    total = sum(field.unary[i, labels[i]] for i in range(field.n_nodes))
    agree = np.broadcast_to(field.agree_cost.reshape(len(field.edges), -1), (len(field.edges), K))
    differ = np.broadcast_to(field.differ_cost.reshape(len(field.edges), -1), agree.shape)
    for e, (i, j) in enumerate(field.edges):
        g, h = labels[i], labels[j]
        total += agree[e, g] if g == h else (differ[e, g] + differ[e, h]) / 2
    if field.entailed is not None:
        total += naive_entailed(field.entailed, labels)
    return float(total)


# ---------------------------------------------------------------------------
# energy


@pytest.mark.parametrize("wide", [False, True], ids=["shared", "per-label"])
@pytest.mark.parametrize("links", [False, True], ids=["edges", "entailed"])
@given(seed=seeds)
def test_energy_is_the_naive_sum(wide: bool, links: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    field = random_field(rng, wide=wide, links=links)
    for _ in range(4):
        labels = rng.integers(0, field.n_labels, size=field.n_nodes)
        wanted = naive_energy(field, labels)
        np.testing.assert_allclose(field.energy(labels), wanted, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(field.energy(labels.tolist()), wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("agree", "differ"), [("one", "per-label"), ("per-label", "one")])
def test_one_cost_may_be_per_label_and_the_other_not(agree: str, differ: str) -> None:
    """Both shapes are allowed for each cost, so also together."""
    rng = np.random.default_rng(4)
    edges = [(0, 1), (1, 2), (0, 3)]
    shapes = {"one": (3,), "per-label": (3, 2)}
    field = PottsField(
        rng.normal(size=(4, 2)), edges, rng.random(shapes[agree]), rng.random(shapes[differ])
    )
    for labels in product(range(2), repeat=4):
        np.testing.assert_allclose(field.energy(labels), naive_energy(field, np.array(labels)))
    np.testing.assert_array_equal(np.sort(field.together), np.arange(4))


def test_one_number_is_the_cost_of_every_edge() -> None:
    field = PottsField(np.zeros((3, 2)), [(0, 1), (1, 2)], 0.5, 2.0)
    assert field.energy([0, 0, 1]) == 2.5


@pytest.mark.parametrize("wide", [False, True], ids=["shared", "per-label"])
@given(seed=seeds)
def test_links_written_out_have_the_same_energy(wide: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    field = random_field(rng, wide=wide, links=True)
    out = field.written_out()
    assert out.entailed is None
    for _ in range(5):
        labels = rng.integers(0, field.n_labels, size=field.n_nodes)
        np.testing.assert_allclose(out.energy(labels), field.energy(labels), rtol=1e-9, atol=1e-9)


@given(seed=seeds)
def test_plain_edges_beside_links_of_one_metric_a_label(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain = random_field(rng, wide=False)
    field = replace(plain, entailed=random_links(rng, plain.n_nodes, plain.n_labels))
    labels = rng.integers(0, field.n_labels, size=field.n_nodes)
    wanted = naive_energy(field, labels)
    np.testing.assert_allclose(field.energy(labels), wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(field.written_out().energy(labels), wanted, rtol=1e-9, atol=1e-9)


def test_writing_out_too_many_links_is_refused() -> None:
    rng = np.random.default_rng(0)
    links = replace(
        random_links(rng, 30, 1),
        block=np.zeros(30, np.int64),
        block_pairs=np.empty((0, 2), np.int64),
        node_blocks=np.empty((0, 2), np.int64),
    )
    field = PottsField(np.zeros((30, 2)), (), (), (), links)
    with pytest.raises(ValueError, match="435"):
        field.written_out(budget=434)
    assert len(field.written_out(budget=435).edges) == 435


def test_loose_nodes_count_against_the_budget() -> None:
    rng = np.random.default_rng(0)
    block = np.r_[np.zeros(20, np.int64), np.full(20, -1)]
    links = replace(
        random_links(rng, 40, 1),
        block=block,
        block_pairs=np.empty((0, 2), np.int64),
        node_blocks=np.column_stack([np.arange(20, 40), np.zeros(20, np.int64)]),
    )
    field = PottsField(np.zeros((40, 2)), (), (), (), links)
    with pytest.raises(ValueError, match="pairs"):
        field.written_out(budget=400)  # 190 inside the block and 400 to it


@pytest.mark.parametrize("sets", [1, 3], ids=["shared", "per-cluster"])
@given(seed=seeds)
def test_contracted_nodes_stand_for_their_rows(sets: int, seed: int) -> None:
    """maths.md 1.6: equal to the rows' energy wherever the labels of a node's rows agree."""
    rng = np.random.default_rng(seed)
    n, K = 10, 3
    links = random_links(rng, n, sets)
    # Rows of one block that share a node; loose rows stay alone.
    node = np.arange(n)
    for g in range(links.n_blocks):
        members = np.flatnonzero(links.block == g)
        node[members[: int(rng.integers(1, len(members) + 1))]] = members[0]
    _, node = np.unique(node, return_inverse=True)
    first = np.array([np.flatnonzero(node == v)[0] for v in range(node.max() + 1)])
    member = (node[None, :] == np.arange(len(first))[:, None]).astype(float)
    few = replace(
        links,
        block=links.block[first],
        node_blocks=np.column_stack([node[links.node_blocks[:, 0]], links.node_blocks[:, 1]]),
        size=member.sum(axis=1),
        b=links.b @ member.T,
        z=[DenseRows(member @ part.dense()) for part in links.z],
    )
    unary = rng.normal(size=(n, K))
    rows = PottsField(unary, (), (), (), links)
    nodes = PottsField(member @ unary, (), (), (), few)
    for _ in range(5):
        labels = rng.integers(0, K, size=len(first))
        np.testing.assert_allclose(
            nodes.energy(labels), rows.energy(labels[node]), rtol=1e-9, atol=1e-9
        )


@given(seed=seeds)
def test_no_labelling_exceeds_the_ceiling(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = int(rng.integers(1, 4))
    K = sets if sets > 1 else 3
    links = random_links(rng, 8, sets)
    for _ in range(20):
        labels = rng.integers(0, K, size=8)
        assert links.energy(labels, K) <= links.ceiling() + 1e-9
        assert links.energy(labels, K) >= -1e-9


# ---------------------------------------------------------------------------
# hard constraints


def hard_field(rng: np.random.Generator, *, wide: bool, links: bool, whole: bool) -> PottsField:
    """Return a small field with some hard edges and forbidden labels.

    ``whole``: a hard cost per label is hard for all labels.
    """
    n, K = 5, int(rng.integers(2, 4))
    edges = np.array([e for e in combinations(range(n), 2) if rng.random() < 0.5] or [(0, 1)])
    shape = (len(edges), K) if wide else (len(edges),)
    agree, differ = rng.normal(size=shape), rng.normal(size=shape)
    for e in range(len(edges)):
        if rng.random() < 0.4:
            cost = agree if rng.random() < 0.5 else differ
            cost[e] = (
                np.inf if whole or not wide else np.where(rng.random(K) < 0.5, np.inf, cost[e])
            )
    unary = rng.normal(scale=3.0, size=(n, K))
    unary[rng.random((n, K)) < 0.15] = np.inf
    unary[:, 0] = np.where(np.isinf(unary).all(axis=1), 0.0, unary[:, 0])
    entailed = random_links(rng, n, K if wide else 1) if links else None
    return PottsField(unary, edges, agree, differ, entailed)


def check_finite(field: PottsField) -> None:
    finite = field.finite
    assert np.isfinite(finite.agree_cost).all() and np.isfinite(finite.differ_cost).all()
    kept, broken = [], []
    for labels in product(range(field.n_labels), repeat=field.n_nodes):
        at = np.array(labels)
        if np.isinf(field.unary[np.arange(field.n_nodes), at]).any():
            assert np.isinf(finite.energy(at))
            continue
        value = field.energy(at)
        if np.isfinite(value):
            kept.append(value)
            np.testing.assert_allclose(finite.energy(at), value, rtol=1e-12, atol=1e-12)
        else:
            broken.append(finite.energy(at))
    if kept and broken:
        assert min(broken) > max(kept)


@pytest.mark.parametrize("wide", [False, True], ids=["shared", "per-label"])
@pytest.mark.parametrize("links", [False, True], ids=["edges", "entailed"])
@settings(max_examples=10)
@given(seed=seeds)
def test_finite_costs_make_hard_violations_dearest(wide: bool, links: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_finite(hard_field(rng, wide=wide, links=links, whole=True))


@given(seed=seeds)
def test_finite_costs_where_only_some_labels_are_hard(seed: int) -> None:
    """An edge that differs pays the mean of two columns; one hard column must be enough."""
    rng = np.random.default_rng(seed)
    check_finite(hard_field(rng, wide=True, links=False, whole=False))


def test_one_hard_column_is_as_hard_as_two() -> None:
    """½(inf + 0) is hard, so half of the large cost must still be large enough."""
    unary = [[0.0, 10.0], [10.0, 0.0], [0.0, 10.0]]
    check_finite(PottsField(unary, [(0, 1)], [[0.0, 0.0]], [[np.inf, 0.0]]))


def test_a_field_without_hard_costs_is_its_own_finite_form() -> None:
    field = PottsField(np.zeros((2, 2)), [(0, 1)], 1.0, 0.0)
    assert field.finite is field


# ---------------------------------------------------------------------------
# components


def test_together_joins_must_links_only() -> None:
    field = PottsField(np.zeros((5, 2)), [(0, 1), (1, 2), (3, 4)], [0, 3, 0], [2, 0, 1])
    np.testing.assert_array_equal(field.together, [0, 0, 1, 2, 2])
    wide = PottsField(
        np.zeros((4, 2)),
        [(0, 1), (1, 2), (2, 3)],
        [[0, 0], [0, 1], [0, 0]],
        [[1, 2], [0, 0], [0, 3]],
    )
    np.testing.assert_array_equal(wide.together, [0, 0, 1, 1])


@given(seed=seeds)
def test_together_joins_the_members_of_blocks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    links = random_links(rng, 9, 1)
    together = PottsField(np.zeros((9, 2)), (), (), (), links).together
    for i, j in combinations(range(9), 2):
        same = links.block[i] >= 0 and links.block[i] == links.block[j]
        assert (together[i] == together[j]) == same


# ---------------------------------------------------------------------------
# input


@pytest.mark.parametrize(
    ("unary", "edges", "agree", "differ", "message"),
    [
        ([0.0, 1.0], (), (), (), r"unary must have shape \(n_nodes, n_labels\); got \(2,\)"),
        (np.empty((2, 0)), (), (), (), r"unary must have shape"),
        ([[0.0, np.nan]], (), (), (), "unary holds NaN or -inf"),
        ([[0.0, -np.inf]], (), (), (), "unary holds NaN or -inf"),
        ([[0.0, 1.0], [np.inf, np.inf]], (), (), (), "unary forbids every label of node 1"),
        ([[0.0], [0.0]], [(0, 2)], 0.0, 1.0, r"edges must join nodes 0..1; found 0 to 2"),
        ([[0.0], [0.0]], [(-1, 0)], 0.0, 1.0, r"edges must join nodes 0..1; found -1 to 0"),
        ([[0.0], [0.0]], [(1, 1)], 0.0, 1.0, "an edge joins a node with itself"),
        ([[0.0], [0.0]], [(0.0, 1.0)], 0.0, 1.0, "edges must be integers of shape"),
        ([[0.0], [0.0]], [(0, 1, 1)], 0.0, 1.0, "edges must be integers of shape"),
        ([[0.0], [0.0]], [0, 1], 0.0, 1.0, "edges must be integers of shape"),
        ([[0.0, 0.0]] * 2, [(0, 1)], [0, 1], 1.0, r"agree_cost must have shape \(1,\) or \(1, 2\)"),
        ([[0.0, 0.0]] * 2, [(0, 1)], 0.0, [[1, 2, 3]], r"differ_cost must have shape \(1,\)"),
        ([[0.0], [0.0]], [(0, 1)], np.nan, 1.0, "agree_cost holds NaN or -inf"),
        ([[0.0], [0.0]], [(0, 1)], 0.0, -np.inf, "differ_cost holds NaN or -inf"),
    ],
)
def test_bad_fields_are_refused(
    unary: Any, edges: Any, agree: Any, differ: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        PottsField(unary, edges, agree, differ)


def test_bad_labels_are_refused() -> None:
    field = PottsField(np.zeros((2, 3)), [(0, 1)], 0.0, 1.0)
    with pytest.raises(ValueError, match=r"labels must have shape \(2,\), got \(3,\)"):
        field.energy([0, 1, 2])
    for bad in ([0, 3], [-1, 0]):
        with pytest.raises(ValueError, match=r"labels must lie in 0..2"):
            field.energy(bad)


def test_an_empty_field() -> None:
    field = PottsField(np.empty((0, 3)), (), (), ())
    assert field.energy([]) == 0.0
    assert (field.n_nodes, field.n_labels) == (0, 3)
    assert field.finite is field
    assert len(field.together) == 0
    assert field.written_out() is field


def test_one_label() -> None:
    field = PottsField([[1.0], [2.0], [4.0]], [(0, 1), (1, 2)], [[0.5], [0.25]], [[9.0], [9.0]])
    assert field.energy([0, 0, 0]) == 7.75


def test_a_field_does_not_follow_its_arrays_and_can_be_changed() -> None:
    field = PottsField(np.zeros((2, 2)), [(0, 1)], 1.0, 0.0)
    other = field.with_unary(np.array([[3.0, 0.0], [5.0, 0.0]]))
    assert (field.energy([0, 0]), other.energy([0, 0])) == (1.0, 9.0)

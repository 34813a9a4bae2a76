"""Passes over blocks give what one look at all rows would, however many threads run them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linkfield._rows import pieces
from linkfield.distortions import (
    METRICS,
    Correlation,
    Cosine,
    IDivergence,
    ItakuraSaito,
    Metric,
    SquaredEuclidean,
    start_metric,
)
from linkfield.engine import ArrayEngine, Assignment
from linkfield.estimation import Model

Array = np.ndarray
pytestmark = pytest.mark.usefixtures("long_passes")
seeds = st.integers(0, 2**32 - 1)
K = 4
CASES = [
    pytest.param(D, kind, id=f"{D.name}-{kind}")
    for D in (SquaredEuclidean(), Cosine(), Correlation(), IDivergence(), ItakuraSaito())
    for kind in D.metrics
]
every_case = pytest.mark.parametrize(("distortion", "kind"), CASES)


def random_metric(kind: str, d: int, rng: np.random.Generator) -> Metric:
    if kind == "identity":
        return start_metric(kind, d, K)
    if kind == "diagonal":
        return METRICS[kind](rng.uniform(0.2, 3.0, d))
    if kind == "diagonal-per-cluster":
        return METRICS[kind](rng.uniform(0.2, 3.0, (K, d)))
    factors = rng.normal(size=(K, d, d))
    matrices = factors @ np.swapaxes(factors, 1, 2) + 0.3 * np.eye(d)
    return METRICS[kind](matrices if kind == "full-per-cluster" else matrices[0])


class Blocks(ArrayEngine):
    """The same engine with blocks of a few rows."""

    size = 7

    def blocks(self, result: int = 0) -> tuple[slice, ...]:
        return tuple(pieces(len(self.rows), self.size))


def make(
    distortion: Any, kind: str, seed: int, n: int = 40, d: int = 3, dtype: Any = np.float64
) -> tuple[Any, Array, Array, Model, Array, np.random.Generator]:
    """Return rows, weights, who is free, a model, offsets of the labels, the generator."""
    rng = np.random.default_rng(seed)
    positive = distortion.name in ("i-divergence", "itakura-saito")
    X = rng.uniform(0.1, 3.0, (n, d)) if positive else rng.normal(size=(n, d))
    X = X.astype(dtype)
    rows = distortion.rows(sparse.csr_array(X) if rng.random() < 0.4 else X)
    M = rng.uniform(0.1, 3.0, (K, d)) if positive else rng.normal(size=(K, d))
    model = Model(distortion.prepared_centres(M), random_metric(kind, d, rng))
    weight = np.where(rng.random(n) < 0.1, 0.0, rng.uniform(0.1, 2.0, n))
    return rows, weight, rng.random(n) < 0.8, model, rng.uniform(0.0, 0.3, K), rng


def assigned(engine: ArrayEngine, model: Model, offsets: Array, labels: Array) -> Any:
    """Label the free rows, in place; return the statistics that belong to them."""
    standing = Assignment(engine, labels)
    standing.assign(model, offsets)
    return standing.stats


# ---------------------------------------------------------------------------
# assignment


@every_case
@given(seed=seeds)
def test_free_rows_take_their_nearest_centre(distortion: Any, kind: str, seed: int) -> None:
    rows, weight, free, model, offsets, rng = make(distortion, kind, seed)
    engine = Blocks(rows, weight, free, distortion, K)
    start = np.where(free & (rng.random(40) < 0.5), -1, rng.integers(0, K, size=40))
    labels = start.copy()
    stats = assigned(engine, model, offsets, labels)
    table = distortion.table(rows, model.centres, model.metric) + offsets
    np.testing.assert_array_equal(labels[~free], start[~free])
    np.testing.assert_array_equal(labels[free], table.argmin(axis=1)[free])
    # The statistics are those of all rows that have a label.
    scale = distortion.row_scale(rows, model.metric)
    unit = rows.dense() * (1.0 if scale is None else scale[:, None])
    for h in range(K):
        mine = labels == h
        assert stats.count[h] == (mine & (weight > 0)).sum()
        np.testing.assert_allclose(stats.weight[h], weight[mine].sum())
        np.testing.assert_allclose(stats.sums[h], weight[mine] @ unit[mine], atol=1e-11)


@pytest.mark.parametrize("pruning", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("distortion", [SquaredEuclidean(), Cosine()], ids=["euclidean", "cosine"])
def test_costs_that_are_wanted_are_written_down(
    distortion: Any, storage: Any, dtype: Any, pruning: bool
) -> None:
    """By every pass, those that bounds would let a row stay unread in included."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3_000, 5)) + 6 * rng.integers(0, 3, (3_000, 1))).astype(dtype)
    rows, free = distortion.rows(storage(X)), rng.random(3_000) < 0.4
    reach = np.abs(X).max(axis=0).astype(float)
    engine = ArrayEngine(rows, rng.uniform(0.5, 2, 3_000), free, distortion, K, reach=reach)
    standing = Assignment(engine, np.full(3_000, -1), pruning=pruning)
    tied = len(engine.tied)
    standing.labels[engine.tied] = 0
    for some in (5, tied, 1_300, 0, 40):
        wanted = np.sort(rng.choice(tied, some, replace=False)).astype(np.int32)
        standing.kept.want(wanted)
        for _ in range(3):
            M = distortion.prepared_centres(X[:K] + rng.normal(0, 1e-3, (K, 5)))
            model = Model(M, random_metric("diagonal", 5, np.random.default_rng(1)))
            standing.assign(model, np.zeros(K), keep_bounds=True)
            table, noise = np.empty((some, K)), np.empty(some)
            standing.some_costs(wanted, table, noise)
            tolerance = 1e-4 if dtype == np.float32 else 1e-11
            kept = standing.kept
            np.testing.assert_allclose(kept.table[:some], table, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(kept.noise[:some], noise, rtol=1e-2)
            cheapest = table.argmin(axis=1)
            np.testing.assert_array_equal(standing.cheapest[wanted], cheapest)
            second = np.sort(table, axis=1)[:, 1] - table.min(axis=1)
            assert (standing.margin[wanted] <= second + noise).all()


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_a_cluster_that_everyone_left_has_no_sums(storage: Any) -> None:
    """Not even the rounding of what came and went: its centre would be made of that."""
    X, weight = np.array([[0.1], [0.2], [0.3], [5.0]]), np.array([0.1, 0.2, 0.3, 1.0])
    rows = SquaredEuclidean().rows(storage(X))
    engine = ArrayEngine(rows, weight, np.ones(4, bool), SquaredEuclidean(), 2)
    standing, metric = Assignment(engine, np.full(4, -1)), start_metric("identity", 1, 2)
    for centres in ([[0.2], [5.0]], [[0.1], [0.4]], [[90.0], [1.0]]):  # they leave by and by
        standing.assign(Model(np.array(centres), metric), np.zeros(2))
    assert standing.labels.tolist() == [1, 1, 1, 1]
    assert standing.stats is not None
    assert standing.stats.count[0] == standing.stats.weight[0] == standing.stats.sums[0, 0] == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=seeds)
def test_assignment_is_right_up_to_rounding(dtype: Any, seed: int) -> None:
    rows, weight, free, model, offsets, _ = make(
        SquaredEuclidean(), "diagonal", seed, n=60, d=5, dtype=dtype
    )
    labels = np.full(60, -1)
    assigned(Blocks(rows, weight, free, SquaredEuclidean(), K), model, offsets, labels)
    assert (labels[~free] == -1).all()
    exact = SquaredEuclidean().table(rows.float64(), model.centres, model.metric) + offsets
    chosen = exact[np.arange(60), labels][free]
    slack = 1e-4 if dtype == np.float32 else 1e-12
    assert (chosen <= exact.min(axis=1)[free] + slack).all()


def test_a_row_moves_only_for_a_strictly_nearer_centre() -> None:
    rows = SquaredEuclidean().rows(np.array([[0.0], [0.0], [0.0], [0.4]]))
    model = Model(np.array([[-1.0], [1.0], [5.0]]), start_metric("identity", 1, 3))
    engine = ArrayEngine(rows, np.ones(4), np.ones(4, bool), SquaredEuclidean(), 3)
    labels = np.array([1, 2, -1, 0])
    assigned(engine, model, np.zeros(3), labels)
    # Ties keep the old label; a worse or no label goes to the first of the best.
    np.testing.assert_array_equal(labels, [1, 0, 0, 1])


@given(seed=seeds)
def test_offsets_count_in_the_assignment(seed: int) -> None:
    rows, weight, _, model, _, _ = make(SquaredEuclidean(), "full-per-cluster", seed)
    engine = Blocks(rows, weight, np.ones(40, bool), SquaredEuclidean(), K)
    offsets = -model.metric.logdet()
    labels = np.full(40, -1)
    assigned(engine, model, offsets, labels)
    table = SquaredEuclidean().table(rows, model.centres, model.metric) + offsets
    np.testing.assert_array_equal(labels, table.argmin(axis=1))


# ---------------------------------------------------------------------------
# sums


@every_case
@settings(max_examples=15)
@given(seed=seeds)
def test_block_size_does_not_change_the_sums(distortion: Any, kind: str, seed: int) -> None:
    rows, weight, free, model, _, rng = make(distortion, kind, seed)
    labels = rng.integers(0, K, size=40)
    whole = ArrayEngine(rows, weight, free, distortion, K)
    assert len(whole.blocks()) == 1
    parts = Blocks(rows, weight, free, distortion, K)
    assert len(parts.blocks()) == 6
    one, many = (engine.statistics(labels, model.metric) for engine in (whole, parts))
    for name in ("count", "weight", "sums", "moment"):
        a, b = getattr(one, name), getattr(many, name)
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(
        whole.moment(model.metric), parts.moment(model.metric), rtol=1e-10, atol=1e-11
    )
    if not distortion.bregman:
        slopes = [e.gradient(labels, model.centres, model.metric) for e in (whole, parts)]
        np.testing.assert_allclose(slopes[0], slopes[1], atol=1e-11)


def test_moment_is_the_weighted_sum() -> None:
    rng = np.random.default_rng(0)
    X, weight = rng.uniform(0.1, 2.0, (20, 3)), rng.random(20)
    everyone = np.ones(20, bool)

    def moment(distortion: Any, kind: str) -> Array:
        engine = Blocks(distortion.rows(X), weight, everyone, distortion, K)
        return engine.moment(random_metric(kind, 3, rng))

    np.testing.assert_allclose(moment(SquaredEuclidean(), "diagonal"), weight @ X**2)
    np.testing.assert_allclose(
        moment(SquaredEuclidean(), "full"), np.einsum("i,ij,ik->jk", weight, X, X)
    )
    np.testing.assert_allclose(moment(IDivergence(), "diagonal"), weight @ (X * np.log(X) - X))
    np.testing.assert_allclose(moment(Cosine(), "diagonal"), [weight.sum()])
    np.testing.assert_array_equal(moment(SquaredEuclidean(), "full-per-cluster"), [0.0])


# ---------------------------------------------------------------------------
# threads


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("distortion", "kind"),
    [(SquaredEuclidean(), "diagonal"), (SquaredEuclidean(), "full"), (Cosine(), "diagonal")],
    ids=["diagonal", "full", "cosine"],
)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_the_number_of_threads_changes_no_bit(
    distortion: Any, kind: str, storage: Any, dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    n, d = 20_000, 40
    X = rng.normal(size=(n, d)).astype(dtype)
    rows = distortion.rows(storage(X))
    model = Model(rng.normal(size=(K, d)), random_metric(kind, d, rng))
    weight = rng.uniform(0.1, 2.0, n)
    found = []
    for n_jobs in (1, 2, 3):
        engine = Blocks(rows, weight, np.ones(n, bool), distortion, K, n_jobs)
        object.__setattr__(engine, "size", 3_000)
        labels = np.full(n, -1)
        stats = assigned(engine, model, np.zeros(K), labels)
        again = engine.statistics(labels, model.metric)
        arrays = [labels, stats.count, stats.weight, stats.sums, again.sums,
                  engine.moment(model.metric)]  # fmt: skip
        arrays.append(engine.dearest(model, np.zeros(K), labels, 50))
        if not distortion.bregman:
            arrays.append(engine.gradient(labels, model.centres, model.metric))
        found.append(arrays)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_results_come_in_the_order_of_the_blocks() -> None:
    rows = SquaredEuclidean().rows(np.zeros((30, 1)))
    for n_jobs in (1, 3):
        engine = Blocks(rows, np.ones(30), np.ones(30, bool), SquaredEuclidean(), 2, n_jobs)
        assert engine.map(lambda block: block.start) == [0, 7, 14, 21, 28]
        assert engine.add(lambda block: [block.start]) == [0, 7, 14, 21, 28]


# ---------------------------------------------------------------------------
# the dearest rows


@every_case
@given(seed=seeds)
def test_dearest_rows(distortion: Any, kind: str, seed: int) -> None:
    rows, weight, free, model, offsets, rng = make(distortion, kind, seed)
    labels = rng.integers(0, K, size=40)
    engine = Blocks(rows, weight, free, distortion, K)
    table = distortion.table(rows, model.centres, model.metric) + offsets
    cost = weight * table[np.arange(40), labels]
    wanted = sorted(np.flatnonzero(free), key=lambda i: (-cost[i], i))
    for k in (1, 5, 40, 100):
        found = engine.dearest(model, offsets, labels, k)
        assert len(found) == min(k, free.sum())
        np.testing.assert_allclose(cost[found], cost[wanted[:k]])
        assert free[found].all() and len(set(found.tolist())) == len(found)


def test_dearest_rows_with_ties_are_the_first() -> None:
    rows = SquaredEuclidean().rows(np.tile([[1.0], [2.0]], (10, 1)))
    model = Model(np.zeros((2, 1)), start_metric("identity", 1, 2))
    free = np.ones(20, bool)
    free[3] = False
    engine = Blocks(rows, np.ones(20), free, SquaredEuclidean(), 2)
    labels = np.zeros(20, np.int64)
    np.testing.assert_array_equal(engine.dearest(model, np.zeros(2), labels, 3), [1, 5, 7])
    nobody = Blocks(rows, np.ones(20), np.zeros(20, bool), SquaredEuclidean(), 2)
    assert len(nobody.dearest(model, np.zeros(2), labels, 3)) == 0

"""What a pass notes of a tied row does not depend on how many others are tied, or wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linkfield import Constraints, HMRFKMeans
from linkfield._kernels.lists import relabelled, renumber
from linkfield._rows import pieces
from linkfield.distortions import METRICS, SquaredEuclidean
from linkfield.engine import ArrayEngine, Assignment
from linkfield.engine.kept_costs import FEW
from linkfield.estimation import Model

K, N, D = 5, 1_300, 7
seeds = st.integers(0, 2**32 - 1)


class Blocks(ArrayEngine):
    """The same engine with blocks that are no whole chunks."""

    def blocks(self, result: int = 0) -> list[slice]:
        return list(pieces(len(self.rows), 700))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=15)
@given(seed=seeds)
def test_few_and_many_tied_rows_are_noted_alike(dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distortion = SquaredEuclidean()
    rows = distortion.rows(rng.normal(size=(N, D)).astype(dtype))
    reach = np.abs(rows.range()).max(axis=0)
    weight, many = rng.uniform(0.1, 2.0, N), rng.random(N) < 0.8
    few = many & (rng.random(N) < 0.1)
    standings = []
    for tied in (many, few):
        engine = Blocks(rows, weight, ~tied, distortion, K, reach=reach)
        standings.append(Assignment(engine, np.full(N, -1)))
    model = Model(rng.normal(size=(K, D)), METRICS["diagonal"](rng.uniform(0.3, 3.0, D)))
    for standing in standings:
        standing.assign(model, np.zeros(K))
    both = few[many]
    np.testing.assert_array_equal(standings[0].cheapest[both], standings[1].cheapest)
    np.testing.assert_array_equal(standings[0].margin[both], standings[1].margin)
    dense = rows.float64()
    table = weight[many, None] * distortion.table(
        dense.take(np.flatnonzero(many)), model.centres, model.metric
    )
    least, second = np.sort(table, axis=1)[:, :2].T
    tolerance = 1e-12 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(standings[0].margin, second - least, atol=tolerance)


@pytest.mark.parametrize("share", [0.03, 0.9])
@settings(max_examples=10)
@given(seed=seeds)
def test_wanted_costs_are_those_of_all_rows(share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distortion = SquaredEuclidean()
    rows = distortion.rows(rng.normal(size=(N, D)))
    engine = Blocks(rows, rng.uniform(0.1, 2.0, N), rng.random(N) < 0.2, distortion, K)
    standing = Assignment(engine, np.full(N, -1))
    model = Model(rng.normal(size=(K, D)), METRICS["diagonal"](rng.uniform(0.3, 3.0, D)))
    for _ in range(2):  # others are wanted the second time
        wanted = np.flatnonzero(rng.random(len(engine.tied)) < share).astype(np.int32)
        standing.kept.want(wanted)
        standing.assign(model, np.zeros(K))
        table, noise = standing.costs()
        np.testing.assert_array_equal(standing.kept.table[: len(wanted)], table[wanted])
        np.testing.assert_array_equal(standing.kept.noise[: len(wanted)], noise[wanted])


@given(seed=seeds, n_tied=st.integers(1, FEW + 1))
def test_few_tied_rows_have_all_their_costs_written_down(seed: int, n_tied: int) -> None:
    rng = np.random.default_rng(seed)
    distortion = SquaredEuclidean()
    rows, free = distortion.rows(rng.normal(size=(N, D))), np.ones(N, dtype=bool)
    free[rng.choice(N, n_tied, replace=False)] = False
    engine = Blocks(rows, rng.uniform(0.1, 2.0, N), free, distortion, K)
    standing = Assignment(engine, np.full(N, -1))
    model = Model(rng.normal(size=(K, D)), METRICS["diagonal"](rng.uniform(0.3, 3.0, D)))
    for _ in range(2):  # wanting nobody the second time changes nothing
        standing.kept.want(np.empty(0, dtype=np.int32))
        standing.assign(model, np.zeros(K))
        known = standing.kept.rows
        np.testing.assert_array_equal(known, np.arange(n_tied if n_tied <= FEW else 0))
        table, noise = standing.costs()
        np.testing.assert_array_equal(standing.kept.table[: len(known)], table[known])
        np.testing.assert_array_equal(standing.kept.noise[: len(known)], noise[known])


@given(seed=seeds)
def test_lists_say_what_numpy_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 50))
    old, new = (np.flatnonzero(rng.random(n) < 0.4).astype(np.int32) for _ in range(2))
    place = np.full(n, -1, dtype=np.int32)
    place[old] = np.arange(len(old))
    renumber(place, old, new)
    expected = np.full(n, -1)
    expected[new] = np.arange(len(new))
    np.testing.assert_array_equal(place, expected)

    tied = np.sort(rng.choice(2 * n, n, replace=False))
    before, after = rng.integers(0, 4, (2, n))
    moved, labels = np.flatnonzero(before != after).astype(np.uint32), np.full(2 * n, 9)
    found = relabelled(tied, before, after, moved, labels)
    for mine, right in zip(found, (tied[moved], before[moved], after[moved]), strict=True):
        np.testing.assert_array_equal(mine, right)
    expected = np.full(2 * n, 9)
    expected[tied[moved]] = after[moved]
    np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("kind", ["float32", "far from zero", "csr", "correlation"])
def test_nodes_have_the_same_order_however_they_are_asked_for(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X: Any = rng.normal(size=(N, D)).astype(np.float32) + (1e3 if kind == "far from zero" else 0)
    X = sparse.csr_array(X * (rng.random(X.shape) < 0.5)) if kind == "csr" else X
    pairs = Constraints(must_link=rng.permutation(N)[: N // 2].reshape(-1, 2))
    distortion = "correlation" if kind == "correlation" else "euclidean"
    visits, keys = [], []
    for many in (0, N):  # never, always
        monkeypatch.setattr("linkfield.estimators._setup.MANY_TIED", many)
        model = HMRFKMeans(K, distortion=distortion, n_init=1, max_iter=2, random_state=0)
        setup = model.fit(X, constraints=pairs)._setup
        visits.append(setup.problem.objective.pairs.ties.visit)
        keys.append(setup.keys)
    np.testing.assert_array_equal(visits[0], visits[1])
    np.testing.assert_array_equal(keys[0], keys[1])

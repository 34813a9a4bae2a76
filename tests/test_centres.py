"""Compiled loops over tables of centres against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linkfield._kernels.centres import HIGH, WIDE, dispersion, shifts, transpose, weighted
from linkfield.distortions import METRICS, Cosine, SquaredEuclidean
from linkfield.distortions.euclidean import LARGE, weighted_means
from linkfield.engine import ArrayEngine
from linkfield.engine.layout import centre_terms
from linkfield.estimation import Model

Array = np.ndarray
seeds = st.integers(0, 2**32 - 1)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def tables(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, int, int]:
    """Return centres, sums, weights of clusters and of features, and a range of features."""
    K, d = int(rng.integers(1, 3 * HIGH)), int(rng.integers(1, 2 * WIDE + 50))
    first, last = sorted(rng.integers(0, d + 1, 2).tolist())
    M, sums = rng.normal(size=(2, K, d))
    return M, sums, rng.uniform(0, 5, K), rng.uniform(0.1, 3.0, d), first, last


@every_dtype
@settings(max_examples=30)
@given(seed=seeds)
def test_loops_say_what_numpy_says(dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    M, sums, weight, theta, first, last = tables(rng)
    part, (K, d) = slice(first, last), M.shape
    out, g = np.full((d, K + 3), np.nan, dtype), np.zeros(K)
    weighted(M, theta, first, last, out, g)
    np.testing.assert_allclose(out[part, :K], (2.0 * theta * M).T[part].astype(dtype), rtol=1e-6)
    np.testing.assert_allclose(g, (theta * M * M)[:, part].sum(axis=1), rtol=1e-11)
    turned = np.full_like(out, np.nan)
    transpose(M, first, last, turned)
    np.testing.assert_array_equal(turned[part, :K], M.T[part].astype(dtype))
    for table in (out, turned):
        assert not table[part, K:].any()  # filled up with zeros
        assert np.isnan(table[:first]).all() and np.isnan(table[last:]).all()
    found = np.full(d, np.nan)
    dispersion(weight, M, sums, first, last, found)
    wanted = (weight[:, None] * M * M - 2.0 * sums * M).sum(axis=0)
    np.testing.assert_allclose(found[part], wanted[part], rtol=1e-9, atol=1e-9)
    assert np.isnan(found[:first]).all() and np.isnan(found[last:]).all()
    moved = np.full(K, np.nan)
    shifts(M, sums, theta, 0, K, moved)
    np.testing.assert_allclose(moved, ((sums - M) ** 2) @ theta, rtol=1e-11)


@pytest.mark.parametrize("distortion", [SquaredEuclidean(), Cosine()])
@every_dtype
def test_sparse_terms_are_the_dense_ones(distortion: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    K, d = 21, 9_000  # several pieces
    X = sparse.random_array((50, d), density=0.01, rng=rng, format="csr").astype(dtype)
    model = Model(rng.normal(size=(K, d)), METRICS["diagonal"](rng.uniform(0.3, 3.0, d)))
    offsets, found = rng.normal(size=K), []
    for data in (X, X.toarray()):
        rows = distortion.rows(data)
        engine = ArrayEngine(rows, np.ones(50), np.ones(50, bool), distortion, K)
        compiled = engine.compiled(model.metric)
        assert compiled is not None
        found.append(centre_terms(distortion, model, offsets, compiled, dtype))
    mine, dense = found
    assert not mine.psi[:, K:].any()
    tolerance = 1e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(mine.psi[:, :K].T, dense.psi, rtol=tolerance)
    for name in ("g", "size", "ceiling", "error", "theta"):
        np.testing.assert_allclose(getattr(mine, name), getattr(dense, name), rtol=1e-6)
    assert mine.rough is None


def test_means_of_large_tables() -> None:
    rng = np.random.default_rng(0)
    sums, weight = rng.normal(size=(30, LARGE // 10)), rng.uniform(0.5, 5.0, 30)
    old = np.zeros_like(sums)
    np.testing.assert_array_equal(weighted_means(sums, weight, old), sums / weight[:, None])
    weight[3] = 0.0
    found = weighted_means(sums, weight, old)
    assert not found[3].any()  # an empty cluster keeps its centre
    np.testing.assert_array_equal(np.delete(found, 3, 0), np.delete(sums, 3, 0)
                                  / np.delete(weight, 3)[:, None])  # fmt: skip

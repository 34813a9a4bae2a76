"""Dense, sparse and centred sparse rows all answer as the dense array would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linkfield._rows import CentredCSR, CSRRows, DenseRows, Rows, as_rows, pieces

KINDS = ("dense", "csr", "centred")
every_kind = pytest.mark.parametrize("kind", KINDS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
seeds = st.integers(0, 2**32 - 1)


def make(kind: str, seed: int, dtype: Any) -> tuple[Rows, np.ndarray, np.random.Generator]:
    """Return rows, the float64 array that they stand for, and the generator."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 9)), int(rng.integers(1, 7))
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.random())).astype(dtype)
    if kind == "dense":
        return DenseRows(X), X.astype(np.float64), rng
    if kind == "csr":
        return CSRRows(sparse.csr_array(X)), X.astype(np.float64), rng
    mean = X.astype(np.float64).mean(axis=1)
    return CentredCSR(sparse.csr_array(X), mean), X - mean[:, None], rng


def close(value: Any, wanted: np.ndarray, dtype: Any) -> None:
    assert value.shape == wanted.shape
    tolerance = 1e-12 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)


@every_kind
@every_dtype
@given(seed=seeds)
def test_products_with_centres(kind: str, dtype: Any, seed: int) -> None:
    rows, X, rng = make(kind, seed, dtype)
    W = rng.normal(size=(int(rng.integers(1, 5)), X.shape[1]))
    for value, wanted in ((rows.dot(W), X @ W.T), (rows.square_dot(W), (X * X) @ W.T)):
        close(value, wanted, dtype)
        assert value.dtype == dtype
    A = rng.normal(size=(X.shape[1], X.shape[1]))
    A = A @ A.T
    value = rows.quadratic(A)
    close(value, np.array([x @ A @ x for x in X]), dtype)
    assert value.dtype == dtype


@every_kind
@every_dtype
@given(seed=seeds)
def test_sums_over_rows_are_float64(kind: str, dtype: Any, seed: int) -> None:
    rows, X, rng = make(kind, seed, dtype)
    n = len(X)
    C = rng.normal(size=(int(rng.integers(1, 5)), n)) * (rng.random(n) < 0.7)
    for member in (C, sparse.csr_array(C)):
        for value, wanted in (
            (rows.sums(member), C @ X),
            (rows.square_sums(member), C @ (X * X)),
        ):
            close(value, wanted, dtype)
            assert value.dtype == np.float64
            assert isinstance(value, np.ndarray)
    c = rng.normal(size=n)
    outer = rows.outer(c)
    close(outer, np.einsum("i,ij,ik->jk", c, X, X), dtype)
    assert outer.dtype == np.float64
    assert isinstance(outer, np.ndarray)


@every_dtype
@given(seed=seeds)
def test_float64_sums_of_float32_rows_lose_nothing(dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3)).astype(dtype)
    ones = np.ones((1, 50))
    for rows in (DenseRows(X), CSRRows(sparse.csr_array(X))):
        np.testing.assert_allclose(rows.sums(ones), ones @ X.astype(np.float64), atol=1e-13)


@every_kind
@every_dtype
@given(seed=seeds)
def test_parts_of_the_rows(kind: str, dtype: Any, seed: int) -> None:
    rows, X, rng = make(kind, seed, dtype)
    n, d = X.shape
    assert rows.shape == (n, d) and len(rows) == n and rows.dtype == dtype
    close(rows.dense(), X, dtype)
    assert rows.dense().dtype == dtype
    start = int(rng.integers(0, n))
    for index in (slice(start, n), rng.integers(0, n, size=5), np.zeros(0, np.int64)):
        part = rows.take(index)
        close(part.dense(), X[index], dtype)
        assert part.shape == X[index].shape
        assert type(part) is type(rows)
    double = rows.float64()
    assert double.dtype == np.float64
    close(double.dense(), X, dtype)
    low, high = rows.range()
    close(low, X.min(axis=0), dtype)
    close(high, X.max(axis=0), dtype)
    assert low.dtype == high.dtype == np.float64


@every_kind
@every_dtype
@given(seed=seeds)
def test_new_rows_from_old(kind: str, dtype: Any, seed: int) -> None:
    rows, X, rng = make(kind, seed, dtype)
    n, d = X.shape
    row, column = rng.normal(size=n), rng.random(d)
    ones = np.ones((1, d))
    for r, c in ((row, column), (None, column), (row, None), (None, None)):
        wanted = X * (1.0 if c is None else c) * (1.0 if r is None else r[:, None])
        scaled = rows.scaled(r, c)
        close(scaled.dense(), wanted, dtype)
        close(scaled.dot(ones)[:, 0], wanted.sum(axis=1), dtype)
    m = int(rng.integers(0, 6))
    i, j = rng.integers(0, n, size=m), rng.integers(0, n, size=m)
    close(rows.difference(i, j).dense(), X[i] - X[j], dtype)
    close(rows.product(i, j).dense(), X[i] * X[j], dtype)
    before = rows.dense().copy()
    close(rows.map(np.sinh).dense(), np.sinh(X), dtype)
    np.testing.assert_array_equal(rows.dense(), before)  # the rows themselves stay


@given(n=st.integers(0, 50), size=st.integers(1, 60))
def test_pieces_cover_everything_once(n: int, size: int) -> None:
    found = [np.arange(n)[piece] for piece in pieces(n, size)]
    assert all(1 <= len(part) <= size for part in found)
    np.testing.assert_array_equal(np.concatenate([np.empty(0, int), *found]), np.arange(n))


def test_as_rows_takes_every_storage() -> None:
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    assert isinstance(as_rows(X), DenseRows)
    assert isinstance(as_rows(X.tolist()), DenseRows)
    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        rows = as_rows(kind(X))
        assert isinstance(rows, CSRRows)
        np.testing.assert_array_equal(rows.dense(), X)


@every_dtype
def test_equal_sparse_rows_are_no_distance_apart(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(20, 50)) * (rng.random((20, 50)) < 0.3)).astype(dtype)
    rows = CSRRows(sparse.csr_array(np.concatenate([X, X, np.zeros((1, 50), dtype)])))
    a, at = rng.uniform(0.1, 3.0, 50), np.arange(20)
    assert (rows.pair_squares(at, at + 20, a) == 0.0).all()
    assert (rows.pair_squares(at, np.full(20, 40), a) == rows.pair_products(at, at, a)).all()


def test_products_of_dense_rows_raise_no_alarm() -> None:
    """BLAS may raise the flag of invalid numbers for finite ones; here it has a reason to."""
    rows = DenseRows(np.array([[np.inf, 1.0]], dtype=np.float32))
    with np.errstate(invalid="raise"):
        assert np.isnan(rows.dot(np.array([[0.0, 1.0]]))).all()
        assert np.isnan(rows.square_dot(np.array([[0.0, 1.0]]))).all()

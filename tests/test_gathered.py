"""Products of sparse rows in registers are the products."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import sparse

from linkfield._kernels.gathered import WIDTH, row_products


@njit
def all_products(value, column, pointer, psi, out):
    for i in range(out.shape[0]):
        row_products(value, column, np.int64(pointer[i]), np.int64(pointer[i + 1]), psi, out[i])


def laid_out(X, centres, index):
    """The matrix in parts, the centres feature by label and filled up, and room for the result."""
    K, d = centres.shape
    psi = np.zeros((d, K + -K % WIDTH), X.dtype)
    psi[:, :K] = centres.T
    out = np.full((X.shape[0], psi.shape[1]), np.nan, X.dtype)
    return X.data, X.indices.astype(index), X.indptr.astype(index), psi, out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@given(seed=st.integers(0, 2**32 - 1))
def test_they_are_the_dense_products(dtype, index, seed):
    rng = np.random.default_rng(seed)
    n, d, K = rng.integers(1, 12), rng.integers(1, 40), rng.integers(1, 150)
    X = sparse.random_array((n, d), density=rng.random(), rng=rng, format="csr", dtype=np.float64)
    X, centres = X.astype(dtype), rng.normal(size=(K, d)).astype(dtype)
    parts = laid_out(X, centres, index)
    all_products(*parts)
    wanted = X.toarray().astype(np.float64) @ centres.T.astype(np.float64)
    np.testing.assert_allclose(
        parts[-1][:, :K], wanted, atol=1e-5 if dtype == np.float32 else 1e-12
    )
    np.testing.assert_array_equal(parts[-1][:, K:], 0.0)


def test_a_row_is_the_same_to_the_bit_wherever_it_stands():
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 60), density=0.3, rng=rng, format="csr").astype(np.float32)
    centres, order = rng.normal(size=(21, 60)), rng.permutation(40)
    here, there = (laid_out(rows.tocsr(), centres, np.int32) for rows in (X, X[order]))
    all_products(*here)
    all_products(*there)
    np.testing.assert_array_equal(here[-1][order], there[-1])

"""Means and variances of features, block by block: no copy of the data is made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._rows import pieces

__all__ = ["cluster_means", "column_moments"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Numbers that a block holds.
BLOCK = 2_000_000


def blocks_of(X: Any) -> Any:
    """Return slices of rows, each of a few million numbers."""
    return pieces(X.shape[0], max(1, BLOCK // max(1, X.shape[1])))


def column_moments(X: Any) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of every feature."""
    n, d = X.shape
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=0), np.float64).ravel()
        squares = np.asarray(X.multiply(X).mean(axis=0), np.float64).ravel()
        return mean, np.maximum(squares - mean**2, 0.0)
    # Taking a first mean off keeps the digits of features that lie far from 0.
    shift = np.asarray(X[: max(1, BLOCK // max(1, d))], np.float64).mean(axis=0)
    total, squares = np.zeros(d), np.zeros(d)
    for piece in blocks_of(X):
        part = np.asarray(X[piece], np.float64) - shift
        total += part.sum(axis=0)
        squares += np.einsum("ij,ij->j", part, part)
    mean = total / n
    return mean + shift, np.maximum(squares / n - mean**2, 0.0)


def cluster_means(X: Any, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return the mean of every cluster's rows, nan where there are none."""
    sums = np.zeros((n_clusters, X.shape[1]))
    slices = [slice(None)] if sparse.issparse(X) else blocks_of(X)
    for piece in slices:
        mine = labels[piece]
        ones = np.ones(len(mine))
        member = sparse.csr_array((ones, (mine, np.arange(len(mine)))), (n_clusters, len(mine)))
        product = member @ X[piece]
        sums += product.toarray() if sparse.issparse(product) else np.asarray(product)
    size = np.bincount(labels, minlength=n_clusters)[:, None]
    return np.divide(sums, size, out=np.full_like(sums, np.nan), where=size > 0)

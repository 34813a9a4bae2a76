"""Rows of a CSR matrix, as they are or each with its own mean taken off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .base import Array, Compiled, FloatArray, Rows
from .dense import DenseRows

__all__ = ["CSRRows", "CentredCSR"]


@dataclass(frozen=True)
class CSRRows(Rows):
    """Rows of a CSR matrix."""

    X: sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.X.dtype

    @cached_property
    def compiled(self) -> Compiled | None:
        from .._kernels import sparse as passes
        from .._kernels.layout import CSR, plain

        if self.X.dtype not in (np.float32, np.float64):
            return None
        X = CSR(plain(self.X.indptr), plain(self.X.indices), plain(self.X.data))
        return Compiled(passes, X, np.empty(0, self.X.dtype), transposed=True)

    def _square(self) -> sparse.csr_array:
        return self.X.multiply(self.X).tocsr()

    def dot(self, W: Array) -> Array:
        return np.asarray(self.X @ np.ascontiguousarray(np.asarray(W, self.X.dtype).T))

    def square_dot(self, W: Array) -> Array:
        return np.asarray(self._square() @ np.asarray(W, self.X.dtype).T)

    def sums(self, C: Any) -> FloatArray:
        return _dense(C @ self.X.astype(np.float64, copy=False))

    def square_sums(self, C: Any) -> FloatArray:
        return _dense(C @ self._square().astype(np.float64, copy=False))

    def outer(self, c: FloatArray) -> FloatArray:
        X = self.X.astype(np.float64, copy=False)
        return _dense(X.T @ (sparse.diags_array(c) @ X))

    def take(self, index: Any) -> Rows:
        return CSRRows(self.X[index])

    def dense(self) -> Array:
        return np.asarray(self.X.toarray())

    def scaled(self, row: Array | None, column: Array | None) -> Rows:
        X = self.X if column is None else (self.X @ sparse.diags_array(column)).tocsr()
        return CSRRows(X if row is None else (sparse.diags_array(row) @ X).tocsr())

    def _find_range(self) -> tuple[FloatArray, FloatArray]:
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        return _dense(low).ravel().astype(np.float64), _dense(high).ravel().astype(np.float64)

    def difference(self, i: Array, j: Array) -> Rows:
        return CSRRows((self.X[i] - self.X[j]).tocsr())

    def product(self, i: Array, j: Array) -> Rows:
        return CSRRows(self.X[i].multiply(self.X[j]).tocsr())

    def map(self, function: Callable[[Array], Array]) -> Rows:
        mapped = self.X.copy()
        mapped.data = function(mapped.data)
        return CSRRows(mapped)

    def quadratic(self, A: Array) -> Array:
        return _dense(self.X.multiply(self.dot(A)).sum(axis=1)).ravel()

    def float64(self) -> Rows:
        return CSRRows(self.X.astype(np.float64, copy=False))


@dataclass(frozen=True)
class CentredCSR(Rows):
    """Rows of a CSR matrix, each with its own mean taken off: rank-one corrections (B2).

    x_c = x − m·1 with m the mean of the row; X stays sparse.
    """

    X: sparse.csr_array
    mean: FloatArray

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.X.dtype

    @property
    def _plain(self) -> CSRRows:
        return CSRRows(self.X)

    def dot(self, W: Array) -> Array:
        W = np.asarray(W, self.X.dtype)
        return self._plain.dot(W) - np.outer(self.mean.astype(W.dtype), W.sum(axis=1))

    def square_dot(self, W: Array) -> Array:
        W = np.asarray(W, self.X.dtype)
        m, total = self.mean[:, None].astype(W.dtype), W.sum(axis=1)
        return self._plain.square_dot(W) - 2 * m * self._plain.dot(W) + m * m * total

    def sums(self, C: Any) -> FloatArray:
        return self._plain.sums(C) - _dense(C @ self.mean[:, None])

    def square_sums(self, C: Any) -> FloatArray:
        m = self.mean[:, None]
        cross = self._plain.sums(C @ sparse.diags_array(self.mean))
        return self._plain.square_sums(C) - 2 * cross + _dense(C @ (m * m))

    def outer(self, c: FloatArray) -> FloatArray:
        cross = self._plain.sums((c * self.mean)[None, :])[0]
        total = float(np.sum(c * self.mean**2))
        return self._plain.outer(c) - cross[:, None] - cross[None, :] + total

    def take(self, index: Any) -> Rows:
        return CentredCSR(self.X[index], self.mean[index])

    def dense(self) -> Array:
        return np.asarray(self.X.toarray() - self.mean[:, None].astype(self.X.dtype))

    def scaled(self, row: Array | None, column: Array | None) -> Rows:
        return DenseRows(self.dense()).scaled(row, column)

    def _find_range(self) -> tuple[FloatArray, FloatArray]:
        return DenseRows(self.dense()).range()

    def difference(self, i: Array, j: Array) -> Rows:
        return DenseRows(self.take(i).dense() - self.take(j).dense())

    def product(self, i: Array, j: Array) -> Rows:
        return DenseRows(self.take(i).dense() * self.take(j).dense())

    def map(self, function: Callable[[Array], Array]) -> Rows:
        return DenseRows(function(self.dense()))

    def float64(self) -> Rows:
        return CentredCSR(self.X.astype(np.float64, copy=False), self.mean)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)

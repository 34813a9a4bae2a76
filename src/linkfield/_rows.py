"""Rows of data behind one small algebra, so that every formula is written once.

Dense arrays, CSR matrices and CSR matrices with the row means taken off all answer the same few
questions. Products with centres keep the data's dtype; sums over rows are float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["CSRRows", "CentredCSR", "DenseRows", "Rows", "as_rows", "pieces"]

Array = NDArray[Any]
FloatArray = NDArray[np.float64]


def pieces(n: int, size: int) -> Iterator[slice]:
    """Cut 0..n into slices of at most ``size``."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


class Rows(ABC):
    """A block of rows x_1..x_n of d features."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @abstractmethod
    def dot(self, W: Array) -> Array:
        """Return X Wᵀ for W of shape (k, d)."""

    @abstractmethod
    def square_dot(self, W: Array) -> Array:
        """Return (X∘X) Wᵀ for W of shape (k, d)."""

    @abstractmethod
    def sums(self, C: Any) -> FloatArray:
        """Return C X for C of shape (k, n), dense or sparse."""

    @abstractmethod
    def square_sums(self, C: Any) -> FloatArray:
        """Return C (X∘X) for C of shape (k, n), dense or sparse."""

    @abstractmethod
    def outer(self, c: FloatArray) -> FloatArray:
        """Return Σ c_i x_i x_iᵀ."""

    @abstractmethod
    def take(self, index: Any) -> Rows:
        """Return some of the rows (a slice or positions)."""

    @abstractmethod
    def dense(self) -> Array:
        """Return the rows as a dense array."""

    @abstractmethod
    def scaled(self, row: Array | None, column: Array | None) -> Rows:
        """Return diag(row) X diag(column)."""

    @abstractmethod
    def range(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest value of every column."""

    @abstractmethod
    def difference(self, i: Array, j: Array) -> Rows:
        """Return the rows x_i − x_j."""

    @abstractmethod
    def product(self, i: Array, j: Array) -> Rows:
        """Return the rows x_i∘x_j."""

    @abstractmethod
    def map(self, function: Callable[[Array], Array]) -> Rows:
        """Apply an elementwise function that keeps 0."""

    def quadratic(self, A: Array) -> Array:
        """Return xᵀAx for every row."""
        return np.einsum("ij,ij->i", self.dot(A), self.dense())

    def float64(self) -> Rows:
        """Return the rows in float64."""
        return self

    def __len__(self) -> int:
        return self.shape[0]


@dataclass(frozen=True)
class DenseRows(Rows):
    """Rows of a dense array."""

    X: Array

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.X.dtype

    def dot(self, W: Array) -> Array:
        return self.X @ np.asarray(W, self.X.dtype).T

    def square_dot(self, W: Array) -> Array:
        return (self.X * self.X) @ np.asarray(W, self.X.dtype).T

    def sums(self, C: Any) -> FloatArray:
        return np.asarray(C @ np.asarray(self.X, np.float64))

    def square_sums(self, C: Any) -> FloatArray:
        X = np.asarray(self.X, np.float64)
        return np.asarray(C @ (X * X))

    def outer(self, c: FloatArray) -> FloatArray:
        X = np.asarray(self.X, np.float64)
        return (X * c[:, None]).T @ X

    def take(self, index: Any) -> Rows:
        return DenseRows(self.X[index])

    def dense(self) -> Array:
        return self.X

    def scaled(self, row: Array | None, column: Array | None) -> Rows:
        X = self.X if column is None else self.X * column
        return DenseRows(X if row is None else X * row[:, None])

    def range(self) -> tuple[FloatArray, FloatArray]:
        return self.X.min(axis=0).astype(np.float64), self.X.max(axis=0).astype(np.float64)

    def difference(self, i: Array, j: Array) -> Rows:
        return DenseRows(self.X[i] - self.X[j])

    def product(self, i: Array, j: Array) -> Rows:
        return DenseRows(self.X[i] * self.X[j])

    def map(self, function: Callable[[Array], Array]) -> Rows:
        return DenseRows(function(self.X))

    def float64(self) -> Rows:
        return DenseRows(np.asarray(self.X, np.float64))


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

    def range(self) -> tuple[FloatArray, FloatArray]:
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

    def range(self) -> tuple[FloatArray, FloatArray]:
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


def as_rows(X: Any) -> Rows:
    """Wrap a dense array or a sparse matrix."""
    if sparse.issparse(X):
        return CSRRows(sparse.csr_array(X))
    return DenseRows(np.asarray(X))

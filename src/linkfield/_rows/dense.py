"""Rows of a dense array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .base import Array, Compiled, FloatArray, Rows

__all__ = ["DenseRows"]


def _product(A: Array, B: Array) -> Array:
    """Return A B of finite numbers.

    OpenBLAS raises false alarms of invalid numbers now and then, for few columns of float32.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(A @ B)


@dataclass(frozen=True)
class DenseRows(Rows):
    """Rows of a dense array, less an offset that is the same for all rows.

    The offset is taken off where rows are used, never from a copy of all of them.
    """

    base: Array
    offset: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.base.shape[0], self.base.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.base.dtype

    @property
    def X(self) -> Array:
        """The rows as an array."""
        return self.base if self.offset is None else self.base - self.offset

    @cached_property
    def compiled(self) -> Compiled | None:
        from .._kernels import dense
        from .._kernels.layout import plain

        if self.base.dtype not in (np.float32, np.float64):
            return None
        none = np.empty(0, self.base.dtype)
        offset = none if self.offset is None else plain(self.offset)
        return Compiled(dense, plain(self.base), offset, transposed=False)

    def dot(self, W: Array) -> Array:
        return _product(self.X, np.asarray(W, self.dtype).T)

    def square_dot(self, W: Array) -> Array:
        X = self.X
        return _product(X * X, np.asarray(W, self.dtype).T)

    def sums(self, C: Any) -> FloatArray:
        return np.asarray(C @ np.asarray(self.X, np.float64))

    def square_sums(self, C: Any) -> FloatArray:
        X = np.asarray(self.X, np.float64)
        return np.asarray(C @ (X * X))

    def outer(self, c: FloatArray) -> FloatArray:
        X = np.asarray(self.X, np.float64)
        return (X * c[:, None]).T @ X

    def take(self, index: Any) -> Rows:
        return DenseRows(DenseRows(self.base[index], self.offset).X)

    def dense(self) -> Array:
        return self.X

    def scaled(self, row: Array | None, column: Array | None) -> Rows:
        X = self.X if column is None else self.X * column
        return DenseRows(X if row is None else X * row[:, None])

    def _find_range(self) -> tuple[FloatArray, FloatArray]:
        less = 0.0 if self.offset is None else self.offset
        return (self.base.min(axis=0) - less).astype(np.float64), (
            self.base.max(axis=0) - less
        ).astype(np.float64)

    def difference(self, i: Array, j: Array) -> Rows:
        return DenseRows(self.base[i] - self.base[j])

    def product(self, i: Array, j: Array) -> Rows:
        return DenseRows(self.take(i).dense() * self.take(j).dense())

    def map(self, function: Callable[[Array], Array]) -> Rows:
        return DenseRows(function(self.X))

    def float64(self) -> Rows:
        if self.base.dtype == np.float64:
            return self
        return DenseRows(np.asarray(self.X, np.float64))

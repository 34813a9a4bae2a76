"""Rows of data behind one small algebra, so that every formula is written once.

Dense arrays, CSR matrices and CSR matrices with the row means taken off all answer the same few
questions. Products with centres keep the data's dtype; sums over rows are float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._threads import spread

__all__ = ["CSRRows", "CentredCSR", "Compiled", "DenseRows", "Rows", "as_rows", "pieces"]

Array = NDArray[Any]
FloatArray = NDArray[np.float64]


def pieces(n: int, size: int) -> Iterator[slice]:
    """Cut 0..n into slices of at most ``size``."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


def _product(A: Array, B: Array) -> Array:
    """Return A B of finite numbers.

    OpenBLAS raises false alarms of invalid numbers now and then, for few columns of float32.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(A @ B)


@dataclass(frozen=True)
class Compiled:
    """Rows as compiled passes take them: a module of passes, the data, what to take off.

    ``transposed`` says that weights and centres are wanted feature by label.
    """

    passes: Any
    X: Any
    offset: Array
    transposed: bool


class Rows(ABC):
    """A block of rows x_1..x_n of d features."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    def compiled(self) -> Compiled | None:
        """The rows for compiled passes, None where there are no passes for them."""
        return None

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

    def range(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest value of every column."""
        if "_range" not in self.__dict__:
            self.note_range(*self._find_range())
        low, high = self.__dict__["_range"]
        return low, high

    def note_range(self, low: FloatArray, high: FloatArray) -> None:
        """Keep what another pass has found the range to be."""
        self.__dict__["_range"] = (low, high)

    @abstractmethod
    def _find_range(self) -> tuple[FloatArray, FloatArray]:
        """Look at every value."""

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

    def lengths(self, a: Array) -> Array:
        """Return Σ_m a_m x_m² of every row."""
        if self.compiled is None:
            return np.asarray(self.square_dot(a[None, :])[:, 0])
        out = np.empty(len(self), self.dtype)
        self._spread("lengths", a.astype(self.dtype), out=out)
        return out

    def projected(self, direction: FloatArray) -> FloatArray:
        """Return ⟨x, direction⟩ of every row, equal for equal rows wherever they stand."""
        if self.compiled is None:
            return np.asarray(self.dot(direction[None, :])[:, 0], np.float64)
        out = np.empty(len(self))
        self._spread("keys", direction, out=out)
        return out

    def _spread(self, name: str, *args: Any, out: Array) -> None:
        """Run a compiled pass that fills one number a row."""
        rows = self.compiled
        assert rows is not None
        one = getattr(rows.passes, name)
        least = max(256, 2_000_000 // max(self.shape[1], 1))
        spread(lambda a, b: one(rows.X, rows.offset, *args, a, b, out), len(self), least)

    def grouped(self, group: Array, n_groups: int) -> FloatArray:
        """Return the sum of the rows of every group; -1 belongs to none."""
        rows, mine = self.compiled, np.flatnonzero(group >= 0)
        if rows is None:
            one = np.ones(len(mine))
            member = sparse.csr_array((one, (group[mine], mine)), shape=(n_groups, len(self)))
            return self.sums(member)
        from ._kernels.layout import Sums

        total = np.zeros((n_groups, self.shape[1]))
        none, one = np.empty(0, np.int64), np.ones(len(self))
        sums = Sums(np.zeros(n_groups), np.zeros(n_groups), total)
        rows.passes.transfer(
            rows.X, rows.offset, np.empty(0, self.dtype), one, none, none, group, 0, len(self), sums
        )
        return total

    def pair_squares(self, i: Array, j: Array, a: FloatArray) -> FloatArray:
        """Return Σ_m a_m (x_im − x_jm)² of every pair."""
        return self._pairs("squares", i, j, a)

    def pair_products(self, i: Array, j: Array, a: FloatArray) -> FloatArray:
        """Return Σ_m a_m x_im x_jm of every pair."""
        return self._pairs("products", i, j, a)

    def pair_square_sums(self, i: Array, j: Array, c: FloatArray) -> FloatArray:
        """Return Σ_e c_e (x_i − x_j)², feature by feature."""
        return self._pair_sums("square_sums", i, j, c)

    def pair_product_sums(self, i: Array, j: Array, c: FloatArray) -> FloatArray:
        """Return Σ_e c_e x_i∘x_j, feature by feature."""
        return self._pair_sums("product_sums", i, j, c)

    def _pairs(self, kind: str, i: Array, j: Array, a: FloatArray) -> FloatArray:
        out, rows = np.empty(len(i)), self._pair_compiled(kind)
        if rows is None:
            for piece in pieces(len(i), self._pair_chunk):
                part = self._pair_rows(kind, i[piece], j[piece])
                out[piece] = part.dot(a[None, :])[:, 0]
            return out
        from ._kernels import pairs

        d = max(self.shape[1], 1)
        one = getattr(pairs, f"{'sparse' if rows.transposed else 'dense'}_{kind}")
        # Sparse rows are spread out over all d columns, once a piece.
        least = max(512, d // 64) if rows.transposed else max(64, 30_000 // d)
        spread(lambda first, last: one(rows.X, i, j, a, first, last, out), len(i), least)
        return out

    def _pair_sums(self, kind: str, i: Array, j: Array, c: FloatArray) -> FloatArray:
        total, rows = np.zeros(self.shape[1]), self._pair_compiled(kind)
        if rows is None:
            for piece in pieces(len(i), self._pair_chunk):
                part = self._pair_rows(kind, i[piece], j[piece])
                total += part.sums(c[piece][None, :])[0]
            return total
        from ._kernels import pairs

        one = getattr(pairs, f"{'sparse' if rows.transposed else 'dense'}_{kind}")
        d = self.shape[1]
        least = max(256, 400_000 // max(d, 1), d // 8)

        def sums(first: int, last: int) -> FloatArray:
            mine = np.zeros(d)
            one(rows.X, i, j, c, first, last, mine)
            return mine

        return np.asarray(sum(spread(sums, len(i), least), total))

    def _pair_compiled(self, kind: str) -> Compiled | None:
        rows = self.compiled
        # What is taken off all rows cancels in differences, not in products.
        offset = rows is not None and len(rows.offset) > 0
        return None if offset and kind.startswith("product") else rows

    @property
    def _pair_chunk(self) -> int:
        return max(256, 4_000_000 // max(self.shape[1], 1))

    def _pair_rows(self, kind: str, i: Array, j: Array) -> Rows:
        if kind.startswith("product"):
            return self.product(i, j)
        return self.difference(i, j).map(np.square)

    def __len__(self) -> int:
        return self.shape[0]


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
        from ._kernels import dense
        from ._kernels.layout import plain

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
        from ._kernels import sparse as passes
        from ._kernels.layout import CSR, plain

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


def as_rows(X: Any) -> Rows:
    """Wrap a dense array or a sparse matrix."""
    if sparse.issparse(X):
        return CSRRows(sparse.csr_array(X))
    return DenseRows(np.asarray(X))

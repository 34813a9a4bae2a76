"""What all rows answer, however they are stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._threads import spread

__all__ = ["Array", "Compiled", "FloatArray", "Rows", "pieces"]

Array = NDArray[Any]
FloatArray = NDArray[np.float64]


def pieces(n: int, size: int) -> Iterator[slice]:
    """Cut 0..n into slices of at most ``size``."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


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
        from .._kernels.layout import Sums

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

    def pair_cosines(self, i: Array, j: Array, a: FloatArray) -> FloatArray | None:
        """Return Σ_m a_m x_im x_jm / (‖x_i‖_a ‖x_j‖_a) of every pair, 0 for a row without length.

        None for rows that have no loop for it.
        """
        rows = self.compiled
        if rows is None or rows.transposed or len(rows.offset):
            return None
        return self._pairs("cosines", i, j, a)

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
        from .._kernels import pairs

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
        from .._kernels import pairs

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

"""Log densities as products of natural parameters with features, in compiled passes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FeatureForm", "GaussianRows", "Sums", "collected", "passes"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Features of a panel, at most; and multiplications of a panel's product up to which BLAS has
#: routines for small matrices, which are quicker: fewer features are taken to stay below, though
#: no fewer than the last number.
PANEL, SMALL, LEAST = 256, 280_000, 40


def passes() -> Any:
    """Return the compiled passes; numba is loaded when they are first wanted."""
    from .._kernels import gaussian

    return gaussian


class GaussianRows(NamedTuple):
    """Rows as passes take them: (X − offset)·scale, their weights (empty: 1), who is grouped."""

    X: Any
    offset: FloatArray
    scale: FloatArray
    weight: FloatArray
    grouped: IntArray

    def take(self, index: Any, dtype: Any) -> NDArray[Any]:
        """Return some rows as an array, centred and scaled."""
        return ((self.X[index] - self.offset) * self.scale).astype(dtype, copy=False)


class Sums(NamedTuple):
    """What a block of rows adds up to: log-likelihood, Σ r, Σ r x, Σ r·(features of x)."""

    log_likelihood: float
    weight: FloatArray
    first: FloatArray
    second: FloatArray

    def plus(self, other: Sums) -> Sums:
        """Return the sums of both."""
        return Sums(
            self.log_likelihood + other.log_likelihood,
            self.weight + other.weight,
            self.first + other.first,
            self.second + other.second,
        )


class Layout(NamedTuple):
    """Features as products of two coordinates of (x, 1), cut into panels of equal width.

    ``left`` and ``right`` are filled up with the feature 1·1.
    """

    left: IntArray
    right: IntArray
    n_panels: int
    width: int
    d: int
    n_features: int

    def fold(self, table: NDArray[Any], dtype: Any) -> NDArray[Any]:
        """Return a table component x feature as panel x component x feature."""
        full = np.zeros((len(table), self.n_panels * self.width), dtype)
        full[:, : self.n_features] = table
        panels = full.reshape(len(table), self.n_panels, self.width).transpose(1, 0, 2)
        return np.ascontiguousarray(panels)

    def zeros(self, K: int) -> FloatArray:
        """Return sums of nothing: panel x feature x component."""
        return np.zeros((self.n_panels, self.width, K))

    def unfold(self, panels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the first and second moments of sums: panel x feature x component."""
        table = panels.reshape(-1, panels.shape[2]).T
        return table[:, : self.d].copy(), table[:, self.d : self.n_features].copy()


def layout_of(d: int, kind: str, K: int) -> Layout:
    """Return the features of a kind in panels that suit products with K components."""
    small = SMALL // (passes().CHUNK * K)
    return _layout(d, kind, PANEL if small < LEAST else min(small, PANEL))


@lru_cache(maxsize=8)
def _layout(d: int, kind: str, panel: int) -> Layout:
    """Return the features of a kind: x and x_a x_b for a ≤ b, row by row, or x and x_a²."""
    coordinate = np.arange(d)
    a, b = np.triu_indices(d) if kind == "full" else (coordinate, coordinate)
    n_features = d + len(a)
    n_panels = -(-n_features // panel)
    width = -(-n_features // n_panels)
    left = np.full(n_panels * width, d, dtype=np.int64)
    right = left.copy()
    left[:n_features] = np.concatenate((coordinate, a))
    right[d:n_features] = b
    return Layout(left, right, n_panels, width, d, n_features)


class FeatureForm:
    """Components by their natural parameters.

    log π_j q_j(x) = constant_j + ⟨linear_j, x⟩ + ⟨quadratic_j, second-order features of x⟩.
    """

    def __init__(
        self,
        kind: str,
        constant: FloatArray,
        linear: FloatArray,
        quadratic: FloatArray,
        dtype: Any,
    ) -> None:
        self.layout = layout_of(linear.shape[1], kind, len(constant))
        self.constant = constant.astype(dtype)
        self.parameters = self.layout.fold(np.hstack((linear, quadratic)), dtype)

    @property
    def _given(self) -> Any:
        return self.constant, self.parameters, self.layout.left, self.layout.right

    def expectation(self, rows: GaussianRows, block: slice, table: FloatArray) -> Sums:
        """Return the sums of a block's free rows; write the log densities of its grouped rows."""
        tiny = passes().TINY_32 if self.parameters.dtype == np.float32 else passes().TINY_64
        mass, sums = np.zeros(len(self.constant)), self.layout.zeros(len(self.constant))
        likelihood = passes().expectation(
            *rows, *self._given, tiny, block.start, block.stop, table, mass, sums
        )
        return Sums(likelihood, mass, *self.layout.unfold(sums))

    def log_joint(self, rows: GaussianRows, block: slice, table: FloatArray) -> None:
        """Write the log densities of a block's rows."""
        passes().log_joint(*rows[:3], *self._given, block.start, block.stop, table)

    def most_likely(
        self, rows: GaussianRows, block: slice, label: IntArray, density: FloatArray
    ) -> None:
        """Write the likeliest component of a block's rows, and log p(x)."""
        passes().most_likely(*rows[:3], *self._given, block.start, block.stop, label, density)


def collected(rows: GaussianRows, kind: str, r: FloatArray, block: slice) -> Sums:
    """Return the sums of some grouped rows under given responsibilities."""
    K = r.shape[1]
    layout = layout_of(rows.X.shape[1], kind, K)
    mass, sums = np.zeros(K), layout.zeros(K)
    passes().collect(
        *rows[:3], rows.grouped, r, layout.left, layout.right, block.start, block.stop, mass, sums
    )
    return Sums(0.0, mass, *layout.unfold(sums))

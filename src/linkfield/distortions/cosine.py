"""Directional measures: cosine and Pearson correlation, with learned weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows import CentredCSR, CSRRows, DenseRows, Rows, as_rows
from .base import Distortion, Drift
from .bounds import Bound, Constant, Diameter
from .metrics import Metric

__all__ = ["Correlation", "Cosine"]

FloatArray = NDArray[np.float64]


@dataclass
class Cosine(Distortion):
    """D(x, μ) = 1 − ⟨x, μ⟩_a / (‖x‖_a ‖μ‖_a), weights a > 0 (Basu et al. 2004, eq. 11).

    f = 1, g = 0, φ̃ = x/‖x‖_a, ψ = a∘μ/‖μ‖_a; the pair penalty is φ(x, y) = 1 − cos_a(x, y). An
    all-zero row has no direction: its distance to everything is 1.
    """

    name = "cosine"
    metrics = ("identity", "diagonal")
    bregman = False
    tables = True
    default_bound = "auto"

    def row_offset(self, rows: Rows, metric: Metric) -> NDArray[Any]:
        return np.ones(len(rows), dtype=rows.dtype)

    def row_scale(self, rows: Rows, metric: Metric) -> NDArray[Any] | None:
        return inverse_lengths(metric.norms(rows))

    def centre_terms(self, M: FloatArray, metric: Metric) -> tuple[FloatArray, FloatArray]:
        scale = inverse_lengths(np.einsum("hi,i,hi->h", M, metric.theta, M))
        return np.zeros(len(M)), metric.apply(M) * scale[:, None]

    def centres(
        self, sums: FloatArray, weight: FloatArray, old: FloatArray, metric: Metric
    ) -> FloatArray:
        """Return s/‖s‖_a with s = Σ v x/‖x‖_a: the minimiser, unlike 004's eq. 17."""
        scale = inverse_lengths(np.einsum("hi,i,hi->h", sums, metric.theta, sums))
        return np.where((scale > 0)[:, None], sums * scale[:, None], old)

    def unit(self, M: FloatArray, metric: Metric) -> FloatArray:
        """Return the centres with length 1: μ̂."""
        return M * inverse_lengths(np.einsum("hi,i,hi->h", M, metric.theta, M))[:, None]

    def slopes(
        self,
        rows: Rows,
        weight: FloatArray,
        labels: NDArray[np.integer],
        M: FloatArray,
        metric: Metric,
    ) -> tuple[FloatArray, FloatArray]:
        """Return Σ v cos by cluster and Σ v cos_i x̂_i²: what the gradient needs of the rows."""
        n, K = len(rows), len(M)
        scale = np.asarray(self.row_scale(rows, metric), np.float64)
        # cos_i needs only the centre of the row's own cluster.
        products = rows.dot(metric.apply(self.unit(M, metric)))
        cosine = products[np.arange(n), labels] * scale
        by_cluster = np.asarray(np.bincount(labels, weight * cosine, K), np.float64)
        return by_cluster, rows.square_sums((weight * cosine * scale**2)[None, :])[0]

    def gradient(
        self,
        sums: FloatArray,
        by_cluster: FloatArray,
        squares: FloatArray,
        M: FloatArray,
        metric: Metric,
    ) -> FloatArray:
        """Return ∂/∂a Σ_i v_i D(x_i, μ_{l_i}) from Σ v x̂ by cluster and :meth:`slopes`.

        Σ_i ∂cos_i/∂a = Σ_h μ̂_h∘ŝ_h − ½ Σ_i cos_i x̂_i² − ½ Σ_h (Σ_{i∈h} cos_i) μ̂_h²  (2.5).
        """
        unit = self.unit(M, metric)
        rise = np.einsum("hm,hm->m", unit, sums) - 0.5 * squares
        return 0.5 * by_cluster @ unit**2 - rise

    def can_drift(self, metric: Metric) -> bool:
        return True

    def drift(
        self, before: tuple[FloatArray, Metric], after: tuple[FloatArray, Metric]
    ) -> Drift | None:
        """Return the drift while the weights stay: √(2D) is the distance of unit vectors."""
        (M, old), (moved, new) = before, after
        if not np.array_equal(old.theta, new.theta):
            return None
        before_unit, after_unit = self.unit(M, old), self.unit(moved, new)
        shift = np.sqrt(np.einsum("hm,m->h", (after_unit - before_unit) ** 2, new.theta))
        # A centre without direction has √(2D) = √2 to everything, which is no vector's distance.
        vanished = before_unit.any(axis=1) != after_unit.any(axis=1)
        return Drift(1.0, 1.0, np.where(vanished, np.sqrt(2.0), shift))

    def pair(self, rows: Rows, i: Any, j: Any, metric: Metric) -> FloatArray:
        cosine = rows.pair_cosines(i, j, metric.theta)
        if cosine is None:
            rows, i, j = _ends_alone(rows, i, j)
            scale = np.asarray(self.row_scale(rows, metric), np.float64)
            cosine = rows.pair_products(i, j, metric.theta) * scale[i] * scale[j]
        return np.maximum(1.0 - cosine, 0.0)

    def pair_gradient(
        self, rows: Rows, i: Any, j: Any, c: FloatArray, metric: Metric
    ) -> FloatArray:
        rows, i, j = _ends_alone(rows, i, j)
        scale = np.asarray(self.row_scale(rows, metric), np.float64)
        cosine = 1.0 - self.pair(rows, i, j, metric)
        fall = rows.pair_product_sums(i, j, c * scale[i] * scale[j])
        half = 0.5 * c * cosine
        n = len(rows)
        own = np.bincount(i, half, minlength=n) + np.bincount(j, half, minlength=n)
        fall -= rows.square_sums((own * scale**2)[None, :])[0]
        return -fall

    def bound(self, kind: str | float, rows: Rows, metric: Metric) -> Bound:
        if not isinstance(kind, str):
            return Constant(float(kind))
        if kind == "auto":
            return Constant(self._largest(rows))
        if kind == "diameter":
            return Diameter(rows, self.pair, self.pair_gradient)
        raise ValueError(f"bound={kind!r} does not fit {self.name}; take 'auto' or a number")

    def _largest(self, rows: Rows) -> float:
        """Cosines of non-negative rows are not below 0, so D ≤ 1; with signs D reaches 2."""
        low, _ = rows.range()
        return 1.0 if low.min(initial=0.0) >= 0 else 2.0

    def embedding(self, rows: Rows, metric: Metric) -> tuple[FloatArray, list[Rows]]:
        scale = self.row_scale(rows, metric)
        return np.full((1, len(rows)), 0.5), [rows.scaled(scale, np.sqrt(metric.theta))]


@dataclass
class Correlation(Cosine):
    """D(x, μ) = 1 − Pearson correlation: the cosine of rows with their means taken off (B2).

    The weights act after the plain row mean is taken off. A constant row has distance 1.
    """

    name = "correlation"

    def rows(self, X: Any) -> Rows:
        plain = as_rows(X)
        d = plain.shape[1]
        if isinstance(plain, CSRRows):
            mean = np.asarray(plain.X.sum(axis=1), np.float64).ravel() / d
            return CentredCSR(plain.X, mean)
        dense = plain.dense()
        centred = dense - dense.mean(axis=1, keepdims=True)
        centred[np.ptp(dense, axis=1) == 0] = 0.0  # no rounding dust: no direction
        return DenseRows(centred)

    def row_scale(self, rows: Rows, metric: Metric) -> NDArray[Any] | None:
        if not isinstance(rows, CentredCSR):
            return inverse_lengths(metric.norms(rows))
        # Taking the mean off leaves rounding dust on a constant row, which has no direction.
        X = rows.X.astype(np.float64, copy=False)
        norms, plain = metric.norms(CentredCSR(X, rows.mean)), metric.norms(CSRRows(X))
        norms = np.where(norms <= 1e-12 * plain, 0.0, norms)
        return inverse_lengths(norms).astype(rows.dtype)

    def prepared_centres(self, M: FloatArray) -> FloatArray:
        return np.asarray(M - M.mean(axis=1, keepdims=True))

    def _largest(self, rows: Rows) -> float:
        return 2.0


def _ends_alone(rows: Rows, i: Any, j: Any) -> tuple[Rows, Any, Any]:
    """Return the rows that few pairs are between, and where among them the ends stand.

    Whatever is asked of every row is then asked of these only.
    """
    if len(i) == 0 or 2 * (len(i) + len(j)) > len(rows):
        return rows, i, j
    ends, at = np.unique(np.concatenate([i, j]), return_inverse=True)
    return rows.take(ends), at[: len(i)], at[len(i) :]


def inverse_lengths(norms: NDArray[Any]) -> NDArray[Any]:
    """Return 1/√norms, 0 where there is no length."""
    positive = norms > 0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, norms, 1.0)), 0.0).astype(
        norms.dtype, copy=False
    )

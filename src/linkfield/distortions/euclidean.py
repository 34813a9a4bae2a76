"""Squared Euclidean and Mahalanobis distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows import Rows, pieces
from .._threads import spread
from .base import Distortion, Drift
from .bounds import Bound, Constant, Diameter, Linear, Radius, lowner
from .metrics import Diagonal, Full, Metric

__all__ = ["SquaredEuclidean"]

FloatArray = NDArray[np.float64]

#: Tables of centres with so many numbers are worked on by compiled code.
LARGE = 100_000


@dataclass
class SquaredEuclidean(Distortion):
    """D(x, μ) = (x − μ)ᵀ A (x − μ) with any metric: none, weights, a matrix, one a cluster.

    f = ‖x‖²_A, g = ‖μ‖²_A, ψ = 2Aμ; the pair penalty is φ(x, y) = ‖x − y‖²_A.
    """

    name = "euclidean"
    metrics = ("identity", "diagonal", "full", "diagonal-per-cluster", "full-per-cluster")
    tables = True
    default_bound = "auto"

    def row_offset(self, rows: Rows, metric: Metric) -> NDArray[Any]:
        return metric.norms(rows)

    def centre_terms(self, M: FloatArray, metric: Metric) -> tuple[FloatArray, FloatArray]:
        psi = metric.apply(M)
        g = np.einsum("hi,hi->h", M, psi)
        psi *= 2.0
        return g, psi

    def centres(
        self, sums: FloatArray, weight: FloatArray, old: FloatArray, metric: Metric
    ) -> FloatArray:
        return weighted_means(sums, weight, old)

    def second_moment(self, rows: Rows, weight: FloatArray, metric: Metric) -> FloatArray:
        """Return Σ v x∘x or Σ v xxᵀ; ``weight`` is (n,), or (n, K) for one metric a cluster."""
        return metric.scatter(rows, weight)

    def dispersion(
        self,
        moment: FloatArray,
        sums: FloatArray,
        weight: FloatArray,
        M: FloatArray,
        metric: Metric,
    ) -> FloatArray:
        """Return S with ⟨θ, S⟩ = Σ v D(x, μ): Σx∘x − 2 s∘μ + n μ∘μ, or its outer products."""
        if not metric.full:
            if metric.per_cluster:
                return moment + weight[:, None] * M * M - 2.0 * sums * M
            return moment + _weighted_spread(weight, M, sums)
        cross = np.einsum("hi,hj->hij", sums, M)
        each = weight[:, None, None] * np.einsum("hi,hj->hij", M, M) - cross
        each = each - np.swapaxes(cross, 1, 2)
        return moment + (each if metric.per_cluster else each.sum(axis=0))

    def can_drift(self, metric: Metric) -> bool:
        return not (metric.full or metric.per_cluster)

    def drift(
        self, before: tuple[FloatArray, Metric], after: tuple[FloatArray, Metric]
    ) -> Drift | None:
        """Return the drift under changing weights: ratios of a bound those of the distances."""
        (M, old), (moved, new) = before, after
        ratio = new.theta / old.theta
        shift = np.sqrt(_squared_shifts(M, moved, new.theta))
        return Drift(float(np.sqrt(ratio.max())), float(np.sqrt(ratio.min())), shift)

    def pair(self, rows: Rows, i: Any, j: Any, metric: Metric) -> FloatArray:
        if not metric.full and not metric.per_cluster:
            return rows.pair_squares(i, j, metric.theta)
        shape = (len(i), len(metric.theta)) if metric.per_cluster else (len(i),)
        out = np.empty(shape)
        for piece in pieces(len(i), _chunk(rows)):
            out[piece] = metric.norms(rows.difference(i[piece], j[piece]))
        return np.maximum(out, 0.0)

    def pair_gradient(
        self, rows: Rows, i: Any, j: Any, c: FloatArray, metric: Metric
    ) -> FloatArray:
        if not metric.full and not metric.per_cluster:
            return rows.pair_square_sums(i, j, c)
        total = np.zeros_like(metric.theta)
        for piece in pieces(len(i), _chunk(rows)):
            total += metric.scatter(rows.difference(i[piece], j[piece]), c[piece])
        return total

    def bound(self, kind: str | float, rows: Rows, metric: Metric) -> Bound:
        if not isinstance(kind, str):
            return Constant(float(kind))
        if kind == "auto":
            kind = "lowner" if metric.full else "box"
        if kind == "box" and not metric.full:
            low, high = rows.range()
            return Linear((high - low) ** 2)
        if kind == "lowner":
            G = lowner(rows)
            return Linear(G if metric.full else np.diag(G).copy())
        if kind == "radius":
            n = len(rows)
            mean = rows.sums(np.full((1, n), 1.0 / n))[0]
            return Radius(_shifted(rows, mean), Full if metric.full else Diagonal)
        if kind == "diameter":
            return Diameter(rows, self.pair, self.pair_gradient)
        raise ValueError(
            f"bound={kind!r} does not fit the {metric.kind} metric; take 'auto', 'box' (weights a "
            "feature), 'lowner', 'radius', 'diameter' or a number"
        )

    def embedding(self, rows: Rows, metric: Metric) -> tuple[FloatArray, list[Rows]]:
        z = type(metric)(2.0 * metric.theta).embedded(rows)
        b = np.array([part.lengths(np.ones(part.shape[1])) / 2.0 for part in z], np.float64)
        return b, z


def _weighted_spread(weight: FloatArray, M: FloatArray, sums: FloatArray) -> FloatArray:
    """Return Σ_h n_h μ_h² − 2 s_h∘μ_h; by compiled code where the table is large."""
    if M.size < LARGE:
        return (M * (weight[:, None] * M - 2.0 * sums)).sum(axis=0)
    from .._kernels.centres import dispersion

    out = np.empty(M.shape[1])
    spread(lambda a, b: dispersion(weight, M, sums, a, b, out), M.shape[1], 2048)
    return out


def _squared_shifts(M: FloatArray, moved: FloatArray, theta: FloatArray) -> FloatArray:
    """Return Σ θ (μ' − μ)² of every cluster; by compiled code where the table is large."""
    if M.size < LARGE:
        return np.asarray(np.einsum("hm,m->h", (moved - M) ** 2, theta))
    from .._kernels.centres import shifts

    out = np.empty(len(M))
    spread(lambda a, b: shifts(M, moved, theta, a, b, out), len(M), LARGE // M.shape[1])
    return out


def weighted_means(sums: FloatArray, weight: FloatArray, old: FloatArray) -> FloatArray:
    """Return Σ v x / Σ v for every cluster; an empty one keeps its centre (maths.md E1)."""
    filled = weight > 0
    if filled.all():
        M = np.empty_like(sums)
        least = max(1, LARGE // max(sums.shape[1], 1))
        spread(lambda a, b: np.divide(sums[a:b], weight[a:b, None], out=M[a:b]), len(M), least)
        return M
    M = old.copy()
    M[filled] = sums[filled] / weight[filled, None]
    return M


def _chunk(rows: Rows) -> int:
    """Pairs at a time: about 32 MB of differences."""
    return max(256, 4_000_000 // max(rows.shape[1], 1))


def _shifted(rows: Rows, mean: FloatArray) -> Rows:
    from .._rows import DenseRows

    return DenseRows(rows.dense() - mean)

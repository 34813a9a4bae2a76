"""φmax(θ): a bound on the pair penalty that is part of the objective (maths.md 2.2).

A bound that is linear in θ keeps the metric step in closed form. The others are right as well, but
their metric step goes through the safe step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._rows import Rows, pieces
from .metrics import Metric

__all__ = ["Bound", "Constant", "Diameter", "Linear", "Mass", "Radius", "lowner"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Bound(ABC):
    """φmax as a function of θ, with its derivative."""

    linear: ClassVar[bool] = False

    @abstractmethod
    def value(self, metric: Metric) -> Any:
        """Return φmax(θ): a number, or (K,) with one metric a cluster."""

    @abstractmethod
    def gradient(self, metric: Metric) -> FloatArray:
        """Return ∂φmax/∂θ of one metric: of the shape of a single A or a."""


@dataclass(frozen=True)
class Constant(Bound):
    """A number, the user's or a property of the measure.

    Not linear: under a learned metric φ may outgrow the user's number, and the cost ends at 0.
    """

    constant: float

    def value(self, metric: Metric) -> Any:
        if metric.per_cluster:
            return np.full(len(metric.theta), self.constant)
        return self.constant

    def gradient(self, metric: Metric) -> FloatArray:
        return np.zeros(metric.theta.shape[int(metric.per_cluster) :])


@dataclass(frozen=True)
class Linear(Bound):
    """⟨θ, G⟩: the box of the data (diagonal θ) or a Löwner matrix (full θ)."""

    G: FloatArray
    linear = True

    def value(self, metric: Metric) -> Any:
        return metric.inner_each(self.G)

    def gradient(self, metric: Metric) -> FloatArray:
        return self.G


@dataclass(frozen=True)
class Mass(Bound):
    """ln 2 · (σ₍₁₎ + σ₍₂₎), the two largest σ_i = Σ_m a_m x_im: for the I-divergence."""

    rows: Rows

    def _largest(self, metric: Metric) -> NDArray[np.int64]:
        mass = self.rows.dot(metric.theta[None, :])[:, 0]
        k = min(2, len(mass))
        return np.argpartition(-mass, k - 1)[:k]

    def value(self, metric: Metric) -> Any:
        top = self.rows.take(self._largest(metric)).dot(metric.theta[None, :])
        return float(np.log(2.0) * top.sum())

    def gradient(self, metric: Metric) -> FloatArray:
        return np.log(2.0) * self.rows.take(self._largest(metric)).dense().sum(axis=0)


@dataclass(frozen=True)
class Radius(Bound):
    """4 max_i ‖x_i − x̄‖²_A: tighter than the Löwner bound, but not smooth in A."""

    rows: Rows
    metric_of_one: Callable[[FloatArray], Metric]

    def _each(self, metric: Metric) -> list[Metric]:
        return [self.metric_of_one(t) for t in metric.theta] if metric.per_cluster else [metric]

    def value(self, metric: Metric) -> Any:
        values = [4.0 * float(one.norms(self.rows).max()) for one in self._each(metric)]
        return np.array(values) if metric.per_cluster else values[0]

    def gradient(self, metric: Metric) -> FloatArray:
        if metric.per_cluster:
            raise ValueError("bound='radius' is for one shared metric; take 'lowner' or 'box'")
        far = [int(metric.norms(self.rows).argmax())]
        return 4.0 * metric.scatter(self.rows.take(far), np.ones(1))


@dataclass(frozen=True)
class Diameter(Bound):
    """The exact maximum over all pairs of rows: O(N²), for small data."""

    rows: Rows
    pair: Callable[[Rows, Any, Any, Metric], FloatArray]
    pair_gradient: Callable[[Rows, Any, Any, FloatArray, Metric], FloatArray]
    max_rows: ClassVar[int] = 5_000

    def _farthest(self, metric: Metric) -> tuple[float, int, int]:
        n = len(self.rows)
        if n > self.max_rows:
            raise ValueError(
                f"bound='diameter' compares all pairs of {n:,} rows; above {self.max_rows:,} rows "
                "take another bound or give a number"
            )
        best = (-np.inf, 0, 0)
        for piece in pieces(n, max(1, 1_000_000 // max(n, 1))):
            i, j = (
                a.ravel() for a in np.meshgrid(np.arange(n)[piece], np.arange(n), indexing="ij")
            )
            value = self.pair(self.rows, i, j, metric)
            k = int(value.argmax())
            if value[k] > best[0]:
                best = (float(value[k]), int(i[k]), int(j[k]))
        return best

    def value(self, metric: Metric) -> Any:
        _shared(metric)
        return self._farthest(metric)[0]

    def gradient(self, metric: Metric) -> FloatArray:
        _shared(metric)
        _, i, j = self._farthest(metric)
        return self.pair_gradient(self.rows, np.array([i]), np.array([j]), np.ones(1), metric)


def _shared(metric: Metric) -> None:
    if metric.per_cluster:
        raise ValueError("bound='diameter' is for one shared metric; take 'lowner' or 'box'")


def lowner(rows: Rows) -> FloatArray:
    """Return G = 4R²Σ with zzᵀ ≼ G for every difference z of two rows.

    Σ is the covariance with a small ridge, R² = max_i (x_i − x̄)ᵀ Σ⁻¹ (x_i − x̄); for any Σ ≻ 0
    zᵀΣ⁻¹z ≤ 4R² and hence zzᵀ ≼ 4R²Σ. Works on the rows as they are, sparse ones included.
    """
    n, d = rows.shape
    mean = rows.sums(np.full((1, n), 1.0 / n))[0]
    blocks = list(pieces(n, max(1, 4_000_000 // max(d, 1))))

    def centred(block: slice) -> FloatArray:  # first centred, then multiplied: nothing cancels
        return np.asarray(rows.take(block).dense() - mean)

    covariance = sum((centred(b).T @ centred(b) for b in blocks), np.zeros((d, d))) / n
    ridge = 1e-9 * np.trace(covariance) / d
    covariance += (ridge if ridge > 0 else 1.0) * np.eye(d)
    inverse = np.linalg.inv(covariance)
    inverse = (inverse + inverse.T) / 2
    radius = max(float(((centred(b) @ inverse) * centred(b)).sum(axis=1).max()) for b in blocks)
    return np.asarray(4.0 * radius * (1.0 + 1e-6) * covariance)  # the slack covers rounding

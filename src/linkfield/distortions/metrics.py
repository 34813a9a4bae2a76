"""The learned part of a distance: metric parameters θ (maths.md 0, "A" and "a").

Each class is one shape of θ: a weight a feature, a positive definite matrix, or one of either for
every cluster. All speak of squared Mahalanobis lengths ‖x‖²_A; other measures use the weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._rows import DenseRows, Rows, pieces

__all__ = [
    "METRICS",
    "Diagonal",
    "DiagonalPerCluster",
    "Full",
    "FullPerCluster",
    "Identity",
    "Metric",
    "start_metric",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Metric(ABC):
    """Metric parameters θ, positive or positive definite."""

    theta: FloatArray
    kind: ClassVar[str]
    learned: ClassVar[bool] = True
    per_cluster: ClassVar[bool] = False
    full: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def start(cls, n_features: int, n_clusters: int) -> Self:
        """Return the metric that is the plain squared Euclidean distance."""

    @abstractmethod
    def norms(self, rows: Rows) -> NDArray[Any]:
        """Return ‖x‖²_A: (n,) if the metric is shared, (n, K) if there is one a cluster."""

    @abstractmethod
    def apply(self, M: FloatArray) -> FloatArray:
        """Return A μ_h (A_h μ_h) for every row μ_h of M."""

    @abstractmethod
    def logdet(self) -> Any:
        """Return log det A: a number, or (K,)."""

    @abstractmethod
    def scatter(self, rows: Rows, c: FloatArray) -> FloatArray:
        """Return ∂/∂θ Σ_i c_i ‖x_i‖²_A; c is (n,), or (n, K) if there is one metric a cluster."""

    @abstractmethod
    def embedded(self, rows: Rows) -> list[Rows]:
        """Return rows z with zᵀz' = ⟨x, x'⟩_A, one set for each metric."""

    def single(self) -> Metric:
        """Return the metric itself, or the first cluster's where each has its own."""
        if not self.per_cluster:
            return self
        return (Full if self.full else Diagonal)(self.theta[0])

    def inner(self, S: FloatArray) -> float:
        """Return ⟨θ, S⟩ for S of θ's shape."""
        return float((self.theta * S).sum())

    def inner_each(self, G: FloatArray) -> Any:
        """Return ⟨A, G⟩ for one G: a number, or (K,)."""
        if not self.per_cluster:
            return self.inner(G)
        return np.sum(self.theta * G, axis=tuple(range(1, self.theta.ndim)))

    def toward(self, other: Metric, step: float) -> Self:
        """Return (1 − step)·θ + step·θ'; positive whenever both ends are."""
        return type(self)((1.0 - step) * self.theta + step * other.theta)


class _OneDiagonal(Metric):
    """Shared weights a, one a feature."""

    @classmethod
    def start(cls, n_features: int, n_clusters: int) -> Self:
        return cls(np.ones(n_features))

    def norms(self, rows: Rows) -> NDArray[Any]:
        return rows.lengths(self.theta)

    def apply(self, M: FloatArray) -> FloatArray:
        return np.asarray(M * self.theta)

    def logdet(self) -> Any:
        return float(np.log(self.theta).sum())

    def scatter(self, rows: Rows, c: FloatArray) -> FloatArray:
        return rows.square_sums(c[None, :])[0]

    def embedded(self, rows: Rows) -> list[Rows]:
        return [rows.scaled(None, np.sqrt(self.theta))]


class Identity(_OneDiagonal):
    """The plain measure: all weights 1, nothing learned."""

    kind = "identity"
    learned = False

    def logdet(self) -> Any:
        return 0.0


class Diagonal(_OneDiagonal):
    """One learned weight a feature, shared by all clusters."""

    kind = "diagonal"


class Full(Metric):
    """One learned positive definite matrix, shared by all clusters."""

    kind = "full"
    full = True

    @classmethod
    def start(cls, n_features: int, n_clusters: int) -> Self:
        return cls(np.eye(n_features))

    def norms(self, rows: Rows) -> NDArray[Any]:
        return rows.quadratic(self.theta)

    def apply(self, M: FloatArray) -> FloatArray:
        return np.asarray(M @ self.theta)

    def logdet(self) -> Any:
        return _logdet(self.theta)

    def scatter(self, rows: Rows, c: FloatArray) -> FloatArray:
        return rows.outer(c)

    def embedded(self, rows: Rows) -> list[Rows]:
        return [DenseRows(rows.dot(_root(self.theta)))]


class DiagonalPerCluster(Metric):
    """One learned weight a feature for every cluster (Bilenko, Basu & Mooney 2004)."""

    kind = "diagonal-per-cluster"
    per_cluster = True

    @classmethod
    def start(cls, n_features: int, n_clusters: int) -> Self:
        return cls(np.ones((n_clusters, n_features)))

    def norms(self, rows: Rows) -> NDArray[Any]:
        return rows.square_dot(self.theta)

    def apply(self, M: FloatArray) -> FloatArray:
        return np.asarray(M * self.theta)

    def logdet(self) -> Any:
        return np.log(self.theta).sum(axis=1)

    def scatter(self, rows: Rows, c: FloatArray) -> FloatArray:
        return rows.square_sums(c.T)

    def embedded(self, rows: Rows) -> list[Rows]:
        return [rows.scaled(None, np.sqrt(a)) for a in self.theta]


class FullPerCluster(Metric):
    """One learned positive definite matrix for every cluster."""

    kind = "full-per-cluster"
    per_cluster = True
    full = True

    @classmethod
    def start(cls, n_features: int, n_clusters: int) -> Self:
        return cls(np.tile(np.eye(n_features), (n_clusters, 1, 1)))

    def norms(self, rows: Rows) -> NDArray[Any]:
        out = np.empty((len(rows), len(self.theta)), dtype=rows.dtype)
        for piece in pieces(len(rows), 4096):
            part = rows.take(piece)
            for h, A in enumerate(self.theta):
                out[piece, h] = part.quadratic(A)
        return out

    def apply(self, M: FloatArray) -> FloatArray:
        return np.einsum("hij,hj->hi", self.theta, M)

    def logdet(self) -> Any:
        return np.array([_logdet(A) for A in self.theta])

    def scatter(self, rows: Rows, c: FloatArray) -> FloatArray:
        return np.stack([rows.outer(column) for column in c.T])

    def embedded(self, rows: Rows) -> list[Rows]:
        return [DenseRows(rows.dot(_root(A))) for A in self.theta]


METRICS: dict[str, type[Metric]] = {
    m.kind: m for m in (Identity, Diagonal, Full, DiagonalPerCluster, FullPerCluster)
}


def start_metric(kind: str, n_features: int, n_clusters: int) -> Metric:
    """Return the starting metric of a kind."""
    if kind not in METRICS:
        raise ValueError(f"metric must be one of {sorted(METRICS)}, got {kind!r}")
    return METRICS[kind].start(n_features, n_clusters)


def _logdet(A: FloatArray) -> float:
    sign, value = np.linalg.slogdet(A)
    return float(value) if sign > 0 else -np.inf


def _root(A: FloatArray) -> FloatArray:
    """Return W with Wᵀ W = A, so that z = W x has zᵀz' = xᵀAx'."""
    return np.asarray(np.linalg.cholesky(A).T)

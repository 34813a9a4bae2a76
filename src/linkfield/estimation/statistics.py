"""Additive statistics of a block of rows: all that the M-step needs to know of the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._rows import Rows
from ..distortions import Distortion, Metric

__all__ = ["Statistics", "summarize"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Statistics:
    """Sums over the rows of every cluster; two blocks' statistics add up.

    Attributes
    ----------
    count : float array (K,)
        Number of rows that count, i.e. have a positive weight.
    weight : float array (K,)
        Σ v.
    sums : float array (K, d)
        Σ v φ̃(x).
    moment : float array or None
        Σ v xxᵀ or Σ v x∘x of every cluster, where there is one metric a cluster.
    """

    count: FloatArray
    weight: FloatArray
    sums: FloatArray
    moment: FloatArray | None = None
    known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was worked out from these sums; forgotten when they change."""

    @classmethod
    def zero(cls, n_clusters: int, n_features: int, metric: Metric | None = None) -> Statistics:
        """Return the statistics of no rows."""
        moment = np.zeros_like(metric.theta) if metric is not None and metric.per_cluster else None
        one = np.zeros(n_clusters)
        return cls(one, one.copy(), np.zeros((n_clusters, n_features)), moment)

    @property
    def in_place(self) -> Any:
        """The arrays, for compiled passes that add to them."""
        from .._kernels.layout import Sums

        self.known.clear()
        return Sums(self.count, self.weight, self.sums)

    def copy(self) -> Statistics:
        """Return a copy that later passes do not add to."""
        moment = None if self.moment is None else self.moment.copy()
        return Statistics(self.count.copy(), self.weight.copy(), self.sums.copy(), moment)

    def take_in(self, other: Statistics) -> None:
        """Add other rows to these, in place (one moment a cluster is not kept this way)."""
        self.known.clear()
        self.count[:] += other.count
        self.weight[:] += other.weight
        self.sums[:] += other.sums

    def clear_empty(self) -> None:
        """Set the sums of empty clusters to 0: rows that came and went leave rounding behind.

        A centre made of that rounding would be anywhere.
        """
        empty = self.count == 0
        if empty.any() and (self.weight[empty].any() or self.sums[empty].any()):
            self.known.clear()
            self.weight[empty] = 0.0
            self.sums[empty] = 0.0

    def __add__(self, other: Statistics) -> Statistics:
        moment = self.moment
        if moment is not None and other.moment is not None:
            moment = moment + other.moment
        return Statistics(
            self.count + other.count, self.weight + other.weight, self.sums + other.sums, moment
        )


def summarize(
    distortion: Distortion,
    rows: Rows,
    weight: FloatArray,
    labels: IntArray,
    metric: Metric,
    n_clusters: int,
    chosen: NDArray[np.bool_] | None = None,
) -> Statistics:
    """Return the statistics of rows under a labelling; only ``chosen`` rows if that is given."""
    n, K = len(rows), n_clusters
    one = np.ones(n) if chosen is None else chosen.astype(np.float64)
    v = weight * one
    scale = distortion.row_scale(rows, metric)
    factor = v if scale is None else v * scale
    member = sparse.csr_array((factor, (labels, np.arange(n))), shape=(K, n))
    moment = None
    if metric.per_cluster:
        by_cluster = np.zeros((n, K))
        by_cluster[np.arange(n), labels] = v
        moment = metric.scatter(rows, by_cluster)
    return Statistics(
        np.asarray(np.bincount(labels, weights=v > 0, minlength=K), np.float64),
        np.asarray(np.bincount(labels, weights=v, minlength=K), np.float64),
        rows.sums(member),
        moment,
    )

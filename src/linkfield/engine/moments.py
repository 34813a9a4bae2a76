"""First and second moments of the rows, and their range: one pass, known before a fit begins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._rows import CSRRows, Rows
from ..distortions import Distortion, Metric

__all__ = ["Moments"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Σ v φ̃(x), Σ v φ̃(x)², and the least and the greatest value, feature by feature."""

    first: FloatArray
    second: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def zero(cls, d: int) -> Moments:
        """Return the moments of no rows."""
        return cls(np.zeros(d), np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf))

    @classmethod
    def plain(
        cls, rows: Rows, weight: FloatArray, distortion: Distortion, metric: Metric
    ) -> Moments:
        """Return the moments of rows that have no compiled passes."""
        scale = distortion.row_scale(rows, metric)
        factor = np.ones(len(rows)) if scale is None else np.asarray(scale, np.float64)
        first = rows.sums((weight * factor)[None, :])[0]
        second = rows.square_sums((weight * factor**2)[None, :])[0]
        return cls(first, second, *rows.range())

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.first + other.first,
            self.second + other.second,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def with_zeros(self, rows: Rows) -> Moments:
        """Return the moments with the zeros that a sparse matrix does not store in the range."""
        if not isinstance(rows, CSRRows):
            return self
        stored = np.bincount(rows.X.indices, minlength=rows.shape[1])
        some = stored < len(rows)
        low, high = (
            np.where(some, np.minimum(self.low, 0), self.low),
            np.where(some, np.maximum(self.high, 0), self.high),
        )
        return replace(self, low=low, high=high)

    @property
    def reach(self) -> FloatArray:
        """The greatest distance of any row from zero, feature by feature."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def mean_variance(self, total: float) -> float:
        """Return the mean over features of the variance of φ̃(x)."""
        mean, square = self.first / total, self.second / total
        return float(np.maximum(square - mean**2, 0.0).mean())

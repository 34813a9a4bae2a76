"""The units that a mixture is fitted in, and parameters that the user gave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows import DenseRows, pieces
from ..estimation.gaussians import Gaussians

__all__ = ["Given", "Units"]

FloatArray = NDArray[np.float64]

#: Rows that are read at once.
PIECE = 65_536


@dataclass(frozen=True)
class Units:
    """x = (row − offset)·scale is centred and of order one, so that products keep their digits.

    Scales are powers of two: they round nothing.
    """

    offset: FloatArray
    scale: FloatArray
    variance: FloatArray
    """Of the rows as they are."""

    @classmethod
    def of(cls, X: NDArray[Any], isotropic: bool) -> Units:
        """Return the units of data; one scale for all features if ``isotropic``."""
        n, d = X.shape
        total = np.zeros(d)
        for piece in pieces(n, PIECE):
            total += X[piece].sum(axis=0, dtype=np.float64)
        offset = (total / n).astype(X.dtype).astype(np.float64)
        square, rest = np.zeros(d), np.zeros(d)
        for piece in pieces(n, PIECE):
            Y = X[piece].astype(np.float64) - offset
            rest += Y.sum(axis=0)
            square += np.einsum("nd,nd->d", Y, Y)
        variance = np.maximum(square / n - (rest / n) ** 2, 0.0)
        size = np.full(d, variance.mean()) if isotropic else variance
        good = np.isfinite(size) & (size > 0)
        power = np.round(0.5 * np.log2(np.where(good, size, 1.0)))
        return cls(offset, np.exp2(-power), variance)

    @property
    def log_volume(self) -> float:
        """What a log density in these units has too little."""
        return float(np.log(self.scale).sum())

    def inward(self, gaussians: Gaussians) -> Gaussians:
        """Return components of the data in these units."""
        return gaussians.rescaled(self.scale, -self.offset * self.scale)

    def outward(self, gaussians: Gaussians) -> Gaussians:
        """Return components in these units in those of the data."""
        return gaussians.rescaled(1.0 / self.scale, self.offset)

    def rows(self, X: NDArray[Any]) -> DenseRows:
        """Return the rows, centred where they are used."""
        return DenseRows(X, self.offset.astype(X.dtype))


@dataclass(frozen=True)
class Given:
    """Parameters to start from that the user gave, in the units of the data."""

    weights: Any = None
    means: Any = None
    precisions: Any = None

    @property
    def complete(self) -> bool:
        """Whether nothing is left to find."""
        return self.weights is not None and self.means is not None and self.precisions is not None

    def completed(
        self, found: Gaussians | None, kind: type[Gaussians], K: int, d: int, units: Units
    ) -> Gaussians:
        """Return what was given, in the inner units, and the rest from ``found``."""
        parts = self._checked(kind, K, d, units)
        if found is None:
            return kind(parts["weights"], parts["means"], parts["covariances"])
        return replace(found, **parts)

    def _checked(
        self, kind: type[Gaussians], K: int, d: int, units: Units
    ) -> dict[str, FloatArray]:
        """Return what was given, checked, in the inner units."""
        found: dict[str, FloatArray] = {}
        if self.weights is not None:
            weights = np.asarray(self.weights, dtype=np.float64)
            fits = weights.shape == (K,) and np.isfinite(weights).all()
            if not fits or (weights < 0).any() or abs(weights.sum() - 1.0) > 1e-6:
                raise ValueError(
                    f"weights_init must be {K} numbers of at least 0 that add up to 1, got "
                    f"{self.weights!r}"
                )
            found["weights"] = weights / weights.sum()
        if self.means is not None:
            means = np.asarray(self.means, dtype=np.float64)
            if means.shape != (K, d) or not np.isfinite(means).all():
                raise ValueError(
                    f"means_init must have the shape (n_components, n_features) = ({K}, {d}) and "
                    f"no NaN; got shape {means.shape}"
                )
            found["means"] = (means - units.offset) * units.scale
        if self.precisions is not None:
            C = kind.covariances_of(self.precisions, K, d)
            plain = kind(np.ones(K) / K, np.zeros((K, d)), C)
            found["covariances"] = units.inward(plain).covariances
        return found

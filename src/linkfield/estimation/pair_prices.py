"""What it costs to break pairs under a metric, whatever the labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows import Rows
from ..constraints import Ties
from ..distortions import (
    Distortion,
    HMRFPenalty,
    Metric,
    MPC2003Penalty,
    Penalty,
    SquaredEuclidean,
)
from ..distortions.bounds import Bound
from .gaps import square_gaps

__all__ = ["PairPrices"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass
class PairPrices:
    """The price w f(θ) of every explicit pair; what was worked out for a metric is kept.

    Parameters
    ----------
    ties : Ties
    data : Rows
        All rows, tied or not.
    distortion, penalty : Distortion, Penalty
    bound : Bound or None
        φmax, where the penalty uses it.
    alpha : float or None
        α_max of the 2003 penalty if it is fixed.
    """

    ties: Ties
    data: Rows
    distortion: Distortion
    penalty: Penalty
    bound: Bound | None = None
    alpha: float | None = None
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def linear(self) -> bool:
        """Whether the pair part is linear in θ while labels stay."""
        if not self.penalty.metric_dependent:
            return True
        bounded = self.penalty.bounded and self.bound is not None and self.bound.linear
        return bounded and self.distortion.bregman

    def _of(self, metric: Metric) -> dict[str, Any]:
        """Return what was computed for this very metric (metrics are immutable)."""
        if self._cache.get("metric") is not metric:
            self._cache = {"metric": metric}
        return self._cache

    def phi(self, metric: Metric) -> FloatArray:
        """Return φ of every explicit pair."""
        cache = self._of(metric)
        if "phi" not in cache:
            everyone = slice(None)
            if self.penalty.metric_dependent:
                cache["phi"] = self.distortion.pair(self.data, *self._ends(everyone), metric)
            else:
                cache["phi"] = np.zeros(len(self.ties.pairs))
        return np.asarray(cache["phi"])

    def some_phi(self, pairs: NDArray[Any], metric: Metric) -> FloatArray:
        """Return φ of some explicit pairs, at the price of those pairs."""
        cache = self._of(metric)
        if "phi" in cache:
            return np.asarray(cache["phi"][pairs])
        if not self.penalty.metric_dependent:
            return np.zeros(len(pairs))
        return self.distortion.pair(self.data, *self._ends(pairs), metric)

    def top(self, metric: Metric) -> Any:
        """Return φmax(θ), or α_max(θ)."""
        cache = self._of(metric)
        if "top" not in cache:
            if self.bound is not None:
                cache["top"] = self.bound.value(metric)
            elif isinstance(self.penalty, MPC2003Penalty):
                cache["top"] = self.alpha if self.alpha is not None else self.largest(metric)[0]
            else:
                cache["top"] = 0.0
        return cache["top"]

    def largest(self, metric: Metric) -> tuple[float, int]:
        """Return the largest φ among the must-links (all pairs if there are none), and where."""
        phi, among = self.phi(metric), self.ties.must
        if not among.any():
            among = np.ones(len(phi), dtype=bool)
        if len(phi) == 0:
            return 0.0, -1
        at = int(np.argmax(np.where(among, phi, -np.inf)))
        return float(phi[at]), at

    def prices(self, metric: Metric) -> FloatArray:
        """Return what it costs to break every explicit pair."""
        cache = self._of(metric)
        if "prices" not in cache:
            cache["prices"] = self._priced(self.phi(metric), metric, slice(None))
        return np.asarray(cache["prices"])

    def some_prices(self, pairs: NDArray[Any], metric: Metric) -> FloatArray:
        """Return what it costs to break some explicit pairs, at the price of those pairs."""
        cache = self._of(metric)
        if "prices" in cache:
            return np.asarray(cache["prices"][pairs])
        return self._priced(self.some_phi(pairs, metric), metric, pairs)

    def _priced(self, phi: FloatArray, metric: Metric, pairs: Any) -> FloatArray:
        top, must, weight = self.top(metric), self.ties.must[pairs], self.ties.weight[pairs]
        if phi.ndim == 2:
            must, weight = must[:, None], weight[:, None]
        price = np.where(must, self.penalty.must(phi, top), self.penalty.cannot(phi, top))
        if self._hard:
            price = np.where(np.isinf(weight), 1.0, price)  # 0 · inf is not a number
        return np.asarray(weight * price)

    @cached_property
    def _hard(self) -> bool:
        return bool(np.isinf(self.ties.weight).any())

    def weighs_squares(self, metric: Metric) -> bool:
        """Whether φ(x, y) = Σ a (x − y)² is what a broken must-link costs."""
        squares = type(self.distortion) is SquaredEuclidean and metric.theta.ndim == 1
        return squares and type(self.penalty) is HMRFPenalty

    def gaps(self, metric: Metric, pairs: NDArray[Any]) -> FloatArray:
        """Return what some pairs cost where their ends agree, less what they cost otherwise."""
        rows = self.data.compiled
        if (
            self.weighs_squares(metric)
            and rows is not None
            and not rows.transposed
            and not self._hard
        ):
            top = float(self.top(metric))
            return square_gaps(rows, self._all_ends, self.ties, pairs, metric, top)
        price = self.some_prices(pairs, metric)
        return np.where(self.ties.must[pairs], -price, price)

    def drift(self, old: Metric, new: Metric) -> tuple[float, float] | None:
        """Return between which multiples all gaps change from one metric to another.

        A price that is Σ_m a_m c_m with c_m ≥ 0, as Σ a (x − y)² and what the box of the data has
        left above it, changes by no other factors than the weights a do. None if nothing is known.
        """
        if old is new or not self.penalty.metric_dependent:
            return 1.0, 1.0
        if not self.linear or new.full or (old.theta <= 0).any():
            return None
        ratio = new.theta / old.theta
        return float(ratio.min()), float(ratio.max())

    def costs(self, metric: Metric) -> tuple[FloatArray, FloatArray]:
        """Return what every explicit pair costs where its ends agree, and where they differ."""
        cache = self._of(metric)
        if "costs" not in cache:
            price = self.prices(metric)
            must = self.ties.must if price.ndim == 1 else self.ties.must[:, None]
            cache["costs"] = np.where(must, 0.0, price), np.where(must, price, 0.0)
        return cache["costs"][0], cache["costs"][1]

    def _ends(self, pairs: Any) -> tuple[IntArray, IntArray]:
        """Return between which rows of all data some explicit pairs are."""
        left, right = self._all_ends
        return left[pairs], right[pairs]

    @cached_property
    def _all_ends(self) -> tuple[IntArray, IntArray]:
        left, right = self.ties.pairs.T
        return self.ties.rows[left], self.ties.rows[right]

"""The objective J(L, M, θ) of maths.md 0.1, from statistics and tied labels alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..distortions import Distortion, Metric, Smoothing
from .pair_terms import PairTerms
from .priors import Regulariser
from .statistics import Statistics

__all__ = ["Model", "Objective"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """What the M-step estimates: centres, metric, and the current strength of smoothing."""

    centres: FloatArray
    metric: Metric
    smoothing: float = 0.0

    def with_(self, **changes: Any) -> Model:
        """Return the model with some parts replaced."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Objective:
    """J = Σ v D + smoothing + pairs + R(θ), and the derivatives that the M-step needs.

    Attributes
    ----------
    distortion : Distortion
    moment : float array
        Σ v F(x) (or Σ v xxᵀ) over all rows: constant, unless there is one metric a cluster.
    smoothing : Smoothing or None
    pairs : PairTerms or None
    regulariser : Regulariser
    """

    distortion: Distortion
    moment: FloatArray
    smoothing: Smoothing | None
    pairs: PairTerms | None
    regulariser: Regulariser
    _last: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def _moment(self, stats: Statistics) -> FloatArray:
        return self.moment if stats.moment is None else stats.moment

    def data(self, stats: Statistics, model: Model) -> float:
        """Return Σ v D(x_i, μ_{l_i}) = Σ v f + Σ_h [n_h g(μ_h) − ⟨s_h, ψ(μ_h)⟩]."""
        S = self._dispersion(stats, model)
        if S is not None:
            return model.metric.inner(S)
        g, psi = self.distortion.centre_terms(model.centres, model.metric)
        moment = float(self._moment(stats).sum())
        return moment + float(stats.weight @ g) - float((stats.sums * psi).sum())

    def _dispersion(self, stats: Statistics, model: Model) -> FloatArray | None:
        """Return S with ⟨θ, S⟩ = Σ v D, where D is linear in θ."""
        dispersion = getattr(self.distortion, "dispersion", None)
        if dispersion is None:
            return None
        # Free of θ, and asked for several times an iteration.
        if stats.known.get("centres") is not model.centres:
            S = dispersion(
                self._moment(stats), stats.sums, stats.weight, model.centres, model.metric
            )
            stats.known.update(centres=model.centres, dispersion=S)
        return np.asarray(stats.known["dispersion"])

    def _smoothing_dispersion(self, stats: Statistics, model: Model) -> FloatArray | None:
        """Return S with ⟨θ, S⟩ = ζ Σ_i v_i D(u₀, μ_{l_i}) (maths.md E2)."""
        if self.smoothing is None or model.smoothing == 0.0:
            return None
        prior = self.smoothing.prior
        D: Any = self.distortion
        moment = stats.weight.sum() * D.F1(prior)
        sums = stats.weight[:, None] * prior
        S: FloatArray = D.dispersion(moment, sums, stats.weight, model.centres, model.metric)
        return model.smoothing * S

    def label_offsets(self, model: Model) -> FloatArray:
        """Return what every label costs whatever the row: ζD(u₀, μ_h) − κ log det A_h."""
        M, metric = model.centres, model.metric
        offsets = np.zeros(len(M))
        if self.smoothing is not None and model.smoothing > 0.0:
            prior = self.distortion.rows(self.smoothing.prior[None, :])
            offsets += model.smoothing * self.distortion.table(prior, M, metric)[0]
        if metric.per_cluster:
            offsets -= self.regulariser.logdet_weight * metric.logdet()
        return offsets

    def fixed_labels(self, stats: Statistics, model: Model, tied_labels: NDArray[Any]) -> float:
        """Return J; ``tied_labels`` may be (n, K) probabilities, with statistics to match."""
        total = self.data(stats, model) + self.regularised(model.metric, stats.weight)
        S = self._smoothing_dispersion(stats, model)
        if S is not None:
            total += model.metric.inner(S)
        if self.pairs is not None:
            total += self.pairs.energy(tied_labels, model.metric)
        return total

    def regularised(self, metric: Metric, weight: FloatArray) -> float:
        """Return R(θ), kept while a shared metric stays (its factor is the weight of all rows)."""
        if metric.per_cluster:
            return self.regulariser.value(metric, weight)
        if self._last.get("metric") is not metric:
            self._last.update(metric=metric, value=self.regulariser.value(metric, weight))
        return float(self._last["value"])

    def centres(self, stats: Statistics, model: Model) -> FloatArray:
        """Return the minimising centres (E1), drawn to the prior vector by ζ (E2)."""
        sums, weight = stats.sums, stats.weight
        if self.smoothing is not None and model.smoothing > 0.0:
            sums = sums + model.smoothing * weight[:, None] * self.smoothing.prior
            weight = weight * (1.0 + model.smoothing)
        return self.distortion.centres(sums, weight, model.centres, model.metric)

    def linear_gradient(
        self, stats: Statistics, model: Model, tied_labels: NDArray[Any]
    ) -> FloatArray:
        """Return ∂/∂θ of J without R, for measures that are linear in θ."""
        S = self._dispersion(stats, model)
        assert S is not None
        smooth = self._smoothing_dispersion(stats, model)
        if smooth is not None:
            S = S + smooth
        if self.pairs is not None:
            S = S + self.pairs.gradient(tied_labels, model.metric)
        return S

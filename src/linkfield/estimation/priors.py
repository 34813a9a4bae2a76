"""Regularisers R(θ): what keeps a learned metric from degenerating (maths.md 2.4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._params import Parameters
from ..distortions import Metric

__all__ = ["MetricPrior", "NoPrior", "Rayleigh", "Regulariser", "Wishart", "as_prior"]

FloatArray = NDArray[np.float64]

#: How strongly the prior holds a directional weight, as a part of what the feature weighs itself.
DIRECTIONAL_SHARE = 0.4


@dataclass
class MetricPrior(Parameters, ABC):
    """A prior on the metric, as the user names it."""

    name: ClassVar[str]

    @abstractmethod
    def strength_for(self, metric: Metric, total_weight: float) -> float:
        """Return ν₀."""

    def feature_strengths(self, mass: FloatArray) -> FloatArray | None:
        """Return ν_m for a directional measure from the features' shares, None for no prior."""
        return None

    def rayleigh_scale(self) -> float | None:
        """Return s of the Rayleigh density, None where there is none."""
        return None


@dataclass
class NoPrior(MetricPrior):
    """No prior: only the log determinant of the model keeps θ in place."""

    name = "none"

    def strength_for(self, metric: Metric, total_weight: float) -> float:
        return 0.0


@dataclass
class Wishart(MetricPrior):
    """ν₀ (⟨A, Σ₀⟩ − log det A), Σ₀ the dispersion of the data around its centre.

    For a directional measure it is Σ_m ν_m (a_m − ln a_m), which draws every weight to 1. A prior
    is needed there too: a weight vector that leaves one feature which is positive in all rows
    makes every cosine 1, and the objective 0.

    Parameters
    ----------
    strength : float or None, default=None
        ν₀. None means 1e-3 of the data's weight for a shared metric and d + 1 for one a cluster;
        for a directional measure, with s_m = Σ_i v_i x̂_im² the feature's share of all rows of
        length 1, ν_m is the greater of the mean share and 0.4 s_m.
    ridge : float, default=1e-6
        Share of the mean dispersion that is added to every feature of Σ₀; it makes Σ₀ regular
        when columns are constant.
    """

    strength: float | None = None
    ridge: float = 1e-6

    name = "wishart"

    def strength_for(self, metric: Metric, total_weight: float) -> float:
        if self.strength is not None:
            if not self.strength >= 0:
                raise ValueError(f"Wishart strength must be 0 or more, got {self.strength!r}")
            return float(self.strength)
        return metric.theta.shape[-1] + 1.0 if metric.per_cluster else 1e-3 * total_weight

    def feature_strengths(self, mass: FloatArray) -> FloatArray:
        if self.strength is not None:
            return np.full(len(mass), float(self.strength))
        return np.maximum(mass.mean(), DIRECTIONAL_SHARE * mass)

    def scale(self, dispersion: FloatArray, metric: Metric, factor: float) -> FloatArray:
        """Return Σ₀ from the dispersion (weights' or matrix's shape) of a unit of weight.

        A constant feature has no dispersion; it gets the Σ₀ that gives it the weight of an
        average feature, 1/mean, where ``factor`` is (κW + ν₀)/ν₀.
        """
        mean = np.trace(dispersion) / len(dispersion) if metric.full else dispersion.mean()
        ridge = self.ridge * mean if mean > 0 else 1.0
        if metric.full:
            return dispersion + ridge * np.eye(len(dispersion))
        constant = dispersion <= 1e-12 * mean
        return np.where(constant, factor * (mean if mean > 0 else 1.0), dispersion + ridge)


@dataclass
class Rayleigh(MetricPrior):
    """Σ_m a_m²/(2s²) − ln a_m + ln s²: the proper density of Pritsos & Stamatatos' prior.

    Parameters
    ----------
    scale : float, default=1.0
        s, the most likely weight.
    """

    scale: float = 1.0

    name = "rayleigh"

    def strength_for(self, metric: Metric, total_weight: float) -> float:
        return 0.0

    def rayleigh_scale(self) -> float | None:
        if not self.scale > 0:
            raise ValueError(f"Rayleigh scale must be positive, got {self.scale!r}")
        return float(self.scale)


PRIORS: dict[str, type[MetricPrior]] = {p.name: p for p in (Wishart, Rayleigh, NoPrior)}


def as_prior(prior: str | MetricPrior | None) -> MetricPrior:
    """Return the prior of a name, or the object itself; None is no prior."""
    if prior is None:
        return NoPrior()
    if isinstance(prior, MetricPrior):
        return prior
    if prior not in PRIORS:
        raise ValueError(
            f"metric_prior must be 'wishart', 'rayleigh', None or an object from "
            f"linkfield.estimation; got {prior!r}"
        )
    return PRIORS[prior]()


@dataclass(frozen=True)
class Regulariser:
    """R(θ) = −κ Σ_i v_i log det A_{l_i} + ν₀ Σ (⟨A, Σ₀⟩ − log det A) + Rayleigh.

    Attributes
    ----------
    logdet_weight : float
        κ.
    strength : float
        ν₀.
    scale : float array or None
        Σ₀.
    rayleigh : float or None
        s.
    features : float array or None
        ν_m of a directional measure: + Σ_m ν_m (a_m − ln a_m).
    """

    logdet_weight: float = 0.0
    strength: float = 0.0
    scale: FloatArray | None = None
    rayleigh: float | None = None
    features: FloatArray | None = None

    @property
    def active(self) -> bool:
        """Whether R depends on the metric at all."""
        given = self.rayleigh is not None or self.features is not None
        return given or self.logdet_weight > 0 or self.strength > 0

    def linear_part(self, metric: Metric) -> FloatArray:
        """Return ν₀Σ₀, of θ's shape."""
        if self.scale is None:
            return np.zeros_like(metric.theta)
        part = self.strength * self.scale
        same = np.shape(part) == metric.theta.shape
        return np.asarray(part) if same else np.broadcast_to(part, metric.theta.shape)

    def logdet_factors(self, weight: FloatArray, metric: Metric) -> FloatArray:
        """Return the factor of −log det of every metric: κ Σ v + ν₀."""
        total = weight if metric.per_cluster else np.array([weight.sum()])
        return self.logdet_weight * total + self.strength

    def value(self, metric: Metric, weight: FloatArray) -> float:
        """Return R(θ) for the weights of the clusters."""
        if not metric.learned:
            return 0.0
        value = metric.inner(self.linear_part(metric))
        factors = self.logdet_factors(weight, metric)
        if factors.any():
            value -= float((factors * metric.logdet()).sum())
        if self.features is not None:
            value += float(np.sum(self.features * (metric.theta - np.log(metric.theta))))
        if self.rayleigh is not None:
            a, s2 = metric.theta, self.rayleigh**2
            value += float(np.sum(a * a / (2 * s2) - np.log(a) + np.log(s2)))
        return value

    def gradient(self, metric: Metric, weight: FloatArray) -> FloatArray:
        """Return R'(θ)."""
        factors = self.logdet_factors(weight, metric)
        inverse = np.linalg.inv(metric.theta) if metric.full else 1.0 / metric.theta
        shape = (-1,) + (1,) * (metric.theta.ndim - 1) if metric.per_cluster else ()
        slope = self.linear_part(metric) - factors.reshape(shape) * inverse
        if self.features is not None:
            slope = slope + self.features * (1.0 - 1.0 / metric.theta)
        if self.rayleigh is not None:
            slope = slope + metric.theta / self.rayleigh**2 - 1.0 / metric.theta
        return np.asarray(slope)

"""What Gaussian components of every kind have in common (maths.md 6)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .component_sums import ComponentSums, ScatterPrior

__all__ = ["LEAST_WEIGHT", "Gaussians"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A component of less weight than this keeps its place: its own rows no longer tell where it is.
EMPTY = 1e-12

#: Mixing weights are no smaller, so that their logarithms exist.
LEAST_WEIGHT = 1e-290


@dataclass(frozen=True)
class Gaussians(ABC):
    """The components π_j N(m_j, C_j) of a mixture.

    Attributes
    ----------
    weights : float array (K,)
        π.
    means : float array (K, d)
    covariances : float array
        In the shape that scikit-learn gives the kind.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    kind: ClassVar[str]
    #: Second-order features that the kind needs: all products, or the squares.
    features: ClassVar[str] = "diag"
    #: Whether all features must be measured by the same unit.
    isotropic: ClassVar[bool] = False

    # ------------------------------------------------------------ densities

    @property
    def log_weights(self) -> FloatArray:
        """Return log π."""
        return np.log(np.maximum(self.weights, LEAST_WEIGHT))

    @cached_property
    @abstractmethod
    def precision_factors(self) -> FloatArray:
        """The Cholesky factors of the precisions, as scikit-learn's ``precisions_cholesky_``."""

    @property
    @abstractmethod
    def precisions(self) -> FloatArray:
        """The precisions C⁻¹, in the shape of the covariances."""

    @property
    @abstractmethod
    def log_determinants(self) -> FloatArray:
        """Return log det C_j of every component."""

    @abstractmethod
    def _squared(self, difference: FloatArray, j: int) -> FloatArray:
        """Return ‖y‖² of rows y = x − m_j in the metric of component j."""

    def log_densities(self, X: FloatArray) -> FloatArray:
        """Return log q_j(x), (n, K), from the differences to the means."""
        K, d = self.means.shape
        squared = np.empty((len(X), K))
        for j in range(K):
            squared[:, j] = self._squared(X - self.means[j], j)
        return -0.5 * (squared + d * np.log(2.0 * np.pi) + self.log_determinants)

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log π_j q_j(x), (n, K)."""
        return self.log_densities(X) + self.log_weights

    def natural(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return constant (K,), linear (K, d) and quadratic of the log joint densities.

        log π_j q_j(x) = constant_j + ⟨linear_j, x⟩ + ⟨quadratic_j, features of x⟩, where the
        features are x_a x_b for a ≤ b, row by row, or x_a².
        """
        linear, quadratic = self._natural()
        d = self.means.shape[1]
        constant = self.log_weights - 0.5 * (
            d * np.log(2.0 * np.pi)
            + self.log_determinants
            + np.einsum("jd,jd->j", linear, self.means)
        )
        return constant, linear, quadratic

    @abstractmethod
    def _natural(self) -> tuple[FloatArray, FloatArray]:
        """Return the linear and the quadratic parameters."""

    # --------------------------------------------------------------- M-step

    @classmethod
    def estimated(
        cls, sums: ComponentSums, prior: ScatterPrior, *, equal: bool = False
    ) -> Self | None:
        """Return the components that fit sums best (F8), None where there are none.

        Weights of rows may be negative under strong enforcement; then a mean or a covariance need
        not exist.

        Parameters
        ----------
        sums : ComponentSums
        prior : ScatterPrior
        equal : bool, default=False
            Keep all mixing weights equal.
        """
        draws, n = sums.draws, sums.weight
        finite = all(np.isfinite(part).all() for part in (draws, n, sums.first, sums.second))
        if not finite or (n <= 0).any() or (not equal and (draws < 0).any()):
            return None
        shift = sums.first / n[:, None]
        covariances = cls._covariances(sums, shift, prior)
        if covariances is None:
            return None
        K = len(n)
        weights = np.full(K, 1.0 / K) if equal else np.maximum(draws / draws.sum(), LEAST_WEIGHT)
        return cls(weights, sums.about + shift, covariances)

    @classmethod
    @abstractmethod
    def _covariances(
        cls, sums: ComponentSums, shift: FloatArray, prior: ScatterPrior
    ) -> FloatArray | None:
        """Return the covariances about the means ``about + shift``."""

    def stepped(
        self, sums: ComponentSums, damping: float, prior: ScatterPrior, *, equal: bool = False
    ) -> Self | None:
        """Return the damped step from here (extended Baum-Welch; maths.md F8).

        Δ rows of the present mixture join those of the data, which maximises
        Q(Θ) − Δ·KL(P_Θ° ‖ P_Θ).
        """
        empty = np.where(np.abs(sums.weight) < EMPTY, EMPTY, 0.0)
        return self.estimated(sums + self.imagined(damping, sums.about, empty), prior, equal=equal)

    def imagined(self, count: float, about: FloatArray, more: FloatArray) -> ComponentSums:
        """Return the sums that ``count`` rows of this mixture are expected to have.

        ``more`` rows of every component count for its place and shape, not for its weight.
        """
        draws = count * self.weights
        weight = draws + more
        apart = self.means - about
        return ComponentSums(
            draws,
            weight,
            weight[:, None] * apart,
            self._second_moments(weight, apart),
            about,
        )

    @abstractmethod
    def _second_moments(self, weight: FloatArray, apart: FloatArray) -> FloatArray:
        """Return weight_j (C_j + apart_j apart_jᵀ), or its diagonal."""

    def log_prior(self, prior: ScatterPrior) -> float:
        """Return −½ν₀ Σ_j (tr C_j⁻¹S₀ + log det C_j)."""
        if prior.strength == 0.0:
            return 0.0
        traces = self.traces(prior.scatter)
        return -0.5 * prior.strength * float(np.sum(traces + self.log_determinants))

    @abstractmethod
    def traces(self, S: FloatArray) -> FloatArray:
        """Return tr C_j⁻¹S of every component."""

    # ---------------------------------------------------------------- shape

    @classmethod
    @abstractmethod
    def shared(cls, weights: FloatArray, means: FloatArray, C: FloatArray) -> Self:
        """Return components that all have the covariance C (d, d), as near as the kind can."""

    @classmethod
    @abstractmethod
    def covariances_of(cls, precisions: FloatArray, K: int, d: int) -> FloatArray:
        """Return the covariances of given precisions, which are checked."""

    @property
    @abstractmethod
    def n_covariance_parameters(self) -> int:
        """Number of free covariance parameters."""

    @property
    def n_parameters(self) -> int:
        """Number of free parameters (maths.md 6.9)."""
        K, d = self.means.shape
        return K - 1 + K * d + self.n_covariance_parameters

    def rescaled(self, unit: FloatArray, offset: FloatArray) -> Self:
        """Return the components of the rows unit·x + offset."""
        return type(self)(self.weights, self.means * unit + offset, self._rescaled(unit))

    @abstractmethod
    def _rescaled(self, unit: FloatArray) -> FloatArray:
        """Return the covariances of rows with every feature multiplied by its unit."""

    def drawn(self, counts: IntArray, rng: np.random.Generator) -> FloatArray:
        """Draw ``counts[j]`` rows of every component, one component after the other."""
        d = self.means.shape[1]
        parts = [
            self.means[j] + self._spread(rng.standard_normal((int(n), d)), j)
            for j, n in enumerate(counts)
        ]
        return np.concatenate(parts) if parts else np.empty((0, d))

    @abstractmethod
    def _spread(self, noise: FloatArray, j: int) -> FloatArray:
        """Return standard normal rows with the covariance of component j."""

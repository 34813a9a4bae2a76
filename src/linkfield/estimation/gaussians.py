"""Gaussian components with covariances of four kinds, each kind a small class (maths.md 6).

All kinds answer the same questions: log densities, natural parameters, the M-step from additive
sums (F8), the prior, the number of parameters, drawing rows.
"""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ._covariances import (
    checked_shape,
    inverse_factor,
    inverse_matrix,
    positive,
    quadratic_form,
    raised_matrix,
    raised_variances,
    scatter_matrices,
    scatter_squares,
)
from ._gaussian_base import Gaussians
from .component_sums import ComponentSums, ScatterPrior

__all__ = [
    "GAUSSIANS",
    "DiagonalGaussians",
    "FullGaussians",
    "Gaussians",
    "SphericalGaussians",
    "TiedGaussians",
]

FloatArray = NDArray[np.float64]


class FullGaussians(Gaussians):
    """A covariance matrix of its own for every component: (K, d, d)."""

    kind = "full"
    features = "full"

    @cached_property
    def precision_factors(self) -> FloatArray:
        return np.stack([inverse_factor(C) for C in self.covariances])

    @property
    def precisions(self) -> FloatArray:
        U = self.precision_factors
        return np.asarray(U @ U.transpose(0, 2, 1))

    @property
    def log_determinants(self) -> FloatArray:
        diagonal = np.diagonal(self.precision_factors, axis1=1, axis2=2)
        return np.asarray(-2.0 * np.log(diagonal).sum(axis=1))

    def _squared(self, difference: FloatArray, j: int) -> FloatArray:
        whitened = difference @ self.precision_factors[j]
        return np.einsum("nd,nd->n", whitened, whitened)

    def _natural(self) -> tuple[FloatArray, FloatArray]:
        P = self.precisions
        return np.einsum("jab,jb->ja", P, self.means), quadratic_form(P)

    @classmethod
    def _covariances(
        cls, sums: ComponentSums, shift: FloatArray, prior: ScatterPrior
    ) -> FloatArray | None:
        scatter = scatter_matrices(sums, shift) + prior.strength * prior.scatter
        C = scatter / (sums.weight + prior.strength)[:, None, None]
        C = 0.5 * (C + C.transpose(0, 2, 1))
        raised = [raised_matrix(each, prior.floor) for each in C]
        good = [each for each in raised if each is not None]
        return np.stack(good) if len(good) == len(raised) else None

    def _second_moments(self, weight: FloatArray, apart: FloatArray) -> FloatArray:
        moments = self.covariances + apart[:, :, None] * apart[:, None, :]
        return np.asarray(weight[:, None, None] * moments)

    def traces(self, S: FloatArray) -> FloatArray:
        return np.einsum("jab,ab->j", self.precisions, S)

    @classmethod
    def shared(cls, weights: FloatArray, means: FloatArray, C: FloatArray) -> Self:
        return cls(weights, means, np.tile(C, (len(means), 1, 1)))

    @classmethod
    def covariances_of(cls, precisions: FloatArray, K: int, d: int) -> FloatArray:
        return np.stack([inverse_matrix(P) for P in checked_shape(precisions, (K, d, d))])

    @property
    def n_covariance_parameters(self) -> int:
        K, d = self.means.shape
        return K * d * (d + 1) // 2

    def _rescaled(self, unit: FloatArray) -> FloatArray:
        return self.covariances * unit * unit[:, None]

    def _spread(self, noise: FloatArray, j: int) -> FloatArray:
        return np.asarray(noise @ np.linalg.cholesky(self.covariances[j]).T)


class TiedGaussians(Gaussians):
    """One covariance matrix for all components: (d, d)."""

    kind = "tied"
    features = "full"

    @cached_property
    def precision_factors(self) -> FloatArray:
        return inverse_factor(self.covariances)

    @property
    def precisions(self) -> FloatArray:
        return np.asarray(self.precision_factors @ self.precision_factors.T)

    @property
    def log_determinants(self) -> FloatArray:
        value = -2.0 * np.log(np.diagonal(self.precision_factors)).sum()
        return np.full(len(self.means), value)

    def _squared(self, difference: FloatArray, j: int) -> FloatArray:
        whitened = difference @ self.precision_factors
        return np.einsum("nd,nd->n", whitened, whitened)

    def _natural(self) -> tuple[FloatArray, FloatArray]:
        P = self.precisions
        return self.means @ P, np.tile(quadratic_form(P), (len(self.means), 1))

    @classmethod
    def _covariances(
        cls, sums: ComponentSums, shift: FloatArray, prior: ScatterPrior
    ) -> FloatArray | None:
        nu = prior.strength * len(shift)
        scatter = scatter_matrices(sums, shift).sum(axis=0) + nu * prior.scatter
        C = scatter / (sums.weight.sum() + nu)
        return raised_matrix(0.5 * (C + C.T), prior.floor)

    def _second_moments(self, weight: FloatArray, apart: FloatArray) -> FloatArray:
        moments = self.covariances + apart[:, :, None] * apart[:, None, :]
        return np.asarray(weight[:, None, None] * moments)

    def traces(self, S: FloatArray) -> FloatArray:
        return np.full(len(self.means), np.sum(self.precisions * S))

    @classmethod
    def shared(cls, weights: FloatArray, means: FloatArray, C: FloatArray) -> Self:
        return cls(weights, means, C)

    @classmethod
    def covariances_of(cls, precisions: FloatArray, K: int, d: int) -> FloatArray:
        return inverse_matrix(checked_shape(precisions, (d, d)))

    @property
    def n_covariance_parameters(self) -> int:
        d = self.means.shape[1]
        return d * (d + 1) // 2

    def _rescaled(self, unit: FloatArray) -> FloatArray:
        return self.covariances * unit * unit[:, None]

    def _spread(self, noise: FloatArray, j: int) -> FloatArray:
        return np.asarray(noise @ np.linalg.cholesky(self.covariances).T)


class DiagonalGaussians(Gaussians):
    """Variances of its own for every component: (K, d)."""

    kind = "diag"

    @cached_property
    def precision_factors(self) -> FloatArray:
        return 1.0 / np.sqrt(self.covariances)

    @property
    def precisions(self) -> FloatArray:
        return 1.0 / self.covariances

    @property
    def log_determinants(self) -> FloatArray:
        return np.log(self.covariances).sum(axis=1)

    def _squared(self, difference: FloatArray, j: int) -> FloatArray:
        return np.asarray(difference**2 @ self.precisions[j])

    def _natural(self) -> tuple[FloatArray, FloatArray]:
        P = self.precisions
        return P * self.means, -0.5 * P

    @classmethod
    def _covariances(
        cls, sums: ComponentSums, shift: FloatArray, prior: ScatterPrior
    ) -> FloatArray | None:
        n = (sums.weight + prior.strength)[:, None]
        scatter = scatter_squares(sums, shift) + prior.strength * np.diag(prior.scatter)
        return raised_variances(scatter / n, sums.second / n, prior.floor)

    def _second_moments(self, weight: FloatArray, apart: FloatArray) -> FloatArray:
        return weight[:, None] * (self.covariances + apart**2)

    def traces(self, S: FloatArray) -> FloatArray:
        return np.asarray(self.precisions @ np.diag(S))

    @classmethod
    def shared(cls, weights: FloatArray, means: FloatArray, C: FloatArray) -> Self:
        return cls(weights, means, np.tile(np.diag(C), (len(means), 1)))

    @classmethod
    def covariances_of(cls, precisions: FloatArray, K: int, d: int) -> FloatArray:
        return 1.0 / positive(checked_shape(precisions, (K, d)))

    @property
    def n_covariance_parameters(self) -> int:
        return self.means.size

    def _rescaled(self, unit: FloatArray) -> FloatArray:
        return self.covariances * unit**2

    def _spread(self, noise: FloatArray, j: int) -> FloatArray:
        return noise * np.sqrt(self.covariances[j])


class SphericalGaussians(Gaussians):
    """One variance for every component: (K,)."""

    kind = "spherical"
    isotropic = True

    @cached_property
    def precision_factors(self) -> FloatArray:
        return 1.0 / np.sqrt(self.covariances)

    @property
    def precisions(self) -> FloatArray:
        return 1.0 / self.covariances

    @property
    def log_determinants(self) -> FloatArray:
        return self.means.shape[1] * np.log(self.covariances)

    def _squared(self, difference: FloatArray, j: int) -> FloatArray:
        return np.einsum("nd,nd->n", difference, difference) / self.covariances[j]

    def _natural(self) -> tuple[FloatArray, FloatArray]:
        P = np.broadcast_to(self.precisions[:, None], self.means.shape)
        return P * self.means, -0.5 * P

    @classmethod
    def _covariances(
        cls, sums: ComponentSums, shift: FloatArray, prior: ScatterPrior
    ) -> FloatArray | None:
        n = sums.weight + prior.strength
        scatter = scatter_squares(sums, shift) + prior.strength * np.diag(prior.scatter)
        size = sums.second.mean(axis=1) / n
        return raised_variances(scatter.mean(axis=1) / n, size, prior.floor.max(keepdims=True))

    def _second_moments(self, weight: FloatArray, apart: FloatArray) -> FloatArray:
        return weight[:, None] * (self.covariances[:, None] + apart**2)

    def traces(self, S: FloatArray) -> FloatArray:
        return self.precisions * np.trace(S)

    @classmethod
    def shared(cls, weights: FloatArray, means: FloatArray, C: FloatArray) -> Self:
        return cls(weights, means, np.full(len(means), np.trace(C) / len(C)))

    @classmethod
    def covariances_of(cls, precisions: FloatArray, K: int, d: int) -> FloatArray:
        return 1.0 / positive(checked_shape(precisions, (K,)))

    @property
    def n_covariance_parameters(self) -> int:
        return len(self.means)

    def _rescaled(self, unit: FloatArray) -> FloatArray:
        return self.covariances * unit[0] ** 2

    def _spread(self, noise: FloatArray, j: int) -> FloatArray:
        return noise * np.sqrt(self.covariances[j])


#: The kinds by the names that scikit-learn has for them.
GAUSSIANS: dict[str, type[Gaussians]] = {
    kind.kind: kind
    for kind in (FullGaussians, TiedGaussians, DiagonalGaussians, SphericalGaussians)
}

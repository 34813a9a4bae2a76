"""What the rows of a Gaussian mixture add up to, and the prior that is added to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._params import Parameters

__all__ = ["ComponentSums", "CovariancePrior", "ScatterPrior", "packed", "unpacked"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ComponentSums:
    """Sums over rows, weighted by what belongs to each component; those of two blocks add up.

    Attributes
    ----------
    draws : float array (K,)
        k_j: how many labels were drawn from the mixing weights and came out as j. A group draws
        one label for all its rows, so this is not the weight (maths.md F6).
    weight : float array (K,)
        Σ r_ij. With strong enforcement it may be negative (maths.md 6.3).
    first : float array (K, d)
        Σ r_ij (x_i − c_j).
    second : float array (K, d, d) or (K, d)
        Σ r_ij (x_i − c_j)(x_i − c_j)ᵀ, or only its diagonal.
    about : float array (K, d)
        c_j. Sums about a point near the mean keep all digits; about the common centre of all rows
        they can be had by one product.
    """

    draws: FloatArray
    weight: FloatArray
    first: FloatArray
    second: FloatArray
    about: FloatArray

    def __add__(self, other: ComponentSums) -> ComponentSums:
        if self.about is not other.about and not np.array_equal(self.about, other.about):
            raise ValueError("sums about different points do not add up")
        return ComponentSums(
            self.draws + other.draws,
            self.weight + other.weight,
            self.first + other.first,
            self.second + other.second,
            self.about,
        )

    def with_draws(self, draws: FloatArray) -> ComponentSums:
        """Return the same sums with other draws."""
        return replace(self, draws=draws)


def packed(matrices: FloatArray) -> FloatArray:
    """Return the upper triangles of symmetric matrices (..., d, d), row by row."""
    a, b = np.triu_indices(matrices.shape[-1])
    return np.ascontiguousarray(matrices[..., a, b])


def unpacked(triangles: FloatArray, d: int) -> FloatArray:
    """Return the symmetric matrices of which these are the upper triangles."""
    a, b = np.triu_indices(d)
    full = np.empty((*triangles.shape[:-1], d, d))
    full[..., a, b] = triangles
    full[..., b, a] = triangles
    return full


@dataclass(frozen=True)
class ScatterPrior:
    """−½ν₀ Σ_j (tr C_j⁻¹S₀ + log det C_j), and a floor below all covariances (maths.md 6.6).

    In the M-step it is ν₀ further rows of scatter ν₀S₀ for every component.

    Attributes
    ----------
    strength : float
        ν₀.
    scatter : float array (d, d)
        S₀.
    floor : float array (d,)
        C_j − diag(floor) stays positive semidefinite. The best such C_j has its eigenvalues
        raised to the floor, so a step still maximises what it should, under this condition.
    """

    strength: float
    scatter: FloatArray
    floor: FloatArray

    @classmethod
    def none(cls, n_features: int, floor: float = 0.0) -> ScatterPrior:
        """Return no prior, only a floor."""
        return cls(0.0, np.zeros((n_features, n_features)), np.full(n_features, floor))


@dataclass
class CovariancePrior(Parameters):
    """Prior on the covariances of a mixture: ν₀ rows' worth of the scatter S₀ in each component.

    Parameters
    ----------
    strength : float, default=1.0
        ν₀; 0 switches it off.
    scale : float or array, default=0.01
        S₀. A number is the share of every feature's variance: S₀ = scale·diag(var X). An array
        (n_features,) or (n_features, n_features) is S₀ itself, in the units of the data.
    """

    strength: float = 1.0
    scale: Any = 0.01

    def scatter(self, variance: FloatArray) -> FloatArray:
        """Return S₀ (d, d) for data of these variances."""
        d = len(variance)
        if not np.isfinite(self.strength) or self.strength < 0:
            raise ValueError(f"covariance_prior: strength must be 0 or more, got {self.strength!r}")
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.shape not in ((), (d,), (d, d)) or not np.isfinite(scale).all():
            raise ValueError(
                f"covariance_prior: scale must be a number, or an array of the shape ({d},) or "
                f"({d}, {d}), without NaN; got shape {scale.shape}"
            )
        S = np.diag(scale * variance) if scale.ndim == 0 else scale
        S = np.diag(S) if S.ndim == 1 else S
        if not np.allclose(S, S.T) or np.linalg.eigvalsh(S)[0] < -1e-10 * np.abs(S).max():
            raise ValueError("covariance_prior: scale must be symmetric without negative parts")
        return S

"""Covariance matrices from sums: scatter, the floor below them, inverses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .component_sums import ComponentSums, packed

__all__ = [
    "checked_shape",
    "inverse_factor",
    "inverse_matrix",
    "positive",
    "quadratic_form",
    "raised_matrix",
    "raised_variances",
    "scatter_matrices",
    "scatter_squares",
]

FloatArray = NDArray[np.float64]

#: Eigenvalues that are negative by rounding only, as a part of the largest.
ROUNDING = 1e-8


def scatter_matrices(sums: ComponentSums, shift: FloatArray) -> FloatArray:
    """Return Σ r (x − m)(x − m)ᵀ of every component."""
    return sums.second - sums.weight[:, None, None] * shift[:, :, None] * shift[:, None, :]


def scatter_squares(sums: ComponentSums, shift: FloatArray) -> FloatArray:
    """Return Σ r (x − m)² of every component, feature by feature."""
    return sums.second - sums.weight[:, None] * shift**2


def raised_matrix(C: FloatArray, floor: FloatArray) -> FloatArray | None:
    """Return C with C − diag(floor) made positive semidefinite, None where C is not.

    Among all matrices above the floor it is the one with the greatest −log det C − tr C⁻¹S at
    S = C: eigenvalues in the units of the floor are raised to 1.
    """
    try:
        np.linalg.cholesky(C - np.diag(floor))
        return C
    except np.linalg.LinAlgError:
        pass
    if not (floor > 0).all():
        return None
    unit = np.sqrt(floor)
    size, axes = np.linalg.eigh(C / unit / unit[:, None])
    if size[0] < -ROUNDING * max(float(size[-1]), 1.0):
        return None
    raised = (axes * np.maximum(size, 1.0)) @ axes.T
    return np.asarray(0.5 * (raised + raised.T) * unit * unit[:, None])


def raised_variances(V: FloatArray, size: FloatArray, floor: FloatArray) -> FloatArray | None:
    """Return variances raised to the floor, None where some are negative beyond rounding."""
    noise = ROUNDING * np.maximum(np.abs(size), floor)
    if (V + noise < 0).any():
        return None
    V = np.maximum(V, floor)
    return V if (V > 0).all() else None


def inverse_factor(C: FloatArray) -> FloatArray:
    """Return the upper triangular U with C⁻¹ = U Uᵀ."""
    lower = np.linalg.cholesky(C)
    return np.asarray(solve_triangular(lower, np.eye(len(C)), lower=True).T)


def inverse_matrix(P: FloatArray) -> FloatArray:
    """Return the inverse of a precision matrix that the user gave."""
    if not np.allclose(P, P.T):
        raise ValueError("precisions_init must hold symmetric matrices")
    try:
        U = inverse_factor(P)
    except np.linalg.LinAlgError:
        raise ValueError("precisions_init must hold positive definite matrices") from None
    return np.asarray(U @ U.T)


def checked_shape(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return the precisions that the user gave, if their shape fits."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"precisions_init has the shape {values.shape}; it must be {shape}")
    if not np.isfinite(values).all():
        raise ValueError("precisions_init holds NaN or infinity")
    return values


def positive(values: FloatArray) -> FloatArray:
    """Return the precisions that the user gave, if all are above 0."""
    if not (values > 0).all():
        raise ValueError("precisions_init must be positive")
    return values


def quadratic_form(P: FloatArray) -> FloatArray:
    """Return −½xᵀPx as products with x_a x_b, a ≤ b: those off the diagonal stand for two."""
    d = P.shape[-1]
    return packed(-P * (1.0 - 0.5 * np.eye(d)))

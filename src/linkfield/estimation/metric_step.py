"""The metric step: candidates in closed form, and the safe step (maths.md 2.6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..distortions import Metric
from .priors import Regulariser

__all__ = ["closed_form", "multiplicative_step", "safe_step"]

FloatArray = NDArray[np.float64]


def closed_form(
    metric: Metric, S: FloatArray, weight: FloatArray, regulariser: Regulariser
) -> Metric:
    """Return the minimiser of ⟨θ, S⟩ + R(θ): (B9), (B10), (B11).

    ``S`` is the derivative of the objective without R. Where S is not positive (the penalty of
    2003, or a bound that is no bound) the candidate is only a direction for :func:`safe_step`:
    weights double where S_m ≤ 0, eigenvalues of S are floored at 1e-8 of the largest.
    """
    total = S + regulariser.linear_part(metric)
    factors = regulariser.logdet_factors(weight, metric)
    if regulariser.rayleigh is not None:
        return type(metric)(_rayleigh(total, float(factors[0]) + 1.0, regulariser.rayleigh))
    if not metric.full:
        factor = factors[:, None] if metric.per_cluster else factors[0]
        positive = total > 0
        ratio = factor / np.where(positive, total, 1.0)
        return type(metric)(np.where(positive, ratio, 2.0 * metric.theta))
    if metric.per_cluster:
        parts = [
            f * _inverse(part) if f > 0 and part.any() else theta
            for f, part, theta in zip(factors, total, metric.theta, strict=True)
        ]
        return type(metric)(np.stack(parts))
    return type(metric)(factors[0] * _inverse(total))


def _rayleigh(g: FloatArray, e: float, s: float) -> FloatArray:
    """Return ½s²(−g + √(g² + 4e/s²)), in the form that does not cancel for g > 0."""
    root = np.sqrt(g * g + 4.0 * e / s**2)
    positive = g > 0
    return np.where(positive, 2.0 * e / np.where(positive, g + root, 1.0), 0.5 * s**2 * (root - g))


def _inverse(S: FloatArray) -> FloatArray:
    """Invert a symmetric matrix with its eigenvalues floored at 1e-8 of the largest.

    Features are brought to a common scale first, so that different units do not meet the floor.
    """
    diagonal = np.diag(S)
    unit = np.sqrt(diagonal) if (diagonal > 0).all() else np.ones(len(S))
    scaled = (S + S.T) / 2.0 / np.outer(unit, unit)
    values, vectors = np.linalg.eigh(scaled)
    floor = 1e-8 * max(float(np.abs(values).max()), np.finfo(float).tiny)
    inverse = (vectors / np.maximum(values, floor)) @ vectors.T
    return np.asarray((inverse + inverse.T) / 2.0 / np.outer(unit, unit))


def safe_step(
    metric: Metric,
    candidate: Metric,
    objective: Callable[[Metric], float],
    *,
    slope: float | None = None,
    max_halvings: int = 40,
) -> Metric:
    """Go from θ towards a candidate as far as the objective falls (B12).

    The segment stays in the cone of positive (definite) θ. ``slope`` is ⟨∇J(θ), θ̂ − θ⟩ for
    Armijo's rule. Returns θ itself if no step helps.
    """
    now, step = objective(metric), 1.0
    if slope is not None and abs(slope) <= 1e-13 * abs(now):
        return metric  # what there is to gain is lost in rounding
    least = min(slope or 0.0, 0.0)
    for _ in range(max_halvings):
        trial = metric.toward(candidate, step)
        value = objective(trial)
        if np.isfinite(value) and value < now + 1e-4 * step * least:
            return trial
        step /= 2.0
    return metric


def multiplicative_step(
    metric: Metric,
    gradient: FloatArray,
    objective: Callable[[Metric], float],
    step: float,
    *,
    rescale: bool,
    max_halvings: int = 40,
) -> tuple[Metric, float]:
    """Take a ← a∘exp(−η a∘∂J/∂a), η by backtracking, for the directional measures.

    Weights stay positive. With ``rescale`` they are brought back to Σa = d, which changes no
    directional distance. ``step`` is the largest change of any log weight to try first; the one
    that was accepted comes back, doubled, for the next time.
    """
    direction = metric.theta * gradient
    size = float(np.abs(direction).max(initial=0.0))
    if size == 0.0 or not np.isfinite(size):
        return metric, step
    now = objective(metric)
    for _ in range(max_halvings):
        if step / size * float(direction @ direction) <= 1e-10 * abs(now):
            break  # what there is to gain is lost in rounding
        a = metric.theta * np.exp(-step / size * direction)
        trial = type(metric)(a * (len(a) / a.sum()) if rescale else a)
        value = objective(trial)
        if np.isfinite(value) and value < now - 1e-4 * step / size * float(direction @ direction):
            return trial, min(2.0 * step, 1.0)
        step /= 2.0
    return metric, max(step, 1e-6)

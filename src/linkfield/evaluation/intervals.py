"""Intervals of means and shares over runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

__all__ = ["Interval", "interval", "share_interval"]

#: Intervals hold the truth with this probability.
LEVEL = 0.95


class Interval(NamedTuple):
    """A mean, the half-width of its interval (nan for fewer than two values), and their number."""

    mean: float
    half_width: float
    n: int


def interval(values: ArrayLike, level: float = LEVEL) -> Interval:
    """Mean ± t · s / √n, Student's interval; values that are nan are left out."""
    x = np.asarray(values, np.float64).ravel()
    x = x[np.isfinite(x)]
    if not x.size:
        return Interval(math.nan, math.nan, 0)
    if x.size == 1:
        return Interval(float(x[0]), math.nan, 1)
    half = stdtrit(x.size - 1, 0.5 + level / 2) * x.std(ddof=1) / math.sqrt(x.size)
    return Interval(float(x.mean()), float(half), int(x.size))


def share_interval(values: ArrayLike, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's interval of the share of ones, which stays within 0 and 1 (Wilson 1927)."""
    x = np.asarray(values, np.float64).ravel()
    x = x[np.isfinite(x)]
    if not x.size:
        return math.nan, math.nan
    n, share, z = x.size, float(x.mean()), float(ndtri(0.5 + level / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, middle - half), min(1.0, middle + half)

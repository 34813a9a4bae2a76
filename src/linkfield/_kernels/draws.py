"""Compiled loop that draws need: potentials, summed up by stretches of the canonical order."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["lower"]


@njit(nogil=True, cache=True, error_model="numpy")
def lower(nearest, found, weight, bucket, first, last, sums):  # type: ignore[no-untyped-def]
    """Set nearest to min(nearest, found); return Σ weight·nearest of every bucket."""
    for i in range(first, last):
        D = np.float64(found[i])
        if nearest[i] > D:
            nearest[i] = D
        sums[bucket[i]] += weight[i] * nearest[i]
    return sums

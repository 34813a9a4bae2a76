"""Compiled loops that draws need: potentials, summed up by stretches of the canonical order."""

from __future__ import annotations

import numpy as np

from .compiling import exact, inner

__all__ = ["lower", "remainders"]


@exact
def lower(nearest, found, weight, bucket, first, last, sums):  # type: ignore[no-untyped-def]
    """Set nearest to min(nearest, found); return Σ weight·nearest of every bucket."""
    for i in range(first, last):
        D = np.float64(found[i])
        if nearest[i] > D:
            nearest[i] = D
        sums[bucket[i]] += weight[i] * nearest[i]
    return sums


@inner
def remainders(nearest, found, which, weight, first, last, out):  # type: ignore[no-untyped-def]
    """Add Σ weight·min(nearest, found) of some rows of ``found``, each with its own sum."""
    for k in range(which.shape[0]):
        row, total = found[which[k]], 0.0
        for i in range(first, last):
            total += weight[i] * min(nearest[i], np.float64(row[i]))
        out[k] += total

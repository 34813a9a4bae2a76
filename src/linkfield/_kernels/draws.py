"""Compiled loops that draws need: potentials, summed up by stretches of the canonical order."""

from __future__ import annotations

import numpy as np

from .compiling import compiled, exact, inner, inner_exact

__all__ = ["lower", "remainder", "remainders"]

#: Rows that are taken at a time, so that they stay in the first cache for all candidates. As arrays
#: of their own they begin at 0, which tells the compiler that no index counts from the end.
CHUNK = 1024


@exact
def lower(nearest, found, weight, bucket, first, last, sums):  # type: ignore[no-untyped-def]
    """Set nearest to min(nearest, found); return Σ weight·nearest of every bucket."""
    for start in range(first, last, CHUNK):
        part = slice(start, min(start + CHUNK, last))
        _lower(nearest[part], found[part], weight[part], bucket[part], sums)
    return sums


@inner_exact
def _lower(nearest, found, weight, bucket, sums):  # type: ignore[no-untyped-def]
    for i in range(nearest.shape[0]):
        D = np.float64(found[i])
        nearest[i] = D if nearest[i] > D else nearest[i]
    for i in range(nearest.shape[0]):
        sums[bucket[i]] += weight[i] * nearest[i]


@compiled
def remainders(nearest, found, which, weight, first, last, out):  # type: ignore[no-untyped-def]
    """Add Σ weight·min(nearest, found) of some rows of ``found``, each with its own sum."""
    for start in range(first, last, CHUNK):
        part = slice(start, min(start + CHUNK, last))
        for k in range(which.shape[0]):
            out[k] += remainder(weight[part], nearest[part], found[which[k], part])


@inner
def remainder(weight, nearest, found):  # type: ignore[no-untyped-def]
    """Return Σ weight·min(nearest, found)."""
    total = 0.0
    for i in range(found.shape[0]):
        D = np.float64(found[i])
        total += weight[i] * (D if nearest[i] > D else nearest[i])
    return total

"""An order of rows that depends on their values, not on where they stand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._rows import DenseRows, Rows, pieces

__all__ = ["canonical_keys", "draw"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def canonical_keys(rows: Rows) -> FloatArray:
    """Return one number a row, equal for equal rows: a fixed random projection.

    Sorting by it puts the rows into an order that no shuffling, repetition or storage format of
    the data changes, so that random draws can be the same for all of them.
    """
    n, d = rows.shape
    direction = np.random.default_rng(20040822).normal(size=(1, d))
    keys = np.empty(n)
    for piece in pieces(n, max(1024, 4_000_000 // max(d, 1))):
        part = rows.take(piece).float64()
        if isinstance(part, DenseRows):  # the rounding of BLAS depends on where a row stands
            keys[piece] = np.ascontiguousarray(part.X * direction).sum(axis=1)
        else:
            keys[piece] = part.dot(direction)[:, 0]
    return keys


def draw(weight: FloatArray, order: IntArray, uniform: FloatArray) -> IntArray:
    """Draw rows with probability proportional to weight, one for each uniform number.

    The cumulative weights run along ``order``; a row of weight 2 and two equal rows of weight 1
    take up the same stretch of it, so weighting and repeating rows draw the same values.
    """
    cumulative = np.cumsum(weight[order])
    at = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return order[np.minimum(at, len(order) - 1)]

"""An order of rows that depends on their values, not on where they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from .._rows import Rows
from .._threads import spread

__all__ = ["Draws", "canonical_keys", "draw"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Rows of a bucket: a draw finds its bucket first, then its row.
BUCKET = 1024


def canonical_keys(rows: Rows) -> FloatArray:
    """Return one number a row, equal for equal rows: a fixed random projection.

    Sorting by it puts the rows into an order that no shuffling, repetition or storage format of
    the data changes, so that random draws can be the same for all of them.
    """
    return rows.projected(_direction(rows.shape[1]))


@lru_cache(maxsize=8)
def _direction(n_features: int) -> FloatArray:
    """Return the direction to project on, which is always the same."""
    return np.random.default_rng(20040822).normal(size=n_features)


def draw(weight: FloatArray, order: IntArray, uniform: FloatArray) -> IntArray:
    """Draw rows with probability proportional to weight, one for each uniform number.

    The cumulative weights run along ``order``; a row of weight 2 and two equal rows of weight 1
    take up the same stretch of it, so weighting and repeating rows draw the same values.
    """
    draws = Draws(order)
    return draws(weight.__getitem__, draws.sums(weight), uniform)


@dataclass(frozen=True)
class Draws:
    """Draws along an order, by buckets of it: what is summed up anyway need not be sorted again."""

    order: IntArray

    @property
    def n_buckets(self) -> int:
        """Number of buckets."""
        return -(-len(self.order) // BUCKET)

    @cached_property
    def bucket(self) -> NDArray[np.int32]:
        """The bucket of every row."""
        bucket = np.empty(len(self.order), dtype=np.int32)
        bucket[self.order] = np.arange(len(self.order), dtype=np.int64) // BUCKET
        return bucket

    def sums(self, weight: FloatArray) -> FloatArray:
        """Return the weight of every bucket."""
        return np.asarray(np.bincount(self.bucket, weight, self.n_buckets), np.float64)

    def lowered(
        self, nearest: FloatArray, found: NDArray[np.float32], weight: FloatArray
    ) -> FloatArray:
        """Lower ``nearest`` to ``found``, in place; return Σ weight·nearest of every bucket."""
        from .._kernels.draws import lower

        parts = spread(
            lambda a, b: lower(nearest, found, weight, self.bucket, a, b, np.zeros(self.n_buckets)),
            len(nearest),
            32_768,
        )
        return np.asarray(sum(parts))

    def remainders(
        self,
        nearest: FloatArray,
        found: NDArray[np.float32],
        which: IntArray,
        weight: FloatArray,
    ) -> FloatArray:
        """Return Σ weight·min(nearest, found) of some rows of ``found``."""
        from .._kernels.draws import remainders

        def some(first: int, last: int) -> FloatArray:
            out = np.zeros(len(which))
            remainders(nearest, found, which, weight, first, last, out)
            return out

        return np.asarray(sum(spread(some, len(nearest), 32_768)))

    def __call__(
        self, weight: Callable[[IntArray], FloatArray], sums: FloatArray, uniform: FloatArray
    ) -> IntArray:
        """Draw rows ∝ weight, whose sums by bucket are ``sums``, one for each uniform number.

        ``weight`` is asked for some rows' weights.
        """
        cumulative = np.cumsum(sums)
        targets = uniform * cumulative[-1]
        buckets = np.minimum(
            np.searchsorted(cumulative, targets, side="right"), np.flatnonzero(sums > 0)[-1]
        )
        found = np.empty(len(uniform), dtype=np.int64)
        for b in set(buckets.tolist()):
            here = np.flatnonzero(buckets == b)
            rows = self.order[b * BUCKET : (b + 1) * BUCKET]
            weights = weight(rows)
            before = cumulative[b - 1] if b else 0.0
            at = np.searchsorted(np.cumsum(weights), targets[here] - before, side="right")
            found[here] = rows[np.minimum(at, np.flatnonzero(weights > 0)[-1])]
        return found

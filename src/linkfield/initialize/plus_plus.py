"""k-means++ for any distortion, greedy over a few candidates (Arthur & Vassilvitskii 2007)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._rows import DenseRows, Rows
from ..distortions import Distortion, Metric
from .order import draw

__all__ = ["add_centres"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def add_centres(
    distortion: Distortion,
    rows: Rows,
    weight: FloatArray,
    metric: Metric,
    n_centres: int,
    order: IntArray,
    rng: np.random.Generator,
    as_centres: Callable[[IntArray], FloatArray],
    given: FloatArray | None = None,
    pool: FloatArray | None = None,
    pool_size: FloatArray | None = None,
) -> FloatArray:
    """Add centres to the given ones until there are ``n_centres``.

    Candidates are 2 + ln K data points drawn with probability ∝ v min_h D(x, c_h) and, from a
    pool of ready-made centres, as many with the largest size · min_h D(c, c_h); the one that
    leaves the least Σ v min D wins.

    Parameters
    ----------
    distortion, rows, weight, metric : the data
    n_centres : int
    order : int array
        Rows in canonical order.
    rng : Generator
    as_centres : callable
        Makes centres of rows.
    given : array (k, d), optional
    pool : array (p, d), optional
        Centres of neighbourhoods, and in ``pool_size`` their numbers of rows.
    """
    d = rows.shape[1]
    centres = np.empty((0, d)) if given is None else given
    pool = np.empty((0, d)) if pool is None else pool
    worth = np.ones(len(pool)) if pool_size is None else pool_size.astype(np.float64)
    trials = 2 + int(np.log(max(n_centres, 1)))
    drawn, scale = weight, distortion.row_scale(rows, metric)
    if scale is not None and (weight * scale > 0).any():
        drawn = weight * (scale > 0)  # a row without direction is no centre
    if len(centres) == 0 and len(pool) == 0:
        centres = as_centres(draw(drawn, order, rng.random(1)))
    nearest = np.full(len(rows), np.inf)
    if len(centres):
        nearest = distortion.table(rows, centres, _one(metric, len(centres))).min(axis=1)
    while len(centres) < n_centres:
        potential = drawn * nearest if len(centres) else drawn
        if not potential.sum() > 0:  # every row is a centre already: take rows as they come
            potential = drawn
        points = as_centres(draw(potential, order, rng.random(trials)))
        if len(pool):
            points = np.concatenate([points, pool[_promising(distortion, pool, worth, centres,
                                                             metric, trials)]])  # fmt: skip
        closer = np.minimum(
            nearest[:, None], distortion.table(rows, points, _one(metric, len(points)))
        )
        left = weight @ closer
        # Two rows that matter to each other only leave the same sum: take the first drawn.
        best = int(np.flatnonzero(left <= left.min() * (1 + 1e-9))[0])
        centres = np.concatenate([centres, points[best : best + 1]])
        nearest = closer[:, best]
    return centres[:n_centres]


def _promising(
    distortion: Distortion,
    pool: FloatArray,
    worth: FloatArray,
    centres: FloatArray,
    metric: Metric,
    k: int,
) -> IntArray:
    """Return the k ready-made centres with the largest size times distance to those chosen."""
    if len(centres):
        far = distortion.table(DenseRows(pool), centres, _one(metric, len(centres)))
        worth = worth * far.min(axis=1)
    return np.argsort(-worth, kind="stable")[:k]


def _one(metric: Metric, k: int) -> Metric:
    """Return the metric for k centres: the first cluster's where each has its own."""
    if not metric.per_cluster:
        return metric
    return type(metric)(np.repeat(metric.theta[:1], k, axis=0))

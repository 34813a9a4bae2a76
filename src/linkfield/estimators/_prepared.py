"""The rows of a fit, and what is summed up of them before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._rows import DenseRows, Rows
from ..distortions import SquaredEuclidean
from ..engine import ArrayEngine, Moments
from ..initialize import canonical_keys

if TYPE_CHECKING:
    from ._recipe import Recipe
    from ._setup import Setup

__all__ = ["Prepared", "prepared"]

FloatArray = NDArray[np.float64]


class Prepared(NamedTuple):
    """Rows, their moments, and their keys where those were worked out already."""

    rows: Rows
    moments: Moments
    keys: FloatArray | None = None


def prepared(recipe: Recipe, X: Any, weight: FloatArray, before: Setup | None = None) -> Prepared:
    """Return the rows, centred where rounding asks for it, and their moments.

    Products of uncentred numbers cancel; float32 then gives wrong labels. Where the mean is small
    beside the spread there is nothing to gain. What is known from a problem ``before`` that had
    the same rows is not worked out again.
    """
    distortion, rows = recipe.distortion, recipe.distortion.rows(X)
    known = None if before is None else _again(recipe, rows, weight, before)
    if known is not None:
        return known
    found = _moments(recipe, rows, weight)
    if not isinstance(distortion, SquaredEuclidean) or not isinstance(rows, DenseRows):
        return Prepared(rows, found)
    mean = found.first / weight.sum()
    if not np.sum(mean**2) * weight.sum() > 0.5 * found.second.sum():
        return Prepared(rows, found)
    rows = DenseRows(rows.base, mean.astype(rows.dtype))
    return Prepared(rows, _moments(recipe, rows, weight))


def _moments(recipe: Recipe, rows: Rows, weight: FloatArray) -> Moments:
    # Not the metric of an earlier fit: what the moments set must be the same in every fit.
    plain = type(recipe.metric).start(rows.shape[1], recipe.n_clusters).single()
    everyone = np.ones(len(rows), dtype=bool)
    engine = ArrayEngine(rows, weight, everyone, recipe.distortion, recipe.n_clusters)
    found = engine.moments(plain)
    rows.note_range(found.low, found.high)
    return found


def _again(recipe: Recipe, rows: Rows, weight: FloatArray, before: Setup) -> Prepared | None:
    """Return what is known from before, if the rows have the same keys as they had then.

    Those must have been worked out before the data could change.
    """
    other, old = before.recipe, before.problem.engine.rows
    alike = (
        "keys" in before.__dict__
        and type(rows) is type(old)
        and (rows.shape, rows.dtype) == (old.shape, old.dtype)
        and (recipe.distortion, recipe.n_clusters) == (other.distortion, other.n_clusters)
        and recipe.metric.kind == other.metric.kind
        and np.array_equal(weight, before.problem.engine.weight)
    )
    if not alike:
        return None
    if isinstance(rows, DenseRows) and isinstance(old, DenseRows):
        rows = DenseRows(rows.base, old.offset)
    keys = canonical_keys(rows)
    if not np.array_equal(keys, before.keys):
        return None
    rows.note_range(before.moments.low, before.moments.high)
    return Prepared(rows, before.moments, keys)

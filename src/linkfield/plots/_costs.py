"""What rows and violated constraints cost under a fitted model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._fitted import Fitted
from ._links import Links
from ._moments import blocks_of

__all__ = ["distances_to", "link_costs", "own_distances", "row_costs"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def distances_to(model: Any, X: Any) -> FloatArray:
    """Return the distance of rows to every centre: the distortion, of a mixture −log P(x, z = j).

    Parameters
    ----------
    model : estimator
        The clustering step.
    X : array or sparse matrix
    """
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        # Of names that X lacks and rows without a direction the fit has spoken.
        warnings.simplefilter("ignore", UserWarning)
        if hasattr(model, "transform"):
            return np.asarray(model.transform(X), np.float64)
        return -np.log(model.predict_proba(X)) - model.score_samples(X)[:, None]


def own_distances(found: Fitted) -> FloatArray:
    """Return every row's distance to the centre of its own cluster, block by block."""
    out = np.empty(len(found.labels))
    for piece in blocks_of(found.X):
        table = distances_to(found.model, found.X[piece])
        own = np.minimum(found.labels[piece], table.shape[1] - 1)
        out[piece] = table[np.arange(len(own)), own]
    return out


def row_costs(found: Fitted, rows: IntArray, links: Links) -> FloatArray:
    """Return what rows pay beyond their nearest centre: D(own) − min D, and violated links."""
    table = distances_to(found.model, found.X[rows])
    own = table[np.arange(len(rows)), np.minimum(found.labels[rows], table.shape[1] - 1)]
    cost = np.maximum(own - table.min(axis=1), 0.0)
    broken = links.taken(~links.kept)
    paid = link_costs(found, broken)
    for end in broken.ends.T:
        cost += np.bincount(np.searchsorted(rows, end), paid, minlength=len(rows))
    return cost


def link_costs(found: Fitted, links: Links) -> FloatArray:
    """Return what violated pairs cost: as the fit recorded it, else their weight."""
    table = getattr(found.model, "violations_", None)
    if table is None or not len(table):
        return links.weight.copy()
    ids = found.constraints.sample_id
    names = ids if table.dtype["a"].kind == "O" else None
    recorded = {
        (line["a"], line["b"]): float(line["cost"])
        for line in table[["a", "b", "cost"]]
    }  # fmt: skip
    out = links.weight.copy()
    for k, (a, b) in enumerate(links.ends.tolist()):
        key = (a, b) if names is None else (names[a], names[b])
        out[k] = recorded.get(key, recorded.get(key[::-1], out[k]))
    return out

"""What rows and violated constraints cost under a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._fitted import Fitted
from ._links import Links

__all__ = ["distances_to", "link_costs", "row_costs"]

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
    if hasattr(model, "transform"):
        return np.asarray(model.transform(X), np.float64)
    with np.errstate(divide="ignore"):
        return -np.log(model.predict_proba(X)) - model.score_samples(X)[:, None]


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
    named = table.dtype["a"].kind == "O" and ids is not None
    recorded = {
        (line["a"], line["b"]): float(line["cost"])
        for line in table[["a", "b", "cost"]]
    }  # fmt: skip
    out = links.weight.copy()
    for k, (a, b) in enumerate(links.ends.tolist()):
        key = (ids[a], ids[b]) if named else (a, b)
        out[k] = recorded.get(key, recorded.get(key[::-1], out[k]))
    return out

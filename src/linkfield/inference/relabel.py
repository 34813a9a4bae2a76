"""Moves that rename the labels of a whole connected component.

What a link costs depends only on whether its two ends agree, so any permutation of the labels of a
connected component leaves all its link costs as they are. Only the unary costs change, and the best
permutation is an assignment problem: cost[h, h'] = Σ_{i: l_i = h} U_{i h'}. Two must-link
components that sit in each other's cluster, which neither can leave alone, change places so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from ..field import PottsField

__all__ = ["renamed"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: Above this stands a label that is forbidden: the assignment needs finite numbers.
FORBIDDEN = 1e150


def renamed(field: PottsField, labels: IntArray) -> IntArray | None:
    """Return labels with every connected component renamed at its best, None if nothing gains.

    Exact for each component on its own. Where link costs differ from label to label (one metric a
    cluster) a renaming is kept only if the energy falls.
    """
    K, component = field.n_labels, field.connected
    keys, group = np.unique(component * K + labels, return_inverse=True)
    n = field.n_nodes
    member = sparse.csr_array((np.ones(n), (group, np.arange(n))), shape=(len(keys), n))
    unary = np.minimum(field.unary, FORBIDDEN)
    cost = member @ unary
    owner, old = keys // K, keys % K
    now = cost[np.arange(len(keys)), old]
    tolerance = 1e-12 * np.maximum(np.abs(now), np.abs(cost.min(axis=1)))
    restless = np.unique(owner[cost.min(axis=1) < now - tolerance])
    starts = np.searchsorted(owner, np.r_[restless, restless + 1])
    new_label = old.copy()
    for first, last in zip(*np.split(starts, 2), strict=True):
        block = slice(first, last)
        rows, columns = linear_sum_assignment(cost[block])
        gain = now[block].sum() - cost[block][rows, columns].sum()
        if gain > 1e-12 * max(abs(float(now[block].sum())), 1e-300):
            new_label[block] = columns
    if (new_label == old).all():
        return None
    proposal = np.asarray(new_label[group], dtype=np.int64)
    exact = field.agree_cost.ndim == 1 and (field.entailed is None or len(field.entailed.z) == 1)
    if not exact and not field.energy(proposal) < field.energy(labels):
        return None
    return proposal

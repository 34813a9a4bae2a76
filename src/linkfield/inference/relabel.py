"""Moves that rename the labels of a whole connected component.

What a link costs depends only on whether its two ends agree, so any permutation of the labels of a
connected component leaves all its link costs as they are. Only the unary costs change, and the best
permutation is an assignment problem: cost[h, h'] = Σ_{i: l_i = h} U_{i h'}. Two must-link
components that sit in each other's cluster, which neither can leave alone, change places so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..field import PottsField

__all__ = ["renamed"]

IntArray = NDArray[np.int64]


def renamed(field: PottsField, labels: IntArray) -> IntArray | None:
    """Return labels with every connected component renamed at its best, None if nothing gains.

    Exact for each component on its own (a lone node moves by itself). Where link costs differ
    from label to label (one metric a cluster) a renaming is kept only if the energy falls.
    """
    from ._relabel_kernels import rename, restive

    n, nobody = field.n_nodes, np.empty(0, dtype=np.int32)
    proposal, place = np.array(labels, dtype=np.int32), np.arange(n, dtype=np.int32)
    noise = np.zeros(n) if field.noise is None else field.noise
    groups = field.structure.connected_groups
    unary = np.require(field.unary, requirements=["C", "W"])
    cheapest = field.cheapest.astype(np.int32)
    unhappy = np.flatnonzero(proposal != cheapest)
    wanted = restive(unary, place, cheapest, np.zeros(n), proposal, nobody, *groups, unhappy)
    if len(rename(unary, place, noise, proposal, *groups[:2], wanted)) == 0:
        return None
    exact = field.agree_cost.ndim == 1 and (field.entailed is None or len(field.entailed.z) == 1)
    if not exact and not field.energy(proposal.astype(np.int64)) < field.energy(labels):
        return None
    return proposal.astype(np.int64)

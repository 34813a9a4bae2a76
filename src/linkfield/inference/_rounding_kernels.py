"""Compiled rounding of shares, node after node."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["settle"]


@njit(cache=True)
def settle(shares, order, unary, pointer, neighbour, edge, agree, differ):  # type: ignore[no-untyped-def]
    """Give the nodes in turn their best label, the others counting by their shares; in place.

    Costs have one column, or one for each label. Label h of a node costs a link to j on average
    a_h q_jh + ½d_h (1 − q_jh) + ½Σ_{g≠h} d_g q_jg.
    """
    K, wide = shares.shape[1], agree.shape[1] > 1
    cost = np.empty(K)
    for i in order:
        cost[:] = unary[i]
        for at in range(pointer[i], pointer[i + 1]):
            e, other = edge[at], shares[neighbour[at]]
            mean = 0.0
            for h in range(K):
                mean += differ[e, h if wide else 0] * other[h]
            for h in range(K):
                a, d = agree[e, h if wide else 0], differ[e, h if wide else 0]
                cost[h] += a * other[h] + 0.5 * d * (1.0 - other[h]) + 0.5 * (mean - d * other[h])
        best = 0
        for h in range(1, K):
            if cost[h] < cost[best]:
                best = h
        shares[i] = 0.0
        shares[i, best] = 1.0

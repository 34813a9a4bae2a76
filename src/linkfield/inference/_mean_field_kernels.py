"""Compiled loops of the mean field: one sweep of updates, and the free energy.

Costs of edges have one column for all labels, or one a label. Once ½ differ of a label is part of
an end's own costs, an edge tells the end no more than its gap (agree − differ).
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

__all__ = ["free_energies", "sweep"]


@njit(cache=True)
def sweep(  # type: ignore[no-untyped-def]
    costs, gap, pointer, neighbour, edge, visit, heat, q, waiting, tol
):
    """Update every waiting node once, in place; return the largest change of a probability.

    A node that changes by more than ``tol`` lets its neighbours wait for another look.
    """
    K = costs.shape[1]
    step = 1 if gap.shape[1] > 1 else 0
    now = np.empty(K)
    largest = 0.0
    for i in visit:
        if not waiting[i]:
            continue
        waiting[i] = False
        now[:] = costs[i]
        for k in range(pointer[i], pointer[i + 1]):
            j, e = neighbour[k], edge[k]
            for h in range(K):
                now[h] += gap[e, h * step] * q[j, h]
        least = now.min()
        total = 0.0
        for h in range(K):
            now[h] = exp(-((now[h] - least) / heat[i]))
            total += now[h]
        change = 0.0
        for h in range(K):
            change = max(change, abs(now[h] / total - q[i, h]))
            q[i, h] = now[h] / total
        if change > tol:
            for k in range(pointer[i], pointer[i + 1]):
                waiting[neighbour[k]] = True
        largest = max(largest, change)
    return largest


@njit(cache=True)
def free_energies(  # type: ignore[no-untyped-def]
    unary, left, right, agree, differ, heat, q, component, out
):
    """Add F of every component to ``out``: expected costs less heat times entropy."""
    n, K = unary.shape
    step = 1 if agree.shape[1] > 1 else 0
    for i in range(n):
        total = 0.0
        for h in range(K):
            if q[i, h] > 0.0:  # a forbidden label costs inf, and 0 · inf is not a number
                total += q[i, h] * (unary[i, h] + heat[i] * log(q[i, h]))
        out[component[i]] += total
    for e in range(len(left)):
        i, j = left[e], right[e]
        total = 0.0
        for h in range(K):
            a, b = q[i, h], q[j, h]
            total += agree[e, h * step] * a * b
            total += 0.5 * differ[e, h * step] * (a * (1.0 - b) + b * (1.0 - a))
        out[component[i]] += total

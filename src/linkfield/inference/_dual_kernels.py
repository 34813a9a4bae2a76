"""The compiled value of the dual bound, rounding included (maths.md 4.7).

``duals[e, s]`` are the dual variables δ of edge e at its end s, left (0) or right (1).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .._kernels.compiling import inner_exact

__all__ = ["ULP", "dual_value"]

#: Twice the relative rounding error of one sum.
ULP = 2.0**-52


@inner_exact
def _add(total, c, value):  # type: ignore[no-untyped-def]
    """Add to the sum of a component: total[:, c] is sum, lost digits and sum of sizes."""
    before = total[0, c]
    after = before + value
    if abs(before) >= abs(value):
        total[1, c] += (before - after) + value
    else:
        total[1, c] += (value - after) + before
    total[0, c] = after
    total[2, c] += abs(value)


@inner_exact
def _edge_floor(agree, half, duals, e, right):  # type: ignore[no-untyped-def]
    """Return a number that no V(h, h') − δ_i(h) − δ_j(h') lies below, rounding included.

    Where h ≠ h' that is p(h) + q(h'), p = half − δ_i and q = half − δ_j (kept in ``right``): for
    every h the smallest q, or the second smallest where h itself has the smallest.
    """
    K = duals.shape[2]
    step = 1 if half.shape[1] > 1 else 0
    low, second, floor = np.inf, np.inf, np.inf
    for h in range(K):
        y, d = duals[e, 1, h], half[e, h * step]
        q = d - y - 4 * ULP * (abs(d) + abs(y))
        right[h] = q
        larger = q if q > low else low
        second = larger if larger < second else second
        low = q if q < low else low
    for h in range(K):
        x, y = duals[e, 0, h], duals[e, 1, h]
        a, d = agree[e, h * step], half[e, h * step]
        value = a - x - y - 4 * ULP * (abs(a) + abs(x) + abs(y))
        floor = value if value < floor else floor
        p = d - x - 4 * ULP * (abs(d) + abs(x))
        other = second if right[h] == low else low
        if other < np.inf:  # there is another label
            value = p + other - 4 * ULP * (abs(p) + abs(other))
            floor = value if value < floor else floor
    return floor


@njit(cache=True)
def dual_value(edges, duals, order, nodes, pointer, component, sums, sizes, total):  # type: ignore[no-untyped-def]
    """Compute Σ_i min_h (U_i + Σ_e δ_ei) + Σ_e min_{h,h'} (V_e − δ_ei − δ_ej) by component.

    Over the edges ``order`` and their ``nodes``, from nothing but costs and duals; ``sums`` are
    written anew on the way. ``total`` (3, components) gets the sum, the digits that it lost, and
    the sum of sizes; node i has pointer[i + 1] − pointer[i] edges. From each term, before its
    minimum is taken, as much is subtracted as its rounding could have added: a few ulps of the
    sizes of what it adds up.
    """
    unary, left, right, agree, half = edges
    K = sums.shape[1]
    right_part = np.empty(K)
    for i in nodes:
        for h in range(K):
            sums[i, h] = unary[i, h]
            sizes[i, h] = abs(unary[i, h])
    for e in order:
        i, j = left[e], right[e]
        for h in range(K):
            sums[i, h] += duals[e, 0, h]
            sums[j, h] += duals[e, 1, h]
            sizes[i, h] += abs(duals[e, 0, h])
            sizes[j, h] += abs(duals[e, 1, h])
        _add(total, component[i], _edge_floor(agree, half, duals, e, right_part))
    for i in nodes:
        floor, terms = np.inf, 4 + pointer[i + 1] - pointer[i]
        for h in range(K):
            value = sums[i, h] - ULP * terms * sizes[i, h]
            floor = value if value < floor else floor
        _add(total, component[i], floor)

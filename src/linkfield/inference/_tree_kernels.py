"""Compiled walks over graphs, and the best labels of trees (maths.md 4.6)."""

from __future__ import annotations

import numpy as np
from numba import njit

from ._message_kernels import min_message

__all__ = ["SHAVE", "breadth_first", "solve_trees"]

#: Numbers lose this share of themselves, some ulps, on their way up. Where a label is all but
#: forbidden they are huge, and their rounding alone would lower the bound of the whole tree.
SHAVE = 2.0**-47


@njit(cache=True)
def breadth_first(pointer, neighbour, edge):  # type: ignore[no-untyped-def]
    """Return all nodes, component by component from the first node outwards, and their edges back.

    The edge back leads to the node from which a node was reached, -1 for the first of a component.
    """
    n = pointer.shape[0] - 1
    order, back = np.empty(n, np.int64), np.full(n, -1)
    seen = np.zeros(n, np.bool_)
    head, tail = 0, 0
    for root in range(n):
        if seen[root]:
            continue
        seen[root] = True
        order[tail] = root
        tail += 1
        while head < tail:
            i = order[head]
            head += 1
            for at in range(pointer[i], pointer[i + 1]):
                j = neighbour[at]
                if not seen[j]:
                    seen[j] = True
                    back[j] = edge[at]
                    order[tail] = j
                    tail += 1
    return order, back


@njit(cache=True)
def solve_trees(edges, order, back, reach, duals, labels):  # type: ignore[no-untyped-def]
    """Label the trees of the nodes in ``order``, roots before leaves, at the least energy.

    ``reach`` comes as the unary costs and becomes the least cost of a node's subtree for every
    label of the node, up to a constant. ``duals`` are those of maths.md 4.7 that prove it: along
    the edge from a node to its parent, −reach for the node and the message for the parent.
    """
    _, left, right, agree, half = edges
    K = reach.shape[1]
    step = 1 if half.shape[1] > 1 else 0
    a, d, belief, new = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for k in range(order.shape[0] - 1, -1, -1):
        i, e = order[k], back[order[k]]
        if e < 0:
            continue
        mine = 0 if left[e] == i else 1
        parent = right[e] if mine == 0 else left[e]
        for h in range(K):
            a[h], d[h] = agree[e, h * step], half[e, h * step]
            belief[h] = reach[i, h] - SHAVE * abs(reach[i, h])
            duals[e, mine, h] = -belief[h]
        low = min_message(a, d, belief, new)
        for h in range(K):
            message = (1.0 - SHAVE) * (new[h] - low)
            duals[e, 1 - mine, h] = message
            reach[parent, h] += message
    for i in order:
        e, best, low = back[i], 0, np.inf
        above = -1
        if e >= 0:
            above = labels[right[e] if left[e] == i else left[e]]
        for h in range(K):
            value = reach[i, h]
            if h == above:
                value += agree[e, h * step]
            elif e >= 0:
                value += half[e, h * step] + half[e, above * step]
            if value < low:
                best, low = h, value
        labels[i] = best

"""Compiled loops over nodes in an order: from the first outwards, or the most decided first."""

from __future__ import annotations

import numpy as np
from numba import njit

from .._kernels.compiling import inner_exact

__all__ = ["breadth_first", "decode"]


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


@inner_exact
def _decided(beliefs, i):  # type: ignore[no-untyped-def]
    """Return the best label of a node, and how far the next best is behind."""
    best, low, second = 0, np.inf, np.inf
    for h in range(beliefs.shape[1]):
        value = beliefs[i, h]
        if value < low:
            best, low, second = h, value, low
        elif value < second:
            second = value
    return best, second - low


@inner_exact
def _sift(heap, place, gap, size, at):  # type: ignore[no-untyped-def]
    """Bring an entry of the heap to its place: widest gap first, then the smaller number."""
    i = heap[at]
    while at > 0:  # up
        parent = (at - 1) // 2
        j = heap[parent]
        if gap[j] > gap[i] or (gap[j] == gap[i] and j < i):
            break
        heap[at], place[j], at = j, at, parent
    while True:  # down
        child = 2 * at + 1
        if child >= size:
            break
        j = heap[child]
        if child + 1 < size:
            k = heap[child + 1]
            if gap[k] > gap[j] or (gap[k] == gap[j] and k < j):
                child, j = child + 1, k
        if gap[i] > gap[j] or (gap[i] == gap[j] and i < j):
            break
        heap[at], place[j], at = j, at, child
    heap[at], place[i] = i, at


@njit(cache=True)
def decode(edges, messages, beliefs, adjacency, nodes, labels):  # type: ignore[no-untyped-def]
    """Label ``nodes`` one after the other, the most decided of those left first.

    Once a node has its label, its message to every neighbour without one gives way to what the
    edge really costs. A heap holds the gaps, O((n + m) log n) besides the costs; ``beliefs`` are
    overwritten.
    """
    _, left, _, agree, half = edges
    pointer, neighbour, edge = adjacency
    n, size = labels.shape[0], nodes.shape[0]
    step = 1 if half.shape[1] > 1 else 0
    heap, place, gap = nodes.copy(), np.full(n, -1), np.empty(n)
    for at in range(size):
        place[nodes[at]] = at
        gap[nodes[at]] = _decided(beliefs, nodes[at])[1]
    for at in range(size):
        _sift(heap, place, gap, at + 1, at)
    while size > 0:
        i = heap[0]
        size -= 1
        heap[0] = heap[size]
        if size > 0:
            _sift(heap, place, gap, size, 0)
        place[i] = -1
        mine = labels[i] = _decided(beliefs, i)[0]
        for at in range(pointer[i], pointer[i + 1]):
            j, e = neighbour[at], edge[at]
            if place[j] < 0:
                continue
            side = 0 if left[e] == j else 1
            for h in range(beliefs.shape[1]):
                cost = half[e, h * step] + half[e, mine * step]
                if h == mine:
                    cost = agree[e, h * step]
                beliefs[j, h] += cost - messages[e, side, h]
            gap[j] = _decided(beliefs, j)[1]
            _sift(heap, place, gap, size, place[j])

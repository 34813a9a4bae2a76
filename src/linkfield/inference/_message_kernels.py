"""Compiled messages over the edges of a field (maths.md 4.2).

``messages[e, s]`` is the message along edge e into its end s, left (0) or right (1). An edge with
ends i, j costs agree[h] where both have label h and half[h] + half[h'] where they have h ≠ h', so
a message takes O(K): all but the own label share one minimum. Costs with one column for all labels
are read with a step of 0 from label to label, into short arrays that the loops then share.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

__all__ = ["Edges", "decode", "gather", "min_message", "pass_messages"]


class Edges(NamedTuple):
    """Unary costs, and edges with their ends and costs; ``half`` is half the cost of differing."""

    unary: Any
    left: Any
    right: Any
    agree: Any
    half: Any


@njit(cache=True)
def min_message(agree, half, belief, out):  # type: ignore[no-untyped-def]
    """Write out[h'] = min_h belief[h] + V(h, h'); return its minimum.

    That is min(belief[h'] + agree[h'], half[h'] + min_{h≠h'} p[h]) with p = belief + half. The
    last minimum is the smallest p, or the second smallest for the label whose p is the smallest.
    Written without branches or min(): a wrong guess of the processor costs more than the sums.
    """
    K = belief.shape[0]
    low, second, least = np.inf, np.inf, np.inf
    for h in range(K):
        p = belief[h] + half[h]
        out[h] = p
        larger = p if p > low else low
        second = larger if larger < second else second
        low = p if p < low else low
    for h in range(K):
        other = half[h] + (second if out[h] == low else low)
        own = belief[h] + agree[h]
        own = own if own < other else other
        out[h] = own
        least = own if own < least else least
    return least


@njit(cache=True)
def soft_message(agree, half, belief, temperature, out):  # type: ignore[no-untyped-def]
    """Write out[h'] = −T log Σ_h exp(−(belief[h] + V(h, h')) / T); return its minimum.

    The sum is the own label's term and the sum over the others. Those are measured from the
    smallest p = belief + half, or from the second smallest where h' itself is the smallest, so
    nothing cancels and nothing overflows.
    """
    K, T = belief.shape[0], temperature
    first, low, second = 0, np.inf, np.inf
    for h in range(K):
        p = belief[h] + half[h]
        if p < low:
            first, low, second = h, p, low
        elif p < second:
            second = p
    total = 0.0  # over all labels but the first, measured from the second
    for h in range(K):
        if h != first:
            out[h] = np.exp(-(belief[h] + half[h] - second) / T)
            total += out[h]
    ratio, least = np.exp(-(second - low) / T), np.inf
    for h in range(K):
        value = belief[h] + agree[h]
        if K > 1:
            if h == first:
                other = half[h] + second - T * np.log(total)
            else:
                other = half[h] + low - T * np.log1p(ratio * (total - out[h]))
            if other < value:
                value, other = other, value
            value -= T * np.log1p(np.exp(-(other - value) / T))
        out[h] = value
        least = value if value < least else least
    return least


@njit(cache=True)
def pass_messages(edges, messages, sums, order, component, rule, change):  # type: ignore[no-untyped-def]
    """Renew both messages of every edge in ``order``; note the largest change by component.

    ``rule`` is (damping, temperature, in place). In place, ``sums`` (unary costs plus all incoming
    messages) follow every message at once; otherwise they stay, and all messages come from old
    ones: the two along an edge do not depend on each other.
    """
    _, left, right, agree, half = edges  # out of the loop: compiled code counts their owners
    damping, temperature, in_place = rule
    K, keep = sums.shape[1], 1.0 - damping
    step = 1 if half.shape[1] > 1 else 0
    a, d = np.empty(K), np.empty(K)
    from_right, from_left = np.empty(K), np.empty(K)
    to_left, to_right = np.empty(K), np.empty(K)
    for e in order:
        i, j = left[e], right[e]
        for h in range(K):
            a[h], d[h] = agree[e, h * step], half[e, h * step]
            from_right[h] = sums[j, h] - messages[e, 1, h]
            from_left[h] = sums[i, h] - messages[e, 0, h]
        if temperature > 0:
            low_left = soft_message(a, d, from_right, temperature, to_left)
            low_right = soft_message(a, d, from_left, temperature, to_right)
        else:
            low_left = min_message(a, d, from_right, to_left)
            low_right = min_message(a, d, from_left, to_right)
        worst = 0.0
        for h in range(K):
            one = keep * (to_left[h] - low_left - messages[e, 0, h])
            two = keep * (to_right[h] - low_right - messages[e, 1, h])
            messages[e, 0, h] += one
            messages[e, 1, h] += two
            if in_place:
                sums[i, h] += one
                sums[j, h] += two
            worst = abs(one) if abs(one) > worst else worst
            worst = abs(two) if abs(two) > worst else worst
        at = component[i]
        change[at] = worst if worst > change[at] else change[at]


@njit(cache=True)
def gather(edges, messages, order, nodes, sums):  # type: ignore[no-untyped-def]
    """Write the unary costs of ``nodes`` plus all messages into them along the edges ``order``."""
    unary, left, right, _, _ = edges
    for i in nodes:
        for h in range(sums.shape[1]):
            sums[i, h] = unary[i, h]
    for e in order:
        i, j = left[e], right[e]
        for h in range(sums.shape[1]):
            sums[i, h] += messages[e, 0, h]
            sums[j, h] += messages[e, 1, h]


@njit(cache=True)
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


@njit(cache=True)
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

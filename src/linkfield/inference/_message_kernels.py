"""Compiled messages over the edges of a field, and what is made of them (maths.md 4.2, 4.6, 4.7).

``messages[e, s]`` is the message along edge e into its end s, left (0) or right (1). An edge with
ends i, j costs agree[h] where both have label h and half[h] + half[h'] where they have h ≠ h', so
a message takes O(K): all but the own label share one minimum. Costs with one column for all labels
are read with a step of 0 from label to label, into short arrays that the loops then share.

All that calls ``min_message`` stands in this file: compiled functions are cached by their own file
and would not notice a change in another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from .._kernels.compiling import inner_exact

__all__ = ["Edges", "gather", "pass_messages", "raise_duals", "solve_trees"]

#: Numbers lose this share of themselves, some ulps, on their way up. Where a label is all but
#: forbidden they are huge, and their rounding alone would lower the bound of the whole tree.
SHAVE = 2.0**-47


class Edges(NamedTuple):
    """Unary costs, and edges with their ends and costs; ``half`` is half the cost of differing."""

    unary: Any
    left: Any
    right: Any
    agree: Any
    half: Any


@inner_exact
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


@inner_exact
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


@njit(cache=True)
def raise_duals(edges, duals, sums, order):  # type: ignore[no-untyped-def]
    """Give every edge in ``order`` its best duals, those of the other edges fixed (MPLP).

    δ_ei = ½ (min_h' [V(·, h') + B_j(h')] − B_i), B_i = ``sums``_i − δ_ei, and likewise for j.
    """
    _, left, right, agree, half = edges
    K = sums.shape[1]
    step = 1 if half.shape[1] > 1 else 0
    a, d = np.empty(K), np.empty(K)
    at_left, at_right = np.empty(K), np.empty(K)
    to_left, to_right = np.empty(K), np.empty(K)
    for e in order:
        i, j = left[e], right[e]
        for h in range(K):
            a[h], d[h] = agree[e, h * step], half[e, h * step]
            at_left[h] = sums[i, h] - duals[e, 0, h]
            at_right[h] = sums[j, h] - duals[e, 1, h]
        min_message(a, d, at_right, to_left)
        min_message(a, d, at_left, to_right)
        for h in range(K):
            x = 0.5 * (to_left[h] - at_left[h])
            y = 0.5 * (to_right[h] - at_right[h])
            duals[e, 0, h] = x - SHAVE * abs(x)
            duals[e, 1, h] = y - SHAVE * abs(y)
            sums[i, h] = at_left[h] + duals[e, 0, h]
            sums[j, h] = at_right[h] + duals[e, 1, h]

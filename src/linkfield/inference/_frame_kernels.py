"""Compiled loops at the beginning and at the end of a labelling of a field of plain edges."""

from __future__ import annotations

import numpy as np

from .._kernels.compiling import exact, inner_exact

__all__ = ["begin", "broken", "broken_among", "insert", "is_broken", "know_again", "taken_over"]


@exact
def insert(field, labels, order):  # type: ignore[no-untyped-def]
    """Label the nodes one after the other; those without a label do not count."""
    pointer, neighbour, gap = field.pointer, field.neighbour, field.gap
    extra = np.zeros(field.table.shape[1])
    for i in order:
        unary = field.table[field.place[i]]
        for at in range(pointer[i], pointer[i + 1]):
            other = labels[neighbour[at]]
            if other >= 0:
                extra[other] += gap[at]
        best, low = 0, unary[0] + extra[0]
        for h in range(1, extra.shape[0]):
            value = unary[h] + extra[h]
            if value < low:
                best, low = h, value
        for at in range(pointer[i], pointer[i + 1]):
            other = labels[neighbour[at]]
            if other >= 0:
                extra[other] = 0.0
        labels[i] = best


@inner_exact
def is_broken(sign, a, b):  # type: ignore[no-untyped-def]
    """Say whether an edge between two labels is in the dearer of its two states."""
    return sign == (1 if a == b else -1)


@inner_exact
def know_again(field, nodes, noise):  # type: ignore[no-untyped-def]
    """Let the costs of no other nodes be known than of these, and those be the first of the table.

    ``noise`` is how far they may be off.
    """
    field.place[:] = -1
    for k in range(nodes.shape[0]):
        field.place[nodes[k]] = k
        field.noise[nodes[k]] = noise[k]


@exact
def begin(field, work, broken, left, right):  # type: ignore[no-untyped-def]
    """Let nodes wait who may not be content, and their components be stale; return them in order.

    Those are nodes that have not their cheapest label, and the ends of ``broken`` edges, which
    alone are doubtful.
    """
    labels, cheapest, waiting, doubtful = work.labels, field.cheapest, work.waiting, work.doubtful
    for i in range(labels.shape[0]):
        waiting[i], doubtful[i] = labels[i] != cheapest[i], False
    for e in broken:
        waiting[left[e]] = doubtful[left[e]] = True
        waiting[right[e]] = doubtful[right[e]] = True
    out, count = np.empty(labels.shape[0], np.uint32), 0
    for i in range(labels.shape[0]):  # without a branch: nobody could foretell it
        out[count] = i
        count += waiting[i]
    work.stale[:] = False
    for i in out[:count]:
        if work.group[i] >= 0:
            work.stale[work.group[i]] = True
    return out[:count].copy()


@exact
def taken_over(moved, labels, start):  # type: ignore[no-untyped-def]
    """Return who of some nodes has another label than at the start, and all labels anew."""
    out, count, new = np.empty(moved.shape[0], np.uint32), 0, start.copy()
    for i in moved:
        if labels[i] != start[i]:
            out[count], new[i] = i, labels[i]
            count += 1
    return out[:count].copy(), new


@exact
def broken(left, right, sign, labels):  # type: ignore[no-untyped-def]
    """Return the edges that are in the dearer of their two states, in order."""
    out, count = np.empty(left.shape[0], np.uint32), 0
    for e in range(left.shape[0]):
        out[count] = e
        count += is_broken(sign[e], labels[left[e]], labels[right[e]])
    return out[:count].copy()


@exact
def broken_among(nodes, pointer, neighbour, edge, sign, labels):  # type: ignore[no-untyped-def]
    """Return the same, where only links between some of the nodes can be so."""
    out, count = np.empty(edge.shape[0] // 2, np.uint32), 0
    for i in nodes:
        for at in range(pointer[i], pointer[i + 1]):
            j = neighbour[at]
            if i < j and is_broken(sign[at], labels[i], labels[j]):
                out[count] = edge[at]
                count += 1
    return np.sort(out[:count])

"""Compiled loops at the beginning and at the end of a labelling of a field of plain edges."""

from __future__ import annotations

import numpy as np

from .._kernels.asking import STEPS
from .._kernels.compiling import exact, inlined_exact, inner_exact
from ._asking import ask_for_neighbours

__all__ = ["begin", "broken", "end", "insert", "is_broken", "marked"]


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


@inlined_exact
def is_broken(sign, a, b):  # type: ignore[no-untyped-def]
    """Say whether an edge between two labels is in the dearer of its two states."""
    return sign == (1 if a == b else -1)


@exact
def begin(field, work, known, broken, left, right):  # type: ignore[no-untyped-def]
    """Let nodes wait who may not be content, and their components be stale; return them in order.

    Those are nodes that have not their cheapest label, and the ends of ``broken`` edges, which
    alone are doubtful. Only the costs of ``known`` nodes are known, the first of the table.
    """
    labels, cheapest, waiting, doubtful = work.labels, field.cheapest, work.waiting, work.doubtful
    _know(field.place, known)
    doubtful[:] = work.needed[:] = work.moved[:] = work.stale[:] = False
    for i in range(labels.shape[0]):
        waiting[i] = labels[i] != cheapest[i]
    for e in broken:
        waiting[left[e]] = doubtful[left[e]] = True
        waiting[right[e]] = doubtful[right[e]] = True
    nodes = marked(waiting)
    for i in nodes:
        if work.group[i] >= 0:
            work.stale[work.group[i]] = True
    return nodes


@inner_exact
def _know(place, known):  # type: ignore[no-untyped-def]
    """Let the costs of no other nodes be known than of these."""
    place[:] = -1
    for k in range(known.shape[0]):
        place[known[k]] = k


@exact
def end(field, work, edge, start):  # type: ignore[no-untyped-def]
    """Return what a labelling has come to.

    That is the broken edges in order, whose label is another than at the ``start``, whose costs
    were needed, and all labels: those of the start itself if nothing has moved.
    """
    broken = np.zeros((edge.shape[0] // 2 + 7) // 8 * 8, np.bool_)
    doubtful = marked(work.doubtful)
    for k in range(doubtful.shape[0]):
        ask_for_neighbours(field, work.labels, doubtful[min(k + STEPS, doubtful.shape[0] - 1)])
        _mark_broken(field, work.labels, edge, doubtful[k], broken)
    new, moved, count = start, marked(work.moved), 0
    if moved.shape[0] > 0:
        new = start.copy()
    for i in moved:  # without a branch: nobody could foretell it
        moved[count], new[i] = i, work.labels[i]
        count += new[i] != start[i]
    return marked(broken), moved[:count].copy(), marked(work.needed), new if count > 0 else start


@inlined_exact
def _mark_broken(field, labels, edge, i, broken):  # type: ignore[no-untyped-def]
    """Mark the broken edges of a node."""
    for at in range(field.pointer[i], field.pointer[i + 1]):
        if is_broken(field.sign[at], labels[i], labels[field.neighbour[at]]):
            broken[edge[at]] = True


@exact
def marked(marks):  # type: ignore[no-untyped-def]
    """Return which are marked, in order; whole eights are passed by: most marks are not set.

    There are a multiple of eight of them.
    """
    out, count, words = np.empty(marks.shape[0], np.uint32), 0, marks.view(np.uint64)
    for w in range(words.shape[0]):
        if words[w] != 0:
            for k in range(8):
                out[count] = 8 * w + k
                count += words[w] >> np.uint64(8 * k) & np.uint64(1)
    return out[:count].copy()


@exact
def broken(left, right, sign, labels):  # type: ignore[no-untyped-def]
    """Return the edges that are in the dearer of their two states, in order."""
    out, count = np.empty(left.shape[0], np.uint32), 0
    for e in range(left.shape[0]):
        out[count] = e
        count += is_broken(sign[e], labels[left[e]], labels[right[e]])
    return out[:count].copy()

"""Compiled swaps of two labels along chains of linked nodes, over fields of plain edges.

A chain is a component of the graph of nodes that have one of two labels (a Kempe chain).
"""

from __future__ import annotations

import numpy as np

from .._kernels.compiling import exact, inner_exact
from ._plain_field import GAIN

__all__ = ["missing_in_chains", "swap"]


@inner_exact
def _chain(field, work, i, b, chain, mark):  # type: ignore[no-untyped-def]
    """Collect the nodes that swapping the labels a and b of node i and b would reach.

    They are joined to i by links between nodes of these two labels. Returns their number, how
    many of them have no known costs, a bound on what the swap adds to the energy, and its noise.
    """
    labels, pointer, neighbour = work.labels, field.pointer, field.neighbour
    a, n = labels[i], labels.shape[0]
    mark[n] += 1  # the stamp of this chain
    chain[0], mark[i] = i, mark[n]
    count, at, missing, change, noise = 1, 0, 0, 0.0, 0.0
    while at < count:
        j = chain[at]
        at += 1
        other = b if labels[j] == a else a
        if field.place[j] < 0:  # content: any other label costs its margin more
            missing += 1
            change += field.margin[j]
        else:
            unary = field.table[field.place[j]]
            if unary[other] != unary[labels[j]]:
                change += unary[other] - unary[labels[j]]
            noise += max(field.noise[field.place[j]], GAIN * min(abs(unary[labels[j]]), 1e300))
        for k in range(pointer[j], pointer[j + 1]):
            m = neighbour[k]
            if mark[m] != mark[n] and (labels[m] == a or labels[m] == b):
                mark[m] = mark[n]
                chain[count] = m
                count += 1
    return count, missing, change, noise


@exact
def missing_in_chains(field, work, visit, chain, mark):  # type: ignore[no-untyped-def]
    """Return the nodes whose costs have to be known to swap labels along chains."""
    n = work.labels.shape[0]
    out, count, wanted = np.empty(n, np.uint32), 0, np.zeros(n, np.bool_)
    for i in visit:
        if work.labels[i] == field.cheapest[i]:
            continue
        unary = field.table[field.place[i]]
        for b in range(unary.shape[0]):
            if not unary[b] < unary[work.labels[i]]:
                continue
            reach, missing, change, noise = _chain(field, work, i, b, chain, mark)
            if missing == 0 or change >= -noise:
                continue
            for k in range(reach):
                j = chain[k]
                if field.place[j] < 0 and not wanted[j]:
                    wanted[j] = True
                    out[count] = j
                    count += 1
    return out[:count]


@inner_exact
def swap(field, work, visit, first, chain, mark, seen):  # type: ignore[no-untyped-def]
    """Swap two labels along chains of linked nodes where that gains, from visit ``first`` on.

    All links of a chain are between its own nodes or to nodes of other labels, so none changes
    its state. Returns how many chains were swapped, the visit at which costs are missing (or the
    number of visits), and the size of the chain that they are missing of. ``seen`` has a bit for
    every label below 64 that a node has been offered in vain.
    """
    labels, moves = work.labels, 0
    for step in range(first, visit.shape[0]):
        i = visit[step]
        if labels[i] == field.cheapest[i]:
            continue
        unary = field.table[field.place[i]]
        for b in range(unary.shape[0]):
            a = labels[i]
            if not unary[b] < unary[a] or (b < 64 and seen[i] >> b & 1):
                continue
            count, missing, change, noise = _chain(field, work, i, b, chain, mark)
            gains = change < -noise
            if gains and missing > 0:
                return moves, step, count
            for k in range(count):
                j = chain[k]
                other = b if labels[j] == a else a
                if gains:
                    labels[j], work.moved[j] = other, True
                elif other < 64:
                    seen[j] |= 1 << other
            if gains:
                moves += 1
                seen[:] = 0
                for k in range(count):
                    _wake(field, work, chain[k])
    return moves, visit.shape[0], 0


@inner_exact
def _wake(field, work, i):  # type: ignore[no-untyped-def]
    """Let a node that has moved, and everything linked to it, wait for a look."""
    work.waiting[i] = True
    if work.group[i] >= 0:
        work.stale[work.group[i]] = True
    for at in range(field.pointer[i], field.pointer[i + 1]):
        j = field.neighbour[at]
        work.waiting[j] = True
        if work.group[j] >= 0:
            work.stale[work.group[j]] = True

"""Compiled search through all labellings of small components."""

from __future__ import annotations

import numpy as np
from numba import njit

from .._kernels.compiling import inner_exact

__all__ = ["search_all"]


@inner_exact
def _link(agree, differ, e, g, h):  # type: ignore[no-untyped-def]
    """Return what an edge costs whose ends have the labels g and h."""
    wide = agree.shape[1] > 1
    if g == h:
        return agree[e, h if wide else 0]
    return 0.5 * (differ[e, g if wide else 0] + differ[e, h if wide else 0])


@njit(cache=True)
def _ordered(nodes, pointer, neighbour, rank):  # type: ignore[no-untyped-def]
    """Order nodes so that each has many neighbours before it; rank is their place, else -1."""
    n = nodes.shape[0]
    order = np.empty(n, np.int64)
    for d in range(n):
        best, most = -1, (-1, -1)
        for i in nodes:
            if rank[i] >= 0:
                continue
            before = 0
            for at in range(pointer[i], pointer[i + 1]):
                before += rank[neighbour[at]] >= 0
            if (before, pointer[i + 1] - pointer[i]) > most:
                best, most = i, (before, pointer[i + 1] - pointer[i])
        order[d] = best
        rank[best] = d
    return order


@njit(cache=True)
def _search(nodes, unary, allowed, graph, labels, rank, trial):  # type: ignore[no-untyped-def]
    """Put the best labels of one component into ``labels``, which hold some to begin with.

    Depth first; a branch is left where its cost and the least that the nodes to come can cost are
    no better than the best labelling so far.
    """
    pointer, neighbour, edge, agree, differ = graph
    n, K = nodes.shape[0], unary.shape[1]
    order = _ordered(nodes, pointer, neighbour, rank)
    rest, paid = np.zeros(n + 1), np.zeros(n + 1)
    best = 0.0
    for d in range(n - 1, -1, -1):
        i = order[d]
        rest[d] = np.inf
        for h in range(K):
            if allowed[i, h]:
                rest[d] = min(rest[d], unary[i, h])
        best += unary[i, labels[i]]
        for at in range(pointer[i], pointer[i + 1]):
            if rank[neighbour[at]] < d:
                e = edge[at]
                rest[d] += min(agree[e].min(), differ[e].min())
                best += _link(agree, differ, e, labels[neighbour[at]], labels[i])
        rest[d] += rest[d + 1]
    choice, d = np.full(n, -1), 0
    while d >= 0:
        choice[d] += 1
        i, h = order[d], choice[d]
        if h == K:
            choice[d] = -1
            d -= 1
            continue
        if not allowed[i, h]:
            continue
        cost = paid[d] + unary[i, h]
        for at in range(pointer[i], pointer[i + 1]):
            if rank[neighbour[at]] < d:
                cost += _link(agree, differ, edge[at], trial[neighbour[at]], h)
        if cost + rest[d + 1] >= best:
            continue
        trial[i] = h
        if d < n - 1:
            paid[d + 1] = cost
            d += 1
            continue
        best = cost
        for k in order:
            labels[k] = trial[k]


@njit(cache=True)
def search_all(chosen, start, members, unary, allowed, graph, labels):  # type: ignore[no-untyped-def]
    """Search the ``chosen`` components; component c has the nodes members[start[c]:start[c + 1]].

    ``graph`` = (pointer, neighbour, edge, agree, differ), costs with one or K columns.
    """
    rank, trial = np.full(labels.shape[0], -1), np.zeros(labels.shape[0], np.int64)
    for c in chosen:
        nodes = members[start[c] : start[c + 1]]
        _search(nodes, unary, allowed, graph, labels, rank, trial)

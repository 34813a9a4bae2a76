"""Compiled sweeps of ICM over fields with tables of entailed links."""

from __future__ import annotations

import numpy as np
from numba import njit

from .._kernels.compiling import inner_exact
from ._cost_kernels import component_costs, node_costs
from ._icm_layout import Graph, Groups, Links, Tables, Waiting
from ._plain_field import GAIN
from ._table_kernels import at_home, place, place_all

# The layout stood here: numba's caches of that time look for it under these names.
__all__ = ["Graph", "Groups", "Links", "Tables", "Waiting", "at_home", "insert", "place_all",
           "sweep", "sweep_components"]  # fmt: skip


@inner_exact
def _best(out):  # type: ignore[no-untyped-def]
    best = 0
    for h in range(1, out.shape[0]):
        if out[h] < out[best]:
            best = h
    return best


@inner_exact
def _gains(new, old, noise):  # type: ignore[no-untyped-def]
    return new < old - max(noise, GAIN * max(abs(new), min(abs(old), 1e300)))


@njit(cache=True)
def insert(graph, links, tables, labels, order):  # type: ignore[no-untyped-def]
    out, room = np.empty((2, graph.unary.shape[1]))
    for i in order:
        node_costs(graph, links, tables, labels, i, out, room)
        place(links, tables, labels, i, _best(out))


@inner_exact
def _stir(graph, links, waiting, i):  # type: ignore[no-untyped-def]
    """Note that node i has moved: everything linked to it waits for a look."""
    for at in range(graph.pointer[i], graph.pointer[i + 1]):
        waiting.node[graph.neighbour[at]] = True
    p = links.block[i]
    if p >= 0:
        waiting.block[p] = True
        for at in range(links.block_pointer[p], links.block_pointer[p + 1]):
            waiting.block[links.block_neighbour[at]] = True
    for at in range(links.node_pointer[i], links.node_pointer[i + 1]):
        waiting.block[links.node_neighbour[at]] = True


@inner_exact
def _wake(links, waiting):  # type: ignore[no-untyped-def]
    """Let the members of stirred blocks, and the nodes apart from them, wait too."""
    stirred = False
    for p in range(waiting.block.shape[0]):
        stirred = stirred or waiting.block[p]
    if not stirred:
        return
    for i in range(waiting.node.shape[0]):
        p = links.block[i]
        if p >= 0 and waiting.block[p]:
            waiting.node[i] = True
        for at in range(links.node_pointer[i], links.node_pointer[i + 1]):
            if waiting.block[links.node_neighbour[at]]:
                waiting.node[i] = True
    waiting.block[:] = False


@njit(cache=True)
def sweep(graph, links, tables, labels, waiting, visit, start):  # type: ignore[no-untyped-def]
    """Look at every waiting node once, in the order of visits from ``start`` on."""
    out, room = np.empty((2, graph.unary.shape[1]))
    n, moves = labels.shape[0], 0
    for step in range(n):
        i = visit[start + step if start + step < n else start + step - n]
        if not waiting.node[i]:
            continue
        waiting.node[i] = False
        node_costs(graph, links, tables, labels, i, out, room)
        best = _best(out)
        if best != labels[i] and _gains(out[best], out[labels[i]], graph.noise[i]):
            place(links, tables, labels, i, best)
            _stir(graph, links, waiting, i)
            moves += 1
    _wake(links, waiting)
    return moves


@njit(cache=True)
def sweep_components(graph, links, tables, labels, groups, waiting):  # type: ignore[no-untyped-def]
    out, room = np.empty((2, graph.unary.shape[1]))
    moves = 0
    for c in range(groups.pointer.shape[0] - 1):
        now = component_costs(graph, links, tables, labels, groups, c, out, room)
        best = _best(out)
        noise = 0.0
        for at in range(groups.pointer[c], groups.pointer[c + 1]):
            noise += graph.noise[groups.node[at]]
        if not _gains(out[best], now, noise):
            continue
        moves += 1
        for at in range(groups.pointer[c], groups.pointer[c + 1]):
            i = groups.node[at]
            if labels[i] != best:
                place(links, tables, labels, i, best)
                waiting.node[i] = True
                _stir(graph, links, waiting, i)
    _wake(links, waiting)
    return moves

"""Compiled tables of entailed links under the current labels (see :mod:`._icm_layout`)."""

from __future__ import annotations

import numpy as np
from numba import njit

from .._kernels.compiling import inner, inner_exact

__all__ = ["at_home", "dot", "phi", "place", "place_all"]


@inner
def dot(pointer, index, value, z, k, i, table, p, h):  # type: ignore[no-untyped-def]
    """Return ⟨z_i, table[p, h]⟩ under metric k."""
    total = 0.0
    if pointer.shape[0] > 0:
        for at in range(pointer[i], pointer[i + 1]):
            total += value[at] * table[p, h, index[at]]
    else:
        for m in range(z.shape[2]):
            total += z[k, i, m] * table[p, h, m]
    return total


@inner_exact
def phi(links, n, B, s, k, i, p, h):  # type: ignore[no-untyped-def]
    """Return φ of node i to all that an entry of a table sums up, under metric k."""
    product = dot(links.z_pointer, links.z_index, links.z_value, links.z, k, i, s, p, h)
    return n[p, h] * links.b[k, i] + links.size[i] * B[p, h] - product


@inner_exact
def _add(links, n, B, s, p, h, k, i, sign):  # type: ignore[no-untyped-def]
    """Add node i, under metric k, to one entry of a table."""
    n[p, h] += sign * links.size[i]
    B[p, h] += sign * links.b[k, i]
    _add_row(links.z_pointer, links.z_index, links.z_value, links.z, k, i, s, p, h, sign)


@inner_exact
def _add_row(pointer, index, value, z, k, i, table, p, h, sign):  # type: ignore[no-untyped-def]
    if pointer.shape[0] > 0:
        for at in range(pointer[i], pointer[i + 1]):
            table[p, h, index[at]] += sign * value[at]
    else:
        for m in range(z.shape[2]):
            table[p, h, m] += sign * z[k, i, m]


@inner_exact
def _shift(links, tables, i, label, sign):  # type: ignore[no-untyped-def]
    """Enter (+1) or remove (−1) node i with a label in all tables that hold it."""
    k = label if links.b.shape[0] > 1 else 0
    p = links.block[i]
    if p >= 0:
        _add(links, tables.n, tables.B, tables.s, p, label, k, i, sign)
        for at in range(links.block_pointer[p], links.block_pointer[p + 1]):
            q = links.block_neighbour[at]
            _add(links, tables.n_bar, tables.B_bar, tables.s_bar, q, label, k, i, sign)
    for at in range(links.node_pointer[i], links.node_pointer[i + 1]):
        q = links.node_neighbour[at]
        _add(links, tables.n_bar, tables.B_bar, tables.s_bar, q, label, k, i, sign)


@inner_exact
def place(links, tables, labels, i, label):  # type: ignore[no-untyped-def]
    """Give node i a label and keep the tables in step."""
    old = labels[i]
    if old >= 0:
        _shift(links, tables, i, old, -1.0)
    elif links.block[i] >= 0:
        for k in range(links.b.shape[0]):
            _add(links, tables.n_all, tables.B_all, tables.s_all, links.block[i], k, k, i, 1.0)
    _shift(links, tables, i, label, 1.0)
    labels[i] = label


@inner_exact
def _enter_all(block, size, b, z_pointer, z_index, z_value, z, column, n, B, s):  # type: ignore[no-untyped-def]
    """Enter every member of a block into the entry (block, column) of a table.

    Taking an array out of a tuple has its price, so long loops get the arrays themselves.
    """
    many = b.shape[0] > 1
    for i in range(block.shape[0]):
        p, h = block[i], column[i]
        if p < 0:
            continue
        k = h if many else 0
        n[p, h] += size[i]
        B[p, h] += b[k, i]
        _add_row(z_pointer, z_index, z_value, z, k, i, s, p, h, 1.0)


@njit(cache=True)
def place_all(links, tables, labels, start):  # type: ignore[no-untyped-def]
    """Label all nodes, none of which has a label yet."""
    labels[:] = start
    G = links.block_pointer.shape[0] - 1
    if G == 0:  # there are no tables to keep
        return
    kinds = links.b.shape[0]
    _enter_all(
        links.block, links.size, links.b, links.z_pointer, links.z_index, links.z_value, links.z,
        labels, tables.n, tables.B, tables.s,
    )  # fmt: skip
    for k in range(kinds):
        _enter_all(
            links.block, links.size, links.b, links.z_pointer, links.z_index, links.z_value,
            links.z, np.full(labels.shape[0], k), tables.n_all, tables.B_all, tables.s_all,
        )  # fmt: skip
    for p in range(G):  # what is apart from a block: whole blocks, then single nodes
        for at in range(links.block_pointer[p], links.block_pointer[p + 1]):
            q = links.block_neighbour[at]
            tables.n_bar[p] += tables.n[q]
            tables.B_bar[p] += tables.B[q]
            tables.s_bar[p] += tables.s[q]
    for i in range(labels.shape[0]):
        k = labels[i] if kinds > 1 else 0
        for at in range(links.node_pointer[i], links.node_pointer[i + 1]):
            q = links.node_neighbour[at]
            _add(links, tables.n_bar, tables.B_bar, tables.s_bar, q, labels[i], k, i, 1.0)


@njit(cache=True)
def _homes(n, n_bar):  # type: ignore[no-untyped-def]
    """Return the label that all members of a block have and nothing apart from it has, else -1."""
    G, K = n.shape
    home = np.full(G, -1)
    for p in range(G):
        for h in range(K):
            if n[p, h] > 0:
                home[p] = h if home[p] == -1 else -2
        if home[p] >= 0 and n_bar[p, home[p]] != 0:
            home[p] = -2
    return home


@njit(cache=True)
def at_home(graph, links, tables, cheapest, waiting):  # type: ignore[no-untyped-def]
    """Let those nodes wait no more that a look would certainly leave where they are.

    If all members of a node's block have one label, nothing apart from the block has it, and no
    edge or single block concerns the node, then to leave costs it at least the φ to all members.
    """
    if links.b.shape[0] > 1:
        return
    home = _homes(tables.n, tables.n_bar)
    unary, edges, outer, block, size = (
        graph.unary, graph.pointer, links.node_pointer, links.block, links.size
    )  # fmt: skip
    b, own, n, B, s = links.b, links.own, tables.n, tables.B, tables.s
    z_pointer, z_index, z_value, z = links.z_pointer, links.z_index, links.z_value, links.z
    for i in range(block.shape[0]):
        p = block[i]
        if p < 0 or home[p] < 0 or edges[i] < edges[i + 1] or outer[i] < outer[i + 1]:
            continue
        h = home[p]
        gain = unary[i, h] - unary[i, cheapest[i]]
        if gain > 0:
            away = n[p, h] * b[0, i] + size[i] * B[p, h] - own[0, i]
            away -= dot(z_pointer, z_index, z_value, z, 0, i, s, p, h)
            waiting[i] = links.weight * away < gain
        else:
            waiting[i] = False

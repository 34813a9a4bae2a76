"""Compiled inner loops of ICM: costs of one node, moves, tables of entailed links.

Notation as in maths.md 1.3: for block p and label h, n_ph, B_ph and s_ph are the sums of size, b
and z over the members of p with label h; barred ones are the sums over everything that is apart
from p. A node i of block p then pays

    t_h = n_ph b_i + size_i B_ph − ⟨z_i, s_ph⟩          (φ to the members with label h)
    must:    ½ (τ_h + Σ_h' t_h') − t_h                   (τ_h: φ to all members, under metric h)
    cannot:  top_h size_i n̄_ph − t̄_h
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from .._kernels.compiling import inner, inner_exact

__all__ = ["Graph", "Groups", "Links", "Tables", "Waiting", "at_home", "insert", "place_all",
           "sweep", "sweep_components"]  # fmt: skip

#: A move must gain this share of the costs it compares, or rounding could go round in circles.
GAIN = 1e-12


class Graph(NamedTuple):
    """Unary costs and edges by node."""

    unary: Any
    noise: Any
    pointer: Any
    neighbour: Any
    edge: Any
    agree: Any
    differ: Any


class Links(NamedTuple):
    """Entailed links: fixed parts."""

    block: Any
    weight: Any
    size: Any
    b: Any
    own: Any
    top: Any
    z: Any
    z_pointer: Any
    z_index: Any
    z_value: Any
    block_pointer: Any
    block_neighbour: Any
    node_pointer: Any
    node_neighbour: Any


class Tables(NamedTuple):
    """Entailed links: sums under the current labels."""

    n: Any
    B: Any
    s: Any
    n_bar: Any
    B_bar: Any
    s_bar: Any
    n_all: Any
    B_all: Any
    s_all: Any


class Groups(NamedTuple):
    """Components that may move as a whole."""

    pointer: Any
    node: Any
    component: Any
    block: Any


class Waiting(NamedTuple):
    """Nodes and blocks around which something has changed since they were last looked at."""

    node: Any
    block: Any


@inner
def _dot(pointer, index, value, z, k, i, table, p, h):  # type: ignore[no-untyped-def]
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
def _phi(links, n, B, s, k, i, p, h):  # type: ignore[no-untyped-def]
    """Return φ of node i to all that an entry of a table sums up, under metric k."""
    product = _dot(links.z_pointer, links.z_index, links.z_value, links.z, k, i, s, p, h)
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
def _place(links, tables, labels, i, label):  # type: ignore[no-untyped-def]
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
            away -= _dot(z_pointer, z_index, z_value, z, 0, i, s, p, h)
            waiting[i] = links.weight * away < gain
        else:
            waiting[i] = False


@inner_exact
def _edge_costs(graph, labels, i, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` what the edges of node i cost under every label."""
    K = out.shape[0]
    wide = graph.agree.shape[1] > 1
    always = 0.0
    for at in range(graph.pointer[i], graph.pointer[i + 1]):
        other = labels[graph.neighbour[at]]
        if other < 0:
            continue
        e = graph.edge[at]
        if wide:
            for h in range(K):
                if h == other:
                    out[h] += graph.agree[e, h]
                else:
                    out[h] += 0.5 * (graph.differ[e, h] + graph.differ[e, other])
        else:
            always += graph.differ[e, 0]
            out[other] += graph.agree[e, 0] - graph.differ[e, 0]
    for h in range(K):
        out[h] += always


@inner_exact
def _apart_costs(links, tables, i, p, own, out):  # type: ignore[no-untyped-def]
    """Add what it costs node i to share a label with what table row p sums up."""
    n, B, s = (tables.n, tables.B, tables.s) if own else (tables.n_bar, tables.B_bar, tables.s_bar)
    z_pointer, z_index, z_value, z = links.z_pointer, links.z_index, links.z_value, links.z
    b, size, top, weight = links.b, links.size[i], links.top, links.weight
    many = b.shape[0] > 1
    for h in range(out.shape[0]):
        if n[p, h] == 0.0:
            continue
        k = h if many else 0
        phi = n[p, h] * b[k, i] + size * B[p, h]
        phi -= _dot(z_pointer, z_index, z_value, z, k, i, s, p, h)
        out[h] += weight * (top[k] * size * n[p, h] - phi)


@inner_exact
def _together_costs(links, tables, labels, i, p, out, t):  # type: ignore[no-untyped-def]
    """Add what it costs node i to differ from the members of its own block; t is room for it."""
    n, B, s = tables.n, tables.B, tables.s
    z_pointer, z_index, z_value, z = links.z_pointer, links.z_index, links.z_value, links.z
    b, size, weight, label = links.b, links.size[i], links.weight, labels[i]
    K, many = out.shape[0], links.b.shape[0] > 1
    total = 0.0
    for h in range(K):
        t[h] = 0.0
        if n[p, h] == 0.0:
            continue
        k = h if many else 0
        t[h] = n[p, h] * b[k, i] + size * B[p, h]
        t[h] -= _dot(z_pointer, z_index, z_value, z, k, i, s, p, h)
        if label == h:
            t[h] -= links.own[k, i]
        total += t[h]
    for h in range(K):
        if many:
            tau = _phi(links, tables.n_all, tables.B_all, tables.s_all, h, i, p, h)
            if label >= 0:
                tau -= links.own[h, i]
            # Under its own metric h the node has no member with label h counted above.
            out[h] += weight * (0.5 * (tau - t[h]) + 0.5 * (total - t[h]))
        else:
            out[h] += weight * (total - t[h])


@inner_exact
def _node_costs(graph, links, tables, labels, i, out, room):  # type: ignore[no-untyped-def]
    """Set ``out`` to the cost of node i under every label, all else as it is."""
    for h in range(out.shape[0]):
        out[h] = graph.unary[i, h]
    _edge_costs(graph, labels, i, out)
    p = links.block[i]
    if p >= 0:
        _together_costs(links, tables, labels, i, p, out, room)
        _apart_costs(links, tables, i, p, False, out)
    for at in range(links.node_pointer[i], links.node_pointer[i + 1]):
        _apart_costs(links, tables, i, links.node_neighbour[at], True, out)


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
        _node_costs(graph, links, tables, labels, i, out, room)
        _place(links, tables, labels, i, _best(out))


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
        _node_costs(graph, links, tables, labels, i, out, room)
        best = _best(out)
        if best != labels[i] and _gains(out[best], out[labels[i]], graph.noise[i]):
            _place(links, tables, labels, i, best)
            _stir(graph, links, waiting, i)
            moves += 1
    _wake(links, waiting)
    return moves


@inner
def _product(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for m in range(x.shape[0]):
        total += x[m] * y[m]
    return total


@inner_exact
def _block_costs(links, tables, p, out):  # type: ignore[no-untyped-def]
    """Add the cost of all of block p under every label; return its cost as it is."""
    many = links.b.shape[0] > 1
    now = 0.0
    for h in range(out.shape[0]):
        k = h if many else 0
        n, B, s = tables.n[p, h], tables.B[p, h], tables.s[p, h]
        n_bar, B_bar, s_bar = tables.n_bar[p, h], tables.B_bar[p, h], tables.s_bar[p, h]
        n_all, B_all, s_all = tables.n_all[p, k], tables.B_all[p, k], tables.s_all[p, k]
        cross = n_all * B + n * B_all - _product(s, s_all)
        inside = 2.0 * n * B - _product(s, s)
        now += 0.5 * (cross - inside)
        now += links.top[k] * n * n_bar - (n_bar * B + n * B_bar - _product(s, s_bar))
        phi = n_bar * B_all + n_all * B_bar - _product(s_all, s_bar)
        out[h] += links.weight * (links.top[k] * n_all * n_bar - phi)
    return links.weight * now


@inner_exact
def _pair_cost(graph, e, left, right):  # type: ignore[no-untyped-def]
    wide = graph.agree.shape[1] > 1
    if left == right:
        return graph.agree[e, left if wide else 0]
    if wide:
        return 0.5 * (graph.differ[e, left] + graph.differ[e, right])
    return graph.differ[e, 0]


@inner_exact
def _component_costs(graph, links, tables, labels, groups, c, out, room):  # type: ignore[no-untyped-def]
    """Set ``out`` to the cost of a whole component under every label; return its cost now."""
    K = out.shape[0]
    now = 0.0
    out[:] = 0.0
    for at in range(groups.pointer[c], groups.pointer[c + 1]):
        i = groups.node[at]
        now += graph.unary[i, labels[i]]
        for h in range(K):
            out[h] += graph.unary[i, h]
        for step in range(graph.pointer[i], graph.pointer[i + 1]):
            j, e = graph.neighbour[step], graph.edge[step]
            inner = groups.component[j] == groups.component[i]
            if inner and j < i:
                continue  # an edge inside the component counts once
            now += _pair_cost(graph, e, labels[i], labels[j])
            for h in range(K):
                out[h] += _pair_cost(graph, e, h, h if inner else labels[j])
        if links.node_pointer[i] < links.node_pointer[i + 1]:
            room[:] = 0.0
            for step in range(links.node_pointer[i], links.node_pointer[i + 1]):
                _apart_costs(links, tables, i, links.node_neighbour[step], True, room)
            now += room[labels[i]]
            for h in range(K):
                out[h] += room[h]
    if groups.block[c] >= 0:
        now += _block_costs(links, tables, groups.block[c], out)
    return now


@njit(cache=True)
def sweep_components(graph, links, tables, labels, groups, waiting):  # type: ignore[no-untyped-def]
    out, room = np.empty((2, graph.unary.shape[1]))
    moves = 0
    for c in range(groups.pointer.shape[0] - 1):
        now = _component_costs(graph, links, tables, labels, groups, c, out, room)
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
                _place(links, tables, labels, i, best)
                waiting.node[i] = True
                _stir(graph, links, waiting, i)
    _wake(links, waiting)
    return moves

"""Compiled costs of one node, and of a whole component, under every label."""

from __future__ import annotations

from .._kernels.compiling import inner, inner_exact
from ._table_kernels import dot, phi

__all__ = ["component_costs", "node_costs"]


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
        phi -= dot(z_pointer, z_index, z_value, z, k, i, s, p, h)
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
        t[h] -= dot(z_pointer, z_index, z_value, z, k, i, s, p, h)
        if label == h:
            t[h] -= links.own[k, i]
        total += t[h]
    for h in range(K):
        if many:
            tau = phi(links, tables.n_all, tables.B_all, tables.s_all, h, i, p, h)
            if label >= 0:
                tau -= links.own[h, i]
            # Under its own metric h the node has no member with label h counted above.
            out[h] += weight * (0.5 * (tau - t[h]) + 0.5 * (total - t[h]))
        else:
            out[h] += weight * (total - t[h])


@inner_exact
def node_costs(graph, links, tables, labels, i, out, room):  # type: ignore[no-untyped-def]
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
def component_costs(graph, links, tables, labels, groups, c, out, room):  # type: ignore[no-untyped-def]
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

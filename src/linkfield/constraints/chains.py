"""Shortest chains of must-links, which explain why two rows are tied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph

from ._graphs import as_node_pairs, components, grouped, orient, symmetric, walk
from ._normal import IntArray

__all__ = ["shortest_chain", "shortest_chains"]


def shortest_chain(n_nodes: int, must: npt.ArrayLike, a: int, b: int) -> IntArray | None:
    """Return a shortest path of must-links from ``a`` to ``b``.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    must : array of int, shape (m, 2)
        Must-link pairs.
    a, b : int
        Nodes.

    Returns
    -------
    ndarray of int64, or None
        The nodes from ``a`` to ``b``, both included; None if no chain joins them.
    """
    return shortest_chains(n_nodes, must, [[a, b]])[0]


def shortest_chains(
    n_nodes: int, must: npt.ArrayLike, pairs: npt.ArrayLike
) -> list[IntArray | None]:
    """Return :func:`shortest_chain` for every row of ``pairs``.

    One breadth-first search serves all pairs that share an end, and it sees only the connected
    component of that end: O(n_nodes + m) once, then O(component) per distinct end.
    """
    links, wanted = as_node_pairs(must, n_nodes, "must"), as_node_pairs(pairs, n_nodes, "pairs")
    label = components(n_nodes, links)
    chains: list[IntArray | None] = [None] * len(wanted)
    joined = np.flatnonzero(label[wanted[:, 0]] == label[wanted[:, 1]])
    source, target, flip = orient(wanted, n_nodes)
    joined = joined[np.lexsort((source[joined], label[source[joined]]))]
    nodes, node_starts = grouped(label)
    link_order, link_starts = grouped(label[links[:, 0]], len(node_starts) - 1)
    local = np.empty(n_nodes, dtype=np.int64)
    component, root = -1, -1
    for row in joined.tolist():
        if label[source[row]] != component:
            component, root = int(label[source[row]]), -1
            inside = nodes[node_starts[component] : node_starts[component + 1]]
            local[inside] = np.arange(len(inside))
            chosen = link_order[link_starts[component] : link_starts[component + 1]]
            graph = symmetric(len(inside), local[links[chosen]])
        if source[row] != root:
            root = int(source[row])
            _, before = csgraph.breadth_first_order(graph, local[root], directed=True)
        chain = inside[walk(before, int(local[root]), int(local[target[row]]))]
        # The walk runs from the target back to the source.
        chains[row] = chain if flip[row] else chain[::-1].copy()
    return chains

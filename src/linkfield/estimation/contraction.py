"""Rows that hard must-links join are one node of the field (maths.md 1.6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._rows import DenseRows, Rows
from ..field import EntailedLinks
from ..inference.feasible import InfeasibleFieldError

__all__ = ["by_node", "contracted"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def contracted(
    unary: FloatArray, node: IntArray, n_nodes: int, inside: IntArray, agree: FloatArray
) -> FloatArray:
    """Add up the costs of the rows of every node, and of the pairs inside them.

    ``inside`` are the nodes of these pairs, ``agree`` what each costs, label by label or not.
    """
    member = _membership(node, n_nodes)
    # 0 · inf is not a number, so forbidden labels are summed apart.
    forbidden = np.isinf(unary)
    U = member @ np.where(forbidden, 0.0, unary)
    U = np.where(member @ forbidden > 0, np.inf, U)
    if agree.ndim == 2:
        np.add.at(U, inside, agree)
    blocked = np.flatnonzero(np.isinf(U).all(axis=1))
    if len(blocked):
        raise InfeasibleFieldError(blocked[:1])
    return U


def by_node(links: EntailedLinks | None, node: IntArray, n_nodes: int) -> EntailedLinks | None:
    """Sum the rows of every node up."""
    if links is None:
        return None
    block = np.full(n_nodes, -1, dtype=np.int64)
    block[node] = links.block
    node_blocks = np.column_stack([node[links.node_blocks[:, 0]], links.node_blocks[:, 1]])
    node_blocks = np.unique(node_blocks, axis=0)
    size = np.bincount(node, minlength=n_nodes).astype(np.float64)
    b = np.array([np.bincount(node, row, minlength=n_nodes) for row in links.b])
    member = _membership(node, n_nodes)
    z: list[Rows] = [DenseRows(part.sums(member)) for part in links.z]
    return EntailedLinks(block, links.block_pairs, node_blocks, links.weight, size, b, z, links.top)


def _membership(node: IntArray, n_nodes: int) -> sparse.csr_array:
    n = len(node)
    return sparse.csr_array((np.ones(n), (node, np.arange(n))), shape=(n_nodes, n))
